"""Golden model of an SGMF processor above DRAM, and the times of a run on it.

Source: SGMF, sections 4.6, 5 and 7.2, Table 1; Sim-D, section 3.2.
"""

from collections.abc import Sequence

from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.golden.dataflow.channel import ChannelModel
from cyclebound.golden.dataflow.channel_bounds import channel_times, refreshes_in
from cyclebound.golden.dataflow.fabric_bounds import processor_completion
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.processor import ProcessorModel, processor_times
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dram.part import Part
from cyclebound.golden.dram.timing import part_named

__all__ = ["dram_processor_times", "run_on_dram", "words_of_lines"]


def words_of_lines(channels: Sequence[ChannelModel], count: int, shared: CacheShape) -> list[int]:
    """The first words, each from the DRAM of its line."""
    words: list[int] = []
    for line in range(-(-count // shared.line)):
        words += channels[line % shared.banks % len(channels)].line(line)
    return words[:count]


def run_on_dram(processor: ProcessorModel, channels: Sequence[ChannelModel], mapped: Mapped,
                layout: Layout, *, threads: int, share: int, limit: int = 1_000_000) -> int:
    """Run one configuration; the DRAMs' words are changed. Returns the cycles from the start to
    ``done``, both included.

    Raises `RuntimeError` after ``limit`` cycles.
    """
    processor.configure(mapped, layout, threads=threads, share=share)
    for cycle in range(limit):
        idle = all(channel.idle for channel in channels)
        takes = [channel.takes(asked) for channel, asked in zip(
            channels, processor.line_requests(), strict=True)]
        result = processor.step(start=cycle == 0, lines_taken=takes,
                                lines=[channel.answer() for channel in channels])
        for channel, took in zip(channels, takes, strict=True):
            channel.step(took)
        if result.done and idle:
            return cycle + 1
    raise RuntimeError(f"threads were still under way after {limit} cycles")


def dram_processor_times(mapped: Mapped, layout: Layout, *, part: str | Part, threads: int,
                         share: int, cores: int, depth: int, shape: CacheShape,
                         shared: CacheShape, channels: int) -> dict[str, int]:
    """What `golden.dataflow.fabric_bounds.processor_completion` needs to know of a configuration.

    As `processor_times`, with a channel's times, in two ways, whichever is less: each of its
    requests may meet a refresh; or refreshes delay the run as a whole. The last words' way into the
    DRAM counts with the flush. docs/dataflow-channel.md derives it.

    Raises `ValueError` as `ranges` does, `NotCovered` as `channel_times`.
    """
    device = part_named(part)

    def times(*, refreshes: bool) -> dict[str, int]:
        channel = channel_times(device, line=shared.line, refreshes=refreshes)
        known = processor_times(
            mapped, layout, threads=threads, share=share, cores=cores, depth=depth, shape=shape,
            shared=shared, channels=channels, turn=channel.turn, latency=channel.latency,
            busy=None if refreshes else channel.busy)
        return known | {"below": known["below"] + channel.written}

    each, together = times(refreshes=True), times(refreshes=False)
    together["lost"] += refreshes_in(
        device, processor_completion.of(together | {"depth": depth}), channels=channels,
        line=shared.line)
    return min(each, together, key=lambda known: processor_completion.of(known | {"depth": depth}))
