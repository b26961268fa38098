"""Bound checker of the scratchpad: it reads its ports and drives none.

Ref: Sim-D, section 3.3.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal

from cyclebound.golden.simd.scratchpad import ScratchpadTile, bus_lines
from cyclebound.tb.assumed import owes
from cyclebound.tb.probe_state import counted
from cyclebound.tb.watcher import Watcher

__all__ = ["ScratchpadCheck", "ScratchpadTileProof"]

_BITS = 32


class ScratchpadCheck(Watcher):
    """A transfer moves as many words as its tile has, none twice as far as numbers tell: those read
    from the cycle after ``go`` on without a pause, those to be written are asked for from ``go``
    on; ``done`` is set once, with the last of them.

    Parameters
    ----------
    target : Scratchpad
        The scratchpad, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    moved : Signal
        Words of this transfer that have moved, or were asked for.
    busy, served : Signal
        A transfer is under way; it has served a line of the bus in the cycle before.
    """

    def __init__(self, target):
        super().__init__(target)
        self.moved, self.busy, self.served = Signal(_BITS), Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        tile, busy, served = self.tile, self.busy, self.served
        size = Signal(_BITS)
        reads = Mux(self.deliver.valid, sum(self.deliver.payload.enable), 0)
        asks = Mux(self.ask.valid, sum(self.ask.payload.enable), 0)
        total = Signal(_BITS)
        m.d.comb += [size.eq(tile.words * tile.count),
                     total.eq(Mux(self.go, 0, self.moved) + reads + asks)]
        m.d.sync += [
            self.moved.eq(total), busy.eq((busy | self.go) & ~self.done),
            served.eq((self.go & (size != 0)) | (busy & ~self.done)),
            Assert(~self.deliver.valid | ~self.ask.valid, "a transfer reads and writes"),
            Assert(~(self.deliver.valid | self.ask.valid) | busy | self.go,
                   "words of no transfer"),
            Assert(~self.done | busy | self.go, "done without a transfer"),
            Assert(~self.done | (total == size), "not all words have moved, or too many"),
            Assert(~(busy & served & ~tile.write) | self.deliver.valid, "a pause among words"),
            Assert(~self.deliver.valid | self.deliver.payload.enable.any(),
                   "a line without a word"),
            Cover(self.done & (size > 4), "a transfer of more than four words ends"),
        ]
        return m


class ScratchpadTileProof(ScratchpadCheck):
    """`ScratchpadCheck`, for transfers of tiles of one shape: in each cycle of a transfer it is
    known which line of the bus is served, and which of its words are of the tile.

    Parameters
    ----------
    target : Scratchpad
        The scratchpad itself.
    words, gap, count, restart : int
        Of the tiles; those without ``restart`` have lines as far apart as the bus is wide, or one.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    cycle : Signal
        The cycle of the transfer that is under way, from 0 on; 0 while there is none.
    """

    def __init__(self, target, *, words, gap, count, restart):
        super().__init__(target)
        assert restart or count == 1 or words + gap >= target.bus
        self._target = target
        self._shape = {"words": words, "period": words + gap, "count": count, "restart": restart}
        tile = ScratchpadTile(address=0, words=words, period=words + gap, count=count,
                              restart=bool(restart))
        self._lines = bus_lines(tile, target.bus)
        self._end = len(self._lines)
        self.cycle, self.prepared = Signal(range(self._end + 1)), Signal()

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, tile, cycle, end = self._target, self.tile, self.cycle, self._end
        keeps, writes = Signal(), Signal()
        idle = ~self.busy
        with m.If(self.go | (cycle != 0)):
            m.d.sync += cycle.eq(Mux(cycle == end, 0, cycle + 1))
        m.d.sync += [
            self.prepared.eq((self.prepared | self.prepare) & ~self.go),
            writes.eq(tile.write),
            keeps.eq((self.prepare | self.prepared | self.busy) & ~self.done),
            *(Assume(getattr(tile, name) == value, f"a tile of another {name}")
              for name, value in self._shape.items()),
            owes(~keeps | (tile.write == writes), "the tile turns round"),
            owes(~self.go | (self.prepared & idle & ~self.prepare), "it begins unprepared"),
            owes(~self.prepare | idle, "it is prepared during a transfer"),
            Assert(self.done == (cycle == end), "a transfer takes another time"),
            *(Assert(fact, f"invariant: {says}") for fact, says in self._facts(target)),
        ]
        return m

    def _facts(self, target):
        """What holds in each cycle of a transfer, and between transfers."""
        cycle, end, tile = self.cycle, self._end, self.tile
        yield cycle <= end, "so many cycles"
        yield self.busy == (cycle != 0), "it is busy"
        yield ~self.busy | self.served, "it serves"
        yield ~(self.prepared & self.busy), "it is not prepared beside"
        yield target.running == ((cycle != 0) & (cycle != end)), "it runs"
        yield target.finishing == (cycle == end), "it finishes"
        yield self.deliver.valid == (self.busy & ~tile.write), "words are delivered"
        period = self._shape["period"]
        done = 0
        for number, lanes in enumerate(self._lines):
            place, address, _ = lanes[0]
            line, phase = divmod(address - place, period)
            here = cycle == number if number else self.prepared
            yield ~here | ((target.line == line) & (target.phase == phase)), f"line {number}"
            enable = sum(1 << place for place, _, _ in lanes)
            # in the cycle after a line was served, what was asked for counts, what is read does not
            after = cycle == number + 1
            yield ~after | (self.deliver.payload.enable == enable), f"words of line {number}"
            yield ~after | (self.moved == Mux(tile.write, done + len(lanes), done)), (
                f"words before line {number}")
            done += len(lanes)

    def explain(self, m, probes):
        """Assert in ``m`` what the probes' counters hold."""
        ages = {number: self.cycle == number for number in range(1, self._end + 1)}
        for what, counters in probes.items():
            m.d.sync += [Assert(fact, f"invariant: {what}: {text}") for fact, text in
                         counted(counters[0], ages, ages, [0], [self._end])]
