"""Verdicts, kept by the content of all that they depend on, as outcomes and proofs are.

To judge a configuration is to evaluate its bounds for every kind of request that was observed;
with bounds that search, that is more work than all else in a run whose simulations are known. A
verdict depends on what was observed, on what was proved, on the block's page of the catalogue and
all that it imports, on the code that judges, and on Python and its packages. Its key is made of
these. Nothing is kept of users' blocks and parts, which may read anything, nor if a source or a
package has changed since this process began.
"""

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from cyclebound.sim import catalogue
from cyclebound.sim.base.cache import find_entry, find_or_make, key_of, made_since
from cyclebound.sim.base.installed import everything, unchanged
from cyclebound.sim.build.identity import Identity, identity
from cyclebound.sim.build.sources import began
from cyclebound.sim.describe.block import Block
from cyclebound.sim.judge.verdict import Verdict, judge
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.run.job import Group

__all__ = ["KeptVerdicts"]

_KIND = "verdict"
_FILE = "verdicts.json"
_OF_THE_RUN = {"seconds", "cached", "trace"}  # what of a proof no verdict reads but to be there


class KeptVerdicts:
    """`judge`, unless the verdicts are known.

    What is new is kept by `close`, which looks at all packages once: that takes a third of a
    second.

    Parameters
    ----------
    pages : tuple of str
        A user's pages of the catalogue; with any, nothing is kept.
    since : float
        Nothing counts that was known before that moment.
    """

    def __init__(self, pages: tuple[str, ...], since: float = 0.0) -> None:
        self._pages, self._since = pages, since
        self._new: dict[str, tuple[Identity, str]] = {}
        self._made_from = functools.cache(lambda page: identity((page, __name__)))

    def judge(self, block: Block, name: str, observed: Sequence[tuple[str, Group]],
              proofs: Sequence[Proof], failed: Sequence[str]) -> list[Verdict]:
        """As `cyclebound.sim.judge.verdict.judge`."""
        own = catalogue.load()
        page = "" if self._pages else own.page_of(block.name)
        if not page or block is not own.find(block.name):  # nothing stands for what it is
            return judge(block, name, observed, proofs, failed)
        of = self._made_from(page)
        key = key_of(of.key, block.name, name, everything(), list(failed),
                     [(job, *_values(group)) for job, group in observed],
                     [{what: value if what not in _OF_THE_RUN else value is not None
                       for what, value in vars(proof).items()} for proof in proofs])
        with made_since(self._since):
            kept = find_entry(_KIND, key)
        text = (kept / _FILE).read_text() if kept else json.dumps(
            [asdict(row) for row in judge(block, name, observed, proofs, failed)])
        if kept is None:
            self._new[key] = of, text
        return [Verdict(**row) for row in json.loads(text)]

    def close(self) -> None:
        """Keep what is new, if its key stands for all that went into it."""
        if self._new and unchanged(began()):
            for key, (of, text) in self._new.items():
                if of.stands(lambda: True):
                    with made_since(self._since):
                        find_or_make(_KIND, key, _writer(text))
        self._new.clear()


_NAMES = [field.name for field in fields(Group)]


def _values(group: Group) -> list[object]:
    return [getattr(group, name) for name in _NAMES]


def _writer(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / _FILE).write_text(text)
