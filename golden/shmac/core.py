"""Golden model of SHMAC's core, cycle by cycle: the machine, and when it does what.

The machine (`cyclebound.golden.shmac.machine`) computes; here is only the order of its requests,
and the cycles between them, which follow from the class of each instruction
(`cyclebound.golden.shmac.core_bounds`).
"""

from dataclasses import dataclass

from cyclebound.golden.shmac.core_bounds import CLASSES, class_of
from cyclebound.golden.shmac.isa import ExcCode, encoding_of
from cyclebound.golden.shmac.machine import CoreAccess, Machine, Retired

__all__ = ["CoreModel", "Fetch", "Response", "Shown"]


@dataclass(frozen=True)
class Fetch:
    """A request for an instruction."""

    address: int


@dataclass(frozen=True)
class Response:
    """What memory answers."""

    data: int = 0
    error: bool = False


@dataclass(frozen=True)
class Shown:
    """What the core shows in a cycle (`cyclebound.golden.shmac.core_port.TRACE`).

    Attributes
    ----------
    begins : bool
        An instruction begins.
    kind : str
        Its class, one of `CLASSES`; empty if none begins.
    pc : int or None
        Of the instruction that is executed; None: there is none.
    instruction : int or None
        Its word; None: it could not be fetched.
    retired : Retired or None
        What ends.
    """

    begins: bool = False
    kind: str = ""
    pc: int | None = None
    instruction: int | None = None
    retired: Retired | None = None


class CoreModel:
    """The core, a cycle at a time.

    Parameters
    ----------
    big_endian : bool
        Byte order.
    reset_address, vector : int
        Of the first instruction, and of the exception handler.

    Attributes
    ----------
    machine : Machine
        Registers, and the next instruction.
    request : Fetch, CoreAccess or None
        On offer in this cycle.
    waits : bool
        A response to an earlier cycle's request is to come.
    """

    def __init__(self, *, big_endian: bool = True, reset_address: int = 0,
                 vector: int = 0x80) -> None:
        self.machine = Machine(big_endian=big_endian, pc=reset_address, vector=vector)
        self.request: Fetch | CoreAccess | None = Fetch(reset_address)
        self.waits = False
        self._asked: Fetch | CoreAccess | None = None  # what the response is to
        self._begun: Retired | CoreAccess | None = None
        self._kind = ""
        self._begins = False
        self._left = 0  # cycles of a sum or product after its first one
        self._word: int | None = None
        self._pc: int | None = None
        self._misses = False  # an address at which nothing can be fetched

    @property
    def access(self) -> CoreAccess | None:
        """Of the instruction that is executed, if it has one."""
        return self._begun if isinstance(self._begun, CoreAccess) else None

    def step(self, *, ready: bool = False, response: Response | None = None,
             lines: int = 0) -> Shown:
        """One cycle: whether the request on offer is taken, and a response to an earlier one.

        ``lines`` are the interrupt inputs.
        """
        answer = response if self.waits else None
        fetched = answer is not None and isinstance(self._asked, Fetch)
        if answer is not None:
            self.waits = False
        taken = self.request if ready else None
        if taken is not None:
            self._asked, self.request = taken, None
            self.waits = isinstance(taken, Fetch) or taken.answered

        shown = self._shown(taken, answer)
        if shown.retired:
            self._begun = self._pc = None
        misses, self._misses = self._misses, False
        if shown.retired and not (shown.begins and self._kind == "plain"):
            self._fetch()
        self.machine.lines = lines  # seen from the next cycle on
        self._begins = False
        if fetched:
            assert answer is not None
            self._begin(None if answer.error else answer.data)
        elif misses:
            self._begin(None)
        return shown

    def _shown(self, taken: Fetch | CoreAccess | None, answer: Response | None) -> Shown:
        """What this cycle shows, and what it does to the instruction that is executed."""
        if self._begun is None:
            return Shown()
        kind = self._kind if self._begins else ""
        retired: Retired | None = None
        if isinstance(self._begun, Retired):
            if self._begins:
                longer = self._kind in ("signed", "multiply", "divide")
                self._left = CLASSES[self._kind]() - 2 if longer else 0
            else:
                self._left -= 1
            if self._left == 0:
                retired = self._begun
        elif self._begins:
            self.request = self._begun
        elif taken is self._begun and not self._begun.answered:
            retired = self.machine.end(None)
        elif answer is not None:
            retired = self.machine.end(None if answer.error else answer.data)
        return Shown(self._begins, kind, self._pc, self._word, retired)

    def _begin(self, word: int | None) -> None:
        """From the next cycle on, this is executed."""
        self._pc, self._word, self._begins = self.machine.pc, word, True
        self._begun = self.machine.begin(word)
        self._kind = _kind_of(self._begun, word)
        if self._kind == "plain":
            self._fetch()

    def _fetch(self) -> None:
        """From the next cycle on, the next instruction's fetch is on offer, if it can be."""
        if self.machine.fetches:
            self.request = Fetch(self.machine.pc)
        else:
            self._misses = True


def _kind_of(begun: Retired | CoreAccess, word: int | None) -> str:
    """The class of an instruction that has begun."""
    if isinstance(begun, CoreAccess):
        return "load" if begun.answered else "store"
    if begun.exception is ExcCode.OV:  # which is found a cycle later
        return "signed"
    if begun.exception is not None:
        return "trap"
    assert word is not None
    encoding = encoding_of(word)
    assert encoding is not None
    return "checked" if encoding.name == "sc" else class_of(encoding.name)
