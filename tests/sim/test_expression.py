import functools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyclebound.tb.expression import ExpressionError, parse

pytestmark = pytest.mark.unit

FUNCTIONS = {"past": lambda x: x + 100, "any": bool, "count": lambda x: bin(x).count("1"),
             "held": lambda x, y: 100 * x + y}


def value(text, known, numbers=None):
    def resolve(path):
        found = known
        for step in path:
            found = found[step]
        return found
    return parse(text).value(resolve, FUNCTIONS, numbers, {"lanes": 2, "none": 0}.__getitem__)


@pytest.mark.parametrize(("text", "expected"), [
    ("a & b", 4), ("a | 1", 13), ("a - b + 1", 6), ("a ^ a", 0), ("~a", -13), ("a == 12", True),
    ("a != b", True), ("a >= 13", False), ("past(a)", 112), ("any(a & 3)", False),
    ("count(a | b)", 4), ("p[1].x", 8), ("p[r].x", 7), ("q.x[r].y", 9), ("(a & 8) == 8", True),
    (" a ", 12), ("bits[1:3]", [3, 4]), ("bits[-2:]", [4, 5]), ("bits[:-3]", [2]),
    ("any(p[i].x == 8 for i in lanes)", True), ("any(p[i].x == 9 for i in lanes)", False),
    ("count(p[i].x > 6 for i in lanes)", 2), ("any(p[i].x == 8 for i in 1)", False),
    ("any(p[i].x == r for i in lanes)", False),
    ("held(a, b)", 1207), ("held(a, past(b + 1))", 1308),
])
def test_says_what_it_says(text, expected):
    known = {"a": 12, "b": 7, "p": [{"x": 7}, {"x": 8}], "q": {"x": [{"y": 9}]},
             "bits": [2, 3, 4, 5]}
    assert value(text, known, {"r": 0}) == expected


@pytest.mark.parametrize(("text", "column", "what"), [
    ("a &", 4, "ends too early"), ("any(a for i in", 15, "ends too early"),
    ("a and b", 1, "'a and b' is none of names"),
    ("a[0:2:1]", 1, "'a[0:2:1]' is none of names"), ("1 < a < 2", 1, "is none of"),
    ("a[b:]", 1, "is none of"), ("past(a for i in x)", 5, "is none of"),
    ("any(a for i in x if a)", 4, "is none of"), ("any(a for i in x[0])", 4, "is none of"),
    ("any(a for i in x for j in y)", 4, "is none of"),
    ("b & f(a)", 5, "'f(a)' is none of"), ("a & -1", 5, "'-1' is none of"),
    ("a & 'x'", 5, "is none of"), ("past(a, b)", 1, "is none of"), ("(a & b).c", 2, "only names"),
    ("lambda: a", 1, "is none of"), ("a & 1.5", 5, "is none of"), ("a & True", 5, "is none of"),
    ("a[b[0]]", 1, "is none of"), ("first(a)", 1, "'first(a)' is none of"),
    ("a[::2]", 1, "is none of"), ("held(a, y=b)", 1, "is none of"),
    ("", 1, "invalid syntax"), ("a @ b", 1, "is none of"),
])
def test_says_in_which_column_it_is_wrong(text, column, what):
    with pytest.raises(ExpressionError, match=f"^column {column} of ") as raised:
        parse(text)
    assert what in str(raised.value)


def test_a_name_that_is_not_there():
    with pytest.raises(ExpressionError, match=r"^column 5 of 'a & b.c': there is no b\.c: 'c'"):
        value("a & b.c", {"a": 1, "b": {}})


def test_an_index_that_is_no_number_known():
    with pytest.raises(ExpressionError, match="no index that is known"):
        value("a[i]", {"a": [1]})


@pytest.mark.parametrize(("text", "what"), [
    ("a & any(p[i].x for i in rows)", "there is no rows"),
    ("a & any(p[i].x for i in none)", "none must be a number from 1 to 65,536, not 0"),
    ("a & any(p[i].x for i in 0)", "0 must be a number from 1 to 65,536, not 0"),
    ("a & any(p[i].x for i in word)", "word must be a number from 1 to 65,536, not 'x'"),
])
def test_several_of_what_there_is_not(text, what):
    known = {"a": 1, "p": [{"x": 7}]}
    with pytest.raises(ExpressionError, match=f"^column 25 of .*: {what}"):
        parse(text).value(lambda path: functools.reduce(operator.getitem, path, known), FUNCTIONS,
                          None, {"none": 0, "word": "x"}.__getitem__)


def test_fields_of_a_name():
    assert parse("declared.words + p[0].declared.x & past(declared.more)").fields_of(
        "declared") == ["words", "more"]


@given(st.text(max_size=60))
def test_nothing_but_an_expression_error(text):
    try:
        parse(text)
    except ExpressionError:
        pass


def test_deep_nesting():
    with pytest.raises(ExpressionError):
        parse("(" * 5000 + "a" + ")" * 5000)
    with pytest.raises(ExpressionError):
        parse("~" * 50_000 + "a")
