"""The grid of SHMAC's tiles with pipelined routers."""

from cyclebound.hdl.noc.handshake_mesh import HandshakeMesh
from cyclebound.hdl.noc.pipelined_router import PipelinedRouter

__all__ = ["PipelinedMesh"]


class PipelinedMesh(HandshakeMesh):
    """`HandshakeMesh` with `PipelinedRouter`: everything else is the same.

    Latency: alone, a read ``h`` links away takes its core 1 + ``to_memory_cycles`` +
    ``memory_cycles`` + ``to_core_cycles`` + 6 (h + 1) cycles.

    Parameters
    ----------
    rows, columns, to_memory_cycles, memory_cycles, to_core_cycles, words : int
        As of `HandshakeMesh`.

    Members
    -------
    As of `HandshakeMesh`.
    """

    def __init__(self, *, rows, columns, to_memory_cycles, memory_cycles, to_core_cycles, words=16):
        super().__init__(rows=rows, columns=columns, to_memory_cycles=to_memory_cycles,
                         memory_cycles=memory_cycles, to_core_cycles=to_core_cycles, words=words)

    def make_router(self):
        """The router of a tile: a new `PipelinedRouter`."""
        return PipelinedRouter()
