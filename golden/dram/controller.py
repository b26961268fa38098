"""Golden model of the DRAM controller: which words a request moves, and every cycle of the pins.

The stages' models say what a request is: a rectangle of a buffer, or a list of indexes; its bursts;
their order. What is added here is when a request begins, and when it is over: it works with the
cycle in which each thing happens, known as soon as the request has begun, where hardware counts
down, hands on and waits.

Ref: Sim-D, section 3.2.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dram import index_iterator, stride_sequencer
from cyclebound.golden.dram.buffer_table import (
    Answer,
    BufferRequest,
    BufferTableModel,
    Mapping,
    decide,
)
from cyclebound.golden.dram.command_arbiter import CommandArbiterModel, Issued
from cyclebound.golden.dram.command_generator import BankOperation, CommandGeneratorModel
from cyclebound.golden.dram.dq_scheduler import DataBeat
from cyclebound.golden.dram.index_iterator import Element, IndexedTile
from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BEAT_WORDS,
    BEATS,
    BURST_WORDS,
    FIFO_DEPTH,
    TARGET_BITS,
    Burst,
    Destination,
    Refusal,
    TileRequest,
)
from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.golden.dram.timing import Part

__all__ = ["FETCH_LATENCY", "INDEX_LEAD", "LOOKUP", "MOST_OWED", "TILE_LEAD", "ControllerShown",
           "DramControllerModel", "bursts_moved", "words_moved"]

FETCH_LATENCY = 2
"""Cycles from a fetch to the chip's answer."""

LOOKUP = 7
"""Cycles from a request to the buffer table's answer, both included."""

TILE_LEAD = stride_sequencer.START - 1 + 3
"""Cycles from a tile's start to the choice of its first command: its first burst, and three."""

INDEX_LEAD = 4 + 3
"""Likewise from the first index of an indexed request: the first burst is known after three."""

MOST_OWED = 8  # refreshes; one more is late [JESD79-4, REF command]
_INDEX_KNOWN = 4  # from taking the index that shows a burst not to be the last, to its entry
_INDEX_END = 3    # from taking the end of no indexes to the end of the request


def words_moved(mapping: Mapping | None, request: BufferRequest,
                indexes: Sequence[int] | np.ndarray = (),
                targets: Sequence[int] | np.ndarray = ()) -> tuple[Refusal, np.ndarray, np.ndarray]:
    """Carry out a request: its refusal, and the addresses and targets of the words it moves.

    Both are arrays of int64 of the same length, line after line or index after index; without a
    word if the request is refused. ``indexes`` and ``targets`` are those of an indexed request:
    the indexes beyond the buffer are left out, and `Refusal.INDEX` says that there were some.
    """
    answer = decide(mapping, request)
    none = np.zeros(0, dtype=np.int64)
    if answer.refusal:
        return answer.refusal, none, none
    if request.indexed:
        offsets = np.array(indexes, dtype=np.int64)
        legal = offsets < answer.limit
        return (Refusal.NONE if legal.all() else Refusal.INDEX, answer.address + offsets[legal],
                np.array(targets, dtype=np.int64)[legal])
    line, column = np.indices((request.count, request.words), dtype=np.int64).reshape(2, -1)
    return (Refusal.NONE, answer.address + line * answer.period + column,
            (request.base + line * answer.pitch + column) % (1 << TARGET_BITS))


def _tile(answer: Answer, request: BufferRequest) -> TileRequest:
    return TileRequest(address=answer.address, words=request.words, period=answer.period,
                       count=request.count, write=request.write,
                       destination=Destination(request.destination), base=request.base,
                       pitch=answer.pitch, transform=request.transform)


def _indexed(answer: Answer, request: BufferRequest) -> IndexedTile:
    return IndexedTile(address=answer.address, limit=answer.limit, write=request.write,
                       destination=request.destination, transform=request.transform)


def bursts_moved(answer: Answer, request: BufferRequest, elements: Iterable[Element] = ()
                 ) -> list[Burst]:
    """The bursts of a request that is not refused, in order; ``elements`` if it is indexed."""
    if request.indexed:
        return index_iterator.bursts_of(_indexed(answer, request), elements)
    return stride_sequencer.bursts_of(_tile(answer, request))


class _StartedRequest:
    """A request from its start to its last command, with an arbiter of its own."""

    def __init__(self, part: Part, request: BufferRequest, answer: Answer, start: int) -> None:
        self._arbiter, self._generator = CommandArbiterModel(part), CommandGeneratorModel(part)
        self._request, self._indexed = request, _indexed(answer, request)
        # the earliest cycle in which entries may be at the heads, and their burst
        self._coming: deque[tuple[int, list[tuple[int, BankOperation]], Burst]] = deque()
        self._queued: defaultdict[int, deque[Burst]] = defaultdict(deque)  # by bank
        self._lengths = [0] * part.banks
        self._unknown: list[Burst] = []  # of an indexed request, whether they are the last
        self._complete = not request.indexed
        self.verdict = Refusal.NONE
        self.last = start  # cycle of the last command so far
        if not request.indexed:
            bursts = bursts_moved(answer, request)
            steps = self._generator.steps([burst.address for burst in bursts],
                                          write=request.write, indexed=False)
            self._coming.extend((start + TILE_LEAD + number, entries, burst) for
                                number, (entries, burst) in enumerate(zip(steps, bursts,
                                                                          strict=True)))

    @property
    def done(self) -> bool:
        """Whether all commands have been chosen."""
        return self._complete and not self._coming and not any(self._arbiter.queues)

    @property
    def holdoff(self) -> int:
        """The first cycle in which the next request's first command may be chosen."""
        return self._arbiter.holdoff

    def take(self, element: Element, cycle: int) -> None:
        """An index is taken. A burst may enter once the next one is known to be another."""
        bursts = index_iterator.bursts_of(self._indexed, [element])
        if not bursts and not element.end:
            self.verdict = Refusal.INDEX
            return
        decided = cycle + _INDEX_KNOWN
        self._unknown += bursts
        if element.end:
            self._complete = True
            for burst in self._unknown[:-1]:
                self._enter(decided, burst, last=False)
            for burst in self._unknown[-1:]:
                self._enter(decided + 1, burst, last=True)
            if not self._unknown:
                self.last = cycle + _INDEX_END
        elif len(self._unknown) == 3:
            self._enter(decided, self._unknown.pop(0), last=False)

    def _enter(self, cycle: int, burst: Burst, *, last: bool) -> None:
        after = None if last else burst.address  # of an indexed request, only the end matters
        self._coming.append((cycle, self._generator.step(
            burst.address, after, write=self._request.write, indexed=True), burst))

    def step(self, cycle: int) -> tuple[Issued, Burst | None] | None:
        """The command that is chosen in ``cycle``, and the burst that it reads or writes."""
        if self._coming:
            earliest, entries, burst = self._coming[0]
            if earliest <= cycle and all(self._lengths[bank] <= FIFO_DEPTH for bank, _ in entries):
                self._coming.popleft()
                for bank, entry in entries:
                    self._arbiter.push(bank, entry)
                self._queued[entries[-1][0]].append(burst)
        self._lengths = [len(queue) for queue in self._arbiter.queues]
        chosen = self._arbiter.choose(cycle)
        if chosen is None:
            return None
        self.last = cycle
        issued = self._arbiter.issue(cycle, chosen)
        return issued, self._queued[chosen].popleft() if issued.op in CAS else None


@dataclass(frozen=True)
class ControllerShown:
    """Outputs of the controller in one cycle; None for those that are not valid.

    ``run`` counts the requests that have been started so far. ``drive`` is (words, mask).
    """

    takes_mapping: bool
    takes_request: bool
    mapped: Refusal | None
    started: bool
    completion: Refusal | None
    command: Issued | None
    fetch: DataBeat | None
    deliver: DataBeat | None
    drive: tuple[tuple[int, ...], int] | None
    late: bool
    free: bool = False


class DramControllerModel:
    """The controller and the device's data, one call a cycle.

    Parameters
    ----------
    part : Part
        The DRAM.
    capacity : int or None
        Words in the device, as the controller's.

    Attributes
    ----------
    memory : dict
        The 16 words of each burst, by burst number; zeros at first.
    owed : int
        Refreshes that fell due and were not done.
    """

    def __init__(self, part: Part, *, capacity: int | None = None) -> None:
        most = min(part.bursts * BURST_WORDS, 1 << ADDRESS_BITS)
        self.part = part
        self.table = BufferTableModel(capacity=most if capacity is None else capacity,
                                      latency=LOOKUP)
        self.memory: defaultdict[int, list[int]] = defaultdict(lambda: [0] * BURST_WORDS)
        self.owed = 0
        self._cycle, self._late = 0, False
        self._lookup: tuple[int, BufferRequest] | None = None  # on offer from that cycle on
        self._run: _StartedRequest | None = None
        self._holdoff = 0  # first cycle in which a refresh or a first command may be chosen
        self._closing: Refusal | None = None  # a request is over that is not completed yet
        self._pins: Issued | None = None
        self._fetches: dict[int, DataBeat] = {}
        self._deliveries: dict[int, tuple[Burst, int]] = {}
        self._leaving: dict[int, tuple[Burst, int]] = {}
        self._drives: dict[int, tuple[tuple[int, ...], int]] = {}

    @property
    def idle(self) -> bool:
        """Whether no request is under way, and the device is at rest."""
        return (self._lookup is None and self._run is None and self._closing is None
                and self._cycle >= self._holdoff and self.owed == 0)

    @property
    def free(self) -> bool:
        """Whether a request in the coming cycle would be taken, and held up by none before it."""
        now, holdoff, run = self._cycle, self._holdoff, self._run
        if run is not None:
            if not run.done or now <= run.last or self._closing is not None:
                return False
            holdoff = max(holdoff, run.holdoff)
        owed = self.owed or (now and now % self.part.nREFI == 0)
        return self.table.idle and not owed and holdoff - now <= LOOKUP - 1 + TILE_LEAD

    def step(self, *, mapping: Mapping | None = None, request: BufferRequest | None = None,
             element: Element | None = None, store: tuple[Sequence[int], int] = ((0,) * 4, 0)
             ) -> ControllerShown:
        """One cycle: what is on offer, the index that is taken, and the chip's answer."""
        now, free = self._cycle, self.free
        if now and now % self.part.nREFI == 0:
            self._late |= self.owed == MOST_OWED
            self.owed = min(self.owed + 1, MOST_OWED)

        completion = None
        over = self._run is not None and self._run.done and now > self._run.last \
            and self._closing is None
        was_busy = self._run is not None or self._closing is not None
        if over and self._run is not None:
            self._closing, self._holdoff = self._run.verdict, max(self._holdoff, self._run.holdoff)
            self._run = None
        if self._closing is not None and now >= self._holdoff:
            completion, self._closing = self._closing, None

        started = refused = False
        if self._lookup is not None and now >= self._lookup[0]:
            wanted = self._lookup[1]
            answer = decide(self.table.buffers.get(wanted.buffer), wanted)
            lead = INDEX_LEAD if wanted.indexed else TILE_LEAD
            if answer.refusal:
                refused = not was_busy
                completion = answer.refusal if refused else completion
            elif self._run is None and not self.owed and self._holdoff - now <= lead:
                started = True
                self._run = _StartedRequest(self.part, wanted, answer, now)
        if started or refused:
            self._lookup = None
        offered = self.table.step(mapping, request, tile_ready=started, refusal_ready=refused)
        if request is not None and offered.takes_request:
            self._lookup = now + LOOKUP - 1, request

        pins, self._pins = self._pins, None
        if self._run is not None:
            if element is not None:
                self._run.take(element, now)
            chosen = self._run.step(now)
            if chosen is not None:
                self._pins = chosen[0]
                if chosen[1] is not None:
                    self._transfer(now + 1, chosen[1])
        elif self.owed and now >= self._holdoff:
            self._pins = Issued(now, Command.REF)
            self._holdoff = now + self.part.nRFC
            self.owed -= 1
        shown = ControllerShown(
            offered.takes_mapping, offered.takes_request,
            None if offered.mapped is None else offered.mapped.refusal, started, completion, pins,
            self._fetches.pop(now, None), self._deliver(now), self._drives.pop(now, None),
            self._late, free)
        self._answered(now, store)
        self._cycle += 1
        return shown

    # -- data ----------------------------------------------------------------------------------

    @staticmethod
    def _beat(burst: Burst, number: int, words: Sequence[int] = ()) -> DataBeat:
        first = number * BEAT_WORDS
        return DataBeat(burst.mask >> first & (1 << BEAT_WORDS) - 1,
                        burst.targets[first:first + BEAT_WORDS], burst.destination,
                        burst.transform, tuple(words))

    def _transfer(self, pins: int, burst: Burst) -> None:
        """A read or write is on the pins in cycle ``pins``."""
        for number in range(BEATS):
            if burst.write:
                data = pins + self.part.nCWD + number
                self._fetches[data - 1 - FETCH_LATENCY] = self._beat(burst, number)
                self._leaving[data] = burst, number
            else:
                self._deliveries[pins + self.part.nCAS + 1 + number] = burst, number

    def _deliver(self, now: int) -> DataBeat | None:
        if now not in self._deliveries:
            return None
        burst, number = self._deliveries.pop(now)
        first = number * BEAT_WORDS
        return self._beat(burst, number, self.memory[burst.address][first:first + BEAT_WORDS])

    def _answered(self, now: int, store: tuple[Sequence[int], int]) -> None:
        """The chip's answer of this cycle is on the pins in the next one, and then in memory."""
        if now + 1 not in self._leaving:
            return
        burst, number = self._leaving.pop(now + 1)
        words, enable = store
        mask = self._beat(burst, number).enable & enable
        self._drives[now + 1] = tuple(words), mask
        kept = self.memory[burst.address]
        for word in range(BEAT_WORDS):
            if mask >> word & 1:
                kept[number * BEAT_WORDS + word] = words[word]
