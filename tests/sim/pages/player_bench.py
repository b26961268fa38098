"""The testbench of the block in `player`: clocks that are played are those that are stepped."""

from cocotb.triggers import SimTimeoutError, with_timeout

from cyclebound.tb.bench import PERIOD_NS, Bench, testbench


def _words(bench: Bench, count: int) -> list[int]:
    return [bench.rng.randrange(1 << bench.inputs.width) for _ in range(count)]


@testbench
async def as_if_stepped(bench: Bench) -> None:
    """The same words, step by step and played in pieces, with steps, waits and looks between."""
    for pieces in ((0,), (1,), (2,), (3, 0, 1, 40, 2), (1000,)):
        words = [_words(bench, count) for count in pieces]
        await bench.reset()
        stepped, cycles = [], bench.cycle
        for piece in words:
            stepped += [await bench.step(word) for word in piece]
            stepped += [await bench.step(5), await bench.wait(4)]
        cycles = bench.cycle - cycles
        await bench.reset()
        played, began = [], bench.cycle
        for piece in words:
            played += await bench.play(piece)
            played += [await bench.step(5), await bench.wait(4)]
        assert bench.cycle - began == cycles
        bench.compare(played, stepped, "what was played", count=len(played))


@testbench
async def a_wait_is_as_many_steps(bench: Bench) -> None:
    """Whatever moves in a clock moves in one that nothing waits for."""
    for cycles in (1, 2, 3, 200):
        seen = []
        for waits in (False, True):
            await bench.reset()
            bench.drive(5)
            seen.append(await bench.wait(cycles) if waits else
                        [await bench.step(5) for _ in range(cycles)][-1])
        bench.compare(seen[1], seen[0], "the last of the steps", count=cycles)


@testbench
async def from_the_middle_of_a_cycle(bench: Bench) -> None:
    """As a step's, the first word may be one that was chosen then."""
    words, seen = _words(bench, 20), []
    for plays in (False, True):
        await bench.reset()
        await bench.step(3)
        half = await bench.peek()
        seen.append([half, *(await bench.play(words) if plays else
                             [await bench.step(word) for word in words])])
    bench.compare(seen[1], seen[0], "what was played", count=len(seen[0]))


@testbench
async def ended_before_its_time(bench: Bench) -> None:
    """What is left of a play whose test gives up is not played, and its words may go away."""
    try:
        await with_timeout(bench.play(_words(bench, 100_000)), 50 * PERIOD_NS, "ns")
    except SimTimeoutError:
        pass
    else:
        raise AssertionError("it was played in no time")
    words, seen = _words(bench, 500), []
    for plays in (True, False):
        await bench.reset()
        seen.append(await bench.play(words) if plays else
                    [await bench.step(word) for word in words])
    bench.compare(seen[1], seen[0], "what was played", count=len(seen[0]))
