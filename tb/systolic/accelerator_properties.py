"""Bound checker of the accelerator's transfers: they read its ports and drive none.

`AcceleratorTransfers` knows the ports only; `AcceleratorTransfersProof` looks inside, and is for
induction.

Ref: golden/systolic/accelerator_layout.py.
"""

from amaranth.hdl import Assert, Cover, Mux, Signal

from cyclebound.tb.streams_properties import StreamsCheck

__all__ = ["AcceleratorTransfers", "AcceleratorTransfersProof"]

_BEATS = 1 << 16  # of a transfer whose count is 0


class AcceleratorTransfers(StreamsCheck):
    """Transfers one after the other, each with as many beats as its request says, in its direction;
    idle only when none is under way; what is offered stays.

    Parameters
    ----------
    target : Accelerator
        The accelerator, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    owed : Signal
        Beats to come, of the request that was accepted last.
    writes : Signal
        They are to memory.
    """

    def __init__(self, target):
        super().__init__(target)
        self.owed, self.writes = Signal(range(_BEATS + 1)), Signal()

    def elaborate(self, platform):
        m = super().elaborate(platform)
        request, read, write, owed = self.requests, self.read, self.write, self.owed
        count = request.payload.count
        with m.If(request.valid & request.ready):
            m.d.sync += [owed.eq(Mux(count == 0, _BEATS, count)),
                         self.writes.eq(request.payload.write)]
        with m.Elif((read.valid & read.ready) | (write.valid & write.ready)):
            m.d.sync += owed.eq(owed - 1)
        m.d.sync += [
            Assert(~read.ready | ((owed != 0) & ~self.writes),
                   "a beat is read that was not asked for"),
            Assert(~write.valid | ((owed != 0) & self.writes),
                   "a beat is written that was not asked for"),
            Assert(~request.valid | (owed == 0), "a transfer within a transfer"),
            Assert(~self.idle | ((owed == 0) & ~request.valid), "idle within a transfer"),
            Cover(write.valid & write.ready & (owed == 1), "a transfer to memory ends"),
            Cover(read.valid & read.ready & (owed == 1), "a transfer from memory ends"),
        ]
        return m


class AcceleratorTransfersProof(AcceleratorTransfers):
    """`AcceleratorTransfers`, with invariants: the accelerator counts the same beats.

    Parameters
    ----------
    target : Accelerator
        The accelerator itself, not elaborated yet.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, owed = self._target, self.owed
        m.d.sync += [
            Assert((owed != 0) == (target.transferring & target.asked),
                   "invariant: a transfer has begun"),
            Assert(owed <= _BEATS, "invariant: no more than a transfer has"),
            Assert((owed == 0) | (owed[:16] == target.left), "invariant: beats are counted"),
            Assert((owed == 0) | (self.writes == target.store), "invariant: its direction"),
            Assert(~(target.transferring & ~target.asked)
                   | ((self.requests.payload.write == target.store)
                      & (self.requests.payload.count == target.left)),
                   "invariant: the request is that of the transfer"),
        ]
        return m
