"""Blocks at the entrance of the DRAM path: which words a request may touch."""

import functools

from cyclebound.golden.dram import pipeline_bounds as bounds
from cyclebound.hdl.dram.buffer_table import BufferTable
from cyclebound.hdl.dram.index_iterator import IndexIterator
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dram.buffer_table_properties import (
    BufferTableCheck,
    BufferTableProof,
    BufferTableTimingProof,
    BufferTableWaitProof,
)
from cyclebound.tb.dram.buffer_table_wide import BufferTableWideProof
from cyclebound.tb.dram.index_iterator_properties import (
    IndexIteratorCheck,
    IndexIteratorObserver,
    IndexIteratorProof,
)
from cyclebound.tb.probe import Probe

_ANSWERED = "(tile.valid | refusal.valid)"
_LEGAL = ("(indexes.payload.end == 0) & "
          "(indexes.payload.index < held(limit, tile.valid & tile.ready))")


def _no_parameters(instance):
    """Every request is of one kind."""
    return {}


def _waits(name, mappings, says):
    """With mappings, or without any."""
    return Property(
        name=name,
        quick=0,
        says=says,
        checker=functools.partial(BufferTableWaitProof, mappings=bool(mappings)),
        declares={"wait": lambda instance: {"mappings": mappings}},
        assumes={**_OFFERS, "a sink is not ready": "tiles and refusals are taken at once",
                 **({} if mappings else {"a mapping is asked for": "without, none"})},
        instances=(_TINY, _PAPER),
        depth=16,
        induction=2,
    )


_OFFERS = dict.fromkeys(
    (f"{name} on offer withdrawn or changed" for name in ("mapping", "request")),
    "what is offered stays until it is taken")
_TINY = {"buffers": 2, "address_bits": 6, "count_bits": 3, "capacity": 50}
# Sim-D, section 3.2.4 and its model: 32 buffers; a 4 GiB device
_PAPER = {"buffers": 32}


BLOCKS = (
    Block(
        name="dram.buffer_table",
        summary="mapped buffers: a request becomes a tile inside its buffer, or is refused",
        component=BufferTable,
        configurations={
            "tiny": Configuration(_TINY),
            "paper": Configuration(_PAPER),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dram.buffer_table", quick=("tiny",)),),
        bounds=(
            BoundBinding("lookup", bounds.buffer_lookup, proved_by=("timing",),
                         probe=Probe(start="request.valid & request.ready",
                                     end=f"{_ANSWERED} & ~past({_ANSWERED})")),
            BoundBinding("mapping", bounds.buffer_mapping, proved_by=("timing",),
                         probe=Probe(start="mapping.valid & mapping.ready", end="mapped")),
            BoundBinding("wait", bounds.buffer_wait, proved_by=("turns", "queries"),
                         probe=Probe(start="request.valid & ~past(request.valid & ~request.ready)",
                                     end="request.valid & request.ready")),
        ),
        properties=(
            Property(
                name="timing",
                quick=1,
                says="a request is taken within 14 cycles of ready sinks, and answered in the "
                     "seventh cycle, once, by a tile or a refusal; a mapping is reported in the "
                     "seventh cycle",
                checker=BufferTableTimingProof,
                assumes=_OFFERS,
                declares={"lookup": _no_parameters, "mapping": _no_parameters},
                instances=(_TINY, _PAPER),
                depth=16,
                induction=2,
            ),
            _waits("turns", 1, "where sinks are ready, a request waits for one mapping at most"),
            _waits("queries", 0, "where sinks are ready and nothing is mapped, a request waits for "
                   "one other at most"),
            Property(
                name="inside",
                quick=0,
                says="every tile that leaves has words and lines, and all of them in its buffer, "
                     "which lies in the device; whatever is requested and mapped. A refusal is "
                     "for the first reason that applies",
                checker=BufferTableProof,
                instances=({"buffers": 2, "address_bits": 4, "count_bits": 2, "capacity": 13},),
                depth=16,
                induction=8,
            ),
            Property(
                name="inside_wide",
                quick=0,
                says="the same at full width, with what is multiplied by the table known by the "
                     "laws of products only",
                checker=BufferTableWideProof,
                instances=({"buffers": 32, "address_bits": 30, "count_bits": 20,
                            "capacity": 1 << 30},),
                depth=lambda instance: 9 if instance["address_bits"] > 6 else 16,
                induction=4,
                any_product=True,
                covered=_TINY,
            ),
        ),
        checker=BufferTableCheck,
        mutants=MutationTarget("tiny"),
        fpga=FpgaTarget("paper"),
        signals=("top.dut.request__valid", "top.dut.request__ready", "top.dut.stage",
                 "top.dut.tile__valid", "top.dut.refusal__valid"),
    ),
    Block(
        name="dram.index_iterator",
        summary="one burst for each index of an indexed request, one index in a cycle",
        component=IndexIterator,
        configurations={"paper": Configuration({}, domain={"indexes": range(41)})},
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dram.index_iterator"),
            Testbench("work_group", "cyclebound.tb.dram.index_iterator", quick=(),
                      tests=("a_work_group_of_indexes",)),
        ),
        bounds=(
            BoundBinding("burst", bounds.index_burst, probe=Probe(
                start=f"indexes.valid & indexes.ready & {_LEGAL}",
                end="bursts.valid & ~past(bursts.valid & ~bursts.ready)", in_flight=4)),
            BoundBinding("request", bounds.index_request, exhaustive=True,
                         probe=Probe(start="tile.valid & tile.ready", end="done",
                                     conditions={"indexes": "observer.number"},
                                     observer=IndexIteratorObserver)),
        ),
        properties=(
            Property(
                name="inside",
                quick=0,
                says="every burst has one word enabled, and it lies in the buffer, whatever the "
                     "indexes; a burst comes in the third cycle after what decides about it, and "
                     "`done` after the last",
                checker=IndexIteratorProof,
                instances=({},),
                depth=7,
                induction=2,
            ),
        ),
        checker=IndexIteratorCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.tile__valid", "top.dut.indexes__valid", "top.dut.indexes__ready",
                 "top.dut.bursts__valid", "top.dut.done"),
    ),
)
