"""Worst-case formulas of the special unit."""

from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound, prediction
from cyclebound.golden.dataflow.special_timing import overtaken

__all__ = ["special_epoch", "special_result", "special_stream"]

Block = Annotated[int, Range(2, says="cycles of an operation in its block")]
Threads = Annotated[int, Range(1, says="threads that pass")]
Depth = Annotated[int, Range(2, says="entries of a buffer")]
Blocks = Annotated[int, Range(1, says="blocks")]
Operands = Annotated[int, Range(1, says="orders in which operands come")]
Younger = Annotated[int, Range(0, says="threads of younger epochs, at most")]


@prediction(formula="block + 4", source="this project, from SGMF, sections 4.2 and 5.1")
def special_result(*, block: Block) -> int:
    """Cycles from taking a thread's last operand to offering its result, both included.

    For a unit in which no other thread is. ``block``: cycles from giving a block these operands to
    having the result, both included (`golden.dataflow.special_timing.cycles`). Derivation: the
    thread fires in the third cycle (`token_match`), and a block takes it in the same; in the cycle
    in which the block has its result, it goes into the reservation buffer; in the next it is
    chosen, and offered in the one after that: 3 + (block - 1) + 2.
    """
    return block + 4


@prediction(formula="floor((threads - 1) / n) * max(n, block + (1 if depth <= blocks else 0)) "
                    "+ (threads - 1) mod n + block + 4, n = min(blocks, depth)",
            source="this project, from SGMF, section 4.2")
def special_stream(*, threads: Threads, depth: Depth, blocks: Blocks, block: Block) -> int:
    """Cycles in which ``threads`` threads pass, in order, if all operations take equally long.

    From taking the first operands to offering the last result; operands are always there, and
    results are taken at once. Raises `NotCovered` for more entries (``depth``) than blocks, but
    fewer than two for each.

    Derivation: a thread fires in each cycle while a block and its entry
    are free. A block that has taken a thread can take another ``block`` cycles later; an entry is
    free again one cycle after that, which matters only if there are no more entries than blocks.
    So ``n`` threads fire in a row, and the next ``n`` that many cycles after them; the last one
    takes `special_result`. "The unit will consume new input tokens in (practically) every cycle"
    (section 4.2) needs as many blocks as an operation has cycles.
    """
    if blocks < depth < 2 * blocks:
        raise NotCovered("depth must be a multiple of blocks, or less")
    n = min(blocks, depth)
    again = max(n, block + (depth <= blocks))
    return (threads - 1) // n * again + (threads - 1) % n + special_result(block=block)


@bound(formula="floor((depth - 1) / blocks) * max(blocks, block) + (depth - 1) mod blocks + block "
               "+ 5 - ceil(depth / operands) + overtaken, overtaken = min(blocks - 1, younger), "
               "and at most depth - 1 if depth <= 4",
       source="this project, from SGMF, sections 4.2 and 5.1",
       environment="operations last as long as their operands make them, older epochs are gone, "
                   "and results are taken at once; each operand's tokens come epoch by epoch, and "
                   "younger ones may follow without a pause, in one operand's stream before the "
                   "epoch's last in the other's")
def special_epoch(*, depth: Depth, blocks: Blocks, block: Block, operands: Operands,
                  younger: Younger) -> int:
    """Cycles from taking the last operand of an epoch to offering its last result, both included.

    Whatever the operands, with a consumer that takes every result, and older epochs gone; ``block``
    is the longest operation, ``operands`` how many streams the operands come in, each in an order
    of its own, ``younger`` how many threads of younger epochs there are at most.

    Firing: let c(j) be the cycle in which the last operand of the thread that is complete as number
    j was taken, and f(j) when number j fires. No more than ``operands`` become complete in a cycle,
    so that c(1) is ceil(depth / operands) - 1 cycles before the last operand, at the latest. A
    thread fires two cycles after it is complete, one cycle after the thread before it, or when a
    block is free, whichever is last. Number j's block has its result ``block - 1`` cycles after
    f(j) at the latest. That is a last moment of its own for each block, and one result is collected
    in each cycle in which there is one; so at the last moment of number j, j results have been
    collected, whichever they are, and j + blocks can fire in the next cycle. Hence f(j) <= max(c(j)
    + 2, f(j - 1) + 1, f(j - blocks) + block). No thread of a younger epoch fires before all of this
    epoch have, so that none of them delays a firing.

    Collecting: at f(depth) + block - 1, the last moment of the epoch, all its blocks have their
    results. Those ``depth`` results that are collected by then need not be the epoch's, if younger
    threads with short operations have fired meanwhile, into blocks that were emptied and entries
    whose threads have left. Blocks are emptied round robin: from the last moment on, each other
    block is emptied once at most before the epoch's last one, in a cycle each. So ``blocks - 1``
    results go first at most, and no more of younger threads than there are. The cycles are without
    a gap, and an entry whose result is collected has the next one collected four cycles later at
    the earliest (it is sent on, taken, and an operation has 3 cycles at least); so if there are
    four entries or fewer, each of the others' goes first once at most.

    The epoch's results are sent on one in a cycle, as they are collected one in a cycle: the last
    is offered two cycles after it was collected.
    """
    return ((depth - 1) // blocks * max(blocks, block) + (depth - 1) % blocks + block + 5
            - -(-depth // operands) + overtaken(depth=depth, blocks=blocks, younger=younger))
