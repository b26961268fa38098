"""A user's own layer or network on the systolic accelerator: by plan, on the model, on the RTL.

    from cyclebound.sim.families.systolic.run import run_model
    done = run_model("layer.npz", np.load("x.npy"), engine="rtl")
    done.result, done.cycles, done.planned
"""

import concurrent.futures
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.bound import Bound
from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_model import AcceleratorModel
from cyclebound.golden.systolic.accelerator_network import Program, Trained, program_of, steps_of
from cyclebound.golden.systolic.accelerator_plan import Device, LayerPlan, program_cycles
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.identity import identity
from cyclebound.sim.describe.block import BoundBinding, Configuration, Testbench
from cyclebound.sim.families.systolic.files import load_model
from cyclebound.sim.families.systolic.models import Model, fits
from cyclebound.sim.run.job import Job, simulate

__all__ = ["ENGINES", "NetworkRun", "run_model"]

ENGINES = ("plan", "model", "rtl")
_PROGRESS, _RESULT = "progress.txt", "memory.npy"
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class NetworkRun:
    """The result of a network's run.

    Attributes
    ----------
    model : Model
        As it was read.
    plans : tuple of LayerPlan
        A layer's commands, and where their cycles go.
    memory : Memory
        For which the cycles are.
    planned : int
        Cycles of the whole list, from the first command to the last result in memory: the bound.
    cycles : int or None
        Those of the RTL.
    result : array or None
        Of the last layer, as it is written: int8, uint8 or float32.
    wrong : str
        Empty, or what the engine's memory has that numpy's has not.
    """

    model: Model
    plans: tuple[LayerPlan, ...]
    memory: Memory
    planned: int
    cycles: int | None = None
    result: NDArray[np.generic] | None = None
    wrong: str = ""

    @property
    def held(self) -> bool:
        """The result is numpy's, and the RTL takes no longer than planned."""
        return not self.wrong and (self.cycles is None or self.cycles <= self.planned)


def run_model(model: str | Path | Model, x: NDArray[np.generic] | None = None, *,
              device: Device | None = None, memory: Memory | None = None, engine: str = "model",
              folder: str | Path | None = None, progress: Report | None = None,
              wall_limit: float = 24 * 3600.0) -> NetworkRun:
    """A layer or network of a user's own.

    Parameters
    ----------
    model : path or Model
        A file that ends in .npz or .onnx, as docs/systolic.md describes, or what `load_model` read.
    x : array or None
        The input; None only for ``plan``, where the file has its size.
    device, memory : Device, Memory
        The accelerator, and what is known of its memory; the defaults are ``Device(8)``, and a beat
        in each cycle.
    engine : str
        ``plan``: cycles only; ``model``: the list of commands on the golden model; ``rtl``: on the
        Verilog, cycle by cycle.
    folder : path or None
        Where the simulation keeps its log; None: nowhere.
    progress : callable or None
        Is told ``(step, done, total)``.
    wall_limit : float
        Seconds after which a simulation is stopped.

    Raises `UserError` where something is not supported, does not fit, or a simulation fails.
    """
    if engine not in ENGINES:
        raise UserError(f"the engine is {', '.join(ENGINES[:-1])} or {ENGINES[-1]}, not {engine!r}")
    device, memory = device or Device(8), memory or Memory()
    for thing, value, kind in (("device", device, Device), ("memory", memory, Memory)):
        if not isinstance(value, kind):
            raise UserError(f"{thing} must be a {kind.__name__}, not {value!r}")
    if x is not None and not isinstance(x, np.ndarray):
        raise UserError(f"the input must be a numpy array, not {type(x).__name__}")
    if not isinstance(model, Model):
        model = load_model(Path(model), x)
    if x is None and engine != "plan":
        raise UserError(f"{model.name}: the engine {engine} needs an input")
    tell = progress or (lambda step, done, total: None)
    for layer in (trained.layer for trained in model.layers):
        conv, (top, left, bottom, right) = layer.convolution, layer.convolution.edges
        fits(layer.name, "its padded image", (conv.channels, conv.height + top + bottom,
                                              conv.width + left + right))
        fits(layer.name, "its result", (conv.filters, *conv.output))
    image = None if x is None else model.image(x)
    tell("plan", 0, len(model.layers))
    try:
        program = _planned(model, image, device, memory)
    except (TypeError, ValueError) as error:
        raise UserError(str(error)) from error
    tell("plan", len(model.layers), len(model.layers))
    planned = program_cycles(program.commands, device.size, memory)
    done = NetworkRun(model, program.plans, memory, planned)
    if engine == "plan":
        return done
    if engine == "model":
        beats = program.memory.astype(np.int64)
        golden = AcceleratorModel(device, beats)
        for number, command in enumerate(program.commands):
            tell("commands", number, len(program.commands))
            golden.step(command)
        cycles = None
    else:
        with tempfile.TemporaryDirectory() as other:
            beats, cycles = _simulate(program, device, memory, planned, Path(folder or other), tell,
                                      wall_limit)
    wrong = next((f"{step.layer.name}: the result is not numpy's" for number, step in
                  enumerate(program.steps)
                  if not np.array_equal(program.result(number, beats), step.expected)), "")
    return replace(done, cycles=cycles, wrong=wrong,
                   result=model.result(program.result(len(program.steps) - 1, beats)))


def _planned(model: Model, image: NDArray[np.int8] | None, device: Device,
             memory: Memory) -> Program:
    """The program; the first layer's image as it takes fewer cycles: in planes, or in one."""
    size, first = device.size, model.layers[0]
    conv, ways = first.layer.convolution, [0]
    if conv.groups == 1 and conv.channels % size:
        ways.append(conv.channels)
    programs, refused = [], None
    for together in ways:
        layers = (Trained(replace(first.layer, together=together), first.weights, first.bias),
                  *model.layers[1:])
        try:
            programs.append(program_of(steps_of(layers, image, size), device, memory))
        except ValueError as error:
            refused = refused or error
    if not programs:
        assert refused is not None
        raise refused
    return min(programs, key=lambda program: program_cycles(program.commands, size, memory))


def _simulate(program: Program, device: Device, memory: Memory, planned: int, folder: Path,
              tell: Report, wall_limit: float) -> tuple[NDArray[np.int64], int]:
    """Memory after the program, and its cycles, on Verilator."""
    folder.mkdir(parents=True, exist_ok=True)
    names = list(program.commands[0])
    np.savez(folder / "program.npz", memory=program.memory, fields=np.array(names),
             commands=np.array([[command[name] for name in names]
                                for command in program.commands], dtype=np.int64),
             delay=memory.delay, interval=memory.interval)
    for old in (_PROGRESS, _RESULT):
        (folder / old).unlink(missing_ok=True)
    the_block = catalogue.load(()).find("systolic.accelerator")
    # of a whole list of commands that never leaves the accelerator idle, as of a layer's
    probe = next(binding.probe for binding in the_block.bounds if binding.what == "layer")
    claim = Bound("program_cycles", "the schedule of its commands", "this project",
                  lambda: planned, kind="prediction")
    block = replace(
        the_block, configurations={"own": Configuration(dict(vars(device)))}, checker=None,
        bounds=(BoundBinding("program", claim, probe),), properties=(),
        testbenches=(Testbench("program", "cyclebound.tb.systolic.accelerator_program",
                               compares=False, max_cycles=2 * planned + 1000),))
    job = Job(block.name, "own", "program", 1, str(folder), wall_limit=wall_limit)
    made_from = identity((), "systolic run", sorted(vars(device).items()))
    tell("build", 0, 1)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(simulate, block, job, identity=made_from)
        while not concurrent.futures.wait([running], 0.2).done:
            if (folder / _PROGRESS).exists():
                given, _, total = (folder / _PROGRESS).read_text().partition(" ")
                if total.strip():
                    tell("commands", int(given), int(total))
        outcome = running.result()
    if not outcome.passed:
        raise UserError(f"the simulation failed: {outcome.reason}")
    whole = [group for group in outcome.groups if group.count]
    if len(whole) != 1 or whole[0].count != 1:
        raise UserError("the simulation did not carry out the commands as one list: the "
                        f"accelerator was idle {sum(group.count for group in whole)} times")
    return np.load(folder / _RESULT).astype(np.int64), whole[0].latency
