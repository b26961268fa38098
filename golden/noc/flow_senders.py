"""Golden model of several flows at one network interface (memory-composition, III.B)."""

from collections.abc import Sequence

from cyclebound.golden.noc.network_interface import SenderModel, Transaction, Window
from cyclebound.golden.noc.wormhole_router import Flit

__all__ = ["FlowSendersModel", "apart", "given"]

_NONE = Window(1, 1, 0)  # a window that is none: it begins beyond its period


def apart(one: Window, other: Window) -> bool:
    """Whether two windows never have a cycle together: they have one period, and in it different
    cycles. One that has no cycle is apart from any."""
    if not one.length or not other.length:
        return True
    if one.period != other.period or max(one.offset, other.offset) >= one.period:
        return False
    mine, others = ({(window.offset + cycle) % window.period for cycle in range(window.length)}
                    for window in (one, other))
    return not mine & others and max(one.length, other.length) <= one.period


def given(windows: Sequence[Window]) -> list[bool]:
    """Of each flow whether its window is apart from those of lower numbers that have theirs."""
    has: list[bool] = []
    for window in windows:
        has.append(all(apart(before, window) for before, given in zip(windows, has, strict=False)
                       if given))
    return has


class FlowSendersModel:
    """A sender each, in front of one link.

    Parameters
    ----------
    payload, width : int
        Words in the longest packet, and bits of a word.
    windows : sequence of Window
        By flow.
    """

    def __init__(self, *, payload: int, width: int, windows: Sequence[Window]) -> None:
        self.overlaps = [not has for has in given(windows)]
        self.senders = [SenderModel(
            payload=payload, width=width, window=_NONE if overlaps or not window.period else window)
            for window, overlaps in zip(windows, self.overlaps, strict=True)]
        self._within: int | None = None  # the flow whose packet is on the link

    @property
    def offers(self) -> list[int]:
        """Flows that have a flit for the link in this cycle, and may offer it."""
        return [flow for flow, sender in enumerate(self.senders) if sender.offer is not None
                and self._within in (None, flow)]

    @property
    def offer(self) -> Flit | None:
        """The flit on the link."""
        flows = self.offers
        assert len(flows) < 2, f"flows {flows} offer in one cycle"
        return self.senders[flows[0]].offer if flows else None

    def step(self, transactions: Sequence[Transaction | None], words: Sequence[int | None],
             ready: bool) -> None:
        """One cycle: what is offered to each flow, and whether the network is ready."""
        offer, flows = self.offer, self.offers
        for flow, sender in enumerate(self.senders):
            sender.step(transactions[flow], words[flow], ready and flow in flows)
        if offer is not None and ready:
            self._within = None if offer.last else flows[0]
