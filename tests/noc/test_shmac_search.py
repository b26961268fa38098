"""The search for slow accesses among several masters, on the golden model instead of the RTL."""

import random
from types import SimpleNamespace

import pytest

from cyclebound.golden.noc import shmac_bounds as bounds
from cyclebound.golden.noc.handshake_mesh import HandshakeMeshModel
from cyclebound.golden.noc.routes import Mesh
from cyclebound.golden.noc.shmac_kernel import Kernel, Operation
from cyclebound.tb.noc.shmac_search import IDLE, READ, WRITE, Accesses, Adversary, doing, lives
from cyclebound.tools.hill_climb import climb, climbed

pytestmark = pytest.mark.unit

TARGET, CORES = (0, 1), ((0, 2), (0, 3))
FIELDS = {"requests": 1, "writes": 2, "landed": 4, "operated": 8}


def words(plan, **model):
    """Outputs of the first core in each cycle, as the grid has them."""
    grid, does, shown = HandshakeMeshModel(Mesh(1, 4), **model), doing(plan), []
    for kernels in does:
        events = grid.step({tile: Kernel(True, operation=operation, target=TARGET)
                            for tile, operation in kernels.items()})[CORES[0]]
        shown.append(events.requests | events.writes << 1 | events.landed << 2
                     | (events.ends == "operation") << 3)
    return shown


def searched(which, mine, others, tries, **model):
    adversary = Adversary(SimpleNamespace(rng=random.Random(6)),
                          Accesses(CORES, CORES[0], mine, others))
    return climbed(climb(adversary.fresh, adversary.changed, tries=tries, patience=20),
                   lambda plan: lives(words(plan, **model), FIELDS).get(which)).value


def test_the_lives_of_accesses():
    """The longest read, from its request on, and the longest write, which is not the only one."""
    asks = [*[0b0001] * 3, 0b1000, 0, 0b0011, 0, 0b0011, 0b0100, 0, 0b0100, 0b0011, 0b1000, 0b0100]
    assert lives(asks, FIELDS) == {"read": 4, "write": 4}
    assert lives([0b0001, 0], FIELDS) == {}


def test_a_plan_says_what_each_core_does_in_each_cycle():
    plan = {(0, 2): ((IDLE, 1), (READ, 2)), (0, 3): ((WRITE, 1),)}
    assert doing(plan)[:4] == [{(0, 3): Operation.WRITE}, {(0, 2): Operation.READ},
                               {(0, 2): Operation.READ}, {}]


@pytest.mark.thorough
def test_it_finds_slaves_that_hold_their_input():
    """What a bound that does not know of them allows is exceeded."""
    kind = {"links": 1, "sharing": 2, "inputs": 1}
    found = searched("read", (IDLE, READ), (IDLE, READ), 150, late=True)
    assert bounds.shared_read(**kind) < found <= bounds.shared_read(**kind, late=True)


@pytest.mark.thorough
def test_it_finds_reads_among_writes():
    """A write among reads and writes takes longer than the bound among writes allows."""
    kind = {"links": 1, "sharing": 2, "inputs": 1}
    found = searched("write", (READ, WRITE), (READ, WRITE), 60)
    assert bounds.shared_write(**kind) < found <= bounds.mixed_write(**kind)
