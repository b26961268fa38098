"""A slave of SHMAC's network, by its time alone. A stand-in for a tile's memory.

It serves one request at a time, in the order in which they come. ``service`` cycles after the one
in which it takes a request its response is on offer, and stays so until it is taken; the next
request is taken in the cycle after that at the earliest, or, by one that overlaps (as a tile's
RAM), in the same cycle. A plain write takes as long as if it had a response that is taken at once.
"""

from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket

__all__ = ["SlaveModel", "answer_to"]


def answer_to(request: RequestPacket) -> ResponsePacket:
    """The response to a request, with its data."""
    return ResponsePacket(write=False, initiator=request.initiator, target=request.target,
                          data=request.data)


class SlaveModel:
    """The slave, one `step` a cycle.

    Parameters
    ----------
    service : int
        Cycles from the one in which it takes a request to the first in which its response is on
        offer, at least 1.
    overlaps : bool
        It takes a request in the cycle in which it is done with the one before.
    """

    def __init__(self, service: int, *, overlaps: bool = False) -> None:
        self.service, self._overlaps = service, overlaps
        self._request: RequestPacket | None = None
        self._left = 0

    def ready(self, *, passed: bool) -> bool:
        """Whether it takes a request in this cycle, if one is offered; ``passed``: the response on
        offer is taken."""
        return self._request is None or (
            self._overlaps and not self._left and (passed or not self._request.answered))

    @property
    def response(self) -> ResponsePacket | None:
        """What it offers in this cycle."""
        if self._request is None or self._left or not self._request.answered:
            return None
        return answer_to(self._request)

    def step(self, request: RequestPacket | None, *, passed: bool) -> None:
        """One cycle: the request that is offered, and whether the response on offer is taken."""
        if self._request is None or self.ready(passed=passed):
            self._request, self._left = request, self.service - 1
        elif self._left:
            self._left -= 1
        elif passed or not self._request.answered:
            self._request = None
