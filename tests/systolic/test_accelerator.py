# amaranth: UnusedElaboratable=no
"""Accelerator: parameters, plans by the golden model, and what a planner refuses."""

from dataclasses import replace

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic import accelerator as bounds
from cyclebound.golden.systolic.accelerator_jobs import Move
from cyclebound.golden.systolic.accelerator_layer import Layer, product_layer
from cyclebound.golden.systolic.accelerator_layout import Operation, Target
from cyclebound.golden.systolic.accelerator_model import AcceleratorModel
from cyclebound.golden.systolic.accelerator_network import (
    MOBILENET_224,
    NETWORKS,
    product_step,
    program_of,
    random_steps,
)
from cyclebound.golden.systolic.accelerator_plan import (
    Device,
    _split_moves,
    layer_cycles,
    plan_layer,
    program_cycles,
)
from cyclebound.golden.systolic.layers import Convolution, Product
from cyclebound.golden.systolic.post_processing import Scale
from cyclebound.hdl.systolic.accelerator import Accelerator
from cyclebound.hdl.systolic.layer_engine import LayerEngine

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "thing", "least"), [
    ("a_depth", "Depth of A", 4), ("b_depth", "Depth of B", 4),
    ("bias_depth", "Depth of biases", 4), ("c_depth", "Depth of C", 4),
    ("sums_depth", "Depth of the sums", 4), ("size", "Size", 2)])
def test_parameters_of_the_engine(name, thing, least):
    with pytest.raises(ValueError, match=f"^{thing} must be at least {least}, not {least - 1}$"):
        LayerEngine(**{"size": 2} | {name: least - 1})
    with pytest.raises(TypeError, match=f"^{thing} must be an integer, not '2'$"):
        LayerEngine(**{"size": 2} | {name: "2"})


def test_more_parameters():
    with pytest.raises(ValueError, match=r"^Size must be a power of two, not 3$"):
        Accelerator(size=3)
    with pytest.raises(ValueError, match=r"^Depth of A must be even, not 5$"):
        Accelerator(size=2, a_depth=5)
    with pytest.raises(ValueError, match=r"^Address width must be at least 10, not 9$"):
        Accelerator(size=2, address_width=9)
    with pytest.raises(ValueError, match=r"^Memory width must be at least 1, not 0$"):
        Accelerator(size=2, memory_width=0)
    with pytest.raises(ValueError, match=r"^Queue depth must be at least 2, not 1$"):
        Accelerator(size=2, queue_depth=1)


@pytest.mark.parametrize("name", NETWORKS)
def test_plans_compute_what_numpy_does(name):
    """The list of commands, on the golden model, whatever is cut."""
    for device in (Device(8), Device(4, a_depth=512, b_depth=1024, c_depth=256, sums_depth=128)):
        program = program_of(random_steps(NETWORKS[name], device.size, 5), device)
        memory = program.memory.copy()
        AcceleratorModel(device, memory).run(program.commands)
        for number, step in enumerate(program.steps):
            assert np.array_equal(program.result(number, memory), step.expected)
            assert len(np.unique(step.expected)) > 3


def test_layers_at_full_size_are_planned():
    """As in docs/systolic.md; that numpy's results come out is for the RTL to show."""
    cycles = [plan_layer(layer, Device(8)).cycles.total for layer in MOBILENET_224]
    assert cycles == [306_067, 460_741, 105_369]


@pytest.mark.parametrize("seed", range(30))
def test_random_layers_on_the_model(seed):
    """Also those of which no scratchpad holds more than a part."""
    rng = np.random.default_rng(seed)

    def some(least: int, most: int) -> int:
        return int(rng.integers(least, most + 1))

    channels = some(1, 9)
    depthwise = bool(seed % 4 == 0)
    filters = channels if depthwise else some(1, 9)
    device = Device(2, a_depth=some(80, 90) * 2, b_depth=120, bias_depth=4, c_depth=some(22, 60),
                    sums_depth=some(10, 30))
    layer = Layer(Convolution("layer", some(2, 8), some(2, 8), channels, filters, some(1, 2),
                              some(1, 2), some(0, 1)), Scale(1, 4), depthwise=depthwise,
                  together=channels if seed % 3 == 1 and not depthwise else 0)
    program = program_of(random_steps([layer], 2, seed), device)
    memory = program.memory.copy()
    AcceleratorModel(device, memory).run(program.commands)
    assert np.array_equal(program.result(0, memory), program.steps[0].expected)


@pytest.mark.parametrize("device", [
    Device(2), Device(2, a_depth=80, b_depth=80, c_depth=32, sums_depth=16)])
def test_a_shortcut_is_added(device):
    """Also piece by piece; a load of as many words as there are results is all that it takes."""
    plain = Layer(Convolution("layer", 5, 6, 3, 5, 3, padding=1), Scale(1, 6))
    layer = replace(plain, shortcut=1)
    program = program_of(random_steps([layer], 2, 1), device)
    step, memory = program.steps[0], program.memory.copy()
    AcceleratorModel(device, memory).run(program.commands)
    assert np.array_equal(program.result(0, memory), step.expected)
    without = plain.reference(step.image, step.weights, step.bias)
    both = without + step.shortcut.astype(int)
    inside = (abs(without) < 127) & (abs(both) < 128)  # at no limit
    assert inside.any()
    assert np.array_equal(step.expected[inside], both[inside])
    loads = [command for command in program.commands if command["operation"] == Operation.LOAD
             and command["target"] == Target.SHORTCUT]
    assert sum(command["count"] for command in loads) == layer.result_words(2) == 3 * 5 * 6
    assert all(command["scratch"] + command["count"] <= device.c_depth for command in loads)


def test_cycles_are_split():
    plan = plan_layer(NETWORKS["lenet_5"][0], Device(8))
    assert plan.cycles.total == program_cycles(plan.commands, 8, bounds.Memory())
    shape = {"height": 28, "width": 28, "channels": 1, "filters": 6, "kernel": 5, "padding": 2,
             "window": 2, "together": 1}
    assert plan.cycles.total == layer_cycles(size=8, **shape)
    assert plan.cycles.stream == 5 * 28 * 28  # a tile for each row of the kernel
    slow = plan_layer(plan.layer, plan.device, bounds.Memory(100, 4))
    assert slow.cycles.memory > plan.cycles.memory
    assert 0 < slow.utilisation < plan.utilisation < 1
    assert plan.beats >= 28 * 28 // 8


def test_bounds_by_hand():
    assert bounds.transfer_cycles(count=1) == 3
    assert bounds.transfer_cycles(count=4, delay=7, interval=2) == 2 + 7 + 6
    # one pixel, one tile: command, read, two rows of weights and the step in which they come into
    # use, a row, 2 steps to the last sum, product and sum, sums and their register, 6 and 3
    assert bounds.compute_cycles(size=2, pixels=1, tiles=1, strips=1) == (
        2 + 2 + 1 + 2 + 2 + 1 + 2 + 6 + 3)
    commands = [{"operation": Operation.LOAD, "wait": 1, "count": 3},
                {"operation": Operation.COMPUTE, "wait": 1, "pixels": 1, "tiles": 1, "strips": 1},
                {"operation": Operation.LOAD, "wait": 0, "count": 2},
                {"operation": Operation.STORE, "wait": 1, "count": 1}]
    assert bounds.schedule(commands, 2, bounds.Memory()) == [(1, 6), (6, 27), (7, 11), (27, 30)]


def test_faster_commands_never_make_a_list_slower():
    """No timing anomalies: every transfer may be faster or not."""
    plan = plan_layer(NETWORKS["mobilenet"][1], Device(8, b_depth=256, a_depth=256))
    worst = [program_cycles(plan.commands, 8, bounds.Memory(delay, interval))
             for delay, interval in ((1, 1), (5, 1), (5, 3), (40, 3))]
    assert worst == sorted(worst)


@pytest.mark.parametrize(("formula", "good"), [
    (bounds.transfer_cycles, {"count": 1, "delay": 1, "interval": 1}),
    (bounds.compute_cycles, {"size": 2, "pixels": 1, "tiles": 1, "strips": 1})])
def test_sizes_are_counts(formula, good):
    for name in good:
        with pytest.raises(NotCovered, match=f"^{name} must be a whole number of at least"):
            formula(**good | {name: 0})
    with pytest.raises(NotCovered, match=r"^layer: kernel must be at most 1, the padded image, "
                                         r"not 2$"):
        layer_cycles(size=2, height=1, width=1, channels=1, filters=1, kernel=2)


# -- what is refused -------------------------------------------------------------------------------

def test_a_layer_that_fits_no_cut():
    layer = Layer(Convolution("wide", 4, 40, 8, 8, 3))
    for depths, what, need, there in (
            ({"a_depth": 64}, "A", 40, 32), ({"b_depth": 8}, "B", 8, 4),
            ({"sums_depth": 16}, "the sums", 38, 16), ({"c_depth": 32}, "C", 38, 16)):
        with pytest.raises(ValueError, match=f"^wide: {what} must hold {need} words for the least "
                                             f"part of this layer, not {there}$"):
            plan_layer(layer, Device(8, **depths))


def test_layers_that_are_none():
    conv = Convolution("layer", 4, 4, 2, 3, 1)
    for what, message in (
            ({"window": 5}, "layer: window must be at most 4, the convolution's result, not 5"),
            ({"window": 0}, "layer: window must be at least 1, not 0"),
            ({"together": -1}, "layer: together must be at least 0, not -1"),
            ({"shortcut": -1}, "layer: shortcut must be at least 0, not -1"),
            ({"shortcut": 1, "window": 2},
             "layer: window must be 1 where a shortcut is added, not 2"),
            ({"pad": 128}, "layer: pad must be -128 to 127, not 128"),
            ({"zero": -129}, "layer: zero must be -128 to 127, not -129"),
            ({"shortcut": 1, "zero": 1},
             "layer: zero must be 0 where a shortcut is added, not 1"),
            ({"scales": ((1, 0),)}, "layer: scales must be one for each of 3 filters, not 1"),
            ({"scales": ((1, 0), (65536, 0), (1, 0))},
             "layer: multiplier must be 0 to 65535, not 65536"),
            ({"scales": ((1, 0), (1, 64), (1, 0))}, "layer: shift must be 0 to 63, not 64"),
            ({"depthwise": True},
             "layer: a depthwise layer must have as many filters as channels, not 3 and 2")):
        with pytest.raises(ValueError, match=f"^{message}$"):
            Layer(conv, **what)
    with pytest.raises(ValueError, match=r"^layer: a depthwise layer's planes, or those of any "
                                         r"with groups, must have as many channels as a word, not "
                                         r"2$"):
        Layer(Convolution("layer", 4, 4, 2, 2, 1), depthwise=True, together=2)
    with pytest.raises(TypeError, match=r"^layer: window must be a whole number, not 1.5$"):
        Layer(conv, window=1.5)
    with pytest.raises(TypeError, match=r"^layer must be a Layer, not 3$"):
        plan_layer(3, Device(8))
    with pytest.raises(ValueError, match=r"^p: m must be at least 1, not 0$"):
        product_layer(Product("p", 0, 1, 1))


def test_operands_that_do_not_fit():
    layer = Layer(Convolution("layer", 4, 4, 2, 3, 1))
    with pytest.raises(ValueError, match=r"^layer: image must be 2 x 4 x 4, not 1 x 4 x 4$"):
        layer.image_beats(np.zeros((1, 4, 4), dtype=np.int8), 2)
    with pytest.raises(ValueError, match=r"^layer: weights must be 3 x 2 x 1 x 1, not 3 x 1$"):
        layer.weight_beats(np.zeros((3, 1), dtype=np.int8), 2)
    with pytest.raises(ValueError, match=r"^layer: shortcut must be 3 x 4 x 4, not 3 x 4$"):
        layer.shortcut_beats(np.zeros((3, 4), dtype=np.int8), 2)
    with pytest.raises(TypeError, match=r"^layer: bias must hold int32, not int64$"):
        layer.bias_beats(np.zeros(3, dtype=np.int64), 2)
    a, b = np.zeros((2, 3), dtype=np.int8), np.zeros((4, 2), dtype=np.int8)
    with pytest.raises(ValueError, match=r"^p: A must have as many columns as B has rows, not "
                                         r"3 and 4$"):
        product_step("p", a, b, Scale())


@pytest.mark.parametrize("kind", [Device, bounds.Memory])
def test_devices_and_memories_are_counts(kind):
    name = "size" if kind is Device else "delay"
    least = 2 if kind is Device else 1
    with pytest.raises(ValueError, match=f"^{name} must be at least {least}, not 0$"):
        kind(**{name: 0})
    with pytest.raises(TypeError, match=f"^{name} must be a whole number, not 1.0$"):
        kind(**{name: 1.0})


def test_a_field_that_is_too_wide():
    layer = Layer(Convolution("long", 1, 70000, 1, 1, 1, stride=(1, 1000)), together=1)
    device = Device(2, a_depth=2**17, b_depth=8, c_depth=2**17, sums_depth=2**17, address_width=17)
    with pytest.raises(ValueError, match=r"^long: elements must be 0 to 65535, not 70000$"):
        plan_layer(layer, device)


# -- sizes and cuts that used to end otherwise -----------------------------------------------------

def test_a_cut_that_does_not_fit_a_command_is_left_out():
    """Whole, the image is 90,000 beats and its result as many pixels: more than 16 bits."""
    device = Device(8, a_depth=2**18, c_depth=2**18, sums_depth=2**18, address_width=18)
    plan = plan_layer(Layer(Convolution("c", 300, 300, 8, 8, 1)), device)
    assert max(command["count"] for command in plan.commands) < 2**16
    assert sum(command["pixels"] for command in plan.commands) == 300 * 300


def test_a_transfer_of_more_than_16_bits_is_split():
    moves = [Move(Target.A, 1, 2, 140_000), Move(Target.BIAS, 3, 5, 20_000)]
    found = list(_split_moves(moves))
    assert found == [
        (Move(Target.A, 1, 2, 65532), 65532), (Move(Target.A, 65533, 65534, 65532), 65532),
        (Move(Target.A, 131065, 131066, 8936), 8936),
        (Move(Target.BIAS, 3, 20, 16383), 65532), (Move(Target.BIAS, 16386, 65552, 3617), 14468)]


@pytest.mark.parametrize(("values", "message"), [
    ({"size": 5}, "size must be a power of two, not 5"),
    ({"size": 1}, "size must be at least 2, not 1"),
    ({"a_depth": 7}, "a depth must be even, not 7"), ({"a_depth": 2}, "a depth must be at least 4"),
    ({"bias_depth": 3}, "bias depth must be at least 4, not 3"),
    ({"pool_depth": 1}, "pool depth must be at least 2, not 1"),
    ({"address_width": 9}, "address width must be at least 10, not 9"),
    ({"memory_width": 0}, "memory width must be at least 1, not 0")])
def test_a_device_is_one_that_can_be_built(values, message):
    values = {"size": 8} | values
    with pytest.raises(ValueError, match=f"^{message}"):
        Device(**values)
    with pytest.raises(ValueError, match=" must be "):  # in the component's own words
        Accelerator(**values)


def test_numpy_integers_are_sizes_and_lists_are_no_operands():
    n = np.int64
    layer = Layer(Convolution("c", n(6), n(6), n(3), n(4), n(3), padding=(n(1), n(0), n(1), n(0))),
                  Scale(n(3), n(2)), window=n(2))
    assert layer == Layer(Convolution("c", 6, 6, 3, 4, 3, padding=(1, 0, 1, 0)), Scale(3, 2),
                          window=2)
    assert type(layer.convolution.height) is int
    assert Device(n(8)) == Device(8)
    assert bounds.Memory(n(3), n(2)) == bounds.Memory(3, 2)
    with pytest.raises(TypeError, match=r"^c: image must be a numpy array of int8, not list$"):
        layer.image_beats([[[1]]], 8)
    with pytest.raises(TypeError, match=r"^p: A must be a numpy array of int8, not list$"):
        product_step("p", [[1]], [[1]], Scale())
    with pytest.raises(TypeError, match=r"^c: kernel must be a whole number, not '3'$"):
        Convolution("c", 4, 4, 1, 1, "3")
    with pytest.raises(ValueError, match=r"^c: padding must be 1 or 4 numbers, not 2$"):
        Convolution("c", 4, 4, 1, 1, 3, padding=[1, 1])
    with pytest.raises(TypeError, match=r"^device must be a Device, not 8$"):
        plan_layer(layer, 8)
