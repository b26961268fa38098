"""A search for the epoch that stays longest in a load/store unit.

    python -m cyclebound.tools.dataflow.residence_search TRIES SEED > FILE

with golden/dataflow/residence_witness.csv for FILE.

Four epochs of `golden.dataflow.residence.DEPTH` threads: in which order their tokens come, and
which accesses are late. What is as good as the best so far is changed a little and tried again;
after a while without a better one, it begins anew. The longest is printed on standard error.
"""

import random
import sys

from cyclebound.golden.dataflow.bounds import access_residence
from cyclebound.golden.dataflow.residence import DEPTH, MEMORY, residence
from cyclebound.tools.hill_climb import climb, climbed

__all__ = ["search"]

_EPOCHS, _QUICK, _PATIENCE = 4, 2, 400
Threads = list[tuple[int, int]]


def _fresh(rng: random.Random, depth: int, memory: int) -> Threads:
    return [(tid, rng.choice((_QUICK, memory))) for epoch in range(_EPOCHS)
            for tid in rng.sample(range(epoch * depth, (epoch + 1) * depth), depth)]


def _changed(threads: Threads, rng: random.Random, depth: int, memory: int) -> Threads:
    """Two threads of an epoch change places, or an access becomes late or quick; up to four."""
    threads = list(threads)
    for _ in range(rng.choice((1, 1, 2, 4))):
        a = rng.randrange(len(threads))
        if rng.random() < 0.45:
            b = a - a % depth + rng.randrange(depth)
            threads[a], threads[b] = threads[b], threads[a]
        else:
            threads[a] = threads[a][0], rng.choice((_QUICK, memory))
    return threads


def search(tries: int, *, seed: int, depth: int = DEPTH,
           memory: int = MEMORY) -> tuple[int, Threads]:
    """The longest residence found, and the threads with the cycles that their accesses took."""
    rng = random.Random(seed)

    def allowed(threads: Threads) -> int | None:
        longest, took = residence(threads, depth=depth)
        return longest if max(took) <= memory else None

    found = climbed(climb(lambda: _fresh(rng, depth, memory),
                          lambda threads: _changed(threads, rng, depth, memory),
                          tries=tries, patience=_PATIENCE), allowed)
    if found.value is None or found.candidate is None:
        return 0, []
    _, took = residence(found.candidate, depth=depth)
    return found.value, [(tid, cycles) for (tid, _), cycles in zip(found.candidate, took,
                                                                   strict=True)]


def main(arguments: list[str]) -> None:
    """The command line; the module's docstring has its arguments."""
    if len(arguments) != 2:
        sys.exit(__doc__)
    longest, threads = search(int(arguments[0]), seed=int(arguments[1]))
    print(f"{longest} of {access_residence(depth=DEPTH, memory=MEMORY)}", file=sys.stderr)
    print("thread,cycles", *(f"{tid},{cycles}" for tid, cycles in threads), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
