"""The description of memory that a program's worst case is computed from."""

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.shmac.memory_waits import AccessKind, MemoryWaits, Region

pytestmark = pytest.mark.unit
RAM = Region("ram", 0, 0x1000, fetch=2, read=3, write=0, after_write=4)
FAR = Region("far", 0x1000, 0x2000, read=40, write=3, load_linked=50, store_conditional=51)
MEMORY = MemoryWaits([FAR, RAM])


@pytest.mark.parametrize(("kind", "low", "high", "name"), [
    (AccessKind.FETCH, 0, 0xFFFF_FFFF, "ram"),
    (AccessKind.READ, 0xFFC, 0xFFF, "ram"),
    (AccessKind.READ, 0xFFC, 0x1000, "far"),
    (AccessKind.WRITE, 0, 0x2000, "ram"),  # 0 + 4, not 3
    (AccessKind.WRITE, 0x1004, 0x2000, "far"),
    (AccessKind.LOAD_LINKED, 0, 0x1FFF, "far"),
])
def test_the_worst_region(kind, low, high, name):
    assert MEMORY.worst(kind, low, high).name == name


@pytest.mark.parametrize(("kind", "low", "high", "message"), [
    (AccessKind.READ, 0x2000, 0x2000, r"^no region has a read at 0x2000$"),
    (AccessKind.LOAD_LINKED, 0, 0xFFF, r"^no region has a load linked from 0x0 to 0xfff$"),
    (AccessKind.FETCH, 0x1000, 0x1000, r"^no region has a fetch at 0x1000$"),
])
def test_refuses_what_is_nowhere(kind, low, high, message):
    with pytest.raises(NotCovered, match=message):
        MEMORY.worst(kind, low, high)


def test_regions_by_address_and_name():
    assert [MEMORY.at(address) for address in (0xFFF, 0x1000, 0x2000)] == [RAM, FAR, None]
    assert MEMORY.named("far") is FAR
    assert [FAR.cost(kind) for kind in AccessKind] == [None, 40, 3, 50, 51]
    with pytest.raises(NotCovered, match=r"^there is no region 'rom', but ram, far$"):
        MEMORY.named("rom")


def test_one_memory_everywhere():
    memory = MemoryWaits.uniform(fetch=5, read=7, write=1)
    assert [memory.worst(kind).wait(kind) for kind in AccessKind] == [5, 7, 1, 7, 7]
    assert memory.at(0xFFFF_FFFC) is not None


@pytest.mark.parametrize(("arguments", "message"), [
    (("ram", 2, 8), r"^start of region ram must be a multiple of 4 up to 0x100000000, not 0x2$"),
    (("ram", 0, 0), r"^region ram must end after its start 0x0, not at 0x0$"),
    (("ram", -4, 0), r"^start of region ram must be a whole number of at least 0, not -4$"),
    (("ram", 0, 4, 0), r"^fetch of region ram must be a whole number of at least 1, not 0$"),
    (("ram", 0, 4, 1, 1, -1), r"^write of region ram must be .* at least 0, not -1$"),
    (("ram", 0, 4, 1, 1, 0, 1, 1, -1), r"^after_write of region ram must be .* not -1$"),
])
def test_refuses_a_region(arguments, message):
    with pytest.raises(NotCovered, match=message):
        Region(*arguments)


@pytest.mark.parametrize(("regions", "message"), [
    ([], r"^memory must have a region$"),
    ([RAM, Region("more", 0xFFC, 0x1000)], r"^regions ram and more overlap at 0xffc$"),
    ([RAM, Region("ram", 0x1000, 0x1004)], r"^there are two regions 'ram'$"),
])
def test_refuses_a_memory(regions, message):
    with pytest.raises(NotCovered, match=message):
        MemoryWaits(regions)
