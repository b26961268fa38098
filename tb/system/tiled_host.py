"""Testbench of a core that starts the dataflow core's jobs on a shared DRAM, and waits for each.

Its program is in assembly language. It copies each job's configuration from its RAM into the
registers, starts the job, and polls STATUS. All words are numpy's, each job keeps its own bound,
and the program that of its code and its jobs.
"""

from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dram.request import BURST_BYTES
from cyclebound.golden.shmac.address_map import boot_stub, entry_of
from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.system.core_host import CORE, host_waits, jobs_of_program, program_of_jobs
from cyclebound.golden.system.fabric import fabric_job, fabric_times
from cyclebound.golden.system.job_table import Status
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.shmac.tile import packet_said
from cyclebound.tb.system.tiled import TiledScene, gather
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph
from cyclebound.tools.shmac.wcet.analysis import wcet
from cyclebound.tools.shmac.wcet.code import Code, assembled

__all__ = ["PROGRAM", "chain"]

_TABLE = 0x200     # in the core's RAM: of each job, how many words, and these
_ARRAYS = 0xC0000  # in DRAM
_LOOK = 64         # clocks

PROGRAM = """
        lui   $s0, 0x100            # the registers, in tile (0, 1)
        ori   $s1, $0, {table}
        ori   $s2, $0, {jobs}
        {early}
job:    lw    $t0, 0($s1)
        addiu $s1, $s1, 4
word:   lw    $t1, 0($s1)           # bound {words}
        addiu $s1, $s1, 4
        addiu $t0, $t0, -1
        bne   $t0, $0, word
        sw    $t1, 12($s0)          # WORD
        ori   $t1, $0, 1
        sw    $t1, 0($s0)           # START
        {again}
poll:   lw    $t1, 4($s0)           # bound 1: STATUS
        andi  $t2, $t1, 3           # IDLE or FAULT: after a refused line it is never IDLE
        beq   $t2, $0, poll
        nop
        andi  $t1, $t1, 14          # FAULT, ABORTED, REFUSED
        bne   $t1, $0, end
        addiu $s2, $s2, -1
        bne   $s2, $0, job
        nop
end:    sw    $t1, -508($0)         # EXIT
after:  b     after
        nop
"""
# a job without a configuration, before all others; and another one after the first
_EARLY = """
        ori   $t1, $0, 1
        sw    $t1, 0($s0)           # START
early:  lw    $t1, 4($s0)           # bound 1: STATUS
        andi  $t2, $t1, 3
        beq   $t2, $0, early
        nop
        andi  $t1, $t1, 14
        bne   $t1, $0, end
        nop
"""
_LATE = """
late:   lw    $t1, 4($s0)           # bound 1: STATUS
        andi  $t1, $t1, 1
        beq   $t1, $0, late
        ori   $t1, $0, 1
        sw    $t1, 0($s0)           # START
"""
_OTHERS = 3  # instructions of the loop that polls, besides the read


@dataclass
class Took:
    """DRAM clocks of a program, and of each of its jobs from the configuration's first word."""

    program: int
    status: int
    jobs: list[int]


class HostScene(TiledScene):
    """A program that starts two gathers, the second one over the first one's result."""

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
        places = self.layout.buffers
        self.layouts = [Layout({"x": places[of], "index": places["index"], "z": places[to]})
                        for of, to in (("x", "z"), ("z", "w"))]
        self.configurations = [mapped.words(threads, layout.buffers, **{
            name: self.fabric[name] for name in ("tid_width", "address_width")})
            for layout in self.layouts]
        part = bench.parameters["part"]
        self.known = [{**fabric_times(mapped, layout, threads=threads, part=part, others=(0, 0),
                                      **self.fabric), "other": 0, "array": 0, "period": 0}
                      for layout in self.layouts]
        self.bounds = [fabric_job(part=part, **known) for known in self.known]
        most = max(map(len, self.configurations))
        code = assembled(PROGRAM.format(table=_TABLE, jobs=len(self.layouts), words=most,
                                        again=again, early=early), origin=entry_of(*CORE))
        boot = {4 * place: word for place, word in enumerate(boot_stub(*CORE))}
        found = wcet(Code({**boot, **code.words}, code.symbols, code.facts), 0, host_waits(),
                     stops=[code.symbols["after"]], from_reset=True)
        self.code = found.cycles
        table = [word for words in self.configurations for word in (len(words), *words)]
        assert max(code.words) < _TABLE
        self.ram = {**code.words, **{_TABLE + 4 * place: word
                                     for place, word in enumerate(table)}}

    async def begin(self, maps: bool = True) -> None:
        """From reset: the arrays in DRAM, the buffer mapped, and the program in the core's RAM."""
        bench = self.bench
        await bench.reset()
        self.now = 0
        content = np.array(self.layout.words(self.arrays), "<u4").tobytes()
        self.size = len(content)
        self.put(_ARRAYS, content + bytes(-len(content) % BURST_BYTES))
        await self.send()
        if maps:
            await self.map_core(-(-self.size // BURST_BYTES) * BURST_BYTES // 4, _ARRAYS)
        loads = [bench.inputs.pack({"host_load.valid": 1, **packet_said(
            "host_load.payload", RequestPacket(write=True, target=CORE, address=address,
                                               strobes=15, data=word))})
            for address, word in self.ram.items()]
        ready = bench.outputs["host_load.ready"]
        taken = [ready.of(seen) for seen in await self.play(loads)]
        bench.compare(taken, [1] * len(taken), "the program's words are taken at once")
        await self.wait(50)

    async def run_program(self, most: int) -> Took:
        """The program, from its start until it has ended."""
        bench, outputs, jobs = self.bench, self.bench.outputs, list[int]()
        runs = bench.inputs["host_run"].mask
        began, busy = self.now, 0
        bench.declare("job", **self.known[0])
        while True:
            seen = (await self.play([runs] * _LOOK))[-1]
            if busy and not outputs["host_busy"].of(seen):
                jobs.append(outputs["dataflow_cycles"].of(seen))
                if len(jobs) < len(self.known):
                    bench.declare("job", **self.known[len(jobs)])
            busy = outputs["host_busy"].of(seen)
            if outputs["host_exited"].of(seen):
                break
            assert self.now - began < most + 2 * _LOOK, f"the program runs after {most} clocks"
        took = Took(self.now - began, outputs["host_status"].of(seen), jobs)
        await self.play([runs] * 100)  # the last words reach DRAM
        await self.fetch()
        return took

    def result(self) -> dict[str, np.ndarray]:
        """The arrays in DRAM."""
        words = np.frombuffer(self.get(_ARRAYS, self.size), "<u4").tolist()
        return self.layout.arrays(words)

    def check(self) -> None:
        """All of them are numpy's."""
        for name, held in self.result().items():
            self.bench.compare(held, self.wanted[name], f"array {name}", count=held.size)


@testbench
async def chain(bench: Bench) -> None:
    """Two jobs, of odd and of few threads, and near a refresh."""
    for threads, late in ((77, 0), (1, 0), (64, 700)):
        bench.forget()
        scene = HostScene(bench, threads)
        await scene.begin()
        if late:
            await scene.wait(scene.part.nREFI - late - scene.now % scene.part.nREFI)
        jobs = jobs_of_program(scene.bounds, others=_OTHERS)
        bench.declare("line", other=0, array=0, period=0)
        bench.declare("program", code=scene.code, jobs=jobs)
        took = await scene.run_program(program_of_jobs.function(code=scene.code, jobs=jobs))
        bench.dut._log.info("%s threads: %s; bounds: code %s, jobs %s, together %s", threads, took,
                            scene.code, scene.bounds, scene.code + jobs)
        bench.compare(took.status, 0, "the program's status")
        bench.compare(len(took.jobs), 2, "jobs seen to end")
        scene.check()


@testbench
async def a_second_start(bench: Bench) -> None:
    """A program that starts its job again at once, while it is under way: that is refused, the
    program sees it, and the job ends with its results."""
    bench.forget()
    scene = HostScene(bench, 33, again="sw $t1, 0($s0)")
    await scene.begin()
    took = await scene.run_program(1 << 16)
    bench.compare(took.status, 1 << Status.REFUSED, "the program's status")
    scene.wanted = {**scene.wanted, "w": scene.arrays["w"]}  # the second one was not started
    scene.check()


@testbench
async def a_start_without_a_configuration(bench: Bench) -> None:
    """Before the first job, and after one: the program sees a fault, and nothing is started."""
    bench.forget()
    for again, early, done in (("", _EARLY, ()), (_LATE, "", ("z",))):
        scene = HostScene(bench, 21, again, early)
        await scene.begin()
        took = await scene.run_program(1 << 17)
        bench.compare(took.status, 1 << Status.FAULT, "the program's status")
        scene.wanted = {name: scene.wanted[name] if name in done else scene.arrays[name]
                        for name in scene.arrays}
        scene.check()


@testbench
async def a_line_that_is_refused(bench: Bench) -> None:
    """The core's buffer is not mapped: the program sees a fault."""
    bench.forget()
    scene = HostScene(bench, 20)
    await scene.begin(maps=False)
    took = await scene.run_program(1 << 16)
    bench.compare(took.status, 1 << Status.FAULT, "the program's status")


@testbench
async def outside_of_an_array(bench: Bench) -> None:
    """A thread names a word outside of its array: the program sees a fault."""
    bench.forget()
    scene = HostScene(bench, 20)
    scene.arrays["index"][7] = 20
    await scene.begin()
    took = await scene.run_program(1 << 16)
    bench.compare(took.status, 1 << Status.FAULT, "the program's status")
