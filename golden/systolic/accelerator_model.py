"""What a list of commands makes of memory: the accelerator without its cycles.

Ref: the same as of accelerator.py. Nothing here is pipelined: a computation gathers its windows,
multiplies matrices, and pools whole images.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.accelerator_layout import BIAS_BEATS, Operation, Target
from cyclebound.golden.systolic.accelerator_plan import Device
from cyclebound.golden.systolic.im2col import gather, walk
from cyclebound.golden.systolic.mapping import ceil_div
from cyclebound.golden.systolic.max_pooling import max_pool
from cyclebound.golden.systolic.output_stationary import wrap
from cyclebound.golden.systolic.post_processing import Scale, requantise

__all__ = ["AcceleratorModel"]


class AcceleratorModel:
    """The scratchpads between a memory and the commands.

    Parameters
    ----------
    device : Device
        The accelerator's parameters.
    memory : array
        A row of ``size`` elements for each beat; stores change it.
    """

    def __init__(self, device: Device, memory: NDArray[np.int64]) -> None:
        self.device, self.memory, size = device, memory, device.size
        self.a, self.b, self.c, self.shortcut = (
            np.zeros((depth, size), dtype=np.int64) for depth in
            (device.a_depth, device.b_depth, device.c_depth, device.c_depth))
        self.bias = np.zeros((device.bias_depth, size), dtype=np.int64)

    def run(self, commands: Iterable[Mapping[str, int]]) -> None:
        """All commands, one after the other."""
        for command in commands:
            (self._compute if command["operation"] == Operation.COMPUTE else self._move)(command)

    def _move(self, c: Mapping[str, int]) -> None:
        beats = self.memory[c["memory"]:c["memory"] + c["count"]]
        if c["operation"] == Operation.STORE:
            beats[:] = self.c[c["scratch"]:c["scratch"] + c["count"]]
        elif c["target"] == Target.BIAS:
            words = beats.astype(np.int8).reshape(-1).view("<i4").reshape(-1, self.device.size)
            assert c["count"] == BIAS_BEATS * len(words)
            self.bias[c["scratch"]:c["scratch"] + len(words)] = words
        else:
            scratch = {Target.A: self.a, Target.B: self.b,
                       Target.SHORTCUT: self.shortcut}[c["target"]]
            assert c["scratch"] + c["count"] <= len(scratch)
            scratch[c["scratch"]:c["scratch"] + c["count"]] = beats

    def _compute(self, c: Mapping[str, int]) -> None:
        size, device = self.device.size, self.device
        words = list(walk({**c, "strips": 1}, size, device.address_width))
        tiles = gather(words, self.a, device.address_width).reshape(c["tiles"], c["pixels"], size)
        heights = [min(size, c["run"] - done) for done in range(0, c["run"], size)]
        used = [row * size + lane for row, height in enumerate(
            heights * (c["tiles"] // ceil_div(c["run"], size))) for lane in range(height)]
        a = tiles.transpose(1, 0, 2).reshape(c["pixels"], -1)[:, used]
        scale = Scale(*(c[name] for name in ("multiplier", "shift", "low", "high")))
        place = c["c_base"]
        for strip in range(c["strips"]):
            start = c["b_base"] + strip * len(used)
            sums = wrap(a @ self.b[start:start + len(used)], 32)
            added = c["c_base"] + strip * c["pixels"]
            results = requantise(sums, self.bias[c["bias_base"] + strip], scale, c["shortcut"]
                                 and self.shortcut[added:added + c["pixels"]])
            image = results.reshape(c["image_height"], c["image_width"], size)
            pooled = max_pool(image, c["window"]).reshape(-1, size)
            self.c[place:place + len(pooled)] = pooled
            place += len(pooled)
