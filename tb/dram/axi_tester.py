"""Between an AXI client and a DRAM device: the block, and a scoreboard of bytes."""

import itertools
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiMaster

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.axi_bounds import first_of
from cyclebound.golden.dram.axi_dfi_bounds import axi_dfi_read, axi_dfi_write
from cyclebound.golden.dram.axi_port import (
    DATA_BYTES,
    AxiBurst,
    AxiResponse,
    apply_write,
    read_lanes,
)
from cyclebound.golden.dram.device import DramDevice
from cyclebound.golden.dram.dfi import DfiPhy, dfi_part
from cyclebound.golden.dram.dfi_adapter import DfiDevice
from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BEAT_WORDS,
    BURST_BYTES,
    BURST_WORDS,
    WORD_BYTES,
)
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.tb.bench import Bench
from cyclebound.tb.dram.dfi_adapter import Phases
from cyclebound.tb.pins import Pins

__all__ = ["AxiTester", "DfiTester", "Service"]

_ALL_BITS = (1 << 8 * DATA_BYTES) - 1
_LONGEST = 1000  # cycles: more than any burst takes, but for refreshes
_PHY = "ratio", "wrlat", "wrdata", "rddata_en", "rdlat"
_INIT = 7        # cycles that the PHY takes for itself
_MARGIN = 30     # cycles around the moment in which a refresh falls due


def _burst(of: Callable[[str], int], channel: str) -> AxiBurst:
    """The burst on an address channel."""
    return AxiBurst(*(of(f"{channel}{name}") for name in ("addr", "len", "size", "burst")))


@dataclass
class Service:
    """The burst under way, as the scoreboard sees it.

    Attributes
    ----------
    first : int
        The cycle its latency counts from: its address for a read, its last word for a write.
    stalls : int
        Cycles since then in which the client was not ready.
    answers : deque of (data, mask, response)
        What R or B must still bring.
    """

    burst: AxiBurst
    identity: int
    write: bool
    first: int
    response: AxiResponse
    stalls: int = 0
    partial: bool = False
    data: list[int] = field(default_factory=list)
    strobes: list[int] = field(default_factory=list)
    answers: deque[tuple[int, int]] = field(default_factory=deque)


class AxiTester:
    """The block between client and device; all of them run by themselves from here on."""

    def __init__(self, bench: Bench, *, master: bool = True) -> None:
        self.bench, self.pins = bench, Pins(bench)
        self._field = {**bench.inputs.fields, **bench.outputs.fields}
        self.part = self._connect()
        words = bench.parameters.get("capacity") or min(self.part.bursts * BURST_WORDS,
                                                        1 << ADDRESS_BITS)
        self.device_bytes = WORD_BYTES * words
        self.bytes: dict[int, int] = {}
        self.counts = dict.fromkeys(("reads", "writes", "partial", "refused", "stalled",
                                     "refreshed"), 0)
        self.service: Service | None = None
        self._refreshed = -(1 << 30)  # cycle of the last REF
        self._held = {"b": False, "r": False}
        logging.getLogger(f"cocotb.{bench.name}").setLevel(logging.WARNING)
        self.bus = AxiBus.from_prefix(self.pins, "s_axi")
        self._master = AxiMaster(self.bus, bench.dut.clk) if master else None
        self._passed = {"ar": 0, "aw": 0}  # bursts accepted while this one waited
        self._skip, self._reset = 0, bench.cycle  # refreshes fall due from the reset on
        self._task = cocotb.start_soon(self._run())

    @classmethod
    def of(cls, bench: Bench, *, master: bool = True) -> "AxiTester":
        """A tester that begins with this cycle, the first after a reset."""
        return (DfiTester if "ratio" in bench.parameters else cls)(bench, master=master)

    @classmethod
    async def ready(cls, bench: Bench, *, master: bool = True) -> "AxiTester":
        """A tester in which the block has mapped its buffer, as it does after a reset."""
        tester = cls.of(bench, master=master)
        await tester.until_ready()
        await tester.cycles(16)
        return tester

    @property
    def master(self) -> AxiMaster:
        """The client. Raises `ValueError` if this tester has none."""
        if self._master is None:
            raise ValueError("this tester has no client")
        return self._master

    # -- the device ------------------------------------------------------------------------------

    def _connect(self) -> Part:
        """Make the device; the part that the controller sees."""
        part = part_named(self.bench.parameters["part"])
        self.device = DramDevice(part)
        return part

    async def until_ready(self) -> int:
        """Wait until the device takes requests; the cycles from the reset to then."""
        return 0

    def _offered(self, now: int) -> dict[str, int]:
        """Inputs that the device drives in this cycle; random bits where it sends no data."""
        beat = self.device.data_out(now)
        return {"dq_in": self.bench.rng.getrandbits(8 * DATA_BYTES) if beat is None
                else int.from_bytes(beat, "little")}

    def _move(self, now: int, seen: int) -> None:
        """Give the device this cycle's command and write data."""
        of = {name: self._field[f"command.{name}"].of(seen) for name in (
            "op", "bank", "row", "column")}
        if of["op"]:
            self.device.command(now, Command(of["op"]), of["bank"], of["row"], 8 * of["column"])
            if of["op"] == Command.REF:
                self._refreshed = now
        if self._field["dq_out.valid"].of(seen):
            words = self._field["dq_out.payload.words"].of(seen)
            mask = self._field["dq_out.payload.mask"].of(seen)
            lanes = sum(0xF << WORD_BYTES * word for word in range(BEAT_WORDS) if mask >> word & 1)
            self.device.data_in(now, words.to_bytes(DATA_BYTES, "little"), lanes)

    def next_refresh(self) -> int:
        """The cycle in which the next refresh falls due."""
        interval = self.part.nREFI
        return self._reset + ((self.bench.cycle - self._reset) // interval + 1) * interval

    def _undisturbed(self, burst: AxiBurst, write: bool, partial: bool) -> bool:
        """Whether no refresh is under way or owed, and none falls due before the burst's end."""
        intervals, since = divmod(self.bench.cycle - self._reset, self.part.nREFI)
        return ((intervals == 0 or since > _LONGEST + self.part.nRFC)
                and since < self.part.nREFI - _LONGEST)

    def _kept(self, bank: int, row: int, column: int) -> bytes:
        """A burst that the device keeps; ``column`` counts these."""
        return self.device.burst(bank, row, column)

    def _finished(self) -> None:
        """The device's last cycle."""
        self.device.finish(self.bench.cycle)

    def pause(self, *channels, chance: float) -> None:
        """Make the client stall each channel, in every cycle with this chance."""
        for channel in channels:
            channel.set_pause_generator(self.bench.rng.random() < chance
                                        for _ in itertools.count())

    async def skip_to(self, cycle: int) -> None:
        """Wait until this cycle without comparing; the device must not be used meanwhile."""
        self._skip = cycle
        await self.cycles(cycle - self.bench.cycle)

    async def cycles(self, cycles: int) -> None:
        """Wait for ``cycles`` cycles."""
        end, edge = self.bench.cycle + cycles, RisingEdge(self.bench.dut.clk)
        while self.bench.cycle < end:
            await edge

    async def _run(self) -> None:
        bench = self.bench
        while True:
            if self._skip > bench.cycle:
                await bench.wait(self._skip - bench.cycle)
            now = bench.cycle
            offered = self._offered(now)
            await bench.peek()
            self._declare(self.pins.driven)
            seen, driven = await self.pins.step(**offered)
            self._move(now, seen)
            self._watch(now, seen, driven)

    # -- the scoreboard ------------------------------------------------------------------------

    def _watch(self, now: int, seen: int, driven: int) -> None:
        def of(name: str) -> int:
            field = self._field[f"s_axi_{name}"]
            return field.of(driven if f"s_axi_{name}" in self.bench.inputs.fields else seen)

        service, expected, care = self.service, 0, self._field["late"].mask
        for channel in "br":
            care |= self._field[f"s_axi_{channel}valid"].mask
            if (service is None or service.write != (channel == "b") or not service.answers):
                continue  # nothing may come
            if not of(f"{channel}valid") and not self._held[channel]:
                continue  # it may come later
            data, mask = service.answers[0]
            values = {"valid": 1, "id": service.identity, "resp": service.response}
            if channel == "r":
                values |= {"data": data, "last": len(service.answers) == 1}
            for name, value in values.items():
                part = self._field[f"s_axi_{channel}{name}"]
                expected |= part.to(value)
                care |= mask << part.offset if name == "data" else part.mask
        self.bench.check(seen, expected, care)
        for channel in "br":
            if service is not None and of(f"{channel}valid"):
                self._held[channel] = not of(f"{channel}ready")
                if self._held[channel]:
                    service.stalls += 1
                else:
                    service.answers.popleft()
                    if not service.answers:
                        self._finish(service, now)
                        self.service = None
        for channel, other in (("ar", "aw"), ("aw", "ar")):
            if of(f"{channel}valid") and of(f"{channel}ready"):
                assert service is None, f"cycle {now}: {channel} accepted while another is served"
                self._accept(channel == "aw", of, now)
                self._passed |= {channel: 0, other: self._passed[other] + of(f"{other}valid")}
                assert self._passed[other] < 2, f"cycle {now}: {other} was passed over twice"
        if of("wvalid") and of("wready"):
            self._word(of("wdata"), of("wstrb"), of("wlast"), now)

    def _accept(self, write: bool, of, now: int) -> None:
        name = "aw" if write else "ar"
        burst = _burst(of, name)
        response = burst.response(self.device_bytes)
        self.service = Service(burst, of(f"{name}id"), write, now, response)
        if not write:
            self.service.answers.extend([(0, _ALL_BITS)] * (burst.length + 1) if response
                                        else read_lanes(self.bytes, burst))

    def _word(self, data: int, strobe: int, last: int, now: int) -> None:
        service = self.service
        assert service, f"cycle {now}: a word without an address"
        assert service.write, f"cycle {now}: a word was accepted while a read is served"
        service.data.append(data)
        service.strobes.append(strobe)
        complete = len(service.data) == service.burst.length + 1
        if last != complete:
            service.response = AxiResponse.SLVERR
        if complete:
            if not service.response:
                service.partial = apply_write(self.bytes, service.burst, service.data,
                                              service.strobes)
            service.first = now
            service.answers.append((0, 0))

    def _finish(self, service: Service, now: int) -> None:
        """A burst's last answer was taken."""
        self.counts["writes" if service.write else "reads"] += 1
        self.counts["partial"] += service.partial
        self.counts["stalled"] += service.stalls > 0
        self.counts["refused"] += service.response != AxiResponse.OKAY
        self.counts["refreshed"] += (service.response == AxiResponse.OKAY
                                     and self._refreshed > service.first - self.part.nRFC)

    # -- what is coming --------------------------------------------------------------------------

    def _declare(self, driven: int) -> None:
        """Declare the parameters of the burst on offer in this cycle, before it is taken."""
        def of(name: str) -> int:
            return self._field[f"s_axi_{name}"].of(driven)

        service, bench = self.service, self.bench
        if service is None and of("arvalid"):
            burst = _burst(of, "ar")
            self._class(burst, burst.response(self.device_bytes), "read",
                        {"transfers": burst.length + 1})
        if service and service.write and of("wvalid") and len(service.data) == service.burst.length:
            burst, response = service.burst, service.response
            if not of("wlast"):
                response = AxiResponse.SLVERR
            partial = burst.legal and apply_write({}, burst, [*service.data, of("wdata")],
                                                  [*service.strobes, of("wstrb")])
            bench.declare("write", last=1, transfers=burst.length + 1, size=burst.size,
                          partial=int(partial))
            self._class(burst, response, "write", {"partial": int(partial), "last": 1})
        elif of("wvalid"):
            for what in ("write", "write_alone", "write_refused"):
                bench.undeclare(what)

    def _class(self, burst: AxiBurst, response: AxiResponse, direction: str,
               kind: dict[str, int]) -> None:
        """Declare the prediction that covers a burst, if there is one."""
        alone, refused = f"{direction}_alone", f"{direction}_refused"
        if response:
            self.bench.undeclare(alone)
            beyond = int(response == AxiResponse.DECERR)
            kind = {name: value for name, value in kind.items() if name != "partial"}
            self.bench.declare(refused, beyond=beyond, **kind)
            return
        self.bench.undeclare(refused)
        touched = burst.dram_bursts
        if self._undisturbed(burst, direction == "write", bool(kind.get("partial"))):
            self.bench.declare(alone, bursts=len(touched),
                               first=first_of(self.part, touched[0]), **kind)
        else:
            self.bench.undeclare(alone)

    # -- the client ----------------------------------------------------------------------------

    async def write(self, address: int, data: bytes, **options: int) -> AxiResponse:
        """Write through the client; what it is answered."""
        return AxiResponse((await self.master.write(address, data, **options)).resp)

    async def read(self, address: int, length: int, **options: int) -> bytes:
        """Read through the client; the answer must be OKAY."""
        answer = await self.master.read(address, length, **options)
        assert answer.resp == AxiResponse.OKAY, f"read of {address:#x} was answered {answer.resp!r}"
        return answer.data

    async def offer(self, burst: AxiBurst, *, write: bool, strobe: int) -> None:
        """Offer a burst from this very cycle on, without a client, until it is answered.

        Its words are on offer from the same cycle on, each with ``strobe``.
        """
        def put(channel: str, **values: int) -> None:
            for name, value in values.items():
                self.pins.put(self.bench.inputs[f"s_axi_{channel}{name}"], value)

        def taken(channel: str) -> bool:
            return all(self._field[f"s_axi_{channel}{name}"].of(word) for name, word in (
                ("valid", self.pins.driven), ("ready", self.pins.seen)))

        address, edge = "aw" if write else "ar", RisingEdge(self.bench.dut.clk)
        put(address, valid=1, addr=burst.address, len=burst.length, size=burst.size,
            burst=burst.type)
        put("w", valid=int(write), data=self.bench.rng.getrandbits(8 * DATA_BYTES), strb=strobe,
            last=burst.length == 0)
        put("b" if write else "r", ready=1)
        answered, left = self.counts["reads"] + self.counts["writes"], burst.length
        while self.counts["reads"] + self.counts["writes"] == answered:
            await edge
            if taken(address):
                put(address, valid=0)
            if taken("w"):
                left -= 1
                put("w", valid=int(left >= 0), last=left == 0)

    def stop(self) -> None:
        """Nothing of the tester moves from here on, whatever is under way."""
        self._task.cancel()
        self.pins.release()  # the inputs stay until the reset: nothing is withdrawn before
        if self._master is None:
            return
        write, read = self.master.write_if, self.master.read_if
        for client in (write, read, write.aw_channel, write.w_channel, write.b_channel,
                       read.ar_channel, read.r_channel):
            client.assert_reset(True)

    async def finish(self) -> dict[str, int]:
        """Compare what the device keeps with what was written; the counts of what there was."""
        if self._master is not None:
            await self._master.wait()
        await self.cycles(4)
        assert self.service is None
        self._task.cancel()
        self._finished()
        for address, value in self.bytes.items():
            place = place_of(self.part, address // BURST_BYTES)
            kept = self._kept(place.bank, place.row, place.column // 8)
            self.bench.compare(kept[address % BURST_BYTES], value,
                               f"byte {address:#x} in the device")
        return self.counts


class DfiTester(AxiTester):
    """`AxiTester` with DFI instead of pins: a PHY with a DDR3 device, and a check of all rules."""

    def _connect(self) -> Part:
        parameters = self.bench.parameters
        part, self._phy = part_named(parameters["part"]), {name: parameters[name] for name in _PHY}
        ratio, *numbers = self._phy.values()
        self._phases = Phases(self.bench.inputs, self.bench.outputs, ratio)
        self._phy_device = DfiDevice(part, DfiPhy(*numbers), ratio=ratio, rng=self.bench.rng,
                                     hurry=parameters.get("hurry", 1))
        self._begun = 0       # the cycle in which refreshes begin to fall due
        self._refreshes = 0
        return dfi_part(part, DfiPhy(*numbers), ratio=ratio)

    async def until_ready(self) -> int:
        while not self._begun:
            await self.cycles(1)
        return self._begun - self._reset

    async def skip_to(self, cycle: int) -> None:
        """Wait until then; the checker sees every cycle."""
        await self.cycles(cycle - self.bench.cycle)

    def _offered(self, now: int) -> dict[str, int]:
        self._returned, self._complete = self._phy_device.words(), int(now >= _INIT)
        return {"dfi_init_complete": self._complete,
                **{f"dfi_rddata{name}_w{number}": value
                   for number, word in enumerate(self._returned)
                   for name, value in (("_valid", word.valid), ("", word.data))}}

    def _move(self, now: int, seen: int) -> None:
        self._phy_device.step(self._phases.seen(seen), self._returned,
                              init_complete=bool(self._complete))
        assert not self._field["starved"].of(seen)
        if self._field["ready"].of(seen) and not self._begun:
            self._begun = now
        if self._field["command.op"].of(seen) == Command.REF:
            self._refreshed = now
            self._refreshes += 1

    def next_refresh(self) -> int:
        interval = self.part.nREFI
        return self._begun + ((self.bench.cycle - self._begun) // interval + 1) * interval

    def _undisturbed(self, burst: AxiBurst, write: bool, partial: bool) -> bool:
        now, phy = self.bench.cycle, {"part": self.bench.parameters["part"], **self._phy,
                                      "transfers": burst.length + 1, "size": burst.size}
        try:
            longest = axi_dfi_write.function(**phy, partial=partial) if write else (
                axi_dfi_read.function(**phy))
        except NotCovered:  # refreshes come too often
            return False
        intervals, since = divmod(now - self._begun, self.part.nREFI)
        return (self._begun > 0 and (intervals == 0 or since > _MARGIN)
                and now - self._refreshed > self.part.nRFC and self._refreshes == intervals
                and since + longest + _MARGIN < self.part.nREFI)

    def _kept(self, bank: int, row: int, column: int) -> bytes:
        return self._phy_device.burst(bank, row, column)

    def _finished(self) -> None:
        self._phy_device.finish()
