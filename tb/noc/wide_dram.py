"""Two DRAM devices in lockstep on a system's pins: a bus of 128 bits, bursts of 128 bytes."""

from cyclebound.golden.dram.device import BEAT_BYTES, DramDevice
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.tb.bus import Bus

__all__ = ["WideDram"]

_BEATS = REQUEST_BYTES // (2 * BEAT_BYTES)


class WideDram:
    """What memory holds and drives; cycles count from the test's reset.

    Attributes
    ----------
    due : dict[int, int]
        Beats that are read, by the cycle in which they are on the bus.
    refreshes : list[int]
        Cycles in which there was one.
    """

    def __init__(self, part: Part, outputs: Bus) -> None:
        self.part = part
        self._devices = [DramDevice(part), DramDevice(part)]
        self._op, self._write = outputs["command.op"], outputs["bus.write"]
        self._place = [outputs[f"command.{name}"] for name in ("bank", "row", "column")]
        self._rows: dict[int, int] = {}  # the open ones, by bank
        self._data = outputs["data"] if "data" in outputs.fields else None
        self.due: dict[int, int] = {}
        self.refreshes: list[int] = []

    def command(self, now: int, seen: int) -> None:
        """The pins of this cycle, on which there is a command."""
        command = Command(self._op.of(seen))
        bank, row, column = (field.of(seen) for field in self._place)
        for device in self._devices:
            device.command(now, command, bank, row, 8 * column)
        if command is Command.REF:
            self.refreshes.append(now)
        elif command is Command.ACT:
            self._rows[bank] = row
        elif command is Command.RD:
            burst = self.burst(bank, self._rows[bank], column)
            for beat in range(_BEATS):
                self.due[now + self.part.nCAS + beat] = int.from_bytes(
                    burst[2 * BEAT_BYTES * beat:][:2 * BEAT_BYTES], "little")

    def beat(self, now: int, seen: int) -> None:
        """The data bus in this cycle, in which there is a beat: written, or that of a read. A
        system that only reads shows no data: other masters write zeros."""
        if self._write.of(seen):
            beat = (self._data.of(seen) if self._data is not None else 0).to_bytes(
                2 * BEAT_BYTES, "little")
            for number, device in enumerate(self._devices):
                device.data_in(now, beat[number * BEAT_BYTES:][:BEAT_BYTES])

    def burst(self, bank: int, row: int, column: int) -> bytes:
        """128 bytes."""
        halves = [device.burst(bank, row, column) for device in self._devices]
        return b"".join(half[BEAT_BYTES * beat:][:BEAT_BYTES]
                        for beat in range(_BEATS) for half in halves)

    def read(self, bank: int, row: int, column: int, nbytes: int) -> bytes:
        """What a row holds from there on."""
        return b"".join(self.burst(bank, row, column + number)
                        for number in range(nbytes // REQUEST_BYTES))

    def fill(self, bank: int, row: int, column: int, data: bytes) -> None:
        """The same, before it is read."""
        for place in range(0, len(data), REQUEST_BYTES):
            burst = data[place:place + REQUEST_BYTES]
            for number, device in enumerate(self._devices):
                device.set_burst(bank, row, column + place // REQUEST_BYTES, b"".join(
                    burst[BEAT_BYTES * half:][:BEAT_BYTES]
                    for half in range(number, 2 * _BEATS, 2)))
