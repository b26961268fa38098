"""Golden model of the page controller: what is legal comes from the table of rules."""

from typing import NamedTuple

from cyclebound.golden.dram.device import BEAT_BYTES, DramDevice
from cyclebound.golden.dram.queued_request import QueuedRequest
from cyclebound.golden.dram.refresh_timer import RefreshTimerModel
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import Part

__all__ = ["DataBeatStrobe", "DeliveredBeat", "PageControllerModel", "Pins"]

_COMPARE = 1  # cycles in which a request's row is compared with the open one
_FETCH = 2    # cycles from a fetch to its beat on the bus


class Pins(NamedTuple):
    """A command on the pins; ``column`` counts bursts."""

    op: Command
    bank: int
    row: int
    column: int


class DataBeatStrobe(NamedTuple):
    """A beat of a request's burst on the data bus."""

    write: bool
    tag: int
    beat: int


class DeliveredBeat(NamedTuple):
    """A beat that was read, as the controller hands it on."""

    tag: int
    beat: int
    data: int


class PageControllerModel:
    """One request at a time, each command in the first cycle in which the device allows it.

    Parameters
    ----------
    part : Part
        The DRAM.
    close : bool
        Close each row after its burst.
    postpone : int
        Refreshes that may be owed before one is done.

    Attributes
    ----------
    delivered : DeliveredBeat or None
        In the cycle that the last `step` was.
    """

    def __init__(self, part: Part, *, close: bool, postpone: int) -> None:
        self.part, self._close = part, close
        self._device = DramDevice(part)
        self._timer = RefreshTimerModel(interval=part.nREFI, most=postpone)
        self._postpone = postpone
        self._rows: dict[int, int] = {}
        self._compared = 0  # cycles that the request has been looked at
        self._begun = self._refreshing = False
        self._pins: Pins | None = None
        self._now = 0
        self._beats: dict[int, DataBeatStrobe] = {}
        self._sampled: DeliveredBeat | None = None  # is delivered in the next cycle
        self.delivered: DeliveredBeat | None = None

    def _legal(self, command: Command, bank: int = 0) -> bool:
        return self._device.earliest(command, bank) <= self._now + 1

    def _next(self, request: QueuedRequest) -> Command:
        bank = request.bank
        if bank not in self._rows:
            return Command.ACT
        if self._rows[bank] != request.row:
            return Command.PRE
        if self._close:
            return Command.WRA if request.write else Command.RDA
        return Command.WR if request.write else Command.RD

    def step(self, request: QueuedRequest | None, dq_in: int = 0) -> tuple[
            bool, Pins | None, bool, DataBeatStrobe | None, DataBeatStrobe | None]:
        """One cycle: request taken, command on the pins, banks closed, beat on the bus, fetched.

        ``dq_in`` is what the devices drive in it.
        """
        shown, self._pins = self._pins, None
        falls = self._now > 0 and self._now % self.part.nREFI == 0
        urgent = len(self._timer.owed) + falls >= self._postpone
        done = closed = taken = False
        compared = request is not None and self._compared >= _COMPARE
        if self._refreshing or (urgent and not self._begun):
            self._refreshing = True
            if self._rows:
                if self._legal(Command.PREA):
                    self._send(Command.PREA, None)
                    self._rows.clear()
                    closed = True
            elif self._legal(Command.REF):
                self._send(Command.REF, None)
                done, self._refreshing, closed = True, False, True
            self._compared = 0
        elif compared and request is not None:
            command = self._next(request)
            if self._legal(command, request.bank):
                self._send(command, request)
                taken = command not in (Command.ACT, Command.PRE)
                self._begun = not taken
                self._compared = 0 if taken else self._compared
        elif request is not None:
            self._compared += 1
        self._timer.step(done)
        beat, fetched = self._beats.get(self._now), self._beats.get(self._now + _FETCH)
        self._beats.pop(self._now, None)
        self.delivered, self._sampled = self._sampled, None
        if beat is not None and not beat.write:
            self._sampled = DeliveredBeat(beat.tag, beat.beat, dq_in)
        due = self._beats.get(self._now + 1)
        if due is not None and due.write:
            self._device.data_in(self._now + 1, bytes(BEAT_BYTES))
        self._now += 1
        return taken, shown, closed, beat, fetched if fetched and fetched.write else None

    def _send(self, command: Command, request: QueuedRequest | None) -> None:
        cycle, part = self._now + 1, self.part
        if request is None:
            self._device.command(cycle, command)
            self._pins = Pins(command, 0, 0, 0)
            return
        self._device.command(cycle, command, request.bank, request.row, 8 * request.column)
        self._pins = Pins(command, request.bank, request.row, request.column)
        if command is Command.ACT:
            self._rows[request.bank] = request.row
            return
        if command is Command.PRE or self._close:
            del self._rows[request.bank]
        if command is not Command.PRE:
            start = cycle + (part.nCWD if request.write else part.nCAS)
            for beat in range(part.nBURST):
                strobe = DataBeatStrobe(request.write, request.tag, beat)
                self._beats[start + beat] = strobe
