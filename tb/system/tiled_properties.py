"""Isolation of a tiled system's tiles: each reaches its own buffers and words, and no other's."""

from amaranth.hdl import Assert, Cat, Module, Signal

from cyclebound.tb.dram.client_arbiter_properties import ClientArbiterProof
from cyclebound.tb.watcher import Watcher

__all__ = ["TiledIsolation"]


class _Arbiter(ClientArbiterProof):
    """`ClientArbiterProof`, until the controller breaks a rule, where it may do anything."""

    def __init__(self, target):
        super().__init__(target)
        self.broken = Signal()

    def _ensure(self, fact, says):
        return Assert(self.broken | fact, says)

    def _assume(self, m, rules):
        kept = Signal()
        m.d.comb += self.broken.eq(kept | ~Cat(fact for fact, _ in rules).all())
        m.d.sync += kept.eq(self.broken)


class TiledIsolation(Watcher):
    """What `ClientArbiterProof` says of clients, of the tiles themselves: each request of a tile
    reaches the controller at most once, as it was made, with a buffer of that tile; its completion
    and its words go to that tile and to no other.

    Whatever tiles do, and a controller that keeps to the rules of `ClientArbiterCheck`.

    Parameters
    ----------
    target : TiledSystem
        The system.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._arbiter = target.shared.arbiter
        tiles = target.simd, target.memory, target.lines
        self._tiles = [tile.dram for tile in tiles if tile is not None]

    def elaborate(self, platform):
        m = Module()
        m.submodules.isolation = check = _Arbiter(self._arbiter)
        for name, member in check.signature.members.items():
            ports = self._tiles if name == "client" else getattr(self._arbiter, name)
            for own, port in zip(*([there] if not member.dimensions else there for there in (
                    getattr(check, name), ports)), strict=True):
                if member.is_port:
                    m.d.comb += own.eq(port)
                    continue
                for path, _, value in member.signature.flatten(own):
                    shown = port
                    for step in path:
                        shown = getattr(shown, step)
                    m.d.comb += value.eq(shown)
        return m
