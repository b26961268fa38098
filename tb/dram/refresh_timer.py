"""Testbench of the refresh timer."""

from cyclebound.golden.dram.refresh_timer import RefreshTimerModel
from cyclebound.tb.bench import Bench, testbench


class Scene:
    """The timer beside its model; one `cycle` at a time, from a reset."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.interval = bench, bench.parameters["interval"]
        self.most = bench.parameters.get("most", 8)
        self.model = RefreshTimerModel(interval=self.interval, most=self.most)
        self._start, self._last = bench.cycle, None
        self._owed = bench.outputs["owed"]
        self._before = self._known = self.served = 0

    @property
    def now(self) -> int:
        """The coming cycle, from the reset."""
        return self.bench.cycle - self._start

    async def cycle(self, done: bool):
        """Compare all outputs of a cycle, and observe what happens in it; returns them."""
        bench, now = self.bench, self.bench.cycle
        seen = await bench.step(bench.inputs.pack({"done": done}))
        shown, due = self.model.step(done)
        bench.check(seen, bench.outputs.pack(shown._asdict()))
        # What the timer itself says: one more than what remained of the cycle before.
        if self._owed.of(seen) > self._before and not shown.late:
            self._known += 1
            bench.observe("request", self._start + self._known * self.interval, now,
                          interval=self.interval)
        self._before = self._owed.of(seen) - (due is not None)
        if due is not None and not shown.late:
            bench.observe("deadline", self._start + due, now, interval=self.interval,
                          most=self.most)
            first = self._start if self._last is None else self._last
            bench.observe("gap", first, now, latency=now - first, interval=self.interval,
                          most=self.most)
            self._last = now
            self.served += 1
        return shown

    async def until(self, cycle: int, done: bool = False):
        """Let cycles pass up to ``cycle``, not included; returns the last one's outputs."""
        shown = None
        while self.now < cycle:
            shown = await self.cycle(done)
        return shown


@testbench
async def the_last_moment(bench: Bench) -> None:
    """As late as it may be; and then a cycle later, which is too late."""
    scene = Scene(bench)
    interval, most = scene.interval, scene.most
    await scene.until(interval)
    await scene.cycle(done=True)                   # as soon as it may be: none is owed
    await scene.until((most + 2) * interval - 1)
    shown = await scene.cycle(done=True)
    assert shown.urgent
    assert not shown.late
    assert scene.served == 2
    shown = await scene.until((most + 3) * interval)
    assert shown.urgent
    assert not shown.late
    shown = await scene.cycle(done=True)           # too late by this one cycle
    assert shown.late
    assert shown.urgent
    await scene.until((most + 5) * interval, done=True)
    assert (await scene.cycle(done=False)).late    # and remains so
    await bench.reset()
    assert not (await Scene(bench).cycle(done=True)).late


@testbench
async def refreshes_ahead_do_not_count(bench: Bench) -> None:
    scene = Scene(bench)
    shown = await scene.until(scene.interval, done=True)
    assert not shown.request
    assert scene.served == 0
    assert (await scene.cycle(done=True)).owed == 1
    assert (await scene.cycle(done=True)).owed == 0
    assert scene.served == 1


@testbench
async def random_service(bench: Bench) -> None:
    """From never late to mostly late; long intervals make do with few, and are not late."""
    long = bench.parameters["interval"] > 1000
    served = late = 0
    for factor in (1.0, 4.0) if long else (0.3, 0.8, 1.0, 1.3, 4.0):
        await bench.reset()
        scene = Scene(bench)
        chance = factor / scene.interval
        shown = await scene.cycle(done=False)
        while scene.now < (4 if long else 2000) * scene.interval:
            shown = await scene.cycle(bench.rng.random() < chance)
        served += scene.served
        late += shown.late
    assert served >= 2
    assert late or long
