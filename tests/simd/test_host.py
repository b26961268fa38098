import pytest

from cyclebound.golden.simd.host import HostModel
from cyclebound.golden.simd.host_registers import Register, Status
from cyclebound.golden.simd.machine import MACHINES

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
