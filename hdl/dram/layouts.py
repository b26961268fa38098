"""Payloads of the streams between the stages of the DRAM path.

Ref: golden/dram/request.py, which says what each field means.
"""

from amaranth.hdl import unsigned
from amaranth.lib import data

from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BEAT_WORDS,
    BURST_BITS,
    BURST_WORDS,
    COUNT_BITS,
    TARGET_BITS,
    WORD_BITS,
)

__all__ = ["Beat", "BurstLayout", "IndexLayout", "TileLayout"]


class TileLayout(data.Struct):
    """A `TileRequest`; ``indexed``: its words come from the index stream instead."""

    address: ADDRESS_BITS
    words: COUNT_BITS
    period: COUNT_BITS
    count: COUNT_BITS
    write: 1
    destination: 2
    base: TARGET_BITS
    pitch: TARGET_BITS
    transform: 2
    indexed: 1


class IndexLayout(data.Struct):
    """One word of an indexed request: offset in words, and where it goes.

    ``end`` marks the element behind the last; its index does not count.
    """

    index: COUNT_BITS
    target: TARGET_BITS
    end: 1


class BurstLayout(data.Struct):
    """A `Burst`: what the front end asks of the command generator."""

    address: BURST_BITS
    mask: BURST_WORDS
    targets: data.ArrayLayout(unsigned(TARGET_BITS), BURST_WORDS)
    write: 1
    destination: 2
    transform: 2
    indexed: 1
    last: 1


class Beat(data.Struct):
    """Four words on their way between the DRAM bus and the chip, with their targets."""

    enable: BEAT_WORDS
    targets: data.ArrayLayout(unsigned(TARGET_BITS), BEAT_WORDS)
    words: data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)
    destination: 2
    transform: 2
