"""Command generator: bursts become operations in the banks' FIFOs.

Ref: Sim-D, section 3.2.2; address mapping in golden/dram/address.py.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import SLOTS
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.bank_queue import BankOperationLayout, BankQueue
from cyclebound.hdl.dram.dq_scheduler import DescribeLayout
from cyclebound.hdl.dram.layouts import BurstLayout
from cyclebound.hdl.interfaces import Strobe

__all__ = ["CommandGenerator", "HeadLayout"]


class HeadLayout(data.StructLayout):
    """The head of a bank's FIFO, and how many operations wait after it."""

    def __init__(self, *, part):
        super().__init__({"valid": 1, "operation": BankOperationLayout(part=part), "waiting": 4})


class CommandGenerator(wiring.Component):
    """Address mapping, precharge policy, and a FIFO for each bank.

    A burst waits until the next one is known, then enters the FIFO of its bank. A full FIFO
    stops all later bursts. Tiles close a pair of banks when they leave it; indexed requests
    close a row when its bank needs another, and all of them at their end.

    Latency: a burst is at the head of an empty FIFO three cycles after it was taken, if the next
    one follows at once or if it is the last. Throughput: one burst per cycle.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.

    Members
    -------
    bursts : In(stream.Signature(BurstLayout))
        What to read or write, request by request.
    heads : Out(HeadLayout).array(banks)
        The oldest operation of each bank.
    pop : In(banks)
        The bank's head is completed.
    describe : Out(Strobe(DescribeLayout))
        A burst that has just entered a FIFO, for the DQ scheduler; the slots of a bank are used in
        turn.
    busy : Out(1)
        A request is under way: a burst waits here, or its last one has not arrived.

    Attributes
    ----------
    held_valid, work_valid : Signal
        A burst waits for the next one; a burst is being put into the FIFOs.
    in_request : Signal
        A request's first burst has come, its last has not.
    is_open : Signal
        Banks that will be open when all operations so far are completed.
    queues : list of BankQueue
        The FIFOs.
    """

    def __init__(self, *, part):
        self.part = part = part_named(part)
        super().__init__({
            "bursts": In(stream.Signature(data.Layout.cast(BurstLayout))),
            "heads": Out(HeadLayout(part=part)).array(part.banks),
            "pop": In(part.banks),
            "describe": Out(Strobe(DescribeLayout(banks=part.banks))),
            "busy": Out(1),
        })
        # a proof has to speak of these
        self.held_valid, self.work_valid, self.in_request = Signal(), Signal(), Signal()
        self.is_open = Signal(part.banks)

    @cached_property
    def queues(self):  # made late: a generator that is only asked for its ports has none
        shape = BankOperationLayout(part=self.part)
        return [BankQueue(shape=shape) for _ in range(self.part.banks)]

    def _place(self, address):
        """Bank, row and column (in bursts) of a burst's address: bits of it, no logic."""
        columns = (self.part.bursts_per_row - 1).bit_length()
        pairs = (self.part.banks // 2 - 1).bit_length()
        bank = Cat(address[0], address[1 + columns:1 + columns + pairs])
        rows = (self.part.rows - 1).bit_length()
        return bank, address[1 + columns + pairs:][:rows], address[1:1 + columns]

    def elaborate(self, platform):
        m = Module()
        part = self.part

        # -- first stage: what comes next? -----------------------------------------------------
        held, held_valid = Signal(BurstLayout), self.held_valid
        next_known, move = Signal(), Signal()
        bank, row, _ = self._place(held.address)
        next_bank, next_row, _ = self._place(self.bursts.payload.address)
        m.d.comb += [
            next_known.eq(held_valid & (held.last | self.bursts.valid)),
            self.bursts.ready.eq(~held_valid | (next_known & move)),
        ]
        with m.If(self.bursts.ready):
            m.d.sync += held_valid.eq(self.bursts.valid)
        with m.If(self.bursts.ready & self.bursts.valid):
            m.d.sync += held.eq(self.bursts.payload)

        # -- second stage: what does its bank need? --------------------------------------------
        work, work_valid = Signal(BurstLayout), self.work_valid
        mine = Signal(part.banks)       # one-hot: the burst's bank
        reach = Signal(part.banks)      # banks to be closed beside it, if they are open
        leaves, going, enter = Signal(), Signal(), Signal()
        held_bank = Signal(part.banks)  # one-hot
        siblings = Cat(held_bank[number ^ 1] for number in range(part.banks))
        m.d.comb += [
            move.eq(~work_valid | enter), held_bank.eq(1 << bank),
            going.eq(held.last | (~held.indexed & (Cat(bank[1:], row)
                                                   != Cat(next_bank[1:], next_row)))),
        ]
        with m.If(move):
            m.d.sync += [
                work_valid.eq(next_known), work.eq(held), mine.eq(held_bank), leaves.eq(going),
                reach.eq(Mux(going, Mux(held.indexed, ~held_bank, siblings), 0)),
            ]

        self._fill_queues(m, work, mine, reach, leaves, enter)
        self._describe(m, work, mine, enter)
        with m.If(self.bursts.valid & self.bursts.ready):
            m.d.sync += self.in_request.eq(~self.bursts.payload.last)
        m.d.comb += self.busy.eq(self.in_request | held_valid | work_valid)
        return m

    def _fill_queues(self, m, work, mine, reach, leaves, enter):
        """The operations of the burst at work, into all FIFOs that it needs together."""
        part, is_open = self.part, self.is_open
        _, work_row, work_column = self._place(work.address)
        open_row = [Signal(len(work_row), name=f"open_row_{number}")
                    for number in range(part.banks)]
        others, hit = Signal(part.banks), Signal(part.banks)
        m.d.comb += [
            hit.eq(Cat(known_row == work_row for known_row in open_row)),
            others.eq(is_open & reach),
        ]
        full = Signal(part.banks)
        m.d.comb += enter.eq(self.work_valid & ~((mine | others) & full).any())
        was_open, was_hit = Signal(), Signal()
        m.d.comb += [was_open.eq((mine & is_open).any()), was_hit.eq((mine & hit).any())]
        for number, queue in enumerate(self.queues):
            m.submodules[f"queue_{number}"] = queue
            head = self.heads[number]
            m.d.comb += [
                full[number].eq(queue.full),
                queue.push.eq(enter & (mine[number] | others[number])),
                queue.pop.eq(self.pop[number]),
                queue.operation.row.eq(work_row), queue.operation.column.eq(work_column),
                queue.operation.write.eq(work.write),
                queue.operation.precharge_only.eq(~mine[number]),
                queue.operation.activate.eq(~(was_open & was_hit)),
                queue.operation.conflict.eq(was_open & ~was_hit),
                queue.operation.close.eq(leaves),
                head.valid.eq(queue.valid), head.operation.eq(queue.head),
                head.waiting.eq(queue.waiting),
            ]
            with m.If(enter & mine[number]):
                m.d.sync += [is_open[number].eq(~leaves), open_row[number].eq(work_row)]
            with m.If(enter & others[number]):
                m.d.sync += is_open[number].eq(0)

    def _describe(self, m, work, mine, enter):
        """The burst at work for the DQ scheduler, with the next slot of its bank."""
        work_bank, _, _ = self._place(work.address)
        slots = [Signal(range(SLOTS), name=f"slot_{number}") for number in range(self.part.banks)]
        slot = Signal(range(SLOTS))
        for number, counter in enumerate(slots):
            with m.If(mine[number]):
                m.d.comb += slot.eq(counter)
            with m.If(enter & mine[number]):
                m.d.sync += counter.eq(counter + 1)
        described = self.describe.payload
        m.d.sync += [
            self.describe.valid.eq(enter),
            described.bank.eq(work_bank), described.slot.eq(slot),
            *(described[name].eq(work[name])
              for name in ("mask", "targets", "destination", "transform")),
        ]
