"""Layers, plans and the comparison of dataflows."""

import numpy as np
import pytest

from cyclebound.golden.systolic.layers import (
    LENET_5,
    Convolution,
    Product,
    attention_head,
    im2col,
    mlp,
)
from cyclebound.golden.systolic.matmul import matmul_cycles
from cyclebound.golden.systolic.planner import Machine, plan, split
from cyclebound.golden.systolic.row_stationary import row_completion
from cyclebound.tools.systolic.comparison import compare, markdown

pytestmark = pytest.mark.unit

EIGHT = Machine(8, 8)


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.parametrize("size", [(1, 1, 1), (9, 4, 7), (2, 17, 9), (100, 30, 20)])
def test_parts_add_up_to_the_bound(size, double_buffer):
    machine = Machine(4, 3, double_buffer)
    m, k, n = size
    cycles = split(machine, m, k, n)
    assert cycles.total - cycles.memory == matmul_cycles(
        rows=4, columns=3, m=m, k=k, n=n, double_buffer=double_buffer)


@pytest.mark.parametrize("layer", [
    Convolution("c", 6, 5, 2, 3, 3), Convolution("c", 7, 7, 1, 2, 3, stride=2, padding=1),
    Convolution("c", 4, 4, 3, 1, 1), Convolution("c", 5, 5, 2, 2, 5, padding=2),
    Convolution("c", 7, 6, 2, 3, (3, 2), (2, 1), (1, 0, 2, 1), (1, 3))])
def test_im2col_is_the_convolution(layer):
    rng = np.random.default_rng(7)
    image = rng.integers(-128, 128, (layer.channels, layer.height, layer.width), dtype=np.int8)
    filters = rng.integers(
        -128, 128, (layer.filters, layer.channels, *layer.kernels), dtype=np.int8)
    a, b = im2col(layer, image, filters)
    assert Product.of("c", a, b) == layer.product
    c = a.astype(np.int64) @ b.astype(np.int64)
    assert np.array_equal(c.T.reshape(-1, *layer.output), layer.reference(image, filters))


def test_layers_as_products():
    products = [getattr(layer, "product", layer) for layer in LENET_5]
    assert [(p.m, p.k, p.n) for p in products] == [
        (784, 25, 6), (100, 150, 16), (1, 400, 120), (1, 120, 84), (1, 84, 10)]
    assert [(p.m, p.k, p.n) for p in mlp((3, 4, 5), 2)] == [(2, 3, 4), (2, 4, 5)]
    assert [(p.m, p.k, p.n) for p in attention_head(6, 8, 2)] == [
        (6, 8, 2)] * 3 + [(6, 2, 6), (6, 6, 2)]


def test_a_plan_covers_the_layer_once_and_fits():
    machine = Machine(4, 3, a_depth=20, b_depth=30, sums_depth=7)
    layer = Product("wide", 23, 11, 17)
    found, covered = plan(layer, machine), np.zeros((23, 17), dtype=int)
    for command in found.commands:
        covered[command.a_rows, command.b_columns] += 1
        assert command.m <= 7
        assert -(-command.k // 4) * command.m <= 20
        assert -(-command.n // 3) * command.k <= 30
    assert (covered == 1).all()
    assert found.cycles.total == sum(command.cycles.total for command in found.commands)
    assert plan(Product("small", 2, 2, 2), machine).commands[0].m == 2


def test_utilisation_counts_macs():
    layer = Product("large", 512, 8, 8)
    assert plan(layer, EIGHT).utilisation == pytest.approx(
        512 / matmul_cycles(rows=8, columns=8, m=512, k=8, n=8))


def test_what_no_plan_can_do():
    message = (r"^deep: k must be at most 1024, for the memories of A and B to hold one row and "
               r"one column of tiles, not 1025$")
    with pytest.raises(ValueError, match=message):
        plan(Product("deep", 1, 1025, 1), EIGHT)
    with pytest.raises(TypeError, match=r"^layer must be a Product or a Convolution, not 3$"):
        plan(3, EIGHT)


@pytest.mark.parametrize("name", ["m", "k", "n"])
def test_dimensions_are_counts(name):
    good = {"m": 1, "k": 1, "n": 1}
    for bad in (0, -2):
        with pytest.raises(ValueError, match=f"^p: {name} must be at least 1, not {bad}$"):
            Product("p", **good | {name: bad})
    with pytest.raises(TypeError, match=f"^p: {name} must be a whole number, not 1.5$"):
        Product("p", **good | {name: 1.5})


def test_operands_fit_each_other():
    a, b = np.zeros((2, 3), dtype=np.int8), np.zeros((4, 2), dtype=np.int8)
    with pytest.raises(ValueError,
                       match=r"^p: A must have as many columns as B has rows, not 3 and 4$"):
        Product.of("p", a, b)
    with pytest.raises(TypeError, match=r"^p: B must hold int8, not int16$"):
        Product.of("p", a, b[:3].astype(np.int16))
    with pytest.raises(ValueError, match=r"^p: A must have 2 dimensions, not 1$"):
        Product.of("p", a[0], b)


def test_what_is_no_convolution():
    with pytest.raises(ValueError,
                       match=r"^c: kernel must be at most 4, the padded image, not 5$"):
        Convolution("c", 4, 6, 1, 1, 5)
    with pytest.raises(ValueError, match=r"^c: stride must be at least 1, not 0$"):
        Convolution("c", 4, 6, 1, 1, 3, stride=0)
    with pytest.raises(ValueError, match=r"^c: padding must be at least 0, not -1$"):
        Convolution("c", 4, 6, 1, 1, 3, padding=-1)
    with pytest.raises(TypeError, match=r"^c: padding must be a whole number, not 0.5$"):
        Convolution("c", 4, 6, 1, 1, 3, padding=0.5)


def test_what_is_no_machine():
    with pytest.raises(ValueError, match=r"^a depth must be at least 2, not 0$"):
        Machine(1, 1, a_depth=0)
    with pytest.raises(TypeError, match=r"^rows must be a whole number, not True$"):
        Machine(True, 1)


def test_overlap_pays():
    by_flow = {(row.dataflow, row.overlap): row
               for row in compare(Product("large", 512, 512, 512), 16, 16)}
    assert by_flow["weight stationary", True].utilisation > 0.999
    assert by_flow["weight stationary", False].utilisation < 0.95
    assert by_flow["output stationary", False].utilisation < 0.95
    assert by_flow["output stationary", True].utilisation > 0.999
    nothing_stays = by_flow["no local reuse", False]
    assert nothing_stays.utilisation > 0.999
    assert nothing_stays.words_per_mac > 1 > by_flow["output stationary", True].words_per_mac
    assert "| large | weight stationary, folds overlap | 16x16 | 524,33" in markdown(
        [Product("large", 512, 512, 512)], 16, 16)


def test_rows_stay_where_there_is_a_convolution():
    layer = Convolution("c", 6, 7, 2, 3, 3)  # its result is 4 x 5
    row = compare(layer, 4, 4)[-1]
    assert (row.dataflow, row.rows, row.columns) == ("row stationary", 3, 4)
    # a pass for each of 2 channels and 3 filters: weights, 7 columns of 6 pixels, 5 of 4 sums
    assert row.cycles == row_completion(rows=3, taps=3, width=7, passes=6)
    macs = 4 * 5 * 9 * 2 * 3
    assert row.words_per_mac == 6 * (9 + 7 * 6 + 5 * 4) / macs
    assert row.utilisation == macs / (12 * row.cycles)
    # with fewer PEs the result is made in two strips
    assert compare(layer, 3, 2)[-1].cycles == row_completion(rows=3, taps=3, width=7, passes=12)
    for other, pes in ((Convolution("c", 6, 7, 2, 3, 3, stride=2), (4, 4)), (layer, (1, 2)),
                       (layer.product, (4, 4))):
        assert "row stationary" not in [dataflow.dataflow for dataflow in compare(other, *pes)]


def test_a_command_has_16_bits_for_each_dimension():
    """Memories that hold a product of 70,000 rows, or columns: two commands. k cannot be cut."""
    machine = Machine(8, 8, a_depth=2**17, b_depth=2**17, sums_depth=2**17)
    assert [command.m for command in plan(Product("tall", 70_000, 1, 1), machine).commands] == [
        65_535, 70_000 - 65_535]
    assert [command.n for command in plan(Product("wide", 1, 1, 70_000), machine).commands] == [
        65_528, 70_000 - 65_528]
    with pytest.raises(ValueError, match=r"^deep: k must be at most 65535, the 16 bits of a "
                                         r"command, not 70000$"):
        plan(Product("deep", 1, 70_000, 1), machine)


def test_numpy_integers_are_sizes():
    assert Machine(np.int64(8), 8) == Machine(8, 8)
    assert Product("p", np.int32(1), np.uint8(2), np.int64(3)) == Product("p", 1, 2, 3)
    with pytest.raises(TypeError, match=r"^p: A must be a numpy array of int8, not list$"):
        Product.of("p", [[1]], [[2]])


def test_groups_are_no_single_product():
    layer = Convolution("c", 6, 6, 4, 4, 3, groups=2)
    for use in (lambda: plan(layer, EIGHT), lambda: compare(layer, 4, 4),
                lambda: im2col(layer, np.zeros((4, 6, 6)), np.zeros((4, 2, 3, 3)))):
        with pytest.raises(ValueError, match=r"^c: groups must be 1 .*, not 2$"):
            use()
