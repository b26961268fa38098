"""The installed kernels against their mathematics, bit by bit, on reduced grids."""

import numpy as np
import pytest

from cyclebound.golden.simd.functional import run
from cyclebound.golden.simd.machine import MACHINES, Grid
from cyclebound.golden.simd.references import REFERENCES
from cyclebound.tools.simd.assembler import assemble_file
from cyclebound.tools.simd.kernel_cases import case, expected
from cyclebound.tools.simd.kernels import KERNELS, kernel_path

pytestmark = pytest.mark.unit


def test_every_kernel_has_a_reference():
    assert set(REFERENCES) == set(KERNELS)
    assert len({reference.paper for reference in REFERENCES.values()} - {""}) == 15


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_its_mathematics(name, machine):
    found = case(name, MACHINES[machine])
    wanted = expected(name, found)
    before = {number: words.copy() for number, words in found.memory.items()}
    run(found.program, found.grid, found.memory)
    for number, words in found.memory.items():
        if number in wanted:
            assert words.shape == wanted[number].shape
            assert np.array_equal(words, wanted[number]), f"buffer {number}"
            assert not np.array_equal(words, before[number]), f"buffer {number} is as before"
        else:
            assert np.array_equal(words, before[number]), f"buffer {number} is only read"


@pytest.mark.parametrize("name", KERNELS)
def test_sizes_in_the_source_suit_the_full_grid(name):
    """Every buffer is mapped without overlap, and the grid's transfers have words to move."""
    program, reference = assemble_file(kernel_path(name)), REFERENCES[name]
    grid = Grid(reference.x, reference.y, MACHINES["paper"], reference.width)
    assert grid.count >= 2
    largest = max(buffer.words for buffer in program.buffers.values())
    assert largest >= grid.x * grid.y


def test_tracking_fails_in_every_way():
    found = case("track", MACHINES["small"])
    codes = expected("track", found)[5].view(np.float32)[:, ::4]
    assert set(np.unique(codes).tolist()) == {-5, -4, -3, -2, -1, 1}
