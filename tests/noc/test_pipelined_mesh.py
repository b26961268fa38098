# amaranth: UnusedElaboratable=no
"""SHMAC's grid with pipelined routers: bounds, and its testbench."""

import pytest

from cyclebound.golden.noc import shmac_bounds as bounds
from cyclebound.hdl.noc.pipelined_mesh import PipelinedMesh


@pytest.mark.unit
def test_refuses():
    with pytest.raises(ValueError, match=r"^Word count must be a power of two, not 3$"):
        PipelinedMesh(rows=1, columns=1, words=3, to_memory_cycles=1, memory_cycles=3,
                      to_core_cycles=2)


@pytest.mark.unit
def test_bounds():
    assert bounds.pipelined_read_lifetime(links=1) == 19
    assert bounds.pipelined_write_lifetime(links=1) == 8
    assert [bounds.pipelined_instruction(bypass=0, operation=kind, links=1)
            for kind in (0, 1, 2)] == [14, 33, 15]
    assert [bounds.pipelined_instruction(bypass=1, operation=kind, links=1)
            for kind in (0, 1, 2)] == [8, 27, 9]



@pytest.mark.unit
def test_bounds_among_other_masters():
    """Alone it is the lifetime; other inputs, and masters at the own one, cost services."""
    alone = {"sharing": 1, "inputs": 1}
    assert bounds.pipelined_mixed_read(links=2, **alone) == bounds.pipelined_read_lifetime(links=2)
    assert [bounds.pipelined_mixed_read(links=1, sharing=f, inputs=n)
            for f, n in ((1, 2), (2, 1), (2, 2))] == [35, 55, 85]
    assert [bounds.pipelined_mixed_write(links=h, sharing=f, inputs=n)
            for h, f, n in ((0, 1, 2), (1, 1, 2), (2, 2, 1))] == [41, 84, 107]
