"""Testbench of Wishbone shells: masters of its own, an access at a time each."""

from cyclebound.golden.dram.request import (
    BURST_BITS,
    BURST_WORDS,
    TARGET_BITS,
    Destination,
    TileRequest,
)
from cyclebound.golden.dram.stride_sequencer import bursts_of
from cyclebound.tb.bench import testbench

_BITS = 32


class Master:
    """One master: what it drives, and what became of its access."""

    def __init__(self, bench, prefix="wb"):
        self.bench, self.prefix = bench, prefix
        self.access = None  # (address, data or None, select)
        self.answer = None  # (whether it was carried out, what was read)

    def begin(self, address, data=None, select=None):
        width = self.bench.inputs[f"{self.prefix}_sel_i"].width
        self.access = address, data, (1 << width) - 1 if select is None else select
        self.answer = None

    def driven(self):
        if self.access is None:
            return {}
        address, data, select = self.access
        values = {"cyc_i": 1, "stb_i": 1, "adr_i": address, "sel_i": select}
        if data is not None:
            values |= {"we_i": 1, "dat_i": data}
        return {f"{self.prefix}_{name}": value for name, value in values.items()}

    def look(self, seen):
        done, refused, read, stalled = (
            self.bench.outputs[f"{self.prefix}_{name}"].of(seen)
            for name in ("ack_o", "err_o", "dat_o", "stall_o"))
        assert not (done and refused)
        assert self.access is not None or not (done or refused), "an answer without an access"
        assert self.access is None or stalled != (done or refused)
        if done or refused:
            self.access, self.answer = None, (bool(done), read)


async def cycle(bench, *masters):
    seen = await bench.step(bench.inputs.pack(
        {name: value for master in masters for name, value in master.driven().items()}))
    for master in masters:
        master.look(seen)


async def done(bench, master, *access):
    """One access to its end."""
    master.begin(*access)
    while master.answer is None:
        await cycle(bench, master)
    return master.answer


def _packed(fields, value, bits=0):
    """A payload as a number, lowest field first."""
    at = 0
    for name, width in fields:
        bits |= int(getattr(value, name)) << at
        at += width
    return bits


_TILE = (("address", 30), ("words", 20), ("period", 20), ("count", 20), ("write", 1),
         ("destination", 2), ("base", TARGET_BITS), ("pitch", TARGET_BITS), ("transform", 2))
_TILE_WORDS = range(1, 6)
_BURST = (("address", BURST_BITS), ("mask", BURST_WORDS), ("targets", BURST_WORDS * TARGET_BITS),
          ("write", 1), ("destination", 2), ("transform", 2), ("indexed", 1), ("last", 1))


@testbench
async def tiles(bench):
    """Tiles go in by registers, and their bursts come out by registers; others are refused."""
    bench.declare("access")
    master, rng = Master(bench), bench.rng
    assert sum(width for _, width in _TILE) + 1 <= _BITS * len(_TILE_WORDS)  # + indexed
    burst_words = range(6, 6 - sum(width for _, width in _BURST) // -_BITS)
    assert await done(bench, master, burst_words.stop) == (False, 0)  # no such register
    assert await done(bench, master, 0) == (True, 0b01)
    assert not (await done(bench, master, 0, 1))[0]               # the status is read only
    assert not (await done(bench, master, burst_words[0]))[0]     # nothing has come
    for number in range(12):
        words, count = rng.randint(1, 60), rng.randint(1, 3)
        tile = TileRequest(address=rng.randrange(1 << 20), words=words,
                           period=words + rng.randrange(100), count=count,
                           write=rng.random() < 0.5, destination=Destination.SCRATCHPAD,
                           base=rng.randrange(100), pitch=words + 3)
        bits = _packed(_TILE, tile)
        assert not (await done(bench, master, 1, 0, 0b0111))[0]   # a part of a word
        for place in _TILE_WORDS:
            word = bits >> _BITS * (place - 1) & (1 << _BITS) - 1
            assert (await done(bench, master, place, word))[0]
            assert (await done(bench, master, place)) == (True, word)
        for burst in bursts_of(tile):
            while not (await done(bench, master, 0))[1] & 2:
                pass
            assert not (await done(bench, master, burst_words[0], 0))[0]
            found = 0
            for place in burst_words:
                good, word = await done(bench, master, place)
                assert good
                found |= word << _BITS * (place - burst_words[0])
            values = {}
            for name, width in _BURST:
                values[name], found = found & (1 << width) - 1, found >> width
            packed = values.pop("targets")
            targets = [packed >> TARGET_BITS * lane & (1 << TARGET_BITS) - 1
                       for lane in range(BURST_WORDS)]
            bench.compare(values, {"indexed": 0, **{name: int(getattr(burst, name))
                                                    for name in values if name != "indexed"}},
                          f"a burst of tile {number}")
            assert all(target == burst.targets[lane] for lane, target in enumerate(targets)
                       if burst.mask >> lane & 1), f"tile {number}"
    assert (await done(bench, master, 0)) == (True, 0b01)


@testbench
async def memory(bench):
    """Two masters at random on two banks of four words, and a copy of what is there."""
    for number in range(2):
        bench.declare(f"access_{number}", requesters=2)
    masters, rng, kept = [Master(bench, f"wb_ports_{number}") for number in range(2)], bench.rng, {}
    expected = [None, None]
    for count in range(3000):
        for number, master in enumerate(masters):
            if master.access is None and rng.random() < (0.5 if count < 1500 else 1):
                # each in words of its own, so that no order between them matters
                address = rng.randrange(4) * 2 + number
                write, select = rng.random() < 0.5, rng.randrange(1, 4)
                master.begin(address, rng.getrandbits(16) if write else None, select)
                expected[number] = address, write
        began = [master.access for master in masters]
        await cycle(bench, *masters)
        for number, master in enumerate(masters):
            if master.answer is None:
                continue
            (address, write), (_, data, select) = expected[number], began[number]
            good, read = master.answer
            assert good
            if write:
                for byte in range(2):
                    if select >> byte & 1:
                        kept[address, byte] = data >> 8 * byte & 0xFF
            else:
                for byte in range(2):
                    if (address, byte) in kept:
                        bench.compare(read >> 8 * byte & 0xFF, kept[address, byte],
                                      f"access {count}: byte {byte} at {address}")
            master.answer = None
