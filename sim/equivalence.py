"""Whether a mutant of a block can be told from the block at all: a miter, decided by ABC.

Block and mutant have the same inputs, reset included, which may come in any cycle. From the reset
values of all registers on, all of their outputs are compared in every cycle; what an interface
shows beside its ``valid`` (the payload of a stream, say) does not count while that is 0. The bound
checker's `Assume`s, on the block itself, restrict the inputs. ``pdr``, after signal
correspondence, proves that no difference is ever reached, or bounded model checking finds one.
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from amaranth.hdl import Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cyclebound.sim.elaborate import ProofTop, to_rtlil
from cyclebound.sim.errors import UserError
from cyclebound.sim.mutants import Mutation, Netlist, run_yosys
from cyclebound.sim.prove import run_tool
from cyclebound.sim.toolchain import child_environment
from cyclebound.sim.yosys import NATIVE

__all__ = ["Comparison", "Miter"]

_SEARCH = 10  # seconds for a difference
_PROOF = 20   # seconds for a proof that there is none
_FRAMES = 200
_FLAT = """hierarchy -top top
proc
flatten
async2sync
chformal -assert -cover -remove
chformal -lower
opt_clean
"""
# as SymbiYosys makes AIGER, with what has no value taken as 0, which it is in simulation
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
opt_clean
write_aiger -zinit miter.aig
"""


@dataclass(frozen=True)
class Comparison:
    """What is known of a mutant.

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
    """A block whose inputs and reset are free, and whose outputs show all that counts of it."""

    def __init__(self, component: wiring.Component, checker: wiring.Component | None = None):
        super().__init__(component, checker)
        outputs = {path: Value.cast(value) for path, member, value
                   in component.signature.flatten(component) if member.flow == Out}
        self._outs = [value & outputs[valid].replicate(len(value))
                      if len(path) > 1 and (valid := (*path[:-1], "valid")) in outputs
                      and path[-1] not in ("valid", "ready") else value
                      for path, value in outputs.items()]


def _design(component: wiring.Component,
            checker: Callable[[wiring.Component], wiring.Component] | None) -> str:
    top = _Compared(component, checker(component) if checker else None)
    return to_rtlil(top, name="top", ports=top.ports, lines=True)


def _abc_command() -> list[str] | None:
    """The words that start ABC; None where there is none."""
    inside = NATIVE and Path(find_spec("pyosys").origin).with_name("yosys-abc")
    if inside and inside.exists():
        return [str(inside)]
    found = shutil.which("yosys-abc", path=child_environment()["PATH"])
    return [found] if found else None


class Miter:
    """A block beside itself, mutated.

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
        self._gold, self._gate = (Netlist(_design(make(), each), folder, like=netlist)
                                  for each in (checker, None))

    def compare(self, mutation: Mutation) -> Comparison:
        """Whether block and mutant are equivalent."""
        abc = _abc_command()
        if abc is None:
            return Comparison(None, detail="there is no ABC on this machine")
        (self._folder / "gold.il").write_text(self._gold.text)
        (self._folder / "gate.il").write_text(self._gate.text)
        try:
            run_yosys("".join((
                "read_rtlil gold.il\n", _FLAT, "rename top gold\ndesign -stash gold\n",
                f"read_rtlil gate.il\nmutate {self._gate.command(mutation)}\n", _FLAT,
                "rename top gate\ndesign -stash gate\n",
                "design -copy-from gold -as gold gold\ndesign -copy-from gate -as gate gate\n",
                "miter -equiv -flatten gold gate miter\n", _AIGER)), self._folder)
        except UserError as error:
            return Comparison(None, detail=str(error))
        said = self._abc(abc, f"print_stats; bmc3 -T {_SEARCH} -F {_FRAMES}; print_status")
        if "Status = 0" in said:
            return Comparison(False, int(re.findall(r"in frame (\d+)", said)[-1]))
        if re.search(r"lat = +0 ", said):  # no state is left of it
            said = self._abc(abc, "dprove")
            if "UNSATISFIABLE" in said:
                return Comparison(True)
            return Comparison(False, 0) if "SATISFIABLE" in said else Comparison(
                None, detail="undecided")
        said = self._abc(abc, f"scorr; print_stats; pdr -T {_PROOF}; print_status; dprove")
        if "Status = 1" in said or (re.search(r"lat = +0 ", said) and "UNSATISFIABLE" in said):
            return Comparison(True)
        return Comparison(False) if "Status = 0" in said else Comparison(
            None, detail=f"undecided after {_PROOF} s")

    def _abc(self, command: list[str], words: str) -> str:
        _, text = run_tool([*command, "-c", f"read_aiger miter.aig; fold; strash; {words}"],
                           self._folder, child_environment(), 2.0 * (_SEARCH + _PROOF))
        return text
