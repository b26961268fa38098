"""Golden model and bound of the max pooling unit, and its reference in numpy.

Ref: thesis on AI accelerators, chapter 2.3 (pooling layers).
"""

from collections import deque
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.bound import NotCovered, Range, prediction

__all__ = ["MaxPoolingModel", "max_pool", "pool_cycles"]

Extent = Annotated[int, Range(1, says="rows or columns of pixels")]


def max_pool(image: NDArray[np.integer], window: int) -> NDArray[np.integer]:
    """H x W x C to floor(H / window) x floor(W / window) x C: the greatest of each window."""
    height, width, channels = image.shape
    down, across = height // window, width // window
    whole = image[:down * window, :across * window]
    return whole.reshape(down, window, across, window, channels).max(axis=(1, 3))


@prediction(formula="(floor(height / window) window - 1) width + floor(width / window) window + 3",
            source="this project")
def pool_cycles(*, height: Extent, width: Extent, window: Extent) -> int:
    """Cycles of an image, a pixel in each.

    Unit: cycles. Counted: from the cycle in which the first pixel is accepted to the cycle in which
    the last result is on ``results``, both inclusive; pixels always on offer, the sink always
    ready. Raises `NotCovered` for a window that is larger than the image.

    Derivation: the last pixel of the last window is number (height' - 1) width + width', with what
    is left of height and width without the rest that fills no window (1 for each). It is in the
    window's register one cycle later, beside what memory holds of the rows above in the next,
    and compared with that in the one after (3).
    """
    if window > min(height, width):
        raise NotCovered(f"window must be at most {min(height, width)}, the image, not {window}")
    return (height // window * window - 1) * width + width // window * window + 3


class MaxPoolingModel:
    """Golden model, one call of `step` per cycle.

    Parameters
    ----------
    images : iterable of ((H, W, C) array, window)
        What will come, pixel by pixel.
    """

    def __init__(self, images) -> None:
        self._now = 0  # cycles in which nothing stood still
        self._rows: deque[tuple[int, list[int]]] = deque()
        # what becomes of each pixel: a result, or None
        self._pixels: deque[list[int] | None] = deque()
        for image, window in images:
            results = iter(max_pool(image, window).reshape(-1, image.shape[2]).tolist())
            down, across = (extent // window * window for extent in image.shape[:2])
            for y in range(image.shape[0]):
                for x in range(image.shape[1]):
                    ends = (y < down and x < across
                            and y % window == x % window == window - 1)
                    self._pixels.append(next(results) if ends else None)

    def step(self, offered: bool, ready: bool) -> tuple[bool, list[int] | None]:
        """One cycle: whether a pixel is taken, and the result on offer."""
        shown = self._rows[0][1] if self._rows and self._rows[0][0] == self._now else None
        if shown is not None and not ready:
            return False, shown
        if shown is not None:
            self._rows.popleft()
        if offered:
            result = self._pixels.popleft()
            if result is not None:
                self._rows.append((self._now + 3, result))
        self._now += 1
        return True, shown
