"""Bound checkers of whole grids, at the ports of their tiles: they read them and drive none.

What is inside is not followed: routers and interfaces have checkers and proofs of their own.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.tb.assumed import fixed, stays
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["InterfacedMeshCheck", "MeshCheck", "TileGridCheck", "TileGridProof", "conserve"]

_COUNT = 24  # bits of what is inside


def conserve(m, what, enters, leaves):
    """Claim in ``m`` that never more has left than has entered in earlier cycles."""
    inside, goes = Signal(_COUNT, name=f"{what}_inside"), Signal(range(len(leaves) + 1))
    m.d.comb += goes.eq(sum(leaves))
    m.d.sync += [inside.eq(inside + sum(enters) - goes),
                 Assert(goes <= inside, f"{what}: more leave than have entered")]
    return inside


class MeshCheck(Watcher):
    """What leaves a `Mesh` are packets, each kept together, no more flits than have entered, and an
    offer stays until it is taken.

    Assumes that offers to it stay.

    Parameters
    ----------
    target : Mesh
        The mesh, or a component with the same members and ``longest``.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._longest = target.longest

    def elaborate(self, platform):
        m = Module()
        for number, (sink, source) in enumerate(zip(self.sinks, self.sources, strict=True)):
            claim_kept(m, f"sink {number}", sink, stays)
            claim_kept(m, f"source {number}", source, Assert)
            inside = Signal(name=f"inside_{number}")
            length = Signal(range(self._longest + 1), name=f"length_{number}")
            flit = source.payload
            with m.If(source.valid & source.ready):
                m.d.sync += [inside.eq(~flit.last), length.eq(Mux(flit.last, 0, length + 1))]
            m.d.sync += [
                Assert(~source.valid | (flit.first != inside),
                       f"source {number}: a packet is not kept together"),
                Assert(~source.valid | flit.last | (length != self._longest - 1),
                       f"source {number}: a packet too long"),
                Cover(source.valid & flit.last, f"source {number}: a packet ends"),
            ]
        conserve(m, "flits", [sink.valid & sink.ready for sink in self.sinks],
                  [source.valid & source.ready for source in self.sources])
        return m


class InterfacedMeshCheck(Watcher):
    """What tiles of an `InterfacedMesh` receive stays until it is taken, and is no more than what
    has been sent.

    Assumes that windows are constant, and offers stay.

    Parameters
    ----------
    target : InterfacedMesh
        The mesh, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.
    """

    def elaborate(self, platform):
        m = Module()
        windows = Cat(Value.cast(window) for window in self.windows)
        began, before = Signal(), Signal.like(windows)
        m.d.sync += [began.eq(1), before.eq(windows),
                     fixed(~began | (before == windows), "a window changed")]
        for number, (words, received) in enumerate(zip(self.words, self.received, strict=True)):
            claim_kept(m, f"words {number}", words, stays)
            claim_kept(m, f"received {number}", received, Assert)
            m.d.sync += Cover(received.valid, f"tile {number} receives")
        conserve(m, "words", [words.valid & words.ready for words in self.words],
                  [received.valid & received.ready for received in self.received])
        return m


class TileGridCheck(Watcher):
    """Each tile of a grid of SHMAC's operates no more often than it has asked, one operation at a
    time; a write lands after it was asked for; no packet is lost as unroutable or malformed.

    Parameters
    ----------
    target : HandshakeMesh
        The grid, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.
    """

    def elaborate(self, platform):
        m = Module()
        for number, (asks, fetched, operated, writes, landed) in enumerate(zip(
                self.requests, self.fetched, self.operated, self.writes, self.landed,
                strict=True)):
            asked, stores = Signal(name=f"asked_{number}"), Signal(4, name=f"stores_{number}")
            before = Signal(name=f"asks_before_{number}")
            fresh = asks & writes & ~before  # a write's request begins
            m.d.sync += [
                before.eq(asks),
                asked.eq((asked | asks) & ~operated & ~fetched),
                stores.eq(stores + fresh - landed),
                # a write's request may be taken, and the write over, in its first cycle
                Assert(~operated | asked | asks,
                       f"tile {number}: an unrequested operation"),
                Assert(~writes | asks, f"tile {number}: a write without a request"),
                Assert(~landed | (stores != 0), f"tile {number}: a write lands that none is"),
                Cover(operated, f"tile {number}: an operation"),
            ]
        for number, (lost, broken) in enumerate(zip(self.unroutable, self.malformed, strict=True)):
            m.d.sync += Assert((lost == 0) & (broken == 0), f"tile {number}: a packet is dropped")
        return m


class TileGridProof(TileGridCheck):
    """`TileGridCheck` of any kernels.

    Assumes that each is for a tile that is there.

    Parameters
    ----------
    target : HandshakeMesh
        The grid.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._shape = target.shape

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for kernel in self.kernels:
            m.d.sync += Assume((kernel.target.row < self._shape.rows)
                               & (kernel.target.column < self._shape.columns),
                               "a kernel for a tile that is not there")
        return m
