"""Bound checker of the tile sequencer: it reads its ports and drives none.

It numbers the tiles by two counters, column by column, and says of each number where its tile has
to be. Since no number is left out and none comes twice, each tile is visited once.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal

from cyclebound.tb.watcher import Watcher

__all__ = ["TileSequencerCheck", "TileSequencerProof"]


class TileSequencerCheck(Watcher):
    """Tiles of a `TileSequencer` come in order, none is left out, none comes twice.

    Assumes that dimensions are at least 1.

    Parameters
    ----------
    target : TileSequencer
        The sequencer, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    walking : Signal
        Tiles are to come.
    down, across : Signal
        The matrix.
    i, j : Signal
        Which tile of which column of tiles is next.
    """

    def __init__(self, target):
        super().__init__(target)
        self.rows, self.columns = target.rows, target.columns
        width = target.dimension_width
        self.walking = Signal()
        self.down, self.across = Signal(width), Signal(width)
        self.i, self.j = Signal(width), Signal(width)

    def elaborate(self, platform):
        m = Module()
        tile, given = self.tiles.payload, self.command.payload
        accepted, taken = Signal(), Signal()
        m.d.comb += [
            accepted.eq(self.command.valid & self.command.ready),
            taken.eq(self.tiles.valid & self.tiles.ready),
        ]
        row, column = self.i * self.rows, self.j * self.columns
        lowest = row + self.rows >= self.down
        rightmost = column + self.columns >= self.across
        final = lowest & rightmost

        with m.If(accepted):
            m.d.sync += [self.walking.eq(1), self.down.eq(given.down), self.i.eq(0),
                         self.across.eq(given.across), self.j.eq(0)]
        with m.Elif(taken & final):
            m.d.sync += self.walking.eq(0)
        with m.Elif(taken):
            m.d.sync += self.i.eq(Mux(lowest, 0, self.i + 1))
            with m.If(lowest):
                m.d.sync += self.j.eq(self.j + 1)

        m.d.sync += [
            Assume(~self.command.valid | ((given.down != 0) & (given.across != 0)),
                   "a dimension is 0"),
            Assert(self.tiles.valid == self.walking, "a tile is missing, or one too many"),
            Assert(self.command.ready == (~self.walking | (final & self.tiles.ready)),
                   "a command is refused, or taken before its time"),
        ]
        with m.If(self.tiles.valid & self.walking):
            m.d.sync += [
                Assert((tile.row == row) & (tile.column == column), "a tile is misplaced"),
                Assert(tile.height == Mux(lowest, self.down - row, self.rows), "height"),
                Assert(tile.width == Mux(rightmost, self.across - column, self.columns), "width"),
                Assert((tile.first == (self.i == 0)) & (tile.last == lowest)
                       & (tile.final == final), "first, last, final"),
            ]
        return m


class TileSequencerProof(TileSequencerCheck):
    """The check, and what holds inside a `TileSequencer`, so that induction closes.

    Parameters
    ----------
    target : TileSequencer
        The sequencer itself.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self.target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        t = self.target
        row, column = self.i * self.rows, self.j * self.columns
        m.d.sync += [
            Assert(t.busy == self.walking, "busy"),
            Cover(self.tiles.valid & self.tiles.ready & self.tiles.payload.final
                  & (self.i != 0) & (self.j != 0), "the last of several rows and columns of tiles"),
        ]
        with m.If(self.walking):
            m.d.sync += [
                Assert((t.row == row) & (t.column == column), "position"),
                Assert((row < self.down) & (column < self.across), "inside"),
                Assert(t.down == self.down, "down"),
                Assert(t.down_left == self.down - row, "down left"),
                Assert(t.across_left == self.across - column, "across left"),
            ]
        return m
