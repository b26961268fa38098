"""Scratchpad: a work-group's local memory, with a stride sequencer of its own.

Its side towards registers moves a line of the bus in each clock, from a tile's first word on, be
that aligned or not; lines without a word of the tile are skipped. Its side towards DRAM takes beats
of four words.

A line's place in the tile is the line of the tile in which lane 0 of the bus lies, and its phase
there. In a tile whose lines begin at least as many words apart as the bus is wide, a line of the
bus has words of two of its lines at most. In others none without a word comes between the first
and the last, and a table says in which line of the tile each lane lies.

Ref: Sim-D, section 3.3.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BEAT_WORDS, TARGET_BITS, WORD_BITS
from cyclebound.golden.simd.machine import SCRATCHPAD_WORDS
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_power_of_two

__all__ = ["Scratchpad", "ScratchpadTileLayout", "TargetedWords"]

_ADDRESS_BITS = ceil_log2(SCRATCHPAD_WORDS)
_COUNT_BITS = ceil_log2(SCRATCHPAD_WORDS + 1)


class ScratchpadTileLayout(data.Struct):
    """A `ScratchpadTile`; without ``words`` or ``count`` it is empty, and nothing moves.

    ``restart``: a line of the bus has words of one line of the tile only.
    """

    address: _ADDRESS_BITS
    words: _COUNT_BITS
    period: _COUNT_BITS
    count: _COUNT_BITS
    base: TARGET_BITS
    pitch: TARGET_BITS
    restart: 1
    write: 1


class TargetedWords(data.StructLayout):
    """Words with their targets; those that are enabled."""

    def __init__(self, words):
        super().__init__({"enable": words,
                          "targets": data.ArrayLayout(unsigned(TARGET_BITS), words),
                          "words": data.ArrayLayout(unsigned(WORD_BITS), words)})


class Scratchpad(wiring.Component):
    """Banked memory of 64 KiB: lines of ``bus`` words on one side, beats of DRAM on the other.

    Latency: a transfer's words are served from the cycle of ``go`` on, a line of the bus in each;
    those that are read are on ``deliver`` in the cycle after, those to be written are asked for on
    ``ask`` and have to be on ``answer`` in the cycle after. ``done`` is set in the cycle of the
    last words. Prediction: ``golden.simd.scratchpad_bounds.scratchpad_transfer``.

    Parameters
    ----------
    bus : int
        Words that move in a cycle: a power of two from 4 to 64.
    words : int
        Size, a power of two from ``bus`` to `SCRATCHPAD_WORDS`. Addresses wrap round.

    Members
    -------
    tile : In(ScratchpadTileLayout)
        The transfer: stable from the cycle of ``prepare`` until the one of ``done``.
    prepare : In(1)
        Get ready for it. ``go`` may follow in the next cycle.
    go : In(1)
        Begin.
    done : Out(1)
        The transfer's last cycle.
    deliver : Out(Strobe(words with targets))
        Words read.
    ask : Out(Strobe(words with targets))
        Words wanted; ``words`` mean nothing.
    answer : In(bus words with ``enable``)
        Those that were wanted in the cycle before; only enabled ones are written.
    store : In(Strobe(4 words with targets))
        Words from DRAM, each at its target, in banks of their own.
    fetch : In(Strobe(4 words with targets))
        Words for DRAM. ``fetched`` has them in the cycle after the next.
    fetched : Out(4 words)
        See ``fetch``.
    """

    def __init__(self, *, bus, words=SCRATCHPAD_WORDS):
        check_power_of_two("bus", bus, 4, 64)
        check_power_of_two("words", words, bus, SCRATCHPAD_WORDS)
        self.bus, self.words = bus, words
        # the state of a transfer; a proof has to speak of it
        self.running, self.finishing = Signal(), Signal()
        self.line, self.phase = Signal(_COUNT_BITS), Signal(_COUNT_BITS)  # of lane 0
        super().__init__({
            "tile": In(data.Layout.cast(ScratchpadTileLayout)), "prepare": In(1), "go": In(1),
            "done": Out(1),
            "deliver": Out(Strobe(TargetedWords(bus))), "ask": Out(Strobe(TargetedWords(bus))),
            "answer": In(data.StructLayout({
                "enable": bus, "words": data.ArrayLayout(unsigned(WORD_BITS), bus)})),
            "store": In(Strobe(TargetedWords(BEAT_WORDS))),
            "fetch": In(Strobe(TargetedWords(BEAT_WORDS))),
            "fetched": Out(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)),
        })

    def elaborate(self, platform):
        m = Module()
        serve, enable, targets, start = self._walk(m)
        self._memory(m, serve, enable, targets, start)
        return m

    def _walk(self, m):
        """Lines of the bus: whether one is served now, its words, their targets, its address."""
        tile = self.tile
        running, finishing, line, phase = self.running, self.finishing, self.line, self.phase
        last, empty = Signal(), Signal()
        row, address = Signal(TARGET_BITS), Signal(_ADDRESS_BITS)  # target of its line's phase 0
        narrow = Signal()
        m.d.comb += [narrow.eq((tile.period < self.bus) & (tile.count != 1)),
                     empty.eq((tile.words == 0) | (tile.count == 0))]
        entries, width = self._tables(m)
        next_line, next_phase, next_row, step = self._next(
            m, line, phase, row, narrow, entries, width, last)
        enable, targets = self._targets(m, line, phase, row, narrow, entries, width)

        serve = Signal()
        m.d.comb += serve.eq((self.go | running) & ~empty)
        with m.If(self.prepare):
            m.d.sync += [line.eq(0), phase.eq(0), row.eq(tile.base), address.eq(tile.address)]
        with m.If(serve):
            m.d.sync += [line.eq(next_line), phase.eq(next_phase), row.eq(next_row),
                         address.eq(address + step), running.eq(~last)]
        m.d.sync += finishing.eq(serve & last)
        m.d.comb += self.done.eq(finishing | (self.go & empty))
        return serve, enable, targets, address

    def _tables(self, m):
        """Tables of narrow tiles: in which line of the tile, and at which phase there, a word lies
        that is so many words after a line's first.

        They are kept from ``prepare`` on. Returns an entry for each number of words, the line below
        the phase, and the line's width.
        """
        bus, tile = self.bus, self.tile
        reach = 2 * bus - 1
        over, at = ([Signal(range(limit), name=f"{name}_{word}") for word in range(reach)]
                    for name, limit in (("over", 2 * bus), ("at", bus)))
        with m.If(self.prepare), m.Switch(tile.period[:ceil_log2(bus)]):
            for period in range(1, bus):
                with m.Case(period):
                    m.d.sync += [lines.eq(word // period) for word, lines in enumerate(over)]
                    m.d.sync += [place.eq(word % period) for word, place in enumerate(at)]
        return [Cat(lines, place) for lines, place in zip(over, at, strict=True)], len(over[0])

    def _next(self, m, line, phase, row, narrow, entries, width, last):
        """The next line of the bus: the line, phase and row of its lane 0, and the words from this
        one to it. Sets ``last`` if there is none."""
        bus, tile, shift = self.bus, self.tile, ceil_log2(self.bus)
        next_line, next_phase, next_row = Signal(_COUNT_BITS + 1), Signal(_COUNT_BITS + 1), Signal(
            TARGET_BITS)
        step = Signal(_COUNT_BITS + 1)
        advanced, wraps, gap, aligned = (Signal(_COUNT_BITS + 1, name="advanced"), Signal(),
                                       Signal(_COUNT_BITS + 1), Signal())
        inside = Signal(_COUNT_BITS + 1)
        skipped = Signal(_COUNT_BITS + 1)
        m.d.comb += [
            advanced.eq(phase + bus), wraps.eq((advanced >= tile.period) & (tile.count != 1)),
            inside.eq(advanced - Mux(wraps, tile.period, 0)),
            gap.eq(tile.period - inside),
            aligned.eq(gap[:shift] == 0),
            skipped.eq(Mux(inside >= tile.words, Cat(Const(0, shift), gap[shift:]), 0)),
        ]
        leaves = (inside >= tile.words) & aligned  # to phase 0 of the next line
        next_entry = Signal(len(entries[0]))  # of the word that is `bus` after lane 0
        m.d.comb += next_entry.eq(Array(entries[bus:])[phase[:shift]])
        ends = advanced >= tile.words  # the line of the tile does, within this line of the bus
        with m.If(tile.restart):
            m.d.comb += [next_phase.eq(Mux(ends, 0, advanced)), next_line.eq(line + ends),
                         next_row.eq(row + Mux(ends, tile.pitch, 0)),
                         step.eq(Mux(ends, tile.period - phase, bus))]
        with m.Elif(narrow):
            m.d.comb += [next_phase.eq(next_entry[width:]), next_line.eq(line + next_entry[:width]),
                         next_row.eq(row + self._times(tile.pitch, next_entry[:width])),
                         step.eq(bus)]
        with m.Else():
            m.d.comb += [
                next_phase.eq(Mux(leaves, 0, inside + skipped)),
                next_line.eq(line + wraps + leaves),
                next_row.eq(row + Mux(wraps, tile.pitch, 0) + Mux(leaves, tile.pitch, 0)),
                step.eq(bus + skipped),
            ]
        # Before a gap is skipped: that of the last line has no end.
        reached, there = Mux(narrow, next_line, line + wraps), Mux(narrow, next_phase, inside)
        m.d.comb += last.eq(Mux(tile.restart, ends & (line == tile.count - 1), (
            reached >= tile.count) | ((reached == tile.count - 1) & (there >= tile.words))))
        return next_line, next_phase, next_row, step

    def _targets(self, m, line, phase, row, narrow, entries, width):
        """Which lanes of the line that is served have a word of the tile, and their targets."""
        bus, tile, shift = self.bus, self.tile, ceil_log2(self.bus)
        enable, targets = [], []
        for lane in range(bus):
            place, crossed = Signal(_COUNT_BITS + 1, name=f"place_{lane}"), Signal(
                range(2 * bus), name=f"crossed_{lane}")
            target = Signal(TARGET_BITS, name=f"target_{lane}")
            here = phase + lane
            crosses = (here >= tile.period) & (tile.count != 1)
            with m.If(tile.restart):
                m.d.comb += [place.eq(here), target.eq(row + here)]
            with m.Elif(narrow):
                look = Signal(len(entries[0]), name=f"look_{lane}")
                m.d.comb += [look.eq(Array(entries[lane:lane + bus])[phase[:shift]]),
                             place.eq(look[width:]), crossed.eq(look[:width]),
                             target.eq(row + self._times(tile.pitch, crossed) + place)]
            with m.Else():
                m.d.comb += [place.eq(here - Mux(crosses, tile.period, 0)), crossed.eq(crosses),
                             target.eq(row + Mux(crosses, tile.pitch, 0) + place)]
            enable.append((place < tile.words) & (line + crossed < tile.count))
            targets.append(target)
        return Cat(enable), targets

    def _times(self, value, factor):
        return (value * factor)[:TARGET_BITS]

    def _memory(self, m, serve, enable, targets, start):
        """A bank for each word of the bus."""
        bus, tile, shift = self.bus, self.tile, ceil_log2(self.bus)
        reads, writes = serve & ~tile.write, serve & tile.write
        asked = Signal(TargetedWords(bus))
        m.d.comb += [asked.enable.eq(enable),
                     *(field.eq(target) for field, target in
                       zip(asked.targets, targets, strict=True)),
                     self.ask.valid.eq(writes), self.ask.payload.eq(asked)]
        first, written = Signal(_ADDRESS_BITS), Signal()  # of the words one cycle ago
        kept = Signal(TargetedWords(bus))
        m.d.sync += [first.eq(start), written.eq(writes), self.deliver.valid.eq(reads),
                     kept.eq(asked)]

        top = ceil_log2(self.words)  # of an address
        fetched = Signal(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS))
        words_read = []
        lanes = [Signal(shift, name=f"bank_of_{word}") for word in range(BEAT_WORDS)]
        m.d.sync += [lane.eq(target[:shift]) for lane, target in
                     zip(lanes, self.fetch.payload.targets, strict=True)]
        back = Array(self.answer.words[lane] for lane in range(bus))
        allowed = Signal(bus)
        m.d.comb += allowed.eq(Mux(written, kept.enable & self.answer.enable, 0))
        for bank in range(bus):
            m.submodules[f"bank_{bank}"] = memory = Memory(
                shape=unsigned(WORD_BITS), depth=self.words // bus, init=[])
            write, read = memory.write_port(), memory.read_port()
            # the lane of the bus that this bank serves, and the row of its word
            now, then = (Signal(shift, name=f"{name}_{bank}") for name in ("now", "then"))
            m.d.comb += [now.eq(bank - start[:shift]), then.eq(bank - first[:shift]),
                         read.addr.eq((start + now)[shift:top]),
                         write.addr.eq((first + then)[shift:top]),
                         write.data.eq(back[then]), write.en.eq(allowed.bit_select(then, 1))]
            for word in range(BEAT_WORDS):
                target = self.fetch.payload.targets[word]
                with m.If(self.fetch.valid & self.fetch.payload.enable[word]
                          & (target[:shift] == bank)):
                    m.d.comb += read.addr.eq(target[shift:top])
                target = self.store.payload.targets[word]
                with m.If(self.store.valid & self.store.payload.enable[word]
                          & (target[:shift] == bank)):
                    m.d.comb += [write.addr.eq(target[shift:top]), write.en.eq(1),
                                 write.data.eq(self.store.payload.words[word])]
            words_read.append(read.data)
        banks = Array(words_read)
        m.d.comb += [
            self.deliver.payload.enable.eq(kept.enable),
            self.deliver.payload.targets.eq(kept.targets),
            *(word.eq(banks[(first + lane)[:shift]])
              for lane, word in enumerate(self.deliver.payload.words)),
            *(word.eq(banks[lane]) for word, lane in zip(fetched, lanes, strict=True)),
        ]
        m.d.sync += self.fetched.eq(fetched)
