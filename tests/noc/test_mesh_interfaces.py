# amaranth: UnusedElaboratable=no
"""The mesh with interfaces: parameters, and its bound. Its testbench runs in the regression."""

import pytest
from amaranth.back import rtlil

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.mesh_interfaces import transfer
from cyclebound.hdl.noc.mesh_interfaces import InterfacedMesh

unit = pytest.mark.unit
TWO = {"rows": 2, "columns": 2}


@unit
def test_interfaces_need_room_for_a_word():
    with pytest.raises(ValueError, match=r"^Longest packet must be at least 3, not 2$"):
        InterfacedMesh(**TWO, longest=2)


@unit
def test_converts_alone():
    assert "attribute \\top 1" in rtlil.convert(InterfacedMesh(**TWO, width=8, longest=4))


@unit
def test_transfer_is_made_of_its_parts():
    parameters = {"payload": 5, "period": 40, "length": 14, "offset": 0}
    alone = transfer(words=5, routers=3, delta=1, **parameters)
    assert alone == bounds.injection(words=5, crossing=0, **parameters) + 6 + 8 - 1
    assert transfer(words=6, routers=3, delta=1, **parameters) > alone
    with pytest.raises(NotCovered, match=r"^delta must be a whole number of at least 1, not 0$"):
        transfer(words=5, routers=3, delta=0, **parameters)
