"""What a host writes and reads, against the model of the registers."""

import pytest

from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.host import HostModel
from cyclebound.golden.simd.host_registers import Register
from cyclebound.golden.simd.hosted_accelerator import KernelOutcome, kernel_outcome, start_writes
from cyclebound.golden.simd.machine import MACHINES, Grid
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.tools.simd.assembler import assemble

pytestmark = pytest.mark.unit

PROGRAM = assemble(".data\n0 0 64 1\n3 0x1000 20 30\n.sp_data\n2 0x100 8 9\n.text\nnop\nexit\n")


def test_writes_map_all_buffers_and_start_what_was_asked_for():
    host = HostModel(MACHINES["small"])
    sent = [host.write(register, value, idle=True) for register, value in start_writes(
        PROGRAM, Grid(20, 30, MACHINES["small"], 8), Policy.ACCESS, 0x4000)]
    assert [message for message in sent if message] == [
        ("mapping", {"number": 0, "address": 0, "x": 64, "y": 1}),
        ("mapping", {"number": 3, "address": 0x400, "x": 20, "y": 30}),
        ("chip", {"number": 2, "address": 0x40, "x": 8, "y": 9}),
        ("start", {"address": 0x1000, "instructions": 2, "x": 20, "y": 30, "width": 3,
                   "policy": 2})]
    assert not host.refused


@pytest.mark.parametrize(("shown", "found"), [
    ({"fault": 0, "cycles": 0x12_3456_789A}, KernelOutcome(0x12_3456_789A)),
    ({"fault": 1, "cycles": 7, "cause": 5, "slot": 1, "index": 2047, "number": 1 << 39},
     KernelOutcome(7, Cause.ACCESS, 1, 2047, 1 << 39))])
def test_registers_tell_of_cycles_and_faults(shown, found):
    host = HostModel(MACHINES["small"])
    shown = {"idle": 1, "loaded": 1, "cause": 0, "slot": 0, "index": 0, "number": 0, **shown}
    assert kernel_outcome(lambda register: host.read(register, shown)) == found
    assert host.read(Register.STATUS, shown) & 1
