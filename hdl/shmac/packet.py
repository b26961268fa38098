"""SHMAC's packets in hardware (see golden/shmac/packet).

Part of SHMAC's routers and tiles, whose models, testbenches and tests cover it.
"""

from amaranth.lib import data

from cyclebound.golden.shmac.address_map import LOCAL_BITS
from cyclebound.golden.shmac.core_port import DATA_BITS
from cyclebound.golden.shmac.packet import CHANNELS, POSITION
from cyclebound.hdl.parameters import check_integer

__all__ = ["PositionLayout", "RequestPacketLayout", "ResponsePacketLayout", "check_packets",
           "packet_layout"]


def _layout(fields, narrow):
    return data.StructLayout({
        name: _layout(width, narrow) if isinstance(width, dict) else narrow.get(name, width)
        for name, width in fields.items()})


def check_packets(*, channel="request", address_bits=LOCAL_BITS, data_bits=DATA_BITS):
    """Raise `ValueError` or `TypeError` unless there are such packets."""
    if channel not in CHANNELS:
        raise ValueError(f"Channel must be {' or '.join(CHANNELS)}, not {channel!r}")
    check_integer("Address bits", address_bits, 1, LOCAL_BITS)
    check_integer("Data bits", data_bits, 1, DATA_BITS)


def packet_layout(channel, *, address_bits=LOCAL_BITS, data_bits=DATA_BITS):
    """Of the packets of ``"request"`` or ``"response"``; fewer bits are for proofs."""
    return _layout(CHANNELS[channel], {"address": address_bits, "data": data_bits})


PositionLayout = _layout(POSITION, {})
RequestPacketLayout = packet_layout("request")
ResponsePacketLayout = packet_layout("response")
