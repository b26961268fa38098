"""Measured against bound: one verdict for each bound over each configuration."""

import inspect
import itertools
import json
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cyclebound.golden.bound import Bound, NotCovered
from cyclebound.sim.base.shape import shown
from cyclebound.sim.build.elaborate import leave_unused, to_rtlil
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Property
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.run.job import Group
from cyclebound.tb.assumed import said
from cyclebound.tb.tally import ratio, standing

__all__ = ["FAILURES", "VERDICTS", "Verdict", "cycles_of", "judge", "judge_bound"]

FAILURES = ("violated", "wrong", "refuted", "not covered", "unobserved", "void", "weaker",
            "changed")
"""Verdicts that make a run fail."""

VERDICTS = ("exact", "held", "right", *FAILURES)
"""All verdicts."""

_MOST_POINTS = 500  # kinds of requests in a picture
_FEW = 16  # values of a parameter of which each should be drawn
_NAMED = 3  # kinds that are told by name
_SOME = 20  # kinds of requests with which it is asked whether the bound speaks of a value


@dataclass
class Verdict:
    """One row of the verdict table.

    Attributes
    ----------
    claim : str
        ``bound``, ``prediction`` or ``rate``; ``simulation`` or ``property`` of a row that only
        says how one differs from the baseline.
    verdict : str
        Of a bound: ``exact`` if for each kind of request (each set of parameters) the worst
        observed equals the bound, ``held`` if no request exceeds it, ``violated`` if one does. Of a
        prediction: ``right`` if every request took exactly that long, else ``wrong``. Of a rate:
        ``held`` or ``violated``. Of any: ``not covered`` (the formula does not speak of an observed
        request), ``unobserved``, ``void`` (a simulation of this configuration failed or is missing,
        so that what was observed in it shows nothing), ``refuted`` (nothing that was observed
        breaks it, but a proof's counterexample does), and ``weaker`` or ``changed`` (it would be
        what ``found`` says, but rests on less, or on something else, than the baseline:
        `cyclebound.sim.regression.baseline`).
    found : str
        The verdict without regard to the baseline.
    kinds, kinds_reached : int
        Kinds of requests, and those whose worst observed equals the bound.
    ratios : list of float
        Worst observed over bound, by kind: the least (loosest), the median, the greatest.
    sums : list of int
        Of all kinds together, their worst latencies and their bounds.
    worst, allowed : int
        The largest latency that was measured, and the bound of that request. Of a claim that is
        violated or wrong, those of the request that breaks it.
    parameters : dict
        Of that request.
    tightest : dict
        ``latency``, ``allowed`` and ``parameters`` of the request that comes closest to its bound:
        often, but not always, the same. Empty if none was judged.
    evidence : str
        ``proved`` (for every kind observed, by a proof with this configuration's parameters of what
        the probe counts against the bound's value), ``exhaustive`` (every case of the
        configuration's domain was observed), ``searched`` (by a testbench that looks for the
        request closest to its bound) or ``sampled``; ``none`` where the verdict is void or refuted.
    domain : str
        What was proved, which cases were exhausted, what searched; how many kinds of requests
        were sampled beside those that were exhausted; of parameters with few values, those that no
        request had, though the bound speaks of such; and kinds that were declared, and of which
        none was seen to end.
    job, test, first, last
        Where the tightest is to be seen: cycles from the start of that test.
    histogram : list of (latency, count)
        Of the requests with the parameters of the tightest.
    unit : str
        What latencies and bounds are numbers of: ``cycles``, or what the probe counts instead.
    compared : int
        Comparisons with a model in all simulations of the configuration.
    checker : str
        The bound checkers that watched these simulations.
    mutation : dict
        ``score`` (percent of the mutants that are not equivalent) and ``mutants`` of the
        configuration; empty if that was not measured.
    baseline : str
        ``equal``, ``weaker`` or ``changed``; ``none`` where there is none, and why.
    points : list of (allowed, worst)
        Bound and worst observed by kind, without repetition: about 500 at most, the tightest in.
    assumes : list of str
        What the row's proofs assume that the surroundings never do.
    """

    block: str
    configuration: str
    bound: str
    what: str
    formula: str
    source: str
    claim: str = "bound"
    environment: str = ""
    verdict: str = "unobserved"
    found: str = ""
    requests: int = 0
    kinds: int = 0
    kinds_reached: int = 0
    ratios: list = field(default_factory=list)
    sums: list = field(default_factory=list)
    worst: int | None = None
    allowed: int | None = None
    parameters: dict = field(default_factory=dict)
    tightest: dict = field(default_factory=dict)
    evidence: str = "sampled"
    domain: str = ""
    job: str = ""
    test: str = ""
    first: int = 0
    last: int = 0
    detail: str = ""
    histogram: list = field(default_factory=list)
    unit: str = "cycles"
    compared: int = 0
    checker: str = ""
    mutation: dict = field(default_factory=dict)
    baseline: str = ""
    points: list = field(default_factory=list)
    assumes: list[str] = field(default_factory=list)

    @property
    def tightness(self) -> float | None:
        """Latency divided by the bound, of the request that comes closest to its bound."""
        if not self.tightest or self.tightest["allowed"] <= 0:
            return None
        return self.tightest["latency"] / self.tightest["allowed"]

    @property
    def closer(self) -> str:
        """The tightest request as words, if it is another than the longest, else nothing."""
        if self.failed or not self.tightest or self.tightest["latency"] == self.worst:
            return ""
        return f", tightest {self.tightest['latency']:,} of {self.tightest['allowed']:,}"

    @property
    def words(self) -> str:
        """The verdict; of a bound that some kinds do not reach, how near they come to it."""
        if self.verdict != "held" or self.kinds < 2:
            return self.verdict
        return (f"held ({self.kinds_reached}/{self.kinds} exact; ratios "
                f"{' / '.join(f'{ratio:.2f}' for ratio in self.ratios)})")

    @property
    def strength(self) -> str:
        """What the verdict rests on besides its evidence, in words."""
        words = [f"{self.compared:,} comparisons"] if self.compared else []
        if self.checker:
            words.append(self.checker)
        if self.mutation:
            words.append(f"{self.mutation['score']:.1f} % of {self.mutation['mutants']:,} mutants")
        baseline, _, why = self.baseline.partition(": ")
        if baseline:
            words.append({"equal": "as its baseline", "none": "no baseline"}.get(
                baseline, f"{baseline} than its baseline" if baseline == "weaker" else
                "other than its baseline") + (f" ({why})" if why else ""))
        return "; ".join(words) or "-"

    @property
    def failed(self) -> bool:
        return self.verdict in FAILURES


def cycles_of(bound: Bound, values: Mapping[str, object]) -> int:
    """The bound for a request. Raises `NotCovered`, or what else a user's formula raises.

    What it says is remembered: the cases of a domain are asked for at each judgement.
    """
    key = bound.name, bound.function, *((type(value), value) for value in (
        values.get(name, _MISSING) for name in bound.parameters))
    try:
        said = _SAID.get(key)
    except TypeError:  # a parameter that cannot be looked up, such as a list
        return _cycles_of(bound, values)
    if said is None:
        try:
            said = _cycles_of(bound, values)
        except NotCovered as error:
            said = error
        _SAID[key] = said
    if isinstance(said, NotCovered):
        raise NotCovered(*said.args)
    return said


_MISSING = object()
_SAID: dict[tuple, int | NotCovered] = {}


def _cycles_of(bound: Bound, values: Mapping[str, object]) -> int:
    cycles = bound.of(values)
    if isinstance(cycles, bool) or not isinstance(cycles, numbers.Integral):
        raise TypeError(f"bound {bound.name} gives {shown(cycles)}, no whole number of cycles")
    return int(cycles)


def judge(block: Block, name: str, observed: Iterable[tuple[str, Group]],
          proofs: Iterable[Proof] = (), failed: Sequence[str] = ()) -> list[Verdict]:
    """Verdicts for all bounds of a configuration.

    Parameters
    ----------
    observed : iterable of (job name, Group)
        All that was observed in this configuration.
    proofs : iterable of Proof
        What has been proved of the block as it is now.
    failed : sequence of str
        Names of simulations of this configuration that failed, or are missing: what was observed
        in the others holds no verdict but a violated one.
    """
    everything = list(observed)
    observed = [(job, group) for job, group in everything if not group.only_declared]
    configuration = block.configurations[name]
    # not in the order in which they ended, so that equal runs say the same
    proofs = sorted(proofs, key=lambda proof: (proof.property, _words(proof.parameters),
                                               str(proof.claims)))
    bounded = {binding.what for binding in block.bounds}
    seen = {group.what for _, group in observed}
    rows = [judge_bound(block, name, configuration, binding,
                        [(job, g) for job, g in observed if g.what == binding.what], proofs)
            for binding in block.bounds
            if binding.what in seen or name in (binding.configurations or [name])]
    for what in sorted(seen - bounded):
        job, group = next((j, g) for j, g in observed if g.what == what)
        rows.append(Verdict(block.name, name, "-", what, "-", "-", verdict="not covered", job=job,
                            requests=group.count, parameters=group.parameters,
                            detail=f"no bound of {block.name} covers observed {what!r} requests, "
                                   f"such as {_words(group.parameters) or 'one'}"))
    for row in rows:
        if row.verdict not in FAILURES and (unseen := _unseen(everything, row.what)):
            more = "declared, never seen: " + unseen
            row.domain = f"{row.domain}; {more}" if row.domain else more
        if failed and row.verdict not in ("violated", "wrong"):
            row.verdict, row.evidence, row.domain = "void", "none", ""
            row.detail = f"{len(failed)} of its simulations failed or are missing: {failed[0]}"
        row.found = row.verdict
    return rows


def _unseen(observed: Iterable[tuple[str, Group]], what: str) -> str:
    """Kinds that testbenches declared and of which no request has ended; the first few by name."""
    mine = [group for _, group in observed if group.what == what]
    ended = {tuple(sorted(group.parameters.items())) for group in mine if group.count}
    declared = dict.fromkeys(tuple(sorted(group.parameters.items())) for group in mine
                             if group.only_declared)
    names = {tuple(name for name, _ in kind) for kind in declared}
    have = {tuple((name, value) for name, value in kind if name in of)
            for kind in ended for of in names}
    missing = [_words(dict(kind)) or "no parameters" for kind in declared if kind not in have]
    more = len(missing) - _NAMED
    return "; ".join(missing[:_NAMED]) + (f"; and {more:,} more kinds" if more > 0 else "")


def judge_bound(block: Block, name: str, configuration: Configuration, binding: BoundBinding,
                observed: list[tuple[str, Group]], proofs: Iterable[Proof]) -> Verdict:
    """The verdict of one bound over the requests that it speaks of."""
    row = Verdict(block.name, name, binding.bound.name, binding.what, binding.bound.formula,
                  binding.bound.source, binding.bound.kind, binding.bound.environment,
                  requests=sum(g.count for _, g in observed),
                  unit=binding.probe.counts if binding.probe else "cycles")
    if not observed:
        row.detail = f"no {binding.what!r} request was observed"
        return row
    allowed: dict[str, int] = {}
    kinds: dict[str, list[tuple[str, Group]]] = {}
    for job, group in observed:
        key = _key(binding, group.parameters)
        kinds.setdefault(key, []).append((job, group))
        if key not in allowed:
            try:
                allowed[key] = _allowed(block, binding, configuration, group.parameters)
            except Exception as error:  # NotCovered, or a mistake in the formula
                row.verdict, row.job = "not covered", job
                row.parameters, row.worst = group.parameters, group.latency
                row.test, row.first, row.last = group.test, group.first, group.last
                why = str(error) if isinstance(error, NotCovered) else repr(error)
                row.detail = (f"{binding.bound.name} does not cover "
                              f"{_words(group.parameters) or 'any request'}: {why}")
                return row
    # A request that had not ended when its test did has a count of 0: it shows something only if it
    # has exceeded its bound by then.
    kinds = {key: [(job, g) for job, g in groups if g.count or g.latency > allowed[key]]
             for key, groups in kinds.items()}
    kinds = {key: groups for key, groups in kinds.items() if groups}
    if not kinds:
        row.detail = f"no {binding.what!r} request ended"
        return row
    # of equals, one whose waveform can be seen; of a prediction, one that took another time
    predicted = row.claim == "prediction"
    worst = {key: max(groups, key=lambda item: (predicted and item[1].latency != allowed[key],
                                                item[1].latency, item[1].test != ""))
             for key, groups in kinds.items()}
    pairs = {key: (worst[key][1].latency, allowed[key]) for key in kinds}
    overall = standing(pairs, row.claim, tie=lambda key: worst[key][1].test != "")
    row.verdict, row.kinds, row.kinds_reached = overall.verdict, overall.kinds, overall.reached
    row.ratios = overall.ratios
    row.sums = [sum(latency for latency, _ in pairs.values()), sum(allowed[key] for key in pairs)]
    row.points = _points({(most, took) for took, most in pairs.values()})
    row.job, group = worst[overall.closest]
    _at(row, group, allowed[overall.closest])
    latency, most = pairs[overall.closest]
    if latency <= most:
        longest = max(kinds, key=lambda key: (worst[key][1].latency, key == overall.closest,
                                              -allowed[key]))
        row.worst, row.allowed = worst[longest][1].latency, allowed[longest]
        row.parameters = worst[longest][1].parameters
    counts: dict[int, int] = {}
    for _, other in kinds[overall.closest]:
        counts[other.latency] = counts.get(other.latency, 0) + other.count
    row.histogram = sorted(counts.items())
    if row.failed:  # there is no evidence for what is violated
        row.detail = (f"{binding.what}{_with(row.parameters)} took {row.worst}, "
                      f"{'predicted' if predicted else 'bound'} {row.allowed}")
        return row
    proofs = list(proofs)
    if refuted := _refuted(block, binding, configuration, proofs):
        row.verdict, row.evidence, row.detail = "refuted", "none", refuted
        return row
    _evidence(row, binding, block, configuration,
              [(job, group.parameters) for job, group in observed if group.count], proofs)
    return row


def _allowed(block: Block, binding: BoundBinding, configuration: Configuration,
             kind: Mapping[str, object]) -> int:
    """The bound's value for a request of this kind. Raises as `cycles_of`.

    A request may be of a smaller class than the block was built for (two requesters of eleven), and
    then its bound is no larger. It cannot make the block slower than it is: `NotCovered`.
    """
    allowed = cycles_of(binding.bound, {**configuration.parameters, **kind})
    own = {name: configuration.parameters.get(name, block.default_of(name))
           for name in kind if name in binding.bound.parameters}
    own = {name: value for name, value in own.items()
           if value is not inspect.Parameter.empty and value != kind[name]}
    if not own or binding.bound.kind != "bound":  # another prediction would be wrong
        return allowed
    try:
        most = cycles_of(binding.bound, {**configuration.parameters, **kind, **own})
    except NotCovered:  # another thing by the same name
        return allowed
    if allowed > most:
        raise NotCovered(f"the block has {_words(own)}, for which the bound is {most:,}, and no "
                         f"request can have {_words({name: kind[name] for name in own})} instead, "
                         f"for which it is {allowed:,}")
    return allowed


def _at(row: Verdict, group: Group, allowed: int) -> None:
    """The row shows this request."""
    row.worst, row.allowed, row.parameters = group.latency, allowed, group.parameters
    row.tightest = {"latency": group.latency, "allowed": allowed, "parameters": group.parameters}
    row.test, row.first, row.last = group.test, group.first, group.last


def _points(pairs: set[tuple[int, int]]) -> list[list[int]]:
    """Bounds and worst latencies for a picture; of very many, evenly chosen, and the tightest."""
    ordered = sorted(pairs)
    chosen = {*ordered[::math.ceil(len(ordered) / _MOST_POINTS)],
              max(ordered, key=lambda pair: ratio(pair[1], pair[0]))}
    return [list(pair) for pair in sorted(chosen)]


def _evidence(row: Verdict, binding: BoundBinding, block: Block, configuration: Configuration,
              seen: list[tuple[str, dict]], proofs: Iterable[Proof]) -> None:
    """The strongest evidence there is, checked and not only claimed; weaker one follows it."""
    evidence = []
    if searched := sorted({job.split("/")[2] for job, _ in seen} & {
            bench.name for bench in block.testbenches if bench.searches}):
        evidence.append(("searched", "by " + ", ".join(searched)))
    if binding.exhaustive and configuration.values:
        cases = list(cases_of(binding, configuration))
        names = list(configuration.values)
        # another kind of request, of which the domain says nothing, is none of its cases
        have = {tuple(p.get(name) for name in names) for _, p in seen
                if not _more(binding, configuration, p)}
        missing = len(set(cases) - have)
        read = {*binding.probe.request, *binding.probe.conditions} if binding.probe else set()
        declared = [name for name in names if name not in read]
        if states := [name for name in declared if name not in binding.bound.parameters]:
            row.detail = row.detail or ("not exhaustive: hardware does not observe "
                                        f"{', '.join(states)}, which testbenches only declare")
        elif missing or not cases:
            row.detail = row.detail or (f"not exhaustive: {missing:,} of {len(cases):,} cases "
                                        f"were not observed")
        else:
            domain = ", ".join(f"{name} {_values(values)}"
                               for name, values in configuration.values.items())
            says = f"; against {binding.exhausts}" if binding.exhausts else ""
            said = f"; declared, not observed: {', '.join(declared)}" if declared else ""
            evidence.insert(0, ("exhaustive", f"{len(cases):,} cases: {domain}{says}{said}"))
            told = {_key(binding, dict(zip(names, case, strict=True))) for case in cases}
            beyond = {_key(binding, p) for _, p in seen if _more(binding, configuration, p)
                      or _key(binding, {name: p.get(name) for name in names}) not in told}
            if beyond:
                kind = "kind" if len(beyond) == 1 else "kinds"
                evidence.insert(1, ("sampled", f"{len(beyond):,} {kind} beside these"))
    kinds = {_key(binding, parameters) for _, parameters in seen}
    covered, words, row.assumes = _proved(block, binding, configuration, proofs)
    if words:
        whole = kinds <= covered
        evidence.insert(0 if whole else len(evidence), ("proved" if whole else "proved in part",
                                                        "; ".join(words)))
    if (visited := _explored(block, binding, configuration, proofs)) and not (
            evidence and evidence[0][0] == "proved"):
        whole = kinds <= visited.keys()
        evidence.insert(0 if whole else len(evidence), (
            "exhaustive" if whole else f"every state for {len(kinds & visited.keys()):,} of "
            f"{len(kinds):,} kinds", "; ".join(dict.fromkeys(visited.values()))))
    if (undrawn := _undrawn(binding, configuration, kinds)):
        evidence.append(("never drawn", ", ".join(undrawn)))
    if evidence and evidence[0][0] in ("proved", "exhaustive", "searched"):
        row.evidence = evidence[0][0]
        evidence[0] = "", evidence[0][1]
    row.domain = "; ".join(f"{kind}: {what}" if kind else what for kind, what in evidence)


def _undrawn(binding: BoundBinding, configuration: Configuration, kinds: Iterable[str]
             ) -> list[str]:
    """Values that no request had, of parameters that may have few, and that the bound covers."""
    seen = [json.loads(kind) for kind in sorted(kinds)]
    lines = []
    for name, within in binding.bound.ranges.items():
        if (name in configuration.parameters or within.least is None or within.most is None
                or within.most - within.least >= _FEW):
            continue
        occurred = {kind.get(name, binding.bound.default_of(name)) for kind in seen}
        missing = [value for value in range(within.least, within.most + 1)
                   if value not in occurred and any(
                       _speaks_of(binding, {**configuration.parameters, **kind, name: value})
                       for kind in seen[::1 + len(seen) // _SOME])]
        if missing:
            lines.append(f"{name} {_values(missing)}")
    return lines


def _more(binding: BoundBinding, configuration: Configuration, parameters: Mapping[str, object]
          ) -> bool:
    """Whether a request has a parameter of the bound, other than its default, that neither the
    configuration nor its domain has.
    """
    return any(name in binding.bound.parameters and name not in configuration.values
               and configuration.parameters.get(name, binding.bound.default_of(name)) != value
               for name, value in parameters.items())


def _key(binding: BoundBinding, parameters: Mapping[str, object]) -> str:
    """The kind of a request: what its bound reads of its parameters."""
    return json.dumps({name: parameters[name] for name in sorted(binding.bound.parameters)
                       if name in parameters})


def _plain(value: object) -> str:
    """A parameter's value, or all of them, as results hold it: a tuple has become a list there."""
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, sort_keys=True,
                      default=repr)


def _refuted(block: Block, binding: BoundBinding, configuration: Configuration,
             proofs: Iterable[Proof]) -> str:
    """The counterexample to this bound in this configuration, as a text; empty without one."""
    for proof in proofs:
        if (proof.property in {e.name for e in block.explorations if e.what == binding.what}
                and proof.block == block.name and proof.status == "failed"
                and _plain(proof.parameters) == _plain(configuration.parameters)):
            return f"exploration {proof.property}: {proof.detail}"
    for proof, prop, _ in _proofs_of(block, binding, configuration, proofs, "failed"):
        if proof.trace is not None and f"{binding.what}: a request takes" in proof.detail:
            return f"property {prop.name} has a counterexample: {proof.detail}"
    return ""


def _proofs_of(block: Block, binding: BoundBinding, configuration: Configuration,
               proofs: Iterable[Proof], status: str
               ) -> Iterator[tuple[Proof, Property, dict[str, object]]]:
    """Proofs of the bound with this configuration's parameters, which are told beside them."""
    for proof in proofs:
        prop = next((p for p in block.properties if p.name == proof.property), None)
        if (prop is None or proof.block != block.name or proof.status != status
                or prop.name not in binding.proved_by):
            continue
        same = [name for name in configuration.parameters if name not in prop.independent]
        if any(_plain(proof.parameters.get(name)) != _plain(configuration.parameters[name])
               for name in same):
            continue
        # what the configuration leaves to the component has its default, in the proof too
        if any(_plain(value) != _plain(block.default_of(name))
               for name, value in proof.parameters.items()
               if name not in prop.independent and name not in configuration.parameters):
            continue
        if prop.top is not None and not _is_the_block(block, prop, proof.parameters):
            continue
        yield proof, prop, {name: configuration.parameters[name] for name in same}


_TOPS: dict[tuple, bool] = {}


def _is_the_block(block: Block, prop: Property, parameters: Mapping[str, object]) -> bool:
    """Whether the component under proof is the block itself with these parameters: the same RTLIL.

    What is proved of another one, or of a part of the block, is no proof of what the block's probe
    counts.
    """
    key = block.component, prop.top, json.dumps(parameters, sort_keys=True, default=repr)
    if key not in _TOPS:
        components = []
        try:
            components.append(block.make(parameters))
            assert prop.top is not None  # else there is nothing to compare
            components.append(prop.top(**parameters))
            _TOPS[key] = len({to_rtlil(one, name="top") for one in components}) == 1
        except Exception:  # the block cannot have these parameters, so it is another
            _TOPS[key] = False
        finally:
            for component in components:
                leave_unused(component)
    return _TOPS[key]


def _proved(block: Block, binding: BoundBinding, configuration: Configuration,
            proofs: Iterable[Proof]) -> tuple[set[str], list[str], list[str]]:
    """The kinds for which this bound's value has been proved, how to say it, and what is assumed
    for that."""
    kinds: set[str] = set()
    words: list[str] = []
    assumes: list[str] = []
    for proof, prop, those in _proofs_of(block, binding, configuration, proofs, "proved"):
        for what, kind, limit in proof.claims:
            try:
                value = _allowed(block, binding, configuration, kind)
            except Exception:  # then nothing is proved of it
                continue
            if what == binding.what and value == limit:
                kinds.add(_key(binding, kind))
                shown = proof.certificate.get("status") == "certified"
                words.append(f"{prop.name}{' (certified)' * shown} for "
                             f"{_words(those | kind) or 'no parameters'}")
                assumes += map(said, proof.assumes)
    return kinds, list(dict.fromkeys(words)), list(dict.fromkeys(assumes))


def _explored(block: Block, binding: BoundBinding, configuration: Configuration,
              proofs: Iterable[Proof]) -> dict[str, str]:
    """The kinds whose longest time was found by visiting every state, and how to say it."""
    kinds = {}
    for proof in proofs:
        exploration = next((e for e in block.explorations if e.name == proof.property), None)
        if (exploration is None or proof.block != block.name or proof.status != "proved"
                or exploration.what != binding.what
                or _plain(proof.parameters) != _plain(configuration.parameters)):
            continue
        for what, kind, limit in proof.claims:
            if what == binding.what and _allowed(block, binding, configuration, kind) == limit:
                kinds[_key(binding, kind)] = f"{exploration.name}: {proof.detail}"
    return kinds


def cases_of(binding: BoundBinding, configuration: Configuration) -> Iterator[tuple]:
    """The cases of the configuration's domain that the bound speaks of, as values in its order."""
    names = list(configuration.values)
    for values in itertools.product(*configuration.values.values()):
        case = dict(zip(names, values, strict=True))
        if (configuration.possible is None or configuration.possible(**case)) and _speaks_of(
                binding, {**configuration.parameters, **case}):
            yield values


def _values(values: Sequence[int]) -> str:
    if isinstance(values, range):
        return f"{values.start}..{values.stop - 1}"
    return " ".join(map(str, values))


def _speaks_of(binding: BoundBinding, parameters: Mapping[str, object]) -> bool:
    try:
        cycles_of(binding.bound, parameters)
    except NotCovered:
        return False
    except Exception:  # a mistake in the formula; what was not observed is missing all the same
        return True
    return True


def _words(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in parameters.items())


def _with(parameters: Mapping[str, object]) -> str:
    """What is said of a request after its name."""
    return f" with {_words(parameters)}" if parameters else ""
