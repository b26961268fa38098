"""A TDMA gate of SHMAC's grid: its model, and how long accesses take that it lets in.

In which cycles the gates of a grid are open, and why nothing that they let in ever waits for
another core's, is `cyclebound.golden.shmac.gate_table`.
"""

from typing import Annotated

from cyclebound.golden.bound import Range, check_count, prediction
from cyclebound.golden.shmac.network_bounds import alone

__all__ = ["GateModel", "gated_read", "gated_write", "let_in"]

_SOURCE = "this project: TDMA windows as of memory-composition, III.B, at SHMAC's masters"


class GateModel:
    """Golden model of a tile's gate: what it lets through in a cycle.

    Parameters
    ----------
    period, opens : int
        When it lets a request in.
    evens : bool
        It makes the slave's time even: for a RAM that its core uses past the router.
    """

    def __init__(self, *, period: int, opens: int, evens: bool) -> None:
        self._until, self._period, self._evens = opens, period, evens
        self._waited = False
        self.holds = False
        """A response is held back in this cycle, whether or not there is one."""

    @property
    def open(self) -> bool:
        """A request may go in this cycle."""
        return self._until == 0

    def step(self, *, asked: bool, taken: bool) -> None:
        """One cycle: whether a request is on offer to the slave, and whether the slave takes it."""
        self._until = (self._until or self._period) - 1
        self.holds = self._evens and asked and taken and not self._waited
        self._waited = asked and not taken


# The claims

@prediction(formula="(opens - cycle) mod period + 1", source=_SOURCE)
def let_in(*, period: Annotated[int, Range(1, says="cycles of the table")],
           opens: Annotated[int, Range(0, says="the gate's cycle")],
           cycle: Annotated[int, Range(0, says="cycle since reset, modulo the period, in which the "
                                               "request is first on offer")]) -> int:
    """Cycles from a request's offer to the gate to the one in which it goes, both included.

    Derivation: the network takes what comes in an open cycle, at once. So `period` at most.
    Raises `NotCovered` out of its ranges, and unless both cycles are below the period.
    """
    for name, value in (("opens", opens), ("cycle", cycle)):
        check_count(name, value, least=0, most=period - 1)
    return (opens - cycle) % period + 1


def _check_access(period: int, turn: int) -> None:
    check_count("period", period)
    check_count("turn", turn, most=2)


def gated_write(*, period: int, links: int, turn: int) -> int:
    """A plain write, until its slave takes it, at most, whatever others do: T - 1 + 3 (h + 1) + S.

    Counted from the first cycle in which it is on offer to the gate to the one in which the slave
    takes it, both included. Derivation: closed for T - 1 cycles at most; then its way (`alone`),
    and at the slave a cycle more where the RAM's core may come before it (``turn``:
    `cyclebound.golden.shmac.gate_table.turn`).
    Raises `NotCovered` for a period below 1, links below 0, and a turn that is neither 1 nor 2.
    """
    _check_access(period, turn)
    return period - 1 + alone(links=links) + turn - 1


def gated_read(*, period: int, links: int, turn: int) -> int:
    """A read, LL or SC, until its core has the response, at most: T - 1 + 6 (h + 1) + S + 1.

    Counted from the first cycle in which it is on offer to the gate to the one in which the
    core has the response, both included. Derivation: closed for T - 1 cycles at most; then 3
    cycles for each router, the slave's S until its response is on offer, and as many back.
    Raises `NotCovered` as `gated_write`.
    """
    _check_access(period, turn)
    return period - 1 + 2 * (alone(links=links) - 1) + turn + 1
