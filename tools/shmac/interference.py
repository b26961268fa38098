"""How much the programs in other tiles can change the time of one: an adversary over them.

One core, the *victim*, executes a program that has accesses of all kinds to all tiles, and whose
results depend on no other tile. The others' programs are drawn, and when they start: loops of
loads, stores, LL, SC and interrupts, stores that fail among them. Two runs are different if any
instruction of the victim begins in another cycle.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.address_map import VECTOR_OFFSET, SystemRegister, tile_base, tile_of
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.tools.shmac.assembler import assemble

__all__ = ["Attack", "Timed", "attacked", "drawn", "search", "timed", "victim"]

_START = 0x400    # of a program, in its tile
_PLACES = 0x2000  # a few words for each core, in each tile
_BEYOND = 0x80_0000  # a place that no RAM has
_HANDLER = "mfc0 $k0, $14\naddiu $k0, $k0, 4\njr $k0\nrfe"  # what fails is skipped
_LATEST = 100


@dataclass(frozen=True)
class Attack:
    """Programs of other cores, and when each is let run.

    Attributes
    ----------
    programs : mapping of Tile to list of str
        The instructions of each core's loop.
    starts : mapping of Tile to int
        In which cycle it is let run.
    """

    programs: Mapping[Tile, list[str]] = field(default_factory=dict)
    starts: Mapping[Tile, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Timed:
    """The victim's time.

    Attributes
    ----------
    begins : tuple of int
        In which cycle each of its instructions begins.
    """

    begins: tuple[int, ...]

    @property
    def cycles(self) -> int:
        """Until its last one."""
        return self.begins[-1]


def _access(rng: random.Random, layout: Layout, tile: Tile, *, hostile: bool) -> list[str]:
    """One access of a core to words that no other one uses."""
    there = rng.choice(layout.tiles())
    own = _PLACES + 64 * layout.tiles().index(tile) + 4 * rng.randrange(8)
    kind = rng.choice(("lw", "sw", "sb", "ll", "sc", "raise", "fails", "idle", "divu"))
    register = f"${rng.randrange(4, 8)}"
    if kind == "idle":
        return ["nop"] * rng.randrange(1, 7)
    if kind == "divu":
        return ["divu $4, $5"]
    if kind == "raise":
        return [f"li $2, {there[0] << 4 | there[1]}",
                f"sw $2, {SystemRegister.RAISE - (1 << 32)}($0)"] if hostile else []
    if kind == "fails":
        kind, own = "sw", _BEYOND
    if kind == "sc":
        return [f"li $1, {tile_base(*there) + own:#x}", "ll $2, 0($1)", f"sc {register}, 0($1)"]
    again = rng.randrange(1, 6) if hostile and kind == "sw" else 1  # a burst
    return [f"li $1, {tile_base(*there) + own:#x}", *[f"{kind} {register}, 0($1)"] * again]


def victim(rng: random.Random, layout: Layout, tile: Tile, *, accesses: int = 40) -> list[str]:
    """The victim's program."""
    return [line for _ in range(accesses) for line in _access(rng, layout, tile, hostile=False)]


def _loop(rng: random.Random, layout: Layout, tile: Tile) -> list[str]:
    count = rng.choice((1, 3, 10))  # a short loop asks for the same thing again and again
    return [line for _ in range(count) for line in _access(rng, layout, tile, hostile=True)]


def drawn(rng: random.Random, layout: Layout, tile: Tile, last: Attack | None = None) -> Attack:
    """An attack on this tile: a new one, or another one with one core changed."""
    others = [core for core in layout.tiles(Kind.CORE) if core != tile]
    if last is not None and others:
        others = [rng.choice(others)]
    last = last or Attack()
    return Attack({**last.programs, **{core: _loop(rng, layout, core) for core in others}},
                  {**last.starts, **{core: rng.randrange(_LATEST) for core in others}})


def attacked(layout: Layout, tile: Tile, program: list[str], attack: Attack) -> dict[int, int]:
    """All words of memory, by address."""
    exits = f"sw $0, {SystemRegister.EXIT - (1 << 32)}($0)"
    words: dict[int, int] = {}
    for core, lines in ((tile, [*program, exits]),
                        *((core, ["top:", *loop, "b top", "nop"])
                          for core, loop in attack.programs.items())):
        base = tile_base(*core)
        start = base + _START
        jump = f"j {start:#x}\nnop"
        text = "\n".join([*(f"li ${number}, {number}" for number in range(4, 8)), *lines])
        for at, part in ((0, jump), (16, jump), (VECTOR_OFFSET, _HANDLER), (_START, text)):
            for place, word in enumerate(assemble(part, origin=base + at)):
                words[base + at + 4 * place] = word
    return words


def timed(grid: GridModel, layout: Layout, tile: Tile, program: list[str], attack: Attack, *,
          limit: int = 100_000) -> Timed:
    """The victim's time on a golden model. Raises `TimeoutError` if it does not end."""
    for address, word in attacked(layout, tile, program, attack).items():
        grid.rams[tile_of(address)].content[(address & 0xFF_FFFF) // 4] = word
    begins = []
    starts = {tile: 0, **attack.starts}
    for cycle in range(limit):
        shown = grid.step(run=[core for core, start in starts.items() if cycle >= start])
        if shown[tile].begins:
            begins.append(cycle)
        if grid.tiles[tile].exited:
            return Timed(tuple(begins))
    raise TimeoutError(f"the program in tile {tile} does not end within {limit} cycles")


def search(make: Callable[[], GridModel], layout: Layout, tile: Tile, *, tries: int, seed: int,
           accesses: int = 40) -> list[Timed]:
    """The victim's times: with no other program, and then in each of so many attacks.

    ``make``: a new grid. Each attack is new, or the one that delayed the victim most with one core
    changed.
    """
    rng = random.Random(seed)
    program = victim(rng, layout, tile, accesses=accesses)
    worst = Attack()
    found = [timed(make(), layout, tile, program, worst)]
    most = found[0].cycles
    for _ in range(tries):
        attack = drawn(rng, layout, tile, worst if rng.random() < 0.5 and worst.programs else None)
        found.append(timed(make(), layout, tile, program, attack))
        if found[-1].cycles >= most:
            most, worst = found[-1].cycles, attack
    return found
