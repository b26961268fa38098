"""Whole numbers that a user gives: Python's, numpy's, and nothing that only looks like one."""

import operator

__all__ = ["whole"]


def whole(thing: str, value: object, least: int, most: int | None = None) -> int:
    """``value`` as an int of Python.

    Raises `TypeError` unless it is a whole number (``bool`` is none), and `ValueError` unless it
    is from ``least`` to ``most``.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{thing} must be a whole number, not {value!r}") from None
    if number < least:
        raise ValueError(f"{thing} must be at least {least}, not {number}")
    if most is not None and number > most:
        raise ValueError(f"{thing} must be at most {most}, not {number}")
    return number
