"""Worst-case formulas of switch, sink and fabric."""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, prediction

__all__ = ["core_completion", "fabric_completion", "fabric_stream", "processor_completion",
           "sink_done", "switch_hop", "switch_stream"]

Ports = Annotated[int, Range(2, says="ports of the switch")]
Tokens = Annotated[int, Range(1, says="tokens that pass")]
Threads = Annotated[int, Range(1, says="threads that run")]
Depth = Annotated[int, Range(2, says="entries of a buffer")]
Part = Annotated[int, Range(0, says="cycles, by golden.dataflow.wcet.estimate of the kernel")]
Lost = Annotated[int, Range(0, says="cycles, by golden.dataflow.persistence.cycles_lost")]
Flush = Annotated[int, Range(1, says="cycles of the flush, by golden.dataflow.core.core_times")]
Below = Annotated[int, Range(1, says="cycles of the second level's flush, by golden.dataflow."
                         "processor.processor_times")]
Path = Annotated[int, Range(1, says="cycles of the first thread on the longest path")]


@prediction(formula="2", source="this project, from SGMF, section 5.3")
def switch_hop(*, ports: Ports) -> int:
    """Cycles from taking a token to offering it, both included.

    For an input without other tokens. Derivation: a token is written into its input's first place
    at the end of the cycle in which it is taken; in the next it is offered to each output that is
    configured to have it. Nothing is decided on the way, so that ``ports`` does not matter.
    """
    return 2


@prediction(formula="tokens + 1", source="this project, from SGMF, section 5.3")
def switch_stream(*, tokens: Tokens) -> int:
    """Cycles in which so many tokens pass, from taking the first to offering the last.

    Outputs take what they are offered. Derivation: "new tokens can be sent through the switch on
    every cycle"; the last is taken ``tokens - 1`` cycles after the first, and offered in the next
    cycle. Two places at each input are enough: one is read while the other is written.
    """
    return tokens + 1


@prediction(formula="2", source="this project, from SGMF, section 4.6")
def sink_done(*, threads: Threads) -> int:
    """Cycles from taking the last thread's last token to ``done``, both included.

    Derivation: tokens are counted at the end of the cycle in which they are taken, and the counts
    are compared in the next. ``threads`` does not matter.
    """
    return 2


@prediction(formula="threads + path + 1", source="this project, from SGMF, section 2.1")
def fabric_stream(*, threads: Threads, path: Path) -> int:
    """Cycles from the start to ``done``, both included, for a graph without memory and divisions.

    ``path`` is the time of the first thread on the longest path
    (`golden.dataflow.wcet.longest_path`): 1 for the source, 11 for each compute unit, 2 for each
    control unit, 1 for each delay and each switch. Derivation: the source offers thread 0 in the
    second cycle, and one thread in each cycle; none waits while shorter paths have room for the
    threads on the longest one, so that the last thread arrives ``threads - 1`` cycles after the
    first, and is counted in the next cycle.
    """
    return threads + path + 1


@bound(formula="fill + (ceil(threads / depth) - 1) * interval + rest",
       source="this project, from SGMF, sections 4.1, 5.1 and 5.3",
       environment="memory answers each access in any cycle within its time, in any order")
def fabric_completion(*, threads: Threads, depth: Depth, fill: Part, interval: Part, rest: Part
                      ) -> int:
    """Cycles from the start to ``done``, both included, whatever memory does within its time.

    ``fill``: until the first epoch of ``depth`` threads has ended; ``interval``: from the end of an
    epoch to the end of the next, on average, rounded down; ``rest``: what the averages lack. All
    three come from the mapped kernel, the longest time of an access, and the longest wait for its
    bank, by `golden.dataflow.wcet.estimate`, before anything runs. The derivation is
    docs/dataflow-wcet.md: each step of a unit, switch or delay is made in the first cycle in which
    all it waits for is there: steps of older tokens, or of the same token further upstream.
    """
    return fill + (-(-threads // depth) - 1) * interval + rest


@bound(formula="fill + (ceil(threads / depth) - 1) * interval + rest + lost + flush - 1",
       source="this project, from SGMF, sections 4.1, 4.6, 5.1 and 5.3",
       environment="the memory below the cache takes each request and has each line in any cycle "
                   "within its times, in any order of lines; the cache is empty at the start")
def core_completion(*, threads: Threads, depth: Depth, fill: Part, interval: Part, rest: Part,
                    lost: Lost, flush: Flush) -> int:
    """Cycles from the start to ``done``, both included: all is in the memory below the cache.

    ``fill``, ``interval`` and ``rest`` are those of `fabric_completion`: for accesses that all
    hit, with ``lost`` cycles for what their misses cost together; or, with ``lost`` 0, for accesses
    as long as `golden.dataflow.line_cache_bounds.line_access` and waits as long as ``line_taken``
    allow. Derivation: docs/dataflow-cache.md. The flush begins in the cycle in which the fabric is
    done; ``flush`` is ``line_flush`` for the lines of a bank that hold what is stored
    (`golden.dataflow.core`).
    """
    return fill + (-(-threads // depth) - 1) * interval + rest + lost + flush - 1


@bound(formula="core_completion + below - 1",
       source="this project, from SGMF, sections 4.6, 5 and 7.2",
       environment="each memory below the second level takes each request and has each line in any "
                   "cycle within its times, in any order of lines; all caches are empty at the "
                   "start")
def processor_completion(*, threads: Threads, depth: Depth, fill: Part, interval: Part, rest: Part,
                         lost: Lost, flush: Flush, below: Below) -> int:
    """Cycles from the start to ``done``, both included: all is in the memories below.

    Of the core that may take longest: ``threads`` are its own, and its other numbers are those of
    `core_completion` above a memory whose times are `golden.dataflow.l2_bounds.l2_taken` and
    ``l2_served``, so that all other cores may be in the way of each line; or above a second level
    of which all hit, with ``lost`` more cycles for what the misses of all cores cost together
    (`golden.dataflow.processor.processor_times`). docs/dataflow-l2.md derives it. The second level
    is flushed from the cycle on in which the last core is done, in ``below`` cycles (``l2_flush``).
    """
    return core_completion(threads=threads, depth=depth, fill=fill, interval=interval, rest=rest,
                           lost=lost, flush=flush) + below - 1
