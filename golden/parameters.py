"""Checks of parameters that components, models and specifications share."""

__all__ = ["check_integer", "check_power_of_two"]


def check_integer(thing: str, value: object, least: int, most: int | None = None) -> None:
    """Check that ``value`` is an integer from ``least`` to ``most``; ``thing`` is its name.

    Raises `TypeError` for no integer (``bool`` is none), `ValueError` for one outside the range.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{thing} must be an integer, not {value!r}")
    if value < least or (most is not None and value > most):
        rule = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{thing} must be {rule}, not {value}")


def check_power_of_two(thing: str, value: object, least: int = 1, most: int | None = None) -> None:
    """Check that ``value`` is a power of two from ``least`` to ``most``.

    Raises `TypeError` for no integer, `ValueError` for another number or one outside the range.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{thing} must be an integer, not {value!r}")
    if value < least or (most is not None and value > most) or value & value - 1:
        rule = (f" from {least} to {most}" if most is not None else
                f" of at least {least}" if least > 1 else "")
        raise ValueError(f"{thing} must be a power of two{rule}, not {value}")
