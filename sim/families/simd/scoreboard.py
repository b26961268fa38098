"""All kernels of a folder, each with its results, cycles, bounds and the RTL's: a scoreboard."""

import contextlib
import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

import jinja2
import numpy as np

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.machine import Grid, machine_named
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.references import REFERENCES
from cyclebound.golden.simd.work_group import Memory
from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.simd.authors import AUTHORS
from cyclebound.sim.families.simd.files import data_file, load_memory, read_words
from cyclebound.sim.families.simd.options import policy_named, timed_grid
from cyclebound.sim.families.simd.run import run_kernel
from cyclebound.sim.run.pool import completed, pool_of
from cyclebound.tools.simd.assembler import AssemblyError, assemble_file
from cyclebound.tools.simd.published.analysis import published_wcet
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.graph import WcetError

__all__ = ["Setting", "contradicted", "listed", "page", "scoreboard"]

_CODE = ("cyclebound.sim.families.simd.scoreboard",)


@dataclass(frozen=True)
class Setting:
    """What is asked of each kernel.

    Attributes
    ----------
    policies : tuple of str
        Columns of cycles and bounds.
    machine, part : str
        Their names.
    measured : bool
        Kernels are run on the cycle model of the machine as it is built, which the bounds are of.
    rtl : bool
        And on the RTL, under the first policy.
    data_root : str or None
        Where the files are that ``.data`` names; None: in the kernel's folder.
    """

    policies: tuple[str, ...]
    machine: str
    part: str
    measured: bool = True
    rtl: bool = False
    data_root: str | None = None


@dataclass(frozen=True)
class _Asked:
    """A kernel's file, and its ``name``, the path below the folder; its ``grid`` is x, y and width
    (0: the widest), None where nothing says it; ``expect``: files with what is to be in buffers
    afterwards."""

    name: str
    path: Path
    grid: tuple[int, int, int] | None
    expect: tuple[tuple[int, Path], ...]
    setting: Setting

    @property
    def data_root(self) -> Path:
        """Where the files are that ``.data`` names."""
        return Path(self.setting.data_root or self.path.parent)


def listed(folder: Path, grids: Path | None, setting: Setting) -> list[_Asked]:
    """The kernels of a folder, with their grids: from the file ``grids``, else those of kernels
    of Sim-D's authors, by file, or of installed ones, by name. Raises `UserError`."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    paths = sorted(folder.rglob("*.sas"))
    if not paths:
        raise UserError(f"{folder} has no .sas file")
    names = [path.relative_to(folder).as_posix() for path in paths]
    said = {} if grids is None else _by_kernel(grids, names, folder)
    known = {kernel.file: (kernel.x, kernel.y, kernel.width) for kernel in AUTHORS.values()}
    found = []
    for name, path in zip(names, paths, strict=True):
        grid, expect = said.get(name, (None, ()))
        reference = REFERENCES.get(path.stem)
        if grid is None:
            grid = known.get(path.name) or (
                (reference.x, reference.y, reference.width or 0) if reference else None)
        found.append(_Asked(name, path.absolute(), grid, expect, setting))
    return found


_Table = tuple[tuple[int, int, int], tuple[tuple[int, Path], ...]]


def _by_kernel(grids: Path, names: Sequence[str], folder: Path) -> dict[str, _Table]:
    """The tables of a file by the kernel that each is of. Raises `UserError`."""
    tables: dict[str, str] = {}
    found = _grids(grids)
    for table in found:
        meant = [name for name in names
                 if table in (name, name.removesuffix(".sas"), PurePosixPath(name).stem)]
        if not meant:
            raise UserError(f"{grids}: {folder} has no kernel {table}")
        if len(meant) > 1:
            raise UserError(f"{grids}: [{table}] may be of {' or of '.join(meant)}: name the file, "
                            f'as ["{meant[0]}"]')
        if meant[0] in tables:
            raise UserError(f"{grids}: {meant[0]} has two tables: [{tables[meant[0]]}] and "
                            f"[{table}]")
        tables[meant[0]] = table
    return {name: found[table] for name, table in tables.items()}


def _grids(path: Path) -> dict[str, _Table]:
    """A table for each kernel: ``grid``, ``width``, ``expect``. Raises `UserError`."""
    try:
        tables = tomllib.loads(text_in(path))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    found = {}
    for name, table in tables.items():
        fields = table if isinstance(table, dict) else {}
        grid, width, expect = fields.get("grid"), fields.get("width", 0), fields.get("expect", {})
        if not (isinstance(grid, list) and len(grid) == 2 and isinstance(expect, dict)
                and all(type(number) is int for number in (*grid, width))
                and all(key.isdecimal() and isinstance(file, str) for key, file in expect.items())
                and fields.keys() <= {"grid", "width", "expect"}):
            raise UserError(f"{path}: [{name}] must have grid = [X, Y], and may have width = W and "
                            'expect = { BUFFER = "FILE" }, and nothing else')
        buffers = [int(number) for number in expect]
        if twice := {buffer for buffer in buffers if buffers.count(buffer) > 1}:
            raise UserError(f"{path}: [{name}] expects two files of buffer {min(twice)}")
        found[name] = ((grid[0], grid[1], width), tuple(
            (buffer, path.parent.absolute() / file)
            for buffer, file in zip(buffers, expect.values(), strict=True)))
    return found


# -- one kernel ------------------------------------------------------------------------------------

def _row(asked: _Asked) -> dict:
    """What becomes of a kernel. ``said``: why there is no more of it; empty: it was scored."""
    row: dict = {"kernel": asked.name, "grid": asked.grid, "assembled": False, "said": ""}
    try:
        program = assemble_file(asked.path)
        row["assembled"] = True
        if asked.grid is None:
            raise UserError("it needs a grid (--grids)")
        x, y, width = asked.grid
        machine = machine_named(asked.setting.machine)
        program.check(machine)
        grid = Grid(x, y, machine, width)
        _bounded(row, program, grid, asked.setting)
        if asked.setting.measured:
            _measured(row, program, grid, asked)
    except AssemblyError as error:
        row["said"] = str(error.problems[0])
    except (UserError, ValueError, OSError) as error:
        row["said"] = str(error)
    return row


def _bounded(row: dict, program: Program, grid: Grid, setting: Setting) -> None:
    part = part_named(setting.part)
    row["bound"], row["rests_on"] = {}, 0
    try:
        analysis = Analysis(program, timed_grid(grid, "rtl"), part)
        row["rests_on"] = len(analysis.promises)
        for policy in setting.policies:
            row["bound"][policy] = analysis.wcet(policy_named(policy)).cycles
    except WcetError as error:
        row["no_bound"] = str(error)
    try:
        found = published_wcet(program, grid, part, unchecked=True)
        row["published"] = {"access": found.access, "compute": found.compute,
                            "outside": found.outside[0] if found.outside else ""}
    except (NotCovered, ValueError) as error:
        row["published"] = {"outside": str(error)}


def _measured(row: dict, program: Program, grid: Grid, asked: _Asked) -> None:
    setting, first = asked.setting, load_memory(program, {}, asked.data_root)
    row["cycles"], row["tightness"] = {}, {}
    for number, policy in enumerate(setting.policies):
        memory = _copied(first)
        ran = run_kernel(program, timed_grid(grid, "rtl"), memory, model="cycle", policy=policy,
                         part=setting.part, keep=False)
        assert ran.timed is not None
        row["cycles"][policy] = ran.timed.cycles
        if policy in row["bound"]:
            row["tightness"][policy] = ran.timed.cycles / row["bound"][policy]
        if number == 0 and asked.expect:
            row["results"] = {}
            for buffer, path in asked.expect:
                try:
                    row["results"][buffer] = _compared(memory, buffer, path)
                except UserError as error:  # the others are compared all the same
                    row["said"] = str(error)
    if setting.rtl:
        row["rtl"] = _on_rtl(program, grid, first, setting)


def _copied(memory: Memory) -> Memory:
    return {number: words.copy() for number, words in memory.items()}


def _compared(memory: Memory, buffer: int, path: Path) -> dict:
    """A buffer against a file: words that differ, and by how much at most, as floats; None if one
    of them is no finite float. Raises `UserError`."""
    if buffer not in memory:
        raise UserError(f"{path}: the kernel has no buffer {buffer}")
    wanted = read_words(path)
    if not len(wanted):
        raise UserError(f"{path} has no words, with which nothing is compared")
    if len(wanted) > memory[buffer].size:
        raise UserError(f"{path} has {len(wanted)} words, and buffer {buffer} "
                        f"{memory[buffer].size}")
    had = memory[buffer].reshape(-1)[:len(wanted)]
    differ = had != wanted
    with np.errstate(all="ignore"):
        one, other = (words[differ].view(np.float32).astype(float) for words in (had, wanted))
        error = np.abs(one - other) / np.maximum(np.abs(other), np.finfo(np.float32).tiny)
    most = float(np.max(error, initial=0.0))
    return {"words": len(wanted), "differ": int(differ.sum()),
            "error": most if np.isfinite(most) else None}


def _on_rtl(program: Program, grid: Grid, first: Memory, setting: Setting) -> dict:
    """The hardware, simulated, and the cycle model with the refresh that it had."""
    shown, wanted = _copied(first), _copied(first)
    policy = setting.policies[0]
    ran = run_kernel(program, grid, shown, model="rtl", policy=policy, part=setting.part).timed
    assert ran is not None
    timeline = DramTimeline(part_named(setting.part), due=ran.due)
    timeline.rest = ran.refreshing
    model = run_kernel(program, timed_grid(grid, "rtl"), wanted, model="cycle", policy=policy,
                       part=setting.part, keep=False, timeline=timeline).timed
    assert model is not None
    return {"cycles": ran.cycles, "model": model.cycles, "due": ran.due,
            "equal": ran.cycles == model.cycles and all(
                np.array_equal(words, wanted[number]) for number, words in shown.items())}


def contradicted(row: Mapping) -> list[str]:
    """What of a row must not be: a bound exceeded, a wrong result, an RTL that is not its model."""
    found = [f"{policy}: {row['cycles'][policy]:,} cycles, over the bound"
             for policy, ratio in row.get("tightness", {}).items() if ratio > 1]
    found += [f"buffer {buffer}: {result['differ']} of {result['words']} words differ, " + (
                  "some of them no finite floats" if result["error"] is None else
                  f"by up to {result['error']:.2g} of their value")
              for buffer, result in row.get("results", {}).items() if result["differ"]]
    if "rtl" in row and not row["rtl"]["equal"]:
        found.append("the RTL is not as the cycle model")
    return found


# -- all of them -----------------------------------------------------------------------------------

def _key(asked: _Asked) -> str:
    """What a row depends on: kernel, files, buffers that are compared, setting, and the sources of
    this project."""
    from cyclebound.sim.build.sources import closure  # with blocks, which take a while to load

    text, read = asked.path.read_bytes(), [path for _, path in asked.expect]
    with contextlib.suppress(AssemblyError):
        read += [data_file(asked.data_root, buffer.source)
                 for buffer in assemble_file(asked.path).buffers.values() if buffer.form != "n"]
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns)
             for path in read if path.is_file()]
    expect = [(buffer, str(path)) for buffer, path in asked.expect]
    said = json.dumps([asked.name, str(asked.path.resolve()), asked.grid, expect, files,
                       asdict(asked.setting), closure(*_CODE)])
    return hashlib.sha256(text + said.encode()).hexdigest()


def scoreboard(kernels: Sequence[_Asked], output: Path, *, workers: int, scheduler: str | None,
               tell: Callable[[str, int, int], None]) -> list[dict]:
    """Rows of all kernels, in order. Those that ``output`` has from before, of the same sources and
    files, are taken from there; what could not be scored is not kept: the cause may be gone. Raises
    `UserError`."""
    kept = output / "rows"
    try:
        kept.mkdir(parents=True, exist_ok=True)
        keys = {asked: _key(asked) for asked in kernels}
    except OSError as error:
        raise UserError(f"cannot use {error.filename or output}: {error.strerror}") from None
    rows = {asked: row for asked in kernels
            if (row := _kept(kept / f"{keys[asked]}.json", asked.name)) is not None}
    with pool_of(workers, scheduler) as pool:
        futures = {pool.submit(_row, asked): asked for asked in kernels if asked not in rows}
        for asked, row in completed(futures, "kernels", tell):
            rows[asked] = row
            if row["said"]:
                continue
            new = kept / f"{keys[asked]}.new"
            try:
                new.write_text(json.dumps(row))
                new.replace(new.with_suffix(".json"))
            except OSError as error:
                raise UserError(f"cannot write {new}: {error.strerror}") from None
    return [rows[asked] for asked in kernels]


def _kept(path: Path, name: str) -> dict | None:
    """A row from before; None if there is none, or what is there is no row (a disk was full)."""
    try:
        row = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return row if isinstance(row, dict) and row.get("kernel") == name and "said" in row else None


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Scoreboard of SIMD kernels</title><style>
body { font: 14px sans-serif; margin: 2em } td, th { padding: .2em .6em; text-align: right }
td:first-child, th:first-child, .said { text-align: left } tr { border-bottom: 1px solid #ddd }
table { border-collapse: collapse } .wrong { color: #b00020; font-weight: bold }
</style></head><body><h1>Scoreboard of SIMD kernels</h1>
<p>Machine {{ setting.machine }}, {{ setting.part }}; cycles of the machine as built, bounds for any
content; <i>published</i> is Sim-D's analysis for its authors' machine, and no bound outside its
scope.</p>
<table><tr><th>kernel</th><th>grid</th>{% for policy in setting.policies %}
<th>{{ policy }}: cycles</th><th>bound</th><th>cycles / bound</th>{% endfor %}
<th>facts</th><th>published: access</th><th>compute</th><th>RTL</th><th class="said">notes</th></tr>
{% for row in rows %}<tr><td>{{ row.kernel }}</td>
<td>{% if row.grid %}{{ row.grid[0] }} x {{ row.grid[1] }}{% endif %}</td>
{% for policy in setting.policies %}
<td>{{ number(row.cycles and row.cycles[policy]) }}</td>
<td>{{ number(row.bound and row.bound[policy]) }}</td>
<td>{% if row.tightness and row.tightness[policy] %}{{ "%.3f" % row.tightness[policy] }}{% endif %}
</td>{% endfor %}
<td>{{ row.rests_on or "" }}</td>
<td>{{ number(row.published and row.published.access) }}</td>
<td>{{ number(row.published and row.published.compute) }}</td>
<td>{% if row.rtl %}{{ number(row.rtl.cycles) }}{% endif %}</td>
<td class="said">{% for each in wrong(row) %}<span class="wrong">{{ each }}</span><br>{% endfor %}
{{ row.said }} {{ row.no_bound }}
{% if row.published and row.published.outside %}published: {{ row.published.outside }}{% endif %}
</td></tr>
{% endfor %}</table></body></html>
"""


def page(rows: Sequence[Mapping], setting: Setting) -> str:
    """The scoreboard as HTML."""
    template = jinja2.Environment(autoescape=True).from_string(_PAGE)
    return template.render(rows=rows, setting=setting, wrong=contradicted,
                           number=lambda value: f"{value:,}" if value else "")
