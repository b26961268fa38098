"""Golden model and bound of the im2col address generator, and the layout of images that it walks.

A word holds ``size`` elements. An image of H x W pixels with C channels has its rows one after
the other, each beginning with a word; in a row, pixels are beside each other, and so are a
pixel's channels. More channels may be in further images (planes).

Ref: thesis on AI accelerators, chapter 4.2 (a row of the product for each window of the
image); this project for the layout and the order.
"""

import itertools
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.bound import Range, check_count, prediction
from cyclebound.golden.systolic.mapping import ceil_div

__all__ = ["Im2colModel", "Word", "command_of", "gather", "im2col_cycles", "image_words", "walk"]

Tensor = NDArray[np.integer]
Lanes = Annotated[int, Range(1, says="elements of a word")]
Extent = Annotated[int, Range(1, says="rows or columns of pixels")]
Count = Annotated[int, Range(1, says="channels, planes or strips")]
Padding = Annotated[int, Range(0, says="pixels beyond each edge")]


@dataclass(frozen=True)
class Word:
    """A word of A: see im2col_layout.py."""

    address: int
    offset: int
    lanes: int
    last: bool
    final: bool


def image_words(image: Tensor, size: int) -> NDArray[np.int64]:
    """The words of an image of H x W x C, as a matrix with a row for each word."""
    height, width, channels = image.shape
    rows = image.reshape(height, width * channels).astype(np.int64)
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % size))).reshape(-1, size)


def command_of(*, size: int, height: int, width: int, channels: int, kernel: int, stride: int = 1,
               padding: int = 0, planes: int = 1, strips: int = 1, base: int = 0,
               address_width: int = 10) -> dict[str, int]:
    """The command for a convolution over whole images that begin at the word ``base``."""
    pitch = ceil_div(width * channels, size)
    across, down = ((extent + 2 * padding - kernel) // stride + 1 for extent in (width, height))
    return {"origin": (base - padding * pitch) % 2**address_width, "pitch": pitch,
            "jump": stride * pitch % 2**address_width,
            "plane_step": height * pitch % 2**address_width, "elements": width * channels,
            "height": height, "top": -padding, "start": -padding * channels,
            "step": stride * channels, "stride": stride, "across": across, "down": down,
            "kernel": kernel, "run": kernel * channels, "planes": planes, "strips": strips}


def walk(command: Mapping[str, int], size: int, address_width: int) -> Iterator[Word]:
    """All words of a command, each from its place in the nest alone."""
    c = command
    tiles = list(itertools.product(range(c["strips"]), range(c["planes"]), range(c["kernel"]),
                                   range(0, c["run"], size)))
    windows = list(itertools.product(range(c["down"]), range(c["across"])))
    for number, (_, plane, ky, done) in enumerate(tiles):
        for place, (y, x) in enumerate(windows):
            row = c["top"] + y * c["stride"] + ky
            column = c["start"] + x * c["step"] + done
            line = c["origin"] + plane * c["plane_step"] + y * c["jump"] + ky * c["pitch"]
            lanes = sum(1 << i for i in range(size)
                        if 0 <= row < c["height"] and 0 <= column + i < c["elements"]
                        and done + i < c["run"])
            last = place == len(windows) - 1
            yield Word((line + column // size) % 2**address_width, column % size, lanes, last,
                       last and number == len(tiles) - 1)


def gather(words: Sequence[Word], memory: NDArray[np.int64],
           address_width: int = 10) -> NDArray[np.int64]:
    """Read these words from a memory: an element for each lane, 0 where there is none.

    After the last address comes address 0, where the second half of a word may be.
    """
    size, flat = memory.shape[1], memory.ravel()
    whole = size << address_width
    rows = np.zeros((len(words), size), dtype=np.int64)
    for row, word in zip(rows, words, strict=True):
        for lane in range(size):
            if word.lanes >> lane & 1:
                row[lane] = flat[(word.address * size + word.offset + lane) % whole]
    return rows


@prediction(formula="strips planes kernel ceil(kernel channels / size) windows + 2, windows = "
                    "(floor((height + 2 padding - kernel) / stride) + 1) (the same of width)",
            source="this project")
def im2col_cycles(*, size: Lanes, height: Extent, width: Extent, channels: Count, kernel: Extent,
                  stride: Extent = 1, padding: Padding = 0, planes: Count = 1,
                  strips: Count = 1) -> int:
    """Cycles of a command, until its last word.

    Unit: cycles. Counted: from the cycle in which the command is accepted to the cycle in which
    the last word is taken, both inclusive; the sink always ready.

    Derivation: the command is in registers in the cycle after it was accepted (1), from which the
    first word is made, and on offer in the next (1). From then on there is another in each
    cycle: one for each tile of each row of the kernel, in each plane, and each window.
    """
    high, wide = height + 2 * padding - kernel, width + 2 * padding - kernel
    check_count("kernel's room", min(high, wide), least=0)
    windows = (high // stride + 1) * (wide // stride + 1)
    return strips * planes * kernel * ceil_div(kernel * channels, size) * windows + 2


class Im2colModel:
    """Golden model, one call of `step` per cycle."""

    def __init__(self, size: int, address_width: int) -> None:
        self.size, self.address_width = size, address_width
        self._to_come: deque[Word] = deque()  # not yet on offer
        self._shown: Word | None = None

    def step(self, command: Mapping[str, int] | None, ready: bool) -> tuple[bool, Word | None]:
        """One cycle: whether a command would be taken, and the word on offer."""
        shown, takes = self._shown, not self._to_come
        if shown is None or ready:
            self._shown = self._to_come.popleft() if self._to_come else None
        if takes and command is not None:
            self._to_come.extend(walk(command, self.size, self.address_width))
        return takes, shown
