"""Random VCD files against a small reader of their own: cycles, values and requests are the same.

The other reader takes the text of a file line by line, keeps each signal's bits as text, and knows
nothing of chunks, arrays or the library that reads files for `cyclebound check`.
"""

import random

import pytest

from cyclebound.sim.traces import reader
from cyclebound.sim.traces.check import Check, bound_named, check
from cyclebound.tb.probe import Probe

from .test_trace_fuzz import Local

pytestmark = pytest.mark.unit

SIGNALS = {"!": ("clk", 1), "%": ("req", 1), "&": ("ack", 1), "(": ("id", 2), ")": ("wide", 70)}


def written(path, chance):
    """A file of a few hundred cycles, as untidy as files are."""
    lines = ["$timescale 1ns $end", "$scope module top $end",
             *(f"$var wire {width} {sign} {name} $end" for sign, (name, width) in SIGNALS.items()),
             "$upscope $end", "$enddefinitions $end"]
    time, busy = chance.choice((0, 7)), False
    lines += [f"#{time}", "$dumpvars", "0!" if chance.random() < 0.7 else "x!", "0%", "0&", "b0 (",
              "bx )", "$end"]

    def some(sign):
        width = SIGNALS[sign][1]
        if width == 1:
            return f"{chance.randrange(2)}{sign}"
        bits = "".join(chance.choice("01" + "xz" * (sign == ")")) for _ in range(width))
        return f"b{bits.lstrip('0') or '0' if chance.random() < 0.5 else bits} {sign}"

    for _ in range(chance.randrange(50, 300)):
        values = []
        if not busy and chance.random() < 0.4:
            busy, values = True, ["1%", some("(")]
        answers = busy and chance.random() < 0.4
        values += ["1&" if answers else "0&"]
        values += [some(")")] * (chance.random() < 0.3)
        if chance.random() < 0.2:  # changes that are taken back at once
            values = [some("%")[:1] + "%", *values, *[f"{int(busy)}%"]]
        time += 1
        lines += [f"#{time}", *values]
        if chance.random() < 0.2:  # the clock falls again before it could be seen
            lines += [f"#{time}", "1!", "0!"] if lines[-1] != "1!" else []
        time += chance.choice((3, 4))
        lines += [f"#{time}", "1!", *["1!"] * (chance.random() < 0.1)]
        if answers:
            busy = False
            lines += ["0%", "0&"]
        time += chance.choice((2, 3))
        lines += [f"#{time}", "0!"]
    path.write_text("\n".join([*lines, ""]))
    return path


def reference(path):
    """Of each cycle its end and the bits of each signal as text, read line by line."""
    moments = []
    for line in path.read_text().split("$enddefinitions $end\n")[1].split("\n"):
        if line[:1] == "#":
            if not moments or moments[-1][0] != int(line[1:]):
                moments.append((int(line[1:]), []))
        elif line[:1] == "b":
            bits, sign = line[1:].split()
            fill = bits[0] if bits[0] in "xz" else "0"
            moments[-1][1].append((sign, bits.rjust(SIGNALS[sign][1], fill)))
        elif line[1:] in SIGNALS:
            moments[-1][1].append((line[1:], line[0]))
    now, cycles = dict.fromkeys(SIGNALS, ""), []
    for time, changes in moments:
        before = dict(now)
        now.update(changes)
        if before["!"] and before["!"] != "1" and now["!"] == "1":
            cycles.append((time, before))
    return cycles


def requests(cycles):
    """(first, last, id) of each request, cycle by cycle."""
    found, began, stays = [], None, False
    for number, (_, bits) in enumerate(cycles):
        req, ack = bits["%"] == "1", bits["&"] == "1"
        if req and not stays:
            began = number, int(bits["("], 2)
        if req and ack:
            found.append((began[0], number, began[1]))
        stays = req and not ack
    return found


@pytest.mark.parametrize("seeds", [
    range(8), pytest.param(range(8, 1000), marks=pytest.mark.thorough)], ids=["some", "many"])
def test_a_file_is_read_as_another_reader_reads_it(tmp_path, monkeypatch, seeds):
    compared = 0
    for seed in seeds:
        chance = random.Random(f"reference {seed}")
        path = written(tmp_path / "t.vcd", chance)
        monkeypatch.setattr(reader, "_PIECE", chance.choice((200, 3000, 1 << 25)))
        monkeypatch.setattr(reader, "STEPS", chance.choice((7, 1 << 16)))
        expected = reference(path)
        trace = Local(path)
        names = {sign: f"top.{name}" for sign, (name, _) in SIGNALS.items()}
        found = []
        for chunk in trace.chunks("top.clk", names.values()):
            for at, time in enumerate(chunk.times.tolist()):
                found.append((time, {}))
                for sign, name in names.items():
                    lane = chunk.lanes[name]
                    value = int(lane.values[at])
                    unknown = 0 if lane.unknown is None else int(lane.unknown[at])
                    found[-1][1][sign] = "".join(
                        "x" if unknown >> bit & 1 else str(value >> bit & 1)
                        for bit in reversed(range(lane.width)))
            assert not chunk.gaps, seed
        assert [time for time, _ in found] == [time for time, _ in expected], seed
        for (_, bits), (_, other) in zip(found, expected, strict=True):
            assert bits == {sign: text.replace("z", "x") for sign, text in other.items()}, seed
        probe = Probe("req & ~past(req & ~ack)", "req & ack", request={"id": "id"})
        done = check(Local(path), Check(probe, bound_named("id + 100")))
        took = sorted(last - first + 1 for first, last, _ in requests(expected))
        assert [latency for latency, many in done.finding.histogram
                for _ in range(many)] == took, seed
        assert not done.problems, seed
        assert done.finding.kinds == len({number for *_, number in requests(expected)}), seed
        compared += len(took)
    assert compared > 10 * len(seeds)
