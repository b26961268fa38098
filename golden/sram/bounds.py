"""Worst-case formulas of the local memory."""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, check_count

__all__ = ["eq1", "read_completion", "words_of"]


_ANY_TRAFFIC = ("the other requesters of the bank may ask in any cycle, for any word of it; an "
                "access on offer stays until it is granted")

Nbytes = Annotated[int, Range(1, says="length of the transaction, in bytes")]
WordBytes = Annotated[int, Range(1, says="width of a word, in bytes")]
Requesters = Annotated[int, Range(1, says="requesters that use the bank, this one among them")]


def words_of(*, transaction_bytes: int, word_bytes: int) -> int:
    """Accesses that a transaction takes: ``ceil(s_trans / w)``."""
    check_count("word_bytes", word_bytes)
    check_count("transaction_bytes", transaction_bytes)
    return -(-transaction_bytes // word_bytes)


@bound(formula="ceil(s_trans / w) * N_req", source="memory-composition, Eq. 1",
       environment=_ANY_TRAFFIC)
def eq1(*, transaction_bytes: Nbytes, word_bytes: WordBytes, requesters: Requesters) -> int:
    """Duration of a transaction in one bank, in memory cycles.

    The paper divides by f_mem and gets seconds; its Table IV has cycles, as here. Counted from the
    cycle in which the first word is offered to the cycle in which the last word is granted, both
    included.

    Source: memory-composition, section III.A, Eq. 1; Table IV, row t_1.
    """
    return words_of(transaction_bytes=transaction_bytes, word_bytes=word_bytes) * requesters


@bound(formula="ceil(s_trans / w) * N_req + 1", source="this project, from Eq. 1",
       environment=_ANY_TRAFFIC)
def read_completion(*, transaction_bytes: Nbytes, word_bytes: WordBytes,
                    requesters: Requesters) -> int:
    """From the first word's offer to the last word's data, both included, in memory cycles.

    Derivation: the last word is granted within Eq. 1. The memory is a synchronous SRAM whose data
    are there in the cycle after the grant: one cycle more, once, because the following words are
    granted while the earlier ones are read.
    """
    return 1 + eq1(transaction_bytes=transaction_bytes, word_bytes=word_bytes,
                   requesters=requesters)
