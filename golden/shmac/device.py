"""Golden models of what answers in SHMAC's tiles that have no RAM.

Ref: SHMAC thesis, 2.3 (Table 2.2), 4.2 (clock tile), 4.3 (jump tile). Words, and what a
tile of each kind has: `cyclebound.golden.shmac.layout.Kind`.
"""

from collections import deque
from typing import ClassVar

from cyclebound.golden.shmac.address_map import BOOT_WORDS, boot_stub
from cyclebound.golden.shmac.layout import Kind
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket

__all__ = ["DeviceModel"]

_MASK = 0xFFFF_FFFF


class DeviceModel:
    """A device at a tile's slave port: it answers in the cycle after it has taken a request.

    Parameters
    ----------
    kind : Kind
        One of `KINDS`.

    Attributes
    ----------
    response : ResponsePacket or None
        On offer to the network in this cycle.
    clock : int
        Cycles since the cores were let run.
    sent : int or None
        A character, in the cycle after it was written.
    received : deque of int
        Characters that have come.
    """

    KINDS: ClassVar = (Kind.JUMP, Kind.CLOCK, Kind.UART, Kind.ROUTER)

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.response: ResponsePacket | None = None
        self.clock = 0
        self.sent: int | None = None
        self.received: deque[int] = deque()

    def ready(self, request: RequestPacket, *, passed: bool) -> bool:
        """Whether it takes a request in this cycle; ``passed``: its response is taken."""
        return self.response is None or passed

    def step(self, request: RequestPacket | None, *, passed: bool) -> None:
        """One cycle: the request that is taken in it."""
        self.sent = None
        if passed:
            self.response = None
        if request is None:
            return
        value = None  # an error
        if not request.sync and not request.interrupt and request.strobes == 15:
            value = self._value(request, request.address // 4)
        if request.answered or value is None:
            self.response = ResponsePacket(not request.answered, value is None,
                                           request.initiator, request.target, value or 0)

    def _value(self, request: RequestPacket, place: int) -> int | None:
        if self._kind is Kind.UART and place == 0:
            if request.write:
                self.sent = request.data & 255
                return 0
            return self.received.popleft() if self.received else _MASK
        if request.write:
            return None
        if self._kind is Kind.CLOCK and place == 0:
            return self.clock
        if self._kind is Kind.JUMP and place < BOOT_WORDS:
            return boot_stub(*request.initiator)[place]
        return None

    def count(self, run: bool) -> None:
        """The end of a cycle, in which the cores run or not."""
        self.clock = self.clock + 1 & _MASK if run else 0
