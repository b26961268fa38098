"""How long an indexed request can still take, whatever comes: when a search may leave a state."""

from cyclebound.golden.dram.bounds import recovery
from cyclebound.golden.dram.timing import Part
from cyclebound.tools.dram.index_gaps import least_saved
from cyclebound.tools.dram.index_openings import Openings, latest_openings, latest_unforced
from cyclebound.tools.dram.index_steps import CLOSED, State

__all__ = ["Latest"]


class Latest:
    """The latest end of requests of ``bursts`` words over ``rows`` rows, at most nB.

    Attributes
    ----------
    spare : int
        Words without any of which nothing that was asked so far would have been answered in
        another way, but for nCCD_L each.
    """

    def __init__(self, part: Part, bursts: int, rows: int, write: int) -> None:
        self.part, self.bursts, self.rows = part, bursts, rows
        self.closing = recovery(part, write)
        self.cycles = 0 if write else part.nRC
        self.in_group = -(-rows // part.bank_groups)
        self.spare = bursts

    def delay(self, state: State, cycle: int) -> int:
        """No request of this state, which is not done, takes longer; ``cycle`` is the state's.

        After the last pause of more than nCCD_L, column commands are nCCD_L apart at most, and
        some are nearer (`least_saved`); without one, the next comes nCCD_L after the last. What
        ends it is the first one of a bank that has just opened, nRCD after its activate: an open
        bank with a word makes no pause, and a word that arrives later in one makes a shorter one.
        All words that banks opened earlier have now are done by then, and one at least of each bank
        that opens before. So for each bank that may be the one, in the order in which they open,
        the closed ones with the fewest words first. How late they open: `latest_openings`. Should
        none wait in a clock in which one could open, a word came to an open bank: a clock is lost,
        and nCCD_L gained. What comes after that may go in any order (`latest_unforced`). Should a
        FIFO of an open bank have been full: `check_search`.
        """
        part, step = self.part, self.part.nCCD_L
        left, ready, soonest = state.left, [], step
        pending, closed, groups = [], [], []
        asked = sum(len(banks) for _, _, banks in state.groups)
        unasked = self.rows - asked if state.left else 0
        for group, (activate, column, banks) in enumerate(state.groups):
            waits = 0
            for entries, opens, _ in banks:
                left += entries
                if opens == CLOSED:
                    closed.append(entries)
                    waits += 1
                elif opens:
                    pending.append((opens, group, entries))
                elif entries:
                    ready.append((0, group, entries))
                    soonest = min(soonest, max(state.access, column))
            absent = min(unasked, self.in_group - len(banks))
            groups.append((activate, waits, absent) if waits or absent else (0, 0, 0))
        self.spare = min(self.spare, state.left - 1)
        closed = sorted([0] * unasked + closed)
        pending.sort()
        before = sum(entries for _, _, entries in ready)
        if not ready:  # the next command may come without a longer pause all the same
            soonest = max(0, step - state.since)
        access = -state.since
        if ready or not pending or pending[0][0] <= soonest:  # before the next longer pause
            access = soonest + step * (left - 1) - least_saved(part, soonest, (*ready, *pending))
        for number, (opens, _, entries) in enumerate(pending):
            if left > before:
                access = max(access, opens + step * (left - before - 1) - least_saved(
                    part, opens, tuple(pending[number:])))
            before += entries
        activate, rest = -state.ages[0], left - before
        self.spare = min(self.spare, rest - 1)
        if rest > 0 and closed:
            openings = Openings(state.ages, max(0, part.nRCD - cycle), tuple(sorted(groups)))
            forced, free = latest_openings(part, openings), latest_unforced(part, openings)
            # a clock in which none waits brings a word to an open bank
            times = [max(each, other - step + 1) for each, other in zip(forced, free, strict=True)]
            words = rest
            for opens, entries in zip(times, closed, strict=False):
                self.spare = min(self.spare, words - 1)
                if words <= 0:
                    break
                access = max(access, opens + part.nRCD + step * (words - 1))
                words -= max(1, entries)
            if self.cycles:
                arrive = state.left - 1
                if arrive > max(0, part.nRRD_S - state.ages[0], part.nFAW - state.ages[3]):
                    forced = latest_unforced(part, openings, arrive)
                activate = max(activate, *forced[:min(rest, len(closed))])
        served, cycled = access + self.closing, activate + self.cycles
        if self.cycles and min(served, cycled) + 1 > max(served, cycled):
            served += 1
        return cycle + max(served, cycled)

    def settled(self, least: int) -> int | None:
        """The least number of words with which nothing asked would have been answered in another
        way, had ``least`` been nCCD_L less for each that is missing.

        Of reads, only if no activate can be late enough to matter, with as few words.
        """
        if self.spare < 0:
            return None
        part, bursts = self.part, self.bursts
        if self.cycles:
            long_ago, group = (part.nFAW,) * 4, (0, 0, part.banks // part.bank_groups)
            activate = latest_unforced(part, Openings(long_ago, part.nRCD,
                                                      (group,) * part.bank_groups))[-1]
            # in a request of b words it is b - 1 later at most
            while (bursts > self.bursts - self.spare and activate + bursts - 2 + self.cycles
                   < least - part.nCCD_L - 1):
                bursts, least = bursts - 1, least - part.nCCD_L
            return bursts if activate + bursts - 1 + self.cycles < least - 1 else None
        return bursts - self.spare
