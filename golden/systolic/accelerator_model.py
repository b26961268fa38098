"""Functional model of the accelerator: the effect of a list of commands on memory, untimed.

Ref: the same as of accelerator.py. Nothing here is pipelined: a computation gathers its windows,
multiplies matrices, and pools whole images.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.accelerator_layout import (
    BIAS_BEATS,
    SHIFT_PLACE,
    Operation,
    Target,
)
from cyclebound.golden.systolic.accelerator_plan import Device
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
        self.bias, self.scales = (np.zeros((device.bias_depth, size), dtype=np.int64)
                                  for _ in range(2))
        self.sums = np.zeros((device.sums_depth, size), dtype=np.int64)

    def run(self, commands: Iterable[Mapping[str, int]]) -> None:
        """All commands, one after the other."""
        for command in commands:
            self.step(command)

    def step(self, command: Mapping[str, int]) -> None:
        """Carry out one command."""
        (self._compute if command["operation"] == Operation.COMPUTE else self._move)(command)

    def _move(self, c: Mapping[str, int]) -> None:
        beats = self.memory[c["memory"]:c["memory"] + c["count"]]
        assert len(beats) == c["count"]
        if c["operation"] == Operation.STORE:
            beats[:] = self.c[c["scratch"]:c["scratch"] + c["count"]]
            return
        scratch = {Target.A: self.a, Target.B: self.b, Target.BIAS: self.bias,
                   Target.SCALE: self.scales, Target.SHORTCUT: self.shortcut}[Target(c["target"])]
        if c["target"] in (Target.BIAS, Target.SCALE):
            assert c["count"] % BIAS_BEATS == 0
            beats = beats.astype(np.int8).reshape(-1).view("<i4").reshape(-1, self.device.size)
        assert c["scratch"] + len(beats) <= len(scratch)
        scratch[c["scratch"]:c["scratch"] + len(beats)] = beats

    def _windows(self, c: Mapping[str, int]) -> NDArray[np.int64]:
        """A row for each window, with the elements of planes, rows of the filter, and runs."""
        flat, size = self.a.ravel(), self.device.size
        y, x, plane, tap, i = np.ix_(*map(np.arange, (c["down"], c["across"], c["planes"],
                                                      c["kernel"], c["run"])))
        row = c["top"] + y * c["stride"] + tap
        element = c["start"] + x * c["step"] + i
        inside = (row >= 0) & (row < c["height"]) & (element >= 0) & (element < c["elements"])
        word = (c["origin"] + plane * c["plane_step"] + y * c["jump"] + tap * c["pitch"]
                + element // size) % (1 << self.device.address_width)
        place = np.where(inside, word * size + element % size, 0)
        return np.where(inside, flat[place], c["pad"]).reshape(c["pixels"], -1)

    def _compute(self, c: Mapping[str, int]) -> None:
        size, pixels = self.device.size, c["pixels"]
        # sums stay below 2 ** 53, where float64 is exact: see `Convolution.reference`
        windows = self._windows(c).astype(np.float64)
        words = windows.shape[1]
        assert c["tiles"] == c["planes"] * c["kernel"] * ceil_div(c["run"], size)
        assert c["runs"] == c["strips"] * c["planes"] * c["kernel"]
        apart = pixels if c["resume"] or c["keep"] else 0
        place = c["c_base"]
        for strip in range(c["strips"]):
            start, kept = c["b_base"] + strip * words, strip * apart
            assert start + words <= len(self.b)
            assert kept + pixels <= len(self.sums)
            sums = (windows @ self.b[start:start + words].astype(np.float64)).astype(np.int64)
            if c["resume"]:
                sums += self.sums[kept:kept + pixels]
            sums = self.sums[kept:kept + pixels] = wrap(sums, 32)
            if not c["keep"]:
                place += self._results(c, sums, strip, place)

    def _results(self, c: Mapping[str, int], sums: NDArray[np.int64], strip: int,
                 place: int) -> int:
        """Write the results of a strip's sums from word ``place`` on; returns how many words."""
        scale = Scale(*(c[name] for name in ("multiplier", "shift", "low", "high")))
        added, own = c["c_base"] + strip * c["pixels"], {}
        if c["scales"]:
            word = self.scales[c["bias_base"] + strip]
            own = {"multiplier": word % (1 << SHIFT_PLACE), "shift": word >> SHIFT_PLACE}
        results = requantise(
            sums, self.bias[c["bias_base"] + strip], scale,
            self.shortcut[added:added + c["pixels"]] if c["shortcut"] else c["zero"], **own)
        pooled = max_pool(results.reshape(c["image_height"], c["image_width"], -1),
                          c["window"]).reshape(-1, self.device.size)
        assert place + len(pooled) <= len(self.c)
        self.c[place:place + len(pooled)] = pooled
        return len(pooled)
