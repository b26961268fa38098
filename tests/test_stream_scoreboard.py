"""The scoreboard of blocks that make one stream of another: what it drives, and what it finds."""

import asyncio
from types import SimpleNamespace

import pytest

from cyclebound.tb.bus import Bus
from cyclebound.tb.stream_scoreboard import StreamScoreboard

pytestmark = pytest.mark.unit

FIELDS = {"inputs": ("sink.valid", "sink.payload", "source.ready", "mode"),
          "outputs": ("sink.ready", "source.valid", "source.payload")}


class Slot:
    """A model that holds one item, and shows it in the next cycle."""

    def __init__(self):
        self.item = None

    def step(self, item, ready):
        takes, shown = self.item is None, self.item
        if takes:
            self.item = item
        elif ready:
            self.item = None
        return takes, shown


class Puppet:
    """A bench whose block is a `Slot`, with a fault in some cycle."""

    def __init__(self, at=-1, **fault):
        self.inputs, self.outputs = (Bus([
            {"name": name, "offset": 8 * place, "width": 8 if name[-1] in "de" else 1}
            for place, name in enumerate(names)])
            for names in FIELDS.values())
        self.block, self.at, self.fault, self.seen = Slot(), at, fault, []

    async def step(self, word):
        given = SimpleNamespace(**{name.replace(".", "_"): field.of(word)
                                   for name, field in self.inputs.fields.items()})
        self.seen.append((given.sink_valid, given.sink_payload, given.source_ready, given.mode))
        takes, shown = self.block.step(given.sink_payload if given.sink_valid else None,
                                       given.source_ready)
        values = {"sink.ready": takes, "source.valid": shown is not None,
                  "source.payload": shown or 0}
        if len(self.seen) - 1 == self.at:
            values |= {name.replace("_", "."): value for name, value in self.fault.items()}
        return self.outputs.pack(values)

    def check_fields(self, seen, expected):
        care = self.outputs.mask(expected)
        assert seen & care == self.outputs.pack(expected), len(self.seen) - 1


def play(bench, items, **how):
    scoreboard = StreamScoreboard(bench, "sink", "source", Slot())
    return asyncio.run(scoreboard.play([(item, item) for item in items], **how))


def test_all_items_are_offered_and_their_results_returned():
    bench, begun = Puppet(), []
    assert play(bench, [5, 6, 7], settings={"mode": 3}, begins=lambda number: begun.append(
        (number, len(bench.seen)))) == [5, 6, 7]
    assert bench.seen == [(1, 5, 1, 3), (1, 6, 1, 3), (1, 6, 1, 3), (1, 7, 1, 3), (1, 7, 1, 3),
                          (0, 0, 1, 3)]
    assert begun == [(0, 0), (1, 1), (2, 3)]


def test_stalls_of_both_sides():
    bench = Puppet()
    assert play(bench, [5, 6], offers=[0, 1, 1, 1], sinks=[1, 1, 0, 1, 0, 1]) == [5, 6]
    assert [row[::2] for row in bench.seen] == [(0, 1), (1, 1), (1, 0), (1, 1), (1, 0), (0, 1)]


@pytest.mark.parametrize(("withdraws", "offered"), [(False, [1, 1, 1, 0]), (True, [1, 0, 1, 0])])
def test_an_offer_is_kept_unless_it_may_be_withdrawn(withdraws, offered):
    bench = Puppet()
    scoreboard = StreamScoreboard(bench, "sink", "source", Slot())
    scoreboard.withdraws = withdraws
    offers = iter([True, not withdraws, *[True] * 9])
    asyncio.run(scoreboard.play([(5, 5), (6, 6)], offers=offers))
    assert [row[0] for row in bench.seen] == offered


def test_ends_at_the_results_that_are_counted():
    assert play(Puppet(), [5, 6, 7, 8], count=2, ends=lambda shown: shown % 2 == 0) == [5, 6, 7, 8]


@pytest.mark.parametrize(("at", "fault"), [
    (0, {"sink_ready": 0}), (1, {"source_valid": 0}), (3, {"source_payload": 9}),
    (0, {"source_valid": 1})])
def test_a_fault_of_the_block_is_found_in_its_cycle(at, fault):
    with pytest.raises(AssertionError, match=rf"^{at}\b"):
        play(Puppet(at, **fault), [5, 6])


def test_a_payload_that_is_not_shown_may_be_any():
    assert play(Puppet(0, source_payload=9), [5, 6]) == [5, 6]
