"""One bank of a cache: its tags, lines and miss registers.

Part of the cache, whose model, testbench and tests cover it.
"""

import functools
import operator

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.dataflow.cache_policies import LRU, WRITE_BACK
from cyclebound.hdl.dataflow.layouts import BankRequestLayout

__all__ = ["CacheBank"]


def _lowest(bits):
    """One-hot: the lowest bit that is set."""
    return bits & -bits


def _any(values):
    """The one of these that is not 0."""
    return functools.reduce(operator.or_, values, Const(0, 1))


def _number(one_hot, count):
    """The number of the bit that is set."""
    return _any(Mux(one_hot[number], number, 0) for number in range(count))


class CacheBank(wiring.Component):
    """Makes an access in a cycle, of a line that is there; of one that is not, it takes note.

    An access is of a word, or of a whole line.

    In each cycle, the first of these that it can: write a line that has come; make an access that
    has waited for it; give up a line, while ``flush`` is set; take the access on offer. Of that, it
    is known in the same cycle whether it can be taken.

    Latency: what is read is there in the cycle after its access is made.

    Parameters
    ----------
    shape : golden.dataflow.cache_policies.CacheShape
        Sizes and policies of the cache.
    ports, tag_width, width : int
        Of the cache.
    whole : bool
        Accesses are of lines.

    Members
    -------
    valid, port, access : In
        An access on offer, of this port.
    allowed : In(1)
        It may be taken in this cycle.
    accepts : Out(1)
        It is.
    answers : Out(1)
        It is made at once.
    waits : Out(1)
        An access that has waited can be made.
    waiting : Out(signature)
        Its ``port`` and ``tag``, and whether it is a ``write``.
    granted : In(1)
        It is made in this cycle.
    found : Out(width, or a line)
        The word, or the line, of the access that was made in the cycle before.
    fill : In(signature)
        A line: ``valid``, ``register``: whose it is, ``data``.
    ask : Out(signature)
        For the memory below: ``valid``, ``register``, ``line`` without the bank's bits, ``write``,
        ``mask`` and ``data``; ``taken`` by it.
    flush : In(1)
        Lines are written back and given up.
    flushed : Out(1)
        All have been, while ``flush`` is set.
    """

    def __init__(self, *, shape, ports, tag_width, width, whole=False):
        self.shape, self.count, self.whole = shape, ports, whole
        self.request = BankRequestLayout(shape=shape, tag_width=tag_width, width=width, whole=whole)
        self._local = self.request["line"].width
        self._words = data.ArrayLayout(unsigned(width), shape.line)
        self._target = data.StructLayout({
            "port": range(ports), **{name: field.shape for name, field in self.request
                                     if name != "line"}})
        register = range(shape.misses)
        super().__init__({
            "valid": In(1), "port": In(range(ports)),
            "access": In(self.request),
            "allowed": In(1), "accepts": Out(1), "answers": Out(1),
            "waits": Out(1),
            "waiting": Out(wiring.Signature({"port": Out(range(ports)), "tag": Out(tag_width),
                                             "write": Out(1)})),
            "granted": In(1), "found": Out(self._words if whole else width),
            "fill": In(wiring.Signature({"valid": Out(1), "register": Out(register),
                                         "data": Out(self._words)})),
            "ask": Out(wiring.Signature({
                "valid": Out(1), "register": Out(register), "line": Out(self._local),
                "write": Out(1), "mask": Out(shape.line), "data": Out(self._words),
                "taken": In(1)})),
            "flush": In(1), "flushed": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        shape, ask, access = self.shape, self.ask, self.access
        rows, ways, sets, misses = shape.rows, shape.ways, shape.sets, shape.misses
        index, back = exact_log2(sets), shape.policy == WRITE_BACK

        m.submodules.lines = lines = Memory(shape=self._words, depth=rows, init=[])
        store, load = lines.write_port(granularity=1), lines.read_port()
        # the words of each that are written: others may have written the rest of it below
        m.submodules.written_words = written_words = Memory(shape=unsigned(shape.line), depth=rows,
                                                            init=[])
        mark, marks = written_words.write_port(granularity=1), written_words.read_port()

        # State: the line in each row (a way of a set), the ways of each set in the order in which
        # they are given up, and what waits for lines.
        there, dirty = Signal(rows), Signal(rows)
        held = [Signal(self._local, name=f"held_{row}") for row in range(rows)]
        orders = [[Signal(range(ways), name=f"order_{s}_{n}", init=n) for n in range(ways)]
                  for s in range(sets)]
        busy, filled = Signal(misses), Signal(misses)
        number = [Signal(self._local, name=f"number_{k}") for k in range(misses)]
        place = [Signal(range(ways), name=f"place_{k}") for k in range(misses)]
        noted, made = ([Signal(range(shape.targets + 1), name=f"{name}_{k}")
                        for k in range(misses)] for name in ("noted", "made"))
        stride = (shape.targets - 1).bit_length()
        m.submodules.targets = targets = Memory(
            shape=self._target, depth=1 << shape.register_bits + stride, init=[])
        note, target = targets.write_port(), targets.read_port(domain="comb")

        # What is asked of the memory below: first a line, then to write another one.
        reads, writes, fresh = Signal(), Signal(), Signal()
        reader, wanted, written = (Signal.like(ask.register), Signal(self._local),
                                   Signal(self._local))
        mask, kept = Signal(shape.line), Signal(self._words)
        free = ~reads & ~writes
        m.d.comb += [
            ask.valid.eq(reads | (writes & ~fresh)), ask.register.eq(reader),
            ask.line.eq(Mux(reads, wanted, written)), ask.write.eq(~reads), ask.mask.eq(mask),
            ask.data.eq(kept),
        ]
        with m.If(ask.taken):
            m.d.sync += [reads.eq(0), writes.eq(reads & writes)]
        m.d.sync += fresh.eq(0)
        with m.If(fresh):  # the line to be written has been read
            m.d.sync += kept.eq(load.data)
        with m.If(fresh & writes):
            m.d.sync += mask.eq(marks.data)

        # Where the access on offer finds its line, and which way it would get.
        local = access.line
        group = local[:index]
        through = access.write if not back else Const(0)
        matches, hits, kept_ways = Signal(misses), Signal(ways), Signal(ways)
        own = [Signal(range(ways), name=f"own_{n}") for n in range(ways)]
        m.d.comb += [
            matches.eq(Cat(busy[k] & (number[k] == local) for k in range(misses))),
            hits.eq(Cat(Array(there[s * ways + way] & (held[s * ways + way] == local)
                              for s in range(sets))[group] for way in range(ways))),
            kept_ways.eq(Cat(Cat(busy[k] & (number[k][:index] == group) & (place[k] == way)
                                 for k in range(misses)).any() for way in range(ways))),
            *(way.eq(Array(order[n] for order in orders)[group]) for n, way in enumerate(own)),
        ]
        may_go = _lowest(Cat(~kept_ways.bit_select(way, 1) for way in own))
        # signals of their own: an expression is hardware anew wherever it is written
        match, idle = Signal(range(misses)), Signal(range(misses))
        hit, chosen = Signal(range(ways)), Signal(range(ways))
        m.d.comb += [match.eq(_number(matches, misses)),
                     idle.eq(_number(_lowest(~busy), misses)), hit.eq(_number(hits, ways)),
                     chosen.eq(_any(Mux(may_go[n], way, 0) for n, way in enumerate(own)))]
        pending = matches.any()
        room = Array(count != shape.targets for count in noted)[match]

        # What is done in this cycle.
        draining = filled.any()
        drained = Signal(range(misses))
        able = Mux(pending, room,
                   hits.any() | through | (free & ~busy.all() & ~kept_ways.all()))
        m.d.comb += [
            drained.eq(_number(_lowest(filled), misses)),
            self.waits.eq(draining & ~self.fill.valid),
            target.addr.eq(Cat((Array(made)[drained])[:stride], drained[:shape.register_bits])),
            self.waiting.port.eq(target.data.port), self.waiting.tag.eq(target.data.tag),
            self.waiting.write.eq(target.data.write),
            self.accepts.eq(self.valid & self.allowed & able & (~through | free)
                            & ~self.fill.valid & ~draining & ~self.flush),
            self.answers.eq(self.accepts & ~pending & (hits.any() | through)),
        ]
        allocates, gives_up = Signal(), Signal()  # the line that is in the row leaves
        m.d.comb += allocates.eq(self.accepts & ~pending & ~hits.any() & ~through)

        # The row, and the words of it that are written.
        row, offset = Signal(range(rows)), Signal(exact_log2(shape.line))
        walked = Signal(range(rows + 1))
        every = (1 << shape.line) - 1
        new_data = Signal.like(access.data)

        def words_of(made):  # that an access writes
            return made.mask if self.whole else 1 << made.place

        def spread(words):  # to a whole line
            return words if self.whole else Cat(words for _ in range(shape.line))

        def place_of(made):
            return 0 if self.whole else made.place

        m.d.comb += [load.addr.eq(row), load.en.eq(1), store.addr.eq(row),
                     marks.addr.eq(row), marks.en.eq(gives_up & dirty.bit_select(row, 1)),
                     mark.addr.eq(row), mark.en.eq(Mux(gives_up, every, store.en)),
                     mark.data.eq(Mux(self.fill.valid | gives_up, 0, every))]

        def at(line, way):
            return Cat(way[:exact_log2(ways)], line[:index])

        with m.If(self.fill.valid):
            m.d.comb += [
                row.eq(at(Array(number)[self.fill.register], Array(place)[self.fill.register])),
                store.en.eq(every), store.data.eq(self.fill.data)]
            m.d.sync += [filled.bit_select(self.fill.register, 1).eq(1),
                         there.bit_select(row, 1).eq(1), dirty.bit_select(row, 1).eq(0)]
        with m.Elif(draining):
            m.d.comb += [row.eq(at(Array(number)[drained], Array(place)[drained])),
                         offset.eq(place_of(target.data)), new_data.eq(target.data.data),
                         store.en.eq(Mux(self.granted & target.data.write,
                                         words_of(target.data), 0)),
                         store.data.as_value().eq(spread(new_data))]
            with m.If(self.granted):
                m.d.sync += Array(made)[drained].eq(Array(made)[drained] + 1)
                with m.If(Array(made)[drained] + 1 == Array(noted)[drained]):
                    m.d.sync += [busy.bit_select(drained, 1).eq(0),
                                 filled.bit_select(drained, 1).eq(0)]
                if back:
                    with m.If(store.en.any()):
                        m.d.sync += dirty.bit_select(row, 1).eq(1)
        with m.Elif(self.flush):
            m.d.comb += row.eq(walked)
            with m.If(free & ~busy.any() & (walked != rows)):
                m.d.comb += gives_up.eq(1)
                m.d.sync += [walked.eq(walked + 1), there.bit_select(row, 1).eq(0),
                             dirty.bit_select(row, 1).eq(0)]
                with m.If(dirty.bit_select(row, 1)):
                    m.d.sync += [writes.eq(1), fresh.eq(1), written.eq(Array(held)[row])]
        with m.Else():
            m.d.comb += [row.eq(at(local, Mux(allocates, chosen, hit))), gives_up.eq(allocates),
                         offset.eq(place_of(access)), new_data.eq(access.data),
                         store.en.eq(Mux(self.accepts & ~pending & hits.any() & access.write,
                                         words_of(access), 0)),
                         store.data.as_value().eq(spread(new_data))]
            if back:
                with m.If(store.en.any()):
                    m.d.sync += dirty.bit_select(row, 1).eq(1)
        with m.If(~self.flush):
            m.d.sync += walked.eq(0)

        # An access that is taken, and whose line is on its way or has to be asked for.
        m.d.comb += [
            note.data.port.eq(self.port),
            *(note.data[name].eq(access[name]) for name, _ in self.request if name != "line"),
            note.en.eq(self.accepts & ~self.answers),
            note.addr.eq(Mux(pending, Cat((Array(noted)[match])[:stride],
                                          Value.cast(match)[:shape.register_bits]),
                             Value.cast(idle)[:shape.register_bits] << stride)),
        ]
        with m.If(self.accepts & pending):
            m.d.sync += Array(noted)[match].eq(Array(noted)[match] + 1)
        with m.If(allocates):
            m.d.sync += [
                busy.bit_select(idle, 1).eq(1), Array(noted)[idle].eq(1), Array(made)[idle].eq(0),
                Array(number)[idle].eq(local), Array(place)[idle].eq(chosen),
                reads.eq(1), wanted.eq(local), reader.eq(idle),
                writes.eq(there.bit_select(row, 1) & dirty.bit_select(row, 1)), fresh.eq(1),
                written.eq(Array(held)[row]),
                there.bit_select(row, 1).eq(0), dirty.bit_select(row, 1).eq(0),
            ]
        # a condition each: an `Array` that is assigned to has as many cases for each of its rows
        for number_of_row, line in enumerate(held):
            with m.If(allocates & (row == number_of_row)):
                m.d.sync += line.eq(local)
        with m.If(self.accepts & through):
            m.d.sync += [writes.eq(1), written.eq(local),
                         mask.eq(words_of(access)), kept.as_value().eq(spread(access.data))]

        # Whose turn it is to be given up: a way that is used goes to the end, or one that is new.
        used, moves = Signal(range(ways)), Signal()
        after = [Signal(range(ways), name=f"after_{n}") for n in range(ways)]
        m.d.comb += [
            used.eq(Mux(allocates, chosen, Mux(pending, Array(place)[match], hit))),
            moves.eq(allocates if shape.replacement != LRU else (
                allocates | (self.accepts & (pending | hits.any())))),
            *(after[n].eq(Mux(Cat(way == used for way in own[:n + 1]).any(), own[n + 1], own[n]))
              for n in range(ways - 1)),
            after[-1].eq(used),
        ]
        for s, order in enumerate(orders):
            with m.If(moves & (group == s)):
                m.d.sync += [one.eq(other) for one, other in zip(order, after, strict=True)]

        m.d.comb += self.flushed.eq(self.flush & (walked == rows) & ~writes)
        if self.whole:
            m.d.comb += self.found.eq(load.data)
        else:
            select = Signal.like(offset)
            m.d.sync += select.eq(offset)
            m.d.comb += self.found.eq(Array(load.data[n] for n in range(shape.line))[select])
        return m
