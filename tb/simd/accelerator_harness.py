"""Testbench of the accelerator's harness: all installed kernels, and snoopy accesses.

The tests are those of the accelerator, which a DRAM device in Python drives: here the device is
hardware, and so is what watches the phases. Both have to be the cycle model's, event by event.
"""

from cyclebound.tb.bench import testbench
from cyclebound.tb.simd import accelerator as some
from cyclebound.tb.simd import accelerator_kernels as others

vector_add = testbench(some.vector_add.scenario)
saxpy = testbench(some.saxpy.scenario)
cnn_max_pool = testbench(some.cnn_max_pool.scenario)
fft = testbench(some.fft.scenario)
stencil = testbench(some.stencil.scenario)
spmv = testbench(some.spmv.scenario)
srad_reduce = testbench(some.srad_reduce.scenario)
compute_phi_mag = testbench(others.compute_phi_mag.scenario)
compute_q = testbench(others.compute_q.scenario)
cnn_relu = testbench(others.cnn_relu.scenario)
cnn_convolution = testbench(others.cnn_convolution.scenario)
depth2vertex = testbench(others.depth2vertex.scenario)
half_sample_robust = testbench(others.half_sample_robust.scenario)
histogram = testbench(others.histogram.scenario)
matrix_product = testbench(others.matrix_product.scenario)
prefix_sum = testbench(others.prefix_sum.scenario)
srad = testbench(others.srad.scenario)
srad2 = testbench(others.srad2.scenario)
track = testbench(others.track.scenario)
transposition = testbench(others.transposition.scenario)
vertex2normal = testbench(others.vertex2normal.scenario)
snoopy_accesses = testbench(others.snoopy_accesses.scenario)
