"""Testbench of the input-stationary array: every output compared in every cycle."""

from cyclebound.golden.systolic.input_stationary import tiles_of
from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.stationary_scene import StationaryScene

_RANDOM_SHAPES = 12
_LARGEST = 40  # dimension of a random product


def _scene(bench: Bench) -> StationaryScene:
    return StationaryScene(bench, Dataflow.INPUT, "inputs", tiles_of)


@testbench
async def random_shapes(bench: Bench) -> None:
    """Random products, and those around the array's own shape."""
    scene = _scene(bench)
    for n in (1, scene.rows - 1, scene.rows, scene.rows + 1):
        for k, m in ((1, 1), (scene.rows, scene.columns), (2 * scene.rows + 1, scene.columns + 1)):
            await scene.product(m, k, max(n, 1))
    await scene.random_products(_RANDOM_SHAPES, _LARGEST)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, results that wait: the same products, later."""
    await _scene(bench).stalls()
