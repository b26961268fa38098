"""Valid kernels at random: loops, divergence, calls, scratchpads, indexed transfers, and branches
of whole work-groups, whose directions are data.

A kernel is made as a tree of statements, and its source is written from the tree (`source_of`), so
that a check may follow the tree without masks or a control stack. Work-groups do not depend on each
other: each writes its own part of two buffers, and reads two that nothing writes.
"""

import random
from dataclasses import dataclass, replace

from cyclebound.golden.simd.machine import Grid, Machine
from cyclebound.tools.simd.random_rows import Rows
from cyclebound.tools.simd.random_shapes import Shapes

__all__ = ["CONDITIONS", "DATA", "DECISIONS", "INDEXED", "PATHS", "SOURCE", "TABLE", "Accesses",
           "Branch", "Call", "Exit", "If", "Leave", "Loop", "Mix", "Move", "Node", "Op",
           "RandomKernel", "kernel_for", "random_kernel", "source_of"]

SOURCE, TABLE, DATA, INDEXED, PATHS = range(5)
"""Buffers: a tile's source, a table for indexes, the results by tile, and by index; and, of kernels
with branches of whole work-groups, the words that decide them."""

DECISIONS = 4
"""Words of `PATHS`. Bit (work-group + count of the innermost loop) mod 32 of one decides."""

_VALUES = 8       # v0 to v7; v8 and v9 are for the writer, v10 is 0
_COUNTER = 8      # s8 and on: how often a loop goes round, by level
_FIRST_MARK = 11  # v11 and on: which lanes ran the first side of a condition, by level
_INTEGERS = ("iadd", "isub", "imul", "imin", "imax", "and", "or", "xor")
_FLOATS = ("add", "add.neg", "mul", "mul.neg", "min", "max")
_UNARY = ("abs", "not", "rcp", "rsqrt", "sin", "cos", "cvt.i2f", "cvt.f2i")
CONDITIONS = ("ez", "nz", "g", "ge", "l", "le")
_TABLES = (16, 64, 128)
_APART = 1 << 16  # bytes from a buffer to the next
_DEEPEST = 3  # of nested statements: a predicate for each level


@dataclass(frozen=True)
class Op:
    """``name`` into v``target`` of v``a`` and ``b``: a register's number, or bits if ``constant``.
    Without ``b``, of ``a`` alone."""

    name: str
    target: int
    a: int
    b: int | None = None
    constant: bool = False


@dataclass(frozen=True)
class If:
    """``body`` in lanes where the condition on v``value`` does not hold, ``other`` in the rest."""

    condition: str
    value: int
    body: tuple
    other: tuple = ()


@dataclass(frozen=True)
class Loop:
    """``body`` ``times`` times; lanes for which the condition, if any, holds before it leave."""

    times: int
    body: tuple
    condition: str = ""
    value: int = 0


@dataclass(frozen=True)
class Call:
    """A function: ``first``, a return of lanes where the condition holds, ``then``."""

    first: tuple
    condition: str
    value: int
    then: tuple


@dataclass(frozen=True)
class Exit:
    """Lanes where the condition holds end."""

    condition: str
    value: int


@dataclass(frozen=True)
class Move:
    """A transfer of this ``kind``, of v``value``; indexes are made of the register ``index``."""

    kind: str
    value: int
    index: int = 0
    shift: int = 0


@dataclass(frozen=True)
class Mark:
    """The lanes that come here are noted; only the writer makes these."""

    depth: int


@dataclass(frozen=True)
class Branch:
    """``body`` if the work-group's bit of word ``word`` is set, else ``other``: by a jump, or, with
    ``masked``, with all lanes off."""

    word: int
    body: tuple
    other: tuple = ()
    masked: bool = False


@dataclass(frozen=True)
class Leave:
    """The work-group ends at once if its bit of word ``word`` is set."""

    word: int


@dataclass(frozen=True)
class Accesses:
    """Accesses of any shape, one or several, with what sets their registers, as written."""

    lines: tuple[str, ...]


Node = Op | If | Loop | Call | Exit | Move | Branch | Leave | Accesses

_WAYS = ("load", "store", "snoop", "gather", "scatter", "put", "get", "pick")
# tile from SOURCE, to DATA; snoopy from TABLE, index by index; index by index to INDEXED; to the
# scratchpad, from it with a shift, and by index
_WITHOUT_SNOOPY = tuple(kind for kind in _WAYS if kind not in ("snoop", "pick"))


@dataclass(frozen=True)
class RandomKernel:
    """A kernel and the tree that it was made of."""

    text: str
    tree: tuple[Node, ...]
    table: int  # words of TABLE, a power of two


@dataclass(frozen=True)
class Mix:
    """Features of random kernels beyond operations and transfers that every lane reaches.

    Attributes
    ----------
    branches : bool
        Branches of whole work-groups by data, and early ends.
    calls : bool
        Functions.
    conditional_moves : bool
        Transfers that some path does not come to.
    shapes : bool
        Grids of several lines, and accesses of any shape (`random_shapes`).
    snoopy : bool
        Snoopy accesses, if the machine has them.
    rows : bool
        Requests over many rows of the banks (`random_rows`), if there are ``shapes``.
    """

    branches: bool = False
    calls: bool = True
    conditional_moves: bool = True
    shapes: bool = False
    snoopy: bool = True
    rows: bool = False


class _Maker:
    def __init__(self, rng: random.Random, mix: Mix, shapes: Shapes | None = None,
                 rows: Rows | None = None) -> None:
        self._rng, self._mix, self._shapes, self._rows = rng, mix, shapes, rows
        self._conditional = 0  # statements around, by which a path may go
        self._shaped = 0 if shapes is None else rng.choice((4, 40, 40))  # in how many kinds
        self._counters: list[int] = []  # registers of the loops around

    def block(self, depth: int, most: int = 4) -> tuple[Node, ...]:
        return tuple(self._node(depth) for _ in range(self._rng.randint(1, most)))

    def _node(self, depth: int) -> Node:
        rng = self._rng
        kinds = ["op"] * 5
        if self._mix.conditional_moves or not self._conditional:
            kinds += ["move"] * 2 + ["access"] * self._shaped
            kinds += ["far"] * 4 if self._rows is not None else []
        if depth < _DEEPEST:
            kinds += ["if", "if", "loop"]
            kinds += ["branch"] * 3 if self._mix.branches else []
        if depth == 0:
            kinds += ["call"] * self._mix.calls + ["exit"] + ["leave"] * self._mix.branches
        kind = rng.choice(kinds)
        value, condition = rng.randrange(_VALUES), rng.choice(CONDITIONS)
        if kind == "move":
            ways = _WAYS if self._mix.snoopy else _WITHOUT_SNOOPY
            return Move(rng.choice(ways), value, rng.randrange(_VALUES), rng.randint(-70, 70))
        if kind == "access" and self._shapes is not None:
            return Accesses(self._shapes.access(self._counters[-1] if self._counters else None))
        if kind == "far" and self._rows is not None:
            return Accesses(self._rows.access())
        if kind == "if":
            other = self._inside(depth + 1, 3) if rng.random() < 0.5 else ()
            return If(condition, value, self._inside(depth + 1, 3), other)
        if kind == "loop":
            divergent, times = rng.random() < 0.6, rng.randint(1, 4)
            self._counters.append(_COUNTER + depth)
            body = self._inside(depth + 1, 3, divergent)
            self._counters.pop()
            return Loop(times, body, condition if divergent else "", value)
        if kind == "call":
            return Call(self._inside(1, 2), condition, value, self._inside(1, 2))
        if kind == "branch":
            word, masked = rng.randrange(DECISIONS), rng.random() < 0.3
            other = self._inside(depth + 1, 3) if not masked and rng.random() < 0.6 else ()
            return Branch(word, self._inside(depth + 1, 3), other, masked)
        if kind == "leave":
            return Leave(rng.randrange(DECISIONS))
        return Exit(condition, value) if kind == "exit" else self._op()

    def _inside(self, depth: int, most: int, conditional: bool = True) -> tuple[Node, ...]:
        self._conditional += conditional
        made = self.block(depth, most)
        self._conditional -= conditional
        return made

    def _op(self) -> Op:
        rng = self._rng
        target, a = rng.randrange(_VALUES), rng.randrange(_VALUES)
        if rng.random() < 0.25:
            return Op(rng.choice(_UNARY), target, a)
        constant = rng.random() < 0.4
        name = rng.choice(_INTEGERS + _FLOATS)
        if name in _INTEGERS:
            b = rng.choice((0, 1, 7, 0xFFFF_FFFF, rng.getrandbits(32)))
        else:
            b = rng.choice((0, 0x3F80_0000, 0xC000_0000, 0x7F80_0000, rng.getrandbits(32)))
        return Op(name, target, a, b if constant else rng.randrange(_VALUES), constant)


class _Writer:
    """Source text from a tree."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.functions: list[tuple[str, Call]] = []
        self._labels = 0
        self._counts: list[int] = []  # registers with the counts of the loops around

    def _say(self, *lines: str) -> None:
        self.lines.extend(lines)

    def _label(self) -> str:
        self._labels += 1
        return f"l{self._labels}"

    def block(self, nodes: tuple[Node | Mark, ...], depth: int) -> None:
        for node in nodes:
            getattr(self, f"_{type(node).__name__.lower()}")(node, depth)

    def _op(self, node: Op, depth: int) -> None:
        second = "" if node.b is None else f", {node.b:#x}" if node.constant else f", v{node.b}"
        self._say(f"{node.name} v{node.target}, v{node.a}{second}")

    def _masked(self, nodes: tuple[Node | Mark, ...], depth: int) -> None:
        end = self._label()
        self._say(f"cpush.if {end}", f"cmask p{depth}")
        self.block(nodes, depth + 1)
        self._say("cpop", f"{end}:")

    def _if(self, node: If, depth: int) -> None:
        self._say(f"itest.{node.condition} p{depth}, v{node.value}")
        if node.other and depth == 0:  # every lane has its predicate: one branch for both sides
            end, other = self._label(), self._label()
            self._say(f"cpush.if {end}", f"bra {other}, p0")
            self.block(node.body, depth + 1)
            self._say("cpop", f"{other}:")
            self.block(node.other, depth + 1)
            self._say("cpop", f"{end}:")
            return
        # Which lanes are to run the other side must outlive the first, in a register of the level.
        self._say(f"iadd v{_FIRST_MARK + depth}, v10, 0")
        self._masked((Mark(depth), *node.body), depth)
        if node.other:
            self._say(f"itest.nz p{depth}, v{_FIRST_MARK + depth}")
            self._masked(node.other, depth)

    def _mark(self, node: Mark, depth: int) -> None:
        self._say(f"mov v{_FIRST_MARK + node.depth}, 1")

    def _loop(self, node: Loop, depth: int) -> None:
        again, end = self._label(), self._label()
        if node.condition:
            self._say(f"cpush.brk {end}")
        counter = _COUNTER + depth
        self._say(f"smov s{counter}, {node.times}", f"{again}:")
        if node.condition:
            self._say(f"itest.{node.condition} p{depth}, v{node.value}", f"brk p{depth}")
        self._counts.append(counter)
        self.block(node.body, depth + 1)
        self._counts.pop()
        self._say(f"sisub s{counter}, s{counter}, 1",
                  f"#bound branchcycle {node.times - 1} 1", f"sicj.g {again}, s{counter}")
        if node.condition:
            self._say("cpop", f"{end}:")

    def _call(self, node: Call, depth: int) -> None:
        name = self._label()
        self.functions.append((name, node))
        self._say(f"call {name}")

    def _exit(self, node: Exit, depth: int) -> None:
        self._say(f"itest.{node.condition} p0, v{node.value}", "exit p0")

    def _decide(self, word: int) -> None:
        """The work-group's bit, to s21."""
        place = "s20"
        if self._counts:
            place = "s21"
            self._say(f"siadd s21, s20, s{self._counts[-1]}")
        self._say(f"sshr s21, s{16 + word}, {place}", "sand s21, s21, 1")

    def _branch(self, node: Branch, depth: int) -> None:
        end, other = self._label(), self._label()
        self._decide(node.word)
        if node.masked:  # cmask takes lanes out where its predicate is set
            self._say("mov v8, 1", "isub v8, v8, s21", f"itest.nz p{depth}, v8")
            self._masked(node.body, depth)
            return
        self._say(f"sicj.ez {other}, s21")
        self.block(node.body, depth + 1)
        if node.other:
            self._say(f"j {end}")
        self._say(f"{other}:")
        self.block(node.other, depth + 1)
        if node.other:
            self._say(f"{end}:")

    def _accesses(self, node: Accesses, depth: int) -> None:
        self._say(*node.lines)

    def _leave(self, node: Leave, depth: int) -> None:
        stay = self._label()
        self._decide(node.word)
        self._say(f"sicj.ez {stay}, s21", "exit", f"{stay}:")

    def _move(self, node: Move, depth: int) -> None:
        index, value = f"v{node.index}", f"v{node.value}"
        if node.kind in ("load", "store"):
            self._say(f"ldglin {value}, {SOURCE}, {node.shift}" if node.kind == "load"
                      else f"stglin {value}, {DATA}")
        elif node.kind in ("put", "get"):
            self._say(f"stsplin {value}, 0" if node.kind == "put"
                      else f"ldsplin {value}, 0, {node.shift}")
        else:
            mask = "s1" if node.kind == "scatter" else "s2" if node.kind == "pick" else "s0"
            self._say(f"and v8, {index}, {mask}")
            if node.kind == "scatter":
                self._say("iadd v8, v8, s3")
            self._say("movvsp vc.mem_idx, v8")
            self._say(*{"snoop": (f"ldgbidx {TABLE}", f"mov {value}, vc.mem_data"),
                        "gather": (f"ldgidxit {value}, {TABLE}",),
                        "scatter": (f"stgidxit {value}, {INDEXED}",),
                        "pick": ("ldspbidx 0", f"mov {value}, vc.mem_data")}[node.kind])


def source_of(tree: tuple[Node, ...], grid: Grid, table: int, branches: bool = False,
              shapes: Shapes | None = None, rows: Rows | None = None) -> str:
    """The source of a kernel for a grid; ``table`` words of the table; with `PATHS` if it has
    ``branches``, and with the buffers of ``shapes`` and ``rows``.

    In the end every lane's values are combined and stored. If the grid does not fill its
    work-groups, or has more lines than one, the scratchpad has words that nothing has written.
    """
    writer = _Writer()
    items, number = grid.machine.items, "s20"
    writer._say(*(shapes.before() if shapes else ()), *(rows.before() if rows else ()))
    writer._say("smov s0, " + str(table - 1), f"smov s1, {items - 1}", f"smov s2, {items - 1}",
                "smov s3, sc.wg_off_x", "mov v10, vc.zero")
    for value in range(_VALUES):
        writer._say(f"mov v{value}, vc.{('lid_x', 'tid_x', 'one', 'zero')[value % 4]}")
    if branches:
        writer._say(f"sldg s16, {PATHS}, {DECISIONS}")
    if branches or shapes:
        writer._say(f"smov {number}, sc.wg_off_x",
                    f"sshr {number}, {number}, {grid.width.bit_length() - 1}")
    if grid.y > 1:  # work-groups below each other
        writer._say("smov s3, sc.wg_off_y", f"sshr s3, s3, {grid.height.bit_length() - 1}",
                    f"simad {number}, s3, {grid.across}, {number}")
    if shapes:  # each its own part of a buffer, in whatever lines
        writer._say(f"simul s3, {number}, {items}")
    # What the scratchpad holds at first is not defined.
    writer._say("stsplin v0, 0", f"ldglin v0, {SOURCE}", f"ldglin v4, {SOURCE}, 1")
    writer.block(tree, 0)
    writer._say(*(line for value in range(_VALUES)
                  for line in (f"iadd v9, v{value}, 0", "xor v10, v10, v9")),
                f"stglin v10, {DATA}", "exit")
    done = 0
    while done < len(writer.functions):
        name, node = writer.functions[done]
        done += 1
        writer._say(f"{name}:")
        writer.block(node.first, 1)
        writer._say(f"itest.{node.condition} p0, v{node.value}", "ret p0")
        writer.block(node.then, 1)
        writer._say("cpop")
    whole = f"{grid.x} {grid.y}"
    buffers = [f"{index} {index * _APART:#x} {size}" for index, size in enumerate(
        (whole, f"{table} 1", whole, f"{grid.count * items} 1", *[f"{DECISIONS} 1"] * branches))]
    chips = [f"0 0 {items} 1"]
    if shapes:
        buffers += shapes.data(_APART)
        chips += shapes.scratchpad(4 * items)
    if rows:
        buffers += rows.data()
    return "\n".join([".data", *buffers, ".sp_data", *chips, ".text", *writer.lines, ""])


def random_kernel(seed: int, machine: Machine, words: int, mix: Mix | None = None
                  ) -> RandomKernel:
    """A kernel for a grid of ``words`` items in one line; the same for the same seed and mix."""
    return kernel_for(seed, Grid(words, 1, machine, machine.items), mix)


def kernel_for(seed: int, grid: Grid, mix: Mix | None = None) -> RandomKernel:
    """A kernel for a grid, which has one line if the mix has no ``shapes``."""
    rng, mix = random.Random(seed), mix or Mix()
    mix = replace(mix, snoopy=mix.snoopy and bool(grid.machine.snoopy))
    if not mix.shapes:
        tree = _Maker(rng, mix).block(0, 8)
        table = rng.choice(_TABLES)
        return RandomKernel(source_of(tree, grid, table, mix.branches), tree, table)
    table = rng.choice(_TABLES)
    shapes = Shapes(rng, grid, table, mix.branches, mix.snoopy)
    rows = Rows(rng, grid, mix.snoopy) if mix.rows else None
    tree = _Maker(rng, mix, shapes, rows).block(0, 6)
    return RandomKernel(source_of(tree, grid, table, mix.branches, shapes, rows), tree, table)
