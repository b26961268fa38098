"""A run as one HTML file: verdicts, the worst request of each bound, proofs, FPGA figures.

The file is complete in itself: no script, no font, no picture is fetched from anywhere, and its
content security policy forbids it. The one script that it allows, by its hash, is ``report.js``,
which searches, filters and sorts the table, with ``report_lanes.js``, which draws waveforms. It is
made from `Results` alone, and from the logs of jobs that failed while they are still there. Where a
run has blocks of several families, the models of `cyclebound gpu`, which no run simulates, have a
section too.
"""

import base64
import functools
import hashlib
import itertools
import json
import math
import re
import shlex
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    EngFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
    StrMethodFormatter,
)

from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.folders import job_folder
from cyclebound.sim.base.installed import everything
from cyclebound.sim.build.sources import closure
from cyclebound.sim.drawing.drawing import Drawing
from cyclebound.sim.drawing.lanes import gtkwave, read_lanes, surfer
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.mutation.rows import read_campaigns
from cyclebound.sim.proof.prove import Certificate
from cyclebound.sim.regression.results import JobRow, Results, unproved
from cyclebound.sim.regression.table import Run, difference_words, differences
from cyclebound.sim.run.job import Job
from cyclebound.tb.assumed import said

__all__ = ["write_report"]

_SYMBOLS = {"exact": "=", "right": "=", "held": "≤", "violated": ">", "wrong": "≠",
            "refuted": "✗", "not covered": "?", "unobserved": "∅", "void": "✗",
            "weaker": "↓", "changed": "≠", "proved": "✓", "bounded": "≤", "failed": "✗",
            "passed": "✓"}
_TALLIED = ("exact", "held", "violated", "right", "wrong", "failed")
_MEANS = {
    "exact": "for every kind of request, the worst that was measured equals the bound",
    "right": "every request took exactly as long as predicted",
    "held": "nothing exceeds the bound, and for some kinds of request nothing reaches it",
    "violated": "a request took longer than the bound allows",
    "wrong": "a request took longer or shorter than predicted",
    "void": "a simulation of this configuration failed or is missing: the others show nothing",
    "refuted": "a proof's counterexample breaks it, though nothing that was simulated does",
    "not covered": "the formula does not speak of a request that was observed",
    "unobserved": "no request was observed, so nothing is shown",
    "weaker": "it rests on less than its committed baseline: see the detail",
    "changed": "it rests on more, or on other things, than its committed baseline, and that is not "
               "accepted yet",
    "proved": "for any number of cycles",
    "bounded": "no counterexample within the given number of cycles",
    "failed": "see the detail",
}
_LOG_LINES = 25
_SVG = "{http://www.w3.org/2000/svg}"
_SEEN = "seen"  # the folder in which the page's commands simulate a request again


def write_report(folder: Path, output: Path | None = None, since: Path | None = None) -> Path:
    """Write the report of the run in ``folder``, by default to ``report.html`` in it.

    With ``since``, an earlier run's folder, it begins with what has changed from that run to this.

    Raises `UserError` if the folder holds no run, or the file cannot be written.
    """
    output = Path(folder) / "report.html" if output is None else Path(output)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"words": _words, "count": _count, "plural": _plural, "rate": _rate,
                            "seconds": _seconds, "breaking": _breaking, "said": said,
                            "certificate": lambda fields: str(Certificate(**fields))}
    script = "\n".join(Path(__file__).with_name(name).read_text()
                       for name in ("report.js", "report_lanes.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals |= {"symbols": _SYMBOLS, "means": _MEANS, "script": Markup(script),
                            "script_hash": f"sha256-{digest}"}
    changed = None if since is None else [
        {**row, "was": difference_words(row["was"], row["now"]),
         "now": difference_words(row["now"], row["was"])}
        for row in differences(Run(since), Run(folder))]
    environment.globals |= {"since": since, "changed": changed}
    results = Results(folder)
    try:
        content = environment.get_template("report.html").render(_gathered(results))
    finally:
        results.close()
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {output}: {error}") from error
    return output


def _gathered(results: Results) -> dict[str, object]:
    """All that the template shows."""
    meta, jobs = results.meta, results.jobs()
    verdicts = [Verdict(**row) for row in results.rows("verdict")]
    proofs, fpga = results.rows("proof"), results.rows("fpga")
    waveforms = results.waveforms()
    pictures = [Drawing(**row) for row in results.rows("picture")]
    rows = [_row(number, verdict, jobs, waveforms) for number, verdict in enumerate(verdicts, 1)]
    failed_jobs = [job for job in jobs if not job.passed]
    cross_checks = results.rows("cross_check")
    open_proofs = unproved(proofs)
    blocks = dict.fromkeys([*(v.block for v in verdicts), *(j.block for j in jobs),
                            *(p["block"] for p in proofs), *(f["block"] for f in fpga),
                            *(p.block for p in pictures)])
    tally = Counter("failed" if v.failed and v.verdict not in ("violated", "wrong") else v.verdict
                    for v in verdicts)
    planned = meta.get("jobs")
    families = [(family, [*names]) for family, names in itertools.groupby(
        sorted(blocks), key=lambda name: name.partition(".")[0])]
    return {
        "families": families, "gpu": _gpu() if len(families) > 1 else None,
        "filters": [(name, sorted({str(row[name]) for row in rows}))
                    for name in ("family", "verdict", "evidence")],
        "headline": _headline(rows, failed_jobs),
        "meta": meta, "jobs": jobs, "rows": rows, "folder": results.folder,
        "tally": [(word, tally[word]) for word in _TALLIED
                  if tally[word] or word in ("exact", "violated")],
        "requests": sum(v.requests for v in verdicts), "cycles": sum(j.cycles for j in jobs),
        "compared": sum(j.compared for j in jobs),
        "failed_jobs": [(job, _log_tail(job, results.folder)) for job in failed_jobs],
        "cross_checks": cross_checks, "unproved": open_proofs,
        "campaigns": read_campaigns(results.folder),
        "unfinished": max(0, planned - len(jobs)) if isinstance(planned, int) else 0,
        "bad": any([failed_jobs, open_proofs, *(v.failed for v in verdicts),
                    *(not row["passed"] for row in cross_checks)]),
        "blocks": [{"name": name, "rows": [r for r in rows if r["block"] == name],
                    "pictures": [_picture(p) for p in pictures if p.block == name],
                    "proofs": sorted((p for p in proofs if p["block"] == name), key=_order),
                    "fpga": [{**f, "bounds": _times(f, verdicts)} for f in fpga
                             if f["block"] == name]} for name in blocks],
    }


def _gpu() -> object:
    """Results of the models of CUDA kernels; imported only when the report has them."""
    from cyclebound.sim.families.gpu.report import gpu_report

    return gpu_report()


def _headline(rows: Sequence[Mapping], failed_jobs: list[JobRow]) -> str:
    """The outcome of the run, in one line."""
    if not rows:
        return "No verdicts in this run"
    failed = [row for row in rows if row["failed"]]
    violated = sum(row["verdict"] in ("violated", "wrong") for row in failed)
    said = [f"{number} of {_plural(len(rows), 'claim')} {word}" for number, word in
            ((violated, "violated"), (len(failed) - violated, "not shown to hold")) if number]
    if not failed:
        exact = sum(row["verdict"] in ("exact", "right") for row in rows)
        said = [f"All {len(rows)} claims held" if len(rows) > 1 else "The claim held"]
        if exact:
            said.append("exactly" if len(rows) == 1 else "each one exactly" if exact == len(rows)
                        else f"{exact} of them exactly")
    if failed_jobs:
        said.append(f"{_plural(len(failed_jobs), 'job')} failed")
    return ", ".join(said)


def _order(proof: Mapping) -> tuple:
    """Proofs by property, then by their parameters, numbers as numbers."""
    return proof["property"], [(name, value if isinstance(value, int) else 0, str(value))
                               for name, value in sorted(proof["parameters"].items())]


def _row(number: int, verdict: Verdict, jobs: Iterable[JobRow],
         waveforms: Mapping[tuple[str, str, str], tuple[str, str, str]]) -> dict[str, object]:
    """One verdict, with the speed of its jobs, its histogram and its picture."""
    mine = [job for job in jobs if (job.block, job.configuration) ==
            (verdict.block, verdict.configuration)]
    lanes, command, *_ = waveforms.get((verdict.block, verdict.configuration, verdict.bound),
                                      ("", ""))
    return {
        **asdict(verdict), "id": f"bound-{number}", "family": verdict.block.partition(".")[0],
        "tightness": verdict.tightness, "strength": verdict.strength,
        "closest": verdict.tightest.get("parameters", verdict.parameters),
        "failed": verdict.failed,
        "cycles": sum(job.cycles for job in mine), "rate": _speed(mine),
        "chart": _histogram(f"chart-{number}", verdict.histogram,
                            verdict.tightest.get("allowed", verdict.allowed)),
        "scatter": _scatter(verdict),
        "waveform": _waveform(lanes, verdict, command),
        "command": f"{command} --output {_SEEN}" if command.endswith(" --waves") else command,
        "no_picture": "" if lanes.startswith("{") else lanes,
        "counted": sum(count for _, count in verdict.histogram),
    }


def _picture(drawing: Drawing) -> dict[str, object]:
    """One of a block's own pictures, as an image, and its trace as a file: nothing in them can act
    on the page."""
    is_picture = drawing.svg.startswith("<")
    return {**asdict(drawing), "command": drawing.command,
            "data": base64.b64encode(drawing.svg.encode()).decode() if is_picture else "",
            "events": base64.b64encode(drawing.trace.encode()).decode()}


def _speed(jobs: Iterable[JobRow]) -> float | None:
    """Cycles per second of simulation."""
    jobs = list(jobs)
    seconds = sum(job.run_seconds for job in jobs)
    return sum(job.cycles for job in jobs) / seconds if seconds else None


def _times(figures: Mapping, verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Each bound of a configuration as a time, at the clock rate that it reaches."""
    return [{"bound": v.bound, "parameters": v.parameters, "allowed": v.allowed,
             "unit": v.unit, "ns": v.allowed * 1000 / figures["mhz"]
             if figures["mhz"] and v.unit == "cycles" else None}
            for v in verdicts if v.allowed is not None and
            (v.block, v.configuration) == (figures["block"], figures["configuration"])]


def _log_tail(job: JobRow, folder: Path) -> str:
    """The end of a job's log, as a person would see it; empty if the log is gone.

    The results are data that may come from anywhere: no file is read but one below the run.
    """
    inside = folder.resolve()
    for parent in (Path(job.folder), folder / job.folder, job_folder(folder, job)):
        try:
            path = (parent / "log.txt").resolve()
            if not path.is_relative_to(inside) or not path.is_file():
                continue
            with path.open("rb") as log:
                log.seek(max(0, log.seek(0, 2) - 16_384))
                text = log.read().decode(errors="replace")
        except (OSError, ValueError, RuntimeError):  # gone, no path at all, a circle of links
            continue
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]|[^\S\n]+$|[\x00-\x08\x0b-\x1f\x7f]", "", text,
                      flags=re.MULTILINE)
        return "\n".join(line[:240] for line in text.strip("\n").splitlines()[-_LOG_LINES:])
    return ""


def _waveform(text: str, verdict: Verdict, command: str) -> dict[str, object] | None:
    """A kept waveform for the page's script, and files that open it in viewers.

    None for a text that holds no lanes as they have to be: results may come from anywhere.
    """
    lanes = read_lanes(text)
    if lanes is None:
        return None
    *_, testbench, seed = verdict.job.split("/") if verdict.job.count("/") == 3 else ("", "")
    dump = ""
    if testbench and seed.isdecimal() and command.endswith(" --waves"):
        job = Job(verdict.block, verdict.configuration, testbench, int(seed), folder="")
        dump = str(job_folder(Path(_SEEN), job) / lanes.file)
    name = re.sub(r"\W+", "-", verdict.what)
    return {
        # `<` would end the element, whatever stands around it
        "json": Markup(lanes.text.replace("<", "\\u003c")),
        "first": lanes.first, "last": lanes.last, "dump": dump,
        "files": [(viewer, f"{name}.{suffix}", opens,
                   base64.b64encode(content.encode()).decode())
                  for viewer, suffix, opens, content in (
            ("Surfer", "sucl", f"surfer {shlex.quote(dump)} --command-file", surfer(lanes)),
            ("GTKWave", "gtkw", "gtkwave", gtkwave(lanes, dump)))] if dump else [],
    }


# -- histograms ------------------------------------------------------------------------------------

_BINS = 48                       # more latencies than these share bars
_AROUND = 58, 20, 24, 42         # left, right, above and below the plot, in px
_PLOT = 240, 384, 136            # least and greatest width, height of the plot
_STEP, _BAR = 44, 34             # the usual pitch and the greatest width of bars
_SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif"
_INK, _SOFT, _LINE, _WITHIN, _OVER = "#1c2630", "#5a6774", "#dfe4e9", "#4a8db8", "#b3261e"
_OF_PAGE = {_INK: "var(--ink)", _SOFT: "var(--soft)", _LINE: "var(--line)",
            _WITHIN: "var(--bar)", _OVER: "var(--bad)", "'DejaVu Sans'": _SANS}
# matplotlib's own names, each of which its types list
_STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "cyclebound", "font.family": "DejaVu Sans",
    "font.size": 11.5, "axes.labelsize": 11.5, "xtick.labelsize": 11.5, "ytick.labelsize": 11.5,
    "axes.labelcolor": _SOFT, "xtick.color": _SOFT, "ytick.color": _SOFT, "xtick.bottom": False,
    "ytick.left": False, "ytick.minor.left": False, "axes.edgecolor": _SOFT,
    "axes.spines.left": False, "axes.spines.right": False, "axes.spines.top": False,
    "axes.axisbelow": True, "grid.color": _LINE}


def _histogram(key: str, counts: Iterable[Iterable[int]], allowed: int | None) -> Markup | None:
    """Latencies against how many requests had each, with the bound as a line.

    ``key`` starts all ids of the drawing: the page has several.
    """
    counts = sorted((latency, count) for latency, count in counts if count)
    if len(counts) < 2:  # which is a sentence
        return None
    said = f"Histogram: {len(counts)} latencies from {counts[0][0]:,} to {counts[-1][0]:,}"
    if allowed is not None:
        said += f", bound {allowed:,}"
    place, _ = find_or_make("histogram", key_of(_code(), everything(), counts, allowed),
                            lambda folder: _draw(folder, counts, allowed))
    return _inline(key, (place / "drawing.svg").read_bytes(), said,
                   json.loads((place / "titles.json").read_text()))


@functools.cache
def _code() -> str:
    return closure(__name__)


def _draw(folder: Path, counts: Sequence[tuple[int, int]], allowed: int | None) -> None:
    """The drawing of a histogram, and what its bars are called: a third of a second of matplotlib,
    and a page has a hundred, of which most are as in the last run."""
    latencies, requests = zip(*counts, strict=True)
    limit = latencies[-1] if allowed is None else allowed
    low, high = min(latencies[0], limit), max(latencies[-1], limit)
    low = min(low, max(1, high - 8))  # a single latency still shows where it lies
    size = math.ceil((high - low + 1) / _BINS)
    # no bar has latencies both within and beyond the bound
    edges = range(limit + 1 - size * math.ceil((limit + 1 - low) / size), high + size + 1, size)
    bars = {edge: int(count) for edge, count in
            zip(edges, np.histogram(latencies, edges, weights=requests)[0], strict=False) if count}
    titles = {}
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure, axes, pitch = _plot(edges)
        floor = _scale(axes, bars.values(), high)
        for edge, count in bars.items():
            name = f"{'within' if edge <= limit else 'over'}-{edge}"
            axes.bar(edge + (size - 1) / 2, count - floor, size * min(0.8, _BAR / pitch), floor,
                     color=_WITHIN if edge <= limit else _OVER, clip_on=False, gid=name)
            span = f"{edge:,}" if size == 1 else f"{max(0, edge):,} to {edge + size - 1:,}"
            titles[name] = f"{span}: {_plural(count, 'request')}"
        if allowed is not None:
            side = -1 if allowed + 1 - edges[0] > (edges[-1] - edges[0]) / 2 else 1
            axes.axvline(allowed + 0.5, ymax=1.12, color=_INK, linestyle=(0, (4, 2.5)),
                         linewidth=1.5, clip_on=False, gid="bound")
            axes.annotate(f"bound {allowed:,}", (allowed + 0.5, 1), (6 * side, 7), color=_INK,
                          xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                          ha="right" if side < 0 else "left", weight="bold")
        figure.savefig(folder / "drawing.svg", format="svg", metadata={"Date": None})
    (folder / "titles.json").write_text(json.dumps(titles))


def _scatter(verdict: Verdict) -> Markup | None:
    """Measured against bound, a dot for each kind of request; None for fewer than three.

    A page has hundreds of these: one path draws all dots of a colour.
    """
    if len(verdict.points) < 3:
        return None
    most = max(1, *map(max, verdict.points))
    left, size, below = 46, 200, 36

    def place(pair: Iterable[int]) -> tuple[int, int]:
        limit, latency = pair
        return left + round(limit * size / most), 8 + size - round(latency * size / most)

    def dots(pairs: Iterable[Iterable[int]], colour: str) -> str:
        path = "".join(f"M{x} {y}h0" for x, y in sorted(set(map(place, pairs))))
        return (f'<path d="{path}" stroke="{colour}" stroke-width="5" stroke-linecap="round" '
                f'fill="none"/>' if path else "")

    said = (f"{verdict.claim.capitalize()} against worst measured of {len(verdict.points)} kinds "
            "of request; on the dashed line they are equal")
    label = 'font-size="11.5" fill="var(--soft)"'
    end, floor = left + size, 8 + size
    return Markup(
        f'<svg class="chart" role="img" aria-label="{escape(said)}" width="{end + 14}" '
        f'height="{floor + below}" viewBox="0 0 {end + 14} {floor + below}">'
        f'<path d="M{left} 8V{floor}H{end}" stroke="var(--line)" fill="none"/>'
        f'<path d="M{left} {floor}L{end} 8" stroke="var(--soft)" stroke-dasharray="4 3"/>'
        + dots((point for point in verdict.points if point[1] <= point[0]), "var(--bar)")
        + dots((point for point in verdict.points if point[1] > point[0]), "var(--bad)")
        + f'<text x="{left - 5}" y="16" text-anchor="end" {label}>{most:,}</text>'
        f'<text x="{left - 5}" y="{floor}" text-anchor="end" {label}>0</text>'
        f'<text x="{end}" y="{floor + 15}" text-anchor="end" {label}>{most:,}</text>'
        f'<text x="{left}" y="{floor + 30}" {label}>{escape(verdict.claim)}, '
        f'{escape(verdict.unit)}</text>'
        f'<text x="12" y="{floor}" transform="rotate(-90 12 {floor})" {label}>worst measured</text>'
        "</svg>")


def _plot(edges: range) -> tuple[Figure, Axes, float]:
    """An empty figure in px that is wide enough for the bars, and their pitch."""
    left, right, above, below = _AROUND
    least, greatest, height = _PLOT
    width = min(max(_STEP * (len(edges) - 1), least), greatest)
    wide, tall = left + width + right, above + height + below
    figure = Figure(figsize=(wide / 72, tall / 72), dpi=72)
    axes = figure.add_axes((left / wide, below / tall, width / wide, height / tall))
    figure.patch.set_visible(False)
    axes.patch.set_visible(False)
    axes.grid(axis="y", clip_on=False)
    around = 0.2 * edges.step
    axes.set_xlim(edges[0] - 0.5 - around, edges[-1] - 0.5 + around)
    return figure, axes, width / (len(edges) - 0.6)


def _scale(axes: Axes, counts: Iterable[int], high: int) -> float:
    """Whole numbers, logarithmic if the counts are of several orders; returns where bars start."""
    most, logarithmic = max(counts), max(counts) > 50 * min(counts)
    floor = 0.5 if logarithmic else 0
    whole = {"integer": True, "steps": [1, 2, 5, 10], "min_n_ticks": 1}
    if logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(floor, most * 1.2)
        axes.yaxis.set_major_locator(LogLocator(numticks=5))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(floor, most * 1.05)
        axes.yaxis.set_major_locator(MaxNLocator(4, **whole))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    room = int(axes.bbox.width / (7 * min(len(f"{high:,}"), 6) + 12))
    axes.xaxis.set_major_locator(MaxNLocator(room, **whole))
    axes.xaxis.set_major_formatter(
        StrMethodFormatter("{x:,.0f}") if high < 100_000 else EngFormatter(sep=""))
    axes.set_xlabel("latency")
    axes.set_ylabel("requests, log scale" if logarithmic else "requests")
    return floor


def _inline(key: str, svg: bytes, said: str, titles: Mapping[str, str]) -> Markup:
    """A figure as a part of the page: in its colours and fonts, with ids that only it has."""
    root = ElementTree.fromstring(svg)
    for part in list(root):  # no metadata; and the style would be that of the whole page
        if part.tag == f"{_SVG}metadata" or part.find(f"{_SVG}style") is not None:
            root.remove(part)
    box = root.attrib["viewBox"]
    _, _, wide, tall = box.split()
    root.attrib = {"class": "chart", "role": "img", "aria-label": said, "width": wide,
                   "height": tall, "viewBox": box}
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        if title := titles.get(element.get("id", "")):
            element.insert(0, ElementTree.Element("title"))
            element[0].text = title
        if "d" in element.attrib:
            element.set("d", " ".join(element.attrib["d"].split()))
        element.text, element.tail = (element.text or "").strip(), ""
    text = ElementTree.tostring(root, encoding="unicode")
    for ours, pages in _OF_PAGE.items():
        text = text.replace(ours, pages)
    return Markup(re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{key}-", text))


# -- words -----------------------------------------------------------------------------------------

def _words(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parameters.items()) or "no parameters"


def _count(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"


def _breaking(name: str) -> Markup:
    """A dotted name that may go on in the next line after a dot or an underscore."""
    return Markup(re.sub(r"([._])(?=\w)", r"\1<wbr>", str(escape(name))))


def _plural(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _rate(cycles_per_second: float | None) -> str:
    if not cycles_per_second:
        return "-"
    return (f"{cycles_per_second / 1000:,.0f} k" if cycles_per_second >= 10_000
            else f"{cycles_per_second:,.0f}")


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"
