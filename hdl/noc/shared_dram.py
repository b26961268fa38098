"""DDR3 that several masters share: front end, reorder core, page controller, and rivals.

Part of the end-to-end systems, whose models, testbenches and tests cover it.

Ref: memory-composition, section IV.C.3 and Figure 5.
"""

from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.multi_port_front_end import MultiPortFrontEnd
from cyclebound.hdl.dram.page_controller import BusLayout, DeliverLayout, PageController
from cyclebound.hdl.dram.reorder_core import ReorderCore, RequestLayout
from cyclebound.hdl.parameters import check_integer, check_power_of_two

__all__ = ["SharedDram", "tag_bits"]

_PRIORITY = 4  # of all requests: equals, as in section IV.C.3
_ENTRIES = 8   # of the reorder core
_BEATS = 4     # of a burst


def tag_bits(*, masters, rivals, slot_bits):
    """Width of a tag on the bus: a master's own, and the number of its port."""
    return slot_bits + max(1, (masters + rivals - 1).bit_length())


class SharedDram(wiring.Component):
    """Equal masters by turns, then the reorder core's rules, then one request after the other.

    Parameters
    ----------
    masters : int
        Masters with a port each, at least 1.
    rivals : int
        Other masters, 0 to 7, that are inside: each asks, while its bit of ``compete`` is set, in
        every cycle, and each request writes another row of bank 0 than those that wait or are
        open; or as ``own_banks`` and ``reads`` say. The part needs at least 2^a 2^b rows: 2^a is
        the least power of two above ``cap`` + 9, 2^b the least above ``rivals``.
    slot_bits : int
        Width of a master's tags.
    cap : int
        Age cap of the reorder core.
    part : Part or str
        The DRAM, or its name.
    interleaved : int
        1: bursts of a master whose addresses follow each other are in banks that do
        (`golden.noc.many_core_data.interleaved`); 0: in one row.

    Members
    -------
    sinks : In(stream of RequestLayout).array(masters)
        A master's requests; their priority is of no account.
    compete : In(rivals)
        Rivals that ask; 1 bit, of no account, where there are none.
    own_banks : In(1)
        Each rival has a bank of its own, the next ones after those with the masters' numbers, and
        there a row for as long as it asks.
    reads : In(rivals)
        Rivals that read.
    command, bus, fetch, deliver, dq_in
        As of `PageController`; tags have the port's number above the master's tag.

    Attributes
    ----------
    tag_bits : int
        Width of such a tag: `tag_bits`.
    """

    def __init__(self, *, masters, rivals, slot_bits, cap, part, interleaved=0):
        check_integer("masters", masters, 1)
        check_integer("rivals", rivals, 0, 7)
        check_integer("bits of a tag", slot_bits, 1)
        self.masters, self.rivals, self.slot_bits = masters, rivals, slot_bits
        check_integer("interleaved", interleaved, 0, 1)
        self.cap, self.part, self.interleaved = cap, part_named(part), interleaved
        if interleaved:
            for what in ("rows", "banks", "bursts_per_row"):
                check_power_of_two(f"{what} of {self.part.name}, whose addresses are interleaved,",
                                   getattr(self.part, what), 2)
        if rivals and (self._row_bits < 0 or 1 << self._row_bits < self._waiting):
            raise ValueError(
                f"rows of {self.part.name} must be at least {self._waiting << rivals.bit_length()} "
                f"for {rivals} rivals, which write another one each time, not {self.part.rows}")
        self.beat_bits = 8 * REQUEST_BYTES // _BEATS
        self.tag_bits = tag_bits(masters=masters, rivals=rivals, slot_bits=slot_bits)
        self.request = RequestLayout(part=self.part, tag_bits=slot_bits)
        bus = BusLayout(tag_bits=self.tag_bits)
        super().__init__({
            "sinks": In(stream.Signature(self.request)).array(masters),
            "compete": In(max(rivals, 1)), "own_banks": In(1), "reads": In(max(rivals, 1)),
            "command": Out(CommandLayout(part=self.part)), "bus": Out(bus), "fetch": Out(bus),
            "dq_in": In(self.beat_bits),
            "deliver": Out(DeliverLayout(tag_bits=self.tag_bits, beat_bits=self.beat_bits)),
        })

    @property
    def _row_bits(self):
        """Bits of a rival's rows; those above are its number, from 1 on."""
        return self.part.rows.bit_length() - 1 - self.rivals.bit_length()

    @property
    def _waiting(self):
        """Rows of a rival that differ, a power of two. While one of its requests is in the queue,
        at most cap + n - 1 enter: as many as overtake it, and fill places that were free. Two
        more leave while its row is open."""
        return 1 << (self.cap + _ENTRIES + 1).bit_length()

    @cached_property
    def parts(self):
        """The parts by name, made when first used."""
        ports = self.masters + self.rivals
        return {
            "front": MultiPortFrontEnd(priorities=[_PRIORITY] * ports, limits=[0] * ports,
                                       width=self.request.size),
            "reorder": ReorderCore(entries=_ENTRIES, cap=self.cap, part=self.part,
                                   tag_bits=self.tag_bits),
            "pages": PageController(part=self.part, tag_bits=self.tag_bits,
                                    beat_bits=self.beat_bits),
        }

    def elaborate(self, platform):
        m = Module()
        for name, part in self.parts.items():
            m.submodules[name] = part
        front, reorder, pages = self.parts.values()
        for sink, port in zip(self.sinks, front.sinks, strict=False):
            m.d.comb += [port.valid.eq(sink.valid), port.payload.eq(self._placed(sink.payload)),
                         sink.ready.eq(port.ready)]
        self._rivals(m, front)

        request, taken = front.source.payload, Signal(self.request)
        come = reorder.sink.payload
        m.d.comb += [
            taken.eq(request.data),
            reorder.sink.valid.eq(front.source.valid), front.source.ready.eq(reorder.sink.ready),
            come.eq(Cat(request.priority, taken.as_value()[len(request.priority):], request.port)),
        ]
        wiring.connect(m, reorder.source, pages.sink)
        m.d.comb += [
            reorder.closed.eq(pages.closed), pages.dq_in.eq(self.dq_in),
            self.command.eq(pages.command), self.bus.eq(pages.bus), self.fetch.eq(pages.fetch),
            self.deliver.eq(pages.deliver),
        ]
        return m

    def _placed(self, request):
        """The request, at the place that its address has."""
        if not self.interleaved:
            return request
        address, fields, low = Cat(request.column, request.row, request.bank), {}, 0
        for name in ("bank", "column", "row"):  # from the lowest bits on
            fields[name] = address[low:][:len(request[name])]
            low += len(request[name])
        return Cat(fields.get(name, request[name]) for name in self.request.members)

    def _rivals(self, m, front):
        """Requests of the masters that are inside."""
        compete = Signal(len(self.compete))
        m.d.sync += compete.eq(self.compete)
        for rival in range(self.rivals):
            asks = Signal(self.request, name=f"rival_{rival}")
            sink = front.sinks[self.masters + rival]
            count = Signal(self._row_bits, name=f"count_{rival}")
            turn = Signal.like(count, name=f"turn_{rival}")  # how often it has begun to ask
            m.d.sync += turn.eq(turn + (self.compete[rival] & ~compete[rival]))
            with m.If(self.own_banks):
                m.d.comb += [asks.bank.eq(self.masters + rival), asks.row.eq(turn),
                             asks.column.eq(count)]
            with m.Else():
                m.d.comb += asks.row.eq(Cat(count, Const(rival + 1, self.rivals.bit_length())))
            m.d.comb += [
                asks.write.eq(~self.reads[rival]),
                sink.valid.eq(compete[rival]), sink.payload.eq(asks),
            ]
            with m.If(sink.valid & sink.ready):
                m.d.sync += count.eq(count + 1)
