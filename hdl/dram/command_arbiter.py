"""Command arbiter: one legal command per cycle from the heads of the banks' FIFOs.

Ref: Sim-D, section 3.2.2, rules 1 to 6.
"""

from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import SLOTS
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.command_generator import HeadLayout
from cyclebound.hdl.dram.countdown import Countdown, Window
from cyclebound.hdl.dram.dq_scheduler import IssueLayout
from cyclebound.hdl.interfaces import Strobe

__all__ = ["CommandArbiter", "CommandLayout", "longest_holdoff"]

_KINDS = "cas", "conflict", "act", "pre_only"  # of steps, by priority


class _Commands(NamedTuple):
    """The commands that are chosen in this cycle, a bit for each bank, and of the rank; activates
    of the cycle before as well."""

    do_cas: Value
    do_pre: Value
    do_act: Value
    did_act: Value
    any_cas: Value
    any_act: Value


class _Legal(NamedTuple):
    """Registers: what is legal in this cycle, a bit for each bank."""

    pre: Signal
    act: Signal
    cas: Signal


class CommandLayout(data.StructLayout):
    """A command on the pins; ``column`` counts bursts."""

    def __init__(self, *, part):
        super().__init__({"op": Command, "bank": (part.banks - 1).bit_length(),
                          "row": (part.rows - 1).bit_length(),
                          "column": (part.bursts_per_row - 1).bit_length()})


class CommandArbiter(wiring.Component):
    """Schedules the heads' commands under the part's timing constraints.

    Reads and writes go first, then the precharges that make way for another row, activates, other
    precharges, refreshes. Of several reads, writes or precharges, the bank nearest to the pair that
    was read or written last has its turn. Of several activates, banks at or after that pair come
    before those in front of it, and among them the one with the most entries waiting.

    A request's reads and writes all have one direction, and the next request begins when
    ``holdoff`` is 0. Bus turnarounds and the windows of the last request's activates are over then;
    whether this is so for a part is checked here, and no counter is needed.

    Latency: a command is on the pins in the cycle after it was chosen; a head may be chosen in the
    cycle in which it appears. Throughput: one command per cycle.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    carry : bool
        Keep the active pair from one request to the next, as its authors' model does. Delays
        then depend on the request before (docs/dram.md, errata): only for showing that.

    Members
    -------
    heads : In(HeadLayout).array(banks)
        Each bank's next work.
    pop : Out(banks)
        The bank's head is completed in this cycle.
    in_request : In(1)
        A request is under way, even without a head.
    refresh : In(1)
        A refresh is wanted; it is issued when nothing is under way and all banks are closed.
    refreshed : Out(1)
        It is chosen in this cycle.
    command : Out(CommandLayout)
        The pins.
    issue : Out(Strobe(IssueLayout))
        The read or write on the pins, for the DQ scheduler.
    idle : Out(1)
        No head, nothing under way.
    holdoff : Out(range(longest + 1))
        Cycles until a refresh, or the next request's first command, may be chosen; once all
        banks' last commands have been chosen.

    Attributes
    ----------
    precharged, activated : Signal
        By bank: steps of its head that are done.
    choices : list of Signal
        Banks whose read or write, precharge to make way, activate, other precharge is chosen.
    priority_mask : Signal
        Banks at or after the active pair.
    legal_pre, legal_act, legal_cas : Signal
        Banks whose timing allows a precharge; an activate; a read or write.
    window : Window
        Of four activates.
    counters : dict of Countdown
        By rule, and number of the bank or bank group.
    """

    def __init__(self, *, part, carry=False):
        self.part, self.carry = part_named(part), bool(carry)
        part = self.part
        recovery = part.nCWD + part.nBURST + part.nWR
        for least, what, most in (
                (part.nFAW, "nFAW must not exceed nRC", part.nRC),
                (part.nCAS + part.nBURST + 1 - part.nCWD + part.nWPRE,
                 "a read's data must leave the bus before the next request's write",
                 part.nRTP + part.nRP + part.nRCD),
                (part.nCWD + part.nBURST + part.nWTR_L,
                 "a write must be over before the next request's read",
                 recovery + part.nRP + part.nRCD)):
            if least > most:
                raise ValueError(f"{part.name}: {what} ({least} > {most})")
        self.longest = longest_holdoff(part)
        super().__init__({
            "heads": In(HeadLayout(part=part)).array(part.banks),
            "pop": Out(part.banks), "in_request": In(1), "refresh": In(1), "refreshed": Out(1),
            "command": Out(CommandLayout(part=part)),
            "issue": Out(Strobe(IssueLayout(banks=part.banks))),
            "idle": Out(1), "holdoff": Out(range(self.longest + 1)),
        })
        # the state; a proof has to speak of it
        self.precharged, self.activated = Signal(part.banks), Signal(part.banks)
        self.priority_mask = Signal(part.banks, init=(1 << part.banks) - 1)
        self.choices = [Signal(part.banks, name=f"do_{name}") for name in _KINDS]
        self.legal_pre, self.legal_act, self.legal_cas = (
            Signal(part.banks, init=(1 << part.banks) - 1, name=f"legal_{name}")
            for name in ("pre", "act", "cas"))
        self.window = Window(cycles=part.nFAW)

    @cached_property
    def counters(self):  # made late: an arbiter that is only asked for its ports has none
        return _counters(self.part)

    def elaborate(self, platform):
        m = Module()
        banks = self.part.banks
        head = [queue.operation for queue in self.heads]
        valid = Cat(queue.valid for queue in self.heads)

        cas, conflict, activate, pre_only = self._next_steps(m, head, valid)
        legal_pre, legal_act, legal_cas = self.legal_pre, self.legal_act, self.legal_cas
        turns, has_turn = self._choose(m, [cas & legal_cas, conflict & legal_pre,
                                           activate & legal_act, pre_only & legal_pre])
        do_cas, do_conflict, do_act, do_pre_only = self.choices
        any_cas, _, any_act, _ = has_turn

        m.d.comb += self.pop.eq(do_cas | do_pre_only)
        m.d.sync += [
            self.precharged.eq((self.precharged | do_conflict) & ~self.pop),
            self.activated.eq((self.activated | do_act) & ~self.pop),
        ]
        did_act = Signal(banks)
        m.d.sync += did_act.eq(do_act)

        write, close = self._drive_pins(m, head, cas, turns, has_turn, did_act)
        self._end_requests(m, valid, turns[0], any_cas)
        self._hold_back(m, has_turn, write, close)
        self._count(m, _Commands(do_cas, do_conflict | do_pre_only, do_act, did_act,
                                 any_cas, any_act),
                    _Legal(legal_pre, legal_act, legal_cas))
        return m

    def _next_steps(self, m, head, valid):
        """Return the banks whose head next needs a read or write, a precharge of another row, an
        activate, or a stand-alone precharge: one mask for each."""
        precharged, activated = self.precharged, self.activated
        cas, conflict, activate, pre_only = (Signal(self.part.banks, name=f"next_{name}")
                                             for name in _KINDS)
        for i, operation in enumerate(head):
            need_pre = operation.conflict & ~precharged[i]
            need_act = operation.activate & ~activated[i]
            m.d.comb += [
                pre_only[i].eq(valid[i] & operation.precharge_only),
                conflict[i].eq(valid[i] & ~operation.precharge_only & need_pre),
                activate[i].eq(valid[i] & ~operation.precharge_only & ~need_pre & need_act),
                cas[i].eq(valid[i] & ~operation.precharge_only & ~need_act),
            ]
        return cas, conflict, activate, pre_only

    def _choose(self, m, ready):
        """Choose for each kind one of the banks that are ``ready``, and one of the kinds. Sets
        ``choices``."""
        banks = self.part.banks
        nearer, activates_before = self._orders(m, self.priority_mask)
        turns = [Signal(banks, name=f"turn_{name}") for name in _KINDS]
        orders = nearer, nearer, activates_before, nearer
        for turn, can, before in zip(turns, ready, orders, strict=True):
            # any two banks are compared whether they are ready or not, beside finding that out
            m.d.comb += turn.eq(Cat(can[i] & ~(can & before[i]).any() for i in range(banks)))
        turn_cas, turn_conflict, turn_act, turn_pre_only = turns
        has_turn = Signal(4)
        for kind in range(4):
            m.d.comb += has_turn[kind].eq(ready[kind].any()
                                          & ~Cat(other.any() for other in ready[:kind]).any())
        _, any_conflict, any_act, any_pre_only = has_turn
        do_cas, do_conflict, do_act, do_pre_only = self.choices
        m.d.comb += [
            do_cas.eq(turn_cas), do_conflict.eq(Mux(any_conflict, turn_conflict, 0)),
            do_act.eq(Mux(any_act, turn_act, 0)),
            do_pre_only.eq(Mux(any_pre_only, turn_pre_only, 0)),
        ]
        return turns, has_turn

    def _drive_pins(self, m, head, cas, turns, has_turn, did_act):
        """``command`` and ``issue``. Returns direction and auto-precharge of the read or write.

        The column is that of the read or write that would have its turn: it need not wait for
        the choice among the four kinds. A row need not even wait for the choice among activates:
        its head stays until it is read or written, so the row is still there in the next cycle.
        """
        banks = self.part.banks
        do_cas, turn_cas = self.choices[0], turns[0]
        any_cas, any_conflict, any_act, any_pre_only = has_turn
        slot = Signal(range(SLOTS))
        write, close = Signal(), Signal()
        m.d.comb += [
            # all of a request have one direction: no need to know which of them it will be
            write.eq((cas & Cat(operation.write for operation in head)).any()),
            close.eq((turn_cas & Cat(operation.close for operation in head)).any()),
        ]
        slots = [Signal(range(SLOTS), name=f"slot_{i}") for i in range(banks)]
        for i, counter in enumerate(slots):
            with m.If(do_cas[i]):
                m.d.sync += counter.eq(counter + 1)
        m.d.comb += slot.eq(_select(turn_cas, slots))
        with m.If(any_cas):
            m.d.sync += self.command.op.eq(Mux(write, Mux(close, Command.WRA, Command.WR),
                                               Mux(close, Command.RDA, Command.RD)))
        with m.Elif(any_act):
            m.d.sync += self.command.op.eq(Command.ACT)
        with m.Elif(any_conflict | any_pre_only):
            m.d.sync += self.command.op.eq(Command.PRE)
        with m.Else():
            m.d.sync += self.command.op.eq(Mux(self.refreshed, Command.REF, Command.NOP))
        m.d.sync += [
            self.command.bank.eq(_select(has_turn, [_select(turn, range(banks))
                                                     for turn in turns])),
            self.command.column.eq(_select(turn_cas, [operation.column for operation in head])),
            self.issue.valid.eq(any_cas), self.issue.payload.write.eq(write),
            self.issue.payload.bank.eq(_select(turn_cas, range(banks))),
            self.issue.payload.slot.eq(slot),
        ]
        m.d.comb += self.command.row.eq(_select(did_act, [operation.row for operation in head]))
        return write, close

    def _end_requests(self, m, valid, turn_cas, any_cas):
        """Whether nothing is under way, then refreshes; and the active pair, request by request."""
        priority_mask, banks = self.priority_mask, self.part.banks
        m.d.comb += [self.idle.eq(~valid.any() & ~self.in_request),
                     self.refreshed.eq(self.refresh & self.idle & (self.holdoff == 0))]
        with m.If(any_cas):
            m.d.sync += priority_mask.eq(Cat(turn_cas[:(i | 1) + 1].any() for i in range(banks)))
        with m.Elif(self.idle & (not self.carry)):
            m.d.sync += priority_mask.eq(priority_mask.init)

    def _hold_back(self, m, has_turn, write, close):
        """``holdoff``: whatever closes a bank, or will have to, holds back the next request."""
        any_cas, any_conflict, any_act, any_pre_only = has_turn
        part = self.part
        recovery = part.nCWD + part.nBURST + part.nWR
        holds = [(any_cas & close & write, recovery + part.nRP),
                 (any_cas & close & ~write, part.nRTP + part.nRP),
                 (any_conflict | any_pre_only, part.nRP), (any_act, part.nRC),
                 (self.refreshed, part.nRFC)]
        left = Signal.like(self.holdoff)
        m.d.comb += left.eq(Mux(self.holdoff == 0, 0, self.holdoff - 1))
        held = [chosen & (self.holdoff < cycles) for chosen, cycles in holds]
        m.d.sync += self.holdoff.eq(_select([~Cat(held).any(), *held],
                                            [left, *(cycles - 1 for _, cycles in holds)]))

    def _orders(self, m, priority_mask):
        """For each bank, masks of the banks that go before it: among equals, and to activate.

        Nearer goes first: banks at or after the active pair, and of these, as of the others, the
        lower. Among activates, the bank with more operations waiting goes before the lower; a bank
        that is closed by its head counts as one with one operation.
        """
        banks = len(priority_mask)
        nearer, activates_before = (
            [Signal(banks, name=f"{name}_{i}") for i in range(banks)]
            for name in ("nearer_than", "activates_before"))
        counts = [Signal(4, name=f"count_{i}") for i in range(banks)]
        for i, queue in enumerate(self.heads):
            m.d.comb += counts[i].eq(Mux(queue.operation.close, 1, queue.waiting))
            for j in range(i):
                # the active pair: i is ahead of the lower j
                between = priority_mask[i] & ~priority_mask[j]
                m.d.comb += [
                    nearer[j][i].eq(between), nearer[i][j].eq(~between),
                    activates_before[j][i].eq(between | _greater(counts[i], counts[j])),
                    activates_before[i][j].eq(~activates_before[j][i]),
                ]
        return nearer, activates_before

    def _count(self, m, commands, legal):
        """All timing counters, of banks, bank groups and the rank; what they allow is registered.

        A command's counters start one cycle late, off the path of the choice; in
        the meantime it is held against whatever may not follow at once.
        """
        part = self.part
        do_cas, do_pre, do_act, did_act, any_cas, any_act = commands
        legal_pre, legal_act, legal_cas = legal
        heads = [queue.operation for queue in self.heads]
        did_cas, did_pre, did_read, did_write, did_close = (
            Signal(part.banks, name=f"did_{name}")
            for name in ("cas", "pre", "read", "write", "close"))
        writes = Cat(operation.write for operation in heads)
        closes = Cat(operation.close for operation in heads)
        m.d.sync += [did_cas.eq(do_cas), did_pre.eq(do_pre),
                     did_read.eq(do_cas & ~writes), did_write.eq(do_cas & writes),
                     did_close.eq(do_cas & closes)]

        def allows(name, do, did):
            """Whether a command that this counter holds back is legal in the next cycle."""
            counter = self.counters.get(name)
            if counter is None:
                return 1
            m.submodules[name] = counter
            m.d.comb += counter.start.eq(did)
            return counter.soon & ~do

        groups = [sum(1 << bank for bank in range(part.banks) if part.bank_group(bank) == group)
                  for group in range(part.bank_groups)]
        rank_act = allows("rrd_s", any_act, did_act.any())
        rank_cas = allows("ccd_s", any_cas, did_cas.any())
        # The any-grant signal settles before the one-hot grant. Where the whole rank must wait in
        # the next cycle, it does not depend on the bank or the group.
        act = Const(0, part.banks) if part.nRRD_S >= 2 else do_act
        cas = Const(0, part.banks) if part.nCCD_S >= 2 else do_cas
        group_act = [allows(f"rrd_l_{number}", (act & mine).any(),
                            (did_act & mine).any()) for number, mine in enumerate(groups)]
        group_cas = [allows(f"ccd_l_{number}", (cas & mine).any(),
                            (did_cas & mine).any()) for number, mine in enumerate(groups)]
        m.submodules.faw = window = self.window
        m.d.comb += window.start.eq(any_act)

        for i in range(part.banks):
            group = part.bank_group(i)
            m.d.sync += [
                legal_cas[i].eq(rank_cas & group_cas[group]
                                & allows(f"rcd_{i}", do_act[i], did_act[i])),
                legal_pre[i].eq(allows(f"ras_{i}", do_act[i], did_act[i])
                                & allows(f"rtp_{i}", do_cas[i] & ~writes[i], did_read[i])
                                & allows(f"wr_{i}", do_cas[i] & writes[i], did_write[i])),
                legal_act[i].eq(rank_act & group_act[group] & window.soon
                                & allows(f"rc_{i}", act[i], did_act[i])
                                & allows(f"rp_{i}", do_pre[i], did_pre[i])
                                & allows(f"rda_{i}", do_cas[i],
                                         did_read[i] & did_close[i])
                                & allows(f"wra_{i}", do_cas[i],
                                         did_write[i] & did_close[i])),
            ]


def longest_holdoff(part):
    """The greatest ``holdoff`` of a `CommandArbiter`."""
    return max(part.nRC, part.nCWD + part.nBURST + part.nWR + part.nRP, part.nRFC)


def _counters(part):
    """Counters of how long each command holds back others, for each distance of 2 and more."""
    recovery = part.nCWD + part.nBURST + part.nWR
    banks = {"rcd": part.nRCD, "ras": part.nRAS, "rtp": part.nRTP, "wr": recovery,
             "rc": part.nRC, "rp": part.nRP, "rda": part.nRTP + part.nRP,
             "wra": recovery + part.nRP}
    groups = {"rrd_l": part.nRRD_L, "ccd_l": part.nCCD_L}
    cycles = {"rrd_s": part.nRRD_S, "ccd_s": part.nCCD_S,
              **{f"{name}_{number}": distance for distances, count in
                 ((groups, part.bank_groups), (banks, part.banks))
                 for name, distance in distances.items() for number in range(count)}}
    return {name: Countdown(cycles=distance - 1) for name, distance in cycles.items()
            if distance > 1}


def _select(hot, values):
    """The value that a one-hot signal marks, or 0."""
    return reduce(or_, (Mux(bit, value, 0) for bit, value in zip(hot, values, strict=True)))


def _greater(a, b):
    """``a > b``, by halves of two bits, each of which is a lookup table."""
    greater = 0
    for low in range(0, len(a), 2):
        x, y = a[low:low + 2], b[low:low + 2]
        above = (x[1] & ~y[1]) | ((x[1] | ~y[1]) & x[0] & ~y[0])
        same = ~(x[0] ^ y[0]) & ~(x[1] ^ y[1])
        greater = above | (same & greater)
    return greater
