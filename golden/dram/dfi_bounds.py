"""Worst cases of DDR3 through a DFI PHY: those of the controller, for the part in its own clocks.

``part`` is the device, ``ratio`` the phases of the PHY; `dfi_part` makes of the two, and of the
PHY's own numbers, the part that the controller sees, and the formulas of ``bounds.py`` hold for
that one: all delays here are in controller clocks.
"""

import functools
from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound
from cyclebound.golden.dram.bounds import Bursts, Write, check_request, tile_issue_delay
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.controller import TILE_LEAD
from cyclebound.golden.dram.dfi import CAS_PHASE, DfiPhy, dfi_part
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["dfi_command", "dfi_completion", "dfi_completion_delay", "dfi_read", "dfi_seen",
           "dfi_tile_issue_delay"]

Ratio = Annotated[int, Range(2, 4, says="DRAM clocks in a controller clock: 2 or 4")]
Wrlat = Annotated[int, Range(0, 64, says="t_phy_wrlat, in DRAM clocks")]
Wrdata = Annotated[int, Range(0, 64, says="t_phy_wrdata, in DRAM clocks")]
RddataEn = Annotated[int, Range(0, 64, says="t_rddata_en, in DRAM clocks")]
Rdlat = Annotated[int, Range(1, 64, says="t_phy_rdlat, in DRAM clocks")]

_LEAST_LEAD = 7   # clocks that the DQ scheduler needs from a write to its first beat
_BURST = 4
_MOST_BURSTS = 256
_ANYTIME = ("commands come as the part in controller clocks allows, with the power-up over; the "
            "PHY keeps its own numbers")
_ALONE = ("nothing else is under way when the request is taken, and no refresh is owed or falls "
          "due before it starts; its words lie anywhere")


def dfi_seen(*, part: str | Part, ratio: int, wrlat: int, wrdata: int, rddata_en: int, rdlat: int
             ) -> Part:
    """The part in controller clocks. Raises `ValueError` as `dfi_part` does."""
    return dfi_part(part_named(part), DfiPhy(wrlat, wrdata, rddata_en, rdlat), ratio=ratio)


def _write_word(ratio: int, wrlat: int, wrdata: int) -> int:
    """Controller clocks from that of a write on DFI to that of its first word."""
    return (CAS_PHASE[ratio] + wrlat + wrdata) // ratio


@bound(formula="max(2, 9 - w), w = floor((c + t_phy_wrlat + t_phy_wrdata) / N)",
       source="this project", environment=_ANYTIME)
def dfi_command(*, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata) -> int:
    """Controller clocks from a command of the controller to its first one on DFI, both included.

    One register holds what is on DFI. A write's command has to wait until its data are there in
    time: the DQ scheduler has them 7 clocks after the command at the earliest, one more register
    holds them for DFI, and DFI wants them w clocks after the command. So the command is delayed by
    8 - w clocks, if that is more than the one of its register; reads and row commands as much, or
    their distances would change.
    """
    return max(2, _LEAST_LEAD + 2 - _write_word(ratio, wrlat, wrdata))


@bound(formula="dfi_command + r + 4, r = floor((c + t_rddata_en + t_phy_rdlat) / N)",
       source="this project", environment=_ANYTIME)
def dfi_read(*, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata, rddata_en: RddataEn, rdlat: Rdlat
             ) -> int:
    """Controller clocks from a read of the controller to its last beat on ``dq_in``, both included.

    DFI's first words come r clocks after the command at the latest. They are kept, and shown one
    clock later, whether they came late or early; three more beats follow, one in a clock.
    """
    command = dfi_command.function(ratio=ratio, wrlat=wrlat, wrdata=wrdata)
    return command + (CAS_PHASE[ratio] + rddata_en + rdlat) // ratio + _BURST


@functools.lru_cache(maxsize=4096)
def _longest(seen: Part, bursts: int, write: bool) -> int:
    """The longest of all first bursts in a row of all banks: the tile's own, or the front end's."""
    longest = 0
    for first in range(seen.bursts_per_sweep):
        tile = schedule(seen, range(first, first + bursts), write=write)
        longest = max(longest, tile.issue_delay, tile.commands[-1].cycle + TILE_LEAD + 1)
    return longest


@bound(formula="max over first bursts s of max(LID(s, b), last(s, b) + 11), of the part in "
               "controller clocks", source="this project",
       environment="the tile begins at any word; requests before it were any, and another tile, "
                   "or a refresh, waits")
def dfi_tile_issue_delay(*, part: str | Part, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata,
                         rddata_en: RddataEn, rdlat: Rdlat, bursts: Bursts, write: Write) -> int:
    """Longest issue delay of a 1D tile of b bursts, in controller clocks; up to 256 bursts.

    The device allows the next request's first command LID(s, b) clocks after this one's, for a tile
    that begins with burst s (see `tile_issue_delay`). The front end starts the next request when
    the last command of this one, last(s, b) clocks after its first, is on the pins, and its first
    command is there eleven clocks later. At the DRAM's own clock rate that is hidden: a row takes
    longer to recover. Here it may not be, by up to nine clocks where a precharge comes last.
    Raises `NotCovered` for more than 256 bursts.
    """
    check_request(bursts, write)
    if bursts > _MOST_BURSTS:
        raise NotCovered(f"bursts must be at most {_MOST_BURSTS}, not {bursts}")
    seen = dfi_seen(part=part, ratio=ratio, wrlat=wrlat, wrdata=wrdata, rddata_en=rddata_en,
                    rdlat=rdlat)
    return _longest(seen, bursts, bool(write))


def dfi_completion_delay(*, part: str | Part, ratio: int, wrlat: int, wrdata: int, rddata_en: int,
                         rdlat: int) -> int:
    """Clocks by which a completion is held back, so that a read's words are on the chip before.

    The last of a request's reads comes nRTP + nRP clocks before the cycle in which all banks are
    closed, and its last words are on ``deliver`` a clock after they are on ``dq_in``.
    """
    seen = dfi_seen(part=part, ratio=ratio, wrlat=wrlat, wrdata=wrdata, rddata_en=rddata_en,
                    rdlat=rdlat)
    read = dfi_read.function(ratio=ratio, wrlat=wrlat, wrdata=wrdata, rddata_en=rddata_en,
                             rdlat=rdlat)
    return max(0, read + 1 - (seen.nRTP + seen.nRP))


@bound(formula="17 + tile_issue_delay(b) + max(0, dfi_read + 1 - nRTP - nRP)",
       source="this project", environment=_ALONE)
def dfi_completion(*, part: str | Part, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata,
                   rddata_en: RddataEn, rdlat: Rdlat, bursts: Bursts, write: Write) -> int:
    """Controller clocks from taking a request of a tile to its completion, both included.

    As `controller_completion`; and every completion is held back until a read's last words are on
    the chip (`dfi_completion_delay`). The next request does not wait for that.
    """
    system: dict = {"part": part, "ratio": ratio, "wrlat": wrlat, "wrdata": wrdata,
                    "rddata_en": rddata_en, "rdlat": rdlat}
    alone = tile_issue_delay.function(part=dfi_seen(**system), bursts=bursts, write=write)
    return 17 + alone + dfi_completion_delay(**system)
