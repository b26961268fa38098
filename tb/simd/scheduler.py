"""Testbench of the work-group scheduler, which runs kernels of work-groups made of random phases.

`Slots` is the machine around it: one slot at a time computes, each has one access at most, DRAM
serves one after the other.
"""

from collections import Counter

from cyclebound.golden.simd.machine import MACHINES, SLOTS, Grid
from cyclebound.golden.simd.scheduler import CODES, Event, Policy, SchedulerModel, SchedulerShown
from cyclebound.tb.bench import Bench, interrupted, testbench


class Slots:
    """Stands for the compute unit and the memories: runs the work-groups that are launched.

    Attributes
    ----------
    counts : Counter
        Launches, ends of each kind, turns.
    """

    def __init__(self, rng, *, longest: int) -> None:
        self._rng, self._longest = rng, longest
        self._ready: dict[int, bool] = {}      # slots with a work-group that may compute
        self._computing: tuple[int, int] | None = None  # slot, cycles left
        self._access: dict[int, int] = {}      # cycles left, once begun
        self._final: set[int] = set()
        self._stopped = False
        self.counts: Counter[str] = Counter()

    def events(self) -> dict[int, Event]:
        """The events of the coming cycle, by slot."""
        events: dict[int, Event] = {}
        for slot in [slot for slot, left in self._access.items() if left == 0]:
            del self._access[slot]
            events[slot] = Event(over=True)
            if slot not in self._final and not self._stopped:
                self._ready[slot] = True
            self._final.discard(slot)
        if self._computing is not None and self._computing[1] == 0:
            slot, self._computing = self._computing[0], None
            events[slot] = self._ended(slot)
        return events

    def _ended(self, slot: int) -> Event:
        kind = self._rng.random()
        if kind < 0.2:
            self.counts["ended"] += 1
            return Event(ended=True)
        self._access[slot] = self._rng.randint(1, self._longest)
        if kind < 0.4:
            self._final.add(slot)
            self.counts["final"] += 1
            return Event(committed=True, final=True)
        self.counts["access"] += 1
        return Event(committed=True, scratchpad=kind < 0.75)

    def follow(self, shown: SchedulerShown, stopped: bool) -> None:
        """Take in what the scheduler showed in the cycle that has passed."""
        for slot in self._access:
            self._access[slot] -= shown.begin[slot]
        self._stopped |= stopped
        if self._stopped:
            self._computing, self._ready = None, {}
            self._stopped = not shown.idle
        if self._computing is not None:
            self._computing = self._computing[0], self._computing[1] - 1
        elif self._ready:
            slot = self._rng.choice(list(self._ready))
            del self._ready[slot]
            self._computing = slot, self._rng.randint(0, self._longest)
        if shown.launch is not None:
            self._ready[shown.launch[0]] = True
            self.counts["launch"] += 1


class SchedulerTester:
    """The scheduler beside its model and its `Slots`."""

    def __init__(self, bench: Bench, *, longest: int) -> None:
        self.bench, self.model = bench, SchedulerModel()
        self.slots = Slots(bench.rng, longest=longest)
        self.free = dict.fromkeys(range(SLOTS), True)

    async def cycle(self, *, start: tuple[Grid, Policy] | None = None, stop: bool = False
                    ) -> SchedulerShown:
        """One cycle, compared."""
        bench = self.bench
        events = self.slots.events()
        word: dict[str, int] = {"stop": stop}
        for slot, event in events.items():
            word.update({f"events.{slot}.{name}": int(value)
                         for name, value in vars(event).items()})
        if start is not None:
            grid, policy = start
            word["start.valid"] = 1
            word |= {f"start.payload.{name}": value for name, value in (
                ("grid.x", grid.x), ("grid.y", grid.y), ("policy", CODES.index(policy)),
                ("grid.width", grid.width.bit_length() - 1))}
        shown = self.model.step(events, start=start, stop=stop)
        seen = await bench.step(bench.inputs.pack(word))
        expected = {"idle": shown.idle, "left": shown.left,
                    "begin": sum(may << slot for slot, may in enumerate(shown.begin)),
                    "waits": sum(may << slot for slot, may in enumerate(shown.waits))}
        care = sum(bench.outputs[name].mask for name in (*expected, "launch.valid"))
        if shown.launch is not None:
            slot, place = shown.launch
            expected |= {"launch.valid": 1, "launch.payload.slot": slot,
                         "launch.payload.number": place.number, "launch.payload.x": place.x,
                         "launch.payload.y": place.y}
            care |= bench.outputs["launch.payload"].mask
        bench.check(seen, bench.outputs.pack(expected), care)
        self.slots.follow(shown, stop)
        return shown

    async def kernel(self, grid: Grid, policy: Policy, *, most: int = 1 << 30) -> int:
        """A kernel from its start to its end, or stopped in cycle ``most``; its cycles."""
        paired = policy is not Policy.UNCONSTRAINED
        for what, said in (("launch", not paired), ("turn", policy is Policy.ACCESS)):
            if said:
                self.bench.declare(what)
            else:
                self.bench.undeclare(what)
        await self.cycle(start=(grid, policy))
        cycles = 1
        while not (await self.cycle(stop=cycles == most)).idle:
            cycles += 1
            if cycles == most - 1:  # requests that are stopped are none
                self.bench.undeclare("launch")
                self.bench.undeclare("turn")
        await self.cycle()  # a reset sees the last inputs once more
        return cycles


def grids(bench: Bench) -> list[Grid]:
    """One work-group; a line, a column and a field of them; edges in the middle of one."""
    machine = MACHINES[bench.parameters["machine"]]
    fixed = [Grid(1, 1, machine), Grid(64, 1, machine), Grid(130, 1, machine), Grid(2, 97, machine),
             Grid(30, 70, machine, machine.widths[2]), Grid(65, 33, machine, machine.widths[1])]
    return [*fixed, Grid(bench.rng.randint(1, 200), bench.rng.randint(1, 60), machine,
                         bench.rng.choice(machine.widths))]


@testbench
async def every_policy(bench: Bench) -> None:
    counts: Counter[str] = Counter()
    for longest in (1, 3, 5, 12):
        for policy in Policy:
            tester = SchedulerTester(bench, longest=longest)
            for grid in grids(bench):
                before = tester.slots.counts["launch"]
                await tester.kernel(grid, policy)
                assert tester.slots.counts["launch"] - before == grid.count
            counts += tester.slots.counts
    assert min(counts[kind] for kind in ("ended", "final", "access")) > 300


@testbench
async def the_largest_grid(bench: Bench) -> None:
    """The places do not wrap around: only the beginning of each line is looked at."""
    machine = MACHINES[bench.parameters["machine"]]
    most = (1 << 20) - 1
    tester = SchedulerTester(bench, longest=1)
    await tester.kernel(Grid(most, 1, machine, machine.items), Policy.UNCONSTRAINED)
    assert tester.slots.counts["launch"] == -(-most // machine.items)


@testbench
async def stopped(bench: Bench) -> None:
    """A kernel is stopped in any of its cycles; the next one runs to its end."""
    machine = MACHINES[bench.parameters["machine"]]
    for policy in Policy:
        tester = SchedulerTester(bench, longest=5)
        for most in range(2, 40):
            await tester.kernel(Grid(10 * machine.items, 1, machine), policy, most=most)
        await bench.reset()
        tester = SchedulerTester(bench, longest=5)
        await tester.kernel(Grid(10 * machine.items, 1, machine), policy)
        assert tester.slots.counts["launch"] == 10


reset_in_mid_run = interrupted(every_policy, last=300, quiet=True)
