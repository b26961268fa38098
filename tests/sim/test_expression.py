import functools
import operator
import random
import subprocess

import numpy as np
import pytest
from amaranth.hdl import Signal
from hypothesis import given
from hypothesis import strategies as st

from cyclebound.tb.expression import ExpressionError, parse
from cyclebound.tb.sampled import Chunk, Lane, SampledExpression
from kit.icarus import needs_icarus

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


VERILOG = (
    "a && b", "a || b", "!a", "!a == b", "a == 4'd3 && b", "!(a & b) || c", "a & b && c | a",
    "a || b && !c", "a[3] && !a[0]", "(a & b) == 4'b0011", "a & (b == 8'h03)", "!a && !b || !c",
    "a + b == 5'h1_2", "a != 4'hf && !b[1]", "!a & b", "~a & b",
    "a == 3 || b == 2 && c == 1", "(a | b) > c && a <= b")


@needs_icarus
def test_verilog_is_read_as_verilog(tmp_path):
    """Icarus finds the same expressions true, over random values."""
    chance = random.Random("verilog")
    values = [[chance.choice((0, 1, 3, 15, chance.randrange(16))) for _ in "abc"]
              for _ in range(300)]
    (tmp_path / "t.v").write_text("module t; reg [3:0] a, b, c; initial begin\n" + "".join(
        f"a = {a}; b = {b}; c = {c}; #1 $display(\"" + "%b" * len(VERILOG) + "\", "
        + ", ".join(f"|({text})" for text in VERILOG) + ");\n" for a, b, c in values)
        + "end endmodule\n")
    subprocess.run(["iverilog", "-o", "t", "t.v"], cwd=tmp_path, check=True)
    said = subprocess.run(["vvp", "t"], cwd=tmp_path, check=True, capture_output=True,
                          text=True).stdout.split()
    chunk = Chunk(0, {name: Lane(np.array([row[n] for row in values]), Signal(4))
                      for n, name in enumerate("abc")}, np.arange(300))
    for number, text in enumerate(VERILOG):
        lane = SampledExpression(text, lambda path: (path[0], 4, path[1:])).of(chunk)
        assert [str(int(bool(value))) for value in lane.values] == [row[number] for row in said], (
            text)


@pytest.mark.parametrize(("text", "values"), [
    ("rose(a)", [0, 1, 0, 0, 1]), ("$fell(a)", [0, 0, 0, 1, 0]), ("$rose(a) || $fell(a)", [
        0, 1, 0, 1, 1]), ("$past(a)", [0, 0, 3, 1, 0]), ("$countones(a)", [0, 2, 1, 0, 1])])
def test_what_changes(text, values):
    chunk = Chunk(0, {"a": Lane(np.array([0, 3, 1, 0, 1]), Signal(2))}, np.arange(5))
    expression = SampledExpression(text, lambda path: (path[0], 2, path[1:]))
    assert expression.of(chunk).values.tolist() == values


@pytest.mark.parametrize(("text", "column", "what"), [
    ("a && c && nothing.x", 11, "there is no nothing.x"), ("a && (b ||", 11, "ends too early"),
    ("a && 8'hfff", 6, "8'hfff has more than 8 bits"), ("a == 8'h0x", 6, "is no known number"),
    ("~8'h3 & a", 2, "~ of 8'h3: write the number itself"), ("a && -b", 6, "is none of"),
    ("a || b == c & 3", 11, "a comparison beside & | ^ needs parentheses"),
    ("$past(a, 2)", 1, "is none of"), ("$onehot(a)", 1, "invalid syntax"),
    ("a & b == c", 1, "a comparison beside & | ^ needs parentheses"), ("a &&", 5, "too early"),
    ("x !", 4, "ends too early"), ("!", 2, "ends too early"), ("a not b", 7, "invalid syntax"),
    ("any(a & b == 3)", 5, "needs parentheses"),
])
def test_where_verilog_is_wrong(text, column, what):
    with pytest.raises(ExpressionError) as raised:
        SampledExpression(text, lambda path: ({"a": "a", "b": "b", "c": "c", "x": "x"}[path[0]], 4,
                                              path[1:]))
    assert what in str(raised.value)
    assert raised.value.column == column


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
