"""Random kernels: Python, the interpreter and the golden fabric have to agree on each.

    python -m cyclebound.tools.dataflow.random_kernels COUNT [SEED]

Kernels with loops, some of which end as data decide, branches, exits, and variables that wait in
memory between the parts of a loop.
Python calls the function itself (`golden.dataflow.plain`); the interpreter runs its graphs; the
golden fabric runs them mapped, on 5 x 5 units, with few entries and memory that often misses, and
reads as late as it may. Besides, the interpreter does the tasks in other orders that their tokens
allow: what a graph does must depend on its tokens only. Each thread writes to four elements of its
own, and reads from arrays that no thread writes.

Prints a line for each kernel on which two of them differ, with its seed, and at the end how many
were run; the exit status is 1 if any differ. ``show SEED`` prints the kernel of a seed.
"""

import linecache
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from cyclebound.golden.dataflow import kernel as language
from cyclebound.golden.dataflow.graph import Graph
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE
from cyclebound.golden.dataflow.interpret import interpret_all
from cyclebound.golden.dataflow.kernel import LOOP, Kernel, KernelError
from cyclebound.golden.dataflow.plain import run_plainly
from cyclebound.tools.dataflow.run import run_graphs
from cyclebound.tools.dataflow.segments import compile_segments

__all__ = ["RandomKernel", "compare", "kernel_of", "random_kernel", "search"]

THREADS, OWN = 4, 4  # elements of each thread
_INTEGERS = (0, 1, 2, 3, 5, 7, 8, 12, 31, 255, -1, -2, -9, 65535, 0x7FFF_FFFF, -0x8000_0000)
_FLOATS = (0.0, 1.0, -1.0, 0.5, 2.0, 3.25, -0.0, 1e-3, 1e30, 0.1)
ORDERS = 3   # of tasks, for each kernel
MOVES = 1500  # of the mapper


@dataclass
class _Writer:
    """Writes a kernel; every name in ``kinds`` has a value."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    loops: list[str] = field(default_factory=list)
    repeats: int = 1  # of what is being written
    left: int = 7  # statements

    def say(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    # -- expressions -------------------------------------------------------------------------------

    def names(self, kind: str) -> list[str]:
        return [name for name, own in self.kinds.items() if own == kind]

    def own(self) -> str:
        """An index of this thread's."""
        return f"tid * {OWN} + " + self.rng.choice(
            ("0", "1", "2", "3", f"({self.integer(1)} & 3)", f"{self.integer(1)} % 4"))

    def simple(self, names: list[str], constants: tuple[float, ...]) -> str:
        """A name, twice as often as a constant."""
        return self.rng.choice([self.rng.choice(names), self.rng.choice(names),
                                str(self.rng.choice(constants))])

    def of_any_kind(self, form: int, a: str, b: str, unary: tuple[str, ...]) -> str:
        """An expression of integers or floats alike: an extreme, a unary operation, a choice."""
        if form == 0:
            return f"{self.rng.choice(('min', 'max'))}({a}, {b})"
        if form == 1:
            return f"{self.rng.choice(unary)}({a})"
        return f"({a} if {self.truth(1)} else {b})"

    def integer(self, depth: int = 2) -> str:
        rng = self.rng
        names = self.names("int") + self.loops + ["tid", "n"]
        if depth == 0 or rng.random() < 0.2:
            return self.simple(names, _INTEGERS)
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        pick = rng.randrange(22)
        if pick < 9:
            return f"({a} {'+-*&|^+-*'[pick]} {b})"
        if pick == 9:
            return f"({rng.choice(names)} {rng.choice(('<<', '>>'))} {rng.randrange(32)})"
        if pick == 10:
            return f"({rng.choice(names)} {rng.choice(('<<', '>>'))} ({b} & 63))"
        if pick == 11:
            return f"({rng.choice(names)} {rng.choice(('//', '%'))} {rng.choice((3, 4, -5, 7))})"
        if pick == 12 and rng.random() < 0.5:
            return f"({rng.choice(names)} {rng.choice(('//', '%'))} {rng.choice(names)})"
        if 13 <= pick <= 15:
            return self.of_any_kind(pick - 13, a, b, ("abs", "-", "~", "int"))
        if pick == 16:
            return f"({a} {rng.choice(('and', 'or'))} {b})"
        if pick == 17:
            return f"r[{rng.choice(names)} & 15]"
        if pick == 18:
            return f"({rng.choice(names)} ** 2)"
        if pick == 19:
            return rng.choice((f"shr({rng.choice(names)}, {rng.randrange(1, 32)})",
                               f"int({self.single(depth - 1)})",
                               f"round({self.single(depth - 1)})"))
        if pick == 20:
            return f"({self.truth(1)} + {a})"
        return f"a[{self.own()}]"

    def single(self, depth: int = 2) -> str:
        rng = self.rng
        names = [*self.names("float"), "f"]
        if depth == 0 or rng.random() < 0.25:
            return self.simple(names, _FLOATS)
        a, b = self.single(depth - 1), self.single(depth - 1)
        pick = rng.randrange(14)
        if pick < 5:
            return f"({a} {'+-*-+'[pick]} {b})"
        if pick == 12:  # an integer beside a float, on either side
            both = [a, self.integer(depth - 1)]
            rng.shuffle(both)
            return f"({both[0]} {rng.choice('+-*/')} {both[1]})"
        if pick == 13:
            return f"({rng.choice([*self.names('int'), 'tid'])} / {self.integer(0)})"
        if 5 <= pick <= 7:
            return self.of_any_kind(pick - 5, a, b, ("abs", "-"))
        if pick == 8:
            return f"float32({self.integer(depth - 1)})"
        if pick == 9:
            return rng.choice((f"({rng.choice(names)} / {b})", f"sqrt({a})",
                               f"({rng.choice(names)} ** 3)", f"fma({a}, {b}, f)"))
        if pick == 10:
            return f"s[{self.integer(0)} & 15]"
        return f"x[{self.own()}]"

    def truth(self, depth: int = 2) -> str:
        rng = self.rng
        order = rng.choice(("<", "<=", ">", ">=", "==", "!="))
        pick = rng.randrange(7 if depth else 2)
        if pick < 3:
            return f"({self.integer(max(depth - 1, 0))} {order} {self.integer(0)})"
        if pick == 3:
            other = self.single(0) if rng.random() < 0.7 else self.integer(0)
            return f"({self.single(depth - 1)} {order} {other})"
        if pick == 4:
            return f"({self.truth(depth - 1)} {rng.choice(('and', 'or'))} {self.truth(depth - 1)})"
        if pick == 5:
            return f"(not {self.integer(0)})"
        return f"({self.integer(0)} < {self.integer(0)} <= {self.integer(0)})"

    # -- statements --------------------------------------------------------------------------------

    def rotate(self, depth: int) -> None:
        """Variables that wait in memory take each other's values: no store may overtake a load."""
        sign = self.rng.choice("+-^")
        self.say(depth, self.rng.choice((
            "i0, i1 = i1, i0", f"i0, i1 = i1, i0 {sign} i1", f"i0, i1 = i0 {sign} i1, i0",
            f"i0, i1 = {self.integer(1)}, i0")))

    def assign(self, depth: int) -> None:
        kind = self.rng.choice(("int", "int", "float"))
        names = self.names(kind)
        name = (self.rng.choice(names) if names and self.rng.random() < 0.65
                else f"{kind[0]}{len(self.kinds)}")
        make = self.integer if kind == "int" else self.single
        if name in names and self.rng.random() < 0.25:
            self.say(depth, f"{name} {self.rng.choice('+-*')}= {make(1)}")
        elif len(names) > 1 and self.rng.random() < 0.3:
            one, other = self.rng.sample(names, 2)
            if self.rng.random() < 0.5:
                self.say(depth, f"{one}, {other} = {other}, {make(1)}")
            else:  # a swap: the store of the one must not overtake its load
                self.say(depth, f"{one} = {other}")
        elif self.rng.random() < 0.15:  # what is known when the kernel is mapped
            self.say(depth, f"{name} = {self.rng.choice(_INTEGERS if kind == 'int' else _FLOATS)}")
            self.kinds[name] = kind
        else:
            self.say(depth, f"{name} = {make()}")
            self.kinds[name] = kind

    def store(self, depth: int) -> None:
        if self.rng.random() < 0.6:
            self.say(depth, f"a[{self.own()}] {self.rng.choice(('', '', '+', '^'))}= "
                            f"{self.integer()}")
        else:
            self.say(depth, f"x[{self.own()}] {self.rng.choice(('', '', '+'))}= {self.single()}")

    def branch(self, depth: int) -> None:
        before = dict(self.kinds)
        self.say(depth, f"if {self.truth()}:")
        self.block(depth + 1)
        yes, self.kinds = self.kinds, dict(before)
        if self.rng.random() < 0.5:
            self.say(depth, "else:")
            self.block(depth + 1)
        self.kinds = {name: kind for name, kind in yes.items() if name in self.kinds}

    def limits(self, count: int) -> str:
        """Of a range that depends on data; seldom of more elements than there may be."""
        most = count if self.rng.random() < 0.8 else count + 1
        some = f"({self.integer(1)}) % {most + 1}"
        start = self.integer(1)
        step = self.rng.choice((1, -1, 3, -5, 1 << 29))
        return self.rng.choice((
            some, some, f"{start}, {start} + {some}",
            f"0, {step} * ({some}), {step}", f"{self.integer(0)}, {self.integer(0)}, 1 << 30"))

    def loop(self, depth: int) -> None:
        count = self.rng.choice((1, 2, 2, 3))
        name = f"k{len(self.loops)}"
        before, self.repeats = dict(self.kinds), self.repeats * count
        pick = self.rng.random()
        if pick < 0.5:
            over = f"range({self.rng.choice((str(count), f'n - {5 - count}'))})"
        elif pick < 0.8:  # most of them within their bound
            over = f"bounded(range({self.limits(count)}), {count})"
        else:
            over = ""
        if over:
            self.say(depth, f"for {name} in {over}:")
        else:
            name = f"w{len(self.loops)}"
            self.say(depth, f"{name} = {self.integer(1)} & {2 ** count - 1}")
            more = self.rng.choice(("", f" and {self.truth(1)}"))
            self.say(depth, f"while bounded({name} > 0{more}, {count}):")
            self.say(depth + 1, f"{name} = {name} >> 1")
        self.loops.append(name)
        if self.rng.random() < 0.5:
            self.rotate(depth + 1)
        self.block(depth + 1)
        if self.rng.random() < 0.4:
            self.say(depth + 1, f"if {self.truth()}:")
            self.say(depth + 2, self.rng.choice(("break", "continue")))
            self.block(depth + 1)
        self.loops.pop()
        self.kinds, self.repeats = before, self.repeats // count
        if self.rng.random() < 0.15:
            self.say(depth, "else:")
            self.kinds = dict(before)
            self.assign(depth + 1)
            self.kinds = before

    def block(self, depth: int) -> None:
        for _ in range(self.rng.choice((1, 1, 2, 2))):
            self.left -= 1
            pick = self.rng.random()
            if pick < 0.14 and self.left > 0 and depth < 4:
                self.branch(depth)
            elif pick < 0.30 and self.left > 0 and depth < 4 and self.repeats < 3:
                self.loop(depth)
            elif pick < 0.34 and depth > 1:
                self.say(depth, "return")
                return
            elif pick < 0.38 and depth > 1 and self.loops:
                self.say(depth, self.rng.choice(("break", "continue")))
                return
            elif pick < 0.55:
                self.store(depth)
            else:
                self.assign(depth)


class MemoryTimes(TypedDict):
    """Of a memory: cycles of a hit and of a miss, how often one misses, and its banks."""

    hit: int
    miss: int
    miss_rate: float
    banks: int


@dataclass(frozen=True)
class RandomKernel:
    """A kernel, what it runs on, and how."""

    source: str
    kernel: Kernel
    constants: dict[str, float]
    arrays: dict[str, np.ndarray]
    depth: int
    memory: MemoryTimes


def kernel_of(source: str, file: str) -> Kernel:
    """The kernel of a source that is in no file."""
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {name: getattr(language, name) for name in language.__all__}
    exec(compile(source, file, "exec"), space)
    return next(value for value in space.values() if isinstance(value, Kernel))


def random_kernel(seed: int) -> RandomKernel:
    """The kernel of a seed."""
    rng = random.Random(f"kernel {seed}")
    writer = _Writer(rng)
    writer.say(0, "@kernel")
    writer.say(0, "def drawn(tid, a: Ints, r: Ints, x: Floats, s: Floats, n: Int, f: Float):")
    for kind in ("int", "int", "float"):
        first = ((f"a[tid * {OWN}]", "r[tid]")[len(writer.kinds)] if kind == "int"
                 else writer.single(1))
        writer.say(1, f"{kind[0]}{len(writer.kinds)} = {first}")
        writer.kinds[f"{kind[0]}{len(writer.kinds)}"] = kind
    if rng.random() < 0.3:
        writer.say(1, "if tid >= n:")
        writer.say(2, "return")
    for _ in range(2):
        writer.block(1)
    if rng.random() < 0.7:
        writer.loop(1)
        writer.block(1)
    for place, kind in enumerate(("int", "int", "float")):
        name = f"{kind[0]}{place}"
        writer.say(1, f"{'a' if kind == 'int' else 'x'}[tid * {OWN} + {place}] = {name}")
    source = "\n".join(writer.lines) + "\n"
    numbers = np.random.default_rng(rng.getrandbits(32))

    def integers(size: int) -> np.ndarray:
        near = numbers.integers(-9, 10, size)
        far = numbers.integers(-2**31, 2**31, size)
        return np.where(numbers.random(size) < 0.7, near, far).astype(np.int32).view(np.uint32)

    def singles(size: int) -> np.ndarray:
        floats = (numbers.standard_normal(size) * 4).astype(np.float32)
        floats[numbers.random(size) < 0.15] = rng.choice((0.0, -0.0, np.inf, 3e38, 2.0))
        return floats.view(np.uint32)

    # now and then, the last elements are outside of the array
    own = OWN * THREADS - rng.choice((0, 0, 0, 3))
    arrays = {"a": integers(own), "r": integers(16), "x": singles(own), "s": singles(16)}
    memory: MemoryTimes = {"hit": rng.choice((2, 3)), "miss": rng.choice((3, 12, 25)),
                           "miss_rate": 0.3, "banks": rng.choice((0, 4))}
    return RandomKernel(source, kernel_of(source, f"<seed {seed}>"), {"n": 5, "f": 0.75}, arrays,
                        rng.choice((2, 2, 4)), memory)


def _same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    """Bit by bit; of floats, a NaN is a NaN."""
    for name, words in one.items():
        differ = words != other[name]
        if name in "xs":
            differ &= ~(np.isnan(words.view(np.float32))
                        & np.isnan(other[name].view(np.float32)))
        if differ.any():
            return False
    return True


Compiled = Callable[..., list[Graph]]


def compare(seed: int, *, fabric: bool = True, compiled: Compiled = compile_segments) -> str:
    """Say what differs on a seed's kernel: ``refused`` if it cannot be mapped, "" if nothing."""
    case = random_kernel(seed)
    try:
        graphs = compiled(case.kernel, **case.constants)
    except KernelError:
        return "refused"
    wanted = {name: words.copy() for name, words in case.arrays.items()}
    outside = run_plainly(case.kernel, wanted, THREADS, **case.constants)
    interpreted, faults = interpret_all(graphs, case.arrays, THREADS)
    over, more = ({(name, thread) for name, thread, _ in found if name.startswith(LOOP)}
                  for found in (outside, faults))
    if over - more or {thread for _, thread in over} != {thread for _, thread in more}:
        return "a loop exceeds its stated bound in other threads"
    if over:  # Python stops such a thread
        return ""
    if not _same(wanted, interpreted):
        return "the interpreter's memory is not Python's"
    if Counter(faults) - Counter(outside):  # an unused load is not made
        return "the interpreter makes accesses outside of arrays that Python does not"
    rng = random.Random(f"order {seed}")
    for _ in range(ORDERS):
        other, _ = interpret_all([graph.reordered(rng) for graph in graphs], case.arrays, THREADS)
        if any(other[name].tolist() != interpreted[name].tolist() for name in case.arrays):
            return "the graph's memory depends on the order of its tasks"
    if fabric:
        ran = run_graphs(graphs, FIVE_BY_FIVE, case.arrays, threads=THREADS, depth=case.depth,
                         moves=MOVES, late=True, **case.memory)
        if any(ran.arrays[name].tolist() != interpreted[name].tolist() for name in case.arrays):
            return "the golden fabric's memory is not the interpreter's"
        accesses = Counter((fault.access.split()[-1], fault.thread, fault.index)
                           for fault in ran.faults)
        if accesses - Counter(faults):
            return "the golden fabric makes other accesses outside of arrays"
    return ""


def search(count: int, seed: int = 0, *, fabric: bool = True, compiled: Compiled = compile_segments,
           say: Callable[[str], None] = print) -> tuple[int, int]:
    """Compare so many kernels that can be mapped. Returns how many differ, and were refused."""
    differ = refused = ran = 0
    while ran < count:
        difference = compare(seed, fabric=fabric, compiled=compiled)
        refused += difference == "refused"
        ran += difference != "refused"
        if difference not in ("", "refused"):
            differ += 1
            say(f"seed {seed}: {difference}")
        seed += 1
        if refused > 100 + ran:
            raise AssertionError(f"{refused} of {refused + ran} kernels are refused")
    return differ, refused


def main(arguments: list[str]) -> int:
    """The command line; the module's docstring has its arguments."""
    if arguments[:1] == ["show"]:
        print(random_kernel(int(arguments[1])).source)
        return 0
    if not 1 <= len(arguments) <= 2 or not all(argument.isdecimal() for argument in arguments):
        sys.exit(__doc__)
    count, seed = int(arguments[0]), int((arguments[1:] or ["0"])[0])
    differ, refused = search(count, seed, say=lambda text: print(text, flush=True))
    print(f"{count} kernels, {differ} differ; {refused} more were refused")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
