# amaranth: UnusedElaboratable=no
"""The many-core's memory path: parameters, addresses, what is asked of it, the RTL, the command."""

import json
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Const

from cyclebound.golden.dram.timing import DDR3_1600_MODULE
from cyclebound.golden.noc import execution_model_bounds as scheduled
from cyclebound.golden.noc import many_core as golden
from cyclebound.golden.noc.end_to_end_data import word
from cyclebound.golden.noc.execution_model import Hardware
from cyclebound.golden.noc.many_core_data import command_bits, interleaved, row_bits, tile_bits
from cyclebound.golden.noc.routes import Mesh
from cyclebound.hdl.dram.multi_port_front_end import MultiPortFrontEnd
from cyclebound.hdl.noc.command_packets import CommandReceiver
from cyclebound.hdl.noc.many_core import ManyCore
from cyclebound.hdl.noc.shared_dram import SharedDram
from cyclebound.sim import catalogue
from cyclebound.sim.describe.block import Block, Configuration, Testbench
from cyclebound.sim.families.noc.run import _room
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tb.noc.many_core import rivals
from cyclebound.tools.noc.allocate import greedy
from cyclebound.tools.noc.system_file import SYSTEM_EXAMPLE, parse_system, system_text
from kit.faults import edited

unit = pytest.mark.unit
TINY = {"rows": 1, "columns": 2, "io": 0, "banks": 2, "words": 64, "requesters": 3, "slots": 4,
        "packets": 2, "delta": 2, "quarters": 3, "cap": 9, "part": "ddr3-1600-module",
        "interleaved": 0, "io_core": 0}


@unit
@pytest.mark.parametrize(("changes", "kind", "message"), [
    ({"rows": 0}, ValueError, "rows must be from 1 to 16, not 0"),
    ({"columns": 1}, ValueError, "places of the mesh must be from 2 to 9, not 1"),
    ({"rows": 3, "columns": 4}, ValueError, "places of the mesh must be from 2 to 9, not 12"),
    ({"io": 2}, ValueError, "the I/O tile must be from 0 to 1, not 2"),
    ({"banks": 1}, ValueError, "banks must be from 2 to 64, not 1"),
    ({"words": 48}, ValueError, "words must be a power of two from 16 to 32768, not 48"),
    ({"words": 8}, ValueError, "words must be a power of two from 16 to 32768, not 8"),
    ({"requesters": 2}, ValueError, "requesters must be from 3 to 32, not 2"),
    ({"slots": 1}, ValueError, "slots must be a power of two from 2 to 256, not 1"),
    ({"packets": 1}, ValueError, "packets must be at least 2, not 1"),
    ({"quarters": 0}, ValueError, "quarters must be from 1 to 4, not 0"),
    ({"cap": 0}, ValueError, "cap must be at least 1, not 0"),
    ({"io_core": -1}, ValueError, "io_core must be from 0 to 65536, not -1"),
    ({"interleaved": 2}, ValueError, "interleaved must be from 0 to 1, not 2"),
    ({"delta": "5"}, TypeError, "delta must be an integer, not '5'")])
def test_refuses(changes, kind, message):
    with pytest.raises(kind, match=f"^{message}$"):
        ManyCore(**{**TINY, **changes})


@unit
def test_a_tiny_one_converts():
    assert "attribute \\top 1" in rtlil.convert(ManyCore(**TINY))


@unit
def test_an_address_has_room_for_rows():
    """5 bits of a word, 7 of a burst, 3 of a bank: 16 are left for the tile and the row."""
    assert [row_bits("ddr3-1600-module", tiles) for tiles in (1, 2, 4, 5, 8)] == [15, 15, 14, 13,
                                                                                13]
    small = replace(DDR3_1600_MODULE, rows=16)
    assert row_bits(small, 8) == 4
    with pytest.raises(ValueError, match="must have room for a row"):
        row_bits(replace(DDR3_1600_MODULE, columns=1 << 27), 4)
    assert [tile_bits(tiles) for tiles in (1, 2, 3, 5, 8)] == [1, 1, 2, 3, 3]


@unit
def test_interleaved_addresses_are_in_all_banks_by_turns():
    """Each place is another one, bursts that follow each other are in banks that do, and as many
    as a row of each bank has share these rows."""
    dram = replace(DDR3_1600_MODULE, rows=4, columns=32)
    bursts, rows = dram.bursts_per_row, dram.rows
    places = [interleaved(bank, row, column, dram) for bank in range(dram.banks)
              for row in range(rows) for column in range(bursts)]
    assert len(set(places)) == len(places) == dram.banks * rows * bursts
    assert [bank for bank, _, _ in places] == [number % dram.banks for number in range(len(places))]
    for first in range(0, len(places), dram.banks * bursts):
        assert {row for _, row, _ in places[first:first + dram.banks * bursts]} == {
            first // (dram.banks * bursts)}


@unit
def test_interleaved_a_transaction_is_in_all_banks():
    system = parse_system(SYSTEM_EXAMPLE)
    allocation = greedy(system)
    spread, one_bank = (golden.at_once(system, allocation, range(7), own_banks=True, interleaved=on)
                        for on in (True, False))
    assert [one.claim["spread"] for one in spread] == [min(8, one.bursts) for one in spread]
    assert {one.claim["spread"] for one in one_bank} == {1}
    assert {one.claim["met"] for one in spread} == {golden.ANY}
    assert all(golden.bound(one, system.hardware) > golden.bound(other, system.hardware)
               for one, other in zip(spread, one_bank, strict=True))


@unit
@pytest.mark.parametrize("changes", [{}, {"banks": 3, "words": 32}, {"columns": 5, "slots": 8}])
def test_a_command_is_as_long_as_its_fields(changes):
    parameters = {**TINY, **changes, "io_core": 3}
    system = ManyCore(**parameters)
    assert len(system.reads[0].payload.as_value()) == command_bits(
        system.part, system.tiles, parameters["banks"], parameters["words"])


@unit
def test_who_sends_commands():
    """A read of a tile waits for its writes, and these for its command; a tile without a write has
    no window for commands."""
    system = parse_system(SYSTEM_EXAMPLE)
    allocation = greedy(system)
    told = golden.at_once(system, allocation, range(7), own_banks=True)
    writes = {one.tile for one in told if one.write}
    reads = [one for one in told if not one.write]
    with pytest.raises(ValueError, match=f"^{reads[0].name} needs a write of its tile, in whose "
                                         "window commands are sent$"):
        golden._commanded(reads, system, 9)

    pair = golden._commanded([one for one in told if one.tile in writes], system, 9)
    for one, before in zip(pair, [one for one in told if one.tile in writes], strict=True):
        more = golden.bound(one, system.hardware) - golden.bound(before, system.hardware)
        asks = not one.write or any(other.tile == one.tile and not other.write for other in pair)
        assert (more > 0) == asks
        assert one.bound_named == ("scheduled_write" if one.write else "commanded_read")


@unit
def test_seeds_tell_transactions_apart():
    assert word(5, 512) == word(5, 512, 0)
    assert len({word(5, 512, seed) for seed in range(1 << 16)}) == 1 << 16


@unit
def test_what_an_allocation_asks_for():
    system = parse_system(SYSTEM_EXAMPLE)
    allocation = greedy(system)
    transactions = {one.name: one for one in golden.asked(system, allocation)}
    assert len(transactions) == 7
    path = transactions["planner.path"]
    assert (path.tile, path.write, path.bursts, path.period) == (2, True, 4, 16384)
    for one in transactions.values():
        place = allocation.places[one.name]
        assert one.start == 512 * place.start
        # the model rounds cycles of the network up
        assert system.hardware.cycles(golden.bound(one, system.hardware)) == place.bound
    windows = golden.windows(system, allocation)
    assert set(windows) == {(0, True), (0, False), (1, True), (1, False), (2, True), (2, False)}
    assert list(golden.misfits(system)) == []


@unit
def test_a_row_that_no_address_reaches_is_named():
    system = parse_system(SYSTEM_EXAMPLE.replace('name = "frame"\nbytes', 'name = "frame"\nrow = '
                                                 '8192\nbytes', 1))
    (said,) = golden.misfits(system)
    assert said == ("row of camera.frame must be below 8192, as an address header has no room for "
                    "more, not 8192")


@unit
def test_without_a_table_all_flows_are_masters():
    system = parse_system(SYSTEM_EXAMPLE)
    allocation = greedy(system)
    own, any_bank = (golden.at_once(system, allocation, range(7), own_banks=own)
                     for own in (True, False))
    assert [one.start for one in own] == list(range(7))
    assert {one.claim["masters"] for one in own} == {6}
    assert all(one.claim["mixed"] for one in own)
    assert all(golden.bound(one, system.hardware) <= golden.bound(other, system.hardware)
               for one, other in zip(own, any_bank, strict=True))


def _simulated(component, tmp_path, tests=("everywhere_at_once",), module="many_core", **changes):
    named = catalogue.load().find("noc.many_core")
    block = Block(name="noc.many_core", summary="", component=component,
                  configurations={"own": Configuration({**TINY, **changes})},
                  testbenches=(Testbench("t", f"cyclebound.tb.noc.{module}", tests=tests,
                                        max_cycles=50_000_000),),
                  bounds=tuple(replace(binding, configurations=()) for binding in named.bounds),
                  fpga=None, signals=())
    return simulate(block, Job("noc.many_core", "own", "t", 1, str(tmp_path)))


class Remembers(ManyCore):
    """Its front end loses a cycle where another master than before asks."""

    @cached_property
    def dram(self):
        front = edited(
            MultiPortFrontEnd.__module__,
            ("m.d.comb += load.eq(~source.valid | source.ready)",
             ("another, lost, last = Signal(), Signal(), Signal(range(ports))\n"
              "        m.d.comb += load.eq((~source.valid | source.ready) & ~another)")),
            ("m.d.comb += granted.eq(Cat(Cat(grant).any() for grant in grants))",
             ("m.d.comb += granted.eq(Cat(Cat(grant).any() for grant in grants))\n"
              "        m.d.comb += another.eq(valid.any() & ~lost & ~source.valid\n"
              "                               & ~granted.bit_select(last, 1))\n"
              "        m.d.sync += lost.eq(another)\n"
              "        with m.If(load & valid.any()):\n"
              "            m.d.sync += last.eq(_chosen(granted, range(ports)))")))
        made = edited(SharedDram.__module__)
        made.MultiPortFrontEnd = front.MultiPortFrontEnd
        return made.SharedDram(**self._shared, cap=self.cap, part=self.part,
                               interleaved=self.interleaved)


@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize(("component", "passes"), [(ManyCore, True), (Remembers, False)])
def test_with_one_at_a_time_others_are_not_seen(tmp_path, component, passes):
    """K = 1; a system that owes a cycle to who asked before is not composable."""
    outcome = _simulated(component, tmp_path, ("composable",), "many_core_composable", columns=3)
    assert outcome.passed == passes, outcome.reason
    assert passes or "beside others in their slots" in outcome.reason


class WrongRow(ManyCore):
    """A write goes to another row."""

    def _address(self, number, place):
        return super()._address(number, place) ^ (1 << 12)


@pytest.mark.thorough
@pytest.mark.cosim
def test_a_tiny_one_moves_all_data(tmp_path):
    outcome = _simulated(ManyCore, tmp_path)
    assert outcome.passed, outcome.reason


@pytest.mark.thorough
@pytest.mark.cosim
def test_a_tiny_one_with_interleaved_addresses(tmp_path):
    outcome = _simulated(ManyCore, tmp_path, ("interleaved",), interleaved=1)
    assert outcome.passed, outcome.reason
    assert {group.what for group in outcome.groups} == {"scheduled_write", "scheduled_read"}


@pytest.mark.thorough
@pytest.mark.cosim
def test_a_tiny_one_that_asks_for_its_reads(tmp_path):
    outcome = _simulated(ManyCore, tmp_path, ("commanded",), io_core=1)
    assert outcome.passed, outcome.reason
    assert {group.what for group in outcome.groups} == {"scheduled_write", "commanded_read"}


class Hangs(ManyCore):
    """It waits for words of a read that was never asked for."""

    def _commands(self, m, number, tile, sender, goes):
        super()._commands(m, number, tile, SimpleNamespace(
            transactions=sender.transactions, words=sender.words, refused=Const(0)), goes)


@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize(("component", "passes"), [(ManyCore, True), (Hangs, False)])
def test_a_tile_without_a_window_has_its_reads_refused(tmp_path, component, passes):
    """Each of them: the tile goes on, though the I/O tile was never asked. Nor is a transaction
    taken that has more bursts than there is room for, two here."""
    outcome = _simulated(component, tmp_path, ("commanded", "transactions_that_are_none"),
                         io_core=1, columns=3, slots=2)
    assert outcome.passed == passes, outcome.reason


@unit
def test_room_for_the_longest_transaction():
    system = parse_system(SYSTEM_EXAMPLE)
    transactions = golden.asked(system, greedy(system))
    assert max(one.bursts for one in transactions) == 64
    assert _room(transactions) == 64
    assert [_room([replace(transactions[0], bursts=many)]) for many in (1, 2, 3, 33, 128)] == [
        2, 2, 4, 64, 128]


class SlowCore(ManyCore):
    """The I/O tile's core takes longer than it says."""

    @cached_property
    def _cores(self):
        return [CommandReceiver(shape=read.payload.shape(), latency=self.io_core + 4000)
                for read in self.reads]


@pytest.mark.thorough
@pytest.mark.cosim
def test_a_slow_core_breaks_the_bound(tmp_path):
    outcome = _simulated(SlowCore, tmp_path, ("commanded",), io_core=1)
    longest = {group.latency for group in outcome.groups if group.what == "commanded_read"}
    assert max(longest) > 4000
    assert any(group.latency > scheduled.commanded_read(**_claim(group))
               for group in outcome.groups if group.what == "commanded_read")


def _claim(group):
    return {**{name: value for name, value in group.parameters.items() if name != "words"},
            **{name: TINY[name] for name in ("delta", "quarters", "cap", "part")}}


class Contiguous(ManyCore):
    """Its addresses are not interleaved."""

    def __init__(self, *, interleaved, **parameters):
        super().__init__(interleaved=0, **parameters)


@pytest.mark.thorough
@pytest.mark.cosim
def test_contiguous_addresses_are_no_interleaved_ones(tmp_path):
    outcome = _simulated(Contiguous, tmp_path, ("interleaved",), interleaved=1)
    assert not outcome.passed
    assert "wrote" in outcome.reason


@pytest.mark.thorough
@pytest.mark.cosim
def test_a_write_to_another_row_is_seen(tmp_path):
    outcome = _simulated(WrongRow, tmp_path)
    assert not outcome.passed
    assert "wrote" in outcome.reason


# The command

SMALL = system_text(parse_system("""
[hardware]
rows = 1
columns = 2
io = [0, 0]
banks = 2
bank_bytes = 512
delta = 2

[[application]]
name = "a"
tile = [0, 1]

[[application.transaction]]
name = "w"
bytes = 256
direction = "write"
period = 2048

[[application]]
name = "b"
tile = [0, 1]

[[application.transaction]]
name = "r"
bytes = 512
direction = "read"
period = 4096
"""))


@pytest.mark.system
@pytest.mark.cosim
def test_a_users_system_on_the_rtl(call, tmp_path):
    (tmp_path / "s.toml").write_text(SMALL)
    said = call("noc", "run", "s.toml", "--hyperperiods", "3", "--json")
    assert said.returncode == 0, said.stderr
    rows = {row["name"]: row for row in json.loads(said.stdout)}
    assert {name: row["times"] for name, row in rows.items()} == {"a.w": 6, "b.r": 3}
    assert all(0 < row["longest"] <= row["bound"] for row in rows.values())


@pytest.mark.system
@pytest.mark.parametrize(("change", "says"), [
    (("rows = 1\ncolumns = 2", "rows = 4\ncolumns = 4"),
     "places of the mesh must be from 2 to 9, not 16"),
    (("bank_bytes = 512", "bank_bytes = 1000"),
     "bank_bytes must be a power of two of 128 at least, not 1000"),
    (("row = 0", "row = 40000"),
     "row of a.w must be below 32768, as an address header has no room for more, not 40000")])
def test_what_the_hardware_does_not_have_is_named(call, tmp_path, change, says):
    assert change[0] in SMALL
    (tmp_path / "s.toml").write_text(SMALL.replace(*change, 1))
    said = call("noc", "run", "s.toml")
    assert (said.returncode, said.stderr.strip()) == (2, f"cyclebound: {says}")


@unit
def test_who_asks_where_a_bank_is_shared():
    """One bank a tile, the one of most; of a read, what comes in is one of the requesters."""
    system = parse_system(SYSTEM_EXAMPLE)
    one = golden.asked(system, greedy(system))[0]

    def at(local, many, *, write):
        return replace(one, tile=1, local=local, write=write,
                       claim={**one.claim, "requesters": many})

    assert rivals([at(0, 1, write=True), at(1, 1, write=False)]) == {}
    assert rivals([at(0, 2, write=False)]) == {(1, 0): 1}
    assert rivals([at(0, 2, write=False), at(1, 3, write=True)]) == {(1, 1): 3}
    assert rivals([at(1, 3, write=True), at(0, 2, write=True)]) == {(1, 1): 3}


@unit
def test_hardware_is_the_systems():
    system = parse_system(SMALL)
    assert golden.hardware_of(system) == {
        "rows": 1, "columns": 2, "io": 0, "banks": 2, "words": 64, "delta": 2, "quarters": 3,
        "cap": 9, "part": "ddr3-1600-module"}
    assert golden.compute_tiles(Mesh(2, 3), Hardware().io) == [(0, 0), (0, 1), (1, 0), (1, 1),
                                                               (1, 2)]
