"""The tables of Sim-D's own model, reproduced by the RTL to the cycle."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.request import BURST_BYTES, BURST_WORDS, Destination
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import PARTS
from cyclebound.hdl.dram.controller import DramController
from cyclebound.sim.run.job import Job, run_job
from kit.run_bench import run_bench

DATA = Path(__file__).parent / "data"
LINE = 1 << 19  # words in the line of the mapped buffer


def traces():
    """Request name to (first row of the table, its commands)."""
    found = defaultdict(list)
    with open(DATA / "command_traces.csv", newline="") as file:
        for row in csv.DictReader(file):
            found[row["request"]].append(row)
    return found


def asked(row):
    """The request of a row, and its indexes; a 2D tile's period is the line of its buffer."""
    word = int(row["addr_hex"], 16) // 4
    shape = {"write": int(row["write"]), "destination": Destination.SCRATCHPAD}
    if row["period"] == "idx":
        return LINE, {**shape, "indexed": 1}, [word + int(i) for i in row["count"].split()]
    period, count = int(row["period"]), int(row["count"])
    line = LINE if count == 1 else period
    return line, {**shape, "x": word % line, "y": word // line, "words": int(row["words"]),
                  "count": count}, []


def pins(part, line, request, indexes):
    """Run one request; the commands on the pins, with cycles from the first."""
    dut = DramController(part=part)
    seen = []

    async def bench(ctx):
        cycle, left = 0, list(indexes)
        ctx.set(dut.mapping.payload, {"valid": 1, "x": line, "y": LINE // line})
        ctx.set(dut.request.payload, request)
        ctx.set(dut.mapping.valid, 1)
        ctx.set(dut.request.valid, 0)
        asks = False
        while not ctx.get(dut.completion.valid):
            word = {"index": left[0]} if left else {"end": 1}
            ctx.set(dut.indexes.payload, word)
            ctx.set(dut.indexes.valid, bool(indexes))
            command = ctx.get(dut.command)
            if command.op:
                seen.append((cycle, Command(command.op).name, command.bank, command.row,
                             8 * command.column))
            mapped, mapping = ctx.get(dut.mapped), ctx.get(dut.mapping.ready)
            taken = ctx.get(dut.request.ready) and asks
            index = ctx.get(dut.indexes.ready)
            await ctx.tick()
            cycle += 1
            assert cycle < 2000, "it takes too long"
            if mapping:
                ctx.set(dut.mapping.valid, 0)
            asks = (asks or mapped) and not taken
            ctx.set(dut.request.valid, asks)
            if index and left:
                left.pop(0)
        assert ctx.get(dut.completion.payload) == 0

    run_bench(dut, bench)
    first = seen[0][0]
    return [(cycle - first, *rest) for cycle, *rest in seen]


@pytest.mark.unit
@pytest.mark.parametrize("name", list(traces()))
def test_command_traces(name):
    rows = traces()[name]
    seen = pins("ddr4-3200aa-x16", *asked(rows[0]))
    assert len(seen) == len(rows)
    for (cycle, command, bank, row, column), expected in zip(seen, rows, strict=True):
        assert (cycle, command, bank) == (int(expected["cycle_from_first_cmd"]),
                                          expected["command"], int(expected["bank"]))
        if expected["row"] and command == "ACT":
            assert row == int(expected["row"])
        if expected["col"]:
            assert column == int(expected["col"])


@pytest.mark.unit
def test_full_queues_delay_no_command():
    """4 KiB, most of them in one pair: bursts have to wait, the commands are the model's."""
    part = PARTS["ddr4-3200aa-x16"]
    first, bursts = 2 * part.bursts_per_row - 9, 4096 // BURST_BYTES
    request = {"x": first * BURST_WORDS, "words": bursts * BURST_WORDS, "count": 1, "write": 1,
               "destination": Destination.SCRATCHPAD}
    expected = schedule(part, range(first, first + bursts), write=True)
    assert [(cycle, op, bank) for cycle, op, bank, *_ in pins(part, LINE, request, [])] == [
        (command.cycle, command.op.name, command.bank) for command in expected.commands]


@pytest.mark.thorough
@pytest.mark.cosim
def test_longest_and_shortest_issue_delays(tmp_path):
    """All 132 rows: what the harness measures where a tile leaves a pair of banks."""
    outcome = run_job(Job("dram.controller", "2bg", "harness", 1, str(tmp_path),
                          test="tiles_that_leave_a_pair_of_banks"))
    assert outcome.passed, outcome.reason
    found = defaultdict(set)
    for group in outcome.groups:
        if group.what == "tile":
            key = group.parameters["write"], group.parameters["bursts"]
            found[key].add(group.latency)
    with open(DATA / "lid_tile_2bg.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 132
    for row in rows:
        delays = found[int(row["write"]), int(row["bursts"])]
        assert (max(delays), min(delays)) == (int(row["measured_max"]), int(row["measured_min"]))
