"""Long VCD files are read in pieces, compressed or not: the same verdict, and no more memory."""

import gzip
import json
import os
import random
import subprocess

import pytest

from cyclebound.sim.traces import reader
from cyclebound.sim.traces.check import Check, bound_named, check
from cyclebound.tb.probe import Probe

from .test_check import END, START, traffic, vcd
from .test_trace_fuzz import Local

pytestmark = pytest.mark.unit


class Steps(Local):
    """A waveform of which each step of time is a cycle."""

    def _reply(self):
        return json.dumps([None, *json.loads(super()._reply())])


def looked_at(path, **options):
    probe = Probe(START, END, request={"size": "size"})
    done = check((Steps if options else Local)(path), Check(probe, bound_named("size"), **options))
    return done.finding, done.problems, done.cycles, done.gaps


@pytest.mark.parametrize("size", [64, 100, 999, 5000])
@pytest.mark.parametrize("seed", range(4))
def test_pieces_of_a_text_say_what_the_whole_says(tmp_path, monkeypatch, size, seed):
    chance = random.Random(f"long {seed}")
    cycles = traffic([chance.randrange(1, 9) for _ in range(40)])
    path = vcd(tmp_path / "t.vcd", [
        (*cycle[:2], "1x" if chance.random() < 0.02 else cycle[2], cycle[3]) for cycle in cycles])
    lines = path.read_text().split("\n")
    head = lines.index("$enddefinitions $end") + 1
    for _ in range(30):  # values that do not change, and comments that look like times
        at = chance.randrange(head + 7, len(lines) - 1)
        lines.insert(at, chance.choice(("$comment\n#7\n1! $end", "$comment a\n\n#99999\n#3\n$end")))
    path.write_text("\n".join(lines))
    expected = looked_at(path)
    compressed = tmp_path / "t.vcd.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    assert looked_at(compressed) == expected
    steps = looked_at(path, clock="every-step")
    monkeypatch.setattr(reader, "_PIECE", size)
    opened = []
    stream = reader._Stream
    monkeypatch.setattr(reader, "_Stream", lambda file, numbers: (
        opened.append(file), stream(file, numbers))[1])
    assert looked_at(path) == expected
    assert len(opened) > path.stat().st_size // (4 * size + 500)
    assert looked_at(compressed) == expected
    assert looked_at(path, clock="every-step") == steps
    assert expected[2] == len(cycles)


def test_a_compressed_file(call, tmp_path):
    path = vcd(tmp_path / "t.vcd", traffic([3, 1, 5, 2]))
    (tmp_path / "t.vcd.gz").write_bytes(gzip.compress(path.read_bytes()))
    words = ["--start", START, "--end", END, "--bound", "5", "--reset", "rst"]
    done = call("check", "t.vcd.gz", *words, "--picture", "worst.svg")
    assert done.returncode == 0, done.stderr
    assert "exact" in done.stdout
    assert "request: cycle 8" in (tmp_path / "worst.svg").read_text()
    whole = (tmp_path / "t.vcd.gz").read_bytes()
    for cut in (1, 2, 20, len(whole) - 9):
        (tmp_path / "t.vcd.gz").write_bytes(whole[:cut])
        done = call("check", "t.vcd.gz", *words)
        assert done.returncode == 2
        assert "cannot read the trace t.vcd.gz: " in done.stderr


def test_a_text_without_definitions(call, tmp_path):
    (tmp_path / "t.vcd.gz").write_bytes(gzip.compress(b"$timescale 1ns $end\n" * 9))
    done = call("check", "t.vcd.gz", "--start", "a", "--end", "a", "--bound", "5")
    assert done.returncode == 2
    assert "it has no $enddefinitions" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("gigabytes", [1, 10])
def test_memory_does_not_grow(tmp_path, command, command_environment, gigabytes):
    """A sparse file: most of it is a comment. Requests before it and after it count."""
    first, second = (vcd(tmp_path / f"{n}.vcd", traffic([3, 1, 5, 2])).read_bytes()
                     for n in range(2))
    body = second[second.index(b"$enddefinitions $end\n") + 21:].replace(b"\n#", b"\n#1000")
    body = body[body.index(b"\n#"):]
    path = tmp_path / "t.vcd"
    with path.open("wb") as file:
        file.write(first)
        file.write(b"$comment\n")
        file.seek(gigabytes << 30)
        file.write(b"\n$end" + body)
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen([
            *command, "check", "t.vcd", "--start", START, "--end", END, "--bound", "5", "--reset",
            "rst", "--json", "--clock-stops"], cwd=tmp_path, env=command_environment, stdout=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    found = json.loads((tmp_path / "said").read_text())
    assert (found["verdict"], found["requests"]) == ("exact", 8)
    assert used.ru_maxrss << 10 < 500 << 20
    print(f"{gigabytes} GB: {used.ru_maxrss >> 10} MB, {used.ru_utime + used.ru_stime:.0f} CPU-s")
