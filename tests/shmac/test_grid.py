"""A grid of SHMAC's tiles: its parameters, its waits, and programs on its RTL."""

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.shmac.address_map import SystemRegister, tile_base
from cyclebound.golden.shmac.device import DeviceModel
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.grid_bounds import memory_waits, program_waits
from cyclebound.golden.shmac.layout import Kind, Layout, LayoutError
from cyclebound.golden.shmac.memory_waits import AccessKind
from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.shmac.system import System
from cyclebound.hdl.shmac.device import Device
from cyclebound.hdl.shmac.grid import Grid
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.shmac.rtl import run_rtl
from cyclebound.sim.families.shmac.run import Setup, run_model
from cyclebound.tools.shmac.assembler import assemble
from cyclebound.tools.shmac.program import assembled
from cyclebound.tools.shmac.wcet.analysis import wcet
from cyclebound.tools.shmac.wcet.code import assembled as code_assembled

unit = pytest.mark.unit
SMALL = catalogue.load().find("shmac.grid").configuration("small")[1].parameters


@unit
@pytest.mark.parametrize(("parameters", "kind", "message"), [
    ({"layout": ["PX"]}, LayoutError, r"^line 1, column 2: a tile must be one of"),
    ({"layout": ["P"], "words": 3}, ValueError, r"^Word count must be a power of two, not 3$"),
    ({"layout": ["PR"], "jump": [(0, 1)]}, ValueError,
     r"^Jump must name tiles with a core, not \(0, 1\)$"),
    ({"layout": ["UP"], "jump": [(0, 1)]}, ValueError,
     r"^Jump must have a jump tile, or RAM, in tile \(0, 0\), not 'U'$"),
])
def test_refuses(parameters, kind, message):
    with pytest.raises(kind, match=message):
        Grid(**{"words": 16, **parameters})


@unit
def test_a_device_is_one_that_has_no_ram():
    with pytest.raises(ValueError, match=r"^Kind must be one of .*, not <Kind.RAM"):
        Device(kind=Kind.RAM)


@unit
@pytest.mark.parametrize(("kind", "request_", "expected"), [
    (Kind.ROUTER, RequestPacket(strobes=15), None),
    (Kind.ROUTER, RequestPacket(write=True, strobes=15), None),
    (Kind.CLOCK, RequestPacket(strobes=15), 3),
    (Kind.CLOCK, RequestPacket(strobes=15, address=4), None),
    (Kind.CLOCK, RequestPacket(strobes=1), None),
    (Kind.JUMP, RequestPacket(strobes=15, initiator=(1, 2)), 0x3C1A_1200),
    (Kind.JUMP, RequestPacket(strobes=15, address=16), None),
    (Kind.UART, RequestPacket(strobes=15), 0xFFFF_FFFF),
    (Kind.UART, RequestPacket(strobes=15, sync=True), None),
])
def test_what_devices_answer(kind, request_, expected):
    device = DeviceModel(kind)
    for _ in range(3):
        device.count(True)
    device.step(request_, passed=False)
    assert device.response is not None
    assert (device.response.error, device.response.data) == (expected is None, expected or 0)


@unit
def test_waits_of_a_core():
    layout = Layout(("PR", "P."))
    alone = memory_waits(layout, (0, 0), masters={(0, 0): frozenset([(0, 0), (0, 1)])})
    local, neighbour = (alone.named(f"tile (0, {column})") for column in (0, 1))
    assert (local.fetch, local.read, local.write) == (1, 1, 0)
    shared = memory_waits(layout, (0, 0)).named("tile (0, 1)")
    for kind in AccessKind:
        few, many = neighbour.wait(kind), shared.wait(kind)
        assert few is not None
        assert many is not None
        assert few < many
    assert alone.at(tile_base(1, 0)) is None  # it sends nothing there
    assert alone.at(0).name == "bootstrap"
    with pytest.raises(NotCovered, match=r"^tile \(0, 1\) must have a core$"):
        memory_waits(layout, (0, 1))


PROGRAM = """
        lw    $1, {TILE}($0)
        addiu $2, $1, 65           # A for tile (0, 0), in the RAM of tile (0, 1)
        lui   $3, 0x0100
        sll   $4, $1, 2
        addu  $3, $3, $4
        sw    $2, 0($3)
        lw    $5, 0($3)
        lui   $6, 0x1000           # add it up in the tile with locks
again:  ll    $7, 0($6)
        addu  $7, $7, $5
        sc    $7, 0($6)
        beq   $7, $0, again
        nop
        sw    $5, {CONSOLE}($0)
        sw    $5, {EXIT}($0)
"""


def setup():
    text = PROGRAM.format(**{register.name: register - (1 << 32) for register in SystemRegister})
    programs = {tile: assembled(text, f"add {tile}", *tile) for tile in ((0, 0), (1, 1))}
    layout = Layout(tuple(SMALL["layout"]))
    ram = dict.fromkeys(layout.tiles(), 4 * SMALL["words"])
    return Setup(layout, programs, ram)


@pytest.mark.cosim
@pytest.mark.each_commit
def test_programs_do_on_the_rtl_what_they_do_on_the_model(tmp_path):
    """Stores to a tile that both use, a sum that both add to, console and status."""
    said = []
    ran = run_rtl(setup(), limit=5_000, folder=tmp_path,
                  console=lambda tile, byte: said.append((tile, byte)))
    model = run_model(setup(), limit=5_000)
    assert sorted(said) == [((0, 0), 65), ((1, 1), 82)]
    for tile, result in model.tiles.items():
        assert ran.tiles[tile].console == result.console
        assert ran.tiles[tile].status == result.status == sum(result.console)
        assert (ran.tiles[tile].cycles or 0) > result.instructions
    assert ran.ended
    assert not ran.sent


@pytest.mark.cosim
def test_a_run_that_does_not_end_says_where_it_is(tmp_path):
    ran = run_rtl(setup(), limit=20, folder=tmp_path)
    assert not ran.ended
    assert ran.tiles[0, 0].status is None
    assert ran.tiles[0, 0].cycles == 20


@unit
def test_the_rtl_has_one_size_of_memory():
    uneven = Setup(Layout(("PR",)), setup().programs, {(0, 0): 4096, (0, 1): 8192})
    with pytest.raises(UserError, match="one size of memory for all tiles, not 4096 and 8192"):
        run_rtl(uneven, limit=1)


@unit
@pytest.mark.parametrize("size", [12 << 10, 2 << 20])
def test_the_rtl_says_which_memory_it_can_have(size):
    odd = Setup(Layout(("P",)), setup().programs, {(0, 0): size})
    with pytest.raises(UserError, match=f"a power of two of bytes, 1M at most, not {size:,}$"):
        run_rtl(odd, limit=1)


@unit
def test_interrupts_of_others_in_the_functional_model():
    """A core raises the other one's line, which sees it in its register."""
    lower = {register.name: register - (1 << 32) for register in SystemRegister}
    words = assemble("li $1, 1\nsw $1, {RAISE}($0)\nsw $0, {EXIT}($0)".format(**lower), origin=16)
    other = assemble("wait: lw $1, {RAISED}($0)\nbeq $1, $0, wait\nnop\nsw $0, {RAISED}($0)\n"
                     "lw $2, {RAISED}($0)\nsw $2, {EXIT}($0)".format(**lower),
                     origin=tile_base(0, 1))
    system = System(Layout(("PP",)))
    system.load({16 + 4 * place: word for place, word in enumerate(words)})
    system.load({tile_base(0, 1) + 4 * place: word for place, word in enumerate(other)})
    for tile in system.cores:
        system.start(tile)
    assert system.run(200)
    assert [core.status for core in system.cores.values()] == [0, 0]


@unit
def test_the_models_of_a_grid_agree():
    """Cycle by cycle, and instruction by instruction: the same memories at the end."""
    made = setup()
    model = GridModel(made.layout, words=SMALL["words"])
    system = System(made.layout, ram=made.ram)
    for program in made.programs.values():
        system.load(program.words)
        for address, word in program.words.items():
            model.rams[program.tile].content[(address & 0xFF_FFFF) // 4] = word
    for tile in made.programs:
        system.start(tile)
    while not model.exited:
        model.step(run=list(made.programs))
    for _ in range(50):
        model.step(run=list(made.programs))
    assert system.run(1000)
    assert {tile: list(content) for tile, content in system.memories.items()} == {
        tile: ram.content for tile, ram in model.rams.items()}


TIMED = """
first:  lw    $11, {CLOCK}($0)
        li    $8, 20
        lui   $9, 0x0100
again:  sw    $8, 0($9)
        lw    $10, 4($9)
        addiu $8, $8, -1
        bgtz  $8, again
        nop
second: lw    $12, {CLOCK}($0)
        subu  $12, $12, $11
        sw    $12, {EXIT}($0)
"""


@pytest.mark.cosim
@pytest.mark.parametrize("tiles", [
    pytest.param([(0, 0)], id="alone"),
    pytest.param([(0, 0), (1, 1)], id="both", marks=pytest.mark.each_commit)])
def test_a_programs_bound_holds_on_the_rtl(tmp_path, tiles):
    """From its source, its tile and who else sends, to cycles that its own clock counts."""
    text = TIMED.format(**{register.name: register - (1 << 32) for register in SystemRegister})
    layout = Layout(tuple(SMALL["layout"]))
    programs = {tile: assembled(text, "timed", *tile) for tile in tiles}
    ran = run_rtl(Setup(layout, programs, setup().ram), limit=20_000, folder=tmp_path)
    masters = dict.fromkeys(tiles, frozenset([(0, 1)]))
    for tile in tiles:
        code = code_assembled(text, origin=programs[tile].entry)
        bound = wcet(code, code.symbols["first"], program_waits(layout, tile, masters=masters),
                     stops=[code.symbols["second"]]).cycles
        measured = ran.tiles[tile].status
        assert measured is not None
        assert bound / 1.06 < measured <= bound
