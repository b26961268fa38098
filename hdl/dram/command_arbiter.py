"""Command arbiter: one legal command per cycle from the heads of the banks' FIFOs.

Ref: Sim-D, section 3.2.2, rules 1 to 6.
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
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
        current = Signal(range(max(2, banks // 2)))  # the active pair
        behind = Signal(banks)  # banks at or behind it
        m.d.comb += behind.eq(~((1 << (2 * current)) - 1))
        turns = [self._nearest(m, "cas", cas & legal_cas, behind),
                 self._nearest(m, "conflict", conflict & legal_pre, behind),
                 self._fullest(m, activate & legal_act, behind),
                 self._nearest(m, "alone", alone & legal_pre, behind)]
        chosen = [Signal(banks, name=f"chosen_{name}")
                  for name in ("cas", "conflict", "activate", "alone")]
        free = 1
        for turn, mine in zip(turns, chosen, strict=True):
            m.d.comb += mine.eq(Mux(free, turn, 0))
            free = free & ~turn.any()
        do_cas, do_conflict, do_act, do_alone = chosen

        # -- the heads' progress ---------------------------------------------------------------
        m.d.comb += self.pop.eq(do_cas | do_alone)
        m.d.sync += [
            precharged.eq((precharged | do_conflict) & ~self.pop),
            activated.eq((activated | do_act) & ~self.pop),
        ]

        # -- the pins --------------------------------------------------------------------------
        index = Signal(range(banks))
        hot = Signal(banks)
        m.d.comb += [hot.eq(do_cas | do_conflict | do_act | do_alone),
                     index.eq(sum(Mux(hot[i], i, 0) for i in range(banks)))]
        entry = Array(head)[index]
        write, close = Signal(), Signal()
        m.d.comb += [write.eq(entry.write), close.eq(entry.close)]
        slots = Array(Signal(range(SLOTS), name=f"slot_{i}") for i in range(banks))
        with m.If(do_cas.any()):
            m.d.sync += [self.command.op.eq(Mux(write, Mux(close, Command.WRA, Command.WR),
                                                Mux(close, Command.RDA, Command.RD))),
                         slots[index].eq(slots[index] + 1)]
        with m.Elif(do_act.any()):
            m.d.sync += self.command.op.eq(Command.ACT)
        with m.Elif((do_conflict | do_alone).any()):
            m.d.sync += self.command.op.eq(Command.PRE)
        with m.Else():
            m.d.sync += self.command.op.eq(Mux(self.refreshed, Command.REF, Command.NOP))
        m.d.sync += [
            self.command.bank.eq(index), self.command.row.eq(entry.row),
            self.command.column.eq(entry.column),
            self.issue.valid.eq(do_cas.any()), self.issue.payload.write.eq(write),
            self.issue.payload.bank.eq(index), self.issue.payload.slot.eq(slots[index]),
        ]

        # -- requests --------------------------------------------------------------------------
        m.d.comb += [self.idle.eq(~valid.any() & ~self.within),
                     self.refreshed.eq(self.refresh & self.idle & (self.rest == 0))]
        with m.If(do_cas.any()):
            m.d.sync += current.eq(index >> 1)
        with m.Elif(self.idle & (not self.carry)):
            m.d.sync += current.eq(0)

        self._count(m, do_cas, do_conflict | do_alone, do_act, legal_pre, legal_act, legal_cas)
        return m

    @staticmethod
    def _nearest(m, name, ready, behind):
        """One-hot: the first at or behind the active pair, or else the first of all."""
        pool, turn = (Signal(len(behind), name=f"{part}_{name}") for part in ("pool", "turn"))
        m.d.comb += [pool.eq(Mux((ready & behind).any(), ready & behind, ready)),
                     turn.eq(pool & -pool)]
        return turn

    def _fullest(self, m, ready, behind):
        """One-hot: at or behind the active pair if there is one, then the most entries, then the
        lowest bank; a bank that is left after this entry counts as one with one entry."""
        contest = []  # (who, as one-hot; key)
        for i, each in enumerate(self.heads):
            who, key = Signal(len(behind), name=f"who_{i}"), Signal(6, name=f"key_{i}")
            m.d.comb += [
                who.eq(Mux(ready[i], 1 << i, 0)),
                key.eq(Cat(Mux(each.entry.close, 1, each.waiting), behind[i], ready[i])),
            ]
            contest.append((who, key))
        level = 0
        while len(contest) > 1:
            level += 1
            winners = []
            for number in range(0, len(contest), 2):
                (who, key), (other, other_key) = contest[number:number + 2]
                name = f"{level}_{number}"
                best, best_key = (Signal.like(who, name=f"who_{name}"),
                                  Signal.like(key, name=f"key_{name}"))
                better = other_key > key
                m.d.comb += [best.eq(Mux(better, other, who)),
                             best_key.eq(Mux(better, other_key, key))]
                winners.append((best, best_key))
            contest = winners
        return contest[0][0]

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
        left, load = Signal.like(self.rest), Signal.like(self.rest)
        closes = Cat(do_cas[i] & each.entry.close for i, each in enumerate(self.heads))
        with m.If((closes & writes).any()):
            m.d.comb += load.eq(recovery + part.nRP - 1)
        with m.Elif(closes.any()):
            m.d.comb += load.eq(part.nRTP + part.nRP - 1)
        with m.Elif(do_pre.any()):
            m.d.comb += load.eq(part.nRP - 1)
        with m.Elif(do_act.any()):
            m.d.comb += load.eq(part.nRC - 1)
        with m.Elif(self.refreshed):
            m.d.comb += load.eq(part.nRFC - 1)
        m.d.comb += left.eq(Mux(self.rest == 0, 0, self.rest - 1))
        m.d.sync += self.rest.eq(Mux(load > left, load, left))
