"""Random DDR3 parts and PHYs, within what JEDEC and DFI allow: for searches over any of them."""

import dataclasses
import json

from cyclebound.golden.dram.dfi import CAS_PHASE, RATIOS, DfiPhy
from cyclebound.golden.dram.part import TIMINGS, Part

__all__ = ["part_file", "random_ddr3", "random_phy"]

_PRINTED = ("name", "generation", "tck_ps", "banks", "bank_groups", "rows", "columns")


def random_ddr3(rng):
    """A part of any speed bin at any clock from 303 to 1,066 MHz, now and then far from JEDEC's.

    Slow clocks make distances of one or two controller clocks, down to tRP and tRCD of one.
    """
    tck = rng.choice((938, 1250, 1875, 2500, 2632, 3300, rng.randint(938, 3300)))

    def clocks(ps):
        return max(1, -(-ps // tck))

    trcd = rng.choice((10_000, 12_500, 13_750, rng.randint(9_000, 20_000)))
    trp = rng.choice((trcd, trcd, rng.randint(9_000, 20_000)))
    tras = rng.randint(30_000, 45_000)
    nRCD, nRP = clocks(trcd), clocks(trp)
    nRAS = max(clocks(tras), nRCD)
    nCWD = rng.randint(5, 12)
    nRC = nRAS + nRP + rng.choice((0, 0, 1, 3))
    near = rng.random() < 0.7  # to what JEDEC prints
    nRRD, nWTR, nRTP = ((max(4, clocks(7_500)),) * 3 if near else
                        (rng.randint(1, 8), rng.randint(1, 12), rng.randint(1, 14)))
    return Part(
        name="random", generation="DDR3", tck_ps=tck, banks=8, bank_groups=1,
        rows=rng.choice((4096, 16_384, 65_536)), columns=rng.choice((64, 128, 256, 512, 1024, 1024,
                                                                     2048)),
        nRCD=nRCD, nCAS=rng.randint(max(5, nCWD), 14), nCWD=nCWD, nRP=nRP, nBURST=4, nRAS=nRAS,
        nRC=nRC, nRTP=nRTP, nWR=min(16, clocks(15_000)) if near else rng.randint(1, 16),
        nWTR_S=nWTR, nWTR_L=nWTR, nCCD_S=4, nCCD_L=4, nRRD_S=nRRD, nRRD_L=nRRD,
        nFAW=rng.choice((0, min(nRC, clocks(rng.randint(25_000, 50_000))))),
        nRFC=clocks(rng.choice((90_000, 110_000, 160_000, 260_000, 350_000))),
        nREFI=rng.choice((7_800_000, 3_900_000)) // tck, nWPRE=rng.choice((0, 1, 1, 2)))


def random_phy(rng, part, ratio=None):
    """A PHY's ratio and numbers for a part: as fast as it can be, or slower."""
    ratio = ratio or rng.choice(RATIOS)
    wrdata = rng.randint(0, 3)
    wrlat = rng.choice((max(0, part.nCWD - wrdata), rng.randint(0, 20)))
    enable = rng.randint(0, rng.choice((part.nCAS, 24)))
    phy = DfiPhy(wrlat, wrdata, enable, 1)
    cas = CAS_PHASE[ratio]
    least = ratio * (-(-(cas + phy.lag(part) + part.nCAS) // ratio) + 1) - cas - enable
    rdlat = max(1, least) + rng.choice((0, 0, 1, 3, rng.randint(0, 25)))
    return ratio, dataclasses.replace(phy, rdlat=rdlat)


def part_file(folder, part):
    """The file that describes ``part``."""
    path = folder / "part.toml"
    path.write_text("\n".join([
        "[part]", *(f"{name} = {json.dumps(getattr(part, name))}" for name in _PRINTED),
        "[timing]", *(f"{name} = {getattr(part, name)}" for name in TIMINGS), ""]))
    return str(path)
