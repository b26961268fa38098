"""SHMAC's packets on the packed buses: records whose tiles are (row, column)."""

from dataclasses import fields

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
        self._start = f"{name}.payload."
        self._parts = {field.removeprefix(self._start): part for field, part in own.fields.items()
                       if field.startswith(self._start)}

    def word(self, packet: object) -> int:
        """The bus word that offers ``packet``."""
        word = self.valid.mask
        for field in fields(packet):  # type: ignore[arg-type]
            value = getattr(packet, field.name)
            if isinstance(value, tuple):
                for name, coordinate in zip(("row", "column"), value, strict=True):
                    word |= self._parts[f"{field.name}.{name}"].to(coordinate)
            else:
                word |= self._parts[field.name].to(value)
        return word
