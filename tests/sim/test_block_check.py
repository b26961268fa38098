"""Catalogue pages that are none: whatever stands in them, one line says what is wrong."""

import dataclasses
import itertools
import random

import pytest
from amaranth.lib import wiring

from cyclebound.golden.bound import bound
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.catalogue import Catalogue, load
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Picture,
    Property,
)
from cyclebound.sim.describe.block import (
    Testbench as Bench,
)
from cyclebound.sim.describe.block_check import check_block
from cyclebound.tb.probe import Probe

pytestmark = pytest.mark.unit


class Wire(wiring.Component):
    def __init__(self, *, width=4):
        super().__init__({"i": wiring.In(width)})


@bound(formula="1", source="this test")
def one(*, width: int) -> int:
    """One."""
    return 1


GOOD = Block(
    "a.b", "a wire", Wire, {"c": Configuration({"width": 1}, {"width": range(1, 3)})},
    (Bench("cycle", "bench", configurations=("c",)),),
    (BoundBinding("move", one, Probe("i", "i"), proved_by=("so",), exhaustive=True),),
    (Property("so", "so it is", Wire, ({"width": 1},), declares={"move": dict}),),
    fpga=FpgaTarget("c"),
    pictures=(Picture("p", "see", "a:b", kept="k.json", testbenches=("cycle",)),))


def test_a_good_block():
    check_block(GOOD)
    check_block(dataclasses.replace(GOOD, testbenches=list(GOOD.testbenches)))  # as good as a tuple


@pytest.mark.parametrize(("text", "says"), [
    ("BLOCKS = 5", "BLOCKS of catalogue page '{}' must be a tuple of blocks, not 5"),
    ("BLOCKS = None", "BLOCKS of catalogue page '{}' must be a tuple of blocks, not None"),
    ("BLOCKS = 'ab'", "BLOCKS of catalogue page '{}' must be a tuple of blocks, not 'ab'"),
    ("BLOCKS = (5,)", "catalogue page '{}': BLOCKS must hold blocks, not 5"),
    ("BLOCKS = [[]]", "catalogue page '{}': BLOCKS must hold blocks, not []"),
    ("import sys; sys.exit(5)", "catalogue page '{}': SystemExit: 5 ("),
    ("raise SystemExit", "catalogue page '{}': SystemExit:  ("),
    ("raise BaseException(1)", "catalogue page '{}': BaseException: 1 ("),
    ("BLOCKS = (", "catalogue page '{}': SyntaxError: "),
    ("\\0", "catalogue page '{}': "),
])
def test_a_page_that_is_none(tmp_path, monkeypatch, text, says):
    name = f"odd_page_{random.Random(text).getrandbits(40)}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as told:
        load((name,))
    assert str(told.value).startswith(says.format(name))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", ["", ".x", "..", "a b", "\0", "sys", "os.path", "x" * 9999])
def test_a_name_that_is_no_page(name):
    with pytest.raises(UserError, match=r"^catalogue page "):
        load((name,))


@pytest.mark.parametrize(("field", "value", "says"), [
    ("name", "../../tmp/x", "the name of a block must be up to 100 letters"),
    ("name", "..", "the name of a block must be"),
    ("name", "", "the name of a block must be"),
    ("name", "-rf", "the name of a block must be"),
    ("name", "a/b", "the name of a block must be"),
    ("name", "a.b\n", "the name of a block must be"),
    ("configurations", {"c[/x]": Configuration({})}, "the name of a configuration must be"),
    ("configurations", {"..": Configuration({})}, "the name of a configuration must be"),
    ("configurations", {}, "it must have a configuration"),
    ("configurations", {"c": {}}, "configurations of the block['c'] must be a Configuration"),
    ("configurations", {3: Configuration({})}, "a name in configurations of the block must be a"),
    ("configurations", {"c": Configuration({"width": float("inf")})},
     "configuration c: width must be finite"),
    ("configurations", {"c": Configuration({}, {"x": range(0)})}, "the domain of x in config"),
    ("configurations", {"c": Configuration({}, {"x": (1, 2, 1)})},
     "the domain of x in configuration c must have each value once"),
    ("configurations", {"c": Configuration({}, lambda parameters: {"x": parameters["y"]})},
     "the domain of configuration c: KeyError: 'y'"),
    ("testbenches", (), "it must have a testbench"),
    ("testbenches", (Bench("a", "m"), Bench("a", "n")),
     "the name of a testbench must be unique, and 'a' occurs twice"),
    ("testbenches", (Bench("a", "m", configurations="c"),),
     "configurations of a Testbench in testbenches of the block must be a tuple or nothing, not"),
    ("testbenches", (Bench("a", "m", configurations=("d",)),),
     "testbench a names the configuration 'd', which does not exist"),
    ("testbenches", (Bench("cycle", "m", least={"height": 2}),),
     "testbench cycle names the parameter 'height', which does not exist"),
    ("testbenches", (Bench("cycle", "m", fixed=("depth",)),),
     "testbench cycle names the parameter 'depth', which does not exist"),
    ("testbenches", (Bench("a", "m", tests=()),),
     "tests of testbench a must name some, or be None for its module's"),
    ("testbenches", (Bench("a", "m", seeds=0),), "seeds of testbench a must be at least 1"),
    ("bounds", (BoundBinding("x", lambda: 1),),
     "bound of a BoundBinding in bounds of the block must be"),
    ("bounds", (BoundBinding("x/../y", one),), "the name of what a bound is on must be"),
    ("bounds", (BoundBinding("x", one, proved_by=("nothing",)),), "bound one names the property"),
    ("bounds", (BoundBinding("x", one, Probe("i", "i"), proved_by=("so",)),),
     "property so is to prove x, and declares no kind of such requests"),
    ("bounds", (BoundBinding("move", one, Probe("i & ", "i")),),
     "the probe of move: column 4 of 'i &': the expression ends too early"),
    ("properties", (Property("so", "so it is", Wire, ({"width": 1},), declares={"move": dict},
                             independent={"width": "why"}),),
     "property so says that width makes no difference, and is proved for one value of it only"),
    ("properties", (Property("so", "so it is", Wire, ({"width": 4}, {}), declares={"move": dict},
                             independent={"width": "why"}),),
     "property so says that width makes no difference, and is proved for one value of it only"),
    ("fpga", FpgaTarget("d"), "fpga names the configuration 'd', which does not exist"),
    ("pictures", (Picture("p", "see", "a:b", kept="../k", testbenches=("cycle",)),),
     "the file that picture p keeps must be"),
    ("pictures", (Picture("p", "see", "a:b", kept="k"),), "picture p must have both kept and"),
    ("component", None, "it must have a component, or sources and their top"),
    ("unused_inputs", "abc", "unused_inputs of the block must be a tuple, not 'abc'"),
])
def test_refuses(field, value, says):
    with pytest.raises(UserError) as told:
        check_block(dataclasses.replace(GOOD, **{field: value}))
    assert says in str(told.value)
    assert "\n" not in str(told.value)


class Odd:
    """An object whose every service fails."""

    def __repr__(self):
        raise RuntimeError

    def __iter__(self):
        raise RuntimeError


RECURSIVE: list = []
RECURSIVE.append(RECURSIVE)
VALUES = (None, 0, -1, 1 << 70, 10**5000, 1.5, float("nan"), True, "", "a", "../x", "\ud800", b"b",
          (), [], {}, (1,), ("a",), [None], {"a": 1}, {1: 2}, {"a": {}}, (Odd(),), Odd(), Odd, dict,
          len, one, range(3), range(0), GOOD, (GOOD,), RECURSIVE, {"a": RECURSIVE}, float("inf"),
          Configuration({}), {"c": Configuration({"x": object()})}, (Bench("t", "m"),))


def places():
    """Every field of every class that a page holds: how to put a value there."""
    for field in dataclasses.fields(Block):
        yield f"Block.{field.name}", lambda value, name=field.name: dataclasses.replace(
            GOOD, **{name: value})
    for where, part in (("testbenches", GOOD.testbenches[0]), ("bounds", GOOD.bounds[0]),
                        ("properties", GOOD.properties[0]), ("pictures", GOOD.pictures[0])):
        for field in dataclasses.fields(part):
            yield f"{where}.{field.name}", (
                lambda value, name=field.name, part=part, where=where: dataclasses.replace(
                    GOOD, **{where: (dataclasses.replace(part, **{name: value}),)}))
    for name in ("parameters", "domain"):
        yield f"configurations.{name}", lambda value, name=name: dataclasses.replace(
            GOOD, configurations={"c": dataclasses.replace(GOOD.configurations["c"],
                                                           **{name: value})})
    for name in ("configuration", "device"):
        yield f"fpga.{name}", lambda value, name=name: dataclasses.replace(
            GOOD, fpga=dataclasses.replace(GOOD.fpga, **{name: value}))


@pytest.mark.parametrize("place", [name for name, _ in places()])
def test_a_wrong_type_in_any_field(place):
    """It is taken, or refused in one line; and what is taken, the commands can show."""
    put = dict(places())[place]
    refused = 0
    for value in VALUES:
        block = put(value)
        wrong = None
        try:
            check_block(block)
        except UserError as error:
            wrong = str(error)
        if wrong is not None:
            assert "\n" not in wrong
            refused += 1
            continue
        found = Catalogue([block]).find(block.name)
        found.configuration(None)
        found.testbench(found.testbenches[0].name)
        list(itertools.chain(found.unused_inputs, found.signals))
    assert refused > 0
