"""Streams of kernels and copies on a GPU: who is dispatched when, block by block.

Source: the thesis, 4.3.1.1 to 4.3.1.4, which restates the rules that Amert et al. found (its [28]):

- An operation joins its stream when the host launches it, and leaves it when it has ended.
- The head of a stream joins the compute queue, or the copy queue.
- Only the head of the compute queue has its blocks assigned, as long as an SM has room; it leaves
  the queue once all are assigned. Blocks are not taken back.
- There is a compute queue for each priority; a lower one waits while a higher one is not empty.
- The copy engine takes one copy at a time.
- The head of the null stream joins its queue only when every other stream is empty or has a head
  that was launched later; the head of another one only when the null stream's was launched later.

Which SM gets a block is not documented: it is a choice of the simulation.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BlockRun", "Gpu", "Operation", "OperationRun", "Stream", "StreamsRun", "simulate"]

_LARGEST = 10**12
_MOST_BLOCKS = 100_000  # of a simulation
_MOST_SMS = 1024


@dataclass(frozen=True)
class Gpu:
    """A device: SMs, and what each holds.

    Raises `ValueError` for a number that is not whole or not from 1 to 1,000,000 (SMs: to 1,024).
    """

    sms: int = 2
    threads: int = 2048
    blocks: int = 32
    shared: int = 65536
    registers: int = 65536

    def __post_init__(self) -> None:
        for thing, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**6:
                raise ValueError(f"{thing} of the device must be 1 to 1000000, not {value!r}")
        if self.sms > _MOST_SMS:
            raise ValueError(f"sms of the device must be at most {_MOST_SMS}, not {self.sms}")


@dataclass(frozen=True)
class Operation:
    """A kernel, or a copy if it has no blocks.

    Raises `ValueError` for a number that is not whole, negative or above 10^12, a ``time`` of 0, a
    kernel without threads, and more than 1,024 threads in a block.

    Attributes
    ----------
    time : int
        Of a block, whatever runs beside it, or of the copy; a block may take less.
    blocks, threads, shared, registers : int
        Blocks of the grid; of each the threads and bytes, of each thread the registers.
    release : int
        When the host launches it, in the example; bounds do not read it.
    """

    name: str
    time: int
    blocks: int = 0
    threads: int = 0
    shared: int = 0
    registers: int = 0
    release: int = 0

    def __post_init__(self) -> None:
        for thing, value, least in (
                ("time", self.time, 1), ("blocks", self.blocks, 0), ("release", self.release, 0),
                ("threads", self.threads, 1 if self.blocks else 0), ("shared", self.shared, 0),
                ("registers", self.registers, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or not (
                    least <= value <= _LARGEST):
                raise ValueError(f"{thing} of {self.name} must be a whole number, {least} to "
                                 f"{_LARGEST}, not {value!r}")
        if self.threads > 1024:
            raise ValueError(f"threads of {self.name} must be at most 1024, not {self.threads}")

    @property
    def needs(self) -> dict[str, int]:
        """Resources of an SM that a block takes, by name."""
        return {"threads": self.threads, "blocks": 1, "shared": self.shared,
                "registers": self.registers * self.threads}

    def resident(self, gpu: Gpu) -> int:
        """Blocks that one empty SM holds."""
        return min(getattr(gpu, thing) // need for thing, need in self.needs.items() if need)


@dataclass(frozen=True)
class Stream:
    """Operations in order.

    Raises `ValueError` without an operation, for a ``period`` that is no whole number from 1 to
    10^12, and for a null stream with priority.

    Attributes
    ----------
    high : bool
        Priority.
    null : bool
        Whether it is the (legacy) null stream.
    period : int or None
        Least time from the launch of the list's last operation to that of its first again; None:
        it is launched once.
    """

    name: str
    operations: tuple[Operation, ...]
    high: bool = False
    null: bool = False
    period: int | None = None

    def __post_init__(self) -> None:
        if not self.operations:
            raise ValueError(f"stream {self.name} must have an operation")
        if self.period is not None and (isinstance(self.period, bool) or not isinstance(
                self.period, int) or not 1 <= self.period <= _LARGEST):
            raise ValueError(f"period of {self.name} must be a whole number, 1 to {_LARGEST}, "
                             f"not {self.period!r}")
        if self.null and self.high:
            raise ValueError(f"the null stream {self.name} has no priority of its own")


def check_streams(gpu: Gpu, streams: Sequence[Stream]) -> None:
    """Raise `ValueError` for streams that this device cannot run."""
    if not streams:
        raise ValueError("there must be a stream")
    names = [stream.name for stream in streams]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"stream {name} is there {names.count(name)} times")
    if sum(stream.null for stream in streams) > 1:
        raise ValueError("there must be at most one null stream")
    for stream in streams:
        for operation in stream.operations:
            if operation.blocks and not operation.resident(gpu):
                lacks = [thing
                         for thing, need in operation.needs.items() if need > getattr(gpu, thing)]
                raise ValueError(f"a block of {operation.name} does not fit into an SM: too many "
                                 f"{' and '.join(lacks)}")


@dataclass(frozen=True)
class BlockRun:
    """A block, where and when."""

    stream: str
    operation: str
    number: int
    sm: int
    start: int
    end: int


@dataclass
class OperationRun:
    """An operation of a run.

    Attributes
    ----------
    launched, head, queued, start, end : int
        When it was launched, came to the head of its stream, joined its queue, had its first
        block assigned, and ended.
    """

    stream: Stream
    operation: Operation
    order: int
    launched: int
    head: int = -1
    queued: int = -1
    start: int = -1
    end: int = -1
    left: int = 0
    unassigned: int = 0

    @property
    def response(self) -> int:
        """From the launch to the end."""
        return self.end - self.launched


@dataclass(frozen=True)
class StreamsRun:
    """All that happened: operations in the order of their launches, and blocks."""

    operations: tuple[OperationRun, ...]
    blocks: tuple[BlockRun, ...]


@dataclass
class _State:
    gpu: Gpu
    room: list[dict[str, int]]
    queues: dict[bool, deque] = field(default_factory=lambda: {True: deque(), False: deque()})
    copies: deque = field(default_factory=deque)
    copying: bool = False


def simulate(gpu: Gpu, streams: Sequence[Stream],
             releases: Mapping[str, Sequence[Sequence[int]]] | None = None, *,
             place: Callable[[list[int]], int] = min,
             time_of: Callable[[Operation, int], int] | None = None) -> StreamsRun:
    """Run streams until all operations have ended.

    Raises `ValueError` for streams that the device cannot run (`check_streams`), for releases that
    are not in order or not one for each operation, and for more than 100,000 blocks.

    Parameters
    ----------
    releases : Mapping[str, Sequence[Sequence[int]]], optional
        By stream: for each launch of its list, the time of each operation, ascending. By default
        each list is launched once, at its operations' own ``release``. Launches at the same time
        happen in the order of ``streams``.
    place : Callable[[list[int]], int]
        Chooses one of the SMs that have room for a block.
    time_of : Callable[[Operation, int], int], optional
        How long block ``n`` takes, 1 to the operation's ``time``; by default that.
    """
    check_streams(gpu, streams)
    time_of = time_of or (lambda operation, _: operation.time)
    runs = _launches(streams, releases)
    count = sum(run.operation.blocks for run in runs)
    if count > _MOST_BLOCKS:
        raise ValueError(f"a simulation has at most {_MOST_BLOCKS} blocks, not {count}")
    state = _State(gpu, [{"threads": gpu.threads, "blocks": gpu.blocks, "shared": gpu.shared,
                          "registers": gpu.registers} for _ in range(gpu.sms)])
    coming = deque(sorted(runs, key=lambda run: run.order))
    waiting: dict[str, deque[OperationRun]] = {stream.name: deque() for stream in streams}
    null = next((stream.name for stream in streams if stream.null), None)
    active: list[tuple[int, OperationRun, int | None]] = []  # end, of what, SM
    blocks: list[BlockRun] = []
    now = 0
    while coming or active or any(waiting.values()):
        times = [run.launched for run in list(coming)[:1]] + [end for end, _, _ in active]
        now = min(times)
        for end, run, sm in [block for block in active if block[0] == now]:
            active.remove((end, run, sm))
            _end(state, waiting, run, sm, now)
        while coming and coming[0].launched == now:
            run = coming.popleft()
            waiting[run.stream.name].append(run)
        _join(state, waiting, null, now)
        _assign(state, active, blocks, now, place, time_of)
    return StreamsRun(tuple(sorted(runs, key=lambda run: run.order)), tuple(blocks))


def _launches(streams: Sequence[Stream], releases: Mapping[str, Sequence[Sequence[int]]] | None
              ) -> list[OperationRun]:
    launches: list[tuple[Any, int, int, OperationRun]] = []  # first, its time
    for place, stream in enumerate(streams):
        lists = ([[operation.release for operation in stream.operations]] if releases is None
                 else releases.get(stream.name, []))
        last = 0
        for times in lists:
            if len(times) != len(stream.operations):
                raise ValueError(f"a launch of {stream.name} must have {len(stream.operations)} "
                                 f"times, not {len(times)}")
            for operation, time in zip(stream.operations, times, strict=True):
                if time < last:
                    raise ValueError(f"launches of {stream.name} must be in order: {time} after "
                                     f"{last}")
                last = time
                launches.append((time, place, len(launches), OperationRun(
                    stream, operation, 0, time, left=max(1, operation.blocks),
                    unassigned=operation.blocks)))
    for order, (_, _, _, run) in enumerate(sorted(launches, key=lambda launch: launch[:3])):
        run.order = order
    return [run for *_, run in launches]


def _end(state: _State, waiting: dict[str, deque[OperationRun]], run: OperationRun,
         sm: int | None, now: int) -> None:
    """A block or a copy has ended."""
    if sm is None:
        state.copying = False
    else:
        for thing, need in run.operation.needs.items():
            state.room[sm][thing] += need
    run.left -= 1
    if not run.left:
        run.end = now
        waiting[run.stream.name].popleft()


def _join(state: _State, waiting: dict[str, deque[OperationRun]], null: str | None, now: int
          ) -> None:
    """Heads of streams join their queues, in the order of their launches."""
    heads = sorted((line[0] for line in waiting.values() if line), key=lambda run: run.order)
    for run in heads:
        if run.head < 0:
            run.head = now
        if run.queued >= 0:
            continue
        others = [line[0] for name, line in waiting.items() if line and name != run.stream.name]
        if run.stream.null:
            blocked = any(other.order < run.order for other in others)
        else:
            blocked = null is not None and any(
                other.stream.null and other.order < run.order for other in others)
        if not blocked:
            run.queued = now
            (state.queues[run.stream.high] if run.operation.blocks else state.copies).append(run)


def _assign(state: _State, active: list, blocks: list[BlockRun], now: int,
            place: Callable[[list[int]], int], time_of: Callable[[Operation, int], int]) -> None:
    """Blocks of the head go to SMs with room; the next head may follow in the same moment."""
    if state.copies and not state.copying:
        run = state.copies.popleft()
        state.copying, run.start = True, now
        active.append((now + time_of(run.operation, 0), run, None))
    while queue := state.queues[True] or state.queues[False]:
        run = queue[0]
        needs = run.operation.needs
        while run.unassigned:
            fitting = [sm for sm, room in enumerate(state.room)
                       if all(room[thing] >= need for thing, need in needs.items())]
            if not fitting:
                return
            sm = place(fitting)
            for thing, need in needs.items():
                state.room[sm][thing] -= need
            number = run.operation.blocks - run.unassigned
            if run.start < 0:
                run.start = now
            end = now + time_of(run.operation, number)
            active.append((end, run, sm))
            blocks.append(BlockRun(run.stream.name, run.operation.name, number, sm, now, end))
            run.unassigned -= 1
        queue.popleft()
