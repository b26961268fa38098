"""Testbench of SHMAC's core: programs with their worst inputs, against bounds on their times."""

from collections.abc import Mapping

from cyclebound.golden.shmac.memory_waits import MemoryWaits, Region
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.shmac.core import LatestMemory, beside, restart
from cyclebound.tools.shmac import known_wcet
from cyclebound.tools.shmac.known_wcet import (
    CODE_END,
    INPUTS,
    RETURN,
    STACK,
    START,
    known_program,
    placed_in_memory,
    random_memory,
)
from cyclebound.tools.shmac.wcet.analysis import wcet
from cyclebound.tools.shmac.wcet.code import Code, assembled
from cyclebound.tools.shmac.wcet_programs import PROGRAMS

__all__ = ["MEMORIES", "run_worst"]

MEMORIES = tuple(MemoryWaits([
    Region("begin", 0, INPUTS, fetch=fetch),
    Region("data", INPUTS, RETURN, read=read, write=write, load_linked=read,
           store_conditional=read),
    Region("code", RETURN, CODE_END, fetch=fetch)]) for fetch, read, write in (
        (1, 1, 0), (2, 7, 3), (27, 47, 22)))  # the last as in the thesis


async def run_worst(bench: Bench, code: Code, memory: MemoryWaits, inputs: Mapping[int, int]
                    ) -> tuple[int, int]:
    """A program's cycles on the core, with every wait at its longest; and their bound."""
    bound = wcet(code, START, memory, registers={29: (STACK, STACK)})
    await restart(bench)
    core, fetch, data = bound.shares
    bench.declare("program", core_cycles=core, fetch_waits=fetch, data_waits=data)
    latest = LatestMemory(placed_in_memory(code.words, inputs, bench.parameters.get(
        "reset_address", 0)), memory)
    code_fetch = memory.named("code").fetch or 0

    def most(kind, request):
        return code_fetch, latest.most(request) if kind in ("load", "store") else 0

    began = await beside(bench, latest, end=RETURN, cycles=400_000, most=most)
    return began[RETURN] - began[START], bound.cycles


@testbench
async def exact_programs(bench: Bench) -> None:
    """Generated ones, of parts that the analysis is exact about: known, bound and RTL are one."""
    for _ in range(6):
        memory = random_memory(bench.rng)
        program = known_program(bench.rng, memory, most_cycles=4000, kinds=known_wcet.EXACT)
        took, bound = await run_worst(bench, assembled(program.text, origin=START), memory,
                                      program.inputs)
        bench.compare((took, bound), (program.cycles, program.cycles), "time and bound")


@testbench
async def many_exact_programs(bench: Bench) -> None:
    for _ in range(40):
        memory = random_memory(bench.rng)
        program = known_program(bench.rng, memory, kinds=known_wcet.EXACT)
        took, bound = await run_worst(bench, assembled(program.text, origin=START), memory,
                                      program.inputs)
        bench.compare((took, bound), (program.cycles, program.cycles), "time and bound")


@testbench
async def bounded_programs(bench: Bench) -> None:
    """Generated ones of any parts, with their worst input and with another one."""
    for _ in range(40):
        memory = random_memory(bench.rng)
        program = known_program(bench.rng, memory)
        code = assembled(program.text, origin=START)
        took, bound = await run_worst(bench, code, memory, program.inputs)
        bench.compare(took, program.cycles, "time")
        bench.compare(took <= bound, True, "within its bound")
        took, _ = await run_worst(bench, code, memory, {
            at: bench.rng.choice(values) for at, values in program.choices.items()})
        bench.compare(took <= program.cycles, True, "no longer than the worst")


@testbench
async def written_programs(bench: Bench) -> None:
    for program in PROGRAMS:
        code = assembled(program.text, origin=START)
        inputs = {INPUTS + 4 * place: word for place, word in enumerate(program.worst)}
        for memory in MEMORIES:
            took, bound = await run_worst(bench, code, memory, inputs)
            bench.compare(took <= bound, True, program.name)
            if program.exact and bench.parameters["endian"] == "big":
                bench.compare(took, bound, program.name)
