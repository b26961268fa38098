"""Timing checker of the DRAM pins: every distance, the banks' state, the data bus, refreshes.

It keeps the cycle of the last command of each kind, for each bank, each bank group and the rank,
and looks at the clock when the next one comes. (The command arbiter counts down instead.)

Ref: golden/dram/rules.py, which has the table and its sources.
"""

from itertools import pairwise

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from cyclebound.golden.dram.device import MOST_POSTPONED
from cyclebound.golden.dram.rules import CAS, READS, Command, rules
from cyclebound.golden.dram.timing import part_named

__all__ = ["MOST_INTERVALS", "CommandPins", "DramAgeCheck", "DramTimingCheck"]

MOST_INTERVALS = MOST_POSTPONED + 1  # from one REF to the next
_TIME_BITS = 40     # of the clock that commands are stamped with; it must not wrap


class CommandPins(data.StructLayout):
    """A command as the pins show it: ``op`` is a `Command`; ``column`` counts bursts."""

    def __init__(self, *, part):
        super().__init__({"op": Command, "bank": (part.banks - 1).bit_length(),
                          "row": (part.rows - 1).bit_length(),
                          "column": (part.bursts_per_row - 1).bit_length()})


class DramTimingCheck(wiring.Component):
    """Every rule of a part, from reset on, when all its banks are closed.

    A command that breaks a rule fires its assertion at the end of the cycle in which it is on the
    pins; the message begins with the rule's name. After the first violation it says nothing of
    use. Its clock wraps after 2 ** 40 cycles.

    It is the checker of anything that has a port ``command``, and it may stand beside a component
    in a larger one.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    refreshed : bool
        Demand a REF at least every ``MOST_INTERVALS`` * nREFI cycles.

    Members
    -------
    command : In(CommandPins)
        The pins.

    Attributes
    ----------
    now : Signal
        Cycles since reset.
    open, opened : Signal
        The banks that are open, a bit each; and those that will be in the next cycle.
    busy : Signal
        A bit for each cycle to come in which data are on the bus; bit 0 is this cycle.
    """

    def __init__(self, *, part, refreshed=True):
        self.part, self.refreshed = part_named(part), bool(refreshed)
        super().__init__({"command": In(CommandPins(part=self.part))})
        self.now = Signal(_TIME_BITS)
        self.open, self.opened = Signal(self.part.banks), Signal(self.part.banks)
        self.busy = Signal(self.part.nCAS + self.part.nBURST)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.now.eq(self.now + 1)
        op = self.command.op
        pins = {command: Signal(name=command.name.lower()) for command in Command}
        for command, on in pins.items():
            m.d.comb += on.eq(op == command)
        m.d.sync += Assert(op <= max(Command), "command bus: no such command")

        for (level, window, before), after in self._stores().items():
            self._watch(m, pins, level, window, before, after)
        self._banks(m, pins)
        self._bus(m, pins)
        if self.refreshed:
            self._interval(m, pins)
        return m

    def keeps(self, rule):
        """Whether a rule is checked."""
        return True

    def _stores(self):
        """Group the rules by the past commands that they look at, so that such rules share a store.

        Maps (level, window, previous commands) to {(name, distance): following commands}.
        """
        shared: dict[tuple, list] = {}
        for rule in filter(self.keeps, rules(self.part)):
            key = rule.level, rule.window, rule.name, rule.delay(self.part), rule.following
            shared.setdefault(key, []).append(rule.previous)
        stores: dict[tuple, dict[tuple[str, int], list]] = {}
        for (level, window, name, delay, following), previous in shared.items():
            store = stores.setdefault((level, window, tuple(previous)), {})
            store.setdefault((name, delay), []).append(following)
        return stores

    def _watch(self, m, pins, level, window, before, after):
        """The last (or, of a window, the fourth last) of the commands ``before``."""
        label = f"{level}_{window}_{'_'.join(command.name.lower() for command in before)}"
        record, recent = Signal(name=f"record_{label}"), Signal(name=f"recent_{label}")
        age = Signal(_TIME_BITS, name=f"age_{label}")
        m.d.comb += record.eq(Cat(pins[command] for command in before).any())
        if level == "rank":
            past = [Signal(_TIME_BITS, name=f"{label}_{n}") for n in range(window)]
            seen = Signal(window, name=f"seen_{label}")
            with m.If(record):
                m.d.sync += [seen.eq(Cat(1, seen)[:window]), past[0].eq(self.now)]
                m.d.sync += [older.eq(newer) for newer, older in pairwise(past)]
            m.d.comb += [recent.eq(seen[-1]), age.eq(self.now - past[-1])]
        else:
            count = self.part.banks if level == "bank" else self.part.bank_groups
            where = self.command.bank[:(count - 1).bit_length()]
            m.submodules[label] = memory = Memory(shape=_TIME_BITS, depth=count, init=[])
            write, read = memory.write_port(), memory.read_port(domain="comb")
            seen = Signal(count, name=f"seen_{label}")
            m.d.comb += [
                write.addr.eq(where), write.data.eq(self.now), write.en.eq(record),
                read.addr.eq(where), age.eq(self.now - read.data),
                recent.eq(seen.bit_select(where, 1)),
            ]
            with m.If(record):
                m.d.sync += seen.bit_select(where, 1).eq(1)
        for (name, delay), following in after.items():
            follows = Cat(pins[command] for command in following).any()
            m.d.sync += Assert(~(follows & recent & (age < delay)),
                               _says(name, before, following, level, delay))

    def _banks(self, m, pins):
        """Track which banks are open; a precharge of a closed one is harmless."""
        mine, is_open = Signal(self.part.banks), Signal()
        cas, closes = Signal(), Signal()
        m.d.comb += [
            mine.eq(1 << self.command.bank), is_open.eq((self.open & mine).any()),
            cas.eq(Cat(pins[command] for command in CAS).any()),
            closes.eq(pins[Command.RDA] | pins[Command.WRA] | pins[Command.PRE]),
        ]
        m.d.sync += [
            Assert(~cas | is_open, "bank is closed: RD, RDA, WR, WRA"),
            Assert(~pins[Command.ACT] | ~is_open, "bank is open: ACT"),
            Assert(~pins[Command.REF] | ~self.open.any(), "banks are open: REF"),
        ]
        m.d.comb += self.opened.eq(self.open)
        with m.If(pins[Command.ACT]):
            m.d.comb += self.opened.eq(self.open | mine)
        with m.Elif(closes):
            m.d.comb += self.opened.eq(self.open & ~mine)
        with m.Elif(pins[Command.PREA]):
            m.d.comb += self.opened.eq(0)
        m.d.sync += self.open.eq(self.opened)

    def _bus(self, m, pins):
        """No two bursts are on the data bus at the same time."""
        part, busy = self.part, self.busy
        claimed = Signal.like(busy)
        reads = Cat(pins[command] for command in READS).any()
        writes = pins[Command.WR] | pins[Command.WRA]
        data_cycles = (1 << part.nBURST) - 1
        with m.If(reads):
            m.d.comb += claimed.eq(data_cycles << part.nCAS)
        with m.Elif(writes):
            m.d.comb += claimed.eq(data_cycles << part.nCWD)
        m.d.sync += busy.eq((busy | claimed) >> 1)
        m.d.sync += Assert((busy & claimed) == 0, "data bus: two bursts at once")

    def _interval(self, m, pins):
        """The greatest distance between refreshes; the first counts from reset."""
        most = MOST_INTERVALS * self.part.nREFI
        since = Signal(range(most + 2))  # cycles from the last REF to this one
        with m.If(pins[Command.REF]):
            m.d.sync += since.eq(1)
        with m.Elif(since <= most):
            m.d.sync += since.eq(since + 1)
        m.d.sync += Assert(since <= most, f"refresh interval: more than {most} cycles without REF")


class DramAgeCheck(DramTimingCheck):
    """`DramTimingCheck` for proofs by induction: its state has no history that cannot have been.

    It keeps ages instead of times, up to the greatest distance that matters, and of a window every
    cycle. It does not know the greatest distance between refreshes.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.

    Members
    -------
    As of `DramTimingCheck`.

    Attributes
    ----------
    stores : dict
        By (level, previous commands): whether one is on the pins, by bank or bank group (for the
        rank: as one);
        cycles since the last one before; {(name, distance): following commands}.
    past : Signal
        Cycles of the window before this one in which there was an activate, the last one lowest.
    """

    def __init__(self, *, part):
        super().__init__(part=part, refreshed=False)
        self.past = Signal(max(self.part.nFAW - 1, 0))
        self.stores = {}
        for (level, window, before), after in self._stores().items():
            longest = max(delay for _, delay in after)
            count = {"bank": self.part.banks, "group": self.part.bank_groups}.get(level, 1)
            label = f"{level}_{'_'.join(command.name.lower() for command in before)}"
            ages = [Signal(range(longest + 1), init=longest, name=f"age_{label}_{n}")
                    for n in range(count)]
            if window == 1:
                self.stores[level, before] = Signal(count, name=f"record_{label}"), ages, after

    def _watch(self, m, pins, level, window, before, after):
        on = Cat(pins[command] for command in before).any()
        if window > 1:
            [((name, delay), following)] = after.items()
            m.d.sync += [self.past.eq(Cat(on, self.past)),
                         Assert(~on | (sum(self.past) < window),
                                _says(name, before, following, level, delay))]
            return
        record, ages, _ = self.stores[level, before]
        longest = max(delay for _, delay in after)
        for n, age in enumerate(ages):
            mine = 1 if level == "rank" else (
                self.command.bank[:(len(ages) - 1).bit_length()] == n)
            m.d.comb += record[n].eq(on & mine)
            m.d.sync += age.eq(Mux(record[n], 1, age + (age != longest)))
            for (name, delay), following in after.items():
                follows = Cat(pins[command] for command in following).any() & mine
                m.d.sync += Assert(~follows | (age >= delay),
                                   _says(name, before, following, level, delay))


def _says(name, before, following, level, delay):
    """The message of a rule."""
    before, following = (", ".join(command.name for command in commands)
                         for commands in (before, following))
    return f"{name}: {before} to {following}, {level}, {delay} cycles"
