"""That every tile lies in its buffer, at full width and for any number of buffers.

Ref: Sim-D, section 3.2.4.
"""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cat, Signal

from cyclebound.tb.assumed import law
from cyclebound.tb.dram.buffer_table_properties import BufferTableProof

__all__ = ["BufferTableWideProof"]


class BufferTableWideProof(BufferTableProof):
    """`BufferTableProof` for any width: every product may be anything, but for what is assumed.

    It follows one buffer, and says nothing of requests for others. Which one, the prover chooses
    once and for all cycles: what holds for any, holds for each, and each request is for one.

    The table's product is put together from four partial products of halves. Proved is of which
    numbers it is at which time, and how all is put together, added, kept and compared; so that a
    tile begins at ``address + y*X + x`` of its buffer of ``Y`` lines of ``X`` words, has ``X`` from
    line to line, and ``x + words <= X``, ``y + count <= Y``. Then its every word is one of the
    buffer's, which is arithmetic (``tests/dram/test_buffer_table.py``).

    Assumed is what is true of products of whole numbers: same operands, same partial products; of a
    factor of 0, they are 0; and ``X*y + X <= X*Y`` if ``y < Y``, of the product for a tile and that
    for its buffer, which has been kept since it was mapped. That the sum of the partial products is
    the product: ``(a + A*h) * (b + B*h) = a*b + (a*B + A*b)*h + A*B*h*h``. Which half goes to which
    multiplier is outside of this proof; `BufferTableProof` multiplies, and simulations do.

    That tiles leave nonetheless is covered with narrow buffers: at full width, a solver takes long
    for the 14 cycles to the first.

    Parameters
    ----------
    target : BufferTable
        The table itself.
    chosen : int or None
        The buffer to follow; None: the prover's choice.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, chosen=None):
        self._chosen = chosen
        super().__init__(target)

    def _follows(self):
        self.chosen = Signal(range(self.buffers))
        return [self.chosen]

    def _look_up(self, m):
        m.d.comb += [
            self.asked.eq(self.buffer[0]),
            self.asked_size.eq(self.size[0]),
            self.asked_is_mapped.eq(self.is_mapped),
            self.followed.eq(self.wanted.buffer == self.chosen),
        ]
        if self._chosen is None:
            m.d.comb += self.chosen.eq(AnyConst(len(self.chosen)))
        else:
            m.d.comb += self.chosen.eq(self._chosen)

    def _explain_size(self, m, valid, buffer, size):
        pass  # by `_multiply`

    def _multiply(self, m):
        """The sum of the table's partial products is the area, when it is asked for."""
        half = (len(self.coming.x) + 1) // 2
        low, high, cross, across = self._target.partials
        m.d.comb += self.area.eq(low + ((cross + across) << half) + (high << 2 * half))

    def _ends(self, m, plain):
        tile, wanted, mine = self.tile.payload, self.wanted, self.asked
        m.d.sync += [
            law(~plain | (wanted.y >= mine.y) | (self.area + mine.x <= self.asked_size),
                   "a line more exceeds the buffer"),
            Assert(~plain | (tile.address == mine.address + wanted.x + self.area),
                   "a tile begins elsewhere"),
            Assert(~plain | (tile.period == mine.x), "period is not the buffer's line"),
            Assert(~plain | (wanted.x + tile.words <= mine.x), "a line ends beyond the buffer's"),
            Assert(~plain | (wanted.y + tile.count <= mine.y), "too many lines"),
        ]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        table = self._target
        operands, parts = Cat(table.descriptor.x, table.factor), Cat(table.partials)
        now, before, parts_before = (Signal(len(value), name=name) for name, value in (
            ("now", operands), ("before", operands), ("parts_before", parts)))
        m.d.sync += [
            now.eq(operands), before.eq(now), parts_before.eq(parts),
            law((now != before) | (parts == parts_before), "a product of the same changes"),
            law((now[len(table.descriptor.x):] != 0) | (parts == 0), "a multiple of 0"),
            Assert(~self.mapped | (now == Cat(self.coming.x, self.coming.y)),
                   "a buffer's size is the product of other numbers"),
            Assert(~self.tile.valid | ~self.followed | self.tile.payload.indexed
                   | (now == Cat(self.asked.x, self.wanted.y)),
                   "a tile's address comes from the product of other numbers"),
            Assert((self.age < 3) | (now == operands), "invariant: operands"),
            Assert((self.age < 5) | (table.product == self.area), "invariant: product"),
        ]
        return m
