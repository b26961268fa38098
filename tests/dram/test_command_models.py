"""Command generator and arbiter: reference traces, JEDEC's rules, and the models' speed."""

import csv
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.device import DramDevice, DramViolation
from cyclebound.golden.dram.request import BURST_BYTES
from cyclebound.golden.dram.rules import WRITES, Command
from cyclebound.golden.dram.timing import PARTS
from cyclebound.golden.dram.worst_case import alignments

pytestmark = pytest.mark.unit

DATA = Path(__file__).parent / "data"
X16, X8 = PARTS["ddr4-3200aa-x16"], PARTS["ddr4-3200aa-x8"]


def table(name):
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def touched(address, words, period, count):
    """Bursts of a tile, one word after the other."""
    return sorted({(address // 4 + line * period + word) // 16
                   for line in range(count) for word in range(words)})


def reference_traces():
    requests = {}
    for row in table("command_traces.csv"):
        requests.setdefault(row["request"], []).append(row)
    return requests


@pytest.mark.parametrize("name", reference_traces())
def test_traces_of_the_authors_model(name):
    rows = reference_traces()[name]
    first = rows[0]
    indexed = first["period"] == "idx"
    if indexed:
        bursts = [int(word) // 16 for word in first["count"].split()]
    else:
        bursts = touched(int(first["addr_hex"], 16), int(first["words"]), int(first["period"]),
                         int(first["count"]))
    seen = schedule(X16, bursts, write=first["write"] == "1", indexed=indexed)
    assert len(seen.commands) == len(rows)
    opened = {}
    for issued, row in zip(seen.commands, rows, strict=True):
        if issued.op == Command.ACT:
            opened[issued.bank] = issued.row
        assert (issued.cycle, issued.op.name, issued.bank) == (
            int(row["cycle_from_first_cmd"]), row["command"], int(row["bank"]))
        if row["row"]:
            assert opened[issued.bank] == int(row["row"])
        if row["col"]:
            assert issued.column == int(row["col"])


def test_issue_delays_of_the_authors_model():
    """Worst and best over all alignments; of the long requests, those at a row's end."""
    rows = table("lid_tile_2bg.csv")
    assert len(rows) == 132
    for row in rows:
        bursts, write = int(row["bursts"]), row["write"] == "1"
        if bursts > 64:
            starts = [*range(8), *range(250, 256)]
        elif bursts > 32 and bursts % 8:
            continue
        else:
            starts = alignments(X16, bursts)
        delays = [schedule(X16, range(start, start + bursts), write=write).issue_delay
                  for start in starts]
        assert (max(delays), min(delays)) == (int(row["measured_max"]), int(row["measured_min"]))


def play(part, device, seen, write, offset):
    """A schedule's commands, and the data of its writes."""
    data = sorted(issued.cycle + part.nCWD + beat for issued in seen.commands
                  for beat in range(4) if issued.op in WRITES)
    assert bool(data) == write
    for issued in seen.commands:
        while data and data[0] < issued.cycle:
            device.data_in(offset + data.pop(0), bytes(16))
        device.command(offset + issued.cycle, issued.op, issued.bank, issued.row,
                       issued.column)
    for cycle in data:
        device.data_in(offset + cycle, bytes(16))


def requests(part, rng):
    """Requests of all kinds: bursts, write, indexed."""
    for _ in range(60):
        start, count = rng.randrange(part.bursts_per_sweep), rng.randint(1, 24)
        yield range(start, start + count), rng.random() < 0.5, False
        period = rng.choice([count + rng.randint(0, 3), 256, part.bursts_per_sweep,
                             rng.randint(count, 2 * part.bursts_per_sweep)])
        yield ([start + line * period + burst for line in range(4) for burst in range(count)],
               rng.random() < 0.5, False)
        span = rng.choice([1, 4, 256, 600, 8 * part.bursts_per_sweep])
        yield ([start + rng.randrange(span) for _ in range(count)], rng.random() < 0.5, True)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_schedules_obey_jedec_and_the_issue_delay_is_the_earliest(part):
    rng = random.Random(4)
    commands, tight = Counter(), 0
    for bursts, write, indexed in requests(part, rng):
        seen = schedule(part, bursts, write=write, indexed=indexed)
        for early in (0, 1):
            device = DramDevice(part)
            play(part, device, seen, write, 10)
            end = 10 + seen.issue_delay
            if early:
                with pytest.raises(DramViolation):
                    device.command(end - 1, Command.REF)
                tight += 1
            else:
                device.command(end, Command.REF)
                commands += device.commands
    assert tight == 180
    assert set(commands) == set(Command) - {Command.NOP, Command.PREA}
    assert min(commands.values()) > 100


def test_a_burst_that_comes_again_in_an_index_is_read_again():
    seen = schedule(X16, [5, 5, 5], indexed=True)
    assert [issued.op for issued in seen.commands] == [Command.ACT, Command.RD, Command.RD,
                                                       Command.RDA]


def test_a_request_without_bursts():
    with pytest.raises(ValueError, match=r"^a request must have at least one burst$"):
        schedule(X16, [])


@pytest.mark.parametrize(("part", "write", "delay"), [
    (X16, False, 318), (X16, True, 350), (X8, False, 308), (X8, True, 340)])
def test_the_longest_request_of_4_kib_takes_a_model_few_steps(part, write, delay):
    """Steps of Python, for a clock would measure the machine: half a millisecond of an idle one
    is 8,000 of them (docs/performance.md)."""
    steps = 0

    def count(frame, event, argument):
        nonlocal steps
        steps += event == "line"
        return count

    request = range(252, 252 + 4096 // BURST_BYTES)
    before = sys.gettrace()
    sys.settrace(count)
    try:
        found = schedule(part, request, write=write)
    finally:
        sys.settrace(before)
    assert found.issue_delay == delay
    assert 0 < steps < 180 * len(request)
