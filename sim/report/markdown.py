"""A finished run as tables in Markdown, for documents: figures come from runs, not from hands."""

from collections.abc import Iterable, Mapping

from cyclebound.sim.regression.table import Run

__all__ = ["tables"]


def _table(heads: Mapping[str, str], rows: Iterable[Iterable[object]]) -> list[str]:
    """A table: heads with their alignment (``---`` or ``---:``), and the rows' cells."""
    lines = [list(heads), list(heads.values()), *([_cell(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


def _words(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in parameters.items()) or "any"


def _verdicts(run: Run) -> list[str]:
    left, right = "---", "---:"
    return _table(
        {"block": left, "configuration": left, "request: formula": left, "requests": right,
         "worst": right, "claimed": right, "claim": left, "verdict": left, "evidence": left,
         "strength": left},
        [(f"`{row.block}`", row.configuration, f"{row.what}: `{row.bound}`", row.requests,
          row.worst, row.allowed, row.claim, row.words,
          row.evidence + (f": {row.domain}" if row.domain else ""), row.strength)
         for row in run.verdicts])


def _proofs(run: Run) -> list[str]:
    return _table(
        {"block": "---", "property": "---", "parameters": "---", "result": "---",
         "seconds": "---:"},
        [(f"`{proof['block']}`", proof["property"], _words(proof["parameters"]), proof["status"],
          f"{proof['seconds']:.0f}") for proof in sorted(run.proofs, key=lambda proof: (
              proof["block"], proof["property"], _words(proof["parameters"])))])


def _fpga(run: Run) -> list[str]:
    return _table(
        {"block": "---", "configuration": "---", "clock": "---:", "LUTs": "---:",
         "flip-flops": "---:", "block RAMs": "---:", "multipliers": "---:"},
        [(f"`{row['block']}`", row["configuration"], f"{row['mhz']:.1f} MHz", row["luts"],
          row["flip_flops"], row["block_rams"], row["multipliers"]) for row in run.fpga])


def _run(run: Run) -> str:
    """Date, command and scope of the run; and all its failures."""
    meta = run.meta
    words = [f"Run of {str(meta.get('created', '-')).replace('T', ' ')}",
             f"commit {meta.get('commit', '-')}", f"level {meta.get('level', '-')}",
             f"{len(run.jobs)} simulations, {len(run.proofs)} proofs"]
    lines = [", ".join(words) + "."]
    if run.problems:
        lines += ["", "**Not all is well:**", "", *(f"- {_cell(line)}" for line in run.problems)]
    if run.skipped:
        lines += ["", "**Tests were left out:**", "", *(f"- {_cell(line)}" for line in run.skipped)]
    return "\n".join([*lines, "", ""])


def tables(run: Run) -> str:
    """The run's origin and problems, its verdicts, proofs and FPGA figures, as far as it has them.
    """
    parts = [("Verdicts", run.verdicts, _verdicts), ("Proofs", run.proofs, _proofs),
             ("FPGA", run.fpga, _fpga)]
    return _run(run) + "\n".join("\n".join([f"## {title}", "", *make(run), ""])
                                 for title, rows, make in parts if rows)
