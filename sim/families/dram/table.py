"""The searched table of indexed requests, derived anew entry by entry (docs/dram-indexed.md).

Each search is kept in the cache when it is done, under a key made from the search's own code and
the part's numbers: what was killed goes on where it stopped.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cyclebound.golden.dram.bounds import recovery
from cyclebound.golden.dram.index_table import IndexedDelay
from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import PARTS
from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.installed import everything
from cyclebound.tools.dram import index_exact, index_latest, index_steps, index_worlds
from cyclebound.tools.dram.index_exact import longest_request
from cyclebound.tools.dram.index_witnesses import witnesses

__all__ = ["SearchResult", "search_all", "write_table"]

_SEARCH = (index_exact, index_latest, index_steps, index_worlds)


@dataclass(frozen=True)
class SearchResult:
    """The result of the search for one entry.

    Attributes
    ----------
    row : IndexedDelay
        The entry of the table.
    reached : int
        Delay of the longest witness of such a request.
    longest : int or None
        The longest of all requests that take longer than the entry says; None: there is none.
    settled : int
        The number of words from which on nothing else changes, or 0.
    steps : int
        Steps of the search.
    cached : bool
        Whether it had been done before.
    """

    row: IndexedDelay
    reached: int
    longest: int | None
    settled: int
    steps: int
    cached: bool

    @property
    def problem(self) -> str:
        """The error in the entry; empty if there is none."""
        row = self.row
        if self.longest is not None:
            return f"a request takes {self.longest} cycles, the table says {row.delay}"
        if self.reached != row.delay:
            return f"the longest witness takes {self.reached} cycles, the table says {row.delay}"
        if row.settled and not 0 < self.settled <= row.settled:
            return (f"the search says the same from {self.settled or 'no number of'} words on, "
                    f"the table from {row.settled}")
        return ""


def search_all(entries: Iterable[IndexedDelay], tell: Callable[[str], None] = lambda stage: None
               ) -> Iterator[SearchResult]:
    """Search for a request that takes longer than each entry says, the quickest searches first."""
    code = hashlib.sha256(b"".join(Path(str(module.__file__)).read_bytes() for module in _SEARCH))
    reached: dict[tuple, int] = {}
    for witness in witnesses():
        for rows in range(witness.rows, PARTS[witness.part].banks + 1):
            kind = witness.part, witness.write, rows, witness.bursts
            reached[kind] = max(witness.delay, reached.get(kind, 0))
    for row in sorted(entries, key=lambda row: (row.rows, row.bursts)):
        yield _search(row, reached.get(row[:4], 0), code.hexdigest(), tell)


def _search(row: IndexedDelay, reached: int, code: str,
            tell: Callable[[str], None]) -> SearchResult:
    part = PARTS[row.part]

    def make(folder: Path) -> None:
        longest = longest_request(part, bursts=row.bursts, rows=row.rows, write=row.write,
                                  least=row.delay + 1, tell=tell)
        (folder / "found.json").write_text(json.dumps(
            {"longest": longest.delay, "settled": longest.settled or 0, "steps": longest.followed}))

    key = key_of(code, everything(), repr(part), FIFO_DEPTH, recovery(part, row.write), row[:5])
    folder, cached = find_or_make("dram-table", key, make)
    longest = json.loads((folder / "found.json").read_text())
    return SearchResult(row, reached, longest["longest"], longest["settled"], longest["steps"],
                        cached)


def write_table(path: Path, searched: Iterable[SearchResult]) -> None:
    """The table with what the searches say, in the order of the old one."""
    lines = [",".join(IndexedDelay._fields)]
    for search in searched:
        row = search.row
        settled = search.settled if row.settled and search.longest is None else 0
        lines.append(",".join(map(str, (*row[:4], search.longest or row.delay, settled))))
    path.write_text("\n".join(lines) + "\n")
