"""Testbench of a core in charge of tiles on a shared DRAM: it starts their jobs, and awaits each.

Its program is in assembly language. It copies each job's configuration, commands or operands from
its RAM into the registers, starts the job, and polls STATUS. All words are numpy's, each job keeps
its own bound, and the program that of its code and its jobs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dram.request import BURST_BYTES, BURST_WORDS, WORD_BYTES
from cyclebound.golden.shmac.address_map import boot_stub, entry_of, tile_base
from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.simd.machine import Grid as KernelGrid
from cyclebound.golden.simd.machine import name_of
from cyclebound.golden.simd.program import INSTRUCTIONS
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.golden.system.core_host import (
    Start,
    Wait,
    host_waits,
    jobs_of_program,
    program_of_jobs,
)
from cyclebound.golden.system.fabric import fabric_job, fabric_times
from cyclebound.golden.system.job_table import CORE, JOB_TILES, JobRegister, Status
from cyclebound.golden.system.job_words import command_words, kernel_operands
from cyclebound.golden.system.tiled import (
    array_cycles,
    array_device,
    array_memory,
    kernel_job,
    product_cycles,
)
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.shmac.tile import packet_said
from cyclebound.tb.system.tiled import ARRAY_AT, CORE_AT, POLICY, CoreJob, TiledTester, gather
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph
from cyclebound.tools.shmac.wcet.analysis import wcet
from cyclebound.tools.shmac.wcet.code import Code, assembled
from cyclebound.tools.simd.assembler import assemble

__all__ = ["OTHERS", "TABLE", "HostJob", "chain", "host_code", "host_order", "host_program",
           "host_table"]

TABLE = 0x800      # in the core's RAM: what each job is given, in the order of starts
OTHERS = 3         # instructions of a loop that polls, besides the read
_ARRAYS = 0xC0000  # in DRAM
_LOOK = 64         # clocks

_WORDS = """
        lw    $t0, 0($s1)
        addiu $s1, $s1, 4
word{n}:
        lw    $t1, 0($s1)           # bound {words}
        addiu $s1, $s1, 4
        addiu $t0, $t0, -1
        bne   $t0, $0, word{n}
        sw    $t1, {word}($s0)
"""
_OPERAND = """
        lw    $t1, 0($s1)
        addiu $s1, $s1, 4
        sw    $t1, {operand}($s0)
"""
_START = """
        ori   $t1, $0, 1
        sw    $t1, {control}($s0)
"""
# IDLE or FAULT: after a refused line it is never IDLE; then FAULT and REFUSED
_WAIT = """
poll{n}:
        lw    $t1, {status}($s0)    # bound 1
        andi  $t2, $t1, 3
        beq   $t2, $0, poll{n}
        nop
"""
_CHECK = """
        andi  $t1, $t1, 6
        bne   $t1, $0, end
        nop
"""
_END = """
end:    sw    $t1, -508($0)         # EXIT
after:  b     after
        nop
"""
# a job without a configuration, before all others; and another one after the first
_EARLY = _START + _WAIT + _CHECK
_LATE = """
late:   lw    $t1, 4($s0)           # bound 1: STATUS
        andi  $t1, $t1, 1
        beq   $t1, $0, late
        ori   $t1, $0, 1
        sw    $t1, 0($s0)           # START
"""
# the sum of the bytes of each word that are above 0: what a rectifier leaves of four channels
_RECTIFIED = """
.data
0 0x0     {words} 1
1 0x40000 {words} 1
.text
    ldglin  v0, 0
    shl     v1, v0, 24
    shr     v1, v1, 24
    imax    v1, v1, 0
    shl     v2, v0, 16
    shr     v2, v2, 24
    imax    v2, v2, 0
    shl     v3, v0, 8
    shr     v3, v3, 24
    imax    v3, v3, 0
    shr     v4, v0, 24
    imax    v4, v4, 0
    iadd    v1, v1, v2
    iadd    v3, v3, v4
    iadd    v1, v1, v3
    stglin  v1, 1
    exit
"""


@dataclass(frozen=True)
class HostJob:
    """A job that a core starts.

    Attributes
    ----------
    tile : str
        One of `JOB_TILES`.
    given : sequence of int
        Words of its configuration or commands; of a kernel, its operands.
    bound : int
        Clocks from the strobe to the first in which the tile is idle.
    what, known : str, mapping
        The probe's name, and what is declared of the job.
    """

    tile: str
    given: Sequence[int]
    bound: int
    what: str = ""
    known: Mapping[str, int] = field(default_factory=dict)


def host_program(jobs: Mapping[str, HostJob], steps: Sequence[str], *, again: str = "",
                 early: str = "") -> str:
    """A program that starts jobs (``+name``) and waits for them (``-name``), in this order; it ends
    after a job with a FAULT or a refused write, unless it is ``~name`` that waits for it. A job is
    given its words by ``=name`` or, if there is none, where it starts.

    ``again``: after the first START; ``early``: before it.
    """
    offsets = {"control": JobRegister.CONTROL.value, "status": JobRegister.STATUS.value,
               "word": JobRegister.WORD.value}
    text = f"        ori   $s1, $0, {TABLE}\n"
    for number, step in enumerate(steps):
        sign, job = step[0], jobs[step[1:]]
        text += f"        lui   $s0, {tile_base(*JOB_TILES[job.tile].place) >> 16}\n"
        if number == 0 and early:
            text += early.format(n="e", **offsets)
        if sign in "-~":
            text += _WAIT.format(n=number, **offsets) + _CHECK * (sign == "-")
            continue
        if step not in _giving(steps):
            pass
        elif JOB_TILES[job.tile].operands:
            text += "".join(_OPERAND.format(operand=JobRegister.OPERAND + 4 * place)
                            for place in range(len(job.given)))
        elif job.given:
            text += _WORDS.format(n=number, words=len(job.given), **offsets)
        if sign == "+":
            text += _START.format(**offsets) + again
            again = ""
    return text + _END


def _giving(steps: Sequence[str]) -> list[str]:
    """The steps at which jobs are given their words."""
    return [step for step in steps if step[0] == "=" or (
        step[0] == "+" and f"={step[1:]}" not in steps)]


def host_table(jobs: Mapping[str, HostJob], steps: Sequence[str]) -> list[int]:
    """The words of the program's table."""
    return [word for job in (jobs[step[1:]] for step in _giving(steps))
            for word in (*[len(job.given)] * _counted(job), *job.given)]


def host_order(jobs: Mapping[str, HostJob], steps: Sequence[str]) -> list[Start | Wait]:
    """The program's starts and waits, for its bound."""
    return [Start(jobs[step[1:]].tile, jobs[step[1:]].bound) if step[0] == "+" else
            Wait(jobs[step[1:]].tile) for step in steps if step[0] != "="]


def host_code(code: Code) -> int:
    """Cycles of a program for tile `CORE`, from reset to its label ``after``, with one round of
    each loop that polls."""
    boot = {4 * place: word for place, word in enumerate(boot_stub(*CORE))}
    return wcet(Code({**boot, **code.words}, code.symbols, code.facts), 0, host_waits(),
                stops=[code.symbols["after"]], from_reset=True).cycles


def _counted(job: HostJob) -> bool:
    """Whether a program copies the words in a loop."""
    return bool(job.given) and not JOB_TILES[job.tile].operands


@dataclass
class Took:
    """DRAM clocks of a program, and of the jobs on each tile by the tile's own count: compute
    cycles of a kernel, of others from the first word or command.

    ``shares``: of each tile, clocks of its jobs in which it has no request, in which the DRAM
    serves it, in which its request waits while another tile is served, and in which it waits while
    none is, as at a refresh; of the core, those without any job, and all others.
    """

    program: int
    status: int
    jobs: dict[str, list[int]]
    shares: dict[str, list[int]]


class TiledHostTester(TiledTester):
    """A program that starts jobs; ``tiles`` are those of the system, in the order of their bits."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.tiles = ("simd", "systolic", "dataflow")[:2 + bool(self.fabric)]
        self.device = array_device(**{name: self.shape[name]
                                      for name in ("size", "depth", "memory_width")})

    def program_of(self, jobs: Mapping[str, HostJob], steps: Sequence[str], **more: str) -> None:
        """The core's program and table, and its bound. ``more``: as of `host_program`."""
        self.jobs = {tile: [jobs[step[1:]] for step in steps
                            if step[0] == "+" and jobs[step[1:]].tile == tile]
                     for tile in self.tiles}
        code = assembled(host_program(jobs, steps, **more), origin=entry_of(*CORE))
        self.code = host_code(code)
        self.rest = jobs_of_program(host_order(jobs, steps), others=OTHERS)
        table = host_table(jobs, steps)
        assert max(code.words) < TABLE
        words = self.bench.parameters["host_words"]
        assert TABLE + 4 * len(table) <= 4 * words, f"{len(table)} words of {words}"
        self.ram = {**code.words, **{TABLE + 4 * place: word for place, word in enumerate(table)}}

    async def load_program(self) -> None:
        """The program into the core's RAM."""
        bench = self.bench
        loads = [bench.inputs.pack({"host_load.valid": 1, **packet_said(
            "host_load.payload", RequestPacket(write=True, target=CORE, address=address,
                                               strobes=15, data=word))})
            for address, word in self.ram.items()]
        ready = bench.outputs["host_load.ready"]
        taken = [ready.of(seen) for seen in await self.play(loads)]
        bench.compare(taken, [1] * len(taken), "the program's words are taken at once")
        await self.wait(50)

    async def before_refresh(self, clocks: int) -> None:
        """Wait until a refresh falls due so many clocks later."""
        await self.wait(self.part.nREFI - (clocks + self.now) % self.part.nREFI)

    async def run_program(self, most: int | None = None) -> Took:
        """The program, from its start until it has ended; without ``most``, all is declared."""
        bench, outputs = self.bench, self.bench.outputs
        ended: dict[str, list[int]] = {tile: [] for tile in self.tiles}
        bound = program_of_jobs.function(code=self.code, rest=self.rest)
        if most is None:
            bench.declare("program", code=self.code, rest=self.rest)
        runs, began, busy = bench.inputs["host_run"].mask, self.now, 0

        def announce(tile: str) -> None:
            left = self.jobs[tile][len(ended[tile]):]
            if left and left[0].what:
                bench.declare(left[0].what, **left[0].known)

        for tile in self.tiles:
            announce(tile)
        counts = {tile: "cycles" if tile == "simd" else f"{tile}_cycles" for tile in self.tiles}
        shares = {tile: [0, 0, 0, 0] for tile in self.tiles}
        alone = 0  # clocks without any job
        waits, served = outputs["waits"], outputs["served"]
        while True:
            over = 0
            for seen in await self.play([runs] * _LOOK):
                now, who = outputs["host_busy"].of(seen), served.of(seen)
                over, busy = over | busy & ~now, now
                alone += not (now or outputs["host_exited"].of(seen))
                for number, tile in enumerate(self.tiles):
                    if now >> number & 1:
                        waiting = waits.of(seen) >> number & 1
                        shares[tile][1 if who >> number & 1 else (2 if who else 3) * waiting] += 1
            for number, tile in enumerate(self.tiles):
                if over >> number & 1:
                    ended[tile].append(outputs[counts[tile]].of(seen))
                    announce(tile)
            if outputs["host_exited"].of(seen):
                break
            assert self.now - began < (most or bound) + 2 * _LOOK, "the program does not end"
        shares["core"] = [alone, self.now - began - alone]
        took = Took(self.now - began, outputs["host_status"].of(seen), ended, shares)
        await self.play([runs] * 100)  # the last words reach DRAM
        await self.fetch()
        bench.dut._log.info("%s of code %s, rest %s", took, self.code, self.rest)
        return took


class GatherTester(TiledHostTester):
    """Two gathers, the second one over the first one's result."""

    def __init__(self, bench: Bench, threads: int, again: str = "", early: str = "") -> None:
        super().__init__(bench)
        rng = np.random.default_rng(bench.rng.getrandbits(32))
        self.arrays = {name: rng.integers(0, 1 << 32, threads, dtype=np.uint32)
                       for name in ("x", "z", "w")}
        index = self.arrays["index"] = rng.integers(0, threads, threads).astype(np.uint32)
        self.wanted = dict(self.arrays)
        self.wanted["z"] = self.arrays["x"][index]
        self.wanted["w"] = self.wanted["z"][index]
        self.layout = Layout.of(self.arrays)
        mapped = map_graph(compile_kernel(gather), Grid(tuple(self.fabric["rows"])))
        places, part, jobs = self.layout.buffers, bench.parameters["part"], {}
        for number, (of, to) in enumerate((("x", "z"), ("z", "w"))):
            layout = Layout({"x": places[of], "index": places["index"], "z": places[to]})
            known = {**fabric_times(mapped, layout, threads=threads, part=part, others=(0, 0),
                                    **self.fabric), "other": 0, "array": 0, "period": 0,
                     "before": 0}
            jobs[f"{number}"] = HostJob("dataflow", mapped.words(threads, layout.buffers, **{
                name: self.fabric[name] for name in ("tid_width", "address_width")}),
                fabric_job(part=part, **known), "job", known)
        self.program_of(jobs, ("+0", "-0", "+1", "-1"), again=again, early=early)

    async def begin(self, maps: bool = True) -> None:
        """From reset: the arrays in DRAM, the buffer mapped, and the program in the core's RAM."""
        await self.bench.reset()
        self.now = 0
        content = np.array(self.layout.words(self.arrays), "<u4").tobytes()
        self.size = len(content)
        self.put(_ARRAYS, content + bytes(-len(content) % BURST_BYTES))
        await self.send()
        if maps:
            await self.map_core(-(-self.size // BURST_BYTES) * BURST_BYTES // 4, _ARRAYS)
        await self.load_program()

    def result(self) -> dict[str, np.ndarray]:
        """The arrays in DRAM."""
        words = np.frombuffer(self.get(_ARRAYS, self.size), "<u4").tolist()
        return self.layout.arrays(words)

    def check(self) -> None:
        """All of them are numpy's."""
        for name, held in self.result().items():
            self.bench.compare(held, self.wanted[name], f"array {name}", count=held.size)


def beside(steps: Sequence[str]) -> dict[str, set[str]]:
    """Of each job, those that a program may have under way meanwhile."""
    found: dict[str, set[str]] = {step[1:]: set() for step in steps}
    going: set[str] = set()
    for sign, name in ((step[0], step[1:]) for step in steps):
        if sign == "+":
            for other in going:
                found[other].add(name)
            found[name] |= going
            going.add(name)
        elif sign != "=":
            going.discard(name)
    return found


class MixedTester(TiledHostTester):
    """A product on the systolic accelerator, a kernel, and a gather by the dataflow core.

    ``chained``: the kernel rectifies and sums up the product's channels, and the gather picks of
    its results. Otherwise each has operands of its own.
    """

    def __init__(self, bench: Bench, steps: Sequence[str], *, chained: bool = False,
                 extents: tuple[int, int, int] = (48, 24, 16), words: int = 512,
                 threads: int = 77) -> None:
        super().__init__(bench)
        rng = np.random.default_rng(bench.rng.getrandbits(32))
        self.chained, (m, k, n) = chained, extents
        words = m * n // 4 if chained else words
        program = assemble(_RECTIFIED.format(words=words), "rectified")
        grid = KernelGrid(words, 1, self.machine)
        meanwhile = beside(steps)
        longest = {"kernel": self.kernel_longest(program, grid), "product": self.array_longest,
                   "gather": self.fabric_longest}

        def others(name: str) -> list[int]:
            """The longest requests of the two others, by the order of `longest`."""
            return [most if other in meanwhile[name] else 0
                    for other, most in longest.items() if other != name]

        def before(name: str) -> int:
            """The longest request of jobs on other tiles that were started earlier."""
            last = max(place for place, step in enumerate(steps) if step == f"+{name}")
            return max([0, *(longest[step[1:]] for step in steps[:last]
                             if step[0] == "+" and step[1:] != name)])

        jobs: dict[str, HostJob] = {}
        clients, part, shape = len(self.tiles), self.shape["part"], self.shape
        self.array = self.core = None
        if "product" in meanwhile:
            other, line = others("product")
            self.array = self.product(m, k, n, other, line)
            known = {"m": m, "k": k, "n": n, "other": other, "line": line, "period": 0,
                     "before": before("product")}
            most = self.array_bound(self.array.commands, (other, line), known["before"])
            assert most == product_cycles(**shape, **known)
            jobs["product"] = HostJob("systolic", command_words(self.array.commands, self.device),
                                      most, "product", known)
        if "gather" in meanwhile:
            self.core = CoreJob(self.fabric, threads, rng, words if chained else None)
            array = others("gather")
            known = {**self.core.times(part, array, 0), "other": array[0], "array": array[1],
                     "period": 0, "before": before("gather")}
            jobs["gather"] = HostJob("dataflow", self.core.configuration(),
                                     fabric_job(part=part, **known), "job", known)
        if chained and self.array is not None:
            place = {0: ARRAY_AT + self.array.places[0].result * shape["size"]}
            if self.core is not None:
                place[1] = CORE_AT + self.core.layout.buffers["x"][0] * WORD_BYTES
            program = replace(program, buffers={number: replace(buffer, address=place.get(
                number, buffer.address)) for number, buffer in program.buffers.items()})
        self.kernel, self.memory = program, memory_of(program)
        self.memory[0][...] = rng.integers(0, 1 << 32, (1, words), dtype=np.uint32)
        source = self.memory[0].ravel()
        if chained:
            assert self.array is not None
            step, size = self.array.steps[0], shape["size"]
            beats = np.zeros(step.layer.result_words(size) * size, np.int8)
            beats[step.layer.result_of(np.arange(beats.size).reshape(-1, size), size)
                  ] = step.expected
            source = beats.view("<u4")[:words]
        self.sums = np.maximum(source.astype("<u4").view(np.int8).reshape(-1, 4), 0).astype(
            np.uint32).sum(1, dtype=np.uint32)
        if chained and self.core is not None:
            self.core.arrays["x"] = self.core.arrays["x"].copy()
            self.core.wanted = self.sums[self.core.arrays["index"]]
        if "kernel" in meanwhile:
            cycles = self.analysis(program, grid, others("kernel"), before("kernel")).wcet(
                POLICY).cycles
            known = {"cycles": cycles, "clients": clients, "period": 0}
            self.address = self.put_kernel(program, self.memory)
            jobs["kernel"] = HostJob("simd", kernel_operands(
                program=self.address // WORD_BYTES, instructions=len(program.instructions),
                grid=grid, policy=POLICY), kernel_job(machine=name_of(self.machine), part=part,
                                                      **known), "kernel", known)
        self.program_of(jobs, steps)

    def array_bound(self, commands: Sequence[Mapping[str, int]], others: Sequence[int],
                    before: int) -> int:
        """Clocks of such a list of commands, beside clients with such requests."""
        memory = array_memory(self.shape["part"], others=others, before=before, **{
            name: self.shape[name] for name in ("size", "bursts", "slots")})
        return array_cycles(commands, self.device, memory)

    async def begin(self, late: int = 0) -> None:
        """From reset: all data in DRAM, all buffers mapped, the program in the core's RAM; a
        refresh falls due ``late`` clocks after the start."""
        await self.bench.reset()
        self.now = 0
        await self.load(self.kernel, self.memory)
        await self.map_array()
        if self.core is not None:
            await self.map_core()
        await self.load_program()
        if late:
            await self.before_refresh(late)

    def check(self) -> None:
        """All words are numpy's."""
        if self.array is not None:
            self.check_product()
        memory = {number: words.copy() for number, words in self.memory.items()}
        self.get_buffers(self.kernel, memory)
        self.bench.compare(memory[1].ravel(), self.sums, "the sums", count=self.sums.size)
        if self.core is not None:
            if self.chained:
                self.core.arrays["x"] = self.sums
            self.check_core()

    async def judged(self, late: int = 0) -> Took:
        """From reset to the end of the program, which keeps its bound, as does each job."""
        for what in ("product", "kernel", "job", "line", "program"):
            self.bench.undeclare(what)
        await self.begin(late)
        took = await self.run_program()
        self.bench.compare(took.status, 0, "the program's status")
        self.bench.compare({tile: len(ended) for tile, ended in took.jobs.items()},
                           {tile: len(jobs) for tile, jobs in self.jobs.items()}, "jobs that ended")
        self.check()
        return took


@testbench
async def chain(bench: Bench) -> None:
    """Two jobs, of odd and of few threads, and near a refresh."""
    for threads, late in ((77, 0), (1, 0), (64, 700)):
        bench.forget()
        tester = GatherTester(bench, threads)
        await tester.begin()
        if late:
            await tester.before_refresh(late)
        bench.declare("line", other=0, array=0, period=0)
        took = await tester.run_program()
        bench.compare(took.status, 0, "the program's status")
        bench.compare(len(took.jobs["dataflow"]), 2, "jobs seen to end")
        tester.check()


@testbench
async def all_tiles(bench: Bench) -> None:
    """From data in DRAM to a result in DRAM, over all tiles, one after the other: a product whose
    sums get a scale and limits, their rectified sums over channels, and a gather of these."""
    for extents, threads, late in (((48, 24, 16), 77, 0), ((5, 3, 12), 11, 900),
                                   ((16, 40, 8), 33, 5000)):
        bench.forget()
        steps = ("+product", "-product", "+kernel", "-kernel", "+gather", "-gather")
        tester = MixedTester(bench, steps, chained=True, extents=extents, threads=threads)
        await tester.judged(late)


@testbench
async def at_once(bench: Bench) -> None:
    """Two or three jobs at once, in each order, near a refresh too. Requests wait for those of
    other tiles more often than one by one."""
    bench.forget()
    one = MixedTester(bench, "+product -product +kernel -kernel +gather -gather".split())
    alone = (await one.judged()).shares
    for late, steps in (
            (0, "+product +gather -product -gather +kernel -kernel"),
            (3200, "=product =gather +gather +product -gather -product +kernel -kernel"),
            (2600, "=kernel +product +kernel -kernel -product +gather -gather"),
            (5000, "=product =gather =kernel +product +gather +kernel -kernel -gather -product"),
            (3300, "=kernel =gather =product +kernel +gather +product -product -gather -kernel")):
        tester = MixedTester(bench, steps.split())
        shares = (await tester.judged(late)).shares
        waited = [sum(found[tile][2] for tile in tester.tiles) for found in (alone, shares)]
        assert 0 == waited[0] < waited[1], f"clocks of waiting for other tiles: {waited}"


@testbench
async def again(bench: Bench) -> None:
    """A product by three lists of its commands, the longest that there may be, one of a command and
    the rest; the kernel over its result; then all of it again, which takes as long again."""
    seen = []
    for rounds in (1, 2):
        bench.forget()
        steps = ("+product", "-product", "+kernel", "-kernel")
        tester = MixedTester(bench, steps * rounds, chained=True, extents=(48, 48, 16))
        assert tester.array is not None
        commands, most = tester.array.commands, bench.parameters["queue_depth"]
        [kernel, *_] = tester.jobs["simd"]
        parts = {name: list(commands[part]) for name, part in (
            ("longest", slice(most)), ("one", slice(most, most + 1)),
            ("left", slice(most + 1, None)))}
        jobs = {name: HostJob("systolic", command_words(part, tester.device), tester.array_bound(
            part, (0, 0), tester.array_longest)) for name, part in parts.items()}
        tester.program_of({**jobs, "kernel": kernel}, [
            sign + name for name in (*jobs, "kernel") for sign in "+-"] * rounds)
        seen.append(await tester.judged())
    once, twice = seen
    for tile, ended in once.jobs.items():
        first, second = twice.jobs[tile][:len(ended)], twice.jobs[tile][len(ended):]
        bench.compare(len(second), len(first), f"jobs on {tile} in the second round")
        for one, other in zip(first, second, strict=True):
            most = 2 * tester.part.nRFC  # a refresh that one of them has
            assert abs(one - other) <= most, f"{one} and then {other} on {tile}"
        if ended:
            reads = [took.shares[tile][1] for took in seen]
            assert reads[1] > 1.9 * reads[0], f"clocks of the DRAM in one round and two: {reads}"


@testbench
async def what_is_no_job(bench: Bench) -> None:
    """Operands that are no kernel, and lists that are none: FAULT, and nothing has been started;
    what comes after it is carried out."""
    bench.forget()
    good = MixedTester(bench, ("+product", "-product", "+kernel", "-kernel"), extents=(5, 3, 12),
                       words=64)
    [product], [kernel] = good.jobs["systolic"], good.jobs["simd"]
    assert good.array is not None
    given, operands = list(product.given), list(kernel.given)
    long = given * (bench.parameters["queue_depth"] // len(good.array.commands) + 1)
    end = (good.part.bursts - 1) * BURST_WORDS
    wrong = [
        ("systolic", []), ("systolic", long), ("systolic", given[:-1]), ("systolic", given[:1]),
        ("systolic", [given[0] | 3, *given[1:]]),                        # no such operation
        ("systolic", [given[0], given[1] & ~(0xFFFF << 2), *given[2:]]),  # a load of no beats
        *(("simd", [*operands[:place], value, *operands[place + 1:]]) for place, value in (
            (0, 1), (0, 1 << 30), (1, 0), (1, INSTRUCTIONS + 1), (1, 1 << 20), (2, 0), (2, 1 << 20),
            (3, 0), (3, 1 << 20), (4, 30), (4, 1 << 16), (5, 7), (5, 1 << 8)))]
    for tile, words in wrong:
        good.program_of({"bad": HostJob(tile, words, 1)}, ("+bad", "-bad"))
        await good.begin()
        took = await good.run_program(1 << 14)
        bench.compare(took.status, 1 << Status.FAULT, f"status of {words} for {tile}")
        seen = await good.wait(1)
        bench.compare([bench.outputs[name].of(seen) for name in ("cycles", "systolic_cycles")],
                      [0, 0], "cycles of what was not started")
    for count in (BURST_WORDS // 2 + 1, INSTRUCTIONS):  # beyond the DRAM: its load is refused
        bad = HostJob("simd", [end, count, *operands[2:]], 1)
        good.program_of({"bad": bad}, ("+bad", "-bad"))
        await good.begin()
        took = await good.run_program(1 << 12)
        bench.compare(took.status, 1 << Status.FAULT, f"status of {count} instructions")
        memory = {number: words.copy() for number, words in good.memory.items()}
        good.get_buffers(good.kernel, memory)
        bench.compare(memory[1], good.memory[1], "what no kernel has written")
    for words in (long, [*given, *given[:7]], [given[0] | 3, *given[1:]]):  # then the right one
        jobs = {"bad": HostJob("systolic", words, 1), "product": product, "kernel": kernel}
        good.program_of(jobs, ("+bad", "~bad", "+product", "-product", "+kernel", "-kernel"))
        await good.begin()
        took = await good.run_program(1 << 14)
        bench.compare(took.status, 0, "the program's status")
        good.check()


@testbench
async def a_second_start(bench: Bench) -> None:
    """A program that starts its job again at once, while it is under way: that is refused, the
    program sees it, and the job ends with its results."""
    bench.forget()
    tester = GatherTester(bench, 33, again="        sw    $t1, 0($s0)\n")
    await tester.begin()
    took = await tester.run_program(1 << 16)
    bench.compare(took.status, 1 << Status.REFUSED, "the program's status")
    tester.wanted = {**tester.wanted, "w": tester.arrays["w"]}  # the second one was not started
    tester.check()


@testbench
async def a_start_without_a_configuration(bench: Bench) -> None:
    """Before the first job, and after one: the program sees a fault, and nothing is started."""
    bench.forget()
    for again, early, done in (("", _EARLY, ()), (_LATE, "", ("z",))):
        tester = GatherTester(bench, 21, again, early)
        await tester.begin()
        took = await tester.run_program(1 << 17)
        bench.compare(took.status, 1 << Status.FAULT, "the program's status")
        tester.wanted = {name: tester.wanted[name] if name in done else tester.arrays[name]
                         for name in tester.arrays}
        tester.check()


@testbench
async def a_line_that_is_refused(bench: Bench) -> None:
    """The core's buffer is not mapped: the program sees a fault."""
    bench.forget()
    tester = GatherTester(bench, 20)
    await tester.begin(maps=False)
    took = await tester.run_program(1 << 16)
    bench.compare(took.status, 1 << Status.FAULT, "the program's status")


@testbench
async def outside_of_an_array(bench: Bench) -> None:
    """A thread names a word outside of its array: the program sees a fault."""
    bench.forget()
    tester = GatherTester(bench, 20)
    tester.arrays["index"][7] = 20
    await tester.begin()
    took = await tester.run_program(1 << 16)
    bench.compare(took.status, 1 << Status.FAULT, "the program's status")
