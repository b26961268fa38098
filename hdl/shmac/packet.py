"""SHMAC's packets in hardware (see golden/shmac/packet).

Part of SHMAC's routers and tiles, whose models, testbenches and tests cover it.
"""

from amaranth.lib import data

from cyclebound.golden.shmac.packet import POSITION, REQUEST_PACKET, RESPONSE_PACKET

__all__ = ["PositionLayout", "RequestPacketLayout", "ResponsePacketLayout"]


def _layout(fields):
    return data.StructLayout({name: _layout(width) if isinstance(width, dict) else width
                              for name, width in fields.items()})


PositionLayout = _layout(POSITION)
RequestPacketLayout = _layout(REQUEST_PACKET)
ResponsePacketLayout = _layout(RESPONSE_PACKET)
