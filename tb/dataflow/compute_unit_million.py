"""Floating-point operations of a compute unit against numpy, a million threads in all."""

from collections.abc import Callable

import numpy as np

from cyclebound.golden.dataflow.operations import PIPELINE_STAGES, Operation, operands_of
from cyclebound.golden.floating import FLOAT_NAN
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.float_cases import SPECIAL, hard_triple

CASES = 1_000_000
LATENCY = PIPELINE_STAGES + 2  # cycles from taking operands to offering the result


def _integer(a: np.ndarray, _: np.ndarray) -> np.ndarray:
    """Truncated, saturated; 0 for a NaN. Doubles hold both exactly."""
    whole = np.clip(np.trunc(a.astype(np.float64)), -2.0**31, 2.0**31 - 1)
    return np.where(np.isnan(a), 0, whole).astype(np.int64).astype(np.uint32)


NUMPY: dict[Operation, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    Operation.FADD: np.add, Operation.FSUB: np.subtract, Operation.FMUL: np.multiply,
    Operation.FEQ: np.equal, Operation.FLT: np.less, Operation.FLE: np.less_equal,
    Operation.TO_FLOAT: lambda a, _: a.view(np.int32).astype(np.float32),
    Operation.TO_INT: _integer,
}


def wanted(operation: Operation, a: np.ndarray, b: np.ndarray) -> list[int]:
    """numpy's results on these bits, as bits; a NaN is the one that the unit makes."""
    with np.errstate(all="ignore"):
        results = NUMPY[operation](a.view(np.float32), b.view(np.float32))
    if results.dtype == np.float32:
        results = np.where(np.isnan(results), np.uint32(FLOAT_NAN), results.view(np.uint32))
    return results.astype(np.uint32).tolist()


def hard_pairs(bench: Bench, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Every two special numbers; then hard ones, an eighth of them alike but for sign or one bit,
    and an eighth of them integers of any length."""
    rng = bench.rng
    pairs = [(a, b) for a in SPECIAL for b in SPECIAL]
    for number in range(count - len(pairs)):
        if number % 8 == 0:
            pairs.append((rng.getrandbits(rng.randrange(1, 33)), rng.getrandbits(32)))
            continue
        a, b, c = hard_triple(rng)
        pairs.append((a, a ^ rng.choice((0, 1, 1 << 31)) if number % 8 == 1 else
                      c if number % 2 else b))
    first, second = np.array(pairs, np.uint32).T
    return first.copy(), second.copy()


@testbench
async def a_million_as_numpy_has_them(bench: Bench) -> None:
    """One thread in each cycle, and one result: there is nothing to wait for."""
    ports, threads = bench.inputs, 2 ** bench.parameters["tid_width"]
    valid, data = bench.outputs["result.valid"], bench.outputs["result.payload.data"]
    tid, mask = bench.outputs["result.payload.tid"], bench.outputs["result.payload"].mask
    count = CASES // len(NUMPY)
    for operation in NUMPY:
        await bench.reset()
        a, b = hard_pairs(bench, count)
        results = wanted(operation, a, b)
        fixed = ports.pack({"configuration.operation": int(operation), "result.ready": 1})
        used = [f"operands.{k}" for k in range(operands_of(operation))]
        offers = sum(ports[f"{port}.valid"].mask for port in used)
        places = [ports[f"{port}.payload.data"].offset for port in used]
        numbers = [1 << ports[f"{port}.payload.tid"].offset for port in used]
        operands = [array.tolist() for array in (a, b)][:len(used)]
        bench.declare("result", stages=PIPELINE_STAGES)
        bench.declare("stream", threads=count, stages=PIPELINE_STAGES)
        for cycle in range(count + LATENCY):
            word = fixed
            if cycle < count:
                word |= offers | sum(cycle % threads * number for number in numbers)
                for values, place in zip(operands, places, strict=True):
                    word |= values[cycle] << place
            seen = await bench.step(word)
            number = cycle - LATENCY
            if number < 0:
                bench.check(seen, 0, valid.mask)
            else:
                bench.check(seen, valid.mask | data.to(results[number])
                            | tid.to(number % threads), valid.mask | mask)
