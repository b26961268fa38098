"""DRAM controller for a DDR3 device that a DFI PHY drives, from power-up on.

::

    request, data --> DRAM controller --> DFI adapter --> dfi_... --> PHY (yours) --> DDR3
                      in reset until        power-up --^

Ref: Sim-D, section 3.2; DFI 2.1 and 3.1; JESD79-3F.
"""

import dataclasses
from itertools import pairwise

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.dfi_adapter import DfiAdapter
from cyclebound.hdl.dram.dfi_power_up import DfiPowerUp
from cyclebound.hdl.interfaces import pass_through

__all__ = ["DfiController"]

_STREAMS = "mapping", "request", "indexes"
_INWARD = ("store",)
_OUTWARD = "mapped", "mapping_refusal", "started", "late"
_STROBES = "deliver", "fetch"


class DfiController(wiring.Component):
    """A `DramController` in controller clocks, of which ``ratio`` DRAM clocks make one.

    Its commands are timed by `dfi_part`, its data by the PHY. Nothing is taken before the device
    is ready. A completion is held back until the last words of a read are on the chip; the next
    request does not wait for that, and may fetch its words before.

    Bounds: ``golden.dram.dfi_bounds``.

    Parameters
    ----------
    part : Part or str
        The device, or its name: DDR3.
    ratio : int
        DRAM clocks in a cycle, 2 or 4; the device's data bus has ``64 / ratio`` bits.
    wrlat, wrdata, rddata_en, rdlat : int
        The PHY's timing, see `DfiPhy`.
    capacity : int or None
        As for `DramController`.
    hurry : int
        Divides the two long waits of power-up: for simulation.

    Members
    -------
    mapping, request, indexes, completion, deliver, fetch, store, started, late
        See `DramController`.
    closed : Out(1)
        A request has closed all banks, or is refused: its completion, not held back.
    ready : Out(1)
        The device has been powered up.
    starved : Out(1)
        Set from the first read for which the PHY broke its t_phy_rdlat.
    dfi_init_start, dfi_init_complete : Out(1), In(1)
        The PHY's own initialisation.
    command : Out(CommandLayout)
        The command that is on DFI ``delay`` cycles later.
    dfi_..._pN, dfi_rddata_wN, dfi_rddata_valid_wN
        To the PHY, see `DfiAdapter`.

    Attributes
    ----------
    seen : Part
        The part in controller clocks.
    hold : int
        Cycles by which completions are held back.
    dfi_pins : tuple of str
        Names of the members that go to the PHY.

    Raises
    ------
    TypeError, ValueError
        As `DfiAdapter` and `DramController` do.
    """

    def __init__(self, *, part, ratio, wrlat, wrdata, rddata_en, rdlat, capacity=None, hurry=1):
        self.adapter = adapter = DfiAdapter(part=part, ratio=ratio, wrlat=wrlat, wrdata=wrdata,
                                            rddata_en=rddata_en, rdlat=rdlat)
        self.part, self.seen = adapter.part, adapter.seen
        seen = self.seen
        bus = dataclasses.replace(seen, nCWD=adapter.write_latency, nCAS=adapter.read_latency)
        self.controller = DramController(part=seen, capacity=capacity, bus=bus)
        self.power_up = DfiPowerUp(part=self.part, seen=seen, ratio=ratio, hurry=hurry)
        self.hold = max(0, adapter.read_latency + seen.nBURST + 1 - (seen.nRTP + seen.nRP))
        inner = self.controller.signature.members
        super().__init__({
            **{name: inner[name] for name in (*_STREAMS, *_INWARD, *_OUTWARD, *_STROBES,
                                              "completion", "command")},
            "closed": Out(1), "ready": Out(1), "starved": Out(1), "dfi_init_start": Out(1),
            "dfi_init_complete": In(1),
            **{name: adapter.signature.members[name] for name in adapter.dfi_pins},
        })
        self.dfi_pins = ("dfi_init_start", "dfi_init_complete", *adapter.dfi_pins)

    def elaborate(self, platform):
        m = Module()
        controller, adapter, power_up = self.controller, self.adapter, self.power_up
        ready = power_up.ready
        waits = Signal(init=1)  # a reset of its own has a register of its own
        m.d.sync += waits.eq(~ready)
        m.submodules.controller = ResetInserter(waits)(controller)
        m.submodules.adapter, m.submodules.power_up = adapter, power_up

        for name in _STREAMS:
            ours, theirs = getattr(self, name), getattr(controller, name)
            m.d.comb += [theirs.payload.eq(ours.payload), theirs.valid.eq(ours.valid & ~waits),
                         ours.ready.eq(theirs.ready & ~waits)]
        for name in _INWARD:
            m.d.comb += getattr(controller, name).eq(getattr(self, name))
        for name in _OUTWARD:
            m.d.comb += getattr(self, name).eq(getattr(controller, name))
        for name in _STROBES:
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(controller, name))

        held = [controller.completion.valid, *(Signal(name=f"completion_{n}")
                                               for n in range(self.hold))]
        verdicts = [controller.completion.payload,
                    *(Signal(3, name=f"verdict_{n}", reset_less=True) for n in range(self.hold))]
        for line in (held, verdicts):
            for earlier, later in pairwise(line):
                m.d.sync += later.eq(earlier)
        m.d.comb += [self.closed.eq(held[0]), self.completion.valid.eq(held[-1]),
                     self.completion.payload.eq(verdicts[-1])]

        m.d.comb += [
            adapter.command.eq(controller.command), self.command.eq(controller.command),
            controller.dq_in.eq(adapter.dq_in),
            adapter.cke.eq(power_up.cke), adapter.reset_n.eq(power_up.reset_n),
            self.ready.eq(~waits), self.starved.eq(adapter.starved),
            self.dfi_init_start.eq(power_up.dfi_init_start),
            power_up.dfi_init_complete.eq(self.dfi_init_complete),
        ]
        wiring.connect(m, controller.dq_out, adapter.dq_out)
        wiring.connect(m, power_up.mode, adapter.mode)
        pass_through(m, self, adapter, *adapter.dfi_pins)
        return m
