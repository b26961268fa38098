"""Golden model of the transfer unit: what is where after an access.

Word by word, from `access_setup.moves`: no beats, lines of buses or banks. When it is over,
`transfer_unit_bounds` says.

Ref: Sim-D, sections 3.2 and 3.3.
"""

from dataclasses import dataclass, field

import numpy as np

from cyclebound.golden.simd.access_setup import Committed, moves
from cyclebound.golden.simd.machine import SCALARS, SCRATCHPAD_WORDS, Machine
from cyclebound.golden.simd.transfers import Fault

__all__ = ["MEM_DATA", "MEM_IDX", "SlotState", "perform"]

MEM_IDX, MEM_DATA = 64, 65  # after the vector registers


@dataclass
class SlotState:
    """The on-chip state of a slot's work-group.

    Attributes
    ----------
    v : array
        Vector registers, ``mem_idx`` and ``mem_data``: 66 times items.
    s : array
        Scalar registers.
    pad : array
        Its scratchpad.
    active : array of bool
        By item.
    """

    machine: Machine
    v: np.ndarray = field(init=False)
    s: np.ndarray = field(init=False)
    pad: np.ndarray = field(init=False)
    active: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        items = self.machine.items
        self.v = np.zeros((MEM_DATA + 1, items), np.uint32)
        self.s = np.zeros(SCALARS, np.uint32)
        self.pad = np.zeros(SCRATCHPAD_WORDS, np.uint32)
        self.active = np.ones(items, bool)


def perform(access: Committed, state: SlotState, buffer: np.ndarray | None) -> None:
    """Move the words of an access; ``buffer``: its lines in DRAM.

    Raises `Fault`, after what may move has moved.
    """
    store = access.name.startswith("st")
    if access.name.endswith("idxit"):
        _indexed(access, state, buffer, store=store)
        return
    if "bidx" in access.name or "cidx" in access.name:
        _snooped(access, state, buffer, store=store)
        return
    place: int | tuple[int, int]
    for line, column, target in moves(access):
        if access.name.startswith("sld"):
            state.s[target] = (buffer[line, column] if buffer is not None
                               else state.pad[_in_pad(access, line, column)])
            continue
        there = state.pad if buffer is None else buffer
        at = _in_pad(access, line, column) if buffer is None else (line, column)
        if access.name.endswith("tile"):
            here, place = state.pad, target
        else:
            item, part = divmod(target, access.registers)
            if not state.active[item]:
                continue
            here, place = state.v, (access.target + part, item)
        if store:
            there[at] = here[place]
        else:
            here[place] = there[at]


def _in_pad(access: Committed, line: int, column: int) -> int:
    address, across, _ = access.chip
    return address + line * across + column


def _snooped(access: Committed, state: SlotState, buffer: np.ndarray | None, *,
             store: bool) -> None:
    """By word that streams past, the active items that have its index."""
    there = state.pad if buffer is None else buffer
    for line, column, index in moves(access):
        at = _in_pad(access, line, column) if buffer is None else (line, column)
        items = np.flatnonzero(state.active & (state.v[MEM_IDX] == index))
        if store and len(items):
            there[at] = state.v[MEM_DATA, items[0]]
        elif not store:
            state.v[MEM_DATA, items] = there[at]


def _indexed(access: Committed, state: SlotState, buffer: np.ndarray | None, *,
             store: bool) -> None:
    """Index by index, in the order of items."""
    assert buffer is not None
    words, far = buffer.reshape(-1), False
    for item in np.flatnonzero(state.active).tolist():
        index = int(state.v[MEM_IDX, item])
        if index >= len(words):
            far = True
        elif store:
            words[index] = state.v[access.target, item]
        else:
            state.v[access.target, item] = words[index]
    if far:
        raise Fault("an index leaves its buffer")
