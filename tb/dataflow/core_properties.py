"""Checkers of what has a fabric, or cores, above caches: lines below, and which threads run where.

`LinesCheck` knows the ports: it watches simulations. The proofs look at what is between the parts,
of which those above the cache may do anything: what is claimed of the cache ends where they break
the rules of its ports.

Ref: SGMF, sections 4.6 and 5.
"""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, Signal, Value

from cyclebound.golden.dataflow.bitstream import UNIT_WORDS, WORD
from cyclebound.golden.dataflow.grid import PORTS, Kind
from cyclebound.tb.assumed import owes
from cyclebound.tb.dataflow.fabric_properties import StartedCheck
from cyclebound.tb.watcher import Watcher

__all__ = ["CoreLinesProof", "LinesCheck", "ProcessorLinesProof", "ThreadsProof"]


class LinesCheck(StartedCheck):
    """`StartedCheck`; and what is done has no line on offer or under way; no two reads under way
    have the same ``id``.

    Assumes that the memories below answer reads that are under way, each once.

    Parameters
    ----------
    target : Core or Processor
        What is watched, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        written = Signal()
        memories = self.lines if isinstance(self.lines, list) else [self.lines]
        for number, lines in enumerate(memories):
            request, response = lines.request, lines.response
            takes = request.valid & request.ready
            begins = Mux(takes & ~request.payload.write, 1 << request.payload.id, 0)
            over = Mux(response.valid, 1 << response.payload.id, 0)
            under_way = Signal(1 << len(request.payload.id), name=f"under_way_{number}")
            with m.If(takes & request.payload.write):
                m.d.sync += written.eq(1)
            m.d.sync += [
                under_way.eq((under_way | begins) & ~over),
                owes((over & ~(under_way | begins)) == 0, "a line that was not asked for"),
                Assert(self.broken | ((begins & under_way) == 0),
                       f"line {number}: an id is used again before its line has come"),
                Assert(self.broken | ~self.done | ~(request.valid | under_way.any()),
                       f"line {number}: done, and a line is on offer or under way"),
            ]
        m.d.sync += Cover(self.done & written, "done, and a line was written")
        return m


class _LinesProof(LinesCheck):
    """`LinesCheck`, where parts above the cache do whatever they like: each of their accesses is
    answered at most once, at the port that it came from, and ``done`` comes only while they are
    done.

    Parameters
    ----------
    target : Core or Processor
        What is proved.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def _above(self):
        """Whether what is above the cache is done; of each of its ports the streams, and whether
        the request on offer has an answer."""
        raise NotImplementedError

    def elaborate(self, platform):
        m = super().elaborate(platform)
        ends, ports = self._above()
        flushing = Signal()
        m.d.comb += self.broken.eq(Cat(self._breaks(m, ends, flushing, ports)).any())
        m.d.sync += [flushing.eq(ends & ~self.done),
                     Assert(~self.done | ends, "done before what is above the cache")]
        return m

    def _breaks(self, m, ends, flushing, ports):
        """Which rules of its ports the cache's surroundings break, or have broken."""
        kept = Signal()
        breaks = [kept, flushing & ~ends, ends & ~self.started]
        for number, (request, response, tag, answers, answered) in enumerate(ports):
            offer = Value.cast(request.payload)
            waits, before = Signal(name=f"waits_{number}"), Signal.like(offer,
                                                                        name=f"offer_{number}")
            takes = request.valid & request.ready
            begins = Mux(takes & answered, 1 << tag, 0)
            over = Mux(response.valid, 1 << answers, 0)
            under_way = Signal(1 << len(tag), name=f"asked_{number}")
            m.d.sync += [
                waits.eq(request.valid & ~request.ready), before.eq(offer),
                under_way.eq((under_way | begins) & ~over),
                Assert(self.broken | ((over & ~under_way) == 0),
                       f"port {number}: an answer without an access"),
                Cover(response.valid & ~self.broken, f"port {number}: an access is answered"),
            ]
            breaks += [waits & ~(request.valid & (offer == before)),
                       request.valid & answered & under_way.bit_select(tag, 1)]
        m.d.sync += kept.eq(self.broken)
        return breaks


class CoreLinesProof(_LinesProof):
    """Of a `Core`, whose fabric may do anything."""

    def _above(self):
        fabric = self._target.fabric
        return fabric.done, [(port.request, port.response, port.request.payload.tag,
                              port.response.payload.tag, 1) for port in fabric.memory]


class ProcessorLinesProof(_LinesProof):
    """Of a `Processor`, whose cores may do anything."""

    def _above(self):
        cores = self._target.cores
        return Cat(core.done for core in cores).all(), [
            (core.lines.request, core.lines.response, core.lines.request.payload.id,
             core.lines.response.payload.id, ~core.lines.request.payload.write) for core in cores]


class ThreadsProof(Watcher):
    """Each thread of a `Processor` runs on one core: a core's sources and sinks count the threads
    that are left after the cores before it, ``share`` at most, and its numbers go on where theirs
    end. All other words of a configuration come to each core as they are.

    Assumes that the threads and the share stay while words come.

    Parameters
    ----------
    target : Processor
        What is proved.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._cores, self._dispatcher = target.cores, target.dispatcher

    def elaborate(self, platform):
        m = Module()
        grid, bits = self._cores[0].fabric.grid, len(self.share)
        word, comes = self.configuration.payload, self.configuration.valid
        last = UNIT_WORDS * len(grid.units) + len(grid.switches) - 1
        place, numbered = Signal(range(last + 1), init=last), Signal()  # as the dispatcher counts
        with m.If(self.start):
            m.d.sync += place.eq(last)
        with m.Elif(comes):
            m.d.sync += place.eq(Mux(place == 0, last, place - 1))
        at = {kind: [place == UNIT_WORDS * number + 1 for number, unit in enumerate(grid.units)
                     if grid.kind(unit) == kind] for kind in (Kind.SOURCE, Kind.SINK)}
        low, sink = (Cat(at[kind]).any() for kind in (Kind.SOURCE, Kind.SINK))
        high = Cat(place == UNIT_WORDS * number + 2 for number, unit in enumerate(grid.units)
                   if grid.kind(unit) == Kind.SOURCE).any()
        upper = bits  # of a source's value, in its third word, below the bit that asks for numbers
        with m.If(comes & high):
            m.d.sync += numbered.eq(word[upper])
        counts = Cat(self.threads, self.share)
        told = Signal.like(counts)
        m.d.sync += [
            told.eq(counts),
            Assume((place == last) | (counts == told), "threads or share change in mid-way"),
            Assert(place == self._dispatcher.left, "invariant: the register"),
            Assert(numbered == self._dispatcher.numbered, "invariant: numbers are asked for"),
        ]
        left, before = self.threads, Const(0, WORD)
        for number, core in enumerate(self._cores):
            its, where = core.configuration.payload, f"core {number}"
            count = Signal(bits, name=f"count_{number}")
            m.d.comb += count.eq(Mux(left < self.share, left, self.share))
            kept = Signal(upper, name=f"upper_{number}")
            with m.If(comes & high):
                m.d.sync += kept.eq(its[:upper])
            value = Cat(its[bits:], kept)
            changed = high & word[upper] | low | sink
            m.d.sync += [
                Assert(core.configuration.valid == comes, f"{where}: a word comes, or does not"),
                Assert(~comes | changed | (its == word), f"{where}: a word is changed"),
                Assert(~(comes & low) | (its[:bits] == count), f"{where}: a source's threads"),
                Assert(~(comes & sink) | (its[:PORTS + bits] == Cat(word[:PORTS], count)),
                       f"{where}: a sink's threads"),
                Assert(~(comes & low & numbered & (count != 0)) | (value == before),
                       f"{where}: a source's first number"),
                Assert(~low | ~numbered | (kept == (self.share * number)[WORD - bits:WORD]),
                       "invariant: the upper bits of a first number"),
                Cover(comes & low & (count != 0) & (count != self.share), f"{where}: the rest"),
            ]
            rest, after = Signal(WORD, name=f"rest_{number}"), Signal(WORD, name=f"after_{number}")
            m.d.comb += [rest.eq(left - count), after.eq(before + count)]
            left, before = rest, after
        return m
