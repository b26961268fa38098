"""Interfaces between the compute unit and the rest of the SIMD accelerator.

::

    work-group scheduler --- launch, occupied, ended --->  +--------------+
    program load ----------- program ------------------->  | compute unit |
    transfer unit <--------- access, completion -------->  |              |
                  <--------- transfer (one a slot) ----->  +--------------+

There is one clock, the DRAM's. The compute unit stands still in some of its cycles: while ``stall``
is set, its registers keep what they hold; the compute clock's cycles end with the others. Only
``transfer`` and ``program`` go on in every cycle, since words come and go with DRAM's clock. All
other signals are of the compute clock: outputs stay while it stalls, inputs count in a cycle that
does not. Cycle numbers are compute cycles, those of `golden/simd/accelerator.py`: a slot that is
*ready* in cycle *t* issues in *t* at the earliest. The compute unit has these members:

=================  ============================  ==================================================
``stall``          In(1)                         the compute cycle does not end with this clock
``program``        In(Strobe(ProgramWrite))      program load; in every cycle, as ``transfer``
``length``         In(12)                        instructions of the program
``grid``           In(GridLayout)                of the kernel
``exclusive``      In(1)                         policies *compute* and *yield*: nothing issues
                                                 while a scratchpad's access is under way
``hold``           In(1)                         policy *compute*: after such an access its
                                                 work-group issues first, if it is ready
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

from cyclebound.golden.dram.request import ADDRESS_BITS, TARGET_BITS
from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.isa import TABLE
from cyclebound.golden.simd.machine import SCALARS, SLOTS, VECTORS
from cyclebound.golden.simd.program import BUFFERS, INSTRUCTIONS
from cyclebound.hdl.parameters import check_power_of_two

__all__ = ["GRID_BITS", "MEM_DATA", "MEM_IDX", "NUMBER_BITS", "POLICY_BITS", "REGISTER_BANKS",
           "AccessLayout", "BufferQuery", "CompletionLayout", "EndLayout", "FaultLayout",
           "GridLayout", "HeldLayout", "IndexWriteLayout", "KernelLayout", "LaunchLayout",
           "PassedLayout", "ProgramWriteLayout", "ReadItem", "ScalarTransfer", "SnoopLayout",
           "Transfer", "WriteItem"]

GRID_BITS = 20       # of a grid's x and y, and of a work-group's first item
NUMBER_BITS = 40     # of a work-group's number: a grid may have as many as it has items
POLICY_BITS = 3      # of a policy's number
_INDEX_BITS = ceil_log2(INSTRUCTIONS)
_SLOT_BITS = ceil_log2(SLOTS)
_BUFFER_BITS = ceil_log2(BUFFERS)

MEM_IDX, MEM_DATA = VECTORS, VECTORS + 1
"""Numbers of the two special registers in transfers, after those of the vector registers."""

REGISTER_BANKS = 4
"""Banks of the vector registers, by their numbers modulo this: a beat of DRAM may bring one item's
words for four registers in a row, and each bank takes one word for each position in a cycle."""


class GridLayout(data.StructLayout):
    """A kernel's grid: ``x`` times ``y`` items, work-groups ``1 << width`` items wide.

    Constant while a work-group is under way.
    """

    def __init__(self, *, machine):
        super().__init__({"x": GRID_BITS, "y": GRID_BITS,
                          "width": ceil_log2(machine.items.bit_length())})


class KernelLayout(data.StructLayout):
    """A kernel: where its program is, its grid and policy.

    ``address`` is that of the program's first word, a multiple of a burst's 16.
    """

    def __init__(self, *, machine):
        super().__init__({"address": ADDRESS_BITS, "instructions": ceil_log2(INSTRUCTIONS + 1),
                          "grid": GridLayout(machine=machine), "policy": POLICY_BITS})


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
    ``slot``           slot of the work-group
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
    """One word into a vector register: position *k* of a bus of ``words`` positions, bank *b*.

    The word is item ``group * words + k`` of register ``4 * row + b`` (`MEM_IDX` and `MEM_DATA` are
    registers 64 and 65). Whether a lane is active is the writer's concern: ``enable`` decides.
    """

    def __init__(self, *, machine, words):
        super().__init__({"enable": 1, "row": ceil_log2(MEM_DATA // REGISTER_BANKS + 1),
                          "group": ceil_log2(machine.items // words), "data": 32})


class ReadItem(data.StructLayout):
    """A word that is asked for; see `WriteItem`."""

    def __init__(self, *, machine, words):
        super().__init__({"row": ceil_log2(MEM_DATA // REGISTER_BANKS + 1),
                          "group": ceil_log2(machine.items // words)})


class ScalarTransfer(data.StructLayout):
    """One word into a scalar register: of *n* banks, bank *b* has the registers ``n * row + b``."""

    def __init__(self, *, machine):
        super().__init__({"enable": 1, "row": ceil_log2(SCALARS // machine.scalar_banks),
                          "data": 32})


class SnoopLayout(data.StructLayout):
    """Words that pass the registers; ``index`` is that of word 0, enabled or not.

    Word *k* has index ``index + k`` modulo ``2 ** TARGET_BITS``. With ``load``, each active item
    takes the one of its `mem_idx` into its `mem_data`, a cycle later; without, enabled words are
    asked for.
    """

    def __init__(self, *, machine):
        words = machine.words_moved
        super().__init__({"load": 1, "enable": words, "index": TARGET_BITS,
                          "words": data.ArrayLayout(unsigned(32), words)})


class PassedLayout(data.StructLayout):
    """Words that passed in the cycle before, and whether they are to be loaded."""

    def __init__(self, *, machine):
        super().__init__({"load": 1,
                          "words": data.ArrayLayout(unsigned(32), machine.words_moved)})


class HeldLayout(data.StructLayout):
    """Words that were asked for, and which of them there are.

    Of registers, those of active items; of a snoop, of each enabled word that some active item has,
    the `mem_data` of the lowest.
    """

    def __init__(self, *, machine):
        words = machine.words_moved
        super().__init__({"enable": words, "words": data.ArrayLayout(unsigned(32), words)})


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
        items whose number is *k* modulo ``words``, and has an address of its own in each bank.

    Members
    -------
    write : Out(4 banks times words times `WriteItem`)
        Written at the end of the cycle, whether or not it is a stall.
    scalars : Out(banks times `ScalarTransfer`)
        Likewise.
    read : Out(4 banks times words times `ReadItem`)
        Asked for.
    answer : In(4 banks times words times 32)
        What was asked for in the cycle before, stall or not.
    snoop : Out(SnoopLayout)
        Words that pass all items, of a snoopy access; at the end of the cycle they are taken. Not
        there if the machine has no such accesses; nor is ``held``.
    held : In(HeldLayout)
        Those of ``snoop`` in the cycle before that items have.
    """

    def __init__(self, *, machine, words):
        check_power_of_two("words", words, 1, machine.lanes)
        self.words = words

        def banked(shape):
            return data.ArrayLayout(data.ArrayLayout(shape, words), REGISTER_BANKS)

        super().__init__({
            "write": Out(banked(WriteItem(machine=machine, words=words))),
            "scalars": Out(data.ArrayLayout(ScalarTransfer(machine=machine),
                                            machine.scalar_banks)),
            "read": Out(banked(ReadItem(machine=machine, words=words))),
            "answer": In(banked(unsigned(32))),
            **({"snoop": Out(SnoopLayout(machine=machine)),
                "held": In(HeldLayout(machine=machine))} if machine.snoopy else {}),
        })


class IndexWriteLayout(data.StructLayout):
    """A warp's write to ``mem_idx`` or ``mem_data`` by the pipeline, for copies.

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
    """A pair of instructions into the instruction memory: a beat of DRAM brings two.

    ``words`` are instructions ``2 * index`` and ``2 * index + 1``; those that are enabled are
    written. Not while a work-group is under way.
    """

    def __init__(self):
        super().__init__({"index": _INDEX_BITS - 1, "enable": 2,
                          "words": data.ArrayLayout(unsigned(64), 2)})


class EndLayout(data.StructLayout):
    """A slot's work-group has ended by ``exit``, or because no lane was left.

    Shown in the first cycle after its last commit, as an access is. A work-group whose last store
    is under way (`AccessLayout.last`) is not shown here again: its slot is just no longer occupied
    in the cycle after the completion.
    """

    def __init__(self):
        super().__init__({"slot": _SLOT_BITS, "number": NUMBER_BITS})


class FaultLayout(data.StructLayout):
    """The fault that stopped the kernel: its cause, instruction and work-group.

    Both slots are free from the cycle in which it is shown on, and nothing issues. An access of
    the other slot that is under way is not completed to the compute unit; its registers are the
    transfer unit's until it is over, so that a store completes with its own words.
    """

    def __init__(self):
        super().__init__({"cause": Cause, "slot": _SLOT_BITS, "index": _INDEX_BITS,
                          "number": NUMBER_BITS})
