"""Invariants inside a weight-stationary array, so that induction closes for its sums.

Beside each row of A that is under way goes what it met when it was accepted: its elements, and the
weights of its fold. An age is that of a row in steps, 0 for the one accepted last: PE (i, j) has
the operand of age i + j, its product that of age i + j + 1, and its sum that of age i + j + 2.
"""

import itertools

from amaranth.hdl import Assert, Module, Mux, Signal, Value

from cyclebound.tb.systolic.weight_stationary_properties import (
    ArrayWatcher,
    WeightStationaryProductCheck,
    WeightStationaryProof,
)

__all__ = ["WeightStationaryValuesProof"]


class WeightStationaryValuesProof(ArrayWatcher):
    """The checks of timing and sums, and the invariants that the sums rest on.

    Parameters
    ----------
    target : WeightStationaryArray
        The array itself.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    timing : WeightStationaryProof
        Protocol and timing.
    product : WeightStationaryProductCheck
        The sums.
    elements : list of Signal
        For each age, the row of A.
    tiles : list of Signal
        For each age, the weights in use when it was accepted.
    coming : list of Signal
        The weights of the fold to come, now and up to so many steps ago as there are columns.
    """

    def __init__(self, target):
        super().__init__(target)
        self.target = target
        self.timing = WeightStationaryProof(target)
        self.product = product = WeightStationaryProductCheck(target)
        ages = range(self.rows + self.columns + 1)
        self.elements = [Signal(self.left.payload["values"].shape(), name=f"elements_{age}")
                         for age in ages]
        self.tiles = [Signal.like(product.used, name=f"tile_{age}") for age in ages]
        self.coming = [product.coming, *(Signal.like(product.coming, name=f"coming_{ago}")
                                         for ago in range(1, self.columns))]

    def elaborate(self, platform):
        m = Module()
        m.submodules.timing, m.submodules.product = self.timing, self.product
        for path, _, port in self.signature.flatten(self):
            for watcher in (self.timing, self.product):
                seen = watcher
                for name in path:
                    seen = getattr(seen, name)
                m.d.comb += Value.cast(seen).eq(Value.cast(port))

        step, _, _, begin = self.strobes(m)
        with m.If(step):
            m.d.sync += [self.elements[0].eq(self.left.payload["values"]),
                         self.tiles[0].eq(Mux(begin, self.product.complete, self.product.used))]
            for chain in (self.elements, self.tiles, self.coming):
                m.d.sync += [later.eq(sooner) for sooner, later in itertools.pairwise(chain)]
        for facts in (self._control(), self._weights(), self._folds(), self._sums()):
            m.d.sync += [Assert(fact, text) for fact, text in facts]
        return m

    def _control(self):
        """The array, the product check and this checker count rows and folds alike."""
        t, p = self.target, self.product
        yield (t.in_fold == p.in_fold) & (t.in_fold == self.in_fold), "in fold"
        yield p.place == Mux(t.filled == self.rows, 0, t.filled), "next row of weights"

    def _weights(self):
        """Weights on their way: column j has what column 0 had j steps ago."""
        t = self.target
        for i, row in enumerate(t.pes):
            for j, pe in enumerate(row):
                written = pe.spare if self.double_buffer else pe.held
                yield written == self.coming[j][i][j], "weight written"
            for ago, pe in enumerate(row[:-1]):
                now, before = self.coming[ago][i], self.coming[ago + 1][i]
                yield pe.write_right | (now.as_value() == before.as_value()), "weight kept"
                for j in range(ago + 1, self.columns):
                    yield ~pe.write_right | (t.skew_weights[j][ago] == now[j]), "weight to come"

    def _folds(self):
        """Yield facts, with names, about the weights that rows meet."""
        t, used = self.target, self.product.used
        history = self.timing.history
        yield self.tiles[0] == used, "weights in use"
        if not self.double_buffer:  # nothing is written while there is a fold
            yield ~t.in_fold | (self.coming[0] == used), "weights of the fold"
            for age in range(self.rows + self.columns - 1):
                for ago in range(min(age + 1, self.columns)):
                    yield ~history[age] | (self.coming[ago] == self.tiles[age]), "weights stay"
            return
        for i, row in enumerate(t.pes):
            for j, pe in enumerate(row):
                yield pe.held == self.tiles[i + j][i][j], "weight in use"
        for age, first in enumerate(t.wave_first):
            yield first | (self.tiles[age] == self.tiles[age + 1]), "same fold, same weights"
            yield ~first | (t.filled <= age + 1), "weights come one by one"
            for i in range(self.rows):  # are not overwritten before they are in use
                for ago in range(max(age + 1 - i, 0), min(age + 2, self.columns)):
                    same = self.coming[ago][i].as_value() == self.tiles[age][i].as_value()
                    yield ~first | same, "weights wait for their fold"

    def _sums(self):
        """Operands, products and sums of each row."""
        t, history, line = self.target, self.timing.history, self.product.line
        for i, row in enumerate(t.pes):
            lane = [*t.skew_left[i], *(pe.right for pe in row)]
            for age, operand in enumerate(lane):
                yield operand == self.elements[age][i], "operand"
            for j, pe in enumerate(row):
                age = i + j + 1
                product = self.elements[age][i] * self.tiles[age][i][j]
                yield ~history[age] | (pe.product == product), "product"
                age = i + j + 2
                total = sum(self.elements[age][above] * self.tiles[age][above][j]
                            for above in range(i + 1))
                yield ~history[age] | _alike(pe.sum, total), "sum"
        for j in range(self.columns):
            for age, sums in enumerate(line):
                total = sum(self.elements[age][i] * self.tiles[age][i][j]
                            for i in range(self.rows))
                yield ~history[age] | _alike(sums[j], total), "sums of a row"
            for number, register in enumerate(t.skew_sums[j]):
                age = self.rows + j + 2 + number
                yield ~history[age] | _alike(line[age][j], register), "sum on its way out"


def _alike(wrapped, exact):
    """Equal, up to the bits that ``wrapped`` has not."""
    return (wrapped - exact)[:len(wrapped)] == 0
