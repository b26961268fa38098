"""Directed traffic: a list of requests, played from a memory."""

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.harness.parameters import check_integer

__all__ = ["RequestPlayer"]


class RequestPlayer(wiring.Component):
    """Plays a list of (gap, payload) entries as a stream.

    Latency: the first offer comes 3 cycles plus its gap after ``start``; each later one its gap
    plus 1 after the transfer before it, so that entries with gap 0 follow each other without a
    bubble. ``done`` rises in the cycle after the last transfer, and 2 cycles after the start of
    an empty list. ``valid`` never waits for ``ready`` (stream rule).

    Parameters
    ----------
    shape : ShapeLike
        Payload.
    depth : int
        Entries in the memory, at least 1.
    gap_width : int
        Bits of a gap, at least 1.

    Attributes
    ----------
    entry : data.StructLayout
        One entry: ``gap`` in the low bits, ``payload`` above.

    Members
    -------
    load_enable : In(1)
        Write ``load_entry`` at ``load_address``. An entry may be written up to and including
        the cycle of ``start``.
    load_address : In(range(depth))
        Where to write.
    load_entry : In(entry)
        What to write.
    start : In(1)
        Play the list; ignored while it is being played.
    length : In(range(depth + 1))
        Entries in the list, read at ``start``; at most ``depth``.
    repeat : In(32)
        How many times to play the list, read at ``start``; 0: without end.
    source : Out(stream.Signature(shape))
        The requests.
    done : Out(1)
        All is played. Low after reset, and again from ``start`` on.
    """

    def __init__(self, *, shape, depth, gap_width=16):
        try:
            Shape.cast(shape)
        except TypeError as error:
            raise TypeError(f"Payload must have a shape, not {shape!r}") from error
        check_integer("Player depth", depth, least=1)
        check_integer("Gap width", gap_width, least=1)
        self.shape = shape
        self.depth = depth
        self.gap_width = gap_width
        self.entry = data.StructLayout({"gap": gap_width, "payload": shape})
        super().__init__({
            "load_enable": In(1),
            "load_address": In(range(depth)),
            "load_entry": In(self.entry),
            "start": In(1),
            "length": In(range(depth + 1)),
            "repeat": In(32),
            "source": Out(stream.Signature(shape)),
            "done": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        source = self.source

        m.submodules.memory = memory = Memory(shape=self.entry, depth=self.depth, init=[])
        write = memory.write_port()
        read = memory.read_port()
        m.d.comb += [
            write.en.eq(self.load_enable),
            write.addr.eq(self.load_address),
            write.data.eq(self.load_entry),
        ]

        # Two stages, each full or empty: the memory's output, and the offer with its countdown.
        # The next entry is thus at hand when the offer is taken, and `ready` reaches enables only.
        playing = Signal()
        fetched = Signal()  # the memory's output is an entry yet to be offered
        loaded = Signal()   # an entry is on offer, or waits for its gap to pass
        wait = Signal(self.gap_width)
        taken = Signal()
        shift = Signal()
        fetch = Signal()
        m.d.comb += [
            source.valid.eq(loaded & (wait == 0)),
            taken.eq(source.valid & source.ready),
            shift.eq(~loaded | taken),
            fetch.eq(~fetched | shift),
        ]
        with m.If(shift):
            m.d.sync += [
                loaded.eq(fetched),
                wait.eq(read.data.gap),
                source.payload.eq(read.data.payload),
            ]
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)

        # The next address to fetch from, while there is one.
        more = Signal()
        address = Signal(range(self.depth))
        last = Signal(range(self.depth))
        rounds = Signal(32)
        m.d.comb += [read.en.eq(fetch), read.addr.eq(address)]
        with m.If(fetch):
            m.d.sync += fetched.eq(more)
            with m.If(more):
                m.d.sync += address.eq(Mux(address == last, 0, address + 1))
                with m.If(address == last):
                    m.d.sync += [rounds.eq(Mux(rounds == 0, 0, rounds - 1)), more.eq(rounds != 1)]

        with m.If(playing & ~more & ~fetched & shift):
            m.d.sync += [playing.eq(0), self.done.eq(1)]
        with m.If(self.start & ~playing):
            m.d.sync += [
                playing.eq(1),
                self.done.eq(0),
                address.eq(0),
                last.eq(self.length - 1),
                rounds.eq(self.repeat),
                more.eq(self.length != 0),
            ]

        return m
