"""Errata of the published WCET analysis: of each point, a kernel that exceeds it, or why none can.

A witness is the smallest kernel that we know; it runs on the cycle model with the DRAM front end of
Sim-D's authors (first command after two clocks), so that what it exceeds is the analysis and not a
constant. Its first refresh falls due in cycle 0 unless it says otherwise: any kernel may meet one
there. A point that is safe has a proof in docs/simd_wcet_published.md, and what of it can be
enumerated is (`SAFE`).
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from cyclebound.golden.dram.bounds import eq15_tool, eq19, tile_issue_delay
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.index_bounds import buffer_rows, indexed_issue_delay, rows_tool
from cyclebound.golden.dram.timing import PARTS, Part
from cyclebound.golden.simd.accelerator import CycleModel, Policy, Timed
from cyclebound.golden.simd.machine import MACHINES, Grid
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.tools.dram.index_witnesses import witnesses as indexed_witnesses
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.published.accesses import indexed_delay
from cyclebound.tools.simd.published.analysis import Published, published_wcet

__all__ = ["AUTHORS_LEAD", "SAFE", "WITNESSES", "YIELDS", "Finding", "Safe", "Witness",
           "authors_timeline", "compute_phases", "find", "indexed_x8", "inflated_with_owed",
           "refreshes"]

AUTHORS_LEAD = 2
"""DRAM clocks from the start of a request to its first command in the authors' model."""

_DATA = """.data
0 0x0      131072 1
1 0x80000  65536 1
2 0x100000 65536 1
3 0x140000 1 1
.sp_data
0 0 1024 1
.text
"""
_BIT = """sldg s0, 3
smov s1, sc.wg_off_x
sshr s1, s1, 10
sand s1, s1, 31
sshr s0, s0, s1
sand s0, s0, 1
"""
_STRIDES = """smovssp sc.sd_words, 32
smovssp sc.sd_period, 2048
smovssp sc.sd_period_cnt, 32
"""
_ODD = {3: 0xAAAA_AAAA}


def authors_timeline(part: Part, due: int | None = None) -> DramTimeline:
    """The DRAM with the authors' front end."""
    return DramTimeline(part, lookup=0, lead=AUTHORS_LEAD, due=due)


@dataclass(frozen=True)
class Witness:
    """A kernel that takes longer than the published analysis says.

    Attributes
    ----------
    name, place, says : str
        For tables; where the paper has it; what is wrong.
    corrected : str
        What holds instead.
    text : str
        The kernel, after `_DATA`.
    work_groups : int
        Of 1,024 items in one line.
    in_scope : bool
        The paper claims its analysis for such a kernel.
    policy : Policy
        Under which it does.
    words : mapping
        Word 0 of buffers, others are 0.
    due : int
        DRAM cycle in which the first refresh falls due; below 0, refreshes are owed.
    """

    name: str
    place: str
    says: str
    corrected: str
    text: str
    work_groups: int
    in_scope: bool = True
    policy: Policy = Policy.ACCESS
    part: str = "ddr4-3200aa-x16"
    words: Mapping[int, int] = field(default_factory=dict)
    due: int = 0

    @property
    def program(self) -> Program:
        return assemble(_DATA + self.text, f"{self.name}.sas")

    @property
    def grid(self) -> Grid:
        return Grid(1024 * self.work_groups, 1, MACHINES["paper"])

    def published(self) -> Published:
        """The analysis, of kernels outside its scope, too."""
        return published_wcet(self.program, self.grid, PARTS[self.part], unchecked=True)

    def run(self, policy: Policy | None = None) -> Timed:
        """The run of the witness on the cycle model."""
        program, part = self.program, PARTS[self.part]
        memory = memory_of(program)
        for number, word in self.words.items():
            memory[number][0, 0] = word
        return CycleModel(program, self.grid, memory, policy=policy or self.policy, part=part,
                          timeline=authors_timeline(part, self.due)).run()


def _masked(count: int) -> str:
    regions = "".join(f"cpush.if a{number}\ncmask p0\ncpop\na{number}:\n"
                      for number in range(count))
    return f"mov v1, 1\nitest.nz p0, v1\n{regions}stglin v1, 2\nexit"


_SLOW = "rcp v1, v0\n"
WITNESSES = (
    Witness("injected-pop", "5.3",
            "The edge of an injected pop has the pop and its flush, but not the flush after the "
            "instruction that left no lane active: 34 cycles for a masked region that takes 42.",
            "D + 1 more on each injected edge: n (W + D + 1) + D + 1 in all.",
            _masked(2), 1),
    Witness("addresses-from-base", "5.3",
            "The 4,096 addresses begin at the buffer's base. A tile that begins later may run from "
            "the last banks into the first ones of the next row.",
            "tile_2d_issue_delay: all first words of a row of all banks.",
            _STRIDES + "smov s9, 8177\n" + "stgcidx 0, s9\n" * 10 + "exit", 1),
    Witness("addresses-from-base-x8", "5.3", "The same with four bank groups.", "As above.",
            _STRIDES + "smov s9, 6129\n" + "ldgcidx 0, s9\n" * 10 + "stglin v0, 1\nexit", 1,
            part="ddr4-3200aa-x8"),
    Witness("refreshes-owed", "5.8, Eq. 19",
            "A long request before the kernel may leave up to eight refreshes owed; they go before "
            "its program is loaded.",
            "Eq. 19 and nRFC for each refresh that may be owed (with_refreshes). Safe if at most "
            "one refresh is under way when the kernel starts.",
            "ldglin v0, 0\nldglin v1, 1\nmul v2, v0, v0\nmad v2, v1, v1, v2\nstglin v2, 2\nexit",
            2, due=-7 * 12480),
    Witness("compute-last", "4.1, 5.6",
            "What is computed after the last access is dropped.",
            "A last phase of compute, or refusal.",
            "stglin v0, 2\nrcp v1, v0\nexit", 1, in_scope=False),
    Witness("compute-before-early-exit", "4.4, Theorem 2",
            "A work-group that computes long and then ends early is charged only the short path to "
            "the next access.",
            "The longest path to the end takes part in the phase's maximum, or refusal.",
            _BIT + "sicj.ez a, s0\n" + _SLOW * 8 + "exit\na:\nstglin v1, 2\nexit", 4,
            in_scope=False, words={3: 0xFFFF_FFFF}),
    Witness("skipped-access", "5.5",
            "Accesses that a jump skips: the work-groups of a pair take different paths and lose "
            "step. No maximum over paths covers this.",
            "The pairs' dynamic program, or refusal.",
            _BIT + _SLOW * 6 + "sicj.ez b, s0\nldglin v1, 0\nb:\n" + _SLOW * 6
            + "stglin v1, 2\nexit", 2, in_scope=False, words=_ODD),
    Witness("fewer-loads", "5.5",
            "The critical path counts compute cycles and no DRAM, and takes the side with fewer "
            "loads.",
            "The pairs' dynamic program, or refusal.",
            _BIT + "sicj.ez b, s0\n" + _SLOW * 5 + "j e\nb:\n" + "ldglin v1, 0\n" * 8
            + "e:\nstglin v1, 2\nexit", 16, in_scope=False),
)
"""Kernels that exceed the published analysis, those that the paper's scope includes first."""

YIELDS = (
    Witness("compute-again", "4.2, 5.6",
            "A phase of compute, scratchpad and compute is no single phase under yield: when the "
            "transfer ends, the other work-group is first, and the pair is out of step.",
            "Policy compute, which the formula is for; or the pairs' dynamic program with compute "
            "and scratchpad apart.",
            _SLOW * 3 + "stsplin v1, 0\n" + _SLOW * 4 + "stglin v1, 2\nexit", 4,
            policy=Policy.YIELD),
    Witness("compute-again-long", "4.2, 5.6",
            "The same with more to compute: the excess grows with the number of pairs.",
            "As above.",
            "ldglin v0, 0\nstsplin v0, 0\n" + _SLOW * 6 + "ldsplin v1, 0\nldglin v2, 0\n"
            + _SLOW * 6 + "stglin v1, 2\nexit", 16, policy=Policy.YIELD, due=12480),
)
"""Kernels that exceed the published formula of scratchpads as compute under ``yield``, a policy of
this project's and not of the paper's. Under ``compute``, which is the paper's, they keep to it."""


@dataclass(frozen=True)
class Finding:
    """A witness, run: compute cycles measured and published, and whether the check refuses it."""

    witness: Witness
    measured: int
    published: int
    refused: str

    @property
    def exceeded(self) -> bool:
        return self.measured > self.published


def find(witness: Witness) -> Finding:
    """Run and analyse a witness."""
    said = witness.published()
    cycles = said.access if witness.policy is Policy.ACCESS else said.compute
    return Finding(witness, witness.run().cycles, cycles, said.outside[0] if said.outside else "")


# -- what is safe --------------------------------------------------------------------------------

@dataclass(frozen=True)
class Safe:
    """A point of the paper that holds.

    ``check`` enumerates what of it can be enumerated: it returns the number of cases, and how many
    DRAM clocks (compute cycles for refreshes) are left in the closest of them; a negative number
    is a violation.
    """

    name: str
    place: str
    says: str
    check: Callable[[], tuple[int, int]]


def _load() -> tuple[int, int]:
    left = [eq15_tool(part=part, bursts=bursts, write=0) + 3 - AUTHORS_LEAD
            - schedule(part, range(bursts)).issue_delay
            for part in _papers() for bursts in range(1, 257)]
    return len(left), min(left)


def _snoopy() -> tuple[int, int]:
    left = [eq15_tool(part=part, bursts=bursts, write=write) + 6 - AUTHORS_LEAD
            - tile_issue_delay(part=part, bursts=bursts, write=write)
            for part in _papers() for write in (0, 1) for bursts in range(2, 66)]
    return len(left), min(left)


def _papers() -> list[Part]:
    return [PARTS["ddr4-3200aa-x16"], PARTS["ddr4-3200aa-x8"]]


def _kind(part: Part, rows: int) -> int:
    """The case of Eq. 16 that a number of rows falls into."""
    return next((kind for kind, most in enumerate((1, part.bank_groups, part.banks))
                 if rows <= most), 3)


def _rows() -> tuple[int, int]:
    """Both counts of rows grow with the buffer; beyond nB of them there is one case."""
    cases = [(part, words) for part in _papers() for words in range(1, 40_000)]
    left = [_kind(part, rows_tool(words=words)) - _kind(part, buffer_rows(part=part, words=words))
            for part, words in cases]
    return len(left), min(left)


def _indexed_x16() -> tuple[int, int]:
    part = PARTS["ddr4-3200aa-x16"]
    left = [indexed_delay(part, 1024, rows, bool(write)) + 3 - AUTHORS_LEAD
            - indexed_issue_delay(part=part, bursts=1024, rows=rows, write=write)
            for write in (0, 1) for rows in range(1, 11)]
    return len(left), min(left)


def indexed_x8() -> int:
    """DRAM clocks by which 1,024 words in sixteen rows exceed Eq. 16 with four bank groups."""
    part = PARTS["ddr4-3200aa-x8"]
    longest = max((witness for witness in indexed_witnesses("ddr4-3200aa-x8")
                   if witness.rows == part.banks and not witness.write),
                  key=lambda witness: witness.bursts)
    banks = [*longest.order.banks, *[longest.order.banks[-1]] * (1024 - longest.bursts)]
    pair = 2 * part.bursts_per_row
    bursts = [bank // 2 * pair + bank % 2 for bank in banks]
    delay = schedule(part, bursts, indexed=True).issue_delay
    return delay + AUTHORS_LEAD - indexed_delay(part, 1024, part.banks, False) - 3


def refreshes(step: int) -> tuple[int, int]:
    """computePhiMag with its first refresh in every cycle of ``step`` until nREFI, and one under
    way at first."""
    witness = next(point for point in WITNESSES if point.name == "refreshes-owed")
    program, grid, part = witness.program, witness.grid, PARTS[witness.part]
    said = witness.published().access
    left = []
    for due in range(-part.nRFC, part.nREFI, step):
        timed = CycleModel(program, grid, memory_of(program), policy=Policy.ACCESS, part=part,
                           timeline=authors_timeline(part, due)).run(keep=False)
        left.append(said - timed.cycles)
    return len(left), min(left)


def _tickets() -> tuple[int, int]:
    """Count the witnesses' successive accesses under the access policy, and the least gap between
    them: listed as they are committed, each has to begin when the one before it has ended."""
    cases, left = 0, 1
    for witness in (*YIELDS, *WITNESSES):
        phases = witness.run(Policy.ACCESS).phases
        served = [phase for phase in phases if phase.resource != "compute"]
        for one, other in itertools.pairwise(served):
            cases += 1
            left = min(left, other.start - one.end)
    return cases, left


def compute_phases(policy: Policy) -> tuple[int, int]:
    """`YIELDS` under a policy, in 1 to 16 work-groups, with a first refresh that falls due at once
    and one that does after nREFI."""
    left = []
    for witness in YIELDS:
        for groups, due in itertools.product(range(1, 17), (0, PARTS[witness.part].nREFI)):
            kernel = replace(witness, work_groups=groups, due=due)
            left.append(kernel.published().compute - kernel.run(policy).cycles)
    return len(left), min(left)


SAFE = (
    Safe("scratchpad-as-compute", "4.2, 5.6", "What a work-group computes and transfers to or from "
         "its scratchpad up to its next access to DRAM is one phase: after a transfer the same "
         "work-group goes on, as in the authors' model.", lambda: compute_phases(Policy.COMPUTE)),
    Safe("tickets", "4.2", "no_parallel_dram_sp starts accesses in the order of their commits, one "
         "at a time; two work-groups have two tickets at most, of sixteen.", _tickets),
    Safe("program-load", "5.7, Eq. 18", "tID_R(b), in compute cycles and with the tool's three "
         "clocks, covers the load of any program on both parts. (Read in DRAM clocks, Eq. 18 is "
         "safe only where the DRAM clock is the faster one.)", _load),
    Safe("snoopy-buffers", "5.3", "Eq. 15 of one burst more, with the tool's six clocks, covers a "
         "whole buffer (here of 2 to 65 bursts).", _snoopy),
    Safe("rows", "5.3, Eq. 16", "The tool's count of a buffer's rows falls into the right case of "
         "Eq. 16 for buffers of any size.", _rows),
    Safe("indexed-x16", "5.3, Eq. 16", "For 1,024 words, Eq. 16 with the tool's three clocks "
         "covers two bank groups. (As printed and for fewer words it does not: docs/dram.md.)",
         _indexed_x16),
    Safe("refreshes", "5.8, Eq. 19", "With no refresh owed and at most one under way at the start, "
         "Eq. 19 covers computePhiMag wherever the first one falls due (here every 64th cycle).",
         lambda: refreshes(64)),
)
"""Points that were in doubt and hold."""


def inflated_with_owed(part: Part, cycles: int, compute_ps: int, owed: int) -> int:
    """Eq. 19 corrected: for a kernel before which ``owed`` refreshes may be owed."""
    return (eq19(part=part, cycles=cycles, compute_ps=compute_ps)
            + -(-owed * part.nRFC * part.tck_ps // compute_ps))


assert len({point.name for point in WITNESSES}) == len(WITNESSES)
