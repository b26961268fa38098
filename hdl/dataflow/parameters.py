"""Checks of the parameters that the dataflow units share."""

__all__ = ["check_depth", "check_integer"]


def check_integer(thing, value, *, least, most=None):
    """Raise unless ``value`` is an integer from ``least`` to ``most``, in words about ``thing``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{thing} must be an integer, not {value!r}")
    if most is None and value < least:
        raise ValueError(f"{thing} must be at least {least}, not {value}")
    if most is not None and not least <= value <= most:
        raise ValueError(f"{thing} must be from {least} to {most}, not {value}")


def check_depth(depth, tid_width):
    """Raise unless ``depth`` is 2, 4, 8 or 16 and a thread id has bits above its index."""
    check_integer("depth", depth, least=2, most=16)
    if depth & (depth - 1):
        raise ValueError(f"depth must be a power of two, not {depth}")
    check_integer("tid width", tid_width, least=depth.bit_length(), most=32)
