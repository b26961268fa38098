"""Testbench of the max pooling unit: every result against numpy, in its cycle."""

import itertools
from collections.abc import Iterator

import numpy as np

from cyclebound.golden.systolic.max_pooling import MaxPoolingModel
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.systolic.two_streams import packed


class Scene:
    """The unit; its images are random."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.columns, self.width = p["columns"], p.get("width", 8)

    async def images(self, height: int, width: int, window: int, *, count: int = 1,
                     offers: Iterator[bool], sinks: Iterator[bool],
                     observe: bool = False) -> None:
        """Images of one shape, one after the other, until the last result has left."""
        bench, half = self.bench, 1 << self.width - 1
        size = count * height * width * self.columns
        images = np.array(bench.rng.choices(range(-half, half), k=size)).reshape(
            count, height, width, self.columns)
        pixels = [packed(pixel, self.width) for pixel in
                  images.reshape(-1, self.columns).tolist()]
        model = MaxPoolingModel([(image, window) for image in images])
        settings = bench.inputs.pack({"window": window, "image_width": width,
                                      "image_height": height, "across": width // window})
        valid, payload = bench.inputs["pixels.valid"].mask, bench.inputs["pixels.payload"]
        ready_bit, taken, left = bench.inputs["results.ready"].mask, 0, 0
        expected = count * (height // window) * (width // window)
        if observe:
            bench.declare("image", height=height, width=width, window=window, pixels=len(pixels),
                          windows=expected)
        while left < expected or taken < len(pixels):
            offer, ready = taken < len(pixels) and next(offers), next(sinks)
            seen = await bench.step(settings | (valid | payload.to(pixels[taken]) if offer else 0)
                                    | (ready_bit if ready else 0))
            takes, shown = model.step(offer, ready)
            want: dict[str, int] = {"pixels.ready": takes, "results.valid": shown is not None}
            if shown is not None:
                want["results.payload"] = packed(shown, self.width)
                left += ready
            bench.check_fields(seen, want)
            if offer and takes:
                taken += 1
        if observe:
            bench.undeclare("image")


@testbench
async def every_shape(bench: Bench) -> None:
    """Every image of the domain; where there is none, random ones."""
    scene, always = Scene(bench), itertools.repeat(True)
    if bench.domain:
        shapes = list(itertools.product(*(range(low, high + 1)
                                          for low, high in bench.domain.values())))
    else:
        shapes = [tuple(bench.rng.randint(1, most) for most in (12, 12, 4)) for _ in range(20)]
    for height, width, window in shapes:
        if window <= min(height, width):
            await scene.images(height, width, window, offers=always, sinks=always, observe=True)


@testbench
async def images_in_a_row(bench: Bench) -> None:
    """Several images, pixels that come late, a sink that is not always ready."""
    scene, rng = Scene(bench), bench.rng
    for offers, sinks in itertools.product((0.5, 1), (0.4, 1)):
        for window in (1, 2, 3):
            await scene.images(window * rng.randint(1, 2) + rng.randrange(window),
                               window * rng.randint(1, 3) + rng.randrange(window), window, count=3,
                               offers=(rng.random() < offers for _ in itertools.count()),
                               sinks=(rng.random() < sinks for _ in itertools.count()))


reset_in_mid_run = interrupted(images_in_a_row, last=300, brief=True, then=every_shape)
