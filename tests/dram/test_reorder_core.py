# amaranth: UnusedElaboratable=no
"""Reorder core: the paper's example, RTL against model, checker against planted faults, proofs."""

import dataclasses
import json
import random
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Cover

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import reorder_bounds as bounds
from cyclebound.golden.dram.queued_request import QueuedRequest
from cyclebound.golden.dram.reorder_core import ReorderCoreModel, Rules
from cyclebound.golden.dram.small_part import SMALL, on_small_part
from cyclebound.hdl.dram.reorder_core import ReorderCore
from cyclebound.sim import catalogue
from cyclebound.sim.describe.variant import Changes, varied
from cyclebound.sim.drawing.drawing import write
from cyclebound.sim.pictures.stays import stays
from cyclebound.sim.proof.prove import prove
from cyclebound.sim.run.job import Job, run_job
from cyclebound.tb.dram import reorder_core_properties as properties
from kit.parts import part_text, random_ddr3
from kit.run_bench import run_bench

unit = pytest.mark.unit
PART = dataclasses.replace(SMALL, banks=4, rows=4)
SHAPE = {"entries": 4, "cap": 3, "part": PART, "tag_bits": 3}
RD, WR = False, True


@unit
@pytest.mark.parametrize(("changes", "kind", "message"), [
    ({"entries": 1}, ValueError, r"^entries must be at least 2, not 1$"),
    ({"cap": -1}, ValueError, r"^cap must be at least 0, not -1$"),
    ({"cap": 1.0}, TypeError, r"^cap must be an integer, not 1\.0$"),
    ({"tag_bits": 0}, ValueError, r"^tag bits must be at least 1, not 0$"),
    ({"part": "ddr2"}, ValueError, r"^part must be one of .*, not 'ddr2'$"),
])
def test_refuses(changes, kind, message):
    with pytest.raises(kind, match=message):
        ReorderCore(**{**SHAPE, **changes})


# Example 4 of the paper

R1, R2, R3, R4, R5, R6, R7 = POOL = [
    QueuedRequest(7, RD, 0, row=9, tag=1), QueuedRequest(4, WR, 1, row=5, tag=2),
    QueuedRequest(4, RD, 0, row=8, tag=3), QueuedRequest(4, RD, 1, row=7, tag=4),
    QueuedRequest(7, WR, 2, row=5, tag=5), QueuedRequest(7, WR, 1, row=6, tag=6),
    QueuedRequest(4, WR, 3, row=5, tag=7)]
OPEN = {0: 1, 1: 5, 2: 5, 3: 5}


@unit
@pytest.mark.parametrize("rows", [OPEN, {bank: OPEN[bank] for bank in (1, 2, 3)}])
def test_example_4_by_the_four_rules(rows):
    """Steps 1 to 4 are as printed; step 5 is not: the paper has R3, R4, R2."""
    assert Rules(rows).order(POOL) == [R5, R6, R1, R7, R2, R3, R4]


@unit
def test_step_5_of_example_4_contradicts_its_explanation():
    """It says that bank 0 is the least recently opened: bank 1 was opened a step before."""
    rules, opened = Rules(OPEN), []
    for request in (R5, R6, R1, R7):
        if not rules.hit(request):
            opened.append(request.bank)
        rules.issue(request)
    assert opened == [1, 0]
    # whichever bank still counts as recently opened, rule 4 or rule 3 has R2 before R3
    for recent in ((), (0,), (0, 1)):
        best = min((R2, R3, R4),
                   key=lambda request: rules.key(request, recent=request.bank in recent))
        assert best == R2
    # R3 takes a rule 3 that reads the other way round: bank 1 waits, though bank 0 was opened later
    assert min((R2, R3, R4), key=lambda request: rules.key(request, recent=request.bank == 1)) == R3


@unit
def test_the_four_rules_do_not_bound_the_residence():
    """A miss after a stream of hits: overtaken as often as one likes, not 15 times."""
    model = ReorderCoreModel(entries=8, cap=0, cycle=39)
    miss, hit = QueuedRequest(4, RD, 1, row=1, tag=1), QueuedRequest(4, RD, 0, row=0)
    model.step(hit, ready=True)
    model.step(hit, ready=True)
    model.step(miss, ready=True)
    for _ in range(5000):
        model.step(hit, ready=True)
    assert miss in [waiting.request for waiting in model.queue]
    assert max(waiting.overtaken for waiting in model.queue) > 1000


@unit
def test_bounds_by_hand():
    assert bounds.printed_residence(entries=8) == bounds.residence(entries=8, cap=9) == 16
    assert bounds.residence(entries=2, cap=1) == 2
    with pytest.raises(NotCovered, match=r"^cap must be at least 1, not 0: without one, there is "):
        bounds.residence(entries=8, cap=0)
    with pytest.raises(NotCovered, match=r"^entries must be a whole number of at least 2, not 1$"):
        bounds.residence(entries=1, cap=1)


# RTL against model

def play(dut, check, *, model=None, cycles=800, ready=0.7):
    """Random requests that stay; the tag that is followed is in there once at a time."""
    rng = random.Random(f"{cycles} {ready}")
    mark = (1 << len(dut.sink.payload.tag)) - 1

    async def bench(ctx):
        offer, marked = None, False
        ctx.set(dut.sink.payload.tag, mark)  # in the first cycle: that is followed
        await ctx.tick()
        for _ in range(cycles):
            if offer is None and rng.random() < 0.8:
                tag = rng.randrange(mark) if marked or rng.random() < 0.5 else mark
                marked |= tag == mark
                offer = QueuedRequest(rng.choice((4, 4, 4, 7)), rng.random() < 0.5,
                                      rng.randrange(3), rng.randrange(2), 0, tag)
            takes, closed = rng.random() < ready, rng.random() < 0.03
            ctx.set(dut.sink.valid, offer is not None)
            if offer is not None:
                ctx.set(dut.sink.payload, {k: int(v) for k, v in offer._asdict().items()})
            ctx.set(dut.source.ready, takes)
            ctx.set(dut.closed, closed)
            space, valid = ctx.get(dut.sink.ready), ctx.get(dut.source.valid)
            payload = ctx.get(dut.source.payload)
            if model is not None:
                room, shown = model.step(offer, takes, closed)
                assert (space, valid) == (room, shown is not None)
                if shown is not None:
                    assert tuple(payload[name] for name in shown._fields) == tuple(shown)
            if valid and takes and payload.tag == mark:
                marked = False
            if space:
                offer = None
            await ctx.tick()

    run_bench(dut, bench, check)


@unit
@pytest.mark.parametrize(("cap", "ready"), [(0, 1.0), (1, 0.2)])
def test_follows_model_watched(cap, ready):
    dut = ReorderCore(**{**SHAPE, "cap": cap})
    model = ReorderCoreModel(entries=4, cap=cap, cycle=PART.nRC)
    check = properties.ReorderProof(dut) if cap else properties.ReorderCheck(dut)
    play(dut, check, model=model, ready=ready)
    assert len(model.issued) > 50
    worst = max(overtaken for _, overtaken in model.issued)
    assert cap == 0 or worst < bounds.residence(entries=4, cap=cap)


# The checker fires

def shown(tag, *, valid=1, ready=1, row=0):
    return {"valid": valid, "ready": ready, "tag": tag, "row": row}


# (tag offered, taken) and what is on offer, in each cycle; the last has the fault. Tag 7, which
# is there in the first cycle, is the one that is followed.
NONE = shown(0, valid=0)
FAULTS = {
    "offer withdrawn or changed": [((1, 0), NONE), ((2, 0), NONE)],
    "a second request of the tag that is followed": [((7, 1), NONE), ((7, 1), NONE)],
    "choice withdrawn or changed": [((None, 0), shown(1, ready=0)), ((None, 0), shown(2))],
    "a request leaves that did not come": [((None, 0), shown(7))],
    "a request leaves in another form": [((7, 1), NONE), ((None, 0), NONE),
                                         ((None, 0), shown(7, row=1))],
    "idle while a request waits": [((7, 1), shown(1))] + [((None, 0), NONE)] * 4,
    "a request is overtaken more than 5 times":
        [((7, 1), NONE), ((None, 0), NONE)] + [((None, 0), shown(1))] * 6,
}


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(fires, says):
    check = properties.ReorderCheck(ReorderCore(**SHAPE))
    sink, source = check.sink, check.source
    fires(says, properties, check, [
        [(sink.valid, tag is not None), (sink.payload.tag, 7 if tag is None else tag),
         (sink.ready, taken),
         (source.valid, offer["valid"]), (source.ready, offer["ready"]),
         (source.payload.tag, offer["tag"]), (source.payload.row, offer["row"])]
        for (tag, taken), offer in FAULTS[says]])


@unit
def test_every_statement_has_a_fault():
    text = rtlil.convert(properties.ReorderCheck(ReorderCore(**SHAPE)))
    assert set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text)) == set(FAULTS)


@pytest.mark.thorough
@pytest.mark.cosim
def test_literal_rules_starve_a_miss_on_the_rtl(tmp_path):
    outcome = run_job(Job("dram.reorder_core", "paper", "literal", 1, str(tmp_path)))
    assert outcome.passed, outcome.reason
    assert outcome.groups == []  # of a core without the cap, nothing supports its bound
    kept = json.loads((tmp_path / "stays.json").read_text())
    left = [stay for stay in kept["stays"] if stay[3] is not None]
    starved = [stay for stay in kept["stays"] if stay[3] is None and stay[:2] != [0, 0]]
    assert kept["cap"] == 0
    assert starved
    assert all(sum(other[2] > stay[2] for other in left) > 390 for stay in starved)


# The picture

@unit
@pytest.mark.parametrize(("cap", "says"), [
    (0, "the literal rules"),
    (9, "the request that came first goes first once 9 others have left")])
def test_picture_of_who_waits(tmp_path, cap, says):
    hits = [[0, 0, 3 * number, 3 * number + 11] for number in range(60)]
    waiting = [] if cap else [[1, 0, 1, None]]
    kept = {"cap": cap, "stays": sorted(hits + waiting, key=lambda stay: stay[2])}
    figure = stays(kept)
    [axes] = figure.axes
    assert axes.get_title() == says
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    end = bars[-1][0] + 11 + 4
    assert len(bars) == 44
    assert bars[:2] == [(0, 11), (3, 11)] if cap else [(0, 11), (1, end - 1)]
    later = sum(left > end for *_, left in hits)
    assert [text.get_text() for text in axes.texts] == (
        [] if cap else [f"still there when {later} more have left"])
    write(figure, path := tmp_path / "picture.svg")
    before = path.read_text()
    write(stays(kept), path)
    assert path.read_text() == before


# Proofs


@unit
def test_every_configuration_is_to_be_proved():
    block = catalogue.load().find("dram.reorder_core")
    proved = {(instance["entries"], instance["cap"]) for instance in block.properties[0].instances}
    assert proved >= {(c.parameters["entries"], c.parameters["cap"])
                      for c in block.configurations.values()}


class Covered(properties.ReorderCheck):
    """The checker alone, of something that happens."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += Cover(self.leaves, "a request leaves")
        return m


class Later(ReorderCore):
    """Its cap comes an issue too late."""

    def __init__(self, *, entries, cap, part, tag_bits):
        super().__init__(entries=entries, cap=cap + 1, part=part, tag_bits=tag_bits)


@pytest.mark.thorough
@pytest.mark.proof
def test_a_cap_that_comes_too_late_has_a_counterexample(tmp_path):
    block = catalogue.load().find("dram.reorder_core")

    def check(target):
        checker = Covered(target)
        checker.most = target.cap - 1 + target.entries - 2
        return checker

    claim = dataclasses.replace(block.properties[0], checker=check, depth=16, declares={},
                                top=on_small_part(Later))
    found = prove(block, claim, {**claim.instances[0], "entries": 2, "cap": 1}, folder=tmp_path)
    assert found.status == "failed"
    assert found.detail.startswith("a request is overtaken more than 1 times")


class _Confuses(ReorderCore):
    """Requests of one tag leave with another row."""

    WRONG = 0

    def elaborate(self, platform):
        m = super().elaborate(platform)
        tags = Cat(entry.request.tag == self.WRONG for entry in self.queue)
        for entry, wrong in zip(self.queue, tags, strict=True):
            row = entry.request.row
            with m.If(wrong & (self.pick != 0) & self.picked):
                m.d.sync += row.eq(~row)
        return m


class _ConfusesTheLast(_Confuses):
    WRONG = 1


@pytest.mark.thorough
@pytest.mark.proof
@pytest.mark.parametrize("faulty", [_Confuses, _ConfusesTheLast])
def test_a_fault_of_any_tag_has_a_counterexample(tmp_path, faulty):
    """The proof follows no tag of its own."""
    block = catalogue.load().find("dram.reorder_core")
    claim = dataclasses.replace(block.properties[0], checker=Covered, depth=8,
                                induction=None, declares={}, top=on_small_part(faulty))
    found = prove(block, claim, {**claim.instances[0], "entries": 2, "cap": 1}, folder=tmp_path)
    assert found.status == "failed"
    assert found.detail.startswith("a request leaves in another form")


# Other queues, caps and parts, on the RTL

@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize("number", range(4))
def test_random_cores_keep_the_bound_on_the_rtl(tmp_path, number):
    """Each compared with the model in every cycle. The bound counts issues: no number of the part
    is in it, though nRC decides which request is chosen."""
    rng = random.Random(f"cores {number}")
    entries, cap = rng.randint(2, 9), rng.randint(1, 14)
    part = random_ddr3(rng, name=f"random {number}")
    changes = Changes((("entries", entries), ("cap", cap), ("part", "random.toml")),
                      part_text(part))
    names = varied(catalogue.load().find("dram.reorder_core"), changes).names
    outcome = run_job(Job("dram.reorder_core", names["small"], "cycle", 1, str(tmp_path),
                          changes=changes))
    assert outcome.passed, outcome.reason
    worst = max(group.latency for group in outcome.groups)
    assert worst == bounds.residence(entries=entries, cap=cap)
