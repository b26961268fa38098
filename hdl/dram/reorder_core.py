"""Reorder core of a shared DRAM: a queue from which requests leave by four rules.

Ref: memory-composition, section IV.C.3; the age cap is this project's.
"""

from functools import cached_property

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.queued_request import PRIORITY_BITS
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.countdown import Countdown
from cyclebound.hdl.parameters import check_integer

__all__ = ["ReorderCore", "RequestLayout"]


class RequestLayout(data.StructLayout):
    """A request for a burst; ``column`` counts bursts, ``tag`` is passed on."""

    def __init__(self, *, part, tag_bits):
        super().__init__({"priority": PRIORITY_BITS, "write": 1,
                          "bank": (part.banks - 1).bit_length(),
                          "row": (part.rows - 1).bit_length(),
                          "column": (part.bursts_per_row - 1).bit_length(), "tag": tag_bits})


class ReorderCore(wiring.Component):
    """A queue whose requests may leave in another order than they came.

    Of those that wait, one leaves by these rules, each among those that the rules before it leave:

    1. the greatest priority;
    2. rows that are open;
    3. banks in which no row was opened within the last t_RC (unless all were: none is kept
       waiting for it, since the controller does that);
    4. the direction of the request that left before;
    5. the oldest.

    With an age cap, the oldest request goes before all that once ``cap`` others have left while it
    waited, older ones included; only then is there a bound on a request's stay.

    Latency: a request that is taken may be picked in the next cycle, leaves the queue in the one
    after that, and is on offer in the next. Throughput: a request in every third cycle. It
    was picked among those that waited in the cycle before; what is on offer is not changed any
    more, even while it waits for the controller.

    Parameters
    ----------
    entries : int
        n: places in the queue, at least 2.
    cap : int
        Requests that may leave before the oldest; 0: no cap, as in the paper's rules.
    part : Part or str
        The DRAM, or its name: its banks, rows, and t_RC.
    tag_bits : int
        Width of a request's tag, at least 1.

    Members
    -------
    sink : In(stream of RequestLayout)
        From the front end.
    source : Out(stream of RequestLayout)
        To the controller, which leaves the row open.
    closed : In(1)
        The controller has closed all banks (for a refresh).

    Attributes
    ----------
    valid : Signal
        Places that are taken, from the first on; the oldest request has the first.
    queue : list of Signal
        The requests, and whether their rows are open.
    ages : list of Signal
        By place: how many have left while it waited, up to ``cap``.
    picked, pick : Signal
        The next to leave, and its place, were chosen in the cycle before.
    fresh : Signal
        The request on offer left the queue in the cycle before.
    """

    def __init__(self, *, entries, cap, part, tag_bits):
        check_integer("entries", entries, 2)
        check_integer("cap", cap, 0)
        check_integer("tag bits", tag_bits, 1)
        self.entries, self.cap, self.part = entries, cap, part_named(part)
        self.request = RequestLayout(part=self.part, tag_bits=tag_bits)
        super().__init__({"sink": In(stream.Signature(self.request)),
                          "source": Out(stream.Signature(self.request)), "closed": In(1)})
        # the state; a proof has to speak of it
        entry = data.StructLayout({"request": self.request, "hit": 1})
        self.valid = Signal(entries)
        self.queue = [Signal(entry, name=f"entry_{place}") for place in range(entries)]
        self.ages = [Signal(range(cap + 1), name=f"age_{place}") for place in range(entries)]
        self.fresh = Signal()
        self.picked, self.pick = Signal(), Signal(entries)

    @cached_property
    def opened(self):  # made late: a core that is only asked for its ports has none
        return [Countdown(cycles=self.part.nRC) for _ in range(self.part.banks)]

    def elaborate(self, platform):
        m = Module()
        opens, begun = Signal(), Signal()  # the last request opens a row; there has been one
        is_open, rows, recent = self._follow_banks(m, opens)
        choose = self._choose(m, opens, begun, recent)
        self._move_up(m, choose, is_open, rows)
        return m

    def _follow_banks(self, m, opens):
        """Banks with an open row, as they are a cycle after a request was chosen; these rows; and
        banks whose row was opened less than nRC ago."""
        banks, out, source, fresh = self.part.banks, self.source.payload, self.source, self.fresh
        is_open = Signal(banks)
        rows = Array(Signal.like(out.row, name=f"row_{bank}") for bank in range(banks))
        recent = Signal(banks)
        keep = Signal(banks)
        m.d.comb += keep.eq(Mux(source.valid, 1 << out.bank, 0))
        with m.If(self.closed):
            m.d.sync += is_open.eq(is_open & keep)
        with m.If(fresh):
            m.d.sync += [is_open.eq(Mux(self.closed, 0, is_open) | keep),
                         rows[out.bank].eq(out.row)]
        for bank, opened in enumerate(self.opened):
            m.submodules[f"opened_{bank}"] = opened
            m.d.comb += [opened.start.eq(fresh & opens & (out.bank == bank)),
                         recent[bank].eq(~opened.ready)]
        return is_open, rows, recent

    def _hits(self, request, before):
        """Whether a request's row will be open in the next cycle, if it is in this one or not."""
        out, source = self.source.payload, self.source
        same = request.bank == out.bank
        return Mux(same & self.fresh, request.row == out.row,
                   before & (~self.closed | (same & source.valid)))

    def _choose(self, m, opens, begun, recent):
        """Choose the request that leaves; returns whether one does in this cycle.

        Comparing takes a cycle, choosing another. In the cycle after a choice, none is compared,
        for the banks are not told until then.
        """
        out, source = self.source.payload, self.source
        valid, fresh = self.valid, self.fresh
        choose, pick = Signal(), self.pick
        m.d.comb += choose.eq(self.picked & (~source.valid | source.ready))
        m.d.sync += self.picked.eq(valid[0] & ~fresh & ~choose)
        keys = [Signal(PRIORITY_BITS + 3, name=f"key_{place}") for place in range(self.entries)]
        for key, entry in zip(keys, self.queue, strict=True):
            request = entry.request
            m.d.comb += key.eq(Cat(begun & (request.write == out.write),
                                   entry.hit | ~recent.bit_select(request.bank, 1), entry.hit,
                                   request.priority))
        before = Signal(self.entries ** 2)  # bit: whether the older one of two goes first
        capped = Signal()
        if self.cap:
            m.d.comb += capped.eq(self.ages[0] == self.cap)
        for place in range(self.entries):
            wins = [valid[place]]
            for other in range(self.entries):
                if other < place:
                    wins.append(~before[other * self.entries + place])
                elif other > place:
                    first = before[place * self.entries + other]
                    m.d.comb += first.eq(keys[place] >= keys[other])
                    wins.append(first | ~valid[other])
            won = Cat(wins).all()
            m.d.sync += pick[place].eq(won | capped if place == 0 else won & ~capped)

        with m.If(choose):
            chosen = 0
            for bit, entry in zip(pick, self.queue, strict=True):
                chosen |= Mux(bit, Cat(entry.request, ~entry.hit), 0)
            m.d.sync += [Cat(out, opens).eq(chosen), source.valid.eq(1), begun.eq(1)]
        with m.Elif(source.ready):
            m.d.sync += source.valid.eq(0)
        m.d.sync += fresh.eq(choose)
        return choose

    def _move_up(self, m, choose, is_open, rows):
        """The queue moves up where one has left, and takes another at its end."""
        valid, pick = self.valid, self.pick
        come = self.sink.payload
        m.d.comb += self.sink.ready.eq(~valid[-1])
        enters = Signal()
        m.d.comb += enters.eq(self.sink.valid & self.sink.ready)
        after = Mux(choose, valid >> 1, valid)
        m.d.sync += valid.eq(Mux(enters, (after << 1) | 1, after))
        knows = is_open.bit_select(come.bank, 1) & (rows[come.bank] == come.row)
        moves = 0
        for place, (entry, age) in enumerate(zip(self.queue, self.ages, strict=True)):
            m.d.sync += entry.hit.eq(self._hits(entry.request, entry.hit))
            if self.cap:
                m.d.sync += age.eq(age + (choose & (age != self.cap)))
            moves = moves | pick[place]
            if place + 1 < self.entries:
                next_entry, older = self.queue[place + 1], self.ages[place + 1]
                with m.If(choose & moves):
                    m.d.sync += [entry.request.eq(next_entry.request),
                                 entry.hit.eq(self._hits(next_entry.request, next_entry.hit))]
                    if self.cap:
                        m.d.sync += age.eq(older + (older != self.cap))
            last = ~after[place] & (after[place - 1] if place else 1)
            with m.If(enters & last):
                m.d.sync += [entry.request.eq(come), entry.hit.eq(self._hits(come, knows)),
                             age.eq(0)]
