"""Flits of the network on chip."""

from amaranth.hdl import unsigned
from amaranth.lib import data

__all__ = ["FlitLayout"]


class FlitLayout(data.StructLayout):
    """``data`` of ``width`` bits, with the marks ``first`` and ``last`` (see golden/noc/packet)."""

    def __init__(self, width):
        super().__init__({"data": unsigned(width), "first": 1, "last": 1})
