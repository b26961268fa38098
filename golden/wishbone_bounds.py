"""How long an access takes on a Wishbone shell."""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, prediction

__all__ = ["memory_access", "register_access"]

Requesters = Annotated[int, Range(1, says="requesters that use the bank, this one among them")]


@prediction(formula="2", source="this project")
def register_access() -> int:
    """Cycles from the first one of an access to its acknowledgement or error, both included.

    The access is carried out, or refused, in its first cycle, and answered from a register in the
    next one. It never waits for the block.
    """
    return 2


@bound(formula="N_req + 1", source="this project, from memory-composition, Eq. 1",
       environment="the other requesters of the bank may ask in any cycle, for any word of it")
def memory_access(*, requesters: Requesters) -> int:
    """Cycles from the first one of an access to its acknowledgement, both included.

    A word is granted within ``N_req`` cycles (Eq. 1 for one word); what was read is there in the
    cycle after, and a write is acknowledged then, too. An access with no such word is refused in
    its second cycle, which is no later.
    """
    return requesters + 1
