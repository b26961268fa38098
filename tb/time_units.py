"""Bounds in units of time: what ``120 ns`` says, and how many steps of a simulator that is."""

import re

__all__ = ["EXPONENTS", "scale_of", "unit_of"]

EXPONENTS = {"s": 0, "ms": -3, "us": -6, "ns": -9, "ps": -12, "fs": -15}
"""Units of time, as powers of ten of a second."""


def unit_of(text: str) -> tuple[str, str]:
    """A bound without its unit of time, and the unit; empty if it has none: ``12 ns``."""
    found = re.fullmatch(rf"(.*[\d)\s])({'|'.join(EXPONENTS)})\s*", text)
    if not found or ":" in text or found[1].rstrip()[-1:] in "+-*/%,(":
        return text, ""
    number, unit = found[1].strip(), found[2]
    while decimal := re.fullmatch(r"(\d+)\.(\d+)", number):  # 7.5 ns is 7500 ps
        smaller = next((name for name, exponent in EXPONENTS.items()
                        if exponent == EXPONENTS[unit] - 3), None)
        if smaller is None or len(decimal[2]) > 3:
            break
        number, unit = str(int(decimal[1]) * 1000 + int(decimal[2].ljust(3, "0"))), smaller
    return number, unit


def scale_of(unit: str, step: str) -> tuple[int, int]:
    """A number of ``unit`` times the first, divided by the second, is one of steps: ``10 ps``."""
    factor, _, name = step.partition(" ")
    more = EXPONENTS[unit] - EXPONENTS[name]
    return 10 ** max(0, more), int(factor) * 10 ** max(0, -more)
