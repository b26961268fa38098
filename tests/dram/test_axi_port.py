# amaranth: UnusedElaboratable=no
"""AXI4 port: what bursts mean, parameters, bounds."""

import re

import pytest
from amaranth.back import rtlil
from hypothesis import given
from hypothesis import strategies as st

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.axi_bounds import (
    axi_read,
    axi_read_alone,
    axi_refresh,
    axi_refused_read,
    axi_refused_write,
    axi_write,
    axi_write_alone,
    most_dram_bursts,
)
from cyclebound.golden.dram.axi_port import (
    AxiBurst,
    AxiResponse,
    AxiType,
    apply_write,
    read_lanes,
)
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.timing import PARTS
from cyclebound.hdl.axi import AxiSignature
from cyclebound.hdl.dram.axi_port import AxiController, AxiPort

unit = pytest.mark.unit
X16 = "ddr4-3200aa-x16"
FIXED, INCR, WRAP = AxiType


# What a burst means

@unit
@pytest.mark.parametrize(("burst", "firsts", "last"), [
    (AxiBurst(0x07, 3, 2), [0x07, 0x08, 0x0C, 0x10], 0x13),  # only its first transfer is short
    (AxiBurst(0x10, 1, 4), [0x10, 0x20], 0x2F),
    (AxiBurst(0x34, 3, 2, WRAP), [0x34, 0x38, 0x3C, 0x30], 0x33),
    (AxiBurst(0x90, 3, 4, WRAP), [0x90, 0xA0, 0xB0, 0x80], 0x8F),
    (AxiBurst(0x21, 2, 2, FIXED), [0x21, 0x21, 0x21], 0x23),
])
def test_addresses_of_transfers(burst, firsts, last):
    assert burst.legal
    assert [transfer[0] for transfer in burst.transfers] == firsts
    assert burst.transfers[-1][-1] == last


@unit
@pytest.mark.parametrize(("burst", "legal"), [
    (AxiBurst(0, 255), True), (AxiBurst(16, 255), False), (AxiBurst(0xFF0, 0), True),
    (AxiBurst(0xFFF, 0), True), (AxiBurst(0xFFF, 1), False), (AxiBurst(0xFFF, 1, 0), False),
    (AxiBurst(0xF00, 255, 0), True), (AxiBurst(0, 0, 5), False), (AxiBurst(0, 0, 4, 3), False),
    (AxiBurst(0, 15, 4, FIXED), True), (AxiBurst(0, 16, 4, FIXED), False),
    *((AxiBurst(0xFF0, transfers - 1, 4, WRAP), transfers in (2, 4, 8, 16))
      for transfers in range(1, 34)),
    (AxiBurst(0xFF2, 1, 2, WRAP), False), (AxiBurst(0xFF4, 1, 2, WRAP), True),
])
def test_which_bursts_are_legal(burst, legal):
    assert burst.legal is legal
    assert burst.response(1 << 32) == (AxiResponse.OKAY if legal else AxiResponse.SLVERR)


@unit
def test_beyond_the_device():
    assert AxiBurst(4096, 255).response(8192) == AxiResponse.OKAY
    assert AxiBurst(8192, 0, 0).response(8192) == AxiResponse.DECERR
    assert AxiBurst(8192, 255, 4, FIXED).response(8192) == AxiResponse.SLVERR  # comes first


@unit
def test_dram_bursts():
    assert AxiBurst(60, 1, 2).dram_bursts == range(0, 2)
    assert AxiBurst(60, 0, 2).dram_bursts == range(0, 1)
    assert AxiBurst(0x170, 7, 4, WRAP).dram_bursts == range(4, 6)  # from 0x100 on
    assert AxiBurst(0, 255).dram_bursts == range(64)


@unit
def test_write_takes_what_is_strobed():
    memory = {}
    assert apply_write(memory, AxiBurst(2, 1, 1), [0xBBAA0000, 0xDDCC << 32], [0xC, 0x10])
    assert memory == {2: 0xAA, 3: 0xBB, 4: 0xCC}
    assert not apply_write(memory, AxiBurst(0, 0), [1 << 64], [0x0F00])
    assert [memory.get(byte) for byte in (8, 9, 10, 11, 12)] == [1, 0, 0, 0, None]
    assert not apply_write(memory, AxiBurst(0, 0), [-1], [0])
    assert apply_write(memory, AxiBurst(16, 0), [0], [0xFFF7])


@unit
@given(st.integers(0, 4095), st.integers(0, 255), st.integers(0, 4), st.sampled_from(AxiType),
       st.randoms(use_true_random=False))
def test_what_is_written_is_read(address, length, size, kind, rng):
    burst, memory = AxiBurst(address, length, size, kind), {}
    if not burst.legal:
        assert burst.response(1 << 32) == AxiResponse.SLVERR
        return
    data = [rng.getrandbits(128) for _ in burst.transfers]
    apply_write(memory, burst, data, [0xFFFF] * len(data))
    assert set(memory) == {byte for transfer in burst.transfers for byte in transfer}
    found = read_lanes(memory, burst)
    assert all(mask.bit_count() == 8 * len(transfer)
               for (_, mask), transfer in zip(found, burst.transfers, strict=True))
    if kind == FIXED:
        found, data = found[-1:], data[-1:]
    assert [word for word, _ in found] == [
        word & mask for word, (_, mask) in zip(data, found, strict=True)]


# Parameters

@unit
@pytest.mark.parametrize(("make", "thing"), [
    (lambda bad: AxiSignature(id_width=bad, data_width=128), "id width"),
    (lambda bad: AxiSignature(id_width=4, data_width=bad), "data width"),
    (lambda bad: AxiSignature(id_width=4, data_width=8, address_width=bad), "address width"),
    (lambda bad: AxiPort(id_width=bad), "id width"),
    (lambda bad: AxiPort(words=bad), "words"),
])
@pytest.mark.parametrize("bad", [True, 4.0, "4", None])
def test_parameters_are_integers(make, thing, bad):
    says = re.escape(f"{thing} must be an integer, not {bad!r}")
    with pytest.raises(TypeError, match=f"^{says}$"):
        make(bad)


@unit
@pytest.mark.parametrize(("parameters", "says"), [
    ({"id_width": 0}, "id width must be from 1 to 32, not 0"),
    ({"id_width": 33}, "id width must be from 1 to 32, not 33"),
    ({"words": 3}, f"words must be from 4 to {1 << 30}, not 3"),
    ({"words": (1 << 30) + 4}, f"words must be from 4 to {1 << 30}, not {(1 << 30) + 4}"),
    ({"words": 6}, "words must be a multiple of 4, and beyond 262144 a multiple of that, not 6"),
    ({"words": (1 << 18) + 4},
     "words must be a multiple of 4, and beyond 262144 a multiple of that, not 262148"),
])
def test_parameters_are_in_range(parameters, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        AxiPort(**parameters)


@unit
@pytest.mark.parametrize("make", [
    lambda: AxiPort(words=4, id_width=1), lambda: AxiPort(id_width=32),
    pytest.param(lambda: AxiController(part=X16, capacity=1 << 18), marks=pytest.mark.thorough),
])
def test_converts_alone(make):
    assert "attribute \\top 1" in rtlil.convert(make())


# Bounds

@unit
@pytest.mark.parametrize("part", PARTS)
def test_bounds_are_those_of_tiles_at_most(part):
    """A page lies in one row of a pair: the worst place for a tile is not among its alignments."""
    for bursts in range(1, 65):
        for first in {0, int(bursts < 64)}:
            shape = {"part": part, "bursts": bursts, "first": first}
            read, write = (tile_issue_delay(part=part, bursts=bursts, write=way) for way in (0, 1))
            transfers, refresh = 4 * bursts, axi_refresh(part)
            alone = axi_read_alone(transfers=transfers, **shape)
            assert alone <= read + 22 + transfers
            writes = [axi_write_alone(partial=partial, **shape) for partial in (0, 1)]
            assert writes[0] <= write + 19
            assert writes[1] - writes[0] <= read + 17
            known = {"part": part, "transfers": transfers, "size": 4}
            assert alone + refresh <= axi_read(**known)
            assert all(write + refresh <= axi_write(partial=partial, **known)
                       for partial, write in enumerate(writes))


@unit
@pytest.mark.parametrize("size", range(5))
def test_no_burst_touches_more_of_dram(size):
    for transfers in (1, 2, 3, 4, 5, 8, 16, 17, 63, 64, 255, 256):
        most = most_dram_bursts(transfers, size)
        touched = set()
        for address in range(128):
            for kind in AxiType:
                burst = AxiBurst(address, transfers - 1, size, kind)
                if burst.legal:
                    touched.add(len(burst.dram_bursts))
        assert max(touched) == most or (transfers << size > 3968 and max(touched) <= most)


@unit
def test_bounds():
    one = {"part": X16, "bursts": 1, "first": 0}
    read, write = (tile_issue_delay(part=X16, bursts=1, write=way) for way in (0, 1))
    assert axi_read_alone(transfers=1, **one) == read + 23
    assert axi_write_alone(partial=0, **one) == write + 19
    assert axi_write_alone(partial=1, **one) == read + 17 + write + 19
    added = PARTS[X16].nRFC - 10
    assert axi_refresh(X16) == added
    assert axi_read(part=X16, transfers=1, size=4) == read + 23 + added
    assert axi_write(part=X16, transfers=1, size=4, partial=1) == read + 17 + write + 19 + added
    assert [axi_refused_read(transfers=n, beyond=b) for n, b in ((1, 0), (16, 1))] == [5, 28]
    assert [axi_refused_write(beyond=b) for b in (0, 1)] == [2, 9]


@unit
@pytest.mark.parametrize(("changes", "says"), [
    ({"first": 2}, "first must be less than 2 for DDR4-3200AA x16 (2 bank groups), not 2"),
    ({"bursts": 65}, "bursts must lie within 4 KiB, not 65 from 0 on"),
    ({"bursts": 64, "first": 1}, "bursts must lie within 4 KiB, not 64 from 1 on"),
])
def test_bounds_end_with_the_page(changes, says):
    with pytest.raises(NotCovered, match=f"^{re.escape(says)}$"):
        axi_read_alone(**{"part": X16, "transfers": 1, "bursts": 1, "first": 0, **changes})
