"""AXI4 as an interface signature; part of the DRAM controller's AXI port.

That port's model, testbench and tests cover it.

Ref: AMBA AXI Protocol Specification (IHI 0022), sections A2.2 to A2.6.
"""

from types import SimpleNamespace

from amaranth.lib import wiring
from amaranth.lib.wiring import Out

__all__ = ["AxiSignature"]


class AxiSignature(wiring.Signature):
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
        for what, value in (("id width", id_width), ("data width", data_width),
                            ("address width", address_width)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{what} must be an integer, not {value!r}")
        if not 1 <= id_width <= 32:
            raise ValueError(f"id width must be from 1 to 32, not {id_width}")
        if not 8 <= data_width <= 1024 or data_width & data_width - 1:
            raise ValueError("data width must be a power of two from 8 to 1024, "
                             f"not {data_width}")
        if not 1 <= address_width <= 64:
            raise ValueError(f"address width must be from 1 to 64, not {address_width}")
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

    def subordinate_ports(self, prefix):
        """A subordinate's members, by the names that tools look for: ``prefix_awvalid`` and so on.
        """
        return {f"{prefix}_{channel}{name}": member.flip()
                for channel, name, member in self._signals()}

    def of(self, component, prefix):
        """The interface that these members of ``component`` are: ``of(...).aw.valid``."""
        found = SimpleNamespace(signature=self.flip())
        for channel, name, _ in self._signals():
            if not hasattr(found, channel):
                setattr(found, channel, SimpleNamespace(
                    signature=found.signature.members[channel].signature))
            setattr(getattr(found, channel), name, getattr(component, f"{prefix}_{channel}{name}"))
        return found

    def _signals(self):
        """Channel, name and member of each, as a manager has it."""
        for channel, member in self.members.items():
            for name, signal in member.signature.members.items():
                yield channel, name, signal


def _channel(payload):
    """A channel as its source has it."""
    return wiring.Signature({**{name: Out(width) for name, width in payload.items()},
                             "valid": Out(1), "ready": wiring.In(1)})
