"""A block's test bench: clock, reset, packed buses, and declarations of requesters.

A testbench is a coroutine that takes a `Bench`::

    @testbench
    async def contention(bench):
        bench.declare("access", requesters=2)
        seen = await bench.step(bench.inputs.pack({"requests": 3}))
        bench.check(seen, expected)

Latencies are counted by the block's probes (`cyclebound.tb.probe`), never by a testbench.
"""

import ctypes
import functools
import json
import operator
import os
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, SimTimeoutError, Timer, with_timeout
from cocotb.utils import get_sim_steps, get_sim_time

from cyclebound.tb.bus import Bus, Field

__all__ = ["Bench", "Mismatch", "interrupted", "testbench"]

PERIOD_NS = 10  # the simulated clock; only waveforms show it
_RESET_CYCLES = 2  # with the inputs at 0


class Mismatch(AssertionError):
    """The hardware shows something else than the model."""


class Bench:
    """One block in simulation, as one test drives it.

    Attributes
    ----------
    block : str
        The block's name, for testbenches that several blocks share.
    inputs, outputs : Bus
        The block's ports on the packed buses.
    parameters : dict
        The parameters that the block was built with.
    domain : dict[str, tuple[int, int]]
        For each parameter of a request, the least and the greatest value that an exhaustive test
        has to cover; empty if this configuration states no domain.
    seed : int
        The job's seed.
    rng : random.Random
        Seeded by the job's seed and the test's name.
    cycle : int
        The number of the current cycle, from this test's start.
    compared : int
        Comparisons with a model so far: by `check`, `check_fields` and `compare`, and by nothing
        else.
    bits : int
        Bits of outputs that `check` and `check_fields` have compared.
    again : int or None
        The cycle of the last reset that interrupted the test, from which on it has to measure anew.
    raised : str
        The exception that ended the test, if one did: it has not passed then, even if cocotb was
        told to expect that.
    """

    def __init__(self, dut, name: str) -> None:
        job = json.loads(Path(os.environ["CYCLEBOUND_JOB"]).read_text())
        self.name, self.dut = name, dut
        self.block: str = job["block"]
        self.parameters: dict = job["parameters"]
        self.domain: dict[str, tuple[int, int]] = {
            key: (low, high) for key, (low, high) in job["domain"].items()}
        self.inputs, self.outputs = Bus(job["fields"]["inputs"]), Bus(job["fields"]["outputs"])
        self.seed = job["seed"]
        self.rng = random.Random(f"{self.seed}/{name}")
        self.cycle = self._reset_end = self._compared = self._bits = 0
        self.max_cycles: int = job["max_cycles"]
        self._mutant: int = job.get("mutant", 0)
        self._folder = Path(job["folder"])
        self._probes: dict[str, list[dict[str, int]]] = job["probes"]
        self._declared = Bus({**field, "name": field["name"].lstrip(".")}
                             for field in job["declared"])
        self._declaring = 0  # what is on that bus
        self._ticked = Bus({**field, "name": field["name"].lstrip(".")}
                           for field in job["ticked"])
        self._classed = {probe["what"] for probe in job["printed"] if probe["classed"]}
        # the fields of each probe and place, by name
        self._declared_at: dict[tuple[str, str], dict[str, Field]] = {}
        for field in self._declared.fields.values():
            probe, name, place = field.name.split(".")
            self._declared_at.setdefault((probe, place), {})[name] = field
        self._said: list[tuple] = []
        self._followed: set[str] = set()
        self._resets: list[int] = []
        self._stops: list[dict[str, int]] = []  # the probes' ticks at each, and at the end
        self._shift = 0  # from a cycle's number here to the one that probes print
        self._idle = _RESET_CYCLES
        self._noise = random.Random(f"idle/{self.seed}/{name}")  # not `rng`: tests stay as they are
        self._valids = 0  # of input streams whose payload is random while there is no offer
        self._unoffered: dict[int, int] = {}  # their payloads' bits, by which of them are valid
        self._start = 0
        self._end: int | None = None
        self._counted: int | None = None
        self.again: int | None = None
        self.raised = ""
        self._edge, self._middle = RisingEdge(dut.clk), FallingEdge(dut.clk)
        self._in, self._out = dut.inputs, dut.outputs
        program = ctypes.CDLL(None)  # this process: simulator.cpp, or one that is not ours
        self._simulator = program if hasattr(program, "design_clock") else None
        if self._simulator is not None:
            program.design_input_bytes.restype = ctypes.c_uint64
            program.design_output_bytes.restype = ctypes.c_uint64

    async def start(self) -> None:
        """Start the clock (in C++, so that it costs no Python), and reset the block."""
        self._start_clock()
        self._start = self._time()
        if self._mutant:  # of a simulator that has many, see `cyclebound.sim.mutation.mutants`
            self.dut.mutant.value = self._mutant
        if self._start == 0:
            self._in.value = 0
        if self._declared.width:  # what the test before declared
            self.dut.declared.value = 0
        if self._probes:
            self.dut.count.value = 0
        await self.reset()

    def _start_clock(self) -> None:
        """The simulator's own clock, or cocotb's in one that has none."""
        if self._simulator is None:
            # no edge at 0, where inputs are x: what no reset changes, such as the probes' numbers
            # of lines, would be x for ever
            Clock(self.dut.clk, PERIOD_NS, unit="ns", impl="gpi").start(
                start_high=get_sim_time() > 0)
        else:
            self._simulator.design_clock(ctypes.c_uint64(get_sim_steps(PERIOD_NS, "ns") // 2))

    async def reset(self, *, idle: int | None = None) -> None:
        """Reset the block; the test's own models must start anew as well.

        The inputs keep their values for the first cycle of reset: to a bound checker it would
        otherwise look as if offers were withdrawn. ``idle`` cycles of reset follow (None: as many
        as is usual), in which they are 0: only without any does each register need its own reset.
        """
        self.dut.rst.value = 1
        self._resets.append(self._time())
        self._stops.append(self._ticks())
        await self._edge
        self._in.value = 0
        for _ in range(self._idle if idle is None else idle):
            await self._edge
        self.dut.rst.value = 0
        self.cycle = self._reset_end = self._now()
        if self._probes:  # at this edge, registers show what they held before it
            self._shift = int(self.dut.now.value) + 1 - self._time()

    async def restart(self) -> None:
        """`reset`, unless one has just ended: a second one would hide what the first has left."""
        if self.cycle != self._reset_end:
            await self.reset()

    def shorten_resets(self, idle: int) -> None:
        """Set the number of cycles with idle inputs of resets that do not name one themselves."""
        self._idle = idle

    @staticmethod
    def _time() -> int:
        """Cycles since simulation began."""
        return round(get_sim_time("ns")) // PERIOD_NS

    def _now(self) -> int:
        return self._time() - self._start

    def _ticks(self) -> dict[str, int]:
        """Ticks that probes have counted up to the edge that ended the last cycle."""
        if not self._ticked.width:
            return {}
        seen = int(self.dut.ticked.value)
        return {name: field.of(seen) for name, field in self._ticked.fields.items()}

    async def stop(self) -> None:
        """End the test: keep what probes have counted, and have them print how many lines there
        are. That takes a cycle of reset, which is none of the test's.
        """
        self._stopped()
        if self._probes:
            self.dut.rst.value = self.dut.count.value = 1
            await self._edge
            self._counted = int(self.dut.now.value)
            self.dut.count.value = 0
        # what happens at this edge is still to come; Verilator does it after the last test's end,
        # but for a mutant's process, which is over by then
        if "icarus" in cocotb.SIM_NAME.lower():
            await Timer(1, "ns")
        elif "CYCLEBOUND_MUTANTS" in os.environ:  # `cyclebound.tb.mutant_runs.VARIABLE`
            await Timer(1, "ps")

    def _stopped(self) -> int:
        """The test's end, which is now if it has not ended yet."""
        if self._end is None:
            self._stops.append(self._ticks())
            self._end = self._time()
        return self._end

    @property
    def edge(self) -> RisingEdge:
        """A trigger for the end of this cycle, for coroutines that run beside a test."""
        return self._edge

    def forget(self) -> None:
        """Take back all that was declared.

        Requests that begin from now on are of no class; those of a probe whose bound needs no
        declaration are of its class again, as from a test's start.
        """
        for what in self._probes:
            if what in self._classed:
                self.undeclare(what)
            else:
                self._tell(what, None, {})
                self._said.append((what, self._time(), None, {}))

    async def step(self, inputs: int = 0) -> int:
        """One cycle: drive ``inputs`` throughout it, and return the outputs seen at its end."""
        if self._valids:
            inputs |= self._idle_payloads(inputs & self._valids)
        self._in.value = inputs
        await self._edge  # registers still show what they held before this edge
        self.cycle += 1
        return self._seen()

    def _seen(self) -> int:
        """The outputs now."""
        if self._simulator is None:
            return int(self._out.value)
        # cocotb's value is an object with a range, and looks for x and z; Verilator knows neither
        return int(self._out._handle.get_signal_val_binstr(), 2)

    def scramble_idle(self) -> None:
        """Have `step` drive random payloads on input streams while their ``valid`` is 0.

        A testbench that drives 0 there does not notice a block that takes a payload for an offer.
        """
        self._valids = self.inputs.mask(
            f"{stream}.valid" for stream in self._streams() if f"{stream}.ready" in
            self.outputs.fields)

    def _streams(self) -> list[str]:
        """The input streams' names."""
        return [name.removesuffix(".payload") for name in self.inputs.fields
                if name.endswith(".payload")]

    def _idle_payloads(self, valids: int) -> int:
        """Random bits for the payloads of the streams that are not valid."""
        if valids not in self._unoffered:
            self._unoffered[valids] = self.inputs.mask(
                f"{stream}.payload" for stream in self._streams()
                if self._valids & ~valids & self.inputs[f"{stream}.valid"].mask)
        return self._noise.getrandbits(self.inputs.width) & self._unoffered[valids]

    async def play(self, inputs: Sequence[int]) -> list[int]:
        """A cycle for each of ``inputs``, as `step` makes them, and the outputs seen at its end;
        without running Python in between, if the simulator can do that.
        """
        if self._simulator is None or len(inputs) < 2:
            return [await self.step(word) for word in inputs]
        size, answer = self._bus_bytes()
        seen = await self._played(b"".join(word.to_bytes(size, "little") for word in inputs),
                                  len(inputs))
        kept = memoryview(seen).cast("B")
        return [int.from_bytes(kept[place:place + answer], "little")
                for place in range(0, len(seen), answer)]

    async def record(self, inputs: int, cycles: int) -> np.ndarray:
        """So many cycles with the same ``inputs``: the outputs at the end of each as a row of
        bytes, the lowest bits first; see `play`.
        """
        if self._simulator is None or cycles < 2:
            size = -(-self.outputs.width // 8)
            seen = b"".join([(await self.step(inputs)).to_bytes(size, "little")
                             for _ in range(cycles)])
        else:
            word = inputs.to_bytes(self._bus_bytes()[0], "little")
            seen = bytes(await self._played(word * cycles, cycles))
        return np.frombuffer(seen, np.uint8).reshape(cycles, -1)

    def _bus_bytes(self) -> tuple[int, int]:
        """Of the inputs and of the outputs of a cycle, as the simulator keeps them."""
        assert self._simulator is not None
        return self._simulator.design_input_bytes(), self._simulator.design_output_bytes()

    async def _played(self, words: bytes, count: int) -> ctypes.Array:
        """What is seen in so many cycles of these inputs."""
        simulator = self._simulator
        assert simulator is not None
        seen = ctypes.create_string_buffer(count * self._bus_bytes()[1])
        simulator.design_play(words, seen, ctypes.c_uint64(count))
        try:
            await self.wait(count)
        finally:  # a test may end before that: what it played goes away
            simulator.design_play(None, None, ctypes.c_uint64(0))
        return seen

    async def peek(self) -> int:
        """The outputs in mid-cycle, before the `step` that ends it; `step`'s inputs may depend on
        them. Outputs that depend on inputs without a register still see those of the last cycle.
        """
        await self._middle
        return self._seen()

    def drive(self, inputs: int) -> None:
        """Drive ``inputs`` from now on, for a `wait`."""
        self._in.value = inputs

    async def wait(self, cycles: int) -> int:
        """Wait for ``cycles`` cycles without running Python; return the outputs seen at the end."""
        if cycles > 1:
            # into the last cycle: a timer that ended at an edge would still see that one come
            await Timer((cycles - 1) * PERIOD_NS + PERIOD_NS // 4, "ns")
        await self._edge
        self.cycle = self._now()
        return self._seen()

    async def run_until(self, name: str, *, poll: int = 10_000) -> int:
        """Wait until the one-bit output ``name`` is set; return the outputs seen then."""
        field = self.outputs[name]
        while not field.of(seen := await self.wait(poll)):
            pass
        return seen

    def check(self, seen: int, expected: int, care: int = -1) -> None:
        """Compare the outputs of the cycle that `step` has just ended, where ``care`` has ones."""
        self._compared += care != 0
        self._bits += care.bit_count() if care >= 0 else self.outputs.width
        if (seen ^ expected) & care:
            raise Mismatch(f"cycle {self.cycle - 1}: "
                           f"{self.outputs.differing(seen, expected, care)}")

    def check_fields(self, seen: int, expected: Mapping[str, int]) -> None:
        """`check` these fields of the outputs, and no others."""
        self.check(seen, self.outputs.pack(expected), self.outputs.mask(expected))

    def compare(self, seen: object, expected: object, what: str, *, count: int = 1) -> None:
        """Compare what the hardware has shown or left with what the model says.

        Parameters
        ----------
        seen, expected : object
            Equal if they are right: numbers, lists, bytes, arrays of numpy.
        what : str
            Names them in the message of a mismatch.
        count : int
            The number of comparisons that it stands for: of a checksum in hardware, that of results
            in it.
        """
        self._compared += count
        arrays = isinstance(seen, np.ndarray) or isinstance(expected, np.ndarray)
        if not (np.array_equal(seen, expected) if arrays else seen == expected):  # type: ignore
            raise Mismatch(f"cycle {self.cycle - 1}: {what} {_differs(seen, expected)}")

    @property
    def compared(self) -> int:
        return self._compared

    @property
    def bits(self) -> int:
        return self._bits

    def declare(self, what: str, at: Mapping[str, int] | None = None, /,
                **parameters: int) -> None:
        """Declare the parameters of requests ``what`` that begin in this cycle or later.

        They hold until the next declaration. A request keeps those that were declared when it
        began: events after that cannot change its parameters.

        Parameters
        ----------
        at : mapping or None
            Indexes of the probe, by letter, for which they are declared; None: for all of them.
        parameters : int
            Parameters of the bound that the requester knows and that ports do not show.
        """
        if what not in self._probes:
            raise ValueError(f"no probe is called {what!r}; there are {', '.join(self._probes)}")
        parameters = {name: int(operator.index(value)) for name, value in parameters.items()}
        self._tell(what, at, {"on": 1, **parameters})
        # by simulated time: `cycle` stands still while another coroutine waits
        self._said.append((what, self._time(), at, parameters))

    def undeclare(self, what: str, at: Mapping[str, int] | None = None, /) -> None:
        """Declare that requests ``what`` from this cycle on are not of the bound's class."""
        self._tell(what, at, {})
        self._said.append((what, self._time(), at, None))

    def follow(self, what: str, /) -> None:
        """Make a probe follow requests from this cycle on, before any is declared; for tests whose
        first declaration comes while earlier requests are under way.
        """
        self._followed.add(what)
        self._tell(what, None, {})

    def _tell(self, what: str, at: Mapping[str, int] | None, parameters: Mapping[str, int]) -> None:
        """Drive what hardware reads of it; what is not said is 0."""
        word = self._declaring
        parameters = {"follow": int(what in self._followed), **parameters}
        for number, place in enumerate(self._probes[what]):
            if at is None or place == dict(at):
                for name, field in self._declared_at.get((what, str(number)), {}).items():
                    word = word & ~field.mask | field.to(parameters.get(name, 0))
        if word != self._declaring:
            self._declaring = self.dut.declared.value = word

    def close(self) -> None:
        """Write the test's results to a file; the probes have printed theirs."""
        end = self._stopped()  # if the simulation ended while it ran
        meta = {"test": self.name, "start": self._start, "said": self._said,
                "resets": self._resets, "stops": self._stops, "shift": self._shift,
                "end": end, "counted": self._counted, "raised": self.raised,
                "again": self.again, "compared": self.compared, "bits": self.bits,
                "cycles": end - self._start}
        whole = self._folder / f"{self.name}.json"  # renamed when it is complete
        whole.write_text(json.dumps(meta))
        whole.rename(self._folder / f"observed-{self.name}.json")


def _differs(seen: object, expected: object) -> str:
    """How two values differ; of arrays and lists of equal shape, where they first do."""
    if isinstance(seen, np.ndarray | list | tuple | bytes | bytearray) and not isinstance(
            expected, str):
        try:
            have, want = (np.asarray(list(one) if isinstance(one, bytes | bytearray) else one)
                          for one in (seen, expected))
        except (TypeError, ValueError):  # of lists of several lengths
            have = want = np.zeros(())
        if have.shape == want.shape and have.ndim and (places := np.argwhere(have != want)).size:
            at = tuple(places[0])
            more = f"; {len(places)} places differ" if len(places) > 1 else ""
            where = ", ".join(map(str, at))
            return f"is {have[at]} at [{where}], expected {want[at]}{more}"
    return f"is {seen!r}, expected {expected!r}"


def testbench(function: Callable[[Bench], Awaitable[None]]):
    """Make a coroutine that takes a `Bench` into a cocotb test, with its limit on cycles."""

    @functools.wraps(function)
    async def run(dut) -> None:
        bench = Bench(dut, function.__name__)
        await bench.start()
        try:
            await with_timeout(cocotb.start_soon(function(bench)),
                               bench.max_cycles * PERIOD_NS, "ns")
            await bench.stop()
        except SimTimeoutError:
            bench.raised = "a limit"
            await bench.stop()
            raise AssertionError(f"{bench.name} still ran after {bench.max_cycles} cycles, the "
                                 "limit of this testbench") from None
        except Exception as error:
            bench.raised = type(error).__name__
            await bench.stop()
            raise
        finally:
            bench.close()

    del run.__wrapped__  # cocotb looks at the signature: it must see the one of `run`
    test = cocotb.test()(run)
    test.scenario = function  # type: ignore[attr-defined]  # cocotb's class takes any attribute
    return test


def interrupted(test, *, times: int = 3, longest: int = 60, quiet: bool = False,
                last: int | None = None, brief: bool = False, driven: bool = False, then=None):
    """A test `reset_in_mid_run`: ``test`` is begun several times and cut off by a reset, then runs.

    Its models begin anew each time, so that it fails if a reset leaves anything in the block that
    shows. Memories are not reset: what the test needs in them it writes itself.

    Parameters
    ----------
    test : testbench
        The test that is interrupted.
    times : int
        How often it is.
    longest : int
        Most cycles that it runs before a reset; how many is random, 1 at least.
    quiet : bool
        All inputs are 0 for a cycle before each reset: for blocks whose inputs must not stay as
        they are.
    last : int or None
        Cycles that it runs after the last of these resets; None: to its end.
    brief : bool
        Resets have two cycles with idle inputs, as is usual, but the last but one has one, and the
        last and all after it, also the test's own, have none: idle inputs could clear a register
        that has lost its reset.
    driven : bool
        In the first cycle of these resets the inputs are those with which the test would have gone
        on: for blocks to which nothing must be offered twice.
    then : testbench or None
        Another test, which runs ``last`` cycles (``longest``, if that is None) after one more
        reset. For a ``test`` whose requests have no bound: what this one measures is what the block
        takes after a reset.
    """
    async def reset_in_mid_run(bench: Bench) -> None:
        async def begin(cycles: int, test=test) -> None:
            beginning = cocotb.start_soon(test.scenario(bench))
            for _ in range(cycles):
                await bench.edge
                if beginning.done():
                    break
            if driven:
                await Timer(PERIOD_NS // 4, "ns")  # what follows from the edge has been driven
            if beginning.done():
                beginning.result()
            beginning.cancel()

        for left in reversed(range(times)):
            await begin(bench.rng.randint(1, longest))
            bench.forget()
            if quiet:
                await bench.step()
            if brief:
                bench.shorten_resets(min(left, _RESET_CYCLES))
            await bench.reset()
        bench.again = bench.cycle
        if last is None:
            await test.scenario(bench)
        else:
            await begin(last)
        if then is not None:
            bench.forget()
            if quiet:
                await bench.step()
            await bench.reset()
            bench.again = bench.cycle
            await begin(last or longest, then)

    reset_in_mid_run.__qualname__ = reset_in_mid_run.__name__  # which results show
    return testbench(reset_in_mid_run)
