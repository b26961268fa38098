"""A scoreboard for blocks that make one stream of another.

In cocotb's words: its *driver* offers items at the source, its *sink* takes results, and the
*scoreboard* compares the block with its golden model in every cycle. A stall of either is an
iterator of booleans. What the block does besides, a class of its own says.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cyclebound.tb.bench import Bench

__all__ = ["StreamScoreboard", "sometimes"]


def sometimes(bench: Bench, chance: float) -> Iterator[bool]:
    """Random answers without end, of which this share is true."""
    return (bench.rng.random() < chance for _ in itertools.count())


class StreamScoreboard:
    """The block and its model.

    Parameters
    ----------
    bench : Bench
        With the block.
    source, sink : str
        Names of the streams that it takes and makes.
    model : object
        Has ``step(item, ready)``, one cycle of the block: ``item`` is on offer, or None, and
        ``ready`` the sink. Returns whether an item is taken, and what is shown, or None.
    """

    withdraws = False
    """Whether an offer that is not taken may be withdrawn, which the rules of streams forbid."""

    def __init__(self, bench: Bench, source: str, sink: str, model: Any = None) -> None:
        self.bench, self.source, self.sink, self.model = bench, source, sink, model
        self.took = False
        """Whether an item was taken in the cycle before."""

    def payload(self, shown: Any) -> int | Mapping[str, int]:
        """The sink's payload, whole or by field, where the model shows this."""
        return shown

    def also(self) -> Mapping[str, int]:
        """Outputs beside the streams, as they have to be in the coming cycle."""
        return {}

    async def play(self, items: Sequence[tuple[Any, int | Mapping[str, int]]], *,
                   count: int | None = None, ends: Callable[[Any], bool] = lambda shown: True,
                   offers: Iterable[bool] = (), sinks: Iterable[bool] = (),
                   settings: Mapping[str, int] | None = None,
                   begins: Callable[[int], None] = lambda number: None) -> list:
        """Offer all items in order, and take their results, which are returned.

        Parameters
        ----------
        items : sequence
            Each as the model takes it, and the source's payload, whole or by field.
        count : int or None
            Results to wait for, of those for which ``ends`` is true; None: one for each item.
        offers, sinks : iterable of bool
            Whether an item is offered that has not been, and whether the sink is ready, in each
            cycle. Without any, always.
        settings : mapping
            Inputs that stay.
        begins : callable
            Called with an item's number before the first cycle in which it may be offered.
        """
        bench, settings = self.bench, settings or {}
        offering, taking = (iter(stall) if stall != () else itertools.repeat(True)
                            for stall in (offers, sinks))
        idle, ready_bit = bench.inputs.pack(settings), bench.inputs[f"{self.sink}.ready"].mask
        words = [idle | bench.inputs.pack({f"{self.source}.valid": 1,
                                           **_fields(self.source, payload)})
                 for _, payload in items]
        results: list[Any] = []
        ended, taken, begun, offer = 0, 0, -1, False
        while ended < (len(items) if count is None else count) or taken < len(items):
            if begun < taken < len(items):
                begun = taken
                begins(taken)
            kept = offer and not self.took and not self.withdraws
            offer = taken < len(items) and (kept or next(offering))
            ready = next(taking)
            seen = await bench.step((words[taken] if offer else idle)
                                    | (ready_bit if ready else 0))
            takes, shown = self.model.step(items[taken][0] if offer else None, ready)
            expected = {f"{self.source}.ready": takes, f"{self.sink}.valid": shown is not None,
                        **self.also()}
            if shown is not None:
                expected |= _fields(self.sink, self.payload(shown))
                if ready:
                    results.append(shown)
                    ended += ends(shown)
            bench.check_fields(seen, expected)
            self.took = bool(offer and takes)
            taken += self.took
        return results


def _fields(stream: str, payload: int | Mapping[str, int]) -> dict[str, int]:
    if isinstance(payload, int):
        return {f"{stream}.payload": payload}
    return {f"{stream}.payload.{name}": value for name, value in payload.items()}
