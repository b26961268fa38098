"""Bound checker of SHMAC's network with two channels: reads all ports of the network, drives none.

What is inside is not followed: its routers have proofs of their own.
"""

from amaranth.hdl import Assert, Cover, Module

from cyclebound.tb.assumed import stays
from cyclebound.tb.noc.grid_properties import conserve
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["NetworkCheck"]


class NetworkCheck(Watcher):
    """Of each channel no more packets leave than have entered, and offers stay until they are
    taken. Assumes that offers to it stay.

    Parameters
    ----------
    target : Network
        The network, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.
    """

    def elaborate(self, platform):
        m = Module()
        for what, sinks, sources in (
                ("requests", [*self.master_requests, self.host], self.slave_requests),
                ("responses", self.slave_responses, self.master_responses)):
            for number, sink in enumerate(sinks):
                claim_kept(m, f"{what} to it, {number}", sink, stays)
            for number, source in enumerate(sources):
                claim_kept(m, f"{what} from it, {number}", source, Assert)
                m.d.sync += Cover(source.valid, f"tile {number} has {what}")
            conserve(m, what, [sink.valid & sink.ready for sink in sinks],
                     [source.valid & source.ready for source in sources])
        return m
