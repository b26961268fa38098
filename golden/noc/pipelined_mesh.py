"""Golden model of the grid of SHMAC's tiles with pipelined routers."""

from cyclebound.golden.noc.handshake_mesh import HandshakeMeshModel
from cyclebound.golden.noc.pipelined_router import PipelinedRouterModel
from cyclebound.golden.noc.routes import Mesh

__all__ = ["PipelinedMeshModel"]


class PipelinedMeshModel(HandshakeMeshModel):
    """`HandshakeMeshModel` with the models of pipelined routers.

    Parameters
    ----------
    mesh, words
        As of `HandshakeMeshModel`.
    """

    def __init__(self, mesh: Mesh, *, words: int = 16) -> None:
        super().__init__(mesh, words=words, make=PipelinedRouterModel)
