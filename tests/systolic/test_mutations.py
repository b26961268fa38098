"""Do the testbenches of what surrounds the arrays find faults? Each mutant has to fail."""

from ..sim.mutant_tests import mutant_tests
from ..sim.mutants import Mutant

MUTANTS = (
    Mutant("systolic.im2col", "padding on the right read as pixels",
           "(loops.elements_left > i)", "(loops.elements_left >= i)"),
    Mutant("systolic.post_processing", "halves rounded down",
           "shifted[1:].as_signed() + shifted[0])", "shifted[1:].as_signed())"),
    Mutant("systolic.max_pooling", "windows remember the image above",
           "begins.eq(inner_y == 0)", "begins.eq(y == 0)"),
    Mutant("systolic.overlapped_output", "folds end too early",
           "m.d.sync += to_wait.eq(self.rows - 1)", "m.d.sync += to_wait.eq(self.rows - 2)"),
    Mutant("systolic.row_stationary", "sum of the row below lost",
           "self.total.eq(now + self.below)", "self.total.eq(now)", configuration="2x3x2"),
    Mutant("systolic.no_local_reuse", "sum carried too late",
           "for number in range(levels + 1):", "for number in range(levels + 2):"),
    Mutant("systolic.float_weight_stationary", "a row too many under way",
           "(under_way != self.room)", "(under_way != self.room + 1)"),
    Mutant("systolic.accelerator", "waits for transfers only",
           "engine.command.ready & ~transferring,", "~transferring,"),
)

test_edit_fits_the_rtl, test_the_testbench_finds = mutant_tests(MUTANTS, quick=1)
