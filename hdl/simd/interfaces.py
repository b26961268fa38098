"""Interfaces between the compute unit and the rest of the SIMD accelerator.

    work-group scheduler --- launch, occupied, ended --->  +--------------+
    program load ----------- program ------------------->  | compute unit |
    transfer unit <--------- access, completion -------->  |              |
                  <--------- transfer (one a slot) ----->  +--------------+

All signals are in the domain of the compute clock. Cycle numbers are those of
`golden/simd/cycle.py`: a slot that is *ready* in cycle *t* issues in *t* at the earliest. The
compute unit has these members:

=================  ============================  ==================================================
``program``        In(Strobe(ProgramWrite))      program load
``length``         In(12)                        instructions of the program
``grid``           In(GridLayout)                of the kernel
``exclusive``      In(1)                         policy *compute*: nothing issues while an access
                                                 to a scratchpad is under way
``start``          In(1)                         a new kernel: slots free, fault forgotten
``launch``         In(Strobe(LaunchLayout))      into a slot that is not occupied
``occupied``       Out(2)                        slots that have a work-group
``ended``          Out(Strobe(EndLayout))        see there
``fault``          Out(Strobe(FaultLayout))      see there
``stopped``        Out(1)                        after a fault, until ``start``
``access``         Out(Strobe(AccessLayout))     see there
``completion``     In(Strobe(Completion)) * 2    for each slot
``transfer``       In(Transfer) * 2              for each slot
``active``         Out(items) * 2                active lanes of each slot
``index_write``    Out(Strobe(IndexWrite))       see there
``buffer_query``   Out(BufferQuery)              see there
=================  ============================  ==================================================

Ref: Sim-D, section 3.
"""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.isa import TABLE
from cyclebound.golden.simd.machine import SCALARS, SLOTS, VECTORS
from cyclebound.golden.simd.program import BUFFERS, INSTRUCTIONS

__all__ = ["GRID_BITS", "MEM_DATA", "MEM_IDX", "NUMBER_BITS", "AccessLayout",
           "BufferQuery", "CompletionLayout", "EndLayout", "FaultLayout", "GridLayout",
           "IndexWriteLayout", "LaunchLayout", "ProgramWriteLayout", "ReadItem", "ScalarTransfer",
           "Transfer", "WriteItem", "scalar_words"]

GRID_BITS = 20       # of a grid's x and y, and of a work-group's first item
NUMBER_BITS = 40     # of a work-group's number: a grid may have as many as it has items
_INDEX_BITS = ceil_log2(INSTRUCTIONS)
_SLOT_BITS = ceil_log2(SLOTS)
_BUFFER_BITS = ceil_log2(BUFFERS)

MEM_IDX, MEM_DATA = VECTORS, VECTORS + 1
"""Numbers of the two special registers in transfers, after those of the vector registers."""


class GridLayout(data.StructLayout):
    """A kernel's grid: ``x`` times ``y`` items, work-groups ``1 << width`` items wide.

    Constant while a work-group is under way.
    """

    def __init__(self, *, machine):
        super().__init__({"x": GRID_BITS, "y": GRID_BITS,
                          "width": ceil_log2(machine.items.bit_length())})


class LaunchLayout(data.StructLayout):
    """A work-group for a free slot: its number, and the items at which it begins.

    ``x`` is a multiple of the work-group's width, ``y`` of its height; both lie in the grid.
    A work-group that is launched in cycle *t* is ready in *t + 1*. Control masks are set there and
    then: run, break and ret in all lanes, exit where the item lies in the grid. ``sd_words``,
    ``sd_period`` and ``sd_period_cnt`` are 1. Other registers keep what they hold.
    """

    def __init__(self):
        super().__init__({"slot": _SLOT_BITS, "number": NUMBER_BITS, "x": GRID_BITS,
                          "y": GRID_BITS})


class AccessLayout(data.StructLayout):
    """An access that a work-group has committed; its slot issues nothing until the completion.

    It is shown once, in the first cycle after its commit: the cycle in which the access may begin
    and the other work-group may issue.

    =================  ==========================================================================
    ``slot``           whose it is
    ``opcode``         row of `golden.simd.isa.TABLE`
    ``scratchpad``     resource: scratchpad and registers; else DRAM (and registers or scratchpad)
    ``store``          from registers to DRAM or scratchpad, or from scratchpad to DRAM
    ``buffer``         operand A: the DRAM buffer, or, with ``scratchpad``, the scratchpad buffer
    ``target``         operand D: first vector register, first scalar register, or the scratchpad
                       buffer of a tile; `MEM_DATA` for ``vc.mem_data``
    ``width``          registers of each lane: 0, 1, 2 for one, two, four
    ``count``          words of ``sldg``
    ``x, y``           offsets, resolved to signed values; 0 where there are none
    ``sd_*``           special registers of the work-group at the commit
    ``last``           an ``exit`` of all lanes follows a store to DRAM and the control stack is
                       empty: the slot is free with the completion
    ``index``          the instruction
    ``number``         the work-group
    ``group_x``        its first item
    ``group_y``
    =================  ==========================================================================
    """

    def __init__(self):
        super().__init__({
            "slot": _SLOT_BITS, "opcode": ceil_log2(len(TABLE)), "scratchpad": 1, "store": 1,
            "buffer": _BUFFER_BITS, "target": ceil_log2(MEM_DATA + 1), "width": 2,
            "count": ceil_log2(SCALARS + 1), "x": signed(32), "y": signed(32), "sd_words": 32,
            "sd_period": 32, "sd_period_cnt": 32, "last": 1, "index": _INDEX_BITS,
            "number": NUMBER_BITS, "group_x": GRID_BITS, "group_y": GRID_BITS,
        })


class CompletionLayout(data.StructLayout):
    """A slot's access is over: in cycle *t*, its work-group is ready in *t + 1*.

    Both slots may complete in the same cycle, so that there is one for each. All words have been
    written by then: the last write is in this cycle or before. ``fault`` stops the kernel.
    """

    def __init__(self):
        super().__init__({"fault": 1})


class WriteItem(data.StructLayout):
    """One word into a vector register: position *k* of a bus of ``words`` positions.

    The word is item ``group * words + k`` of ``register`` (`MEM_IDX`, `MEM_DATA` among them).
    Whether a lane is active is the writer's concern: ``enable`` alone decides.
    """

    def __init__(self, *, machine, words):
        super().__init__({"enable": 1, "register": ceil_log2(MEM_DATA + 1),
                          "group": ceil_log2(machine.items // words), "data": 32})


class ReadItem(data.StructLayout):
    """A word that is asked for; see `WriteItem`."""

    def __init__(self, *, machine, words):
        super().__init__({"register": ceil_log2(MEM_DATA + 1),
                          "group": ceil_log2(machine.items // words)})


def scalar_words():
    """Positions of the bus into scalar registers: two beats of DRAM."""
    return 8


class ScalarTransfer(data.StructLayout):
    """One word into a scalar register: position *k* writes register ``8 * row + k``."""

    def __init__(self):
        super().__init__({"enable": 1, "row": ceil_log2(SCALARS // scalar_words()), "data": 32})


class Transfer(wiring.Signature):
    """A slot's registers, for the transfer unit; as the transfer unit sees them.

    To be used from the cycle in which the slot's access is shown until its completion, both
    included; at other times the registers are the pipeline's.

    Parameters
    ----------
    machine : Machine
        Sizes.
    words : int
        Positions of the bus, a power of two of at most ``machine.lanes``. Position *k* serves the
        items whose number is *k* modulo ``words``, and has an address of its own.

    Members
    -------
    write : Out(words times `WriteItem`)
        Written at the end of the cycle.
    scalars : Out(8 times `ScalarTransfer`)
        Likewise.
    read : Out(words times `ReadItem`)
        Asked for.
    answer : In(words times 32)
        What was asked for in the cycle before. A word that was written in the cycle of the
        question is the new one.
    """

    def __init__(self, *, machine, words):
        if not (1 <= words <= machine.lanes) or words & words - 1:
            raise ValueError(f"words must be a power of two from 1 to {machine.lanes}, "
                             f"not {words!r}")
        self.words = words
        super().__init__({
            "write": Out(data.ArrayLayout(WriteItem(machine=machine, words=words), words)),
            "scalars": Out(data.ArrayLayout(ScalarTransfer(), scalar_words())),
            "read": Out(data.ArrayLayout(ReadItem(machine=machine, words=words), words)),
            "answer": In(data.ArrayLayout(unsigned(32), words)),
        })


class IndexWriteLayout(data.StructLayout):
    """A warp's write to ``mem_idx`` or ``mem_data`` by the pipeline, for copies in CAMs.

    ``item`` *k* is item ``warp * lanes + k`` of the slot's work-group; ``enable`` has its active
    lanes. Writes by a transfer are not repeated here.
    """

    def __init__(self, *, machine):
        super().__init__({"slot": _SLOT_BITS, "is_data": 1, "warp": ceil_log2(machine.warps),
                          "enable": machine.lanes,
                          "item": data.ArrayLayout(unsigned(32), machine.lanes)})


class BufferQuery(wiring.Signature):
    """Dimensions of a DRAM buffer, for ``bufquery``; as the compute unit sees it.

    ``x`` and ``y`` follow ``buffer`` by one cycle.
    """

    def __init__(self):
        super().__init__({"buffer": Out(_BUFFER_BITS), "x": In(GRID_BITS), "y": In(GRID_BITS)})


class ProgramWriteLayout(data.StructLayout):
    """An instruction into the instruction memory; not while a work-group is under way."""

    def __init__(self):
        super().__init__({"index": _INDEX_BITS, "word": 64})


class EndLayout(data.StructLayout):
    """A slot's work-group has ended by ``exit``, or because no lane was left.

    Shown in the first cycle after its last commit, as an access is. A work-group whose last store
    is under way (`AccessLayout.last`) is not shown here again: its slot is just no longer occupied
    in the cycle after the completion.
    """

    def __init__(self):
        super().__init__({"slot": _SLOT_BITS, "number": NUMBER_BITS})


class FaultLayout(data.StructLayout):
    """What stopped the kernel: instruction and work-group.

    Both slots are free from the cycle in which it is shown on, and nothing issues. An access of
    the other slot that is under way is not completed to the compute unit.
    """

    def __init__(self):
        super().__init__({"cause": Cause, "slot": _SLOT_BITS, "index": _INDEX_BITS,
                          "number": NUMBER_BITS})
