"""Probes: where a request begins and where it ends, defined once, and counted by hardware.

A `Probe` names the events at a block's ports that begin and end a request. `ProbeCounter` is the
hardware that counts between them: beside the block in simulation, where it prints each request, and
beside it in a proof, where its count is compared with the bound. Neither testbenches nor models
affect what is measured.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from amaranth.hdl import (
    Assert,
    Cat,
    Const,
    Cover,
    Elaboratable,
    Format,
    Module,
    Mux,
    Print,
    ResetSignal,
    Signal,
    Value,
    unsigned,
)
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from cyclebound.tb.expression import ExpressionError, parse

__all__ = ["ANY", "MARK", "PRINTED", "FollowedCounter", "Probe", "ProbeCounter", "claim_bound",
           "counters_of", "followed_one", "offered", "prints", "reader", "taken"]

MARK = "@probe"  # how a line begins in which a simulation prints a request
ANY = None
"""What a proof declares for a name that is no parameter of the bound, to cover every value.

It becomes a free input; a checker's ``explain`` constrains it in `FollowedCounter.declared`.
"""
PRINTED = "probes.txt"  # the file in a job's folder to which it is printed
_LINE_BITS = 48  # of the number of a line


def taken(stream: str) -> str:
    """An expression, true in the cycles in which an item of ``stream`` is taken."""
    return f"{stream}.valid & {stream}.ready"


def offered(stream: str) -> str:
    """An expression, true in the first cycle of each offer of ``stream``."""
    return f"{stream}.valid & ~past({stream}.valid & ~{stream}.ready)"


@dataclass(frozen=True)
class Probe:
    """Defines where a request begins and where it ends, as events at ports.

    All texts are expressions (`cyclebound.tb.expression`) over the members of the probed
    component's signature, its attributes that are whole numbers, and ``declared.NAME``:
    parameters that the requester gives with `Bench.declare`.

    A probe that only prints requests of a declared class begins to count with the first
    declaration after a reset, or with `Bench.follow`. Nothing may be under way then.

    Attributes
    ----------
    start, end : str
        True in the first and in the last cycle of a request.
    request : mapping
        Parameters of the bound, and states in which the request finds the block, that ports or the
        observer show when the request begins, and how to read them.
    conditions : mapping
        Conditions under which the request ran that are known in its last cycle only, and how to
        read them there. A parameter of the bound is declared as well: it is known beforehand.
    observer : callable or None
        Makes, from the probed component, hardware that watches its ports as a bound checker does.
        ``request`` and ``conditions`` read its attributes as ``observer.NAME``. Its input
        ``begins``, if it has one, has a bit for each of the probe's places, set in the first cycle
        of a request.
    starts, ends : str
        How many such events a request has, read when it begins: a transaction of four words, say,
        has the first of four starts and the last of four ends.
    in_flight : int or str
        How many requests may be under way: a number, or an attribute of the component. They
        end in the order in which they began, unless they have an ``id``. Hardware follows one
        request of each id; a trace and `BoundMonitor` so many of each id, in order, as on AXI.
    id, end_id : str
        Identifier of the request that begins, and of the one that ends (default: as ``id``).
    ticks : str
        For a latency that is not in cycles: counts the cycles in which this is true (those with an
        accepted grant, say, or those of a slower clock).
    unit : str
        Name of such ticks, in the plural: ``grants``. Without ticks, ``cycles``.
    over : mapping
        Index letters, each with a count (a number, an attribute of the component that is one, or
        ports): one probe for each index, e.g. ``{"r": "requesters"}``.
    classed : bool
        Only requests that are declared are of the bound's class, even if they have no parameters
        to declare.
    in_turn : bool
        Requests are served one after the other, and the latency of each counts from where it
        begins, or from the cycle after the end of the one before, whichever is later.
    ahead : str
        With ``in_turn``, by how many cycles the count may begin before that cycle: so many of the
        last cycles of the request before count as well.
    """

    start: str
    end: str
    request: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)
    observer: Callable[[wiring.Component], wiring.Component] | None = None
    starts: str = "1"
    ends: str = "1"
    in_flight: int | str = 1
    id: str = ""
    end_id: str = ""
    ticks: str = ""
    unit: str = ""
    over: Mapping[str, int | str] = field(default_factory=dict)
    classed: bool = False
    in_turn: bool = False
    ahead: str = "0"

    def __post_init__(self) -> None:
        for role in ("start", "end"):
            if not getattr(self, role).strip():
                raise ValueError(f"{role} must be an expression, not an empty text")
        if self.id and (self.starts, self.ends) != ("1", "1"):
            raise ValueError("a probe with an id has one start and one end a request, as it counts "
                             "neither for each id")

    @property
    def counts(self) -> str:
        """The unit of latencies: ``unit``, or ``cycles``."""
        return (self.unit or "ticks") if self.ticks else "cycles"

    @property
    def follows_one(self) -> bool:
        """Whether a `FollowedCounter` can count this probe's requests."""
        return not self.in_turn and (self.starts, self.ends) == ("1", "1")

    def texts(self) -> list[str]:
        """All its expressions."""
        named = (self.start, self.end, self.starts, self.ends, self.id, self.end_id, self.ticks,
                 self.ahead)
        return [text for text in (*named, *self.request.values(), *self.conditions.values())
                if text]

    def declared(self) -> tuple[str, ...]:
        """The names NAME of all ``declared.NAME`` in its expressions."""
        return tuple(dict.fromkeys(name for text in self.texts()
                                   for name in parse(text).fields_of("declared")))

    def indexes(self, target: object) -> Iterator[dict[str, int]]:
        """Each assignment of the index letters, for this component."""
        counts = {letter: many if isinstance(many, int) else _many(getattr(target, many))
                  for letter, many in self.over.items()}

        def rest(letters: list[str]) -> Iterator[dict[str, int]]:
            if not letters:
                yield {}
                return
            for index in range(counts[letters[0]]):
                for more in rest(letters[1:]):
                    yield {letters[0]: index, **more}

        return rest(list(counts))


class ProbeCounter(Elaboratable):
    """Counts from the start of each request to its end, both cycles included.

    Parameters
    ----------
    start, end : Value
        One bit each.
    starts, ends : Value
        How many of each a request has, read where it begins; 0 is 1.
    tick : Value
        What is counted; a constant 1 counts cycles.
    in_flight : int
        Requests that may be under way.
    width : int
        Bits of the count: differences are taken modulo ``2**width``.
    ids : tuple of Value or None
        What names a request at its start and at its end.
    now : Signal(width) or None
        Number of this cycle; None: the counter numbers cycles itself.
    shown : Value
        One bit, kept with a request from where it begins.
    in_turn : bool
        ``age`` leaves out the ticks in which the request before was under way.
    ahead : Value
        With ``in_turn``, how many of the last of these ticks count nevertheless.

    Attributes
    ----------
    begins, closes : Signal
        In the first cycle of a request, and in its last.
    waiting : Signal
        A request is under way, or begins: ``age`` counts it.
    age : Signal(width)
        Its ticks so far, this cycle included; with several under way, of the oldest.
    lasted : Signal(width)
        Its cycles so far, this one included.
    now : Signal(width)
        Number of this cycle, in cycles whatever ``tick`` counts; resets do not change it.
    busy : Signal
        A request is under way from an earlier cycle, and ``before`` counts it.
    before : Signal(width)
        Its ticks, without this cycle's.
    shown, fresh_shown : Signal
        The bit kept with the request that ``age`` counts; that of one that begins.
    overflow, spurious : Signal
        More requests than ``in_flight``; an end without a request.
    kept : tuple of Value
        The registers of functions in the probe's expressions, in the order in which these are read:
        id, end_id, start, end and so on; of each, from the innermost function on. For proofs.
    tick, ids : Value, tuple of Value or None
        As given.
    slots : int
        How many requests it can tell apart: with names, one of each.
    more : Signal
        How many of its starts the latest request still has, before this cycle. For proofs.
    ticked, upto : Signal(width)
        Ticks since reset: before this cycle, and with it.
    needs, ended : Value
        Of the request that ``age`` counts, how many ends it has, and how many of them came before
        this cycle. For proofs.
    level : Signal
        Without names, how many requests are under way from earlier cycles. For proofs.
    put, get : Signal
        Places of its queue, if it has one: of the next request, and of the oldest. For proofs.
    declared : dict of str to Value
        In a proof, what is declared of all requests that it is about, by name.
    """

    def __init__(self, start, end, *, starts=1, ends=1, tick=1, in_flight=1, width=48, ids=None,
                 now=None, shown=1, in_turn=False, ahead=0):
        self._start, self._end = Value.cast(start), Value.cast(end)
        self._starts, self._ends = Value.cast(starts), Value.cast(ends)
        self.tick, self._shown = Value.cast(tick), Value.cast(shown)
        self._in_flight, self._width, self.ids = in_flight, width, ids
        self._in_turn, self._ahead = in_turn, Value.cast(ahead)
        self.slots = in_flight if ids is None else 1 << max(map(len, ids))
        self.begins, self.closes, self.waiting = Signal(), Signal(), Signal()
        self.age, self.lasted = Signal(width), Signal(width)
        self.shown, self.fresh_shown = Signal(), Signal()
        self.busy, self.before = Signal(), Signal(width)
        self._counts = now is None
        self.now = Signal(width, reset_less=True) if now is None else now
        self.ticked, self.upto = Signal(width, name="ticked"), Signal(width, name="upto")
        self.overflow, self.spurious = Signal(), Signal()
        self.kept: tuple[Value, ...] = ()
        self.more = Signal(max(1, len(self._starts)))
        self.ended = Signal(max(1, len(self._ends)))
        self._layout = data.StructLayout({"cycle": width, "ticked": width,
                                          "ends": unsigned(max(1, len(self._ends))), "shown": 1})
        self._head = Signal(self._layout, name="head")  # the request that `age` counts
        self.needs = self._head.ends
        self.level = Signal(range(in_flight + 1))
        self.put, self.get = Signal(range(in_flight)), Signal(range(in_flight))
        self.declared: dict[str, Value] = {}

    def elaborate(self, platform):
        m = Module()
        ticked, upto = self.ticked, self.upto
        m.d.sync += ticked.eq(ticked + self.tick)
        if self._counts:
            m.d.sync += self.now.eq(self.now + 1)

        fresh, oldest = (Signal(self._layout) for _ in range(2))
        head = self._head
        m.d.comb += [fresh.cycle.eq(self.now), fresh.ticked.eq(ticked), fresh.ends.eq(self._ends),
                     fresh.shown.eq(self._shown)]
        busy, full = (self._by_order if self.ids is None else self._by_id)(m, fresh, oldest)
        mine = 1 if self.ids is None else self.ids[0] == self.ids[1]
        more, ended = self.more, self.ended
        if not (isinstance(self._starts, Const) and self._starts.value <= 1):
            with m.If(self.begins):
                m.d.sync += more.eq(Mux(self._starts == 0, 0, self._starts - 1))
            with m.Elif(self._start):
                m.d.sync += more.eq(more - 1)
        since, turn = (Signal(self._width, name=name) for name in ("since", "turn"))
        m.d.comb += [upto.eq(ticked + self.tick), since.eq(upto - head.ticked),
                     self.age.eq(since)]
        if self._in_turn:
            with m.If(self.closes):
                m.d.sync += turn.eq(upto)  # where the next one has its turn
            with m.If(upto - turn + self._ahead < since):
                m.d.comb += self.age.eq(upto - turn + self._ahead)
        m.d.comb += [
            self.begins.eq(self._start & (more == 0)),
            head.eq(Mux(busy, oldest, fresh)),
            self.waiting.eq(busy | (self.begins & mine)),
            self.closes.eq(self._end & self.waiting & (ended + 1 >= head.ends)),
            self.shown.eq(head.shown),
            self.fresh_shown.eq(self._shown),
            self.busy.eq(busy),
            self.before.eq(ticked - oldest.ticked),
            self.lasted.eq(self.now + 1 - head.cycle),
            self.overflow.eq(self.begins & full),
            self.spurious.eq(self._end & ~self.waiting),
        ]
        with m.If(self.closes):
            m.d.sync += ended.eq(0)
        with m.Elif(self._end & self.waiting):
            m.d.sync += ended.eq(ended + 1)
        return m

    def _by_order(self, m, fresh, oldest):
        """A queue; with one request in flight a register."""
        level, put, get = self.level, self.put, self.get
        m.d.sync += level.eq(level + self.begins - self.closes)
        if self._in_flight == 1:
            with m.If(self.begins):
                m.d.sync += oldest.eq(fresh)
            return level != 0, (level != 0) & ~self.closes
        m.submodules.queue = queue = Memory(shape=fresh.shape(), depth=self._in_flight, init=[])
        write, read = queue.write_port(), queue.read_port(domain="comb")
        last = self._in_flight - 1
        m.d.comb += [write.addr.eq(put), write.data.eq(fresh), write.en.eq(self.begins),
                     read.addr.eq(get), oldest.eq(read.data)]
        with m.If(self.begins):
            m.d.sync += put.eq(Mux(put == last, 0, put + 1))
        with m.If(self.closes):
            m.d.sync += get.eq(Mux(get == last, 0, get + 1))
        return level != 0, (level == self._in_flight) & ~self.closes

    def _by_id(self, m, fresh, oldest):
        """A slot for each name."""
        start, end = self.ids
        slots = self.slots
        m.submodules.slots = memory = Memory(shape=fresh.shape(), depth=slots, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        taken, began, ended = Signal(slots), Signal(slots), Signal(slots)
        m.d.comb += [
            write.addr.eq(start), write.data.eq(fresh), write.en.eq(self.begins),
            read.addr.eq(end), oldest.eq(read.data),
            began.eq(self.begins << start), ended.eq(self.closes << end),
        ]
        m.d.sync += taken.eq((taken | began) & ~ended | (taken & began & ended))
        # it is free again if the end in this cycle is its own, and not another's
        return taken.bit_select(end, 1), taken.bit_select(start, 1) & ~(
            self.closes & (start == end))


class FollowedCounter(Elaboratable):
    """Counts for one of several requests under way; a free input chooses which.

    For proofs, where a queue of all of them would have to be explained: what holds for the one
    holds for each. They end in the order in which they began, unless they have names.

    Parameters
    ----------
    start, end, tick : Value
        As of `ProbeCounter`; a request has one start and one end.
    in_flight, width : int
        As there.
    pick : Value
        The request that begins in this cycle is followed, unless another one is.
    ids : tuple of Value or None
        What names a request at its start and at its end; one of a name is under way at a time.

    Attributes
    ----------
    waiting, age, busy, before : Signal
        As of `ProbeCounter`, of the request that is followed.
    closes : Value
        As there.
    chosen : Signal
        The request that begins in this cycle is followed.
    tick, pick : Value
        As given.
    name : Signal
        While ``waiting``, the name of that request.
    ahead : Signal
        How many that began before it have not ended.
    level : Signal
        How many are under way from earlier cycles.
    overflow, spurious : Signal
        As of `ProbeCounter`; with names, of that of the request that is followed, and an end
        without a request is not told from that of a request that is not followed.
    declared : dict of str to Value
        What is declared of all requests that a proof is about, by name.
    kept : tuple of Value
        As there.
    """

    def __init__(self, start, end, *, tick, in_flight, width, pick, ids=None):
        self._start, self._end, self.tick = map(Value.cast, (start, end, tick))
        self.pick, self.chosen = Value.cast(pick), Signal()
        self.ids = None if ids is None else tuple(map(Value.cast, ids))
        self.name = Signal(max(map(len, self.ids)) if self.ids else 1)
        self.waiting, self.age = Signal(), Signal(width)
        self.busy, self.before = Signal(), Signal(width)
        self.ahead, self.level = Signal(range(in_flight + 1)), Signal(range(in_flight + 1))
        self._in_flight = in_flight
        self.overflow, self.spurious = Signal(), Signal()
        self.declared: dict[str, Value] = {}
        self.kept: tuple[Value, ...] = ()
        mine = (Mux(self.busy, self.ahead, self.level) == 0 if self.ids is None
                else self.name == self.ids[1])
        self.closes = self.waiting & self._end & mine

    def elaborate(self, platform):
        m = Module()
        ends = Signal()
        m.d.comb += [
            ends.eq(self._end & ((self.level != 0) | self._start)),
            self.chosen.eq(self._start & self.pick & ~self.busy),
            self.waiting.eq(self.busy | self.chosen),
            self.age.eq(Mux(self.busy, self.before, 0) + self.tick),
        ]
        if self.ids is None:
            m.d.sync += self.level.eq(self.level + self._start - ends)
            m.d.comb += [
                self.overflow.eq(self._start & (self.level == self._in_flight) & ~ends),
                self.spurious.eq(self._end & ~ends),
            ]
        else:  # the ends of other names than the followed one's are not looked at
            m.d.comb += self.overflow.eq(self._start & self.busy & (self.ids[0] == self.name)
                                         & ~self.closes)
            kept = Signal.like(self.name)
            m.d.sync += kept.eq(self.name)
            m.d.comb += self.name.eq(Mux(self.busy, kept, self.ids[0]))
        with m.If(self.closes):  # as after reset, so that no state is told apart by what is over
            m.d.sync += [self.busy.eq(0), self.before.eq(0), self.ahead.eq(0)]
        with m.Elif(self.waiting):
            m.d.sync += [self.busy.eq(1), self.before.eq(self.age)]
            if self.ids is None:
                m.d.sync += self.ahead.eq(Mux(self.busy, self.ahead, self.level) - ends)
        return m


def counters_of(m, probe, target, *, name, declared=None, now=None, classed=False, width=48,
                picks=None, places=None):
    """Place the hardware of ``probe`` in ``m``, and return it: a `ProbeCounter` for each index.

    Parameters
    ----------
    m : Module
        Where it goes.
    target : wiring.Component
        Whose ports it looks at.
    name : str
        Of the submodules, and in messages.
    declared : callable
        From a name and the number of a place, the value of what requesters declare there.
    now : Signal or None
        Number of the cycle; None: every counter has its own.
    classed : bool
        Whether only requests are marked as ``shown`` that began when they were declared to be of a
        class: while ``declared("on", place)``.
    width : int
        Bits of the counts.
    picks : Value or None
        A free bit for each counter. With these, one request of several that are under way is
        followed, by a `FollowedCounter`.
    places : sequence of int or None
        The numbers of the places that are counted; None: all of them.
    """
    counters: list = []
    for place, index in enumerate(probe.indexes(target)):
        if places is not None and place not in places:
            continue
        label = "_".join([name, *map(str, index.values())])
        kept: list[Value] = []
        value = reader(m, probe, target, place, index, declared, name, kept)
        ids = (value(probe.id), value(probe.end_id or probe.id)) if probe.id else None
        in_flight = (probe.in_flight if isinstance(probe.in_flight, int)
                     else getattr(target, probe.in_flight))
        counts = ~ResetSignal()
        if classed:  # before, requests need not be those that the probe tells apart
            armed = Signal(name=f"{label}_armed")
            follows = armed | declared("on", place) | declared("follow", place)
            m.d.sync += armed.eq(follows)
            counts &= follows
        if picks is not None and (in_flight > 1 or ids) and probe.follows_one:
            counter = FollowedCounter(
                _event(value(probe.start)) & counts, _event(value(probe.end)) & counts,
                tick=_event(value(probe.ticks)) if probe.ticks else 1, in_flight=in_flight,
                width=width, pick=picks[len(counters)], ids=ids)
        else:
            counter = ProbeCounter(
                _event(value(probe.start)) & counts, _event(value(probe.end)) & counts,
                starts=value(probe.starts), ends=value(probe.ends),
                tick=_event(value(probe.ticks)) if probe.ticks else 1, in_flight=in_flight,
                width=width, ids=ids, now=now, in_turn=probe.in_turn, ahead=value(probe.ahead),
                shown=declared("on", place) if classed else 1)
        counter.kept = tuple(kept)
        if picks is not None:
            counter.declared = {name: declared(name, place) for name in probe.declared()}
        m.submodules[label] = counter
        counters.append(counter)
    return counters


def followed_one(m, probe, target, *, index, kind, pick):
    """Place a `FollowedCounter` of one of the probe's places in ``m``; it does not count ages.

    Parameters
    ----------
    index : mapping
        The place.
    kind : mapping
        What requests have: those of other parameters, where ports show these, are not meant.
    pick : Value
        As of `FollowedCounter`.

    Returns
    -------
    FollowedCounter, Value
        The counter, and whether a request that begins now is of that kind.
    """
    value = reader(m, probe, target, 0, index, lambda name, _: Const(kind[name]), "followed")
    counter = m.submodules.followed = FollowedCounter(
        _event(value(probe.start)), _event(value(probe.end)),
        tick=_event(value(probe.ticks)) if probe.ticks else 1, width=0, pick=pick,
        in_flight=(probe.in_flight if isinstance(probe.in_flight, int)
                   else getattr(target, probe.in_flight)),
        ids=(value(probe.id), value(probe.end_id or probe.id)) if probe.id else None)
    here = Const(1)
    for name, text in probe.request.items():
        if name in kind:
            here &= value(text) == kind[name]
    return counter, here


def prints(m, number, probe, target, counters, *, name, declared, count, observer=None):
    """Make the counters of ``probe`` print each request that they see; see `counters_of`.

    The lines of each place are numbered, those where requests begin and those where they end, so
    that none can be lost, doubled or moved without notice. Resets do not change the numbers.

    Parameters
    ----------
    number : int
        What the printed lines call the probe.
    count : Value
        One bit: print how many lines there have been before this cycle.
    observer : wiring.Component or None
        The probe's observer.
    """
    for place, (index, counter) in enumerate(zip(probe.indexes(target), counters, strict=True)):
        value = reader(m, probe, target, place, index, declared, f"{name}_shows",
                        observer=observer)
        shows = [value(text) for text in probe.request.values()]
        met = [value(text) for text in probe.conditions.values()]
        label = "_".join([name, *map(str, index.values())])
        # of other ticks than cycles, how many there were: the age of what never ends follows
        before, upto = ([counter.ticked], [counter.upto]) if probe.ticks else ([], [])
        begun, ended = (Signal(_LINE_BITS, reset_less=True, name=f"{label}_{lines}")
                        for lines in ("begun", "ended"))
        m.d.sync += [
            Assert(~counter.overflow, f"{label}: more requests under way than it can follow"),
            Assert(~counter.spurious, f"{label}: an end without a request"),
        ]
        with m.If(counter.begins & counter.fresh_shown):
            m.d.sync += [begun.eq(begun + 1), _line(f"{MARK} {number} {place}", begun, counter.now,
                                                    *shows, *before)]
        with m.If(counter.closes & counter.shown):
            m.d.sync += [ended.eq(ended + 1), _line(
                f"{MARK}. {number} {place}", ended, counter.now + 1 - counter.lasted, counter.now,
                counter.age, *met, *upto)]
        with m.If(count):
            m.d.sync += _line(f"{MARK}= {number} {place}", counter.now, begun, ended)


def _line(mark, *numbers):
    return Print(Format(" ".join([mark, *["{}"] * len(numbers)]), *numbers))


def claim_bound(m, what, counters, limit, *, exactly=False):
    """Claim in ``m`` that no request lasts longer than ``limit``, ended or not.

    With ``exactly``, as of a prediction, none lasts shorter either. So that this is about every
    request, there are never more under way than the probe says, and none ends that has not begun;
    and so that it is about some, one can end at each of the probe's places.
    """
    for counter in counters:
        m.d.sync += [
            Assert(~counter.waiting | (counter.age <= limit),
                   f"{what}: a request takes more than {limit}"),
            Assert(~counter.overflow, f"{what}: more requests under way than its probe says"),
            Assert(~counter.spurious, f"{what}: an end without a request"),
            Cover(counter.closes, f"{what}: the end of a request"),
        ]
        if exactly:
            m.d.sync += Assert(~counter.closes | (counter.age >= limit),
                               f"{what}: a request takes less than {limit}")


def reader(m, probe, target, place, index, declared, name, kept=None, observer=None, paths=None):
    """From an expression to its hardware, at one of the probe's places.

    ``kept`` gets the registers of functions such as ``past``, ``paths`` what is read of ports.
    """
    label = "_".join([name, *map(str, index.values())])
    kept = [] if kept is None else kept
    return lambda text: _value(m, text, target, index, lambda what: declared(what, place), label,
                               kept, observer, paths)


def _event(value):
    return value.any() if len(value) != 1 or value.shape().signed else value


def _value(m, text, target, index, declared, label, kept, observer=None, paths=None):
    """The hardware of an expression."""
    def resolve(path):
        if path[0] == "declared":
            return declared(path[1])
        if path[0] == "observer" and observer is not None:
            return Value.cast(_at(observer, path[1:]))
        if path[0] not in target.signature.members:
            number = getattr(target, path[0], None)
            if isinstance(number, int) and len(path) == 1:
                return Value.cast(number)
            raise LookupError(f"{type(target).__name__} has the members "
                              f"{', '.join(target.signature.members)}")
        if paths is not None:
            paths.append(path)
        return Value.cast(_at(target, path))

    def register(like, what):
        kept.append(Signal.like(Value.cast(like), name=f"{label}_{what}_{len(kept)}", init=0))
        return kept[-1]

    def past(now):
        before = register(now, "past")
        m.d.sync += before.eq(now)
        return before

    def first(event, again):
        event, again = _event(Value.cast(event)), _event(Value.cast(again))
        seen = register(event, "first")
        m.d.sync += seen.eq((seen | event) & ~again)
        return event & ~seen

    def held(now, when):
        before = register(now, "held")
        value = Mux(_event(Value.cast(when)), now, before)
        m.d.sync += before.eq(value)
        return value

    def nth(number, divisor):
        number, divisor = Value.cast(number), Value.cast(divisor)
        most = (1 << len(divisor)) + (1 << len(number)) - 1
        before = register(Signal(most.bit_length()), "sum")
        upto = Signal.like(before, name=f"{label}_upto_{len(kept)}")
        m.d.comb += upto.eq(before + number)
        m.d.sync += before.eq(Mux(upto >= divisor, upto - divisor, upto))
        return upto >= divisor

    def every(cycles):
        if not isinstance(cycles, Const) or cycles.value < 1:
            raise ExpressionError(f"{text!r}: every(...) needs a whole number of at least 1")
        left = register(Signal(range(cycles.value + 1)), "left")  # 0: the very first cycle
        last = left == cycles.value - 1
        fresh = register(last, "every")
        m.d.sync += [left.eq(Mux(last, 0, left + 1)), fresh.eq(last)]
        return fresh

    functions: dict[str, Callable[..., Value]] = {
                 "past": past, "any": lambda x: Value.cast(x).any(),
                 "count": lambda x: sum(Value.cast(x)), "first": first, "held": held, "nth": nth,
                 "every": lambda x: every(Value.cast(x)),
                 "rose": lambda x: Value.cast(x)[0] & ~past(Value.cast(x)[0]),
                 "fell": lambda x: ~Value.cast(x)[0] & past(Value.cast(x)[0])}
    return Value.cast(parse(text).value(resolve, functions, index,
                                        lambda name: _many(getattr(target, name))))


def _many(part):
    return part if isinstance(part, int) else len(part)


def _at(part, path):
    """Follow a path of fields and indexes; where a slice chooses several elements, concatenate."""
    for number, step in enumerate(path):
        if isinstance(step, slice):
            return Cat(_at(part[element], path[number + 1:])
                       for element in range(len(part))[step])
        if isinstance(step, str) and not isinstance(part, Value):
            part = part[step] if isinstance(part, data.View) else getattr(part, step)
        elif isinstance(step, int):
            part = part[step]
        else:
            raise LookupError(f"a signal of {len(part)} bits has no field {step}")
    return part
