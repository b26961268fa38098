"""Bound checker of a DRAM controller: no command comes before its time, whatever is asked for.

Simulations are watched by `cyclebound.tb.dram.timing_properties.DramTimingCheck`, which knows all
rules; here are those that hold by the arbiter's counters alone, for induction.

Ref: golden/dram/rules.py, for the rules and their sources.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Mux

from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.tb.dram.timing_properties import DramAgeCheck
from cyclebound.tb.watcher import Watcher

__all__ = ["DramDistancesProof"]

# by rule: the arbiter's counter that sees to it
_COUNTERS = {"nRC": "rc", "nRRD_S": "rrd_s", "nRRD_L": "rrd_l", "nRP": "rp", "nRCD": "rcd",
             "nCCD_S": "ccd_s", "nCCD_L": "ccd_l", "nRAS": "ras"}


class _Distances(DramAgeCheck):
    """The rules that hold whatever heads the arbiter is given.

    Left out are those that rest on a request's having one direction, or on its beginning when the
    one before is over: from a read or write to a precharge or activate, the turns of the bus, and
    what comes after a refresh but the next one.
    """

    def keeps(self, rule):
        if Command.PREA in (rule.previous, rule.following):  # the controller has none
            return False
        return rule.name in _COUNTERS or rule.window > 1 or rule.following == Command.REF

    def _banks(self, m, pins):
        pass

    def _bus(self, m, pins):
        pass


class DramDistancesProof(Watcher):
    """No command on the pins before its time, whatever requests, indexes and data do.

    Of the rules of a part, those from an activate or a precharge on, those between reads and
    between writes, the window of four activates, and all that a refresh has to wait for. The others
    are watched in simulations.

    Parameters
    ----------
    target : wiring.Component
        What has the pins.
    arbiter : CommandArbiter
        The arbiter in it.
    powers_up : bool
        The arbiter is held in reset until ``ready``; no command is before it.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, arbiter, *, powers_up=False):
        super().__init__(target)
        self._powers_up = powers_up
        self._arbiter = arbiter
        self.timing = _Distances(part=arbiter.part)

    def elaborate(self, platform):
        m = Module()
        arbiter, pins, window = self._arbiter, self.command, self._arbiter.window
        m.submodules.timing = timing = self.timing
        m.d.comb += timing.command.eq(pins)
        for (level, _), (record, ages, after) in timing.stores.items():
            longest = max(delay for _, delay in after)
            for n, age in enumerate(ages):
                m.d.sync += Assert((age != 0) & (age <= longest), "invariant: an age")
                if self._powers_up:
                    m.d.sync += Assert(self.ready | (age == longest),
                                       "invariant: nothing before the power-up is over")
                for (name, delay), following in after.items():
                    self._waits(m, level, n, name, delay, following, record[n], age)
        m.d.sync += [
            Assert(pins.op != Command.PREA, "all banks are precharged at once"),
            Assert((arbiter.priority_mask[:-1] & ~arbiter.priority_mask[1:]) == 0,
                   "invariant: the priority mask is a thermometer"),
            Cover(pins.op == Command.REF, "a refresh"),
        ]
        if self._powers_up:
            m.d.sync += Assert(self.ready | (pins.op == Command.NOP),
                               "a command before the power-up is over")
        if activates := len(timing.past):
            now = pins.op == Command.ACT
            m.d.sync += [
                Assert(window.past == Cat(now, timing.past)[:activates], "invariant: window"),
                Assert(window.in_window == sum(window.past), "invariant: in the window"),
                Assert(window.ready == (window.in_window < window.most), "invariant: window ready"),
                *([Assert(self.ready | ~timing.past.any(), "invariant: window before power-up")]
                  if self._powers_up else []),
                Assert(window.ready | ~arbiter.legal_act.any(), "invariant: window is kept"),
            ]
        return m

    def _waits(self, m, level, n, name, delay, following, record, age):
        """What may not follow yet, is not legal; and a counter has left what the age lacks."""
        arbiter, part = self._arbiter, self._arbiter.part
        over = Mux(record, delay <= 1, age >= delay - 1)  # it may be chosen now
        if Command.REF in following:
            holdoff = arbiter.holdoff
            m.d.sync += Assert(Mux(record, holdoff >= delay - 1, age + holdoff >= delay - 1),
                               f"invariant: a refresh waits, {name}")
        legal = {Command.ACT: arbiter.legal_act, Command.PRE: arbiter.legal_pre,
                 **dict.fromkeys(CAS, arbiter.legal_cas)}
        mine = [bank for bank in range(part.banks) if level == "rank"
                or n == (bank if level == "bank" else part.bank_group(bank))]
        for bits in {id(bits): bits for command, bits in legal.items()
                     if command in following}.values():
            m.d.sync += Assert(over | ~Cat(bits[bank] for bank in mine).any(),
                               f"invariant: {level} {name} is kept")
        counter = arbiter.counters.get(
            _COUNTERS[name] + ("" if level == "rank" else f"_{n}")) if name in _COUNTERS else None
        if counter is not None and {*following} & {*legal}:
            m.d.sync += [
                Assert(~record | counter.start, f"invariant: start of {level} {name}"),
                Assert((age >= delay - 1) | (~counter.ready & (counter.left >= delay - 2 - age)),
                       f"invariant: {level} {name}"),
            ]
