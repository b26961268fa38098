"""The CUDA kernels of a run's report: numbers of the models, nothing of which is simulated."""

import functools
from dataclasses import dataclass

from cyclebound.golden.gpu.stream_bounds import stream_bounds
from cyclebound.golden.gpu.streams import simulate
from cyclebound.golden.gpu.thesis_kernels import THESIS_KERNELS, strict
from cyclebound.sim.families.gpu.estimate import plain, thesis_bound, thesis_estimate
from cyclebound.tools.gpu.stream_file import EXAMPLES, parse_streams

__all__ = ["GpuReport", "KernelRow", "StreamRow", "gpu_report"]


@dataclass(frozen=True)
class KernelRow:
    """A kernel of the thesis's Table 6.7, all in cycles.

    Attributes
    ----------
    published, preset, printed, measured : int or float
        The thesis's estimate; ours with the options that reproduce it, and by the algorithms as
        printed; what the thesis measured.
    bound : int
        The safe bound of a listing with its instruction counts.
    """

    name: str
    published: int
    preset: int | float
    printed: int | float
    measured: int
    bound: int


@dataclass(frozen=True)
class StreamRow:
    """The operation of an example that comes closest to its response-time bound."""

    name: str
    stream: str
    operation: str
    response: int
    bound: int


@dataclass(frozen=True)
class GpuReport:
    """Tables of a report: kernels, and the worst operation of each stream example."""

    kernels: tuple[KernelRow, ...]
    streams: tuple[StreamRow, ...]


def _kernel(name: str) -> KernelRow:
    kernel = THESIS_KERNELS[name]
    return KernelRow(name, kernel.published, plain(thesis_estimate(kernel, kernel.preset).cycles),
                     plain(thesis_estimate(kernel, strict(kernel)).cycles), kernel.measured,
                     thesis_bound(kernel).cycles)


def _stream(name: str) -> StreamRow:
    device, streams = parse_streams(EXAMPLES[name])
    bounds = {(operation.stream, operation.operation): operation.response
              for operation in stream_bounds(device, streams).operations}
    worst = max(simulate(device, streams).operations, key=lambda finished: (
        finished.response / bounds[finished.stream.name, finished.operation.name]))
    key = worst.stream.name, worst.operation.name
    return StreamRow(name, *key, worst.response, bounds[key])


@functools.cache
def gpu_report() -> GpuReport:
    """The thesis's kernels and the examples of streams; half a second the first time."""
    return GpuReport(tuple(map(_kernel, THESIS_KERNELS)), tuple(map(_stream, EXAMPLES)))
