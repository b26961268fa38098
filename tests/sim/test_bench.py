"""What a testbench compares is counted, by the comparison itself."""

import asyncio
import functools
import operator
import random
from dataclasses import dataclass

import numpy as np
import pytest

from cyclebound.tb.bench import Bench, Mismatch
from cyclebound.tb.bus import Bus

pytestmark = pytest.mark.unit


@pytest.fixture
def bench():
    """A bench without a simulator, in its ninth cycle."""
    made = object.__new__(Bench)
    vars(made).update(cycle=9, _compared=0, _bits=0, outputs=Bus(
        [{"name": "sum", "offset": 0, "width": 4}, {"name": "carry", "offset": 4, "width": 1}]))
    return made


def test_comparisons_of_outputs_and_their_bits(bench):
    bench.check(0b10011, 0b00011, 0b01111)
    bench.check(0b10011, 0b10011)
    bench.check_fields(0b10011, {"carry": 1})
    bench.check(1, 0, 0)  # nothing matters
    assert (bench.compared, bench.bits) == (3, 4 + 5 + 1)
    with pytest.raises(Mismatch, match=r"^cycle 8: carry is 1, expected 0$"):
        bench.check_fields(0b10011, {"carry": 0})
    assert bench.compared == 4


@pytest.mark.parametrize(("seen", "expected", "how"), [
    (3, 4, "is 3, expected 4"),
    ({"a": 1}, {"a": 2}, r"is {'a': 1}, expected {'a': 2}"),
    ([1, 2, 5], [1, 3, 4], r"is 2 at \[1\], expected 3; 2 places differ"),
    ([1, 2], [1], r"is \[1, 2\], expected \[1\]"),
    ([[1], [2, 3]], [[1], [2]], r"is \[\[1\], \[2, 3\]\], expected \[\[1\], \[2\]\]"),
    (b"ab", b"ac", r"is 98 at \[1\], expected 99"),
    (np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 5]]), r"is 4 at \[1, 1\], expected 5"),
    (np.zeros(2), np.zeros(3), r"is array\(\[0., 0.\]\), expected array\(.*\)"),
    (None, [], r"is None, expected \[\]")])
def test_a_mismatch_says_where(bench, seen, expected, how):
    with pytest.raises(Mismatch, match=f"^cycle 8: the word {how}$"):
        bench.compare(seen, expected, "the word")
    assert bench.compared == 1
    bench.compare(expected, expected, "the word", count=5)
    assert bench.compared == 6


def test_comparisons_are_counted_by_nothing_else(bench):
    with pytest.raises(AttributeError):
        bench.compared += 1


def test_idle_payloads_are_random_and_offers_stay():
    fields = [("a.valid", 1), ("a.payload", 40), ("b.valid", 1), ("b.payload", 40), ("mode", 40)]
    offsets = [sum(width for _, width in fields[:place]) for place in range(len(fields))]
    bus = Bus({"name": name, "offset": offset, "width": width}
              for (name, width), offset in zip(fields, offsets, strict=True))
    made = object.__new__(Bench)
    outputs = Bus({"name": f"{name}.ready", "offset": place, "width": 1}
                  for place, name in enumerate("ab"))
    vars(made).update(inputs=bus, outputs=outputs, _valids=0, _unoffered={},
                      _noise=random.Random(1))
    made.scramble_idle()
    assert made._valids == bus.mask(["a.valid", "b.valid"])
    for offered, idle in (((), ("a", "b")), (("a",), ("b",)), (("a", "b"), ())):
        noise = [made._idle_payloads(bus.mask(f"{name}.valid" for name in offered))
                 for _ in range(20)]
        everywhere = functools.reduce(operator.or_, noise)
        assert everywhere == bus.mask(f"{name}.payload" for name in idle)
        assert len(set(noise)) == (20 if idle else 1)


def test_a_restart_after_a_reset_resets_nothing(bench, monkeypatch):
    resets = []

    async def reset(self):
        resets.append(self.cycle)
        self._reset_end = self.cycle

    monkeypatch.setattr(Bench, "reset", reset)
    bench._reset_end = 0
    asyncio.run(bench.restart())  # nine cycles later
    asyncio.run(bench.restart())  # at once
    bench.cycle += 1
    asyncio.run(bench.restart())
    assert resets == [9, 10]


def test_an_offer_is_a_valid_stream_with_its_payload():
    @dataclass(frozen=True)
    class Tile:
        address: int
        last: bool

    bus = Bus({"name": name, "offset": offset, "width": width} for name, offset, width in (
        ("port.valid", 0, 1), ("port.payload.last", 1, 1), ("port.payload.address", 2, 8),
        ("other.valid", 10, 1), ("other.payload.last", 11, 1), ("other.payload.address", 12, 8)))
    for tile in (Tile(0, False), Tile(255, True), Tile(7, False), Tile(255, True)):
        assert bus.offer("port", tile) == 1 | tile.last << 1 | tile.address << 2
        assert bus.offer("other", tile) == bus.offer("port", tile) << 10
    with pytest.raises(KeyError, match=r"no field 'none\.valid' on the bus; it has port\.valid, "):
        bus.offer("none", Tile(0, False))
