"""Commands about the systolic accelerator: a user's own layers and networks on it."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_plan import Device
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.print_table import print_table
from cyclebound.sim.cli.base import (
    GROUPS,
    AsJson,
    Commands,
    Settings,
    app,
    console,
    named_values,
    progress_bars,
)
from cyclebound.sim.drawing.drawing import FORMATS, write
from cyclebound.sim.families.systolic.files import load_array
from cyclebound.sim.families.systolic.run import NetworkRun, run_model

systolic = Commands(no_args_is_help=True, help=GROUPS["systolic"][1])
app.add_typer(systolic, name="systolic")


@systolic.callback()
def _common() -> None:
    """Keeps ``run`` a word of its own while it is the only command."""


@systolic.command()
def run(
    model: Annotated[Path, typer.Argument(
        metavar="MODEL", help="Weights in a .npz file, or a quantised network in a .onnx file.")],
    x: Annotated[Path | None, typer.Option(
        "--input", metavar="X.npy", help="The input; not needed by `--engine plan` if the model "
        "states its size.")] = None,
    engine: Annotated[str, typer.Option(
        metavar="plan|model|rtl", help="plan: cycles only; model: results too, from the golden "
        "model; rtl: both from the Verilog, simulated cycle by cycle, and compared.")] = "model",
    size: Annotated[int, typer.Option(
        "--device", metavar="SIZE", help="Rows and columns of the array, and bytes of a beat: a "
        "power of two.")] = 8,
    settings: Settings = None,
    delay: Annotated[int, typer.Option(
        metavar="N", help="Cycles from a request to its first beat, at most.")] = 1,
    interval: Annotated[int, typer.Option(
        metavar="N", help="Cycles from a beat to the next, at most.")] = 1,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="Y.npy", help="Where the result goes.")] = None,
    picture: Annotated[Path | None, typer.Option(
        "--picture", metavar="FILE", help="Draw the layers' roofline: .svg, .png or .pdf.")] = None,
    folder: Annotated[Path | None, typer.Option(
        "--keep", metavar="DIR", help="Keep the simulation's log here.")] = None,
    as_json: AsJson = False,
) -> None:
    """A layer or network of your own: its result, its cycles, and their bound.

    MODEL.npz holds arrays of one layer: weights (int8: filters x channels x height x width, or
    filters x elements), and if needed bias (int32), multiplier, shift (one, or one a filter), low,
    high, zero, pad, stride, padding, dilation, groups, window; for several layers NAME.weights and
    so on, in order. X.npy is an image (int8: channels x height x width), or rows x elements.

    MODEL.onnx holds a quantised network, a chain of layers: operators on whole numbers
    (QLinearConv, QLinearMatMul, QGemm, ...), or in floating point between pairs of QuantizeLinear
    and DequantizeLinear (QDQ). A node that is not supported is refused by name.

    Cycles count from the first command to the last result in memory. The prediction is exact for a
    memory with exactly --delay and --interval, and a bound for any faster one.

        cyclebound systolic run layer.npz --input x.npy \\
            --output y.npy --engine rtl

    --set NAME=VALUE sizes the accelerator: a_depth, b_depth, bias_depth, c_depth, sums_depth,
    pool_depth, address_width, memory_width (docs/systolic.md).

    Exit status 1: the RTL's result is not numpy's, or it took longer than predicted.
    """
    device, memory = _device(size, settings), _memory(delay, interval)
    if picture is not None and picture.suffix not in FORMATS:
        raise UserError(f"--picture takes a file that ends in {', '.join(FORMATS)}, not {picture}")
    if output is not None and engine == "plan":
        raise UserError("--output needs a result, and --engine plan has none")
    if output is not None and output.suffix != ".npy":
        raise UserError(f"--output takes a file that ends in .npy, not {output}")
    with progress_bars() as report:
        done = run_model(model, None if x is None else load_array(x), device=device, memory=memory,
                         engine=engine, folder=folder, progress=report)
    if output is not None:
        assert done.result is not None  # only --engine plan has none
        try:
            np.save(output, done.result)
        except OSError as error:
            raise UserError(f"cannot write {output}: {error.strerror}") from error
    if picture is not None:
        from cyclebound.sim.pictures.roofline import figure_of_plans  # matplotlib takes a second

        write(figure_of_plans(done.model.name, done.plans, memory), picture, "--picture")
    print(json.dumps(_plain(done), indent=2)) if as_json else _show(done, output)
    if not done.held:
        raise typer.Exit(1)


def _device(size: int, settings: list[str] | None) -> Device:
    values = {"size": size}
    names = [member.name for member in fields(Device) if member.name != "size"]
    for name, text in named_values("--set", settings).items():
        if name not in names:
            raise unknown("parameter of the accelerator", name, names)
        try:
            values[name] = int(text, 0)
        except ValueError:
            raise UserError(f"--set {name} takes a whole number, not {text!r}") from None
    try:
        return Device(**values)
    except (TypeError, ValueError) as error:
        raise UserError(f"accelerator: {error}") from error


def _memory(delay: int, interval: int) -> Memory:
    try:
        return Memory(delay, interval)
    except (TypeError, ValueError) as error:
        raise UserError(f"--{error}") from error


def _rows(done: NetworkRun) -> list[dict[str, Any]]:
    from cyclebound.sim.pictures.roofline import point_of

    rows: list[dict[str, Any]] = []
    for plan in done.plans:
        point = point_of(done.model.name, plan, done.memory)
        rows.append({"layer": plan.layer.name, "commands": len(plan.commands),
                     "cycles": plan.cycles.total, "waiting for memory": plan.cycles.memory,
                     "macs": plan.layer.macs, "macs per byte": point.intensity,
                     "macs per cycle": point.rate, "roof": point.roof})
    return rows


def _plain(done: NetworkRun) -> dict[str, object]:
    return {"model": done.model.name, "layers": _rows(done), "predicted": done.planned,
            "cycles": done.cycles, "held": done.held, "wrong": done.wrong,
            "scale_error": done.model.error}


def _show(done: NetworkRun, output: Path | None) -> None:
    table = Table(title=f"{done.model.name}: {len(done.plans)} layers", title_justify="left")
    for number, heading in enumerate(("layer", "commands", "cycles", "of these, for memory", "MACs",
                                      "MACs per byte", "MACs per cycle", "of the roof")):
        table.add_column(heading, justify="right" if number else "left")
    for row in _rows(done):
        table.add_row(str(row["layer"]), f"{row['commands']:,}",
                      f"{row['cycles']:,}", f"{row['waiting for memory']:,}", f"{row['macs']:,}",
                      f"{row['macs per byte']:.1f}", f"{row['macs per cycle']:.1f}",
                      f"{row['macs per cycle'] / row['roof']:.0%}")
    out = console()
    print_table(table, out)

    def say(line: str) -> None:
        out.print(line, highlight=False, markup=False, soft_wrap=True)

    say(f"predicted: {done.planned:,} cycles")
    if done.cycles is not None:
        verdict = ("as predicted" if done.cycles == done.planned else
                   "less than predicted" if done.cycles < done.planned else "MORE THAN PREDICTED")
        say(f"on the RTL: {done.cycles:,} cycles, {verdict}")
    if done.model.error:
        say(f"scales: within {done.model.error:.1e} of the model's, as multiplier / 2 ** shift")
    if done.result is not None:
        say(f"result: {' x '.join(map(str, done.result.shape))} {done.result.dtype}, "
            + (done.wrong or "equal to numpy's") + (f"; in {output}" if output else ""))
