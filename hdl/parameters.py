"""Checks of parameters that all components share."""

__all__ = ["check_integer"]


def check_integer(thing, value, least, most=None):
    """Raise unless ``value`` is an integer from ``least`` to ``most``, in words about ``thing``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{thing} must be an integer, not {value!r}")
    if value < least or (most is not None and value > most):
        rule = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{thing} must be {rule}, not {value}")
