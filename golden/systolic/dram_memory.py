"""The accelerator's memory as a DRAM controller keeps its promises: from bounds to a `Memory`.

A transfer is cut into tiles of a few bursts, which the controller serves one after the other. The
worst that can happen to a tile are the bounds of golden/dram: its issue delay, and the refreshes
that are owed or fall due. From these follow the delay of the first beat and an interval of the
others that no transfer exceeds, of whatever length.
"""

from fractions import Fraction
from math import ceil
from typing import Annotated

from cyclebound.golden.bound import Range, bound, check_count
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.pipeline_bounds import controller_completion, with_refreshes
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.systolic.accelerator import Beats, Memory, transfer_cycles

__all__ = ["behind_dram", "dram_clocks", "dram_transfer"]

Bytes = Annotated[int, Range(1, 64, says="bytes of a beat, a divisor of 64")]
Clocks = Annotated[int, Range(1, says="DRAM clocks in a cycle of the accelerator")]
Bursts = Annotated[int, Range(1, says="bursts of a tile")]

_BURST_BYTES = 64
OWED = 8
"""Refreshes that a controller may have put off when a transfer begins."""


def _tiles(count: int, beat_bytes: int, bursts: int) -> int:
    return -(-count * beat_bytes // (bursts * _BURST_BYTES))


def _issue_delay(part: Part, bursts: int) -> int:
    return max(tile_issue_delay(part=part, bursts=bursts, write=write) for write in (0, 1))


def dram_clocks(part: Part | str, *, count: int, beat_bytes: int, bursts: int = 16) -> int:
    """DRAM clocks until the last of ``count`` beats has moved, in the worst case.

    Tiles of ``bursts`` bursts, each an issue delay after the one before; the first one passes
    the controller; ``OWED`` refreshes come first, and others when they fall due.
    """
    device = part_named(part)
    last = max(controller_completion(part=device, bursts=bursts, write=write) for write in (0, 1))
    others = (_tiles(count, beat_bytes, bursts) - 1) * _issue_delay(device, bursts)
    return with_refreshes(part=device, cycles=last + others, owed=OWED)


def behind_dram(part: Part | str, *, beat_bytes: int, clocks: int, bursts: int = 16) -> Memory:
    """A `Memory` that is never faster than a DRAM in its worst case.

    Raises `ValueError` for an unknown part, and for ``beat_bytes`` that do not divide 64.

    Parameters
    ----------
    part : Part or str
        The DRAM.
    beat_bytes : int
        Of the accelerator's beats, a divisor of 64.
    clocks : int
        DRAM clocks in a cycle of the accelerator.
    bursts : int
        Of a tile.

    Derivation: `dram_clocks` for t tiles is at most x (C + (t - 1) L) + R with x =
    nREFI / (nREFI - nRFC), C the controller's time for a tile, L its issue delay, and R the time
    of all refreshes that are owed and of one more, with those that fall due meanwhile. In beats, a
    tile is b of them: the interval is x L / b, rounded up to cycles, and the delay what is left
    for t = 1.
    """
    device = part_named(part)
    for thing, value in (("beat bytes", beat_bytes), ("clocks", clocks), ("bursts", bursts)):
        check_count(thing, value)
    if _BURST_BYTES % beat_bytes:
        raise ValueError(f"beat bytes must divide {_BURST_BYTES}, not {beat_bytes}")
    inflation = Fraction(device.nREFI, device.nREFI - device.nRFC)
    beats = bursts * _BURST_BYTES // beat_bytes
    first = max(controller_completion(part=device, bursts=bursts, write=write) for write in (0, 1))
    refreshes = (inflation * OWED + 1) * device.nRFC
    return Memory(ceil((inflation * first + refreshes) / clocks),
                  ceil(inflation * _issue_delay(device, bursts) / (beats * clocks)))


@bound(formula="transfer_cycles with the delay and interval of behind_dram", source="this project",
       environment="the DRAM serves the accelerator alone; any row may be open before, and as many "
                   "refreshes may be owed as are ever postponed")
def dram_transfer(*, part: Part | str, count: Beats, beat_bytes: Bytes, clocks: Clocks,
                  bursts: Bursts = 16) -> int:
    """Cycles of a load or a store whose memory is a DRAM.

    Unit: cycles. Counted as of `transfer_cycles`.

    Derivation: that of `behind_dram`, which promises no less than the DRAM keeps.
    """
    memory = behind_dram(part, beat_bytes=beat_bytes, clocks=clocks, bursts=bursts)
    return transfer_cycles(count=count, delay=memory.delay, interval=memory.interval)
