"""SystemVerilog as engineers write it: each file's first line says which clock and reset are found,
or what is refused, in whose words."""

import re
from pathlib import Path

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import to_rtlil
from cyclebound.sim.netlist.verilog_module import VerilogModule

FILES = sorted((Path(__file__).parent / "as_written").glob("*.sv"))
_SAYS = re.compile(r"// (?:clock (\w+), (?:reset (\w+) (a?sync) (high|low)|no reset)|no registers|"
                   r"refused: (.*))")
pytestmark = pytest.mark.unit


def test_there_are_some_of_each_kind():
    kinds = [_SAYS.fullmatch(path.read_text().partition("\n")[0]).groups() for path in FILES]
    assert len(kinds) >= 45
    assert sum(refused is not None for *_, refused in kinds) == 6


@pytest.mark.thorough
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_read(path, capsys):
    text = path.read_text()
    make = VerilogModule((str(path),), re.findall(r"^module (\w+)", text, re.MULTILINE)[-1])
    clock, reset, _, level, refused = _SAYS.fullmatch(text.partition("\n")[0]).groups()
    if refused is not None:
        with pytest.raises((UserError, ValueError), match=re.escape(refused)):
            make()
        return
    component = make()
    assert set(component.signature.members).isdisjoint({clock, reset})
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"cyclebound: {make.top}: {f'clock {clock}' if clock else 'no clock'}, " + (
        f"reset {reset} (active {level})" if reset else "no reset")
    assert f"module \\top.{make.top}" in to_rtlil(component, name="top")
