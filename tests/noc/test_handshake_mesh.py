# amaranth: UnusedElaboratable=no
"""SHMAC's grid: parameters, the thesis' numbers from formulas and model, the bound of shared reads,
and cores that stop each other."""

from collections import deque

import pytest
from amaranth.back import rtlil

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.noc import shmac_bounds as bounds
from cyclebound.golden.noc.handshake_mesh import HandshakeMeshModel
from cyclebound.golden.noc.routes import Mesh
from cyclebound.golden.noc.shmac_kernel import Kernel, Operation
from cyclebound.hdl.noc.handshake_mesh import HandshakeMesh
from cyclebound.hdl.noc.shmac_core import ShmacCore
from cyclebound.hdl.noc.shmac_memory import ShmacMemory
from cyclebound.sim.drawing.drawing import write
from cyclebound.sim.pictures.handshake import figure, waves
from cyclebound.tb.noc.handshake_mesh import AROUND, CENTRE, FETCH, SHARED, reads, writes

unit = pytest.mark.unit
GIVEN = {"to_memory_cycles": 1, "memory_cycles": 3, "to_core_cycles": 2}


@unit
@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"rows": 0}, ValueError, "Row count must be from 1 to 16, not 0"),
    ({"columns": 17}, ValueError, "Column count must be from 1 to 16, not 17"),
    ({"words": 1}, ValueError, "Word count must be from 2 to 65536, not 1"),
    ({"words": 12}, ValueError, "Word count must be a power of two, not 12"),
    ({"to_memory_cycles": 0}, ValueError, "Cycles to the memory must be from 1 to 255, not 0"),
    ({"memory_cycles": 1}, ValueError, "Cycles of the memory must be from 2 to 255, not 1"),
    ({"to_core_cycles": 256}, ValueError, "Cycles to the core must be from 1 to 255, not 256"),
    ({"to_core_cycles": "2"}, TypeError, "Cycles to the core must be an integer, not '2'"),
    ({"late": 1}, TypeError, "Late must be True or False, not 1"),
    ({"slave_acknowledge": "x"}, ValueError,
     "Slave acknowledge must be passed or accepted, not 'x'")])
def test_refuses(wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        HandshakeMesh(**GIVEN | {"rows": 2, "columns": 2} | wrong)


@unit
@pytest.mark.parametrize("make", [
    lambda: HandshakeMesh(rows=1, columns=2, **GIVEN),
    lambda: ShmacCore(words=4, to_core_cycles=2, bypass_cycles=7),
    lambda: ShmacCore(words=4, to_core_cycles=1, bypass_cycles=2),
    lambda: ShmacMemory(words=4, to_memory_cycles=1, memory_cycles=3),
    lambda: ShmacMemory(words=4, to_memory_cycles=1, memory_cycles=2)])
def test_each_component_converts_alone(make):
    component = make()
    assert "attribute \\top 1" in rtlil.convert(component)


# What the thesis prints, from the formulas

@unit
def test_table_4_4_and_figure_5_7():
    assert bounds.read_lifetime(links=0) == 27
    assert bounds.read_lifetime(links=1) == 47
    assert bounds.write_lifetime(links=1) == 22
    assert bounds.read_lifetime(links=0, after_write=1) == 31


@unit
def test_table_4_3():
    found = [bounds.instruction(bypass=0, operation=kind, links=1) for kind in (0, 1, 2)]
    assert found == [28, 75, 38]
    assert [2000 * cpi + 270 for cpi in found] == [56270, 150270, 76270]


@unit
def test_dual_port_speed_ups():
    single, dual = ([bounds.instruction(bypass=bypass, operation=kind, links=1)
                     for kind in (0, 1, 2)] for bypass in (0, 1))
    assert dual == [8, 55, 14]
    assert [round(one / two, 2) for one, two in zip(single, dual, strict=True)] == [
        3.5, 1.36, 2.71]


@unit
def test_what_the_bounds_do_not_cover():
    with pytest.raises(NotCovered, match=r"^after_write must be a whole number of 0 to 1, not 2$"):
        bounds.read_lifetime(links=0, after_write=2)
    for bound in (bounds.instruction, bounds.pipelined_instruction):
        with pytest.raises(NotCovered, match=r"^operation must be a whole number of 0 to 2"):
            bound(bypass=0, operation=3, links=1)
    with pytest.raises(NotCovered, match=r"^links must be a whole number of at least 0, not -1$"):
        bounds.read_lifetime(links=-1)
    with pytest.raises(NotCovered, match=r"^sharing must be a whole number of at least 1, not 0$"):
        bounds.shared_read(links=1, sharing=0, inputs=1)


@unit
def test_shared_write():
    def by_inputs(links, sharing):
        return [bounds.shared_write(links=links, sharing=sharing, inputs=n) for n in (1, 2, 3, 4)]

    assert by_inputs(1, 1) == [32, 54, 84, 114]
    assert by_inputs(2, 1) == [45, 73, 113, 153]
    assert by_inputs(1, 3) == [92, 138, 208, 278]
    with pytest.raises(NotCovered, match=r"^inputs must be a whole number of at least 1, not 0$"):
        bounds.shared_write(links=1, sharing=1, inputs=0)


# What the model says: the RTL is compared with it in every cycle, by the testbench

def cpi(kernels, cycles=1200, **model):
    """Cycles per instruction, in the second half of the cycles."""
    grid = HandshakeMeshModel(Mesh(3, 3), **model)
    ended = {tile: [] for tile in kernels}
    for now in range(cycles):
        for tile, events in grid.step(kernels).items():
            what = "operation" if tile in kernels and kernels[tile].operation else "fetch"
            if events.ends == what and now >= cycles // 2:
                ended[tile].append(now)
    return {tile: (when[-1] - when[0]) / (len(when) - 1) for tile, when in ended.items()}


@unit
@pytest.mark.parametrize(("name", "masters"), [("read", 3), ("read", 4), ("read", 8),
                                               ("write", 3), ("write", 4), ("dual_write", 2)])
def test_masters_on_one_ram(name, masters):
    kernel = (reads if "read" in name else writes)(CENTRE, bypass="dual" in name)
    found = cpi(dict.fromkeys(AROUND[:masters], kernel))
    assert sum(found.values()) / masters == pytest.approx(SHARED[name][masters - 1], rel=0.02)


@unit
def test_no_service_time_of_reads_satisfies_both_of_the_thesis_statements():
    """"Up to three masters" for single-port RAM needs S > 75 / 4 = 18.75, for dual-port RAM
    S <= 55 / 3 = 18.3; 20 cycles keep the first, 15 the second."""
    def mean(masters, *, bypass, when):
        kernels = dict.fromkeys(AROUND[:masters], reads(CENTRE, bypass=bypass))
        return sum(cpi(kernels, slave_acknowledge=when).values()) / masters

    assert mean(4, bypass=False, when="passed") == pytest.approx(80)
    assert mean(3, bypass=True, when="passed") == pytest.approx(60)
    assert mean(4, bypass=False, when="accepted") == pytest.approx(75)
    assert mean(3, bypass=True, when="accepted") == pytest.approx(55)


@unit
@pytest.mark.parametrize("others", [writes(CENTRE), reads(CENTRE)])
def test_shared_reads_keep_their_bound(others):
    """Of the core in the middle, which is at an input of its own; the others read."""
    grid, first, worst = HandshakeMeshModel(Mesh(3, 3)), None, 0
    kernels = {CENTRE: FETCH, **dict.fromkeys(AROUND[:4], others)}
    for now in range(1500):
        events = grid.step(kernels)[CENTRE]
        first = now if first is None and events.requests else first
        if events.ends:
            worst, first = max(worst, now - first + 1), None
    assert 27 < worst <= bounds.shared_read(links=0, sharing=1, inputs=5)


def lives(begin, *, operations, **model):
    """The longest read and write of the first of some cores in a row, that share an input of the
    RAM of tile 1, if they begin in these cycles and go on without a pause."""
    grid, asked, longest = HandshakeMeshModel(Mesh(1, 4), **model), deque(), {"r": 0, "w": 0}
    tile, asks, read = (0, 2), False, None
    for now in range(400):
        events = grid.step({(0, 2 + number): Kernel(True, operation=operations[number],
                                                    target=(0, 1))
                            for number, first in enumerate(begin) if now >= first})[tile]
        if events.requests and not asks:
            if events.writes:
                asked.append(now)
            else:
                read = now
        asks = events.requests
        if events.landed:
            longest["w"] = max(longest["w"], now - asked.popleft() + 1)
        if events.ends and read is not None:
            longest["r"], read = max(longest["r"], now - read + 1), None
    return longest


@unit
@pytest.mark.parametrize(("late", "slave_acknowledge"), [
    (False, "passed"), (True, "passed"), (False, "accepted"), (True, "accepted")])
def test_a_slave_that_acknowledges_late_holds_its_input(late, slave_acknowledge):
    """Two masters at one input: a bound that does not know of it is exceeded."""
    model = {"late": late, "slave_acknowledge": slave_acknowledge}
    worst = max(lives((30, begin), operations=(Operation.READ,) * 2, **model)["r"]
                for begin in range(20, 41))
    kind = {"links": 1, "sharing": 2, "inputs": 1, "slave_acknowledge": slave_acknowledge}
    assert worst == bounds.shared_read(**kind, late=late)
    assert (worst > bounds.shared_read(**kind)) == late


@unit
@pytest.mark.parametrize("late", [False, True])
def test_reads_among_writes(late):
    """One master reads, the other at its input writes; the search on the RTL has more of them."""
    longest = {"r": 0, "w": 0}
    for mine, theirs in ((Operation.READ, Operation.WRITE), (Operation.WRITE, Operation.READ)):
        for begin in range(10, 90, 7):
            found = lives((50, begin), operations=(mine, theirs), late=late)
            longest = {what: max(longest[what], found[what]) for what in longest}
    kind = {"links": 1, "sharing": 2, "inputs": 1}
    assert bounds.write_lifetime(links=1) < longest["w"] <= bounds.mixed_write(**kind, late=late)
    assert bounds.read_lifetime(links=1) < longest["r"] <= bounds.mixed_read(**kind, late=late)


def stops(columns, targets, **model):
    """Whether cores in a row that read these RAMs stop each other for ever."""
    grid = HandshakeMeshModel(Mesh(1, columns), **model)
    kernels = {(0, n): Kernel(True, True, False, Operation.READ, (0, target))
               for n, target in enumerate(targets) if target is not None}
    since = 0
    for _ in range(2000):
        ended = any(events.ends for events in grid.step(kernels).values())
        since = 0 if ended else since + 1
        if since > 300:
            return True
    return False


@unit
@pytest.mark.parametrize(("targets", "model", "stopped"), [
    ((1, 0), {"late": True}, True),
    ((1, 0), {}, False),
    ((2, 2, 1), {}, False),
    ((2, 2, 1, 1), {}, True),
    ((2, 2, 1, 1), {"slave_acknowledge": "accepted"}, False),
    ((3, 3, 3, 2, 2, 2), {"slave_acknowledge": "accepted"}, True)])
def test_cores_that_read_each_others_ram(targets, model, stopped):
    """With late acknowledges two cores stop each other; without, four in a row, whose requests wait
    for RAMs whose responses wait for the inputs that the requests hold."""
    assert stops(len(targets), targets, **model) == stopped


@unit
def test_picture(tmp_path):
    """A fetch after a write is requested in cycle 7, taken in cycle 11, and answered in 35."""
    found = waves()
    assert [now for now, there in enumerate(found["link: request"]) if there] == [10]
    holds = found["router 0: input master holds a packet"]
    assert holds[10:13] == [True, False, True]
    assert found["core: request"][6:8] == [False, True]
    assert found["core: response"].index(True) == 35
    write(figure(), tmp_path / "waves.svg")
    assert "slave: acknowledge" in (tmp_path / "waves.svg").read_text()

