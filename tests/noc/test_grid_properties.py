# amaranth: UnusedElaboratable=no
"""Checkers of whole grids, each claim: a puppet with the grid's ports shows what it must not."""

import pytest

from cyclebound.hdl.noc.handshake_mesh import HandshakeMesh
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.mesh_interfaces import InterfacedMesh
from cyclebound.tb.noc import grid_properties as properties
from kit.puppet import Puppet, show

pytestmark = pytest.mark.unit

SIZE = {"rows": 1, "columns": 2}
MAKE = {
    properties.MeshCheck: lambda: Mesh(**SIZE, longest=4),
    properties.InterfacedMeshCheck: lambda: InterfacedMesh(**SIZE),
    properties.TileGridCheck: lambda: HandshakeMesh(
        **SIZE, to_memory_cycles=1, memory_cycles=2, to_core_cycles=1)}


def watch(check, *cycles):
    grid = MAKE[check]()
    puppet = Puppet(grid, longest=getattr(grid, "longest", None))
    show(puppet, check(puppet), *cycles)


def flit(port, *, first=0, last=0, taken=1):
    return {f"{port}.valid": 1, f"{port}.ready": taken,
            f"{port}.payload": {"first": first, "last": last}}


PACKET = [flit("sinks.0", first=1), flit("sinks.0"), flit("sinks.0"), flit("sinks.0"),
          flit("sinks.0", last=1)]


def test_nothing_fires_without_a_fault():
    watch(properties.MeshCheck, *PACKET, flit("sources.1", first=1), flit("sources.1", last=1))
    watch(properties.InterfacedMeshCheck, {"words.0.valid": 1, "words.0.ready": 1},
         {"received.1.valid": 1, "received.1.ready": 1})
    watch(properties.TileGridCheck, {"requests.1": 1, "writes.1": 1}, {"landed.1": 1},
         {"operated.1": 1}, {"requests.0": 1, "writes.0": 1, "operated.0": 1})


@pytest.mark.parametrize(("check", "cycles", "says"), [
    (properties.MeshCheck, [flit("sources.1", first=1)], "flits: more leave than have entered"),
    (properties.MeshCheck, [*PACKET, flit("sources.1")],
     "source 1: a packet is not kept together"),
    (properties.MeshCheck, [*PACKET, *[flit("sources.1", first=1)] * 2],
     "source 1: a packet is not kept together"),
    (properties.MeshCheck, [*PACKET, flit("sources.1", first=1), *[flit("sources.1")] * 3],
     "source 1: a packet too long"),
    (properties.MeshCheck, [flit("sources.0", first=1, taken=0), {}],
     "source 0: offer withdrawn or changed"),
    (properties.InterfacedMeshCheck, [{"received.0.valid": 1, "received.0.ready": 1}],
     "words: more leave than have entered"),
    (properties.InterfacedMeshCheck, [{"received.0.valid": 1}, {}],
     "received 0: offer withdrawn or changed"),
    (properties.TileGridCheck, [{"operated.0": 1}],
     "tile 0: an unrequested operation"),
    (properties.TileGridCheck, [{"requests.0": 1}, {"operated.0": 1}, {"operated.0": 1}],
     "tile 0: an unrequested operation"),
    (properties.TileGridCheck, [{"requests.0": 1}, {"fetched.0": 1}, {"operated.0": 1}],
     "tile 0: an unrequested operation"),
    (properties.TileGridCheck, [{"writes.1": 1}], "tile 1: a write without a request"),
    (properties.TileGridCheck, [{"requests.0": 1}, {"landed.0": 1}],
     "tile 0: a write lands that none is"),
    (properties.TileGridCheck, [{"malformed.1": 1}], "tile 1: a packet is dropped"),
    (properties.TileGridCheck, [{"unroutable.0": 2}], "tile 0: a packet is dropped")])
def test_checker_fires(only, check, cycles, says):
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        watch(check, *cycles)


@pytest.mark.parametrize(("check", "cycles", "says"), [
    (properties.MeshCheck, [flit("sinks.1", first=1, taken=0), {}],
     "offer: sink 1: offer withdrawn or changed"),
    (properties.InterfacedMeshCheck, [{"words.1.valid": 1}, {}],
     "offer: words 1: offer withdrawn or changed"),
    (properties.InterfacedMeshCheck, [{}, {"windows.0.period": 5}],
     "fixed: a window changed")])
def test_checker_names_the_neighbour_that_breaks_the_rules(check, cycles, says):
    with pytest.raises(AssertionError, match=f"^Assumption violated: {says}$"):
        watch(check, *cycles)
