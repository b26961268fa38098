"""`cyclebound new`: the four files of a block, to be changed into one's own."""

import importlib.machinery
import keyword
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe import new_verilog as of_verilog

__all__ = ["new_block", "new_verilog"]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,60}", re.ASCII)

_FILES: Mapping[str, str] = {
    "NAME.py": '''\
"""CLASS: holds each item for some cycles."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class CLASS(wiring.Component):
    """Takes an item, and offers it after a delay.

    Parameters
    ----------
    width : int
        Bits of an item, at least 1.
    delay : int
        Cycles between taking and offering an item, at least 1.

    Members
    -------
    sink : In(stream of width bits)
        Taken while no item is held.
    source : Out(stream of width bits)
        The item, until it is taken.
    """

    def __init__(self, *, width, delay):
        for name, value in (("width", width), ("delay", delay)):
            if value < 1:
                raise ValueError(f"{name.capitalize()} must be at least 1, not {value}")
        self.width, self.delay = width, delay
        super().__init__({"sink": In(stream.Signature(width)),
                          "source": Out(stream.Signature(width))})

    def elaborate(self, platform):
        m = Module()
        held = Signal()
        left = Signal(range(self.delay))
        m.d.comb += [self.sink.ready.eq(~held), self.source.valid.eq(held & (left == 0))]
        with m.If(~held & self.sink.valid):
            m.d.sync += [held.eq(1), left.eq(self.delay - 1),
                         self.source.payload.eq(self.sink.payload)]
        with m.Elif(held & (left != 0)):
            m.d.sync += left.eq(left - 1)
        with m.Elif(held & self.source.ready):
            m.d.sync += held.eq(0)
        return m
''',
    "NAME_model.py": '''\
"""Golden model and bound of NAME, from its definition and not from its hardware."""

from typing import Annotated

from cyclebound.golden.bound import Range, bound


@bound(formula="delay + 1", source="this project: the item is held for so many cycles",
       environment="items may come in any cycle, and wait at the other side for any time")
def passage(*, delay: Annotated[int, Range(1, says="cycles in which an item is held")]) -> int:
    """Cycles from taking an item to offering it, both included."""
    return delay + 1


class CLASSModel:
    """Knows when the item that is held may be offered."""

    def __init__(self, delay):
        self.delay, self.item, self.due, self.cycle = delay, None, 0, 0

    def step(self, item, ready):
        """One cycle: whether an item would be taken, and the one on offer or None."""
        idle = self.item is None
        offered = None if idle or self.cycle < self.due else self.item
        if idle and item is not None:
            self.item, self.due = item, self.cycle + self.delay
        elif offered is not None and ready:
            self.item = None
        self.cycle += 1
        return idle, offered
''',
    "NAME_tb.py": '''\
"""Testbench of NAME: each cycle compared with the model."""

from NAME_model import CLASSModel

from cyclebound.tb.bench import testbench
from cyclebound.tb.stream_scoreboard import StreamScoreboard, sometimes


async def drive(bench, count, **chances):
    """So many random items; ``offers`` and ``sinks`` as in `StreamScoreboard.play`."""
    items = [bench.rng.getrandbits(bench.parameters["width"]) for _ in range(count)]
    scoreboard = StreamScoreboard(bench, "sink", "source", CLASSModel(bench.parameters["delay"]))
    await scoreboard.play([(item, item) for item in items], **chances)


@testbench
async def without_a_pause(bench):
    await drive(bench, 100)


@testbench
async def with_pauses(bench):
    await drive(bench, 300, offers=sometimes(bench, 0.5), sinks=sometimes(bench, 0.5))
''',
    "NAME_page.py": '''\
"""Catalogue page with NAME: `cyclebound --catalogue NAME_page regress own.NAME`."""

from NAME import CLASS
from NAME_model import passage

from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, FpgaTarget, Testbench
from cyclebound.tb.probe import Probe, offered, taken

BLOCKS = (
    Block(
        name="own.NAME",
        summary="holds each item for some cycles",
        component=CLASS,
        configurations={
            "small": Configuration({"width": 8, "delay": 3}),
            "least": Configuration({"width": 1, "delay": 1}),
        },
        testbenches=(Testbench("cycle", "NAME_tb"),),
        bounds=(BoundBinding("passage", passage,
                         probe=Probe(start=taken("sink"), end=offered("source"))),),
        fpga=FpgaTarget("small"),
        signals=("top.dut.sink__valid", "top.dut.sink__ready",
                 "top.dut.source__valid", "top.dut.source__ready"),
    ),
)
''',
}


def new_block(name: str, folder: Path) -> list[Path]:
    """Write the four files of a block of that name. Raises `UserError`."""
    _check_name(name)
    words = {"NAME": name, "CLASS": "".join(part.capitalize() for part in name.split("_"))}
    if any(re.search(rf"\b{words['CLASS']}\b", text) for text in _FILES.values()):
        raise UserError(f"the component would be called {words['CLASS']}, which its files need for "
                        "something else; name the block otherwise")
    return _written(name, folder, _FILES, words)


def new_verilog(name: str, folder: Path, sources: Sequence[str], *, top: str = "", start: str = "",
                end: str = "", within: int | None = None) -> list[Path]:
    """Write what a block needs besides its sources in Verilog. Raises `UserError`.

    ``top`` is the module, ``start`` and ``end`` are the probe's expressions, and ``within`` is the
    bound; without them, the module that no other places, what its ports' names say, and
    `new_verilog.LIMIT`. An empty name stands for the module's.
    """
    words = of_verilog.words_for(name, sources, folder, top=top, start=start, end=end,
                                 within=within)
    name = name or re.sub(r"[^a-z0-9]+", "_", words["TOP"].lower()).strip("_")
    return _written(name, folder, of_verilog.FILES, {**words, "NAME": name})


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UserError("the name of a new block must be up to 61 small letters, digits and _, the "
                        f"first a letter, and no word of Python, not {name!r}")


def _written(name: str, folder: Path, files: Mapping[str, str], words: Mapping[str, str]
             ) -> list[Path]:
    _check_name(name)
    outside = [path for path in sys.path if path and Path(path).resolve() not in (
        folder.resolve(), Path.cwd())]
    for module in (path.removesuffix(".py").replace("NAME", name) for path in files):
        if module in sys.builtin_module_names or importlib.machinery.PathFinder.find_spec(
                module, outside):
            raise UserError(f"there is a Python module {module} already, which would be read "
                            "instead; name the block otherwise")
    stands_for = re.compile("|".join(sorted(words, key=len, reverse=True)))
    texts = {folder / path.replace("NAME", name): stands_for.sub(
        lambda match: words[match[0]], text) for path, text in files.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in texts:
            if path.exists():
                raise UserError(f"{path} is there already; name another block, or another folder "
                                "with --output")
        for path, text in texts.items():
            path.write_text(text)
    except OSError as error:
        raise UserError(f"cannot write {error.filename or folder}: {error.strerror}") from error
    return list(texts)
