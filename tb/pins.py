"""Signals for clients that nobody here wrote: each port of a block, as cocotb's own handles look.

The top of a simulation has two packed buses (``bus.py``). A client made for cocotb, such as those
of cocotbext-axi, wants a handle for each signal. `Pins` has one for each port::

    pins = Pins(bench)
    master = AxiMaster(AxiBus.from_prefix(pins, "s_axi"), bench.dut.clk)
    seen, driven = await pins.step(dq_in=5)  # in place of bench.step
"""

from collections.abc import Generator

from cocotb.handle import Immediate, LogicArrayObject
from cocotb.triggers import FallingEdge
from cocotb.types import LogicArray
from cocotb.utils import get_sim_time

from cyclebound.tb.bench import Bench
from cyclebound.tb.bus import Field

__all__ = ["Edge", "Pin", "Pins"]


class Edge:
    """Waits until a pin rises (or falls), and has the outputs' combinational paths settled.

    It looks in the middle of each cycle: a change that lasts to the next rising edge of the clock
    is seen, and none is missed that a client could sample there.
    """

    def __init__(self, pin: "Pin", level: int) -> None:
        self._pin, self._level = pin, level

    def __await__(self) -> Generator:
        return self._wait().__await__()

    async def _wait(self) -> None:
        middle, before = FallingEdge(self._pin.clock), self._pin.number
        while True:
            await middle
            now = self._pin.number
            if now == self._level != before:
                return
            before = now


class Pin(LogicArrayObject):
    """One port. An input's value is what it is driven with; in a rising edge, until that edge.

    It is a `LogicArrayObject` by name only, for `RisingEdge` and others that look at the type.
    """

    def __init__(self, pins: "Pins", field: Field, driven: bool) -> None:
        self._pins, self._field, self._driven = pins, field, driven
        self._name = self._path = field.name
        self.clock = pins.bench.dut.clk

    @property
    def number(self) -> int:
        """The value as an integer."""
        return self._field.of(self._pins.driven if self._driven else self._pins.seen)

    def get(self) -> LogicArray:
        return LogicArray.from_unsigned(self.number, self._field.width)

    def set(self, value: object) -> None:
        if not self._driven:
            raise TypeError(f"{self._name} is an output of the block, and cannot be driven")
        if isinstance(value, Immediate):
            value = value.value
        if isinstance(value, LogicArray):  # X: anything
            value = int(value) if value.is_resolvable else int(value.resolve("random"))
        self._pins.put(self._field, int(value))

    value = property(get, set)
    setimmediatevalue = set

    def __len__(self) -> int:
        return self._field.width

    def __repr__(self) -> str:
        return f"Pin({self._name})"

    @property
    def rising_edge(self) -> Edge:
        return Edge(self, 1)

    @property
    def falling_edge(self) -> Edge:
        return Edge(self, 0)


class Pins:
    """All ports of the block under test; each is an attribute of its name.

    Attributes
    ----------
    bench : Bench
        Whose buses they are on.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._name, self._log = bench.name, bench.dut._log
        self._word = 0  # what the inputs are going to be
        self._read: dict[bool, tuple[object, int]] = {}
        for driven, bus in ((True, bench.inputs), (False, bench.outputs)):
            for name, field in bus.fields.items():
                if "." not in name:
                    setattr(self, name, Pin(self, field, driven))

    @property
    def driven(self) -> int:
        """The inputs as they are in this moment."""
        return self._look(True)

    @property
    def seen(self) -> int:
        """The outputs as they are in this moment."""
        return self._look(False)

    def _look(self, driven: bool) -> int:
        # a wide bus is read once for all who look at the same time
        now = get_sim_time("step")
        kept = self._read.get(driven)
        if kept is None or kept[0] != now:
            bus = self.bench.dut.inputs if driven else self.bench.dut.outputs
            kept = self._read[driven] = now, int(bus.value)
        return kept[1]

    def put(self, field: Field, value: int) -> None:
        """Drive one field from now on."""
        word = self._word & ~field.mask | field.to(value)
        if word != self._word:
            self._word = word
            self.bench.drive(word)

    async def step(self, **values: int) -> tuple[int, int]:
        """One cycle with these inputs, and all others as they are; a `Bench.step` among clients.

        Returns the outputs and the inputs at its end.
        """
        for name, value in values.items():
            field = self.bench.inputs[name]
            self._word = self._word & ~field.mask | field.to(value)
        await self.bench.step(self._word)
        return self.seen, self.driven
