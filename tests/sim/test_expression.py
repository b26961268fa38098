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
    return parse(text).value(resolve, FUNCTIONS, numbers)


@pytest.mark.parametrize(("text", "expected"), [
    ("a & b", 4), ("a | 1", 13), ("a - b + 1", 6), ("a ^ a", 0), ("~a", -13), ("a == 12", True),
    ("a != b", True), ("a >= 13", False), ("past(a)", 112), ("any(a & 3)", False),
    ("count(a | b)", 4), ("p[1].x", 8), ("p[r].x", 7), ("q.x[r].y", 9), ("(a & 8) == 8", True),
    (" a ", 12), ("held(a, b)", 1207), ("held(a, past(b + 1))", 1308),
])
def test_says_what_it_says(text, expected):
    known = {"a": 12, "b": 7, "p": [{"x": 7}, {"x": 8}], "q": {"x": [{"y": 9}]}}
    assert value(text, known, {"r": 0}) == expected


@pytest.mark.parametrize(("text", "column", "what"), [
    ("a &", 1, "invalid syntax"), ("a and b", 1, "'a and b' is none of names"),
    ("a[0:2]", 1, "'a[0:2]' is none of names"), ("1 < a < 2", 1, "is none of"),
    ("b & f(a)", 5, "'f(a)' is none of"), ("a & -1", 5, "'-1' is none of"),
    ("a & 'x'", 5, "is none of"), ("past(a, b)", 1, "is none of"), ("(a & b).c", 2, "only names"),
    ("lambda: a", 1, "is none of"), ("a & 1.5", 5, "is none of"), ("a & True", 5, "is none of"),
    ("a[b[0]]", 1, "is none of"), ("first(a)", 1, "'first(a)' is none of"),
    ("a[1:].b", 1, "is none of"), ("a[::2]", 1, "is none of"), ("held(a, y=b)", 1, "is none of"),
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
