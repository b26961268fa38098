"""The proof that the router of one of SHMAC's two networks keeps its packets.

That it is fair is `PipelinedFairProof`; what its ports must keep is in `ShmacRouterCheck`.
"""

from cyclebound.tb.noc.pipelined_router_properties import PipelinedKeptProof

__all__ = ["RouterKeptProof"]


class RouterKeptProof(PipelinedKeptProof):
    """`PipelinedKeptProof` of a router each of whose outputs may have two packets.

    Parameters
    ----------
    target : Router
        The router itself.
    """

    single = ()
