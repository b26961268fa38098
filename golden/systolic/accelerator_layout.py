"""Fields of the accelerator's commands, and of its requests to memory."""

from enum import IntEnum

from cyclebound.golden.systolic.im2col_layout import COMMAND, SIGNED
from cyclebound.golden.systolic.post_processing_layout import SHIFT_WIDTH

__all__ = ["BIAS_BEATS", "SHIFT_PLACE", "Operation", "Target", "command_fields", "compute_fields",
           "request_fields"]

BIAS_BEATS = 4
"""Beats of a word of biases, or of scales: each of these has 32 bits, where an operand has 8."""

SHIFT_PLACE = 16
"""Bit of a filter's scale at which the shift begins; the multiplier is below."""

_WIDTH = 16
_COUNTS = ("pixels", "tiles", "runs", "window", "image_width", "image_height", "pooled")
_BASES = ("b_base", "bias_base", "c_base")


class Operation(IntEnum):
    """The operation of a command."""

    LOAD = 0
    COMPUTE = 1
    STORE = 2


class Target(IntEnum):
    """The scratchpad that a load fills."""

    A = 0
    B = 1
    BIAS = 2
    SHORTCUT = 3
    SCALE = 4


def compute_fields(address_width: int) -> dict[str, tuple[int, bool]]:
    """Fields of a layer (or of a part of one): width, and whether it is signed.

    Those of the im2col generator; ``b_base``, ``bias_base``, ``c_base``: where weights, biases and
    results begin in their scratchpads; ``shortcut``: to each result is added the word at its own
    address in the scratchpad of shortcuts; ``pixels``: windows of the image, rows of each tile;
    ``tiles``: of a strip of results; ``runs``: rows of windows in all strips; ``multiplier``,
    ``shift``, ``low``, ``high``: scale and limits; ``window``, ``image_width``,
    ``image_height``, ``pooled``: of the pooling, before it, and windows beside each other.

    ``pad``: the value of padding; ``zero``: added to each result that gets no shortcut;
    ``scales``: multiplier and shift are each filter's own, from the scratchpad of scales, at the
    place of its bias. ``resume``: sums go on from what the computation before has kept, ``keep``:
    they are kept for the next one, and there are no results; either: the sums of all strips have
    their places at the same time.
    """
    addresses = ("origin", "pitch", "jump", "plane_step")
    return {
        **{name: (address_width if name in addresses else _WIDTH, name in SIGNED)
           for name in COMMAND},
        **dict.fromkeys(_BASES, (address_width, False)), **dict.fromkeys(_COUNTS, (_WIDTH, False)),
        "shortcut": (1, False), "scales": (1, False), "resume": (1, False), "keep": (1, False),
        "pad": (8, True), "zero": (8, True),
        "multiplier": (_WIDTH, False), "shift": (SHIFT_WIDTH, False), "low": (8, True),
        "high": (8, True),
    }


def command_fields(address_width: int, memory_width: int) -> dict[str, tuple[int, bool]]:
    """Fields of a command: width, and whether it is signed.

    ``operation``; ``wait``: not before all commands before have ended; for a transfer ``target``,
    ``scratch``: first word in its scratchpad, ``memory``: first beat in memory, ``count``: beats;
    and those of a layer.
    """
    return {"operation": (2, False), "wait": (1, False), "target": (3, False),
            "scratch": (address_width, False), "memory": (memory_width, False),
            "count": (_WIDTH, False), **compute_fields(address_width)}


def request_fields(memory_width: int) -> dict[str, int]:
    """Fields of a request to memory: ``count`` beats from ``address`` on, read or written."""
    return {"write": 1, "address": memory_width, "count": _WIDTH}
