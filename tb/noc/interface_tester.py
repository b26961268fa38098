"""The network interface, its models, and a DMA and a network around it."""

from collections import deque
from collections.abc import Iterable

from cyclebound.golden.noc.network_interface import (
    Received,
    ReceiverModel,
    SenderModel,
    Transaction,
    Window,
)
from cyclebound.golden.noc.packet import LENGTH_BITS, TIME_BITS, address_header
from cyclebound.golden.noc.wormhole_router import Flit, packet
from cyclebound.tb.bench import Bench
from cyclebound.tb.noc.flits import FlitPort, Sender

__all__ = ["InterfaceTester", "window_word"]


def window_word(window: Window) -> int:
    """The payload of ``window``."""
    return (window.period | window.offset << TIME_BITS | window.length << 2 * TIME_BITS
            | window.crossing << 3 * TIME_BITS)


class InterfaceTester:
    """One `cycle` at a time; every output is compared with the models.

    Attributes
    ----------
    begun, ended : list of int
        Cycles from reset in which a packet's first flit, a transaction's last one was taken.
    received : list of (int, Received)
        Words that came out, with their cycle.
    arrived : list of int
        Cycles in which a last flit arrived.
    """

    def __init__(self, bench: Bench, window: Window) -> None:
        self.bench, p = bench, bench.parameters
        bench.scramble_idle()
        self.payload, self.width, self.window = p["payload"], p["width"], window
        self.sender = SenderModel(payload=self.payload, width=self.width, window=window)
        self.receiver = ReceiverModel(payload=self.payload, width=self.width)
        i, o = bench.inputs, bench.outputs
        self._constant = i["window"].to(window_word(window))
        self._injected, self._arriving = (FlitPort(o, i, "injected"), FlitPort(i, o, "arriving"))
        self._fields = {name: bus[name] for bus, names in (
            (i, ("transactions.valid", "transactions.payload", "words.valid", "words.payload",
                 "received.ready")),
            (o, ("transactions.ready", "words.ready", "received.valid", "received.payload", "sent",
                 "refused", "overrun", "malformed"))) for name in names}
        self._always = sum(self._fields[name].mask for name in (
            "transactions.ready", "words.ready", "received.valid", "sent", "refused", "overrun",
            "malformed")) | self._injected.valid.mask | self._arriving.ready.mask
        self.transactions: deque[Transaction] = deque()
        self.words: deque[int] = deque()
        self.network: Sender[Flit] = Sender()
        self._asked: Transaction | None = None
        self._word: int | None = None
        # cycles in which packets began, ended and arrived, and in which words were received
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.arrived: list[int] = []
        self.received: list[tuple[int, Received]] = []
        self.sent: list[Flit] = []

    def ask(self, words: int, *, route: int = 1, address: int = 0) -> Transaction:
        """Queue a transaction, with random words."""
        asked = Transaction(route, address, words)
        self.transactions.append(asked)
        self.words.extend(self.bench.rng.getrandbits(self.width) for _ in range(words))
        return asked

    def arrive(self, words: int, *, address: int = 0, end: bool = False) -> None:
        """Queue a packet from the network."""
        header = address_header(address, end=end, width=self.width)
        self.network.waiting.extend(packet(0, [header, *(
            self.bench.rng.getrandbits(self.width) for _ in range(words))]))

    @property
    def now(self) -> int:
        """Cycles since reset."""
        return self.sender.cycle

    def _bits(self, asked: Transaction) -> int:
        low = asked.route | asked.address << self.width
        assert asked.words < 1 << LENGTH_BITS
        return low | asked.words << 2 * self.width - 1

    def _offers(self, ask: bool, word: bool, come: bool) -> tuple[int, Flit | None]:
        """The bus word of what is offered in this cycle, and the flit in it."""
        f, pins = self._fields, 0
        if self._asked is None and self.transactions and ask:
            self._asked = self.transactions.popleft()
        if self._word is None and self.words and word:
            self._word = self.words.popleft()
        if self._asked is not None:
            pins |= f["transactions.valid"].mask
            pins |= f["transactions.payload"].to(self._bits(self._asked))
        if self._word is not None:
            pins |= f["words.valid"].mask | f["words.payload"].to(self._word)
        flit = self.network.begin(come=come)
        return pins | self._arriving.word(flit), flit

    def _expected(self) -> tuple[int, int]:
        f, sender, receiver = self._fields, self.sender, self.receiver
        expected, care = self._injected.word(sender.offer), self._always
        if sender.offer is not None:
            care |= self._injected.wide
        for name, value in (("transactions.ready", sender.takes_transaction),
                            ("words.ready", sender.takes_word),
                            ("refused", sender.refused), ("overrun", sender.overrun),
                            ("malformed", receiver.malformed)):
            expected |= f[name].to(int(value))
        if receiver.offer is not None:
            care |= f["received.payload"].mask
            expected |= f["received.valid"].mask | f["received.payload"].to(
                self._received(receiver.offer))
        return expected | (self._arriving.ready.mask if receiver.ready else 0), care

    def _received(self, word: Received) -> int:
        return (word.data | word.address << self.width | word.last << 2 * self.width - 1)

    async def cycle(self, *, ask: bool = True, word: bool = True, come: bool = True,
                    ready: bool = True, drain: bool = True) -> None:
        """Offer (new items only if ``ask``, ``word``, ``come``), and compare every output."""
        inputs, flit = self._offers(ask, word, come)
        inputs |= self._constant | (self._injected.ready.mask if ready else 0)
        inputs |= self._fields["received.ready"].mask if drain else 0
        sender, receiver, now = self.sender, self.receiver, self.now
        expected, care = self._expected()
        offer, ends, out = sender.offer, sender.ends, receiver.offer
        if ends and ready:
            expected |= self._fields["sent"].mask
            self.ended.append(now)
        if offer is not None and ready:
            self.sent.append(offer)
            if offer.first:
                self.begun.append(now)
        if out is not None and drain:
            self.received.append((now, out))
        accepts = self._asked is not None and sender.takes_transaction
        reads = self._word is not None and sender.takes_word
        taken = flit if receiver.ready else None
        sender.step(self._asked, self._word, ready)
        receiver.step(flit, drain)
        self.bench.check(await self.bench.step(inputs), expected, care)
        if accepts:
            self._asked = None
        if reads:
            self._word = None
        if taken is not None:
            if taken.last:
                self.arrived.append(now)
            self.network.taken()

    @property
    def idle(self) -> bool:
        """All has been offered, and all that was taken is out."""
        return (not self.transactions and self._asked is None and not self.words
                and self._word is None and self.network.done and self.sender.takes_transaction
                and not self.sender.busy and self.receiver.offer is None)

    async def run(self, transactions: Iterable[int]) -> None:
        """These transactions, one after the other, without any pause."""
        for words in transactions:
            self.ask(words)
        wanted = len(self.ended) + len(self.transactions)
        while len(self.ended) < wanted:
            await self.cycle()
