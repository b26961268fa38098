"""Testbench of the AXI4 port: cocotbext-axi's client on one side, a DRAM device on the other.

The client is not ours: it drives and samples as its author reads the standard. Between it and
the device stands a scoreboard of bytes, which knows of each transfer on R and B what it must hold;
the device objects to every command that comes too early. At the end, what is kept in the device is
compared as well.
"""

import itertools

from cocotb.triggers import gather
from cocotbext.axi import AxiBurstType
from cocotbext.axi.axi_channels import (
    AxiARSource,
    AxiARTransaction,
    AxiAWSource,
    AxiAWTransaction,
    AxiBSink,
    AxiRSink,
    AxiWSource,
    AxiWTransaction,
)

from cyclebound.golden.dram.axi_port import DATA_BYTES, PAGE_BYTES, AxiBurst, AxiResponse
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dram.axi_tester import AxiTester


async def _traffic(tester: AxiTester, workers: int, operations: int, longest: int) -> None:
    """Workers that write and read in a place of their own each, all at the same time."""
    rng, span = tester.bench.rng, 16 * PAGE_BYTES

    async def work(base: int) -> None:
        kept = bytearray(span)
        for _ in range(operations):
            length = rng.choice((1, 3, 16, rng.randrange(1, 64), rng.randrange(1, longest)))
            address = rng.randrange(span - length)
            size = rng.choice((0, 1, 2, 3, 4)) if length < 64 else 4
            if rng.random() < 0.5:
                data = rng.randbytes(length)
                assert await tester.write(base + address, data, size=size) == AxiResponse.OKAY
                kept[address:address + length] = data
            else:
                seen = await tester.read(base + address, length, size=size)
                assert seen == kept[address:address + length]

    bases = rng.sample(range(tester.device_bytes // span), workers)
    await gather(*(work(base * span) for base in bases))


@testbench
async def every_length(bench: Bench) -> None:
    """Bursts of 1 to 256 full transfers, from either bank of a pair; all written, then all read."""
    tester, written = await AxiTester.ready(bench), {}
    for transfers in (*range(1, 19), 31, 32, 33, 64, 127, 255, 256):
        room = PAGE_BYTES // DATA_BYTES - transfers
        for shift in {0, min(room, 4), min(room, bench.rng.randrange(256))}:
            page = bench.rng.randrange(tester.device_bytes // PAGE_BYTES)
            address, data = page * PAGE_BYTES + shift * DATA_BYTES, bench.rng.randbytes(
                transfers * DATA_BYTES)
            assert await tester.write(address, data) == AxiResponse.OKAY
            written[address] = data
    for address in bench.rng.sample(sorted(written), len(written)):
        data = bytes(tester.bytes[address + n] for n in range(len(written[address])))
        assert await tester.read(address, len(data)) == data
    counts = await tester.finish()
    assert counts["reads"] == len(written) > 60, counts
    assert counts["partial"] == counts["refused"] == counts["stalled"] == 0, counts


@testbench
async def words_in_part(bench: Bench) -> None:
    """Writes that lack a byte somewhere, up to 4 KiB: these take longest."""
    tester = await AxiTester.ready(bench)
    for transfers in (1, 2, 7, 64, 255, 256):
        page, length = bench.rng.randrange(16) * PAGE_BYTES, transfers * DATA_BYTES - 1
        before, data = (bench.rng.randbytes(size) for size in (length + 1, length))
        for first in (0, 1):
            assert await tester.write(page, before) == AxiResponse.OKAY
            assert await tester.write(page + first, data) == AxiResponse.OKAY
            seen = await tester.read(page, length + 1)
            assert seen == (before[:1] + data if first else data + before[-1:])
    counts = await tester.finish()
    assert counts["partial"] == 12, counts


@testbench
async def traffic(bench: Bench) -> None:
    """Reads and writes of any bytes, several outstanding in both directions."""
    tester = await AxiTester.ready(bench)
    await _traffic(tester, 6, 24, 5000)
    counts = await tester.finish()
    assert min(counts["reads"], counts["writes"]) > 50, counts
    assert counts["partial"] > 20, counts


@testbench
async def traffic_with_stalls(bench: Bench) -> None:
    """Random bursts, while the client stalls each channel at random."""
    tester = await AxiTester.ready(bench)
    write, read = tester.master.write_if, tester.master.read_if
    for chance in (0.3, 0.9):
        tester.pause(write.aw_channel, write.w_channel, write.b_channel, read.ar_channel,
                     read.r_channel, chance=chance)
        await _traffic(tester, 4, 8, 300)
    counts = await tester.finish()
    assert min(counts["reads"], counts["writes"], counts["stalled"]) > 15, counts


@testbench
async def bursts_that_wrap_or_stay(bench: Bench) -> None:
    """WRAP from every place of its block, and FIXED, through the client."""
    tester, rng = await AxiTester.ready(bench), bench.rng
    for transfers, size in ((2, 4), (4, 4), (8, 4), (16, 4), (8, 1), (16, 0), (4, 2)):
        width = 1 << size
        page = PAGE_BYTES * rng.randrange(tester.device_bytes // PAGE_BYTES)
        for place in {0, 1, transfers // 2, transfers - 1}:
            data, address = rng.randbytes(transfers * width), page + place * width
            options = {"burst": AxiBurstType.WRAP, "size": size}
            assert await tester.write(address, data, **options) == AxiResponse.OKAY
            assert await tester.read(address, len(data), **options) == data
            split = width * (transfers - place)
            assert await tester.read(page, len(data)) == data[split:] + data[:split]
    for transfers in (1, 2, 16):
        data, address = rng.randbytes(transfers * DATA_BYTES), 48 * transfers
        assert await tester.write(address, data, burst=AxiBurstType.FIXED) == AxiResponse.OKAY
        assert await tester.read(address, DATA_BYTES) == data[-DATA_BYTES:]
        assert await tester.read(address, len(data), burst=AxiBurstType.FIXED) == (
            data[-DATA_BYTES:] * transfers)
    counts = await tester.finish()
    assert counts["reads"] > 50, counts
    assert counts["partial"] == 8, counts


@testbench
async def refusals(bench: Bench) -> None:
    """Bursts that the standard forbids get SLVERR, addresses beyond the device DECERR."""
    tester, rng = await AxiTester.ready(bench), bench.rng
    good = rng.randbytes(64)
    assert await tester.write(0, good) == AxiResponse.OKAY
    forbidden = [(DATA_BYTES * transfers, kind) for transfers, kind in (
        (17, AxiBurstType.FIXED), (3, AxiBurstType.WRAP), (32, AxiBurstType.WRAP))]
    for length, kind in forbidden:
        assert await tester.write(0, bytes(length), burst=kind) == AxiResponse.SLVERR
        answer = await tester.master.read(0, length, burst=kind)
        assert (answer.resp, answer.data) == (AxiResponse.SLVERR, bytes(length))
    beyond = range(tester.device_bytes, 1 << 32)
    for number in range(10) if beyond else ():
        address = beyond[0] if number == 0 else beyond[-1] - 79 if number == 1 else rng.choice(
            beyond[:-4096])
        length = rng.randrange(1, 80)  # some of them with parts of words
        assert await tester.write(address, bytes(length)) == AxiResponse.DECERR
        answer = await tester.master.read(address, length)
        assert (answer.resp, answer.data) == (AxiResponse.DECERR, bytes(length))
    assert await tester.read(0, 64) == good
    counts = await tester.finish()
    assert counts["refused"] >= (26 if beyond else 6), counts


def _burst(rng, device_bytes: int) -> AxiBurst:
    """Any burst in a few pages at either end of the device, legal or not."""
    kind, size = rng.choice((0, 1, 1, 2, 2, 3)), rng.choice((0, 1, 2, 3, 4, 4, rng.randint(5, 7)))
    length = rng.choice((0, 1, 3, 7, 15, rng.randrange(20), rng.randrange(256)))
    page = rng.choice((0, PAGE_BYTES, device_bytes - PAGE_BYTES))
    address = page + rng.choice((rng.randrange(256), rng.randrange(PAGE_BYTES)))
    if rng.random() < 0.5:
        address = address >> size << size
    return AxiBurst(address, length, size, kind)


@testbench
async def any_burst_and_strobe(bench: Bench) -> None:
    """The client's channels by themselves: bursts of any kind, any strobes, WLAST astray."""
    tester, rng = await AxiTester.ready(bench, master=False), bench.rng
    write, read, clock = tester.bus.write, tester.bus.read, bench.dut.clk
    aw, w, b = AxiAWSource(write.aw, clock), AxiWSource(write.w, clock), AxiBSink(write.b, clock)
    ar, r = AxiARSource(read.ar, clock), AxiRSink(read.r, clock)
    tester.pause(aw, w, b, ar, r, chance=0.1)
    bursts = [_burst(rng, tester.device_bytes) for _ in range(200)]
    astray = set()
    for number, burst in enumerate(bursts):
        values = {"addr": burst.address, "len": burst.length, "size": burst.size,
                  "burst": burst.type, "id": rng.getrandbits(2)}
        if number % 2:
            await ar.send(AxiARTransaction(**{f"ar{key}": value for key, value in values.items()}))
            continue
        await aw.send(AxiAWTransaction(**{f"aw{key}": value for key, value in values.items()}))
        misplaced = rng.randrange(burst.length + 1) if rng.random() < 0.1 else -1
        astray |= {number} if misplaced >= 0 else set()
        for left, addresses in zip(range(burst.length, -1, -1), burst.transfers, strict=True):
            lanes = sum(1 << lane for lane in {address % DATA_BYTES for address in addresses})
            strobe = lanes & rng.choice((-1, -1, 0, rng.getrandbits(DATA_BYTES)))
            await w.send(AxiWTransaction(wdata=rng.getrandbits(8 * DATA_BYTES), wstrb=strobe,
                                         wlast=(left == 0) ^ (left == misplaced)))
    while tester.counts["reads"] + tester.counts["writes"] < len(bursts):
        await tester.cycles(1)
    counts = await tester.finish()
    assert min(counts["refused"], counts["partial"]) > 20, counts
    assert len(astray) > 1


@testbench
async def refreshes(bench: Bench) -> None:
    """Requests at every distance from the moment in which a refresh falls due."""
    tester = await AxiTester.ready(bench)
    for before, write in itertools.product(range(4, 15), (False, True)):
        await tester.skip_to(tester.next_refresh() - before)
        if write:
            await tester.write(0, bytes(DATA_BYTES))
        else:
            await tester.read(0, DATA_BYTES)
        await tester.cycles(2 * tester.part.nRFC)
    counts = await tester.finish()
    assert counts["refreshed"] > 8, counts


@testbench
async def first_after_reset(bench: Bench) -> None:
    """A burst of each kind on offer from each of the first cycles after a reset on.

    On DFI also from each cycle around that in which the device is ready.
    """
    tester = AxiTester.of(bench, master=False)
    ready = await tester.until_ready()
    size, beyond, rows = 4, tester.device_bytes, (1 << DATA_BYTES) - 1
    bursts = [(AxiBurst(0, 1, size), False, 0), (AxiBurst(DATA_BYTES, 0, size), True, rows),
              (AxiBurst(0, 2, size), True, rows >> 1), (AxiBurst(0, 0, size + 1), False, 0)]
    if beyond < 1 << 32:
        bursts += [(AxiBurst(beyond, 1, size), write, rows) for write in (False, True)]
    offers = sorted({*range(3), *range(max(0, ready - 3), ready + 14)})
    for offset, (burst, write, strobe) in itertools.product(offers, bursts):
        tester.stop()
        bench.forget()
        await bench.reset()
        tester = AxiTester.of(bench, master=False)
        if offset:
            await tester.cycles(offset)
        await tester.offer(burst, write=write, strobe=strobe)
        assert tester.counts["reads" if not write else "writes"] == 1
        await tester.finish()


@testbench
async def reset_in_mid_run(bench: Bench) -> None:
    """Reads and writes that a reset cuts off; after the last reset, traffic to its end."""
    rng = bench.rng
    for idle in (2, 1, 0, 0, 0, 0):  # cycles with idle inputs could clear what lost its reset
        tester = await AxiTester.ready(bench)
        for _ in range(12):
            address, length = rng.randrange(tester.device_bytes - PAGE_BYTES), rng.randrange(1, 200)
            if rng.random() < 0.5:
                tester.master.init_write(address, rng.randbytes(length))
            else:
                tester.master.init_read(address, length)
        await tester.cycles(rng.randrange(1, 600))
        tester.stop()
        bench.forget()
        await bench.reset(idle=idle)
    bench.again = bench.cycle
    tester = await AxiTester.ready(bench)
    await _traffic(tester, 3, 8, 300)
    counts = await tester.finish()
    assert min(counts["reads"], counts["writes"]) > 5, counts
