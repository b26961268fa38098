"""A second-level cache that cores share: a crossbar of lines, banks with tags, channels below.

Ref: SGMF, section 5 (a banked second level is shared among all cores), Table 1.
"""

from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape, check_channels
from cyclebound.hdl.dataflow.banked_cache import BankedCache, LinePort
from cyclebound.hdl.parameters import check_integer

__all__ = ["L2"]


class L2(BankedCache):
    """A line in each cycle from each bank; the banks are those of `Cache`, write-back.

    A request goes to bank ``line`` mod ``banks``; a bank takes one in a cycle, round robin, and
    makes or keeps it as those of `Cache` do: of a line that is there at once, else in a miss
    register. A read is answered with its ``id``, in any order; a write takes effect with no answer.
    Requests of one line, of one port or several, take effect in the order in which they are taken.

    Latency: a read whose line is there is answered two cycles after it is taken. Throughput: one
    request in a cycle for each bank and each port.

    Parameters
    ----------
    ports : int
        Cores, at least 1. Each has at most one read with an ``id`` under way.
    size, line : int
        Words of the cache and of a line. Default: 768 KiB, 128 bytes.
    banks, ways : int
        Banks, and lines of a set. A line, the ways and a bank's share are powers of two.
    channels : int
        Memories below, ``banks`` at most; bank mod ``channels`` is a bank's.
    misses, targets : int
        Miss registers of a bank, as many as it has lines at most; requests that each has room for.
    address_width, width : int
        Bits of a word's address, and of a word.
    id_width : int
        Bits of a port's ``id``.
    replacement : str
        "lru", or "fifo".

    Members
    -------
    ports : In(LinePort).array(ports)
        From the cores' caches.
    lines : Out(LinePort).array(channels)
        To the memories below.
    flush : In(1)
        Write dirty lines back, and give all lines up. Set until ``flushed``; nothing new is taken.
    flushed : Out(1)
        No line is in the cache, and nothing is under way; only while ``flush`` is set.
    """

    def __init__(self, *, ports, address_width, id_width, size=196608, line=32, banks=6, ways=16,
                 channels=6, misses=4, targets=4, width=32, replacement="lru"):
        check_integer("port count", ports, least=1)
        check_integer("id width", id_width, least=1)
        check_integer("width", width, least=1)
        shape = CacheShape(size=size, line=line, banks=banks, ways=ways, misses=misses,
                           targets=targets, address_width=address_width, policy=WRITE_BACK,
                           replacement=replacement)
        check_channels(shape, channels)
        sizes = {"line_width": shape.line_width, "line": line, "width": width}
        super().__init__({
            "ports": In(LinePort(id_width=id_width, **sizes)).array(ports),
            "lines": Out(LinePort(id_width=shape.id_width, **sizes)).array(channels),
        }, shape=shape, count=ports, tag_width=id_width, width=width, whole=True)

    @property
    def line_ports(self):
        return list(self.lines)

    def access_of(self, request):
        return request.line, {"tag": request.id, "write": request.write, "mask": request.mask,
                              "data": request.data.as_value()}
