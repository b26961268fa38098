"""Spans of integers: what is known of a result from its operands, such as its sign."""

from collections.abc import Sequence

from cyclebound.golden.dataflow.operations import WIDTH

__all__ = ["ANY", "LEAST", "MASK", "MOST", "Span", "span_after", "wrapped"]

Span = tuple[int, int]  # least and greatest value of an integer
LEAST, MOST, MASK = -1 << WIDTH - 1, (1 << WIDTH - 1) - 1, (1 << WIDTH) - 1
ANY: Span = (LEAST, MOST)


def wrapped(number: int) -> int:
    """What 32 bits are left of a number, with a sign."""
    return ((number - LEAST) & MASK) + LEAST


def _inside(low: int, high: int) -> Span:
    """A span, unless something wraps around."""
    return (low, high) if low >= LEAST and high <= MOST else ANY


def span_after(name: str, spans: Sequence[Span]) -> Span:
    """The span of an operation's result, from those of its operands."""
    (low, high), *rest = spans
    (low2, high2) = rest[0] if rest else (0, 0)
    ends = [(a, b) for a in (low, high) for b in (low2, high2)]
    match name:
        case "+":
            return _inside(low + low2, high + high2)
        case "-":
            return _inside(low - high2, high - low2)
        case "*":
            products = [a * b for a, b in ends]
            return _inside(min(products), max(products))
        case "&" if low >= 0 or low2 >= 0:
            return 0, min(span[1] for span in spans if span[0] >= 0)
        case "|" | "^" if low >= 0 and low2 >= 0:
            return 0, (1 << max(high, high2).bit_length()) - 1
        case ">>" if 0 <= low2 and high2 < WIDTH:
            shifted = [a >> b for a, b in ends]
            return min(shifted), max(shifted)
        case "<<" if 0 <= low2 and high2 < WIDTH:
            shifted = [a << b for a, b in ends]
            return _inside(min(shifted), max(shifted))
        case "shr" if 0 < low2 and high2 < WIDTH:
            return 0, MASK >> low2
        case "//" if low2 > 0:
            quotients = [a // b for a, b in ends]
            return min(quotients), max(quotients)
        case "%" if low2 > 0:
            return 0, high2 - 1
        case "min":
            return min(low, low2), min(high, high2)
        case "max":
            return max(low, low2), max(high, high2)
        case "select":
            return min(low, low2), max(high, high2)
    return ANY
