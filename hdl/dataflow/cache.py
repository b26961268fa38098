"""A first-level cache: banks with tags and a crossbar in front, above a port of whole lines.

Ref: SGMF, sections 2.1, 5, 5.2 and 6, Table 1.
"""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.hdl.dataflow.banked_cache import BankedCache, LinePort
from cyclebound.hdl.dataflow.layouts import MemoryRequestLayout, MemoryResponseLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_integer

__all__ = ["Cache"]


class Cache(BankedCache):
    """A word in each cycle from each bank; misses wait in registers, and others overtake them.

    A request goes to bank (address / ``line``) mod ``banks``; a bank takes one in a cycle, round
    robin. If its line is there, it is made at once. Else it takes one of the bank's miss registers
    and a way of its set, and asks for the line; later accesses of that line wait in the same
    register. What finds no room waits at its port, and the bank waits with it. When the line has
    come, all that waited for it are made, in order, before the bank takes anything new; of a port,
    one in a cycle, and before its request on offer. Banks ask for lines round robin, and write
    dirty ones after the line that displaces them has been asked for.

    Latency: an access whose line is there is answered two cycles after it is taken. Throughput: one
    access in a cycle for each bank and each port.

    Parameters
    ----------
    ports : int
        Requesters, at least 1. Each has at most one request with a tag under way.
    size, line : int
        Words of the cache and of a line. Default: 64 KiB, 128 bytes.
    banks, ways : int
        Banks, and lines of a set. A line, the ways and a bank's share are powers of two.
    misses, targets : int
        Miss registers of a bank, as many as it has lines at most; accesses that each has room for.
    address_width : int
        Bits of a word's address.
    tag_width, width : int
        Bits of a tag and of a word.
    policy : str
        "write-back" with write-allocate; or "write-through" with no-allocate.
    replacement : str
        "lru", or "fifo".

    Members
    -------
    ports : In(signature).array(ports)
        ``request`` and ``response`` of each.
    lines : Out(LinePort)
        To the memory below.
    flush : In(1)
        Write dirty lines back, and give all lines up. Set until ``flushed``; nothing new is taken.
    flushed : Out(1)
        No line is in the cache, and nothing is under way; only while ``flush`` is set.
    """

    def __init__(self, *, ports, address_width, tag_width, size=16384, line=32, banks=32, ways=4,
                 misses=4, targets=4, width=32, policy="write-back", replacement="lru"):
        check_integer("port count", ports, least=1)
        check_integer("tag width", tag_width, least=1)
        check_integer("width", width, least=1)
        shape = CacheShape(size=size, line=line, banks=banks, ways=ways, misses=misses,
                           targets=targets, address_width=address_width, policy=policy,
                           replacement=replacement)
        self._offset = exact_log2(line)
        super().__init__({
            "ports": In(wiring.Signature({
                "request": Out(stream.Signature(MemoryRequestLayout(
                    tag_width=tag_width, address_width=address_width, width=width))),
                "response": In(Strobe(MemoryResponseLayout(tag_width=tag_width, width=width))),
            })).array(ports),
            "lines": Out(LinePort(id_width=shape.id_width, line_width=shape.line_width, line=line,
                                  width=width)),
        }, shape=shape, count=ports, tag_width=tag_width, width=width, whole=False)

    @property
    def line_ports(self):
        return [self.lines]

    def access_of(self, request):
        return request.address[self._offset:], {
            "tag": request.tag, "write": request.write, "place": request.address[:self._offset],
            "data": request.data}
