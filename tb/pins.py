"""Signals for clients from other projects: each port of a block, as cocotb's own handles look.

The top of a simulation has two packed buses (``bus.py``). A client made for cocotb, such as those
of cocotbext-axi, wants a handle for each signal. `Pins` has one for each port::

    pins = Pins(bench)
    master = AxiMaster(AxiBus.from_prefix(pins, "s_axi"), bench.dut.clk)
    seen, driven = await pins.step(dq_in=5)  # in place of bench.step
"""

from collections.abc import Generator

from cocotb.handle import Immediate, LogicArrayObject
from cocotb.triggers import ValueChange, current_gpi_trigger
from cocotb.types import LogicArray
from cocotb.utils import get_sim_time

from cyclebound.tb.bench import Bench
from cyclebound.tb.bus import Field

__all__ = ["Edge", "Pin", "Pins"]


class Edge:
    """Waits until a pin rises (or falls)."""

    def __init__(self, pin: "Pin", level: int) -> None:
        self._pin, self._level = pin, level

    def __await__(self) -> Generator:
        return self._wait().__await__()

    async def _wait(self) -> None:
        bus, of = self._pin.bus, self._pin.field.of
        changed, before = ValueChange(bus), of(int(bus.value))
        while True:
            await changed
            now = of(int(bus.value))
            if now == self._level != before:
                return
            before = now


class Pin(LogicArrayObject):
    """One port. What is written to an input shows as its value once the simulator has seen it.

    It is a `LogicArrayObject` by name only, for `RisingEdge` and others that look at the type.
    """

    def __init__(self, pins: "Pins", field: Field, driven: bool) -> None:
        self._pins, self.field, self._driven = pins, field, driven
        self._name = self._path = field.name
        self.bus = pins.bench.dut.inputs if driven else pins.bench.dut.outputs

    def get(self) -> LogicArray:
        word = self._pins.driven if self._driven else self._pins.seen
        return LogicArray.from_unsigned(self.field.of(word), self.field.width)

    def set(self, value: LogicArray | int | Immediate) -> None:  # type: ignore[override]  # no text
        if not self._driven:
            raise TypeError(f"{self._name} is an output of the block, and cannot be driven")
        written = value.value if isinstance(value, Immediate) else value
        if isinstance(written, LogicArray):  # X: anything
            written = written if written.is_resolvable else written.resolve("random")
        self._pins.put(self.field, int(written))

    value = property(get, set)
    setimmediatevalue = set  # type: ignore[assignment]  # likewise

    def __len__(self) -> int:
        return self.field.width

    def __repr__(self) -> str:
        return f"Pin({self._name})"

    @property
    def rising_edge(self) -> Edge:  # type: ignore[override]  # a trigger for a part of a bus
        return Edge(self, 1)

    @property
    def falling_edge(self) -> Edge:  # type: ignore[override]  # likewise
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
        self._released = False
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
        # a wide bus is read once for all that wake up by the same edge
        now = get_sim_time("step"), current_gpi_trigger()
        kept = self._read.get(driven)
        if kept is None or kept[0] != now:
            bus = self.bench.dut.inputs if driven else self.bench.dut.outputs
            kept = self._read[driven] = now, int(bus.value)
        return kept[1]

    def release(self) -> None:
        """Leave the inputs as they are from now on, whatever the clients write."""
        self._released = True

    def put(self, field: Field, value: int) -> None:
        """Drive one field from now on."""
        word = self._word & ~field.mask | field.to(value)
        if word != self._word and not self._released:
            self._word = word
            self.bench.drive(word)

    async def step(self, **values: int) -> tuple[int, int]:
        """One cycle with these inputs, and all others as they are; a `Bench.step` among clients.

        Returns the outputs and the inputs at its end.
        """
        for name, value in values.items():
            field = self.bench.inputs[name]
            self._word = self._word & ~field.mask | field.to(value)
        seen = await self.bench.step(self._word)
        return seen, self.driven
