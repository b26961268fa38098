"""From a core to DDR3, and back (memory-composition, II and V)."""

import functools
from collections.abc import Callable, Mapping

from amaranth.lib import wiring

from cyclebound.golden.dram.small_part import SMALL_SYSTEM, SMALL_TABLE, on_small_part
from cyclebound.golden.noc import end_to_end as bounds
from cyclebound.golden.noc import end_to_end_read as reads
from cyclebound.golden.noc import execution_model_bounds as scheduled
from cyclebound.hdl.noc.end_to_end import EndToEnd
from cyclebound.hdl.noc.end_to_end_read import EndToEndRead
from cyclebound.hdl.noc.many_core import ManyCore
from cyclebound.hdl.noc.read_sink import ReadSink
from cyclebound.hdl.noc.shared_dram import SharedDram
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    Picture,
    Property,
    Testbench,
)
from cyclebound.tb.dram.page_controller_properties import SystemPagesProof
from cyclebound.tb.dram.timing_properties import DramTimingCheck
from cyclebound.tb.noc.read_sink_properties import ReadSinkProof
from cyclebound.tb.noc.shared_dram_properties import InTimeProof, OwnRowsProof
from cyclebound.tb.probe import Probe, taken

_PAPER = {"requesters": 11, "nbytes": 4096, "delta": 5, "rivals": 7, "quarters": 3,
          "cap": 9, "part": "ddr3-1600-module"}

# the core's first word is on offer; the last flit of the first packet is read
_WRITING = "network & first(network & writing, start)"
_READ = "first(nth(read, packet_flits), start)"
# a descriptor is taken; the last flit of its first packet is passed on
_TAKEN = "reads.valid & reads.ready"
_PASSED = f"first(nth(passed, packet_flits), {_TAKEN})"


def _later(event: str, cycles: int = 1) -> str:
    """So many cycles of the network after an event that is seen in one."""
    for _ in range(cycles):
        event = f"network & past(held({event}, network))"
    return event


_WHOLE = Probe(start=_WRITING, ends="slots", classed=True,
               end="bus.valid & bus.write & (bus.beat == 3) & (bus.tag < slots)")


def dram_timing_check(system):
    """The checker of a system's pins."""
    return DramTimingCheck(part=system.part)


# for proofs: every rule of a part in few clocks, and the network as fast as DDR3
_SMALL = {"delta": 2, "quarters": 4, "cap": 1, "part": SMALL_SYSTEM.name}


def _commands(make: Callable[..., wiring.Component],
              pages_of: Callable[[wiring.Component], wiring.Component],
              instance: Mapping[str, object]) -> Property:
    """That a system keeps the rules of its DRAM, ``pages_of`` it being the page controller."""
    return Property(
        name="commands",
        quick=0,
        says="no command on the pins breaks a rule of the part, but for the greatest distance of "
             "refreshes, and each read or write is the one that the page controller was asked for; "
             "its requests stay until they are taken; whatever cores, rivals and windows do",
        checker=lambda system: SystemPagesProof(system, pages_of(system)),
        instances=(instance,),
        depth=16,
        induction=2,
        top=on_small_part(make),
    )


_MANY_CORE = {  # of the paper's sizes
    "rows": 2, "columns": 3, "io": 2, "banks": 8, "words": 2048, "requesters": 12, "slots": 128,
    "packets": 2, "delta": 5, "quarters": 3, "cap": 9, "part": "ddr3-1600-module", "interleaved": 0,
    "io_core": 0}
_OWN_ROWS = Property(
    name="own_rows",
    quick=0,
    says="while a table lets no request to another row of a bank come before all of that bank's "
         "are decided on, requests of two transactions never wait together in front end, queue or "
         "controller, and no row is closed before its transaction is over, but for a refresh; "
         "whatever two masters ask for, and whenever",
    checker=OwnRowsProof,
    instances=({"masters": 2, "rivals": 0, "slot_bits": 1, "cap": 1, "part": SMALL_SYSTEM.name},),
    depth=19,
    induction=3,
    top=on_small_part(SharedDram),
    flat=True,
)

_IN_TIME = Property(
    name="in_time",
    quick=0,
    says="with K = 1: from any state in which no request waits, a transaction of up to 2 requests "
         "to one row is decided on within `decided` cycles from its first request's offer, while "
         "no other master asks for so long; after it, the next may begin in such a state",
    checker=InTimeProof,
    instances=({"masters": 2, "rivals": 0, "slot_bits": 1, "cap": 1, "part": SMALL_TABLE.name},),
    depth=30,
    induction=None,
    top=on_small_part(SharedDram),
    anywhere=True,
    flat=True,
)


def _keeps_up(name: str, row: int, *requesters: int, rest: int = 0) -> Property:
    """That the sink of reads never lets its link wait, in windows of ``row`` packets and ``rest``
    cycles more."""
    return Property(
        name=name,
        quick=0,
        says=f"the receiver and its bank take each flit in the cycle in which it comes, with "
             f"windows of {row} packets{f' and {rest} cycles more' * (rest > 0)} and room for 2, "
             "in the shortest period that "
             "`receiver_keeps_up` allows, whatever packets these windows bring, and whenever all "
             "other requesters ask",
        checker=functools.partial(ReadSinkProof, row=row, rest=rest),
        instances=tuple({"requesters": many, "words": 4, "payload": 4, "packets": 2}
                        for many in requesters),
        depth=31,
        induction=31,
        top=ReadSink,
        flat=True,
    )


_probe = functools.partial(Probe, ticks="network", unit="network cycles")

BLOCKS = (
    Block(
        name="noc.end_to_end",
        summary="a write from a core over SRAM, DMA, four routers and reorder core to DDR3",
        component=EndToEnd,
        configurations={"paper": Configuration(_PAPER)},
        testbenches=(
            Testbench("cycle", "cyclebound.tb.noc.end_to_end"),
            Testbench("sweep", "cyclebound.tb.noc.end_to_end", thorough=True,
                      max_cycles=50_000_000,
                      tests=("every_number_of_requesters", "every_number_of_rivals",
                             "anywhere_in_the_period")),
            Testbench("search", "cyclebound.tb.noc.end_to_end_search", thorough=True,
                      max_cycles=50_000_000, searches=True),
            Testbench("table", "cyclebound.tb.noc.end_to_end_table", quick=(),
                      tests=("from_searched_starts",)),
            Testbench("table_search", "cyclebound.tb.noc.end_to_end_table", thorough=True,
                      max_cycles=50_000_000, searches=True),
        ),
        bounds=(
            BoundBinding("fill", bounds.fill, probe=_probe(
                start=_WRITING, end=_later("filled"), classed=True)),
            BoundBinding("first_packet", bounds.first_packet, probe=_probe(
                start=_later("filled", 2), end=_later(_READ), classed=True)),
            BoundBinding("flow", bounds.flow, probe=_probe(
                start=_later(_READ, 2), end="arrived", ends="packets",
                classed=True)),
            BoundBinding("total", bounds.total, probe=_WHOLE),
            BoundBinding("scheduled_write", scheduled.scheduled_write, probe=_WHOLE),
        ),
        properties=(_commands(EndToEnd, lambda system: system.parts["dram"].parts["pages"], {
            "requesters": 2, "nbytes": 256, "rivals": 1, **_SMALL}),),
        checker=dram_timing_check,
        signals=("top.dut.writing", "top.dut.filled", "top.dut.read", "top.dut.header",
                 "top.dut.arrived", "top.dut.asked", "top.dut.command", "top.dut.bus"),
        pictures=(Picture(
            "stages", "What each stage took, and may take, from the core's first word to DDR3's "
            "last beat: N_req at local memory, N_trans at DDR3.",
            "cyclebound.sim.pictures.end_to_end:stages", kept="stages.json",
            testbenches=("sweep", "cycle")),),
    ),
    Block(
        name="noc.end_to_end_read",
        summary="a read from DDR3 over reorder core, DMA and four routers to a core's memory",
        component=EndToEndRead,
        configurations={
            "paper": Configuration({**_PAPER, "packets": 2}),
            "room": Configuration({**_PAPER, "packets": 16}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.noc.end_to_end_read", quick=(), tests=(
                "alone", "all_at_once", "found_by_the_search", "without_the_rule",
                "right_after_reset",
                "parts_of_rows_and_reads_that_are_none")),
            Testbench("sweep", "cyclebound.tb.noc.end_to_end_read", thorough=True,
                      max_cycles=50_000_000,
                      tests=("every_number_of_requesters", "every_number_of_rivals",
                             "anywhere_in_the_period")),
        ),
        bounds=(
            BoundBinding("data", reads.read_data, probe=Probe(
                start=_TAKEN, end="bus.valid & ~bus.write & (bus.beat == 3) & (bus.tag < slots)",
                ends="slots", classed=True)),
            BoundBinding("flow", reads.read_flow, probe=_probe(
                start=_later(_PASSED, 2), end="arrived", ends="flow_packets", classed=True)),
            BoundBinding("stored", reads.read_stored, probe=_probe(
                start=_later("nth(arrived, flow_packets)"), end="stored & nth(stored, words)",
                classed=True)),
            BoundBinding("total", reads.read_total, probe=Probe(
                start=_TAKEN, end="stored & nth(stored, words)", classed=True)),
        ),
        properties=(_commands(EndToEndRead, lambda system: system.parts["dram"].parts["pages"], {
            "requesters": 2, "nbytes": 256, "rivals": 1, "packets": 2, **_SMALL}),
            _keeps_up("keeps_up", 2, 3, 5), _keeps_up("has_room", 3, 3),
            _keeps_up("shorter", 2, 5, rest=3)),
        checker=dram_timing_check,
        signals=("top.dut.reads__valid", "top.dut.reads__ready", "top.dut.asked",
                 "top.dut.passed", "top.dut.header", "top.dut.arrived", "top.dut.stalled",
                 "top.dut.stored", "top.dut.command", "top.dut.bus"),
        pictures=(Picture(
            "stages", "What each stage took, and may take, from the descriptor to the last word in "
            "local memory: N_req at its bank, N_trans at DDR3.",
            "cyclebound.sim.pictures.end_to_end:stages", kept="stages.json",
            testbenches=("sweep", "cycle")),),
    ),
    Block(
        name="noc.many_core",
        summary="compute tiles, network, I/O tile and DDR3: writes and reads of all tiles at once",
        component=ManyCore,
        configurations={
            "small": Configuration({
                "rows": 1, "columns": 3, "io": 1, "banks": 2, "words": 256, "requesters": 4,
                "slots": 16, "packets": 2, "delta": 2, "quarters": 3, "cap": 9,
                "part": "ddr3-1600-module", "interleaved": 0, "io_core": 0}),
            "paper": Configuration(_MANY_CORE),
            "interleaved": Configuration({**_MANY_CORE, "interleaved": 1}),
            "commands": Configuration({**_MANY_CORE, "io_core": 40}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.noc.many_core", configurations=("small", "paper"),
                      quick=(), tests=(
                "a_table_that_holds", "everywhere_at_once", "transactions_that_are_none")),
            Testbench("interleaved", "cyclebound.tb.noc.many_core", thorough=True,
                      configurations=("interleaved",), max_cycles=50_000_000,
                      tests=("interleaved", "transactions_that_are_none")),
            Testbench("commands", "cyclebound.tb.noc.many_core", thorough=True,
                      configurations=("commands",), max_cycles=50_000_000,
                      tests=("commanded", "commanded_alone",
                             "transactions_that_are_none")),
            Testbench("refreshed", "cyclebound.tb.noc.many_core_composable", thorough=True,
                      configurations=("small",), max_cycles=50_000_000,
                      tests=("what_a_refresh_tells",)),
            Testbench("composable", "cyclebound.tb.noc.many_core_composable", thorough=True,
                      configurations=("paper",), max_cycles=50_000_000, tests=("composable",)),
            Testbench("applications", "cyclebound.tb.noc.many_core", thorough=True,
                      configurations=("small", "paper"),
                      max_cycles=50_000_000,
                      tests=("many_tables", "from_two_to_eight", "random_banks")),
        ),
        bounds=(
            BoundBinding("scheduled_write", scheduled.scheduled_write, probe=Probe(
                start=f"network & first(network & writing[t], {taken('writes[t]')})",
                end="bus.valid & bus.write & (bus.beat == 3) & (port == t)",
                ends="writes[t].payload.bursts", over={"t": "tiles"}, classed=True)),
            *(BoundBinding(claim.name, claim, probe=Probe(
                start=taken("reads[t]"), end="stored[t]", ends="declared.words",
                over={"t": "tiles"}, classed=True), configurations=where)
              for claim, where in (
                  (scheduled.scheduled_read, ("small", "paper", "interleaved")),
                  (scheduled.commanded_read, ("commands",)))),
        ),
        properties=(_commands(ManyCore, lambda system: system.dram.parts["pages"], {
            "rows": 1, "columns": 2, "io": 1, "banks": 2, "words": 64, "requesters": 4, "slots": 2,
            "packets": 2, **_SMALL}), _OWN_ROWS, _IN_TIME),
        checker=dram_timing_check,
        signals=("top.dut.writing", "top.dut.stored", "top.dut.refused", "top.dut.stalled",
                 "top.dut.overrun", "top.dut.command", "top.dut.bus"),
        pictures=(Picture(
            "composable", "When each burst of a write and of a read is moved, the other flows "
            "silent or active, with a table and without.",
            "cyclebound.sim.pictures.many_core:composable", kept="bursts.json",
            testbenches=("composable",)),),
    ),
)
