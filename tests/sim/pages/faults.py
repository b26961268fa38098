"""A catalogue page whose blocks go wrong, each in its own way; all are the same hardware."""

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from matplotlib.figure import Figure

from cyclebound.golden.bound import bound
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Picture, Testbench
from cyclebound.tb.probe import Probe


class Delay(wiring.Component):
    """``done`` is ``go`` of some cycles ago. What ``fault`` says is up to the testbench."""

    def __init__(self, *, cycles, fault="none"):
        if cycles < 1:
            raise ValueError(f"Delay must be at least 1 cycle, not {cycles}")
        self.cycles = cycles
        super().__init__({"go": In(1), "done": Out(1)})

    def elaborate(self, platform):
        m = Module()
        line = Signal(self.cycles)
        m.d.sync += line.eq((line << 1) | self.go)
        m.d.comb += self.done.eq(line[-1])
        return m


class NeverDone(wiring.Component):
    """A bound checker that takes every answer for a mistake."""

    def __init__(self, target):
        super().__init__({"go": In(1), "done": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += Assert(~self.done, "it was done")
        return m


@bound(formula="d + 1", source="this test")
def delay(*, cycles: int) -> int:
    """The line, and the cycle of the request."""
    return cycles + 1


@bound(formula="d", source="this test")
def too_low(*, cycles: int) -> int:
    """A cycle less than it takes."""
    return cycles


@bound(formula="1 / 0", source="this test")
def broken(*, cycles: int) -> int:
    """A formula with a mistake in it."""
    return cycles // 0


def bars(kept, *, colour):
    """What the testbench kept, as bars."""
    figure = Figure()
    figure.subplots().bar(range(len(kept)), kept, color=colour)
    return figure


def nothing():
    raise ZeroDivisionError("nothing to draw")


DELAYED = Probe("go", "done", in_flight=8)

PICTURES = (
    Picture("bars", "Delays of a run.", "faults:bars", {"colour": "red"}, kept="delays.json",
            testbenches=("cycle",)),
    Picture("long", "The same, for minutes.", "faults:bars", thorough=True),
    Picture("nothing", "It fails.", "faults:nothing"))


def _block(name, *, formula=delay, checker=None, cycles=(3,), module="faults_bench", **bench):
    return Block(
        f"test.{name}", f"a delay line: {name}", Delay,
        {f"d{number}": Configuration({"cycles": number, "fault": name}) for number in cycles},
        (Testbench("cycle", module, **bench),),
        (BoundBinding("delay", formula, DELAYED),), checker=checker,
        pictures=PICTURES if name == "good" else ())


BLOCKS = (
    _block("good", cycles=(3, 5)),
    _block("silent"),
    _block("violated", formula=too_low),
    _block("broken_bound", formula=broken),
    _block("mismatch"),
    _block("unchecked"),
    _block("endless", max_cycles=300),
    _block("hanging"),
    _block("asserting", checker=NeverDone),
    _block("dying"),
    _block("wordless"),
    _block("skipping", module="skipping_bench"),
    _block("expecting", module="expecting_bench"),
    _block("many"),
    _block("better"),
    _block("slow", seeds=4),
    _block("murderous", seeds=2),
)
