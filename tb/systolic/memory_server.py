"""A memory for the accelerator, as slow as it may be or faster."""

import random
from collections import deque

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.tb.bench import Bench

__all__ = ["MemoryServer"]


class MemoryServer:
    """Answers requests in their order.

    Parameters
    ----------
    bench : Bench
        With an accelerator.
    beats : array
        What is in memory, a row for each beat; writes change it.
    memory : Memory
        The worst delay, and interval.
    rng : random.Random or None
        Draws when each beat moves; None: as late as may be.
    """

    def __init__(self, bench: Bench, beats: NDArray[np.int64], memory: Memory,
                 rng: random.Random | None = None) -> None:
        self.beats, self.memory, self.rng = beats, memory, rng
        i, o = bench.inputs, bench.outputs
        self._ready, self._valid = i["requests.ready"].mask, i["read.valid"].mask
        self._data, self._take = i["read.payload"], i["write.ready"].mask
        self._asks, self._request = o["requests.valid"].mask, {
            name: o[f"requests.payload.{name}"] for name in ("write", "address", "count")}
        self._takes, self._gives, self._written = (
            o["read.ready"].mask, o["write.valid"].mask, o["write.payload"])
        self._queue: deque[tuple[int, bool, int]] = deque()  # when, whether written, which beat

    def _due(self, now: int) -> tuple[int, bool, int] | None:
        return self._queue[0] if self._queue and self._queue[0][0] <= now else None

    def inputs(self, now: int) -> int:
        """The word of inputs that the memory drives in this cycle."""
        due = self._due(now)
        if due is None:
            return self._ready
        if due[1]:
            return self._ready | self._take
        word = int.from_bytes(self.beats[due[2]].astype(np.int8).tobytes(), "little")
        return self._ready | self._valid | self._data.to(word)

    def see(self, now: int, seen: int) -> None:
        """The accelerator's outputs in the same cycle."""
        due = self._due(now)
        if due is not None:
            assert seen & (self._gives if due[1] else self._takes), (
                f"cycle {now}: a beat waits for the accelerator")
            self._queue.popleft()
            if due[1]:
                word = self._written.of(seen).to_bytes(self.beats.shape[1], "little")
                self.beats[due[2]] = np.frombuffer(word, dtype=np.int8)
        if seen & self._asks:
            request = {name: field.of(seen) for name, field in self._request.items()}
            assert not self._queue, f"cycle {now}: a request before the last one's end"
            when = now
            for number in range(request["count"]):
                worst = now + self.memory.delay + number * self.memory.interval
                when = worst if self.rng is None else self.rng.randint(when + 1, worst)
                self._queue.append((when, bool(request["write"]), request["address"] + number))
