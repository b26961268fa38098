"""Whether a mutant of a block can be told from the block at all: a miter, decided by ABC.

Block and mutant have the same inputs, reset included, which may come in any cycle. From the reset
values of all registers on, all of their outputs are compared in every cycle; what an interface
shows beside its ``valid`` (the payload of a stream, say) does not count while that is 0. The bound
checker's `Assume`s, on the block itself, restrict the inputs. ``pdr``, after signal
correspondence, proves that no difference is ever reached, or bounded model checking finds one.

One run of yosys makes the miter for many mutants, with an input that selects one. For each, that
input is replaced by constants in the AIGER file.
"""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from amaranth.hdl import Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.toolchain import child_environment
from cyclebound.sim.build.elaborate import ProofTop, to_rtlil
from cyclebound.sim.mutation.mutants import SELECT, Mutation, Netlist, run_yosys
from cyclebound.sim.netlist.yosys import NATIVE
from cyclebound.sim.proof.prove import run_tool

__all__ = ["Comparison", "Miter"]

_GLANCE = 2, 13     # seconds, cycles: most of what differs does so soon after reset
_PROOF = 20         # seconds for a proof of equivalence
_SEARCH = 10, 200   # seconds, cycles: for a difference, where there is no proof
_FLAT = """hierarchy -top top
proc
flatten
async2sync
chformal -assert -cover -remove
chformal -lower
opt_clean
"""
# as SymbiYosys makes AIGER, with what has no value taken as 0, which it is in simulation; so is
# what a register begins with that has no value for it (a memory's read port): as AIGER it would
# become an input, another one for the block and for its mutant
_AIGER = """hierarchy -top miter
memory -nomap
opt_clean
memory_map
opt
techmap
setundef -undriven -zero
setundef -zero
opt
dffunmap
simplemap
aigmap
setundef -zero
setundef -init -zero
opt_clean
write_aiger -zinit -map miter.map miter.aig
"""


@dataclass(frozen=True)
class Comparison:
    """The result of comparing a mutant with the original.

    Attributes
    ----------
    equivalent : bool or None
        Proved so, shown to differ, or neither.
    cycles : int or None
        In which cycle, at the latest, it can differ.
    detail : str
        Why it is not known.
    """

    equivalent: bool | None
    cycles: int | None = None
    detail: str = ""


class _Compared(ProofTop):
    """A block whose inputs and reset are free, and whose outputs show all that counts of it.

    They show it a cycle later: an assumption about a cycle is decided at the edge that ends it, and
    what only differs in a cycle that it forbids does not differ.
    """

    def __init__(self, component: wiring.Component, checker: wiring.Component | None = None):
        super().__init__(component, checker)
        outputs = {path: Value.cast(value) for path, member, value
                   in component.signature.flatten(component) if member.flow == Out}
        shown = [value & outputs[valid].replicate(len(value))
                 if len(path) > 1 and (valid := (*path[:-1], "valid")) in outputs
                 and path[-1] not in ("valid", "ready") else value
                 for path, value in outputs.items()]
        self._shown = shown
        self._outs = [Signal(len(value), name=f"shown_{number}", reset_less=True)
                      for number, value in enumerate(shown)]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += [later.eq(value) for later, value in
                     zip(self._outs, self._shown, strict=True)]
        return m


def _design(component: wiring.Component,
            checker: Callable[[wiring.Component], wiring.Component] | None) -> str:
    top = _Compared(component, checker(component) if checker else None)
    return to_rtlil(top, name="top", ports=top.ports, lines=True)


def _abc_command() -> list[str] | None:
    """The words that start ABC; None where there is none."""
    spec = find_spec("pyosys") if NATIVE else None
    inside = spec and spec.origin and Path(spec.origin).with_name("yosys-abc")
    if inside and inside.exists():
        return [str(inside)]
    path = shutil.which("yosys-abc", path=child_environment()["PATH"])
    return [path] if path else None


class Miter:
    """A block beside itself, mutated.

    Raises `UserError` where the block itself seems to differ from itself: then nothing that is
    told of its mutants holds.

    Parameters
    ----------
    make : callable
        Makes the component, each time anew.
    checker : callable or None
        Makes the bound checker whose assumptions restrict the inputs.
    netlist : Netlist
        Of the component.
    folder : Path
        For what the tools read and write.
    """

    def __init__(self, make: Callable[[], wiring.Component],
                 checker: Callable[[wiring.Component], wiring.Component] | None,
                 netlist: Netlist, folder: Path) -> None:
        self._folder = folder
        self._gold, self._gate = (Netlist(_design(make(), component), folder, like=netlist)
                                  for component in (checker, None))
        self._prepared: Sequence[Mutation] = ()
        self._wrong, self._checked = "", False

    def prepare(self, mutations: Sequence[Mutation]) -> None:
        """Make one miter for all of these: several times quicker than one for each."""
        self._prepared, self._wrong = list(mutations), ""
        width = max(mutation.number for mutation in mutations).bit_length()
        (self._folder / "gold.il").write_text(self._gold.text)
        (self._folder / "gate.il").write_text(self._gate.selectable(mutations))
        try:
            run_yosys("".join((
                f"read_rtlil gold.il\nadd -input {SELECT} {width} top\n", _FLAT,
                "rename top gold\ndesign -stash gold\n",
                "read_rtlil gate.il\n", _FLAT, "rename top gate\ndesign -stash gate\n",
                "design -copy-from gold -as gold gold\ndesign -copy-from gate -as gate gate\n",
                "miter -equiv -flatten gold gate miter\n", _AIGER)), self._folder)
        except UserError as error:
            self._wrong = str(error)
            return
        self._circuit = _Circuit((self._folder / "miter.aig").read_bytes())
        self._selects = [(int(place), int(bit)) for place, bit in re.findall(
            rf"(?m)^input (\d+) (\d+) \S*in_{SELECT}$",
            (self._folder / "miter.map").read_text())]

    def compare(self, mutation: Mutation) -> Comparison:
        """Whether block and mutant are equivalent."""
        abc = _abc_command()
        if abc is None:
            return Comparison(None, detail="there is no ABC on this machine")
        if mutation not in self._prepared:
            self.prepare([mutation])
        if self._wrong:
            return Comparison(None, detail=self._wrong)
        if not self._checked:
            self._select(0)
            if "Status = 0" in (said := self._abc(abc, _search(*_GLANCE))):
                raise UserError("the block differs from itself in cycle "
                                f"{_differs(said).cycles}: what it is compared by is wrong")
            self._checked = True
        self._select(mutation.number)
        said = self._abc(abc, _search(*_GLANCE))
        if "Status = 0" in said:
            return _differs(said)
        said = self._abc(abc, f"scorr; print_stats; pdr -T {_PROOF}; print_status; dprove")
        if "Status = 1" in said or (re.search(r"lat = +0 ", said) and "UNSATISFIABLE" in said):
            return Comparison(True)
        if "Status = 0" not in said:
            said = self._abc(abc, _search(*_SEARCH))
            if "Status = 0" in said:
                return _differs(said)
            return Comparison(None, detail=f"undecided after {_PROOF} s")
        return Comparison(False)

    def _select(self, number: int) -> None:
        """Have ABC read the mutant of that number; 0 is the block itself."""
        (self._folder / "mutant.aig").write_bytes(self._circuit.given(
            {place: number >> bit & 1 for place, bit in self._selects}))

    def _abc(self, command: list[str], words: str) -> str:
        _, text = run_tool([*command, "-c", f"read_aiger mutant.aig; fold; strash; {words}"],
                           self._folder, child_environment(), 2.0 * (_SEARCH[0] + _PROOF))
        return text


def _search(seconds: int, cycles: int) -> str:
    """The script with which ABC searches for a difference."""
    return f"bmc3 -T {seconds} -F {cycles}; print_status"


def _differs(said: str) -> Comparison:
    """The cycle is the one before that in which it shows."""
    return Comparison(False, max(0, int(re.findall(r"in frame (\d+)", said)[-1]) - 1))


class _Circuit:
    """A binary AIGER file, of which inputs can be replaced by constants."""

    def __init__(self, text: bytes) -> None:
        end = text.index(b"\n")
        head = list(map(int, text[:end].split()[1:]))
        _, self._inputs, self._latches, outputs, gates, *more = head
        self._head = text[:end + 1]
        self._lines: list[list[bytes]] = []  # what latches become, outputs, constraints
        at = end + 1
        for _ in range(self._latches + outputs + sum(more)):
            end = text.index(b"\n", at)
            self._lines.append(text[at:end].split())
            at = end + 1
        self._gates: list[bytes] = []  # as they are in the file
        self._near: list[tuple[int, int, int]] = []  # gates that read an input: place, and what
        for place in range(gates):
            begun = at
            first, at = _decoded(text, at)
            second, at = _decoded(text, at)
            self._gates.append(text[begun:at])
            high = 2 * (self._inputs + self._latches + place + 1) - first
            if high - second <= 2 * self._inputs + 1:
                self._near.append((place, high, high - second))

    def given(self, values: Mapping[int, int]) -> bytes:
        """The file, with these values (0 or 1) of the inputs at these places."""
        constant = {2 * place + 2 + flip: value ^ flip for place, value in values.items()
                    for flip in (0, 1)}
        lines = [b" ".join([b"%d" % constant.get(int(words[0]), int(words[0])), *words[1:]])
                 for words in self._lines]
        gates = list(self._gates)
        for place, *reads in self._near:
            high, low = sorted((constant.get(read, read) for read in reads), reverse=True)
            gates[place] = (_encoded(2 * (self._inputs + self._latches + place + 1) - high)
                            + _encoded(high - low))
        return self._head + b"".join(line + b"\n" for line in lines) + b"".join(gates)


def _decoded(text: bytes, at: int) -> tuple[int, int]:
    """A number of a binary AIGER file, and where the next one is."""
    value = shift = 0
    while text[at] & 0x80:
        value |= (text[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return value | text[at] << shift, at + 1


def _encoded(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
