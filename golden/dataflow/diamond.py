"""Golden model of Figure 6's graph: what each thread's result is."""

__all__ = ["DiamondModel"]


class DiamondModel:
    """``(a + x) * (b + (c + x))`` modulo 2**32.

    Parameters
    ----------
    a, b, c : int
        The constants.
    """

    def __init__(self, a: int, b: int, c: int) -> None:
        self._a, self._b, self._c = a, b, c

    def product_of(self, x: int) -> int:
        return (self._a + x) * (self._b + self._c + x) % 2**32
