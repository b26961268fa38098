"""Addresses of a many-core's memory path: a specification.

A packet's address header has 31 bits. To the I/O tile they say, from the lowest on, the word of a
burst, the burst of a row, the row, the bank, and the number of the compute tile that sends. So of
each bank as many rows can be written as bits are left. A command has the number that follows those
of the tiles' writes, tile by tile, and all else 0.

A row of a bank has contiguous addresses, and so have a bank's rows. With interleaving, bursts that
follow each other are in banks that do (`interleaved`).
"""

from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.golden.parameters import check_integer

__all__ = ["ADDRESS_BITS", "command_bits", "command_words", "interleaved", "place_bits", "row_bits",
           "tile_bits"]

ADDRESS_BITS = 31
WORD_BITS = (REQUEST_BYTES // 4 - 1).bit_length()


def command_words(bits: int, width: int = 32) -> int:
    """Words of a command of so many bits, the lowest ones first."""
    return -(-bits // width)


def command_bits(part: Part | str, tiles: int, banks: int, words: int) -> int:
    """Bits of a command: bank, row, burst of the row, number of bursts; and the place in one of
    ``banks`` of ``words`` of local memory."""
    column, bank = place_bits(part)
    return (bank + row_bits(part, 2 * tiles) + 2 * column + 1 + (banks - 1).bit_length()
            + (words - 1).bit_length())


def tile_bits(tiles: int) -> int:
    """Bits of a number of so many compute tiles; of twice as many, if they send commands."""
    check_integer("compute tiles", tiles, 1)
    return max(1, (tiles - 1).bit_length())


def place_bits(part: Part | str) -> tuple[int, int]:
    """Bits of a burst's number in its row, and of a bank's."""
    dram = part_named(part)
    return (dram.columns // 8 - 1).bit_length(), (dram.banks - 1).bit_length()


def row_bits(part: Part | str, tiles: int) -> int:
    """Bits of a row that an address has room for, as many as there are rows at most.

    Raises `ValueError` where not even one is left.
    """
    dram, left = part_named(part), ADDRESS_BITS - WORD_BITS - tile_bits(tiles)
    left -= sum(place_bits(dram))
    if left < 1:
        raise ValueError(f"an address of {ADDRESS_BITS} bits must have room for a row, a bank of "
                         f"{dram.banks}, a burst of {dram.columns // 8} and one of {tiles} tiles")
    return min(left, (dram.rows - 1).bit_length())


def interleaved(bank: int, row: int, column: int, part: Part | str) -> tuple[int, int, int]:
    """Bank, row and burst of a row where an address is with interleaving, given where it would be
    without: the lowest bits are the bank's, the next ones the burst's, the rest the row's.

    Banks, rows and bursts of a row are numbers of ``part``, each a power of two.
    """
    dram = part_named(part)
    bursts = dram.bursts_per_row
    address = (bank * dram.rows + row) * bursts + column
    return address % dram.banks, address // dram.banks // bursts, address // dram.banks % bursts
