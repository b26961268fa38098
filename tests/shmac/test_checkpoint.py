"""Checkpoints of SHMAC's grid, and the switch from the functional model to the one by cycles."""

import copy
import json
import random
from pathlib import Path

import pytest

from cyclebound.golden.shmac.address_map import tile_base
from cyclebound.golden.shmac.checkpoint import CheckpointError, restore, state_of
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.shmac.checkpoints import load_checkpoint, save_checkpoint
from cyclebound.sim.families.shmac.run import CycleRun, Setup, run_cycles, run_model, switch
from cyclebound.tools.shmac.program import Program, assembled
from cyclebound.tools.shmac.random_programs import DATA, random_program
from kit.shmac_c import needs_compiler

unit = pytest.mark.unit
LAYOUT = Layout(("PRU", "LPC", "J.P"))
RAM = 1 << 15

# all kinds of accesses to all tiles, MULT and DIV, LL and SC, interrupts between cores
ALL = """
        li    $20, 0x0201
        mtc0  $20, $12
        mult  $20, $20
        div   $20, $20
{work}
        sw    $0, -0x1fc($0)
"""


def work(rng, cores):
    text = []
    for _ in range(40):
        row, column = rng.randrange(4), rng.randrange(4)
        place = rng.choice((0, 4, 0x4000, 0x4004, 0x7FFC, 0x8000))
        if (row, column) in cores and place < 8:
            place = 0x4008
        text += [f"li $1, {row << 28 | column << 24 | place:#x}", rng.choice((
            "lw $3, 0($1)", "sw $3, 0($1)", "sb $3, 1($1)", "ll $4, 0($1)\nsc $5, 0($1)",
            f"li $6, {rng.choice(cores)[0] * 16 + rng.choice(cores)[1]}\nsw $6, -0x1f0($0)",
            f"li $6, {rng.randrange(33, 127)}\nsw $6, -0x1f8($0)", "mult $20, $3", "addu $3, $3, $1"
        ))]
    return "\n".join(text)


def setup(seed):
    """Programs that do everything, their exceptions too."""
    rng, programs, cores = random.Random(seed), {}, LAYOUT.tiles(Kind.CORE)
    for tile in cores:
        base = tile_base(*tile)
        code = assembled(ALL.format(work=work(rng, cores)), "all", *tile)
        words = {base + 0x400 + address - code.entry: word
                 for address, word in code.words.items()}
        jump = assembled(f"j {base + 0x400:#x}\nnop", "all", *tile)
        skip = "mfc0 $k1, $14\naddiu $k1, $k1, 4\nmfc0 $k0, $13\nandi $k0, $k0, 0x7c\n"
        handler = assembled(
            skip + "bne $k0, $0, over\nnop\naddiu $k1, $k1, -4\nover: sw $0, -0x1ec($0)\n"
            "sw $0, -0x1f4($0)\njr $k1\nrfe", "all", *tile)
        words |= jump.words
        words |= {base + 0x80 + address - code.entry: word
                  for address, word in handler.words.items()}
        programs[tile] = Program("all", True, code.entry, words, code.regions)
    return Setup(LAYOUT, programs, dict.fromkeys(LAYOUT.tiles(), RAM))


def watched(run):
    """A run that keeps what its networks show."""
    seen = []
    for channel in (run.grid.network.requests, run.grid.network.responses):
        channel.watch = seen.append
    return seen


@unit
@pytest.mark.parametrize("bypass", [True, False])
def test_a_run_from_a_checkpoint_is_the_same_run(tmp_path, bypass):
    """Cycle by cycle: what the networks show, and the whole state every so often."""
    rng, file = random.Random(bypass), tmp_path / "state.json"
    kinds = set()
    for seed in range(3):
        whole = CycleRun(setup(seed), bypass=bypass)
        whole.grid.devices[0, 2].received.extend((7, 8, 9))
        for _ in range(12):
            for _ in range(rng.randrange(1, 90)):
                whole.step()
            save_checkpoint(whole, file)
            again = load_checkpoint(file)
            assert state_of(again.grid) == state_of(whole.grid)
            for tile in whole.grid.tiles.values():
                kinds.add((type(tile.core._begun).__name__, tile.core._kind, tile.core.waits))
            seen, expected = watched(again), watched(whole)
            for _ in range(40):
                whole.step()
                again.step()
                assert set(seen) == set(expected)  # routers in any order
            assert state_of(again.grid) == state_of(whole.grid)
            for channel in (whole.grid.network.requests, whole.grid.network.responses):
                channel.watch = None
        while not whole.ended and whole.cycle < 20_000:
            whole.step()
            again.step()
        assert whole.ended
        assert again.result(0) == whole.result(0)
    assert {("CoreAccess", "load", True), ("CoreAccess", "store", False)} <= kinds
    assert "multiply" in {kind for _, kind, _ in kinds}


@unit
def test_all_registers_and_links_are_in_it():
    """What one core has in each of its registers is there in a new grid."""
    grid = GridModel(Layout(("P",)), words=1024)
    machine = grid.tiles[0, 0].core.machine
    machine.registers = [0, *range(100, 131)]
    numbers = ("hi", "lo", "pc", "next_pc", "branch", "status", "cause", "epc", "bad_address")
    for number, name in enumerate(numbers):
        setattr(machine, name, 1000 + 4 * number)
    machine.in_slot = machine.linked = True
    other = GridModel(Layout(("P",)), words=1024)
    restore(other, json.loads(json.dumps(state_of(grid))))
    copied = other.tiles[0, 0].core.machine
    assert all(getattr(copied, name) == getattr(machine, name)
               for name in ("registers", "in_slot", "linked", *numbers))


@pytest.fixture
def saved(tmp_path):
    run = CycleRun(setup(1), bypass=False)
    for _ in range(150):
        run.step()
    save_checkpoint(run, tmp_path / "state.json")
    return json.loads((tmp_path / "state.json").read_text())


def test_a_run_that_is_killed_while_it_writes_leaves_the_old_checkpoint(saved, tmp_path,
                                                                        monkeypatch):
    write = Path.write_text

    def killed(path, text, **more):
        write(path, text[:len(text) // 2], **more)
        raise KeyboardInterrupt

    run = CycleRun(setup(2), bypass=False)
    monkeypatch.setattr(Path, "write_text", killed)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(run, tmp_path / "state.json")
    assert json.loads((tmp_path / "state.json").read_text()) == saved


def loaded(tmp_path, content):
    (tmp_path / "other.json").write_text(
        content if isinstance(content, str) else json.dumps(content))
    return load_checkpoint(tmp_path / "other.json")


@unit
@pytest.mark.parametrize(("where", "value", "said"), [
    (["version"], 2, "must have version 1, not 2: make it again with this version of cyclebound"),
    (["format"], "pickle", "must be a checkpoint (--checkpoint), which says so in format"),
    (["layout"], ["PX"], "line 1, column 2: a tile must be one of P R L J C U ., not 'X'"),
    (["layout"], ["P"], "programs: there is no core in '1,1'"),
    (["ram"], 4095, "ram must be a whole number, 4096 to 16777216, not 4095"),
    (["ram"], True, "ram must be a whole number, 4096 to 16777216, not True"),
    (["bypass"], 1, "bypass must be true or false, not 1"),
    (["jump"], [[0, 1]], "jump must name tiles with a core, not [0, 1]"),
    (["programs"], {}, "programs must have one"),
    (["cycle"], -1, "cycle must be a whole number, 0 to 4611686018427387904, not -1"),
    (["ended"], {"0,0": 200}, "ended.0,0 must be a whole number, 0 to 150, not 200"),
    (["ended"], {"0,0": 20}, "ended and the state of tile (0, 0) must say the same"),
    (["ended"], {"5,5": 20}, "ended: there is no program in '5,5'"),
    (["console", "0,0"], "0g", "console.0,0 must be bytes in hexadecimal"),
    (["state", "tiles", "0,0", "machine", "registers", 3], 1 << 32,
     "tile (0, 0).registers[3] must be a whole number, 0 to 4294967295, not 4294967296"),
    (["state", "tiles", "0,0", "machine", "registers", 0], 1,
     "tile (0, 0).registers[0] must be 0, not 1"),
    (["state", "tiles", "0,0", "core", "kind"], "__import__",
     ("tile (0, 0).kind must be one of '', 'plain', 'signed', 'checked', 'multiply', 'divide', "
     "'load', 'store', 'trap', not '__import__'")),
    (["state", "tiles", "0,0", "core", "begun"], ["access", [0, 15, False, False, 0]],
     "tile (0, 0): an access that is not the instruction's"),
    (["state", "memories", "0,0", "content"], [[8192, 1]],
     "memory (0, 0)[0] must be a whole number, 0 to 8191, not 8192"),
    (["state", "requests", "routers", "0,0", "turns", 0], [0, 1, 2, 3, 3],
     "requests (0, 0): a turn must have each port once, not [0, 1, 2, 3, 3]"),
])
def test_what_is_no_checkpoint(tmp_path, saved, where, value, said):
    place = saved
    for name in where[:-1]:
        place = place[name]
    place[where[-1]] = value
    with pytest.raises(UserError) as raised:
        loaded(tmp_path, saved)
    assert str(raised.value).removeprefix(f"{tmp_path / 'other.json'}").lstrip(": ") == said


@unit
@pytest.mark.parametrize("text", ["", "{", "[]", "\x00", "[" * 100_000, "1e999", '{"format": 1}'])
def test_what_is_no_json(tmp_path, text):
    with pytest.raises(UserError, match=r"must be a checkpoint"):
        loaded(tmp_path, text)
    with pytest.raises(UserError, match=r"^cannot read .*nowhere: No such file or directory$"):
        load_checkpoint(tmp_path / "nowhere")


def places(value, path=()):
    """Every place in nested data."""
    yield path
    items = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())
    for name, part in items:
        yield from places(part, (*path, name))


@unit
def test_a_broken_checkpoint_is_named_or_runs(tmp_path, saved):
    """Whatever is changed in it, there is one line, or a run without an exception."""
    rng = random.Random(9)
    where = [path for path in places(saved) if path and path[0] != "ram"]
    named = 0
    for _ in range(150):
        content = copy.deepcopy(saved)
        for _ in range(rng.randrange(1, 4)):
            place, path = content, rng.choice(where)
            try:
                for name in path[:-1]:
                    place = place[name]
                if rng.random() < 0.3:
                    del place[path[-1]]
                else:
                    place[path[-1]] = rng.choice((
                        None, True, False, 0, 1, 7, -1, 1 << 31, 1 << 40, 1.5, "", "x", [], {}, [0],
                        [[0, 0]], place[rng.choice(list(place) if isinstance(place, dict)
                                                   else range(len(place)))]))
            except (KeyError, IndexError, TypeError):
                continue  # it went away with the change before
        try:
            run = loaded(tmp_path, content)
        except UserError:
            named += 1
            continue
        for _ in range(100):
            run.step()
    assert named > 75


@unit
def test_a_state_of_another_grid():
    with pytest.raises(CheckpointError, match=r"^tiles must have 0,0, not 0,0, 0,1$"):
        restore(GridModel(Layout(("P",)), words=1024),
                {**state_of(GridModel(Layout(("PP",)), words=1024))})


SUM = """
        li    $8, 30
        lui   $9, {high}
        nop
again:  sw    $8, 0x400($9)
        lw    $10, 0x400($9)
        addu  $11, $11, $10
        addiu $8, $8, -1
        bgtz  $8, again
        nop
        sw    $11, -0x1f8($0)
        sw    $11, -0x1fc($0)
"""


def summing(*tiles):
    layout = Layout(("PP", "LU"))
    return Setup(layout, {tile: assembled(SUM.format(high=hex(tile[0] << 12 | tile[1] << 8)),
                                          "sum", *tile) for tile in tiles},
                 dict.fromkeys(layout.tiles(), 4096))


@unit
def test_the_switch_goes_on_where_the_functional_model_was():
    made = summing((0, 0), (0, 1))
    by_instruction, by_cycle = run_model(made, limit=10_000), run_cycles(
        CycleRun(made), limit=10_000)
    for place in (0, 8, 0x10, 0x1C, 0x20, 0x2C, 0x30, 0x34):  # bootstrap, slots, loop, its end
        said = []
        run = CycleRun(made, console=lambda tile, byte, said=said: said.append((tile, byte)))
        rounds = switch(run, {(0, 0): place}, limit=10_000)
        before = run.cycle
        assert (before, run.grid.tiles[0, 1].clock) == (0, rounds)
        done = run_cycles(run, limit=10_000)
        for tile, result in by_instruction.tiles.items():
            assert (done.tiles[tile].status, done.tiles[tile].console) == (
                result.status, result.console)
            assert done.tiles[tile].instructions == result.instructions - rounds
            assert (done.tiles[tile].cycles or 0) <= (by_cycle.tiles[tile].cycles or 0)
        assert sorted(said) == [((0, 0), 465 & 255), ((0, 1), 465 & 255)]


@unit
def test_a_switch_at_once_is_the_run_by_cycles():
    """Nothing has been executed before the bootstrap; the reset's cycle is all that can differ."""
    made = summing((0, 0))
    run = CycleRun(made)
    assert switch(run, {(0, 0): 0}, limit=10) == 0
    whole = CycleRun(made)
    while not whole.ended:
        assert state_of(run.grid) == state_of(whole.grid)
        run.step()
        whole.step()
    assert run.ended


@unit
def test_reservations_and_lines_come_along():
    made = Setup(Layout(("PL",)), {(0, 0): assembled(
        "lui $9, 0x0100\nll $8, 8($9)\nsw $0, -4($9)\nhere: sc $8, 8($9)\nnop\n"
        "lw $10, -0x1f4($0)\nsll $10, $10, 8\nor $8, $8, $10\nsw $8, -0x1fc($0)", "link", 0, 0)},
        {(0, 0): 4096, (0, 1): 4096})
    run = CycleRun(made)
    switch(run, {(0, 0): 0x1C}, limit=100)
    done = run_cycles(run, limit=1_000)
    assert done.tiles[0, 0].status == 0x101  # SC succeeded, and one store had failed


@unit
def test_a_place_that_no_core_comes_to():
    with pytest.raises(UserError, match=r"^no core came to 0x00004000 in \d+ rounds, after which "
                                        r"all programs had ended$"):
        switch(CycleRun(summing((0, 0))), {(0, 0): 0x4000}, limit=10_000)
    with pytest.raises(UserError, match=r"^no core came to 0x00004000 in 20 rounds$"):
        switch(CycleRun(summing((0, 0))), {(0, 0): 0x4000}, limit=20)


@unit
def test_random_programs_of_all_instructions_go_on_from_any_cycle(tmp_path):
    rng, file = random.Random(4), tmp_path / "state.json"
    for _ in range(3):
        made = random_program(rng, units=25, odd=True, origin=0, data=DATA)
        words = {4 * place: word for place, word in enumerate(made.words)}
        run = CycleRun(Setup(Layout(("P",)), {(0, 0): Program("any", True, 0x10, words, ())},
                             {(0, 0): RAM}))
        for _ in range(60):
            for _ in range(rng.randrange(1, 40)):
                run.step()
            save_checkpoint(run, file)
            going = load_checkpoint(file)
            if rng.random() < 0.5:
                run = going  # and on from there
            else:
                for _ in range(10):
                    assert run.grid.step(run=[(0, 0)]) == going.grid.step(run=[(0, 0)])
                run.cycle += 10


@pytest.mark.system
def test_the_commands(call, tmp_path):
    (tmp_path / "sum.s").write_text(SUM.format(high="0"))
    words = ["shmac", "run", "sum.s", "-g", "PP", "-t", "0,1", "--model", "cycle"]
    whole = call(*words)
    said = call(*words, "--checkpoint", "c.json", "--at", "100")
    assert said.stdout.splitlines()[:-1] == whole.stdout.splitlines()[:-1]
    again = call("shmac", "run", "--model", "cycle", "--resume-from", "c.json")
    assert (again.returncode, again.stderr) == (whole.returncode, "")
    assert again.stdout.splitlines()[:-1] == whole.stdout.splitlines()[:-1]
    said = call(*words, "--switch-at", "0x1000010", "--track", "all")
    assert "switched from the functional model after " in said.stdout
    assert "tracked: " in said.stdout


@pytest.mark.system
@needs_compiler
def test_a_switch_at_a_function(call):
    said = call("shmac", "run", "hello", "--model", "cycle", "--switch-at", "main")
    assert said.returncode == 0
    assert "switched from the functional model after " in said.stdout
    said = call("shmac", "run", "hello", "--model", "cycle", "--switch-at", "mian")
    assert said.returncode == 2
    assert said.stderr == ("cyclebound: no address, and no function of these programs, 'mian'; did "
                           "you mean main?\n")


@pytest.mark.system
@pytest.mark.parametrize(("options", "said"), [
    (["sum.s", "--checkpoint", "c", "--at", "1"],
     "--checkpoint is of the golden model by cycles: give --model cycle"),
    (["sum.s", "--switch-at", "0"],
     "--switch-at is of the golden model by cycles: give --model cycle"),
    (["--model", "cycle", "--checkpoint", "c"], "--checkpoint FILE and --at CYCLE go together"),
    (["--model", "cycle", "--at", "1"], "--checkpoint FILE and --at CYCLE go together"),
    (["sum.s", "--model", "cycle", "--resume-from", "c"],
     "--resume-from has its grid and programs; name none"),
    (["--model", "cycle", "--resume-from", "c", "--switch-at", "0"],
     "--switch-at begins on the functional model, and --resume-from does not"),
    (["--model", "cycle", "--resume-from", "c", "--track", "all"],
     ("--track cannot follow packets that were under way at a checkpoint; track them in the run "
      "that wrote it")),
    (["--model", "cycle", "--resume-from", "c"], "cannot read c: No such file or directory"),
    (["sum.s", "--model", "cycle", "--switch-at", "2"],
     "--switch-at takes a function, or an address of 32 bits, a multiple of 4, not 2"),
    (["sum.s", "--model", "cycle", "--checkpoint", "c", "--at", "5000"],
     "--at 5,000 is never: all programs had ended after 530 cycles"),
    (["sum.s", "--model", "cycle", "--checkpoint", "c", "--at", "50", "--limit", "40"],
     "--at must be 0 to 40, the cycles of this run, not 50"),
    (["sum.s", "--model", "cycle", "--checkpoint", "/nowhere/c", "--at", "5"],
     "cannot write /nowhere/c: No such file or directory"),
])
def test_the_command_refuses(call, tmp_path, options, said):
    (tmp_path / "sum.s").write_text(SUM.format(high="0"))
    ran = call("shmac", "run", *options)
    assert (ran.returncode, ran.stderr) == (2, f"cyclebound: {said}\n")
