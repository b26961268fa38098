"""Golden models of caches: tags, miss registers, and ports of whole lines below.

Source: SGMF, sections 2.1, 5, 5.2 and 6 (load/store units are connected to the banks of a private
first-level cache by a crossbar; a banked second level is shared by all cores; their policies),
Table 1 (size, banks, lines, ways).
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.golden.dataflow.cache_policies import LRU, WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.load_store_unit import TaggedAccess

__all__ = ["BankedCacheModel", "Line", "LineAnswer", "LineCacheModel", "LineRequest"]

R = TypeVar("R")  # a request of a port
A = TypeVar("A")  # an answer to one


@dataclass(frozen=True)
class LineRequest:
    """To the memory below: a line, by its number; ``mask``: which words of it are written.

    A read's ``id`` comes back with its line.
    """

    id: int
    line: int
    write: bool
    mask: int = 0
    data: tuple[int, ...] = ()


@dataclass(frozen=True)
class LineAnswer:
    """The line that a read has asked for."""

    id: int
    data: tuple[int, ...]


@dataclass
class Line:
    """A line that a bank has; ``dirty``: the words of it that are to be written below."""

    data: list[int]
    dirty: int = 0


@dataclass
class _Miss(Generic[R]):
    """A line that has been asked for. ``targets``: (port, request), in order; ``way``: its place.
    """

    number: int
    way: int
    filled: bool = False
    targets: deque[tuple[int, R]] = field(default_factory=deque)


class Bank(Generic[R]):
    """Lines by number, ways of each set in the order in which they are given up, misses."""

    def __init__(self, shape: CacheShape, ports: int) -> None:
        self.turn = RoundRobinModel(ports)
        self.lines: dict[int, Line] = {}
        self.place: dict[tuple[int, int], int] = {}  # by set and way, the line that it has
        self.order = [list(range(shape.ways)) for _ in range(shape.sets)]
        self.misses: list[_Miss[R] | None] = [None] * shape.misses
        self.read: LineRequest | None = None
        self.write: LineRequest | None = None
        self.ripe = 0  # the cycle from which on the line to be written is there
        self.row = 0   # of a flush

    @property
    def draining(self) -> _Miss[R] | None:
        return next((miss for miss in self.misses if miss is not None and miss.filled), None)

    def pending(self, number: int) -> _Miss[R] | None:
        return next((miss for miss in self.misses
                     if miss is not None and miss.number == number), None)


class BankedCacheModel(ABC, Generic[R, A]):
    """A cache, one cycle at a time: `responses`, `line_requests`, then `advance`.

    In each cycle a bank does one of these, the first that it can: write a line that has come; let
    a request that has waited for such a line be made; take a new request. A port has one request
    made in a cycle, and those that have waited go first, so that no two answers of a port ever
    meet: each is there in the third cycle.

    A request of a line that is there is made when it is taken. One that misses takes a miss
    register and a way, and asks for the line; others of the same line wait in that register. What
    has no room waits to be taken, and the bank waits with it.

    A model of one kind of requests has the methods that are abstract here.

    Parameters
    ----------
    ports : int
        Of requesters.
    shape : CacheShape
        Sizes and policies.
    channels : int
        Ports of lines below; bank mod ``channels`` is the one that a bank uses.
    """

    def __init__(self, *, ports: int, shape: CacheShape, channels: int = 1) -> None:
        self.shape, self.channels = shape, channels
        self.banks: list[Bank[R]] = [Bank(shape, ports) for _ in range(shape.banks)]
        self._lines = [RoundRobinModel(shape.banks) for _ in range(channels)]
        self._replays = [RoundRobinModel(shape.banks) for _ in range(ports)]
        self._answers: list[list[A | None]] = [[None] * ports] * 2
        self._filling: list[LineAnswer | None] = [None] * channels
        self._now = 0
        # banks with something to do, so that the others cost nothing
        self._offering: set[int] = set()  # a line on offer to the memory below
        self._draining: set[int] = set()  # a line that has come, and requests that wait for it
        self._flushing = False
        # events, by name
        self.counts = dict.fromkeys(("hits", "merged", "missed", "read", "written", "around"), 0)

    @abstractmethod
    def number_of(self, request: R) -> int:
        """The line that a request is of."""

    @abstractmethod
    def writes(self, request: R) -> bool:
        """Whether a request is a write."""

    @abstractmethod
    def mask_of(self, request: R) -> int:
        """The words of its line that a request writes."""

    @abstractmethod
    def words_of(self, request: R) -> tuple[int, ...]:
        """A line that has the words that a request writes."""

    @abstractmethod
    def made(self, line: Line, request: R) -> A | None:
        """Make a request of a line that is there; returns its answer."""

    def responses(self) -> list[A | None]:
        """The answer to each port in this cycle."""
        return self._answers[0]

    def line_requests(self) -> list[LineRequest | None]:
        """What is asked of each memory below in this cycle."""
        return [None if bank is None else bank.read or bank.write for bank in self._asks()]

    def flushed(self, flush: bool) -> bool:
        """Whether all banks are empty, while ``flush`` is set."""
        return flush and all(bank.row == self.shape.rows and bank.write is None
                             for bank in self.banks)

    def _asks(self) -> list[Bank[R] | None]:
        """By channel the bank whose turn it is; it stays so until its request is taken."""
        asking = [0] * self.channels
        for number in self._offering:
            bank = self.banks[number]
            if bank.read is not None or bank.ripe <= self._now:
                asking[number % self.channels] |= 1 << number
        winners = [turn.step(mask, False) for turn, mask in zip(self._lines, asking, strict=True)]
        return [self.banks[winner.bit_length() - 1] if winner else None for winner in winners]

    def advance(self, requests: Sequence[R | None], *, lines_taken: Sequence[bool],
                lines: Sequence[LineAnswer | None], flush: bool = False) -> list[bool]:
        """End the cycle with these requests of the ports; returns which are taken.

        Parameters
        ----------
        requests : sequence of R or None
            By port.
        lines_taken : sequence of bool
            By channel, whether the memory below takes what `line_requests` says.
        lines : sequence of LineAnswer or None
            By channel, a line that has come from there.
        flush : bool
            Lines are written back and given up; nothing new is taken.
        """
        shape = self.shape
        answers: list[A | None] = [None] * len(requests)
        taken = [False] * len(requests)
        sent = [(bank, bank.read is not None) for bank, takes in zip(
            self._asks(), lines_taken, strict=True) if takes and bank is not None]

        fills = {line.id >> shape.register_bits: line for line in self._filling
                 if line is not None}
        waits = self._replaying(fills)
        granted = {self._replays[port].step(asking, True).bit_length() - 1: port
                   for port, asking in waits.items()}
        offers: dict[int, int] = {}  # by bank, the ports that ask for it
        for port, request in enumerate(requests):
            if request is not None:
                of = self.number_of(request) % shape.banks
                offers[of] = offers.get(of, 0) | 1 << port

        busy = range(shape.banks) if flush else sorted(offers.keys() | fills | self._draining)
        for number in busy:
            bank = self.banks[number]
            asking = offers.get(number, 0)
            miss = bank.draining if number in self._draining else None
            winner = None
            if asking:  # whose turn it is stays so, whatever the bank does
                winner = bank.turn.step(asking, False).bit_length() - 1
            if number in fills:
                self._fill(bank, fills[number])
                self._draining.add(number)
            elif miss is not None:
                if number in granted:
                    port, request = miss.targets.popleft()
                    answers[port] = self._make(bank, request)
                    if not miss.targets:
                        bank.misses[bank.misses.index(miss)] = None
                        if bank.draining is None:
                            self._draining.remove(number)
            elif flush:
                self._give_up(number, bank)
            elif winner is not None and winner not in waits:
                request = requests[winner]
                assert request is not None
                taken[winner], answer = self._take(number, bank, winner, request)
                if answer is not None:
                    answers[winner] = answer
                if taken[winner]:
                    bank.turn.step(asking, True)
        if self._flushing and not flush:
            for bank in self.banks:
                bank.row = 0
        self._flushing = flush

        for bank, reads in sent:  # what was on offer has gone, not what this cycle adds
            self._sent(bank, reads)
        self._filling = list(lines)
        self._answers = [self._answers[1], answers]
        self._now += 1
        return taken

    def _replaying(self, fills: Mapping[int, LineAnswer]) -> dict[int, int]:
        """By port, the banks that have a request of it to be made, and no line to fill."""
        waits: dict[int, int] = {}
        for number in self._draining - fills.keys():
            if (miss := self.banks[number].draining) is not None:
                port = miss.targets[0][0]
                waits[port] = waits.get(port, 0) | 1 << number
        return waits

    def _sent(self, bank: Bank[R], reads: bool) -> None:
        """The memory below has taken a bank's request: its read, or else its write."""
        number = self.banks.index(bank)
        self._lines[number % self.channels].step(1 << number, True)
        if reads:
            bank.read = None
            self.counts["read"] += 1
        else:
            bank.write = None
            self.counts["written"] += 1
        if bank.read is None and bank.write is None:
            self._offering.remove(number)

    def _set_of(self, number: int) -> int:
        return number // self.shape.banks % self.shape.sets

    def _make(self, bank: Bank[R], request: R) -> A | None:
        line = bank.lines[self.number_of(request)]
        if self.shape.policy == WRITE_BACK:
            line.dirty |= self.mask_of(request)
        return self.made(line, request)

    def _fill(self, bank: Bank[R], line: LineAnswer) -> None:
        miss = bank.misses[line.id % (1 << self.shape.register_bits)]
        assert miss is not None
        miss.filled = True
        bank.lines[miss.number] = Line(list(line.data))

    def _give_up(self, number: int, bank: Bank[R]) -> None:
        """One more row of a flush, if nothing is under way."""
        shape = self.shape
        if bank.row == shape.rows or bank.read or bank.write or any(bank.misses):
            return
        at = divmod(bank.row, shape.ways)
        held = bank.place.pop(at, None)
        if held is not None:
            line = bank.lines.pop(held)
            if line.dirty:
                self._write_back(number, bank, held, line)
        bank.row += 1

    def _write_back(self, number: int, bank: Bank[R], held: int, line: Line) -> None:
        bank.write = LineRequest(0, held, True, line.dirty, tuple(line.data))
        self._offering.add(number)
        bank.ripe = self._now + 2

    def _take(self, number: int, bank: Bank[R], port: int, request: R) -> tuple[bool, A | None]:
        """Whether a new request is taken, and if it is made at once, its answer."""
        shape = self.shape
        wanted = self.number_of(request)
        through = shape.policy != WRITE_BACK and self.writes(request)
        free = bank.read is None and bank.write is None
        if through and not free:
            return False, None
        miss, group = bank.pending(wanted), self._set_of(wanted)
        order = bank.order[group]
        answer = None
        if miss is not None:
            if len(miss.targets) == shape.targets:
                return False, None
            miss.targets.append((port, request))
            if shape.replacement == LRU:
                order.append(order.pop(order.index(miss.way)))
            self.counts["merged"] += 1
        elif wanted in bank.lines:
            answer = self._make(bank, request)
            if shape.replacement == LRU:
                way = next(way for way in order if bank.place.get((group, way)) == wanted)
                order.append(order.pop(order.index(way)))
            self.counts["hits"] += 1
        elif through:  # it goes around the cache; whatever it is answered is not read
            answer = self.made(Line([0] * shape.line), request)
            self.counts["around"] += 1
        else:
            kept = {miss.way for miss in bank.misses
                    if miss is not None and self._set_of(miss.number) == group}
            ways = [way for way in order if way not in kept]
            if not free or None not in bank.misses or not ways:
                return False, None
            way = ways[0]
            order.append(order.pop(order.index(way)))
            register = bank.misses.index(None)
            bank.misses[register] = _Miss(wanted, way, targets=deque([(port, request)]))
            bank.read = LineRequest(number << shape.register_bits | register, wanted, False)
            self._offering.add(number)
            held = bank.place.get((group, way))
            if held is not None:
                line = bank.lines.pop(held)
                if line.dirty:
                    self._write_back(number, bank, held, line)
            bank.place[group, way] = wanted
            self.counts["missed"] += 1
        if through:
            bank.write = LineRequest(0, wanted, True, self.mask_of(request),
                                     self.words_of(request))
            self._offering.add(number)
            bank.ripe = self._now + 1
        return True, answer


class LineCacheModel(BankedCacheModel[TaggedAccess, tuple[int, int]]):
    """A first-level cache: requests are of words, and each is answered, with its tag and the word
    from before it.

    Parameters
    ----------
    ports, width : int
        Ports, and bits of a word.
    shape : CacheShape
        Sizes and policies.
    """

    def __init__(self, *, ports: int, shape: CacheShape, width: int = 32) -> None:
        super().__init__(ports=ports, shape=shape)
        self.width = width

    def number_of(self, request: TaggedAccess) -> int:
        return request.address // self.shape.line

    def writes(self, request: TaggedAccess) -> bool:
        return request.write

    def mask_of(self, request: TaggedAccess) -> int:
        return request.write << request.address % self.shape.line

    def words_of(self, request: TaggedAccess) -> tuple[int, ...]:
        return (request.data,) * self.shape.line

    def made(self, line: Line, request: TaggedAccess) -> tuple[int, int]:
        place = request.address % self.shape.line
        word = line.data[place]
        if request.write:
            line.data[place] = request.data
        return request.tag, word

    def line_request(self) -> LineRequest | None:
        """What is asked of the memory below in this cycle."""
        return self.line_requests()[0]

    def step(self, requests: Sequence[TaggedAccess | None], *, line_taken: bool = False,
             line: LineAnswer | None = None, flush: bool = False) -> list[bool]:
        """`advance`, with one memory below."""
        return self.advance(requests, lines_taken=[line_taken], lines=[line], flush=flush)
