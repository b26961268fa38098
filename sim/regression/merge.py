"""The parts of one regression, run as shards on several machines, as one run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.variant import UNCHANGED, Changes, varied
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.mutation.rows import copy_campaigns
from cyclebound.sim.regression.plan import Plan
from cyclebound.sim.regression.regress import judge_places
from cyclebound.sim.regression.results import FILE, Results

__all__ = ["merge"]

_SAME = {"code": "code or tools", "simulator": "simulator", "seed": "seed", "level": "level"}


def merge(folders: Sequence[Path], output: Path) -> list[Verdict]:
    """Put the results of shards together in ``output``, and judge them anew.

    Proofs of one shard may be about the simulations of another, so that verdicts are found again.
    Raises `UserError` if the folders are not the shards of one regression: other code, another
    level or seed, a shard that is missing or given twice.
    """
    if (output / FILE).exists():
        raise UserError(f"{output} holds a run already; name a new folder")
    metas: dict[Path, dict[str, Any]] = {}
    for folder in folders:
        if any(folder.resolve() == other.resolve() for other in metas):
            raise UserError(f"{folder} is given twice")
        part = Results(folder)
        metas[folder] = part.meta
        part.close()
    first = next(iter(metas.values()))
    for folder, meta in metas.items():
        for key, word in _SAME.items():
            if meta.get(key) != first.get(key):
                raise UserError(f"{folder} is of another regression than {folders[0]}: "
                                f"its {word} differs")
        if meta.get("options", {}).get("changes") != first.get("options", {}).get("changes"):
            raise UserError(f"{folder} is of another regression than {folders[0]}: its part or "
                            "another parameter that was set differs")
    _complete(folders, [tuple(meta.get("options", {}).get("shard", (1, 1)))
                        for meta in metas.values()])
    options = {**first["options"], "shard": (1, 1)}
    pages = tuple(options.get("pages", ()))
    changes = Changes.kept(options["changes"]) if "changes" in options else UNCHANGED
    blocks = [varied(block, changes).block
              for block in catalogue.load(pages).select(options["blocks"])]
    plan = Plan(**{**options, "folder": output, "pages": pages, "blocks": blocks,
                   "changes": changes})
    results = Results(output, create=True)
    try:
        for folder in folders:
            results.absorb(folder)
            copy_campaigns(folder, output)
        planned = [*dict.fromkeys(name for meta in metas.values() for name in meta["planned"])]
        results.note(**{**first, "planned": planned, "jobs": len(planned), "options": options,
                        "command": "; ".join(str(meta.get("command")) for meta in metas.values())})
        places = dict.fromkeys((job.block, job.configuration) for job in results.jobs())
        order = [block.name for block in plan.blocks]
        return judge_places(plan, sorted(places, key=lambda place: order.index(place[0])), results)
    finally:
        results.close()


def _complete(folders: Sequence[Path], shards: Sequence[tuple[int, int]]) -> None:
    """Raise `UserError` unless the shards are all parts of one whole, each once."""
    parts = shards[0][1]
    for folder, (part, of) in zip(folders, shards, strict=True):
        if of != parts:
            raise UserError(f"{folder} is shard {part}/{of}, but {folders[0]} is one of {parts}")
        if shards.count((part, of)) > 1:
            raise UserError(f"shard {part}/{of} is given twice")
    missing = sorted(set(range(1, parts + 1)) - {part for part, _ in shards})
    if missing:
        raise UserError("missing: shard " + ", ".join(f"{part}/{parts}" for part in missing))
