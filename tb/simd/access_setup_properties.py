"""Bound checker of the setup of accesses: no job leaves its buffer, and each comes in time."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal

from cyclebound.golden.dram.request import COUNT_BITS, TARGET_BITS, Destination
from cyclebound.golden.simd.isa import OPCODES
from cyclebound.tb.pipeline_properties import explain_pipeline
from cyclebound.tb.watcher import Watcher, delayed

__all__ = ["AccessSetupCheck", "AccessSetupProof"]

_CLOCKS = 4


class AccessSetupProof(Watcher):
    """Lines and columns of a job are those of its buffer, or it is a fault.

    A tile of ``count`` lines of ``words`` words at (x, y) has no word outside of a buffer if
    ``x + words`` and ``y + count`` are within its dimensions. There is no product in it.

    Parameters
    ----------
    target : AccessSetup
        The unit, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    line : Signal
        Bit *n*: an access came in *n* + 1 clocks ago.
    """

    def __init__(self, target):
        super().__init__(target)
        self.line = Signal(_CLOCKS)

    def elaborate(self, platform):
        m = Module()
        job, access = self.job.payload, self.access.payload

        def named(*names):
            return access.opcode.matches(*(OPCODES[name] for name in names))

        m.d.sync += self.line.eq(Cat(self.access.valid, self.line[:-1]))
        asked = {name: delayed(m, value, _CLOCKS) for name, value in {
            "buffer_x": self.buffer.x, "buffer_y": self.buffer.y, "chip_at": self.chip.address,
            "chip_x": self.chip.x, "chip_y": self.chip.y, "slot": access.slot,
            "scratchpad": access.scratchpad, "row": named("sldsp"), "tile": named(
                "ldg2sptile", "stg2sptile"), "indexed": named("ldgidxit", "stgidxit")}.items()}
        moves = Signal()
        m.d.comb += moves.eq(self.job.valid & ~job.fault & ~job.indexed & (job.words != 0)
                             & (job.count != 0))
        of_dram = moves & ~job.scratchpad
        of_chip = moves & job.scratchpad
        row = asked["row"]
        right, bottom = Signal(COUNT_BITS + 1), Signal(COUNT_BITS + 1)
        m.d.comb += [right.eq(job.x + job.words), bottom.eq(job.y + job.count)]
        m.d.sync += [
            Assume(~self.access.valid | (access.scratchpad == named(
                "ldsplin", "stsplin", "ldspbidx", "stspbidx", "sldsp")), "another resource"),
            Assert(self.job.valid == self.line[-1], "a job at the wrong time"),
            Assert(~self.job.valid | ((self.slot == asked["slot"])
                                      & (job.scratchpad == asked["scratchpad"])),
                   "a job of another access"),
            Assert(~of_dram | (right <= asked["buffer_x"]), "it leaves a line of its buffer"),
            Assert(~of_dram | (bottom <= asked["buffer_y"]), "it leaves its buffer's lines"),
            Assert(~of_chip | row | (right <= asked["chip_x"]),
                   "it leaves a line of its scratchpad buffer"),
            Assert(~of_chip | (bottom <= asked["chip_y"]),
                   "it leaves its scratchpad buffer's lines"),
            Assert(~of_chip | (job.period == asked["chip_x"]), "another distance of lines"),
            Assert(~self.job.valid | job.fault | ((job.destination == Destination.SCRATCHPAD)
                                                  == asked["tile"]), "elsewhere on the chip"),
            Cover(of_dram & (job.x != 0) & job.split, "lines that meet in a beat"),
            Cover(of_chip & job.restart, "lines that meet on the bus"),
            Cover(self.job.valid & job.fault & row, "a row that leaves its buffer"),
            Cover(of_dram & job.cam & (job.y != 0), "lines of a buffer for CAMs"),
        ]
        self._addresses(m, of_chip, of_dram, asked)
        return m

    def _addresses(self, m, of_chip, of_dram, asked):
        """More about tiles of scratchpads, and those that are snooped."""

    def explain(self, m, probes):
        """Assert in ``m`` what the probe's counter holds."""
        for counters in probes.values():
            for counter in counters:
                explain_pipeline(m, counter, self.line)


class AccessSetupCheck(AccessSetupProof):
    """`AccessSetupProof`, and the products: where a scratchpad's tile begins, and where its words
    end, and the index of a snoopy tile's first word. For simulations: solvers do not multiply such
    numbers.
    """

    def _addresses(self, m, of_chip, of_dram, asked):
        job = self.job.payload
        bits, first = len(job.address), Signal(TARGET_BITS)
        begins, ends = Signal(bits), Signal(bits + 1)
        m.d.comb += [first.eq(job.y * asked["buffer_x"] + job.x),
                     begins.eq((job.y[:bits] * asked["chip_x"])[:bits] + job.x),
                     ends.eq(begins + ((job.count - 1)[:bits] * asked["chip_x"])[:bits]
                             + job.words)]
        m.d.sync += [
            Assert(~of_chip | (job.address == (asked["chip_at"] + begins)[:bits]),
                   "it begins elsewhere"),
            Assert(~(of_dram & job.cam) | (job.base == first), "another index"),
            Assert(~of_chip | (ends <= (asked["chip_x"] * asked["chip_y"])[:bits]),
                   "it ends beyond its scratchpad buffer"),
        ]
