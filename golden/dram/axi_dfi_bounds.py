"""How long a DDR3 device after a DFI PHY takes for an AXI burst, in controller clocks.

The formulas of ``axi_bounds.py`` for the part that the controller sees through the phases
(`dfi_part`), and for each completion the clocks h by which it is held back until a read's last
words are on the chip (`dfi_completion_delay`). The AXI port makes its next request when it has been
told of the completion of the one before. So the front end's lead, which `dfi_tile_issue_delay`
counts for requests that wait for each other, is in none of these.
"""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, prediction
from cyclebound.golden.dram import axi_bounds
from cyclebound.golden.dram.axi_bounds import Beyond, First, Partial, Size, Transfers
from cyclebound.golden.dram.dfi_bounds import (
    Ratio,
    RddataEn,
    Rdlat,
    Wrdata,
    Wrlat,
    dfi_completion_delay,
    dfi_seen,
)
from cyclebound.golden.dram.timing import Part

__all__ = ["axi_dfi_read", "axi_dfi_read_alone", "axi_dfi_refused_read", "axi_dfi_refused_write",
           "axi_dfi_write", "axi_dfi_write_alone"]

Bursts = Annotated[int, Range(1, 64, says="bursts of DRAM, 64 bytes each, within 4 KiB")]
_ANYTHING = ("refreshes fall due in any cycle, the device has been powered up; other bursts wait, "
             "or have been served before; the burst lies anywhere, and is legal or not")


@prediction(formula="LID(bursts) + 22 + transfers + h, of the part in controller clocks",
            source="this project")
def axi_dfi_read_alone(*, part: str | Part, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata,
                       rddata_en: RddataEn, rdlat: Rdlat, transfers: Transfers, bursts: Bursts,
                       first: First) -> int:
    """Cycles from taking an AXI read's address to its last word on R, both included.

    No refresh is under way, owed or falls due; otherwise as `axi_read_alone`.
    """
    phy: dict = {"part": part, "ratio": ratio, "wrlat": wrlat, "wrdata": wrdata,
                 "rddata_en": rddata_en, "rdlat": rdlat}
    return dfi_completion_delay(**phy) + axi_bounds.axi_read_alone.function(
        part=dfi_seen(**phy), transfers=transfers, bursts=bursts, first=first)


@prediction(formula="LID_W(bursts) + 19 + h, and where words are written in part, "
                    "LID_R(bursts) + 17 + h more; of the part in controller clocks",
            source="this project")
def axi_dfi_write_alone(*, part: str | Part, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata,
                        rddata_en: RddataEn, rdlat: Rdlat, bursts: Bursts, first: First,
                        partial: Partial) -> int:
    """Cycles from taking the last word of an AXI write to its answer on B, both included.

    No refresh is under way, owed or falls due; otherwise as `axi_write_alone`. Where words are
    written in part, both requests' completions are held back.
    """
    phy: dict = {"part": part, "ratio": ratio, "wrlat": wrlat, "wrdata": wrdata,
                 "rddata_en": rddata_en, "rdlat": rdlat}
    return dfi_completion_delay(**phy) * (2 if partial else 1) + (
        axi_bounds.axi_write_alone.function(part=dfi_seen(**phy), bursts=bursts, first=first,
                                            partial=partial))


@bound(formula="max over b up to 1 + ceil((transfers - 1) * 2^size / 64) of LID(b) + 22 "
               "+ transfers + max(nRFC - 10, 1) + h, of the part in controller clocks",
       source="this project", environment=_ANYTHING)
def axi_dfi_read(*, part: str | Part, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata,
                 rddata_en: RddataEn, rdlat: Rdlat, transfers: Transfers, size: Size) -> int:
    """Cycles from taking an AXI read's address to its last word on R, both included.

    Cycles in which the client is not ready do not count. As `axi_read`. Raises `NotCovered` where
    two refreshes may fall due meanwhile.
    """
    phy: dict = {"part": part, "ratio": ratio, "wrlat": wrlat, "wrdata": wrdata,
                 "rddata_en": rddata_en, "rdlat": rdlat}
    return axi_bounds.longest_axi_read(dfi_seen(**phy), transfers, size,
                                       held=dfi_completion_delay(**phy))


@bound(formula="max over b up to 1 + ceil((transfers - 1) * 2^size / 64) of LID_W(b) + 19 "
               "+ max(nRFC - 10, 1) + h, and where words are written in part, LID_R(b) + 17 + h "
               "more; of the part in controller clocks",
       source="this project", environment=_ANYTHING)
def axi_dfi_write(*, part: str | Part, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata,
                  rddata_en: RddataEn, rdlat: Rdlat, transfers: Transfers, size: Size,
                  partial: Partial) -> int:
    """Cycles from taking the last word of an AXI write to its answer on B, both included.

    As `axi_write`. Raises `NotCovered` where two refreshes may fall due meanwhile.
    """
    phy: dict = {"part": part, "ratio": ratio, "wrlat": wrlat, "wrdata": wrdata,
                 "rddata_en": rddata_en, "rdlat": rdlat}
    return axi_bounds.longest_axi_write(dfi_seen(**phy), transfers, size, partial,
                                        held=dfi_completion_delay(**phy))


@prediction(formula="transfers + 4, beyond the device + 8 + h more", source="this project")
def axi_dfi_refused_read(*, part: str | Part, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata,
                         rddata_en: RddataEn, rdlat: Rdlat, transfers: Transfers, beyond: Beyond
                         ) -> int:
    """`axi_refused_read`: completions of requests that are refused are held back as well."""
    held = dfi_completion_delay(part=part, ratio=ratio, wrlat=wrlat, wrdata=wrdata,
                                rddata_en=rddata_en, rdlat=rdlat)
    return axi_bounds.axi_refused_read.function(transfers=transfers, beyond=beyond) + (
        held if beyond else 0)


@prediction(formula="2, beyond the device 9 + h", source="this project")
def axi_dfi_refused_write(*, part: str | Part, ratio: Ratio, wrlat: Wrlat, wrdata: Wrdata,
                          rddata_en: RddataEn, rdlat: Rdlat, beyond: Beyond) -> int:
    """`axi_refused_write`: completions of requests that are refused are held back as well."""
    held = dfi_completion_delay(part=part, ratio=ratio, wrlat=wrlat, wrdata=wrdata,
                                rddata_en=rddata_en, rdlat=rdlat)
    return axi_bounds.axi_refused_write.function(beyond=beyond) + (held if beyond else 0)
