"""Bound checker of a network interface, and the proofs about its inside.

`InterfaceCheck` knows only the ports: it watches simulations. `InterfaceWindowProof` and
`InterfaceFitProof` look inside `NetworkInterface`.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value

from cyclebound.golden.noc.packet import TIME_BITS
from cyclebound.tb.assumed import fixed, stays
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["InterfaceCheck", "InterfaceFitProof", "InterfaceWindowProof", "WindowClock"]


class WindowClock:
    """Follows a window from its parameters: cycles since reset, and since it was due to open.

    Attributes
    ----------
    clock : Signal
        Cycles since reset, modulo the period.
    age : Signal
        In the next cycle: cycles since a window was last due to open.
    never : Signal
        In the next cycle: no window has been due to open yet.
    now_open : Signal
        The window is open in this cycle.
    """

    def __init__(self):
        self.clock, self.age = Signal(TIME_BITS), Signal(TIME_BITS)
        self.never, self.now_open = Signal(init=1), Signal()

    def follow(self, m, *, period, offset, length):
        """Follow this one, which is constant, in ``m``."""
        clock, age = self.clock, self.age
        self.period, self.offset, self.length = period, offset, length
        m.d.sync += [
            clock.eq(Mux(clock + 1 >= period, 0, clock + 1)),
            self.now_open.eq(~self.never & (age < length)),
        ]
        with m.If(clock == offset):
            m.d.sync += [age.eq(0), self.never.eq(0)]
        with m.Elif(age != (1 << TIME_BITS) - 1):
            m.d.sync += age.eq(age + 1)

    @property
    def good(self):
        """It is a window."""
        return (self.length <= self.period) & (self.offset < self.period)

    def agrees(self):
        """Of one that is a window: clock and age agree."""
        since = Mux(self.clock > self.offset, self.clock - self.offset - 1,
                    self.clock + self.period - self.offset - 1)  # modulo the period
        return [
            Assert(~self.good | (self.clock < self.period),
                   "invariant: the clock is in the period"),
            Assert(~self.good | self.never | (since == self.age),
                   "invariant: clock and age agree"),
            Assert(~self.good | self.never | (self.age < self.period), "invariant: age is below T"),
        ]

    def invariants(self, sender):
        """What its sender knows of it."""
        packing = sender.between | sender.header | sender.body
        return [
            Assert(sender.count == self.clock, "invariant: cycles are counted"),
            Assert(sender.left == Mux(self.never | (self.age >= self.length), 0,
                                      self.length - self.age),
                   "invariant: the rest of the window is counted"),
            Assert(sender.open == self.now_open, "invariant: the window is known"),
            Assert(self.good | ~(packing | sender.loaded),
                   "invariant: nothing for a window of none"),
        ]


class InterfaceCheck(Watcher):
    """Bound checker of a network interface: reads every port, drives none.

    Nothing is on offer to the network outside the window, nor in a window that is none; what the
    network does not take stays on offer while the window is open. Received words stay on offer
    until they are taken. Assumes that the window is constant, and that offers stay.

    Parameters
    ----------
    target : NetworkInterface
        The interface, or a component with the same members and parameters.

    Attributes
    ----------
    clock : WindowClock
        Follows the window.
    """

    def __init__(self, target):
        self.target = target
        super().__init__(target)
        self.clock = WindowClock()

    def elaborate(self, platform):
        m = Module()
        window, clock = self.window, self.clock
        clock.follow(m, period=window.period, offset=window.offset, length=window.length)

        begun, before = Signal(), Signal.like(Value.cast(window))
        m.d.sync += [begun.eq(1), before.eq(window)]
        m.d.sync += fixed(~begun | (before == Value.cast(window)), "the window changed")
        claim_kept(m, "words", self.words, stays)
        claim_kept(m, "arriving", self.arriving, stays)
        claim_kept(m, "transactions", self.transactions, stays)
        claim_kept(m, "received", self.received, Assert)
        claim_kept(m, "injected", self.injected, Assert, unless=~clock.now_open)
        m.d.sync += [
            Assert(~self.injected.valid | clock.now_open, "injected: outside the window"),
            Assert(~self.injected.valid | clock.good, "injected: in a window that is none"),
        ]
        return m


class InterfaceWindowProof(InterfaceCheck):
    """Proves `InterfaceCheck` for any number of cycles, whatever the network does.

    Parameters
    ----------
    target : NetworkInterface
        The interface itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self.sender = target.sender

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.clock.invariants(self.sender)
        m.d.sync += Cover(self.injected.valid & self.injected.payload.last, "a packet leaves")
        return m


class InterfaceFitProof(InterfaceWindowProof):
    """With a network that never stalls, every packet is within its window, with ``crossing`` cycles
    to spare, and no window closes over one.

    Parameters
    ----------
    target : NetworkInterface
        The interface itself.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        sender, window = self.sender, self.window
        whole, link_left = window.length == window.period, Signal(TIME_BITS)
        m.d.sync += link_left.eq(sender.left)  # cycles of the window that begin with this one
        last = self.injected.valid & self.injected.payload.last
        left, spare = sender.left, window.crossing
        m.d.sync += self.clock.agrees()
        m.d.sync += [
            Assume(self.injected.ready, "the network stalls"),
            Assert(~last | whole | (link_left > spare), "a packet does not fit its window"),
            Assert(self.overrun == 0, "a window closed over a packet"),
            Assert(~sender.overrun, "invariant: no window closes over a packet"),
            Assert(~sender.loaded | sender.open, "invariant: what is loaded is on offer"),
            Assert(~(sender.header | sender.body | sender.loaded) | ~self.clock.never,
                   "invariant: nothing leaves before the first window"),
            Assert(~sender.header | ((sender.of_packet != 0)
                                     & (whole | (sender.of_packet + 1 + spare <= left))),
                   "invariant: address and words fit"),
            Assert(~sender.body | ((sender.of_packet != 0)
                                   & (whole | (sender.of_packet + spare <= left))),
                   "invariant: the words fit"),
            Assert(~sender.between | (sender.remaining != 0), "invariant: words are left"),
            Assert(~(sender.header | sender.body) | (sender.of_last == (sender.remaining == 0)),
                   "invariant: the last packet is known"),
        ]
        return m
