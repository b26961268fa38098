"""What client 0 of a shared DRAM controller has done before its request."""

from amaranth.hdl import Module, Signal

from cyclebound.tb.watcher import Watcher

__all__ = ["ClientObserver"]


class ClientObserver(Watcher):
    """Reads all ports of its target, and drives none.

    Attributes
    ----------
    pause : Signal
        Cycles from client 0's last completion to this one.
    """

    def __init__(self, target):
        super().__init__(target)
        self.pause = Signal(16)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.client[0].completion.valid):
            m.d.sync += self.pause.eq(1)
        with m.Elif(self.pause != (1 << len(self.pause)) - 1):
            m.d.sync += self.pause.eq(self.pause + 1)
        return m
