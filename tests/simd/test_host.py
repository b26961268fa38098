# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Signal

from cyclebound.golden.simd.host import HostModel
from cyclebound.golden.simd.host_registers import Register, Status
from cyclebound.golden.simd.machine import MACHINES
from cyclebound.hdl.simd.host import HostInterface
from cyclebound.tb.simd import host_properties as properties
from kit.faults import Tampered, override
from kit.random_streams import play_streams

pytestmark = pytest.mark.unit

GOOD = {Register.PROGRAM: 32, Register.INSTRUCTIONS: 5, Register.GRID_X: 19, Register.GRID_Y: 21,
        Register.WIDTH: 3, Register.POLICY: 2}
SHOWN = {"idle": 1, "fault": 0, "loaded": 1}


def started(idle=True, **changes):
    host = HostModel(MACHINES["small"])
    for register, value in (GOOD | {Register[name]: value for name, value in changes.items()}
                            ).items():
        host.write(register, value, idle=idle)
    return host, host.write(Register.CONTROL, 1, idle=idle)


def test_a_start_sends_what_was_written():
    host, sent = started()
    assert sent == ("start", {"address": 32, "instructions": 5, "x": 19, "y": 21, "width": 3,
                              "policy": 2})
    assert host.read(Register.STATUS, SHOWN) == Status.IDLE | Status.LOADED


@pytest.mark.parametrize("changes", [
    {"GRID_X": 0}, {"GRID_Y": 1 << 20}, {"INSTRUCTIONS": 0}, {"INSTRUCTIONS": 1 << 20},
    {"PROGRAM": 8}, {"WIDTH": 15}, {"POLICY": 5}, {"POLICY": 7}, {"idle": False}])
def test_a_start_that_cannot_be_is_refused_and_says_so_until_cleared(changes):
    host, sent = started(**changes)
    assert sent is None
    assert host.read(Register.STATUS, SHOWN) & Status.REFUSED
    host.write(Register.STATUS, Status.REFUSED, idle=True)
    assert not host.read(Register.STATUS, SHOWN) & Status.REFUSED


def test_a_buffer_beyond_the_scratchpad_is_refused():
    host = HostModel(MACHINES["small"])
    for address, mapped in (((1 << 14) - 1, True), (1 << 14, False)):
        host.write(Register.ADDRESS, address, idle=True)
        assert bool(host.write(Register.MAP, 1 << 8 | 3, idle=True)) == mapped


def play(dut):
    """Writes of what a kernel needs, many of them to the registers that act; and reads."""
    def each(ctx, rng):
        address = rng.choice([*GOOD, Register.CONTROL, Register.MAP, Register.STATUS,
                              Register.SIZE_X, Register.ADDRESS])
        word = GOOD.get(address, rng.choice([1, 1, 9, 0x101, 0x305]))
        for name, value in {"awaddr": address, "wdata": word, "wstrb": 15,
                            "araddr": rng.choice([*GOOD, Register.STATUS])}.items():
            ctx.set(getattr(dut, f"s_axil_{name}"), value)
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
            ctx.set(getattr(dut, f"s_axil_{name}"), rng.random() < 0.8)
        ctx.set(dut.idle, rng.random() < 0.9)

    play_streams(dut, properties.HostCheck(dut), each=each, cycles=400)


def instead(name, value):
    """An output with a value of its own, from its own."""
    def fault(inner, outer, cycle):
        here, there = inner, outer
        for step in name.split("."):
            here, there = getattr(here, step), getattr(there, step)
        return there.eq(value(here, inner, cycle))

    return fault


FAULTS = [
    (instead("s_axil_wready", lambda own, inner, cycle: own | (cycle > 30)),
     "a write is refused without a reason, or taken in parts, or before its time"),
    (instead("s_axil_bvalid", lambda own, inner, cycle: own & (cycle < 200)),
     "a write has no answer, or an answer no write"),
    (instead("s_axil_bvalid", lambda own, inner, cycle: own & ~inner.s_axil_bready),
     "an answer withdrawn, or missing"),
    (instead("mapping.valid", lambda own, inner, cycle: own & cycle[0]),
     "a mapping withdrawn"),
    (instead("s_axil_bvalid", lambda own, inner, cycle: own | inner.mapping.valid),
     "answered before it was mapped"),
    (instead("s_axil_bresp", lambda own, inner, cycle: 2), "an answer that is not OKAY"),
    (instead("s_axil_arready", lambda own, inner, cycle: own & (cycle < 99)),
     "a read is refused without a reason, or taken before its time"),
    (instead("s_axil_rvalid", lambda own, inner, cycle: own & (cycle < 99)),
     "a read has no answer, or one too many"),
    (instead("s_axil_rdata", lambda own, inner, cycle: own ^ cycle),
     "a word changes before it is taken"),
    (instead("s_axil_rresp", lambda own, inner, cycle: 2), "a word that is not OKAY"),
    (instead("s_axil_rdata", lambda own, inner, cycle: own ^ (cycle > 99)),
     "not what was written"),
    (instead("start.valid", lambda own, inner, cycle: own | (cycle == 5)),
     "an unrequested start"),
    (instead("chip.valid", lambda own, inner, cycle: own | (cycle == 1)),
     "a buffer on chip that nobody mapped"),
    (instead("mapping.valid", lambda own, inner, cycle: own | (cycle == 0)),
     "an unrequested mapping"),
    (instead("chip.payload.number", lambda own, inner, cycle: own ^ 1),
     "another buffer on chip"),
    (instead("mapping.payload.buffer", lambda own, inner, cycle: own ^ 1), "another buffer"),
    (instead("s_axil_rdata", lambda own, inner, cycle: own ^ 8), "not the status"),
]


def test_checker_is_quiet_without_a_fault():
    play(HostInterface(machine="small"))


@pytest.mark.parametrize(("fault", "says"), FAULTS, ids=range(len(FAULTS)))
def test_checker_fires(only, fault, says):
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(Tampered(HostInterface(machine="small"), override(fault)))


@pytest.mark.parametrize(("place", "port", "says"), [
    (0, "start.payload.address", "a start with another PROGRAM"),
    (1, "start.payload.instructions", "a start with another INSTRUCTIONS"),
    (2, "start.payload.grid.x", "a start with another GRID_X"),
    (3, "start.payload.grid.y", "a start with another GRID_Y"),
    (4, "start.payload.grid.width", "a start with another WIDTH"),
    (5, "start.payload.policy", "a start with another POLICY"),
    (6, "chip.payload.buffer.address", "a buffer on chip with another ADDRESS"),
    (7, "mapping.payload.x", "a mapping with another SIZE_X"),
    (8, "mapping.payload.y", "a mapping with another SIZE_Y")])
def test_checker_fires_on_the_register_that_it_follows(only, monkeypatch, place, port, says):
    """Whichever a prover chooses; in a simulation, traffic does."""
    only(says, properties)
    monkeypatch.setattr(properties.HostCheck, "any_one",
                        lambda self, like, name: followed(place))
    fault = instead(port, lambda own, inner, cycle: own ^ 1)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(Tampered(HostInterface(machine="small"), override(fault)))


def followed(place):
    """A choice that is made already."""
    class Made:
        now = Signal(4, init=place)

        def follow(self, m, traffic):
            pass

    return Made()
