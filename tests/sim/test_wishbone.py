# amaranth: UnusedElaboratable=no
"""Wishbone: the interface, registers for streams, paths to a memory, and shells with them."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module
from amaranth.lib import wiring

from cyclebound.golden.wishbone import RegisterMap, RegisterStream
from cyclebound.golden.wishbone_bounds import memory_access, register_access
from cyclebound.hdl.sram.banked_memory import BankedMemory
from cyclebound.hdl.wishbone import MemoryPaths, StreamRegisters, WishboneSignature
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.export.shells import wishbone
from cyclebound.sim.export.verilog import export, lint, warnings
from kit.run_bench import run_bench

unit, system = pytest.mark.unit, pytest.mark.system
PAGES = Path(__file__).parent / "pages"
STREAMS = (RegisterStream("wide", 70, True), RegisterStream("tick", 0, True),
           RegisterStream("back", 33, False))


# -- the interface, the map ------------------------------------------------------------------------

@unit
def test_signature():
    assert WishboneSignature(address_width=3) == WishboneSignature(address_width=3, data_width=32)
    assert WishboneSignature(address_width=3) != WishboneSignature(address_width=4)
    made = WishboneSignature(address_width=3, data_width=16).flip().create()
    assert WishboneSignature(address_width=3, data_width=16).flip().is_compliant(made)
    assert len(made.sel) == 2


@unit
@pytest.mark.parametrize(("values", "kind", "message"), [
    ({"address_width": 1.5}, TypeError, r"^address width must be an integer, not 1\.5$"),
    ({"address_width": 65}, ValueError, r"^address width must be from 0 to 64, not 65$"),
    ({"address_width": 4, "data_width": 24}, ValueError,
     r"^data width must be one of 8, 16, 32, 64, not 24$"),
    ({"address_width": 4, "data_width": 128}, ValueError,
     r"^data width must be from 8 to 64, not 128$"),
])
def test_signature_refuses(values, kind, message):
    with pytest.raises(kind, match=message):
        WishboneSignature(**values)


@unit
def test_map_by_hand():
    registers = RegisterMap(STREAMS)
    assert [registers.of(stream.name) for stream in STREAMS] == [
        range(1, 4), range(4, 5), range(5, 7)]
    assert (registers.status, registers.many) == (range(1), 7)
    assert RegisterMap([RegisterStream(str(n), 1, True) for n in range(33)]).of("0") == range(2, 3)
    with pytest.raises(KeyError):
        registers.of("other")
    with pytest.raises(ValueError, match=r"^streams must be at least one$"):
        StreamRegisters(streams=())


@unit
@pytest.mark.parametrize("make", [
    lambda: StreamRegisters(streams=STREAMS),
    lambda: MemoryPaths(banks=3, words=4, word_bytes=2),
    lambda: MemoryPaths(banks=1, words=1, word_bytes=1)])
def test_converts_alone(make):
    assert "attribute \\top 1" in rtlil.convert(make())


# -- the hardware ----------------------------------------------------------------------------------

async def access(ctx, bus, address, data=None, select=-1):
    """Whether it was carried out, what was read, and how many cycles it took."""
    ctx.set(bus.cyc, 1)
    ctx.set(bus.stb, 1)
    ctx.set(bus.adr, address)
    ctx.set(bus.we, data is not None)
    ctx.set(bus.sel, select)
    if data is not None:
        ctx.set(bus.dat_w, data)
    cycles = 1
    while True:
        done, refused = ctx.get(bus.ack), ctx.get(bus.err)
        assert not (done and refused)
        assert ctx.get(bus.stall) == (not (done or refused))
        if done or refused:
            break
        await ctx.tick()
        cycles += 1
    read = ctx.get(bus.dat_r)
    await ctx.tick()
    ctx.set(bus.cyc, 0)
    ctx.set(bus.stb, 0)
    return bool(done), read, cycles


@unit
def test_registers_send_and_take():
    """Items that wait, that are taken at once, and everything that is refused."""
    dut, rng = StreamRegisters(streams=STREAMS), random.Random(1)

    async def bench(ctx):
        async def go(*arguments):
            good, read, cycles = await access(ctx, dut.bus, *arguments)
            assert cycles == register_access.function()
            return (good, read) if good and len(arguments) == 1 else good

        wide, tick, back = dut.sent_wide, dut.sent_tick, dut.come_back
        assert await go(0) == (True, 0b011)
        assert not await go(0, 5)
        assert not await go(7)
        assert not await go(5)            # nothing has come
        for _ in range(20):
            item = rng.getrandbits(70)
            for number in range(3):
                word = item >> 32 * number & 0xFFFF_FFFF
                assert not await go(1 + number, ~word & 0xFFFF_FFFF, 0b1011)
                assert await go(1 + number, word)
                assert await go(1 + number) == (True, word)
                assert ctx.get(wide.valid) == (number == 2)
            assert ctx.get(wide.payload) == item
            assert await go(0) == (True, 0b010)
            assert not await go(1, 0)     # it is on offer
            assert not await go(3, 0)
            assert ctx.get(wide.payload) == item
            ctx.set(wide.ready, 1)
            await ctx.tick()
            assert not ctx.get(wide.valid)
            if rng.random() < 0.5:
                ctx.set(wide.ready, 0)
            else:                         # taken in the cycle in which it is first offered
                for number in range(3):
                    assert await go(1 + number, number)
                assert not ctx.get(wide.valid)
                ctx.set(wide.ready, 0)

            assert await go(4, 0)
            assert ctx.get(tick.valid)
            assert not await go(4, 0)
            ctx.set(tick.ready, 1)
            await ctx.tick()
            ctx.set(tick.ready, 0)
            assert await go(0) == (True, 0b011)

            item = rng.getrandbits(33)
            ctx.set(back.payload, item)
            ctx.set(back.valid, 1)
            assert await go(0) == (True, 0b111)
            assert not await go(6, 0)
            assert await go(5) == (True, item & 0xFFFF_FFFF)
            assert not ctx.get(back.ready)
            ctx.set(dut.bus.cyc, 1)       # a read of the last word, looked at cycle by cycle
            ctx.set(dut.bus.stb, 1)
            ctx.set(dut.bus.adr, 6)
            ctx.set(dut.bus.we, 0)
            taken = ctx.get(back.ready)
            await ctx.tick()
            assert taken
            assert not ctx.get(back.ready)  # one item, one cycle
            ctx.set(back.valid, 0)
            assert ctx.get(dut.bus.ack)
            assert ctx.get(dut.bus.dat_r) == item >> 32
            await ctx.tick()
            ctx.set(dut.bus.cyc, 0)
            ctx.set(dut.bus.stb, 0)
            assert not await go(6)

    run_bench(dut, bench)


@unit
@pytest.mark.parametrize(("banks", "requesters"), [(1, 1), (3, 2), (2, 3)])
def test_masters_share_a_memory_within_the_bound(banks, requesters):
    """Each in words of its own; every access within the bound, and one that takes so long."""
    words, longest = 8, []
    dut = BankedMemory(banks=banks, requesters=requesters, words=words, word_bytes=2)
    m = Module()
    m.submodules.memory = dut
    slaves = []
    for number in range(requesters):
        slave = MemoryPaths(banks=banks, words=words, word_bytes=2)
        m.submodules[f"slave_{number}"] = slave
        for bank in range(banks):
            wiring.connect(m, slave.paths[bank], dut.ports[number][bank])
        slaves.append(slave)

    async def bench(ctx):
        rngs = [random.Random(number) for number in range(requesters)]
        kept = [{} for _ in slaves]
        begun = [None] * requesters
        for cycle in range(1500):
            for number, (slave, rng) in enumerate(zip(slaves, rngs, strict=True)):
                bus = slave.bus
                if begun[number] is None and rng.random() < (0.3 if cycle < 500 else 1):
                    bank = rng.randrange(banks)
                    word = rng.randrange(words // requesters) * requesters + number
                    write, select = rng.random() < 0.5, rng.randrange(4)
                    begun[number] = cycle, bank, word, write, select, rng.getrandbits(16)
                    ctx.set(bus.cyc, 1)
                    ctx.set(bus.stb, 1)
                    ctx.set(bus.adr, bank * words + word)
                    ctx.set(bus.we, write)
                    ctx.set(bus.sel, select)
                    ctx.set(bus.dat_w, begun[number][-1])
            for number, slave in enumerate(slaves):
                bus = slave.bus
                assert not ctx.get(bus.err)
                if not ctx.get(bus.ack):
                    continue
                since, bank, word, write, select, data = begun[number]
                longest.append(cycle - since + 1)
                mask = sum(0xFF << 8 * byte for byte in range(2) if select >> byte & 1)
                if write:
                    old = kept[number].get((bank, word), 0)
                    kept[number][bank, word] = old & ~mask | data & mask
                else:
                    assert ctx.get(bus.dat_r) == kept[number].get((bank, word), 0)
                begun[number] = None
            await ctx.tick()
            for number, slave in enumerate(slaves):
                if begun[number] is None:
                    ctx.set(slave.bus.cyc, 0)
                    ctx.set(slave.bus.stb, 0)

    run_bench(m, bench)
    assert len(longest) > 300
    assert max(longest) == memory_access.function(requesters=requesters)


@unit
def test_a_bank_that_is_not_there():
    dut = MemoryPaths(banks=3, words=4, word_bytes=4)

    async def bench(ctx):
        assert await access(ctx, dut.bus, 12) == (False, 0, 2)
        assert not ctx.get(dut.bus.err)

    run_bench(dut, bench)


# -- shells ----------------------------------------------------------------------------------------

def shell_of(name, configuration=None):
    block = catalogue.load().find(name)
    return wishbone(export(block, block.configuration(configuration)[1].parameters))


@unit
def test_shell_of_streams():
    made = shell_of("dram.stride_sequencer")
    assert warnings(made.text, made.name) == []
    assert made.registers.of("tile") == range(1, 6)
    assert made.registers.of("bursts") == range(6, 18)
    pins = {pin.name: (pin.direction, pin.width) for pin in made.pins}
    assert pins["wb_adr_i"] == ("input", 5)
    assert pins["wb_dat_o"] == ("output", 32)
    assert pins["wb_stall_o"] == ("output", 1)
    assert "//   1 to 5: tile: address [29:0];" in made.text
    assert "a read of 17 takes it" in " ".join(made.text.replace("//", "").split())


@unit
def test_shell_of_a_memory():
    made = shell_of("sram.banked_memory", "tiny")
    assert warnings(made.text, made.name) == []
    pins = {pin.name: (pin.direction, pin.width) for pin in made.pins}
    assert made.registers is None
    assert set(pins) == {f"wb_ports_{number}_{name}" for number in range(2) for name in (
        "cyc_i", "stb_i", "we_i", "adr_i", "sel_i", "dat_i", "dat_o", "ack_o", "err_o", "stall_o")}
    assert pins["wb_ports_1_adr_i"] == ("input", 3)
    assert pins["wb_ports_1_sel_i"] == ("input", 2)


@unit
def test_blocks_without_either():
    says = r"^noc\.arbiter has neither a stream nor a memory's paths for a Wishbone shell$"
    with pytest.raises(UserError, match=says):
        shell_of("noc.arbiter")


@unit
def test_words_that_no_bus_has():
    block = catalogue.load().find("sram.banked_memory")
    made = export(block, {"banks": 1, "requesters": 1, "words": 4, "word_bytes": 3})
    says = r"^sram\.banked_memory has words of 24 bits; a Wishbone bus has 8, 16, 32 or 64$"
    with pytest.raises(UserError, match=says):
        wishbone(made)


@pytest.mark.thorough
@unit
@pytest.mark.parametrize("name", [block.name for block in catalogue.load()])
def test_every_shell_is_without_a_warning(name):
    block = catalogue.load().find(name)
    inside = export(block, block.configuration(None)[1].parameters)
    paths = {port.path for port in inside.ports}
    if not any(path.endswith(".ready") and path.removesuffix("ready") + "valid" in paths
               for path in paths):
        with pytest.raises(UserError, match="has neither a stream nor"):
            wishbone(inside)
        return
    made = wishbone(inside)
    assert lint(inside, block.unused_inputs) == []
    assert warnings(made.text, made.name) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two exported shells, and the page that drives them."""
    found = tmp_path_factory.mktemp("shells")
    for path in PAGES.glob("wishbone_*.py"):
        shutil.copy(path, found)
    for block, name in ((("dram.stride_sequencer",), "sequencer.v"),
                        (("sram.banked_memory", "-c", "tiny"), "memory.v")):
        done = command(found, "verilog", *block, "--shell", "wishbone", "-o", name)
        assert done.returncode == 0, done.stdout + done.stderr
    return found


def command(folder, *arguments):
    return subprocess.run([sys.executable, "-m", "cyclebound.sim", *arguments], cwd=folder,
                          capture_output=True, text=True, env={**os.environ})


@pytest.mark.thorough
@system
@pytest.mark.parametrize(("name", "verdicts"), [
    ("shell.sequencer", {"access": ("right", 2)}),
    ("shell.memory", {"access_0": ("exact", 3), "access_1": ("exact", 3)})])
def test_exported_shells_serve_a_master_in_time(folder, name, verdicts):
    done = command(folder, "--catalogue", "wishbone_page", "regress", name, "--no-pictures",
                   "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["what"]: (row["verdict"], row["worst"])
            for row in json.loads(done.stdout)["verdicts"]}
    assert rows == verdicts


@pytest.mark.thorough
@system
def test_a_fault_in_a_shell_is_found(folder):
    """A field of the tile at other bits of its registers."""
    path = folder / "sequencer.v"
    whole = path.read_text()
    right = ".tile__payload__words(tile__payload[49:30])"
    assert whole.count(right) == 1
    path.write_text(whole.replace(right, right.replace("49:30", "50:31")))
    try:
        done = command(folder, "--catalogue", "wishbone_page", "run", "shell.sequencer")
    finally:
        path.write_text(whole)
    assert done.returncode == 1
