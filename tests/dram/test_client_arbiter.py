# amaranth: UnusedElaboratable=no
"""Clients of one DRAM controller: parameters, bounds by hand, faults that are found."""

import dataclasses
import random
from collections import deque
from dataclasses import replace

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import client_bounds as bounds
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping, decide
from cyclebound.golden.dram.client_arbiter import ClientArbiterModel, ClientOffer
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.controller import DramControllerModel, bursts_moved
from cyclebound.golden.dram.index_bounds import rows_of
from cyclebound.golden.dram.index_iterator import Element
from cyclebound.golden.dram.pipeline_bounds import controller_completion_indexed
from cyclebound.golden.dram.request import Destination
from cyclebound.golden.dram.timing import DDR4_3200AA_X16, part_named
from cyclebound.hdl.dram.client_arbiter import ClientArbiter
from cyclebound.sim import catalogue
from cyclebound.sim.pictures.clients import composable
from cyclebound.sim.proof.prove import prove
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tb.dram.client_arbiter_properties import ClientArbiterCheck
from kit.faults import edited

unit, cosim, proof = pytest.mark.unit, pytest.mark.cosim, pytest.mark.proof
thorough = pytest.mark.thorough
PART = DDR4_3200AA_X16
BLOCK = "dram.client_arbiter"


@unit
@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"clients": 1}, ValueError, "clients must be from 2 to 8, not 1"),
    ({"clients": 9}, ValueError, "clients must be from 2 to 8, not 9"),
    ({"clients": "2"}, TypeError, "clients must be an integer, not '2'"),
    ({"clients": 3, "windows": (100, 100)}, ValueError,
     "windows must be one for each of 3 clients, not 2"),
    ({"clients": 2, "windows": (100, 15)}, ValueError, "window must be at least 16, not 15"),
])
def test_parameters(wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        ClientArbiter(**wrong)


# Bounds

@unit
def test_a_client_by_itself_waits_for_the_cycle_in_which_its_request_is_kept():
    assert bounds.client_grant(part=PART, others=[], refreshes=False) == 1


@unit
def test_waits_add_up():
    assert bounds.client_grant(part=PART, others=[74, 115], refreshes=False) == 74 + 115
    assert bounds.client_grant(part=PART, others=[74, 115]) == 74 + 115 + PART.nRFC
    assert bounds.client_grant(part=PART, others=[74, 115], refreshes=False, mappings=True
                               ) == 74 + 115 + 3 * 6


@unit
def test_a_refusal_costs_all_of_the_front_end():
    assert bounds.client_grant(part=PART, others=[1, 1], refreshes=False) == 36


@unit
def test_a_short_precharge_hides_less_of_the_front_end():
    short = dataclasses.replace(PART, nRP=5)
    assert bounds.client_grant(part=short, others=[74], refreshes=False) == 74 + 12


@unit
def test_long_waits_have_room_for_more_refreshes():
    room = PART.nREFI - PART.nRFC
    for waits, due in ((room - 6, 1), (room - 5, 2), (2 * room - 6, 2), (2 * room - 5, 3)):
        assert bounds.client_grant(part=PART, others=[waits]) == waits + due * PART.nRFC
    assert bounds.client_grant(part=PART, others=[room - 6], own=1) == room - 6 + 2 * PART.nRFC


@unit
@pytest.mark.parametrize(("call", "says"), [
    (lambda: bounds.client_grant(part=PART, others=[74, None]),
     "other client 1 has no longest request, so that a request may wait for it without end"),
    (lambda: bounds.client_grant(part=PART, others=[0]),
     "longest request of other client 0 must be a whole number of at least 1, not 0"),
    (lambda: bounds.least_window(part=PART, longest=None),
     "a client without a longest request has no window that is long enough"),
    (lambda: bounds.least_window(part=PART, longest=12_000),
     r"a window must be at most nREFI \(12480\), .* not the 12576 that a request of 12000 takes"),
    (lambda: bounds.client_slot_completion(part=PART, period=665, bursts=1, write=0),
     r"the period must be at least 666, with a window for a request of 74 cycles .*, not 665"),
])
def test_what_has_no_bound(call, says):
    with pytest.raises(NotCovered, match=f"^{says}$"):
        call()


# Model

@unit
def test_turns_go_round():
    model = ClientArbiterModel(3)
    offers = [ClientOffer(request=(number, "any")) for number in range(3)]
    grants = []
    for cycle in range(40):
        given = model.give(offers, free=cycle % 5 == 0, table_idle=True)
        grants.append(given.request)
        model.end(offers, given, started=cycle % 5 == 2 and cycle > 5,
                  completed=cycle % 5 == 4 and cycle > 5)
    assert [grant[0] for grant in grants if grant] == [0, 33, 66, 0, 33, 66, 0]


# RTL: the proof and the testbench find faults

@proof
@thorough
@pytest.mark.parametrize(("edit", "says"), [
    (("dram.mapping.payload, client.mapping.payload, number",
      "dram.mapping.payload, client.mapping.payload, 0"), "mapping is taken"),
    (("dram.request.payload, kept, number", "dram.request.payload, kept, 0"), "request is given"),
    (("(owner == number)", "(self.newest == number)"), "is shown"),
    (("dram.started & (self.newest == number)", "dram.started & (self.oldest == number)"),
     "start is shown"),
    (("with m.If(self.oldest == number):", "with m.If(self.newest == number):"),
     "words are stored"),
    (("dram.mapped & (self.mapper == number)", "dram.mapped"), "mapping is reported"),
    (("dram.indexes.ready & (self.runner == number)", "dram.indexes.ready"), "index is taken"),
    (("self.waits.eq(self.waits & ~grants | taken)", "self.waits.eq(self.waits | taken)"),
     "request is given"),
])
def test_isolation_fails_where_it_is_broken(edit, says):
    made = edited("cyclebound.hdl.dram.client_arbiter", edit)
    block = catalogue.load().find(BLOCK)
    claim, = block.properties
    broken = dataclasses.replace(block, properties=(
        dataclasses.replace(claim, top=made.ClientArbiter, checker=ClientArbiterCheck),))
    assert says in proof_of(broken)


def proof_of(block):
    claim, = block.properties
    found = prove(block, claim, claim.instances[0])
    assert found.status == "failed", found.detail
    return found.detail


@cosim
@thorough
@pytest.mark.parametrize("edit", [
    ("settled.eq(self.asked & (dram.started | (done & (left == 0))))",
     "settled.eq(self.asked & dram.started)"),  # a client that was refused has no other request
    ("self.oldest.eq(self.newest)", "self.oldest.eq(self.oldest)"),
    ("turns.accept.eq(1), dram.mapping.valid", "turns.accept.eq(0), dram.mapping.valid"),
], ids=["refusal", "owner", "turn"])
def test_cycle_testbench_finds(tmp_path, edit):
    component = edited("cyclebound.hdl.dram.client_arbiter", edit).SharedController
    block = dataclasses.replace(catalogue.load().find(BLOCK), component=component, checker=None)
    outcome = simulate(block, Job(BLOCK, "pair", "cycle", 1, str(tmp_path), wall_limit=1200))
    assert not outcome.passed
    assert "expected" in outcome.reason or "limit" in outcome.reason


@cosim
@thorough
def test_search_finds_what_a_bound_forgets(tmp_path):
    """Worst requests of the harness are the bound, so that one without the other client, without
    the refresh or a cycle less is exceeded."""
    block = catalogue.load().find(BLOCK)
    outcome = simulate(block, Job(BLOCK, "three", "harness", 1, str(tmp_path), wall_limit=1200))
    assert outcome.passed, outcome.reason
    other = tile_issue_delay(part=PART, bursts=4, write=1)
    kind = {"part": "ddr4-3200aa-x16", "clients": 3, "bursts": 1, "write": 0, "other_bursts": 4,
            "other_write": 1}
    worst = {what: max(group.latency for group in outcome.groups if group.what == what
                       and all(dict(group.parameters).get(name) == kind[name]
                               for name in ("bursts", "write", "other_bursts", "other_write")))
             for what in ("tile", "tile_refreshed")}
    whole, refreshed = bounds.client_tile(**kind), bounds.client_tile_refreshed(**kind)
    assert worst == {"tile": whole, "tile_refreshed": refreshed}
    assert worst["tile"] > bounds.client_tile(**kind | {"clients": 2}) == whole - other
    assert worst["tile_refreshed"] > whole == refreshed - PART.nRFC


# The bound against any mix, on the models, which the RTL equals in every cycle

def occupation(part, request, mapping, elements):
    """Of a request, as `client_grant` counts it."""
    answer = decide(mapping, request)
    if answer.refusal:
        return 1
    bursts = bursts_moved(answer, request, elements)
    if not bursts:
        return len(elements) + 12
    if not request.indexed:
        return schedule(part, [burst.address for burst in bursts], write=request.write).issue_delay
    rows = rows_of(part=part, address=mapping.address, words=mapping.x * mapping.y)
    return controller_completion_indexed(
        part=part, bursts=len(bursts), rows=rows, write=int(request.write),
        refused=len(elements) - 1 - len(bursts)) - 14


def any_request(rng, mapping):
    common = {"write": rng.random() < 0.5, "destination": Destination.SCRATCHPAD}
    if rng.random() < 0.25:
        indexes = [Element(rng.randrange(mapping.x * mapping.y + 1))
                   for _ in range(rng.randrange(9))]
        return BufferRequest(mapping.buffer, indexed=True, **common), [*indexes, Element(end=True)]
    x = rng.choice((0, rng.randrange(mapping.x)))
    words = rng.randint(0, mapping.x - x + (rng.random() < 0.2))  # none, or one too many
    return BufferRequest(mapping.buffer, x, 0, words, rng.randint(1, mapping.y), **common), []


def attack(part, clients, seed, *, forget=None, cycles=12_000):
    """The least of bound less measured, over all requests of random clients; the bound is without
    refreshes, mappings or the last client if that is to be forgotten."""
    rng = random.Random(seed)
    arbiter, model = ClientArbiterModel(clients), DramControllerModel(part)
    idle = rng.choice((0.0, 0.0, 0.9, 0.99))
    maps = [Mapping(0, number << 12, rng.choice((16, 40, 200)), rng.randint(1, 3))
            for number in range(clients)]
    choices = [[any_request(rng, mapping) for _ in range(rng.choice((1, 3)))] for mapping in maps]
    longest = [max(occupation(part, *(request, mapping, elements)) for request, elements in chosen)
               for mapping, chosen in zip(maps, choices, strict=True)]
    offers = [ClientOffer(mapping=(0, mapping)) for mapping in maps]
    again = forget == "mappings" or rng.random() < 0.5  # buffers are mapped again and again
    taken, elements = [deque() for _ in maps], [deque() for _ in maps]
    last, least = [-1] * clients, 1 << 30
    for now in range(cycles):
        given = arbiter.give(offers, free=model.free, table_idle=model.table.idle)
        runner = elements[given.runner]
        shown = model.step(
            mapping=given.mapping and replace(given.mapping[1], buffer=given.mapping[0]),
            request=given.request and replace(given.request[1][0], buffer=given.request[0]),
            element=runner.popleft() if runner else None)
        starter = arbiter.end(offers, given, started=shown.started,
                              completed=shown.completion is not None)
        for number, takes in enumerate(given.takes_request):
            if takes and offers[number].request is not None:
                taken[number].append((now, offers[number].request[1]))
        if starter is not None:
            elements[starter].extend(taken[starter][-1][1][1])
        if shown.completion is not None:
            owner = given.owner
            begun, (request, own) = taken[owner].popleft()
            # of a refused one, there is no more than its lookup after the grant
            after = 16 + occupation(part, request, maps[owner], own)
            waits = bounds.client_grant(
                part=part, own=longest[owner], refreshes=forget != "refreshes",
                mappings=again and forget != "mappings",
                others=[delay for number, delay in enumerate(longest) if number != owner
                        ][:-1 if forget == "client" else None])
            least = min(least, 1 + waits + after - (now - max(begun, last[owner] + 1) + 1))
            last[owner] = now
        offers = [ClientOffer(
            mapping=(0, maps[number]) if now < 30 * clients or (again and rng.random() < 0.3)
            else None, request=(0, choices[number][0] if len(choices[number]) == 1
                                else rng.choice(choices[number]))
            if now > 30 * clients and rng.random() >= idle else None)
            for number in range(clients)]
    return least


PARTS_TRIED = {
    "as it is": PART, "short precharge": part_named("ddr3-1600-module"),
    "shorter": part_named("ddr3-800d-x16"),
    "many refreshes": dataclasses.replace(PART, nREFI=1500),
}


@unit
@pytest.mark.parametrize("name", PARTS_TRIED)
@pytest.mark.parametrize("clients", [2, 3])
def test_no_mix_exceeds_the_bound(name, clients):
    assert min(attack(PARTS_TRIED[name], clients, seed) for seed in range(4)) >= 0


@unit
@pytest.mark.parametrize("forget", ["client", "refreshes", "mappings"])
def test_a_mix_exceeds_a_bound_that_forgets(forget):
    assert any(attack(PARTS_TRIED["many refreshes"], 2, seed, forget=forget) < 0
               for seed in range(24))


@unit
def test_picture_shows_what_others_change():
    turns, windows = composable("ddr4-3200aa-x16", [702, 702], 12).axes
    silent, *busy = [list(line.get_ydata()) for line in windows.lines]
    assert busy == [silent, silent]
    assert len({tuple(line.get_ydata()) for line in turns.lines}) == 3
