"""Testbench of the floating-point datapath: every result bit for bit, every cycle."""

from collections.abc import Iterable, Iterator

from cyclebound.golden.dataflow.float_fma import FloatFmaModel, Fused
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.float_cases import hard_triple, special_triples

_MILLION, _BATCH = 1_000_000, 10_000


async def play(bench: Bench, items: Iterable[Fused], *, load: float = 1.0,
               sink: float = 1.0) -> int:
    """All items; returns how many results were shown."""
    model, rng = FloatFmaModel(), bench.rng
    payload = {name: bench.inputs[f"operands.payload.{name}"].offset
               for name in ("a", "b", "c", "convert")}
    valid, sink_ready = bench.inputs["operands.valid"].mask, bench.inputs["result.ready"].mask
    ready_mask = bench.outputs["operands.ready"].mask
    result_mask = bench.outputs["result.valid"].mask
    result = bench.outputs["result.payload"]
    source: Iterator[Fused] = iter(items)
    held, shown, last = None, 0, None
    upcoming = next(source, None)
    while upcoming is not None or held is not None or not model.empty:
        if held is None and upcoming is not None and (load == 1 or rng.random() < load):
            held, upcoming = upcoming, next(source, None)
        ready = sink == 1 or rng.random() < sink
        word = sink_ready if ready else 0
        if held is not None:
            word |= (valid | held.a << payload["a"] | held.b << payload["b"]
                     | held.c << payload["c"] | held.convert << payload["convert"])
        seen = await bench.step(word)
        expected, care = 0, ready_mask | result_mask
        if model.takes(ready):
            expected |= ready_mask
        if model.shown is not None:
            wanted, _ = model.shown
            expected |= result_mask | result.to(wanted)
            care |= result.mask
            shown += model.shown is not last
            last = model.shown
        bench.check(seen, expected, care)
        taken = model.takes(ready)
        model.step((held.result, bench.cycle) if held is not None else None, ready)
        if taken:
            held = None
    return shown


def hard_items(bench: Bench, count: int) -> Iterator[Fused]:
    for number in range(count):
        if number % 8 == 7:
            integer = bench.rng.getrandbits(32) >> bench.rng.randrange(32)
            yield Fused(0, 0, integer if bench.rng.random() < 0.5 else -integer & 0xFFFF_FFFF, 1)
        else:
            yield Fused(*hard_triple(bench.rng))


@testbench
async def every_three_special_numbers(bench: Bench) -> None:
    bench.declare("result", stages=PIPELINE_STAGES)
    await play(bench, (Fused(*triple) for triple in special_triples()))


@testbench
async def as_many_as_there_are_cycles(bench: Bench) -> None:
    for threads in (1, 2, 7, 8, 9, 50):
        bench.declare("stream", threads=threads, stages=PIPELINE_STAGES)
        assert await play(bench, hard_items(bench, threads)) == threads


@testbench
async def hard_numbers_with_stalls(bench: Bench) -> None:
    for load, sink in ((0.5, 1.0), (1.0, 0.5), (0.7, 0.7)):
        await play(bench, hard_items(bench, 1000), load=load, sink=sink)


@testbench
async def a_million_hard_numbers(bench: Bench) -> None:
    bench.declare("result", stages=PIPELINE_STAGES)
    bench.declare("stream", threads=_BATCH, stages=PIPELINE_STAGES)
    for _ in range(_MILLION // _BATCH):
        assert await play(bench, hard_items(bench, _BATCH)) == _BATCH
