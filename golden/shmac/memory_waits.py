"""How long memory lets SHMAC's core wait, by region: what a program's worst case is computed from.

All numbers are known before the program runs: those of a RAM beside the core, or bounds of a
network. A *wait* is as in `cyclebound.golden.shmac.core_bounds`: the cycles in which a request is
on offer and not taken, and those from the one in which it is taken to the last before its response.
So a fetch or a read waits for one cycle at least, and a posted write, which has no response, for
none.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from cyclebound.golden.bound import NotCovered, check_count

__all__ = ["AccessKind", "MemoryWaits", "Region"]

_SPACE = 1 << 32  # bytes


class AccessKind(Enum):
    """What a request asks for; the value is the field of `Region` that holds its wait."""

    FETCH = "fetch"
    READ = "read"
    WRITE = "write"
    LOAD_LINKED = "load_linked"
    STORE_CONDITIONAL = "store_conditional"


@dataclass(frozen=True)
class Region:
    """Addresses whose accesses wait equally long at most.

    Attributes
    ----------
    name : str
        How listings call it.
    start, end : int
        Its first address, and the first one after it: multiples of four.
    fetch, read, write, load_linked, store_conditional : int or None
        The most cycles that such a request waits, whatever other masters do. None: the program
        makes no such request here, and one that is known to is refused.
    after_write : int
        The most cycles that a posted write to this region adds to the waits of all later requests
        of this core together, if these waits are stated without it. In the thesis a fetch after a
        write takes 31 cycles, not 27: 4.
    holds : int
        The same where time helps: so many cycles, less those from the one in which the write is
        taken to the next offer of a request to a region that has this number, too. 0: requests
        here wait for no write.

    Raises
    ------
    NotCovered
        For a number that is no such address or wait.
    """

    name: str
    start: int
    end: int
    fetch: int | None = None
    read: int | None = None
    write: int | None = None
    load_linked: int | None = None
    store_conditional: int | None = None
    after_write: int = 0
    holds: int = 0

    def __post_init__(self) -> None:
        for what, address in (("start", self.start), ("end", self.end)):
            check_count(f"{what} of region {self.name}", address, least=0)
            if address % 4 or address > _SPACE:
                raise NotCovered(f"{what} of region {self.name} must be a multiple of 4 up to "
                                 f"{_SPACE:#x}, not {address:#x}")
        if self.start >= self.end:
            raise NotCovered(f"region {self.name} must end after its start {self.start:#x}, "
                             f"not at {self.end:#x}")
        for kind in AccessKind:
            if (wait := self.wait(kind)) is not None:
                check_count(f"{kind.value} of region {self.name}", wait,
                            least=0 if kind is AccessKind.WRITE else 1)
        for name in ("after_write", "holds"):
            check_count(f"{name} of region {self.name}", getattr(self, name), least=0)

    def wait(self, kind: AccessKind) -> int | None:
        """The most cycles that such a request waits; None: the program makes none here."""
        return getattr(self, kind.value)

    def cost(self, kind: AccessKind, *, gap: int = 1) -> int | None:
        """`wait`, and of a write what it adds to later requests.

        ``gap``: cycles from the one in which it is taken to the next request's offer, at least.
        """
        wait = self.wait(kind)
        if wait is None or kind is not AccessKind.WRITE:
            return wait
        return wait + self.after_write + max(0, self.holds - gap)


class MemoryWaits:
    """All memory that a program uses.

    Parameters
    ----------
    regions : iterable of Region
        In any order. At other addresses nothing answers.
    before : int
        What posted writes from before a program begins add to its waits, all together.

    Attributes
    ----------
    regions : tuple of Region
        In the order of their addresses.
    before : int
        As above.

    Raises
    ------
    NotCovered
        If there is no region, two overlap or two have one name.
    """

    def __init__(self, regions: Iterable[Region], *, before: int = 0) -> None:
        check_count("before of memory", before, least=0)
        self.before = before
        self.regions = tuple(sorted(regions, key=lambda region: region.start))
        if not self.regions:
            raise NotCovered("memory must have a region")
        for one, after in zip(self.regions, self.regions[1:], strict=False):
            if after.start < one.end:
                raise NotCovered(f"regions {one.name} and {after.name} overlap at "
                                 f"{after.start:#x}")
        names = [region.name for region in self.regions]
        for name in names:
            if names.count(name) > 1:
                raise NotCovered(f"there are two regions {name!r}")

    @classmethod
    def uniform(cls, *, fetch: int, read: int, write: int, name: str = "memory"
                ) -> "MemoryWaits":
        """One memory at all addresses, whose LL and SC take as long as its reads."""
        return cls([Region(name, 0, _SPACE, fetch, read, write, read, read)])

    def at(self, address: int) -> Region | None:
        """The region of an address."""
        return next((region for region in self.regions
                     if region.start <= address < region.end), None)

    def named(self, name: str) -> Region:
        """A region. Raises `NotCovered` if there is none of this name."""
        for region in self.regions:
            if region.name == name:
                return region
        raise NotCovered(f"there is no region {name!r}, but "
                         + ", ".join(region.name for region in self.regions))

    def most(self, kind: AccessKind, low: int = 0, high: int = _SPACE - 1, *, gap: int = 1) -> int:
        """What such a request costs at most from ``low`` to ``high``. Raises `NotCovered`."""
        return self.worst(kind, low, high, gap=gap).cost(kind, gap=gap) or 0

    def may_wait_for_writes(self, kind: AccessKind, low: int = 0, high: int = _SPACE - 1) -> bool:
        """Whether such a request from ``low`` to ``high`` may be to a region with `holds`."""
        return any(region.holds for region in self.regions
                   if region.start <= high and low < region.end and region.wait(kind) is not None)

    def worst(self, kind: AccessKind, low: int = 0, high: int = _SPACE - 1, *, gap: int = 1
              ) -> Region:
        """The region with the highest `Region.cost` of such a request from ``low`` to ``high``.

        Regions that have no such request do not count: the program is taken to make none there.
        Raises `NotCovered` if none is left.
        """
        possible = [region for region in self.regions
                    if region.start <= high and low < region.end
                    and region.cost(kind) is not None]
        if not possible:
            where = f"at {low:#x}" if low == high else f"from {low:#x} to {high:#x}"
            raise NotCovered(f"no region has a {kind.value.replace('_', ' ')} {where}")
        return max(possible, key=lambda region: region.cost(kind, gap=gap) or 0)
