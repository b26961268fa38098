"""Bound checkers of the output-stationary array: they read its ports and drive none.

`OutputStationaryCheck` knows the protocol and the timing, at any size. It dates everything by
counters (operands owed to the last PE, flush steps left, rows left), where the array has flags that
travel with the operands. `OutputStationaryProductCheck` computes the products: for small arrays.
`OutputStationaryProof` holds these two and looks inside the array as well; it is for induction, and
so is `OutputStationaryBoundProof`, of how long whole products take.

Ref: thesis on AI accelerators, chapter 5.2 (Eq. 5.2 to 5.6, Table 5.1).
"""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.tb.assumed import owes, stays
from cyclebound.tb.probe_state import counted
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["OutputStationaryBoundProof", "OutputStationaryCheck", "OutputStationaryProductCheck",
           "OutputStationaryProof"]


class _ArrayWatcher(Watcher):
    """Sees the array's ports, and knows its shape."""

    def __init__(self, target):
        self.rows = target.rows
        self.columns = target.columns
        self.operand_width = target.operand_width
        self.accumulator_width = target.accumulator_width
        super().__init__(target)


class OutputStationaryCheck(_ArrayWatcher):
    """Protocol and timing of an `OutputStationaryArray`.

    Assumes that operands on offer stay until they are taken. Holds in any other traffic, from
    reset on.

    Parameters
    ----------
    target : OutputStationaryArray
        The array, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    in_fold : Signal
        A fold has begun, and its last operand is not accepted.
    flush : Signal
        Steps until the next fold may begin.
    wave : Signal
        Bit *d*: PEs with *i* + *j* = *d* hold operands.
    owed : Signal
        Operands accepted that the last PE has not executed.
    ending : Signal
        A fold's last MAC is done, and its product is not added.
    due : Signal
        It is added, and the sums are not captured.
    rows_left : Signal
        Rows of captured folds that have not left.
    refused : Signal
        The sink refused a row in the cycle before.
    late : Signal
        The sink refused a row since there was last none.
    excess : Signal
        Of this fold: cycles since its first MAC that no neighbour stalled, less operands accepted.
    """

    def __init__(self, target):
        super().__init__(target)
        diagonals = self.rows + self.columns - 1
        self.in_fold = Signal()
        self.flush = Signal(range(diagonals))
        self.wave = Signal(diagonals)
        self.owed = Signal(range(diagonals + 1))
        self.ending = Signal()
        self.due = Signal()
        self.rows_left = Signal(range(self.rows + 2))
        self.refused = Signal()
        self.late = Signal()
        self.excess = Signal(range(-1, max(diagonals, 1)))

    def elaborate(self, platform):
        m = Module()
        taken, sent, blocked, moves, final = (Signal(name=name) for name in (
            "taken", "sent", "blocked", "moves", "final"))
        self._freezes(m, taken, sent, blocked, moves, final)
        self._operands(m, taken, blocked, moves)
        self._wavefront(m, taken, moves, final)
        self._results(m, sent, blocked, final)
        for name, claim in (("left", stays), ("top", stays), ("results", Assert)):
            claim_kept(m, name, getattr(self, name), claim)
        return m

    def _freezes(self, m, taken, sent, blocked, moves, final):
        """Two reasons to freeze: the sink, and missing operands in the middle of a fold."""
        offered = self.left.valid & self.top.valid
        starved = Signal()
        m.d.comb += [
            taken.eq(self.left.valid & self.left.ready),
            sent.eq(self.results.valid & self.results.ready),
            blocked.eq(self.due & (self.rows_left > 1)),
            starved.eq(self.in_fold & ~offered),
            moves.eq(~blocked & ~starved),
            final.eq(self.active[-1] & (self.owed == 1) & ~self.in_fold),
        ]

    def _operands(self, m, taken, blocked, moves):
        """Operands: both or none; then flush steps without any [Eq. 5.3, 5.4]."""
        flush_steps = self.rows + self.columns - 2
        offered = self.left.valid & self.top.valid
        with m.If(taken):
            m.d.sync += self.in_fold.eq(~self.left.payload.last)
        with m.If(taken & self.left.payload.last):
            m.d.sync += self.flush.eq(flush_steps)
        with m.Elif(moves & (self.flush != 0)):
            m.d.sync += self.flush.eq(self.flush - 1)
        m.d.sync += [
            Assert(taken == (self.top.valid & self.top.ready), "an operand was taken alone"),
            Assert(~(taken & (self.flush != 0)), "operands taken before the flush was over"),
            Assert(~(taken & blocked), "operands taken while results block the array"),
            Assert(taken | ~(offered & (self.flush == 0) & ~blocked),
                   "operands refused without a reason"),
        ]

    def _wavefront(self, m, taken, moves, final):
        """The wavefront moves one diagonal per step [Table 5.1]; a fold takes Eq. 5.5."""
        flush_steps = self.rows + self.columns - 2
        with m.If(moves):
            m.d.sync += self.wave.eq(Cat(taken, self.wave))
        m.d.sync += self.owed.eq(self.owed + taken - self.active[-1])
        front = Mux(moves, self.wave, 0)
        corners = Cat(self.active[min(d, self.columns - 1)
                                  + max(d - self.columns + 1, 0) * self.columns]
                      for d in range(flush_steps + 1))
        m.d.sync += [
            Assert(self.active == Cat(front[i:i + self.columns] for i in range(self.rows)),
                   "active PEs are not the wavefront"),
            Assert(sum(corners) <= self.owed, "more diagonals active than operands in the array"),
        ]

        # Eq. 5.5, in cycles: k + r + c - 2 from first to last MAC, less those a neighbour stalled.
        counted = self.wave.any() & moves
        m.d.sync += self.excess.eq(Mux(final, 0, self.excess + counted) - taken)
        with m.If(final):
            m.d.sync += Assert(self.excess + 1 == flush_steps, "fold does not take Eq. 5.5")

    def _results(self, m, sent, blocked, final):
        """Results: ``rows`` of them for each fold, from the cycle after its capture, which is two
        cycles after the last MAC."""
        with m.If(~blocked):
            m.d.sync += [self.ending.eq(final), self.due.eq(self.ending)]
        with m.If(self.due & ~blocked):
            m.d.sync += self.rows_left.eq(self.rows + self.rows_left - sent)
        with m.Elif(sent):
            m.d.sync += self.rows_left.eq(self.rows_left - 1)
        m.d.sync += self.refused.eq(self.results.valid & ~self.results.ready)
        with m.If(self.results.valid & ~self.results.ready):
            m.d.sync += self.late.eq(1)
        with m.Elif(self.rows_left == 0):
            m.d.sync += self.late.eq(0)
        m.d.sync += [
            Assert(~self.results.valid | (self.rows_left != 0), "result row of no finished fold"),
            Assert(self.results.valid | (self.rows_left == 0), "result row is missing"),
            Assert(~blocked | self.late | ~self.results.ready,
                   "array blocked by a sink that was always ready"),
        ]


class OutputStationaryProductCheck(_ArrayWatcher):
    """Results of an `OutputStationaryArray` are the products of its operands.

    It multiplies and adds each operand in the cycle in which it is accepted, with one multiplier
    per PE, and keeps up to four matrices: the last row of one leaving, the next one, one
    finished, one in the wavefront. Only a single PE, whose folds may take one cycle each, has two
    finished.

    Parameters
    ----------
    target : OutputStationaryArray
        The array, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    sums : list of list of Signal
        The products so far of the fold whose operands are being accepted.
    queue : list of list of list of Signal
        Matrices complete, oldest first.
    count : Signal
        How many.
    row : Signal
        Rows of the oldest that have left.
    in_fold : Signal
        ``sums`` is in use.
    """

    def __init__(self, target):
        super().__init__(target)
        total = signed(self.accumulator_width)

        def matrix(name):
            return [[Signal(total, name=f"{name}_{i}_{j}") for j in range(self.columns)]
                    for i in range(self.rows)]

        self.sums = matrix("sum")
        self.queue = [matrix(f"queue_{age}") for age in range(
            5 if self.rows == self.columns == 1 else 4)]
        self.count = Signal(range(len(self.queue) + 1))
        self.row = Signal(range(self.rows))
        self.in_fold = Signal()

    def elaborate(self, platform):
        m = Module()

        taken, push, sent, pop = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            taken.eq(self.left.valid & self.left.ready),
            push.eq(taken & self.left.payload.last),
            sent.eq(self.results.valid & self.results.ready),
            pop.eq(sent & (self.row == self.rows - 1)),
        ]
        m.d.sync += self.count.eq(self.count + push - pop)
        with m.If(taken):
            m.d.sync += self.in_fold.eq(~self.left.payload.last)
        with m.If(sent):
            m.d.sync += self.row.eq(Mux(pop, 0, self.row + 1))
        m.d.sync += [
            Assert(~push | pop | (self.count != len(self.queue)), "too many folds in the array"),
            Assert(~self.results.valid | (self.count != 0), "result row of no fold"),
        ]

        place = Signal.like(self.count)
        m.d.comb += place.eq(self.count - pop)
        for i in range(self.rows):
            for j in range(self.columns):
                added = Signal(signed(self.accumulator_width), name=f"added_{i}_{j}")
                m.d.comb += added.eq(Mux(self.in_fold, self.sums[i][j], 0)
                                     + self.left.payload["values"][i] * self.top.payload[j])
                with m.If(taken):
                    m.d.sync += self.sums[i][j].eq(added)
                entries = [matrix[i][j] for matrix in self.queue]
                for age, (entry, younger) in enumerate(zip(entries, [*entries[1:], 0],
                                                           strict=True)):
                    with m.If(push & (place == age)):
                        m.d.sync += entry.eq(added)
                    with m.Elif(pop):
                        m.d.sync += entry.eq(younger)

                with m.If(self.results.valid & (self.row == i)):
                    m.d.sync += Assert(self.results.payload[j] == self.queue[0][i][j],
                                       f"result ({i}, {j}) is not the product")

        return m


class OutputStationaryProof(_ArrayWatcher):
    """Both checks, and what holds inside an `OutputStationaryArray`, so that induction closes.

    The ports go to the checks. The rest reads attributes of the target.

    Parameters
    ----------
    target : OutputStationaryArray
        The array itself.
    values : bool
        Prove the results as well, and not only protocol and timing.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    check : OutputStationaryCheck
        The protocol and the timing.
    product : OutputStationaryProductCheck or None
        The results, if ``values``.
    """

    def __init__(self, target, *, values=False):
        super().__init__(target)
        self.target = target
        self.check = OutputStationaryCheck(target)
        self.product = OutputStationaryProductCheck(target) if values else None

    def elaborate(self, platform):
        m = Module()

        m.submodules.check = self.check
        m.d.sync += [Assert(fact, text) for fact, text in self.timing()]
        m.d.sync += Cover(self.results.valid & self.results.ready & (self.check.rows_left == 1),
                          "the last row of a product leaves")
        if self.product is not None:
            m.submodules.product = self.product
            m.d.sync += [Assert(fact, text) for fact, text in self.values(m, self.product)]
        for path, _, port in self.signature.flatten(self):
            for watcher in filter(None, (self.check, self.product)):
                seen = watcher
                for name in path:
                    seen = getattr(seen, name)
                m.d.comb += Value.cast(seen).eq(Value.cast(port))

        return m

    def timing(self):
        """The flags of the array say what the counters of the check say."""
        t, c = self.target, self.check
        flush_steps = t.rows + t.columns - 2
        final = ~c.in_fold & (c.flush == 0) & (c.owed != 0)
        yield t.wave_valid == c.wave, "wavefront"
        yield t.in_fold == c.in_fold, "in fold"
        yield t.flushing == (c.flush != 0), "flushing"
        yield t.ending == c.ending, "ending"
        yield t.finished == c.due, "finished"
        yield t.runs == ~(c.due & (c.rows_left > 1)), "runs"
        yield t.rows_left == Cat(c.rows_left > i for i in range(t.rows + 1)), "rows left"
        yield c.rows_left <= t.rows + t.held, "rows left in range"
        yield t.held == c.refused, "a refused row is held"
        yield ~t.held | (c.rows_left != 0), "and has not left"
        yield c.flush <= flush_steps, "flush in range"
        yield sum(c.wave) == c.owed, "owed operands are in the wavefront"
        yield ~c.in_fold | (c.wave[0] & (c.flush == 0)), "a fold that goes on is in PE (0, 0)"
        yield (~c.ending | ((c.wave >> 1) == 0)) & (~c.ending | (t.wave_first == c.wave)), \
            "the next fold is at most in PE (0, 0) when the last product is added"
        yield ~c.due | ((c.wave >> 2) == 0), "the next fold is hardly begun when sums are due"
        begins = t.wave_first if flush_steps else Cat(t.wave_first, t.fresh & t.fresh_first)
        yield ~c.due | ((c.wave | t.fresh) == 0) | begins.any(), "and its first is on its way"
        if flush_steps:
            yield ~(c.ending & c.due), "folds take more than a cycle"
        for d in range(flush_steps + 1):
            here = (c.flush == flush_steps - d) if d < flush_steps else final
            yield t.wave_last[d] == here, "last operand"
            yield ~here | (c.wave[d] & ~c.wave[:d].any()), "last operand is the youngest"
            first = t.wave_first[d]
            yield ~first | (c.wave[d] & ~c.wave[d + 1:].any()), "first operand is the oldest"
            if d:  # a row leaves in each step, before the wavefront needs its place
                room = max(t.rows + 2 - d, 0)
                yield c.late | ~c.wave[d] | (c.rows_left <= room), "drain ahead of the wavefront"
        yield c.late | ~c.ending | (c.rows_left <= 2), "drain nearly over at the last product"
        yield c.late | ~c.due | (c.rows_left <= 1), "drain over when sums are due"
        begun = c.in_fold | (c.flush != 0) | final
        yield c.excess == Mux(c.in_fold, -1, Mux(begun, flush_steps - 1 - c.flush, 0)), "excess"

    def values(self, m, p: "OutputStationaryProductCheck"):
        """Sums, and the operands on their way to them, add up to what the product check has."""
        t, c = self.target, self.check
        two = c.rows_left > t.rows  # matrices leaving: the last row of one, and all of the next
        leaving, closing = (c.rows_left != 0) + two, ~c.in_fold & (c.owed != 0)
        yield p.in_fold == c.in_fold, "product in fold"
        yield p.count == leaving + c.due + c.ending + closing, "matrices in the array"
        final = 1 << t.rows + t.columns - 2
        yield ~c.ending | (t.fresh == final), "the last product is the only one"
        yield ((t.fresh == 0) | (t.fresh[:-1] == c.wave[1:])), "products follow the wavefront"
        yield ~c.due | (t.fresh[1:] == 0), "products of the next fold are in PE (0, 0)"
        gone = Mux(two, t.rows - 1, t.rows - c.rows_left)
        yield p.row == Mux(leaving != 0, gone, 0), "rows that have left"
        for i in range(t.rows):
            for j in range(t.columns):
                yield ~t.held | (p.row != i) | (t.waiting[j] == p.queue[0][i][j]), \
                    "the row held is one of a product"
        for i in range(t.rows):
            for j in range(t.columns):
                pe = t.pes[i][j]
                entries = data.ArrayLayout(signed(t.accumulator_width), len(p.queue))
                matrices = Signal(entries, name=f"matrices_{i}_{j}")
                m.d.comb += matrices.eq(Cat(matrix[i][j] for matrix in p.queue))
                total = Signal(signed(t.accumulator_width), name=f"total_{i}_{j}")
                m.d.comb += total.eq(pe.sum)
                with m.If(t.fresh[i + j]):
                    m.d.comb += total.eq(Mux(t.fresh_first[i + j], 0, pe.sum) + pe.product)
                yield ~c.due | (pe.sum == matrices[leaving]), "sums due are a product"
                yield ~c.ending | (total == matrices[leaving + c.due]), "and so are those to be"
                for left in range(i + 1, t.rows + 1):
                    row = t.rows - left + i
                    due_next = Mux(two, p.queue[1][row][j], p.queue[0][row][j])
                    yield (c.rows_left - t.held != left) | (pe.drain == due_next), \
                        "rows left are a product"

                # The operands on their way, oldest in the largest place; `first` drops the sum.
                lefts = [*t.skew_left[i], *(pe.right for pe in t.pes[i])]
                tops = [*t.skew_top[j], *(row[j].bottom for row in t.pes)]
                ahead = sum(Mux(c.wave[d], lefts[d] * tops[d], 0) for d in range(i + j + 1))
                sums = Signal(signed(t.accumulator_width), name=f"sums_{i}_{j}")
                m.d.comb += sums.eq(
                    ahead + Mux(t.wave_first[:i + j + 1].any(), 0, total))
                whole = Mux(c.in_fold, p.sums[i][j], matrices[leaving + c.due + c.ending])
                yield ~(c.in_fold | closing) | (sums == whole), "wavefront adds up to the product"


class OutputStationaryBoundProof(OutputStationaryProof):
    """`OutputStationaryProof`, for what probes count of products of one shape.

    Assumes that every product is an ``m`` x ``k`` x ``n`` one, with as many folds of ``k`` operands
    as it has on this array, that from its first operand to its last there are operands on offer in
    every cycle, and that the sink is always ready. The next product may begin as soon as the array
    takes its operands, or later.

    Parameters
    ----------
    target : OutputStationaryArray
        The array itself.
    m, k, n : int
        The shape of the products.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    fold, begun : Signal
        Bit *i*: the first operand of a fold, or of a product, was taken *i* + 1 cycles ago.
    """

    def __init__(self, target, *, m, k, n):
        super().__init__(target)
        mapped = map_product(Dataflow.OUTPUT, rows=self.rows, columns=self.columns, m=m, k=k, n=n)
        self.k, self.folds = mapped.time, mapped.folds
        self._flush = self.rows + self.columns - 2
        self._period = k + self._flush  # cycles of a fold
        self._macs = self.folds * self._period
        # to the last row, which is taken that many cycles later
        self.fold = Signal(self._period + self.rows + 2)
        self.begun = Signal(self._macs + self.rows + 2)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        k, fold, begun, check = self.k, self.fold, self.begun, self.check
        taken, within, last, waits = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            taken.eq(self.left.valid & self.left.ready),
            # some operands of the product are taken, and not all of them
            within.eq(begun[:self._macs - self._flush - 1] != 0),
            last.eq(1 if k == 1 else fold[k - 2]),
        ]
        m.d.sync += [
            fold.eq(Cat(taken & ~check.in_fold, fold)),
            begun.eq(Cat(taken & ~within, begun)),
            Assume(self.results.ready, "the sink is not ready"),
            owes(~within | (self.left.valid & self.top.valid), "operands are late"),
            waits.eq(self.left.valid & ~self.left.ready),
            owes(~self.left.valid | waits | (self.left.payload.last == last),
                 "a fold of another length"),
            Assert(~waits | (self.left.payload.last == (k == 1)),
                   "invariant: what waits is the first of a fold"),
            Cover(begun[-1] & self.results.valid, "the last row of the last fold leaves"),
            *(Assert(fact, f"invariant: {text}") for fact, text in self.schedule()),
        ]
        return m

    def schedule(self):
        """The counters of the check, and when folds and products began."""
        k, rows, period, fold, begun = self.k, self.rows, self._period, self.fold, self.begun
        c = self.check
        yield c.in_fold == (fold[:k - 1] != 0), "a fold goes on"
        yield c.flush == sum((Mux(fold[age - 1], period - age, 0)
                              for age in range(k, period)), Const(0)), "steps to flush"
        yield c.wave == Cat(fold[d:d + k].any() for d in range(len(c.wave))), "the wavefront"
        yield c.ending == fold[period], "the last product of a fold"
        yield c.due == fold[period + 1], "sums are due"
        yield c.rows_left == sum(Mux(fold[period + 1 + gone], rows + 1 - gone, 0)
                                 for gone in range(1, rows + 1)), "rows that have not left"
        yield ~c.late & ~c.refused, "no row was refused"
        for age in range(len(fold)):
            yield fold[age] == Cat(begun[age + number * period]
                                   for number in range(self.folds)).any(), "folds of products"
        for age in range(1, len(begun)):
            since = begun[max(0, age - self._macs + 1):age]
            yield ~begun[age] | ~since.any(), "products one after the other"

    def explain(self, m, probes):
        """Assert in ``m`` what the probes' counters hold."""
        begun, rows, period, flush = self.begun, self.rows, self._period, self._flush
        at = [number * period for number in range(self.folds)]
        facts: list[tuple[Value, str]] = []
        for what in ("fold", "macs"):
            if what not in probes:
                continue
            ages = {age + 1: begun[age] for age in range(self._macs)}
            macs = [begin + 1 + step for begin in at for step in range(self.k)]
            facts += counted(probes[what][0], ages, ages, macs, [cycle + flush for cycle in macs])
        for counter in probes.get("product", ()):
            newest, oldest = ({age + 1: begun[age] & (others == 0)
                               for age, others in enumerate(history)}
                              for history in ([begun[:age] for age in range(len(begun))],
                                              [begun[age + 1:] for age in range(len(begun))]))
            facts += counted(counter, newest, oldest,
                             [begin + step for begin in at for step in range(self.k)],
                             [begin + period + 3 + row for begin in at for row in range(rows)])
            under_way = sum(begun)
            facts += [(counter.level == under_way, "products under way"),
                      (counter.put == (counter.get + under_way)[:len(counter.put)],
                       "places of the queue")]
        m.d.sync += [Assert(fact, f"invariant: {text}") for fact, text in facts]
