"""Registers of a tile's jobs at a slave port of SHMAC's network.

Ref: golden/system/job_table.py has the registers.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.register_table import REGISTER_BITS
from cyclebound.golden.system.job_table import MOST_OPERANDS, Control, job_table
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shmac.packet import RequestPacketLayout, ResponsePacketLayout

__all__ = ["JobRegisters"]


class JobRegisters(wiring.Component):
    """A core starts a tile's jobs, and reads what has become of them.

    Latency: a response is on offer in the cycle after its request was taken, and so are a strobe,
    a word, and an operand's new value; a request waits while the response before it is not taken.
    Throughput: a request in every cycle. Bounds: ``golden.system.job_registers``.

    Parameters
    ----------
    operands : int
        Registers that the tile reads, 0 to 64.

    Members
    -------
    accesses, answers : In, Out(stream)
        From and to the network.
    start : Out(1)
        The job begins, for one cycle.
    idle : In(1)
        The tile has no job; looked at while one is under way, from the cycle after ``start`` on.
    fault : In(1)
        The job has failed; looked at in the same cycles.
    busy : Out(1)
        A job is under way.
    operands : Out(32).array(operands)
        What was written, if there are any. They stay from ``start`` to the job's end.
    word : Out(stream of 32)
        Words of the configuration; none comes while a job is under way. A tile that has none takes
        each, and does nothing with it.

    Attributes
    ----------
    table : RegisterTable
        The registers.
    cycles, marks : Signal
        CYCLES; FAULT and REFUSED of STATUS, in this order. For proofs.
    """

    def __init__(self, *, operands=0):
        check_integer("Operand count", operands, 0, MOST_OPERANDS)
        self.many, self.table = operands, job_table(operands=operands)
        super().__init__({
            "accesses": In(stream.Signature(RequestPacketLayout)),
            "answers": Out(stream.Signature(ResponsePacketLayout)),
            "start": Out(1), "idle": In(1), "fault": In(1), "busy": Out(1),
            "word": Out(stream.Signature(REGISTER_BITS)),
            **({"operands": Out(REGISTER_BITS).array(operands)} if operands else {}),
        })
        self.cycles, self.marks = Signal(REGISTER_BITS), Signal(2)

    def elaborate(self, platform):
        m = Module()
        accesses, answers, packet = self.accesses, self.answers, self.accesses.payload
        takes, posted, error = Signal(), Signal(), Signal()
        there, writable, refused, value = Signal(), Signal(), Signal(), Signal(REGISTER_BITS)
        writes, waits = Signal(), Signal()  # a write is carried out; a word is not taken
        failed, marked = self.marks
        m.d.comb += [
            accesses.ready.eq(~answers.valid | answers.ready),
            takes.eq(accesses.valid & accesses.ready), posted.eq(packet.write & ~packet.sync),
            error.eq(packet.sync | packet.interrupt | ~packet.strobes.all() | ~there
                     | (packet.write & (~writable | refused))),
            writes.eq(takes & packet.write & ~error), waits.eq(self.word.valid & ~self.word.ready),
        ]
        with m.If(self.word.ready):
            m.d.sync += self.word.valid.eq(0)

        # What each register shows, refuses and does. An operand does what all others leave.
        shown = {("STATUS", "IDLE"): ~self.busy, ("STATUS", "FAULT"): failed,
                 ("STATUS", "REFUSED"): marked, ("CYCLES", "VALUE"): self.cycles}
        starts, clears = Signal(), Signal()
        operands = iter(self.operands if self.many else ())
        with m.Switch(packet.address):
            for row in self.table.rows:
                with m.Case(row.address):
                    m.d.comb += [there.eq(1), writable.eq(
                        any(one.access != "read-only" for one in row.fields))]
                    if row.name == "CONTROL":
                        m.d.comb += [
                            refused.eq(self.busy | waits | (packet.data != 1 << Control.START)),
                            starts.eq(writes)]
                    elif row.name == "STATUS":
                        clear = self.table.field(self.table.refused)
                        m.d.comb += clears.eq(writes & packet.data[clear.low])
                    elif row.name == "WORD":
                        m.d.comb += refused.eq(self.busy | waits)
                        with m.If(writes):
                            m.d.sync += [self.word.valid.eq(1), self.word.payload.eq(packet.data)]
                    elif row.name != "CYCLES":
                        operand = next(operands)
                        shown[row.name, "VALUE"] = operand
                        m.d.comb += refused.eq(self.busy)
                        with m.If(writes):
                            m.d.sync += operand.eq(packet.data)
                    m.d.comb += [value[one.low:one.low + one.width].eq(shown[row.name, one.name])
                                 for one in row.fields if (row.name, one.name) in shown]

        # The job.
        looks, ends = Signal(), Signal()
        m.d.comb += [looks.eq(self.busy & ~self.start), ends.eq(looks & self.idle)]
        m.d.sync += self.start.eq(starts)
        with m.If(starts):
            m.d.sync += [self.busy.eq(1), self.cycles.eq(0)]
        with m.Elif(self.busy):
            m.d.sync += self.cycles.eq(self.cycles + ~self.cycles.all())
            with m.If(ends):
                m.d.sync += self.busy.eq(0)
        m.d.sync += self.marks.eq(Cat(
            ~starts & (failed | (looks & self.fault)),
            (marked & ~clears) | (takes & packet.write & error)))

        with m.If(takes):
            m.d.sync += [
                answers.valid.eq(~posted | error), answers.payload.write.eq(posted),
                answers.payload.error.eq(error), answers.payload.initiator.eq(packet.initiator),
                answers.payload.target.eq(packet.target),
                answers.payload.data.eq(Mux(error, 0, value)),
            ]
        with m.Elif(answers.ready):
            m.d.sync += answers.valid.eq(0)
        return m
