"""Golden model of the load/store unit (SGMF, sections 4.1, 4.3, 4.5 and 5.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.golden.dataflow.token_buffer import TokenBufferModel

__all__ = ["LoadStoreModel", "LoadStoreResult", "TaggedAccess"]


@dataclass(frozen=True)
class TaggedAccess:
    """A request to memory; ``tag`` comes back with its answer."""

    tag: int
    address: int
    write: bool
    data: int


@dataclass(frozen=True)
class LoadStoreResult:
    """Outputs of the unit in one cycle; tokens are (thread, value)."""

    taken: tuple[bool, ...]
    request: TaggedAccess | None
    result: tuple[int, int] | None
    enable: tuple[int, int] | None
    fault: tuple[int, int] | None


@dataclass
class _Thread:
    entry: int
    alive: bool
    value: int | None  # None: not answered


class LoadStoreModel:
    """The unit under one configuration.

    The reservation buffer is a table of threads. It has room for one of all threads that are equal
    modulo ``depth``, and threads enter and leave it in epochs of ``depth`` (thread // depth).
    Without epochs, it has room for any ``depth`` threads, and they leave in any order.

    Parameters
    ----------
    depth : int
        Of both buffers, and threads of an epoch.
    store, gated : bool
        Writes; waits for enable tokens.
    base, size : int
        The buffer that is accessed, in words.
    epochs : bool
        False: none.
    """

    def __init__(self, *, depth: int, store: bool, gated: bool, base: int, size: int,
                 epochs: bool = True) -> None:
        self._depth, self._store, self._gated = depth, store, gated
        self._base, self._size, self._epochs = base, size, epochs
        self.buffer = TokenBufferModel(operands=3, depth=depth,
                                       needed=1 | store << 1 | gated << 2, epochs=epochs)
        self.threads: dict[int, _Thread] = {}
        self._left: frozenset[int] = frozenset()  # of this epoch, modulo depth
        self._turn = RoundRobinModel(depth)
        self._request: TaggedAccess | None = None
        self._fault: tuple[int, int] | None = None
        self._outputs: list[tuple[int, int] | None] = [None, None]

    @property
    def shown(self) -> tuple[tuple[int, int] | None, ...]:
        """Result and enable token on offer in this cycle."""
        return tuple(self._outputs)

    @property
    def request(self) -> TaggedAccess | None:
        """The request on offer in this cycle."""
        return self._request

    def takes(self, operand: int, tid: int) -> bool:
        """Whether a token of this thread would be taken."""
        return self.buffer.takes(operand, tid)

    @property
    def empty(self) -> bool:
        return (self.buffer.empty and not self.threads and self._request is None
                and self._outputs == [None, None])

    def _may_leave(self, tid: int) -> bool:
        """Answered, and of the epoch that is leaving: its entry's thread has not left in it."""
        return self.threads[tid].value is not None and (
            not self._epochs or tid % self._depth not in self._left)

    def _entry(self, tid: int) -> int | None:
        """The entry that a thread would take, if it is free: its own, or else the lowest."""
        used = {thread.entry for thread in self.threads.values()}
        own = [tid % self._depth] if self._epochs else range(self._depth)
        return next((entry for entry in own if entry not in used), None)

    def step(self, offers: Sequence[tuple[int, int] | None], *, result_ready: bool,
             enable_ready: bool, request_ready: bool,
             response: tuple[int, int] | None) -> LoadStoreResult:
        """One cycle. ``response``: tag and word, of a request of an earlier cycle."""
        shown = self._request, self._outputs[0], self._outputs[1], self._fault
        # the thread that leaves, by the state before this cycle
        leaver = None
        for port, ready in enumerate((result_ready, enable_ready)):
            if ready:
                self._outputs[port] = None
        if self.threads and self._outputs == [None, None]:
            by_entry = {self.threads[tid].entry: tid for tid in self.threads
                        if self._may_leave(tid)}
            grant = self._turn.step(sum(1 << entry for entry in by_entry), accept=True)
            if grant:
                leaver = by_entry[grant.bit_length() - 1]
        # the thread that enters
        free = self._request is None or request_ready
        firing = self.buffer.next_offer
        entry = None if firing is None else self._entry(firing.tid)
        taken = self.buffer.step(offers, free and entry is not None).taken
        if free:
            self._request = None
        self._fault = None
        entrant = None
        if free and firing is not None and entry is not None:
            index, value, enable = firing.values
            alive = not self._gated or bool(enable & 1)
            entrant = _Thread(entry, alive, None)
            if alive and index < self._size:
                self._request = TaggedAccess(entry, self._base + index, self._store,
                                             value)
            else:
                entrant.value = 0
                if alive:
                    self._fault = firing.tid, index
        if response is not None:
            tag, word = response
            for thread in self.threads.values():
                if thread.entry == tag:
                    thread.value = 0 if self._store else word
        if leaver is not None:
            thread = self.threads.pop(leaver)
            assert thread.value is not None  # what leaves is answered
            self._outputs = [(leaver, thread.value), (leaver, int(thread.alive))]
            self._left |= {leaver % self._depth}
            if len(self._left) == self._depth:
                self._left = frozenset()
        if firing is not None and entrant is not None:
            self.threads[firing.tid] = entrant
        return LoadStoreResult(taken, shown[0], shown[1], shown[2], shown[3])
