"""Golden models of what sits in a tile beside SHMAC's router: a core that runs a kernel, and RAM.

Ref: SHMAC thesis, Table 4.2 (kernels), Figure 5.7 (where a packet spends its time), 5.1 (bypass).
"""

from dataclasses import dataclass, replace

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.noc.shmac_budget import MEMORY_CYCLES, TO_CORE_CYCLES, TO_MEMORY_CYCLES
from cyclebound.golden.noc.shmac_kernel import Kernel, Operation
from cyclebound.golden.noc.shmac_packet import ShmacPacket

__all__ = ["CoreModel", "SlaveModel"]


@dataclass
class _PendingPacket:
    packet: ShmacPacket
    begun: int  # the cycle in which it was first on offer


class SlaveModel:
    """RAM at a router: one access at a time.

    From the cycle in which a packet is on offer, a cycle goes by to the memory, and three in it; in
    the last but one of them the packet is acknowledged, and in the last one the response is on
    offer, until it is acknowledged.

    Parameters
    ----------
    tile : (row, column)
        Where it is.
    words : int
        Words of the RAM.
    late : bool
        A request with a response is acknowledged together with its response.
    """

    def __init__(self, tile: Tile, *, words: int, late: bool = False) -> None:
        self._tile, self._words, self._late = tile, words, late
        self._access: _PendingPacket | None = None
        self._data: dict[int, int] = {}
        self._cycle = 0

    @property
    def _age(self) -> int:
        return -1 if self._access is None else self._cycle - self._access.begun

    @property
    def busy(self) -> bool:
        """Whether an access is under way, so that nothing may be granted to the RAM."""
        return self._access is not None

    @property
    def packet(self) -> ShmacPacket | None:
        """The request under way."""
        return None if self._access is None else self._access.packet

    @property
    def arrives(self) -> bool:
        """A packet is on its way from the router to the memory in this cycle."""
        return self._age == TO_MEMORY_CYCLES

    @property
    def response(self) -> ShmacPacket | None:
        """The response on offer."""
        if self._access is None or not self._access.packet.answered:
            return None
        if self._age < TO_MEMORY_CYCLES + MEMORY_CYCLES:
            return None
        packet = self._access.packet
        return replace(packet, response=True, data=0 if packet.write else self.word(packet.address))

    def word(self, address: int) -> int:
        """The RAM's word at an address, which wraps."""
        return self._data.get(address % self._words, 0)

    def ready(self, passed: bool) -> bool:
        """Its acknowledge in this cycle; ``passed``: its response is acknowledged in it."""
        if self._access is None:
            return False
        if self._late and self._access.packet.answered:
            return passed
        return self._age == TO_MEMORY_CYCLES + MEMORY_CYCLES - 1

    def step(self, offer: ShmacPacket | None, passed: bool) -> None:
        """One cycle: what the router offers to it."""
        if self._access is None:
            if offer is not None:
                self._access = _PendingPacket(offer, self._cycle)
        else:
            last = TO_MEMORY_CYCLES + MEMORY_CYCLES
            packet, done = self._access.packet, self._age == last
            if self._age == last - 1 and packet.write:
                self._data[packet.address % self._words] = packet.data
            if (done and not packet.answered) or passed:
                self._access = None
        self._cycle += 1


class CoreModel:
    """A core that repeats one instruction: it fetches it, and then reads, writes, or neither.

    The adapter between core and router takes a cycle out, in which the request is first seen, and
    two in. A read is over when its response is in; a write, as far as the core is concerned, when
    the router has acknowledged it. One cycle in the core follows.

    Parameters
    ----------
    tile : (row, column)
        Where it is.
    words : int
        Words of a tile's RAM: addresses go round and round.
    """

    def __init__(self, tile: Tile, *, words: int) -> None:
        self._tile, self._words = tile, words
        self._busy = ""            # "", "fetch" or "operation": what is under way
        self._since = 0            # its first cycle
        self._told = False         # its request has been acknowledged
        self._until: int | None = None  # its last cycle, once that is known
        self._cycle = 0
        self.count = 0             # instructions begun
        self.data = self._word = 0  # what it got last
        self.kernel = Kernel()     # of the instruction under way

    @property
    def request(self) -> ShmacPacket | None:
        """The core's request in this cycle, or None."""
        if not self._busy or self._told or (self._busy == "fetch" and self.kernel.bypass):
            return None
        fetch = self._busy == "fetch"
        write = not fetch and self.kernel.operation is Operation.WRITE
        return ShmacPacket(write=write, initiator=self._tile,
                           target=self._tile if fetch else self.kernel.target,
                           address=self.count % self._words, data=self.count if write else 0)

    @property
    def idle(self) -> bool:
        """Whether the core has no request under way."""
        return not self._busy

    @property
    def fetching(self) -> bool:
        """A fetch is under way."""
        return self._busy == "fetch"

    def step(self, kernel: Kernel, acknowledged: bool, response: ShmacPacket | None,
             memory: SlaveModel) -> str:
        """One cycle; what ends in it: "fetch", "operation", or nothing.

        ``memory`` is the tile's own RAM, of which the bypass reads a word.
        """
        now = self._cycle
        self._cycle += 1
        if not self._busy:
            if kernel.runs:
                self.count += 1
                self.kernel = kernel
                self._begin("fetch" if kernel.fetch else "operation", now + 1)
            return ""
        if acknowledged:
            self._told = True
            if self._busy == "operation" and self.kernel.operation is Operation.WRITE:
                self._until = now
        if response is not None:
            self._until, self.data = now + TO_CORE_CYCLES, response.data
        if self._busy == "fetch" and self.kernel.bypass:
            # the word of the cycle before
            if self._until is not None and now == self._until - TO_CORE_CYCLES:
                self.data = self._word
            self._word = memory.word(self.count)
        if self._until != now:
            return ""
        ended, self._busy = self._busy, ""
        if ended == "fetch" and self.kernel.operation is not Operation.NONE:
            self._begin("operation", now + 1)
        return ended

    def _begin(self, what: str, cycle: int) -> None:
        self._busy, self._since, self._told, self._until = what, cycle, False, None
        if what == "fetch" and self.kernel.bypass:
            self._until = cycle + TO_MEMORY_CYCLES + MEMORY_CYCLES + TO_CORE_CYCLES
