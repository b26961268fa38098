"""FuseSoC's core files as sources."""

import re

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import to_rtlil
from cyclebound.sim.export.verilog import export
from cyclebound.sim.netlist.source_files import gather
from cyclebound.sim.netlist.verilog_module import VerilogModule

pytestmark = pytest.mark.unit

CORE = """CAPI=2:
name: ::value:1.0
filesets:
  rtl:
    files:
      - rtl/value.v
      - rtl/inc/base.vh: {is_include_file: true}
      - constraints.xdc: {file_type: xdc}
    file_type: verilogSource
    depend: [">=acme:lib:step:1.0"]
  tb: {files: [tb.v], file_type: verilogSource}
parameters:
  EXTRA: {datatype: int, default: 4, paramtype: vlogdefine}
  OTHER: {datatype: int, default: 9, paramtype: vlogparam}
targets:
  default: {filesets: [rtl], toplevel: value, parameters: [EXTRA, OTHER]}
  sim: {filesets: [rtl, tb]}
"""
STEP = """CAPI=2:
name: acme:lib:step:1.2
filesets: {rtl: {files: [value.v], file_type: verilogSource}}
targets: {default: {filesets: [rtl]}}
"""
VALUE = """`include "base.vh"
module value(output [7:0] y); wire [7:0] s; step one(s); assign y = s + `BASE + `EXTRA; endmodule
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    files = {"ip/value.core": CORE, "ip/rtl/value.v": VALUE, "ip/rtl/inc/base.vh": "`define BASE 2",
             "lib/step.core": STEP, "lib/value.v": "module step(output [7:0] y); assign y = 1; "
             "endmodule", "rtl/value.v": "module value; endmodule"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_includes_macros_and_other_cores(folder):
    """Paths are the core's, though the current folder has a file of that name."""
    files = gather(("lib/step.core", "ip/value.core"), "value")
    assert [*files] == ["lib/value.v", "ip/rtl/value.v", "ip/rtl/inc/base.vh", "value.f"]
    text = to_rtlil(VerilogModule(("ip/value.core", "lib/step.core"), "value")(), name="top")
    assert {int(bits, 2) for bits in re.findall("8'([01]+)", text)} >= {1}
    assert "EXTRA=4" in files["value.f"]
    assert "OTHER" not in files["value.f"]


def test_a_core_that_this_project_exports(folder):
    block = catalogue.load().find("noc.arbiter")
    made = export(block, next(iter(block.configurations.values())).parameters)
    (folder / "arbiter.v").write_text(made.text)
    (folder / "arbiter.core").write_text(made.fusesoc("arbiter.v"))
    component = VerilogModule(("arbiter.core",), made.name)()
    assert {"requests", "accept", "grant"} <= set(component.signature.members)


@pytest.mark.parametrize(("core", "says"), [
    (CORE, "it depends on acme:lib:step: name that core's file as a source, too"),
    (STEP.replace("[value.v]", "['tool_vivado ? (value.v)']"),
     "'tool_vivado ? (value.v)' is not understood: only FuseSoC knows its conditions"),
    (STEP.replace("filesets: [rtl]}}", "filesets: [other]}}"),
     "a core has other, a mapping, where this one has None"),
    (STEP.replace("default", "sim"), "a core has default, a mapping, where this one has None"),
    (STEP.replace("[rtl]", "[rtl], generate: [x]"), "target default generates files"),
    (STEP.replace("value.v", "none.v"), "none.v"),
    ("CAPI=2:\na: [", "it is no YAML: "),
    ("", "a core has targets, a mapping, where this one has None"),
])
def test_a_core_that_cannot_be_read(folder, core, says):
    path = folder / ("ip" if core is CORE else "lib") / "x.core"
    path.write_text(core)
    with pytest.raises(UserError, match=re.escape(says)) as raised:
        gather((str(path),), "x")
    assert "\n" not in str(raised.value)
