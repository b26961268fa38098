"""Worst-case formulas of the local memory."""

from cyclebound.golden.bound import bound, check_count

__all__ = ["eq1", "read_completion", "words_of"]


def words_of(*, transaction_bytes: int, word_bytes: int) -> int:
    """Accesses that a transaction takes: ``ceil(s_trans / w)``."""
    check_count("word_bytes", word_bytes)
    check_count("transaction_bytes", transaction_bytes)
    return -(-transaction_bytes // word_bytes)


@bound(formula="ceil(s_trans / w) * N_req", source="memory-composition, Eq. 1")
def eq1(*, transaction_bytes: int, word_bytes: int, requesters: int) -> int:
    """Duration of a transaction in one bank, in memory cycles.

    The paper divides by f_mem and gets seconds; its Table IV has cycles, as here. Counted from the
    cycle in which the first word is offered to the cycle in which the last word is granted, both
    included. ``requesters`` is the number of requesters that use the bank, this one among them.

    Source: memory-composition, section III.A, Eq. 1; Table IV, row t_1.
    """
    check_count("requesters", requesters)
    return words_of(transaction_bytes=transaction_bytes, word_bytes=word_bytes) * requesters


@bound(formula="ceil(s_trans / w) * N_req + 1", source="this project, from Eq. 1")
def read_completion(*, transaction_bytes: int, word_bytes: int, requesters: int) -> int:
    """From the first word's offer to the last word's data, both included, in memory cycles.

    Derivation: the last word is granted within Eq. 1. The memory is a synchronous SRAM whose data
    are there in the cycle after the grant: one cycle more, once, because the following words are
    granted while the earlier ones are read.
    """
    return 1 + eq1(transaction_bytes=transaction_bytes, word_bytes=word_bytes,
                   requesters=requesters)
