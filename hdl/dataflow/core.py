"""SGMF core: a fabric above its first-level cache.

Ref: SGMF, sections 5 and 5.2 (load/store units are connected to the banks of a private cache).
"""

from functools import cached_property

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from amaranth.utils import exact_log2

from cyclebound.golden.dataflow.bitstream import WORD
from cyclebound.hdl.dataflow.cache import Cache
from cyclebound.hdl.dataflow.fabric import Fabric

__all__ = ["Core"]


class Core(wiring.Component):
    """Runs a configuration's threads, then flushes the cache; the memory below has what they store.

    Nothing is kept from one configuration to the next, neither in the fabric nor in the cache.

    Parameters
    ----------
    rows, depth, tid_width, address_width
        Of the fabric.
    size, line, banks, ways, misses, targets, policy, replacement
        Of the cache (`Cache`), which has a port for each load/store unit.

    Members
    -------
    configuration : In(stream of 32)
        Of the fabric.
    start : In(1)
        Of the fabric.
    done : Out(1)
        All threads have ended, and the memory below has all that they have stored, since the last
        configuration was loaded and started.
    faults : Out(signature).array(load/store units)
        Accesses outside of their arrays, as the fabric reports them.
    lines : Out(signature)
        To the memory below, of the cache.
    """

    def __init__(self, *, rows, depth, tid_width, address_width, size=16384, line=32, banks=32,
                 ways=4, misses=4, targets=4, policy="write-back", replacement="lru"):
        self._fabric = {"rows": rows, "depth": depth, "tid_width": tid_width,
                        "address_width": address_width}
        self._cache = {"size": size, "line": line, "banks": banks, "ways": ways, "misses": misses,
                       "targets": targets, "policy": policy, "replacement": replacement}
        fabric, cache = self.fabric.signature.members, self.cache.signature.members
        super().__init__({
            **{name: fabric[name] for name in ("configuration", "start", "done")},
            "faults": Out(self.fabric.memory[0].fault.signature).array(len(self.fabric.memory)),
            "lines": cache["lines"],
        })

    @cached_property
    def fabric(self):
        return Fabric(**self._fabric)

    @cached_property
    def cache(self):
        return Cache(ports=len(self.fabric.memory), tag_width=exact_log2(self.fabric.depth),
                     address_width=self.fabric.address_width, width=WORD, **self._cache)

    def elaborate(self, platform):
        m = Module()
        m.submodules.fabric, m.submodules.cache = fabric, cache = self.fabric, self.cache
        wiring.connect(m, wiring.flipped(self.configuration), fabric.configuration)
        wiring.connect(m, cache.lines, wiring.flipped(self.lines))
        m.d.comb += [fabric.start.eq(self.start), cache.flush.eq(fabric.done),
                     self.done.eq(cache.flushed)]
        for memory, port, fault in zip(fabric.memory, cache.ports, self.faults, strict=True):
            wiring.connect(m, memory.request, port.request)
            wiring.connect(m, port.response, memory.response)
            wiring.connect(m, memory.fault, wiring.flipped(fault))
        return m
