"""Testbench of the network interface: every output compared in every cycle."""

from cyclebound.golden.noc.injection import begins, packet_sizes
from cyclebound.golden.noc.network_interface import Received, Window
from cyclebound.golden.noc.packet import HEADER_FLITS
from cyclebound.golden.noc.wormhole_router import Flit
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.noc.interface_tester import InterfaceTester

_FIRST_READ = 4     # cycles from a transaction to its first word


async def measure(bench: Bench, window: Window, words: int, at: int | None, *,
                  opened: int = 0) -> None:
    """One transaction whose first packet is ready in place ``at`` of the period.

    Without ``at`` it comes in the first cycle after reset, before any window has opened. Else one
    has, and with ``opened`` that is known.
    """
    payload = bench.parameters["payload"]
    whats = ["injection", *(["first_header"] if words <= payload else [])]
    for what in ("injection", "first_header"):
        bench.undeclare(what)
    tester = InterfaceTester(bench, window)
    await bench.reset()
    for what in whats:
        bench.declare(what, opened=opened)
    ready = _FIRST_READ + min(words, payload) + 1  # cycles after the transaction
    start = 0 if at is None else (at - ready + window.offset + 2) % window.period + window.period
    while tester.now < start:
        await tester.cycle()
    await tester.run([words])
    if at is None:
        assert not any(map(window.left, range(window.offset + 2)))
    else:
        assert window.left(start + ready) == max(0, window.length - at % window.period)
    assert len(tester.begun) == len(packet_sizes(words, payload))


@testbench
async def every_place_of_the_period(bench: Bench) -> None:
    """Transactions that are ready in each cycle of the period, of a long period in those where it
    matters, and one right after reset."""
    payload = bench.parameters["payload"]
    full = payload + HEADER_FLITS
    short = payload < 16
    windows = ([Window(23, 5, 13, 0), Window(29, 28, 2 * full + 3, 3), Window(11, 3, 11, 2),
                Window(59, 54, 59, 1)]
               if short else [Window(1024, 17, 512, 24), Window(1024, 1000, 1024, 0)])
    for window in windows:
        last = window.length - full - window.crossing  # where a packet may begin at the latest
        places = range(window.period) if short else sorted(
            {0, 1, max(last, 0), last + 1, window.length - 1, window.length, window.period - 1})
        for words in (1, payload, 2 * payload + 1) if short else (payload, 16 * payload):
            sizes = packet_sizes(words, payload)
            own = (window.length - sizes[0] - window.crossing + 1) % window.period
            parameters = {"period": window.period, "length": window.length,
                          "crossing": window.crossing}
            worst = max(range(window.period), key=lambda at: begins(sizes, at, **parameters)[-1])
            for at in {*places, own, worst}:
                await measure(bench, window, words, at, opened=1)
            for at in (None, *{own, worst}):  # of the class in which none may have opened
                await measure(bench, window, words, at)


@testbench
async def packets_in_a_window(bench: Bench) -> None:
    """Sending without a pause, each window has floor((L - crossing) / flits) packets."""
    payload = bench.parameters["payload"]
    full = payload + HEADER_FLITS
    for length, crossing in ((7 * full + 24 + 26, 24), (3 * full, 0), (2 * full - 1, 0)):
        window = Window(2 * length, 3, length, crossing)
        tester = InterfaceTester(bench, window)
        await bench.reset()
        most = (length - crossing) // full
        await tester.run([4 * most * payload])
        counts: dict[int, int] = {}
        for begin in tester.begun:
            period = (begin - window.offset - 2) // window.period
            counts[period] = counts.get(period, 0) + 1
        sent = list(counts.values())
        assert sent[1:-1] == [most] * (len(sent) - 2), f"{sent} packets, expected {most}"
        assert max(sent) == most


@testbench
async def received_without_a_pause(bench: Bench) -> None:
    """Packets of many sizes in a row: the receiver is always ready."""
    payload = bench.parameters["payload"]
    sizes = [1, payload, 1, 1, 2, payload, payload, max(1, payload - 1), 1]
    for before, words in [(0, n) for n in sorted({1, 2, payload})] + [
            (before, words) for before in (1, payload) for words in sorted({1, 2, payload})]:
        tester = InterfaceTester(bench, Window(8, 0, 8))
        await bench.reset()
        bench.declare("reception", words=before or words, before=0)
        packets = [before, words] if before else [words]
        for number in packets:
            tester.arrive(number, address=9, end=True)
        while sum(word.last for _, word in tester.received) < len(packets):
            await tester.cycle()
            assert tester.receiver.ready
            if packets[0] == before and tester.arrived:
                bench.declare("reception", words=words, before=before)
    bench.undeclare("reception")
    tester = InterfaceTester(bench, Window(8, 0, 8))
    await bench.reset()
    for words in sizes:
        tester.arrive(words)
    while len(tester.received) < sum(sizes):
        await tester.cycle()
        assert tester.receiver.ready, "not ready, though every word is taken at once"


@testbench
async def random_traffic(bench: Bench) -> None:
    """Both directions at random, with stalls on every stream, in windows of all kinds."""
    rng, payload = bench.rng, bench.parameters["payload"]
    full = payload + HEADER_FLITS
    top = (1 << bench.parameters["width"] - 1) - 1
    for window in (Window(2 * full, 1, full + 2), Window(full, 0, full),
                   Window(3 * full, 2 * full, 2 * full, full // 2)):
        for flow in (1.0, 0.7, 0.3):
            tester = InterfaceTester(bench, window)
            await bench.restart()
            for _ in range(8):
                tester.ask(rng.randint(1, 3 * payload), route=rng.getrandbits(8),
                           address=rng.choice((0, top, rng.getrandbits(7))))
                tester.arrive(rng.randint(1, payload), end=rng.random() < 0.5,
                              address=rng.choice((0, top)))
            while not tester.idle:
                await tester.cycle(**{name: rng.random() < flow for name in (
                    "ask", "word", "come", "ready", "drain")})
                assert tester.now < 10_000 * full, "it never ends"
            if flow == 1.0:
                assert not tester.sender.overrun, "a window closed over a packet"
            assert len(tester.ended) == 8


def _nonsense(tester: InterfaceTester) -> None:
    """All kinds of packets that are none, and good ones after each."""
    payload, rng = tester.payload, tester.bench.rng

    def flits(*marks: str) -> None:
        tester.network.waiting.extend(
            Flit(rng.getrandbits(8), "f" in mark, "l" in mark) for mark in marks)
    for bad in (["fl"], ["l"], ["", "l"], ["", ""], ["f", "l"], ["f", "fl"], ["f"],
                ["f", "", "", "fl"], ["f", "", ""], ["f", *[""] * (payload + 1), "l"],
                ["f", *[""] * (payload + 2), "", "l"], ["f", *[""] * (payload + 2), "fl"],
                ["f", *[""] * (payload + 2)], ["f", *[""] * (payload + 1), "fl"]):
        flits(*bad)
        tester.arrive(2)
    for _ in range(400):
        flits(rng.choice(("", "", "", "f", "l", "fl")))
    flits("l")
    tester.arrive(1, address=5, end=True)


@testbench
async def malformed_packets(bench: Bench) -> None:
    """Flits that make no packets are thrown away and counted; the words of good ones come out."""
    for flow in (1.0, 0.6):
        tester = InterfaceTester(bench, Window(8, 0, 8))
        await bench.reset()
        _nonsense(tester)
        while not tester.idle or tester.now < tester.arrived[-1] + 2 * tester.payload:
            await tester.cycle(drain=bench.rng.random() < flow)
        assert tester.receiver.malformed > 30
        assert tester.received[-1][1] == Received(5, tester.received[-1][1].data, last=True)


@testbench
async def refused_transactions(bench: Bench) -> None:
    """No words, windows too short, longer than the period or beyond it: dropped and counted, and
    what fits goes."""
    payload = bench.parameters["payload"]
    full = payload + HEADER_FLITS
    for window, refused in (
            (Window(3 * full, 0, full), 2), (Window(3 * full, 0, full - 1), 4),
            (Window(3 * full, 0, full, 1), 4), (Window(full, 0, full + 1), 7),
            (Window(3 * full, 3 * full, full), 7), (Window(full, 0, full, 9), 2)):
        tester = InterfaceTester(bench, window)
        await bench.reset()
        for words in (0, payload, 1, 0, 2 * payload, 2, 1):
            tester.ask(words)
        while not tester.idle:
            await tester.cycle()
        for _ in range(3):
            await tester.cycle()
        assert tester.sender.refused == refused, f"{tester.sender.refused} are refused"
        assert len(tester.ended) == 7 - refused


reset_in_mid_run = interrupted(random_traffic, last=300, brief=True,
                               then=received_without_a_pause)
