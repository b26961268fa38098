"""Gaps of a record: what reaches into one is unclear, and all other requests count."""

import json
import random
import subprocess

import pytest

from cyclebound.sim.traces.check import Check, bound_named, check
from cyclebound.tb.probe import Probe
from kit.icarus import needs_icarus

from .test_check import END, START
from .test_trace_fuzz import Local

pytestmark = pytest.mark.unit

PERIOD = 10
KINDS = ("dumpoff", "silent", "x")


def written(path, cycles, hidden, kind):
    """A VCD of these (valid, ready) without the cycles in ``hidden``: with ``$dumpoff``, with
    nothing at all, or with an x of the clock only.

    Cycle n ends with the edge at ``PERIOD * (n + 1)``; its values come just after the edge before.
    """
    lines = ["$timescale 1ns $end", "$var wire 1 ! clk $end", "$var wire 1 % valid $end",
             "$var wire 1 & ready $end", "$enddefinitions $end"]
    for number, (valid, ready) in enumerate(cycles):
        time = number * PERIOD
        if number in hidden:
            if number - 1 not in hidden:
                lines += [f"#{time}", "1!", f"#{time + 2}", *{
                    "dumpoff": ["$dumpoff", "x!", "x%", "x&", "$end"], "x": ["x!"],
                    "silent": []}[kind]]
            continue
        if number - 1 in hidden and kind != "silent":
            lines += [f"#{time + 3}", "$dumpon", "1!", f"{valid}%", f"{ready}&", "$end"]
        else:
            lines += [f"#{time}", "1!"]
        lines += [f"#{time + 3}", f"{valid}%", f"{ready}&", f"#{time + 5}", "0!"]
    path.write_text("\n".join([*lines, f"#{len(cycles) * PERIOD}", "1!", ""]))
    return path


def looked_at(path, **options):
    return check(Local(path), Check(Probe(START, END), bound_named("6"), **options))


def traffic(chance):
    """(valid, ready) of each cycle, and the first and last cycle of each request."""
    cycles, requests = [(0, 0)] * 12, []
    for _ in range(chance.randrange(1, 12)):
        latency = chance.choice((1, 2, 3, 6))
        requests.append((len(cycles), len(cycles) + latency - 1))
        cycles += [*[(1, 0)] * (latency - 1), (1, 1), *[(0, 0)] * chance.choice((0, 1, 3))]
    return cycles + [(0, 0)] * 3, requests


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [
    range(12), pytest.param(range(12, 1000), marks=pytest.mark.thorough)], ids=["some", "many"])
def test_what_reaches_into_a_gap_is_unclear(tmp_path, kind, seeds):
    seen = set()
    for seed in seeds:
        chance = random.Random(f"{kind} {seed}")
        cycles, requests = traffic(chance)
        begin = chance.randrange(10, len(cycles) - 2)
        hidden = range(begin, min(len(cycles) - 1, begin + chance.choice((1, 2, 7))))
        lost = range(hidden.start, hidden.stop + 1)  # the record resumes within a cycle
        # of one that begins next, nothing says that it had not begun before
        whole = [(first, last) for first, last in requests
                 if last < lost.start or first > lost.stop]
        reach = len(whole) < len([1 for first, last in requests
                                  if not (first >= lost.start and last < lost.stop)])
        path = written(tmp_path / f"{seed}.vcd", cycles, hidden, kind)
        done = looked_at(path)
        found = done.finding
        expected = sorted(last - first + 1 for first, last in whole)
        counted = [latency for latency, many in found.histogram for _ in range(many)]
        assert counted == expected, seed
        verdict = ("unclear" if reach else "unobserved" if not whole else
                   "exact" if 6 in expected else "held")
        assert found.verdict == verdict, (seed, done.problems)
        assert done.many_gaps == 1
        assert f"from {hidden.start}" in done.gaps[0]
        left_out = looked_at(path, midway=True)
        assert left_out.finding.histogram == found.histogram, seed
        assert not left_out.problems, seed
        seen.add(verdict)
    assert seen >= {"unclear", "exact"}


RECORDED = """`timescale 1ns/1ns
module t;
    reg clk = 0, valid = 0, ready = 0;
    always #5 clk = ~clk;
    task request(input integer cycles);
        begin
            #1 valid = 1;
            repeat (cycles - 1) @(posedge clk);
            #1 ready = 1; @(posedge clk); #1 valid = 0; ready = 0;
            repeat (2) @(posedge clk);
        end
    endtask
    initial begin
        $dumpfile("t.FORMAT"); $dumpvars(0, t);
        repeat (3) @(posedge clk);
        request(4);
        #1 valid = 1;
        repeat (2) @(posedge clk);
        #1 $dumpoff; repeat (100) @(posedge clk); #OFF $dumpon;
        #1 ready = 1; @(posedge clk); #1 valid = 0; ready = 0;
        repeat (2) @(posedge clk);
        request(3);
        $finish;
    end
endmodule
"""


@needs_icarus
@pytest.mark.parametrize("kind", ["vcd", "fst"])
@pytest.mark.parametrize("off", [1, 6])  # where the clock is 1, and where it is 0
def test_a_record_that_icarus_stops(call, tmp_path, kind, off):
    """4 cycles were recorded of a request that took 104."""
    (tmp_path / "t.v").write_text(RECORDED.replace("FORMAT", kind).replace("OFF", str(off)))
    subprocess.run(["iverilog", "-o", "t", "t.v"], cwd=tmp_path, check=True)
    subprocess.run(["vvp", "t", f"-{kind}"], cwd=tmp_path, check=True, capture_output=True)
    done = call("check", f"t.{kind}", "--start", START, "--end", END, "--bound", "4")
    assert done.returncode == 1
    assert "unclear: cycle" in done.stdout
    assert "1 request reaches into a gap of the record, from 1" in done.stdout
    found = json.loads(call("check", f"t.{kind}", "--start", START, "--end", END, "--bound", "4",
                            "--json").stdout)
    assert (found["verdict"], found["histogram"]) == ("unclear", [[3, 1], [4, 1]])


def clocked(path, edges, requests):
    """A VCD of a clock with these rising edges; each request takes the cycles of two of them."""
    lines = ["$timescale 1ns $end", "$var wire 1 ! clk $end", "$var wire 1 % valid $end",
             "$var wire 1 & ready $end", "$enddefinitions $end", "#0", "0!", "0%", "0&"]
    for number, edge in enumerate(edges):
        lines += [f"#{edge}", "1!", f"#{edge + 1}", "0!", f"{int(number + 1 in requests)}%",
                  f"{int(number + 1 in requests)}&"]
    path.write_text("\n".join([*lines, ""]))
    return path


@pytest.mark.parametrize(("periods", "many"), [
    ([10] * 30, 0), ([10, 14, 8, 12, 13, 9, 14, 11] * 5, 0), ([10] * 12 + [20] * 12, 5),
    ([10] * 12 + [1000] + [10] * 12, 1), ([10] * 12 + [15] + [10] * 12, 0),
    ([10] * 12 + [16] + [10] * 12, 1), ([10] * 12 + [1000, 500, 10, 2000] + [10] * 12, 3),
    ([10, 1000, 10, 10], 1), ([10] * 20 + [5] * 20, 0)])
def test_a_period_that_leaps(call, tmp_path, periods, many):
    edges = [5]
    for period in periods:
        edges.append(edges[-1] + period)
    path = clocked(tmp_path / "t.vcd", edges, {3})
    words = ["check", path, "--start", START, "--end", END, "--bound", "1", "--json"]
    found = json.loads(call(*words).stdout)
    assert found["many_gaps"] == many
    assert json.loads(call(*words, "--clock-stops").stdout)["many_gaps"] == 0


def test_after_a_gap_requests_in_order_are_unclear(call, tmp_path):
    edges = [10 * n + 1000 * (n > 15) for n in range(1, 40)]
    path = clocked(tmp_path / "t.vcd", edges, {5, 6, 20, 22})
    words = ["check", path, "--start", "valid", "--end", "valid", "--bound", "2",
             "--in-flight", "2", "--json"]
    found = json.loads(call(*words).stdout)
    assert found["verdict"] == "unclear"
    assert found["problems"][0] == (
        "cycle 20: nothing says of which request an end is (that takes a reset, or an id) after a "
        "gap of the record, from 150 ns to 1,160 ns: the clock does not rise, and usually does "
        "every 10 ns")


@pytest.mark.parametrize(("start", "says"), [
    ("first(valid, ready)", "whether start is true here is not known"),
    ("valid & every(3)", "whether start is true here is not known"),
    ("valid & ~past(ready)", ""), ("valid & nth(1, 1)", "whether start")])
def test_what_functions_keep_is_lost_in_a_gap(call, tmp_path, start, says):
    edges = [10 * n + 1000 * (n > 15) for n in range(1, 40)]
    path = clocked(tmp_path / "t.vcd", edges, {24})
    found = json.loads(call("check", path, "--start", start, "--end", "ready", "--bound", "1",
                            "--json").stdout)
    assert says in str(found["problems"])
    assert (found["verdict"] == "unclear") == bool(says)
