"""Worst case of a transaction over a mesh with an interface at every tile."""

from cyclebound.golden.bound import bound
from cyclebound.golden.noc.bounds import (
    Delta,
    Length,
    Offset,
    Opened,
    Payload,
    Period,
    Routers,
    Words,
    injection,
    reception,
)
from cyclebound.golden.noc.injection import packet_sizes

__all__ = ["transfer"]


@bound(formula="injection + N_R (delta_R + 1) + reception - 1", source="this project",
       environment="the transaction may come in any cycle in which its interface does nothing "
                   "else; all other tiles may send whatever they like within the windows of a "
                   "table that has no conflicts")
def transfer(*, words: Words, payload: Payload, period: Period, length: Length, routers: Routers,
             delta: Delta, offset: Offset, opened: Opened = 0) -> int:
    """A transaction over a network with a table, from the cycle that takes it to its last word.

    Both included; words are offered and taken without a pause; the table has no conflicts, and its
    windows travel with the packets (``crossing`` = 0). What other flows do does not appear.
    ``opened`` is that of `injection`.

    Derivation: the last flit is taken by the first router within `injection`; since no other packet
    is on its path, it leaves the last one N_R (delta_R + 1) cycles later (`t_noc`), and its packet
    the receiver within `reception`, whose first cycle is the same.
    """
    sizes = packet_sizes(words, payload)
    own = sizes[-1] - sizes[0] + min(words, payload)
    return (injection(words=words, payload=payload, period=period, length=length, crossing=0,
                      offset=offset, opened=opened)
            + routers * (delta + 1)
            + reception(words=own, before=payload if len(sizes) > 1 else 0) - 1)
