"""Checks of the parameters that the dataflow units share."""

from cyclebound.hdl.parameters import check_integer

__all__ = ["check_depth"]


def check_depth(depth, tid_width):
    """Raise unless ``depth`` is 2, 4, 8 or 16 and a thread id has bits above its index."""
    check_integer("depth", depth, least=2, most=16)
    if depth & (depth - 1):
        raise ValueError(f"depth must be a power of two, not {depth}")
    check_integer("tid width", tid_width, least=depth.bit_length(), most=32)
