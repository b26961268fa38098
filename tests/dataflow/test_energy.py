"""Counters of a run's events, and the energy that follows from costs of them."""

import json
import sys
from collections import Counter

import numpy as np
import pytest

from cyclebound.golden.dataflow import fabric
from cyclebound.golden.dataflow.counters import (
    EVENTS,
    INSTRUCTIONS,
    conserved,
    expected_events,
)
from cyclebound.golden.dataflow.energy import (
    LEAKS,
    PUBLIC,
    Cost,
    Counts,
    costs_in,
    counts_in,
    energy_of,
)
from cyclebound.golden.dataflow.kernel import Floats
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS
from cyclebound.golden.dataflow.kernels import KERNELS, LOOPS
from cyclebound.sim.cli import main as cli
from cyclebound.sim.families.dataflow import run as user_run
from cyclebound.sim.families.dataflow.run import run_kernel

pytestmark = pytest.mark.unit
MEMORY = {"cache_access", "cache_miss", "configuration_word"}
THREADS = 24


def ran(name, **how):
    tested = (KERNELS | LOOPS)[name]
    rng = np.random.default_rng(1)
    arrays = {array: (rng.standard_normal(1100).astype(np.float32)
                      if tested.parameters[array] is Floats
                      else rng.integers(0, 2, 1100).astype(np.int32)) for array in tested.arrays}
    return run_kernel(tested, arrays, constants=CONSTANTS.get(name, {}), threads=THREADS,
                      **how)


@pytest.mark.parametrize("name", ["saxpy", "euclid", "fan1", "bfs_kernel2", "adjust_weights"])
def test_counted_events_are_those_of_what_was_mapped(name):
    run = ran(name)
    assert len(run.events) == len(run.parts)
    for part, events in zip(run.parts, run.events, strict=True):
        assert conserved(events) == []
        assert events.keys() <= EVENTS.keys()
        counted = {event: count for event, count in events.items() if event not in MEMORY}
        assert counted == expected_events(part, THREADS)
        assert events["configuration_word"] == 100
    made = sum(events["cache_access"] for events in run.events)
    if name in ("saxpy", "euclid", "adjust_weights"):  # no thread is left out
        assert made == sum(events["load"] + events["store"] for events in run.events)
    if name == "bfs_kernel2":
        assert made < sum(events["load"] + events["store"] for events in run.events)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(KERNELS | LOOPS))
def test_counted_events_of_all_kernels(name):
    run = ran(name)
    for part, events in zip(run.parts, run.events, strict=True):
        assert conserved(events) == []
        assert Counter({event: count for event, count in events.items()
                        if event not in MEMORY}) == expected_events(part, THREADS)


def test_firings_are_the_results_that_units_have_sent():
    """Firings are counted where results arrive; the golden fabric's units count what they send."""
    run = ran("bfs_kernel2")
    sent = sum(run.busy[0].values())
    assert sent == sum(count for event, count in run.events[0].items()
                       if event in (*INSTRUCTIONS, "join", "label", "phi", "delay", "source"))


@pytest.mark.parametrize("count", [False, True])
def test_the_probe_of_the_rtls_run_is_there(count):
    """A run on the RTL declares its completion, which needs a probe."""
    block, _ = user_run._block(user_run.hardware("small"), count)
    assert [(binding.what, binding.probe is None) for binding in block.bounds] == [
        ("completion", False)]


@pytest.mark.system
@pytest.mark.thorough
@pytest.mark.parametrize("count", [False, True])
def test_events_of_the_rtl_are_the_golden_fabrics(count):
    for name in ("saxpy", "bfs_kernel2"):
        golden, rtl = (ran(name, on=on, fabric="SLLL/SCKL/LLLT", count=count)
                       for on in ("golden", "rtl"))
        assert len(golden.parts) > 1
        assert rtl.events == (golden.events if count else [])
        assert rtl.cycles == golden.cycles
        assert not rtl.differs
        assert not rtl.exceeded


def test_a_token_that_is_not_counted_is_noticed(monkeypatch):
    """A planted fault: links into switches are left out."""
    class Forgets(dict):
        def __setitem__(self, key, value):
            if not key[0].switch:
                super().__setitem__(key, value)

    plain = fabric.FabricModel.__init__

    def made(self, *arguments, **named):
        plain(self, *arguments, **named)
        self.taken = Forgets()

    monkeypatch.setattr(fabric.FabricModel, "__init__", made)
    run = ran("saxpy")
    assert {event: count for event, count in run.events[0].items()
            if event not in MEMORY} != expected_events(run.parts[0], THREADS)


@pytest.mark.parametrize(("events", "message"), [
    ({"buffer_write": 3, "buffer_read": 2, "link": 3},
     "3 tokens were written into buffers, and 2 read from them"),
    ({"link": 5, "switch": 1, "sink": 3}, "5 tokens went over links, and 4 arrived"),
    ({"load": 1, "store": 1, "cache_access": 3}, "3 accesses were made, by 2 loads and stores"),
    ({"load": 1, "cache_access": 1, "cache_miss": 2}, "2 accesses missed, of 1"),
])
def test_sums_that_do_not_agree(events, message):
    assert conserved(events) == [message]
    text = json.dumps({"kernel": "k", "cycles": 1, "units": {}, "events": {"add": 1} | events})
    with pytest.raises(ValueError, match=f"^{message}$"):
        counts_in(text)


def costs(**event):
    return {"event": {name: Cost(pj, "ours") for name, pj in event.items()},
            "leakage": {"compute": Cost(0.5, "ours")}}


def test_energy_and_its_sensitivity():
    counts = Counts("k", 10, {"compute": 2}, {"add": 4, "mul": 1, "switch": 5})
    result = energy_of(counts, costs(add=2, mul=12, switch=1))
    assert result.pj == 4 * 2 + 12 + 5 + 2 * 10 * 0.5
    assert result.instructions == 5  # a switch does none
    assert result.per_instruction == 7
    assert result.instructions_per_joule == pytest.approx(1e12 / 7)
    found = {term.name: result.sensitivity(term) for term in result.terms}
    for name in ("add", "mul", "switch"):  # by another way: with that cost changed
        changed = {"add": 2, "mul": 12, "switch": 1}
        for factor, per_instruction in zip((0.5, 2), found[name], strict=True):
            other = energy_of(counts, costs(**changed | {name: changed[name] * factor}))
            assert per_instruction == pytest.approx(other.per_instruction)
    assert found["leakage compute"] == (6, 9)


def test_what_lacks_a_cost_is_named():
    counts = Counts("k", 10, {"compute": 2, "root": 1}, {"add": 4, "fadd": 1, "mul": 0})
    with pytest.raises(ValueError, match=r"^there is no cost of event.fadd, leakage.root$"):
        energy_of(counts, costs(add=1))


@pytest.mark.parametrize("name", PUBLIC)
def test_public_tables_cost_everything_and_say_why(name):
    table = costs_in(PUBLIC[name].read_text())
    assert set(table["event"]) == set(EVENTS)
    assert set(table["leakage"]) == set(LEAKS)
    assert {"horowitz": 3.1, "aladdin": 12.68}[name] == table["event"]["mul"].pj
    everything = Counts("k", 5, dict.fromkeys(LEAKS, 1), dict.fromkeys(EVENTS, 1))
    assert energy_of(everything, table).pj > 0


@pytest.mark.parametrize(("text", "message"), [
    ("[event.jump]\npJ = 1\nsource = 'x'", "there is no event.jump; known are add, sub, .*"),
    ("[energy.add]\npJ = 1", "there are tables event and leakage, not energy"),
    ("event = 3", r"event must be tables, as \[event.add\]"),
    ("[event]\nadd = 3", "event.add must have pJ and source, and nothing else"),
    ("[event.add]\npJ = 1", "event.add must have pJ and source, and nothing else"),
    ("[leakage.cache]\npJ = 1\nsource = 'x'",
     "leakage.cache must have pJ_per_cycle and source, and nothing else"),
    ("[event.add]\npJ = -1\nsource = 'x'", "event.add: pJ must be a number from 0 to 1e12, not -1"),
    ("[event.add]\npJ = nan\nsource = 'x'",
     "event.add: pJ must be a number from 0 to 1e12, not nan"),
    ("[event.add]\npJ = true\nsource = 'x'",
     "event.add: pJ must be a number from 0 to 1e12, not True"),
    ("[event.add]\npJ = 1\nsource = ' '",
     "event.add: source must say where the number is from, not ' '"),
    ("[event", "Expected '\\]' at the end of a table declaration.*"),
])
def test_costs_that_are_refused(text, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        costs_in(text)


@pytest.mark.parametrize(("text", "message"), [
    ("{", "no JSON: .*"), ("[" * 100000, "no JSON: .*"),
    ("[]", "it must be an object with kernel, cycles, units and events"),
    ('{"kernel": "k", "cycles": -1}', "cycles must be a whole number, not -1"),
    ('{"kernel": "k", "cycles": 1, "units": 3}', "units must be an object"),
    ('{"kernel": "k", "cycles": 1, "units": {"cache": 1}, "events": {"jump": 1}}',
     "events has 'jump'; known are add, .*"),
    ('{"kernel": "k", "cycles": 1, "units": {}, "events": {"add": 1.5}}',
     "events: add must be a whole number, not 1.5"),
    ('{"kernel": "k", "cycles": 1, "units": {}, "events": {}}', "no instruction was done"),
])
def test_counts_that_are_refused(text, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        counts_in(text)


WRONG = {
    "run k.cl -d x=x.csv -d y=x.csv -s a=2 --on interpreter --counts c.json":
        "--counts is of a fabric, which the interpreter lacks; take --on golden",
    "run k.cl -d x=x.csv -d y=x.csv -s a=2 --counts none/c.json":
        "cannot write none/c.json: No such file or directory",
    "energy none.json -c horowitz": "cannot read none.json: No such file or directory",
    "energy c.json -c horowits": "no cost table 'horowits'; did you mean horowitz?",
    "energy c.json -c none.toml": "cannot read none.toml: No such file or directory",
    "energy c.json -c bad.toml": "bad.toml: there is no event.jump; known are",
    "energy c.json -c few.toml": "c.json: there is no cost of event.fadd, event.load, event.store,",
    "energy x.csv -c horowitz": "x.csv: no JSON: ",
}


def test_commands(tmp_path, monkeypatch, capsys):
    def command(text):
        monkeypatch.setattr(sys, "argv", ["cyclebound", "dataflow", *text.split()])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code, *capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("1,2,3,4,\n")
    (tmp_path / "k.cl").write_text("void k(float *x, float *y, float a) {\n"
                                   "int i = get_global_id(0); y[i] += a * x[i];\n}\n")
    (tmp_path / "bad.toml").write_text("[event.jump]\npJ = 1\nsource = 'x'\n")
    (tmp_path / "few.toml").write_text("[event.fmul]\npJ = 100\nsource = 'ours'\n")
    status, said, _ = command("run k.cl -d x=x.csv -d y=x.csv -s a=2 --counts c.json")
    assert status == 0, said
    assert "written: c.json\n" in said
    status, said, _ = command("energy c.json -c horowitz")
    assert status == 0
    assert "20 instructions, " in said
    per_instruction = {}
    for tables in ("horowitz", "aladdin", "horowitz -c few.toml"):
        status, said, _ = command(f"energy c.json -c {tables} --json")
        assert status == 0
        found = json.loads(said)
        assert found["pJ"] == pytest.approx(sum(term["pJ"] for term in found["terms"]))
        per_instruction[tables] = found["pJ_per_instruction"]
    # four multiplications of 3.7 pJ become 100 pJ each, of 20 instructions
    assert per_instruction["horowitz -c few.toml"] == pytest.approx(
        per_instruction["horowitz"] + 4 * 96.3 / 20)
    for text, message in WRONG.items():
        status, said, problem = command(text)
        assert (status, said) == (2, ""), text
        assert problem.startswith(f"cyclebound: {message}"), problem
