"""Testbench of the DRAM controller with AXI4 in and DFI out.

The tests are those of the AXI port; `DfiTester` has a PHY with its device, and a checker of DFI, in
place of the pins.
"""

from cyclebound.tb.bench import testbench
from cyclebound.tb.dram import axi_port as port

every_length = testbench(port.every_length.scenario)
words_in_part = testbench(port.words_in_part.scenario)
traffic = testbench(port.traffic.scenario)
traffic_with_stalls = testbench(port.traffic_with_stalls.scenario)
bursts_that_wrap_or_stay = testbench(port.bursts_that_wrap_or_stay.scenario)
refusals = testbench(port.refusals.scenario)
any_burst_and_strobe = testbench(port.any_burst_and_strobe.scenario)
refreshes = testbench(port.refreshes.scenario)
first_after_reset = testbench(port.first_after_reset.scenario)
reset_in_mid_run = testbench(port.reset_in_mid_run.scenario)
