"""Work-group scheduler: when a work-group is launched into a slot, and which accesses wait.

Ref: Sim-D, section 4.2.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.simd.machine import SLOTS, machine_named
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.interfaces import (
    GRID_BITS,
    NUMBER_BITS,
    POLICY_BITS,
    GridLayout,
    LaunchLayout,
)

__all__ = [
    "ACCESS",
    "COMPUTE",
    "PAIRWISE",
    "UNCONSTRAINED",
    "YIELD",
    "SlotEvent",
    "StartLayout",
    "WorkGroupScheduler",
]

UNCONSTRAINED, PAIRWISE, ACCESS, YIELD, COMPUTE = range(5)
"""Policies as the host names them, which refuses other numbers; here these are as pairwise."""


class StartLayout(data.StructLayout):
    """A kernel's ``grid``, and its ``policy`` by number."""

    def __init__(self, *, machine):
        super().__init__({"grid": GridLayout(machine=machine), "policy": POLICY_BITS})


class SlotEvent(data.Struct):
    """The events of one slot's work-group in a cycle.

    ``committed``: its access was committed in the cycle before; of a ``scratchpad`` or of DRAM;
    ``final``: the work-group ends with this store. ``over``: the access is over. ``ended``: it
    ended in the cycle before, without a last store.
    """

    committed: 1
    scratchpad: 1
    final: 1
    over: 1
    ended: 1


class WorkGroupScheduler(wiring.Component):
    """Launches the work-groups of a grid, x first, into free slots: one a cycle, lower slot first.

    Latency: none. A slot that is free in a cycle gets the next work-group in that cycle, unless
    the lower slot gets it or the policy forbids it. An access that need not wait may begin in the
    cycle after its commit.

    Policies, by number: 0 unconstrained; 1 pairwise: work-groups 2k and 2k + 1 start when all
    before them have begun their last store or have ended; 2 access: the same, and scratchpads take
    turns with DRAM in the order of the commits; 3 yield and 4 compute: as 1 here. What these two
    add is in the compute unit: it issues nothing while a scratchpad transfers; then with 3 the
    other work-group is first, and with 4 the one whose transfer it was goes on. Other numbers are
    as 1.

    Parameters
    ----------
    machine : Machine or str
        Sizes, or the name of a machine.

    Members
    -------
    start : In(Strobe(StartLayout))
        A kernel; ignored while one runs. No size may be 0.
    stop : In(1)
        The kernel is stopped: no work-group is launched from this cycle on, and slots are free as
        soon as no access of theirs is under way.
    events : In(SlotEvent).array(2)
        What happens to each slot's work-group.
    launch : Out(Strobe(LaunchLayout))
        A work-group for a slot. It may issue from the next cycle on.
    begin : Out(2)
        The slots whose access may proceed: from its commit, or its turn, to its end.
    waits : Out(2)
        The slots with an access that waits for the other one's.
    left : Out(1)
        A work-group is still to be launched.
    idle : Out(1)
        No work-group runs, and none is still to be launched.

    Attributes
    ----------
    kernel : View of StartLayout
        The kernel that was started last.
    """

    def __init__(self, *, machine):
        self.machine = machine_named(machine)
        super().__init__({
            "start": In(Strobe(StartLayout(machine=self.machine))), "stop": In(1),
            "events": In(data.Layout.cast(SlotEvent)).array(SLOTS),
            "launch": Out(Strobe(LaunchLayout())), "begin": Out(SLOTS), "waits": Out(SLOTS),
            "left": Out(1), "idle": Out(1),
        })
        # the state; a proof has to speak of it
        self.kernel = Signal(StartLayout(machine=self.machine))
        self.number = Signal(NUMBER_BITS)
        self.x, self.y = Signal(GRID_BITS), Signal(GRID_BITS)  # of the next work-group
        self.more = Signal()                      # there is one
        self.active = Signal(SLOTS)               # slots with a work-group
        self.odd = Signal()                       # an odd number was launched
        self.unfinished = Signal(range(SLOTS + 1))  # launched, and not finished
        self.accessing = Signal(SLOTS)            # slots with an access under way
        self.scratchpad = Signal(SLOTS)           # it is of the scratchpad
        self.final = Signal(SLOTS)                # it is the last store
        self.waiting = Signal(SLOTS)              # it waits for the other slot's
        self.stopped = Signal()                   # until the machine is idle

    def elaborate(self, platform):
        m = Module()
        grid, policy, events = self.kernel.grid, self.kernel.policy, self.events

        # -- what is true from this cycle on ---------------------------------------------------
        committed = Cat(event.committed for event in events)
        over = Cat(event.over for event in events)
        ended = Cat(event.ended for event in events)
        finished = Cat(event.ended | (event.committed & event.final) for event in events)
        stopped = Signal()
        active, goes_on, left = Signal(SLOTS), Signal(SLOTS), Signal(range(SLOTS + 1))
        m.d.comb += [
            stopped.eq(self.stopped | self.stop),
            goes_on.eq((self.accessing & ~over) | committed),
            active.eq(self.active & ~ended & ~(over & self.final)
                      & (goes_on | ~stopped.replicate(SLOTS))),
            left.eq(self.unfinished - finished[0] - finished[1]),
        ]

        # -- work-groups -----------------------------------------------------------------------
        launch = self.launch
        paired = policy != UNCONSTRAINED
        m.d.comb += [
            launch.valid.eq(self.left & ~active.all()
                            & (~paired | (left <= self.odd))),
            launch.payload.slot.eq(active[0]),
            launch.payload.number.eq(self.number),
            launch.payload.x.eq(self.x),
            launch.payload.y.eq(self.y),
            self.left.eq(self.more & ~stopped),
            self.idle.eq(~self.left & ~active.any()),
        ]
        m.d.sync += [
            self.active.eq(active | (launch.valid << launch.payload.slot)),
            self.unfinished.eq(left + launch.valid),
        ]
        right, below = Signal(GRID_BITS + 1), Signal(GRID_BITS + 1)
        m.d.comb += [right.eq(self.x + (1 << grid.width)),
                     below.eq(self.y + (self.machine.items >> grid.width))]
        with m.If(launch.valid):
            m.d.sync += [self.odd.eq(~self.odd), self.x.eq(right), self.number.eq(self.number + 1)]
            with m.If(right >= grid.x):
                m.d.sync += [self.x.eq(0), self.y.eq(below), self.more.eq(below < grid.y)]
        m.d.sync += self.stopped.eq(stopped & ~self.idle)
        with m.If(stopped):
            m.d.sync += [self.more.eq(0), self.unfinished.eq(0)]
        with m.Elif(self.start.valid & self.idle):
            m.d.sync += [self.kernel.eq(self.start.payload), self.number.eq(0), self.x.eq(0),
                         self.y.eq(0), self.more.eq(1), self.odd.eq(0), self.unfinished.eq(0)]

        # -- accesses --------------------------------------------------------------------------
        # Of two, the other slot's was committed earlier if this one waits for it.
        waiting = Signal(SLOTS)
        for slot, event in enumerate(events):
            other = 1 - slot
            first = self.accessing[other] & ~over[other]  # its access was there before
            blocks = (policy == ACCESS) & (event.scratchpad | self.scratchpad[other])
            m.d.comb += waiting[slot].eq(first & Mux(event.committed, blocks, self.waiting[slot]))
            with m.If(event.committed):
                m.d.sync += [self.scratchpad[slot].eq(event.scratchpad),
                             self.final[slot].eq(event.final)]
            with m.Elif(event.over):
                m.d.sync += self.final[slot].eq(0)
        m.d.sync += [self.accessing.eq(goes_on), self.waiting.eq(waiting)]
        m.d.comb += [self.begin.eq(goes_on & ~waiting), self.waits.eq(goes_on & waiting)]
        return m
