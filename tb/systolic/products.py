"""What testbenches declare of a product before its operands are offered."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cyclebound.golden.systolic.mapping import Mapping
from cyclebound.tb.bench import Bench

__all__ = ["declared_product"]


@contextmanager
def declared_product(bench: Bench, what: Iterable[str], mapped: Mapping,
                     **shape: int) -> Iterator[None]:
    """Within it, all products are of this shape; the array is idle where it begins and ends.

    Probes count a product's events: ``operands``, rows or columns that stream in; ``tile_rows``,
    rows of the tiles that stay, which are the array's for each fold.

    Parameters
    ----------
    what : iterable of str
        The probes.
    mapped : Mapping
        How the product lies on the array: its folds, and how long each is.
    shape : int
        ``m``, ``k`` and ``n``.
    """
    what = tuple(what)
    for name in what:
        bench.declare(name, operands=mapped.time * mapped.folds,
                      tile_rows=bench.parameters["rows"] * mapped.folds, **shape)
    yield
    for name in what:
        bench.undeclare(name)
