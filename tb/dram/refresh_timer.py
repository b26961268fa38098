"""Testbench of the refresh timer."""

from cyclebound.golden.dram.refresh_timer import RefreshTimerModel
from cyclebound.tb.bench import Bench, interrupted, testbench


def _in_time(bench: Bench, yes: bool) -> None:
    """Declare (or no longer) that refreshes that fall due from now on will be done in time."""
    for what in ("deadline", "gap"):
        if yes:
            bench.declare(what)
        else:
            bench.undeclare(what)


class RefreshTimerTester:
    """The timer beside its model; one `cycle` at a time, from a reset."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.interval = bench, bench.parameters["interval"]
        self.most = bench.parameters.get("most", 8)
        self.model = RefreshTimerModel(interval=self.interval, most=self.most)
        self._start, self.served = bench.cycle, 0

    @property
    def now(self) -> int:
        """The coming cycle, from the reset."""
        return self.bench.cycle - self._start

    async def cycle(self, done: bool):
        """Compare all outputs of a cycle; returns them."""
        seen = await self.bench.step(self.bench.inputs.pack({"done": done}))
        shown, due = self.model.step(done)
        self.bench.check(seen, self.bench.outputs.pack(shown._asdict()))
        self.served += due is not None and not shown.late
        return shown

    async def until(self, cycle: int, done: bool = False):
        """Run cycles up to ``cycle``, exclusive; returns the last one's outputs."""
        shown = None
        while self.now < cycle:
            shown = await self.cycle(done)
        return shown


@testbench
async def the_last_moment(bench: Bench) -> None:
    """Refreshes at the latest legal cycle; then one a cycle later, which is late."""
    tester = RefreshTimerTester(bench)
    interval, most = tester.interval, tester.most
    _in_time(bench, True)
    await tester.until(interval)
    await tester.cycle(done=True)                   # as soon as it may be: none is owed
    await tester.until(3 * interval - 1)
    _in_time(bench, False)                         # of the next, one will be late
    await tester.until((most + 2) * interval - 1)
    shown = await tester.cycle(done=True)
    assert shown.urgent
    assert not shown.late
    assert tester.served == 2
    shown = await tester.until((most + 3) * interval)
    assert shown.urgent
    assert not shown.late
    shown = await tester.cycle(done=True)           # too late by this one cycle
    assert shown.late
    assert shown.urgent
    await tester.until((most + 5) * interval, done=True)
    assert (await tester.cycle(done=False)).late    # and remains so
    await bench.reset()
    assert not (await RefreshTimerTester(bench).cycle(done=True)).late


@testbench
async def refreshes_ahead_do_not_count(bench: Bench) -> None:
    _in_time(bench, True)
    tester = RefreshTimerTester(bench)
    shown = await tester.until(tester.interval, done=True)
    assert not shown.request
    assert tester.served == 0
    assert (await tester.cycle(done=True)).owed == 1
    assert (await tester.cycle(done=True)).owed == 0
    assert tester.served == 1


@testbench
async def random_service(bench: Bench) -> None:
    """Random service, from rates at which none is late to rates at which most are.

    Each rate once as it is, and once with a refresh at the last moment where one would be late.
    Long intervals have fewer cycles, at rates at which none is late.
    """
    interval, most = bench.parameters["interval"], bench.parameters.get("most", 8)
    long = interval > 1000
    served = late = 0
    for factor in (1.0, 4.0) if long else (0.3, 0.8, 1.0, 1.3, 4.0):
        for in_time in (False, True):
            await bench.reset()
            _in_time(bench, in_time)
            tester = RefreshTimerTester(bench)
            chance = factor / interval
            shown = await tester.cycle(done=False)
            while tester.now < (4 if long else 2000) * interval:
                last = len(tester.model.owed) == most and (tester.now + 1) % interval == 0
                shown = await tester.cycle(bench.rng.random() < chance or (in_time and last))
            served += tester.served
            late += shown.late
            assert not (in_time and shown.late)
    assert served >= 2
    assert late or long


reset_in_mid_run = interrupted(random_service)
