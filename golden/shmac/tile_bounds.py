"""How long the network's requests wait for a tile's RAM.

Of the core's own requests: `cyclebound.golden.shmac.core_bounds.instruction`, where a fetch and a
load from the tile's own RAM wait for one cycle (that of their response) and a store for none,
whatever the network asks of the RAM at the same time.
"""

from typing import Annotated

from cyclebound.golden.bound import Range, bound

__all__ = ["LOCAL_WAIT", "LOCAL_WRITE_WAIT", "ram_access"]

LOCAL_WAIT, LOCAL_WRITE_WAIT = 1, 0
"""Cycles that a fetch or load, and a store, wait for what the tile itself answers."""


@bound(formula="stall + 1 + [core]",
       source="this project; SHMAC thesis, 3.2.2 and 5.1: RAM with a second port for its core",
       environment="the core does anything; the network takes a response no later than stated")
def ram_access(*, stall: Annotated[int, Range(0, says="most cycles from a response's first offer "
                                              "until the network takes it")],
               core: Annotated[int, Range(0, 1, says="1 if the tile has a core, 0 if not")]) -> int:
    """Cycles in which a request is on offer to the RAM, up to the one in which it is taken.

    Derivation: one to be taken; before that, the response of the request before it may be on offer,
    for the first time in the request's own first cycle, and goes ``stall`` cycles later. Then the
    core may be doing the same with the RAM, reading or writing. It does neither in two cycles that
    follow each other: of two reads, the second one needs the first one's word, which comes a
    cycle later, to be decoded or because it is the core's only outstanding request; after a write
    the core fetches, which is a read.
    """
    return stall + 1 + core
