# amaranth: UnusedElaboratable=no
"""Checkers of offers and of rows: a puppet with a block's ports shows what it must not."""

import inspect

import pytest

from cyclebound.hdl.dataflow.fabric import Fabric
from cyclebound.hdl.systolic.accelerator import Accelerator
from cyclebound.hdl.systolic.matmul import Matmul
from cyclebound.hdl.systolic.overlapped_output import OverlappedOutputArray
from cyclebound.hdl.systolic.row_stationary import RowStationaryArray
from cyclebound.sim import catalogue
from cyclebound.tb import streams_properties as properties
from kit.puppet import Puppet, show

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("like", "streams"), [
    (RowStationaryArray(rows=2, columns=3, taps=2), {"results"}),
    (Accelerator(size=2), {"requests", "write"}),
    (Fabric(rows=("SLLL", "SCKL", "LLLT"), depth=4, tid_width=8, address_width=12),
     {f"memory {number} request" for number in range(7)})])
def test_it_finds_every_stream_that_a_block_gives(only, like, streams):
    check = properties.StreamsCheck(Puppet(like))
    assert {name for name, _ in check._offers} == streams
    for name in streams:
        says = f"{name}: offer withdrawn or changed"
        only(says, properties)
        puppet = Puppet(like)
        with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
            show(puppet, properties.StreamsCheck(puppet), {f"{name.replace(' ', '.')}.valid": 1},
                 {})


ROW = {"results.valid": 1, "results.ready": 1}


def watch(name, like, *cycles):
    """The block's checker of the catalogue, on its ports; of one that asserts more than that rows
    are owed, which these ports do not keep, the part that does."""
    puppet = Puppet(like, rows=getattr(like, "rows", None), columns=getattr(like, "columns", None))
    checker = catalogue.load().find(name).checker
    owed = next((each for each in inspect.getmro(checker)
                 if each is properties.FoldRowsCheck), checker)
    show(puppet, owed(puppet), *cycles)


@pytest.mark.parametrize(("name", "like", "item", "rows"), [
    ("systolic.overlapped_output", OverlappedOutputArray(rows=2, columns=3),
     {"left.valid": 1, "left.ready": 1, "left.payload": {"last": 1}}, 2),
    ("systolic.matmul", Matmul(rows=2, columns=3),
     {"command.valid": 1, "command.ready": 1, "command.payload": {"m": 2, "k": 1, "n": 4}}, 4)])
def test_no_row_more_than_operands_make(only, name, like, item, rows):
    watch(name, like, item, *[ROW] * rows)
    says = "a row of no operands"
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        watch(name, like, item, *[ROW] * (rows + 1))


@pytest.mark.parametrize("name", ["float_weight_stationary", "float_output_stationary"])
def test_arrays_in_floating_point(only, name):
    block = catalogue.load().find(f"systolic.{name}")
    like = block.make(block.configurations["2x2"].parameters)
    item = {"left.valid": 1, "left.ready": 1, "left.payload": {"last": 1}}
    rows = 1 if "weight" in name else 2
    watch(block.name, like, item, *[ROW] * rows)
    only("a row of no operands", properties)
    with pytest.raises(AssertionError, match=r"^Assertion violated: a row of no operands$"):
        watch(block.name, like, *[ROW])
