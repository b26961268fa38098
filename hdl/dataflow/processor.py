"""SGMF processor: cores, each with a range of the threads, above a second level that they share.

Ref: SGMF, sections 4.6, 5 and 7.2, Table 1.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.bitstream import WORD
from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape, check_channels
from cyclebound.hdl.dataflow.banked_cache import LinePort
from cyclebound.hdl.dataflow.core import Core
from cyclebound.hdl.dataflow.dispatcher import Dispatcher
from cyclebound.hdl.dataflow.l2 import L2
from cyclebound.hdl.parameters import check_integer

__all__ = ["Processor"]


class Processor(wiring.Component):
    """Runs the threads of a configuration on all cores, then flushes all caches.

    All cores are configured and started together. When all of them are done, and their caches
    flushed, so is the second level: the memories below have what the threads have stored.

    Parameters
    ----------
    cores : int
        At least 1.
    rows, depth, tid_width, address_width
        Of each core's fabric; tid_width is 23 at most.
    size, line, banks, ways, misses, targets, policy, replacement
        Of each core's cache.
    l2_size, l2_banks, l2_ways, l2_misses, l2_targets, channels
        Of the second level (`L2`), whose lines are those of the cores' caches.

    Members
    -------
    configuration : In(stream of 32)
        Of all cores: one whole configuration between two starts, always taken.
    threads : In(32)
        To run, with the numbers from 0 on; does not change while the cores are configured.
    share : In(tid_width + 1)
        Threads of each core; the last cores have fewer, or none.
    start : In(1)
        All cores begin in the next cycle. Not while threads are under way.
    done : Out(1)
        All threads have ended, and the memories below have all that they have stored, since the
        last configuration was loaded and started.
    faults : Out(signature).array(cores, load/store units)
        Accesses outside of their arrays; each thread by its number within its core.
    lines : Out(LinePort).array(channels)
        To the memories below.
    """

    def __init__(self, *, cores, rows, depth, tid_width, address_width, size=16384, line=32,
                 banks=32, ways=4, misses=4, targets=4, policy="write-back", replacement="lru",
                 l2_size=196608, l2_banks=6, l2_ways=16, l2_misses=4, l2_targets=4, channels=6):
        check_integer("core count", cores, least=1)
        check_integer("tid width", tid_width, least=1, most=23)
        self._core = {"rows": rows, "depth": depth, "tid_width": tid_width,
                      "address_width": address_width, "size": size, "line": line, "banks": banks,
                      "ways": ways, "misses": misses, "targets": targets, "policy": policy,
                      "replacement": replacement}
        self._l2 = {"size": l2_size, "line": line, "banks": l2_banks, "ways": l2_ways,
                    "misses": l2_misses, "targets": l2_targets, "replacement": replacement,
                    "address_width": address_width}
        shared = CacheShape(policy=WRITE_BACK, **self._l2)
        check_channels(shared, channels)
        self._count, self._channels, self._tid_width = cores, channels, tid_width
        core = self.cores[0].signature.members
        dispatcher = self.dispatcher.signature.members
        super().__init__({
            **{name: dispatcher[name] for name in ("configuration", "threads", "share")},
            "start": In(1), "done": Out(1),
            "faults": Out(core["faults"].signature).array(cores, *core["faults"].dimensions),
            "lines": Out(LinePort(id_width=shared.id_width, line_width=shared.line_width, line=line,
                                  width=WORD)).array(channels),
        })

    @cached_property
    def cores(self):
        return [Core(**self._core) for _ in range(self._count)]

    @cached_property
    def dispatcher(self):
        return Dispatcher(cores=self._count, grid=self.cores[0].fabric.grid,
                          tid_width=self._tid_width)

    @cached_property
    def l2(self):
        return L2(ports=self._count, channels=self._channels, width=WORD,
                  id_width=len(self.cores[0].lines.request.payload.id), **self._l2)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dispatcher, m.submodules.l2 = dispatcher, l2 = self.dispatcher, self.l2
        wiring.connect(m, wiring.flipped(self.configuration), dispatcher.configuration)
        m.d.comb += [dispatcher.threads.eq(self.threads), dispatcher.share.eq(self.share),
                     dispatcher.start.eq(self.start)]
        for number, (core, words, port, faults) in enumerate(zip(
                self.cores, dispatcher.cores, l2.ports, self.faults, strict=True)):
            m.submodules[f"core_{number}"] = core
            wiring.connect(m, words, core.configuration)
            wiring.connect(m, core.lines, port)
            m.d.comb += core.start.eq(self.start)
            for fault, its in zip(core.faults, faults, strict=True):
                wiring.connect(m, fault, wiring.flipped(its))
        for own, its in zip(self.lines, l2.lines, strict=True):
            wiring.connect(m, its, wiring.flipped(own))
        m.d.comb += [l2.flush.eq(Cat(core.done for core in self.cores).all()),
                     self.done.eq(l2.flushed)]
        return m
