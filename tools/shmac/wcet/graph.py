"""Every route that the core can take through a function, as a graph.

A `Node` is an instruction with the address of the one after it, which is how the core itself keeps
where it is: the instruction in a branch's delay slot is a node for each outcome of the branch, and
a branch in a slot needs no rule of its own. With it goes the chain of calls under way, so that a
function that is called from two places has its nodes twice.

Calls are JAL, BLTZAL, BGEZAL, and JALR to an address that is known; returns are JR to the
address after the call's slot. JR $ra to an address that is not known, because it came from memory,
is taken to return: what a function saves on its stack, it finds there again. JR with RFE in its
slot returns from an exception's handler.

Addresses in registers are followed as constants, for this purpose only.
"""

import enum
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cyclebound.golden.shmac.isa import REGISTER_NAMES, Encoding, encoding_of
from cyclebound.golden.shmac.machine import signed
from cyclebound.tools.shmac.wcet.code import Code, WcetError

__all__ = ["Call", "Leaves", "Node", "RouteGraph", "destination", "instruction_at"]

_MASK = 0xFFFF_FFFF
_MOST_NODES = 100_000
_RETURN = -1  # instead of a number: the address that the analysed function returns to
_LINK = 31
_ALWAYS = {"beq": True, "bne": False, "blez": True, "bgtz": False, "bltz": False, "bgez": True,
           "bltzal": False, "bgezal": True}  # what a branch does if its operands are equal, or 0
_REFUSED = ("syscall", "break")


class Call(NamedTuple):
    """A call under way: where it was made, what it called, and where it returns to."""

    site: int
    target: int
    link: int


class Leaves(enum.Enum):
    """What the step after an instruction does to the chain of calls."""

    NO = "no"
    CALL = "call"
    RETURN = "return"


class Node(NamedTuple):
    """An instruction, and where it goes.

    ``following`` is the address of the next instruction, None after the end; ``leaves`` says
    whether that step enters or ends a call.
    """

    calls: tuple[Call, ...]
    pc: int
    following: int | None
    leaves: Leaves = Leaves.NO


_Known = tuple[int | None, ...]  # registers that have one value


class RouteGraph:
    """The graph of a function.

    Parameters
    ----------
    program : Code
        What it is a part of.
    start : int
        Address of its first instruction.
    stops : iterable of int
        Addresses before which the analysis ends, as it does where the function returns.

    Attributes
    ----------
    start : Node
        The first instruction.
    after : dict
        The successors of each node: of a branch, where it goes if taken comes first. None is the
        end.

    Raises
    ------
    WcetError
        Where the route is not known, or recursive.
    """

    def __init__(self, program: Code, start: int, stops: Iterable[int] = ()) -> None:
        self.program, self._stops = program, frozenset(stops)
        if start % 4:
            raise WcetError(f"the first instruction must be at a multiple of 4, not {start:#x}")
        program.word(start, "the start")
        self.start = Node((), start, start + 4 & _MASK)
        self.after: dict[Node, tuple[Node | None, ...]] = {}
        self._known: dict[Node, _Known] = {
            self.start: (0, *(None,) * (_LINK - 1), _RETURN)}
        waiting = [self.start]
        while waiting:
            node = waiting.pop()
            after = self._step(node, self._known[node])
            self.after[node] = tuple(follower for follower, _ in after)
            for follower, known in after:
                if follower is None:
                    continue
                before = self._known.get(follower)
                joined = known if before is None else tuple(
                    one if one == other else None
                    for one, other in zip(before, known, strict=True))
                if joined != before:
                    self._known[follower] = joined
                    waiting.append(follower)
            if len(self._known) > _MOST_NODES:
                raise WcetError(f"more than {_MOST_NODES:,} instructions, counted once for each "
                                "chain of calls")

    @property
    def nodes(self) -> Iterable[Node]:
        """All instructions."""
        return self.after

    def before(self) -> dict[Node | None, list[Node]]:
        """The predecessors of each node, and of the end."""
        before: dict[Node | None, list[Node]] = {node: [] for node in self.after}
        before[None] = []
        for node, after in self.after.items():
            for follower in after:
                before[follower].append(node)
        return before

    def _step(self, node: Node, known: _Known) -> list[tuple[Node | None, _Known]]:
        """Where a node leads, and which registers are known there."""
        encoding, word = instruction_at(self.program, node.pc)
        known = _after(encoding, word, node, known)
        if not _branches(encoding):
            return [(self._next(node, (node.following or 0) + 4 & _MASK, Leaves.NO), known)]
        if node.leaves is not Leaves.NO:
            raise WcetError(f"the delay slot of a call or return has a branch, at "
                            f"{self.program.place(node.pc)}")
        assert node.following is not None
        beyond = node.following + 4 & _MASK
        # `known` may have the link: an instruction that jumps to its own link's register jumps to
        # the value from before
        return [(self._next(node, target, leaves), known)
                for target, leaves in self._targets(node, encoding, word, beyond)]

    def _targets(self, node: Node, encoding: Encoding, word: int, beyond: int
                 ) -> Iterator[tuple[int | None, Leaves]]:
        """Where a branch may lead after its slot."""
        assert node.following is not None
        name, rs, rt = encoding.name, word >> 21 & 31, word >> 16 & 31
        if name in ("j", "jal"):
            yield (node.following & 0xF000_0000 | (word & 0x3FF_FFFF) << 2,
                   Leaves.CALL if name == "jal" else Leaves.NO)
        elif name in ("jr", "jalr"):
            yield self._by_register(node, name, rs)
        else:
            target = node.following + 4 * signed(word, 16) & _MASK
            always = _ALWAYS[name] if rs == (rt if name in ("beq", "bne") else 0) else None
            if always is None and target == beyond:  # it makes no difference, but for the link
                yield beyond, Leaves.NO
                return
            if always is not False:
                yield target, Leaves.CALL if name.endswith("al") else Leaves.NO
            if always is not True:
                yield beyond, Leaves.NO

    def _by_register(self, node: Node, name: str, rs: int) -> tuple[int | None, Leaves]:
        to = self._known[node][rs]
        place = self.program.place(node.pc)
        if name == "jr":
            returns_to = node.calls[-1].link if node.calls else _RETURN
            if not node.calls and self._slot(node) == "rfe":
                return None, Leaves.RETURN
            if to == returns_to or (to is None and rs == _LINK):
                return (node.calls[-1].link if node.calls else None), Leaves.RETURN
        if to is None or to == _RETURN:
            raise WcetError(f"{name} ${REGISTER_NAMES[rs]} at {place} leads to an address that is "
                            "not known")
        if to % 4:
            raise WcetError(f"{name} ${REGISTER_NAMES[rs]} at {place} leads to {to:#x}, which is "
                            "no multiple of 4")
        return to, Leaves.CALL if name == "jalr" else Leaves.NO

    def _slot(self, node: Node) -> str:
        """The instruction after a branch, by its mnemonic."""
        assert node.following is not None
        return instruction_at(self.program, node.following)[0].name

    def _next(self, node: Node, target: int | None, leaves: Leaves) -> Node | None:
        """The node after ``node``, which goes to ``target`` and so ``leaves``."""
        calls, pc = node.calls, node.following
        if node.leaves is Leaves.CALL:
            assert pc is not None
            call = Call(node.pc, pc, node.pc + 4 & _MASK)
            if any(call.site == other.site or pc == other.target for other in calls):
                raise WcetError(f"recursion: the call at {self.program.place(call.site - 4)} of "
                                f"{self.program.place(pc)} is made while it is under way")
            calls = (*calls, call)
        elif node.leaves is Leaves.RETURN:
            if not calls:
                return None
            calls = calls[:-1]
        if pc is None or pc in self._stops:
            return None
        self.program.word(pc, self.program.place(node.pc))
        return Node(calls, pc, target, leaves)


def instruction_at(program: Code, address: int) -> tuple[Encoding, int]:
    """The instruction at an address, and its word. Raises `WcetError` for one without a bound."""
    word = program.word(address, "the route")
    encoding = encoding_of(word)
    if encoding is None:
        raise WcetError(f"{word:#010x} at {program.place(address)} is no instruction of this core")
    if encoding.name in _REFUSED:
        raise WcetError(f"{encoding.name} at {program.place(address)} makes an exception, and time "
                        "in its handler is not bounded")
    return encoding, word


def destination(encoding: Encoding, word: int) -> int:
    """The general register that an instruction writes; 0 if none."""
    if encoding.form in ("rd rs rt", "rd rt sa", "rd rt rs", "rd rs", "rd"):
        return word >> 11 & 31
    if (encoding.form in ("rt rs immediate", "rt immediate") or encoding.name in ("mfc0", "sc")
            or (encoding.form == "rt immediate(rs)" and encoding.name.startswith("l"))):
        return word >> 16 & 31
    return _LINK if encoding.name in ("jal", "bltzal", "bgezal") else 0


def _branches(encoding: Encoding) -> bool:
    return (encoding.form in ("rs rt offset", "rs offset", "target", "rd rs")
            or encoding.name == "jr")


def _after(encoding: Encoding, word: int, node: Node, known: _Known) -> _Known:
    """Registers that are known after an instruction: addresses, moved or made of immediates."""
    register = destination(encoding, word)
    if not register:
        return known
    name = encoding.name
    s, t, immediate = known[word >> 21 & 31], known[word >> 16 & 31], word & 0xFFFF
    value: int | None = None
    if name in ("jal", "jalr", "bltzal", "bgezal"):
        value = (node.following or 0) + 4 & _MASK
    elif name == "lui":
        value = immediate << 16
    elif s is None or (s == _RETURN and (name not in ("addu", "or") or t != 0)):
        value = None
    elif name in ("addiu", "addi"):
        value = s + signed(word, 16) & _MASK
    elif name == "ori":
        value = s | immediate
    elif name in ("addu", "or") and t is not None:
        value = s if t == 0 else t if s == 0 else None if t == _RETURN else (
            s + t & _MASK if name == "addu" else s | t)
    return (*known[:register], value, *known[register + 1:])
