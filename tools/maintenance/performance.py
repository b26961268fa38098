"""Measures the cost of simulation: ``python -m cyclebound.tools.maintenance.performance``.

Each section measures side by side, in one run, what has to be compared, and prints a table in
Markdown. docs/performance.md holds such tables. The figures are seconds of processor time unless
they say otherwise, so that other work on the machine disturbs them less.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypedDict

import numpy as np
from amaranth.hdl import Elaboratable, Module, Signal

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.systolic.output_stationary import OutputStationaryArray
from cyclebound.sim import catalogue
from cyclebound.sim.build.elaborate import FlatTop, fields_json, leave_unused
from cyclebound.sim.build.verilator import Build, build_verilator
from cyclebound.sim.describe.block import Block
from cyclebound.sim.families.simd.rtl import run_rtl
from cyclebound.sim.regression.results import Results
from cyclebound.sim.run.job import Job, design, identity_of, job_environment, run_job, simulate
from cyclebound.tb.bus import Bus
from cyclebound.tools.simd.assembler import assemble_file
from cyclebound.tools.simd.kernel_cases import fill
from cyclebound.tools.simd.kernels import kernel_path

__all__ = ["main"]

_MODULE = "cyclebound.tb.performance"
_SIGNALS = 100
_STYLE_CYCLES = 2_000     # of the slowest style
_ARRAY_CYCLES = 100_000
_ENOUGH = 40              # seconds of a configuration's runs, after which none is repeated
_HARNESS_RATIO = 10       # bars, as multiples, seconds, bytes and cycles per second
KEPT = 0.8  # of a release's ratio
BENCHMARK = Path(__file__).with_name("benchmark.json")
KERNELS = "vector_add", "compute_phi_mag", "compute_q"  # on a line of items
MANY = 100  # work-groups
_BUILD_SECONDS, _BUILD_BYTES, _RATE = 90, 1 << 30, 150_000

Row = dict[str, object]


class Ran(TypedDict):
    """What a run took: cycles of its clock, processor seconds."""

    cycles: int
    cpu: float


class Simulated(Ran):
    """The same of a simulation; ``seconds`` of its tests alone, without its start."""

    seconds: float


def _say(text: str) -> None:
    print(f"performance: {text}", file=sys.stderr, flush=True)


def _children() -> float:
    """Processor seconds of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _peak(who: int) -> int:
    """Bytes of the largest process: this one, or of those that it has waited for."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit


# Blocks: a testbench that looks at every cycle, and one that leaves that to hardware

def _pairs(names: Iterable[str]) -> Iterator[tuple[Block, str]]:
    """Blocks with both testbenches, each with its two largest configurations."""
    for block in catalogue.load():
        benches = {bench.name: bench for bench in block.testbenches}
        if {"cycle", "harness"} <= set(benches) and (not names or block.name in names):
            both = [c for c in block.configurations if all(
                c in (benches[name].configurations or [c]) for name in ("cycle", "harness"))]
            yield from ((block, configuration) for configuration in both[-2:])


def _prepare(block: Block, configuration: str, testbench: str) -> None:
    """Build it, so that no run that is measured has to."""
    job = Job(block.name, configuration, testbench, 1, "")
    _, top = design(block, job)
    build_verilator(top, ports=top.ports, identity=identity_of(job))
    leave_unused(top)


def _run(block: Block, configuration: str, testbench: str, folder: Path) -> Simulated:
    job = Job(block.name, configuration, testbench, 1, str(folder / testbench))
    before = _children()
    outcome = simulate(block, job, identity=identity_of(job))
    if not outcome.passed:
        raise SystemExit(f"performance: {job.name} failed: {outcome.reason}")
    cases = ElementTree.parse(Path(job.folder) / "cocotb.xml").getroot().iter("testcase")
    return {"cycles": outcome.cycles, "cpu": _children() - before,
            "seconds": sum(float(case.get("time", "")) for case in cases)}


def blocks(options: argparse.Namespace) -> list[Row]:
    """Cycles per second of the per-cycle testbench and of the harness."""
    rows = []
    for block, configuration in _pairs(options.block):
        best: dict[str, Simulated] = {}
        for name in ("cycle", "harness"):
            _prepare(block, configuration, name)
        with tempfile.TemporaryDirectory() as folder:
            runs, took = 0, 0.0
            while runs < options.repeat and took < _ENOUGH:
                runs += 1
                _say(f"{block.name} {configuration}, run {runs} of {options.repeat}")
                for name in ("cycle", "harness"):
                    row = _run(block, configuration, name, Path(folder))
                    took += row["seconds"]
                    best[name] = min(best.get(name, row), row, key=lambda r: r["seconds"])
        cycle, harness = best["cycle"], best["harness"]
        rates = [row["cycles"] / row["seconds"] for row in (cycle, harness)]
        whole = [row["cycles"] / row["cpu"] for row in (cycle, harness)]
        rows.append({
            "block": block.name, "configuration": configuration, "runs": runs,
            "cycle: cycles": cycle["cycles"], "cycle: cycles/s": rates[0],
            "harness: cycles": harness["cycles"], "harness: cycles/s": rates[1],
            "ratio": rates[1] / rates[0],
            "cycle: whole job, cycles/CPU-s": whole[0],
            "harness: whole job, cycles/CPU-s": whole[1],
            f"at least {_HARNESS_RATIO}x": rates[1] >= _HARNESS_RATIO * rates[0]})
    return rows


# Signals: ways to touch them from Python

class _Wires(Elaboratable):
    """A register for each of many signals, and for as many bits of one bus."""

    def __init__(self, count: int) -> None:
        self.inputs = Signal(32 * count)
        self.outputs = Signal(32 * count)
        self.plain = [(Signal(32, name=f"in_{n}"), Signal(32, name=f"out_{n}"))
                      for n in range(count)]

    @property
    def ports(self) -> list[Signal]:
        return [self.inputs, self.outputs, *(port for pair in self.plain for port in pair)]

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.outputs.eq(self.inputs)
        m.d.sync += [after.eq(before) for before, after in self.plain]
        return m


def _measured(build: Build, test: str, folder: Path, **settings: object) -> dict[str, float]:
    """Cycles per processor second, by what `cyclebound.tb.performance` calls it."""
    (folder / "job.json").write_text(json.dumps({"folder": str(folder), **settings}))
    environment = job_environment(Job("performance", "", "", 1, str(folder), test=test), folder,
                                  _MODULE)
    done = subprocess.run(build.command(None), cwd=folder, env=environment, capture_output=True,
                          text=True)
    file = folder / "measured.json"
    if done.returncode or " FAIL=0 " not in done.stdout + done.stderr:
        raise SystemExit(f"performance: {test} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return {name: m["cycles"] / m["seconds"] for name, m in json.loads(file.read_text()).items()}


def signals(options: argparse.Namespace) -> list[Row]:
    """Measure the cost of accessing signals, on a design of registers only."""
    _say(f"ways to touch {_SIGNALS} signals of 32 bits")
    top = _Wires(_SIGNALS)
    build = build_verilator(top, ports=top.ports)
    with tempfile.TemporaryDirectory() as folder:
        rates = _measured(build, "styles", Path(folder), repeat=options.repeat,
                          cycles=_STYLE_CYCLES, signals=_SIGNALS)
    slowest = min(rates.values())
    return [{"each cycle": name, "cycles/CPU-s": rate, "ratio": rate / slowest}
            for name, rate in rates.items()]


# Build: from Amaranth to a running simulator

def _busy(component: OutputStationaryArray) -> tuple[int, int]:
    """Inputs that keep every PE at work, and the outputs that show it."""
    fields = json.loads(fields_json(component))
    inputs, outputs = Bus(fields["inputs"]), Bus(fields["outputs"])
    n = component.rows * component.operand_width // 8
    operands = int.from_bytes(bytes((37 * i + 11) % 256 for i in range(n)), "little")
    word = inputs.pack({"left.valid": 1, "top.valid": 1, "results.ready": 1,
                        "left.payload.values": operands, "top.payload": operands})
    return word, outputs["active"].mask


def _build(component, *, folder: Path, repeat: int = 0) -> dict[str, float]:
    top = FlatTop(component)
    stages: dict[str, float] = {}
    started, cpu = time.monotonic(), time.process_time() + _children()
    build = build_verilator(top, ports=top.ports, stages=stages)
    row = {"seconds": time.monotonic() - started,
           "CPU-s": time.process_time() + _children() - cpu,
           **{name: stages[name] for name in ("rtlil", "verilog", "verilator", "compiler")},
           "this process, MB": _peak(resource.RUSAGE_SELF) / 1e6,
           "largest tool, MB": _peak(resource.RUSAGE_CHILDREN) / 1e6}
    started = time.monotonic()
    assert build_verilator(top, ports=top.ports).cached
    row["unchanged, s"] = time.monotonic() - started
    if repeat:
        word, watch = _busy(component)
        rates = _measured(build, "free_running", folder, repeat=repeat, cycles=_ARRAY_CYCLES,
                          busy=hex(word), watch=hex(watch))
        row |= {f"{name}, cycles/CPU-s": rate for name, rate in rates.items()}
    return row


def _build_array(size: int, repeat: int) -> list[tuple[str, dict[str, float]]]:
    """Measure builds, by designs' names; runs in its own process, for its peak memory, with an
    empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CYCLEBOUND_CACHE"] = folder
        if size:
            build_verilator(top := FlatTop(RoundRobinArbiter(count=2)), ports=top.ports)
            array = OutputStationaryArray(rows=size, columns=size)
            return [(f"{size}x{size} array", _build(array, folder=Path(folder), repeat=repeat))]
        return [(name, _build(RoundRobinArbiter(count=count), folder=Path(folder)))
                for name, count in (("4-way arbiter, empty cache", 4), ("5-way arbiter", 5))]


def build(options: argparse.Namespace) -> list[Row]:
    """Measure builds from Amaranth to a simulator: time, memory, and its speed without Python."""
    rows: list[Row] = []
    built: list[tuple[str, dict[str, float]]] = []
    context = multiprocessing.get_context("spawn")
    for size in (0, *options.size):
        _say(f"building {f'a {size}x{size} array' if size else 'an arbiter'}")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            built += pool.submit(_build_array, size, options.repeat).result()
    for name, row in built:
        # all compilers at their peak together, beside this process
        together = row["this process, MB"] + (os.cpu_count() or 1) * row["largest tool, MB"]
        rates = [rate for what, rate in row.items() if what.endswith("cycles/CPU-s")]
        rows.append({"design": name, **row, "at most together, MB": together,
                     "within the bars": (
                         row["seconds"] < _BUILD_SECONDS and together * 1e6 < _BUILD_BYTES
                         and all(rate >= _RATE for rate in rates))})
    return rows


# Regress: the machinery around the simulations

def regress(options: argparse.Namespace) -> list[Row]:
    """``cyclebound regress`` with everything built, against the sum of its simulations."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, more in (
                ("first, to fill the cache", ["-o", f"{folder}/a"]),
                ("again in a new folder", ["-o", f"{folder}/b"]),
                ("simulations alone", ["-o", f"{folder}/c", "--no-proofs", "--no-pictures"]),
                ("the second one resumed", ["--resume", f"{folder}/b"])):
            _say(f"cyclebound regress, {what}")
            started, cpu = time.monotonic(), _children()
            command = [sys.executable, "-m", "cyclebound.sim", "regress", *options.block, *more]
            done = subprocess.run(command, capture_output=True, text=True)
            seconds = time.monotonic() - started
            if done.returncode not in (0, 1):
                raise SystemExit(f"performance: regress failed: {done.stderr}")
            results = Results(Path(more[1]))
            jobs = results.jobs()
            results.close()
            simulated = sum(job.run_seconds for job in jobs)
            rows.append({"regress": what, "jobs": len(jobs), "seconds": seconds,
                         "CPU-s": _children() - cpu,
                         "sum of simulations, s": simulated,
                         "sum of builds, s": sum(job.build_seconds for job in jobs),
                         "seconds / sum of simulations": seconds / simulated})
    return rows


# Meshes: what a router more costs

MESHES = (2, 4, 8)


def meshes(options: argparse.Namespace) -> list[Row]:
    """Meshes of wormhole routers at saturation, on the harness; once each, from the cache."""
    rows = []
    block = catalogue.load().find("noc.mesh")
    for size in options.mesh or MESHES:
        configuration = f"harness{size}"
        bench = next(testbench.name for testbench in block.testbenches
                     if configuration in (testbench.configurations or ()))
        _say(f"noc.mesh {configuration}; building it takes minutes, unless it is in the cache")
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_job(Job(block.name, configuration, bench, 1, folder, test="saturated"))
            if not outcome.passed:
                raise SystemExit(f"performance: {configuration} failed: {outcome.reason}")
            speed = json.loads((Path(folder) / "speed.json").read_text())
        cycle = speed["seconds a cycle"]
        routers = size * size
        rows.append({"mesh": f"{size} x {size}", "routers": routers,
                     "built in, s": "cached" if outcome.cached else outcome.build_seconds,
                     "cycles": speed["cycles"], "microseconds a cycle": 1e6 * cycle,
                     "cycles/CPU-s": 1 / cycle, "ns a cycle and router": 1e9 * cycle / routers})
        _say(f"noc.mesh {configuration}: {1 / cycle:,.0f} cycles/CPU-s")
    return rows


# Fabrics: grids of units and switches, all compute units at work

FABRICS = ("small", "five_by_five", "paper")


def fabrics(options: argparse.Namespace) -> list[Row]:
    """The dataflow fabric: from Amaranth to a simulator, and a thread in each cycle through it."""
    rows = []
    block = catalogue.load().find("dataflow.fabric")
    for configuration in options.fabric or FABRICS:
        parameters = block.configurations[configuration].parameters
        _say(f"dataflow.fabric {configuration}")
        fabric = block.make(parameters)
        top = FlatTop(fabric)
        stages: dict[str, float] = {}
        cpu = time.process_time() + _children()
        build = build_verilator(top, ports=top.ports, stages=stages)
        built = time.process_time() + _children() - cpu
        with tempfile.TemporaryDirectory() as folder:
            best = min((_run(block, configuration, "busy", Path(folder))
                        for _ in range(options.repeat)), key=lambda row: row["cpu"])
        units = len(fabric.grid.units)
        rows.append({"fabric": configuration, "units": units, "from the cache": build.cached,
                     "build, CPU-s": built, **{f"{name}, s": took for name, took in stages.items()},
                     "largest tool so far, MB": _peak(resource.RUSAGE_CHILDREN) / 1e6,
                     "cycles": best["cycles"], "cycles/CPU-s": best["cycles"] / best["cpu"],
                     "ns for each unit": 1e9 * best["cpu"] / best["cycles"] / units})
    return rows


# The SIMD accelerator: the same kernel with few work-groups and with many, so that neither the
# start of Python nor the build is in the difference

def _sizes(name: str, words: int) -> dict[int, tuple[int, int]]:
    """Sizes of a kernel's buffers, by number, for one line of ``words`` items."""
    line = (words, 1)
    return {0: line, 1: line, 2: line} if name != "compute_q" else {
        **dict.fromkeys((0, 1, 2, 4, 5), line), 3: (4, 5)}


_SIMD = "RTL, DRAM in Python", "RTL, harness", "cycle model"


def _kernel(name: str, groups: int) -> tuple[Ran, ...]:
    """Cycles and processor seconds of a kernel on each of `_SIMD`."""
    machine, part = MACHINES["small"], "ddr4-3200aa-x16"
    words = groups * machine.items
    program = assemble_file(kernel_path(name)).with_sizes(_sizes(name, words))
    grid = Grid(words, 1, machine)
    memory = memory_of(program)
    fill(name, memory, grid, np.random.default_rng(1))
    rows: list[Ran] = []
    for pins in (True, False):
        before = _children()
        ran = run_rtl(program, grid, {number: data.copy() for number, data in memory.items()},
                      policy="unconstrained", part=part, pins=pins)
        rows.append({"cycles": ran.cycles, "cpu": _children() - before})
    before = time.process_time()
    timed = CycleModel(program, dataclasses.replace(grid, machine=as_built(machine)), memory,
                       policy=Policy.UNCONSTRAINED, part=part_named(part)).run(keep=False)
    return *rows, {"cycles": timed.cycles, "cpu": time.process_time() - before}


def simd(options: argparse.Namespace) -> list[Row]:
    """Compute cycles per second of the small SIMD accelerator: RTL, with its DRAM in Python and in
    hardware, and model."""
    rows = []
    for name in options.kernel or KERNELS:
        _say(f"simd.accelerator, {name}")
        _kernel(name, 1)  # builds, if it is the first
        few = [_kernel(name, 1) for _ in range(options.repeat)]
        many = [_kernel(name, MANY) for _ in range(options.repeat)]
        row: Row = {"kernel": name, "work-groups": MANY}
        for column, title in enumerate(_SIMD):
            one, other = (min((run[column] for run in runs), key=lambda measured: measured["cpu"])
                          for runs in (few, many))
            row[f"{title}: cycles"] = other["cycles"]
            row[f"{title}: cycles/CPU-s"] = (other["cycles"] - one["cycles"]) / (
                other["cpu"] - one["cpu"])
        rates = [float(str(row[f"{title}: cycles/CPU-s"])) for title in _SIMD]
        row["harness / Python"], row["model / harness"] = rates[1] / rates[0], rates[2] / rates[1]
        rows.append(row)
    return rows


SECTIONS: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "build": build, "signals": signals, "blocks": blocks, "meshes": meshes,
    "fabrics": fabrics, "simd": simd, "regress": regress}


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def markdown(rows: list[Row]) -> str:
    """A table, with a column for each name that any row has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, ["---"] * len(names),
             *([_cell(row.get(name, "")) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# Benchmarks: the ratios of a release, against which those of now are held

def ratios(section: str, rows: list[Row]) -> dict[str, float]:
    """What of a section's rows can be compared between machines: sides that ran in turns. (Those
    of ``signals`` run one after the other, and differed by half between two runs.)"""
    named: dict[str, Callable[[Row], Row]] = {
        "blocks": lambda row: {f"{row['block']} {row['configuration']}: harness / cycle":
                               row["ratio"]},
        "simd": lambda row: {f"{row['kernel']}: {pair}": row[pair]
                             for pair in ("harness / Python", "model / harness")}}
    return {f"{section}: {name}": float(str(ratio)) for row in rows if section in named
            for name, ratio in named[section](row).items()}


def slower(now: dict[str, float], release: dict[str, float]) -> list[str]:
    """A line for each ratio that is below `KEPT` of the release's, or that the release has not."""
    return [f"{name}: {ratio:.3g}, " + (
        "not in the benchmark" if name not in release else
        f"{ratio / release[name]:.0%} of the {release[name]:.3g} of the release")
        for name, ratio in now.items()
        if name not in release or ratio < KEPT * release[name]]


def machine() -> str:
    """The machine in words that name no person or host."""
    return (f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python "
            f"{platform.python_version()}, load average {os.getloadavg()[0]:.1f}")


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m cyclebound.tools.maintenance.performance",
        description="Measure what simulation costs on this machine, side by side.")
    parser.add_argument("section", nargs="*", metavar="SECTION",
                        help=f"any of {', '.join(SECTIONS)}; the default is all")
    parser.add_argument("--block", action="append", default=[], metavar="BLOCK",
                        help="only this block, in blocks and regress; may be repeated")
    parser.add_argument("--size", action="append", type=int, metavar="N",
                        help="build N x N arrays; the default is 16 and 32")
    parser.add_argument("--mesh", action="append", type=int, metavar="N", choices=MESHES,
                        help="simulate N x N meshes; the default is 2, 4 and 8")
    parser.add_argument("--fabric", action="append", metavar="NAME", choices=FABRICS,
                        help=f"simulate these fabrics; the default is {', '.join(FABRICS)}")
    parser.add_argument("--kernel", action="append", metavar="NAME", choices=KERNELS,
                        help=f"simulate these kernels; the default is {', '.join(KERNELS)}")
    parser.add_argument("--repeat", type=int, default=3, metavar="R",
                        help="measure R times and take the best (default: 3); blocks whose "
                             f"runs take long, none again after {_ENOUGH} s")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")
    parser.add_argument("--benchmark", action="store_true",
                        help=f"fail if a ratio is below {KEPT:.0%} of the last release's "
                             f"({BENCHMARK.name})")
    parser.add_argument("--accept", action="store_true",
                        help=f"put the ratios measured into {BENCHMARK.name}: for a release")
    options = parser.parse_args(arguments)
    options.size = options.size or [16, 32]
    wrong = [name for name in options.section if name not in SECTIONS]
    if wrong:
        parser.error(f"no section {wrong[0]!r}; there are {', '.join(SECTIONS)}")
    if options.repeat < 1:
        parser.error(f"--repeat must be at least 1, not {options.repeat}")
    blocks = [block.name for block in catalogue.load()]
    for name in options.block:
        if name not in blocks:
            parser.error(f"no block {name!r}; there are {', '.join(blocks)}")
    figures: dict[str, object] = {"machine": machine()}
    measured: dict[str, float] = {}
    if not options.json:
        print(figures["machine"])
    for name in options.section or SECTIONS:
        rows = figures[name] = SECTIONS[name](options)
        measured |= ratios(name, rows)
        if not options.json:
            print(f"\n{SECTIONS[name].__doc__}\n\n{markdown(rows)}", flush=True)
    if options.json:
        print(json.dumps(figures, indent=2))
    if options.benchmark or options.accept:
        _held(options, measured)


def _held(options: argparse.Namespace, measured: dict[str, float]) -> None:
    """Hold the ratios to those of the last release, or put them in their place."""
    if not measured:
        raise SystemExit("performance: none of these sections has a ratio; blocks and simd have")
    release = json.loads(BENCHMARK.read_text()) if BENCHMARK.exists() else {"ratios": {}}
    if options.benchmark and (lines := slower(measured, release["ratios"])):
        raise SystemExit("\n".join(["performance: slower than the release:", *lines]))
    if options.accept:
        new = BENCHMARK.with_suffix(".new")
        new.write_text(json.dumps({"machine": machine(), "ratios": {
            **release["ratios"], **{name: round(ratio, 2) for name, ratio in measured.items()}}},
            indent=1) + "\n")
        os.replace(new, BENCHMARK)


if __name__ == "__main__":
    main()
