"""The search for slow accesses among several masters, on the golden model instead of the RTL."""

import asyncio
import random
from types import SimpleNamespace

import pytest

from cyclebound.golden.noc import shmac_bounds as bounds
from cyclebound.golden.noc.handshake_mesh import HandshakeMeshModel
from cyclebound.golden.noc.routes import Mesh
from cyclebound.golden.noc.shmac_kernel import Kernel, Operation
from cyclebound.tb.bench import Bench
from cyclebound.tb.noc import shmac_search
from cyclebound.tb.noc.shmac_search import (
    IDLE,
    READ,
    WRITE,
    Accesses,
    ShmacGridAdversary,
    doing,
    lives,
    slowest,
)
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
    adversary = ShmacGridAdversary(SimpleNamespace(rng=random.Random(6)),
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


class ModelBench(Bench):
    """A bench whose block is the golden model; inputs are the cores' kernels themselves."""

    def __init__(self):
        self.rng, self.cycle = random.Random(6), 0
        self._compared = self._bits = 0
        self.outputs = {f"{name}.{number}": SimpleNamespace(mask=bit << 4 * number)
                        for number in range(4) for name, bit in FIELDS.items()}

    async def reset(self, *, idle=None):
        self.grid = HandshakeMeshModel(Mesh(1, 4))

    def declare(self, what, at=None, /, **parameters):
        """Nothing is measured."""

    undeclare = declare

    async def play(self, inputs):
        return [seen(self.grid.step(kernels)) for kernels in inputs]


def seen(events):
    """All outputs of the grid in a cycle."""
    return sum((shown.requests | shown.writes << 1 | shown.landed << 2
                | (shown.ends == "operation") << 3) << 4 * number
               for number, shown in enumerate(events.values()))


class ModelTester:
    """What a search needs of a `GridTester`."""

    def __init__(self, bench):
        self.bench, self.tiles, self.model = bench, Mesh(1, 4).tiles, HandshakeMeshModel(Mesh(1, 4))

    @classmethod
    async def fresh(cls, bench):
        await bench.reset()
        return cls(bench)

    def place(self, tile):
        return {"n": self.tiles.index(tile)}

    def word(self, kernels):
        return kernels

    async def cycle(self, kernels):
        shown, = await self.bench.play([kernels])
        self.bench.check(shown, seen(self.model.step(kernels)), 0xFFFF)


def test_what_is_found_is_compared_with_the_model(monkeypatch):
    """A run that compares nothing fails."""
    monkeypatch.setattr(shmac_search, "TRIES", 4)
    bench = ModelBench()
    took = asyncio.run(slowest(bench, ModelTester(bench), Accesses(CORES, CORES[0], (IDLE, READ),
                                                                   (IDLE, READ)),
                               TARGET, "read", "shared"))
    assert took > 0
    assert bench.compared == shmac_search.CYCLES


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
