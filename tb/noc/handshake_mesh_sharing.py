"""SHMAC's grid with 1 to 8 masters on one RAM: all of 4.4.2, 4.5 and 5.1.2 of the thesis."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.handshake_mesh import SHARED, share

__all__ = ["masters_on_one_ram"]


@testbench
async def masters_on_one_ram(bench: Bench) -> None:
    await share(bench, list(SHARED), list(range(1, 9)), 1_400)
