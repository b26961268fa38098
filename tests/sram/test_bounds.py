"""Bounds of the local memory, against the paper's Table IV and by hand."""

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.sram.bounds import eq1, read_completion, words_of

pytestmark = pytest.mark.unit

TABLE_IV = {1: 512, 3: 1536, 5: 2560, 7: 3584, 9: 4608, 11: 5632}  # N_req: t_1 in cycles


@pytest.mark.parametrize(("requesters", "cycles"), TABLE_IV.items())
def test_eq1_is_row_t_1_of_table_iv(requesters, cycles):
    """A transaction of 4 KiB on an 8-byte memory [Table III, section V.D]."""
    request = {"transaction_bytes": 4096, "word_bytes": 8, "requesters": requesters}
    assert eq1(**request) == cycles
    assert read_completion(**request) == cycles + 1


@pytest.mark.parametrize(("transaction_bytes", "words"), [(1, 1), (7, 1), (8, 1), (9, 2), (16, 2)])
def test_a_part_of_a_word_is_an_access(transaction_bytes, words):
    size = {"transaction_bytes": transaction_bytes, "word_bytes": 8}
    assert words_of(**size) == words
    assert eq1(**size, requesters=3) == 3 * words


@pytest.mark.parametrize("formula", [eq1, read_completion])
@pytest.mark.parametrize("name", ["transaction_bytes", "word_bytes", "requesters"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True, "8"])
def test_sizes_are_counts(formula, name, value):
    request = {"transaction_bytes": 8, "word_bytes": 8, "requesters": 1} | {name: value}
    message = f"^{name} must be a whole number of at least 1, not {value!r}$"
    with pytest.raises(NotCovered, match=message):
        formula(**request)


@pytest.mark.parametrize("formula", [eq1, read_completion])
def test_a_request_without_its_size_is_not_covered(formula):
    known = {"banks": 8, "requesters": 11, "words": 1024, "word_bytes": 8}
    message = f"^bound {formula.name} needs transaction_bytes$"
    with pytest.raises(NotCovered, match=message):
        formula.of(known)
    assert formula.of(known | {"transaction_bytes": 8}) == formula(
        transaction_bytes=8, word_bytes=8, requesters=11)


def test_bounds_name_their_source():
    assert eq1.source == "memory-composition, Eq. 1"
    assert read_completion.source == "this project, from Eq. 1"
    assert "Derivation:" in read_completion.derivation
