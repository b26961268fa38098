"""AXI4 in, DFI out: the AXI port before the DRAM controller of a DDR3 device with a DFI PHY.

::

    AXI4 --> AXI port --> DFI controller --> dfi_... --> PHY (yours) --> DDR3

Ref: AMBA AXI Protocol Specification (IHI 0022); DFI 2.1 and 3.1; JESD79-3F.
"""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cyclebound.golden.dram.request import ADDRESS_BITS, BURST_WORDS
from cyclebound.hdl.dram.axi_port import AxiPort, axi_signature
from cyclebound.hdl.dram.dfi_controller import DfiController

__all__ = ["AxiDfiController"]

_OUTWARD = "command", "late", "ready", "starved", "dfi_init_start"


class AxiDfiController(wiring.Component):
    """`AxiPort` and `DfiController`. No burst is taken before the device is powered up.

    Bounds: ``golden.dram.axi_dfi_bounds``.

    Parameters
    ----------
    part, ratio, wrlat, wrdata, rddata_en, rdlat, hurry
        Of the device and its PHY, see `DfiController`.
    capacity : int or None
        Words in the device, if fewer than the part has, or can be addressed; see `AxiPort`.
    id_width : int
        Bits of the transaction identifiers.

    Members
    -------
    s_axi_aw*, s_axi_w*, s_axi_b*, s_axi_ar*, s_axi_r*
        AXI4 by Arm's names: see `axi_signature`.
    command, late, ready, starved, dfi_init_start, dfi_init_complete, dfi_..._pN, dfi_rddata_wN
        See `DfiController`.

    Attributes
    ----------
    seen : Part
        The part in controller clocks.
    """

    def __init__(self, *, part, ratio, wrlat, wrdata, rddata_en, rdlat, capacity=None, id_width=4,
                 hurry=1):
        phy = {"ratio": ratio, "wrlat": wrlat, "wrdata": wrdata, "rddata_en": rddata_en,
               "rdlat": rdlat, "hurry": hurry}
        self.controller = controller = DfiController(part=part, capacity=capacity, **phy)
        self.part, self.seen = controller.part, controller.seen
        if capacity is None:
            capacity = min(self.seen.bursts * BURST_WORDS, 1 << ADDRESS_BITS)
        self.port = AxiPort(words=capacity, id_width=id_width)
        self._axi = axi_signature(id_width=id_width)
        outside = {*_OUTWARD, *controller.dfi_pins}
        super().__init__({
            **self._axi.subordinate_ports("s_axi"),
            **{name: member for name, member in controller.signature.members.items()
               if name in outside}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.port, m.submodules.controller = port, controller = self.port, self.controller
        for name in ("mapping", "request", "completion", "deliver", "fetch"):
            wiring.connect(m, getattr(port, name), getattr(controller, name))
        m.d.comb += [controller.store.eq(port.store), port.mapped.eq(controller.mapped)]
        wiring.connect(m, self._axi.of(port, "s_axi"), wiring.flipped(self._axi.of(self, "s_axi")))
        for name, member in controller.signature.members.items():
            if name in self.signature.members:
                ours, theirs = getattr(self, name), getattr(controller, name)
                m.d.comb += ours.eq(theirs) if member.flow is Out else theirs.eq(ours)
        return m
