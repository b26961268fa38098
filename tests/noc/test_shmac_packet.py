"""SHMAC's packets and their routes: against the hardware's layout, and against XY routes."""

import pytest
from amaranth.hdl import Const

from cyclebound.golden.noc.routes import Mesh, Port, ports, xy_route
from cyclebound.golden.noc.shmac_packet import ShmacPacket, ShmacPort, dimension_order
from cyclebound.hdl.noc.shmac_packet import PacketLayout

unit = pytest.mark.unit


@unit
def test_a_packets_word_is_the_hardwares_layout():
    packet = ShmacPacket(True, False, True, True, (1, 2), (3, 4), 0xABCDEF, 0xDEADBEEF)
    layout = PacketLayout().const({
        "response": 1, "write": 0, "interrupt": 1, "sync": 1,
        "initiator": {"row": 1, "column": 2}, "target": {"row": 3, "column": 4},
        "address": 0xABCDEF, "data": 0xDEADBEEF})
    assert packet.word() == Const.cast(layout.as_value()).value
    assert PacketLayout().size == 4 + 8 + 8 + 24 + 32


@unit
def test_dimension_order_is_the_xy_route():
    mesh = Mesh(3, 4)
    for here in mesh.tiles:
        for there in mesh.tiles:
            for response in (False, True):
                first = ports(xy_route(mesh, here, there))[0]
                local = ShmacPort.MASTER if response else ShmacPort.SLAVE
                found = dimension_order(here, there, response=response)
                assert found == (local if first is Port.LOCAL else first)
