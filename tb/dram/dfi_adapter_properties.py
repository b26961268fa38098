"""Bound checkers of the DFI adapter: they read its ports and drive none.

`DfiAdapterCheck` knows rows, refreshes and mode registers, all of which are on phase 0.

Ref: DFI 2.1, control interface; JESD79-3F, table 6.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal

from cyclebound.golden.dram.dfi import CAS_PHASE, ROW_PHASE
from cyclebound.golden.dram.request import BEATS
from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.tb.elastic_properties import explain_ready
from cyclebound.tb.watcher import Watcher, delayed

__all__ = ["DfiAdapterCheck", "DfiAdapterProof"]

_ROWS = {  # ras_n, cas_n, we_n [JESD79-3F, table 6]
    Command.ACT: 0b110, Command.PRE: 0b010, Command.PREA: 0b010, Command.REF: 0b100}
_ALL_BANKS = 1 << 10


class DfiAdapterCheck(Watcher):
    """Each command for rows is on phase 0 ``delay`` cycles later, as the device reads it, and
    nothing else is but mode registers; reads and writes are on their phase only, as long as a
    burst lasts from then on; other phases are idle.

    Parameters
    ----------
    target : DfiAdapter
        The adapter, or a component with the same members and attributes.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    line : Signal
        Bit *n*: a command for rows came *n* + 1 cycles ago.
    """

    def __init__(self, target):
        super().__init__(target)
        self.ratio, self.delay = target.ratio, target.delay
        self.line = Signal(self.delay)

    def _pin(self, name, phase=ROW_PHASE):
        return getattr(self, f"dfi_{name}_p{phase}")

    def elaborate(self, platform):
        m = Module()
        command, then = self.command, delayed(m, self.command, self.delay)
        rows = Cat(command.op == op for op in _ROWS).any()
        mode, bursts = Signal(), Signal(BEATS)
        m.d.sync += [
            self.line.eq(Cat(rows, self.line[:-1])), mode.eq(self.mode.valid),
            bursts.eq(Cat(Cat(delayed(m, command.op, self.delay - 1) == op for op in CAS).any(),
                          bursts[:-1])),
        ]
        pins = Cat(self._pin(name) for name in ("ras_n", "cas_n", "we_n"))
        address, due = self._pin("address"), self.line[-1] & ~mode
        levels = {op: then.op == op for op in _ROWS}
        m.d.sync += [
            Assert((self._pin("cs_n") == 0) == (self.line[-1] | mode),
                   "a command for rows is lost, late, or one too many"),
            *(Assert(~(due & here) | (pins == _ROWS[op]), f"{op.name}: another command")
              for op, here in levels.items()),
            Assert(~(due & ~levels[Command.PREA] & ~levels[Command.REF])
                   | (self._pin("bank") == then.bank), "another bank"),
            Assert(~(due & levels[Command.ACT]) | (address == then.row), "another row"),
            Assert(~(due & levels[Command.PRE]) | ~address[10], "all banks instead of one"),
            Assert(~(due & levels[Command.PREA]) | address[10], "one bank instead of all"),
            Assert(self._pin("cs_n", CAS_PHASE[self.ratio]) | bursts.any(),
                   "a read or write of no burst"),
            *(Assert(self._pin("cs_n", phase), f"phase {phase}: a command")
              for phase in range(self.ratio) if phase not in (ROW_PHASE, CAS_PHASE[self.ratio])),
            Cover(self.line.all(), "a command for rows in each cycle"),
        ]
        return m


class DfiAdapterProof(DfiAdapterCheck):
    """`DfiAdapterCheck`, of a device that has been powered up, and what the probe of commands for
    rows counts.

    Parameters
    ----------
    target : DfiAdapter
        The adapter.

    Members
    -------
    All ports of the target, as inputs.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += Assume(~self.mode.valid, "a mode register is set")
        return m

    def explain(self, m, probes):
        """Assert in ``m`` what the probe counts."""
        explain_ready(m, probes, self.line)
