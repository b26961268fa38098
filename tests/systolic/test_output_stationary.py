# amaranth: UnusedElaboratable=no
"""Output-stationary array: RTL against golden model, checkers against planted faults, proofs."""

import itertools
import random

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Const, Module

from cyclebound.golden.systolic import output_stationary as golden
from cyclebound.golden.systolic.bounds import completion, eq5_6
from cyclebound.hdl.systolic.output_stationary import OutputStationaryArray, OutputStationaryPE
from cyclebound.sim.build.elaborate import FlatTop, to_rtlil
from cyclebound.sim.netlist.yosys import yosys_command
from cyclebound.sim.proof.prove import run_tool, yosys_environment
from cyclebound.tb.systolic import output_stationary_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit
SHAPES = [(2, 3), (3, 3), (1, 1), (1, 4), (4, 1)]


def coin(name, chance):
    source = random.Random(name)
    while True:
        yield source.random() < chance


def random_steps(name, rows, columns, most):
    """Endless folds of 1 to ``most`` steps, as ``(column of A, last, row of B)``."""
    source = random.Random(name)

    def operand():
        return source.choice((-128, 127, source.randint(-128, 127)))
    while True:
        k = source.randint(1, most)
        for s in range(k):
            yield ([operand() for _ in range(rows)], s == k - 1,
                   [operand() for _ in range(columns)])


def traffic(dut, steps, cycles, *, left=None, top=None, sink=None, see=None):
    """A bench that offers ``steps``; both streams keep an offer until it is taken.

    ``see(cycle, left, top, ready, outputs)`` gets the offers and the array's `Outputs`.
    """
    left, top, sink = (stall or itertools.repeat(True) for stall in (left, top, sink))

    async def bench(ctx):
        for_left, for_top = itertools.tee(steps)
        shown_left = shown_top = None
        for cycle in range(cycles):
            if shown_left is None and next(left):
                shown_left = next(((a, last) for a, last, _ in for_left), None)
            if shown_top is None and next(top):
                shown_top = next((b for _, _, b in for_top), None)
            ready = next(sink)
            ctx.set(dut.left.valid, shown_left is not None)
            ctx.set(dut.top.valid, shown_top is not None)
            ctx.set(dut.results.ready, ready)
            if shown_left is not None:
                ctx.set(dut.left.payload, {"values": shown_left[0], "last": shown_left[1]})
            if shown_top is not None:
                ctx.set(dut.top.payload, shown_top)
            outputs = golden.Outputs(
                bool(ctx.get(dut.left.ready)), bool(ctx.get(dut.top.ready)),
                list(ctx.get(dut.results.payload)) if ctx.get(dut.results.valid) else None,
                ctx.get(dut.active))
            if see is not None:
                see(cycle, shown_left, shown_top, ready, outputs)
            if outputs.left_ready:
                shown_left = None
            if outputs.top_ready:
                shown_top = None
            await ctx.tick()
    return bench


def multiply(a, b, rows, columns, accumulator_width=32):
    """A B on the array without stalls: C, and the cycles of accepts, MACs and result rows."""
    dut = OutputStationaryArray(rows=rows, columns=columns, accumulator_width=accumulator_width)
    accepts, macs, out, rows_out = [], [], [], []

    def see(cycle, left, top, ready, outputs):
        if left is not None and outputs.left_ready:
            accepts.append(cycle)
        if outputs.active:
            macs.append((cycle, outputs.active.bit_count()))
        if outputs.result is not None:
            out.append(cycle)
            rows_out.append(outputs.result)
    steps = [step for fold in golden.folds(a, b, rows, columns) for step in fold.steps()]
    shape = {"rows": rows, "columns": columns, "m": a.shape[0], "k": a.shape[1], "n": b.shape[1]}
    run_bench(dut, traffic(dut, steps, completion(**shape) + 3, see=see),
             properties.OutputStationaryCheck(dut))
    c = golden.assemble(a.shape[0], b.shape[1], rows, columns, rows_out)
    return c, accepts, macs, out, shape


# Parameters

@unit
@pytest.mark.parametrize(("name", "thing"), [
    ("rows", "Row count"), ("columns", "Column count"),
    ("operand_width", "Operand width"), ("accumulator_width", "Accumulator width")])
def test_array_parameters_are_counts(name, thing):
    good = {"rows": 1, "columns": 1}
    for bad in (1.5, "2", None, True):
        with pytest.raises(TypeError, match=f"^{thing} must be an integer, not {bad!r}$"):
            OutputStationaryArray(**good | {name: bad})
    for bad in (0, -1):
        with pytest.raises(ValueError, match=f"^{thing} must be at least 1, not {bad}$"):
            OutputStationaryArray(**good | {name: bad})


@unit
@pytest.mark.parametrize("make", [OutputStationaryPE, lambda **widths: OutputStationaryArray(
    rows=1, columns=1, **widths)])
def test_accumulator_holds_a_product(make):
    message = "^Accumulator width must be at least 16, twice the operand width, not 15$"
    with pytest.raises(ValueError, match=message):
        make(operand_width=8, accumulator_width=15)


@unit
def test_each_part_converts_alone():
    array = OutputStationaryArray(rows=1, columns=2)
    for part in (OutputStationaryPE(), properties.OutputStationaryCheck(array),
                 properties.OutputStationaryProductCheck(array)):
        assert "attribute \\top 1" in rtlil.convert(part)


# Golden model

@unit
def test_table_5_1():
    assert golden.occupancy(3, 3, 3) == [1, 3, 6, 7, 6, 3, 1]


@unit
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("k", [1, 2, 9])
def test_occupancy_is_all_the_work_in_the_time_of_eq5_5(rows, columns, k):
    steps = golden.occupancy(rows, columns, k)
    assert len(steps) == rows + columns + k - 2
    assert sum(steps) == rows * columns * k
    assert max(steps) <= min(rows, columns) * k


@unit
def test_tiles_cover_the_product_once():
    covered = np.zeros((5, 7), dtype=np.int64)
    for where in golden.tiles(5, 7, 2, 3):
        covered[where] += 1
    assert (covered == 1).all()
    assert len(golden.tiles(5, 7, 2, 3)) == 3 * 3


@unit
def test_model_rejects_what_does_not_fit():
    one = np.ones((2, 3), dtype=np.int8)
    message = "A must have as many columns as B has rows, not 3 and 2"
    with pytest.raises(ValueError, match=f"^{message}$"):
        golden.folds(one, one, 2, 2)
    with pytest.raises(ValueError, match=r"^Matrices must not be empty, not 2 x 0 and 0 x 3$"):
        golden.folds(one[:, :0], one[:0], 2, 2)
    with pytest.raises(ValueError, match=r"^2 folds must give 4 result rows, not 1$"):
        golden.assemble(3, 2, 2, 2, [[0, 0]])


@unit
def test_wrap_is_twos_complement():
    values = np.array([127, 128, -128, -129, 256], dtype=np.int64)
    assert golden.wrap(values, 8).tolist() == [127, -128, -128, 127, 0]


# RTL against golden model

@unit
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 4), (4, 1)])
def test_rtl_is_the_model_in_every_cycle(rows, columns):
    """Arrays without a neighbour, with stalls; wider ones and their stalls are the regression's."""
    name = f"{rows}x{columns}"
    dut = OutputStationaryArray(rows=rows, columns=columns, accumulator_width=17)
    model = golden.OutputStationaryModel(rows, columns, accumulator_width=17)
    seen = []

    def see(cycle, left, top, ready, outputs):
        assert outputs == model.step(left, top, ready), f"cycle {cycle}"
        seen.append(outputs.result is not None and ready)
    left, top, sink = (coin(f"{name} {who}", 0.7) for who in ("left", "top", "sink"))
    run_bench(dut, traffic(dut, random_steps(name, rows, columns, 9), 400, left=left, top=top,
                          sink=sink, see=see), properties.OutputStationaryProof(dut, values=True))
    assert sum(seen) >= 5 * rows


@unit
def test_rtl_shows_table_5_1():
    rng = np.random.default_rng(51)
    a, b = rng.integers(-128, 128, (2, 3, 3), dtype=np.int8)
    c, accepts, macs, _, _ = multiply(a, b, 3, 3)
    assert [count for _, count in macs] == [1, 3, 6, 7, 6, 3, 1]
    assert macs[0][0] == accepts[0] + 1
    assert (c == a.astype(np.int64) @ b.astype(np.int64)).all()


@unit
@pytest.mark.parametrize(("rows", "columns", "m", "k", "n"), [
    (1, 1, 2, 5, 3), (1, 4, 1, 1, 1), (4, 1, 5, 1, 7), (2, 3, 4, 6, 4)])
def test_products_take_exactly_eq5_6_and_completion(rows, columns, m, k, n):
    rng = np.random.default_rng([rows, columns, m, k, n])
    a = rng.integers(-128, 128, (m, k), dtype=np.int8)
    b = rng.integers(-128, 128, (k, n), dtype=np.int8)
    c, accepts, macs, out, shape = multiply(a, b, rows, columns)
    assert (c == a.astype(np.int64) @ b.astype(np.int64)).all()
    assert macs[-1][0] - macs[0][0] + 1 == eq5_6(**shape)
    assert out[-1] - accepts[0] + 1 == completion(**shape)
    starts = accepts[::k]
    assert all(later - earlier == rows + columns + k - 2
               for earlier, later in itertools.pairwise(starts))


@unit
@pytest.mark.parametrize(("width", "expected"), [(32, 5 * 16384), (17, 5 * 16384 - 2**17),
                                                 (16, 5 * 16384 - 2**16)])
def test_extreme_sums_wrap_around(width, expected):
    a, b = np.full((2, 5), -128, dtype=np.int8), np.full((5, 3), -128, dtype=np.int8)
    c, *_ = multiply(a, b, 2, 3, accumulator_width=width)
    assert c.tolist() == [[expected] * 3] * 2


# The checkers fire

def tampered(rows, columns, fault):
    return Tampered(OutputStationaryArray(rows=rows, columns=columns), override(fault))


def ready_for(left, top):
    return lambda array, ports, cycle: [ports.left.ready.eq(left), ports.top.ready.eq(top)]


def taken_at_once(array, ports, cycle):
    return ready_for(*[ports.left.valid & ports.top.valid] * 2)(array, ports, cycle)


def all_active(array, ports, cycle):
    return ports.active.eq((cycle > 0).replicate(len(ports.active)))


def results_are(valid):
    return lambda array, ports, cycle: ports.results.valid.eq(valid)


def wrong_sum(array, ports, cycle):
    return ports.results.payload[-1].eq(array.results.payload[-1] ^ Const(1, 32))


def both(*faults):
    return lambda *seen: [fault(*seen) for fault in faults]


TIMING, VALUES = properties.OutputStationaryCheck, properties.OutputStationaryProductCheck
FAULTS = [  # (rows, columns), fault, chance that the sink is ready, checker, what it says
    ((2, 3), ready_for(1, 0), 1, TIMING, "an operand was taken alone"),
    ((2, 3), taken_at_once, 1, TIMING, "operands taken before the flush was over"),
    ((1, 1), taken_at_once, 0, TIMING, "operands taken while results block the array"),
    ((2, 3), ready_for(0, 0), 1, TIMING, "operands refused without a reason"),
    ((2, 3), lambda array, ports, cycle: ports.active[0].eq(0), 1, TIMING,
     "active PEs are not the wavefront"),
    ((2, 3), all_active, 1, TIMING, "more diagonals active than operands in the array"),
    ((2, 3), all_active, 1, TIMING, "fold does not take Eq. 5.5"),
    ((2, 3), results_are(1), 1, TIMING, "result row of no finished fold"),
    ((2, 3), results_are(0), 1, TIMING, "result row is missing"),
    ((2, 3), both(taken_at_once, all_active), 1, TIMING,
     "array blocked by a sink that was always ready"),
    ((2, 3), lambda array, ports, cycle: ports.results.valid.eq(array.results.valid & cycle[0]), 0,
     TIMING, "results: offer withdrawn or changed"),
    ((2, 3), lambda array, ports, cycle: ports.results.payload[0].eq(cycle), 0,
     TIMING, "results: offer withdrawn or changed"),
    ((2, 3), wrong_sum, 1, VALUES, "result (0, 2) is not the product"),
    ((2, 3), wrong_sum, 1, VALUES, "result (1, 2) is not the product"),
    ((2, 3), results_are(1), 1, VALUES, "result row of no fold"),
    ((2, 3), both(taken_at_once, results_are(0)), 1, VALUES, "too many folds in the array"),
]


@unit
@pytest.mark.parametrize(("shape", "fault", "ready", "checker", "says"), FAULTS,
                         ids=[fault[-1] for fault in FAULTS])
def test_checker_fires(only, shape, fault, ready, checker, says):
    """Each assertion by itself, so that no other can fire in its place."""
    only(says, properties)
    dut = tampered(*shape, fault)
    bench = traffic(dut, random_steps(says, *shape, 1), 60, sink=coin(says, ready))
    with pytest.raises(AssertionError) as caught:
        run_bench(dut, bench, checker(dut))
    assert str(caught.value) == f"Assertion violated: {says}"


@unit
@pytest.mark.parametrize("name", ["left", "top"])
@pytest.mark.parametrize("fault", ["withdrawn", "changed"])
def test_checker_names_the_neighbour_that_breaks_the_rules(name, fault):
    dut = OutputStationaryArray(rows=2, columns=3)

    async def bench(ctx):
        stream = getattr(dut, name)  # never taken, since the other one is not valid
        ctx.set(stream.valid, 1)
        await ctx.tick()
        ctx.set(stream.valid, fault != "withdrawn")
        ctx.set(stream.payload.as_value(), fault == "changed")
        await ctx.tick()
        await ctx.tick()
    with pytest.raises(AssertionError) as caught:
        run_bench(dut, bench, properties.OutputStationaryCheck(dut))
    assert str(caught.value) == f"Assumption violated: offer: {name}: offer withdrawn or changed"


# Proofs

def induction(folder, dut, checker):
    """Whether k-induction proves all that ``checker`` asserts of ``dut``; reset is the start."""
    m = Module()
    m.domains.sync = sync = ClockDomain("sync", reset_less=True)
    m.submodules.flat = flat = FlatTop(dut, checker)
    # Without the clock among the ports nothing would ever move, and all would hold.
    text = to_rtlil(m, name="top", ports=[*flat.ports, sync.clk])
    (folder / "top.il").write_text(text)
    script = ("read_rtlil top.il; prep -flatten -top top; async2sync; chformal -cover -remove; "
              "chformal -lower; opt_clean; "
              "sat -tempinduct -verify -prove-asserts -set-assumes -seq 1 -maxsteps 4")
    status, said = run_tool([*yosys_command(), "-q", "-p", script], folder,
                            yosys_environment(), 600)
    assert status == 0 or "proof did fail" in said, said
    return status == 0


@pytest.mark.thorough
@pytest.mark.proof
@pytest.mark.parametrize("values", [False, True], ids=["timing", "values"])
def test_tiny_array_is_proved(tmp_path, values):
    dut = OutputStationaryArray(rows=2, columns=3, operand_width=2, accumulator_width=8)
    assert induction(tmp_path, dut, properties.OutputStationaryProof(dut, values=values))


@pytest.mark.thorough
@pytest.mark.proof
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 4), (4, 1), (3, 3), (4, 5)])
def test_timing_is_proved_for_other_shapes(tmp_path, rows, columns):
    dut = OutputStationaryArray(rows=rows, columns=columns, operand_width=1, accumulator_width=2)
    assert induction(tmp_path, dut, properties.OutputStationaryProof(dut))


@pytest.mark.thorough
@pytest.mark.proof
@pytest.mark.parametrize("fault", [ready_for(1, 0), taken_at_once, results_are(0)])
def test_a_fault_is_not_proved(tmp_path, fault):
    dut = tampered(2, 3, fault)
    assert not induction(tmp_path, dut, properties.OutputStationaryProof(dut))
