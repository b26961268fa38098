"""The thesis's WCET estimate of a CUDA kernel: Algorithms 1 and 2, with what they leave open.

Source: the thesis, Section 5.3.3. It is an *estimate*, no bound: instructions count once, whatever
the control flow, and a saturated pipeline is taken to hide all others (`docs/gpu.md`, findings;
`cyclebound.golden.gpu.safe_bound` has a bound). The pseudo-code, the rule list, the printed tables
and the published sheets differ among themselves; every difference is an option of `Options`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cyclebound.golden.gpu.compute_capability import WARP_THREADS, ComputeCapability
from cyclebound.golden.gpu.occupancy import BlockResources, occupancy

__all__ = ["CONSTANT_RULES", "PIPELINES", "READ_ONLY", "SATURATED_MEMORY", "WARP_RULES", "Charge",
           "Estimate", "Launch", "MemoryAccess", "MemoryDelays", "Options", "Step", "active_warps",
           "estimate"]

CONSTANT_RULES = {
    "exact": "new unless this very address was loaded before (Algorithm 2, line 18)",
    "window": "new unless an address less than 128 bytes away was loaded before (rule list, 5.3.3)",
    "line": "new unless an address of the same aligned 128 bytes was loaded before (the same rule, "
            "read as a cache line)",
    "sheet": "as the published sheet marks it; an instruction without a mark counts by `exact`",
}
WARP_RULES = {
    "formula": "blocks x threads / (32 SMs), Table 5.4, as a fraction",
    "one-sm": "the same with one SM, however many there are (vectorized kernel)",
    "grid-z": "the same with as many SMs as the grid is deep (matrix kernel: 64 / 2)",
    "half-threads": "ceil(blocks x threads / (32 x 2) / 32), the convolution's sheet: warps are "
                    "divided by 32 once more",
    "round-robin": "blocks spread over all SMs: warps of the SM that has most",
    "fewest-sms": "SMs filled one after the other as occupancy allows: warps of all / SMs in use",
}
SATURATED_MEMORY = {
    "all": "memory delays of all instructions (Algorithm 1, line 8)",
    "own": "only constants inside the saturated pipeline (the published sheets)",
}
READ_ONLY = {
    "global": "as every global load (Algorithm 2)",
    "l1": "d_L1 from the first time on (matrix kernel's sheet: 33 for LDG.E.CONSTANT)",
}
PIPELINES = ("fma", "alu", "special", "tensor", "cbu", "fp16", "fp64", "xu", "uniform")
"""Those that can saturate, and are counted for the average; memory (``lsu``) is not."""

_LINE = 128


@dataclass(frozen=True)
class MemoryAccess:
    """A memory access of an instruction.

    Attributes
    ----------
    space : str
        ``"global"``, ``"shared read"``, ``"shared write"`` or ``"constant"``.
    address : tuple or None
        What tells it from others: for a constant, bank and offset.
    dynamic : bool
        A constant whose bank or offset is in a register.
    read_only : bool
        A global load through the read-only path (``LDG.CONSTANT``).
    new : frozenset[str] or None
        Rules under which a constant is new, where a count table says so and has no address.
    """

    space: str
    address: tuple | None = None
    dynamic: bool = False
    read_only: bool = False
    new: frozenset[str] | None = None


@dataclass(frozen=True)
class Step:
    """The properties of an instruction that the algorithms use.

    Attributes
    ----------
    number : int
        In its listing, from 1.
    name : str
        Opcode with modifiers.
    pipeline : str or None
        One of `PIPELINES`, or None for an instruction that is in none, such as a load.
    delay : int
        GetDelay: cycles for each active warp.
    accesses : tuple[MemoryAccess, ...]
        Of memory: those of a load or store, or of a constant operand.
    """

    number: int
    name: str
    pipeline: str | None
    delay: int
    accesses: tuple[MemoryAccess, ...] = ()


@dataclass(frozen=True)
class MemoryDelays:
    """Cycles of an access (Section 5.3.3, rule list).

    ``l1`` is 33, which the published sheet charges for a read-only load; the text gives d_L1 no
    number.
    """

    global_: int = 290
    shared_read: int = 23
    shared_write: int = 19
    l1: int = 33


@dataclass(frozen=True)
class Launch:
    """A launch: grid of blocks (x, y, z), threads of a block, and SMs of the device.

    Raises `ValueError` for another number of sizes than three, and for a number that is not whole,
    is 0, or more than CUDA allows (x: 2^31 - 1, y and z: 65,535, threads: 1,024) or than 1,024 SMs.
    """

    grid: tuple[int, int, int]
    threads: int
    sms: int = 108

    def __post_init__(self) -> None:
        if len(self.grid) != 3:
            raise ValueError(f"grid must have three sizes, not {self.grid!r}")
        for thing, value, most in (
                ("grid x", self.grid[0], 2**31 - 1), ("grid y", self.grid[1], 65535),
                ("grid z", self.grid[2], 65535), ("threads per block", self.threads, 1024),
                ("SMs", self.sms, 1024)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise ValueError(f"{thing} must be 1 to {most}, not {value!r}")

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        x, y, z = self.grid
        return x * y * z


@dataclass(frozen=True)
class Options:
    """How the open points are read. The defaults are the algorithms as printed.

    Raises `ValueError` for a reading, a branch or a pipeline that there is not, for ``warps`` below
    1, and for an ``alpha`` that is not above 0.

    Attributes
    ----------
    constants : str
        When a constant is new: a key of `CONSTANT_RULES`.
    alpha : Fraction
        Saturation: a pipeline with more than alpha times the average instructions. "Left to the
        analyzer"; only alpha in [2.000, 2.165) makes the published choices, see `docs/gpu.md`.
    warps : str or int
        Active warps: a key of `WARP_RULES`, or a number.
    saturated_memory : str
        What is left of memory if a pipeline saturates: a key of `SATURATED_MEMORY`.
    pipelines : tuple[str, ...]
        Those that are counted for N; of these, the ones that are not empty.
    read_only : str
        What a load through the read-only path takes: a key of `READ_ONLY`.
    streaming : bool
        Algorithm 2, line 5: no global load finds its data in L1.
    branch : str or None
        ``"saturated"`` or ``"unsaturated"`` takes that branch of Algorithm 1 without the test.
    """

    constants: str = "exact"
    alpha: Fraction = Fraction(2)
    warps: str | int = "formula"
    saturated_memory: str = "all"
    pipelines: tuple[str, ...] = PIPELINES
    read_only: str = "global"
    streaming: bool = True
    branch: str | None = None

    def __post_init__(self) -> None:
        for thing, value, among in (
                ("constant rule", self.constants, CONSTANT_RULES),
                ("memory of a saturated pipeline", self.saturated_memory, SATURATED_MEMORY),
                ("read-only loads", self.read_only, READ_ONLY),
                ("branch", self.branch, (None, "saturated", "unsaturated"))):
            if value not in among:
                raise ValueError(f"{thing} must be one of {', '.join(map(str, among))}, "
                                 f"not {value!r}")
        if isinstance(self.warps, str) and self.warps not in WARP_RULES:
            raise ValueError(f"warps must be a number or one of {', '.join(WARP_RULES)}, "
                             f"not {self.warps!r}")
        if not isinstance(self.warps, str) and self.warps < 1:
            raise ValueError(f"warps must be at least 1, not {self.warps}")
        if self.alpha <= 0:
            raise ValueError(f"alpha must be above 0, not {self.alpha}")
        if not self.pipelines or set(self.pipelines) - set(PIPELINES):
            raise ValueError(f"pipelines must be some of {', '.join(PIPELINES)}, "
                             f"not {', '.join(self.pipelines) or 'none'}")


@dataclass(frozen=True)
class Charge:
    """The cycles that one instruction adds to the estimate.

    Attributes
    ----------
    pipeline_cycles : Fraction
        Its delay for all active warps; 0 if its pipeline is hidden.
    memory_cycles : int
        Its accesses; 0 if they are left out.
    """

    step: Step
    pipeline_cycles: Fraction
    memory_cycles: int

    @property
    def cycles(self) -> Fraction:
        """Cycles of pipeline and memory together."""
        return self.pipeline_cycles + self.memory_cycles


@dataclass(frozen=True)
class Estimate:
    """The result of Algorithm 1, with its intermediate values.

    Attributes
    ----------
    cycles : Fraction
        The estimate; whole unless ``warps`` is not.
    warps : Fraction
        W.
    saturated : str or None
        The pipeline that hides the others.
    ratio : Fraction
        Size of the largest pipeline over the average, to be compared with alpha.
    sizes : dict[str, int]
        Instructions of each pipeline.
    """

    cycles: Fraction
    warps: Fraction
    saturated: str | None
    ratio: Fraction
    sizes: dict[str, int]
    charges: tuple[Charge, ...]


def active_warps(launch: Launch, rule: str | int, *, registers: int = 32, shared: int = 0,
                 limits: ComputeCapability) -> Fraction:
    """W by one of `WARP_RULES`. Raises `ValueError` if it is ``fewest-sms``, and an SM has no room
    for a block.

    Parameters
    ----------
    registers, shared : int
        Of a thread and of a block; only ``fewest-sms`` reads them.
    """
    if not isinstance(rule, str):
        return Fraction(rule)
    warps = Fraction(launch.blocks * launch.threads, WARP_THREADS)
    if rule == "formula":
        return warps / launch.sms
    if rule == "one-sm":
        return warps
    if rule == "grid-z":
        return warps / launch.grid[2]
    if rule == "half-threads":
        return Fraction(-(-warps // (2 * WARP_THREADS)))
    per_block = -(-launch.threads // WARP_THREADS)
    if rule == "round-robin":
        return Fraction(-(-launch.blocks // launch.sms) * per_block)
    resident = occupancy(BlockResources(launch.threads, registers, shared), limits).blocks
    if not resident:
        raise ValueError(f"a block of {launch.threads} threads with {registers} registers and "
                         f"{shared} bytes of shared memory does not launch")
    used = min(launch.sms, -(-launch.blocks // resident))
    return Fraction(per_block * launch.blocks, used)


class _Memory:
    """Algorithm 2, with what it has loaded so far."""

    def __init__(self, options: Options, delays: MemoryDelays) -> None:
        self._options, self._delays = options, delays
        self._global: set = set()
        self._constants: list[tuple] = []

    def delay(self, access: MemoryAccess) -> int:
        """GetMemoryDelay of one access."""
        delays = self._delays
        if access.space == "shared read":
            return delays.shared_read
        if access.space == "shared write":
            return delays.shared_write
        if access.space == "constant":
            return delays.global_ if self._is_new(access) or access.dynamic else 0
        if access.read_only and self._options.read_only == "l1":
            return delays.l1
        if self._options.streaming or access.address is None or access.address not in self._global:
            self._global.add(access.address)
            return delays.global_
        return delays.l1

    def _is_new(self, access: MemoryAccess) -> bool:
        rule = self._options.constants
        if access.new is not None:
            return rule in access.new
        if access.address is None:  # dynamic
            return True
        bank, offset = access.address
        new = not any(bank == other and _same(rule, offset, before)
                      for other, before in self._constants)
        self._constants.append(access.address)
        return new


def _same(rule: str, offset: int, before: int) -> bool:
    """Whether a constant comes with one that was loaded before."""
    if rule == "window":
        return abs(offset - before) < _LINE
    if rule == "line":
        return offset // _LINE == before // _LINE
    return offset == before


def estimate(steps: Sequence[Step], *, warps: Fraction | int, options: Options,
             delays: MemoryDelays | None = None) -> Estimate:
    """Algorithm 1 on a list of instructions.

    Parameters
    ----------
    warps : Fraction or int
        W, from `active_warps`.

    Raises
    ------
    ValueError
        If there is no instruction, or no warp.
    """
    if not steps:
        raise ValueError("a kernel must have at least one instruction, not 0")
    warps = Fraction(warps)
    if warps <= 0:
        raise ValueError(f"warps must be above 0, not {warps}")
    memory = _Memory(options, delays or MemoryDelays())
    loads = [sum(map(memory.delay, step.accesses)) for step in steps]
    sizes = _sizes(steps, options.pipelines)
    largest = max(sizes, key=sizes.__getitem__) if sizes else None
    ratio = (Fraction(0) if largest is None else
             Fraction(sizes[largest] * len(sizes), sum(sizes.values())))
    taken = ratio > options.alpha if options.branch is None else options.branch == "saturated"
    saturated = largest if taken else None
    charges = tuple(_charge(step, load, warps, saturated, options)
                    for step, load in zip(steps, loads, strict=True))
    return Estimate(sum((charge.cycles for charge in charges), Fraction(0)), warps, saturated,
                    ratio, sizes, charges)


def _sizes(steps: Iterable[Step], among: Sequence[str]) -> dict[str, int]:
    """Instructions of each pipeline that has any."""
    return dict(Counter(step.pipeline for step in steps
                        if step.pipeline is not None and step.pipeline in among))


def _charge(step: Step, load: int, warps: Fraction, saturated: str | None, options: Options
            ) -> Charge:
    if saturated is None:
        return Charge(step, step.delay * warps, load)
    inside = step.pipeline == saturated
    kept = options.saturated_memory == "all" or inside
    return Charge(step, step.delay * warps if inside else Fraction(0), load if kept else 0)
