"""Golden model of the RAM of SHMAC's tiles, cycle by cycle.

Ref: SHMAC thesis, 3.2.2, 5.1; docs/shmac.md says what is decided where it is silent.

The RAM has a port that reads and a port that writes, and each is used once in a cycle. The core
comes first: it never waits. A request of the network waits while the core does the same as it
wants to, read or write, and while the response before it is not taken. Of a read and a write in one
cycle, the read sees what was there before.
"""

from collections.abc import Collection

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket

__all__ = ["RamModel", "merge"]


def merge(old: int, data: int, strobes: int) -> int:
    """A word after a write."""
    mask = sum(255 << 8 * lane for lane in range(4) if strobes >> lane & 1)
    return old & ~mask | data & mask


class RamModel:
    """A RAM at a tile's slave port.

    Parameters
    ----------
    words : int
        Its size.
    raises : bool
        An interrupt may be raised here.
    masters : collection of (row, column)
        Tiles whose cores may reserve words with LL; with none, LL and SC are errors. Rules as of
        `cyclebound.golden.shmac.memory`.

    Attributes
    ----------
    content : list of int
        Its words.
    response : ResponsePacket or None
        On offer to the network in this cycle.
    """

    def __init__(self, words: int, *, raises: bool = False, masters: Collection[Tile] = ()
                 ) -> None:
        self.content, self._raises = [0] * words, raises
        self._masters = set(masters)
        self._reserved: dict[Tile, int] = {}  # by whom, which word
        self.response: ResponsePacket | None = None

    def ready(self, request: RequestPacket, *, passed: bool, reads: bool = False,
              writes: bool = False) -> bool:
        """Whether it takes this request in this cycle.

        ``passed``: the network takes a response, if one is on offer. ``reads``, ``writes``: what
        the core does with the RAM.
        """
        if self.response is not None and not passed:
            return False
        return not (writes if request.write else reads)

    def step(self, request: RequestPacket | None, *, passed: bool) -> bool:
        """One cycle: the request that is taken in it; whether it raises an interrupt."""
        if passed:
            self.response = None
        if request is None:
            return False
        place = request.address // 4
        if request.write and request.interrupt and not request.sync:
            if self._raises:
                return True
            self._answer(request, error=True)
        elif place >= len(self.content) or request.address % 4 or (
                request.sync and request.initiator not in self._masters):
            self._answer(request, error=True)
        elif request.write:
            succeeds = not request.sync or self._reserved.pop(request.initiator, None) == place
            if succeeds:
                self.content[place] = merge(self.content[place], request.data, request.strobes)
                self._reserved = {master: word for master, word in self._reserved.items()
                                  if word != place}
            if request.sync:
                self._answer(request, data=int(succeeds))
        else:
            if request.sync:
                self._reserved[request.initiator] = place
            self._answer(request, data=self.content[place])
        return False

    def _answer(self, request: RequestPacket, *, error: bool = False, data: int = 0) -> None:
        self.response = ResponsePacket(not request.answered, error, request.initiator,
                                       request.target, data)
