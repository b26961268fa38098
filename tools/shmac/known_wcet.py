"""Random programs for SHMAC's core, each with its worst input and exact worst time.

A program is made from the outside in, of parts whose worst time follows from the worst times of the
parts in them, because each decision has an input of its own: so all worst decisions can be made
together. Nothing here knows how `cyclebound.tools.shmac.wcet` finds a bound: times are those of the
instructions that were written down, one by one.

Some parts no analysis of paths can be exact about, which does not follow values that far: two
decisions on one input, what only some rounds of a loop do, loops as long as an outer one has
counted. `Kinds` says how often they come.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cyclebound.golden.shmac.core_bounds import CLASSES, class_of
from cyclebound.golden.shmac.memory_waits import AccessKind, MemoryWaits, Region
from cyclebound.tools.shmac.assembler import encode

__all__ = ["ALL", "CODE_END", "EXACT", "FAR", "INPUTS", "NEAR", "RETURN", "STACK", "START", "Kinds",
           "KnownProgram", "known_program", "placed_in_memory", "random_memory"]

INPUTS, NEAR, STACK, FAR = 0x8000, 0x9000, 0xA000, 0x1_0000
"""Addresses of a program's inputs, of data near by, of the end of its stack, and of data in another
memory."""
START, CODE_END = 0x2_0000, 0x2_8000
"""From where a program is, and to where."""
RETURN = START - 8
"""Where it returns to: a branch to itself."""
_ARRAY = 64  # bytes
_TEMPORARY = ("$t0", "$t1", "$t2", "$t3", "$t4", "$t5")


@dataclass(frozen=True)
class Kinds:
    """How often a part is of a kind, relative to each other.

    Attributes
    ----------
    straight, decision, counted, by_input, searched, call : int
        Instructions in a row; one way or the other by an input; a loop that counts; one that counts
        down from an input, and says in a comment how far; one that an input may leave early; a
        call.
    twice, by_round, triangle : int
        Two decisions on one input; what only odd rounds of a loop do; a loop that goes round as
        often as the one around it has.
    """

    straight: int = 6
    decision: int = 5
    counted: int = 5
    by_input: int = 2
    searched: int = 2
    call: int = 3
    twice: int = 0
    by_round: int = 0
    triangle: int = 0


EXACT = Kinds()
ALL = Kinds(twice=1, by_round=1, triangle=1)


@dataclass
class KnownProgram:
    """A program, and what it takes.

    Attributes
    ----------
    text : str
        In assembly language; it begins at `START`, as a function that returns.
    inputs : dict
        Words of the worst input, by address.
    cycles : int
        From where its first instruction begins to where the one after its return does, with that
        input and every wait at its longest: no input takes longer.
    choices : dict
        For each input, all values that it may have.
    """

    text: str
    inputs: dict[int, int]
    cycles: int
    choices: dict[int, Sequence[int]]


def random_memory(rng: random.Random) -> MemoryWaits:
    """The memory of such a program: instructions, data near by, data far away."""
    fetch, read, write = rng.randint(1, 6), rng.randint(1, 9), rng.randint(0, 4)
    far = rng.randint(1, 25)
    return MemoryWaits([
        Region("begin", 0, INPUTS, fetch=fetch),
        Region("near", INPUTS, FAR, read=read, write=write, load_linked=read + 1,
               store_conditional=read + 2),
        Region("far", FAR, FAR + 0x1000, read=read + far, write=write + far // 2,
               load_linked=read + far, store_conditional=read + far + 1),
        Region("code", RETURN, CODE_END, fetch=fetch)])


def placed_in_memory(words: Mapping[int, int], inputs: Mapping[int, int], begin: int = 0
                     ) -> dict[int, int]:
    """A program's words with its inputs, data, stack and return.

    From ``begin`` on are instructions that set all registers and then enter it.
    """
    def address(register: int, value: int) -> list[int]:
        return [encode("lui", rt=register, immediate=value >> 16),
                encode("ori", rt=register, rs=register, immediate=value & 0xFFFF)]

    enters = [word for register in range(1, 29) for word in address(register, 99 * register)]
    enters += [*address(30, 0), *address(29, STACK), *address(31, RETURN),
               encode("j", target=START), 0]
    return {**dict.fromkeys([*range(INPUTS, STACK, 4), *range(FAR, FAR + 0x100, 4)], 0),
            **{begin + 4 * place: word for place, word in enumerate(enters)},
            RETURN: encode("beq", offset=-1), RETURN + 4: 0, **words, **inputs}


def known_program(rng: random.Random, memory: MemoryWaits, *, size: int = 12,
                  most_cycles: int = 40_000, kinds: Kinds = ALL) -> KnownProgram:
    """A random program of about ``size`` parts, for this memory."""
    while True:
        made = _Maker(rng, memory, kinds).program(size)
        if made.cycles <= most_cycles:
            return made


@dataclass
class _Part:
    """Lines of a program, their worst time, and the inputs that make it: by their numbers."""

    lines: list[str] = field(default_factory=list)
    cycles: int = 0
    inputs: dict[int, int] = field(default_factory=dict)
    choices: dict[int, Sequence[int]] = field(default_factory=dict)

    def then(self, *others: "_Part") -> "_Part":
        """This, and after it the others."""
        whole = _Part(list(self.lines), self.cycles, dict(self.inputs), dict(self.choices))
        for other in others:
            whole.lines += other.lines
            whole.cycles += other.cycles
            whole.inputs |= other.inputs
            whole.choices |= other.choices
        return whole

    def deciding(self, number: int, value: int, values: Sequence[int]) -> "_Part":
        """The same, with an input of its own."""
        return _Part(self.lines, self.cycles, {**self.inputs, number: value},
                     {**self.choices, number: values})


@dataclass
class _Function:
    name: str
    fixed: int      # cycles
    each: int       # cycles for each unit of $a0
    inputs: _Part   # their numbers from 0 on
    count: int      # of its inputs
    lines: list[str]


class _Maker:
    def __init__(self, rng: random.Random, memory: MemoryWaits, kinds: Kinds) -> None:
        self.rng, self.memory, self.kinds = rng, memory, kinds
        self.functions: list[_Function] = []
        self.labels = 0
        self.inputs = 0          # of the function that is made
        self.saved: list[str] = []
        self.slots = 0           # words of its stack that count loops
        self.calls = False

    # Single instructions.

    def cost(self, text: str) -> int:
        """Cycles of an instruction, with the wait for its own fetch."""
        name, _, operands = text.partition(" ")
        kind = class_of({"li": "addiu", "move": "addu", "b": "beq", "nop": "sll"}.get(name, name))
        wait = 0
        if kind in ("load", "store"):
            base = operands.partition("(")[2]
            region = self.memory.named("far" if base.startswith("$t9") else "near")
            access = {"ll": AccessKind.LOAD_LINKED, "sc": AccessKind.STORE_CONDITIONAL}.get(
                name, AccessKind.WRITE if kind == "store" else AccessKind.READ)
            wait = region.cost(access) or 0
        fetch = self.memory.named("code").fetch or 0
        return CLASSES[kind]() + wait + fetch

    def of(self, *texts: str) -> _Part:
        """These instructions, once each."""
        return _Part([f"        {text}" for text in texts], sum(map(self.cost, texts)))

    def label(self, what: str) -> str:
        self.labels += 1
        return f"{what}{self.labels}"

    def one(self) -> str:
        """An instruction that does not matter."""
        rng = self.rng
        d, s, t = (rng.choice(_TEMPORARY) for _ in range(3))
        kind = rng.randrange(12)
        if kind < 5:
            three = rng.choice(("addu", "subu", "xor", "sltu", "nor"))
            return rng.choice((f"{three} {d}, {s}, {t}",
                               f"{rng.choice(('addiu', 'slti'))} {d}, {s}, {rng.randint(-99, 99)}",
                               f"{rng.choice(('sll', 'sra'))} {d}, {s}, {rng.randrange(32)}",
                               f"lui {d}, {rng.randrange(99)}", "nop", f"srlv {d}, {s}, {t}"))
        if kind == 5:
            return rng.choice((f"add {d}, $0, {s}", f"addi {d}, $0, 5", f"sub {d}, {s}, $0"))
        if kind == 6:
            return rng.choice((f"{rng.choice(('mult', 'multu', 'div', 'divu'))} {s}, {t}",
                               f"mflo {d}", f"mthi {s}", f"mfc0 {d}, $12"))
        base, at = rng.choice(("$t8", "$t8", "$t9")), rng.randrange(_ARRAY)
        name, size = rng.choice((("lw", 4), ("lh", 2), ("lbu", 1), ("lwl", 1), ("sw", 4), ("sw", 4),
                                 ("sh", 2), ("sb", 1), ("swr", 1), ("ll", 4)))
        return f"{name} {d}, {at // size * size}({base})"

    def slot(self) -> str:
        return self.rng.choice((self.one(), "nop"))

    # Parts.

    def program(self, size: int) -> KnownProgram:
        for _ in range(self.rng.randrange(3)):
            self.function(max(2, size // 3))
        body, prologue, epilogue = self.body(size, extra=(
            f"lui $gp, {INPUTS >> 16}", f"ori $gp, $gp, {INPUTS & 0xFFFF}",
            f"lui $t8, {NEAR >> 16}", f"ori $t8, $t8, {NEAR & 0xFFFF}",
            f"lui $t9, {FAR >> 16}", f"ori $t9, $t9, {FAR & 0xFFFF}"))
        whole = prologue.then(body, epilogue)
        lines = ["main:", *whole.lines]
        for function in self.functions:
            lines += function.lines
        return KnownProgram(
            "\n".join(lines) + "\n",
            {INPUTS + 4 * number: value & 0xFFFF_FFFF for number, value in whole.inputs.items()},
            whole.cycles, {INPUTS + 4 * number: [value & 0xFFFF_FFFF for value in values]
                           for number, values in whole.choices.items()})

    def body(self, size: int, *, extra: Sequence[str] = (), make: Callable[[], _Part] | None = None
             ) -> tuple[_Part, _Part, _Part]:
        """What is in a function, what is before it, and what after it."""
        self.inputs, self.saved, self.slots, self.calls = 0, [], 0, False
        body = self.sequence(size, 0) if make is None else make()
        frame = 4 * (self.slots + len(self.saved) + 1)
        kept = [(register, 4 * (self.slots + place)) for place, register in enumerate(self.saved)]
        if self.calls:
            kept.append(("$ra", frame - 4))
        enters = self.of(f"addiu $sp, $sp, {-frame}",
                         *(f"sw {register}, {at}($sp)" for register, at in kept), *extra)
        leaves = self.of(*(f"lw {register}, {at}($sp)" for register, at in kept),
                         "jr $ra", f"addiu $sp, $sp, {frame}")
        return body, enters, leaves

    def function(self, size: int) -> None:
        """A function, of which $a0 may say how often a part of it is done."""
        name, counts = self.label("f"), self.rng.random() < 0.6
        each: list[_Part] = []

        def make() -> _Part:
            if not counts:
                return self.sequence(size, 1)
            counter = self.counter()
            whole = self.of(f"move {counter}, $a0").then(self.sequence(size, 1))
            inner = self.sequence(2, 2)
            again = self.label("n")
            each.append(inner.then(self.of(f"addiu {counter}, {counter}, -1",
                                           f"bgtz {counter}, {again}", "nop")))
            return whole.then(_Part([f"{again}:"]), replace(each[0], cycles=0))

        body, enters, leaves = self.body(size, make=make)
        whole = enters.then(body, leaves)
        self.functions.append(_Function(
            name, whole.cycles, each[0].cycles if each else 0, whole, self.inputs,
            [f"{name}:", *whole.lines]))

    def sequence(self, size: int, depth: int) -> _Part:
        whole = _Part()
        while size > 0:
            part, used = self.part(size, depth)
            whole = whole.then(part)
            size -= used
        return whole

    def part(self, size: int, depth: int) -> tuple[_Part, int]:
        kinds: Mapping[str, int] = {**vars(self.kinds)}
        if depth >= 4:
            kinds = {"straight": 1, "decision": int(depth == 4)}
        kind = self.rng.choices(list(kinds), list(kinds.values()))[0]
        inside = max(1, size // 2)
        return getattr(self, f"a_{kind}")(inside, depth), inside + 1

    def a_straight(self, size: int, depth: int) -> _Part:
        if self.rng.random() < 0.1:
            return self.of("ll $t0, 0($t8)", "addiu $t0, $t0, 1", "sc $t0, 0($t8)")
        return self.of(*(self.one() for _ in range(self.rng.randint(1, 6))))

    def input(self) -> int:
        self.inputs += 1
        return self.inputs - 1

    def counter(self) -> str:
        """A register that is kept from here to the function's end."""
        if len(self.saved) < 8:
            self.saved.append(f"$s{len(self.saved)}")
            return self.saved[-1]
        return ""

    def asks(self, number: int, form: int, to: str) -> tuple[_Part, int, int]:
        """A branch by an input, and the input's values to go on, and to go there."""
        load = f"lw $t6, {4 * number}($gp)"
        slot = self.slot()
        if form == 0:
            return self.of(load, f"beq $t6, $0, {to}", slot), 1, 0
        if form == 1:
            return self.of(load, f"bltz $t6, {to}", slot), 0, -1
        if form == 2:
            return self.of(load, f"bgtz $t6, {to}", slot), 0, 5
        if form == 3:
            return self.of(load, "slti $t7, $t6, 10", f"beq $t7, $0, {to}", slot), 3, 20
        if form == 4:
            return self.of(load, "li $t7, 77", f"bne $t6, $t7, {to}", slot), 77, 78
        return self.of(load, f"blez $t6, {to}", slot), 1, -7

    def either(self, number: int, form: int, one: _Part, other: _Part
               ) -> tuple[_Part, int, int, int, int]:
        """One or the other, without their time: with both times, and the input's values."""
        there, end = self.label("else"), self.label("end")
        asks, go_on, go_there = self.asks(number, form, there)
        over = self.of(f"b {end}", self.slot())
        lines = [*asks.lines, *one.lines, *over.lines, f"{there}:", *other.lines, f"{end}:"]
        part = _Part(lines, 0, one.inputs | other.inputs, one.choices | other.choices).deciding(
            number, go_on, (go_on, go_there))
        return (part, asks.cycles + one.cycles + over.cycles, asks.cycles + other.cycles, go_on,
                go_there)

    def a_decision(self, size: int, depth: int) -> _Part:
        one = self.sequence(size // 2 + 1, depth + 1)
        other = self.sequence(size // 2, depth + 1) if self.rng.random() < 0.7 else _Part()
        number, form = self.input(), self.rng.randrange(6)
        part, first, second, go_on, go_there = self.either(number, form, one, other)
        part.cycles = max(first, second)
        part.inputs[number] = go_on if first >= second else go_there
        return part

    def a_twice(self, size: int, depth: int) -> _Part:
        """Two decisions on one input."""
        number, form = self.input(), self.rng.randrange(6)
        (one, first, second, go_on, go_there), (other, third, fourth, *_) = (
            self.either(number, form, self.sequence(1, 4), self.sequence(2, 4)) for _ in range(2))
        whole = one.then(other)
        whole.cycles = max(first + third, second + fourth)
        whole.inputs[number] = go_on if first + third >= second + fourth else go_there
        return whole

    def rounds(self, depth: int) -> int:
        return self.rng.randint(1, (12, 8, 5, 3)[min(depth, 3)])

    def a_counted(self, size: int, depth: int) -> _Part:
        counter = self.counter()
        if not counter:
            return self.a_straight(size, depth)
        form, rounds = self.rng.randrange(7), self.rounds(depth)
        again, end = self.label("loop"), self.label("end")
        body = self.sequence(size, depth + 1)
        more: list[tuple[Callable[[int], bool], _Part]] = []
        if form != 5 and self.kinds.by_round and self.rng.random() < 0.1:
            more.append(self.by_round(counter))
        slot = self.slot()
        if form == 0:
            begins, back = self.of(f"li {counter}, {rounds}"), self.of(
                f"addiu {counter}, {counter}, -1",
                f"{self.rng.choice(('bne', 'bgtz'))} {counter}, $0, {again}".replace(
                    "bgtz " + counter + ", $0", "bgtz " + counter), slot)
            counts = [rounds - place for place in range(rounds)]
        elif form == 1:
            begins, back = self.of(f"li {counter}, {rounds - 1}"), self.of(
                f"bne {counter}, $0, {again}", f"addiu {counter}, {counter}, -1")
            counts = [rounds - 1 - place for place in range(rounds)]
        elif form == 2:
            first, step = self.rng.randint(-9, 9), self.rng.randint(1, 5)
            limit = first + step * rounds - self.rng.randrange(step)
            begins, back = self.of(f"li {counter}, {first}"), self.of(
                f"addiu {counter}, {counter}, {step}", f"slti $t6, {counter}, {limit}",
                f"bne $t6, $0, {again}", slot)
            counts = [first + step * place for place in range(rounds)]
        elif form == 3:
            step = self.rng.randint(1, 4)
            begins = self.of(f"lui {counter}, 0x1234", f"addiu {counter}, {counter}, 8")
            back = self.of(f"addiu {counter}, {counter}, {4 * step}", "lui $t7, 0x1234",
                           f"addiu $t7, $t7, {8 + 4 * step * rounds}",
                           f"bne {counter}, $t7, {again}", slot)
            counts = [0x1234_0008 + 4 * step * place for place in range(rounds)]
        elif form == 4:
            begins, back = self.of(f"li {counter}, 0"), self.of(
                f"addiu {counter}, {counter}, 1", f"li $t7, {rounds}",
                f"sltu $t6, {counter}, $t7", f"bne $t6, $0, {again}", slot)
            counts = list(range(rounds))
        elif form == 5:  # the counter is on the stack
            at = self.slots_word()
            begins, back = self.of(f"li $t6, {rounds}", f"sw $t6, {at}($sp)"), self.of(
                f"lw $t6, {at}($sp)", "nop", "addiu $t6, $t6, -1", f"sw $t6, {at}($sp)",
                f"bgtz $t6, {again}", slot)
            counts = []
        else:  # the test comes first
            begins = self.of(f"li {counter}, 0")
            test = self.of(f"slti $t6, {counter}, {rounds}", f"beq $t6, $0, {end}", "nop")
            back = self.of(f"b {again}", f"addiu {counter}, {counter}, 1")
            body = test.then(body)
            begins.cycles += test.cycles  # once more, to leave
            counts = list(range(rounds))
        lines = [*begins.lines, f"{again}:", *body.lines]
        cycles = begins.cycles + rounds * (body.cycles + back.cycles)
        for applies, part in more:
            lines += part.lines
            overhead, inside = part.cycles, part.inputs.pop(-1)
            cycles += sum(overhead + (inside if applies(count) else 0) for count in counts)
        return _Part([*lines, *back.lines, f"{end}:"], cycles, body.inputs, body.choices)

    def slots_word(self) -> int:
        self.slots += 1
        return 4 * (self.slots - 1)

    def by_round(self, counter: str) -> tuple[Callable[[int], bool], _Part]:
        """What only odd rounds do: its own time under the number -1, the question's as its time."""
        end = self.label("even")
        asks = self.of(f"andi $t6, {counter}, 1", f"beq $t6, $0, {end}", "nop")
        inside = self.of(*(self.one() for _ in range(self.rng.randint(1, 5))))
        return (lambda count: count % 2 == 1), _Part(
            [*asks.lines, *inside.lines, f"{end}:"], asks.cycles, {-1: inside.cycles})

    def a_by_round(self, size: int, depth: int) -> _Part:
        return self.a_counted(size, depth)

    def a_triangle(self, size: int, depth: int) -> _Part:
        """Round i of a loop has one of i + 1 rounds in it."""
        outer, inner = self.counter(), self.counter()
        if not inner:
            return self.a_straight(size, depth)
        rounds = self.rounds(depth + 1) + 1
        again, within = self.label("loop"), self.label("loop")
        body = self.sequence(max(1, size // 2), depth + 2)
        begins = self.of(f"li {outer}, 0")
        starts = self.of(f"li {inner}, -1")
        turn = self.of(f"addiu {inner}, {inner}, 1", f"slt $t6, {inner}, {outer}",
                       f"bne $t6, $0, {within}", "nop")
        back = self.of(f"addiu {outer}, {outer}, 1", f"slti $t6, {outer}, {rounds}",
                       f"bne $t6, $0, {again}", self.slot())
        cycles = begins.cycles + sum(
            starts.cycles + (count + 1) * (body.cycles + turn.cycles) + back.cycles
            for count in range(rounds))
        return _Part([*begins.lines, f"{again}:", *starts.lines, f"{within}:", *body.lines,
                      *turn.lines, *back.lines], cycles, body.inputs, body.choices)

    def a_by_input(self, size: int, depth: int) -> _Part:
        counter = self.counter()
        if not counter:
            return self.a_straight(size, depth)
        rounds, number = self.rounds(depth), self.input()
        masked = rounds in (1, 3, 7) and self.rng.random() < 0.5
        again, end = self.label("loop"), self.label("end")
        body = self.sequence(size, depth + 1)
        load = [f"lw {counter}, {4 * number}($gp)"]
        if masked:
            load.append(f"andi {counter}, {counter}, {rounds}")
        asks = self.of(*load, f"blez {counter}, {end}", "nop")
        back = self.of(f"addiu {counter}, {counter}, -1", f"bgtz {counter}, {again}", self.slot())
        comment = "" if masked else f" # bound {rounds}"
        return _Part([*asks.lines, f"{again}:{comment}", *body.lines, *back.lines, f"{end}:"],
                     asks.cycles + rounds * (body.cycles + back.cycles), body.inputs, body.choices
                     ).deciding(number, rounds, range(rounds + 1))

    def a_searched(self, size: int, depth: int) -> _Part:
        """A loop that counts up, and that an input leaves in a round of its choice."""
        counter = self.counter()
        if not counter:
            return self.a_straight(size, depth)
        rounds, number = self.rounds(depth) + 1, self.input()
        again, found, end = self.label("loop"), self.label("found"), self.label("end")
        before, after = self.sequence(size // 2, depth + 1), self.sequence(size // 2, depth + 1)
        when_found, when_not = (self.of(*(self.one() for _ in range(self.rng.randrange(4))))
                                for _ in range(2))
        begins = self.of(f"li {counter}, 0")
        asks = self.of(f"lw $t6, {4 * number}($gp)", "nop", f"beq $t6, {counter}, {found}", "nop")
        back = self.of(f"addiu {counter}, {counter}, 1", f"slti $t6, {counter}, {rounds}",
                       f"bne $t6, $0, {again}", "nop")
        over = self.of(f"b {end}", "nop")
        turn = before.cycles + asks.cycles
        times = {place: place * (turn + after.cycles + back.cycles) + turn + when_found.cycles
                 for place in range(rounds)}
        times[rounds] = rounds * (turn + after.cycles + back.cycles) + (
            when_not.cycles + over.cycles)
        worst = max(times, key=lambda place: times[place])
        whole = begins.then(_Part([f"{again}:"]), before, asks, after, back, when_not, over,
                            _Part([f"{found}:"]), when_found, _Part([f"{end}:"]))
        whole.cycles = begins.cycles + times[worst]
        return whole.deciding(number, worst, range(rounds + 1))

    def a_call(self, size: int, depth: int) -> _Part:
        if not self.functions:
            return self.a_straight(size, depth)
        function = self.rng.choice(self.functions)
        self.calls = True
        first, count = self.inputs, self.rng.randint(1, 6)
        self.inputs += function.count
        part = self.of(f"li $a0, {count}", f"addiu $gp, $gp, {4 * first}", f"jal {function.name}",
                       self.slot(), f"addiu $gp, $gp, {-4 * first}")
        part.cycles += function.fixed + count * function.each
        part.inputs = {first + number: value for number, value in function.inputs.inputs.items()}
        part.choices = {first + number: values
                        for number, values in function.inputs.choices.items()}
        return part
