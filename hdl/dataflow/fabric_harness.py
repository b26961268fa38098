"""A fabric with its cache's banks, and all that a kernel's run needs, in hardware: no testbench has
to look at each cycle.

It has no model of its own: `golden.dataflow.run` says what it must find, cycle for cycle.
"""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.dataflow.bitstream import WORD
from cyclebound.golden.harness.lfsr_spec import COIN_STEPS, COIN_WIDTH, lane_seed
from cyclebound.hdl.dataflow.cache_banks import CacheBanks
from cyclebound.hdl.dataflow.fabric import Fabric
from cyclebound.hdl.harness.lfsr import Lfsr

__all__ = ["FabricHarness"]


class FabricHarness(wiring.Component):
    """A kernel at full speed: memory filled and read through a port, cycles and faults counted.

    The memory's misses are drawn by a shift register for each bank, which begins anew with each
    ``start``, and moves on with each access, as in `golden.dataflow.cache_banks`.

    Parameters
    ----------
    rows, depth, tid_width, address_width
        Of the fabric.
    banks, hit, miss : int
        Of its memory (`CacheBanks`), which has ``2**address_width`` words.

    Members
    -------
    configuration : In(stream of 32)
        Of the fabric.
    start : In(1)
        Of the fabric; counts and reports begin anew.
    miss_rate : In(9)
        How many of 256 accesses miss. May change while no kernel runs.
    host : In(signature)
        ``address``, ``write``, ``data``: an access while no kernel runs; ``valid`` makes it, and
        ``word`` is what was read, ``hit`` cycles later.
    done : Out(1)
        Of the fabric.
    cycles : Out(32)
        From ``start`` to ``done``, both included.
    faults : Out(signature).array(load/store units)
        ``count`` of its accesses outside of their buffer; ``first``: thread and index of the first.
    """

    def __init__(self, *, rows, depth, tid_width, address_width, banks=32, hit=4, miss=40):
        self.fabric = Fabric(rows=rows, depth=depth, tid_width=tid_width,
                             address_width=address_width)
        units = len(self.fabric.memory)
        self.cache = CacheBanks(ports=units + 1, banks=banks, words=2**address_width,
                                tag_width=exact_log2(depth), hit=hit, miss=miss)
        self.token = self.fabric.memory[0].fault.payload.shape()
        super().__init__({
            "configuration": In(stream.Signature(unsigned(WORD))),
            "start": In(1),
            "miss_rate": In(COIN_STEPS + 1),
            "host": In(wiring.Signature({
                "valid": Out(1), "address": Out(address_width), "write": Out(1), "data": Out(WORD),
                "word": In(WORD)})),
            "done": Out(1),
            "cycles": Out(32),
            "faults": Out(wiring.Signature({
                "count": Out(16), "first": Out(self.token)})).array(units),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.fabric, m.submodules.cache = fabric, cache = self.fabric, self.cache
        wiring.connect(m, wiring.flipped(self.configuration), fabric.configuration)
        m.d.comb += [fabric.start.eq(self.start), self.done.eq(fabric.done)]

        *ports, host = cache.ports
        for memory, port in zip(fabric.memory, ports, strict=True):
            wiring.connect(m, memory.request, port.request)
            wiring.connect(m, port.response, memory.response)
        m.d.comb += [host.request.valid.eq(self.host.valid),
                     host.request.payload.address.eq(self.host.address),
                     host.request.payload.write.eq(self.host.write),
                     host.request.payload.data.eq(self.host.data)]
        with m.If(host.response.valid):
            m.d.sync += self.host.word.eq(host.response.payload.data)

        rate, running = Signal(COIN_STEPS + 1), Signal()
        m.d.sync += rate.eq(self.miss_rate)
        for bank in range(cache.banks):
            coin = Lfsr(width=COIN_WIDTH, steps=COIN_STEPS, init=lane_seed(bank) % 2**COIN_WIDTH)
            m.submodules[f"coin_{bank}"] = coin
            m.d.comb += [coin.load.eq(self.start), coin.enable.eq(cache.taken[bank] & running),
                         cache.misses[bank].eq(running & (coin.value[:COIN_STEPS] < rate))]

        with m.If(self.start):
            m.d.sync += [running.eq(1), self.cycles.eq(2)]
        with m.Elif(running):
            m.d.sync += [running.eq(~self.done), self.cycles.eq(self.cycles + ~self.done)]
        for memory, report in zip(fabric.memory, self.faults, strict=True):
            with m.If(self.start):
                m.d.sync += report.count.eq(0)
            with m.Elif(memory.fault.valid):
                m.d.sync += report.count.eq(report.count + 1)
                with m.If(report.count == 0):
                    m.d.sync += report.first.eq(memory.fault.payload)
        return m
