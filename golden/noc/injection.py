"""When packets of a transaction enter the network, and by when: for the interface's bounds.

By arithmetic on the period, not cycle by cycle. A packet that is ready in place ``at`` of the
period (0: the window opens) begins there if it fits in the rest of the window, else when the
window opens next.
"""

from collections.abc import Sequence

from cyclebound.golden.noc.packet import HEADER_FLITS

__all__ = ["begins", "packet_sizes", "wait"]


def packet_sizes(words: int, payload: int) -> list[int]:
    """Flits of each packet of a transaction."""
    full, rest = divmod(words, payload)
    return [payload + HEADER_FLITS] * full + ([rest + HEADER_FLITS] if rest else [])


def wait(at: int, takes: int, *, period: int, length: int) -> int:
    """Cycles until a packet that is ready at ``at`` and takes ``takes`` cycles may begin."""
    at %= period
    if length == period or at + takes <= length:
        return 0
    return period - at


def begins(sizes: Sequence[int], at: int, *, period: int, length: int, crossing: int) -> list[int]:
    """When each packet's first flit is on the link, from 0, where the first one is ready.

    The packets after it are ready in time: they are read while it waits and leaves.
    """
    cycles, now = [], 0
    for flits in sizes:
        now += wait(at + now, flits + crossing, period=period, length=length)
        cycles.append(now)
        now += flits
    return cycles
