"""Array of content-addressable memories for snoopy indexed transfers.

Ref: Sim-D, section 3.2.3.
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BEAT_WORDS, COUNT_BITS, WORD_BITS
from cyclebound.hdl.dram.layouts import StoreLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_integer

__all__ = ["LoadLayout", "LookupLayout", "ReadLayout", "SnoopCam", "SnoopLayout"]

_COLUMNS = 8  # a lane's number is decoded in two steps


class LoadLayout(data.StructLayout):
    """New content of a lane."""

    def __init__(self, *, lanes, index_width):
        super().__init__({"lane": ceil_log2(lanes), "index": index_width, "data": WORD_BITS,
                          "armed": 1})


class LookupLayout(data.StructLayout):
    """The words of a beat that are asked for; ``index`` is that of word 0, enabled or not."""

    def __init__(self, *, index_width):
        super().__init__({"enable": BEAT_WORDS, "index": index_width})


class SnoopLayout(data.StructLayout):
    """The words of a beat that pass by; ``index`` is that of word 0, enabled or not."""

    def __init__(self, *, index_width):
        super().__init__({"enable": BEAT_WORDS, "index": index_width,
                          "words": data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)})


class ReadLayout(data.Struct):
    """A lane's data, and whether it has captured a word since it was loaded."""

    data: WORD_BITS
    hit: 1


class SnoopCam(wiring.Component):
    """Lanes that take from passing beats the word they wait for, or give the word they hold.

    A lane has an index, data, and is armed or not. Word *k* of a beat has the index
    ``index + k``, modulo ``2 ** index_width``: the first beat of a buffer may begin before it, with
    those words disabled. All armed lanes with that index match it.

    Latency: operations take effect in the order of their cycles: a word that passes in one cycle
    is in the answer to a question in the next. Answers to ``fetch`` and ``read`` follow
    ``latency`` cycles after the question, so that a word is read out ``latency + 1`` cycles after
    it has passed, or later. Throughput: one operation per cycle.

    The first cycle compares; the other ``latency - 1`` share the levels of a binary tree that
    finds the lowest matching lane of each word. ``read`` goes through the same tree.

    Parameters
    ----------
    lanes : int
        Number of lanes, at least 2.
    index_width : int
        Bits of an index, at least 3.
    latency : int
        Cycles from a question to its answer, at least 2.

    Members
    -------
    load : In(Strobe(LoadLayout))
        New content of one lane. Its hit is forgotten.
    clear : In(1)
        Disarms all lanes, except the one being loaded.
    snoop : In(Strobe(SnoopLayout))
        A beat of a read: every lane that matches an enabled word captures it.
    fetch : In(Strobe(LookupLayout))
        A beat of a write is asked for.
    store : Out(StoreLayout)
        The answer: for each enabled word that some lane matches, the data of the lowest.
        ``enable`` is 0 where nothing was asked.
    read : In(Strobe(lane))
        A lane is asked for.
    answer : Out(Strobe(ReadLayout))
        The answer.

    At most one of ``load``, ``snoop``, ``fetch`` and ``read`` may be valid in a cycle; ``clear``
    may join any.

    Attributes
    ----------
    index, armed, data, hit : list of Signal
        The lanes' state.

    Raises
    ------
    TypeError, ValueError
        For a parameter that is no integer, or too small.
    """

    def __init__(self, *, lanes=1024, index_width=COUNT_BITS, latency=2):
        check_integer("lanes", lanes, 2)
        check_integer("index width", index_width, 3)
        check_integer("latency", latency, 2)
        self.lanes, self.index_width, self.latency = lanes, index_width, latency
        super().__init__({
            "load": In(Strobe(LoadLayout(lanes=lanes, index_width=index_width))),
            "clear": In(1),
            "snoop": In(Strobe(SnoopLayout(index_width=index_width))),
            "fetch": In(Strobe(LookupLayout(index_width=index_width))),
            "store": Out(data.Layout.cast(StoreLayout)),
            "read": In(Strobe(unsigned(ceil_log2(lanes)))),
            "answer": Out(Strobe(ReadLayout)),
        })
        # the state; a proof has to speak of it
        self.index = [Signal(index_width, name=f"index_{n}") for n in range(lanes)]
        self.armed = [Signal(name=f"armed_{n}") for n in range(lanes)]
        self.data = [Signal(WORD_BITS, name=f"data_{n}", reset_less=True) for n in range(lanes)]
        self.hit = [Signal(name=f"hit_{n}") for n in range(lanes)]
        self.words = Signal(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS))  # of the last beat
        self.taking, self.passed = Signal(), Signal()  # some lane may take one; it was snooped
        self.take = [Signal(name=f"take_{n}") for n in range(lanes)]
        self.word = [Signal(range(BEAT_WORDS), name=f"word_{n}") for n in range(lanes)]
        self.chosen = [Signal(BEAT_WORDS, name=f"chosen_{n}") for n in range(lanes)]
        self.fetched = Signal(latency)  # bit n: a fetch n + 1 cycles ago
        self.asked = Signal(latency)    # the same of `read`

    def elaborate(self, platform):
        m = Module()
        load, snoop, fetch, read = self.load, self.snoop, self.fetch, self.read

        # One comparator a lane serves both directions. A beat's words lie in one block of four
        # indexes or in two; which one a lane has to compare with, its own low bits say.
        index, enable = Signal(self.index_width), Signal(BEAT_WORDS)
        high, follows = index[2:], Signal(self.index_width - 2)
        m.d.comb += [
            index.eq(Mux(snoop.valid, snoop.payload.index, fetch.payload.index)),
            enable.eq(Mux(snoop.valid, snoop.payload.enable, 0)
                      | Mux(fetch.valid, fetch.payload.enable, 0)),
            follows.eq(high + 1),
        ]
        loaded = self._decode(m, "load", load.payload.lane, load.valid)
        wanted = self._decode(m, "read", read.payload, read.valid)
        busy, takes = Signal(), Signal()
        m.d.comb += [takes.eq(load.valid | snoop.valid), busy.eq(takes | fetch.valid | read.valid)]

        # A load goes the way of a beat whose word 0 is for that lane.
        m.d.sync += [self.taking.eq(takes), self.passed.eq(snoop.valid)]
        with m.If(takes):
            m.d.sync += self.words.eq(snoop.payload.words)
            with m.If(load.valid):
                m.d.sync += self.words[0].eq(load.payload.data)
        with m.If(self.clear):
            m.d.sync += [armed.eq(0) for armed in self.armed]
        words = Array(self.words[word] for word in range(BEAT_WORDS))
        for lane in range(self.lanes):
            own = self.index[lane]
            word, same, matched = (Signal(shape, name=f"{name}_at_{lane}") for shape, name in
                                   ((range(BEAT_WORDS), "word"), (1, "same"), (1, "matched")))
            m.d.comb += [
                word.eq(own[:2] - index[:2]),
                same.eq(own[2:] == Mux(own[:2] < index[:2], follows, high)),
                matched.eq(self.armed[lane] & same & enable.bit_select(word, 1)),
            ]
            with m.If(busy):
                m.d.sync += [
                    self.take[lane].eq(matched | loaded(lane)),
                    self.word[lane].eq(Mux(load.valid, 0, word)),
                    self.chosen[lane].eq(Mux(matched, 1 << word, wanted(lane))),
                ]
            with m.If(self.taking & self.take[lane]):
                m.d.sync += [self.data[lane].eq(words[self.word[lane]]),
                             self.hit[lane].eq(self.passed)]
            with m.If(loaded(lane)):
                m.d.sync += [own.eq(load.payload.index), self.armed[lane].eq(load.payload.armed)]

        m.d.sync += [self.fetched.eq(Cat(fetch.valid, self.fetched)),
                     self.asked.eq(Cat(read.valid, self.asked))]
        self._lowest(m)
        return m

    def _decode(self, m, name, number, valid):
        """A function that says whether ``number`` is that of a lane."""
        rows = Signal(-(-self.lanes // _COLUMNS), name=f"{name}_row")
        columns = Signal(_COLUMNS, name=f"{name}_column")
        low = ceil_log2(_COLUMNS)
        m.d.comb += columns.eq(1 << number[:low])
        m.d.comb += rows.eq(Cat((number[low:] == row) & valid for row in range(len(rows))))
        return lambda lane: rows[lane // _COLUMNS] & columns[lane % _COLUMNS]

    def _lowest(self, m):
        """The tree: lane 0 at its left; a node is whether there is a lane, and its content.

        A lane that is read out is the only one chosen, for word 0, with its hit as a 33rd bit.
        """
        levels, stages = ceil_log2(self.lanes), self.latency - 1
        trees = [[(self.chosen[lane][word],
                   Cat(self.data[lane], self.hit[lane]) if word == 0 else self.data[lane])
                  for lane in range(self.lanes)] for word in range(BEAT_WORDS)]
        for stage in range(stages):
            for level in range(levels * stage // stages, levels * (stage + 1) // stages):
                trees = [self._level(m, tree, f"{level}_{word}")
                         for word, tree in enumerate(trees)]
            if stage < stages - 1:
                trees = [self._register(m, tree, f"{stage}_{word}",
                                        self.fetched[stage] | self.asked[stage])
                         for word, tree in enumerate(trees)]
        m.d.sync += [self.store.enable.eq(0), self.answer.valid.eq(self.asked[-2])]
        roots = [tree[0] for tree in trees]
        with m.If(self.fetched[-2]):
            m.d.sync += [self.store.enable.eq(Cat(there for there, _ in roots)),
                         *(self.store.words[word].eq(content)
                           for word, (_, content) in enumerate(roots))]
        with m.If(self.asked[-2]):
            m.d.sync += [self.answer.payload.data.eq(roots[0][1][:WORD_BITS]),
                         self.answer.payload.hit.eq(roots[0][1][-1])]

    def _level(self, m, tree, name):
        """Half as many nodes: the left one of each pair, if it has a lane."""
        nodes = []
        for number in range(0, len(tree), 2):
            pair = tree[number:number + 2]
            if len(pair) == 1:
                nodes += pair
                continue
            (there, content), (also, other) = pair
            some = Signal(name=f"some_{name}_{number}")
            chosen = Signal(len(content), name=f"chosen_{name}_{number}")
            m.d.comb += [some.eq(there | also), chosen.eq(Mux(there, content, other))]
            nodes.append((some, chosen))
        return nodes

    def _register(self, m, tree, name, en):
        """These nodes, a cycle later."""
        nodes = []
        for number, (there, content) in enumerate(tree):
            kept = Signal(1 + len(content), name=f"kept_{name}_{number}", reset_less=True)
            with m.If(en):
                m.d.sync += kept.eq(Cat(there, content))
            nodes.append((kept[0], kept[1:]))
        return nodes
