"""Layers of every kind, on accelerators of any depths: numpy = model, plan's cycles = schedule's.

The search that found nothing wrong finds planted faults. On the RTL, the accelerator's testbench
draws layers from the same generator.
"""

import random
import re

import numpy as np
import pytest

from cyclebound.golden.systolic import accelerator_jobs, accelerator_model, accelerator_plan
from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_layer import Layer, product_layer
from cyclebound.golden.systolic.accelerator_model import AcceleratorModel
from cyclebound.golden.systolic.accelerator_network import program_of, random_layer, random_steps
from cyclebound.golden.systolic.accelerator_plan import Device, plan_layer, program_cycles
from cyclebound.golden.systolic.layers import Convolution, Product
from cyclebound.golden.systolic.post_processing import Scale

pytestmark = pytest.mark.unit


def some_device(rng: random.Random, size: int) -> Device:
    """Depths from the least that there are to some hundred words."""
    return Device(size, a_depth=2 * rng.randint(2, 200), b_depth=rng.randint(4, 300),
                  bias_depth=rng.randint(4, 12), c_depth=rng.randint(4, 200),
                  sums_depth=rng.randint(4, 100), pool_depth=rng.randint(2, 20))


def search(seeds: range) -> tuple[int, int]:
    """How many layers ran, and how many of them with sums kept between commands.

    Raises `AssertionError` with the layer and the device where something differs.
    """
    ran = sliced = 0
    for seed in seeds:
        rng = random.Random(seed)
        size = rng.choice([2, 4, 8])
        device, layer = some_device(rng, size), random_layer(rng, size)
        memory = Memory(rng.randint(1, 9), rng.randint(1, 3))
        try:
            program = program_of(random_steps([layer], size, seed), device, memory)
        except ValueError as error:
            if not re.match("layer: .* must hold .* words for the least part", str(error)):
                raise
            continue
        beats = program.memory.copy()
        AcceleratorModel(device, beats).run(program.commands)
        assert np.array_equal(program.result(0, beats), program.steps[0].expected), (
            seed, layer, device)
        (plan,) = program.plans
        cycles, _ = accelerator_plan._cycles(
            accelerator_plan._best(layer, device, memory), memory, float("inf"))
        assert plan.cycles.total == program_cycles(plan.commands, size, memory) == cycles, (
            seed, layer, device)
        ran += 1
        sliced += any(command["keep"] for command in program.commands)
    return ran, sliced


def test_random_layers():
    ran, sliced = search(range(60))
    assert ran > 40
    assert sliced > 20


@pytest.mark.thorough
def test_many_random_layers():
    ran, sliced = search(range(1000, 9000))
    assert ran > 6000
    assert sliced > 3000


@pytest.mark.parametrize("fault", ["pad", "zero", "resume", "keep", "scales", "start", "top"])
def test_the_search_finds_a_field_that_is_ignored(fault, monkeypatch):
    right = accelerator_model.AcceleratorModel._compute
    monkeypatch.setattr(accelerator_model.AcceleratorModel, "_compute", lambda self, command: right(
        self, {**command, fault: 0}))
    with pytest.raises(AssertionError):
        search(range(60))


def test_the_search_finds_a_half_that_is_not_changed(monkeypatch):
    """Weights of the next job over those in use, seen by a load as it is under way: late."""
    right = accelerator_jobs.Cut.jobs

    def jobs(self):
        return (job._replace(loads=tuple(
            move._replace(scratch=move.scratch % (self.shape.device.b_depth // 2))
            if move.target == accelerator_jobs.Target.B else move for move in job.loads))
            for job in right(self))

    monkeypatch.setattr(accelerator_jobs.Cut, "jobs", jobs)
    with pytest.raises(AssertionError):
        search(range(60))


def test_the_search_finds_cycles_that_are_not_the_schedules(monkeypatch):
    right = accelerator_plan._cycles
    monkeypatch.setattr(accelerator_plan, "_cycles", lambda *given: (
        right(*given)[0] + 1, right(*given)[1]))
    with pytest.raises(AssertionError):
        search(range(60))


# -- what a computation reads while the transfers beside it run ------------------------------------

def touched(commands, device):
    """For each computation: the words that it reads or writes in each scratchpad, and those that
    the transfers beside it touch. From the commands alone."""
    def span(kind, start, count):
        return {(kind, start + i) for i in range(count)}

    names = {0: "A", 1: "B", 2: "bias", 3: "shortcut", 4: "scale"}
    beside, reads = None, None
    for command in commands:
        if command["operation"] == accelerator_plan.Operation.COMPUTE:
            if beside is not None:
                yield reads, beside
            strips = command["strips"]
            words = command["planes"] * command["kernel"] * command["run"]
            # every row of the image that is in the scratchpad for this computation
            origin = command["origin"] - command["top"] * command["pitch"]
            reads = {("A", (origin + plane * command["plane_step"] + i) % 2**device.address_width)
                     for plane in range(command["planes"])
                     for i in range(command["height"] * command["pitch"])}
            reads |= span("B", command["b_base"], strips * words)
            if not command["keep"]:
                reads |= span("bias", command["bias_base"], strips)
                if command["scales"]:
                    reads |= span("scale", command["bias_base"], strips)
                pooled = command["image_height"] // command["window"] * command["pooled"]
                reads |= span("C", command["c_base"], strips * pooled)
                if command["shortcut"]:
                    reads |= span("shortcut", command["c_base"], strips * command["pixels"])
            beside = set()
        elif command["wait"]:  # after the computation, as all transfers after it
            if beside is not None:
                yield reads, beside
            beside = None
        elif beside is not None:
            store = command["operation"] == accelerator_plan.Operation.STORE
            kind = "C" if store else names[command["target"]]
            count = command["count"] // (4 if kind in ("bias", "scale") else 1)
            beside |= span(kind, command["scratch"], count)
    if beside is not None:
        yield reads, beside


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(2000, 5000),
                                                           marks=pytest.mark.thorough)])
def test_no_transfer_touches_what_the_computation_beside_it_uses(seeds):
    """A model that runs commands one after the other cannot see it; this is from their addresses.
    """
    met = 0
    for seed in seeds:
        rng = random.Random(seed)
        size = rng.choice([2, 4, 8])
        device, layer = some_device(rng, size), random_layer(rng, size)
        try:
            commands = plan_layer(layer, device).commands
        except ValueError:
            continue
        for used, beside in touched(commands, device):
            assert not used & beside, (seed, layer, device, sorted(used & beside)[:3])
            met += bool(beside)
    assert met > 3 * len(seeds)


def test_a_transfer_that_touches_it_is_seen(monkeypatch):
    """Images always in the same half: in order nothing is wrong, side by side it is."""
    right = accelerator_jobs.Cut.jobs

    def jobs(self):
        half = self.shape.device.a_depth // 2
        return (job._replace(a_base=job.a_base % half, loads=tuple(
            move._replace(scratch=move.scratch - job.a_base + job.a_base % half)
            if move.target == accelerator_jobs.Target.A else move for move in job.loads))
            for job in right(self))

    monkeypatch.setattr(accelerator_jobs.Cut, "jobs", jobs)
    search(range(20))
    with pytest.raises(AssertionError):
        test_no_transfer_touches_what_the_computation_beside_it_uses(range(20))


# -- layers of ordinary networks, which used to fit no cut -----------------------------------------

ORDINARY = {
    "56 x 56 x 64, 3 x 3": Layer(Convolution("c", 56, 56, 64, 64, 3, padding=1), Scale(1, 9)),
    "fully connected, k = 1,024": product_layer(Product("fc", 1, 1024, 1000), Scale(1, 9)),
    "128 x 768 x 768": product_layer(Product("mm", 128, 768, 768), Scale(1, 9)),
    "ResNet's first": Layer(Convolution("r", 224, 224, 3, 64, 7, 2, 3), Scale(1, 9), together=3),
    "4 groups": Layer(Convolution("g", 28, 28, 64, 128, 3, padding=1, groups=4), Scale(1, 9)),
    "dilation": Layer(Convolution("d", 28, 28, 32, 32, 3, padding=2, dilation=2), Scale(1, 9)),
}
PLANNED = {"56 x 56 x 64, 3 x 3": 1_820_125, "fully connected, k = 1,024": 136_404,
           "128 x 768 x 768": 1_192_211, "ResNet's first": 2_125_305, "4 groups": 229_027}


@pytest.mark.parametrize("name", PLANNED)
def test_ordinary_layers_are_planned_for_the_default_device(name):
    """As in docs/systolic.md."""
    plan = plan_layer(ORDINARY[name], Device(8))
    assert plan.cycles.total == PLANNED[name]
    stream = sum(command["pixels"] * command["tiles"] * command["strips"]
                 for command in plan.commands if command["operation"] == 1)
    beats = plan.beats
    assert max(stream, beats) > 0.85 * plan.cycles.total


@pytest.mark.thorough
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_layers_are_right(name):
    program = program_of(random_steps([ORDINARY[name]], 8, 1), Device(8))
    beats = program.memory.copy()
    AcceleratorModel(Device(8), beats).run(program.commands)
    assert np.array_equal(program.result(0, beats), program.steps[0].expected)
    assert len(np.unique(program.steps[0].expected)) > 3


def test_sums_that_do_not_fit_32_bits_are_refused():
    with pytest.raises(ValueError, match=r"^p: a filter must have at most 131071 weights, for its "
                                         r"sums to have 32 bits, not 131072$"):
        product_layer(Product("p", 1, 2**17, 1))
