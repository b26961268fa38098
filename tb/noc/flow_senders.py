"""Testbench of several flows at an interface: every output compared in every cycle."""

from collections import deque
from collections.abc import Sequence

from cyclebound.golden.noc.flow_senders import FlowSendersModel, given
from cyclebound.golden.noc.network_interface import Transaction, Window
from cyclebound.golden.noc.packet import HEADER_FLITS
from cyclebound.golden.noc.wormhole_router import Flit
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.flits import FlitPort

_MOST = 200  # times the longest packet: cycles after which a run should be over


class FlowTester:
    """One `cycle` at a time; every output is compared with the model's.

    Attributes
    ----------
    ended : list of int
        Transactions of each flow whose last flit was taken.
    refused, overrun : list of int
        Strobes of each flow so far.
    sent : list of Flit
        What the network has taken.
    """

    def __init__(self, bench: Bench, windows: Sequence[Window]) -> None:
        self.bench, p = bench, bench.parameters
        self.payload, self.width, self.flows = p["payload"], p["width"], p["flows"]
        self.model = FlowSendersModel(payload=self.payload, width=self.width, windows=windows)
        self._source = FlitPort(bench.outputs, bench.inputs, "source")
        self._constant = bench.inputs.pack({
            f"windows.{flow}.{name}": getattr(window, name) for flow, window in enumerate(windows)
            for name in ("period", "offset", "length", "crossing")})
        self._care = bench.outputs.mask([
            "source.valid", "sent", "refused", "overrun", "overlaps",
            *(f"{name}.{flow}.ready" for name in ("transactions", "words")
              for flow in range(self.flows))])
        self.transactions: list[deque[Transaction]] = [deque() for _ in range(self.flows)]
        self.words: list[deque[int]] = [deque() for _ in range(self.flows)]
        self._asked: list[Transaction | None] = [None] * self.flows
        self._word: list[int | None] = [None] * self.flows
        self._counted = [(0, 0)] * self.flows
        self.ended = [0] * self.flows
        self.sent: list[Flit] = []
        self.now = 0

    def ask(self, flow: int, words: int) -> None:
        """Queue a transaction, with random words."""
        rng = self.bench.rng
        self.transactions[flow].append(Transaction(
            rng.getrandbits(self.width), rng.getrandbits(self.width - 1), words))
        self.words[flow].extend(rng.getrandbits(self.width) for _ in range(words))

    def _offered(self, flow: int, ask: bool, word: bool) -> dict[str, int]:
        if self._asked[flow] is None and self.transactions[flow] and ask:
            self._asked[flow] = self.transactions[flow].popleft()
        if self._word[flow] is None and self.words[flow] and word:
            self._word[flow] = self.words[flow].popleft()
        pins: dict[str, int] = {}
        if (asked := self._asked[flow]) is not None:
            pins |= {f"transactions.{flow}.valid": 1} | {
                f"transactions.{flow}.payload.{name}": getattr(asked, name)
                for name in ("route", "address", "words")}
        if (data := self._word[flow]) is not None:
            pins |= {f"words.{flow}.valid": 1, f"words.{flow}.payload": data}
        return pins

    def _expected(self, ready: bool) -> tuple[int, int]:
        senders, offer = self.model.senders, self.model.offer
        offers, care = self.model.offers, self._care
        values = {f"{name}.{flow}.ready": int(getattr(sender, takes))
                  for flow, sender in enumerate(senders)
                  for name, takes in (("transactions", "takes_transaction"),
                                      ("words", "takes_word"))}
        values["overlaps"] = sum(overlaps << flow for flow, overlaps in
                                 enumerate(self.model.overlaps))
        for flow in offers:
            if senders[flow].ends and ready:
                values["sent"] = 1 << flow
                self.ended[flow] += 1
        if offer is not None:
            care |= self._source.wide
            if ready:
                self.sent.append(offer)
        return self.bench.outputs.pack(values) | self._source.word(offer), care

    async def cycle(self, *, ask: bool = True, word: bool = True, ready: bool = True) -> None:
        """Offer (new items only if ``ask``, ``word``), and compare every output."""
        inputs = self._constant | (self._source.ready.mask if ready else 0)
        for flow in range(self.flows):
            inputs |= self.bench.inputs.pack(self._offered(flow, ask, word))
        expected, care = self._expected(ready)
        takes = [(sender.takes_transaction, sender.takes_word) for sender in self.model.senders]
        self.model.step(self._asked, self._word, ready)
        for flow, sender in enumerate(self.model.senders):  # strobes, in the model counters
            for name, (before, after) in zip(("refused", "overrun"), zip(
                    self._counted[flow], (sender.refused, sender.overrun), strict=True),
                    strict=True):
                expected |= self.bench.outputs[name].to((after - before) << flow)
            self._counted[flow] = sender.refused, sender.overrun
        self.bench.check(await self.bench.step(inputs), expected, care)
        self.now += 1
        for flow, (accepts, reads) in enumerate(takes):
            if accepts:
                self._asked[flow] = None
            if reads:
                self._word[flow] = None

    @property
    def idle(self) -> bool:
        """All has been taken, and is out."""
        return not any(self.transactions) and not any(self.words) and not any(
            kept is not None for kept in (*self._asked, *self._word)) and not any(
            sender.busy or not sender.takes_transaction for sender in self.model.senders)

    @property
    def overrun(self) -> int:
        """Windows that closed over a packet, of all flows."""
        return sum(sender.overrun for sender in self.model.senders)


def windows_of(bench: Bench, *, room: int) -> list[Window]:
    """Windows that are apart, in any order, each for a packet and up to ``room`` cycles more."""
    rng, flows = bench.rng, bench.parameters["flows"]
    full = bench.parameters["payload"] + HEADER_FLITS
    lengths = [full + rng.randrange(room + 1) for _ in range(flows)]
    period = sum(lengths) + rng.randrange(room + 1)
    begin, windows = rng.randrange(period), []
    for length in lengths:
        windows.append(Window(period, begin % period, length))
        begin += length
    rng.shuffle(windows)
    return windows


@testbench
async def as_if_each_were_alone(bench: Bench) -> None:
    """All flows send without a pause: each within the bounds that it has by itself."""
    payload = bench.parameters["payload"]
    for room in (0, payload, 3 * payload):
        windows = windows_of(bench, room=room)
        await bench.reset()
        bench.forget()
        tester = FlowTester(bench, windows)
        for flow in range(tester.flows):
            for _ in range(4):
                tester.ask(flow, bench.rng.choice((1, payload, 2 * payload + 1)))
        bench.declare("injection", opened=0)
        while not tester.idle:
            await tester.cycle()
            assert tester.now < _MOST * windows[0].period, "it never ends"
        assert tester.ended == [4] * tester.flows
        assert not tester.overrun
        bench.forget()


@testbench
async def windows_that_are_not_apart(bench: Bench) -> None:
    """Of those that meet, the flow with the lowest number keeps its own; the others' transactions
    are refused."""
    rng, p = bench.rng, bench.parameters
    full, flows = p["payload"] + HEADER_FLITS, p["flows"]
    bench.forget()
    for number in range(24):
        period = rng.choice((2 * full, 3 * full, 4 * full))
        windows = [Window(rng.choice((period, period, period, 2 * full)), rng.randrange(period + 1),
                          rng.choice((0, 1, full, full + 1, period, period + 1)))
                   for _ in range(flows)]
        if number == 0:
            windows = [Window(0, 0, 0)] * flows
        if number == 1:  # touching, round the end of the period
            windows = [Window(flows * full, (flow * full + full // 2) % (flows * full), full)
                       for flow in range(flows)]
            assert all(given(windows))
        await bench.reset()
        tester = FlowTester(bench, windows)
        for flow in range(flows):
            tester.ask(flow, rng.randint(1, p["payload"]))
        while not tester.idle:
            await tester.cycle()
            assert tester.now < _MOST * full, "it never ends"
        assert all(not overlaps or not ended for overlaps, ended in zip(
            tester.model.overlaps, tester.ended, strict=True))


@testbench
async def a_network_that_stalls(bench: Bench) -> None:
    """Packets are kept together, also where windows close over them."""
    bench.forget()
    overrun = 0
    for ready in (0.8, 0.4, 0.1):
        windows = windows_of(bench, room=2)
        await bench.reset()
        tester = FlowTester(bench, windows)
        for flow in range(tester.flows):
            for _ in range(3):
                tester.ask(flow, bench.rng.randint(1, 2 * tester.payload))
        while not tester.idle:
            await tester.cycle(ready=bench.rng.random() < ready, ask=bench.rng.random() < 0.8,
                               word=bench.rng.random() < 0.8)
            assert tester.now < 100 * _MOST * windows[0].period, "it never ends"
        inside = False
        for flit in tester.sent:
            assert flit.first != inside
            inside = not flit.last
        overrun += tester.overrun
    assert overrun, "no window closed over a packet"
