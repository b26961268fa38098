"""Golden model of the array of content-addressable memories for snoopy indexed transfers.

Ref: Sim-D, section 3.2.3.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.dram.request import BEAT_WORDS

__all__ = ["Load", "SnoopCamModel", "Store"]


@dataclass(frozen=True)
class Load:
    """New content of one lane."""

    lane: int
    index: int
    data: int = 0
    armed: bool = True


@dataclass(frozen=True)
class Store:
    """Answer to a fetch: which words some lane has, and those words."""

    enable: int
    words: tuple[int, ...]


class SnoopCamModel:
    """A dictionary from index to lanes; answers wait in a queue.

    Parameters
    ----------
    lanes : int
        Number of lanes.
    index_width : int
        Indexes count modulo ``2 ** index_width``.
    latency : int
        Cycles from a fetch or a read-out to its answer.
    """

    def __init__(self, lanes: int, index_width: int = 20, latency: int = 2) -> None:
        self._index = [0] * lanes
        self._data = [0] * lanes
        self._hit = [False] * lanes
        self._armed: defaultdict[int, set[int]] = defaultdict(set)  # by index
        self._modulus = 1 << index_width
        self._answers: deque[Store | tuple[int, bool] | None] = deque([None] * latency)

    def _matches(self, first: int, enable: int) -> list[tuple[int, set[int]]]:
        """For each enabled word of a beat that begins at index ``first``: the lanes it is for."""
        return [(word, self._armed.get((first + word) % self._modulus, set()))
                for word in range(BEAT_WORDS) if enable >> word & 1]

    def knows(self, first: int, enable: int) -> bool:
        """Whether some lane waits for, or has, an enabled word of a beat."""
        return any(lanes for _, lanes in self._matches(first, enable))

    def step(self, *, load: Load | None = None, clear: bool = False,
             snoop: tuple[int, int, Sequence[int]] | None = None,
             fetch: tuple[int, int] | None = None,
             read: int | None = None) -> tuple[Store | None, tuple[int, bool] | None]:
        """One cycle; at most one of ``load``, ``snoop``, ``fetch`` and ``read``.

        ``snoop``: (enable, index of word 0, words). ``fetch``: (enable, index of word 0).
        ``read``: a lane. Returns the answer to a fetch and that to a read, (data, hit), which
        were asked ``latency`` cycles ago. Raises `ValueError` for two of the four at once.
        """
        if sum(strobe is not None for strobe in (load, snoop, fetch, read)) > 1:
            raise ValueError("at most one of load, snoop, fetch and read in a cycle")
        answer: Store | tuple[int, bool] | None = None
        if fetch is not None:
            first = {word: min(lanes) for word, lanes in self._matches(fetch[1], fetch[0]) if lanes}
            answer = Store(sum(1 << word for word in first),
                           tuple(self._data[first[word]] if word in first else 0
                                 for word in range(BEAT_WORDS)))
        if read is not None:
            answer = self._data[read], self._hit[read]
        if snoop is not None:
            for word, lanes in self._matches(snoop[1], snoop[0]):
                for lane in lanes:
                    self._data[lane], self._hit[lane] = snoop[2][word], True
        if clear:
            self._armed.clear()
        if load is not None:
            self._armed[self._index[load.lane]].discard(load.lane)
            self._index[load.lane], self._data[load.lane] = load.index, load.data
            self._hit[load.lane] = False
            if load.armed:
                self._armed[load.index].add(load.lane)
        self._answers.append(answer)
        due = self._answers.popleft()
        return (due if isinstance(due, Store) else None), (due if isinstance(due, tuple) else None)
