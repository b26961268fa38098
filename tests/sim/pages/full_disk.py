"""A catalogue page with a block whose testbench lets nothing more be written for a while."""

from faults import Delay, delay

from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Testbench
from cyclebound.tb.probe import Probe

WHAT = ("never", "observations", "log", "results")


class Full(Delay):
    """A delay of three cycles; ``what`` cannot be written is up to the testbench."""

    def __init__(self, *, cycles, what):
        super().__init__(cycles=cycles)


BLOCKS = (Block("test.full", "a delay", Full,
                {what: Configuration({"cycles": 3, "what": what}) for what in WHAT},
                (Testbench("cycle", "full_disk_bench"),),
                (BoundBinding("answer", delay, Probe("go", "done")),)),)
