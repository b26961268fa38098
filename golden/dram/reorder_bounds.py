"""How long a request stays in the reorder core."""

from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound

__all__ = ["printed_residence", "residence"]

_ANY_TRAFFIC = ("requests of any bank, row, direction and priority may come in any cycle; the "
                "controller may take one in any, and close all banks; a request stays until it is "
                "taken, and none has the tag of another that is waiting")

Places = Annotated[int, Range(1, says="n: places in the queue")]
Entries = Annotated[int, Range(2, says="n: places in the queue")]


@bound(formula="2n", source="memory-composition, IV.D (2n - 1 others)", environment=_ANY_TRAFFIC)
def printed_residence(*, entries: Places) -> int:
    """Issues while a request is in the queue, its own included, as printed.

    The paper's four rules do not give it: a stream of row hits keeps a miss waiting for ever. With
    a cap of n + 1 it is what `residence` says.
    """
    return 2 * entries


@bound(formula="cap + n - 1", source="this project", environment=_ANY_TRAFFIC)
def residence(*, entries: Entries, cap: int) -> int:
    """Issues while a request is in the queue, its own included.

    ``cap`` is how often the oldest request may be overtaken before it goes first. Raises
    `NotCovered` without one, 0: there is no bound.

    Derivation: let a request have been overtaken ``cap`` times, and let k older ones still wait.
    They have seen at least as many issues, so from then on the oldest goes first: k issues, and
    its own. k is n - 2 at most. For were it n - 1, the queue before the last issue would have
    held these, the one that left and our request, n + 1 in all, if the one that left was older;
    and if it was younger, just as many. In all cap + (n - 2) + 1. A cap of n + 1 gives the paper's
    2n - 1 others.
    """
    if not isinstance(cap, int) or cap < 1:
        raise NotCovered(f"cap must be at least 1, not {cap!r}: without one, there is no bound")
    return cap + entries - 1
