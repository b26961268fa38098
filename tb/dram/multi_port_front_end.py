"""Testbench of the multi-port front end: every output compared in every cycle."""

from collections.abc import Callable, Iterable

from cyclebound.golden.dram.multi_port_front_end import MultiPortFrontEndModel
from cyclebound.tb.bench import Bench, interrupted, testbench


class Scene:
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
    scene = Scene(bench)
    for _ in range(400):
        await scene.cycle(range(scene.ports))
    assert all(scene.granted[port] for port in range(scene.ports)
               if scene.limits[port] or port in scene._top)
    await scene.drain()


@testbench
async def all_starve_at_once(bench: Bench) -> None:
    """For each port: it starves alone, then together with all others, and is the last of them."""
    scene = Scene(bench)
    starving = [port for port, limit in enumerate(scene.limits) if limit]
    always = [port for port in range(scene.ports) if port not in starving]
    longest = max(scene.limits)
    for last in starving:
        await scene.drain()
        while await scene.cycle([*always, last]) != last or not scene.limits[last]:
            pass
        for cycle in range(2 * (longest + scene.ports)):
            asking = [port for port in starving if longest - scene.limits[port] == cycle]
            await scene.cycle([*always, *asking])
    await scene.drain()


async def _random(bench: Bench, ready: Callable[[], bool], cycles: int, *,
                  stalls: bool = False) -> None:
    for ask in (0.05, 0.3, 0.9):
        await bench.reset()
        scene = Scene(bench)
        scene.declare(stalls=stalls)
        rates = [ask * bench.rng.random() for _ in range(scene.ports)]
        for _ in range(cycles):
            await scene.cycle([port for port, rate in enumerate(rates)
                               if bench.rng.random() < rate], ready())
        await scene.drain()
        assert sum(scene.granted) > cycles * ask / 20


@testbench
async def random_requests(bench: Bench) -> None:
    await _random(bench, lambda: True, 400)


@testbench
async def random_requests_and_stalls(bench: Bench) -> None:
    await _random(bench, lambda: bench.rng.random() < 0.4, 600, stalls=True)


reset_in_mid_run = interrupted(random_requests_and_stalls)
