"""Testbench of the im2col address generator: every field of every word, in its cycle."""

import itertools
from collections.abc import Iterable, Mapping, Sequence

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic.im2col import Im2colModel, Word, command_of, im2col_cycles
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.stream_scoreboard import StreamScoreboard

Shape = Mapping[str, int]


class Im2colScoreboard(StreamScoreboard):
    """The generator and its model."""

    def __init__(self, bench: Bench) -> None:
        p = bench.parameters
        self.size, self.address_width = p["size"], p.get("address_width", 10)
        super().__init__(bench, "command", "words", Im2colModel(self.size, self.address_width))

    def payload(self, shown: Word) -> Mapping[str, int]:
        return vars(shown)

    def covered(self, shape: Shape) -> bool:
        """Whether the unit can be given a convolution of this shape."""
        try:
            im2col_cycles(size=self.size, **shape)
        except NotCovered:
            return False
        return True

    def random(self) -> Shape:
        """A random shape that the unit can be given."""
        rng = self.bench.rng
        while True:
            shape = {"height": rng.randint(1, 7), "width": rng.randint(1, 7),
                     "channels": rng.randint(1, 12), "kernel": rng.randint(1, 5),
                     "stride": rng.randint(1, 3), "padding": rng.randint(0, 2),
                     "planes": rng.randint(1, 2), "strips": rng.randint(1, 2)}
            if self.covered(shape):
                return shape

    async def walks(self, shapes: Sequence[Shape], *, observe: bool,
                    sinks: Iterable[bool] = ()) -> None:
        """All commands, one after the other; each is offered as early as it may be taken."""
        commands = [command_of(size=self.size, address_width=self.address_width, **shape)
                    for shape in shapes]

        def declare(number: int) -> None:
            if observe:
                self.bench.declare("words", **shapes[number])

        assert await self.play([(command, command) for command in commands], sinks=sinks,
                               ends=lambda word: word.final, begins=declare)


@testbench
async def every_convolution(bench: Bench) -> None:
    """Every convolution of the domain; where there is none, random ones."""
    scoreboard = Im2colScoreboard(bench)
    if bench.domain:
        names = list(bench.domain)
        ranges = [range(low, high + 1) for low, high in bench.domain.values()]
        every = (dict(zip(names, values, strict=True)) for values in itertools.product(*ranges))
        shapes: list[Shape] = [shape for shape in every if scoreboard.covered(shape)]
    else:
        shapes = [scoreboard.random() for _ in range(25)]
    await scoreboard.walks(shapes, observe=True)


@testbench
async def words_that_wait(bench: Bench) -> None:
    """A sink that is not always ready: the same words, later."""
    scoreboard = Im2colScoreboard(bench)
    await scoreboard.walks([scoreboard.random() for _ in range(8)], observe=False,
                           sinks=(bench.rng.random() < 0.6 for _ in itertools.count()))


reset_in_mid_run = interrupted(words_that_wait, last=300, then=every_convolution)
