# amaranth: UnusedElaboratable=no
"""TDMA gates of SHMAC's grid: their tables, and that a program's time is its own."""

import itertools
import random

import pytest

from cyclebound.golden.noc.tdma import Infeasible
from cyclebound.golden.shmac.address_map import (
    SystemRegister,
    entry_of,
    tile_base,
    tile_of,
)
from cyclebound.golden.shmac.gate import GateModel, gated_read, gated_write
from cyclebound.golden.shmac.gate_table import Gates, check_gates, meetings, solve_gates, turn, way
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.hdl.shmac.gate import Gate
from cyclebound.hdl.shmac.grid import Grid
from cyclebound.sim.families.shmac.rtl import run_rtl
from cyclebound.sim.families.shmac.run import Setup
from cyclebound.sim.pictures.interference import cycles_in
from cyclebound.tb.shmac.gate_properties import GateCheck
from cyclebound.tools.shmac.assembler import assemble
from cyclebound.tools.shmac.interference import (
    Attack,
    aimed,
    attacked,
    drawn,
    exposed,
    search,
    strays,
    timed,
    victim,
)
from cyclebound.tools.shmac.program import Program, Region
from kit.planted import refuted
from kit.puppet import Puppet, show

unit = pytest.mark.unit
SQUARE = Layout(("PP", "PP"))
SMALL = Layout(("PR", "LP"))


@unit
@pytest.mark.parametrize(("rows", "bypass", "period"), [
    (("P",), True, 2), (("P",), False, 1), (("PP",), True, 5), (("PR", "LP"), True, 8),
    (("PP", "PP"), True, 14), (("PP", "PP"), False, 7), (("PPPP",), True, 14),
    (("JCP", "PRR", "RPR"), True, 14), (("U.", ".P"), True, 4),
])
def test_the_least_period(rows, bypass, period):
    layout = Layout(rows)
    gates = solve_gates(layout, bypass=bypass)
    assert gates.period == period
    assert list(meetings(layout, gates, bypass=bypass)) == []
    for less in range(1, period):
        with pytest.raises(Infeasible):
            solve_gates(layout, bypass=bypass, period=less)


@unit
def test_solver_and_checker_agree():
    """Any tables of a row: what the checker finds nothing in is what the solver may give."""
    rng, free = random.Random(1), 0
    layout = Layout(("PRP",))
    for _ in range(300):
        period = rng.randrange(5, 16)
        gates = Gates(period, {tile: rng.randrange(period) for tile in layout.tiles(Kind.CORE)})
        if not list(meetings(layout, gates)):
            free += 1
            assert solve_gates(layout, period=period)
    assert free > 20


@unit
@pytest.mark.parametrize(("layout", "period", "message"), [
    (SQUARE, 6, r"^no gates have a period of 6 cycles: core \(0, 0\) meets itself$"),
    (SQUARE, 7, r"^no gates have a period of 7 cycles: cores \(0, 1\), \(1, 0\), \(1, 1\) exclude"),
    (SQUARE, 0, r"^period of gates must be from 1 to 4096, not 0$"),
    (Layout(("RU",)), None, r"^gates are for cores, and the layout has none$"),
])
def test_no_table(layout, period, message):
    with pytest.raises(ValueError, match=message):
        solve_gates(layout, period=period)


@unit
@pytest.mark.parametrize(("gates", "message"), [
    (Gates(8, {(0, 0): 0}), r"^core \(1, 1\) must have a gate$"),
    (Gates(8, {(0, 0): 0, (1, 1): 4, (0, 1): 2}), r"^a gate must be a core's, and tile \(0, 1\) "),
    (Gates(8, {(0, 0): 0, (1, 1): 8}), r"^cycle of gate \(1, 1\) must be from 0 to 7, not 8$"),
])
def test_refuses(gates, message):
    with pytest.raises(ValueError, match=message):
        check_gates(SMALL, gates)
    with pytest.raises(ValueError, match=message):
        GridModel(SMALL, words=16, gates=gates)


def grids(layout, gates, *, bypass=True):
    return lambda: GridModel(layout, words=8192, bypass=bypass, gates=gates)


@unit
@pytest.mark.parametrize("layout", [Layout(("PP",)), SMALL])
def test_a_programs_time_is_its_own(layout):
    tile = layout.tiles(Kind.CORE)[-1]
    gated = search(grids(layout, solve_gates(layout)), layout, tile, tries=4, seed=1)
    assert len(set(gated)) == 1
    free = search(grids(layout, None), layout, tile, tries=4, seed=1)
    assert len(set(free)) > 1


@pytest.mark.thorough
@unit
@pytest.mark.parametrize(("rows", "bypass"), [
    (("PP", "PP"), True), (("PP", "PP"), False), (("PR", "LP"), True), (("PRPP",), True),
    (("JCP", "PUL", "RP."), True), (("JCP", "PUL", "RP."), False)])
def test_no_attack_changes_a_programs_time(rows, bypass):
    layout = Layout(rows)
    for seed, tile in enumerate(layout.tiles(Kind.CORE)):
        gates = solve_gates(layout, bypass=bypass)
        found = search(grids(layout, gates, bypass=bypass), layout, tile, tries=20, seed=seed)
        assert len(set(found)) == 1


def late(gate):
    return gate._until in (0, gate._period - 1)


FAULTS = {  # what is planted into the model, and the grid: its tiles, and whether cores bypass
    "it closes a cycle late": ({"open": property(late)}, ("PP",), False),
    "a slave's time is not even": ({"holds": property(lambda _: False, lambda gate, value: None)},
                                   ("PP", "PP"), True),
}


@unit
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_leaks_are_found(monkeypatch, fault):
    planted, rows, bypass = FAULTS[fault]
    layout = Layout(rows)
    gates = solve_gates(layout, bypass=bypass)
    for name, value in planted.items():
        monkeypatch.setattr(GateModel, name, value, raising=False)
    found = search(grids(layout, gates, bypass=bypass), layout, layout.tiles()[-1], tries=4,
                   seed=2)
    assert len(set(found)) > 1


class Late(GateModel):
    """Closes a cycle late."""

    open = property(late)


def delays(layout, gates, core, tile, *, bypass):
    """Whether a request of this core that goes a cycle late can delay one of the other's.

    It must want an output in the cycle in which the other does, or hold it then; and it must be one
    that can go late. Past the router any can, but an interrupt of a core to itself does not wait at
    its RAM: it is there three cycles after it went, and the next store no sooner than after four.
    By the router the first fetch can, and an access if its phase follows from that of its fetch,
    nine cycles before.
    """
    period = gates.period
    accesses = bypass or 1 in {(9 + phase) % period for phase in (0, 1)}
    for target, theirs in itertools.product(layout.tiles(), repeat=2):
        if accesses or target == core:
            for (resource, lag, length), (where, distance, _) in itertools.product(
                    way(layout, core, target, bypass=bypass),
                    way(layout, tile, theirs, bypass=bypass)):
                after = gates.opens[tile] + distance - (gates.opens[core] + 1 + lag)
                if resource == where and after % period < (1 if target == core else length):
                    return True
    return False


@unit
@pytest.mark.parametrize(("rows", "bypass"), [
    (("PP",), True),
    *(pytest.param(rows, bypass, marks=pytest.mark.thorough) for rows, bypass in (
        (("PP",), False), (("PR", "LP"), True), (("PR", "LP"), False), (("PPP",), True),
        (("PPP",), False), (("PR", "PP"), True), (("PR", "PP"), False), (("PRPP",), True)))])
def test_a_late_gate_is_found_wherever_it_delays(rows, bypass):
    layout = Layout(rows)
    gates = solve_gates(layout, bypass=bypass)
    right = grids(layout, gates, bypass=bypass)
    for core in gates.opens:
        def wrong(core=core):
            grid = right()
            grid.gates[core] = Late(period=gates.period, opens=gates.opens[core], evens=bypass)
            return grid
        known = strays(wrong, layout, gates, core, bypass=bypass)
        assert known
        for tile in gates.opens.keys() - {core}:
            program = exposed(layout, tile)
            alone = timed(right(), layout, tile, program, Attack())
            found = False
            for attack in aimed(layout, gates, core, known, tile, alone, bypass=bypass):
                assert timed(right(), layout, tile, program, attack) == alone
                found = timed(wrong(), layout, tile, program, attack) != alone
                if found:
                    break
            assert found == delays(layout, gates, core, tile, bypass=bypass), (core, tile)


@unit
def test_a_table_of_masters_that_meet_is_found():
    gates = Gates(14, dict.fromkeys(SQUARE.tiles(), 0))
    assert len(set(search(grids(SQUARE, gates), SQUARE, (1, 1), tries=6, seed=1))) > 1


@unit
def test_the_picture():
    cycles = cycles_in(("PP",), 4, 1)
    assert len(set(cycles["gates"])) == 1
    assert min(cycles["round robin"]) == cycles["round robin"][0] < max(cycles["round robin"])


ACCESS = """
        li    $9, {there:#x}
        {what} $10, 0x7000($9)
        sw    $0, {EXIT}($0)
"""


@unit
@pytest.mark.parametrize(("what", "bound"), [("lw", gated_read), ("sw", gated_write)])
def test_an_access_takes_its_bound_at_worst(what, bound):
    """From each tile to each other one, from its offer in each cycle of the period on."""
    layout, said = Layout(("PRP",)), {"EXIT": SystemRegister.EXIT - (1 << 32)}
    gates = solve_gates(layout)
    for master in layout.tiles(Kind.CORE):
        for target in layout.tiles():
            took = set()
            for late in range(gates.period if target != master else 0):
                text = ACCESS.format(there=tile_base(*target), what=what, **said)
                grid = GridModel(layout, words=8192, gates=gates)
                start = tile_base(*master) or 16
                for place, word in enumerate(assemble(text, origin=start)):
                    grid.rams[master].content[start % (1 << 24) // 4 + place] = word
                took.add(duration(grid, master, target, reads=what == "lw", late=late))
            if took:
                assert max(took) == bound(
                    period=gates.period, links=abs(master[1] - target[1]),
                    turn=turn(layout.kind(target), bypass=True)) - (
                        what == "sw" and target != (0, 1))  # no core that runs comes first there
                assert len(took) == gates.period


def duration(grid, master, target, *, reads, late):
    """Cycles of the access to the target, from its offer to where it ends; the core is let run
    so many cycles after reset."""
    begun = None
    for cycle in range(1000):
        run = [master] if cycle >= late else []
        if begun is None and grid.tiles[master].offer(bool(run)) is not None:
            begun = cycle
        if begun is not None:
            ends = (grid.network.responses.offers if reads else grid.network.requests.offers)
            if (master if reads else target) in ends:
                return cycle - begun + 1
        grid.step(run=run)
    raise AssertionError("the access does not end")


@unit
def test_masters_that_meet_are_named():
    assert any(met.startswith("requests of core (0, 0) and (1, 1) meet at the ")
               for met in meetings(SQUARE, Gates(14, dict.fromkeys(SQUARE.tiles(), 0))))
    assert "meet" in next(meetings(Layout(("PPP",)), Gates(6, {
        (0, 0): 0, (0, 1): 1, (0, 2): 3})))


@unit
@pytest.mark.parametrize(("made", "parameters", "message"), [
    (Gate, {"period": 0, "opens": 0}, r"^Period must be from 1 to 4096, not 0$"),
    (Gate, {"period": 5, "opens": 5}, r"^Open cycle must be from 0 to 4, not 5$"),
    (Gate, {"period": 5, "opens": 0, "evens": 1}, r"^Evens must be True or False, not 1$"),
    (Grid, {"period": 8, "opens": [0]}, r"^Opens must have a cycle for each of 2 cores, and none "),
    (Grid, {"opens": [0, 4]}, r"^Opens must have a cycle for each of 2 cores, and none without a "),
    (Grid, {"period": -1}, r"^Period must be at least 0, not -1$"),
])
def test_there_is_no_such_hardware(made, parameters, message):
    more = {"evens": True} if made is Gate else {"layout": SMALL.rows, "words": 16}
    with pytest.raises((TypeError, ValueError), match=message):
        made(**{**more, **parameters})


ASKS = {"requests.valid": 1, "admitted.ready": 1}
GOES = {**ASKS, "requests.ready": 1, "admitted.valid": 1}
READY = {"admitted.ready": 1}
ASKED = {"accesses.valid": 1, "served.valid": 1, "served.ready": 1, "accesses.ready": 1}
WAITS = {"accesses.valid": 1, "served.valid": 1}
EARLY = {"answers.valid": 1}
ANSWERED = {**EARLY, "returned.valid": 1}


@unit
@pytest.mark.parametrize(("cycles", "says"), [
    ([GOES], "a request goes in the wrong cycle"),
    ([ASKS, ASKS], "a request goes in the wrong cycle"),
    ([READY, {**READY, "requests.ready": 1}, {**READY, "requests.ready": 1}],
     "a request is lost, or goes twice"),
    ([ASKED, ANSWERED], "an answer goes in the wrong cycle"),
    ([ASKED, EARLY, EARLY], "an answer goes in the wrong cycle"),
    ([WAITS, ASKED, EARLY], "an answer goes in the wrong cycle"),
    ([WAITS, {}, {**ASKED, "served.payload.data": 3}], "what the network asks is changed"),
])
def test_the_checker_fires(cycles, says):
    puppet = Puppet(Gate(period=3, opens=1, evens=True), period=3, opens=1, evens=True)
    with pytest.raises(AssertionError, match=f"violated: {says}$"):
        show(puppet, GateCheck(puppet), *cycles)


@unit
def test_the_checker_is_silent_where_all_is_well():
    puppet = Puppet(Gate(period=3, opens=1, evens=True), period=3, opens=1, evens=True)
    show(puppet, GateCheck(puppet), ASKS, GOES, ASKS, ASKS, {**GOES, **ASKED}, EARLY,
         {**ANSWERED, **WAITS}, {**GOES, **ASKED}, ANSWERED)


def on_the_rtl(folder, layout, tile, program, attack, gates):
    """Cycles of the victim's program on the RTL, where all are let run in one cycle."""
    words = attacked(layout, tile, program, attack)
    programs = {}
    for core in (tile, *attack.programs):
        own = {address: word for address, word in words.items() if tile_of(address) == core}
        region = Region("program", tile_base(*core), 0x8000, True)
        programs[core] = Program("attack", True, entry_of(*core), own, (region,))
    ram = dict.fromkeys(layout.tiles(), 0x8000)
    # an attack does not end
    ran = run_rtl(Setup(layout, programs, ram), limit=3_000, gates=gates, folder=folder)
    assert ran.tiles[tile].status == 0
    return ran.tiles[tile].cycles


@pytest.mark.cosim
@pytest.mark.thorough
@pytest.mark.parametrize("gated", [True, False])
def test_a_programs_time_is_its_own_on_the_rtl(tmp_path, gated):
    """With gates in each attack the same, without them not; compared with no model. The attacks are
    drawn for it: the program alone, and five."""
    rng, tile = random.Random(3), (1, 1)
    program = victim(rng, SMALL, tile)
    gates = solve_gates(SMALL) if gated else None
    attacks = [Attack(), *(drawn(rng, SMALL, tile) for _ in range(5))]
    took = {on_the_rtl(tmp_path, SMALL, tile, program, attack, gates) for attack in attacks}
    assert (len(took) == 1) == gated


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize(("old", "new", "says"), [
    ("opened = self.until == 0", "opened = self.until <= 1", "a request is lost, or goes twice"),
    ("accesses.ready & ~self.waited", "accesses.ready", "an answer is lost, or goes twice"),
    ("self.until.eq(self.period - 1)", "self.until.eq(self.period - 2)", "the count"),
])
def test_faults_are_found(old, new, says):
    assert says in refuted("shmac.gate", "gate", (old, new))
