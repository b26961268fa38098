# amaranth: UnusedElaboratable=no
"""AXI4 port: the rules of its handshakes, each against a fault; and the client in simulation."""

import dataclasses
import random
import re
from itertools import chain

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Value
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.axi_bounds import axi_read_alone, axi_write_alone
from cyclebound.hdl.dram import axi_port
from cyclebound.hdl.dram.axi_port import AxiController, AxiPort
from cyclebound.sim import catalogue
from cyclebound.sim.build.elaborate import leave_unused, ports_of
from cyclebound.sim.run.job import Job, run_job, simulate
from cyclebound.tb.dram import axi_port_properties as properties
from cyclebound.tb.dram.axi_port_properties import AxiPortCheck, AxiRules
from kit.faults import edited
from kit.run_bench import run_bench

unit = pytest.mark.unit
X16 = "ddr4-3200aa-x16"


def on(channel, *, ready=1, **payload):
    """A cycle in which a channel has something on offer."""
    values = {"valid": 1, "ready": ready, **payload}
    return {f"s_axi_{channel}{name}": value for name, value in values.items()}


def play(cycles):
    """What the checker says of these cycles: None, or the message with its kind."""
    check = AxiRules(AxiPort(id_width=2))

    async def bench(ctx):
        for cycle in chain(cycles, ({}, {})):
            for name in check.signature.members:
                ctx.set(getattr(check, name), cycle.get(name, 0))
            await ctx.tick()

    try:
        run_bench(check, bench)
    except AssertionError as error:
        return str(error)
    return None


@unit
def test_checker_is_content_with_bursts_that_wait():
    word, last = on("w"), on("w", last=1)
    assert play([
        on("aw", ready=0, len=1, id=2), on("aw", len=1, id=2), on("w", ready=0), word, {}, last,
        on("b", ready=0, id=2), on("b", id=2),
        {**on("ar", len=1, id=1), **on("aw", ready=0)},
        {**on("r", ready=0, id=1, data=5), **on("aw", ready=0)},
        {**on("r", id=1, data=5), **on("aw", ready=0)},
        {**on("r", id=1, data=6, last=1), **on("aw", ready=0)},
        on("aw"), on("w"), on("b", resp=2),  # WLAST is missing
    ]) is None


FAULTS = {
    "R withdrawn or changed while it waited": [on("ar"), on("r", ready=0, last=1)],
    "B withdrawn or changed while it waited": [
        on("aw"), on("w", last=1), on("b", ready=0), on("b", resp=2)],
    "AR is passed over twice": [{**on("ar", ready=0), **on("aw")}] * 2,
    "AW is passed over twice": [{**on("aw", ready=0), **on("ar")}] * 2,
    "a read and a write are taken at once": [{**on("ar"), **on("aw")}],
    "taken while another is under way": [on("ar", len=1), on("r"), on("aw")],
    "a word is taken that belongs to no write": [on("w", last=1)],
    "B without a write, or before its last word": [on("aw", len=1), on("w"), on("b")],
    "R without a read": [on("aw"), on("r", last=1)],
    "RLAST is not with the last transfer": [on("ar", len=1), on("r", last=1)],
    "WLAST was misplaced, and the answer is not SLVERR": [
        on("aw", len=1), on("w", last=1), on("w", last=1), on("b")],
    "R has another identifier": [on("ar", id=1), on("r", id=2, last=1)],
    "B has another identifier": [on("aw", id=1), on("w", last=1), on("b", id=3)],
    "R is EXOKAY, and nothing is exclusive here": [on("ar"), on("r", resp=1, last=1)],
    "B is EXOKAY, and nothing is exclusive here": [on("aw"), on("w", last=1), on("b", resp=1)],
}


@unit
@pytest.mark.parametrize(("says", "cycles"), FAULTS.items(), ids=FAULTS)
def test_checker_fires(only, says, cycles):
    only(says, properties)
    assert play(cycles) == f"Assertion violated: {says}"


@unit
def test_a_last_transfer_that_is_doubled():
    assert play([on("ar"), *[on("r", last=1)] * 2]) == "Assertion violated: R without a read"


@unit
@pytest.mark.parametrize("name", ["ar", "aw", "w"])
def test_checker_names_the_manager_that_withdraws(name):
    assert play([on(name, ready=0)]) == (
        f"Assumption violated: owed: {name.upper()} withdrawn or changed while it waited")


@unit
def test_every_assertion_has_a_fault():
    check = AxiRules(AxiPort())
    text = rtlil.convert(check)
    assert rtlil.convert(check) == text
    said = set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text))
    assert {message
            for message in said if not message.startswith(("AR w", "AW w", "W w"))} == set(FAULTS)


@unit
def test_the_whole_checker_sees_the_pins_as_well():
    dut = AxiController(part=X16)
    leave_unused(dut)
    text = rtlil.convert(AxiPortCheck(dut))
    said = set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text))
    assert set(FAULTS) < said
    assert "data bus: two bursts at once" in said


@unit
def test_no_output_depends_on_an_input_in_the_same_cycle():
    """As A3.2.1 demands of the whole interface; and nor does anything towards the controller."""
    port, rng = AxiPort(words=1 << 19, id_width=2), random.Random(1)
    ins, outs = ports_of(port, In), ports_of(port, Out)
    moved = set()

    async def bench(ctx):
        before = None
        for _ in range(600):
            seen = []
            for _ in range(2):
                for name, value in ins:
                    bits = Value.cast(value)
                    ctx.set(bits, 0 if name.endswith("len") else rng.getrandbits(len(bits)))
                seen.append({name: ctx.get(Value.cast(value)) for name, value in outs})
            assert seen[0] == seen[1]
            moved.update(name for name in seen[0] if before and before[name] != seen[0][name])
            before = seen[0]
            await ctx.tick()

    run_bench(port, bench)
    assert {f"s_axi_{name}" for name in ("arready", "awready", "wready", "bvalid", "rvalid",
                                         "rlast")} <= moved
    assert {"request.valid", "mapping.valid"} <= moved


# In simulation

@pytest.mark.thorough
@pytest.mark.cosim
def test_a_client_of_others_writes_and_reads(tmp_path):
    """Every burst that no refresh disturbs takes what is predicted."""
    outcomes = [run_job(Job("dram.axi_port", "small", testbench, 1, str(tmp_path / testbench)))
                for testbench in ("axi", "more")]
    assert [outcome.reason for outcome in outcomes] == ["", ""]
    assert sum(len(outcome.tests) for outcome in outcomes) == 8
    kinds = {"read_alone": axi_read_alone, "write_alone": axi_write_alone}
    groups = [group for outcome in outcomes for group in outcome.groups if group.what in kinds]
    for group in groups:
        bound = kinds[group.what]
        assert group.latency == bound(part="ddr4-1866m-x16", **group.parameters), group
    count = {kind: sum(group.what == kind for group in groups) for kind in kinds}
    assert min(count.values()) > 50, count


@pytest.mark.thorough
@pytest.mark.cosim
def test_a_port_that_overwrites_what_it_should_keep(tmp_path):
    """Where part of a word is written, the rest must be what was read: the scoreboard objects."""
    block = catalogue.load().find("dram.axi_port")
    module = edited(axi_port, ("lanes & ~Mux(merging, marked.data, 0)", "lanes"))
    faulty = dataclasses.replace(block, component=module.AxiController)
    outcome = simulate(faulty, Job("dram.axi_port", "small", "axi", 1, str(tmp_path),
                                  test="any_burst_and_strobe"))
    assert not outcome.passed
    assert re.fullmatch(r"any_burst_and_strobe: (cycle \d+: s_axi_rdata is \d+, expected \d+|"
                        r"byte 0x[0-9a-f]+ in the device)(?s:.*)", outcome.reason)


@pytest.mark.thorough
@pytest.mark.cosim
def test_a_port_that_takes_bursts_before_its_buffer_is_mapped(tmp_path):
    """Their request waits for the mapping: the first read after a reset takes three cycles more."""
    block = catalogue.load().find("dram.axi_port")
    module = edited(axi_port, ('m.next = "MAPPING"', 'm.next = "IDLE"'))
    faulty = dataclasses.replace(block, component=module.AxiController)
    outcome = simulate(faulty, Job("dram.axi_port", "small", "axi", 1, str(tmp_path),
                                  test="first_after_reset"))
    assert outcome.passed, outcome.reason
    late = [group.latency - axi_read_alone(part="ddr4-1866m-x16", **group.parameters)
            for group in outcome.groups if group.what == "read_alone"]
    assert sorted(late) == [0, 1, 2, 3]
