"""What probes of the DRAM controller cannot read at its ports alone.

Ref: Sim-D, section 3.2.4.
"""

from amaranth.hdl import Array, Module, Signal

from cyclebound.golden.dram.request import ADDRESS_BITS, BUFFERS, BURST_WORDS, COUNT_BITS
from cyclebound.tb.watcher import Watcher

__all__ = ["ControllerObserver"]


class ControllerObserver(Watcher):
    """Where requests begin in the device, by the mappings that it has accepted.

    Parameters
    ----------
    target : DramController
        The controller.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    burst : Signal
        The burst with the first word of the request on offer, if its buffer is mapped.
    """

    def __init__(self, target):
        super().__init__(target)
        self.burst = Signal(ADDRESS_BITS)

    def elaborate(self, platform):
        m = Module()
        address, width = (Array(Signal(bits, name=f"{name}_{buffer}") for buffer in range(BUFFERS))
                          for name, bits in (("address", ADDRESS_BITS), ("width", COUNT_BITS)))
        wanted, request = Signal(self.mapping.payload.shape()), self.request.payload
        with m.If(self.mapping.valid & self.mapping.ready):
            m.d.sync += wanted.eq(self.mapping.payload)
        with m.If(self.mapped & (self.mapping_refusal == 0)):
            m.d.sync += [address[wanted.buffer].eq(wanted.address),
                         width[wanted.buffer].eq(wanted.x)]
        word = address[request.buffer] + request.y * width[request.buffer] + request.x
        m.d.comb += self.burst.eq(word >> (BURST_WORDS - 1).bit_length())
        return m
