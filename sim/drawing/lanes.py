"""A request's signals as data, which the report's script draws; and files for waveform viewers.

The values are those of `cyclebound.sim.drawing.waveform`: what a flip-flop takes at the end of each
cycle.
"""

import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cyclebound.sim.base.shape import cleaned, row_misfit
from cyclebound.sim.drawing.waveform import SignalWindow

__all__ = ["Lanes", "gtkwave", "lanes_of", "read_lanes", "surfer"]

VERSION = 1
_MOST = 4096      # cycles at each end of a request that is longer than twice as many
_CHANGES = 1500   # of all signals; fewer cycles are kept of what changes more often
_FEW = 20         # but at least so many at each end
_VALUE = re.compile(r"[0-9a-f]{1,20000}|\?[^<>&\x00-\x1f]{0,20000}")


@dataclass(frozen=True)
class Lanes:
    """The content of a picture of a request.

    Attributes
    ----------
    version : int
        Of this format: 1.
    title : str
        What the request is.
    first, last : int
        The cycles of the waveform in which it begins and ends.
    runs : list of (int, int)
        The cycles that are shown: one run of them, or two with a gap between; ends are excluded.
    cycles, ticks : int
        Cycles of the whole waveform; time steps of a cycle.
    file : str
        The waveform's name, such as ``wave.fst``.
    lanes : list of (name, path, width, changes)
        A signal's name without what all paths share, its full path, its bits, and its changes as
        (cycle, value): hexadecimal digits, or ``?`` and what is known where bits are x or z.
    """

    version: int
    title: str
    first: int
    last: int
    runs: list[tuple[int, int]]
    cycles: int
    ticks: int
    file: str
    lanes: list[tuple[str, str, int, list[tuple[int, str]]]]

    @property
    def text(self) -> str:
        """The waveform as JSON without blanks."""
        return json.dumps(asdict(self), separators=(",", ":"))


def lanes_of(path: Path, signals: Sequence[str], first: int, last: int, *, title: str,
             cycles: int, margin: int = 8) -> Lanes:
    """The signals around a request, from a waveform; see `cyclebound.sim.drawing.waveform.render`.

    Parameters
    ----------
    cycles : int
        How many the waveform has.
    margin : int
        Cycles kept before and after the request.

    Raises `UserError` for signals that the waveform lacks, or if it ends before the request.
    """
    shown = SignalWindow.of(path, signals, first, last, margin)
    start, stop = shown.cycles.start, shown.cycles.stop
    keep = _MOST
    while True:
        whole = stop - start <= 2 * keep
        runs = [(start, stop)] if whole else [(start, start + keep), (stop - keep, stop)]
        lanes = [(name + bits, full, width, [
            change for run in runs for change in shown.changes(full, range(*run))])
            for full, name, bits, width in shown.signals]
        many = sum(len(changes) for *_, changes in lanes)
        if many <= _CHANGES or keep <= _FEW + margin:
            break
        # a little fewer than would be enough if all cycles changed alike
        keep = max(_FEW + margin, min(keep // 2, (stop - start) * _CHANGES // (2 * many)))
    return Lanes(VERSION, title, first, last, runs, max(cycles, stop), shown.ticks,
                 Path(path).name, [
        (name, full, width, [(cycle, _word(value)) for cycle, value in changes])
        for name, full, width, changes in lanes])


def _word(value: object) -> str:
    if isinstance(value, int):
        return f"{value:x}"
    return "?" if value is None else f"?{value}"


def read_lanes(text: str) -> Lanes | None:
    """The lanes that a text holds; None for any other text: results may come from anywhere."""
    try:
        row = cleaned(json.loads(text))
    except (TypeError, ValueError, RecursionError):
        return None
    if (row_misfit(row, Lanes, "lanes") or not isinstance(row, dict)
            or row["version"] != VERSION):
        return None
    lanes = Lanes(**row)
    if not (0 <= lanes.first <= lanes.last and lanes.ticks > 0 and 1 <= len(lanes.runs) <= 2
            and lanes.lanes and 0 < lanes.cycles < 1 << 40 and lanes.ticks < 1 << 40):
        return None
    ends = [0, *(cycle for run in lanes.runs for cycle in run)]
    if any(a > b for a, b in itertools.pairwise(ends)) or ends[-1] > 1 << 40:
        return None
    if not re.fullmatch(r"[\w.-]+", lanes.file):
        return None
    for _, path, width, changes in lanes.lanes:
        if not 1 <= width <= 1 << 16 or any(not _VALUE.fullmatch(word) for _, word in changes):
            return None
        if not path or any(sign in path for sign in "\n\t\""):
            return None
    return lanes


def surfer(lanes: Lanes) -> str:
    """Commands for Surfer: the signals, a marker at both ends of the request, and a view of it.

    The file is for ``surfer WAVEFORM --command-file FILE``. Source: Surfer's docs/commands.
    """
    begin, end = lanes.first * lanes.ticks, (lanes.last + 1) * lanes.ticks
    # zoom_in halves what is in view, around its middle
    halves = max(0, int(math.log2(lanes.cycles / (lanes.last - lanes.first + 9))))
    return "\n".join([
        *(f"variable_add {path}" for _, path, *_ in lanes.lanes), "zoom_fit",
        *[f"cursor_set {(begin + end) // 2}", "zoom_in"] * halves,
        f"marker_set request {begin}", f"marker_set completion {end}", f"cursor_set {begin}", ""])


def gtkwave(lanes: Lanes, dump: str) -> str:
    """A GTKWave save file: the signals, the cursor at the request, markers A and B at its ends.

    Parameters
    ----------
    dump : str
        Where the waveform is, from the folder in which GTKWave is called.
    """
    begin, end = lanes.first * lanes.ticks, (lanes.last + 1) * lanes.ticks
    pixel = max(1.0, (end - begin + 8 * lanes.ticks) / 900)  # time steps of a pixel, of 900
    unused = " -1" * 24
    lines = [f'[dumpfile] "{dump}"', f"[timestart] {max(0, begin - 4 * lanes.ticks)}",
             f"*-{math.log2(pixel):.6f} {begin} {begin} {end}{unused}"]
    for _, path, width, _ in lanes.lanes:
        # @28: binary, @22: hexadecimal
        lines += ["@28", path] if width == 1 else ["@22", f"{path}[{width - 1}:0]"]
    return "\n".join([*lines, ""])
