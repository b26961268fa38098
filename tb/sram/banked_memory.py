"""Testbench of the banked memory: every port of every bank compared in every cycle."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cyclebound.golden.sram.banked_memory import BankModel, WordAccess
from cyclebound.tb.bench import Bench, testbench

WORST_CASE_BYTES = 4096  # the transaction of memory-composition, Table IV


@dataclass
class Transaction:
    """Accesses that one requester makes in one bank, back to back."""

    accesses: list[WordAccess]
    done: int = 0


class Requester:
    """One requester's path to one bank: plays transactions, and keeps an offer until its grant."""

    def __init__(self, source: Callable[[], Transaction | None]) -> None:
        self._source = source
        self.current: Transaction | None = None

    def offer(self) -> WordAccess | None:
        """The access offered in this cycle."""
        if self.current is None:
            self.current = self._source()
        return None if self.current is None else self.current.accesses[self.current.done]

    def granted(self) -> None:
        """The access on offer has been granted."""
        transaction = self.current
        assert transaction is not None
        transaction.done += 1
        if transaction.done == len(transaction.accesses):
            self.current = None

    def stop(self) -> None:
        """Begin no further transaction."""
        self._source = lambda: None


class BankedMemoryTester:
    """The memory, its models, and a requester on every path; one `cycle` at a time."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        p = bench.parameters
        self.banks, self.requesters = p["banks"], p["requesters"]
        self.words, self.word_bytes = p["words"], p["word_bytes"]
        self.models = [BankModel(requesters=self.requesters, word_bytes=self.word_bytes)
                       for _ in range(self.banks)]
        self.paths: dict[tuple[int, int], Requester] = {}
        pairs = [(r, b) for r in range(self.requesters) for b in range(self.banks)]
        i, o = bench.inputs, bench.outputs
        self._valid = {k: i["ports.{}.{}.request.valid".format(*k)].mask for k in pairs}
        self._payload = {k: i["ports.{}.{}.request.payload".format(*k)].offset for k in pairs}
        self._ready = {k: o["ports.{}.{}.request.ready".format(*k)].mask for k in pairs}
        self._answered = {k: o["ports.{}.{}.response.valid".format(*k)].mask for k in pairs}
        self._data = {k: o["ports.{}.{}.response.data".format(*k)] for k in pairs}
        self._control = sum(self._ready.values()) | sum(self._answered.values())
        payload = i["ports.0.0.request.payload"]
        self._write_at = i["ports.0.0.request.payload.write"].offset - payload.offset
        self._data_at = i["ports.0.0.request.payload.data"].offset - payload.offset

    @classmethod
    async def filled(cls, bench: Bench) -> "BankedMemoryTester":
        """A tester in which every word has been written, since reset leaves memory as it is."""
        tester = cls(bench)
        await tester.fill()
        return tester

    def place(self, requester: int, bank: int,
              source: Callable[[], Transaction | None]) -> Requester:
        """Make ``source`` supply the transactions on a path, which is idle without one."""
        self.paths[requester, bank] = path = Requester(source)
        return path

    async def clear(self) -> None:
        """Stop all requesters, once all that has begun is granted: no offer is withdrawn."""
        for path in self.paths.values():
            path.stop()
        while any(path.current is not None for path in self.paths.values()):
            await self.cycle()
        self.paths.clear()

    def access(self, bank: int, *, write: bool | None = None) -> WordAccess:
        """A random access to ``bank``."""
        rng = self.bench.rng
        if write is None:
            write = rng.random() < 0.5
        return WordAccess(rng.randrange(self.words),
                          rng.randrange(1, 1 << self.word_bytes) if write else 0,
                          rng.getrandbits(8 * self.word_bytes))

    def transaction(self, bank: int, nbytes: int, *, write: bool | None = None) -> Transaction:
        """A transaction of ``nbytes`` bytes with random words."""
        return Transaction([self.access(bank, write=write) for _ in range(self.words_of(nbytes))])

    def words_of(self, nbytes: int) -> int:
        """Words in so many bytes."""
        return -(-nbytes // self.word_bytes)

    def declare(self, nbytes: int, requesters: int, at: tuple[int, int] | None = None) -> None:
        """From now on, transactions on a path (on all) are of so many bytes, and its bank's
        requesters so many.
        """
        where = at and dict(zip("rb", at, strict=True))
        for what in ("transaction", "read"):
            self.bench.declare(what, where, words=self.words_of(nbytes),
                               transaction_bytes=nbytes, requesters=requesters)

    def undeclare(self) -> None:
        """End the declarations: transactions that begin from now on are not measured."""
        for what in ("transaction", "read"):
            self.bench.undeclare(what)

    async def cycle(self) -> None:
        """Offer, and compare every output."""
        offers: list[dict[int, WordAccess]] = [{} for _ in range(self.banks)]
        word = 0
        for key, path in self.paths.items():
            access = path.offer()
            if access is not None:
                offers[key[1]][key[0]] = access
                word |= self._valid[key] | (access.address | access.write << self._write_at
                                            | access.data << self._data_at) << self._payload[key]
        seen = await self.bench.step(word)
        expected, care = 0, self._control
        for bank, model in enumerate(self.models):
            result = model.step(offers[bank])
            if result.reader is not None:
                key = result.reader, bank
                field = self._data[key]
                expected |= self._answered[key] | field.to(result.data)
                care |= field.mask
            if result.granted is not None:
                expected |= self._ready[result.granted, bank]
                self._grant((result.granted, bank))
        self.bench.check(seen, expected, care)

    def _grant(self, key: tuple[int, int]) -> None:
        self.paths[key].granted()

    async def fill(self) -> None:
        """Write every word of every bank, through requester 0."""
        for bank in range(self.banks):
            everything = [WordAccess(address, (1 << self.word_bytes) - 1,
                                     self.bench.rng.getrandbits(8 * self.word_bytes))
                          for address in range(self.words)]
            self.place(0, bank, functools.partial(next, iter([Transaction(everything)]), None))
        for _ in range(self.words):
            await self.cycle()
        await self.clear()


def _sizes(bench: Bench) -> Iterable[int]:
    low, high = bench.domain.get("transaction_bytes", (1, 4 * bench.parameters["word_bytes"]))
    return range(low, high + 1)


async def _measure(tester: BankedMemoryTester, victim: int, rivals: list[int], bank: int,
                   nbytes: int, last_served: int) -> None:
    """One transaction in ``bank`` against rivals that always ask, from one state of the arbiter.

    The arbiter's state is the last requester served. So that one makes an access alone; in the next
    cycle all begin to ask. The worst is to have been served last oneself.
    """
    await tester.clear()
    tester.undeclare()
    # a write: the answer to a read would come when the measurement has begun
    alone = [tester.transaction(bank, tester.word_bytes, write=True)]
    tester.place(last_served, bank, lambda: alone.pop() if alone else None)
    await tester.cycle()
    for rival in rivals:
        tester.place(rival, bank, lambda: tester.transaction(bank, tester.word_bytes))
    tester.declare(nbytes, len(rivals) + 1, at=(victim, bank))
    ours = [tester.transaction(bank, nbytes, write=write) for write in (True, False)]
    path = tester.place(victim, bank, lambda: ours.pop() if ours else None)
    await tester.cycle()
    while path.current is not None or ours:
        await tester.cycle()
    await tester.cycle()  # the last read's answer


@testbench
async def every_size_and_state_under_the_adversary(bench: Bench) -> None:
    """All transaction sizes of the domain, every number of rivals, every state of the arbiter."""
    tester = await BankedMemoryTester.filled(bench)
    for rivals in range(tester.requesters):
        for nbytes in _sizes(bench):
            asking = bench.rng.sample(range(tester.requesters), rivals + 1)
            for last_served in asking:
                await _measure(tester, asking[0], asking[1:], bench.rng.randrange(tester.banks),
                               nbytes, last_served)


@testbench
async def all_ask_at_once_after_reset(bench: Bench) -> None:
    """The arbiter's first order, also after a reset in mid-run; writes only: it is not known yet
    what the memory holds.
    """
    for cycles in (1, 2, *(bench.rng.randrange(3, 20) for _ in range(10)), 20):
        tester = BankedMemoryTester(bench)
        tester.declare(tester.word_bytes, tester.requesters)
        for requester in range(tester.requesters):
            for bank in range(tester.banks):
                tester.place(requester, bank, functools.partial(
                    tester.transaction, bank, tester.word_bytes, write=True))
        for _ in range(cycles + 2 * tester.requesters):
            await tester.cycle()
        await bench.reset()


@testbench
async def worst_case_transaction(bench: Bench) -> None:
    """Table IV's 4 KiB against 0, 2, 4, ... rivals; the harness does it for every number."""
    tester = await BankedMemoryTester.filled(bench)
    for rivals in range(0, tester.requesters, 2):
        await _measure(tester, rivals, list(range(rivals)), 0, WORST_CASE_BYTES, rivals)


@testbench
async def random_traffic_in_all_banks(bench: Bench) -> None:
    """All requesters at random, few words, so that reads meet what others wrote."""
    tester = await BankedMemoryTester.filled(bench)
    tester.words = min(tester.words, 4)
    for load in (0.1, 0.5, 1.0):
        await tester.clear()
        tester.declare(tester.word_bytes, tester.requesters)
        for requester in range(tester.requesters):
            for bank in range(tester.banks):
                def source(bank=bank, load=load):
                    if bench.rng.random() >= load:
                        return None
                    return tester.transaction(bank, tester.word_bytes)
                tester.place(requester, bank, source)
        for _ in range(300):
            await tester.cycle()
