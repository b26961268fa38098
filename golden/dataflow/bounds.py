"""Worst-case formulas of the dataflow units.

The paper has no formula for a unit's latency: it says what a unit waits for (SGMF, sections 2 and
5). The formulas are this project's, each with its derivation.
"""

from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound, prediction
from cyclebound.golden.dataflow.control import DELAY_SLOTS

__all__ = ["access_epoch", "access_latency", "access_residence",
           "access_stream", "chain_completion", "chain_even",
           "compute_result", "compute_stream", "delay_stream", "diamond_balanced",
           "diamond_unbalanced", "pipeline_latency", "pipeline_stream", "source_threads",
           "token_match", "token_stream", "token_turn"]

Threads = Annotated[int, Range(1, says="threads that pass")]
Depth = Annotated[int, Range(2, says="entries of a buffer")]
Stages = Annotated[int, Range(1, says="stages of the pipeline")]
Operands = Annotated[int, Range(1, says="operands that a thread needs")]
Slots = Annotated[int, Range(1, DELAY_SLOTS, says="slots of the delay")]
AnyMemory = Annotated[int, Range(0, says="cycles of an access; 0: it makes no request")]
Memory = Annotated[int, Range(2, says="most cycles of an access")]


@prediction(formula="3", source="this project, from SGMF, section 2.2")
def token_match(*, depth: Depth) -> int:
    """Cycles from taking a thread's last operand to offering it, both included.

    For a buffer that holds no other complete thread, with an output that is free; any number of
    others may have some of their tokens there. Derivation: the
    token is written at the end of the first cycle; in the second, the thread is seen to be
    complete, and its operands are read; the third offers them. There is no search, so that
    ``depth`` does not matter.
    """
    return 3


@bound(formula="depth + 1", source="this project, from SGMF, section 2.2",
       environment="tokens of other threads may come in any order and cycle, and firings be "
                   "taken in any; a token on offer stays until it is taken, and which operands are "
                   "needed never changes")
def token_turn(*, depth: Depth, epochs: bool = False) -> int:
    """Firings that leave after a thread's last operand was taken, until its own, inclusive.

    Raises `NotCovered` for a buffer with ``epochs``: there a thread waits for older ones, however
    late they become complete.

    Derivation: one may stand in the output register in that cycle. The entries are served round
    robin, and while a thread is complete, each of the ``depth - 1`` other entries goes first once
    at most. Then it is its turn: 1 + (depth - 1) + 1.
    """
    if epochs:
        raise NotCovered("epochs must be False: with them, a thread waits for older ones' tokens")
    return depth + 1


@prediction(formula="threads + 2", source="this project, from SGMF, section 2.1")
def token_stream(*, threads: Threads) -> int:
    """Cycles in which that many threads pass, in order, from the first token to the last offer.

    All operands of a thread are offered in one cycle, and a firing is taken at once. Derivation:
    an entry is written in one cycle and read in the next; it can be written again in the third.
    With two entries or more, in turn, no thread waits: one is taken in each cycle, and the
    last one is offered two cycles later.
    """
    return threads + 2


@prediction(formula="stages + 1", source="this project, from SGMF, section 5.2")
def pipeline_latency(*, stages: Stages) -> int:
    """Cycles from taking operands to offering their result, both included.

    With a consumer that takes every result. Derivation: a pipelined unit with ``stages`` registers
    between operands and result; each holds an item for one cycle.
    """
    return stages + 1


@prediction(formula="threads + stages", source="this project, from SGMF, section 5.2")
def pipeline_stream(*, threads: Threads, stages: Stages) -> int:
    """Cycles from taking the first of ``threads`` operands to offering the last result.

    Operands are always there, and results are taken at once. Derivation: units "do not block", so
    the last operands are taken ``threads - 1`` cycles after the first, and their result is offered
    ``stages`` cycles later.
    """
    return threads + stages


@prediction(formula="stages + 3", source="this project, from SGMF, sections 2.2 and 5.2")
def compute_result(*, stages: Stages) -> int:
    """Cycles from taking a thread's last operand to offering its result, both included.

    For a unit in which no other thread is complete, with a consumer that takes every result.
    Derivation: the buffer offers the thread in the third cycle (`token_match`), in which the
    pipeline takes it; the result is offered ``stages`` cycles later.
    """
    return token_match(depth=2) + pipeline_latency(stages=stages) - 1


@prediction(formula="threads + stages + 2", source="this project, from SGMF, sections 2.1 and 5.2")
def compute_stream(*, threads: Threads, stages: Stages) -> int:
    """Cycles in which ``threads`` threads pass, in order, from first operands to last result.

    Derivation: the buffer passes one thread in each cycle (`token_stream`), the pipeline takes it
    in the cycle in which it is offered, and the last result follows ``stages`` cycles later.
    """
    return token_stream(threads=threads) + stages


@prediction(formula="memory + 5", source="this project, from SGMF, sections 4.1 and 5.1")
def access_latency(*, memory: AnyMemory) -> int:
    """Cycles from taking a thread's last token to offering its result, both included.

    For a unit in which no other thread waits. ``memory``: cycles from taking a request to its
    response, both included; 0 for a poisoned thread or one outside of its buffer, which makes no
    request. Derivation: the thread fires in the third cycle (`token_match`), and its request is
    offered in the fourth; the response comes in that cycle plus ``memory - 1``. In the cycle after
    it the thread is chosen, and it is offered in the next. Without a request, it is chosen in the
    cycle after it fires.
    """
    return memory + 5


@prediction(formula="(ceil(threads / depth) - 1) * max(depth, memory + 2) "
                    "+ (threads - 1) mod depth + memory + 5",
            source="this project, from SGMF, sections 4.1 and 5.1")
def access_stream(*, threads: Threads, depth: Depth, memory: AnyMemory) -> int:
    """Cycles in which ``threads`` threads pass, in order, if every access takes ``memory`` cycles.

    From taking the first token to offering the last result; a token is always there, and results
    are taken at once. Derivation: an entry of the reservation buffer is taken when its thread
    fires, and free again ``memory + 2`` cycles later: the request, its path of ``memory`` cycles,
    the choice. So each epoch of ``depth`` threads begins ``max(depth, memory + 2)`` cycles after
    the one before. Within the last epoch, threads follow each other, and the last one takes
    `access_latency`.
    """
    epochs = -(-threads // depth)
    return ((epochs - 1) * max(depth, memory + 2) + (threads - 1) % depth
            + access_latency(memory=memory))


@bound(formula="depth - ceil(depth / operands) + memory + 5",
       source="this project, from SGMF, sections 4.1 and 5.1",
       environment="memory answers in any order, each access within its time; older epochs are "
                   "gone; requests, results and enable tokens are taken at once; each operand's "
                   "tokens come epoch by epoch, one operand's as far ahead of another's as they "
                   "like; and a unit without epochs has no younger threads")
def access_epoch(*, depth: Depth, operands: Operands, memory: AnyMemory) -> int:
    """Cycles from taking the last token of an epoch to offering its last result, both included.

    The residence of an epoch of ``depth`` threads: older ones are gone, accesses take ``memory``
    cycles at most, in any order, requests and results are taken at once. Derivation: a complete
    thread fires in each cycle. Those that fire without a pause to the last one have become complete
    one after the other, ``operands`` of them in a cycle at most (one with each operand's token), so
    that the first of them was complete ``ceil(depth / operands) - 1`` cycles before the last token
    at the latest; the last of ``depth`` fires ``depth - ceil(depth / operands)`` cycles later than
    if it were alone, and then takes `access_latency`. Results leave one in a cycle, and no more
    than one thread fires in a cycle, so that no thread waits longer than that.
    """
    return depth - -(-depth // operands) + access_latency(memory=memory)


@bound(formula="max(g + G + max(depth, memory + 2) + 1, g + 2 * depth + memory, "
               "2 * memory + depth + 3, G + depth + memory + 3), g = max(1, memory + 3 - depth), "
               "G = max(depth - 1, memory + 1)",
       source="this project, from SGMF, sections 4.1 and 5.1",
       environment="memory answers in any order, each access within its time; older epochs are "
                   "inside; requests, results and enable tokens are taken at once; a thread has "
                   "one token, its index, and tokens come epoch by epoch")
def access_residence(*, depth: Depth, memory: Memory, epochs: bool = True) -> int:
    """Cycles from taking the last token of an epoch to offering its last result, both included.

    The worst residence, with older epochs still inside; otherwise as `access_epoch`, with tokens of
    one operand. Raises `NotCovered` without ``epochs``: no thread belongs to one.

    Derivation: let x be the cycle in which the last thread of epoch e - 1 is chosen to
    fire, before the last token of e, which may need its entry, is taken in cycle A > x. The others
    of e - 1 have fired by x, one in each cycle, after all of e - 2: by x - depth + 1. So e - 2 has
    left by G cycles after that, G = max(depth - 1, memory + 1): a thread is answered ``memory``
    cycles after firing, and they leave one in a cycle. Then, in cycle W <= x + g, the last thread
    of e - 1 fires, whose entry may have been the last of e - 2. It leaves by W + G, the others of
    e - 1, after e - 2, by max(W + depth - 2, x + memory + 1). If W > A, all of e are complete, and
    they are chosen round robin from W on, so that the thread that needs the entry of the last one
    is itself the last: all have fired by max(W + G + 1, W + 2 * depth - 2, x + memory + 1 + depth).
    If not, the first to fire may need the last one's entry: they have fired by A + G + depth. In
    both cases the last is offered ``memory + 2`` cycles later.
    """
    if not epochs:
        raise NotCovered("epochs must be True: without epochs, no thread belongs to one")
    leaving, waiting = max(depth - 1, memory + 1), max(1, memory + 3 - depth)
    return max(waiting + leaving + max(depth, memory + 2) + 1, waiting + 2 * depth + memory,
               2 * memory + depth + 3, leaving + depth + memory + 3)


@prediction(formula="threads + 1", source="this project, from SGMF, section 2.1")
def source_threads(*, threads: Threads) -> int:
    """Cycles from the start to the last thread's token, both included, if each is taken at once.

    Derivation: a constant unit introduces a new thread in every cycle in which its destination
    can receive it, beginning with the cycle after the start.
    """
    return threads + 1


@prediction(formula="(ceil(threads / depth) - 1) * max(depth, memory + 2) "
                    "+ (threads - 1) mod depth + 2 * memory + 12",
            source="this project, from SGMF, sections 4.1 and 5.1")
def chain_even(*, threads: Threads, depth: Depth, memory: Memory) -> int:
    """Cycles in which all threads pass Figure 4's graph, if all accesses take as long.

    From the start of the sources to offering the last sum, both included; sums are taken at once,
    each access takes ``memory`` cycles. Derivation: the first thread's number is offered and taken
    in the second cycle; each load adds ``memory + 4`` cycles (`access_latency`, whose first cycle
    is the last one of what comes before), the adder's buffer 2. The others follow as in
    `access_stream`. It is no bound for accesses of up to ``memory`` cycles: an answer that comes
    earlier can make the last sum later (`chain_completion`).
    """
    epochs = -(-threads // depth)
    return ((epochs - 1) * max(depth, memory + 2) + (threads - 1) % depth
            + 2 * (access_latency(memory=memory) - 1) + 4)


@bound(formula="(ceil(threads / depth) - 1) * (depth + 1 + max(memory, depth + 1)) "
               "+ 2 * memory + 3 * depth + 10",
       source="this project, from SGMF, sections 4.1 and 5.1",
       environment="memory answers each access in any cycle within its time, in any order")
def chain_completion(*, threads: Threads, depth: Depth, memory: Memory) -> int:
    """Cycles in which all threads pass Figure 4's graph, whatever memory does within its time.

    As `chain_even`, with accesses of 2 to ``memory`` cycles in any order. Derivation: let S(k, e)
    be the cycle in which load k has offered all of epoch e. When both S(k, e - 1) is over and all
    tokens of epoch e have been in load k for two cycles, all entries are free, so that the threads
    that have not fired yet do so within ``depth`` cycles (round robin; and no younger thread can
    stand in their way, since tokens arrive in epochs). The last is answered ``memory`` cycles
    later and offered 2 cycles after that, and only threads of its own epoch are sent on before it,
    which are answered one in a cycle: S(k, e) <= max(S(k, e - 1), S(k - 1, e) + 2) + depth
    + memory + 1. A result that the next load cannot take waits until the thread before it in its
    entry fires there, which is ``memory + 2`` cycles before it leaves, and ``depth`` results may
    wait: hence the maximum. The first epoch arrives one thread in a cycle: S(1, 0) <= depth +
    memory + 4. The adder adds 2 cycles, and one for each entry whose constant comes late.
    """
    epochs = -(-threads // depth)
    return ((epochs - 1) * (depth + 1 + max(memory, depth + 1)) + 2 * memory + 3 * depth + 10)


@prediction(formula="threads + 1, or 2 * threads with a single slot",
            source="this project, from SGMF, section 4.4")
def delay_stream(*, threads: Threads, slots: Slots) -> int:
    """Cycles in which ``threads`` tokens pass a delay, from the first one taken to the last offer.

    A token is always there, and is taken from the delay at once. Derivation: a slot is written in
    one cycle and offered in the next; it can be written again in the third. One slot alternates,
    two or more take a token in each cycle.
    """
    return threads + 1 if slots > 1 else 2 * threads


@prediction(formula="threads + 3 * (stages + 2)", source="this project, from SGMF, section 4.4")
def diamond_balanced(*, threads: Threads, stages: Stages) -> int:
    """Cycles in which ``threads`` threads pass Figure 6's graph if no branch waits for the other.

    From taking the first thread's token to offering the last result; a token is always there, and
    results are taken at once. Derivation: the longer path has three units, and each passes a token
    on ``stages + 2`` cycles after it took it (`compute_result`); threads follow each other in each
    cycle (`compute_stream`). None waits if the shorter one has room for the threads that are on
    the longer one.
    """
    return threads + 3 * (compute_result(stages=stages) - 1)


@bound(formula="2 * threads + 3 * (stages + 2) - 1", source="SGMF, Figure 6 and section 4.4",
       environment="tokens are always there, and results are taken at once")
def diamond_unbalanced(*, threads: Threads, stages: Stages) -> int:
    """`diamond_balanced`, but with a thread completed "every other cycle", as the paper says.

    The paper assumes units of a single cycle with a single token each: the shorter path holds one
    thread while the longer one holds two. Here, a path holds as many threads as its pipelines and
    buffers do, so that the interval is less, and can be 1.
    """
    return 2 * threads - 1 + 3 * (compute_result(stages=stages) - 1)
