"""Cores of a grid of SHMAC's tiles that may do whatever the bounds on sharing a RAM allow."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from cyclebound.golden.noc.shmac_kernel import Operation

__all__ = ["SharingEnvironment"]

_MIXES = ("reads", "writes", "any")


class SharingEnvironment(wiring.Component):
    """Cores that use the RAM of one tile; all others are silent.

    Parameters
    ----------
    grid : cyclebound.hdl.noc.handshake_mesh.HandshakeMesh
        Whose cores these are.
    target : int
        The tile whose RAM they use.
    cores : sequence of int
        Tiles whose cores do.
    mix : str
        "reads": each core begins a read in any cycle in which it is idle. "writes": each begins
        once, in any cycle, and writes without a pause from then on. "any": a read or a write.
    victim : int or None
        With "any", a core that reads only when its own writes have landed; None: there is none.

    Members
    -------
    choice : In
        By core, in the order given: it begins; with "any", then whether it writes.
    kernels, landed, writes, operated
        To and from the grid.
    """

    def __init__(self, grid, *, target, cores, mix="reads", victim=None):
        assert mix in _MIXES, mix
        self._target, self._cores, self._mix, self._victim = target, cores, mix, victim
        self._columns = grid.shape.columns
        bits = 2 if mix == "any" else 1
        super().__init__({"choice": In(bits * len(cores)), **{
            name: grid.signature.members[name].flip()
            for name in ("kernels", "requests", "writes", "operated", "landed")}})

    def elaborate(self, platform):
        m = Module()
        row, column = divmod(self._target, self._columns)
        bits = len(self.choice) // len(self._cores)
        for place, core in enumerate(self._cores):
            kernel, choice = self.kernels[core], self.choice.word_select(place, bits)
            begins, writes = Signal(name=f"begins_{core}"), Signal(name=f"writes_{core}")
            m.d.comb += begins.eq(choice[0])
            if self._mix == "writes":
                begun = Signal(name=f"begun_{core}")
                m.d.sync += begun.eq(begins)
                m.d.comb += [begins.eq(choice[0] | begun), writes.eq(1)]
            elif self._mix == "any":
                m.d.comb += writes.eq(choice[1])
                if core == self._victim:
                    under_way = Signal(5, name="under_way")
                    begin = self.operated[core] & self.writes[core]
                    m.d.sync += under_way.eq(under_way + begin - self.landed[core])
                    with m.If((under_way != 0) & ~writes):
                        m.d.comb += begins.eq(0)
            with m.If(begins):  # else what is beside it would make states different
                m.d.comb += [kernel.enable.eq(1), kernel.target.row.eq(row),
                             kernel.target.column.eq(column), kernel.operation.eq(
                                 Operation.READ + writes)]
        return m
