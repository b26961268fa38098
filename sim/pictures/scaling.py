"""Kernels on 1 to 15 cores above DRAM, as a picture.

    python -m cyclebound.sim.pictures.scaling FILE.csv PICTURE

FILE.csv is what `python -m cyclebound.tools.dataflow.scaling` wrote; PICTURE ends in .svg, .png or
.pdf.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.drawing.drawing import write
from cyclebound.tools.dataflow.scaling import ScaledRun, read_scaling

__all__ = ["figure", "main"]

_COLOURS = ("#4477aa", "#cc6677", "#228833", "#aa3377", "#ccbb44", "#66ccee", "#555555")
_MARKERS = "osD^vPX*<>"  # one for each kernel, so that lines differ without colours
_LINES = ("-", "--", ":")


def figure(runs: Mapping[str, Mapping[int, ScaledRun]]) -> Figure:
    """By kernel, how many times as fast it is as on the fewest cores. A dotted line is the number
    of cores. ``runs`` is `read_scaling`'s."""
    chart = Figure(figsize=(7, 4.2), layout="constrained")
    axes = chart.subplots()
    for k, (name, by) in enumerate(runs.items()):
        cores = sorted(by)
        axes.plot(cores, [by[cores[0]].cycles / by[count].cycles for count in cores],
                  marker=_MARKERS[k % len(_MARKERS)], linestyle=_LINES[k % len(_LINES)],
                  markersize=5, linewidth=1.2, color=_COLOURS[k % len(_COLOURS)], label=name)
    numbers = sorted({count for by in runs.values() for count in by})
    _, top = axes.get_ylim()
    axes.plot(numbers, [count / numbers[0] for count in numbers], color="black", linewidth=0.8,
              linestyle=(0, (1, 3)), label="cores")
    axes.set(xlabel="cores", ylabel=f"speed-up over {numbers[0]} core"
             f"{'s' * (numbers[0] > 1)} (cycles over cycles)", xticks=numbers, ylim=(0.8, top))
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return chart


def main(arguments: list[str]) -> int:
    """The command's exit status."""
    if len(arguments) != 2:
        print("usage: python -m cyclebound.sim.pictures.scaling FILE.csv PICTURE", file=sys.stderr)
        return 2
    path, picture = map(Path, arguments)
    try:
        write(figure(read_scaling(path)), picture, "PICTURE")
    except OSError as error:
        print(f"cannot read {path}: {error.strerror}", file=sys.stderr)
        return 2
    except (UserError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
