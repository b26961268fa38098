"""What the bounds of SHMAC's gates, and the grid with gates, say and refuse."""

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.shmac.gate import gated_read, gated_write, let_in
from cyclebound.golden.shmac.gate_table import Gates, solve_gates
from cyclebound.golden.shmac.grid_bounds import gated_waits
from cyclebound.golden.shmac.layout import Layout
from cyclebound.hdl.shmac.grid import Grid

pytestmark = pytest.mark.unit
ROW, SQUARE = Layout(("PP",)), Layout(("PP", "PP"))


@pytest.mark.parametrize(("layout", "gates", "message"), [
    (SQUARE, Gates(1, dict.fromkeys(SQUARE.tiles(), 0)),
     r"^gates with a period of 1 must keep accesses apart, but \w+ of core .* meet at the \w+ o"),
    (SQUARE, Gates(14, dict.fromkeys(SQUARE.tiles(), 0)), r"^gates with a period of 14 must keep "),
    (ROW, Gates(8, {(0, 0): 8, (0, 1): 0}), r"^cycle of gate \(0, 0\) must be from 0 to 7, not 8$"),
    (ROW, Gates(8, {(0, 0): 2.5, (0, 1): 0}), r"^cycle of gate \(0, 0\) must be an integer, not "),
    (ROW, Gates(5000, {(0, 0): 0, (0, 1): 1}), r"^period of gates must be from 1 to 4096, not "),
])
def test_a_table_that_is_none(layout, gates, message):
    with pytest.raises((TypeError, ValueError), match=message):
        gated_waits(layout, (0, 0), gates=gates)
    with pytest.raises((TypeError, ValueError), match=message):
        Grid(layout=layout.rows, words=16, period=gates.period, opens=list(gates.opens.values()))


@pytest.mark.parametrize("period", [0, -5, 2.5, True])
def test_a_period_that_is_none(period):
    gates = Gates(period, {(0, 0): 0, (0, 1): 0})
    with pytest.raises((TypeError, ValueError), match=f"^period of gates must be .*, not {period}"):
        gated_waits(ROW, (0, 0), gates=gates)


def test_without_the_way_past_the_router_a_table_is_another():
    """Of one core alone, which may send in each cycle if its RAM always answers in the next."""
    gates, alone = Gates(1, {(0, 0): 0}), Layout(("P",))
    gated_waits(alone, (0, 0), gates=gates, bypass=False)
    Grid(layout=alone.rows, words=16, period=1, opens=[0], bypass=False)
    with pytest.raises(ValueError, match=r"core \(0, 0\) twice meet at the local output"):
        gated_waits(alone, (0, 0), gates=gates)
    with pytest.raises(ValueError, match=r"core \(0, 0\) twice meet at the local output"):
        Grid(layout=alone.rows, words=16, period=1, opens=[0])


def test_waits_behind_gates():
    gates = solve_gates(ROW)
    waits = gated_waits(ROW, (0, 0), gates=gates).named("tile (0, 1)")
    assert (waits.read, waits.write) == (gated_read(period=5, links=1, turn=2) - 1, 4)
    with pytest.raises(NotCovered, match=r"^tile \(1, 0\) must have a core$"):
        gated_waits(ROW, (1, 0), gates=gates)


@pytest.mark.parametrize(("claim", "parameters", "message"), [
    *((claim, {"period": 4, "links": 0, "turn": 1} | wrong, message)
      for claim in (gated_read, gated_write) for wrong, message in (
          ({"period": 0}, "period must be a whole number of at least 1, not 0"),
          ({"period": True}, "period must be a whole number of at least 1, not True"),
          ({"links": -1}, "links must be a whole number of at least 0, not -1"),
          ({"turn": 0}, "turn must be a whole number of 1 to 2, not 0"),
          ({"turn": 3}, "turn must be a whole number of 1 to 2, not 3"))),
    (let_in, {"period": 4, "opens": 9, "cycle": 1}, "opens must be a whole number of 0 to 3, not "),
    (let_in, {"period": 4, "opens": 2, "cycle": 7}, "cycle must be a whole number of 0 to 3, not "),
    (let_in, {"period": 0, "opens": 0, "cycle": 0}, "period must be a whole number of at least 1,"),
])
def test_claims_cover_no_such_request(claim, parameters, message):
    with pytest.raises(NotCovered, match=f"^{message}"):
        claim(**parameters)
