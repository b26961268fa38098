# amaranth: UnusedElaboratable=no
"""CAM array: parameters, model, checker against planted faults."""

import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module

from cyclebound.golden.dram.snoop_cam import Load, SnoopCamModel, Store
from cyclebound.hdl.dram.snoop_cam import SnoopCam
from cyclebound.sim.build.elaborate import watch
from cyclebound.tb.dram import snoop_cam_properties as properties
from kit.faults import Stub
from kit.run_bench import run_bench

unit = pytest.mark.unit
GOOD = {"lanes": 5, "index_width": 5, "latency": 2}
LEAST = {"lanes": 2, "index_width": 3, "latency": 2}


@unit
@pytest.mark.parametrize("name", LEAST)
def test_parameters_are_counts(name):
    thing, least = name.replace("_", " "), LEAST[name]
    for bad in (1.5, "2", None, True):
        with pytest.raises(TypeError, match=f"^{thing} must be an integer, not {bad!r}$"):
            SnoopCam(**GOOD | {name: bad})
    with pytest.raises(ValueError, match=f"^{thing} must be at least {least}, not {least - 1}$"):
        SnoopCam(**GOOD | {name: least - 1})


@unit
def test_model_captures_in_all_lanes_and_stores_the_lowest():
    model = SnoopCamModel(4, 5, latency=1)
    for lane, index in enumerate((7, 0, 7, 0)):
        model.step(load=Load(lane, index, 100 + lane, armed=lane != 3))
    model.step(snoop=(0xF, 30, (1, 2, 3, 4)))  # indexes 30, 31, 0, 1
    model.step(read=1)
    assert model.step(read=3) == (None, (3, True))
    assert model.step(fetch=(0xE, 5)) == (None, (103, False))
    assert model.step(clear=True) == (Store(0b0100, (0, 0, 100, 0)), None)
    model.step(fetch=(0xF, 5))
    assert model.step() == (Store(0, (0, 0, 0, 0)), None)


@unit
def test_model_does_one_thing_at_a_time():
    with pytest.raises(ValueError,
                       match=r"^at most one of load, snoop, fetch and read in a cycle$"):
        SnoopCamModel(4).step(read=0, fetch=(1, 0))


def run(dut, together=False):
    """Lane 0 is loaded, takes a word, gives it to a fetch, and is read out."""
    top, watcher, answers = Module(), Module(), []
    top.submodules.dut = dut
    watch(watcher, dut, properties.SnoopCamCheck(dut))
    top.submodules.watcher = watcher

    async def bench(ctx):
        async def cycle(port=None, **payload):
            if port is not None:
                ctx.set(port.valid, 1)
                for name, value in payload.items():
                    ctx.set(port.payload[name], value)
            answers.append((ctx.get(dut.store.enable), ctx.get(dut.answer.valid),
                            ctx.get(dut.answer.payload.data)))
            await ctx.tick()
            if port is not None and not together:
                ctx.set(port.valid, 0)
        await cycle(dut.load, lane=0, index=6, armed=1)
        await cycle(dut.snoop, enable=4, index=4, words=[1, 2, 33, 4])
        await cycle(dut.fetch, enable=6, index=5)
        await cycle(dut.read)
        for _ in range(4):
            await cycle()

    run_bench(top, bench)
    return answers


@unit
def test_checker_is_content_with_the_array():
    answers = run(SnoopCam(**GOOD))
    assert answers[4][0] == 2
    assert answers[5][1:] == (1, 33)


@unit
def test_checker_names_the_neighbour_that_does_two_things():
    with pytest.raises(AssertionError,
                       match=r"^Assumption violated: more than one operation in a cycle$"):
        run(SnoopCam(**GOOD), together=True)


FAULTS = [
    (lambda d: d.answer.valid.eq(1), "answer does not follow read"),
    (lambda d: d.store.enable.eq(2), "store without a fetch"),
    (lambda d: d.store.enable.eq(8), "a word is stored that was not asked for"),
    (lambda d: d.store.enable.eq(4), "a lane matches, and its word is not stored"),
    (lambda d: d.store.words[1].eq(3), "lane 0 matches, and another word is stored"),
    (lambda d: d.answer.payload.data.eq(3), "a lane answers another word"),
    (lambda d: d.answer.payload.hit.eq(0), "a lane's hit is wrong"),
]


@unit
@pytest.mark.parametrize(("fault", "says"), FAULTS, ids=[says for _, says in FAULTS])
def test_checker_fires(only, fault, says):
    only(says, properties)
    with pytest.raises(AssertionError) as caught:
        run(Stub(SnoopCam(**GOOD), fault))
    assert str(caught.value) == f"Assertion violated: {says}"


@unit
def test_every_assertion_has_a_fault():
    text = rtlil.convert(properties.SnoopCamCheck(SnoopCam(**GOOD)))
    said = set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text))
    assert said - {"more than one operation in a cycle"} == {says for _, says in FAULTS}
