"""`cyclebound check`: any trace against a bound."""

import base64
import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

from cyclebound.golden.formula import FormulaError, formula_bound
from cyclebound.sim import catalogue
from cyclebound.sim.build.elaborate import leave_unused
from cyclebound.sim.run.job import Job, design, run_job
from cyclebound.sim.run.observations import read_requests
from cyclebound.sim.traces import trace
from cyclebound.sim.traces.check import Check, _Pass
from cyclebound.sim.traces.files import open_trace
from kit.icarus import needs_icarus

START, END = "valid & ~past(valid & ~ready)", "valid & ready"


def vcd(path, cycles, *, head=()):
    """A VCD in which cycle n, of 10 ns, ends with the clock's edge at 10 n + 10."""
    lines = ["$timescale 1ns $end", "$scope module top $end", "$var wire 1 ! clk $end",
             "$var wire 1 % valid $end", "$var wire 1 & ready $end", "$var wire 8 ( size $end",
             "$var wire 1 ) rst $end", "$var real 64 r level $end", "$upscope $end", *head,
             "$enddefinitions $end"]
    for number, (valid, ready, size, reset) in enumerate(cycles):
        lines += [f"#{number * 10}", "1!", f"{valid}%", f"{ready}&",
                  f"b{size if isinstance(size, str) else format(size, 'b')} (", f"{reset})",
                  f"#{number * 10 + 5}", "0!"]
    path.write_text("\n".join([*lines, f"#{len(cycles) * 10}", "1!", ""]))
    return path


def traffic(latencies):
    """Cycles of requests that take so long, one after the other, with a pause between."""
    cycles = [(0, 0, 0, 1), (0, 0, 0, 0)]
    for latency in latencies:
        cycles += [*[(1, 0, latency, 0)] * (latency - 1), (1, 1, latency, 0), (0, 0, 0, 0)]
    return cycles


@pytest.fixture
def dump(tmp_path):
    return vcd(tmp_path / "dump.vcd", traffic([3, 1, 5, 2]))


def checked(call, dump, *words):
    return call("check", dump, "--start", START, "--end", END, *words)


@pytest.mark.unit
def test_a_bound_that_holds(call, dump):
    done = checked(call, dump, "--bound", "7", "--reset", "rst", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["verdict"], found["requests"], found["worst"], found["allowed"]) == (
        "held", 4, 5, 7)
    assert found["histogram"] == [[1, 1], [2, 1], [3, 1], [5, 1]]
    assert (found["first"], found["last"], found["times"]) == (8, 12, [90, 130])
    assert (found["clock"], found["signals"]) == ("top.clk", ["top.ready", "top.rst", "top.valid"])


@pytest.mark.unit
def test_a_bound_that_each_kind_reaches(call, dump):
    done = checked(call, dump, "--bound", "size", "--request", "size=size")
    assert done.returncode == 0, done.stderr
    assert "exact" in done.stdout
    assert "1.00 / 1.00 / 1.00" in done.stdout


@pytest.mark.unit
def test_a_violated_bound_and_its_picture(call, dump, tmp_path):
    done = checked(call, dump, "--bound", "4", "--picture", "worst.svg", "--signal", "size")
    assert done.returncode == 1
    assert "violated: request took 5 cycles, bound 4: cycles 8 to 12" in (
        done.stdout)
    assert "which end at 90 ns to 130 ns" in done.stdout
    drawn = (tmp_path / "worst.svg").read_text()
    ElementTree.fromstring(drawn)
    texts = re.findall(r">([^<>]+)</text>", drawn)
    assert {"request: cycle 8", "completion: cycle 12"} <= set(texts)
    assert {"ready", "valid"} <= set(re.findall(r">(\w+)<tspan", drawn))
    assert re.search(r"size = 0x5 \(5\), cycles 8 to 12", drawn)


@pytest.mark.unit
@pytest.mark.parametrize(("words", "status", "says"), [
    (["--bound", "limits.py:longest", "--set", "extra=2"], 0, "bound longest"),
    (["--bound", "limits.py:plain", "--set", "extra=3"], 0, "plain(extra)"),
    (["--bound", "limits:longest", "--set", "extra=1"], 1, "violated"),
    (["--bound", "limits.py:exactly"], 1, "took 5 cycles, predicted 3"),
    (["--bound", "limits.py:broken"], 1, "not covered: broken does not cover"),
    (["--bound", "limits.py:ends"], 1, "bound ends ends the program instead"),
    (["--bound", "limits.py:longest"], 2, "bound longest needs extra: give each with --set"),
    (["--bound", "limits.py:longer"], 2, "no function in limits.py 'longer'; did you mean longest"),
    (["--bound", "none.py:longest"], 2, "--bound: there is no file none.py"),
    (["--bound", "limits.py:share"], 2, "is a rate, which is no latency"),
    (["--bound", "fails.py:x"], 2, "--bound fails.py: KeyError: 'none'"),
    (["--bound", "n +* 1"], 2, "--bound, column 4: invalid syntax\n    n +* 1\n       ^"),
    (["--bound", "n ** 2"], 2, "column 1: 'n ** 2' is none of whole numbers"),
    (["--bound", "n + 1"], 2, "bound n + 1 needs n"),
    (["--bound", "max(n, "], 2, "column 7: the formula ends too early\n    max(n,\n          ^"),
    (["--bound", ""], 2, "--bound, column 1: the formula is empty"),
    (["--bound", "9" * 30], 2, "9 has more than 63 bits"),
    (["--bound", "9", "--over", "r=4097"], 2, "--over: a probe looks at up to 4,096 places"),
    (["--bound", "9", "--over", "r=9999999", "--over", "q=9999999"], 2, "not 99,999,980,000,001"),
    (["--bound", "9", "--set", "n=1"], 2,
     "--set n is read by no expression, and the parameters of bound 9 are: none"),
    (["--bound", "limits.py:slack", "--set", "extar=6"], 2,
     "--set extar is read by no expression, and the parameters of bound slack are: extra"),
    (["--bound", "9", "--set", "n=1", "--ends", "n"], 0, "held"),
    (["--bound", "n", "--set", "n=9", "--request", "n=size"], 2,
     "n is given in --set and in --request"),
    (["--bound", "9", "--set", "n"], 2, "--set takes NAME=VALUE"),
    (["--bound", "9", "--set", "n=x"], 2, "--set n takes a whole number, not 'x'"),
    (["--bound", "9", "--clock", "none"], 2, "no signal 'none'"),
    (["--bound", "9", "--reset", "rts"], 2, "did you mean top.rst?\n    rts\n    ^"),
    (["--bound", "9", "--reset", "level"], 2, "no signal 'level'"),
    (["--bound", "9", "--id", "size", "--ends", "2"], 2, "a probe with an id has one start"),
    (["--bound", "9", "--midway", "--in-flight", "2"], 2, "needs an --id, and one request"),
    (["--bound", "9", "--picture", "x.png"], 2, "ends in .svg"),
    (["--bound", "9", "--over", "r=none"], 2, "no signal 'none'"),
])
def test_what_a_user_may_say(call, dump, tmp_path, words, status, says):
    (tmp_path / "limits.py").write_text(
        "from typing import Annotated\nfrom cyclebound.golden.bound import *\n"
        "from cyclebound.golden.bound import bound, prediction, rate\n"
        "@bound(formula='3 + extra', source='test')\n"
        "def longest(*, extra: Annotated[int, Range(0)]) -> int:\n    return 3 + extra\n"
        "@prediction(formula='3', source='test')\ndef exactly() -> int:\n    return 3\n"
        "@rate(formula='1', source='test')\ndef share() -> int:\n    return 1\n"
        "def slack(extra=6):\n    return 3 + extra\n"
        "def ends():\n    raise SystemExit(0)\n"
        "def plain(extra):\n    return 3 + extra\ndef broken():\n    return 1 // 0\n")
    (tmp_path / "fails.py").write_text("{}['none']\n")
    done = checked(call, dump, *words)
    assert done.returncode == status, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.unit
@pytest.mark.parametrize(("start", "end", "says"), [
    ("valid &", "ready", """--start, column 8: the expression ends too early
    valid &
           ^"""),
    ("valid", "reday & 1", """--end, column 1: there is no reday: no signal 'reday'; did you mean \
top.ready?
    reday & 1
    ^"""),
    ("valid & size[7:4]", "ready", """column 9: there is no size[7:4]: [7:4] has no bit: bits 7 to \
4, [7:4] in Verilog, are [4:8] here"""),
])
def test_points_at_the_column(call, dump, start, end, says):
    done = call("check", dump, "--start", start, "--end", end, "--bound", "9")
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.unit
@pytest.mark.parametrize(("cycles", "verdict", "says"), [
    (traffic([]), "unobserved", "no request was seen"),
    ([(0, 0, 0, 0)] * 3 + [(1, 0, 0, 0)] * 3, "unobserved", "none of 1 requests ended"),
    ([(0, 0, 0, 0)] * 3 + [(1, 0, 0, 0)] * 12, "violated", "took 12 cycles, bound 9"),
    ([(0, 0, 0, 0)] * 3 + [(1, "x", 0, 0)] * 3, "unclear", "cycle 4: start is unknown (x or z)"),
    ([], "unclear", "the clock top.clk never rises"),
])
def test_a_trace_that_shows_nothing_fails(call, tmp_path, cycles, verdict, says):
    done = checked(call, vcd(tmp_path / "d.vcd", cycles), "--bound", "9", "--json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == verdict
    assert says in found["detail"]


@pytest.mark.unit
def test_requests_under_way_where_the_trace_begins(call, tmp_path):
    dump = vcd(tmp_path / "d.vcd", [(0, 0, 0, 0), (0, 1, 0, 0), *traffic([2, 3])])
    words = ["check", dump, "--start", START, "--end", "ready", "--bound", "3", "--json"]
    done = call(*words)
    assert json.loads(done.stdout)["problems"] == ["cycle 1: an end without a request"]
    assert done.returncode == 1
    done = call(*words, "--midway")
    assert json.loads(done.stdout)["verdict"] == "exact"


@pytest.mark.unit
def test_a_reset_ends_what_is_under_way(call, tmp_path):
    dump = vcd(tmp_path / "d.vcd", [(0, 0, 0, 0), (1, 0, 0, 0), (1, 0, 0, 1), *traffic([2])])
    found = json.loads(checked(call, dump, "--bound", "2", "--reset", "rst", "--json").stdout)
    assert (found["requests"], found["cut_off"], found["verdict"]) == (1, 1, "exact")


@pytest.mark.unit
@pytest.mark.parametrize("more", [[], ["--ticks", "1"], ["--in-turn"]])
@pytest.mark.parametrize("ends", ["reset", "trace"])
def test_a_hang_counts_whatever_ends_it(call, tmp_path, more, ends):
    """A watchdog's reset, or the end of the trace; also where grants are counted."""
    rest = [(0, 0, 0, 1), *traffic([2])] if ends == "reset" else []
    dump = vcd(tmp_path / "d.vcd", [*traffic([2]), (0, 0, 0, 0), *[(1, 0, 0, 0)] * 20, *rest])
    done = checked(call, dump, "--bound", "2", "--reset", "rst", "--json", *more)
    found = json.loads(done.stdout)
    assert (found["verdict"], found["worst"], done.returncode) == ("violated", 20, 1)


TABLE = "time,req.valid,ready,id\n5,0,0,x\n6,1,0,0x3\n7,1,1,3\n8,0,0,\n9,1,1,0b11\n"


@pytest.mark.unit
@pytest.mark.parametrize(("start", "end", "empty"), [("", "ready", "start"), ("ready", " ", "end")])
def test_an_empty_expression(call, tmp_path, start, end, empty):
    """Found by the search in test_trace_fuzz.py."""
    path = tmp_path / "log.csv"
    path.write_text(TABLE)
    done = call("check", path, "--start", start, "--end", end, "--bound", "2")
    assert done.returncode == 2
    assert f"{empty} must be an expression, not an empty text" in done.stderr


@pytest.mark.unit
def test_a_table(call, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(TABLE)
    words = ("check", path, "--start", "req.valid & ~past(req.valid & ~ready)", "--end",
             "req.valid & ready", "--bound", "2", "--request", "id=id", "--json")
    done = call(*words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["histogram"], found["times"], found["cycles"]) == ([[1, 1], [2, 1]], [6, 7], 5)
    assert found["parameters"] == {"id": 3}


@pytest.mark.unit
@pytest.mark.parametrize("words", [
    ("--ends", "n"), ("--starts", "n"), ("--in-turn", "--ahead", "n"), ("--request", "n=n")])
def test_a_number_that_is_unknown_where_it_counts(call, tmp_path, words):
    path = tmp_path / "log.csv"
    for number, status in (("x", 1), ("1", 0)):
        path.write_text(f"s,e,n\n0,0,x\n1,0,{number}\n0,0,x\n0,1,{number}\n0,0,x\n")
        done = call("check", path, "--start", "s", "--end", "e", "--bound", "9", *words)
        assert done.returncode == status, done.stdout + done.stderr
        assert ("unclear: cycle" in done.stdout) == bool(status)


@pytest.mark.unit
def test_a_table_with_a_clock(call, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("clk,req,ack\n0,1,0\n1,1,0\n0,1,1\n1,0,0\n0,0,0\n1,0,0\n")
    found = json.loads(call("check", path, "--start", "req & ~past(req & ~ack)", "--end", "ack",
                            "--bound", "2", "--clock", "clk", "--json").stdout)
    assert (found["cycles"], found["histogram"]) == (3, [[2, 1]])


@pytest.mark.unit
@pytest.mark.parametrize(("text", "says"), [
    ("", "there are none"), ("a,\n", "column 2 has no name"), ("a,a\n", "two columns are called"),
    ("a,b\n1\n", "line 2 has 1 values; the first line names 2 columns"),
    ("a,b\n1,y\n", "'y' is no whole number"),
    ("a,b\n1,-1\n", "nothing says of how many bits; name them, as in --radix b=signed8"),
    ("a,b\n1," + "9" * 5000 + "\n", "is no whole number"), ("a,b\n\0,1\n", "is no whole number"),
    ("time,a,b\n5,0,0\n5,0,0\n4,0,0\n", "line 4: time goes back from 5 to 4"),
    ("time,a,b\n-1,0,0\n", "must be a whole number from 0, not '-1'"),
    ("a,b\n1,1f\n", "column 'b': line 2: '1f' is no decimal number; name it with --radix b=hex"),
    ("a,b\n1,010\n", "line 2: 010 may be decimal, hexadecimal or binary; name it with --radix"),
    ("a,b\n1,1x\n1,11\n", "column 'b': 11 may be decimal, hexadecimal or binary"),
    ("a,b[3:0]\n1,16\n", "line 2: '16' has more than 4 bits"),
    ("Time [s],a,b\n0,1,1\n", "name the clock with --clock, or --clock every-step if each is"),
    ("\xff\xfe", "there are \xff\xfe"),
])
def test_a_table_that_is_none(call, tmp_path, text, says):
    path = tmp_path / "log.csv"
    path.write_text(text)
    done = call("check", path, "--start", "a", "--end", "b", "--bound", "1")
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.unit
def test_reads_of_axi_with_one_id(call, tmp_path):
    """Two reads of id 1 are under way, and a read of id 2 overtakes them."""
    path = tmp_path / "axi.csv"
    path.write_text("ar,arid,r,rid\n1,1,0,0\n1,1,0,0\n1,2,0,0\n0,0,1,2\n0,0,1,1\n0,0,1,1\n")
    words = ("check", path, "--start", "ar", "--end", "r", "--id", "arid", "--end-id", "rid",
             "--bound", "5", "--json")
    found = json.loads(call(*words, "--in-flight", "2").stdout)
    assert (found["verdict"], found["histogram"]) == ("exact", [[2, 1], [5, 2]])
    found = json.loads(call(*words).stdout)
    assert found["detail"] == (
        "cycle 1: a request with id 1 begins while 1 are under way with it, and 1 may be")


# -- clocks and time -------------------------------------------------------------------------------

@pytest.mark.unit
@pytest.mark.parametrize(("bound", "verdict", "says"), [
    ("50 ns", "exact", ""), ("60 ns", "held", ""), ("size * 10 ns", "exact", ""),
    ("50000ps", "exact", ""), ("49.9 ns", "violated", "took 50 ns, bound 49: cycles 8 to 12"),
    ("0.05 us", "exact", ""), ("1 s", "held", "")])
def test_a_bound_in_time(call, dump, bound, verdict, says):
    words = ["--request", "size=size"] if "size" in bound else []
    done = checked(call, dump, "--bound", bound, *words)
    assert verdict in done.stdout
    assert says in done.stdout
    assert "latencies and bound are in 1 ns" in done.stdout


@pytest.mark.unit
def test_a_bound_in_time_where_the_period_varies(call, tmp_path):
    edges = [5, 15, 25, 37, 51, 60, 72, 80, 92]
    lines = ["$timescale 10ps $end", "$var wire 1 ! clk $end", "$var wire 1 % req $end",
             "$enddefinitions $end", "#0", "0!", "0%"]
    for number, edge in enumerate(edges):
        lines += [f"#{edge}", "1!", f"#{edge + 1}", "0!", f"{int(2 <= number < 5)}%"]
    (tmp_path / "t.vcd").write_text("\n".join([*lines, ""]))
    words = ["check", "t.vcd", "--start", "rose(req)", "--end", "req & past(past(req))", "--json"]
    found = json.loads(call(*words, "--bound", "350 ps").stdout)  # 25 to 60
    assert (found["worst"], found["allowed"], found["verdict"]) == (35, 35, "exact")
    assert json.loads(call(*words, "--bound", "349 ps").stdout)["verdict"] == "violated"


@pytest.mark.unit
@pytest.mark.parametrize(("words", "says"), [
    (["--clock", "wclk", "--clock", "rclk"], "--clock takes one clock, not wclk and rclk: a "),
    (["--clock", "wclk,rclk"], "--clock takes one clock, not wclk and rclk: a "),
    (["--clock", "~none"], "no signal 'none'")])
def test_clocks_that_are_refused(call, dump, words, says):
    done = checked(call, dump, "--bound", "9", *words)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.unit
def test_a_bound_in_time_needs_times(call, tmp_path):
    (tmp_path / "a.csv").write_text("time,a\n0,1\n")
    done = call("check", "a.csv", "--start", "a", "--end", "a", "--bound", "9 ns")
    assert done.returncode == 2
    assert "a bound in ns needs times with a unit, which a.csv has not" in done.stderr


@pytest.mark.unit
def test_the_falling_edge(call, tmp_path):
    """What is 1 around the rising edges only is never seen at the falling ones."""
    lines = ["$timescale 1ns $end", "$var wire 1 ! clk $end", "$var wire 1 % a $end",
             "$var wire 1 & b $end", "$enddefinitions $end", "#0", "0!", "0%", "0&"]
    for number in range(20):
        lines += [f"#{10 * number + 4}", "1%", "0&", f"#{10 * number + 5}", "1!",
                  f"#{10 * number + 8}", "0%", "1&", f"#{10 * number + 10}", "0!"]
    (tmp_path / "t.vcd").write_text("\n".join([*lines, ""]))
    (tmp_path / "t.csv").write_text("clk,a,b\n" + "0,0,1\n1,0,1\n1,1,0\n0,1,0\n" * 20)
    for clock, signal in (("clk", "a"), ("~clk", "b"), ("!clk", "b")):
        found = json.loads(call("check", "t.vcd", "--clock", clock, "--start", signal, "--end",
                                signal, "--bound", "1", "--json").stdout)
        assert (found["verdict"], found["requests"]) == ("exact", 20)
        for column in "ab":
            found = json.loads(call("check", "t.csv", "--clock", clock, "--start", column, "--end",
                                    column, "--bound", "1", "--json").stdout)
            assert found["requests"] == 20 * (column == ("b" if clock == "clk" else "a"))
    found = json.loads(call("check", "t.vcd", "--clock", "~clk", "--start", "a", "--end", "a",
                            "--bound", "1", "--json").stdout)
    assert found["verdict"] == "unobserved"


# -- expressions that do not fit ---------------------------------------------------------------

@pytest.mark.unit
@pytest.mark.parametrize(("start", "end"), [
    ("valid", "valid & ready"), ("valid", "ready"), (START, "ready")])
def test_a_level_is_no_start(call, tmp_path, start, end):
    """Requests that stay: each of their cycles was a request of its own, and the bound violated."""
    cycles = traffic([3, 1, 5, 2])
    if end == "ready":  # which is 1 without a request, too
        cycles[0] = 0, int(start == START), 0, 1
    dump = vcd(tmp_path / "d.vcd", [(0, 0, 0, 0), (0, int(start == START), 0, 0), *cycles])
    words = ["check", dump, "--bound", "5"]
    done = call(*words, "--start", start, "--end", end)
    assert done.returncode == 1
    assert "violated" not in done.stdout
    found = json.loads(call(*words, "--start", start, "--end", end, "--json").stdout)
    assert found["verdict"] == "unclear"
    fits = found["fits"]
    assert f"--start '{fits['start']}' --end " in done.stdout
    better = json.loads(call(*words, "--start", fits["start"], "--end", fits["end"],
                             "--json").stdout)
    assert (better["verdict"], better["histogram"]) == ("exact", [[1, 1], [2, 1], [3, 1], [5, 1]])


@pytest.mark.unit
def test_what_was_violated_before_stays_so(call, tmp_path):
    orphan = (0, 1, 0, 0)
    for cycles, verdict in (([*traffic([2, 5]), orphan, *traffic([1])[1:]], "violated"),
                            ([*traffic([2]), orphan, *traffic([5])[1:]], "unclear"),
                            # a reset makes all clear again
                            ([*traffic([2]), orphan, *traffic([5])], "violated")):
        dump = vcd(tmp_path / "d.vcd", cycles)
        found = json.loads(call("check", dump, "--start", START, "--end", "ready", "--bound", "3",
                                "--reset", "rst", "--json").stdout)
        assert found["verdict"] == verdict
        assert len(found["problems"]) == 1


# -- names -----------------------------------------------------------------------------------------

HEAD = ("$scope module dut $end", "$var wire 1 - valid $end", "$var wire 1 + ports__0__ask $end",
        "$var wire 1 . ports__1__ask $end", "$var wire 8 / odd$name $end", "$upscope $end")


@pytest.mark.unit
def test_names(tmp_path):
    path = vcd(tmp_path / "d.vcd", traffic([1]), head=HEAD)
    with open_trace(path) as found:
        assert found.find(("ports", 1, "ask")) == ("dut.ports__1__ask", 1, ())
        assert found.find(("dut", "ports", 0, "ask")) == ("dut.ports__0__ask", 1, ())
        assert [name for name, *_ in found.find(("ports", slice(None, None), "ask"))] == [
            "dut.ports__0__ask", "dut.ports__1__ask"]
        assert found.count("ports") == 2
        assert found.count("size") == 8
        assert found.find(("size", 3)) == ("top.size", 8, (3,))
        with pytest.raises(LookupError, match=r"several signals are called so: .*--scope"):
            found.find(("valid",))
        found.scope = "dut"
        assert found.find(("valid",))[0] == "dut.valid"
        assert found.find(("size",))[0] == "top.size"
        found.aliases["odd"] = found.find_name("odd$name")
        assert found.find(("odd", 1)) == ("dut.odd$name", 8, (1,))


@pytest.mark.unit
def test_a_bit_and_an_element_of_one_name(tmp_path):
    """``grant[0]``: bit 0 of ``top.grant``, or the signal ``top.counts.grant[0]``."""
    head = ("$scope module dut $end", "$var wire 4 + grant $end", "$var wire 2 . other $end",
            "$scope module counts $end", "$var wire 8 - grant.0 $end", "$upscope $end",
            "$upscope $end")
    path = vcd(tmp_path / "d.vcd", traffic([1]), head=head)
    with open_trace(path) as found:
        with pytest.raises(LookupError, match=r"several signals are called so: dut.counts.grant.0, "
                                              r"bits of dut.grant; name more of the path"):
            found.find(("grant", 0))
        assert found.find(("dut", "grant", 0)) == ("dut.grant", 4, (0,))
        assert found.find(("counts", "grant", 0)) == ("dut.counts.grant.0", 8, ())
        assert found.find(("counts", "grant", 0, 3)) == ("dut.counts.grant.0", 8, (3,))
        assert found.find(("other", 0)) == ("dut.other", 2, (0,))
        found.scope = "dut"
        assert found.find(("grant", 0)) == ("dut.grant", 4, (0,))


@pytest.mark.unit
@pytest.mark.parametrize(("text", "known", "value"), [
    ("12", {}, 12), (" 0x10 ", {}, 16), ("(n - 1) * burst + 5", {"n": 3, "burst": 4}, 13),
    ("max(n, 7) // 2", {"n": 3}, 3), ("min(n, 7) % 2", {"n": 3}, 1), ("-n + 9", {"n": 2}, 7),
])
def test_formulas(text, known, value):
    assert formula_bound(text).of({**known, "more": 1}) == value


@pytest.mark.unit
@pytest.mark.parametrize("text", ["", "n.x", "n ** 2", "n / 2", "'x'", "abs(n)", "n[0]", "1.5",
                                  "(" * 300, "-" * 5000 + "1", "lambda: 1", "True", "n, m", "\0"])
def test_what_is_no_formula(text):
    with pytest.raises(FormulaError):
        formula_bound(text)


# -- files of other programs -----------------------------------------------------------------------

# requests of 3, 1, 5 and 2 cycles in VHDL, with std_logic, unsigned, integer and boolean
_GHDL = """
/gAAAAAAAAFVAAAAAAAAAnsfiwgAAAAAAAADY2AAA0ZPCA0Bgg8XM2SGi3Rz7Wd1APE5kCUhgA2NZvzo7uHio+AWHKJQZgBT
RFfgVpSp4JdfpmBkrmBoYmVkaGVkqmBkYGTGha6QuoARxoAF0gyYAAiAQhIK0nm52SriVq9wYGLQ2somyWZia8/AxsLEoBTA
wgaEDAx8ElwcXBpcAgwMchxcHFocQiAT2ZgFGDlYJZiA0kpCBsyyoqLi1VAD2SpuJVsY5Cpf9jjEsE+iShYq/BFK80NpW2Yo
Qw5Kw6OOkZGRg5ERxq2A0p1/Of4wMBWXpMTn5KdnJjO0cbAyJOdkAz0qzmBflFoozsConJisx/BJsjSvODM9LzWFoR2oJCc1
L9rcyiAWGA5A7Zl5JanpqUUMXRyMDHmuDB9YkvLzc1IT8xgagUpT8vNSgcYBAD7jr417AgAA
"""


@pytest.mark.unit
def test_an_fst_file_of_ghdl(call, tmp_path):
    (tmp_path / "t.fst").write_bytes(base64.b64decode(_GHDL))
    found = json.loads(call("check", "t.fst", "--start", "req & ~past(req & ~ack)", "--end",
                            "req & ack & done", "--bound", "len", "--request", "len=len",
                            "--json").stdout)
    assert (found["verdict"], found["histogram"]) == ("exact", [[1, 1], [2, 1], [3, 1], [5, 1]])


@pytest.mark.unit
@needs_icarus
@pytest.mark.parametrize("kind", ["vcd", "fst", "lxt2"])
def test_files_that_icarus_writes(call, tmp_path, kind):
    (tmp_path / "t.v").write_text("""module t; reg clk = 0, req = 0; reg [7:0] len = 3;
        always #5 clk = ~clk;
        initial begin $dumpfile("t.out"); $dumpvars(0, t); #12 req = 1; #30 req = 0; #20 $finish;
        end endmodule""")
    subprocess.run(["iverilog", "-o", "t", "t.v"], cwd=tmp_path, check=True)
    subprocess.run(["vvp", "t", f"-{kind}"], cwd=tmp_path, check=True, capture_output=True)
    done = call("check", "t.out", "--start", "req & ~past(req)", "--end", "req & (len == 3) & "
                "past(past(req))", "--bound", "3")
    assert done.returncode == (2 if kind == "lxt2" else 0), done.stdout + done.stderr
    assert ("cannot read the trace t.out: " in done.stderr) == (kind == "lxt2")


# -- broken traces ---------------------------------------------------------------------------------

@pytest.mark.unit
def test_a_file_that_is_none(call, tmp_path):
    for name, data in (("a.fst", b"\0"), ("b.vcd", b"nothing"),
                       ("c.ghw", b"GHDLwave\n\x10\0\x01\x01\x04\x01\0"),
                       ("d.vcd", b"")):
        (tmp_path / name).write_bytes(data)
        done = call("check", tmp_path / name, "--start", "a", "--end", "b", "--bound", "1")
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr
        assert ("it is a GHW file, which is not read; GHDL writes what is, with --fst=FILE"
                in done.stderr) == name.endswith("ghw")
    assert done.stderr.endswith("d.vcd: it is empty\n")
    done = call("check", "none.fst", "--start", "a", "--end", "b", "--bound", "1")
    assert done.stderr == "cyclebound: there is no trace none.fst\n"


@pytest.mark.unit
def test_time_that_goes_back_is_no_trace(call, tmp_path):
    path = vcd(tmp_path / "d.vcd", traffic([3, 2]))
    path.write_text(path.read_text().replace("#50\n", "#20\n"))
    done = checked(call, path, "--bound", "9")
    assert done.returncode == 2
    assert "cannot read the trace" in done.stderr


@pytest.mark.unit
@pytest.mark.parametrize("ended", ["$enddefinitions $end ", "$enddefinitions\n$end\t"])
def test_values_on_the_line_of_the_definitions_end_are_not_skipped(call, tmp_path, ended):
    """The library would skip them: the values at the beginning."""
    path = vcd(tmp_path / "d.vcd", traffic([3, 2]))
    head, end, values = path.read_text().partition("$enddefinitions $end\n")
    assert end
    assert checked(call, path, "--bound", "9").returncode == 0
    path.write_text(head + ended + values)
    done = checked(call, path, "--bound", "9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "begin a new line after it" in done.stderr


@pytest.mark.unit
def test_a_time_of_64_bits(call, tmp_path):
    path = vcd(tmp_path / "d.vcd", traffic([3, 2]))
    path.write_text(path.read_text() + f"#{1 << 63}\n0!\n")
    done = checked(call, path, "--bound", "9")
    assert done.returncode == 2
    assert done.stderr.endswith("time 9223372036854775808 has more than 63 bits\n")


@pytest.mark.unit
def test_a_reader_that_hangs_is_stopped(call, dump, monkeypatch):
    monkeypatch.setattr(trace, "_PATIENCE", 0.5)
    popen = trace.subprocess.Popen
    monkeypatch.setattr(trace.subprocess, "Popen", lambda words, **options: popen(
        ["sleep", "60"], **options))
    done = checked(call, dump, "--bound", "9")
    assert done.returncode == 2
    assert "no progress in 0.5 seconds" in done.stderr


# -- the same as hardware --------------------------------------------------------------------------

def sampled(waveform, probe, component):
    """(first, last, latency) of each request of each place, in a waveform of ours."""
    def many(value):
        found = value if isinstance(value, int) else getattr(component, value)
        return found if isinstance(found, int) else len(found)

    probe = replace(probe, in_flight=many(probe.in_flight),
                    over={letter: many(value) for letter, value in probe.over.items()})
    known = {name: value for name, value in vars(component).items()
             if isinstance(value, int) and not name.startswith("_")}
    found, began = [], []
    with open_trace(waveform) as opened:
        opened.scope = "top.dut"
        run = _Pass(opened, Check(probe, formula_bound("1"), known, "top.clk", "top.rst"))
        for sampler in run.probes:
            found.append(rows := [])

            def feed(part, feed=sampler.feed, rows=rows):
                seen = feed(part)
                rows.append(np.column_stack((seen.first, seen.last, seen.latency,
                                             *seen.parameters.T)))
                return seen

            sampler.feed = feed
        for _ in run.requests():
            pass
        for sampler in run.probes:
            assert sampler.problems == []
            began.append(sampler.began)
    return [np.concatenate(rows) for rows in found], began


@pytest.mark.cosim
@pytest.mark.parametrize("name", [
    "dataflow.cache_banks",
    # ticks, a place for each port, a parameter at the ports
    pytest.param("dram.multi_port_front_end", marks=pytest.mark.thorough),
    pytest.param("dram.reorder_core", marks=pytest.mark.thorough),  # by id, past(past(...))
    pytest.param("dram.buffer_table", marks=pytest.mark.thorough)])
def test_a_waveform_has_the_requests_that_hardware_printed(tmp_path, name):
    block = catalogue.load().find(name)
    configuration = next(iter(block.configurations))
    job = Job(name, configuration, block.testbenches[0].name, 1, str(tmp_path), waves=True)
    outcome = run_job(job)
    assert outcome.passed, outcome.reason
    component, top = design(block, job)
    leave_unused(top)
    printed = read_requests(tmp_path / "probes.txt", top.printed()).requests
    compared = 0
    for what, probe in top.probes.items():
        if what in top.classed or probe.declared():
            continue  # printed only for what testbenches have declared
        found, began = sampled(outcome.waveform, probe, component)
        groups = [group for group in printed if group.what == what]
        for seen, rows, many in zip(groups, found, began, strict=True):
            rows[:, :2] += 1  # hardware counts the edge at time 0
            assert (rows[:, :3] == seen.ended[:, :3]).all()
            assert many == len(seen.began)
            shown = {row[0]: row[1:1 + len(seen.names)] for row in seen.began.tolist()}
            assert all(shown[row[0]] == row[3:] for row in rows.tolist())
            compared += len(rows)
    assert compared > 100
