"""Testbench of the max pooling unit: every result against numpy, in its cycle."""

import itertools
from collections.abc import Iterable

import numpy as np

from cyclebound.golden.systolic.max_pooling import MaxPoolingModel
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.stream_scoreboard import StreamScoreboard, sometimes
from cyclebound.tb.systolic.two_streams import packed


class PoolingScoreboard(StreamScoreboard):
    """The unit; its images are random."""

    withdraws = True

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "pixels", "results")
        self.columns, self.width = bench.parameters["columns"], bench.parameters.get("width", 8)

    def payload(self, shown: list[int]) -> int:
        return packed(shown, self.width)

    async def images(self, height: int, width: int, window: int, *, count: int = 1,
                     offers: Iterable[bool] = (), sinks: Iterable[bool] = (),
                     observe: bool = False) -> None:
        """Images of one shape, one after the other, until the last result has left."""
        bench, half = self.bench, 1 << self.width - 1
        size = count * height * width * self.columns
        images = np.array(bench.rng.choices(range(-half, half), k=size)).reshape(
            count, height, width, self.columns)
        pixels = images.reshape(-1, self.columns).tolist()
        self.model = MaxPoolingModel([(image, window) for image in images])
        windows = count * (height // window) * (width // window)
        if observe:
            bench.declare("image", height=height, width=width, window=window, pixels=len(pixels),
                          windows=windows)
        await self.play([(True, packed(pixel, self.width)) for pixel in pixels], count=windows,
                        offers=offers, sinks=sinks, settings={
                            "window": window, "image_width": width, "image_height": height,
                            "across": width // window})
        if observe:
            bench.undeclare("image")


@testbench
async def every_shape(bench: Bench) -> None:
    """Every image of the domain; where there is none, random ones."""
    scoreboard = PoolingScoreboard(bench)
    if bench.domain:
        shapes = list(itertools.product(*(range(low, high + 1)
                                          for low, high in bench.domain.values())))
    else:
        shapes = [tuple(bench.rng.randint(1, most) for most in (12, 12, 4)) for _ in range(20)]
    for height, width, window in shapes:
        if window <= min(height, width):
            await scoreboard.images(height, width, window, observe=True)


@testbench
async def images_in_a_row(bench: Bench) -> None:
    """Several images, pixels that come late, a sink that is not always ready."""
    scoreboard, rng = PoolingScoreboard(bench), bench.rng
    for offers, sinks in itertools.product((0.5, 1), (0.4, 1)):
        for window in (1, 2, 3):
            height, width = (window * rng.randint(1, most) + rng.randrange(window)
                             for most in (2, 3))
            await scoreboard.images(height, width, window, count=3, offers=sometimes(bench, offers),
                                    sinks=sometimes(bench, sinks))


reset_in_mid_run = interrupted(images_in_a_row, last=300, brief=True, then=every_shape)
