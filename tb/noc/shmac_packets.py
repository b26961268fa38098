"""SHMAC's packets on the packed buses."""

from cyclebound.golden.noc.shmac_packet import ShmacPacket
from cyclebound.tb.bus import Bus, Field

__all__ = ["PacketPort"]


class PacketPort:
    """The fields of one stream of packets.

    ``own`` is the bus that carries ``valid`` and the payload, ``other`` the one with ``ready``.
    """

    def __init__(self, own: Bus, other: Bus, name: str) -> None:
        self.valid: Field = own[f"{name}.valid"]
        self.payload: Field = own[f"{name}.payload"]
        self.ready: Field = other[f"{name}.ready"]
        self.wide = self.valid.mask | self.payload.mask
        self._bits = {f"{part}_bits": own[f"{name}.payload.{part}"].width
                      for part in ("address", "data")}

    def word(self, packet: ShmacPacket) -> int:
        """The bus word that offers ``packet``."""
        return self.valid.mask | self.payload.to(packet.word(**self._bits))
