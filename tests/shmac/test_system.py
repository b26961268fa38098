"""The functional model of a SHMAC grid: who answers where, and what its programs do to it."""

import random

import pytest

from cyclebound.golden.shmac.address_map import SystemRegister, boot_stub, tile_base
from cyclebound.golden.shmac.isa import ExcCode
from cyclebound.golden.shmac.layout import Layout
from cyclebound.golden.shmac.machine import CoreAccess
from cyclebound.golden.shmac.memory import SharedMemory
from cyclebound.golden.shmac.system import System
from cyclebound.tools.shmac.program import assembled

pytestmark = pytest.mark.unit

GRID = Layout(("JPR", "PLU", "C.P"))
EXIT = """
        lui  $k1, 0xffff
        ori  $k1, $k1, 0xfe04
        sw   $v0, 0($k1)
stop:   b    stop
        nop
"""
HANDLER = """
        .space {space}
vector: mfc0 $v0, $13
        andi $v0, $v0, 0x7c
        b    end
        nop
        """


def program(text, tile):
    return assembled(text + EXIT, "t.s", *tile)


def with_handler(text):
    """A program whose exit status is Cause's code, times four, of its first exception."""
    body = f"{text}\n        b end\n        li $v0, 99\n"
    words = len(assembled(f"{body}\nend: nop", "t.s", 1, 0).words) - 1
    return f"{body}{HANDLER.format(space=0x80 - 4 * words)}\nend:"


def ran(texts, *, layout=GRID, rng=None, rounds=20_000, **options):
    system = System(layout, **options)
    for tile, text in texts.items():
        system.load(program(text, tile).words)
        system.start(tile)
    system.run(rounds, rng=rng)
    return system


def status_of(text, tile=(1, 0), **options):
    system = ran({tile: text}, **options)
    assert not system.running
    return system.cores[tile].status


def reads(address):
    return f"li $t0, {address}\nlw $v0, 0($t0)"


@pytest.mark.parametrize(("address", "value"), [
    (0, boot_stub(1, 0)[0]), (4, boot_stub(1, 0)[1]), (SystemRegister.TILE, 0x10),
    (SystemRegister.FAILED, 0), (tile_base(0, 0) + 4 * 1, boot_stub(1, 0)[1]),
    (tile_base(1, 2), 0xFFFF_FFFF), (tile_base(0, 2), 0), (tile_base(1, 1) + 8, 0),
    (SystemRegister.CLOCK, 5), (tile_base(2, 0), 5),
])
def test_who_answers(address, value):
    assert status_of(reads(address)) == value


def test_the_jump_tile_answers_with_the_stub_of_who_asks():
    """Its address is that of the bootstrap, which a core with jump asks it for."""
    system = ran({(1, 0): reads(4)}, jump=[(1, 0)])
    assert system.cores[1, 0].status == boot_stub(1, 0)[1]
    lone = ran({(1, 0): "nop"}, layout=Layout(("R", "P")), jump=[(1, 0)])
    assert lone.running  # nothing leads it to its memory


@pytest.mark.parametrize("address", [
    tile_base(0, 0) + 16, tile_base(2, 0) + 4, tile_base(1, 2) + 4, tile_base(2, 1),
    tile_base(0, 2) + 0x1_0000, tile_base(1, 0) + 0x1_0000, tile_base(5, 5), 0xFFFF_FC00,
    SystemRegister.EXIT, SystemRegister.CONSOLE, 0xFFFF_FFFC,
])
def test_where_nothing_answers_a_load_is_a_bus_error(address):
    assert status_of(with_handler(reads(address))) == ExcCode.DBE << 2


@pytest.mark.parametrize("address", [tile_base(0, 2), tile_base(1, 0) + 0x400, tile_base(1, 2),
                                     SystemRegister.CLOCK])
@pytest.mark.parametrize("name", ["ll", "sc"])
def test_only_a_unit_for_locks_answers_to_ll_and_sc(address, name):
    linked = f"li $t0, {tile_base(1, 1)}\nll $t1, 0($t0)\n" if name == "sc" else ""
    assert status_of(with_handler(
        f"{linked}li $t0, {address}\n{name} $t1, 0($t0)")) == ExcCode.DBE << 2


def test_a_jump_to_where_nothing_is():
    assert status_of(with_handler(f"li $t0, {tile_base(2, 1)}\njr $t0\nnop")) == ExcCode.IBE << 2


@pytest.mark.parametrize(("address", "instruction", "fails"), [
    (tile_base(0, 2), "sw", 0), (tile_base(0, 2) + 0x1_0000, "sw", 1), (tile_base(2, 1), "sb", 1),
    (0, "sw", 1), (SystemRegister.CLOCK, "sw", 1), (SystemRegister.CONSOLE, "sb", 1),
    (SystemRegister.CONSOLE, "sw", 0), (tile_base(2, 0), "sw", 1), (tile_base(0, 0) + 64, "sw", 1),
    (tile_base(1, 0) + 0x1_0000, "sh", 1), (0xFFFF_FC00, "sw", 1), (tile_base(9, 9), "sw", 1),
])
def test_stores_that_fail_are_counted(address, instruction, fails):
    count = f"li $t2, {SystemRegister.FAILED}\nlw $v0, 0($t2)\n"
    twice = f"li $t0, {address}\n{instruction} $0, 0($t0)\n{instruction} $0, 0($t0)\n"
    assert status_of(twice + count) == 2 * fails
    assert status_of(f"{twice}{count}sw $0, 0($t2)\nlw $v0, 0($t2)") == 0


@pytest.mark.parametrize("big_endian", [True, False])
def test_bytes_of_another_tiles_memory(big_endian):
    """Through strobes, by a core of either byte order."""
    text = (f"li $t0, {tile_base(0, 2)}\nli $t1, 0x11\nli $t2, 0x2233\nsb $t1, 1($t0)\n"
            "sh $t2, 2($t0)\nlbu $t3, 1($t0)\nlhu $t4, 2($t0)\nsll $t3, $t3, 16\n"
            "addu $v0, $t3, $t4")
    system = ran({(1, 0): text}, big_endian=big_endian)
    assert system.cores[1, 0].status == 0x112233
    assert system.memories[0, 2][0] == (0x00112233 if big_endian else 0x22331100)
    assert system.word(tile_base(0, 2)) == system.memories[0, 2][0]
    assert system.word(tile_base(2, 1)) is system.word(tile_base(0, 2) + 0x1_0000) is None


def test_memories_have_the_sizes_that_are_given():
    system = System(GRID, ram={(1, 0): 4096})
    assert {tile: len(words) for tile, words in system.memories.items()} == {
        (0, 1): 1 << 14, (0, 2): 1 << 14, (1, 0): 1 << 10, (1, 1): 1 << 14, (2, 2): 1 << 14}
    with pytest.raises(ValueError, match=r"^there is no memory at 0x10001000$"):
        system.load({tile_base(1, 0) + 4096: 1})


def test_a_uart_sends_and_receives():
    text = (f"li $t0, {tile_base(1, 2)}\nlw $t1, 0($t0)\nsw $t1, 0($t0)\nlw $t2, 0($t0)\n"
            "addu $v0, $t2, $0")
    heard = []
    system = System(GRID, console=lambda tile, byte: heard.append((tile, byte)))
    system.received[1, 2].append(65)
    system.load(program(text, (1, 0)).words)
    system.start((1, 0))
    assert system.run(100)
    assert system.sent == {(1, 2): bytearray(b"A")}
    assert heard == [((1, 2), 65)]
    assert system.cores[1, 0].status == 0xFFFF_FFFF


def test_a_core_that_has_ended_executes_nothing_more():
    system = ran({(1, 0): "li $v0, 3", (0, 1): "li $t0, 50\nlp: addiu $t0, $t0, -1\n"
                  "bne $t0, $0, lp\nnop"})
    first, second = system.cores[1, 0], system.cores[0, 1]
    assert (first.status, first.instructions) == (3, 7)
    assert second.status == 0
    assert system.clock == second.instructions == 157
    assert system.cores[2, 2].instructions == 0  # without a program


def test_a_run_can_be_stopped_and_goes_on():
    whole, parts = (System(GRID) for _ in range(2))
    for system in (whole, parts):
        for tile in ((1, 0), (0, 1)):
            system.load(program("li $t0, 50\nlp: addiu $t0, $t0, -1\nbne $t0, $0, lp\nnop",
                                tile).words)
            system.start(tile)
    assert not whole.run(100)
    assert whole.clock == 100
    assert whole.run(1000)
    while not parts.run(7):
        pass
    assert parts.clock == whole.clock
    assert [core.instructions for core in parts.cores.values()] == [
        core.instructions for core in whole.cores.values()]


INCREMENT = f"""
        li   $t0, {tile_base(1, 1)}
        li   $t1, 25
again:  ll   $t2, 0($t0)
        addiu $t2, $t2, 1
        sc   $t2, 0($t0)
        beq  $t2, $0, again
        addiu $t1, $t1, -1
        bne  $t1, $0, again
        nop
"""
PLAIN = INCREMENT.replace("ll ", "lw ").replace("sc ", "sw ").replace("beq  $t2", "beq  $t0")
"""Without LL and SC: increments are lost."""


def retried(text):
    """The counter is not to be decremented where SC fails: the slot is before the label."""
    return text.replace("beq  $t2, $0, again\n", "beq  $t2, $0, again\n        nop\n")


@pytest.mark.parametrize("seed", [None, *range(20)])
def test_increments_with_ll_and_sc_are_not_lost(seed):
    rng = None if seed is None else random.Random(seed)
    tiles = [(0, 1), (1, 0), (2, 2)]
    system = ran(dict.fromkeys(tiles, retried(INCREMENT)), rng=rng)
    assert not system.running
    assert system.memories[1, 1][0] == 25 * len(tiles)


def test_without_them_some_are_lost():
    tiles = [(0, 1), (1, 0), (2, 2)]
    left = [ran(dict.fromkeys(tiles, retried(PLAIN)), rng=random.Random(seed)).memories[1, 1][0]
            for seed in range(20)]
    assert min(left) < 25 * len(tiles)


def test_the_unit_for_locks_is_the_model_of_reservations():
    """Random LL, SC, loads and stores of three cores, on either."""
    rng = random.Random(1)
    other = SharedMemory({tile_base(1, 1) + at: 0 for at in range(0, 32, 4)})
    system = System(GRID)
    ports = {tile: system.ports[tile] for tile in system.cores}
    successes = 0
    for _ in range(5000):
        tile = rng.choice(list(ports))
        write, sync = rng.random() < 0.5, rng.random() < 0.7
        access = CoreAccess(tile_base(1, 1) + 4 * rng.randrange(3),
                            15 if sync else rng.randrange(1, 16), write, sync,
                            rng.getrandbits(32) if write else 0)
        answers = [ports[tile].access(access), other.access(access, master=tile)]
        assert answers[0] == answers[1]
        successes += write and sync and answers[0] == 1
    assert [system.word(at) for at in other.words] == list(other.words.values())
    assert successes > 100
