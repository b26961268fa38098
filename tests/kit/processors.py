"""SGMF processors of drawn sizes, for what holds with any."""

from typing import Any

import numpy as np


def pick(rng: np.random.Generator, *values: Any) -> Any:
    """One of them."""
    return values[rng.integers(len(values))]


def drawn_processor(rng: np.random.Generator, lines: tuple[int, ...]
                    ) -> tuple[dict[str, Any], int, int]:
    """Parameters of cores and both levels, with a line of one of these lengths in words; threads,
    and the share of a core."""
    banks, ways, line = int(rng.integers(1, 7)), pick(rng, 1, 2, 4), pick(rng, *lines)
    changes = {"cores": int(rng.integers(1, 6)), "line": line, "l2_banks": banks, "l2_ways": ways,
               "l2_size": banks * ways * line * pick(rng, 1, 4), "l2_misses": 1,
               "l2_targets": pick(rng, 1, 3), "channels": int(rng.integers(1, banks + 1)),
               "size": 8 * line * pick(rng, 1, 2),
               "policy": pick(rng, "write-back", "write-through")}
    share = int(rng.integers(1, 20))
    return changes, int(rng.integers(1, share * changes["cores"] + 1)), share
