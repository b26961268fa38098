"""How long SHMAC's core takes for an instruction, and why no memory answer makes it faster.

An instruction's time runs from the cycle after it begins to the cycle in which the next one begins:
the difference of the two. In each of these cycles the core either *waits for memory*, or not:

- it waits where its request is on offer and not taken, and from the cycle in which one is taken to
  the last cycle before its response;
- all others are *core cycles*. So an access and a fetch cost one core cycle each, and wait for one
  cycle at least: the response comes in the cycle after the request at the earliest.

The core cycles of an instruction depend on its class alone: not on the memory, not on operands, not
on the instructions around it. Its time is their number plus what its own access and the next fetch
wait, so that a later answer never makes anything earlier, and worst cases add up.

Classes, as an instruction shows them where it begins:

======== ==========================================================================================
plain    all that are in none of the others
signed   ADD, ADDI, SUB, with an overflow or without
checked  coprocessor 0, and an SC whose link is broken: they may make an exception, or change what
         comes next; the next fetch is offered a cycle later
multiply MULT, MULTU
divide   DIV, DIVU
load     all that wait for a response: loads, LL, SC
store    plain stores
trap     an exception that is taken in the cycle in which the instruction begins
======== ==========================================================================================

A load that ends with a bus error takes as long as any other.
"""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, prediction

__all__ = ["CLASSES", "checked", "class_of", "divide", "instruction", "load", "multiply", "plain",
           "program", "signed", "store", "trap"]

_SOURCE = "this project; SHMAC thesis, 2.3: one outstanding request, stalls on reads, LL and SC"
_BITS = 32


@prediction(formula="1", source=_SOURCE)
def plain() -> int:
    """Core cycles of a plain instruction.

    Derivation: it executes in one cycle, in which the next fetch is on offer; that one's own core
    cycle is the same. A branch decides in its cycle where to go after its slot, whose address is
    known, so that it costs no more.
    """
    return 1


@prediction(formula="2", source=_SOURCE)
def checked() -> int:
    """Core cycles of what may make an exception or change the state: its own, and the fetch's."""
    return 2


@prediction(formula="1 + 1 + 1", source=_SOURCE)
def signed() -> int:
    """Core cycles of ADD, ADDI and SUB: its own, one for the overflow, and the fetch's."""
    return 3


@prediction(formula="1 + 32 + 1", source=_SOURCE)
def multiply() -> int:
    """Core cycles of a product: its own, one for each bit of the multiplier, and the fetch's."""
    return 1 + _BITS + 1


@prediction(formula="1 + (1 + 32 + 2) + 1", source=_SOURCE)
def divide() -> int:
    """Core cycles of a quotient, by 0 too.

    Derivation: as `multiply`, one cycle for each bit of the quotient, one before to negate the
    dividend, one after for the quotient, one for the remainder. They pass in any case.
    """
    return 1 + (1 + _BITS + 2) + 1


@prediction(formula="1 + 1 + 1", source=_SOURCE)
def load() -> int:
    """Core cycles of a load, LL or SC: for its address, its access, and the next fetch."""
    return 3


@prediction(formula="1 + 1 + 1", source=_SOURCE)
def store() -> int:
    """Core cycles of a store.

    Derivation: as `load`; its access ends when the request is taken, and only then the next
    instruction is fetched, so that it sees what was stored.
    """
    return 3


@prediction(formula="2", source=_SOURCE)
def trap() -> int:
    """Core cycles of an exception: the instruction's own, and the fetch of the handler's first."""
    return 2


CLASSES = {claim.name: claim for claim in (
    plain, signed, checked, multiply, divide, load, store, trap)}
"""The core cycles of each class."""


_OTHERS = {name: kind for kind, names in {
    "signed": "add addi sub", "checked": "mfc0 mtc0 rfe", "multiply": "mult multu",
    "divide": "div divu", "load": "lb lbu lh lhu lw lwl lwr ll sc", "store": "sb sh sw swl swr",
}.items() for name in names.split()}


def class_of(name: str) -> str:
    """The class of an instruction, by its mnemonic, if it makes no exception that is a `trap`.

    An SC has a link; without one it is ``checked``, which takes less.
    """
    return _OTHERS.get(name, "plain")


@bound(formula="core cycles + fetch_wait + data_wait", source=_SOURCE,
       environment="memory takes requests and answers them in any cycle, no later than stated")
def instruction(*, core_cycles: Annotated[int, Range(1, says="core cycles of its class")],
                fetch_wait: Annotated[int, Range(1, says="most cycles that a fetch waits: until it "
                                                 "is taken, and from there to its response")],
                data_wait: Annotated[int, Range(0, says="the same of its access; of a store, until "
                                                "it is taken; 0 if it has none")]) -> int:
    """Cycles from an instruction to the next.

    Derivation: the core cycles of its class, and in each other cycle the core waits for its access
    or for the next fetch; an instruction has one of each at most, and they follow each other.
    """
    return core_cycles + fetch_wait + data_wait


@bound(formula="core_cycles + fetch_waits + data_waits", source=_SOURCE,
       environment="memory takes requests and answers them in any cycle, no later than stated; no "
       "exception is taken")
def program(*, core_cycles: Annotated[int, Range(1, says="core cycles of all instructions on its "
                                                 "worst route")],
            fetch_waits: Annotated[int, Range(1, says="the most that the fetches on this route "
                                              "wait, without the first, with the one after it")],
            data_waits: Annotated[int, Range(0, says="the same of its accesses")]) -> int:
    """Cycles of a function, from its first instruction to the one after its return.

    Derivation: the sum of `instruction` over the worst route, the route whose sum is greatest.
    Waits add up, so that no later answer makes another route longer than this one
    (docs/shmac.md, WCET of a program).
    """
    return core_cycles + fetch_waits + data_waits
