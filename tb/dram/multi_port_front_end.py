"""Testbench of the multi-port front end: every output compared in every cycle."""

from collections.abc import Callable, Iterable

from cyclebound.golden.dram.multi_port_front_end import MultiPortFrontEndModel
from cyclebound.tb.bench import Bench, interrupted, testbench


class MultiPortFrontEndTester:
    """The front end, its model, and a master at each port; one `cycle` at a time.

    Attributes
    ----------
    granted : list[int]
        How many requests of each port have been taken.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        p = bench.parameters
        self.priorities, self.limits, self.width = p["priorities"], p["limits"], p["width"]
        self.ports = len(self.priorities)
        self.model = MultiPortFrontEndModel(priorities=self.priorities, limits=self.limits)
        self._offers: dict[int, int] = {}
        self.granted = [0] * self.ports
        self._top = [port for port in range(self.ports) if not self.limits[port]
                     and self.priorities[port] == max(self.priorities)]
        self.declare()

    def declare(self, *, stalls: bool = False) -> None:
        """Declare the ports at which waits have a bound; ``stalls``: the sink will stall."""
        for port, limit in enumerate(self.limits):
            if limit or (port in self._top and not stalls):
                self.bench.declare("wait", {"p": port})
            else:
                self.bench.undeclare("wait", {"p": port})

    async def cycle(self, asking: Iterable[int], ready: bool = True) -> int | None:
        """One cycle in which these ports ask, besides those that wait; returns the grant."""
        bench = self.bench
        for port in asking:
            if port not in self._offers:
                self._offers[port] = bench.rng.getrandbits(self.width)
        values: dict[str, int] = {"source.ready": ready}
        for port, payload in self._offers.items():
            values |= {f"sinks.{port}.valid": 1, f"sinks.{port}.payload": payload}
        seen = await bench.step(bench.inputs.pack(values))
        granted, shown = self.model.step(self._offers, ready)
        expected = {f"sinks.{port}.ready": port == granted for port in range(self.ports)}
        expected["source.valid"] = shown is not None
        if shown is not None:
            expected |= {f"source.payload.{name}": value
                         for name, value in shown._asdict().items()}
        bench.check_fields(seen, expected)
        if granted is not None:
            self.granted[granted] += 1
            del self._offers[granted]
        return granted

    async def drain(self) -> None:
        """Run cycles until there is no request."""
        while self._offers:
            await self.cycle(())
        await self.cycle(())


@testbench
async def all_always_ask(bench: Bench) -> None:
    tester = MultiPortFrontEndTester(bench)
    for _ in range(400):
        await tester.cycle(range(tester.ports))
    assert all(tester.granted[port] for port in range(tester.ports)
               if tester.limits[port] or port in tester._top)
    await tester.drain()


@testbench
async def all_starve_at_once(bench: Bench) -> None:
    """For each port: it starves alone, then together with all others, and is the last of them."""
    tester = MultiPortFrontEndTester(bench)
    starving = [port for port, limit in enumerate(tester.limits) if limit]
    always = [port for port in range(tester.ports) if port not in starving]
    longest = max(tester.limits)
    for last in starving:
        await tester.drain()
        while await tester.cycle([*always, last]) != last or not tester.limits[last]:
            pass
        for cycle in range(2 * (longest + tester.ports)):
            asking = [port for port in starving if longest - tester.limits[port] == cycle]
            await tester.cycle([*always, *asking])
    await tester.drain()


async def _random(bench: Bench, ready: Callable[[], bool], cycles: int, *,
                  stalls: bool = False) -> None:
    for ask in (0.05, 0.3, 0.9):
        await bench.reset()
        tester = MultiPortFrontEndTester(bench)
        tester.declare(stalls=stalls)
        rates = [ask * bench.rng.random() for _ in range(tester.ports)]
        for _ in range(cycles):
            await tester.cycle([port for port, rate in enumerate(rates)
                                if bench.rng.random() < rate], ready())
        await tester.drain()
        assert sum(tester.granted) > cycles * ask / 20


@testbench
async def random_requests(bench: Bench) -> None:
    await _random(bench, lambda: True, 400)


@testbench
async def random_requests_and_stalls(bench: Bench) -> None:
    await _random(bench, lambda: bench.rng.random() < 0.4, 600, stalls=True)


reset_in_mid_run = interrupted(random_requests_and_stalls)
