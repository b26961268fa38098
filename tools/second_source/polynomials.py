"""Feedback polynomials by what they are for: each is primitive, so that its register visits every
state but 0."""

from functools import cache

from cyclebound.golden.harness.lfsr_spec import POLYNOMIALS

__all__ = ["compare", "is_primitive"]


def _is_prime(n: int) -> bool:
    """Miller-Rabin; these bases decide every n below 3.3e24 (Sorenson and Webster, 2015)."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    if n < 2 or any(n % base == 0 for base in bases):
        return n in bases
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in bases:
        powers = [pow(base, odd << i, n) for i in range(twos)]
        if powers[0] != 1 and n - 1 not in powers:
            return False
    return True


def _prime_factors(n: int) -> set[int]:
    found: set[int] = set()
    divisor = 2
    while n > 1:
        if _is_prime(n):
            return found | {n}
        while n % divisor:
            divisor += 1
        found.add(divisor)
        while n % divisor == 0:
            n //= divisor
    return found


@cache
def _mersenne_factors(width: int) -> frozenset[int]:
    """Prime factors of 2**width - 1."""
    if width % 2:
        return frozenset(_prime_factors(2**width - 1))
    return _mersenne_factors(width // 2) | _prime_factors(2**(width // 2) + 1)


def _power_of_x(exponent: int, width: int, terms: tuple[int, ...]) -> int:
    """x**exponent modulo ``x**width + ... + 1`` with these exponents between, over GF(2)."""
    polynomial = sum(1 << e for e in (width, *terms, 0))
    result = 1
    for digit in f"{exponent:b}":
        square = sum(1 << 2 * i for i in range(width) if result >> i & 1) << int(digit)
        for i in range(2 * width, width - 1, -1):
            if square >> i & 1:
                square ^= polynomial << i - width
        result = square
    return result


def is_primitive(width: int, terms: tuple[int, ...]) -> bool:
    """Whether x generates all units: its order is 2**width - 1, and no divisor of that."""
    full = 2**width - 1
    return _power_of_x(full, width, terms) == 1 and all(
        _power_of_x(full // prime, width, terms) != 1 for prime in _mersenne_factors(width))


def compare() -> tuple[int, list[str]]:
    """Entries compared, and how any differ."""
    wrong = [f"width {width}: {terms} is not primitive" for width, terms in POLYNOMIALS.items()
             if not is_primitive(width, terms)]
    if list(POLYNOMIALS) != list(range(3, 65)):
        wrong.append("widths are not 3 to 64")
    return len(POLYNOMIALS), wrong
