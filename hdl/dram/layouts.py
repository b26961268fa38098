"""Payloads of the streams between the stages of the DRAM path, and the interface to its clients.

Ref: golden/dram/request.py, which says what each field means.
"""

from types import SimpleNamespace

from amaranth.hdl import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BEAT_WORDS,
    BUFFERS,
    BURST_BITS,
    BURST_WORDS,
    COUNT_BITS,
    TARGET_BITS,
    WORD_BITS,
)
from cyclebound.hdl.interfaces import Strobe

__all__ = ["Beat", "BufferRequest", "BurstLayout", "Descriptor", "DramClient", "DriveLayout",
           "FetchLayout", "IndexLayout", "Mapping", "StoreLayout", "TileLayout", "map_at_bursts"]


class Mapping(data.Struct):
    """A buffer of ``y`` lines of ``x`` words from word ``address`` on; none, if not ``valid``."""

    buffer: ceil_log2(BUFFERS)
    valid: 1
    address: ADDRESS_BITS
    x: COUNT_BITS
    y: COUNT_BITS


class BufferRequest(data.Struct):
    """``count`` lines of ``words`` words from column ``x`` and line ``y`` of a mapped buffer.

    The other fields are those of a `TileRequest`. ``indexed``: words of the buffer wherever the
    index stream says.
    """

    buffer: ceil_log2(BUFFERS)
    x: COUNT_BITS
    y: COUNT_BITS
    words: COUNT_BITS
    count: COUNT_BITS
    indexed: 1
    write: 1
    destination: 2
    base: TARGET_BITS
    pitch: TARGET_BITS
    transform: 2


class TileLayout(data.Struct):
    """A `TileRequest`; ``indexed``: its words come from the index stream instead."""

    address: ADDRESS_BITS
    words: COUNT_BITS
    period: COUNT_BITS
    count: COUNT_BITS
    write: 1
    destination: 2
    base: TARGET_BITS
    pitch: TARGET_BITS
    transform: 2
    indexed: 1


class IndexLayout(data.Struct):
    """One word of an indexed request: offset in words, and where it goes.

    ``end`` marks the element after the last; its index does not count.
    """

    index: COUNT_BITS
    target: TARGET_BITS
    end: 1


class BurstLayout(data.Struct):
    """A `Burst`: a request from the front end to the command generator."""

    address: BURST_BITS
    mask: BURST_WORDS
    targets: data.ArrayLayout(unsigned(TARGET_BITS), BURST_WORDS)
    write: 1
    destination: 2
    transform: 2
    indexed: 1
    last: 1


class Beat(data.Struct):
    """Four words on their way between the DRAM bus and the chip, with their targets."""

    enable: BEAT_WORDS
    targets: data.ArrayLayout(unsigned(TARGET_BITS), BEAT_WORDS)
    words: data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)
    destination: 2
    transform: 2


class Descriptor(data.Struct):
    """The fields of a `Burst` that the DQ scheduler stores: all but address and direction."""

    mask: BURST_WORDS
    targets: data.ArrayLayout(unsigned(TARGET_BITS), BURST_WORDS)
    destination: 2
    transform: 2


class FetchLayout(data.Struct):
    """A `Beat` without words: those are asked for."""

    enable: BEAT_WORDS
    targets: data.ArrayLayout(unsigned(TARGET_BITS), BEAT_WORDS)
    destination: 2
    transform: 2


class StoreLayout(data.Struct):
    """The answer to a fetch; ``enable``: the words that any lane has."""

    words: data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)
    enable: BEAT_WORDS


class DriveLayout(data.Struct):
    """Four words on the pins; ``mask`` has a bit for each word that DRAM writes."""

    words: data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)
    mask: BEAT_WORDS


class DramClient(wiring.Signature):
    """A DRAM controller as its client has it; the controller has it flipped.

    A client has any number of requests, one after the other, and each is over with its completion.
    After a request was taken, no other one is before the first has started or is refused.

    Parameters
    ----------
    buffers : int
        That it may name: a power of two.

    Members
    -------
    mapping : Out(stream of Mapping)
        Maps a buffer; ``mapped`` and ``mapping_refusal`` answer, see `BufferTable`.
    request : Out(stream of BufferRequest)
        What to read or write. Its ``ready`` depends on no ``valid`` of the client.
    indexes : Out(stream of IndexLayout)
        For indexed requests: the words, and an end after each request's last.
    completion : In(Strobe(Refusal))
        A request is over: its data have moved, and the next one's first command may follow.
        0, or why it was refused. In the order of the requests, refused ones among them.
    deliver : In(Strobe(Beat))
        Words read, after the completion of the request before and not after the request's own.
    fetch : In(Strobe(FetchLayout))
        Words wanted for a write, as early and as late; ``store`` holds them two cycles later.
    store : Out(StoreLayout)
        See ``fetch``.
    started : In(1)
        The request that was taken last is taken into the front end in this cycle.
    """

    def __init__(self, *, buffers=BUFFERS):
        self.buffers = buffers
        mapping, request = (data.StructLayout({
            name: ceil_log2(buffers) if name == "buffer" else field.shape
            for name, field in data.Layout.cast(struct)}) for struct in (Mapping, BufferRequest))
        super().__init__({
            "mapping": Out(stream.Signature(mapping)), "mapped": In(1), "mapping_refusal": In(3),
            "request": Out(stream.Signature(request)),
            "indexes": Out(stream.Signature(data.Layout.cast(IndexLayout))),
            "completion": In(Strobe(unsigned(3))),
            "deliver": In(Strobe(Beat)),
            "fetch": In(Strobe(FetchLayout)),
            "store": Out(data.Layout.cast(StoreLayout)),
            "started": In(1),
        })

    def __eq__(self, other):
        return isinstance(other, DramClient) and self.buffers == other.buffers

    def of(self, controller):
        """The interface that a controller's members are."""
        interface = SimpleNamespace(signature=self.flip())
        for name in self.members:
            setattr(interface, name, getattr(controller, name))
        return interface


def map_at_bursts(m, component):
    """Buffers of ``component.dram`` are mapped by its own ``mapping``, ``mapped`` and
    ``mapping_refusal``. One that does not begin at a burst is given up."""
    outer, inner = component.mapping, component.dram.mapping
    wiring.connect(m, wiring.flipped(outer), wiring.flipped(inner))
    with m.If(outer.payload.address[:ceil_log2(BURST_WORDS)].any()):
        m.d.comb += inner.payload.valid.eq(0)
    m.d.comb += [component.mapped.eq(component.dram.mapped),
                 component.mapping_refusal.eq(component.dram.mapping_refusal)]
