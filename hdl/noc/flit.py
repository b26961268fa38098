"""Flits, and the checks that all parts of the network share."""

from amaranth.hdl import unsigned
from amaranth.lib import data

__all__ = ["FlitLayout", "check_integer"]


class FlitLayout(data.StructLayout):
    """``data`` of ``width`` bits, with the marks ``first`` and ``last`` (see golden/noc/packet)."""

    def __init__(self, width):
        super().__init__({"data": unsigned(width), "first": 1, "last": 1})


def check_integer(thing, value, least, most=None):
    """Raise unless ``value`` is an integer from ``least`` to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{thing} must be an integer, not {value!r}")
    if value < least or (most is not None and value > most):
        rule = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{thing} must be {rule}, not {value}")
