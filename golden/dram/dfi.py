"""DDR3 through a DFI PHY: several DRAM clocks in one controller clock, and the part that results.

A PHY of frequency ratio 1:N has N phases; phase *p* of controller clock *t* is DRAM clock
``N * t + p``. The data bus is ``64 / N`` bits wide: then N DRAM clocks move as many bits as the
controller moves in one of its clocks, and nothing of the bus is wasted. A burst of the controller,
64 bytes, is N bursts of eight beats on the device, one right after the other.

Activates, precharges, refreshes and mode registers are on phase 0, reads and writes on phase
``N / 2``: both kinds can be there in the same controller clock, so the reads of one burst leave the
command bus free for activates of others.

Ref: DFI 2.1 and 3.1, frequency ratios; JESD79-3F, 3.3.1 (power-up), 3.4.3 (mode registers).
"""

import dataclasses

from cyclebound.golden.dram.timing import Part
from cyclebound.golden.parameters import check_integer

__all__ = ["CAS_PHASE", "RATIOS", "ROW_PHASE", "WRITE_RECOVERIES", "DfiPhy", "dfi_part",
           "mode_registers"]

RATIOS = (2, 4)
ROW_PHASE = 0
CAS_PHASE = {ratio: ratio // 2 for ratio in RATIOS}
WRITE_RECOVERIES = {5: 1, 6: 2, 7: 3, 8: 4, 10: 5, 12: 6, 14: 7, 16: 0}
"""Clocks of write recovery that mode register 0 can hold, and how [JESD79-3F, 3.4.3.1]."""

_CAS_LATENCIES = {5: (1, 0), 6: (2, 0), 7: (3, 0), 8: (4, 0), 9: (5, 0), 10: (6, 0), 11: (7, 0),
                  12: (0, 1), 13: (1, 1), 14: (2, 1)}
_BURST = 4  # DRAM clocks of eight beats
_MOST = 64


@dataclasses.dataclass(frozen=True)
class DfiPhy:
    """Delays that a PHY demands of its controller, in DRAM clocks (DFI's "DFI PHY clocks").

    Attributes
    ----------
    wrlat : int
        t_phy_wrlat: from a write to ``wrdata_en``, 0 or more.
    wrdata : int
        t_phy_wrdata: from ``wrdata_en`` to the data, 0 or more.
    rddata_en : int
        t_rddata_en: from a read to ``rddata_en``, 0 or more.
    rdlat : int
        t_phy_rdlat: from ``rddata_en`` to the data, at most; at least 1.

    Raises
    ------
    TypeError, ValueError
        For what is no such number, or beyond 64.
    """

    wrlat: int
    wrdata: int
    rddata_en: int
    rdlat: int

    def __post_init__(self) -> None:
        for name, least in (("wrlat", 0), ("wrdata", 0), ("rddata_en", 0), ("rdlat", 1)):
            check_integer(name, getattr(self, name), least, _MOST)

    def lag(self, part: Part) -> int:
        """DRAM clocks by which the PHY holds back commands at least.

        A write's data are on DFI wrlat + wrdata clocks after it, and on the device's pins nCWD
        clocks after the command is there; they cannot be there sooner than on DFI.
        """
        return max(0, self.wrlat + self.wrdata - part.nCWD)

    def check_reads(self, part: Part, ratio: int) -> None:
        """Raise `ValueError` for a PHY that promises words before the device has sent them.

        A read in phase c of clock 0 has its first beats on the pins in DRAM clock
        ``x = c + lag + nCAS``. All words of a controller clock are on DFI from its beginning, and
        each burst begins with w0: so the first N words are there in the clock after that of the
        last of them, ``x + N - 1``, at the earliest, which is clock ``ceil(x / N) + 1``. The latest
        that the PHY promises, ``floor((c + rddata_en + rdlat) / N)``, must not be before.
        """
        cas, lag = CAS_PHASE[ratio], self.lag(part)
        least = ratio * (-(-(cas + lag + part.nCAS) // ratio) + 1) - cas
        if self.rddata_en + self.rdlat < least:
            held = f" and commands held back by {lag}" if lag else ""
            raise ValueError(f"rddata_en + rdlat must be at least {least} for nCAS {part.nCAS} of "
                             f"{part.name} at 1:{ratio}{held}, not {self.rddata_en + self.rdlat}")

    def turn(self, ratio: int) -> int:
        """Controller clocks from a read to a write so that their data do not meet on the chip.

        Reads come back as late as t_phy_rdlat allows, while writes have to leave early, and the
        DQ scheduler moves one burst at a time. Counted from the same command, the controller's read
        data are there in clock ``r + 1``, those of a write must leave in clock ``w - 1``, where
        ``r`` and ``w`` are the clocks of the PHY's words; a burst takes four clocks.
        """
        cas = CAS_PHASE[ratio]
        arrives = (cas + self.rddata_en + self.rdlat) // ratio + 1
        leaves = (cas + self.wrlat + self.wrdata) // ratio - 1
        return max(0, arrives - leaves) + _BURST


def _refuse_unless_ddr3(part: Part, ratio: int) -> None:
    if ratio not in RATIOS:
        raise ValueError(f"ratio must be one of {', '.join(map(str, RATIOS))}, not {ratio!r}")
    for right, what in (
            (part.generation == "DDR3", f"generation must be DDR3, not {part.generation}"),
            (part.nBURST == _BURST, f"nBURST must be {_BURST}, not {part.nBURST}"),
            (part.nCCD_L == _BURST, f"nCCD must be {_BURST}, not {part.nCCD_L}"),
            (part.nCAS in _CAS_LATENCIES,
             f"nCAS must be one of {', '.join(map(str, _CAS_LATENCIES))}, not {part.nCAS}"),
            (5 <= part.nCWD <= 12, f"nCWD must be from 5 to 12, not {part.nCWD}"),
            (part.nWR <= max(WRITE_RECOVERIES),
             f"nWR must be at most {max(WRITE_RECOVERIES)}, not {part.nWR}"),
            (part.columns >= 8 * ratio,
             f"columns must be at least {8 * ratio}, not {part.columns}"),
            (part.rows <= 1 << 16 and part.banks <= 8 and part.columns <= 2048,
             "8 banks, 65,536 rows and 2,048 columns are the most that DDR3 has")):
        if not right:
            raise ValueError(f"{part.name}: {what}")


def dfi_part(part: Part, phy: DfiPhy, *, ratio: int) -> Part:
    """The part that a controller sees through the phases: all its numbers in controller clocks.

    Between a command X on phase p in clock t and a command Y on phase q in clock u there are
    ``N (u - t) + q - p`` DRAM clocks. A distance of d DRAM clocks is kept if u - t is at least
    ``ceil((d + p - q) / N)``. Row commands are on phase 0, reads and writes on phase c = N / 2. Of
    the N reads that a burst consists of, the last comes ``e = 4 - 4 / N`` clocks after the first:

    - ACT to read or write: ``ceil((nRCD - c) / N)``
    - among ACT, PRE and REF: ``ceil(d / N)``; nREFI, a maximum, ``floor(nREFI / N)``
    - read or write to PRE: ``e + ceil((d + c) / N)``, of nRTP or nCWD + 4 + nWR
    - write to read, read to write: ``e + ceil(d / N)``

    A sum of two rounded numbers is no less than the rounded sum, so that reads and writes with
    precharge are covered. nWR is what mode register 0 can hold. nCAS and nCWD say nothing of the
    data here, which go through the PHY; they are such that the sums in which rules use them are
    these. nRTP is longer than that where a read's data would meet those of the next request's write
    on the chip (`DfiPhy.turn`).

    Not kept is a distance that this controller never comes near: from a write to a read with
    precharge of the same open bank (``nWR - nRTP``), since all commands of a request have one
    direction, and the next request finds all banks closed.

    Raises `ValueError` for another ratio than 2 or 4, a part that is no DDR3, and a PHY that is too
    fast for it.
    """
    _refuse_unless_ddr3(part, ratio)
    phy.check_reads(part, ratio)
    cas, last = CAS_PHASE[ratio], _BURST - _BURST // ratio

    def row(clocks: int) -> int:
        return -(-clocks // ratio)

    def after_cas(clocks: int) -> int:
        return last + -(-(clocks + cas - ROW_PHASE) // ratio)

    written = part.nCWD + _BURST
    recovery = next(clocks for clocks in WRITE_RECOVERIES if clocks >= part.nWR)
    write = max(1, part.nCWD // ratio)
    activate = max(1, row(part.nRCD + ROW_PHASE - cas))
    precharge = row(part.nRP)
    active = max(row(part.nRAS), activate)
    turn = max(6, phy.turn(ratio), last + row(part.nCAS + _BURST + 1 + max(1, part.nWPRE)
                                              - part.nCWD))
    to_read = max(1, last + row(written + part.nWTR_L) - write - _BURST)
    between = row(part.nRRD_L)
    return Part(
        name=f"{part.name} at 1:{ratio}", generation="DDR3", tck_ps=part.tck_ps * ratio,
        banks=part.banks, bank_groups=1, rows=part.rows, columns=part.columns // ratio,
        nRCD=activate, nRP=precharge, nRAS=active,
        nRC=max(row(part.nRC), active + precharge),
        nCAS=write + turn - 6, nCWD=write, nBURST=_BURST,
        nRTP=max(after_cas(part.nRTP), turn - precharge - activate),
        nWR=max(1, after_cas(written + recovery) - write - _BURST),
        nWTR_S=to_read, nWTR_L=to_read, nCCD_S=_BURST, nCCD_L=_BURST,
        nRRD_S=between, nRRD_L=between, nFAW=row(part.nFAW), nRFC=row(part.nRFC),
        nREFI=part.nREFI // ratio, nWPRE=1)


def mode_registers(part: Part) -> dict[int, int]:
    """The values of the four mode registers, by number [JESD79-3F, 3.4.3].

    Burst of 8, sequential; nCAS, nCWD and nWR of ``part``, the device; DLL on and reset; drivers of
    RZQ/7, termination RZQ/4 while it is written (``dfi_odt``), no additive latency.
    """
    latency, high = _CAS_LATENCIES[part.nCAS]
    recovery = next(code for clocks, code in WRITE_RECOVERIES.items() if clocks >= part.nWR)
    return {
        0: high << 2 | latency << 4 | 1 << 8 | recovery << 9,
        1: 1 << 1 | 1 << 2,
        2: part.nCWD - 5 << 3,
        3: 0,
    }
