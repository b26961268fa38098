"""The strength of evidence, committed: what each row of a regression rests on, and what it is now.

A verdict says nothing of how much was done for it: five requests can be as exact as a million. So a
file for each family and level holds, for each simulation, its comparisons, their bits, its cycles
and its tests; for each claim the verdict, the evidence, its requests, their kinds, and how tight
they are; for each property how far it was proved. All of it is a function of code and seed, so
that a run has to be equal to it. Less in anything is ``weaker``; more, or other, is ``changed``: it
fails too, until ``cyclebound baseline --accept RUN`` takes it over.

A line is a record in JSON, sorted by what it is of, so that a change is a small difference. Blocks
of a user's own, other parameters and other seeds have no record, and are not compared.
"""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cyclebound.sim import catalogue
from cyclebound.sim.base.cache import key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.shape import misfit, row_misfit
from cyclebound.sim.describe.block import Block, Testbench
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.mutation.rows import Campaign, read_campaigns
from cyclebound.sim.regression.plan import LEVELS, Plan, jobs_of, proofs_of
from cyclebound.sim.regression.results import JobRow
from cyclebound.sim.regression.table import Run

__all__ = ["FOLDER", "Baseline", "ClaimRecord", "JobRecord", "MutantsRecord", "ProofRecord",
           "checker_of", "gone", "guard_of", "record_of_claim", "record_of_job",
           "record_of_mutants", "record_of_proof", "records_of", "unrecorded", "weighed",
           "weighed_mutants", "weighed_proofs"]

FOLDER = Path(__file__).with_name("baselines")
_VERDICTS = ("exact", "right", "held")
_EVIDENCE = ("proved", "exhaustive", "searched", "sampled")
_STATUS = ("proved", "bounded")
_DIFFERS = ("weaker", "changed")
_NAMED = 3  # tests that are named


@dataclass(frozen=True)
class JobRecord:
    """What a simulation did.

    Attributes
    ----------
    job : str
        Block, configuration, testbench and seed.
    guard : str
        Stands for the configuration's parameters and domain and the testbench's arguments.
    compared, bits, cycles : int
        As of `cyclebound.sim.run.simulator.Outcome`.
    tests : list of str
        Those that passed.
    """

    job: str
    guard: str
    compared: int
    bits: int
    cycles: int
    tests: list[str]

    @property
    def key(self) -> tuple[str, ...]:
        return *self.job.split("/")[:2], "job", self.job


@dataclass(frozen=True)
class ClaimRecord:
    """What a claim rests on; see `cyclebound.sim.judge.verdict.Verdict`."""

    claim: list[str]  # block, configuration, bound, what
    verdict: str
    evidence: str
    requests: int
    kinds: int
    ratios: list[float]
    sums: list[int]

    @property
    def key(self) -> tuple[str, ...]:
        return *self.claim[:2], "claim", *self.claim[2:]


@dataclass(frozen=True)
class ProofRecord:
    """How far a property was proved, for one set of parameters."""

    proof: list[str]  # block, property, parameters as JSON
    status: str
    depth: int

    @property
    def key(self) -> tuple[str, ...]:
        return self.proof[0], "", "proof", *self.proof[1:]


@dataclass(frozen=True)
class MutantsRecord:
    """The fates of a block's mutants; see `cyclebound.sim.mutation.rows.Campaign`.

    The score is only told: whether the others are equivalent is found within a time limit.
    """

    mutants: list[str]  # block, configuration
    count: int
    killed: int
    score: float
    layers: dict[str, int]

    @property
    def key(self) -> tuple[str, ...]:
        return *self.mutants, "mutants"


Record = JobRecord | ClaimRecord | ProofRecord | MutantsRecord
_CLASSES: dict[str, type] = {"job": JobRecord, "claim": ClaimRecord, "proof": ProofRecord,
                             "mutants": MutantsRecord}


def record_of_job(job: JobRow) -> JobRecord:
    return JobRecord(job.name, job.guard, job.compared, job.bits, job.cycles,
                     sorted(name for name, passed in job.tests if passed))


def record_of_claim(row: Verdict) -> ClaimRecord:
    return ClaimRecord([row.block, row.configuration, row.bound, row.what], row.found,
                       row.evidence, row.requests, row.kinds, list(row.ratios), list(row.sums))


def record_of_proof(proof: Mapping[str, Any]) -> ProofRecord:
    return ProofRecord([proof["block"], proof["property"],
                        json.dumps(proof["parameters"], sort_keys=True)],
                       proof["status"], proof["depth"])


def record_of_mutants(campaign: Campaign) -> MutantsRecord:
    layers = campaign.layers
    return MutantsRecord([campaign.block, campaign.configuration], len(campaign.rows),
                         sum(layers.values()), round(campaign.score or 0.0, 2), layers)


class Baseline:
    """The records of one level.

    Parameters
    ----------
    level : str
        ``quick`` or ``full``.
    folder : Path
        The files' folder.
    """

    def __init__(self, level: str, folder: Path | None = None) -> None:
        self.level, self.folder = level, folder or FOLDER
        self._records: dict[str, dict[tuple[str, ...], Record]] = {}

    def _path(self, family: str) -> Path:
        return self.folder / f"{family}-{self.level}.jsonl"

    def records(self, family: str) -> dict[tuple[str, ...], Record]:
        """All records of a family, by key. Raises `UserError` for a file that is none."""
        if family not in self._records:
            path = self._path(family)
            try:
                lines = path.read_text().splitlines() if path.exists() else []
            except (OSError, UnicodeDecodeError) as error:
                raise UserError(f"cannot read {path}: {error}") from error
            read = (_read(line, f"line {number} of {path}") for number, line in
                    enumerate(lines, 1))
            self._records[family] = {record.key: record for record in read}
        return self._records[family]

    def of(self, block: str) -> dict[tuple[str, ...], Record]:
        """The records of a block."""
        return {key: record for key, record in self.records(block.partition(".")[0]).items()
                if key[0] == block}

    def accept(self, blocks: Iterable[str], records: Iterable[Record]) -> int:
        """Put these records in place of all that there are of these blocks; how many differ."""
        differ = 0
        blocks, fresh = set(blocks), list(records)
        for family in sorted({name.partition(".")[0] for name in blocks}):
            before = self.records(family)
            after = {key: record for key, record in before.items() if key[0] not in blocks
                     and catalogue.load().page_of(key[0])}
            after |= {record.key: record for record in fresh
                      if record.key[0].partition(".")[0] == family}
            differ += sum(before.get(key) != after.get(key) for key in {*before, *after})
            lines = [json.dumps(dataclasses.asdict(after[key])) + "\n" for key in sorted(after)]
            path = self._path(family)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(lines))
            except OSError as error:
                raise UserError(f"cannot write {path}: {error.strerror or error}") from error
            self._records[family] = after
        return differ


def _read(line: str, thing: str) -> Record:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise UserError(f"{thing} must be JSON") from None
    kind = next((cls for name, cls in _CLASSES.items() if isinstance(row, dict) and name in row),
                None)
    if kind is None:
        raise UserError(f"{thing} is of no {', '.join(_CLASSES)}")
    wrong = row_misfit(row, kind, thing)
    if not wrong and kind is ClaimRecord:
        wrong = misfit(row["claim"], tuple[str, str, str, str], f"claim of {thing}")
    if not wrong and kind is MutantsRecord:
        wrong = misfit(row["mutants"], tuple[str, str], f"mutants of {thing}")
    if not wrong and kind is ProofRecord:
        wrong = misfit(row["proof"], tuple[str, str, str], f"proof of {thing}")
    if wrong:
        raise UserError(wrong)
    return kind(**row)


# -- guard and checker -----------------------------------------------------------------------------

def guard_of(block: Block, configuration: str, bench: Testbench) -> str:
    """Stands for what decides a simulation besides code: parameters, domain, arguments."""
    values = block.configurations[configuration]
    return key_of(dict(values.parameters),
                  {name: repr(cases) for name, cases in values.values.items()},
                  bench.module, bench.tests, block.left_out(bench), bench.seeds, bench.max_cycles,
                  bench.searches, bench.observes, bench.compares)[:8]


def checker_of(block: Block, bench: Testbench) -> str:
    """The bound checker that watches a testbench's simulation; empty without one."""
    watches = bench.checker or (None if bench.top else block.checker)
    return "" if watches is None else getattr(watches, "__name__", type(watches).__name__)


# -- comparison ------------------------------------------------------------------------------------

@dataclass
class _Change:
    """How a record differs: what there is less of, and what is more or other."""

    less: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    def number(self, name: str, was: float, now: float) -> None:
        """A number of which less is weaker."""
        if was != now:
            (self.less if now < was else self.other).append(f"{name} {now:,}, baseline {was:,}")

    def word(self, name: str, was: str, now: str, order: Sequence[str]) -> None:
        """A word; the strongest comes first."""
        if was != now:
            weaker = now not in order or (was in order and order.index(now) > order.index(was))
            (self.less if weaker else self.other).append(f"{name} {now}, baseline {was}")

    @property
    def verdict(self) -> str:
        return "weaker" if self.less else "changed" if self.other else ""

    @property
    def words(self) -> str:
        return "; ".join([*self.less, *self.other])


def _changed_job(was: JobRecord, now: JobRecord) -> _Change:
    change = _Change()
    change.number("comparisons", was.compared, now.compared)
    change.number("bits compared", was.bits, now.bits)
    change.number("cycles", was.cycles, now.cycles)
    for tests, into, says in (({*was.tests} - {*now.tests}, change.less, "no longer passes"),
                              ({*now.tests} - {*was.tests}, change.other, "is new")):
        named = sorted(tests)
        into += [f"test {name} {says}" for name in named[:_NAMED]]
        into += [f"and {len(named) - _NAMED} more"] * (len(named) > _NAMED)
    if was.guard != now.guard:
        change.other.append("parameters, domain or the testbench's arguments are others")
    return change


def _changed_claim(was: ClaimRecord, now: ClaimRecord, *, evidence: bool) -> _Change:
    change = _Change()
    change.word("verdict", was.verdict, now.verdict, _VERDICTS)
    if evidence:
        change.word("evidence", was.evidence, now.evidence, _EVIDENCE)
    change.number("requests", was.requests, now.requests)
    change.number("kinds", was.kinds, now.kinds)
    for name, before, after in zip(("loosest", "median", "tightest"), was.ratios, now.ratios,
                                   strict=False):
        change.number(f"{name} ratio", before, after)
    if was.kinds == now.kinds and len(was.sums) == len(now.sums) == 2:
        change.number("worst of all kinds together", was.sums[0], now.sums[0])
        if was.sums[1] != now.sums[1]:  # the greater the bounds, the looser
            (change.less if now.sums[1] > was.sums[1] else change.other).append(
                f"bounds of all kinds together {now.sums[1]:,}, baseline {was.sums[1]:,}")
    return change


def _changed_mutants(was: MutantsRecord, now: MutantsRecord) -> _Change:
    """A mutant that another layer kills is no less dead, but what killed it sees less."""
    change = _Change()
    change.number("mutants", was.count, now.count)
    change.number("killed", was.killed, now.killed)
    if was.killed == now.killed and was.layers != now.layers:
        words = [", ".join(f"{layer} {number}" for layer, number in one.layers.items())
                 for one in (now, was)]
        change.other.append(f"killed by {words[0]}, baseline {words[1]}")
    return change


def _changed_proof(was: ProofRecord, now: ProofRecord) -> _Change:
    change = _Change()
    change.word("status", was.status, now.status, _STATUS)
    change.number("checked to", was.depth, now.depth)
    return change


# -- a run against its baseline --------------------------------------------------------------------

def weighed(plan: Plan, block: str, configuration: str, rows: Sequence[Verdict],
            jobs: Sequence[JobRow], *, final: bool, baselines: Sequence[Baseline] = ()
            ) -> list[Verdict]:
    """The verdicts of a configuration, ``weaker`` or ``changed`` where they differ from baseline.

    Rows are added for simulations that differ, and for claims and simulations that the baseline
    has and the run does not. Of a run of some testbenches or seeds, these alone are compared, and
    claims only where all of a level's simulations of the configuration ran.

    Parameters
    ----------
    jobs : sequence of JobRow
        The configuration's simulations that have finished.
    final : bool
        All proofs are known, so that evidence is compared too.
    baselines : sequence of Baseline
        The run's level first; none stands for those in `FOLDER`.
    """
    rows = [row if row.mutation else dataclasses.replace(
        row, mutation=_score_of(block, configuration)) for row in rows]
    if why := _without(plan, block):
        return [dataclasses.replace(row, baseline=f"none: {why}") for row in rows]
    whole = _whole(plan)
    levels = dict.fromkeys([plan.level] if whole else [plan.level, *LEVELS])
    own = [{key: record for key, record in base.of(block).items() if key[1] == configuration}
           for base in (baselines or map(_baseline, levels))]
    names = {job.name for job in jobs}
    same = next((records for records in own if _simulations(records) == names), None)
    claims = own[0] if same is None and whole else same or {}
    known = {key: record for records in reversed(own) for key, record in records.items()
             if isinstance(record, JobRecord)}
    if not known or not (whole or names & {record.job for record in known.values()}):
        return [dataclasses.replace(row, baseline="none") for row in rows]
    wrong: dict[str, _Change] = {}
    for job in jobs:
        now = record_of_job(job)
        was = known.get(now.key)
        if job.passed and (whole or was is not None):  # a level of which nothing is recorded
            wrong[job.name] = (_Change(other=["it is not in the baseline"]) if was is None else
                               _changed_job(was, now))
    if whole:
        wrong |= {name: _Change(less=["it is in the baseline, and has not run"])
                  for name in sorted(_simulations(claims) - names)}
    wrong = {name: change for name, change in wrong.items() if change.verdict}
    evidence = final and whole and plan.proofs
    judged = [_weighed_row(row, claims, wrong, evidence=evidence) for row in rows]
    have = {(row.bound, row.what) for row in rows}
    judged += [_row(record.claim[:2], record.claim[2], record.claim[3], "weaker",
                    f"the baseline has it ({record.verdict}, {record.requests:,} requests), and "
                    "it is no longer judged")
               for record in claims.values() if isinstance(record, ClaimRecord)
               and tuple(record.claim[2:]) not in have]
    return judged + [
        _row([block, configuration], "-", name.split("/", 2)[2], change.verdict, change.words,
             claim="simulation", job=name) for name, change in sorted(wrong.items())]


def _score_of(block: str, configuration: str) -> dict[str, Any]:
    """The mutation score that is committed, for a run that does not measure it."""
    record = _baseline("full").of(block).get((block, configuration, "mutants"))
    return ({"score": record.score, "mutants": record.count}
            if isinstance(record, MutantsRecord) else {})


@functools.cache
def _baseline(level: str) -> Baseline:
    return Baseline(level)


def _simulations(records: Mapping[tuple[str, ...], Record]) -> set[str]:
    return {record.job for record in records.values() if isinstance(record, JobRecord)}


def _without(plan: Plan, block: str) -> str:
    """Why the block has no baseline in this run; empty if it may have one."""
    if plan.changes:
        return "other parameters"
    if any(block == own.name for own in plan.blocks) and not catalogue.load().page_of(block):
        return "a block of your own"
    return ""


def _whole(plan: Plan) -> bool:
    """Whether the run has all simulations and proofs of its blocks in its level."""
    return not (plan.configurations or plan.testbenches or plan.seeds or plan.seed != 1
                or plan.shard != (1, 1))


def _weighed_row(row: Verdict, records: Mapping[tuple[str, ...], Record],
                 wrong: Mapping[str, _Change], *, evidence: bool) -> Verdict:
    if row.verdict not in _VERDICTS:
        return row
    now, change = record_of_claim(row), _Change()
    if records:
        was = records.get(now.key)
        change = (_changed_claim(was, now, evidence=evidence) if isinstance(was, ClaimRecord)
                  else _Change(other=["the claim is not in the baseline"]))
    for name, other in wrong.items():
        (change.less if other.less else change.other).append(
            f"simulation {name} is {other.verdict}")
    if change.verdict:
        return dataclasses.replace(row, verdict=change.verdict, baseline=change.verdict,
                                   detail=f"{row.found}, but {change.words}")
    return dataclasses.replace(row, baseline="equal" if records else
                               "none: not all of its simulations ran")


def _row(place: Sequence[str], bound: str, what: str, verdict: str, detail: str, *,
         claim: str = "bound", job: str = "") -> Verdict:
    return Verdict(place[0], place[1], bound, what, "-", "-", claim, verdict=verdict,
                   baseline=verdict, evidence="none", detail=detail, job=job)


def weighed_proofs(plan: Plan, proofs: Sequence[Mapping[str, Any]], *,
                   baseline: Baseline | None = None) -> list[Verdict]:
    """Rows for properties that are proved less far than in the baseline, or other than there."""
    if not (plan.proofs and _whole(plan)) or plan.changes:
        return []
    rows = []
    base = baseline or _baseline(plan.level)
    for block in plan.blocks:
        was = {key: record for key, record in base.of(block.name).items()
               if isinstance(record, ProofRecord)}
        if not was or _without(plan, block.name):
            continue
        mine = {record.key: record for record in map(record_of_proof, (
            proof for proof in proofs if proof["block"] == block.name))}
        for key in sorted({*was, *mine}):
            before, after = was.get(key), mine.get(key)
            if after is None:
                change = _Change(less=["it is in the baseline, and is no longer proved"])
            elif before is None:
                change = _Change(other=["it is not in the baseline"])
            else:
                change = _changed_proof(before, after)
            if change.verdict:
                values = json.loads(key[4])
                rows.append(_row([block.name, ", ".join(f"{name}={value}" for name, value in
                                                        values.items()) or "-"],
                                 "-", key[3], change.verdict, change.words, claim="property"))
    return rows


def weighed_mutants(plan: Plan, campaigns: Sequence[Campaign], *,
                    baseline: Baseline | None = None) -> list[Verdict]:
    """Rows for mutation scores other than in the baseline; of a whole run of the full level."""
    if plan.level != "full" or not _whole(plan) or plan.changes:
        return []
    base = baseline or _baseline(plan.level)
    mine = {record.key: record for record in map(record_of_mutants, campaigns)}
    rows = []
    for block in plan.blocks:
        was = {key: record for key, record in base.of(block.name).items()
               if isinstance(record, MutantsRecord)}
        for key, before in sorted(was.items()):
            after = mine.get(key)
            change = (_Change(less=["it is in the baseline, and no longer measured"])
                      if after is None else _changed_mutants(before, after))
            if change.verdict:
                rows.append(_row(key[:2], "-", "mutation score", change.verdict, change.words,
                                 claim="mutants"))
    return rows


def gone(plan: Plan, *, baseline: Baseline | None = None) -> list[tuple[str, str]]:
    """Configurations that the baseline has of the plan's blocks, or of blocks of their families
    that are no more, and of which nothing runs."""
    if not _whole(plan) or plan.changes:
        return []
    base, own = baseline or _baseline(plan.level), catalogue.load()
    chosen = {block.name for block in plan.blocks}
    planned = {(job.block, job.configuration) for job in jobs_of(plan)}
    return sorted({(key[0], key[1]) for family in sorted({block.family for block in plan.blocks})
                   for key in base.records(family) if key[2] in ("job", "claim")
                   and (key[0] in chosen or not own.page_of(key[0]))} - planned)


def records_of(run: Run) -> list[Record]:
    """All that a run gives a baseline. Raises `UserError` for one that can be none."""
    options, level = run.meta.get("options", {}), run.meta.get("level")
    usual: dict[str, object] = {
        "configurations": [], "testbenches": [], "seeds": None, "changes": None, "seed": 1,
        "shard": [1, 1], "proofs": True, "simulator": "verilator"}
    narrow = [name for name, value in usual.items() if options.get(name, value) != value]
    if narrow or level not in LEVELS:
        raise UserError(f"{run.folder} is no whole level: it has its own {', '.join(narrow)}"
                        if narrow else f"{run.folder} is no regression")
    if other := run.problems_without(*_DIFFERS):
        raise UserError(f"{run.folder} fails for another reason than its baseline: {other[0]}")
    own = catalogue.load()
    records: list[Record] = [record_of_job(job) for job in run.jobs if own.page_of(job.block)]
    records += [record_of_claim(row) for row in run.verdicts
                if own.page_of(row.block) and row.found]
    records += [record_of_proof(proof) for proof in run.proofs if own.page_of(proof["block"])]
    records += [record_of_mutants(campaign) for campaign in read_campaigns(run.folder)
                if own.page_of(campaign.block)]
    if not records:
        raise UserError(f"{run.folder} has no simulation of this project's blocks")
    return records


def unrecorded(level: str, blocks: Sequence[Block], *, baseline: Baseline | None = None
               ) -> list[str]:
    """Simulations and proofs of a level without a record, with another guard, or gone; for a test
    that needs no simulation."""
    base = baseline or _baseline(level)
    plan = Plan(list(blocks), Path(), level=level)
    wrong = []
    planned = {}
    for job in jobs_of(plan):
        block = next(block for block in blocks if block.name == job.block)
        planned[job.name] = guard_of(block, job.configuration, block.testbench(job.testbench))
    known = {record.job: record.guard for block in blocks
             for record in base.of(block.name).values() if isinstance(record, JobRecord)}
    for name in sorted({*planned, *known}):
        if name not in known:
            wrong.append(f"{name} has no baseline")
        elif name not in planned:
            wrong.append(f"{name} is in the baseline, and no longer runs")
        elif planned[name] != known[name]:
            wrong.append(f"{name} has other parameters or arguments than its baseline")
    proved = {(job.block, job.name, json.dumps(dict(job.parameters), sort_keys=True))
              for job in proofs_of(plan)}
    recorded = {tuple(record.proof) for block in blocks
                for record in base.of(block.name).values() if isinstance(record, ProofRecord)}
    wrong += [f"property {' '.join(one)} has no baseline" for one in sorted(proved - recorded)]
    wrong += [f"property {' '.join(one)} is in the baseline, and no longer proved"
              for one in sorted(recorded - proved)]
    return wrong
