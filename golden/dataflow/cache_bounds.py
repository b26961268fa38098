"""Worst-case formulas of the cache's banks."""

from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound, prediction

__all__ = ["access_times", "cache_access", "cache_crowd", "cache_hit"]

Hit = Annotated[int, Range(2, says="cycles of a hit")]
Miss = Annotated[int, Range(2, says="most cycles of an access")]
Ports = Annotated[int, Range(1, says="ports that may ask for a bank")]
Accesses = Annotated[int, Range(1, says="accesses of each port")]
TagWidth = Annotated[int, Range(1, says="bits of a tag")]


@prediction(formula="hit", source="this project, from SGMF, section 5.2 and Table 1")
def cache_hit(*, hit: Hit) -> int:
    """Cycles from taking a request to its answer, both included, while no access misses.

    Derivation: a port has one request taken in a cycle, and each is answered as many cycles later,
    so that no two answers of a port fall into one cycle.
    """
    return hit


@bound(formula="ports - 1 + miss", source="this project, from SGMF, section 5.2 and Table 1",
       environment="the other ports may access any bank in any cycle, and any access may miss; a "
                   "request stays until it is taken, and no port uses a tag that is under way")
def cache_access(*, ports: Ports, miss: Miss) -> int:
    """Cycles from offering a request to its answer, both included, whatever others do.

    Derivation: its bank takes one request in each cycle, round robin, so that each other port goes
    first once at most: ``ports - 1`` cycles. Call the ``miss``-th cycle from being taken, that one
    included, an access's last moment. A port has one request taken in a cycle, so that its
    accesses have different last moments. A miss is due at its last moment, and answered then. Hits
    are due before theirs, and answered in the order in which they were taken, which is that of
    their last moments; so each cycle serves, of those that are due, the one whose last moment is
    the earliest. If a hit were late, all answers since the last idle cycle before would have
    earlier last moments, each within that time, which has fewer cycles. So no request is late.
    """
    return ports - 1 + miss


@prediction(formula="ports * accesses + miss - 1", source="this project, from SGMF, section 5.2")
def cache_crowd(*, ports: Ports, accesses: Accesses, miss: Miss, tag_width: TagWidth) -> int:
    """Cycles in which all ports make ``accesses`` accesses each to one bank, without a pause.

    From the first offer to the last answer; a port has a tag for each access, and offers the next
    one when one is taken. Raises `NotCovered` for more ``accesses`` than tags of ``tag_width``
    bits.

    Derivation: the bank takes one in each cycle, without a pause, and the last is answered
    ``miss - 1`` cycles after it was taken.
    """
    if accesses > 2**tag_width:
        raise NotCovered(f"accesses must be at most {2**tag_width}, the tags of a port, "
                         f"not {accesses}")
    return ports * accesses + cache_access(ports=1, miss=miss) - 1


def access_times(*, users: int, banks: int = 0, hit: int = 2, miss: int = 2,
                 miss_rate: float = 0.0) -> tuple[int, int]:
    """The access times of a `CacheModel` for `golden.dataflow.wcet.estimate`, before anything runs.

    The most cycles of an access, from its offer to its answer (`cache_access`), and the most that
    it waits to be taken: as many as other units may want the same bank. Units with a path of their
    own do not wait. Raises `NotCovered` where accesses may miss and a miss is faster than a hit.

    Parameters
    ----------
    users : int
        Load/store units in use.
    banks, hit, miss, miss_rate
        As for `random_cache`.
    """
    if miss_rate and miss < hit:
        raise NotCovered(f"a miss must take as long as a hit, {hit} cycles, or longer")
    waits = max(0, users - 1) if banks else 0
    return waits + (max(hit, miss) if miss_rate else hit), waits
