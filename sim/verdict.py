"""Measured against bound: one verdict for each bound over each configuration."""

import itertools
import json
import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cyclebound.golden.bound import Bound, NotCovered
from cyclebound.sim.block import Block, Configuration, Observed
from cyclebound.sim.job import Group
from cyclebound.sim.prove import Proof
from cyclebound.sim.shape import shown

__all__ = ["FAILURES", "Verdict", "cycles_of", "judge", "judge_bound"]

FAILURES = ("violated", "not covered", "unobserved")


@dataclass
class Verdict:
    """One row of the verdict table.

    Attributes
    ----------
    verdict : str
        ``exact``: for each kind of request (each set of parameters) the worst observed equals the
        bound. ``reached``: for some kinds it does. ``held``: no request exceeds it.
        ``violated``, ``not covered`` (the formula does not speak of an observed request),
        ``unobserved``: failures.
    kinds, kinds_reached : int
        Kinds of requests, and those whose worst observed equals the bound.
    worst, allowed : int
        Latency and bound, in cycles, of the request that comes closest to its bound.
    parameters : dict
        Of that request.
    evidence : str
        ``proved``, ``exhaustive`` or ``sampled``.
    domain : str
        What was proved, or which domain was exhausted.
    job, test, first, last
        Where that request is to be seen: cycles from the start of that test.
    histogram : list of (latency, count)
        Of the requests with these parameters.
    """

    block: str
    configuration: str
    bound: str
    what: str
    formula: str
    source: str
    verdict: str = "unobserved"
    requests: int = 0
    kinds: int = 0
    kinds_reached: int = 0
    worst: int | None = None
    allowed: int | None = None
    parameters: dict = field(default_factory=dict)
    evidence: str = "sampled"
    domain: str = ""
    job: str = ""
    test: str = ""
    first: int = 0
    last: int = 0
    detail: str = ""
    histogram: list = field(default_factory=list)

    @property
    def tightness(self) -> float | None:
        """Worst observed divided by the bound."""
        if self.worst is None or self.allowed is None or self.allowed <= 0:
            return None
        return self.worst / self.allowed

    @property
    def failed(self) -> bool:
        return self.verdict in FAILURES


def cycles_of(bound: Bound, known: Mapping[str, object]) -> int:
    """The bound for a request. Raises `NotCovered`, or what else a user's formula raises."""
    cycles = bound.of(known)
    if isinstance(cycles, bool) or not isinstance(cycles, numbers.Integral):
        raise TypeError(f"bound {bound.name} gives {shown(cycles)}, no whole number of cycles")
    return int(cycles)


def judge(block: Block, name: str, observed: Iterable[tuple[str, Group]],
          proofs: Iterable[Proof] = ()) -> list[Verdict]:
    """Verdicts for all bounds of a configuration.

    Parameters
    ----------
    observed : iterable of (job name, Group)
        All that was observed in this configuration.
    proofs : iterable of Proof
        What has been proved of the block as it is now.
    """
    observed = list(observed)
    configuration = block.configurations[name]
    proved = _covering(block, configuration, proofs)
    bounded = {entry.what for entry in block.bounds}
    seen = {group.what for _, group in observed}
    rows = [judge_bound(block, name, configuration, entry,
                        [(job, g) for job, g in observed if g.what == entry.what], proved)
            for entry in block.bounds
            if entry.what in seen or name in (entry.configurations or [name])]
    for what in sorted(seen - bounded):
        job, group = next((j, g) for j, g in observed if g.what == what)
        rows.append(Verdict(block.name, name, "-", what, "-", "-", "not covered", job=job,
                            requests=group.count, parameters=group.parameters,
                            detail=f"no bound of {block.name} covers observed {what!r} requests, "
                                   f"such as {_words(group.parameters)}"))
    return rows


def judge_bound(block: Block, name: str, configuration: Configuration, entry: Observed,
                observed: list[tuple[str, Group]], proved: Mapping[str, str]) -> Verdict:
    """The verdict of one bound over the requests that it speaks of."""
    row = Verdict(block.name, name, entry.bound.name, entry.what, entry.bound.formula,
                  entry.bound.source, requests=sum(g.count for _, g in observed))
    if not observed:
        row.detail = f"no {entry.what!r} request was observed"
        return row
    allowed: dict[str, int] = {}
    kinds: dict[str, list[tuple[str, Group]]] = {}
    for job, group in observed:
        key = json.dumps(group.parameters, sort_keys=True)
        kinds.setdefault(key, []).append((job, group))
        if key not in allowed:
            try:
                allowed[key] = cycles_of(entry.bound, {**configuration.parameters,
                                                        **group.parameters})
            except Exception as error:  # NotCovered, or a mistake in the formula
                row.verdict, row.job = "not covered", job
                row.parameters, row.worst = group.parameters, group.latency
                row.test, row.first, row.last = group.test, group.first, group.last
                why = str(error) if isinstance(error, NotCovered) else repr(error)
                row.detail = (f"{entry.bound.name} does not cover "
                              f"{_words(group.parameters)}: {why}")
                return row
    # of equals, one whose waveform can be seen
    worst = {key: max(groups, key=lambda item: (item[1].latency, item[1].test != ""))
             for key, groups in kinds.items()}
    row.kinds = len(kinds)
    row.kinds_reached = sum(worst[key][1].latency == allowed[key] for key in kinds)
    # closest to its bound; of equals, the longest whose waveform can be seen
    closest = max(kinds, key=lambda key: (_ratio(worst[key][1].latency, allowed[key]),
                                          worst[key][1].test != "", worst[key][1].latency))
    row.job, group = worst[closest]
    row.worst, row.allowed, row.parameters = group.latency, allowed[closest], group.parameters
    row.test, row.first, row.last = group.test, group.first, group.last
    counts: dict[int, int] = {}
    for _, other in kinds[closest]:
        counts[other.latency] = counts.get(other.latency, 0) + other.count
    row.histogram = sorted(counts.items())
    if row.worst > row.allowed:
        row.verdict = "violated"
        row.detail = (f"{entry.what} with {_words(row.parameters)} took {row.worst}, "
                      f"bound {row.allowed}")
    elif row.kinds_reached == row.kinds:
        row.verdict = "exact"
    else:
        row.verdict = "reached" if row.kinds_reached else "held"
    _evidence(row, entry, configuration, [group.parameters for _, group in observed], proved)
    return row


def _ratio(latency: int, allowed: int) -> float:
    """Latency over bound, also where nothing at all is allowed."""
    if allowed > 0:
        return latency / allowed
    return math.inf if latency > allowed else 1.0


def _evidence(row: Verdict, entry: Observed, configuration: Configuration,
              seen: list[dict], proved: Mapping[str, str]) -> None:
    """The strongest evidence there is, checked and not only claimed; weaker one behind it."""
    found = []
    if entry.proved_by and all(name in proved for name in entry.proved_by):
        found.append(("proved", "; ".join(proved[name] for name in entry.proved_by)))
    if entry.exhaustive and configuration.domain:
        names = list(configuration.domain)
        whole = list(itertools.product(*configuration.domain.values()))
        every = {values for values in whole if _speaks_of(
            entry, {**configuration.parameters, **dict(zip(names, values, strict=True))})}
        missing = every - {tuple(p.get(name) for name in names) for p in seen}
        if missing or not every:
            row.detail = row.detail or (f"not exhaustive: {len(missing)} of {len(every)} kinds "
                                        f"were not observed")
        else:
            domain = ", ".join(f"{name} {r.start}..{r.stop - 1}"
                               for name, r in configuration.domain.items())
            if len(every) < len(whole):
                domain += f" ({len(every)} of {len(whole)} kinds: where the formula applies)"
            found.append(("exhaustive", domain))
    if found:
        row.evidence = found[0][0]
        row.domain = "; ".join([found[0][1], *(f"{kind}: {what}" for kind, what in found[1:])])


def _speaks_of(entry: Observed, parameters: Mapping[str, object]) -> bool:
    try:
        cycles_of(entry.bound, parameters)
    except NotCovered:
        return False
    except Exception:  # a mistake in the formula; what was not observed is missing all the same
        return True
    return True


def _covering(block: Block, configuration: Configuration,
              proofs: Iterable[Proof]) -> dict[str, str]:
    """Properties proved for what decides them in this configuration, with these values."""
    covering = {}
    for proof in proofs:
        claim = next((p for p in block.properties if p.name == proof.property), None)
        if claim is None or proof.status != "proved":
            continue
        if all(proof.parameters.get(n) == configuration.parameters.get(n) for n in claim.decides):
            values = _words({n: configuration.parameters[n] for n in claim.decides})
            covering[claim.name] = f"{claim.name} for {values}"
    return covering


def _words(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in parameters.items()) or "no parameters"
