"""Which vector register a word of an access goes to or comes from.

Part of the transfer unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Cat, Signal
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import TARGET_BITS
from cyclebound.hdl.simd.interfaces import REGISTER_BANKS

__all__ = ["bank_rows", "item_bit", "word_place"]

_BANK_BITS = ceil_log2(REGISTER_BANKS)


def word_place(m, name, job, target, *, positions, groups):
    """Where a word is on a bus of ``positions`` in each bank: its place there as one number, its
    group of items, and its item."""
    item = Signal(TARGET_BITS, name=f"{name}_item")
    bank = Signal(_BANK_BITS, name=f"{name}_bank")
    m.d.comb += [item.eq(target >> job.transform),
                 bank.eq(job.register[:_BANK_BITS]
                         + (target[:_BANK_BITS] & ((1 << job.transform) - 1)[:_BANK_BITS]))]
    low = ceil_log2(positions)
    return Cat(item[:low], bank), item[low:low + ceil_log2(groups)], item


def bank_rows(m, job):
    """Row of each bank in which an access has words, whichever word goes there.

    The registers of an access are at most `REGISTER_BANKS` in a row, from ``job.register`` on:
    one in each bank. Those in banks before the first one's are of the next row. So a row
    follows from the bank, and is not moved with the words.
    """
    rows = []
    for bank in range(REGISTER_BANKS):
        row = Signal(len(job.register) - _BANK_BITS, name=f"row_{bank}")
        m.d.comb += row.eq(job.register[_BANK_BITS:] + (bank < job.register[:_BANK_BITS]))
        rows.append(row)
    return rows


def item_bit(bits, item):
    """The bit of an item, of a mask of as many as there are."""
    return bits.bit_select(item[:ceil_log2(len(bits))], 1)
