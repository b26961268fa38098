"""Operations of an arithmetic unit: one by one from Python, or by the harness in bulk."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cyclebound.tb.bench import Bench

__all__ = ["measure", "play"]

Bits = NDArray[np.uint32]
Evaluate = Callable[..., Bits]  # selector and operands, arrays of patterns

_ONE_BY_ONE = 1000  # operations
_FIRST = 0x1234_5678, 0x9E37_79B9, 0x0F1E_2D3C
_STRIDE = 0x9E37_79B1, 0x61C8_8647, 0x85EB_CA6B  # odd, and no multiples of each other


async def play(bench: Bench, names: Sequence[str], operations: Iterable[Sequence[int] | None],
               evaluate: Evaluate) -> int:
    """Operations, each a value for each input of ``names``, selector first; None: an idle cycle.

    Every cycle, ``done`` and ``result`` are compared with what must come ``stages`` cycles later.
    Returns how many results there were.
    """
    stages = bench.parameters["stages"]
    valid, done, result = bench.inputs["valid"], bench.outputs["done"], bench.outputs["result"]
    fields = [bench.inputs[name] for name in names]
    steps = list(operations)
    taken = [step for step in steps if step is not None]
    wanted = {select: iter(evaluate(select, *_columns(taken, select)))
              for select in {step[0] for step in taken}}
    under_way: list[int | None] = [None] * stages
    shown = 0
    for step in [*steps, *[None] * stages]:
        word = 0
        if step is not None:
            word = valid.mask | sum(field.to(value)
                                    for field, value in zip(fields, step, strict=True))
        seen = await bench.step(word)
        due = under_way.pop(0)
        if due is None:
            bench.check(seen, 0, done.mask)
        else:
            bench.check(seen, done.mask | result.to(due), done.mask | result.mask)
            shown += 1
        under_way.append(None if step is None else int(next(wanted[step[0]])))
    assert shown == len(taken)
    return shown


def _columns(steps: Sequence[Sequence[int]], select: int) -> list[Bits]:
    rows = [step[1:] for step in steps if step[0] == select]
    return list(np.array(rows, dtype=np.uint32).T)


async def measure(bench: Bench, select: int, count: int, evaluate: Evaluate, *,
                  operands: int = 1) -> None:
    """Run so many operations by the harness, one in each cycle.

    They are observed as one stream, and if there are few, one by one too: a simulator would print
    two lines for each.
    """
    values = [_progression(number, count) for number in range(operands)]
    results = evaluate(select, *values).astype(np.uint64)
    if count <= _ONE_BY_ONE:
        bench.declare("result")
    bench.declare("stream", operations=count)
    outputs = await _run(bench, select, count, operands)
    bench.undeclare("result")
    bench.undeclare("stream")
    sums, right = (outputs["sum"], outputs["weighted"]), _sums(results)
    which = f"operation {select}"
    if sums != right:
        place = await _first_wrong(bench, select, results, operands)
        arguments = ", ".join(f"{int(value[place]):#010x}" for value in values)
        which += f" of {arguments}: not {int(results[place]):#010x}"
    bench.compare(sums, right, f"{which}: the sums of results", count=count)
    assert not outputs["fault"], "a result without an operation"
    assert outputs["results"] == count, f"{outputs['results']} results of {count} operations"
    assert outputs["minimum"] == outputs["maximum"], "latencies differ"


def _progression(number: int, count: int) -> Bits:
    steps = np.arange(count, dtype=np.uint32)
    return np.uint32(_FIRST[number]) + steps * np.uint32(_STRIDE[number])


def _sums(results: NDArray[np.uint64]) -> tuple[int, int]:
    sums = np.cumsum(results, dtype=np.uint64)
    return int(sums[-1]), int(np.sum(sums, dtype=np.uint64))


async def _run(bench: Bench, select: int, count: int, operands: int) -> dict[str, int]:
    word = bench.inputs.pack({
        "select": select, "count": count,
        **{f"first.{number}": _FIRST[number] for number in range(operands)},
        **{f"stride.{number}": _STRIDE[number] for number in range(operands)}})
    await bench.step(word | bench.inputs["start"].mask)
    bench.drive(0)
    return bench.outputs.unpack(await bench.run_until("done", poll=min(10_000, count + 40)))


async def _first_wrong(bench: Bench, select: int, results: NDArray[np.uint64], operands: int
                       ) -> int:
    """The first wrong result, by bisection: it ends the shortest stretch with wrong sums."""
    right, wrong = 0, len(results)
    while wrong - right > 1:
        middle = (right + wrong) // 2
        outputs = await _run(bench, select, middle, operands)
        if (outputs["sum"], outputs["weighted"]) == _sums(results[:middle]):
            right = middle
        else:
            wrong = middle
    return right
