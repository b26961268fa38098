"""Faults for the regression to find: edits of a block's RTL, each of a kind that people make.

An edit is text for text, and its text must occur exactly once, so that a mutant dies loudly when
the RTL has moved on. The edited source is executed as a module of its own, and the block is taken
from the catalogue with the component of that module.
"""

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.sim import catalogue
from cyclebound.sim.build.elaborate import ports_of
from cyclebound.sim.build.verilator import build_verilator
from cyclebound.sim.describe.block import Block, Make
from cyclebound.sim.run.job import Job, Outcome, asked_of, design, write_job
from cyclebound.sim.run.simulator import run
from kit.faults import edited

__all__ = ["DRAM", "EQUIVALENT", "MUTANTS", "RESET", "Mutant", "SideBySide", "component_of",
           "run_mutant", "with_fault"]


@dataclass(frozen=True)
class Mutant:
    """An edit of one block's RTL.

    Attributes
    ----------
    block : str
        The block, in the catalogue and in ``hdl/``.
    name : str
        What went wrong.
    old, new : str
        The text that must occur once, and what takes its place.
    says : str
        Pattern of what a bound checker says of it by itself, in a bounded proof. Empty: protocol,
        bound and values are kept, and only the golden model knows better.
    watched : bool
        The bound checker stops the regression, too, and no later than the golden model does.
    configuration : str or None
        In which its testbench has to find it; None: the first.
    part : str or None
        The module below ``hdl`` to edit, if it is not that of the block.
    """

    block: str
    name: str
    old: str
    new: str
    says: str = ""
    watched: bool = False
    configuration: str | None = None
    part: str | None = None

    def __str__(self) -> str:
        return f"{self.block}: {self.name}"


def component_of(block: Block, mutant: Mutant | None) -> Make:
    """The block's component from a fresh module, with the mutant's fault in it if there is one."""
    try:
        made = edited(block.component.__module__, *[(mutant.old, mutant.new)] if mutant else [],
                      part=f"cyclebound.hdl.{mutant.part}" if mutant and mutant.part else None)
    except ValueError as error:
        raise ValueError(f"mutant {mutant}: {error}") from None
    return getattr(made, block.component.__name__)


def with_fault(block: Block, mutant: Mutant | None, *, watched: bool, max_cycles: int) -> Block:
    """The block made from a fresh module; ``watched``: with its bound checker."""
    return dataclasses.replace(
        block, component=component_of(block, mutant), checker=block.checker if watched else None,
        testbenches=tuple(dataclasses.replace(testbench, max_cycles=max_cycles)
                          for testbench in block.testbenches))


class SideBySide(wiring.Component):
    """A block and its mutants with the same inputs; ``mutant`` selects whose outputs are seen.

    All of them are then in one simulator, which is built once. 0 selects the first.
    """

    def __init__(self, components: Sequence[wiring.Component]) -> None:
        self._components = components
        super().__init__(components[0].signature)
        self.mutant = Signal(range(len(components)))

    def __getattr__(self, name):
        """The block's parameters; what is inside it is that of no mutant."""
        block = self.__dict__["_components"][0]
        found = None if name in block.signature.members else getattr(block, name)
        if found is None or isinstance(found, Value | wiring.Component | list | dict):
            raise AttributeError(f"{name} is no parameter of the block")
        return found

    def elaborate(self, platform):
        m = Module()
        for number, component in enumerate(self._components):
            m.submodules[f"mutant_{number}"] = component
            m.d.comb += [Value.cast(theirs).eq(Value.cast(ours)) for (_, ours), (_, theirs) in
                         zip(ports_of(self, In), ports_of(component, In), strict=True)]
            with m.If(self.mutant == number):
                m.d.comb += [Value.cast(ours).eq(Value.cast(theirs)) for (_, ours), (_, theirs) in
                             zip(ports_of(self, Out), ports_of(component, Out), strict=True)]
        return m


@functools.cache
def _simulator(name: str, mutants: tuple[Mutant, ...], watched: bool, max_cycles: int):
    """The per-cycle testbench's block with the mutants beside it, its job, and the simulator."""
    found = catalogue.load().find(name)
    block = dataclasses.replace(
        with_fault(found, None, watched=watched, max_cycles=max_cycles),
        component=lambda **parameters: SideBySide([
            component_of(found, mutant)(**parameters) for mutant in (None, *mutants)]))
    configuration, _ = block.configuration(None)
    job = Job(name, configuration, "cycle", 0, "")
    component, top = design(block, job)
    asked = asked_of(block, job, block.testbench("cycle"), component, top)
    return block, job, asked, build_verilator(top, ports=[*top.ports, component.mutant])


def run_mutant(name: str, mutants: tuple[Mutant, ...], which: Mutant | None, folder: Path, *,
               watched: bool, max_cycles: int, wall_limit: float = 60) -> tuple[Block, Outcome]:
    """Run the per-cycle testbench of a block's first configuration on one of its mutants, or on
    the block itself, in the simulator that has them all."""
    block, job, asked, build = _simulator(name, mutants, watched, max_cycles)
    write_job(folder, {**asked, "mutant": mutants.index(which) + 1 if which else 0})
    return block, run(dataclasses.replace(job, folder=str(folder), wall_limit=wall_limit),
                      build.command(None), folder, block.testbench("cycle").module)


ARBITER, MEMORY, ARRAY = "noc.arbiter", "sram.banked_memory", "systolic.output_stationary"

MUTANTS = (
    Mutant(ARBITER, "pointer off by one",
           "Cat(grant[:who].any()", "Cat(grant[:who + 1].any()",
           "not served within 3 grants"),
    Mutant(ARBITER, "pointer lost when idle", "with m.If(self.requests.any()):", "with m.If(1):"),
    Mutant(ARBITER, "grant stuck after it was accepted",
           "m.d.sync += held.eq(0)", "m.d.sync += held.eq(self.grant)",
           "not served within 3 grants"),
    Mutant(ARBITER, "grant not held",
           "        with m.Else():\n            m.d.sync += held.eq(grant)\n", "",
           "grant moved while stalled", watched=True),
    Mutant(ARBITER, "all requests granted",
           "requests[who] & ~lower.any() & ~higher.any()", "requests[who]",
           "grant is not one-hot", watched=True),
    Mutant(ARBITER, "grant without a request",
           "first = self.requests[who] & ~lower.any()", "first = ~lower.any()",
           "grant without a request", watched=True),

    Mutant(MEMORY, "response to the wrong requester",
           "zip(self.ports, arbiter.grant, strict=True):\n            m.d.sync +=",
           "zip(self.ports, arbiter.grant.rotate_left(1), strict=True):\n            m.d.sync +=",
           "response without a read", watched=True),
    Mutant(MEMORY, "response to a write", ".eq(grant & reads)", ".eq(grant)",
           "response without a read", watched=True),
    Mutant(MEMORY, "ready without grant",
           "port.request.ready.eq(grant)", "port.request.ready.eq(1)",
           "more than one grant", watched=True),
    Mutant(MEMORY, "write enable of a byte lost",
           "write.en.eq(access.write)", "write.en.eq(access.write & 1)",
           "reads what was not written"),
    Mutant(MEMORY, "one write enable for all bytes", "write.en.eq(access.write)",
           "write.en.eq(access.write.any().replicate(len(write.en)))",
           "reads what was not written"),
    Mutant(MEMORY, "read enable lost", "read.en.eq(arbiter.grant.any() & reads)", "read.en.eq(0)",
           "reads what was not written"),
    Mutant(MEMORY, "payloads not gated by the grant",
           "Mux(grant, port.request.payload.as_value(), 0)", "port.request.payload.as_value()",
           "response is missing", watched=True),
    Mutant(MEMORY, "a write does not end the turn", "reads = access.write == 0",
           "reads = access.write == 0\n        m.d.comb += arbiter.accept.eq(reads)",
           "overtaken twice by one requester", watched=True),
    Mutant(MEMORY, "requesters numbered backwards",
           "bank.ports[requester]", "bank.ports[-1 - requester]"),

    Mutant(ARRAY, "operands swapped",
           "self.right.eq(self.left), self.bottom.eq(self.top)",
           "self.right.eq(self.top), self.bottom.eq(self.left)",
           "is not the product"),
    Mutant(ARRAY, "late accumulate", "        with m.If(self.accumulate):\n",
           "        late = Signal()\n        m.d.sync += late.eq(self.accumulate)\n"
           "        with m.If(late):\n",
           "is not the product"),
    Mutant(ARRAY, "sum not cleared", "Mux(self.first, 0, self.sum)", "self.sum",
           "is not the product"),
    Mutant(ARRAY, "unsigned operand", "self.execute, self.right, self.bottom",
           "self.execute, self.right.as_unsigned(), self.bottom",
           "is not the product"),
    Mutant(ARRAY, "skew register dropped", "delay(m, step, self.top.payload, self.skew_top)",
           "delay(m, step, self.top.payload, [line[1:] for line in self.skew_top])",
           "is not the product"),
    Mutant(ARRAY, "drain captured early",
           "step & self.wave_last[-1]", "step & self.wave_last[-2]",
           "result row of no finished fold", watched=True),
    Mutant(ARRAY, "flush a step too short",
           "step & self.wave_last[diagonals - 2]", "step & self.wave_last[diagonals - 3]",
           "operands taken before the flush was over", watched=True),
    Mutant(ARRAY, "ready for an operand alone",
           "self.left.ready.eq(self.top.valid & ", "self.left.ready.eq(",
           "an operand was taken alone"),
    Mutant(ARRAY, "rows leave before they are taken",
           "self.held.eq(self.results.valid & ~self.results.ready)", "self.held.eq(0)",
           "results: offer withdrawn or changed", watched=True),
    Mutant(ARRAY, "the drain moves on past a row that waits",
           "move.eq(few | ~self.held)", "move.eq(1)", "is not the product"),
    Mutant(ARRAY, "sink does not block", "self.runs.eq(~(due & left_over[1]))", "self.runs.eq(1)",
           "operands taken while results block the array|active PEs are not the wavefront"),
    Mutant(ARRAY, "a row less of results", "Cat(Const(-1, self.rows), remaining[0])",
           "Cat(Const(-1, self.rows - 1), remaining[0])", "result row is missing", watched=True),
)

# Blocks of the DRAM path, for the golden model only: their checkers have faults of their own, in
# tests/dram/. Each names the edit that its block is most likely to suffer.
DRAM = (
    Mutant("dram.refresh_timer", "an interval too long",
           "self.left.eq(self.interval - 1)", "self.left.eq(self.interval)"),
    Mutant("dram.refresh_timer", "a refresh is done and falls due at once",
           "with m.Elif(~falls & taken)", "with m.Elif(taken)"),
    Mutant("dram.buffer_table", "a line beyond the buffer",
           "high.eq(bottom > descriptor.y)", "high.eq(bottom > descriptor.y + 1)"),
    Mutant("dram.buffer_table", "a partial product lost",
           "middle.eq(cross + across)", "middle.eq(cross)"),
    Mutant("dram.buffer_table", "a snoop of more words than indexes",
           "(oversized, Refusal.SNOOP), ", ""),
    Mutant("dram.index_iterator", "an index after the buffer's last word",
           "indexes.payload.index < self.size", "indexes.payload.index <= self.size"),
    Mutant("dram.snoop_cam", "the highest lane answers",
           "Mux(there, content, other)", "Mux(also, other, content)"),
    Mutant("dram.snoop_cam", "a beat's words lie in one block of indexes",
           "Mux(own[:2] < index[:2], follows, high)", "high"),
    Mutant("dram.stride_sequencer", "a line's last burst is full",
           "at.end[5:].any())", "at.end[5:].any() | 1)"),
    Mutant("dram.command_generator", "a bank counts as open for ever",
           "is_open[number].eq(~leaves)", "is_open[number].eq(1)"),
    Mutant("dram.command_generator", "a tile closes its bank, not the sibling",
           "Mux(held.indexed, ~held_bank, siblings)", "Mux(held.indexed, ~held_bank, 0)"),
    Mutant("dram.command_arbiter", "the fuller bank is not preferred",
           "between | _greater(counts[i], counts[j])", "between"),
    Mutant("dram.command_arbiter", "a cycle between activates too many",
           '"rrd_s": part.nRRD_S', '"rrd_s": part.nRRD_S + 1'),
    Mutant("dram.dq_scheduler", "writes a cycle late",
           "line[self.part.nCWD - self.lead - 1]", "line[self.part.nCWD - self.lead]"),
)
assert all(not mutant.says and not mutant.watched for mutant in DRAM)

# Edits that change nothing a user can see: the regression must not mind.
EQUIVALENT = (
    Mutant(MEMORY, "banks swapped", "paths[number]", "paths[-1 - number]"),
    Mutant(MEMORY, "SRAM reads without a request",
           "read.en.eq(arbiter.grant.any() & reads)", "read.en.eq(reads)"),
)

TOKENS, GENERATOR = "dataflow.token_buffer", "dram.command_generator"
RESET = (  # kept over a reset in mid-run
    Mutant(TOKENS, "present is not reset",
           'Signal(depth, name=f"present_{k}")',
           'Signal(depth, name=f"present_{k}", reset_less=True)',
           "nothing waits that is not needed"),
    Mutant(TOKENS, "complete is not reset",
           "self.complete = Signal(depth)", "self.complete = Signal(depth, reset_less=True)",
           "is in its entry or in the output"),
    Mutant(GENERATOR, "is_open is not reset",
           "self.is_open = Signal(part.banks)",
           "self.is_open = Signal(part.banks, reset_less=True)"),
    Mutant(GENERATOR, "within is not reset",
           "self.in_request = Signal(), Signal(), Signal()",
           "self.in_request = Signal(), Signal(), Signal(reset_less=True)",
           "within a request"),
    Mutant("dram.buffer_table", "stage is not reset", "self.stage = Signal(6)",
           "self.stage = Signal(6, reset_less=True)"),
)
"""What survives unless reset comes in mid-run."""
