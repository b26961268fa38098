"""Checks of the parameters that the harness components share."""

__all__ = ["check_integer"]


def check_integer(thing, value, *, least, most=None):
    """Raise unless ``value`` is an integer from ``least`` to ``most``, in words about ``thing``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{thing} must be an integer, not {value!r}")
    if most is None and value < least:
        raise ValueError(f"{thing} must be at least {least}, not {value!r}")
    if most is not None and not least <= value <= most:
        raise ValueError(f"{thing} must be from {least} to {most}, not {value!r}")
