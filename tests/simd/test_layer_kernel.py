"""Kernels made of a network's layers: their results, and their time against the analysis."""

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import DDR4_3200AA_X16
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.golden.systolic.accelerator_layer import Layer, product_layer
from cyclebound.golden.systolic.layers import Convolution, Product
from cyclebound.tools.simd import layer_kernel as made

SMALL = MACHINES["small"]

pytestmark = pytest.mark.unit


def planes(layer, image):
    """The image as the kernel wants it."""
    shape = layer.convolution
    top, left, bottom, right = shape.edges
    down, across = shape.strides
    padded = np.pad(image, ((0, 0), (top, bottom + down), (left, right + across)))
    lines = -(-(shape.height + top + bottom) // down)
    columns = -(-(shape.width + left + right) // across)
    return np.concatenate([channel[row::down, column::across][:lines, :columns]
                           for channel in padded for row, column in made.phases_of(layer)])


LAYERS = [
    Layer(Convolution("one", 5, 4, 1, 1, 1)),
    Layer(Convolution("padded", 9, 11, 3, 2, 3, 1, 1)),
    Layer(Convolution("strided", 9, 10, 2, 3, 3, 2, 1)),
    Layer(Convolution("thin", 7, 8, 2, 2, 1, 2)),
    Layer(Convolution("oblong", 6, 19, 1, 2, (2, 3), (1, 2), (1, 0, 0, 2))),
    product_layer(Product("fc", 3, 17, 70)),
    product_layer(Product("dot", 1, 1, 1)),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_results_and_time(layer):
    shape = layer.convolution
    rng = np.random.default_rng(3)
    image = rng.integers(-128, 128, (shape.channels, shape.height, shape.width))
    filters = rng.integers(-128, 128, (shape.filters, shape.channels, *shape.kernels))
    kernel = made.layer_kernel(layer, SMALL)
    wanted = np.clip(shape.reference(image, filters) >> 8, -128, 127)
    for policy in (Policy.ACCESS, Policy.COMPUTE):
        memory = memory_of(kernel.program)
        if "input" in kernel.program.labels:
            memory[made.IMAGE][...] = image[:, :, 0].T.astype(np.uint32)
            memory[made.WEIGHTS][...] = filters[:, :, 0, 0].T.astype(np.uint32)
            shown = wanted[:, :, 0].T
        else:
            memory[made.IMAGE][...] = planes(layer, image).astype(np.uint32)
            memory[made.WEIGHTS][...] = filters.reshape(-1, filters[0, 0].size).astype(np.uint32)
            shown = wanted.reshape(-1, wanted.shape[2])
        timed = CycleModel(kernel.program, kernel.grid, memory, policy=policy,
                           part=DDR4_3200AA_X16).run()
        assert np.array_equal(memory[made.RESULT].astype(np.int32), shown)
        bound = made.Analysis(kernel.program, kernel.grid, DDR4_3200AA_X16).wcet(policy).cycles
        assert timed.cycles <= bound
    assert made.layer_wcet(SMALL, DDR4_3200AA_X16)(layer) <= bound


@pytest.mark.parametrize(("layer", "says"), [
    (Layer(Convolution("p", 8, 8, 3, 4, 3, 1, 1), window=2), "^p: no kernel .* has pooling"),
    (Layer(Convolution("g", 8, 8, 4, 4, 3, groups=2)), "^g: no kernel .* has groups"),
    (Layer(Convolution("d", 8, 8, 4, 4, 3, dilation=2)), "^d: no kernel .* has dilation"),
    (Layer(Convolution("t", 9, 9, 1, 1, 5)), "^t: a filter must have at most 24 taps"),
    (Layer(Convolution("w", 4, 4, 2000, 1, 3)), "^w: a filter's 18000 weights do not fit"),
    (product_layer(Product("r", 1, 20000, 1)), "^r: a row must have at most 16384 inputs"),
])
def test_layers_without_a_kernel(layer, says):
    with pytest.raises(NotCovered, match=says):
        made.layer_kernel(layer, SMALL)
