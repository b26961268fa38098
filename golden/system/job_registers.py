"""Golden model of the registers by which a core starts jobs, cycle by cycle, and their bounds.

Written from the table of registers (`cyclebound.golden.system.job_table`). A request is taken if no
response waits; what it does shows a cycle later: the response, the strobe ``start``, the
word on offer, the operand. A job is under way from the cycle of ``start`` to the one in which
the tile is idle; in that of ``start`` the tile is not looked at, for it cannot know yet.
"""

from dataclasses import dataclass

from cyclebound.golden.bound import prediction
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket
from cyclebound.golden.system.job_table import Control, JobRegister, Status, job_table

__all__ = ["JobRegistersModel", "job_end", "job_start", "register_access"]

_MOST = (1 << 32) - 1
_SOURCE = "this project"


@prediction(formula="2", source=_SOURCE)
def register_access() -> int:
    """Cycles from taking a request that has a response to that response on offer, both included.

    It is made in the cycle in which the request is taken, and is in a register from the next on.
    """
    return 2


@prediction(formula="2", source=_SOURCE)
def job_start() -> int:
    """Cycles from taking the write of START to the strobe at the tile, both included.

    The strobe is a register, which a START that is not refused sets for the next cycle.
    """
    return 2


@prediction(formula="2", source=_SOURCE)
def job_end() -> int:
    """Cycles from the first one in which the tile is idle after its job to the first in which a
    read of STATUS, or the next START, finds it so, both included."""
    return 2


@dataclass
class JobRegistersModel:
    """The registers of a tile, a `step` for each cycle.

    Attributes
    ----------
    operands : int
        How many the tile has.
    response : ResponsePacket or None
        On offer in this cycle.
    start : bool
        The strobe in this cycle.
    word : int or None
        The word on offer to the tile.
    kept : list of int
        The operands.
    busy : bool
        A job is under way.
    """

    operands: int

    def __post_init__(self) -> None:
        self.response: ResponsePacket | None = None
        self.start = self.busy = False
        self.word: int | None = None
        self.kept = [0] * self.operands
        self._rows = {row.address: row for row in job_table(operands=self.operands).rows}
        self._marks: set[Status] = set()
        self._cycles = 0

    def ready(self, *, passed: bool) -> bool:
        """Whether a request is taken in this cycle; ``passed``: the response on offer is."""
        return self.response is None or passed

    def step(self, request: RequestPacket | None, *, passed: bool, idle: bool, fault: bool,
             takes: bool) -> None:
        """One cycle: the request that is taken in it, whether the response on offer is, what the
        tile shows, and whether it takes a word."""
        busy, was_start = self.busy, self.start
        looks = busy and not was_start
        if passed:
            self.response = None
        if takes:
            self.word = None
        error, value = False, 0
        done: tuple[int, int] | None = None  # a write that is carried out
        if request is not None:
            error = (request.sync or request.interrupt or request.strobes != 15
                     or request.address not in self._rows
                     or (request.write and self._refuses(request.address, request.data)))
            if not error and request.write:
                done = request.address, request.data
            elif not error:
                value = self._read(request.address)
            if error or request.answered:
                self.response = ResponsePacket(not request.answered, error, request.initiator,
                                               request.target, value)
        # of the job, as the cycle has found it
        if busy:
            self._cycles = min(_MOST, self._cycles + 1)
        if looks and fault:
            self._marks.add(Status.FAULT)
        self.start = False
        if looks and idle:
            self.busy = False
        if done is not None:
            self._carry_out(*done)
        if error and request is not None and request.write:
            self._marks.add(Status.REFUSED)

    def _refuses(self, address: int, data: int) -> bool:
        """A write of a whole word of this register."""
        row = self._rows[address]
        if all(one.access == "read-only" for one in row.fields):
            return True
        if row.name == "CONTROL":
            return data != 1 << Control.START or self.busy or self.word is not None
        if row.name == "STATUS":
            return False
        return self.busy or (row.name == "WORD" and self.word is not None)

    def _read(self, address: int) -> int:
        name = self._rows[address].name
        if name == "STATUS":
            return (not self.busy) << Status.IDLE | sum(1 << mark for mark in self._marks)
        if name == "CYCLES":
            return self._cycles
        return self.kept[(address - JobRegister.OPERAND) // 4] if "OPERAND" in name else 0

    def _carry_out(self, address: int, data: int) -> None:
        name = self._rows[address].name
        if name == "STATUS":
            if data >> Status.REFUSED & 1:
                self._marks.discard(Status.REFUSED)
        elif name == "WORD":
            self.word = data
        elif name != "CONTROL":
            self.kept[(address - JobRegister.OPERAND) // 4] = data
        else:
            self.start = self.busy = True
            self._cycles = 0
            self._marks.discard(Status.FAULT)
