"""Bound checkers of the table of mapped buffers: they read its ports and drive none.

`BufferTableTiming` knows when answers come, `BufferTableCheck` also which: it watches simulations.
That every tile lies in its buffer is memory protection, Sim-D's reason for the table. Each has a
`...Proof`, which looks inside `BufferTable` as well; they are for induction. One for full width is
in `cyclebound.tb.dram.buffer_table_wide`.

Ref: Sim-D, section 3.2.4.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.golden.dram.pipeline_bounds import buffer_lookup, buffer_wait
from cyclebound.golden.dram.request import Destination, Refusal
from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["BufferTableCheck", "BufferTableProof", "BufferTableTiming", "BufferTableTimingProof",
           "BufferTableWaitProof"]

_LAST = buffer_lookup() - 1  # cycles from being taken to being answered
_WAIT = buffer_wait(mappings=1)


class BufferTableTiming(Watcher):
    """When offers are taken and answered. Assumes that offers stay until they are taken.

    Parameters
    ----------
    target : BufferTable
        The table, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    age : Signal
        Cycles since the mapping or request under way was taken, 0 if there is none.
    maps : Signal
        Whether the one taken last is a mapping.
    waited : Signal
        Cycles for which a request has been on offer; those in which a sink stalls do not count.
    """

    def __init__(self, target):
        super().__init__(target)
        self.buffers, self.capacity = target.buffers, target.capacity
        self.age, self.maps = Signal(range(_LAST + 1)), Signal()
        self.waited = Signal(range(_WAIT + 1))

    def elaborate(self, platform):
        m = Module()
        tile, refusal, age, maps = self.tile, self.refusal, self.age, self.maps
        maps_now, asks_now, answered, leaves = Signal(), Signal(), Signal(), Signal()
        stalls, due = Signal(), Signal()
        m.d.comb += [
            maps_now.eq(self.mapping.valid & self.mapping.ready),
            asks_now.eq(self.request.valid & self.request.ready),
            answered.eq(tile.valid | refusal.valid),
            stalls.eq((tile.valid & ~tile.ready) | (refusal.valid & ~refusal.ready)),
            due.eq(age == _LAST),
            leaves.eq(due & (maps | ~stalls)),
        ]

        for name in ("mapping", "request"):  # offers stay
            port = getattr(self, name)
            waits, offer = Signal(name=f"{name}_waits"), Signal.like(Value.cast(port.payload))
            m.d.sync += [waits.eq(port.valid & ~port.ready), offer.eq(port.payload)]
            m.d.sync += owes(~waits | (port.valid & (offer == Value.cast(port.payload))),
                             f"{name} on offer withdrawn or changed")

        m.d.sync += [
            Assert(~(maps_now & asks_now), "a mapping and a request are taken at once"),
            Assert((age == 0) | ~(maps_now | asks_now), "taken while another is under way"),
            Assert(~(tile.valid & refusal.valid), "tile and refusal at once"),
            Assert(~answered | (due & ~maps), "answer without a request that is due"),
            Assert(answered | ~due | maps, "answer is missing"),
            Assert(~self.mapped | (due & maps), "report without a mapping that is due"),
            Assert(self.mapped | ~due | ~maps, "report is missing"),
        ]
        with m.If(maps_now | asks_now):
            m.d.sync += [age.eq(1), maps.eq(maps_now)]
        with m.Elif(leaves):
            m.d.sync += age.eq(0)
        with m.Elif((age != 0) & ~due):
            m.d.sync += age.eq(age + 1)

        # The bound: one mapping at most goes before a request.
        waits = self.request.valid & ~self.request.ready
        m.d.sync += self.waited.eq(Mux(waits, self.waited + ~stalls, 0))
        m.d.sync += Assert(~waits | stalls | (self.waited < _WAIT - 1),
                           f"request not taken within {_WAIT} cycles")
        return m


class BufferTableCheck(BufferTableTiming):
    """`BufferTableTiming`, and a map of its own, against which every answer is held.

    Parameters and members as there.

    Attributes
    ----------
    numbers : list of Signal or int
        The buffers that it follows: all.
    is_mapped : Signal
        A bit for each of them that is mapped.
    buffer : list
        Address and dimensions of each, as in a mapping's payload.
    area : Signal
        Words in the buffer that is being mapped; ``size``, a list, those of each buffer.
    coming, wanted : View
        The mapping and the request taken last.
    """

    def __init__(self, target):
        super().__init__(target)
        self.numbers = self._follows()
        count, shape = len(self.numbers), self.mapping.payload.shape()
        self.is_mapped = Signal(count)
        self.buffer = [Signal(shape, name=f"buffer_{n}") for n in range(count)]
        self.coming, self.wanted = Signal(shape), Signal(self.request.payload.shape())
        self.area = Signal(2 * len(self.coming.x))
        self.size = [Signal.like(self.area, name=f"size_{n}") for n in range(count)]
        self.asked = Signal(shape)  # the buffer of the request taken last
        self.asked_size = Signal.like(self.area)
        self.asked_is_mapped = Signal()
        self.followed = Signal()  # it is one of those that are followed

    def _follows(self):
        return list(range(self.buffers))

    def _look_up(self, m):
        """The buffer of the request taken last."""
        number = self.wanted.buffer
        m.d.comb += [
            Value.cast(self.asked).eq(Array(map(Value.cast, self.buffer))[number]),
            self.asked_size.eq(Array(self.size)[number]),
            self.asked_is_mapped.eq(self.is_mapped.bit_select(number, 1)),
            self.followed.eq(1),
        ]

    def _multiply(self, m):
        m.d.comb += self.area.eq(self.coming.x * self.coming.y)

    def _ends(self, m, plain):
        """A tile that is no list of indexes ends in its buffer."""
        tile, mine = self.tile.payload, self.asked
        reach = Signal.like(self.area)
        m.d.comb += reach.eq((tile.count - 1)[:len(tile.count)] * tile.period)
        m.d.sync += Assert(~plain | (tile.address + reach + tile.words
                                     <= mine.address + self.asked_size),
                           "tile ends beyond its buffer")

    def elaborate(self, platform):
        m = super().elaborate(platform)
        self._multiply(m)
        self._map(m)
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += self.wanted.eq(self.request.payload)
        self._look_up(m)
        leaves, refused = Signal(), Signal()
        m.d.comb += [leaves.eq(self.tile.valid & self.followed),
                     refused.eq(self.refusal.valid & self.followed)]
        self._refusals(m, leaves, refused)
        self._kept(m)
        self._protected(m, leaves)
        return m

    def _map(self, m):
        """The map; a buffer that leaves the device is not in it."""
        coming, beyond = self.coming, Signal()
        with m.If(self.mapping.valid & self.mapping.ready):
            m.d.sync += coming.eq(self.mapping.payload)
        m.d.comb += beyond.eq(coming.address + self.area > self.capacity)
        m.d.sync += Assert(
            ~self.mapped | (self.mapping_refusal == Mux(coming.valid & beyond, Refusal.DEVICE,
                                                        Refusal.NONE)),
            "mapping is reported wrongly")
        for k, number in enumerate(self.numbers):
            with m.If(self.mapped & (coming.buffer == number)):
                m.d.sync += [self.buffer[k].eq(coming), self.size[k].eq(self.area),
                             self.is_mapped[k].eq(coming.valid & ~beyond)]

    def _refusals(self, m, leaves, refused):
        """A request is refused for the first reason that applies, and only for one."""
        wanted, mine = self.wanted, self.asked
        code, reasons = Signal(3), (
            (~self.asked_is_mapped, Refusal.UNMAPPED), (wanted.indexed, Refusal.NONE),
            ((wanted.words == 0) | (wanted.count == 0), Refusal.EMPTY),
            ((wanted.destination == Destination.CAM)
             & (self.asked_size > (1 << len(mine.x))), Refusal.SNOOP),
            (wanted.x + wanted.words > mine.x, Refusal.WIDTH),
            (wanted.y + wanted.count > mine.y, Refusal.HEIGHT))
        for applies, reason in reversed(reasons):
            with m.If(applies):
                m.d.comb += code.eq(reason)
        m.d.sync += [
            Assert(~refused | ((code != 0) & (self.refusal.payload == code)),
                   "refusal is not for the first reason"),
            Assert(~leaves | (code == 0), "tile of a request to be refused"),
        ]

    def _kept(self, m):
        """An answer stays as it is until it is taken."""
        offers = self.tile, self.refusal
        seen = Cat(self.tile.valid, self.refusal.valid,
                   Mux(self.tile.valid, Cat(self.tile.payload, self.limit), 0),
                   Mux(self.refusal.valid, self.refusal.payload, 0))
        stalled, before = Signal(), Signal(len(seen))
        m.d.sync += [stalled.eq(Cat(offer.valid & ~offer.ready for offer in offers).any()),
                     before.eq(seen),
                     Assert(~stalled | ~self.followed | (before == seen),
                            "answer changed while it waited")]

    def _protected(self, m, leaves):
        """Protection, from the tile as it leaves: none of its words is outside the buffer."""
        wanted, tile = self.wanted, self.tile.payload
        mine, size = self.asked, self.asked_size
        plain, indexed = (leaves & which for which in (~tile.indexed, tile.indexed))
        m.d.sync += [
            Assert(~plain | (tile.words != 0) & (tile.count != 0), "tile is empty"),
            Assert(~plain | (tile.period >= tile.words), "lines of a tile overlap"),
            Assert(~plain | (tile.address >= mine.address), "tile begins before its buffer"),
            Assert(~indexed | (tile.address == mine.address),
                   "indexed tile does not begin with its buffer"),
            Assert(~leaves | (self.limit == size), "limit is not the buffer's size"),
            Assert(~leaves | (mine.address + size <= self.capacity),
                   "buffer of a tile leaves the device"),
        ]
        self._ends(m, plain)
        m.d.sync += Assert(
            ~self.tile.valid | (tile.indexed == wanted.indexed) & (tile.write == wanted.write)
            & (tile.destination == wanted.destination) & (tile.base == wanted.base)
            & (tile.count == wanted.count) & (tile.transform == wanted.transform),
            "tile is not what was asked for")


class _Inside(BufferTableTiming):
    """Adds to a checker what induction has to know about the inside of a `BufferTable`."""

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        table = self._target
        for cycles, bit in enumerate(table.stage, 1):
            m.d.sync += Assert(bit == (self.age == cycles), f"invariant: stage {cycles}")
        m.d.sync += Assert(self.maps == table.maps, "invariant: what was taken last")
        # What waits after a request came later; a mapping may have been taken since then.
        passed = Mux(self.age == 0, _LAST + 1, self.age)
        m.d.sync += Assert((self.waited == 0) | (self.waited <= passed + Mux(self.maps, _LAST, -1)),
                           "invariant: a request has waited for what it saw")
        self._covers(m)
        return m

    def _covers(self, m):
        m.d.sync += Cover(self.waited == _WAIT - 1, f"a request waits for {_WAIT} cycles")


class BufferTableTimingProof(_Inside, BufferTableTiming):
    """`BufferTableTiming`, with invariants: the table's stage is the age of what was taken."""

    def __init__(self, target):
        super().__init__(target)
        self.told = Signal()  # the answer was on offer in the cycle before

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.told.eq(self.tile.valid | self.refusal.valid)
        m.d.sync += Assert(~self.told | (self.age == _LAST) | (self.age <= 1),
                           "invariant: an answer is on offer until it is taken")
        return m

    def explain(self, m, probes):
        """Say in ``m`` what the probes count: the age of the request, or mapping, under way."""
        under_way = {"lookup": (self.age != 0) & ~self.maps & ~((self.age == _LAST) & self.told),
                     "mapping": (self.age != 0) & self.maps}
        for what, busy in under_way.items():
            counter, = probes[what]
            m.d.sync += [
                Assert(counter.busy == busy, f"invariant: the probe of {what} follows it"),
                Assert(~counter.busy | (counter.before == self.age),
                       f"invariant: the probe of {what} counts its age"),
            ]


class BufferTableWaitProof(BufferTableTimingProof):
    """`BufferTableTimingProof` where sinks are always ready: what the probe of ``wait`` counts.

    Parameters
    ----------
    target : BufferTable
        The table.
    mappings : bool
        Whether mappings may be asked for at all.
    """

    def __init__(self, target, *, mappings):
        super().__init__(target)
        self._mappings = mappings
        self.offered = Signal()  # a request was on offer in the cycle before, and not taken

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += [
            self.offered.eq(self.request.valid & ~self.request.ready),
            Assume(self.tile.ready & self.refusal.ready, "a sink is not ready"),
            Assert(self.offered == (self.waited != 0), "invariant: a request waits from its offer"),
        ]
        if not self._mappings:
            m.d.sync += [Assume(~self.mapping.valid, "a mapping is asked for"),
                         Assert(~self.maps, "invariant: none is under way")]
        return m

    def _covers(self, m):
        most = buffer_wait(mappings=int(self._mappings))
        m.d.sync += Cover(self.request.valid & self.request.ready & (self.waited == most - 1),
                          f"a request is taken in cycle {most} of its offer")

    def explain(self, m, probes):
        """Say in ``m`` what the probe of ``wait`` counts: the cycles for which it has waited."""
        counter, = probes["wait"]
        before, = counter.kept
        m.d.sync += [
            Assert(before == self.offered, "invariant: the probe knows that one waits"),
            Assert(counter.busy == self.offered, "invariant: the probe follows the request"),
            Assert(~counter.busy | (counter.before == self.waited),
                   "invariant: the probe counts what it has waited"),
        ]


class BufferTableProof(_Inside, BufferTableCheck):
    """`BufferTableCheck`, with invariants: the table's memory is the checker's map.

    It adds a read port for each buffer that is followed to the table's memory.
    """

    def __init__(self, target):
        super().__init__(target)
        self._ports = [target.memory.read_port(domain="comb") for _ in self.numbers]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        table, old, mine = self._target, self.age > 1, self.asked
        is_mapped = self.asked_is_mapped & self.followed

        def same(descriptor, buffer, size):
            return ((descriptor.address == buffer.address) & (descriptor.x == buffer.x)
                    & (descriptor.y == buffer.y) & (descriptor.size == size))

        for number, valid, port, buffer, size in zip(
                self.numbers, self.is_mapped, self._ports, self.buffer, self.size, strict=True):
            m.d.comb += port.addr.eq(number)
            m.d.sync += [
                Assert(valid == table.valid.bit_select(number, 1),
                       f"invariant: whether {buffer.as_value().name} is mapped"),
                Assert(~valid | same(port.data, buffer, size),
                       f"invariant: {buffer.as_value().name} in memory"),
                Assert(~valid | (buffer.address + size <= self.capacity),
                       f"invariant: {buffer.as_value().name} in the device"),
            ]
            self._explain_size(m, valid, buffer, size)
        coming, wanted, descriptor = self.coming, self.wanted, table.descriptor
        m.d.sync += [
            Assert(Value.cast(wanted) == Value.cast(table.wanted), "invariant: request"),
            Assert(Value.cast(coming) == Value.cast(table.coming), "invariant: mapping"),
            Assert((self.age != 1) | self.maps | ~is_mapped
                   | same(table.read.data, mine, self.asked_size),
                   "invariant: what was read"),
            Assert(~old | self.maps | ~is_mapped | same(descriptor, mine, self.asked_size),
                   "invariant: descriptor"),
            Assert(~old | self.maps | ~self.followed | (table.is_mapped == is_mapped),
                   "invariant: is_mapped"),
            Assert(~old | ~self.maps | ((descriptor.address == coming.address)
                                        & (descriptor.x == coming.x)),
                   "invariant: mapping's descriptor"),
            Assert(~old | (table.factor == Mux(self.maps, coming.y,
                                               Mux(wanted.indexed, 0, wanted.y))),
                   "invariant: factor"),
        ]
        return m

    def _explain_size(self, m, valid, buffer, size):
        m.d.sync += Assert(~valid | (size == buffer.x * buffer.y),
                           f"invariant: size of {buffer.as_value().name}")

    def _covers(self, m):
        super()._covers(m)
        m.d.sync += Cover(self.tile.valid & ~self.tile.payload.indexed
                          & (self.tile.payload.count > 1), "a tile of several lines leaves")
