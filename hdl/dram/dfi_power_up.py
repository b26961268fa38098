"""Power-up sequence of a DDR3 device that a DFI PHY drives.

Part of the DFI controller, whose model, testbench and tests cover it.

Ref: JESD79-3F, 3.3.1; DFI 2.1, status interface.
"""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.dfi import mode_registers
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.dfi_adapter import ModeLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_integer

__all__ = ["DfiPowerUp"]

_RESET_PS = 200_000_000   # RESET# stays low after power is stable
_SETTLE_PS = 500_000_000  # CKE stays low after RESET#
_EXIT_PS, _EXIT_CLOCKS = 10_000, 5  # tXPR: nRFC and 10 ns, or 5 clocks
_MODE_CLOCKS = 4          # tMRD
_LAST_PS, _LAST_CLOCKS = 15_000, 12  # tMOD
_CALIBRATE_CLOCKS = 512   # tZQinit, and tDLLK from the DLL's reset before it
_ORDER = 2, 3, 1, 0       # of the mode registers


class DfiPowerUp(wiring.Component):
    """Reset, clock enable, mode registers, calibration; then ``ready``, for good.

    Parameters
    ----------
    part, seen : Part
        The device; and as the controller sees it, see `dfi_part`.
    ratio : int
        DRAM clocks in a cycle.
    hurry : int
        Divides the waits of 200 and 500 microseconds: 1 for a device, more for simulation.

    Members
    -------
    dfi_init_start, dfi_init_complete : Out(1), In(1)
        The PHY's own initialisation, before anything else.
    mode : Out(Strobe(ModeLayout))
        Commands of the sequence.
    cke, reset_n : Out(1)
        To the device.
    ready : Out(1)
        The device takes commands.
    """

    def __init__(self, *, part, seen, ratio, hurry=1):
        check_integer("hurry", hurry, 1)
        self.part, self.seen, self.ratio = part_named(part), seen, ratio

        def after(clocks, picoseconds=0):
            """Cycles for a number of DRAM clocks and for a time, whichever takes longer."""
            return max(-(-clocks // ratio), -(-picoseconds // seen.tck_ps))

        registers = mode_registers(self.part)
        reset, settle = (-(-duration // hurry) for duration in (_RESET_PS, _SETTLE_PS))
        sets = [(after(_MODE_CLOCKS), 1, 1, (0, number, registers[number])) for number in _ORDER]
        sets[-1] = after(_LAST_CLOCKS, _LAST_PS), *sets[-1][1:]
        exits = max(after(_EXIT_CLOCKS),
                    after(self.part.nRFC) + after(0, _EXIT_PS))
        # cycles that a step takes, reset_n and cke in it, the command that it begins with
        self.steps = [
            (after(0, reset), 0, 0, None), (after(0, settle), 1, 0, None), (exits, 1, 1, None),
            *sets, (after(_CALIBRATE_CLOCKS), 1, 1, (1, 0, 1 << 10))]
        super().__init__({
            "dfi_init_start": Out(1), "dfi_init_complete": In(1),
            "mode": Out(Strobe(ModeLayout(part=seen))), "cke": Out(1), "reset_n": Out(1),
            "ready": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        steps = self.steps
        step, begins = Signal(range(len(steps))), Signal(init=1)
        left = Signal(range(max(cycles for cycles, *_ in steps) + 1), init=steps[0][0] - 1)
        going = self.dfi_init_complete & ~self.ready
        m.d.comb += self.dfi_init_start.eq(1)
        with m.If(going):
            m.d.sync += [left.eq(left - 1), begins.eq(0)]
            with m.If(left == 0):
                after = Array(cycles - 1 for cycles, *_ in (*steps[1:], steps[-1]))
                m.d.sync += [step.eq(step + 1), begins.eq(1), left.eq(after[step])]
                with m.If(step == len(steps) - 1):
                    m.d.sync += [self.ready.eq(1), step.eq(step)]

        with m.Switch(step):
            for number, (_, reset_n, cke, command) in enumerate(steps):
                with m.Case(number):
                    m.d.comb += [self.reset_n.eq(reset_n), self.cke.eq(cke)]
                    if command is not None:
                        calibrate, bank, address = command
                        payload = self.mode.payload
                        m.d.comb += [self.mode.valid.eq(going & begins),
                                     payload.calibrate.eq(calibrate), payload.bank.eq(bank),
                                     payload.address.eq(address)]
        return m
