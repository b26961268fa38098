"""What docs/findings.md says about Eq. 1, for every state of the arbiter, on the golden model."""

import pytest

from cyclebound.golden.sram.banked_memory import BankModel, WordAccess
from cyclebound.golden.sram.bounds import eq1

pytestmark = pytest.mark.unit


def duration(requesters: int, words: int, victim: int, last_served: int) -> int:
    """Cycles of a transaction of ``words`` words while all others always ask."""
    bank = BankModel(requesters=requesters, word_bytes=1)
    bank.step({last_served: WordAccess(0)})
    cycles = 0
    while words:
        cycles += 1
        words -= bank.step({who: WordAccess(0) for who in range(requesters)}).granted == victim
    return cycles


@pytest.mark.parametrize("requesters", range(2, 12))
@pytest.mark.parametrize("words", [1, 2, 5])
def test_eq1_is_met_only_by_who_was_served_last(requesters, words):
    bound = eq1(transaction_bytes=words, word_bytes=1, requesters=requesters)
    for victim in range(requesters):
        taken = {last: duration(requesters, words, victim, last) for last in range(requesters)}
        assert taken.pop(victim) == bound
        assert max(taken.values()) == bound - 1
