"""AXI4 and AXI4-Lite as interface signatures.

Parts of the DRAM controller's AXI port and of the accelerator's host interface, whose models,
testbenches and tests cover them.

Ref: AMBA AXI Protocol Specification (IHI 0022), sections A2.2 to A2.6, chapter B1.
"""

from types import SimpleNamespace

from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["AxiLiteSignature", "AxiSignature"]


class _Channels(wiring.Signature):
    """Five channels of a manager, and the same as single ports of a subordinate."""

    def subordinate_ports(self, prefix):
        """A subordinate's members, by the names that tools look for: ``prefix_awvalid`` and so on.
        """
        return {f"{prefix}_{channel}{name}": member.flip()
                for channel, name, member in self._signals()}

    def of(self, component, prefix):
        """The interface that these members of ``component`` are: ``of(...).aw.valid``."""
        interface = SimpleNamespace(signature=self.flip())
        for channel, name, _ in self._signals():
            if not hasattr(interface, channel):
                setattr(interface, channel, SimpleNamespace(
                    signature=interface.signature.members[channel].signature))
            setattr(getattr(interface, channel), name,
                    getattr(component, f"{prefix}_{channel}{name}"))
        return interface

    def _signals(self):
        """Channel, name and member of each, as a manager has it."""
        for channel, member in self.members.items():
            for name, signal in member.signature.members.items():
                yield channel, name, signal


class AxiSignature(_Channels):
    """AXI4 as a manager has it; a subordinate has it flipped.

    Without the optional signals lock, cache, prot, qos, region and user.

    Parameters
    ----------
    id_width : int
        Bits of the transaction identifiers, 1 to 32.
    data_width : int
        Bits of a transfer, 8 to 1024 and a power of two.
    address_width : int
        Bits of an address, 1 to 64.

    Members
    -------
    aw, ar : Out(wiring.Signature)
        Address channels: ``id``, ``addr``, ``len``, ``size``, ``burst``; ``valid``, ``ready``.
    w : Out(wiring.Signature)
        Write data: ``data``, ``strb``, ``last``; ``valid``, ``ready``.
    b, r : Out(wiring.Signature)
        Responses, which the subordinate sends: ``id``, ``resp``, and for reads ``data``, ``last``;
        ``valid``, ``ready``.
    """

    def __init__(self, *, id_width, data_width, address_width=32):
        check_integer("id width", id_width, 1, 32)
        check_integer("data width", data_width, 8, 1024)
        check_integer("address width", address_width, 1, 64)
        if data_width & data_width - 1:
            raise ValueError(f"data width must be a power of two, not {data_width}")
        self.id_width, self.data_width = id_width, data_width
        self.address_width = address_width
        address = {"id": id_width, "addr": address_width, "len": 8, "size": 3, "burst": 2}
        super().__init__({
            "aw": Out(_channel(address)),
            "w": Out(_channel({"data": data_width, "strb": data_width // 8, "last": 1})),
            "b": Out(_channel({"id": id_width, "resp": 2}).flip()),
            "ar": Out(_channel(address)),
            "r": Out(_channel({"id": id_width, "data": data_width, "resp": 2, "last": 1}).flip()),
        })

    def __eq__(self, other):
        return isinstance(other, AxiSignature) and all(
            getattr(self, name) == getattr(other, name)
            for name in ("id_width", "data_width", "address_width"))


class AxiLiteSignature(_Channels):
    """AXI4-Lite as a manager has it; a subordinate has it flipped.

    Parameters
    ----------
    address_width : int
        Bits of an address, 1 to 64.
    data_width : int
        Bits of a transfer, 32 or 64.

    Members
    -------
    aw, ar : Out(wiring.Signature)
        Address channels: ``addr``, ``prot``; ``valid``, ``ready``.
    w : Out(wiring.Signature)
        Write data: ``data``, ``strb``; ``valid``, ``ready``.
    b, r : Out(wiring.Signature)
        Responses, which the subordinate sends: ``resp``, and for reads ``data``; ``valid``,
        ``ready``.
    """

    def __init__(self, *, address_width, data_width=32):
        check_integer("address width", address_width, 1, 64)
        if data_width not in (32, 64):
            raise ValueError(f"data width must be 32 or 64, not {data_width!r}")
        self.address_width, self.data_width = address_width, data_width
        address = {"addr": address_width, "prot": 3}
        super().__init__({
            "aw": Out(_channel(address)),
            "w": Out(_channel({"data": data_width, "strb": data_width // 8})),
            "b": Out(_channel({"resp": 2}).flip()),
            "ar": Out(_channel(address)),
            "r": Out(_channel({"data": data_width, "resp": 2}).flip()),
        })

    def __eq__(self, other):
        return (isinstance(other, AxiLiteSignature) and self.address_width == other.address_width
                and self.data_width == other.data_width)


def _channel(payload):
    """A channel as its source has it."""
    return wiring.Signature({**{name: Out(width) for name, width in payload.items()},
                             "valid": Out(1), "ready": wiring.In(1)})
