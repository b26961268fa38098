"""A run as one HTML file: verdicts, the worst request of each bound, proofs, FPGA figures.

The file is complete in itself: no script, no font, no picture is fetched from anywhere, and its
content security policy forbids it. It is made from `Results` alone, and from the logs of jobs that
failed while they are still there.
"""

import math
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

import jinja2
from markupsafe import Markup

from cyclebound.sim.errors import UserError
from cyclebound.sim.results import JobRow, Results
from cyclebound.sim.verdict import Verdict

__all__ = ["write_report"]

_SYMBOLS = {"exact": "=", "reached": "≤", "held": "≤", "violated": ">", "not covered": "?",
            "unobserved": "∅", "proved": "✓", "bounded": "≤", "failed": "✗", "passed": "✓"}
_MEANS = {
    "exact": "for every kind of request, the worst that was measured equals the bound",
    "reached": "nothing exceeds the bound, and some kinds of request reach it",
    "held": "nothing exceeds the bound, and nothing reaches it",
    "violated": "a request took longer than the bound allows",
    "not covered": "the formula does not speak of a request that was observed",
    "unobserved": "no request was observed, so nothing is shown",
    "proved": "for any number of cycles",
    "bounded": "no counterexample within the given number of cycles",
    "failed": "see the detail",
}
_LOG_LINES = 25
_SVG = "{http://www.w3.org/2000/svg}"
_DRAWING = {"svg", "g", "path", "rect", "text", "tspan", "title", "style", "line", "polyline",
            "polygon", "circle", "defs", "desc"}


def write_report(folder: Path, output: Path | None = None) -> Path:
    """Write the report of the run in ``folder``, by default to ``report.html`` in it.

    Raises `UserError` if the folder holds no run, or the file cannot be written.
    """
    output = Path(folder) / "report.html" if output is None else Path(output)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"words": _words, "count": _count, "plural": _plural, "rate": _rate,
                            "seconds": _seconds}
    environment.globals |= {"symbols": _SYMBOLS, "means": _MEANS}
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
    pictures = results.waveforms()
    rows = [_row(number, verdict, jobs, pictures) for number, verdict in enumerate(verdicts, 1)]
    blocks = dict.fromkeys([*(v.block for v in verdicts), *(j.block for j in jobs),
                            *(p["block"] for p in proofs), *(f["block"] for f in fpga)])
    tally = Counter("failed" if v.failed and v.verdict != "violated" else v.verdict
                    for v in verdicts)
    planned = meta.get("jobs")
    return {
        "headline": _headline(rows, [job for job in jobs if not job.passed]),
        "meta": meta, "jobs": jobs, "rows": rows, "folder": results.folder,
        "tally": [(word, tally[word]) for word in ("exact", "reached", "held", "violated", "failed")
                  if tally[word] or word in ("exact", "held", "violated")],
        "requests": sum(v.requests for v in verdicts), "cycles": sum(j.cycles for j in jobs),
        "compared": sum(j.compared for j in jobs),
        "failed_jobs": [(job, _log_tail(job, results.folder)) for job in jobs if not job.passed],
        "failed_proofs": [proof for proof in proofs if proof["status"] == "failed"],
        "unfinished": max(0, planned - len(jobs)) if isinstance(planned, int) else 0,
        "bad": any(v.failed for v in verdicts) or not all(j.passed for j in jobs)
               or any(proof["status"] == "failed" for proof in proofs),
        "blocks": [{"name": name, "rows": [r for r in rows if r["block"] == name],
                    "proofs": sorted((p for p in proofs if p["block"] == name), key=_order),
                    "fpga": [{**f, "bounds": _times(f, verdicts)} for f in fpga
                             if f["block"] == name]} for name in blocks],
    }


def _headline(rows: list[Mapping], failed_jobs: list[JobRow]) -> str:
    """What became of the run, in a line."""
    if not rows:
        return "No verdicts in this run"
    failed = [row for row in rows if row["failed"]]
    violated = sum(row["verdict"] == "violated" for row in failed)
    said = [f"{number} of {_plural(len(rows), 'bound')} {word}" for number, word in
            ((violated, "violated"), (len(failed) - violated, "not shown to hold")) if number]
    if not failed:
        said = [f"All {len(rows)} bounds held" if len(rows) > 1 else "The bound held"]
    if failed_jobs:
        said.append(f"{_plural(len(failed_jobs), 'job')} failed")
    return ", ".join(said)


def _order(proof: Mapping) -> tuple:
    """Proofs by property, then by their parameters, numbers as numbers."""
    return proof["property"], [(name, value if isinstance(value, int) else 0, str(value))
                               for name, value in sorted(proof["parameters"].items())]


def _row(number: int, verdict: Verdict, jobs: Iterable[JobRow],
         pictures: Mapping[tuple[str, str, str], tuple[str, str, str]]) -> dict[str, object]:
    """One verdict, with the speed of its jobs, its histogram and its picture."""
    mine = [job for job in jobs if (job.block, job.configuration) ==
            (verdict.block, verdict.configuration)]
    svg, command, *_ = pictures.get((verdict.block, verdict.configuration, verdict.bound),
                                    ("", ""))
    return {
        **asdict(verdict), "id": f"bound-{number}", "tightness": verdict.tightness,
        "failed": verdict.failed,
        "cycles": sum(job.cycles for job in mine), "rate": _speed(mine),
        "chart": _histogram(verdict.histogram, verdict.allowed), "command": command,
        "picture": _trusted(svg), "no_picture": "" if svg.startswith("<") else svg,
        "counted": sum(count for _, count in verdict.histogram),
    }


def _speed(jobs: Iterable[JobRow]) -> float | None:
    """Cycles per second of simulation."""
    jobs = list(jobs)
    seconds = sum(job.run_seconds for job in jobs)
    return sum(job.cycles for job in jobs) / seconds if seconds else None


def _times(figures: Mapping, verdicts: Iterable[Verdict]) -> list[dict[str, object]]:
    """Each bound of a configuration as a time, at the clock rate that it reaches."""
    return [{"bound": v.bound, "parameters": v.parameters, "allowed": v.allowed,
             "ns": v.allowed * 1000 / figures["mhz"] if figures["mhz"] else None}
            for v in verdicts if v.allowed is not None and
            (v.block, v.configuration) == (figures["block"], figures["configuration"])]


def _log_tail(job: JobRow, folder: Path) -> str:
    """The end of a job's log, as a person would see it; empty if the log is gone."""
    for parent in (Path(job.folder), folder / job.folder):
        try:
            with (parent / "log.txt").open("rb") as log:
                log.seek(max(0, log.seek(0, 2) - 16_384))
                text = log.read().decode(errors="replace")
        except OSError:
            continue
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]|[^\S\n]+$|[\x00-\x08\x0b-\x1f\x7f]", "", text,
                      flags=re.MULTILINE)
        return "\n".join(line[:240] for line in text.strip("\n").splitlines()[-_LOG_LINES:])
    return ""


def _trusted(svg: str) -> Markup | None:
    """A kept picture, if it is one that only draws: results may come from anywhere."""
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError:
        return None
    if root.tag != f"{_SVG}svg":
        return None
    for element in root.iter():
        if element.tag.removeprefix(_SVG) not in _DRAWING or any(
                name.startswith("on") or "href" in name for name in element.attrib):
            return None
    return Markup(svg.replace(f' xmlns="{_SVG[1:-1]}"', "", 1))


# -- histograms ------------------------------------------------------------------------------------

_BINS = 48                      # more latencies than these share bars
_PLOT = 46, 22, 520, 150        # left, top, width, height of the plot, in px
_STEP, _BAR = 52, 38            # the greatest pitch and width of bars


def _histogram(counts: Iterable[Iterable[int]], allowed: int | None) -> Markup | None:
    """Latencies against how many requests had each, with the bound as a line."""
    counts = sorted((latency, count) for latency, count in counts)
    if not counts:
        return None
    low, high = counts[0][0], max(counts[-1][0], allowed or 0) + 1
    low = min(low, max(1, high - 9))  # a single latency still shows where it lies
    size = max(1, math.ceil((high - low) / _BINS))
    bars = Counter()
    for latency, count in counts:
        bars[(latency - low) // size, allowed is not None and latency > allowed] += count
    left, top, width, height = _PLOT
    slots = math.ceil((high - low + 1) / size)
    step = min(width / slots, _STEP)
    width = round(max(step * slots, width / 2))
    bar = min(step - 2, _BAR)
    most = max(bars.values())
    logarithmic = most > 50 * min(bars.values())
    ticks = _ticks(most, logarithmic)
    ceiling = ticks[-1]

    def y(count: float) -> float:
        part = math.log10(count * 2) / math.log10(ceiling * 2) if logarithmic else count / ceiling
        return top + height * (1 - max(0.0, part))

    base = top + height
    said = f"{len(counts)} latencies from {counts[0][0]} to {counts[-1][0]}"
    wide, tall = left + width + 16, base + 42
    out = [f'<svg class="chart" role="img" width="{wide}" height="{tall}" ',
           f'viewBox="0 0 {wide} {tall}" aria-label="Histogram: {said}"><title>{said}</title>']
    for tick in ticks:
        out.append(f'<path class="grid" d="M{left} {y(tick):.1f}H{left + width}"/>'
                   f'<text class="end" x="{left - 6}" y="{y(tick) + 4:.1f}">{_short(tick)}</text>')
    for (slot, over), count in sorted(bars.items()):
        first, last = low + slot * size, low + slot * size + size - 1
        span = f"{first}" if size == 1 else f"{first} to {last}"
        out.append(f'<rect class="{"over" if over else "bar"}" '
                   f'x="{left + (slot + 0.5) * step - bar / 2:.1f}" '
                   f'y="{y(count):.1f}" width="{bar:.1f}" '
                   f'height="{base - y(count):.1f}"><title>{span}: '
                   f'{_plural(count, "request")}</title></rect>')
    out.append(f'<path class="axis" d="M{left} {base}H{left + width}"/>')
    apart = _nice(max(size, (high - low) / (width / 46)))
    for latency in range(-(-low // apart) * apart, high + 1, apart):
        x = left + (latency - low + 0.5) / size * step
        if x < left + step * slots:
            out.append(f'<text class="mid" x="{x:.1f}" y="{base + 16}">{latency}</text>')
    out.append(f'<text class="mid" x="{left + width / 2}" y="{base + 35}">latency</text>'
               f'<text x="4" y="12">requests{", log scale" if logarithmic else ""}</text>')
    if allowed is not None:
        x = left + (allowed - low + 1) / size * step
        end = x > left + width / 2
        out.append(f'<path class="bound" d="M{x:.1f} 4V{base}"/><text class="bound'
                   f'{" end" if end else ""}" x="{x + (-6 if end else 6):.1f}" y="12">'
                   f"bound {allowed}</text>")
    return Markup("".join(out) + "</svg>")


def _ticks(most: int, logarithmic: bool) -> list[int]:
    """Counts worth a line, the last at least ``most``."""
    if logarithmic:
        decades = math.ceil(math.log10(most))
        return [10 ** n for n in range(0, decades + 1, max(1, decades // 4))] + (
            [10 ** decades] if decades % max(1, decades // 4) else [])
    step = _nice(most / 4)
    return list(range(0, most + step, step))


def _nice(least: float) -> int:
    """The first of 1, 2, 5, 10, 20, 50 and so on that is at least this."""
    power = 10 ** max(0, math.floor(math.log10(max(least, 1))))
    return next(int(n * power) for n in (1, 2, 5, 10) if n * power >= least)


# -- words -----------------------------------------------------------------------------------------

def _words(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parameters.items()) or "no parameters"


def _count(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"


def _short(count: int) -> str:
    """For a narrow axis."""
    for unit, word in ((10 ** 9, "G"), (10 ** 6, "M"), (10 ** 3, "k")):
        if count >= 10 * unit or (count >= unit and count % unit == 0):
            return f"{count / unit:g}{word}"
    return str(count)


def _plural(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _rate(cycles_per_second: float | None) -> str:
    if not cycles_per_second:
        return "-"
    return (f"{cycles_per_second / 1000:,.0f} k" if cycles_per_second >= 10_000
            else f"{cycles_per_second:,.0f}")


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"
