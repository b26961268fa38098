# amaranth: UnusedElaboratable=no
"""Banked memory: RTL against golden model, checkers against planted faults, proofs."""

import dataclasses
import random
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Const

from cyclebound.golden.sram.banked_memory import BankModel, WordAccess
from cyclebound.golden.sram.bounds import eq1
from cyclebound.hdl.sram.banked_memory import BankedMemory, SramBank
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.sram import banked_memory_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit
proof = pytest.mark.proof
SMALL = {"banks": 2, "requesters": 3, "words": 3, "word_bytes": 2}
ONE = {"banks": 1, "requesters": 1, "words": 1, "word_bytes": 1}


def random_access(rng, *, words, word_bytes, **_):
    write = rng.choice((0, rng.randrange(1 << word_bytes)))
    return WordAccess(rng.randrange(words), write, rng.getrandbits(8 * word_bytes))


def traffic(dut, name, cycles, load, see=None):
    """A bench in which every port asks at random, and keeps an offer until it is granted.

    ``see(cycle, bank, offers, granted, answers)`` gets the offers, the set of requesters that
    are granted, and the data of those that are answered.
    """
    rng = random.Random(name)
    shape = {"words": dut.words, "word_bytes": dut.word_bytes}

    async def bench(ctx):
        offers = [{} for _ in range(dut.banks)]
        for cycle in range(cycles):
            for bank, waiting in enumerate(offers):
                for who in range(dut.requesters):
                    if who not in waiting and rng.random() < load:
                        waiting[who] = random_access(rng, **shape)
                    request = dut.ports[who][bank].request
                    ctx.set(request.valid, who in waiting)
                    if who in waiting:
                        ctx.set(request.payload, dataclasses.asdict(waiting[who]))
            for bank, waiting in enumerate(offers):
                paths = [paths[bank] for paths in dut.ports]
                granted = {n for n, path in enumerate(paths) if ctx.get(path.request.ready)}
                answers = {n: ctx.get(path.response.data) for n, path in enumerate(paths)
                           if ctx.get(path.response.valid)}
                if see is not None:
                    see(cycle, bank, waiting, granted, answers)
                for who in granted:
                    waiting.pop(who, None)
            await ctx.tick()
    return bench


# Parameters

@unit
@pytest.mark.parametrize(("make", "good"), [
    (BankedMemory, ONE), (SramBank, {name: 1 for name in ONE if name != "banks"})])
def test_parameters_are_counts(make, good):
    for name in good:
        thing = name.replace("_", " ")
        for bad in (1.5, "2", None, True):
            with pytest.raises(TypeError, match=f"^{thing} must be an integer, not {bad!r}$"):
                make(**good | {name: bad})
        for bad in (0, -1):
            with pytest.raises(ValueError, match=f"^{thing} must be at least 1, not {bad}$"):
                make(**good | {name: bad})


@unit
@pytest.mark.parametrize("shape", [ONE, SMALL])
def test_each_component_converts_alone(shape):
    bank = SramBank(**{name: value for name, value in shape.items() if name != "banks"})
    memory = BankedMemory(**shape)
    for component in (bank, memory, properties.BankedMemoryCheck(memory),
                      properties.BankedMemoryDataCheck(memory)):
        assert "attribute \\top 1" in rtlil.convert(component)


# RTL against golden model

@unit
@pytest.mark.parametrize(("shape", "load"), [
    (ONE, 1.0), (SMALL, 0.5), ({**SMALL, "banks": 1, "requesters": 8}, 1.0)],
    ids=["one", "small", "many"])
def test_rtl_is_the_model_in_every_cycle(shape, load):
    dut = BankedMemory(**shape)
    models = [BankModel(requesters=dut.requesters, word_bytes=dut.word_bytes)
              for _ in range(dut.banks)]
    counts = {"granted": 0, "answered": 0}
    since, longest = {}, 0

    def see(cycle, bank, offers, granted, answers):
        nonlocal longest
        expected = models[bank].step(offers)
        assert granted == (set() if expected.granted is None else {expected.granted}), cycle
        assert answers == ({} if expected.reader is None else {expected.reader: expected.data})
        counts["granted"] += len(granted)
        counts["answered"] += len(answers)
        for who in offers:
            since.setdefault((who, bank), cycle)
        for who in granted:
            longest = max(longest, cycle - since.pop((who, bank)) + 1)
    run_bench(dut, traffic(dut, f"{shape} {load}", 300, load, see),
             properties.BankedMemoryProof(dut), properties.BankedMemoryDataProof(dut))
    assert counts["granted"] > 200 * load * dut.banks
    assert counts["answered"] > counts["granted"] / 3
    bound = eq1(transaction_bytes=1, word_bytes=dut.word_bytes, requesters=dut.requesters)
    assert longest <= bound
    assert load < 1 or longest == bound


@unit
def test_model_writes_only_the_bytes_that_are_enabled():
    model = BankModel(requesters=1, word_bytes=4)
    model.step({0: WordAccess(3, write=0b1111, data=0x11223344)})
    model.step({0: WordAccess(3, write=0b0101, data=0xAABBCCDD)})
    model.step({0: WordAccess(3)})
    answer = model.step({})
    assert (answer.granted, answer.reader, answer.data) == (None, 0, 0x11BB33DD)


# The checkers fire

def grants(who, value, bank=1):
    """What requester ``who`` is told in ``bank``."""
    return lambda memory, outer, cycle: outer.ports[who][bank].request.ready.eq(
        value(memory.ports, outer.ports, cycle))


def answers(who, value):
    """Whether requester ``who`` is answered in bank 1."""
    return lambda memory, outer, cycle: outer.ports[who][1].response.valid.eq(
        value(memory.ports[who][1].response.valid, cycle))


def priority(memory, outer, cycle):
    """Bank 1 serves the lowest number: never idle, one at a time, and not fair."""
    asks = [paths[1].request.valid for paths in outer.ports]
    return [paths[1].request.ready.eq(asks[who] & ~sum(asks[:who], Const(0, 2)).any())
            for who, paths in enumerate(outer.ports)]


def none_granted(memory, outer, cycle):
    return [paths[1].request.ready.eq(0) for paths in outer.ports]


def wrong_data(memory, outer, cycle):
    return outer.ports[2][1].response.data.eq(memory.ports[2][1].response.data ^ 0x8001)


CHECK, DATA = properties.BankedMemoryCheck, properties.BankedMemoryDataCheck
FAULTS = [  # fault, load, checker, what it says
    (grants(2, lambda inner, ports, cycle: ports[2][1].request.valid), 1, CHECK,
     "bank 1: more than one grant"),
    (grants(0, lambda inner, ports, cycle: cycle[3]), 0.2, CHECK,
     "bank 1: grant without a request"),
    (none_granted, 0.2, CHECK, "bank 1: idle while there is a request"),
    (priority, 1, CHECK, "bank 1: overtaken twice by one requester"),
    (priority, 1, CHECK, "bank 1: not granted within 3 cycles"),
    (none_granted, 0.2, CHECK, "bank 1: not granted within 3 cycles"),
    (answers(1, lambda valid, cycle: valid | (cycle == 7)), 0.5, CHECK,
     "bank 1: response without a read"),
    (answers(1, lambda valid, cycle: valid & cycle[4]), 0.5, CHECK, "bank 1: response is missing"),
    (wrong_data, 0.8, DATA, "bank 1: requester 2 reads what was not written"),
]


@unit
@pytest.mark.parametrize(("fault", "load", "checker", "says"), FAULTS,
                         ids=[fault[-1] for fault in FAULTS])
def test_checker_fires(only, fault, load, checker, says):
    only(says, properties)
    dut = Tampered(BankedMemory(**SMALL), override(fault))
    with pytest.raises(AssertionError) as caught:
        run_bench(dut, traffic(dut, says, 200, load), checker(dut))
    assert str(caught.value) == f"Assertion violated: {says}"


@unit
def test_every_assertion_of_a_bank_has_a_fault():
    """All that the checkers say about bank 1; in the data check, requester 2 stands for all."""
    text = "".join(rtlil.convert(checker(BankedMemory(**SMALL))) for checker in (CHECK, DATA))
    said = set(re.findall(r'parameter \\FORMAT "(?:owed: )?(bank 1: .*)"', text))
    said = {re.sub(r"requester \d", "requester 2", text) for text in said if "offer" not in text}
    assert said == {fault[-1] for fault in FAULTS}


@unit
@pytest.mark.parametrize("shape", [ONE, SMALL], ids=["one", "small"])
def test_a_word_waits_for_the_bound_and_not_a_cycle_longer(shape):
    """A check with a clock that stops a cycle earlier fires."""
    dut = BankedMemory(**shape)
    run_bench(dut, traffic(dut, "bound", 50, 1), CHECK(dut))
    if dut.requesters > 1:
        fewer = CHECK(dut)
        for aged in fewer.aged:
            aged.pop()
        with pytest.raises(AssertionError, match=r"^Assertion violated: bank 0: not granted"):
            run_bench(dut, traffic(dut, "bound", 50, 1), fewer)


@unit
@pytest.mark.parametrize("fault", ["offer withdrawn", "offer 2 changed"])
def test_checker_names_the_neighbour_that_breaks_the_rules(fault):
    dut = BankedMemory(**SMALL)

    async def bench(ctx):
        for who in range(3):  # requester 0 is granted, then requester 1
            ctx.set(dut.ports[who][1].request.valid, 1)
        await ctx.tick()
        ctx.set(dut.ports[2][1].request.valid, fault != "offer withdrawn")
        ctx.set(dut.ports[2][1].request.payload.address, fault == "offer 2 changed")
        await ctx.tick()
    with pytest.raises(AssertionError, match=f"^Assumption violated: owed: bank 1: {fault}$"):
        run_bench(dut, bench, CHECK(dut))


@unit
@pytest.mark.parametrize("lane", [0, 1])
@pytest.mark.parametrize("address", [0, 2, 3])
def test_data_check_follows_the_byte_that_its_traffic_chooses(address, lane):
    """It keeps quiet until the byte is written, and about addresses that there are not."""
    dut, value = BankedMemory(**SMALL), 0x5A << 8 * lane
    check = DATA(dut)
    seen = []

    async def bench(ctx):
        path = dut.ports[0][0].request
        ctx.set(path.payload, {"address": address, "write": 0, "data": lane})
        await ctx.tick()
        for write in (0, 1 << (1 - lane), 1 << lane, 0):
            ctx.set(path.valid, 1)
            ctx.set(path.payload, {"address": address, "write": write, "data": value})
            await ctx.tick()
            seen.append((ctx.get(check.written), ctx.get(check.due[0])))
        assert address == 3 or ctx.get(check.shadow[0]) == 0x5A
    run_bench(dut, bench, check)
    assert seen == ([(0, 0)] * 4 if address == 3 else [(0, 0), (0, 0), (1, 0), (1, 1)])


# Proofs

def claim(name):
    block = catalogue.load().find("sram.banked_memory")
    return block, next(claim for claim in block.properties if claim.name == name)


@unit
def test_arbitration_is_to_be_proved_for_every_configuration():
    block, said = claim("arbitration")
    proved = {instance["requesters"] for instance in said.instances}
    assert proved >= {c.parameters["requesters"] for c in block.configurations.values()}


@proof
@pytest.mark.parametrize(("name", "fault", "says"), [
    pytest.param("arbitration", lambda memory, outer, cycle: outer.ports[0][1].response.valid.eq(0),
                 "bank 1: response is missing in cycle 1", marks=pytest.mark.thorough),
    ("data", wrong_data, "bank 1: requester 2 reads what was not written in cycle 2"),
])
def test_a_fault_has_a_counterexample(tmp_path, name, fault, says):
    block, said = claim(name)
    block = dataclasses.replace(block, component=lambda: Tampered(
        BankedMemory(**SMALL), override(fault)))
    found = prove(block, said, {}, folder=tmp_path)
    assert (found.status, found.detail) == ("failed", says)
    assert (tmp_path / "counterexample.vcd").stat().st_size > 100

