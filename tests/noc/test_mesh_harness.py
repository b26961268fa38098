# amaranth: UnusedElaboratable=no
"""The mesh on its harness: parameters, faults that are found, pictures of runs, worst requests."""

import pytest
from amaranth.back import rtlil

from cyclebound.hdl.noc.mesh_harness import MeshHarness
from cyclebound.hdl.noc.mesh_traffic import TrafficSink
from cyclebound.sim import catalogue
from cyclebound.sim.base.cache import key_of
from cyclebound.sim.drawing.drawing import write
from cyclebound.sim.pictures import mesh
from cyclebound.sim.regression import witness
from kit.run_bench import run_bench

unit = pytest.mark.unit
TWO = {"rows": 2, "columns": 2}


@unit
@pytest.mark.parametrize(("wrong", "says"), [
    ({"rows": 3}, "Row count must be a power of two from 2, not 3"),
    ({"columns": 1}, "Column count must be a power of two from 2, not 1"),
    ({"routing": "source"}, "Routing must be xy, not 'source'"),
    ({"width": 31}, "Flit width must be at least 32, not 31")])
def test_harness_refuses(wrong, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        MeshHarness(**TWO | wrong)


@unit
def test_converts_alone():
    assert "attribute \\top 1" in rtlil.convert(MeshHarness(**TWO, longest=4))


# What a sink finds

HERE = 0x10


def packet(*words, source=3, stamp=5, to=HERE, width=32):
    return [source << width - 8 | data for data in (to | stamp << 8, *words)]


def sink(flits, marks=None, *, width=32, now=20):
    """Whether these flits are wrong, and what was counted."""
    unit = TrafficSink(tiles=4, width=width)
    last = len(flits) - 1
    marks = marks or [(n == 0, n == last) for n in range(len(flits))]
    found = {}

    async def bench(ctx):
        ctx.set(unit.here, HERE)
        ctx.set(unit.counting, 1)
        ctx.set(unit.worst_address, 3)
        for number, (data, (first, final)) in enumerate(zip(flits, marks, strict=True)):
            ctx.set(unit.cycle, now + number)
            ctx.set(unit.sink.valid, 1)
            ctx.set(unit.sink.payload, {"data": data, "first": first, "last": final})
            await ctx.tick()
        ctx.set(unit.sink.valid, 0)
        await ctx.tick().repeat(2)
        found.update({name: ctx.get(getattr(unit, name)) for name in (
            "wrong", "count", "flits", "queued", "network", "worst", "received")})
    run_bench(unit, bench)
    return found


@unit
def test_sink_measures():
    assert sink(packet(2, 2, 3)) == {
        "wrong": 0, "count": 1, "flits": 4, "queued": 22, "network": 19, "worst": 19,
        "received": 1}
    assert sink(packet())["worst"] == 16


@unit
@pytest.mark.parametrize(("width", "worst"), [(32, 3_000_000 % 2**16), (40, 3_000_000),
                                              (48, 3_000_000)])
def test_long_latencies_need_wide_headers(width, worst):
    found = sink(packet(width=width), width=width, now=3_000_004)
    assert (found["worst"], found["wrong"]) == (worst, 0)


@unit
@pytest.mark.parametrize(("flits", "marks"), [
    (packet(2, to=0x11), None),                                  # for another tile
    (packet(2, 3), None),                                        # a flit is lost
    ([*packet(2), 2 << 24 | 2], None),                           # another source's flits
    ([*packet(), 2 << 24 | 2], None),
    (packet(2), [(True, False), (True, True)]),                  # two headers
    (packet(2), [(False, False), (False, True)])])               # none
def test_sink_finds_what_is_wrong(flits, marks):
    assert sink(flits, marks)["wrong"] == 1


# Pictures

@unit
def test_pictures(tmp_path):
    run = [[0, 2, [20, 21]], [100, 104, [140]]]
    kept = {f"{tables} {others}": run for tables in ("tables", "none")
            for others in ("silent", "saturate")}
    points = {"uniform": [[0.1, 0.1, 12, 11], [0.5, 0.3, 400, 40], [1, 0.3, 900, 60]]}
    for draw, data, label in ((mesh.composable, kept, "others silent"),
                              (mesh.curves, points, "uniform")):
        write(draw(data), path := tmp_path / "picture.svg")
        first = path.read_text()
        write(draw(data), path)
        assert path.read_text() == first
        assert label in first


# The waveform of a worst request

def of_square(what, test, folder="", *, of="noc.mesh", **parameters):
    block = catalogue.load().find(of)
    bound = next(binding.bound.name for binding in block.bounds if binding.what == what)
    found = witness.Witness(of, "square", bound, what, parameters, "cycle", 1, test, 0,
                            30, str(folder), "verilator", key_of(str(folder)), ())
    return found, block


@unit
@pytest.mark.parametrize(("what", "known", "path"), [
    # all tiles send to the corner: west along the row, then north
    ("traversal", {"pattern": 0, "source": 3},
     ["router_1_1.input_4.want", "router_1_1.output_3.owner", "router_1_0.input_1.want",
      "router_1_0.output_0.owner", "router_0_0.input_2.want", "router_0_0.output_4.owner"]),
    ("traversal", {"pattern": 0, "source": 1, "hot": 3},
     ["router_0_1.input_4.want", "router_0_1.output_2.owner", "router_1_1.input_0.want",
      "router_1_1.output_4.owner"]),
    ("alone", {"source": 0, "target": 1},
     ["router_0_0.input_4.want", "router_0_0.output_1.owner", "router_0_1.input_3.want",
      "router_0_1.output_4.owner"])])
def test_a_waveform_follows_the_path(what, known, path):
    shown = witness.signals_for(*of_square(what, "", **known))
    assert [name for name in shown if name.endswith((".want", ".owner"))] == [
        *path]
    assert len(shown) == len(path) // 2 * 5


@unit
def test_a_request_that_no_bound_covers_has_the_signals_of_the_block():
    found, block = of_square("alone", "")
    unknown = type(found)(**{**vars(found), "bound": "-", "what": "other"})
    assert witness.signals_for(unknown, block) == block.signals


@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize(("of", "what", "test"), [
    ("noc.mesh", "alone", "every_pair_alone"), ("noc.mesh_interfaces", "transfer", "composable")])
def test_the_signals_are_there(tmp_path, of, what, test):
    found, block = of_square(what, test, tmp_path / "job", of=of, source=3, target=0)
    svg = witness.waveform_svg(found)
    assert svg.startswith("<svg"), svg
    for name in witness.signals_for(found, block):
        assert f"{name}</title>" in svg

