"""Declares a product's parameters before its operands are offered."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cyclebound.golden.systolic.mapping import Mapping
from cyclebound.tb.bench import Bench
from cyclebound.tb.systolic.product_timing import kind_of

__all__ = ["declared_product"]


@contextmanager
def declared_product(bench: Bench, what: Iterable[str], mapped: Mapping,
                     **shape: int) -> Iterator[None]:
    """Within it, all products are of this shape; the array is idle where it begins and ends.

    Probes count as many of a product's events as `kind_of` says.

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
        bench.declare(name, **kind_of(mapped, bench.parameters["rows"], **shape))
    yield
    for name in what:
        bench.undeclare(name)
