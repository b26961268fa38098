"""Dataflow: what is between the units of an SGMF core, and the core."""

import functools
from collections.abc import Mapping
from typing import Any

from cyclebound.golden.dataflow import (
    bounds,
    cache_bounds,
    channel_bounds,
    fabric_bounds,
    l2_bounds,
    line_cache_bounds,
    special_bounds,
)
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE, PAPER
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.hdl.dataflow.cache import Cache
from cyclebound.hdl.dataflow.cache_banks import CacheBanks
from cyclebound.hdl.dataflow.channel import DramChannel
from cyclebound.hdl.dataflow.core import Core
from cyclebound.hdl.dataflow.diamond import Diamond
from cyclebound.hdl.dataflow.dram_processor import DramProcessor
from cyclebound.hdl.dataflow.fabric import Fabric
from cyclebound.hdl.dataflow.fabric_harness import FabricHarness
from cyclebound.hdl.dataflow.l2 import L2
from cyclebound.hdl.dataflow.processor import Processor
from cyclebound.hdl.dataflow.special_unit import SpecialUnit
from cyclebound.hdl.dataflow.switch import Switch
from cyclebound.hdl.dataflow.thread_sink import ThreadSink
from cyclebound.sim.catalogue.dataflow import FIRST_EPOCH_TAKEN
from cyclebound.sim.catalogue.dram import pins
from cyclebound.sim.describe.block import (
    FOLLOWED,
    Block,
    BoundBinding,
    Configuration,
    Exploration,
    FpgaTarget,
    MutationTarget,
    Picture,
    Property,
    Testbench,
)
from cyclebound.tb.dataflow.cache_banks_properties import CacheBanksCheck, CacheBanksProof
from cyclebound.tb.dataflow.cache_environment import CacheEnvironment
from cyclebound.tb.dataflow.cache_properties import CacheWordsProof, LineCacheWordsProof
from cyclebound.tb.dataflow.core_properties import (
    CoreLinesProof,
    LinesCheck,
    ProcessorLinesProof,
    ThreadsProof,
)
from cyclebound.tb.dataflow.diamond_properties import DiamondCheck
from cyclebound.tb.dataflow.fabric_environment import EXPLORED, FabricEnvironment, completion_of
from cyclebound.tb.dataflow.fabric_properties import FabricCheck, FabricProof
from cyclebound.tb.dataflow.l2_environment import L2Environment
from cyclebound.tb.dataflow.special_unit_properties import SpecialUnitFirings
from cyclebound.tb.dataflow.switch_properties import SwitchCheck, SwitchProof
from cyclebound.tb.dataflow.thread_sink_properties import ThreadSinkCheck, ThreadSinkProof
from cyclebound.tb.dataflow.unit_properties import SpecialUnitCheck
from cyclebound.tb.probe import ANY, Probe, offered, taken
from cyclebound.tb.streams_properties import StreamsCheck

# Buffers of each depth: 16 entries are a good balance (section 5.1).
_DIVIDES = {"rows": ("SLLLQ", "LCKCD", "SLLLT"), "depth": 4, "tid_width": 11,
            "address_width": 16}
_SMALL = {"rows": ("SLLL", "SCKL", "LLLT"), "depth": 4, "tid_width": 8, "address_width": 12}
_FIVES = {"five_by_five": 16, "five_8": 8, "five_4": 4, "five_2": 2}

# A token for output o of a switch enters, by whichever input is configured.
_ENTERS = f"any({taken('inputs[i]')} & (choices[o] == i + 1) for i in inputs)"
_RUN = Probe(start="start", end="done & ~past(done)")
_OPERAND = taken("operands[k]")
_ALL_THREADS = Probe(start=taken("x"), end=taken("product"), starts="declared.threads",
                     ends="declared.threads")
_answered = functools.partial(
    Probe, end="ports[p].response.valid", id="ports[p].request.payload.tag",
    end_id="ports[p].response.payload.tag", over={"p": "ports"})
_channel = functools.partial(
    Probe, end="lines.response.valid", id="lines.request.payload.id",
    end_id="lines.response.payload.id")
_TINY_BANKS = {"ports": 3, "banks": 2, "words": 8, "tag_width": 2, "width": 8, "hit": 3, "miss": 6}
_TINY_CACHE = {"ports": 2, "size": 8, "line": 2, "banks": 1, "ways": 2, "misses": 2, "targets": 2,
               "address_width": 5, "tag_width": 1, "width": 8, "policy": "write-back",
               "replacement": "lru"}
# 2 ways, 2 sets; with one word in each line, as no time depends on how many there are
_EXPLORED_CACHE = {**_TINY_CACHE, "ports": 1, "size": 4, "line": 1, "misses": 1, "targets": 1,
                   "address_width": 3, "width": 1}
_EXPLORED_CACHES: tuple[tuple[str, int, int, dict[str, Any]], ...] = (
    ("access", 1, 2, {}), ("taken", 1, 2, {}),
    ("access", 2, 3, {"policy": "write-through"}),
    ("access", 1, 3, {"size": 2, "misses": 2, "address_width": 2}),
    ("access", 1, 2, {"ports": 2, "size": 1, "ways": 1, "address_width": 1}))

_TINY_L2 = {"ports": 2, "size": 24, "line": 2, "banks": 3, "ways": 2, "channels": 3, "misses": 2,
            "targets": 2, "address_width": 6, "id_width": 2, "width": 8, "replacement": "lru"}
_EXPLORED_L2 = {**_TINY_L2, "ports": 1, "size": 4, "line": 1, "banks": 1, "channels": 1,
                "misses": 1, "targets": 1, "address_width": 3, "id_width": 1, "width": 1}
_EXPLORED_L2S: tuple[tuple[str, int, int, int, dict[str, Any]], ...] = (
    ("read", 1, 2, 5, {}), ("taken", 1, 2, 5, {}), ("served", 1, 3, 5, {}),
    ("read", 1, 2, 2, {"ports": 2, "size": 1, "ways": 1, "address_width": 1}),
    ("read", 1, 1, 4, {"size": 2, "banks": 2, "channels": 1, "ways": 1, "address_width": 2}))

_L2_READ = "~ports[p].request.payload.write"
_read = functools.partial(
    Probe, end="ports[p].response.valid", id="ports[p].request.payload.id",
    end_id="ports[p].response.payload.id", over={"p": "ports"})

# Grids of which every run of a kernel is explored, with any memory.
_EXPLORED = {
    "copy": {"rows": ("SL", "LT"), "depth": 2, "tid_width": 5, "address_width": 6},
    "sum": {"rows": ("SLT", "LCL"), "depth": 2, "tid_width": 3, "address_width": 4}}

# of proofs
_TINY_FABRIC = {"rows": ("SL", "LT"), "depth": 2, "tid_width": 3, "address_width": 3}
_TINY_LINES = {"size": 4, "line": 2, "banks": 1, "ways": 1, "misses": 1, "targets": 1,
               "policy": "write-back", "replacement": "lru"}
_TINY_PROCESSOR = {**_TINY_FABRIC, **_TINY_LINES, "cores": 2, "l2_size": 4, "l2_banks": 2,
                   "l2_ways": 1, "l2_misses": 1, "l2_targets": 1, "channels": 2}


def _all_of(threads: int, instance: Mapping[str, Any]) -> dict[str, int | None]:
    """Every token of so many threads may be the last."""
    return {"threads": threads, "last": ANY}


def _memory_of(turn: int, latency: int, instance: Mapping[str, Any], index: Mapping[str, int]
               ) -> dict[str, int]:
    """The kind of every request."""
    return {"turn": turn, "latency": latency}


def _completion(kernel: str, threads: int, longest: int):
    """Of the one run that there is."""
    def kinds(parameters: Mapping[str, Any], index: Mapping[str, int]) -> dict[str, int]:
        return completion_of(kernel, threads, longest, rows=parameters["rows"],
                             depth=parameters["depth"])

    return kinds


_SINK_THREADS = (1, 2, 5, 8)  # as many as the small sink's testbench ends

BLOCKS = (
    Block(
        name="dataflow.switch",
        summary="statically configured crossbar; each output has one input's tokens",
        component=Switch,
        configurations={
            "tiny": Configuration({"ports": 3, "tid_width": 1, "width": 1}),
            "paper": Configuration({"ports": 8, "tid_width": 11, "width": 32}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dataflow.switch", quick=("tiny",)),),
        bounds=(
            BoundBinding("hop", fabric_bounds.switch_hop, Probe(
                start=_ENTERS, end=offered("outputs[o]"), in_flight=4, classed=True,
                over={"o": "ports"})),
            BoundBinding("stream", fabric_bounds.switch_stream, Probe(
                start=_ENTERS, end=offered("outputs[o]"), starts="declared.tokens",
                ends="declared.tokens", over={"o": "ports"})),
        ),
        properties=(
            Property(
                name="delivery",
                quick=1,
                says="each output is offered exactly the tokens that its input has taken, in "
                     "order, each until it is taken, and nothing else; from the next cycle on, "
                     "unless another output of its input has still to take the one before",
                checker=SwitchProof,
                instances=tuple({"ports": ports, "tid_width": 1, "width": 1}
                                for ports in (3, 8)),
                depth=6,
                induction=3,
            ),
        ),
        checker=SwitchCheck,
        mutants=MutationTarget("tiny"),
        fpga=FpgaTarget("paper"),
        signals=("top.dut.inputs__0__valid", "top.dut.outputs__1__valid"),
    ),
    Block(
        name="dataflow.thread_sink",
        summary="where threads end; says when all of them have",
        component=ThreadSink,
        configurations={
            "small": Configuration({"operands": 3, "tid_width": 3, "width": 4}),
            "paper": Configuration({"operands": 8, "tid_width": 8, "width": 32}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dataflow.thread_sink", quick=("small",)),),
        bounds=(BoundBinding("done", fabric_bounds.sink_done, Probe(
            start="declared.last & any(operands[k].valid & configuration.needed[k] "
                  "for k in operands)",
            end="done & ~past(done)"), proved_by=tuple(f"done_{threads}"
                                                      for threads in _SINK_THREADS)),),
        properties=tuple(Property(
            name=f"done_{threads}",
            quick=0,
            says=f"with {threads} threads, every token is taken, and done is set in the cycle "
                 "after the last one, not before; the configuration is set in reset, and waits "
                 "for something",
            checker=functools.partial(ThreadSinkProof, threads=threads),
            declares={"done": functools.partial(_all_of, threads)},
            assumes={"configuration changed": "set in reset",
                     "nothing to wait for": "waits for something",
                     "other threads": "threads",
                     "another token is declared the last": FOLLOWED},
            instances=({"operands": 3, "tid_width": 3, "width": 4},),
            depth=threads + 2,
            induction=3,
        ) for threads in _SINK_THREADS),
        checker=ThreadSinkCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.done",),
        unused_inputs=tuple(f"operands__{number}__payload" for number in range(8)),
    ),
    Block(
        name="dataflow.special_unit",
        summary="dividers or square roots behind one reservation buffer, out of order, in epochs",
        component=SpecialUnit,
        configurations={
            **{name: Configuration({"function": function, "depth": 16, "tid_width": 10})
               for name, function in (("integers", "idiv"), ("floats", "fdiv"),
                                      ("roots", "fsqrt"))},
            "two": Configuration({"function": "fdiv", "depth": 2, "tid_width": 6, "blocks": 2}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.special_unit", quick=("integers",)),
            Testbench("search", "cyclebound.tb.dataflow.special_unit_search", searches=True,
                      thorough=True),
        ),
        bounds=(
            BoundBinding("result", special_bounds.special_result, Probe(
                start=f"any({_OPERAND} for k in operands)", end=offered("result"))),
            BoundBinding("stream", special_bounds.special_stream, Probe(
                start=f"any({_OPERAND} for k in operands)", end=offered("result"),
                starts="declared.threads", ends="declared.threads")),
            # the first epoch after reset, from its last operand to its last result
            BoundBinding("epoch", special_bounds.special_epoch, Probe(
                start=FIRST_EPOCH_TAKEN,
                end=f"first(nth({offered('result')}, depth), 0)")),
        ),
        properties=(Property(
            name="firings",
            quick=0,
            says="each firing of the token buffer makes one result of its thread, and no result is "
                 "without one; an entry of the reservation buffer holds one thread, with one block "
                 "or with its result; in whatever order blocks end, whatever they compute",
            checker=SpecialUnitFirings,
            instances=tuple({"function": function, "depth": 2, "tid_width": 3, "blocks": 2}
                            for function in ("idiv", "fsqrt")),
            depth=11,
            induction=3,
            flat=True,
        ),),
        checker=SpecialUnitCheck,
        fpga=FpgaTarget("floats"),
        signals=("top.dut.buffer.fire__valid", "top.dut.busy", "top.dut.done", "top.dut.sent",
                 "top.dut.result__valid"),
    ),
    Block(
        name="dataflow.diamond",
        summary="Figure 6's graph, (a + x) * (b + (c + x)), with a delay or without one",
        component=Diamond,
        configurations={
            "unbalanced": Configuration({"depth": 2, "tid_width": 8, "delay": 0}),
            "delayed": Configuration({"depth": 2, "tid_width": 8, "delay": 16}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dataflow.diamond", quick=("unbalanced",)),),
        bounds=(
            BoundBinding("balanced", bounds.diamond_balanced, _ALL_THREADS),
            BoundBinding("unbalanced", bounds.diamond_unbalanced, _ALL_THREADS),
        ),
        properties=(Property(
            name="order",
            quick=0,
            says="threads leave in the order in which they came, each once, and none that did not "
                 "come; a product on offer stays",
            checker=functools.partial(DiamondCheck, products=False),
            instances=({"depth": 2, "tid_width": 2},),
            depth=40,  # 37 cycles from the first thread to its product
            induction=None,
            flat=True,
            any_product=True,
        ),),
        checker=DiamondCheck,
        fpga=None,
        signals=("top.dut.x__valid", "top.dut.product__valid"),
    ),
    Block(
        name="dataflow.cache_banks",
        summary="a cache's banks and a crossbar in front; hits and misses answered in any order",
        component=CacheBanks,
        configurations={
            "tiny": Configuration(_TINY_BANKS),
            "two": Configuration({"ports": 2, "banks": 2, "words": 16, "tag_width": 3, "width": 8,
                                  "hit": 3, "miss": 7}),
            "crossing": Configuration({"ports": 5, "banks": 4, "words": 64, "tag_width": 2,
                                       "width": 32, "hit": 4, "miss": 20}),
            # the ports of a 5x5 fabric; SGMF, Table 1: 32 banks
            "paper": Configuration({"ports": 12, "banks": 32, "words": 4096, "tag_width": 4,
                                    "width": 32, "hit": 4, "miss": 40}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.cache_banks", quick=("tiny",)),
            Testbench("search", "cyclebound.tb.dataflow.cache_banks_search", searches=True,
                      thorough=True),
        ),
        bounds=(
            BoundBinding("hit", cache_bounds.cache_hit, _answered(
                start=taken("ports[p].request"), classed=True)),
            BoundBinding("access", cache_bounds.cache_access, _answered(
                start=offered("ports[p].request")), proved_by=("answers",)),
            BoundBinding("crowd", cache_bounds.cache_crowd, Probe(
                start="first(any(ports[:].request.valid), 0)",
                end="any(ports[:].response.valid)", ends="declared.answers")),
        ),
        properties=(
            Property(
                name="answers",
                quick=0,
                says="each request is taken within as many cycles as there are ports, and answered "
                     "within a miss's time, once, a load with the last word that was stored; "
                     "no other port is answered",
                checker=CacheBanksProof,
                instances=(*({"ports": ports, "banks": 2, "words": 4, "tag_width": tag_width,
                              "width": 1, "hit": hit, "miss": 6}
                             for ports, tag_width, hit in ((2, 1, 4), (3, 2, 3))),
                           _TINY_BANKS),
                assumes={
                    "request #: offer withdrawn or changed":
                        "a request stays until it is taken",
                    "port #: a tag that is under way is offered":
                        "no port uses a tag that is under way",
                },
                declares={"access": lambda instance: {}},
                depth=8,
            ),
        ),
        checker=CacheBanksCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.ports__0__request__valid", "top.dut.ports__0__request__ready",
                 "top.dut.ports__0__response__valid", "top.dut.misses", "top.dut.taken"),
    ),
    Block(
        name="dataflow.cache",
        summary="first-level cache: banks with tags and a crossbar in front, above a port of lines",
        component=Cache,
        configurations={
            # 2 ways, 2 sets
            "tiny": Configuration(_TINY_CACHE),
            "through": Configuration({**_TINY_CACHE, "size": 16, "banks": 2, "address_width": 6,
                                      "policy": "write-through", "replacement": "fifo"}),
            "one": Configuration({**_TINY_CACHE, "ports": 1, "size": 4, "line": 4, "ways": 1,
                                  "misses": 1, "targets": 1, "width": 5}),
            "odd": Configuration({**_TINY_CACHE, "ports": 3, "size": 32, "line": 1, "banks": 4,
                                  "ways": 4, "misses": 3, "targets": 3, "address_width": 7,
                                  "tag_width": 3, "width": 7, "replacement": "fifo"}),
            "crossing": Configuration({**_TINY_CACHE, "ports": 7, "size": 256, "line": 8,
                                       "banks": 4, "targets": 4, "address_width": 12,
                                       "tag_width": 2, "width": 32}),
            # the ports of a 5x5 fabric; SGMF, Table 1: 64 KiB, 32 banks, 128 bytes, 4 ways
            "paper": Configuration({"ports": 12, "size": 16384, "line": 32, "banks": 32, "ways": 4,
                                    "misses": 4, "targets": 4, "address_width": 16,
                                    "tag_width": 4, "width": 32, "policy": "write-back",
                                    "replacement": "lru"}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.cache", quick=("tiny",)),
            Testbench("search", "cyclebound.tb.dataflow.cache_search", searches=True,
                      configurations=("tiny", "through", "one", "odd"), thorough=True),
        ),
        bounds=(
            BoundBinding("hit", line_cache_bounds.line_hit, _answered(
                start=taken("ports[p].request"), classed=True)),
            BoundBinding("miss", line_cache_bounds.line_miss, _answered(
                start=offered("ports[p].request"))),
            BoundBinding("access", line_cache_bounds.line_access, _answered(
                start=offered("ports[p].request"))),
            BoundBinding("taken", line_cache_bounds.line_taken, Probe(
                start=offered("ports[p].request"), end=taken("ports[p].request"),
                over={"p": "ports"})),
            BoundBinding("flush", line_cache_bounds.line_flush, Probe(
                start="flush & ~past(flush)", end="flushed & ~past(flushed)")),
        ),
        properties=(Property(
            name="words",
            quick=0,
            says="a load has the last word stored; a flushed cache has it written below, and no "
                 "line is under way",
            checker=CacheWordsProof,
            instances=tuple({**_EXPLORED_CACHE, "line": 2, "ports": 2, "policy": policy}
                            for policy in ("write-back", "write-through")),
            depth=16,
            induction=None,
            flat=True,
        ),),
        explorations=tuple(Exploration(
            f"{what}_{number}",
            "ports access any of three lines of each set whenever they like; memory takes each "
            f"request within {turn} cycles, and has each line within {latency}; words are 0",
            what, functools.partial(CacheEnvironment, turn=turn, latency=latency, tags=3),
            functools.partial(_memory_of, turn, latency), ({**_EXPLORED_CACHE, **changes},))
            for number, (what, turn, latency, changes) in enumerate(_EXPLORED_CACHES)),
        checker=StreamsCheck,
        mutants=MutationTarget("tiny"),
        fpga=FpgaTarget("crossing"),
        signals=("top.dut.ports__0__request__valid", "top.dut.ports__0__request__ready",
                 "top.dut.ports__0__response__valid", "top.dut.lines__request__valid",
                 "top.dut.lines__request__ready", "top.dut.lines__response__valid",
                 "top.dut.flush", "top.dut.flushed"),
    ),
    Block(
        name="dataflow.l2",
        summary="second-level cache that cores share: a crossbar of lines, channels below",
        component=L2,
        configurations={
            "tiny": Configuration(_TINY_L2),
            "one": Configuration({**_TINY_L2, "ports": 1, "size": 2, "line": 2, "banks": 1,
                                  "channels": 1, "ways": 1, "misses": 1, "targets": 1}),
            "shared": Configuration({**_TINY_L2, "ports": 3, "size": 16, "banks": 2,
                                     "channels": 1, "replacement": "fifo"}),
            # 6 banks and channels; lines of fewer words, and fewer of them
            "crossing": Configuration({**_TINY_L2, "ports": 5, "size": 192, "line": 4, "banks": 6,
                                       "channels": 6, "ways": 4, "misses": 4, "targets": 4,
                                       "address_width": 10, "id_width": 3, "width": 32}),
            # SGMF, Table 1: 15 cores, 768 KiB, 6 banks, 128 bytes, 16 ways, 6 channels
            "paper": Configuration({"ports": 15, "size": 196608, "line": 32, "banks": 6,
                                    "ways": 16, "channels": 6, "misses": 4, "targets": 4,
                                    "address_width": 20, "id_width": 7, "width": 32,
                                    "replacement": "lru"}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.l2", quick=("tiny",)),
            Testbench("search", "cyclebound.tb.dataflow.l2_search", searches=True,
                      configurations=("tiny", "one", "shared"), thorough=True),
        ),
        bounds=(
            BoundBinding("hit", line_cache_bounds.line_hit, _read(
                start=f"{taken('ports[p].request')} & {_L2_READ}", classed=True)),
            BoundBinding("miss", line_cache_bounds.line_miss, _read(
                start=f"{offered('ports[p].request')} & {_L2_READ}")),
            BoundBinding("read", l2_bounds.l2_read, _read(
                start=f"{offered('ports[p].request')} & {_L2_READ}")),
            BoundBinding("taken", l2_bounds.l2_taken, Probe(
                start=offered("ports[p].request"), end=taken("ports[p].request"),
                over={"p": "ports"})),
            BoundBinding("served", l2_bounds.l2_served, _read(
                start=f"{taken('ports[p].request')} & {_L2_READ}")),
            BoundBinding("flush", l2_bounds.l2_flush, Probe(
                start="flush & ~past(flush)", end="flushed & ~past(flushed)")),
        ),
        properties=(Property(
            name="words",
            quick=0,
            says="a read has the last words stored; a flushed cache has them written below, and no "
                 "line is under way",
            checker=LineCacheWordsProof,
            instances=({**_EXPLORED_L2, "line": 2, "ports": 2},
                       {**_EXPLORED_L2, "size": 2, "banks": 2, "channels": 2, "ways": 1}),
            depth=16,
            induction=None,
            flat=True,
        ),),
        explorations=tuple(Exploration(
            f"{what}_{number}",
            f"cores read and write any of {lines} lines whenever they like; each memory takes a "
            f"request within {turn} cycles, and has each line within {latency}; words are 0",
            what, functools.partial(L2Environment, turn=turn, latency=latency, lines=lines),
            functools.partial(_memory_of, turn, latency), ({**_EXPLORED_L2, **changes},))
            for number, (what, turn, latency, lines, changes) in enumerate(_EXPLORED_L2S)),
        checker=StreamsCheck,
        mutants=MutationTarget("tiny"),
        fpga=FpgaTarget("tiny"),
        signals=("top.dut.ports__0__request__valid", "top.dut.ports__0__request__ready",
                 "top.dut.ports__0__response__valid", "top.dut.lines__0__request__valid",
                 "top.dut.lines__0__request__ready", "top.dut.lines__0__response__valid",
                 "top.dut.flush", "top.dut.flushed"),
    ),
    Block(
        name="dataflow.fabric",
        summary="grid of units and switches, configured through a port; runs mapped kernels",
        component=Fabric,
        configurations={
            "small": Configuration(_SMALL),
            "divides": Configuration(_DIVIDES),
            "divides_2": Configuration({**_DIVIDES, "depth": 2}),
            **{name: Configuration({"rows": FIVE_BY_FIVE.rows, "depth": depth, "tid_width": 11,
                                    "address_width": 16}) for name, depth in _FIVES.items()},
            **{name: Configuration(parameters) for name, parameters in _EXPLORED.items()},
            # Figure 8 with the paper's counts
            "paper": Configuration({"rows": PAPER.rows, "depth": 16, "tid_width": 11,
                                    "address_width": 16}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.fabric", configurations=("small",)),
            Testbench("harness", "cyclebound.tb.dataflow.fabric_harness", top=FabricHarness,
                      probed=lambda harness: harness.fabric,
                      configurations=("small",), quick=()),
            Testbench("explored", "cyclebound.tb.dataflow.fabric_explored",
                      configurations=tuple(_EXPLORED), quick=()),
            Testbench("kernels", "cyclebound.tb.dataflow.fabric_kernels",
                      configurations=("divides", "divides_2"), quick=()),
            Testbench("kernels_five", "cyclebound.tb.dataflow.fabric_kernels",
                      configurations=tuple(_FIVES), thorough=True),
            Testbench("kernels_1024", "cyclebound.tb.dataflow.fabric_kernels",
                      tests=("every_kernel_of_1024_threads",
                             "one_of_1024_threads_per_cycle_where_no_memory_is_involved",
                             "one_thread_per_cycle_where_memory_hits",
                             "threads_in_flight_fill_every_buffer_of_a_path"),
                      configurations=("divides", *_FIVES, "paper"), thorough=True),
            Testbench("busy", "cyclebound.tb.dataflow.fabric_busy",
                      configurations=("small", "five_by_five", "paper"), thorough=True),
        ),
        bounds=(
            BoundBinding("stream", fabric_bounds.fabric_stream, _RUN, configurations=(
                "small", "divides", "divides_2", *_FIVES, "paper")),
            BoundBinding("completion", fabric_bounds.fabric_completion, _RUN),
        ),
        explorations=tuple(Exploration(
            f"{kernel}_{threads}_threads_of_{longest}_cycles",
            f"after reset and configuration {threads} threads run once; memory takes each access "
            f"at once, and answers it within {longest} cycles of its offer, in any order; what is "
            "loaded decides nothing",
            "completion", functools.partial(FabricEnvironment, kernel=kernel, threads=threads,
                                            longest=longest),
            _completion(kernel, threads, longest), (_EXPLORED[kernel],))
            for kernel, runs in EXPLORED.items() for threads, longest in runs),
        properties=(Property(
            name="ends",
            quick=0,
            says="each unit and switch has the words that were loaded for it; done is set from the "
                 "start on, while each operand that a sink needs has had as many tokens as there "
                 "are threads; a memory request stays until it is taken or a word is loaded",
            checker=FabricProof,
            instances=(_TINY_FABRIC,),
            depth=20,  # a configuration of 16 words, and a thread
            induction=2,
            flat=True,
        ),),
        checker=FabricCheck,
        fpga=FpgaTarget("five_by_five"),
        pictures=tuple(Picture(
            kernel, f"Kernel {kernel} on the 5 x 5 grid, mapped, placed and routed: what each unit "
            "does, how busy it is with 128 threads whose loads miss now and then, and the nets.",
            "cyclebound.sim.pictures.mapped:grid_of", {"kernel": kernel})
            for kernel in KERNELS),
        signals=("top.dut.start", "top.dut.done", "top.dut.memory__0__request__valid"),
    ),
    Block(
        name="dataflow.channel",
        summary="a memory channel: lines in a DRAM, which a controller with closed pages has",
        component=DramChannel,
        configurations={
            "beat": Configuration({"part": "ddr3-1600-module", "line": 4, "address_width": 10,
                                   "id_width": 1}),
            "ddr3": Configuration({"part": "ddr3-1600-module", "line": 32, "address_width": 16,
                                   "id_width": 2}),
            # SGMF, Table 1: lines of 128 bytes
            "ddr4": Configuration({"part": "ddr4-3200aa-x16", "line": 32, "address_width": 20,
                                   "id_width": 3}),
            "long": Configuration({"part": "ddr4-3200aa-x8", "line": 128, "address_width": 24,
                                   "id_width": 2}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.channel", checker=pins, quick=("beat",),
                      tests=("first_cycles", "one_after_the_other", "without_a_pause",
                             "reset_in_mid_run")),
            Testbench("refreshes", "cyclebound.tb.dataflow.channel", checker=pins, quick=(),
                      tests=("around_a_refresh",)),
        ),
        bounds=(
            BoundBinding("alone", channel_bounds.channel_alone, _channel(
                start=f"{taken('lines.request')} & ~lines.request.payload.write", classed=True)),
            BoundBinding("taken", channel_bounds.channel_taken, Probe(
                start=offered("lines.request"), end=taken("lines.request"))),
            BoundBinding("read", channel_bounds.channel_read, _channel(
                start=f"{taken('lines.request')} & ~lines.request.payload.write")),
        ),
        fpga=None,
        signals=("top.dut.lines__request__valid", "top.dut.lines__request__ready",
                 "top.dut.lines__response__valid", "top.command.op"),
    ),
    Block(
        name="dataflow.core",
        summary="a fabric above its first-level cache, which is flushed after each configuration",
        component=Core,
        configurations={
            "tiny": Configuration({**_EXPLORED["sum"], "tid_width": 5, "address_width": 6,
                                   "size": 16, "line": 2, "banks": 1, "ways": 2, "misses": 2,
                                   "targets": 2, "policy": "write-back", "replacement": "lru"}),
            "small": Configuration({**_SMALL, "size": 128, "line": 8, "banks": 2, "ways": 2,
                                    "misses": 2, "targets": 4, "policy": "write-back",
                                    "replacement": "lru"}),
            "through": Configuration({**_SMALL, "size": 128, "line": 8, "banks": 2, "ways": 2,
                                      "misses": 2, "targets": 4, "policy": "write-through",
                                      "replacement": "fifo"}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.core", quick=()),
            Testbench("reuse", "cyclebound.tb.dataflow.core", quick=(),
                      tests=("a_word_that_all_threads_load",), configurations=("small", "through")),
        ),
        bounds=(BoundBinding("completion", fabric_bounds.core_completion, _RUN),),
        properties=(Property(
            name="lines",
            quick=0,
            says="whatever the fabric does that keeps the rules of its ports: each access is "
                 "answered at most once, at the port that it came from; reads of lines that are "
                 "under way have ids of their own; done is set only while the fabric is, and no "
                 "line is on offer or under way",
            checker=CoreLinesProof,
            instances=({**_TINY_FABRIC, **_TINY_LINES},),
            depth=14,
            induction=None,
            flat=True,
            free=("fabric",),
        ),),
        checker=LinesCheck,
        fpga=None,
        signals=("top.dut.start", "top.dut.done", "top.dut.lines__request__valid",
                 "top.dut.lines__response__valid"),
    ),
    Block(
        name="dataflow.processor",
        summary="cores above a second level that they share, each with a range of the threads",
        component=Processor,
        configurations={
            "tiny": Configuration({**_EXPLORED["sum"], "cores": 2, "tid_width": 5,
                                   "address_width": 6, "size": 16, "line": 2, "banks": 1, "ways": 2,
                                   "misses": 2, "targets": 2, "policy": "write-back",
                                   "replacement": "lru", "l2_size": 24, "l2_banks": 3, "l2_ways": 2,
                                   "l2_misses": 2, "l2_targets": 2, "channels": 2}),
            "four": Configuration({**_SMALL, "cores": 4, "size": 128, "line": 8, "banks": 2,
                                   "ways": 2, "misses": 2, "targets": 4, "policy": "write-back",
                                   "replacement": "lru", "l2_size": 768, "l2_banks": 3,
                                   "l2_ways": 4, "l2_misses": 4, "l2_targets": 4, "channels": 3}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.processor", quick=(),
                      tests=("sums_of_arrays", "reset_in_mid_run"), configurations=("tiny",)),
            Testbench("many", "cyclebound.tb.dataflow.processor", quick=(),
                      tests=("sums_of_arrays", "a_word_that_all_threads_load"),
                      configurations=("four",)),
            Testbench("stores", "cyclebound.tb.dataflow.processor", quick=(),
                      tests=("words_of_one_line_from_several_cores",
                             "one_word_from_two_cores")),
        ),
        bounds=(BoundBinding("completion", fabric_bounds.processor_completion, _RUN),),
        properties=(
            Property(
                name="threads",
                quick=0,
                says="each thread runs on one core: sources and sinks of a core count those that "
                     "are left after the cores before it, its share at most, and its numbers go "
                     "on where theirs end; all other words come to each core as they are",
                checker=ThreadsProof,
                instances=(_TINY_PROCESSOR,),
                depth=18,  # a configuration of 16 words
                induction=2,
                free=("core_0", "core_1", "l2"),
            ),
            Property(
                name="lines",
                quick=0,
                says="whatever cores do that keep the rules of their ports: each read of a line is "
                     "answered at most once, to the core that asked; reads below have ids of their "
                     "own; "
                     "done is set only while all cores are, and no line is on offer or under way",
                checker=ProcessorLinesProof,
                instances=(_TINY_PROCESSOR,),
                depth=14,
                induction=None,
                flat=True,
                free=("core_0", "core_1"),
            ),
        ),
        checker=LinesCheck,
        fpga=None,
        signals=("top.dut.start", "top.dut.done", "top.dut.lines__0__request__valid",
                 "top.dut.lines__0__response__valid"),
    ),
    Block(
        name="dataflow.dram_processor",
        summary="that processor above DRAM: a controller and a part for each memory channel",
        component=DramProcessor,
        configurations={
            "tiny": Configuration({**_EXPLORED["sum"], "part": "ddr3-1600-module", "cores": 2,
                                   "tid_width": 5, "address_width": 8, "size": 128, "line": 4,
                                   "banks": 1, "ways": 2, "misses": 2, "targets": 2,
                                   "policy": "write-back", "replacement": "lru",
                                   "l2_size": 192, "l2_banks": 3, "l2_ways": 4, "l2_misses": 2,
                                   "l2_targets": 2, "channels": 2}),
            "small": Configuration({**_SMALL, "part": "ddr4-3200aa-x16", "cores": 2, "size": 256,
                                    "line": 16, "banks": 2, "ways": 2, "misses": 2, "targets": 4,
                                    "policy": "write-back", "replacement": "lru",
                                    "l2_size": 768, "l2_banks": 3, "l2_ways": 4, "l2_misses": 4,
                                    "l2_targets": 4, "channels": 3}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.dram_processor", quick=(),
                      tests=("reset_in_mid_run",)),
            Testbench("kernels", "cyclebound.tb.dataflow.dram_processor", quick=(),
                      tests=("sums_of_arrays",)),
            Testbench("reuse", "cyclebound.tb.dataflow.dram_processor", quick=(),
                      tests=("a_word_that_all_threads_load",), configurations=("small",)),
        ),
        bounds=(BoundBinding("completion", fabric_bounds.processor_completion, _RUN),),
        checker=StreamsCheck,
        fpga=None,
        signals=("top.dut.start", "top.dut.done", "top.dut.drams__0__command.op"),
    ),
)
