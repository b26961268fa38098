"""The other installed kernels on the accelerator, and snoopy accesses of all kinds."""

import numpy as np

from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator import runs
from cyclebound.tb.simd.accelerator_harness_tester import tester_on
from cyclebound.tools.simd.assembler import assemble

SNOOPY = """
.data
0 0x0     192 1    // indexes
1 0x1004  37 9     // a table, from the middle of a burst on
2 0x2008  192 1    // results
3 0x3000  192 10   // where each work-group stores at indexes of its own
.sp_data
0 0x20 23 11
1 0x800 19 7
.text
    ldglin  v0, 0
    movvsp  vc.mem_idx, v0
    mov     v1, vc.tid_x
    movvsp  vc.mem_data, v1
    ldgbidx 1
    mov     v2, vc.mem_data
    // a tile of the table; every second item is off
    and     v3, v1, 1
    itest.nz p0, v3
    smovssp sc.sd_words, 30
    smovssp sc.sd_period, 37
    smovssp sc.sd_period_cnt, 5
    smov    s0, 3
    cpush.if all
    cmask   p0
    ldgcidx 1, 2, s0
    cpop
all:
    mov     v4, vc.mem_data
    // through scratchpads
    ldg2sptile 0, 1
    ldspbidx 0
    mov     v5, vc.mem_data
    movvsp  vc.mem_data, v1
    stspbidx 1
    movvsp  vc.mem_data, v2
    ldspbidx 1
    mov     v6, vc.mem_data
    xor     v2, v2, v4
    xor     v5, v5, v6
    xor     v2, v2, v5
    stglin  v2, 2
    // to lines of the work-group's own, and the words before it
    smov    s1, sc.wg_off_x
    and     v0, v0, 0x1f
    iadd    v0, v0, 768
    iadd    v0, v0, s1
    movvsp  vc.mem_idx, v0
    movvsp  vc.mem_data, v2
    smovssp sc.sd_words, 30
    smovssp sc.sd_period, 192
    smovssp sc.sd_period_cnt, 2
    stgcidx 3, s1, 4
    mov     v7, vc.lid_x
    iadd    v7, v7, s1
    movvsp  vc.mem_idx, v7
    stgbidx 3
    exit
"""

compute_phi_mag = runs("compute_phi_mag", Policy.ACCESS)
compute_q = runs("compute_q", Policy.UNCONSTRAINED)
cnn_relu = runs("cnn_relu", Policy.PAIRWISE)
cnn_convolution = runs("cnn_convolution", Policy.ACCESS)
depth2vertex = runs("depth2vertex", Policy.UNCONSTRAINED)
half_sample_robust = runs("half_sample_robust", Policy.PAIRWISE)
histogram = runs("histogram", *Policy)
matrix_product = runs("matrix_product", *Policy)
prefix_sum = runs("prefix_sum", *Policy)
srad = runs("srad", Policy.UNCONSTRAINED)
srad2 = runs("srad2", Policy.YIELD)
track = runs("track", Policy.UNCONSTRAINED)
transposition = runs("transposition", *Policy)
vertex2normal = runs("vertex2normal", Policy.PAIRWISE)


@testbench
async def snoopy_accesses(bench: Bench) -> None:
    """Each kind, with indexes in and out of its buffer and masked items.

    Under one policy in each seed's simulation, and once: the kernel reads words of scratchpads that
    it has not written, which are those that a kernel before it left there.
    """
    await bench.reset()
    tester = tester_on(bench)
    program = assemble(SNOOPY)
    memory = memory_of(program)
    rng = np.random.default_rng(bench.rng.getrandbits(32))
    for number, words in memory.items():
        # of a table with 333 words
        words[...] = rng.integers(0, 400 if number == 0 else 1 << 32, words.shape, dtype=np.uint32)
    memory[0][:, ::9] = 1 << 20  # equal to 0 in the bits that are compared with the words'
    before = memory[2].copy()
    await tester.compare(program, Grid(3 * tester.machine.items, 1, tester.machine), memory,
                         list(Policy)[(bench.seed - 1) % len(Policy)])
    assert (memory[2] != before).any()
