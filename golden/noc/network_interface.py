"""Golden model of the network interface (memory-composition, III.B and V.A.2)."""

from collections import deque
from dataclasses import dataclass

from cyclebound.golden.noc.packet import HEADER_FLITS, address_header
from cyclebound.golden.noc.wormhole_router import Flit, packet

__all__ = ["Received", "ReceiverModel", "SenderModel", "Transaction", "Window"]

_FIRST_OPEN = 2   # cycles after reset, and the offset, that a window opens for the first time
_SETUP = 4        # cycles from a transaction to its first word
_READ = 2         # cycles from a packet's last word to its header on the link
_DROPPED = 2      # cycles from the last word that is dropped to the next transaction


@dataclass(frozen=True)
class Window:
    """A tile's line of the TDMA table, in cycles; ``crossing`` has to fit after a packet."""

    period: int
    offset: int
    length: int
    crossing: int = 0

    @property
    def whole(self) -> bool:
        """The window is all of the period."""
        return self.length == self.period

    def left(self, cycle: int) -> int:
        """Cycles of the window left, this one among them; 0 while it is shut."""
        since = cycle - self.offset - _FIRST_OPEN
        return max(0, self.length - since % self.period) if since >= 0 else 0

    def takes(self, flits: int) -> bool:
        """Whether a packet of ``flits`` flits ever fits."""
        if self.length > self.period or self.offset >= self.period:
            return False
        return self.whole or flits + self.crossing <= self.length

    def fits(self, cycle: int, flits: int) -> bool:
        """Whether a packet may begin in this cycle."""
        left = self.left(cycle)
        return left > 0 and (self.whole or flits + self.crossing <= left)


@dataclass(frozen=True)
class Transaction:
    """A DMA's request: the first flit of all packets, the first address, the number of words."""

    route: int
    address: int
    words: int


class SenderModel:
    """The sending half.

    Parameters
    ----------
    payload, width : int
        Words in the longest packet, and bits of a word.
    window : Window
        When it may send.
    """

    def __init__(self, *, payload: int, width: int, window: Window) -> None:
        self._payload, self._width, self.window = payload, width, window
        self.cycle = 0
        self._now: Transaction | None = None
        self._since = 0                          # the cycle of that transaction, or of its end
        self._unsent = 0                         # its words that are in no packet yet
        self._due = 0                            # its words that are to be taken
        self._bad = False
        self._words: deque[tuple[int, int]] = deque()  # cycle in which it was taken, word
        self._flits: deque[Flit] = deque()       # of the packet in progress, not on the link yet
        self._size = 0                           # words in that packet
        self._link: Flit | None = None           # the flit that waits there,
        self._ends = False                       # and whether it is its transaction's last
        self.refused = self.overrun = 0

    @property
    def offer(self) -> Flit | None:
        """The flit on offer to the network in this cycle."""
        return self._link if self.window.left(self.cycle) else None

    @property
    def busy(self) -> bool:
        """There is a transaction, or a flit that is not taken, on offer or not."""
        return self._now is not None or self._link is not None

    @property
    def takes_transaction(self) -> bool:
        """Whether a transaction would be taken in this cycle."""
        return self._now is None and self.cycle >= self._since

    @property
    def takes_word(self) -> bool:
        """Whether a word would be taken in this cycle."""
        if self._now is None or not self._due or self.cycle < self._since + _SETUP:
            return False
        leaving = min(len(self._flits), self._size)  # words of the packet that leaves
        return self._bad or len(self._words) + leaving < 2 * self._payload

    @property
    def ends(self) -> bool:
        """The flit on offer is its transaction's last."""
        return self.offer is not None and self._ends

    def step(self, transaction: Transaction | None, word: int | None, ready: bool) -> None:
        """One cycle: what is offered to the interface, and whether the network is ready."""
        offer, cycle = self.offer, self.cycle
        if self._link is not None and offer is None and self.window.left(cycle - 1):
            self.overrun += 1
        accepts, reads = self.takes_transaction, self.takes_word
        if accepts and transaction is not None:
            self._now, self._since = transaction, cycle
            self._unsent = self._due = transaction.words
            size = min(transaction.words, self._payload)
            self._bad = not size or not self.window.takes(size + HEADER_FLITS)
        elif self._now is not None and self._bad:
            self.refused += cycle == self._since + _SETUP - 1
        if reads and word is not None:
            self._due -= 1
            if not self._bad:
                self._words.append((cycle, word))
            elif not self._due:
                self._now, self._since = None, cycle + _DROPPED
        elif self._bad and self._now is not None and not self._due \
                and cycle == self._since + _SETUP:
            self._now, self._since = None, cycle + 1
        if offer is not None and ready:
            self._link = None
        self.cycle += 1
        if self._link is None:
            self._load()

    def _load(self) -> None:
        """The next flit goes to the link, if there is one for this cycle."""
        if not self._flits:
            self._begin()
        if not self._flits:
            return
        self._link = self._flits.popleft()
        self._ends = not self._flits and not self._unsent
        if self._ends:
            self._now, self._since = None, self.cycle

    def _begin(self) -> None:
        if self._now is None or self._bad or not self._unsent:
            return
        size = min(self._unsent, self._payload)
        if len(self._words) < size or self._words[size - 1][0] + _READ > self.cycle:
            return
        if not self.window.fits(self.cycle, size + HEADER_FLITS):
            return
        done = self._now.words - self._unsent
        self._unsent -= size
        address = (self._now.address + done) % (1 << self._width - 1)
        header = address_header(address, end=not self._unsent, width=self._width)
        words = [self._words.popleft()[1] for _ in range(size)]
        self._flits.extend(packet(self._now.route, [header, *words]))
        self._size = size


@dataclass(frozen=True)
class Received:
    """A word as it comes out."""

    address: int
    data: int
    last: bool


class ReceiverModel:
    """The receiving half.

    Parameters
    ----------
    payload, width : int
        Words in the longest packet, and bits of a word.
    """

    def __init__(self, *, payload: int, width: int) -> None:
        self._payload, self._mask = payload, (1 << width - 1) - 1
        self._end = 1 << width - 1
        self.cycle = 0
        self._room = 2 * (payload + 1)
        self._arriving: list[int] | None = None  # the flits so far after the first one
        self._lost = False                       # what was counted has not ended yet
        self._packets: deque[tuple[int, list[Received]]] = deque()
        self._leaving: deque[Received] = deque()
        self.offer: Received | None = None
        self.malformed = 0

    @property
    def ready(self) -> bool:
        """Whether a flit would be taken in this cycle."""
        held = sum(1 + len(words) for _, words in self._packets) + len(self._leaving)
        return held + len(self._arriving or ()) < self._room

    def step(self, flit: Flit | None, ready: bool) -> None:
        """One cycle: what the network offers, and whether the word on offer is taken."""
        taken = flit if self.ready else None
        if ready:
            self.offer = None
        if self._leaving:
            if self.offer is None:
                self.offer = self._leaving.popleft()
        elif self._packets and self._packets[0][0] < self.cycle:
            self._leaving.extend(self._packets.popleft()[1])
        if taken is not None:
            self._take(taken)
        self.cycle += 1

    def _take(self, flit: Flit) -> None:
        arriving = self._arriving
        alone = flit.first and flit.last   # an abort, or a packet of nothing
        if flit.first:
            self.malformed += arriving is not None or (alone and not self._lost)
            self._arriving, self._lost = None if alone else [], False
        elif arriving is None:
            self.malformed += not self._lost
            self._lost = not flit.last
        elif (flit.last and not arriving) or len(arriving) > self._payload:
            self.malformed += 1
            self._arriving, self._lost = None, not flit.last
        else:
            arriving.append(flit.data)
            if flit.last:
                self._complete(arriving)

    def _complete(self, packet: list[int]) -> None:
        header, *words = packet
        self._arriving = None
        ends = bool(header & self._end)
        self._packets.append((self.cycle, [
            Received(header + number & self._mask, word, ends and number == len(words) - 1)
            for number, word in enumerate(words)]))
