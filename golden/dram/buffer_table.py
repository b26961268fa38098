"""Golden model of the table of mapped buffers (Sim-D, section 3.2.4).

A buffer is a rectangle of words. The model lays it out as ranges of addresses, cuts the tile out
of them, and sees what is left: it neither multiplies nor compares coordinates with sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from cyclebound.golden.dram.request import COUNT_BITS, Destination, Refusal

__all__ = ["Answer", "BufferRequest", "BufferTableModel", "Mapped", "Mapping", "Offered",
           "decide", "words_of"]


@dataclass(frozen=True)
class Mapping:
    """A buffer: ``y`` lines of ``x`` words, from word ``address`` on; or none, if not ``valid``."""

    buffer: int
    address: int = 0
    x: int = 0
    y: int = 0
    valid: bool = True

    @property
    def words(self) -> range:
        """The addresses of its words, line after line."""
        return range(self.address, self.address + self.x * self.y)


@dataclass(frozen=True)
class BufferRequest:
    """An instruction's request: ``count`` lines of ``words`` words from (x, y) in a buffer.

    ``indexed``: single words of the buffer instead, wherever the indexes say. The rest is as in a
    `TileRequest`.
    """

    buffer: int
    x: int = 0
    y: int = 0
    words: int = 1
    count: int = 1
    indexed: bool = False
    write: bool = False
    destination: int = Destination.SCRATCHPAD
    base: int = 0
    pitch: int = 0
    transform: int = 0


@dataclass(frozen=True)
class Answer:
    """The table's answer to a request.

    ``address`` of the first word and ``period`` in words, ``pitch`` as the tile gets it; ``limit``
    is the buffer's size in words. With a ``refusal``, the others mean nothing.
    """

    refusal: Refusal
    address: int = 0
    period: int = 0
    pitch: int = 0
    limit: int = 0


def decide(mapping: Mapping | None, request: BufferRequest, *,
           indexes: int = 1 << COUNT_BITS) -> Answer:
    """The answer to a request of a buffer that is mapped so, or not at all.

    ``indexes`` is how many words the CAM can tell apart.
    """
    if mapping is None:
        return Answer(Refusal.UNMAPPED)
    starts: Sequence[int] = mapping.words[:: mapping.x] if mapping.x else range(0)
    pitch = mapping.x if request.destination == Destination.CAM else request.pitch
    limit = len(mapping.words)
    if request.indexed:
        return Answer(Refusal.NONE, mapping.address, mapping.x, pitch, limit)
    if not (request.words and request.count):
        return Answer(Refusal.EMPTY)
    if request.destination == Destination.CAM and mapping.words[indexes:]:
        return Answer(Refusal.SNOOP)
    line = range(mapping.x)[request.x:][: request.words]
    lines = range(mapping.y)[request.y:][: request.count]
    if len(line) < request.words:
        return Answer(Refusal.WIDTH)
    if len(lines) < request.count:
        return Answer(Refusal.HEIGHT)
    return Answer(Refusal.NONE, starts[lines[0]] + line[0], mapping.x, pitch, limit)


def words_of(address: int, words: int, period: int, count: int) -> list[int]:
    """The addresses of a tile's words, one by one."""
    return list(chain.from_iterable(range(start, start + words) for start in
                                    (address + line * period for line in range(count))))


@dataclass(frozen=True)
class Mapped:
    """The report of a mapping: ``NONE``, or ``DEVICE`` for one that is kept as no mapping."""

    refusal: Refusal


@dataclass(frozen=True)
class Offered:
    """Outputs of the table in one cycle.

    ``takes_mapping``, ``takes_request``: whether it takes what is offered. ``answer``: to
    ``request``, on offer. ``mapped``: the report of a mapping, in this one cycle.
    """

    takes_mapping: bool
    takes_request: bool
    request: BufferRequest | None = None
    answer: Answer | None = None
    mapped: Mapped | None = None


class BufferTableModel:
    """The table, one call a cycle: one mapping or request at a time.

    Where both are offered, they take turns, and a mapping is first.

    Parameters
    ----------
    capacity : int
        Words of the device.
    latency : int
        Cycles from taking a mapping or request to its report or answer, both included.
    indexes : int
        Words that the CAM can tell apart.
    """

    def __init__(self, *, capacity: int, latency: int, indexes: int = 1 << COUNT_BITS) -> None:
        self.buffers: dict[int, Mapping] = {}
        self._device, self._latency, self._indexes = range(capacity + 1), latency, indexes
        self._job: Mapping | BufferRequest | None = None
        self._wait = 0
        self._turns: list[type] = [Mapping, BufferRequest]

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return self._job is None

    def step(self, mapping: Mapping | None, request: BufferRequest | None, *,
             tile_ready: bool, refusal_ready: bool) -> Offered:
        """One cycle, in which these are offered, and these outputs are taken."""
        if self._job is None:
            return self._take(mapping, request)
        if self._wait:
            self._wait -= 1
        if self._wait:
            return Offered(False, False)
        job = self._job
        if isinstance(job, Mapping):
            self._job = None
            return Offered(False, False, mapped=Mapped(self._map(job)))
        answer = decide(self.buffers.get(job.buffer), job, indexes=self._indexes)
        if refusal_ready if answer.refusal else tile_ready:
            self._job = None
        return Offered(False, False, job, answer)

    def _take(self, mapping: Mapping | None, request: BufferRequest | None) -> Offered:
        """The ready signals with nothing under way; each depends on no port but the other."""
        offers = {Mapping: mapping, BufferRequest: request}
        first, second = self._turns
        ready = {first: True, second: offers[first] is None}
        for kind in self._turns:
            if ready[kind] and offers[kind] is not None:
                self._job, self._wait = offers[kind], self._latency - 1
                self._turns = [offer for offer in offers if offer is not kind] + [kind]
                break
        return Offered(ready[Mapping], ready[BufferRequest])

    def _map(self, mapping: Mapping) -> Refusal:
        self.buffers.pop(mapping.buffer, None)
        if not mapping.valid:
            return Refusal.NONE
        if mapping.words.stop not in self._device:
            return Refusal.DEVICE
        self.buffers[mapping.buffer] = mapping
        return Refusal.NONE
