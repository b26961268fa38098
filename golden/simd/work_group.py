"""A work-group and what each instruction does to it: the functional model.

All items are one array, so that an instruction is a few operations of numpy whatever its warps.
`Code` turns every instruction into a function once; `WorkGroup.advance` runs them until an access
or the end.

A register holds 0, and a scratchpad zeros, when a work-group starts; hardware promises neither.

Ref: Sim-D, section 3.1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from cyclebound.golden.simd import arithmetic, special_functions
from cyclebound.golden.simd.isa import (
    SCALAR_SPECIAL,
    STACK_KINDS,
    VECTOR_SPECIAL,
    Instruction,
    Kind,
    Operand,
    Unit,
)
from cyclebound.golden.simd.machine import SCALARS, VECTORS, Grid, Place
from cyclebound.golden.simd.program import STACK_DEPTH, Buffer, Program
from cyclebound.golden.simd.transfers import (
    Access,
    Fault,
    check_few,
    check_own_lines,
    clipped,
    indexed,
    lines,
    rectangle,
    snooped,
    whole,
)

__all__ = ["INJECTED", "TAKEN", "Code", "KernelFault", "Memory", "WorkGroup", "memory_of"]

INJECTED = -1
"""Stands in a trace for a cpop that hardware injects because no lane is active."""

TAKEN = -2
"""Follows a jump in a trace if the jump is taken."""

MASKS = ("run", "break", "ret", "exit")
_MASK32 = 0xFFFF_FFFF
_INDEX = np.uint32((1 << 30) - 1)
_MEM_IDX, _MEM_DATA = VECTOR_SPECIAL.index("mem_idx"), VECTOR_SPECIAL.index("mem_data")
_SD = SCALAR_SPECIAL.index("sd_words")

Memory = dict[int, np.ndarray]
"""Content of the DRAM buffers: by number, uint32 of shape (y, x)."""


def memory_of(program: Program) -> Memory:
    """Zeros in all buffers of a program."""
    return {number: np.zeros((buffer.y, buffer.x), np.uint32)
            for number, buffer in program.buffers.items()}


class KernelFault(Exception):
    """A kernel that is stopped: by which instruction of which work-group, and why."""

    def __init__(self, program: Program, index: int, place: Place, said: str) -> None:
        super().__init__(f"{program.where(index)} ({program.instructions[index].name}), "
                         f"{place}: {said}")
        self.index, self.place, self.said = index, place, said


@dataclass
class WorkGroup:
    """The state of one work-group.

    Attributes
    ----------
    v : ndarray
        Vector registers, uint32 of shape (64, items).
    s : list of int
        Scalar registers, unsigned.
    p : ndarray
        Predicates, bool of shape (4, items).
    vc : list of ndarray
        Special vector registers that are no masks.
    masks : dict
        The four masks; ``active`` is where all are set.
    stack : list
        (mask, saved lanes, instruction) of each entry.
    pc : int
        The next instruction.
    executed, vectors : int
        Instructions so far (`KernelFault` beyond ``most``), and those with which lanes compute.
    """

    code: "Code"
    grid: Grid
    place: Place
    memory: Memory
    most: int = 1 << 40
    printed: Callable[[str], None] = lambda text: None
    pc: int = 0
    executed: int = 0
    vectors: int = 0
    ended: bool = False
    jumped: bool = False
    s: list[int] = field(default_factory=lambda: [0] * SCALARS)
    stack: list[tuple[str, np.ndarray, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        items = self.grid.machine.items
        self.v = np.zeros((VECTORS, items), np.uint32)
        self.p = np.zeros((4, items), bool)
        lane = np.arange(items, dtype=np.uint32)
        lid_x, lid_y = lane % np.uint32(self.grid.width), lane // np.uint32(self.grid.width)
        tid_x, tid_y = lid_x + np.uint32(self.place.x), lid_y + np.uint32(self.place.y)
        zero = np.zeros(items, np.uint32)
        self.vc = [zero] * 4 + [tid_x, tid_y, lid_x, lid_y, zero, zero + np.uint32(1),
                                zero.copy(), zero.copy()]
        self.sc = [self.grid.x, self.grid.y, self.place.x, self.place.y, self.grid.width, 1, 1, 1]
        self.masks = {name: np.ones(items, bool) for name in MASKS}
        self.masks["exit"] = (tid_x < self.grid.x) & (tid_y < self.grid.y)
        self.scratchpad = {number: np.zeros((buffer.y, buffer.x), np.uint32)
                           for number, buffer in self.code.program.scratchpad_buffers.items()}
        self.masks_changed()

    def masks_changed(self) -> None:
        masks = self.masks
        self.active = masks["run"] & masks["break"] & masks["ret"] & masks["exit"]
        self.full = bool(self.active.all())
        self.on = self.full or bool(self.active.any())

    def write(self, target: np.ndarray, value: np.ndarray | np.unsignedinteger) -> None:
        """Write ``value`` into ``target``, in active lanes only."""
        if self.full:
            target[...] = value
        else:
            np.copyto(target, value, where=self.active)

    def push(self, mask: str, saved: np.ndarray, target: int) -> None:
        """Push an entry onto the control stack. Raises `Fault` if the stack is full."""
        if len(self.stack) == STACK_DEPTH:
            raise Fault(f"the control stack holds {STACK_DEPTH} entries, and this is one more")
        self.stack.append((mask, saved.copy(), target))

    def pop(self) -> None:
        """Restore the mask of the stack's top entry, and go on where it says. Raises `Fault` if the
        stack is empty."""
        if not self.stack:
            raise Fault("cpop finds the control stack empty")
        mask, saved, self.pc = self.stack.pop()
        self.masks[mask] = saved
        self.masks_changed()

    def clear(self, mask: str, lanes: np.ndarray) -> None:
        """Take lanes out of a mask."""
        self.masks[mask] = self.masks[mask] & ~lanes
        self.masks_changed()

    def advance(self, trace: list[int] | None = None) -> Access | None:
        """Run to the next access, which is returned and not made yet, or to the end: None.

        ``trace`` collects the instructions, `INJECTED` and `TAKEN`. Raises `KernelFault`.
        """
        functions, vector = self.code.functions, self.code.vector
        while True:
            if not self.on:
                if not self.stack:
                    self.ended = True
                    return None
                if trace is not None:
                    trace.append(INJECTED)
                self.pop()
                continue
            index = self.pc
            if trace is not None:
                trace.append(index)
            self.pc = index + 1
            self.executed += 1
            self.vectors += vector[index]
            if self.executed > self.most:
                raise self.fault(f"it has run {self.most} instructions, and has not ended", index)
            try:
                access = functions[index](self)
            except Fault as fault:
                raise self.fault(str(fault), index) from None
            if access is not None:
                return access
            if self.jumped:
                self.jumped = False
                if trace is not None:
                    trace.append(TAKEN)

    def make(self, access: Access) -> None:
        """Move an access's words. Raises `KernelFault`."""
        try:
            access.move()
        except Fault as fault:
            raise self.fault(str(fault), self.pc - 1) from None

    def fault(self, said: str, index: int) -> KernelFault:
        return KernelFault(self.code.program, index, self.place, said)


Function = Callable[[WorkGroup], Access | None]
Source = Callable[[WorkGroup], np.ndarray | np.uint32]


class Code:
    """A program as functions on work-groups, one for each instruction.

    Raises
    ------
    ValueError
        For an instruction that names a buffer which the program does not have.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.functions = [self._function(instruction) for instruction in program.instructions]
        self.vector = [instruction.operation.vector
                       and instruction.operation.unit is not Unit.CONTROL
                       for instruction in program.instructions]

    def _function(self, instruction: Instruction) -> Function:
        made = getattr(self, f"_{instruction.operation.unit.value}_{instruction.name}", None)
        if made is not None:
            return made(instruction)
        if instruction.name in _VECTOR:
            return _vector(instruction)
        if instruction.name in _SCALAR:
            return _scalar(instruction)
        return _CONTROL[instruction.name](instruction)

    # -- accesses --------------------------------------------------------------------------------

    def _buffer(self, operand: Operand | None, buffers: Mapping[int, Buffer]) -> Buffer:
        if operand is None or operand.value not in buffers:
            raise ValueError(f"{self.program.name} names a buffer that it does not have: {operand}")
        return buffers[operand.value]

    def _dram_buffer(self, instruction: Instruction) -> Buffer:
        return self._buffer(instruction.operand("A"), self.program.buffers)

    def _scratchpad_buffer(self, instruction: Instruction, field: str = "A") -> Buffer:
        return self._buffer(instruction.operand(field), self.program.scratchpad_buffers)

    def _linear(self, instruction: Instruction) -> Function:
        buffer, write = self._dram_buffer(instruction), instruction.operation.store
        x, y, k = _offset(instruction, "X"), _offset(instruction, "Y"), instruction.width
        registers = _registers(instruction)

        def access(group: WorkGroup) -> Access:
            grid, place = group.grid, group.place
            left, top = (place.x + x(group)) * k, place.y + y(group)
            part = clipped(buffer, left, top, k * grid.width,
                           min(grid.height, grid.y - place.y))

            def move() -> None:
                words = group.memory[buffer.number]
                shape = (grid.height, grid.width)
                active = group.active.reshape(shape)[part.top - top:part.bottom - top]
                for number, register in enumerate(registers(group)):
                    first = max(0, -(-(part.left - left - number) // k))
                    last = -(-(part.right - left - number) // k)
                    if first >= last:
                        continue
                    begin = left + number + first * k
                    there = words[part.top:part.bottom, begin:left + number + last * k:k]
                    here = register.reshape(shape)[part.top - top:part.bottom - top, first:last]
                    source, target = (here, there) if write else (there, here)
                    np.copyto(target, source, where=active[:, first:last])

            return rectangle("dram", write, buffer, part, k * grid.width, move)

        return access

    _dram_ldglin = _dram_stglin = _linear

    def _snoopy(self, instruction: Instruction) -> Function:
        """Whole buffers and tiles of them past the CAMs."""
        resource = instruction.operation.unit.value
        write, some = instruction.operation.store, "cidx" in instruction.name
        buffer = (self._dram_buffer if resource == "dram" else self._scratchpad_buffer)(instruction)
        x, y = _offset(instruction, "X"), _offset(instruction, "Y")

        def access(group: WorkGroup) -> Access:
            words, period, count = group.sc[_SD:_SD + 3] if some else (buffer.words, buffer.words,
                                                                       1)
            left, top = (x(group), y(group)) if some else (0, 0)
            first = top * buffer.x + left
            if some and group.grid.machine.line_by_line:
                check_own_lines(buffer, left, top, words, period, count)

            def move() -> None:
                there = _content(group, resource, buffer)
                index, data = group.vc[_MEM_IDX], group.vc[_MEM_DATA]
                lanes = np.flatnonzero(snooped(index, group.active, first, words, period, count))
                if write:  # of lanes with the same index, the lowest is written last
                    there[index[lanes[::-1]]] = data[lanes[::-1]]
                else:
                    data[lanes] = there[index[lanes]]

            if not some:
                return whole(resource, write, buffer, move) if resource == "scratchpad" else \
                    lines(resource, write, buffer, 0, words, period, 1, move)
            return lines(resource, write, buffer, first, words, period, count, move)

        return access

    _dram_ldgbidx = _dram_stgbidx = _dram_ldgcidx = _dram_stgcidx = _snoopy
    _scratchpad_ldspbidx = _scratchpad_stspbidx = _snoopy

    def _iterated(self, instruction: Instruction) -> Function:
        buffer, write = self._dram_buffer(instruction), instruction.operation.store
        registers = _registers(instruction)

        def access(group: WorkGroup) -> Access:
            index = group.vc[_MEM_IDX]
            (register,) = registers(group)

            def move(legal: np.ndarray) -> None:
                there = _content(group, "dram", buffer)
                lanes = np.flatnonzero(legal)
                if write:  # in order of lanes: of those with the same index, the highest stays
                    there[index[lanes]] = register[lanes]
                else:
                    register[lanes] = there[index[lanes]]

            return indexed(write, buffer, index, group.active, move)

        return access

    _dram_ldgidxit = _dram_stgidxit = _iterated

    def _dram_sldg(self, instruction: Instruction) -> Function:
        buffer = self._dram_buffer(instruction)
        target, count = instruction.operand("D"), instruction.operand("B")
        assert target is not None
        first, words = target.value, 1 if count is None else count.value

        def access(group: WorkGroup) -> Access:
            def move() -> None:
                group.s[first:first + words] = _content(group, "dram", buffer)[:words].tolist()

            return lines("dram", False, buffer, 0, words, words, 1, move, across=buffer.x)

        return access

    def _tile(self, instruction: Instruction) -> Function:
        """Between DRAM and scratchpad."""
        buffer, write = self._dram_buffer(instruction), instruction.operation.store
        chip = self._scratchpad_buffer(instruction, "D")
        x, y = _offset(instruction, "X"), _offset(instruction, "Y")

        def access(group: WorkGroup) -> Access:
            left, top = x(group), y(group)
            part = clipped(buffer, left, top, chip.x, chip.y)

            def move() -> None:
                there = group.memory[buffer.number][part.top:part.bottom, part.left:part.right]
                here = group.scratchpad[chip.number][part.top - top:part.bottom - top,
                                                     part.left - left:part.right - left]
                source, target = (here, there) if write else (there, here)
                target[...] = source

            return rectangle("dram", write, buffer, part, chip.x, move)

        return access

    _dram_ldg2sptile = _dram_stg2sptile = _tile

    def _local(self, instruction: Instruction) -> Function:
        """Between scratchpad and vector registers."""
        buffer, write = self._scratchpad_buffer(instruction), instruction.operation.store
        x, y = _offset(instruction, "X"), _offset(instruction, "Y")
        registers = _registers(instruction)

        def access(group: WorkGroup) -> Access:
            shape = (group.grid.height, group.grid.width)
            left, top = x(group), y(group)
            part = clipped(buffer, left, top, shape[1], shape[0])
            (register,) = registers(group)

            def move() -> None:
                there = group.scratchpad[buffer.number][part.top:part.bottom,
                                                        part.left:part.right]
                place = (slice(part.top - top, part.bottom - top),
                         slice(part.left - left, part.right - left))
                here = register.reshape(shape)[place]
                source, target = (here, there) if write else (there, here)
                np.copyto(target, source, where=group.active.reshape(shape)[place])

            return rectangle("scratchpad", write, buffer, part, shape[1], move)

        return access

    _scratchpad_ldsplin = _scratchpad_stsplin = _local

    def _scratchpad_sldsp(self, instruction: Instruction) -> Function:
        buffer, target = self._scratchpad_buffer(instruction), instruction.operand("D")
        x, y = _offset(instruction, "X"), _offset(instruction, "Y")
        assert target is not None
        register = target.value

        def access(group: WorkGroup) -> Access:
            left, top, words = x(group), y(group), group.sc[_SD]
            first = top * buffer.x + left
            check_few(buffer, left, top, words, register)

            def move() -> None:
                there = _content(group, "scratchpad", buffer)
                group.s[register:register + words] = there[first:first + words].tolist()

            return lines("scratchpad", False, buffer, first, words, words, 1, move)

        return access

    # -- what needs the program's buffers --------------------------------------------------------

    def _copy_bufquery(self, instruction: Instruction) -> Function:
        buffer, target = self._dram_buffer(instruction), instruction.operand("D")
        assert target is not None
        register, value = target.value, buffer.x if instruction.sub == "dim_x" else buffer.y

        def run(group: WorkGroup) -> None:
            group.s[register] = value

        return run


def _content(group: WorkGroup, resource: str, buffer: Buffer) -> np.ndarray:
    """A buffer's words in one line."""
    kept = group.memory if resource == "dram" else group.scratchpad
    return kept[buffer.number].reshape(-1)


def _offset(instruction: Instruction, name: str) -> Callable[[WorkGroup], int]:
    """The signed value of X or Y."""
    operand = instruction.operand(name)
    if operand is None:
        return lambda group: 0
    if operand.kind is Kind.IMMEDIATE:
        return lambda group: operand.value
    return lambda group: (group.s[operand.value] ^ 0x8000_0000) - 0x8000_0000


def _registers(instruction: Instruction) -> Callable[[WorkGroup], list[np.ndarray]]:
    """The vector registers that an access moves, or ``mem_data``."""
    operand = instruction.operand("D")
    assert operand is not None
    if operand.kind is Kind.VECTOR_SPECIAL:
        return lambda group: [group.vc[operand.value]]
    return lambda group: list(group.v[operand.value:operand.value + instruction.width])


# -- compute ---------------------------------------------------------------------------------------

def _source(operand: Operand | None) -> Source:
    """An operand's value: an array of all lanes, or one for all of them."""
    assert operand is not None
    value = operand.value
    if operand.kind is Kind.VECTOR:
        return lambda group: group.v[value]
    if operand.kind is Kind.PREDICATE:
        return lambda group: group.p[value]
    if operand.kind is Kind.SCALAR:
        return lambda group: np.uint32(group.s[value])
    if operand.kind is Kind.SCALAR_SPECIAL:
        return lambda group: np.uint32(group.sc[value])
    if operand.kind is Kind.IMMEDIATE:
        constant = np.uint32(value)
        return lambda group: constant
    if value < len(MASKS):
        return lambda group: group.masks[MASKS[value]].astype(np.uint32)
    return lambda group: group.vc[value]


def _signed(operation: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda a, b: operation(arithmetic.signed(a), arithmetic.signed(b)).view(np.uint32)


_PREDICATE = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "nand": lambda a, b: ~(a & b),
              "nor": lambda a, b: ~(a | b)}

_VECTOR: dict[str, Callable[..., np.ndarray] | dict[str, Callable[..., np.ndarray]]] = {
    "add": {"": arithmetic.add, "neg": arithmetic.sub},
    "mul": {"": arithmetic.mul, "neg": lambda a, b: arithmetic.mul(a, b ^ np.uint32(1 << 31))},
    "mad": {"": arithmetic.mad,
            "neg": lambda a, b, c: arithmetic.mad(a, b ^ np.uint32(1 << 31), c)},
    "min": arithmetic.lesser, "max": arithmetic.greater, "abs": arithmetic.abs_,
    "rcp": special_functions.rcp, "rsqrt": special_functions.rsqrt,
    "sin": special_functions.sin, "cos": special_functions.cos,
    "mov": lambda a: a, "movvsp": lambda a: a,
    "cvt": {"i2f": arithmetic.float_of, "f2i": arithmetic.int_of},
    "iadd": lambda a, b: a + b, "isub": lambda a, b: a - b, "imul": lambda a, b: a * b,
    "imin": _signed(np.minimum), "imax": _signed(np.maximum),
    "imad": lambda a, b, c: a * b + c,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a, "shl": arithmetic.shift_left, "shr": arithmetic.shift_right,
    "test": {sub: (lambda a, sub=sub: arithmetic.test(sub, a)) for sub in arithmetic.CONDITIONS},
    "itest": {sub: (lambda a, compare=compare: compare(arithmetic.signed(a), np.int32(0)))
              for sub, compare in arithmetic.CONDITIONS.items()},
    "pbool": _PREDICATE,
}
"""Operations of the lanes on their sources, by sub-operation where there are some."""


def _vector(instruction: Instruction) -> Function:
    operations = _VECTOR[instruction.name]
    operation = operations[instruction.sub] if isinstance(operations, dict) else operations
    target = instruction.operand("D")
    assert target is not None
    sources = [_source(operand) for name in "ABC"
               if (operand := instruction.operand(name)) is not None]
    place = target.value
    if target.kind is Kind.VECTOR_SPECIAL:
        mask = _INDEX if place == _MEM_IDX else np.uint32(_MASK32)
        (source,) = sources

        def special(group: WorkGroup) -> None:
            group.write(group.vc[place], source(group) & mask)

        return special
    predicate = target.kind is Kind.PREDICATE
    if len(sources) == 1:
        (a,) = sources

        def one(group: WorkGroup) -> None:
            group.write((group.p if predicate else group.v)[place], operation(a(group)))

        return one
    if len(sources) == 2:
        a, b = sources

        def two(group: WorkGroup) -> None:
            group.write((group.p if predicate else group.v)[place], operation(a(group), b(group)))

        return two
    a, b, c = sources

    def three(group: WorkGroup) -> None:
        group.write(group.v[place], operation(a(group), b(group), c(group)))

    return three


def _lower(value: int) -> int:
    """A scalar in order: signed integers as unsigned ones."""
    return value ^ 0x8000_0000


def _converted(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[int], int]:
    return lambda a: int(function(np.array([a], np.uint32))[0])


_SCALAR: dict[str, Callable[..., int] | dict[str, Callable[..., int]]] = {
    "smov": lambda a: a, "smovssp": lambda a: a,
    "scvt": {"i2f": _converted(arithmetic.float_of), "f2i": _converted(arithmetic.int_of)},
    "siadd": lambda a, b: a + b, "sisub": lambda a, b: a - b, "simul": lambda a, b: a * b,
    "simad": lambda a, b, c: a * b + c, "simin": lambda a, b: min(a, b, key=_lower),
    "simax": lambda a, b: max(a, b, key=_lower), "sand": lambda a, b: a & b,
    "sor": lambda a, b: a | b, "sshl": lambda a, b: a << (b & 31),
    "sshr": lambda a, b: (_lower(a) - 0x8000_0000) >> (b & 31), "sineg": lambda a: -a,
    "snot": lambda a: ~a, "sibfind": arithmetic.find, "sidiv": arithmetic.divide,
    "simod": arithmetic.remainder,
}
"""Operations of the work-group; results count modulo 2**32."""


def _scalar_source(operand: Operand) -> Callable[[WorkGroup], int]:
    value = operand.value
    if operand.kind is Kind.SCALAR:
        return lambda group: group.s[value]
    if operand.kind is Kind.SCALAR_SPECIAL:
        return lambda group: group.sc[value]
    return lambda group: value


def _scalar(instruction: Instruction) -> Function:
    operations = _SCALAR[instruction.name]
    operation = operations[instruction.sub] if isinstance(operations, dict) else operations
    target = instruction.operand("D")
    assert target is not None
    sources = [_scalar_source(operand) for name in "ABC"
               if (operand := instruction.operand(name)) is not None]
    place, special = target.value, target.kind is Kind.SCALAR_SPECIAL

    def run(group: WorkGroup) -> None:
        value = operation(*(source(group) for source in sources)) & _MASK32
        (group.sc if special else group.s)[place] = value

    return run


# -- control ---------------------------------------------------------------------------------------

def _target(instruction: Instruction) -> int:
    operand = instruction.operand("B")
    assert operand is not None
    return operand.value


def _lanes(instruction: Instruction) -> Callable[[WorkGroup], np.ndarray | None]:
    """The predicate A, or None if it is not there."""
    operand = instruction.operand("A")
    return (lambda group: None) if operand is None else lambda group: group.p[operand.value]


def _jump(instruction: Instruction) -> Function:
    target = _target(instruction)

    def run(group: WorkGroup) -> None:
        group.pc, group.jumped = target, True

    return run


def _conditional(instruction: Instruction) -> Function:
    target, operand = _target(instruction), instruction.operand("A")
    compare = arithmetic.CONDITIONS[instruction.sub]
    assert operand is not None
    register = operand.value

    def run(group: WorkGroup) -> None:
        if compare(_lower(group.s[register]), 0x8000_0000):
            group.pc, group.jumped = target, True

    return run


def _branch(instruction: Instruction) -> Function:
    target, lanes = _target(instruction), _lanes(instruction)

    def run(group: WorkGroup) -> None:
        chosen = lanes(group)
        assert chosen is not None
        group.push("run", chosen, target)
        group.clear("run", chosen)

    return run


def _call(instruction: Instruction) -> Function:
    target, lanes = _target(instruction), _lanes(instruction)

    def run(group: WorkGroup) -> None:
        chosen = lanes(group)
        chosen = np.ones_like(group.active) if chosen is None else chosen
        group.push("ret", chosen, group.pc)
        group.masks["ret"] = chosen.copy()
        group.pc = target
        group.masks_changed()

    return run


def _push(instruction: Instruction) -> Function:
    target, lanes, mask = _target(instruction), _lanes(instruction), STACK_KINDS[instruction.sub]

    def run(group: WorkGroup) -> None:
        chosen = lanes(group)
        group.push(mask, group.masks[mask] if chosen is None else chosen, target)

    return run


def _clear(mask: str) -> Callable[[Instruction], Function]:
    def made(instruction: Instruction) -> Function:
        lanes = _lanes(instruction)

        def run(group: WorkGroup) -> None:
            chosen = lanes(group)
            group.clear(mask, group.active if chosen is None else chosen & group.active)

        return run

    return made


def _pop(instruction: Instruction) -> Function:
    return lambda group: group.pop()


def _print(instruction: Instruction) -> Function:
    operand = instruction.operand("A")
    name = instruction.name

    def run(group: WorkGroup) -> None:
        if operand is None:
            text = f"{group.executed} instructions"
        elif operand.kind is Kind.SCALAR:
            text = f"s{operand.value} = {group.s[operand.value]:#010x}"
        else:
            values = _source(operand)(group)
            text = f"{operand.kind.value.lower()}{operand.value} = {values.tolist()}"
        group.printed(f"{name} at {group.pc - 1}, {group.place}: {text}")

    return run


_CONTROL: dict[str, Callable[[Instruction], Function]] = {
    "nop": lambda instruction: lambda group: None, "j": _jump, "sicj": _conditional,
    "bra": _branch, "call": _call, "cpush": _push, "cmask": _clear("run"), "brk": _clear("break"),
    "ret": _clear("ret"), "exit": _clear("exit"), "cpop": _pop,
    **dict.fromkeys(("printsgpr", "printvgpr", "printpr", "printcmask", "printtrace"), _print),
}

