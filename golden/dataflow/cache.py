"""Golden model of a first-level cache: tags, miss registers, and a port of whole lines below.

Source: SGMF, sections 2.1, 5, 5.2 and 6 (load/store units are connected to the banks of a private
first-level cache by a crossbar; its policies), Table 1 (size, banks, lines, ways).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from cyclebound.golden.dataflow.cache_policies import LRU, WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.load_store_unit import Access
from cyclebound.golden.noc.arbiter import RoundRobinModel

__all__ = ["LineAnswer", "LineCacheModel", "LineRequest"]


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
class _Line:
    data: list[int]
    dirty: bool = False


@dataclass
class _Miss:
    """A line that has been asked for. ``targets``: (port, access), in order; ``way``: its place."""

    number: int
    way: int
    filled: bool = False
    targets: deque[tuple[int, Access]] = field(default_factory=deque)


class _Bank:
    """Lines by number, ways of each set in the order in which they are given up, misses."""

    def __init__(self, shape: CacheShape, ports: int) -> None:
        self.turn = RoundRobinModel(ports)
        self.lines: dict[int, _Line] = {}
        self.place: dict[tuple[int, int], int] = {}  # by set and way, the line that it has
        self.order = [list(range(shape.ways)) for _ in range(shape.sets)]
        self.misses: list[_Miss | None] = [None] * shape.misses
        self.read: LineRequest | None = None
        self.write: LineRequest | None = None
        self.ripe = 0  # the cycle from which on the line to be written is there
        self.row = 0   # of a flush

    @property
    def draining(self) -> _Miss | None:
        return next((miss for miss in self.misses if miss is not None and miss.filled), None)

    def pending(self, number: int) -> _Miss | None:
        return next((miss for miss in self.misses
                     if miss is not None and miss.number == number), None)


class LineCacheModel:
    """A cache, one cycle at a time: `responses`, `line_request`, then `step`.

    In each cycle a bank does one of these, the first that it can: write a line that has come; let
    an access that has waited for such a line be made; take a new access. A port has one access made
    in a cycle, and accesses that have waited go first, so that no two answers of a port ever meet:
    each is there in the third cycle.

    An access of a line that is there is made when it is taken. One that misses takes a miss
    register and a way, and asks for the line; others of the same line wait in that register. What
    has no room waits to be taken, and the bank waits with it.

    Parameters
    ----------
    ports, width : int
        Ports, and bits of a word.
    shape : CacheShape
        Sizes and policies.
    """

    def __init__(self, *, ports: int, shape: CacheShape, width: int = 32) -> None:
        self.shape, self.width = shape, width
        self.banks = [_Bank(shape, ports) for _ in range(shape.banks)]
        self._lines = RoundRobinModel(shape.banks)
        self._replays = [RoundRobinModel(shape.banks) for _ in range(ports)]
        self._answers: list[list[tuple[int, int] | None]] = [[None] * ports] * 2
        self._filling: LineAnswer | None = None
        self._now = 0
        # events, by name
        self.counts = dict.fromkeys(("hits", "merged", "missed", "read", "written", "around"), 0)

    def responses(self) -> list[tuple[int, int] | None]:
        """The answer to each port in this cycle: tag and word."""
        return self._answers[0]

    def line_request(self) -> LineRequest | None:
        """What is asked of the memory below in this cycle."""
        bank = self._asks()
        return None if bank is None else bank.read or bank.write

    def flushed(self, flush: bool) -> bool:
        """Whether all banks are empty, while ``flush`` is set."""
        return flush and all(bank.row == self.shape.rows and bank.write is None
                             for bank in self.banks)

    def _asks(self) -> _Bank | None:
        """The bank whose turn it is; it stays so until its request is taken."""
        asking = [bank.read is not None or (bank.write is not None and bank.ripe <= self._now)
                  for bank in self.banks]
        winner = self._lines.step(sum(1 << b for b, asks in enumerate(asking) if asks), False)
        return self.banks[winner.bit_length() - 1] if winner else None

    def step(self, requests: Sequence[Access | None], *, line_taken: bool = False,
             line: LineAnswer | None = None, flush: bool = False) -> list[bool]:
        """End the cycle with these requests of the ports; returns which are taken.

        Parameters
        ----------
        requests : sequence of Access or None
            By port.
        line_taken : bool
            The memory below takes `line_request`.
        line : LineAnswer or None
            A line that has come from there.
        flush : bool
            Lines are written back and given up; nothing new is taken.
        """
        shape = self.shape
        answers: list[tuple[int, int] | None] = [None] * len(requests)
        taken = [False] * len(requests)
        asks = self._asks()
        sent = asks if line_taken else None
        reads = sent is not None and sent.read is not None

        fills = None if self._filling is None else self._filling.id >> shape.register_bits
        replays: dict[int, int] = {}  # by port, the banks that have an access of it to be made
        for number, bank in enumerate(self.banks):
            if number != fills and (miss := bank.draining) is not None:
                port = miss.targets[0][0]
                replays[port] = replays.get(port, 0) | 1 << number
        granted = {self._replays[port].step(asking, True).bit_length() - 1: port
                   for port, asking in replays.items()}

        for number, bank in enumerate(self.banks):
            asking = sum(1 << port for port, request in enumerate(requests)
                         if request is not None and self._bank_of(request.address) == number)
            miss = bank.draining
            accepts, winner = False, None
            if asking:  # whose turn it is stays so, whatever the bank does
                winner = bank.turn.step(asking, False).bit_length() - 1
            if number == fills:
                self._fill(bank)
            elif miss is not None:
                if number in granted:
                    port, access = miss.targets.popleft()
                    answers[port] = access.tag, self._access(bank, access)
                    if not miss.targets:
                        bank.misses[bank.misses.index(miss)] = None
            elif flush:
                self._give_up(number, bank)
            elif winner is not None and winner not in replays:
                request = requests[winner]
                assert request is not None
                accepts, answer = self._take(number, bank, winner, request)
                if answer is not None:
                    answers[winner] = request.tag, answer
            if accepts and winner is not None:
                bank.turn.step(asking, True)
                taken[winner] = True
            if not flush:
                bank.row = 0

        if sent is not None:  # what was on offer has gone, not what this cycle adds
            self._lines.step(sum(1 << b for b, bank in enumerate(self.banks) if bank is sent), True)
            if reads:
                sent.read = None
                self.counts["read"] += 1
            else:
                sent.write = None
                self.counts["written"] += 1
        self._filling = line
        self._answers = [self._answers[1], answers]
        self._now += 1
        return taken

    def _bank_of(self, address: int) -> int:
        return address // self.shape.line % self.shape.banks

    def _set_of(self, number: int) -> int:
        return number // self.shape.banks % self.shape.sets

    def _access(self, bank: _Bank, access: Access) -> int:
        """Make an access of a line that is there; returns the word from before it."""
        line = bank.lines[access.address // self.shape.line]
        place = access.address % self.shape.line
        word = line.data[place]
        if access.write:
            line.data[place] = access.data
            line.dirty = self.shape.policy == WRITE_BACK
        return word

    def _fill(self, bank: _Bank) -> None:
        assert self._filling is not None
        miss = bank.misses[self._filling.id % (1 << self.shape.register_bits)]
        assert miss is not None
        miss.filled = True
        bank.lines[miss.number] = _Line(list(self._filling.data))

    def _give_up(self, number: int, bank: _Bank) -> None:
        """One more row of a flush, if nothing is under way."""
        shape = self.shape
        if any(bank.misses) or bank.read or bank.write or bank.row == shape.rows:
            return
        at = divmod(bank.row, shape.ways)
        held = bank.place.pop(at, None)
        if held is not None:
            line = bank.lines.pop(held)
            if line.dirty:
                self._write_back(number, bank, held, line)
        bank.row += 1

    def _write_back(self, number: int, bank: _Bank, held: int, line: _Line) -> None:
        bank.write = LineRequest(0, held, True, (1 << self.shape.line) - 1, tuple(line.data))
        bank.ripe = self._now + 2

    def _take(self, number: int, bank: _Bank, port: int, access: Access) -> tuple[bool, int | None]:
        """Whether a new access is taken, and if it is made at once, its answer."""
        shape = self.shape
        wanted = access.address // shape.line
        through = access.write and shape.policy != WRITE_BACK
        free = bank.read is None and bank.write is None
        if through and not free:
            return False, None
        miss, group = bank.pending(wanted), self._set_of(wanted)
        order = bank.order[group]
        if miss is not None:
            if len(miss.targets) == shape.targets:
                return False, None
            miss.targets.append((port, access))
            if shape.replacement == LRU:
                order.append(order.pop(order.index(miss.way)))
            self.counts["merged"] += 1
            answer = None
        elif wanted in bank.lines:
            answer = self._access(bank, access)
            if shape.replacement == LRU:
                way = next(way for way in order if bank.place.get((group, way)) == wanted)
                order.append(order.pop(order.index(way)))
            self.counts["hits"] += 1
        elif through:  # it goes around the cache; whatever it is answered is not read
            answer = 0
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
            bank.misses[register] = _Miss(wanted, way, targets=deque([(port, access)]))
            bank.read = LineRequest(number << shape.register_bits | register, wanted, False)
            held = bank.place.get((group, way))
            if held is not None:
                line = bank.lines.pop(held)
                if line.dirty:
                    self._write_back(number, bank, held, line)
            bank.place[group, way] = wanted
            self.counts["missed"] += 1
            return True, None
        if through:
            bank.write = LineRequest(0, wanted, True, 1 << access.address % shape.line,
                                     (access.data,) * shape.line)
            bank.ripe = self._now + 1
        return True, answer
