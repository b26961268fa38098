"""Accesses of any shape for random kernels: tiles of scratchpads and of DRAM that hang over their
buffers' edges, words in a row over the ends of lines, buffers of one word and of odd lines.

Part of the random kernels (`random_kernels`), whose tests cover it. The words that these accesses
load are any; what they store, nothing reads.
"""

import random

from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import SCRATCHPAD_BYTES

__all__ = ["SHAPED", "STORED", "WIDE", "Shapes", "random_grid"]

SHAPED, STORED, WIDE = range(5, 8)
"""Buffers of DRAM: what is loaded by tile, what is stored, and words in a row."""

_KINDS = ("tile", "tile", "chip", "chip", "chip", "row", "row", "few", "move")
_TIMES = (1, 2, 4)  # that an access is made
_CHIPS = (1, 2)      # scratchpad buffers
_FIRST, _FREE = 22, 10  # scalar registers that such an access may write, or take an offset from
_SPARE = "v8"        # a vector register that only the writer uses


def random_grid(rng: random.Random, grid: Grid) -> Grid:
    """A grid of one to nine work-groups, folded into lines or not, which its last ones fill or
    not; ``grid`` has the machine."""
    machine = grid.machine
    width = rng.choice(machine.widths)
    x, y = (max(1, size * rng.randint(1, 3) - rng.choice((0, 0, 1, size - 1)))
            for size in (width, machine.items // width))
    return Grid(x, y, machine, width)


class Shapes:
    """Buffers of a kernel's own, and accesses to them.

    Parameters
    ----------
    rng : random.Random
        Where choices come from.
    grid : Grid
        The kernel's.
    table : int
        Words of the kernel's table.
    decisions : bool
        Registers s16 to s19 have words that are not known.
    snoopy : bool
        Some accesses go past the CAMs.
    """

    def __init__(self, rng: random.Random, grid: Grid, table: int, decisions: bool, snoopy: bool
                 ) -> None:
        self._rng, self._grid, self._table, self._decisions = rng, grid, table, decisions
        self._sizes = {number: self._size() for number in (SHAPED, STORED)}
        across = rng.choice((1, 2, 3, 5, 7, 9, 10, 16, 33))
        self._sizes[WIDE] = across, -(-32 // across) + rng.randrange(2)
        self._chips = {number: self._size(48) for number in _CHIPS}
        self._kinds = _KINDS + ("part",) * snoopy
        self._favourite = rng.choice(self._kinds)  # half of the kernel's accesses
        self._odd = rng.choice((0, 0, 1, 2, 3))  # words from a burst's first to each buffer's

    def _size(self, most: int = 200) -> tuple[int, int]:
        """(x, y) near a work-group's or the grid's, or one word."""
        rng, grid = self._rng, self._grid

        def near(group: int, whole: int) -> int:
            size = rng.choice((1, 2, group - 1, group, group, group + 1, 2 * group + 3, whole,
                               whole - 1, rng.randint(1, 80)))
            return min(max(1, size), most)

        return near(grid.width, grid.x), near(grid.height, grid.y)

    def data(self, apart: int) -> list[str]:
        """The buffers' lines of ``.data``, ``apart`` bytes from one to the next."""
        return [f"{number} {number * apart + 4 * self._odd:#x} {x} {y}"
                for number, (x, y) in sorted(self._sizes.items())]

    def scratchpad(self, first: int) -> list[str]:
        """The buffers' lines of ``.sp_data``, from byte ``first`` on."""
        lines, begin = [], first + 4 * self._odd
        for number, (x, y) in self._chips.items():
            lines.append(f"{number} {begin:#x} {x} {y}")
            begin += 4 * x * y
        assert begin <= SCRATCHPAD_BYTES
        return lines

    def before(self) -> tuple[str, ...]:
        """Loads of rows of words for a kernel's beginning, before registers are set; often none."""
        rng = self._rng
        if rng.random() < 0.6:
            return ()
        return (f"sldg s0, {WIDE}, {rng.randint(1, 32)}",) * rng.choice((1, 2, 10, 20))

    def access(self, counter: int | None) -> tuple[str, ...]:
        """One access, several times; ``counter`` is the scalar register with the count of the
        loop around, if there is one."""
        rng = self._rng
        kind = rng.choice((self._favourite, rng.choice(self._kinds)))
        if kind == "row":
            return (f"sldg s{_FIRST}, {WIDE}, {rng.randint(1, _FREE)}",) * rng.choice(_TIMES)
        if kind == "few":
            return self._few()
        if kind == "part":
            return self._part()
        if kind == "move":
            name, buffer, words, lines = self._linear()
        elif kind == "chip":
            chip = rng.choice(_CHIPS)
            name = rng.choice((f"ldsplin v{rng.randrange(8)}, {chip}",
                               f"stsplin v{rng.randrange(8)}, {chip}"))
            buffer, (words, lines) = self._chips[chip], (self._grid.width, self._grid.height)
        else:
            chip = rng.choice(_CHIPS)
            target = rng.choice((SHAPED, STORED))
            name = f"{'ldg' if target == SHAPED else 'stg'}2sptile {chip}, {target}"
            buffer, (words, lines) = self._sizes[target], self._chips[chip]
        # in DRAM, the analysis follows every tile of an offset that is not known: seconds
        setup, x, y = self._offsets(buffer, words, lines, counter if kind == "chip" else None,
                                    self._decisions and kind == "chip")
        return (*setup, *(f"{name}, {x}, {y}",) * rng.choice(_TIMES))

    def _linear(self) -> tuple[str, tuple[int, int], int, int]:
        """A tile of the work-group's: text, buffer's size, and words and lines of the tile."""
        rng, grid = self._rng, self._grid
        width, target = rng.choice((1, 2, 4)), rng.choice((SHAPED, STORED))
        many = f".vec{width}" if width > 1 else ""
        name = "ldglin" if target == SHAPED else "stglin"
        register = rng.choice((0, 4) if width > 1 else range(8))
        return (f"{name}{many} v{register}, {target}", self._sizes[target], grid.width,
                grid.height)

    def _offsets(self, buffer: tuple[int, int], words: int, lines: int, counter: int | None,
                 guessed: bool) -> tuple[tuple[str, ...], str, str]:
        """Setup, and the operands X and Y: inside, over an edge, or beyond it; of some, one is not
        known if that is ``guessed``."""
        rng = self._rng

        def near(size: int, room: int) -> int:
            return rng.choice((0, 0, 0, 1, -1, 1 - size, room - 1, room - size, room - size // 2,
                               -(size // 2), room, rng.randint(-9, 9)))

        x, y = near(words, buffer[0]), near(lines, buffer[1])
        how = rng.random()
        if how < 0.6:
            return (), str(x), str(y)
        register = _FIRST + rng.randrange(2)
        if how < 0.75:  # known, or of the work-group's place
            source = rng.choice((str(x), "sc.wg_off_x", "sc.wg_off_y"))
            return (f"smov s{register}, {source}",), f"s{register}", str(y)
        if how < 0.9 and counter is not None:
            if rng.random() < 0.5:
                return (), f"s{counter}", str(y)
            return (), str(x), f"s{counter}"
        if guessed:
            setup = (f"sand s{register}, s{16 + rng.randrange(4)}, {rng.choice((1, 3, 7))}",)
            if rng.random() < 0.5:
                return setup, f"s{register}", str(y)
            return setup, str(x), f"s{register}"
        return (), str(x), str(y)

    def _few(self) -> tuple[str, ...]:
        """Words of a scratchpad to scalar registers."""
        rng, chip = self._rng, self._rng.choice(_CHIPS)
        x, y = self._chips[chip]
        left, top = rng.randrange(x), rng.randrange(y)
        most = min(_FREE, x * y - top * x - left)
        return (f"smovssp sc.sd_words, {rng.randint(1, most)}",
                *(f"sldsp s{_FIRST}, {chip}, {left}, {top}",) * rng.choice(_TIMES))

    def _part(self) -> tuple[str, ...]:
        """Some lines of the table or of a buffer past the CAMs, as far apart as the buffer's own:
        the hardware takes no others."""
        rng = self._rng
        buffer, (x, y) = rng.choice(((1, (self._table, 1)), (SHAPED, self._sizes[SHAPED])))
        words, count = rng.randint(1, min(x, 8)), rng.randint(1, min(y, 3))
        period = x if count > 1 else rng.randint(words, 9)
        place = f"{rng.randint(0, x - words)}, {rng.randint(0, y - count)}"
        return (f"smovssp sc.sd_words, {words}", f"smovssp sc.sd_period, {period}",
                f"smovssp sc.sd_period_cnt, {count}", f"movvsp vc.mem_idx, {_SPARE}",
                *(f"ldgcidx {buffer}, {place}",) * rng.choice(_TIMES))
