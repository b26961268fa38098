"""Threads of a token buffer that become complete one by one, while others wait incompletely.

The adversary of predictions about a thread alone: alone is who is the only complete thread, and any
number of others may have some of their tokens there, come in the same cycles, and follow in the
next one.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from cyclebound.golden.dataflow.token_buffer import TokenBufferModel
from cyclebound.tb.bench import Bench

__all__ = ["complete_one_by_one"]


async def complete_one_by_one(
        bench: Bench, what: str, buffer: TokenBufferModel, *, operands: Sequence[int], depth: int,
        threads: int, load: float, queues: Sequence[deque],
        cycle: Callable[[], Awaitable[None]]) -> None:
    """Play all tokens of some threads, and declare the last token of each.

    Parameters
    ----------
    what : str
        The requests, which begin with a cycle that is declared to be ``last=1``.
    buffer : TokenBufferModel
        The unit's; what leaves it is taken at once.
    operands : sequence of int
        Those that a thread needs.
    depth, threads : int
        Entries, and how many threads there are; of each entry, one after the other.
    load : float
        The chance of a token on each operand in each cycle.
    queues : sequence of deque
        By operand, where the tester takes the next cycle's token from.
    cycle : callable
        Plays a cycle in which each token in a queue is offered.
    """
    rng, missing = bench.rng, {tid: set(operands) for tid in range(threads)}
    current = {entry: deque(range(entry, threads, depth)) for entry in range(depth)}
    last = False
    while any(current.values()):
        for entry, tids in current.items():
            if tids and not missing[tids[0]] and all(
                    buffer.takes(k, entry) for k in operands):  # it has left its entry
                tids.popleft()
        chosen: dict[int, int] = {}
        completes: set[int] = set()
        for k in rng.sample(operands, len(operands)):
            able = [tids[0] for tids in current.values()
                    if tids and k in missing[tids[0]] and buffer.takes(k, tids[0])]
            if not able or rng.random() >= load:
                continue
            tid = rng.choice(able)
            more = missing[tid] <= {k, *(j for j, other in chosen.items() if other == tid)}
            if not more or not completes:
                chosen[k] = tid
                completes |= {tid} if more else set()
        for k, tid in chosen.items():
            missing[tid].discard(k)
            queues[k].append((tid, rng.getrandbits(8)))
        if bool(completes) != last:
            last = bool(completes)
            if last:
                bench.declare(what, last=1)
            else:
                bench.undeclare(what)
        await cycle()
    bench.undeclare(what)
    for _ in range(4):  # what has been taken is still to be seen
        await cycle()
