"""Command arbiter: one legal command per cycle from the heads of the banks' FIFOs.

Ref: Sim-D, section 3.2.2, rules 1 to 6.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import SLOTS
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.command_generator import HeadLayout
from cyclebound.hdl.dram.countdown import Countdown, Window
from cyclebound.hdl.dram.dq_scheduler import IssueLayout
from cyclebound.hdl.dram.layouts import Strobe

__all__ = ["CommandArbiter", "CommandLayout"]


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
    was read or written last has its turn. Of several activates, banks at or behind that pair come
    before those in front of it, and among them the one with the most entries waiting.

    A request's reads and writes all have one direction, and the next request begins when ``rest``
    is 0. Bus turnarounds and the windows of the last request's activates are over then;
    that this is so for a part is checked here, and no counter is spent on it.

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
        What each bank has to do next.
    pop : Out(banks)
        The bank's head is worked off in this cycle.
    within : In(1)
        A request is under way, even if no head is to be seen.
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
    rest : Out(range(longest + 1))
        Cycles until a refresh, or the next request's first command, may be chosen; once all
        banks' last commands have been chosen.
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
        self.longest = max(part.nRC, recovery + part.nRP, part.nRFC)
        super().__init__({
            "heads": In(HeadLayout(part=part)).array(part.banks),
            "pop": Out(part.banks), "within": In(1), "refresh": In(1), "refreshed": Out(1),
            "command": Out(CommandLayout(part=part)),
            "issue": Out(Strobe(IssueLayout(banks=part.banks))),
            "idle": Out(1), "rest": Out(range(self.longest + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        banks = self.part.banks
        head = [each.entry for each in self.heads]
        valid = Cat(each.valid for each in self.heads)

        # -- what each head does next ----------------------------------------------------------
        precharged, activated = Signal(banks), Signal(banks)  # steps of the head that are done
        alone, conflict, activate, cas = (Signal(banks) for _ in range(4))
        for i, entry in enumerate(head):
            need_pre = entry.conflict & ~precharged[i]
            need_act = entry.activate & ~activated[i]
            m.d.comb += [
                alone[i].eq(valid[i] & entry.alone),
                conflict[i].eq(valid[i] & ~entry.alone & need_pre),
                activate[i].eq(valid[i] & ~entry.alone & ~need_pre & need_act),
                cas[i].eq(valid[i] & ~entry.alone & ~need_act),
            ]

        # -- what is legal, and who of them is chosen ------------------------------------------
        legal_pre, legal_act, legal_cas = (Signal(banks) for _ in range(3))
        behind = Signal(banks, init=(1 << banks) - 1)  # banks at or behind the active pair
        turns = [self._nearest(m, "cas", cas & legal_cas, behind),
                 self._nearest(m, "conflict", conflict & legal_pre, behind),
                 self._fullest(m, activate & legal_act, behind),
                 self._nearest(m, "alone", alone & legal_pre, behind)]
        chosen = [Signal(banks, name=f"chosen_{name}")
                  for name in ("cas", "conflict", "activate", "alone")]
        free = Signal(len(turns))
        for number, (turn, mine) in enumerate(zip(turns, chosen, strict=True)):
            m.d.comb += [free[number].eq(~Cat(turns[:number]).any()),
                         mine.eq(Mux(free[number], turn, 0))]
        do_cas, do_conflict, do_act, do_alone = chosen

        # -- the heads' progress ---------------------------------------------------------------
        m.d.comb += self.pop.eq(do_cas | do_alone)
        m.d.sync += [
            precharged.eq((precharged | do_conflict) & ~self.pop),
            activated.eq((activated | do_act) & ~self.pop),
        ]

        # -- the pins --------------------------------------------------------------------------
        # Row and column are those of the activate, read or write that would have its turn: they
        # need not wait for the choice among the four kinds.
        turn_cas, turn_act = turns[0], turns[2]
        any_cas = Signal()
        hot, slot = Signal(banks), Signal(range(SLOTS))
        write, close = Signal(), Signal()
        m.d.comb += [
            any_cas.eq(turn_cas.any()), hot.eq(do_cas | do_conflict | do_act | do_alone),
            write.eq((turn_cas & Cat(entry.write for entry in head)).any()),
            close.eq((turn_cas & Cat(entry.close for entry in head)).any()),
        ]
        slots = [Signal(range(SLOTS), name=f"slot_{i}") for i in range(banks)]
        for i, counter in enumerate(slots):
            with m.If(do_cas[i]):
                m.d.sync += counter.eq(counter + 1)
        m.d.comb += slot.eq(_select(turn_cas, slots))
        with m.If(any_cas):
            m.d.sync += self.command.op.eq(Mux(write, Mux(close, Command.WRA, Command.WR),
                                               Mux(close, Command.RDA, Command.RD)))
        with m.Elif(do_act.any()):
            m.d.sync += self.command.op.eq(Command.ACT)
        with m.Elif((do_conflict | do_alone).any()):
            m.d.sync += self.command.op.eq(Command.PRE)
        with m.Else():
            m.d.sync += self.command.op.eq(Mux(self.refreshed, Command.REF, Command.NOP))
        m.d.sync += [
            self.command.bank.eq(_select(hot, range(banks))),
            self.command.row.eq(_select(turn_act, [entry.row for entry in head])),
            self.command.column.eq(_select(turn_cas, [entry.column for entry in head])),
            self.issue.valid.eq(any_cas), self.issue.payload.write.eq(write),
            self.issue.payload.bank.eq(_select(turn_cas, range(banks))),
            self.issue.payload.slot.eq(slot),
        ]

        # -- requests --------------------------------------------------------------------------
        m.d.comb += [self.idle.eq(~valid.any() & ~self.within),
                     self.refreshed.eq(self.refresh & self.idle & (self.rest == 0))]
        with m.If(any_cas):
            m.d.sync += behind.eq(Cat(turn_cas[:(i | 1) + 1].any() for i in range(banks)))
        with m.Elif(self.idle & (not self.carry)):
            m.d.sync += behind.eq(behind.init)

        self._count(m, do_cas, do_conflict | do_alone, do_act, legal_pre, legal_act, legal_cas)
        return m

    @staticmethod
    def _nearest(m, name, ready, behind):
        """One-hot: the first at or behind the active pair, or else the first of all."""
        near, turn = (Signal(len(behind), name=f"{part}_{name}") for part in ("near", "turn"))
        m.d.comb += near.eq(ready & behind)
        for i in range(len(behind)):
            m.d.comb += turn[i].eq(Mux(behind[i], near[i] & ~near[:i].any(),
                                       ready[i] & ~ready[:i].any() & ~near.any()))
        return turn

    def _fullest(self, m, ready, behind):
        """One-hot: at or behind the active pair if there is one, then the most entries, then the
        lowest bank; a bank that is left after this entry counts as one with one entry.

        Any two banks are compared whether they are ready or not, while that is being found out.
        """
        banks = len(behind)
        turn = Signal(banks, name="turn_activate")
        keys = [Signal(5, name=f"key_{i}") for i in range(banks)]
        beaten = [Signal(banks, name=f"beaten_{i}") for i in range(banks)]  # by whom
        for i, each in enumerate(self.heads):
            m.d.comb += keys[i].eq(Cat(Mux(each.entry.close, 1, each.waiting), behind[i]))
            for j in range(i):
                m.d.comb += [beaten[j][i].eq(keys[i] > keys[j]),
                             beaten[i][j].eq(~beaten[j][i])]
        for i in range(banks):
            m.d.comb += turn[i].eq(ready[i] & ~(ready & beaten[i]).any())
        return turn

    def _count(self, m, do_cas, do_pre, do_act, legal_pre, legal_act, legal_cas):
        """All timing counters, of banks, bank groups and the rank."""
        part = self.part

        def countdown(name, cycles, start):
            m.submodules[name] = counter = Countdown(cycles=max(1, cycles))
            m.d.comb += counter.start.eq(start)
            return counter.ready

        recovery = part.nCWD + part.nBURST + part.nWR
        writes = Signal(part.banks)
        members = [sum(1 << bank for bank in range(part.banks) if part.bank_group(bank) == group)
                   for group in range(part.bank_groups)]
        group_act = [countdown(f"rrd_l_{g}", part.nRRD_L, (do_act & mine).any())
                     for g, mine in enumerate(members)]
        group_cas = [countdown(f"ccd_l_{g}", part.nCCD_L, (do_cas & mine).any())
                     for g, mine in enumerate(members)]
        rank_act = countdown("rrd_s", part.nRRD_S, do_act.any())
        rank_cas = countdown("ccd_s", part.nCCD_S, do_cas.any())
        m.submodules.faw = window = Window(cycles=part.nFAW)
        m.d.comb += window.start.eq(do_act.any())

        for i, each in enumerate(self.heads):
            group = part.bank_group(i)
            close, read, write = (Signal(name=f"{name}_{i}") for name in ("close", "read", "write"))
            m.d.comb += [close.eq(each.entry.close), write.eq(do_cas[i] & each.entry.write),
                         read.eq(do_cas[i] & ~each.entry.write)]
            m.d.comb += [
                writes[i].eq(write),
                legal_cas[i].eq(rank_cas & group_cas[group]
                                & countdown(f"rcd_{i}", part.nRCD, do_act[i])),
                legal_pre[i].eq(countdown(f"ras_{i}", part.nRAS, do_act[i])
                                & countdown(f"rtp_{i}", part.nRTP, read)
                                & countdown(f"wr_{i}", recovery, write)),
                legal_act[i].eq(rank_act & group_act[group] & window.ready
                                & countdown(f"rc_{i}", part.nRC, do_act[i])
                                & countdown(f"rp_{i}", part.nRP, do_pre[i])
                                & countdown(f"rda_{i}", part.nRTP + part.nRP, read & close)
                                & countdown(f"wra_{i}", recovery + part.nRP, write & close)),
            ]

        # Whatever closes a bank, or will have to, holds back the next request.
        left = Signal.like(self.rest)
        m.d.comb += left.eq(Mux(self.rest == 0, 0, self.rest - 1))
        closes = Cat(do_cas[i] & each.entry.close for i, each in enumerate(self.heads))

        def at_least(cycles):
            return Mux(left < cycles, cycles, left)

        with m.If((closes & writes).any()):
            m.d.sync += self.rest.eq(at_least(recovery + part.nRP - 1))
        with m.Elif(closes.any()):
            m.d.sync += self.rest.eq(at_least(part.nRTP + part.nRP - 1))
        with m.Elif(do_pre.any()):
            m.d.sync += self.rest.eq(at_least(part.nRP - 1))
        with m.Elif(do_act.any()):
            m.d.sync += self.rest.eq(at_least(part.nRC - 1))
        with m.Elif(self.refreshed):
            m.d.sync += self.rest.eq(at_least(part.nRFC - 1))
        with m.Else():
            m.d.sync += self.rest.eq(left)


def _select(hot, values):
    """The value that a one-hot signal marks, or 0."""
    return reduce(or_, (Mux(bit, value, 0) for bit, value in zip(hot, values, strict=True)))
