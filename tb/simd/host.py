"""Testbench of the register interface: a client of cocotbext-axi, and a stand-in accelerator."""

import logging

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from cyclebound.golden.simd.host import HostClocks, HostModel
from cyclebound.golden.simd.host_registers import Register, Status
from cyclebound.golden.simd.machine import machine_named
from cyclebound.golden.simd.program import INSTRUCTIONS
from cyclebound.golden.simd.scheduler import CODES
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.pins import Pins

_FIELDS = {"start": ("address", "instructions", "grid.x", "grid.y", "grid.width", "policy"),
           "mapping": ("buffer", "address", "x", "y"),
           "chip": ("number", "buffer.address", "buffer.x", "buffer.y")}
_NAMES = {"grid.x": "x", "grid.y": "y", "grid.width": "width", "buffer": "number",
          "buffer.address": "address", "buffer.x": "x", "buffer.y": "y"}


class HostTester:
    """The interface between a client and an accelerator that shows what it is told to.

    Attributes
    ----------
    shown : dict
        What the accelerator shows.
    sent : list
        What left for it: kind and fields.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench, self.pins = bench, Pins(bench)
        self.model = HostModel(machine_named(bench.parameters["machine"]))
        self.shown = dict.fromkeys(("idle", "loaded", "cycles", "fault", "cause", "slot", "index",
                                    "number"), 0)
        self.sent: list[tuple[str, dict[str, int]]] = []
        self.ready = 1.0  # how often a mapping is taken
        logging.getLogger(f"cocotb.{bench.name}").setLevel(logging.WARNING)
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(self.pins, "s_axil"), bench.dut.clk)
        self._task = cocotb.start_soon(self._run())

    async def _run(self) -> None:
        o, rng = self.bench.outputs, self.bench.rng
        while True:
            ready = rng.random() < self.ready
            shown = self.shown
            seen, _ = await self.pins.step(**{
                "mapping.ready": ready, "idle": shown["idle"], "loaded": shown["loaded"],
                "cycles": shown["cycles"], "fault.valid": shown["fault"],
                **{f"fault.payload.{name}": shown[name]
                   for name in ("cause", "slot", "index", "number")}})
            for kind, fields in _FIELDS.items():
                if o[f"{kind}.valid"].of(seen) and (kind != "mapping" or ready):
                    self.sent.append((kind, {_NAMES.get(name, name): o[f"{kind}.payload.{name}"]
                                             .of(seen) for name in fields}))

    async def write(self, address: int, value: int) -> None:
        """A write, and what it sends."""
        expected = self.model.write(address, value, idle=bool(self.shown["idle"]))
        before = len(self.sent)
        await self.master.write_dword(address, value)
        await RisingEdge(self.bench.dut.clk)
        sent = self.sent[before:]
        self.bench.compare(sent, [] if expected is None else [expected],
                           f"what a write of {value:#x} to {address:#x} sends")

    async def read(self, address: int) -> int:
        value = await self.master.read_dword(address)
        right = self.model.read(address, self.shown)
        self.bench.compare(value, right, f"register {address:#x}")
        return value


def _observed(bench: Bench) -> None:
    bench.declare("write")
    bench.declare("read")


@testbench
async def a_kernel(bench: Bench) -> None:
    """Buffers, program, grid, start; a look while it runs, and what is refused then; its end."""
    _observed(bench)
    tester = HostTester(bench)
    tester.shown["idle"] = 1
    for register, value in ((Register.ADDRESS, 0x1234), (Register.SIZE_X, 640),
                            (Register.SIZE_Y, 480), (Register.MAP, 3),
                            (Register.ADDRESS, 0x3000), (Register.SIZE_X, 34),
                            (Register.SIZE_Y, 34), (Register.MAP, 1 << 8 | 2),
                            (Register.PROGRAM, 1 << 20), (Register.INSTRUCTIONS, 2048),
                            (Register.GRID_X, 640), (Register.GRID_Y, 480), (Register.WIDTH, 5),
                            (Register.POLICY, 3), (Register.CONTROL, 1)):
        await tester.write(register, value)
    assert [kind for kind, _ in tester.sent] == ["mapping", "chip", "start"]
    tester.shown |= {"idle": 0, "loaded": 1}
    await tester.read(Register.STATUS)
    await tester.write(Register.CONTROL, 1)
    await tester.write(Register.MAP, 1)
    assert await tester.read(Register.STATUS) & Status.REFUSED
    tester.shown |= {"idle": 1, "cycles": 0x12_3456_789A, "fault": 1, "cause": 5, "slot": 1,
                     "index": 2047, "number": 0x7F_0000_0001}
    await tester.write(Register.STATUS, Status.REFUSED)
    for policy in (5, 7, len(CODES) - 1):
        await tester.write(Register.POLICY, policy)
        await tester.write(Register.CONTROL, 1)
    assert [kind for kind, _ in tester.sent[3:]] == ["start"]
    for register in Register:
        await tester.read(register)


@testbench
async def everything_else(bench: Bench) -> None:
    """Random registers and values, many at their limits; addresses without a register. In the end
    a kernel that can be started: few of the random ones can."""
    _observed(bench)
    tester, rng = HostTester(bench), bench.rng
    limits = (0, 1, 16, 2048, 2049, (1 << 14) - 1, 1 << 14, (1 << 20) - 1, 1 << 20, (1 << 32) - 1)
    for _ in range(1500):
        address = rng.choice([*Register, 0x50, 0xFC])
        tester.shown["idle"] = rng.random() < 0.8
        if rng.random() < 0.6:
            value = rng.choice((*limits, rng.getrandbits(32), rng.randrange(1 << 14) & ~15))
            await tester.write(address, rng.randrange(16) if address == Register.WIDTH else value)
        else:
            tester.shown |= {"cycles": rng.getrandbits(40), "number": rng.getrandbits(40),
                             "fault": rng.getrandbits(1)}
            await tester.read(address)
    tester.shown["idle"] = 1
    for register, value in ((Register.PROGRAM, 1 << 14), (Register.INSTRUCTIONS, 7),
                            (Register.GRID_X, 640), (Register.GRID_Y, 480), (Register.WIDTH, 5),
                            (Register.POLICY, 1), (Register.CONTROL, 1)):
        await tester.write(register, value)
    assert {kind for kind, _ in tester.sent} == {"start", "mapping", "chip"}


@testbench
async def mappings_that_wait(bench: Bench) -> None:
    """The table is not ready at once; the answer comes when it was."""
    tester = HostTester(bench)
    bench.undeclare("write")
    tester.ready, tester.shown["idle"] = 0.1, 1
    for number in range(40):
        await tester.write(Register.ADDRESS, number)
        await tester.write(Register.MAP, number % 32)
    assert len(tester.sent) == 40


def _one_bit(rng, bits: int) -> int:
    """A value of which each bit decides whether it is 0 and how large it is, or any."""
    bit = 1 << rng.randrange(bits)
    return rng.choice((bit, bit, bit - 1, bit | rng.randrange(bit), rng.getrandbits(bits)))


def _writes(rng, machine):
    """Starts and mappings, half of which one register makes illegal; some other writes between."""
    while True:
        wrong = rng.randrange(12)  # which of six registers, if any

        def size(bits, number, wrong=wrong):
            return _one_bit(rng, 32 if wrong == number else bits)

        if rng.random() < 0.6:
            width = rng.choice(machine.widths).bit_length() - 1
            values = {
                Register.GRID_X: size(20, 0), Register.GRID_Y: size(20, 1),
                Register.INSTRUCTIONS: _one_bit(rng, 32) if wrong == 2 else rng.choice((
                    size(11, 2), INSTRUCTIONS, INSTRUCTIONS, INSTRUCTIONS + (wrong == 6))),
                Register.WIDTH: rng.randrange(16) if wrong == 3 else width,
                Register.POLICY: rng.randrange(8) if wrong == 4 else rng.randrange(len(CODES)),
                Register.PROGRAM: _one_bit(rng, 26) << 4 | (_one_bit(rng, 4) if wrong == 5 else 0),
            }
            command = Register.CONTROL, rng.choice((1, 1, 1, _one_bit(rng, 32)))
        else:
            chip = rng.random() < 0.5
            bits = 14 if chip else 20
            values = {Register.SIZE_X: size(bits, 0), Register.SIZE_Y: size(bits, 1),
                      Register.ADDRESS: _one_bit(rng, 30 if wrong == 2 or not chip else 14)}
            command = Register.MAP, rng.randrange(32) | chip << 8
        yield from rng.sample(sorted(values.items()), len(values))
        yield command
        if rng.random() < 0.3:
            yield rng.choice(((Register.STATUS, Status.REFUSED),
                              (Register.STATUS, _one_bit(rng, 32)),
                              (rng.randrange(256), _one_bit(rng, 32))))


@testbench
async def every_clock(bench: Bench) -> None:
    """Handshakes of any kind, every output in every clock: addresses without data and data without
    addresses, answers that wait, bytes that are missing, reads beside writes."""
    rng, machine = bench.rng, machine_named(bench.parameters["machine"])
    model, writes = HostClocks(HostModel(machine)), _writes(rng, machine)
    axi = dict.fromkeys(("awvalid", "awaddr", "wvalid", "wdata", "wstrb", "bready", "arvalid",
                         "araddr", "rready", "awprot", "arprot"), 0)
    shown = dict.fromkeys(("idle", "loaded", "cycles", "fault", "cause", "slot", "index",
                           "number"), 0)
    names = {f"{kind}.{_NAMES.get(name, name)}": f"{kind}.payload.{name}"
             for kind, fields in _FIELDS.items() for name in fields}
    taken = dict.fromkeys(("writes", "reads", "start", "mapping", "chip"), 0)
    next_write, busy = next(writes), 0.5
    for cycle in range(24_000):
        if cycle % 100 == 0:
            busy = rng.choice((0.2, 0.7, 1.0))  # how often each side goes on
        if not axi["awvalid"] and not axi["wvalid"]:
            axi |= {"awaddr": next_write[0], "wdata": next_write[1],
                    "wstrb": rng.choice((15, 15, 15, 15, 15, rng.randrange(16)))}
        for name in ("awvalid", "wvalid"):
            axi[name] = int(axi[name] or rng.random() < busy)
        if not axi["arvalid"] and rng.random() < busy / 2:
            axi |= {"arvalid": 1, "araddr": rng.choice((*Register, rng.randrange(256)))}
        axi |= {"bready": rng.random() < busy, "rready": rng.random() < busy}
        shown |= {"idle": rng.random() < 0.9, "loaded": rng.getrandbits(1),
                  "fault": rng.getrandbits(1), "cause": rng.getrandbits(3),
                  "slot": rng.getrandbits(1), "index": rng.getrandbits(11),
                  "cycles": rng.getrandbits(40), "number": rng.getrandbits(40)}
        ready = rng.random() < busy
        seen = await bench.step(bench.inputs.pack({
            **{f"s_axil_{name}": int(value) for name, value in axi.items()},
            "mapping.ready": int(ready), "fault.valid": shown["fault"],
            **{name: int(shown[name]) for name in ("idle", "loaded", "cycles")},
            **{f"fault.payload.{name}": shown[name]
               for name in ("cause", "slot", "index", "number")}}))
        expected = model.clock(axi, shown, ready=ready)
        bench.check_fields(seen, {
            names.get(name, name if "." in name else f"s_axil_{name}"): value
            for name, value in expected.items()})
        taken["reads"] += expected["arready"]
        taken["writes"] += expected["awready"]
        for kind in ("start", "mapping", "chip"):
            taken[kind] += expected[f"{kind}.valid"] and (kind != "mapping" or ready)
        if expected["awready"]:
            axi |= {"awvalid": 0, "wvalid": 0}
            next_write = next(writes)
        if expected["arready"]:
            axi["arvalid"] = 0
    assert min(taken.values()) > 100, taken


reset_in_mid_run = interrupted(every_clock, last=300, brief=True, then=a_kernel)
