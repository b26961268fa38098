"""Verilog to a simulator, compiled once for each content.

Five measured choices (docs/performance.md): only the ports are visible to VPI; Verilator's runtime
is compiled once for all designs, and its headers, the larger part of a small design's time, are
precompiled; generated C++ is compiled as one file while it is small, in parallel when it is large;
and the compiler optimises it little, since more takes it longer and makes it no faster.
"""

import concurrent.futures
import contextlib
import functools
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import cocotb_tools.config
from amaranth.hdl import Elaboratable

from cyclebound.sim.base.cache import find_entry, find_once, find_or_make, key_of
from cyclebound.sim.base.installed import compiler_content, everything, package, program, tree
from cyclebound.sim.base.toolchain import compiler, verilator
from cyclebound.sim.build.elaborate import (
    FAST_SCRIPT,
    PART_SELECTS,
    SharedModules,
    simulation_verilog,
    to_rtlil,
)
from cyclebound.sim.build.identity import Identity
from cyclebound.sim.build.replicas import Replica, replicate
from cyclebound.sim.netlist.yosys import PACKAGE

__all__ = ["Build", "BuildError", "build_program", "build_verilator", "know"]

_RUNTIME = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")
_FLAGS = ("-std=gnu++20", "-w",
          *(("-fcf-protection=none",) if os.uname().machine == "x86_64" else ()))
_TRANSLATION = ("-O3", "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal", "-Wno-lint",
                "--output-split", "20000", "--output-split-cfuncs", "500")
# Verilator's runtime, code of every cycle, and code that runs once
_LIBRARY, _FAST, _SLOW = "-O2", "-O1", "-O0"
_ONE_FILE = 600_000   # bytes of C++: below, one compilation; above, several at once
_CHUNK = 900_000      # bytes of C++ a compilation: keeps it well under 500 MB
_MAIN = Path(__file__).with_name("simulator.cpp")
# what decides how a simulator is made of Verilog
_RECIPE = [(Path(__file__).parents[1] / name).read_text()
           for name in ("build/verilator.py", "build/replicas.py", f"build/{_MAIN.name}",
                        "netlist/verilog_text.py")]
# where a module of simulation Verilog has its clock, if it only moves registers
_CLOCKING = re.compile(r"^module [^;]*;|^  (?:input|wire) clk;|\.clk\(clk\)|"
                       r"\balways @\(posedge clk\)", re.MULTILINE)
# where a model begins with what depends on its inputs
_INPUTS = "vlSelfRef.__VicoFirstIteration = 1U;"
# what every design includes, in the runtime's folder, precompiled with the optimisation of the most
# that takes it (g++ 12 fails where that is more), and without any
_HEADERS = {_LIBRARY: "headers.h", _FAST: "headers.h", _SLOW: "headers_slow.h"}
_INCLUDED = ("verilated.h", "verilated_vpi.h", "memory", "string", "libgen.h", "stdio.h")


class BuildError(RuntimeError):
    """A tool refused its input; holds what it printed."""


@dataclass(frozen=True)
class Build:
    """A simulator: its executable, whether it came from the cache, and the seconds it took.

    ``key`` stands for all that it was made from; ``index``, if any, is what `know` is to keep it
    under.
    """

    executable: Path
    cached: bool
    seconds: float
    trace: str | None
    key: str
    index: str = ""

    def command(self, waveform: Path | None) -> list[str]:
        """The command that simulates, and writes the waveform if there is to be one."""
        traced = ["--trace", "--trace-file", str(waveform.resolve())] if waveform else []
        return [str(self.executable), *traced]


def _run(command: list[str], cwd: Path, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{Path(command[0]).name} failed:\n{(done.stdout + done.stderr)[-4000:]}")


@contextlib.contextmanager
def _timed(stages: dict[str, float] | None, name: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    if stages is not None:
        stages[name] = time.monotonic() - started


def _defines(trace: str | None) -> list[str]:
    values = {"COVERAGE": 0, "SC": 0, "TIMING": 0, "TRACE": int(trace is not None),
              "TRACE_FST": int(trace == "fst"), "TRACE_VCD": int(trace == "vcd"), "TRACE_SAIF": 0}
    return [f"-DVM_{name}={value}" for name, value in values.items()] + [
        "-DVERILATOR=1"]


def _includes() -> list[str]:
    include = verilator().root / "include"
    return [f"-I{include}", f"-I{include / 'vltstd'}", f"-I{include / 'fstcpp'}"]


def trace_format() -> str:
    """``fst`` where zlib's and lz4's headers are installed, else ``vcd``."""
    def make(folder: Path) -> None:
        probe = folder / "probe.cpp"
        probe.write_text("#include <zlib.h>\n#include <lz4.h>\nint main() { return 0; }\n")
        done = subprocess.run([compiler(), str(probe), "-o", str(folder / "probe"), "-lz", "-llz4"],
                              capture_output=True)
        (folder / "format").write_text("vcd" if done.returncode else "fst")

    # asked again each time it said no: the headers may have come since
    folder, _ = find_or_make("probe", key_of("trace", compiler_content(),
                                             Path("/usr/include/lz4.h").exists()), make)
    return (folder / "format").read_text()


@functools.cache
def _verilator_content() -> str:
    """A hash of the Verilator that is used: of its package, or of what is installed elsewhere."""
    tool = verilator()
    return key_of(package("verilator"), program(tool.binary),
                  None if tool.packaged else tree(tool.root / "include"))


def _runtime(trace: str | None) -> Path:
    """Verilator's runtime as objects, for all designs; and the headers they include, precompiled.

    That for waveforms has objects of its own besides, and headers; the others do not depend on
    that. A compiler that cannot use the precompiled headers reads the plain ones beside them.
    """
    names = [f"verilated_{trace}_c"] if trace else _RUNTIME

    def make(folder: Path) -> None:
        include = verilator().root / "include"
        flags = [*_FLAGS, *_defines(trace), *_includes(), "-pthread"]

        def header(optimisation: str) -> None:
            name = _HEADERS[optimisation]
            (folder / name).write_text("".join(f"#include <{one}>\n" for one in _INCLUDED))
            _run([compiler(), optimisation, *flags, "-x", "c++-header", "-o", f"{name}.gch", name],
                 folder)

        def one(name: str) -> None:
            _run([compiler(), _LIBRARY, *flags, "-include", f"./{_HEADERS[_LIBRARY]}", "-c", "-o",
                  f"{name}.o", str(include / f"{name}.cpp")], folder)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            headers = [pool.submit(header, optimisation) for optimisation in (_LIBRARY, _SLOW)]
            others = _runtime(None) if trace else folder
            for made in headers:
                made.result()
            list(pool.map(one, names))
        for path in others.glob("*.o") if trace else ():
            shutil.copy(path, folder)

    key = key_of(_verilator_content(), compiler_content(), _FLAGS, trace, _LIBRARY, _HEADERS,
                 _INCLUDED, names)
    return find_once("runtime", key, make)


def _chunks(sources: list[Path]) -> list[tuple[str, list[Path]]]:
    """Sources grouped into compilations of about equal size, each with its optimisation."""
    total = sum(path.stat().st_size for path in sources)
    if total <= _ONE_FILE:
        return [(_FAST, sources)]
    slow = [path for path in sources if path.stem.endswith("__Slow")]
    groups: list[list[Path]] = []
    sizes: list[int] = []
    for path in sorted(set(sources) - set(slow), key=lambda p: (-p.stat().st_size, p.name)):
        size = path.stat().st_size
        fits = [n for n, used in enumerate(sizes) if used + size <= _CHUNK]
        if not fits:
            groups.append([])
            sizes.append(0)
        number = fits[0] if fits else -1
        groups[number].append(path)
        sizes[number] += size
    return [*((_FAST, group) for group in groups), (_SLOW, slow)]


def _compile(folder: Path, trace: str | None, runtime: Path, main: Path | None = None,
             replicas: Sequence[Replica] = ()) -> None:
    """Compile what Verilator has written; with ``main`` as its program, without cocotb."""
    # models have precompiled headers that know of no other's
    program = folder / (main or _MAIN).name
    shutil.copyfile(main or _MAIN, program)
    models = [[*sorted(folder.glob("Vtop*.cpp")), program],
              *([*sorted(folder.glob(f"{replica.prefix}*.cpp"))] for replica in replicas),
              *[[folder / "replicas.cpp"]] * bool(replicas)]
    flags = [*_FLAGS, *_defines(trace), f"-I{folder}", *_includes(), "-pthread"]

    def one(job: tuple[int, tuple[str, list[Path]]]) -> str:
        number, (optimisation, group) = job
        unit = folder / f"unit{number}.cpp"
        # by names alone: a folder may be called anything, a quotation mark in it
        unit.write_text("".join(f'#include "{path.name}"\n' for path in group))
        _run([compiler(), optimisation, *flags, "-include", str(runtime / _HEADERS[optimisation]),
              "-c", str(unit), "-o", f"unit{number}.o"], folder)
        return f"unit{number}.o"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(one, enumerate(chain.from_iterable(map(_chunks, models)))))
    libraries = Path(cocotb_tools.config.libs_dir)
    objects += sorted(map(str, runtime.glob("*.o")))
    cocotb = [] if main else [f"-L{libraries}", "-lcocotbvpi_verilator"]  # a job says where it is
    _run([compiler(), *objects, "-o", "sim", "-pthread", "-rdynamic", *cocotb,
          *(["-lz", "-llz4"] if trace == "fst" else [])], folder)


def _open_clock(folder: Path, verilog: Path) -> str:
    """What lets `_MAIN` set edges in the model itself, and leave out falling ones: the names of its
    clock and of the register in which it keeps what that was. The model is changed so that it asks
    `_MAIN` whether inputs have moved, instead of assuming that in each evaluation.

    Nothing, and a model as it was, if anything but registers that move when ``clk`` rises depends
    on that (a latch, a falling edge, a gate), or if the model is not written as Verilator 5 does.
    """
    if re.search(r"\b(clk|always)\b", _CLOCKING.sub("", verilog.read_text())):
        return ""
    kept = set(re.findall(r"\b__Vtrigprevexpr___TOP__\w+__\d+\b",
                          (folder / "Vtop___024root.h").read_text()))
    asking = [path for path in folder.glob("Vtop___024root*.cpp") if _INPUTS in path.read_text()]
    if len(kept) != 1 or len(asking) != 1 or asking[0].read_text().count(_INPUTS) != 1:
        return ""
    asking[0].write_text("extern bool inputs_move;\n" + asking[0].read_text().replace(
        _INPUTS, _INPUTS.replace("1U", "inputs_move")))
    before, = kept
    clock = before.removeprefix("__Vtrigprevexpr___TOP__").rpartition("__")[0]
    return f"#define CLOCK {clock}\n#define CLOCK_BEFORE {before}\n"


def build_program(sources: list[Path], top: str, main: Path, folder: Path,
                  replicas: Sequence[Replica] = ()) -> Path:
    """The program of a C++ file that uses ``Vtop``, the model of a module of Verilog files.

    ``folder`` is made, and holds it; ``replicas`` are beside the sources. Not kept in the cache.
    Raises `BuildError`.
    """
    folder.mkdir()
    for replica in replicas:
        _translate([sources[0].with_name(f"{replica.name}.v")], replica.name, replica.prefix,
                   ["--no-assert"], folder)
    if replicas:
        shutil.copy(sources[0].with_name("replicas.cpp"), folder)
    _translate(sources, top, "Vtop", ["--no-assert"], folder)
    _compile(folder, None, _runtime(None), main, replicas)
    return folder / "sim"


def know(build: Build) -> None:
    """Keep the key of a build whose identity stands for it, so that the next one does without
    elaboration."""
    if build.index:
        find_or_make("content", build.index,
                     lambda folder: (folder / "key").write_text(build.key))


def _translate(sources: Sequence[Path | str], top: str, prefix: str, options: Sequence[str],
               folder: Path) -> None:
    """Verilog to a model of its module ``top`` in C++, in ``folder``."""
    tool = verilator()
    _run([str(tool.binary), "-cc", *_TRANSLATION, *options, "--top-module", top, "--prefix",
          prefix, "-Mdir", str(folder), *map(str, sources)], folder,
         {**os.environ, "VERILATOR_ROOT": str(tool.root)})


def build_verilator(top: Elaboratable | str, *, ports: list, visible: tuple[str, ...] = (),
                    trace: str | None = None, checked: bool = True,
                    identity: Identity | None = None, looks: bool = True,
                    stages: dict[str, float] | None = None) -> Build:
    """A simulator of ``top``, from the cache if its content has been compiled before.

    Parameters
    ----------
    top : Elaboratable or str
        The design; its ports become those of module ``top``. Or RTLIL that has a module ``top``.
    ports : list
        Its ports besides clock and reset; of RTLIL, their names.
    visible : tuple[str, ...]
        Further signals for VPI, as ``module:signal``.
    trace : None, "fst" or "vcd"
        Waveform format to build in. It costs speed even while it is off.
    checked : bool
        Whether `Assert` and `Assume` stop the simulation.
    identity : Identity or None
        If given, whatever has been built under it and these options before is taken without
        elaborating ``top`` again.
    looks : bool
        Whether to look, at all that is installed too, if the identity stands, and keep the build
        under it; else that is left to a caller who looks anyway, and calls `know`.
    stages : dict[str, float] or None
        Here the seconds of each stage are kept that was gone through.

    Raises `BuildError` with the tool's own words.
    """
    started = time.monotonic()
    shares = SharedModules("top")

    @functools.cache
    def rtlil() -> str:
        if isinstance(top, str):
            return top
        with _timed(stages, "rtlil"):
            return to_rtlil(top, name="top", ports=ports, shares=shares)

    names = ["clk", "rst", *(getattr(port, "name", port) for port in ports)]
    control = "".join(f'public_flat_rw -module "top" -var "{name}"\n' for name in names)
    control += "".join('public_flat_rd -module "{}" -var "{}"\n'.format(*item.split(":"))
                       for item in visible)
    # that no two cases of a choice fit is yosys' word, and checking it slow
    asserts = ["--assert", "--no-assert-case"] if checked else ["--no-assert"]
    flags = ["--vpi", "--no-public-flat-rw", *asserts, *([f"--trace-{trace}"] if trace else [])]
    # the signals inside a part that is called are in no waveform, and not VPI's
    called = trace is None and not visible

    def make(folder: Path) -> None:
        work = folder / "work"
        work.mkdir()
        with _timed(stages, "verilog"):
            simulation_verilog(rtlil(), work, FAST_SCRIPT)
        replicas = replicate(work / "top.v", shares.modules if called else {},
                             shares.enabled)
        # what is shared is compiled once, not inlined everywhere
        left = shares.modules.keys() - {replica.module for replica in replicas}
        once = "".join(f'no_inline -module "{name}"\n' for name in sorted(left))
        (work / "ports.vlt").write_text("`verilator_config\n" + control + once)
        with _timed(stages, "verilator"):
            for replica in replicas:
                _translate([f"{replica.name}.v"], replica.name, replica.prefix, asserts, work)
            called_from = "calls.v" if replicas else "top.v"
            _translate(["ports.vlt", called_from], "top", "Vtop", flags, work)
        runtime = _runtime(trace)
        (work / "clock.h").write_text(_open_clock(work, work / called_from))
        with _timed(stages, "compiler"):
            _compile(work, trace, runtime, replicas=replicas)
        shutil.move(work / "sim", folder / "sim")
        shutil.move(work / "top.v", folder / "top.v")
        shutil.rmtree(work)

    # The key holds the RTLIL and not the Verilog made from it: the same content, without a second
    # of yosys on every unchanged run.
    options = (FAST_SCRIPT, PART_SELECTS, control, flags, _TRANSLATION, _RECIPE,
               package(PACKAGE, "cocotb"), _verilator_content(), compiler_content(), _FLAGS, _FAST)
    index = "" if identity is None else key_of(identity.key, options, everything())
    if index and (known := find_entry("content", index)):
        key, index = (known / "key").read_text(), ""
    else:
        key = key_of(rtlil(), options)
    folder, cached = find_or_make("verilator", key, make)
    build = Build(folder / "sim", cached, time.monotonic() - started, trace, key, index)
    if identity and looks and index and identity.stands():
        know(build)
    return build
