"""Tables that model and RTL both read, each against a second source.

A mistake in such a table is on both sides of every comparison, so that no simulation and no proof
sees it. Here each table is found again: from what defines it, or from a copy that was written from
the document and not from the table.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cyclebound.tools.second_source import coefficients, opcodes, parts, polynomials, registers

__all__ = ["CROSS_CHECKS", "CrossCheck"]


@dataclass(frozen=True)
class CrossCheck:
    """A table and its second source.

    Attributes
    ----------
    name : str
        Of the table.
    says : str
        What the second source is.
    families : tuple[str, ...]
        Families of blocks that read the table.
    compare : callable
        Returns how many entries were compared, and a line for each that differs.
    """

    name: str
    says: str
    families: tuple[str, ...]
    compare: Callable[[], tuple[int, list[str]]]


CROSS_CHECKS = (
    CrossCheck("simd.coefficients", "interpolation in rational numbers", ("simd",),
               coefficients.compare),
    CrossCheck("simd.opcodes", "the encoding as it was published", ("simd",), opcodes.compare),
    CrossCheck("harness.polynomials", "primitive: of order 2^n - 1",
               ("dataflow", "dram", "noc", "simd", "sram", "systolic"), polynomials.compare),
    CrossCheck("dram.parts", "JEDEC's tables in picoseconds, the papers' tables, data sheets",
               ("dram", "noc", "simd"), parts.compare),
    CrossCheck("registers", "the maps as they were published; AMBA's encodings",
               ("dram", "simd", "system"), registers.compare),
)
"""All of them. What is read by one side alone needs none: the other side is its second source."""
