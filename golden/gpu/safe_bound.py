"""A bound on a kernel's execution time: policy-free, under assumptions that are all listed.

Source: this project; the derivation is in `docs/gpu.md`, "A safe bound". In short: look at the warp
that ends last, and backwards at what it waited for. At every moment that chain is either in the
latency of one of its own instructions, or it waits for a resource that serves others then: an issue
slot or pipeline of its scheduler, the load/store unit of its SM, memory. The latencies add up to L
for each of at most c blocks in the chain, and each resource serves no more than its whole work:

    T <= c L + issue + load/store + memory

No fairness of any scheduler is needed, only that nothing idles while something waits.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

from cyclebound.golden.gpu.compute_capability import WARP_THREADS, ComputeCapability
from cyclebound.golden.gpu.control_flow import Flow, flow_of
from cyclebound.golden.gpu.counted_loops import counted_loops
from cyclebound.golden.gpu.instruction import Instruction, Kernel, Register, Targets, Word
from cyclebound.golden.gpu.occupancy import BlockResources, check_carve_out, occupancy
from cyclebound.golden.gpu.opcodes import Opcode, most_specific, opcode_of
from cyclebound.golden.gpu.thesis_wcet import Launch

__all__ = ["InstructionWork", "KernelBound", "Machine", "NotSafe", "kernel_bound", "machine_of",
           "refusals"]

_INSTRUCTION_BYTES = 16
_LINE_BYTES = 128
_SECTOR_BYTES = 32
_CONSTANT_LINE_BYTES = 64
_REFUSED = {"texture": "the texture unit has no published latency",
            "copy": "asynchronous copies and products, and clusters of blocks, are not modelled",
            "trap": "it stops the kernel, or waits for time to pass"}
_WIDE = {"F64", "S64", "U64"}
_ATOMIC = ("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "UREDGR")


class NotSafe(ValueError):
    """No safe number can be given; each line says why."""

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class Machine:
    """The bound's assumptions about a GPU. None of the numbers is proved.

    Raises `ValueError` for a latency, an overhead or bytes that are no whole number from 0 to
    10,000,000, sectors outside (0, 1024], and where ``latency`` and ``interval`` name different
    pipelines or have a number below 1.

    Attributes
    ----------
    latency : dict[str, int]
        Of each pipeline: cycles from issue until a dependent instruction can issue.
    interval : dict[str, int]
        Cycles that an instruction of a warp occupies its pipeline: 32 lanes over those of one
        scheduler's partition (CUDA C++ Programming Guide, throughput of arithmetic instructions).
    global_latency : int
        Of an access that misses every cache and waits for nothing. 290 is what the thesis quotes:
        a microbenchmark's average, without TLB misses and refresh.
    shared_latency, barrier_latency, control_latency : int
        Of a shared access without bank conflicts, of a barrier once all warps are there, of a
        branch or another control instruction.
    sectors_per_cycle : Fraction
        Sectors of 32 bytes that memory serves in each cycle while any access waits. 1 stands for
        all accesses in one channel: the hash of addresses is not published.
    instruction_cache : int
        Bytes of code that an SM keeps once they were fetched.
    overhead : int
        Cycles from the launch to the first instruction, and from the last to the end that is
        measured.
    """

    latency: Mapping[str, int] = field(default_factory=lambda: {
        "alu": 6, "fma": 6, "fp16": 6, "fp64": 10, "tensor": 34, "xu": 24, "special": 50,
        "uniform": 12, "cbu": 20})
    interval: Mapping[str, int] = field(default_factory=lambda: {
        "alu": 2, "fma": 2, "fp16": 2, "fp64": 4, "tensor": 16, "xu": 8, "special": 8,
        "uniform": 2, "cbu": 2})
    global_latency: int = 290
    shared_latency: int = 23
    barrier_latency: int = 30
    control_latency: int = 20
    sectors_per_cycle: Fraction = Fraction(1)
    instruction_cache: int = 32768
    overhead: int = 0

    def __post_init__(self) -> None:
        for thing in ("global_latency", "shared_latency", "barrier_latency", "control_latency",
                      "instruction_cache", "overhead"):
            value = getattr(self, thing)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10**7:
                raise ValueError(f"{thing} must be a whole number, 0 to 10000000, not {value!r}")
        if not 0 < self.sectors_per_cycle <= 1024:
            raise ValueError("sectors per cycle must be above 0 and at most 1024, "
                             f"not {self.sectors_per_cycle}")
        if set(self.latency) != set(self.interval):
            raise ValueError("latency and interval must name the same pipelines")
        for thing, table in (("latency", self.latency), ("interval", self.interval)):
            for name, value in table.items():
                if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                    raise ValueError(f"{thing} of {name} must be a whole number of at least 1, "
                                     f"not {value!r}")


def machine_of(limits: ComputeCapability, tensor_cycles: int | None = None) -> Machine:
    """The machine whose 64-bit and tensor pipelines have the rates of this capability.

    Where 64-bit lanes are few (2 in 7.5, 8.6 and 8.9), a warp's instruction takes 64 cycles.
    ``tensor_cycles`` are a user's, for a capability of which none are known: without, the machine
    has no pipeline for matrix products, and a kernel that has one no bound. Raises `ValueError`.
    """
    plain = Machine()
    cycles = {"fp64": WARP_THREADS * limits.partitions // limits.fp64_lanes,
              "tensor": limits.tensor_cycles if tensor_cycles is None else tensor_cycles}
    interval = {name: cycles.get(name, cycle) for name, cycle in plain.interval.items()}
    known = {name: cycle for name, cycle in interval.items() if cycle is not None}
    return replace(plain, interval=known, latency={
        name: max(latency, known[name]) if name in cycles else latency
        for name, latency in plain.latency.items() if name in known})


@dataclass(frozen=True)
class InstructionWork:
    """The work of one instruction for one warp, all its executions together.

    Attributes
    ----------
    executions : int
        How often a warp issues it at most.
    chain, issue, unit : int
        Cycles of latency, of issue slot or pipeline, and of the load/store unit.
    sectors : int
        Moved from or to memory.
    atomics : int
        Operations that memory may do one after the other.
    """

    number: int
    line: int
    name: str
    executions: int
    chain: int
    issue: int
    unit: int
    sectors: int
    atomics: int


@dataclass(frozen=True)
class KernelBound:
    """The bound, and what it is made of.

    Attributes
    ----------
    cycles : int
        No execution takes longer, if all of ``assumptions`` hold.
    waves : int
        c: blocks that may come one after the other in one place.
    chain, issue, unit, memory : int
        c L, and the work of the three kinds of resources.
    resident : int
        Blocks in one SM.
    carve_out : int
        For which the bound is largest, or the one that was given.
    counted : tuple of str
        Loops whose executions follow from their instructions, and why.
    """

    cycles: int
    waves: int
    chain: int
    issue: int
    unit: int
    memory: int
    resident: int
    carve_out: int
    work: tuple[InstructionWork, ...]
    assumptions: tuple[str, ...]
    counted: tuple[str, ...] = ()


def refusals(kernel: Kernel, flow: Flow, loops: Mapping[int, int],
             opcodes: Mapping[str, Opcode] | None = None,
             pipelines: Collection[str] | None = None) -> tuple[str, ...]:
    """Why no safe bound can be given for a kernel; empty if one can.

    Parameters
    ----------
    loops : Mapping[int, int]
        By line of a loop's first instruction: how often it is executed at most each time the loop
        is entered.
    pipelines : collection of str, optional
        Those whose times are known: all.
    """
    reasons = list(flow.problems)
    for number in sorted(flow.reached):
        instruction = kernel.instructions[number]
        opcode = opcode_of(instruction.name, opcodes)
        if opcode is None:
            reasons.append(f"line {instruction.line}: {instruction.name} is not known")
        elif opcode.kind in _REFUSED and not any(
                problem.startswith(f"line {instruction.line}:") for problem in flow.problems):
            reasons.append(f"line {instruction.line}: {instruction.name}: {_REFUSED[opcode.kind]}")
        elif pipelines is not None and opcode.pipeline not in (None, *pipelines):
            reasons.append(f"line {instruction.line}: {instruction.name}: how long the "
                           f"{opcode.pipeline} pipeline takes is not published for this "
                           f"capability; --set {opcode.pipeline}_cycles=N says it")
        elif opcode.kind == "barrier" and not _of_all_threads(instruction):
            reasons.append(f"line {instruction.line}: {instruction.name}: a barrier of some of a "
                           "block's threads, or one that is told by a register, is not bounded")
    lines = {loop.line for loop in flow.loops}
    reasons += [f"line {line}: a loop without a bound; give the executions of its first "
                f"instruction as --loop {line}=N" for line in sorted(lines - set(loops))]
    reasons += [f"--loop {line}: no loop begins at line {line}" + (
        f"; loops begin at {', '.join(map(str, sorted(lines)))}" if lines else "")
        for line in sorted(set(loops) - lines)]
    reasons += [f"--loop {line}: executions must be at least 1, not {count}"
                for line, count in sorted(loops.items()) if count < 1]
    return tuple(reasons)


def _of_all_threads(barrier: Instruction) -> bool:
    """Whether every thread of the block waits at it: its number is the only operand."""
    numbers = [operand for operand in barrier.operands
               if not (isinstance(operand, Register) and operand.name.lstrip("U").startswith("P"))]
    return "ARV" not in barrier.modifiers and len(numbers) == 1 and isinstance(numbers[0], Word)


def kernel_bound(kernel: Kernel, launch: Launch, block: BlockResources, limits: ComputeCapability,
                 *, machine: Machine | None = None, loops: Mapping[int, int] | None = None,
                 coalesced: bool = False, reconverges: bool = True, balanced: bool = False,
                 spread: bool = False, carve_out: int | None = None, reserved_counted: bool = False,
                 opcodes: Mapping[str, Opcode] | None = None,
                 delays: Mapping[str, int] | None = None) -> KernelBound:
    """Cycles from the first block's start to the last block's end, at most.

    Parameters
    ----------
    loops : Mapping[int, int], optional
        As in `refusals`, of those that do not count by themselves
        (`cyclebound.golden.gpu.counted_loops`).
    coalesced : bool
        Whether each access of a warp is known to lie in consecutive bytes, without bank conflicts;
        else each thread may touch a sector, and a bank, of its own kind.
    reconverges : bool
        Whether a warp's threads come together again where their paths do. Else every instruction
        after a conditional branch may be issued for each thread by itself.
    balanced : bool
        Whether no SM gets more blocks than its share if there are several waves.
    spread : bool
        Whether the warps of an SM are spread evenly over its schedulers; else one scheduler may
        have them all. Read with one wave and no barriers only.
    carve_out : int, optional
        Bytes of shared memory of an SM; by default the bound is the largest over all.
    reserved_counted : bool
        Whether ``block.shared`` may hold the runtime's own bytes already, as what cuobjdump says of
        sm_90 does. The bound is then the larger one of both readings.
    delays : Mapping[str, int], optional
        Latencies of opcodes, instead of those of their pipelines.

    Raises
    ------
    NotSafe
        With every reason.
    ValueError
        For a launch beyond the limits.
    """
    machine = machine or Machine()
    if block.threads != launch.threads:
        raise ValueError(f"block must have the launch's {launch.threads} threads, "
                         f"not {block.threads}")
    flow = flow_of(kernel, opcodes)
    given = loops or {}
    counted = [count for line, count in sorted(counted_loops(kernel, flow).items())
               if line not in given]
    times_of = {**{count.line: count.executions for count in counted}, **given}
    if reasons := refusals(kernel, flow, times_of, opcodes, machine.interval):
        raise NotSafe(reasons)
    active = min(block.threads, WARP_THREADS)
    work = tuple(_work(kernel, number, times if reconverges or number not in flow.diverges
                       else times * active, machine, active, coalesced=coalesced, opcodes=opcodes,
                       delays=delays or {})
                 for number, times in sorted(flow.executions(times_of).items()))
    followed = {"calls": len(flow.functions) > 1, "noted": any(
        isinstance(operand, Targets) for number in flow.reached
        for operand in kernel.instructions[number].operands)}
    carve_outs = limits.carve_outs if carve_out is None else (check_carve_out(carve_out, limits),)
    barriers = any(_opcode(kernel.instructions[number].name, opcodes).kind == "barrier"
                   for number in flow.reached)
    readings = [block]
    if reserved_counted and block.shared >= limits.shared_reserved > 0:
        readings.append(replace(block, shared=block.shared - limits.shared_reserved))
    bounds = []
    for size, reading in product(carve_outs, readings):
        resident = occupancy(reading, limits, carve_out=size).blocks
        if resident:
            bounds.append(_total(kernel, launch, block, limits, machine, work, resident, size,
                                 barriers=barriers, balanced=balanced, spread=spread,
                                 coalesced=coalesced, reconverges=reconverges, loops=given,
                                 delays=delays or {}, followed=followed))
    if not bounds:
        raise NotSafe(((f"a block of {block.threads} threads with {block.registers} registers and "
                       f"{block.shared} bytes of shared memory does not launch"),))
    return replace(max(bounds, key=lambda bound: bound.cycles),
                   counted=tuple(count.says for count in counted))


def _opcode(name: str, opcodes: Mapping[str, Opcode] | None) -> Opcode:
    """The opcode of an instruction of a kernel that `refusals` let pass."""
    opcode = opcode_of(name, opcodes)
    assert opcode is not None
    return opcode


def _work(kernel: Kernel, number: int, times: int, machine: Machine, active: int, *,
          coalesced: bool, opcodes: Mapping[str, Opcode] | None, delays: Mapping[str, int]
          ) -> InstructionWork:
    instruction = kernel.instructions[number]
    opcode = _opcode(instruction.name, opcodes)
    latency, interval, unit, sectors, atomics = _once(instruction, opcode, machine, active,
                                                      coalesced)
    own = most_specific(instruction.name, delays)
    if own is not None:
        latency = max(delays[own], latency - machine.latency.get(opcode.pipeline or "", 0))
    for constant in instruction.constants:  # each may miss; in a register, each thread's own may
        misses = active if constant.bank is None or constant.offset is None else 1
        latency += misses * machine.global_latency
        sectors += misses * _CONSTANT_LINE_BYTES // _SECTOR_BYTES
    return InstructionWork(number + 1, instruction.line, instruction.name, times,
                           times * max(latency, interval), times * max(1, interval), times * unit,
                           times * sectors, times * atomics)


def _once(instruction: Instruction, opcode: Opcode, machine: Machine, active: int, coalesced: bool
          ) -> tuple[int, int, int, int, int]:
    """Latency, interval, load/store cycles, sectors and atomics of one execution by a warp."""
    words = _bytes_of(instruction) // 4
    atomics = active if instruction.opcode in _ATOMIC else 0
    if opcode.kind in ("global", "local"):
        sectors = -(-active * 4 * words // _SECTOR_BYTES) + 1 if coalesced else active
        unit = words if coalesced else active * words
        return machine.global_latency, 1, unit, sectors, atomics
    if opcode.kind == "shared":
        unit = words if coalesced else active * words
        return machine.shared_latency + atomics, 1, max(unit, atomics), 0, 0
    if opcode.kind == "barrier":
        return machine.barrier_latency, 1, 0, 0, 0
    if opcode.kind == "fence":
        return machine.global_latency, 1, 0, 0, 0
    if opcode.pipeline is not None and opcode.pipeline in machine.latency:
        pipelines = [opcode.pipeline, *(["fp64"] if opcode.pipeline == "xu" and _WIDE & set(
            instruction.modifiers) else [])]  # 64-bit types are converted at the rate of fp64
        latency, interval = (max(table[pipeline] for pipeline in pipelines)
                             for table in (machine.latency, machine.interval))
        if instruction.opcode == "DMMA" and machine.interval["fp64"] >= WARP_THREADS:
            # no 64-bit tensor core: 8 x 8 x 4 products are those of 8 instructions of a warp
            latency = interval = 8 * machine.interval["fp64"]
        return latency, interval, 0, 0, 0
    return machine.control_latency, 1, 0, 0, 0


def _bytes_of(instruction: Instruction) -> int:
    """Bytes that a thread's access moves: 4 but for .64 and .128; smaller ones count as 4."""
    if instruction.opcode in ("LDSM", "STSM"):  # up to four registers, told by .2 and .4
        return 16
    return max([4, *(int(modifier) // 8
                     for modifier in instruction.modifiers if modifier in ("64", "128"))])


def _total(kernel: Kernel, launch: Launch, block: BlockResources, limits: ComputeCapability,
           machine: Machine, work: tuple[InstructionWork, ...], resident: int, carve_out: int, *,
           barriers: bool, balanced: bool, spread: bool, coalesced: bool, reconverges: bool,
           loops: Mapping[int, int], delays: Mapping[str, int], followed: Mapping[str, bool]
           ) -> KernelBound:
    places = launch.sms * resident
    waves = -(-launch.blocks // places)
    code = len(kernel.instructions) * _INSTRUCTION_BYTES
    lines = -(-code // _LINE_BYTES)
    fetches = lines if code <= machine.instruction_cache else sum(
        instruction.executions for instruction in work)
    latency = sum(instruction.chain for instruction in work) + fetches * machine.global_latency
    share = resident * waves if balanced or waves == 1 else launch.blocks
    on_sm = min(share, launch.blocks) * block.warps
    split = limits.partitions if spread and waves == 1 and not barriers else 1
    on_scheduler = -(-on_sm // split)
    all_warps = launch.blocks * block.warps
    fetched = fetches * (all_warps if code > machine.instruction_cache else min(
        launch.sms, launch.blocks) * waves)
    sectors = all_warps * sum(instruction.sectors for instruction in work) + (
        fetched * _LINE_BYTES // _SECTOR_BYTES)
    atomics = all_warps * sum(instruction.atomics for instruction in work)
    chain = waves * latency
    issue = on_scheduler * sum(instruction.issue for instruction in work)
    unit = on_sm * sum(instruction.unit for instruction in work)
    memory = -(-sectors // machine.sectors_per_cycle) + atomics
    used = {"split": split > 1, "barriers": barriers, "balanced": balanced and waves > 1,
            "several": waves > 1, "coalesced": coalesced, "reconverges": reconverges,
            "loops": bool(loops), "cached": code <= machine.instruction_cache, **followed}
    return KernelBound(machine.overhead + chain + issue + unit + memory, waves, chain, issue, unit,
                       memory, resident, carve_out, work,
                       _assumptions(machine, launch, used, delays))


def _assumptions(machine: Machine, launch: Launch, used: Mapping[str, bool],
                 delays: Mapping[str, int]) -> tuple[str, ...]:
    """Every sentence that the number depends on; NVIDIA promises none of them."""
    facts = [
        (f"The kernel is alone on the device, all {launch.sms} SMs take blocks, and the clock of "
        "SMs and memory is constant: no preemption, no throttling, no ECC replay."),
        "Dispatch is work-conserving: a block waits only while no SM has room for it.",
        ("A scheduler issues in every cycle in which one of its warps is ready and the pipeline of "
        "its instruction is free; which one is not assumed."),
        "Latencies and intervals of pipelines are at most those of the machine: "
        + ", ".join(f"{name} {machine.latency[name]}/{machine.interval[name]}"
                    for name in machine.latency) + " cycles; shared "
        f"{machine.shared_latency}, barrier {machine.barrier_latency}, control "
        f"{machine.control_latency}.",
        (f"An access that misses every cache and waits for nothing takes at most "
        f"{machine.global_latency} cycles, TLB misses and refresh included; every global, local "
        "and constant access is taken to miss."),
        (f"Memory serves at least {machine.sectors_per_cycle} sector(s) of 32 bytes a cycle while "
        "any access waits, and one atomic operation a cycle; the load/store unit takes one bank "
        "or sector a cycle. A full queue waits only for these."),
        (f"From launch to first instruction, and from the last to the measured end, "
        f"{machine.overhead} cycles."),
    ]
    if delays:
        facts.append("Latencies that were given: " + ", ".join(
            f"{name} {cycles}" for name, cycles in sorted(delays.items())) + " cycles.")
    if used["cached"]:
        facts.append(f"Code of up to {machine.instruction_cache} bytes stays in an SM once it was "
                     "fetched, and each line is fetched once in each wave.")
    if used["split"]:
        facts.append("The warps of an SM are spread evenly over its schedulers (--spread).")
    if used["barriers"]:
        facts.append("All warps of a block execute the same barriers in the same order, as CUDA "
                     "demands.")
    if used["calls"]:
        facts.append("A call returns to the instruction after it, whose address the kernel loads.")
    if used["noted"]:
        facts.append("The listing notes every place that a branch in a register may go to.")
    if used["reconverges"]:
        facts.append("The threads of a warp come together again where their paths do, so that a "
                     "warp issues no instruction more often than one of its threads may.")
    if used["coalesced"]:
        facts.append("The threads of a warp access consecutive bytes, without bank conflicts "
                     "(--coalesced).")
    if used["balanced"]:
        facts.append("No SM runs more blocks than its share of the waves (--balanced).")
    elif used["several"]:
        facts.append("(None on balance: one SM may run all blocks' work but for latencies.)")
    if used["loops"]:
        facts.append("No loop is executed more often than --loop says; no loop waits for another "
                     "kernel or the host.")
    return tuple(facts)
