"""The fate of each of a block's mutants and what judged it: lines of JSON in a run's folder.

A line is written as soon as its mutant is settled, so that a run that is interrupted keeps it. Like
the results of a run (`cyclebound.sim.regression.results`) the file may come from anywhere: whatever
does not fit is a `UserError`.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.folders import inside
from cyclebound.sim.base.shape import cleaned, row_misfit, shown

__all__ = ["FATES", "LAYERS", "Campaign", "Judge", "MutantRow", "copy_campaigns", "read_campaign",
           "read_campaigns", "score"]

FOLDER = "mutants"
FATES = ("killed", "timeout", "survived", "equivalent", "unknown")
LAYERS = ("comparison", "assertion", "testbench", "hang", "bound", "proof")
"""Layers of checks that kill mutants: comparison with the model, an assertion of the checker, what
else a test asks for, a run that does not end, a bound on what probes counted, a proof."""


@dataclass(frozen=True)
class MutantRow:
    """A mutant and its fate.

    Attributes
    ----------
    mutation : str
        What was changed.
    source : str
        The file and line of the RTL.
    fate : str
        ``killed``: a testbench, a bound checker, a bound or a proof failed. ``timeout``: a
        testbench did not end. ``survived``: nothing failed, and it can be told from the block.
        ``equivalent``: it is proved that it cannot. ``unknown``: nothing failed, and whether it
        can be told is not known.
    by : str
        What killed it: ``testbench NAME`` and its seed, ``bound NAME``, ``property NAME``.
    layer : str
        Of `LAYERS`, the one that killed it; empty for one that was not killed.
    detail : str
        What that said; of a survivor, when it differs at the earliest.
    seconds : float
        What it took.
    """

    number: int
    mutation: str
    source: str
    fate: str
    by: str = ""
    layer: str = ""
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Judge:
    """Something of the block's that mutants can fail.

    Attributes
    ----------
    judge : str
        ``testbench NAME``, ``bound on NAME`` or ``property NAME``.
    left_out : str
        Why no mutant was held against it; empty if they were.
    """

    judge: str
    left_out: str = ""


@dataclass(frozen=True)
class _Head:
    block: str
    configuration: str
    seed: int
    count: int
    design: str


class Campaign:
    """All mutants of one configuration of a block.

    Attributes
    ----------
    block, configuration : str
        Of what.
    seed, count : int
        How they were listed; there may be fewer.
    design : str
        Stands for all that they were made from.
    rows : dict of int to MutantRow
        Those that are settled, by number.
    judges : dict of str to Judge
        What they were held against, and what was left out, by name. Properties are among them from
        the first mutant on that nothing else has killed and that is not equivalent.
    """

    def __init__(self, run: Path, block: str, configuration: str, seed: int, count: int,
                 design: str) -> None:
        self.block, self.configuration = block, configuration
        self.seed, self.count, self.design = seed, count, design
        self.rows: dict[int, MutantRow] = {}
        self.judges: dict[str, Judge] = {}
        self._path = inside(run, run / FOLDER / f"{block}-{configuration}.jsonl")

    def begin(self) -> None:
        """Go on where a run of the same mutants was interrupted, or begin anew."""
        if self._path.exists():
            before = _read(self._path)
            if _head(before) == _head(self):
                self.rows, self.judges = before.rows, before.judges
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            rows: list[_Head | Judge | MutantRow] = [
                _head(self), *self.judges.values(), *self.rows.values()]
            lines = [json.dumps(asdict(row)) for row in rows]
            self._path.write_text("".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise UserError(f"cannot write {self._path}: {error.strerror or error}") from error

    def settle(self, row: MutantRow) -> None:
        """Keep a mutant's fate."""
        self.rows[row.number] = row
        self._append(row)

    def judged_by(self, judge: Judge) -> None:
        """Keep what mutants are held against, or why they are not; said again, it is kept once."""
        if self.judges.get(judge.judge) != judge:
            self.judges[judge.judge] = judge
            self._append(judge)

    def _append(self, line: MutantRow | Judge) -> None:
        try:
            with self._path.open("a") as file:
                file.write(json.dumps(asdict(line)) + "\n")
        except OSError as error:
            raise UserError(f"cannot write {self._path}: {error.strerror or error}; "
                            "what was settled before is kept") from error

    @property
    def tally(self) -> dict[str, int]:
        """Number of mutants by fate."""
        fates = Counter(row.fate for row in self.rows.values())
        return {fate: fates[fate] for fate in FATES}

    @property
    def layers(self) -> dict[str, int]:
        """Number of killed mutants by the layer that killed them, of layers that killed any."""
        killed = Counter(row.layer for row in self.rows.values() if row.layer)
        return {layer: killed[layer] for layer in LAYERS if killed[layer]}

    @property
    def judged(self) -> list[str]:
        """The checks by which mutants were judged."""
        return [judge.judge for judge in self.judges.values() if not judge.left_out]

    @property
    def left_out(self) -> list[Judge]:
        """The block's checks by which no mutant was judged."""
        return [judge for judge in self.judges.values() if judge.left_out]

    @property
    def score(self) -> float | None:
        """Percentage killed of the mutants not proved equivalent; None if there are none."""
        return score(self.rows.values())


def score(rows: Iterable[MutantRow]) -> float | None:
    """Percentage killed of the mutants not proved equivalent; None if there are none."""
    fates = [row.fate for row in rows if row.fate != "equivalent"]
    killed = sum(fate in ("killed", "timeout") for fate in fates)
    return 100 * killed / len(fates) if fates else None


def _head(campaign: Campaign) -> _Head:
    return _Head(campaign.block, campaign.configuration, campaign.seed, campaign.count,
                 campaign.design)


def read_campaigns(run: Path) -> list[Campaign]:
    """All that a run's folder holds of mutants, by name. Raises `UserError`."""
    folder = run / FOLDER
    return [_read(inside(run, path)) for path in sorted(folder.glob("*.jsonl"))]


def read_campaign(run: Path, block: str, configuration: str) -> Campaign | None:
    """What a run's folder holds of one configuration's mutants. Raises `UserError`."""
    path = run / FOLDER / f"{block}-{configuration}.jsonl"
    return _read(inside(run, path)) if path.exists() else None


def copy_campaigns(run: Path, output: Path) -> None:
    """Take over what a run's folder holds of mutants. Raises `UserError`."""
    for campaign in read_campaigns(run):
        text = campaign._path.read_text()
        copy = inside(output, output / FOLDER / campaign._path.name)
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        except OSError as error:
            raise UserError(f"cannot write {copy}: {error.strerror or error}") from error


def _read(path: Path) -> Campaign:
    def refuse(wrong: str) -> UserError:
        return UserError(f"{path} is no list of mutants of this cyclebound: {wrong}")

    try:
        lines = text_in(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    rows: list[Any] = []  # JSON
    for number, line in enumerate(lines, 1):
        try:
            rows.append(cleaned(json.loads(line)))
        except (ValueError, RecursionError):
            if number == len(lines):  # its writer was killed
                break
            raise refuse(f"line {number} must be JSON, not {shown(line)}") from None
    if not rows:
        raise refuse("it is empty")
    if wrong := row_misfit(rows[0], _Head, "line 1"):
        raise refuse(wrong)
    campaign = Campaign(path.parents[1], **rows[0])
    if path.name != campaign._path.name:
        raise refuse(f"it must be called {campaign._path.name}")
    for number, row in enumerate(rows[1:], 2):
        thing = f"line {number}"
        if isinstance(row, dict) and "judge" in row:
            if wrong := row_misfit(row, Judge, thing):
                raise refuse(wrong)
            campaign.judges[row["judge"]] = Judge(**row)
            continue
        wrong = row_misfit(row, MutantRow, thing)
        if not wrong and row["fate"] not in FATES:
            wrong = f"fate of {thing} must be one of {', '.join(FATES)}, not {shown(row['fate'])}"
        if not wrong and row["layer"] not in ("", *LAYERS):
            wrong = (f"layer of {thing} must be one of {', '.join(LAYERS)}, "
                     f"not {shown(row['layer'])}")
        if not wrong and not 1 <= row["number"] <= campaign.count:
            wrong = (f"number of {thing} must be from 1 to {campaign.count}, "
                     f"not {shown(row['number'])}")
        if wrong:
            raise refuse(wrong)
        campaign.rows[row["number"]] = MutantRow(**row)
    return campaign
