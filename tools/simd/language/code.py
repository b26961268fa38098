"""Instructions of a kernel with virtual registers, and what makes them a ``.sas`` text.

Source: Sim-D, section 3.1 (registers of a work-group, masks, the control stack). Names of
instructions that end in ``!`` stand for several, which belong together (`_expanded`): so a load
that nothing reads is left out with what prepares it.

Registers are allocated by linear scan (Poletto and Sarkar, "Linear Scan Register Allocation", 1999)
over intervals of the text: a register that is live on either side of a loop's begin or end is live
in all of it. Lanes that are off keep their values, so that no interval ends at the end of a branch
while another one needs it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cyclebound.golden.simd.machine import SCALARS

__all__ = ["PREDICATES", "Code", "Op", "Register", "RegistersError"]

PREDICATES = 4
# where the buffer stands among the sources
_BUFFER = {"ldglin": 0, "ldglin!": 0, "ldgbidx!": 1, "ldgcidx!": 1, "sldg": 0, "sldsp!": 1,
           "stglin": 1, "stgbidx!": 2, "stgcidx!": 2, "stgidxit!": 2}
_MIX = {"add": "mad", "iadd": "imad"}  # a sum, and what has the product in it
_PRODUCTS = {"add": "mul", "iadd": "imul", "add.neg": "mul"}


@dataclass(frozen=True)
class Register:
    """A virtual register: ``kind`` is ``v`` (a value in each lane), ``s`` (one for the work-group)
    or ``p`` (a bit in each lane)."""

    number: int
    kind: str


@dataclass
class Op:
    """An instruction: ``target`` is written, and ``sources`` (registers and texts) are read; they
    are written in this order. ``line`` is the kernel's."""

    name: str
    target: Register | None
    sources: list[Register | str]
    line: int

    @property
    def straight(self) -> bool:
        """Whether the next instruction follows, with the same lanes."""
        return self.name.partition(".")[0] not in (
            "label", "sicj", "cpush", "cmask", "brk", "ret", "exit", "cpop", "loop", "repeat")


class RegistersError(ValueError):
    """More registers of a kind are live at once than the machine has."""

    def __init__(self, kind: str, count: int, line: int) -> None:
        names = {"v": "vector", "s": "scalar", "p": "predicate"}
        super().__init__(f"more than {count} {names[kind]} registers are needed at once, and the "
                         f"machine has {count}")
        self.kind, self.line = kind, line


@dataclass
class Code:
    """Instructions under way. ``loop`` and ``repeat`` mark a loop's begin and end."""

    ops: list[Op] = field(default_factory=list)
    line: int = 0
    registers: int = 0
    labels: int = 0

    def new(self, kind: str) -> Register:
        self.registers += 1
        return Register(self.registers - 1, kind)

    def emit(self, name: str, target: Register | None, *sources: Register | str) -> None:
        self.ops.append(Op(name, target, list(sources), self.line))

    def make(self, name: str, kind: str, *sources: Register | str) -> Register:
        """Emit an instruction with a target of its own."""
        target = self.new(kind)
        self.emit(name, target, *sources)
        return target

    def name(self, word: str) -> str:
        """A label that nothing else has."""
        self.labels += 1
        return f"{word}_{self.labels}"

    # -- fewer instructions ------------------------------------------------------------------------

    def improve(self, *, again: bool = True) -> None:
        """Leave out what is not needed, and join what one instruction can do. ``again``: what is
        made twice, or in each round of a loop alike, is made once; that takes registers."""
        if again:
            self._drop_unread()
            self._hoist()
            self._share()
        before = None
        while before != len(self.ops):
            before = len(self.ops)
            self._drop_unread()
            self._drop_empty()
            self._join_products()
            self._join_copies()

    def _uses(self) -> tuple[dict[Register, list[int]], dict[Register, list[int]]]:
        """Where each register is written, and where it is read."""
        writes: dict[Register, list[int]] = {}
        reads: dict[Register, list[int]] = {}
        for place, op in enumerate(self.ops):
            if op.target is not None:
                writes.setdefault(op.target, []).append(place)
            for source in op.sources:
                if isinstance(source, Register):
                    reads.setdefault(source, []).append(place)
        return writes, reads

    def _drop_unread(self) -> None:
        _, reads = self._uses()
        self.ops = [op for op in self.ops if op.target is None or any(
            self.ops[place].target != op.target for place in reads.get(op.target, ()))]

    def _drop_empty(self) -> None:
        """Branches in which nothing is done."""
        place = 0
        while place < len(self.ops):
            names = [op.name for op in self.ops[place:place + 4]]
            if names == ["cpush.if", "cmask", "cpop", "label"]:
                del self.ops[place:place + 4]
            else:
                place += 1

    def _pure(self) -> Callable[[Op], bool]:
        """What tells whether an instruction makes the same of the same sources, whenever it runs:
        no memory that this kernel stores to is read, and no register has a second value."""
        writes, _ = self._uses()
        stored = {op.sources[_BUFFER[op.name]] for op in self.ops if op.name.startswith("stg")}

        def pure(op: Op) -> bool:
            name = op.name.partition(".")[0]
            if op.target is None or op.target.kind == "p" or len(writes[op.target]) > 1 or any(
                    len(writes.get(source, ())) > 1 for source in op.sources
                    if isinstance(source, Register)):
                return False
            if name in _BUFFER:
                return op.sources[_BUFFER[name]] not in stored
            return name not in ("ldgidxit!", "ldgidxit")

        return pure

    def _hoist(self) -> None:
        """What is the same in each round of a loop goes before the loop, inner loops first. Lanes
        that are active in a loop are so before it."""
        ends = [place for place, op in enumerate(self.ops) if op.name == "repeat"]
        for end in ends:
            first = max(place for place, op in enumerate(self.ops[:end])
                        if op.name == "loop" and sum(
                            {"loop": 1, "repeat": -1}.get(inner.name, 0)
                            for inner in self.ops[place:end]) == 1)
            pure, moved = self._pure(), []
            inside = {op.target for op in self.ops[first:end]}
            for place in range(first + 1, end):
                op = self.ops[place]
                if pure(op) and not inside & set(op.sources):
                    moved.append(place)
                    inside.discard(op.target)
            ops = [self.ops[place] for place in moved]
            self.ops[first:end] = [*ops, *(op for place, op in enumerate(self.ops[first:end], first)
                                           if place not in moved)]

    def _share(self) -> None:
        """What has been made before, in these lanes or more, is not made again."""
        pure = self._pure()
        made: list[dict[tuple[str, ...], Register]] = [{}]
        named: dict[Register | str, Register | str] = {}
        kept = []
        for op in self.ops:
            op.sources = [named.get(source, source) for source in op.sources]
            if op.name.startswith("cpush"):
                made.append({})
            elif op.name == "label" and len(made) > 1 and not str(op.sources[0]).startswith("loop"):
                made.pop()
            if not pure(op) or op.target is None:
                kept.append(op)
                continue
            key = (op.name, op.target.kind, *map(str, op.sources))
            if (known := next((level[key] for level in made if key in level), None)) is not None:
                named[op.target] = known
                continue
            made[-1][key] = op.target
            kept.append(op)
        self.ops = kept

    def _block(self, first: int, last: int) -> bool:
        return all(op.straight for op in self.ops[first:last + 1])

    def _written(self, registers: list[Register | str], first: int, last: int) -> bool:
        return any(op.target in registers for op in self.ops[first:last] if op.target is not None)

    def _join_products(self) -> None:
        """A sum with a product that nothing else needs: both are rounded in one instruction."""
        writes, reads = self._uses()
        gone: set[int] = set()
        for place, op in enumerate(self.ops):
            if op.name not in _PRODUCTS:
                continue
            for side, other in ((1, 0), (0, 1)) if op.name != "add.neg" else ((1, 0),):
                product, addend = op.sources[side], op.sources[other]
                if not (isinstance(product, Register) and isinstance(addend, Register)
                        and addend.kind == "v" and len(writes.get(product, ())) == 1
                        and reads[product] == [place]):
                    continue
                made = writes[product][0]
                factor = self.ops[made]
                if (factor.name != _PRODUCTS[op.name] or made in gone
                        or not self._block(made, place)
                        or self._written(factor.sources, made + 1, place)):
                    continue
                op.name = "mad.neg" if op.name == "add.neg" else _MIX[op.name]
                op.sources = [*factor.sources, addend]
                gone.add(made)
                break
        self.ops = [op for place, op in enumerate(self.ops) if place not in gone]

    def _join_copies(self) -> None:
        """A copy of what is made just for it: it is made in the right register."""
        writes, reads = self._uses()
        for place, op in enumerate(self.ops):
            if op.name != "copy" or not isinstance(op.sources[0], Register):
                continue
            source, target = op.sources[0], op.target
            assert target is not None
            made = writes.get(source, [])
            if (source.kind != target.kind or len(made) != 1 or made[0] > place
                    or max(reads[source]) > place
                    or not self._block(made[0], place)
                    or any(target in (inner.target, *inner.sources)
                           for inner in self.ops[made[0] + 1:place])):
                continue
            for inner in self.ops[made[0]:place]:
                inner.target = target if inner.target == source else inner.target
                inner.sources = [target if part == source else part for part in inner.sources]
            del self.ops[place]
            return self._join_copies()

    # -- registers ---------------------------------------------------------------------------------

    def _intervals(self) -> dict[Register, list[int]]:
        spans: dict[Register, list[int]] = {}
        loops, open_ = [], []
        for place, op in enumerate(self.ops):
            for part in (op.target, *op.sources):
                if isinstance(part, Register):
                    spans.setdefault(part, [place, place])[1] = place
            if op.name == "loop":
                open_.append(place)
            elif op.name == "repeat":
                loops.append((open_.pop(), place))  # the inner ones first
        for first, last in loops:
            for span in spans.values():
                if span[0] < last and span[1] > first and not (span[0] > first and span[1] < last):
                    span[:] = min(span[0], first), max(span[1], last)
        return spans

    def allocated(self, vectors: int) -> dict[Register, int]:
        """A register of the machine for each. Raises `RegistersError`."""
        most = {"v": vectors, "s": SCALARS, "p": PREDICATES}
        spans = self._intervals()
        wishes: dict[Register, Register] = {}
        for op in self.ops:
            if op.name == "copy" and op.target is not None and isinstance(op.sources[0], Register):
                wishes.setdefault(op.target, op.sources[0])
        found: dict[Register, int] = {}
        busy: dict[str, dict[int, int]] = {kind: {} for kind in most}  # until when
        for register, (first, last) in sorted(spans.items(), key=lambda item: item[1]):
            taken = busy[register.kind]
            for number in [number for number, end in taken.items() if end <= first]:
                del taken[number]
            wish = found.get(wishes.get(register, register))
            free = wish if wish is not None and wish not in taken and wishes[
                register].kind == register.kind else next(
                    number for number in range(len(taken) + 1) if number not in taken)
            if free >= most[register.kind]:
                raise RegistersError(register.kind, most[register.kind], self.ops[first].line)
            found[register], taken[free] = free, last
        return found

    def text(self, vectors: int) -> list[str]:
        """The lines of ``.text``. Raises `RegistersError`."""
        found = self.allocated(vectors)
        lines: list[str] = []
        number = 0
        for op in self.ops:
            if op.name == "label":
                lines.append(f"{op.sources[0]}:")
                continue
            if op.name in ("loop", "repeat"):
                continue
            words = [f"{part.kind}{found[part]}" if isinstance(part, Register) else part
                     for part in (*((op.target,) if op.target else ()), *op.sources)]
            for name, *operands in _expanded(op, words):
                if op.line and op.line != number:
                    number = op.line
                    lines.append(f"#line {number}")
                if name.startswith("#"):
                    lines.append(f"    {name}")
                else:
                    lines.append(f"    {name:<8} {', '.join(operands)}".rstrip())
        return lines


def _tile(count: str) -> Iterator[tuple[str, ...]]:
    """Words that stream past, in one line."""
    yield "smovssp", "sc.sd_words", count
    yield "smovssp", "sc.sd_period", count
    yield "smovssp", "sc.sd_period_cnt", "1"


def _expanded(op: Op, words: list[str]) -> Iterator[tuple[str, ...]]:
    match op.name:
        case "copy":
            target, source = words
            scalar = isinstance(op.sources[0], Register) and op.sources[0].kind == "s"
            if target == source:
                return
            if op.target is not None and op.target.kind == "s":
                yield ("sor", target, source, source) if scalar else ("smov", target, source)
            elif scalar:
                yield "mov", target, "vc.zero"
                yield "or", target, target, source
            elif isinstance(op.sources[0], Register):
                yield "or", target, source, source
            else:
                yield "mov", target, source
        case "ldglin!":  # what lies outside of the buffer reads 0
            yield "mov", words[0], "vc.zero"
            yield "ldglin", *words
        case "ldgbidx!":
            target, index, buffer = words
            yield "movvsp", "vc.mem_data", "0"
            yield "movvsp", "vc.mem_idx", index
            yield "ldgbidx", buffer
            yield "mov", target, "vc.mem_data"
        case "ldgcidx!":  # a part of the buffer
            target, index, buffer, first, count = words
            yield "movvsp", "vc.mem_data", "0"
            yield "movvsp", "vc.mem_idx", index
            yield from _tile(count)
            yield "ldgcidx", buffer, first
            yield "mov", target, "vc.mem_data"
        case "stgcidx!":
            value, index, buffer, first, count = words
            yield "movvsp", "vc.mem_idx", index
            yield "movvsp", "vc.mem_data", value
            yield from _tile(count)
            yield "stgcidx", buffer, first
        case "stgbidx!":
            value, index, buffer = words
            yield "movvsp", "vc.mem_idx", index
            yield "movvsp", "vc.mem_data", value
            yield "stgbidx", buffer
        case "ldgidxit!":
            target, index, buffer = words
            yield "movvsp", "vc.mem_idx", index
            yield "ldgidxit", target, buffer
        case "stgidxit!":
            value, index, buffer = words
            yield "movvsp", "vc.mem_idx", index
            yield "stgidxit", value, buffer
        case "sldsp!":  # a word of DRAM for all lanes, by way of the scratchpad
            target, pad, buffer, place = words
            yield "smovssp", "sc.sd_words", "1"
            yield "ldg2sptile", pad, buffer, place
            yield "sldsp", target, pad
        case "sicj!":  # of a loop that comes back so often
            label, counter, most = words
            yield (f"#bound branchcycle {int(most) - 1} 1",)
            yield "sicj.g", label, counter
        case _:
            yield op.name, *words
