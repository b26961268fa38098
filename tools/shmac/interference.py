"""How much the programs in other tiles can change the time of one: an adversary over them.

One core, the *victim*, executes a program that has accesses of all kinds to all tiles, and whose
results depend on no other tile. The others' programs are drawn, and when they start: loops of
loads, stores, LL, SC and interrupts, stores that fail among them. Two runs are different if any
instruction of the victim begins in another cycle.

Attacks on one suspected gate are aimed instead: alone, its core is let run from each cycle of a
period on, and shows when its requests pass the gate in a cycle that is not theirs; of the victim
alone it is known when its requests go. From the table follows by how many periods the core has to
start later so that two of them want one output in one cycle.
"""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cyclebound.golden.noc.routes import Port, Tile
from cyclebound.golden.shmac.address_map import VECTOR_OFFSET, SystemRegister, tile_base, tile_of
from cyclebound.golden.shmac.core import Shown
from cyclebound.golden.shmac.gate_table import Gates, way
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.tools.shmac.assembler import assemble

__all__ = ["Attack", "Stray", "Timed", "aimed", "attacked", "drawn", "exposed", "search", "strays",
           "timed", "victim"]

_START = 0x400    # of a program, in its tile
_PLACES = 0x2000  # a few words for each core, in each tile
_BEYOND = 0x80_0000  # a place that no RAM has
_SETTLES = 40  # instructions in which what a store causes comes back
_FETCHES = 2  # cycles from one fetch to the next, past the router
_WITHIN = 150  # cycles of a core in which it is looked for a request to aim with
_REGISTER = {register: f"{register - (1 << 32)}($0)" for register in SystemRegister}
_HANDLER = f"""
        mfc0  $k1, $13
        mfc0  $k0, $14
        andi  $k1, $k1, 0x7c
        bne   $k1, $0, failed
        nop
        sw    $0, {_REGISTER[SystemRegister.RAISED]}
        sw    $0, {_REGISTER[SystemRegister.FAILED]}
        jr    $k0
        rfe
failed: addiu $k0, $k0, 4               # what fails is skipped
        jr    $k0
        rfe
"""
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
    goes : tuple of (int, Tile)
        In which cycle the network takes each of its requests, and to where. Two times are equal or
        not whatever this is.
    """

    begins: tuple[int, ...]
    goes: tuple[tuple[int, Tile], ...] = field(default=(), compare=False)

    @property
    def cycles(self) -> int:
        """Until its last one."""
        return self.begins[-1]


@dataclass(frozen=True)
class Stray:
    """A program of which requests go in a cycle in which none may.

    Attributes
    ----------
    program : list of str
        A core's loop.
    start : int
        In which cycle it is let run, alone.
    goes : list of (int, Tile)
        In which cycles such requests go, and to where.
    """

    program: list[str]
    start: int
    goes: list[tuple[int, Tile]]


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
                f"sw $2, {_REGISTER[SystemRegister.RAISE]}"] if hostile else []
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
    exits = f"sw $0, {_REGISTER[SystemRegister.EXIT]}"
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
    begins, goes = [], []
    words, starts = attacked(layout, tile, program, attack), {tile: 0, **attack.starts}
    for cycle, shown, went in itertools.islice(_run(grid, words, starts), limit):
        if shown[tile].begins:
            begins.append(cycle)
        if tile in went:
            goes.append((cycle, went[tile]))
        if grid.tiles[tile].exited:
            return Timed(tuple(begins), tuple(goes))
    raise TimeoutError(f"the program in tile {tile} does not end within {limit} cycles")


def _run(grid: GridModel, words: Mapping[int, int], starts: Mapping[Tile, int]
         ) -> Iterator[tuple[int, dict[Tile, Shown], dict[Tile, Tile]]]:
    """Each cycle: its number, what cores show, and of whom the network takes requests to where."""
    for address, word in words.items():
        grid.rams[tile_of(address)].content[(address & 0xFF_FFFF) // 4] = word
    for cycle in itertools.count():
        run = [core for core, start in starts.items() if cycle >= start]
        went = {core: offer.target for core in run
                if (offer := grid.tiles[core].offer(run=True)) is not None
                and (core not in grid.gates or grid.gates[core].open)
                and grid.network.requests.takes(core)}
        yield cycle, grid.step(run=run), went


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


def exposed(layout: Layout, tile: Tile) -> list[str]:
    """A program that notices when each of its packets arrives: it waits for what it reads, and is
    interrupted when a store fails, or when its own interrupt comes. All of it twice."""
    lines = ["li $2, 0xc01", "mtc0 $2, $12"]
    for there in layout.tiles():
        base, own = tile_base(*there), _PLACES + 64 * layout.tiles().index(tile)
        lines += [f"li $1, {base + own:#x}", "lw $4, 0($1)", "nop",
                  f"li $1, {base + _BEYOND:#x}", "sw $4, 0($1)", *["nop"] * _SETTLES]
    lines += [f"li $2, {tile[0] << 4 | tile[1]}", f"sw $2, {_REGISTER[SystemRegister.RAISE]}",
              *["nop"] * _SETTLES]
    return lines * 2


def _asking(layout: Layout, core: Tile, *, bypass: bool) -> Iterator[list[str]]:
    """Loops of one access each, of each kind to each tile."""
    for there in layout.tiles():
        base, own = tile_base(*there), _PLACES + 64 * layout.tiles().index(core)
        yield [f"li $1, {base + own:#x}", "lw $4, 0($1)"]
        yield [f"li $1, {base + _BEYOND:#x}", "sw $4, 0($1)"]
        raises = [f"li $2, {there[0] << 4 | there[1]}", f"sw $2, {_REGISTER[SystemRegister.RAISE]}"]
        yield raises
        if bypass and there == core:  # it may find the RAM in use by what comes after it
            for late in range(3):
                yield [*raises, *["nop"] * late, *[f"sw $4, {own}($7)"] * 4]


def strays(make: Callable[[], GridModel], layout: Layout, gates: Gates, core: Tile, *,
           bypass: bool) -> list[Stray]:
    """What goes in a wrong cycle if this core runs alone, in loops of each access.

    ``make``: a new grid, with the fault that is suspected in this core's gate. A core that fetches
    past the router may ask in any cycle. Otherwise when it asks next follows from when its last
    request went, and from what is between them: a division, or another access.
    """
    pads: list[list[str]] = [[]]
    if not bypass:
        pads += [["nop"], ["divu $4, $5", "mflo $3"]]
        pads += [[f"li $1, {tile_base(*there) + _PLACES:#x}", "lw $3, 0($1)"]
                 for there in layout.tiles() if there != core]
    found = []
    for pad, loop in itertools.product(pads, _asking(layout, core, bypass=bypass)):
        program = [f"li $7, {tile_base(*core):#x}", *pad, *loop]
        words = attacked(layout, core, [], Attack({core: program}))
        for start in range(gates.period):
            gone = [(cycle, went[core]) for cycle, _, went
                    in itertools.islice(_run(make(), words, {core: start}), _WITHIN)
                    if core in went and (cycle - gates.opens[core]) % gates.period]
            if gone:
                found.append(Stray(program, start, gone))
    return found


def aimed(layout: Layout, gates: Gates, core: Tile, known: list[Stray], tile: Tile, alone: Timed,
          *, bypass: bool) -> Iterator[Attack]:
    """Attacks by this core on a victim of which it is known when its requests go, alone: so many
    periods later that a request which goes in a wrong cycle wants an output that one of the
    victim's wants in that cycle. The first and the last one for each output, each two targets and
    each program.
    """
    for stray in known:
        later: dict[tuple[Any, Tile, Tile], list[int]] = defaultdict(list)
        for (cycle, target), (other, theirs) in itertools.product(stray.goes, alone.goes):
            for (resource, lag, length), (where, distance, busy) in itertools.product(
                    way(layout, core, target, bypass=bypass),
                    way(layout, tile, theirs, bypass=bypass)):
                for meets in range(other + distance - length + 1, other + distance + busy):
                    apart = meets - cycle - lag
                    if (resource == where and apart % gates.period == 0
                            and stray.start + apart >= 0):
                        later[resource, target, theirs].append(stray.start + apart)
        # the output has served neither of them yet, or the victim
        for (router, port), begins in dict.fromkeys(
                (resource[1:], pick(starts)) for (resource, _, _), starts in later.items()
                for pick in (min, max)):
            attack = Attack({core: stray.program}, {core: begins})
            if bypass and port == Port.LOCAL and router not in (core, tile) and (
                    layout.kind(router) is Kind.CORE):
                for start in range(_FETCHES):  # its core lets a request wait or not
                    yield Attack({**attack.programs, router: ["nop"] * 8},
                                 {**attack.starts, router: start})
            else:
                yield attack
