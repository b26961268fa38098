"""Requests of a client beside others, by turns and in windows: on the models."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.client_arbiter import ClientArbiterModel, ClientOffer
from cyclebound.golden.dram.controller import DramControllerModel
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import part_named

__all__ = ["composable"]

_OTHERS = {"silent": ("#4477aa", 0), "reads of 1 burst": ("#ccbb44", 1),
           "reads of 16 bursts": ("#cc6677", 16)}


def _lasts(part: str, windows: Sequence[int] | None, other_bursts: int, requests: int) -> list[int]:
    """Cycles of each request of client 0, a burst that comes a cycle later after the last one each
    time, beside a client that asks for so many bursts without a pause; 0: for none."""
    arbiter, model = ClientArbiterModel(2, windows), DramControllerModel(part_named(part))
    asks = [BufferRequest(0, 0, 0, BURST_WORDS * bursts, 1) for bursts in (1, other_bursts)]
    maps = [Mapping(0, number << 20, BURST_WORDS * 16, 1) for number in range(2)]
    lasts: list[int] = []
    mapped, begun, due, now = [False, False], -1, 4000, 0
    while len(lasts) < requests:
        ready = all(mapped) and now >= 4000
        offers = [ClientOffer(None if mapped[number] else (0, maps[number]),
                              (0, asks[number]) if ready and (
                                  other_bursts if number else begun < 0 and now >= due) else None)
                  for number in range(2)]
        given = arbiter.give(offers, free=model.free, table_idle=model.table.idle)
        shown = model.step(
            mapping=given.mapping and replace(given.mapping[1], buffer=given.mapping[0]),
            request=given.request and replace(given.request[1], buffer=given.request[0]))
        arbiter.end(offers, given, started=shown.started, completed=shown.completion is not None)
        if given.mapped is not None:
            mapped[given.mapped] = True
        if offers[0].request is not None and given.takes_request[0]:
            begun = now
        if shown.completion is not None and given.owner == 0:
            lasts.append(now - begun + 1)
            begun, due = -1, now + 1 + len(lasts)
        now += 1
    return lasts


def composable(part: str, windows: Sequence[int], requests: int) -> Figure:
    """How long each request of a client takes, beside a silent and a busy one: by turns, and in
    windows."""
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    for panel, given, title in zip(figure.subplots(1, 2), (None, windows),
                                   ("by turns", f"in windows of {' and '.join(map(str, windows))}"),
                                   strict=True):
        for number, (label, (colour, bursts)) in enumerate(_OTHERS.items()):
            panel.plot(range(1, requests + 1), _lasts(part, given, bursts, requests), color=colour,
                       linewidth=4 - 1.5 * number, label=f"the other: {label}")
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("request of client 0: a burst, so many cycles after the last one",
                         fontsize=8)
        panel.set_ylim(bottom=0)
    figure.axes[0].set_ylabel("cycles to its completion", fontsize=8)
    figure.axes[0].legend(fontsize=8)
    return figure
