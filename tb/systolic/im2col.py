"""Testbench of the im2col address generator: every field of every word, in its cycle."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic.im2col import Im2colModel, command_of, im2col_cycles
from cyclebound.tb.bench import Bench, interrupted, testbench

Shape = Mapping[str, int]


class Scene:
    """The generator and its model."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.size, self.address_width = p["size"], p.get("address_width", 10)
        self.model = Im2colModel(self.size, self.address_width)

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

    async def walks(self, shapes: Sequence[Shape], *, sinks: Iterator[bool],
                    observe: bool) -> None:
        """All commands, one after the other; each is offered as early as it may be taken."""
        bench, waiting, words = self.bench, list(reversed(shapes)), 0
        walking = declared = 0  # commands with words to come; which was declared last
        while waiting or walking:
            ready, values, offer = next(sinks), {}, None
            if waiting:
                if observe and declared != len(waiting):
                    bench.declare("words", **waiting[-1])
                    declared = len(waiting)
                offer = command_of(size=self.size, address_width=self.address_width,
                                   **waiting[-1])
                values = {f"command.payload.{name}": value for name, value in offer.items()}
                values["command.valid"] = 1
            seen = await bench.step(bench.inputs.pack(values | {"words.ready": ready}))
            takes, word = self.model.step(offer, ready)
            expected = {"command.ready": takes, "words.valid": word is not None}
            if word is not None:
                expected |= {f"words.payload.{name}": value for name, value in vars(word).items()}
            bench.check_fields(seen, expected)
            if word is not None and ready:
                words += 1
                walking -= word.final
            if takes and offer is not None:
                waiting.pop()
                walking += 1
        assert words


@testbench
async def every_convolution(bench: Bench) -> None:
    """Every convolution of the domain; where there is none, random ones."""
    scene = Scene(bench)
    if bench.domain:
        names = list(bench.domain)
        ranges = [range(low, high + 1) for low, high in bench.domain.values()]
        every = (dict(zip(names, values, strict=True)) for values in itertools.product(*ranges))
        shapes: list[Shape] = [shape for shape in every if scene.covered(shape)]
    else:
        shapes = [scene.random() for _ in range(25)]
    await scene.walks(shapes, sinks=itertools.repeat(True), observe=True)


@testbench
async def words_that_wait(bench: Bench) -> None:
    """A sink that is not always ready: the same words, later."""
    scene = Scene(bench)
    await scene.walks([scene.random() for _ in range(8)], observe=False,
                      sinks=(bench.rng.random() < 0.6 for _ in itertools.count()))


reset_in_mid_run = interrupted(words_that_wait, last=300, then=every_convolution)
