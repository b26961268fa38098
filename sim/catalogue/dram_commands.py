"""The stages that make DRAM commands: command generator and command arbiter."""

from cyclebound.golden.dram import bounds, pipeline_bounds
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.small_part import SMALL, on_small_part
from cyclebound.hdl.dram.command_arbiter import CommandArbiter
from cyclebound.hdl.dram.command_generator import CommandGenerator
from cyclebound.hdl.dram.command_path import CommandPath
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dram.command_arbiter_properties import (
    CommandArbiterActivates,
    CommandArbiterBursts,
    CommandArbiterCheck,
    CommandArbiterProof,
)
from cyclebound.tb.dram.command_generator_properties import (
    CommandGeneratorCheck,
    CommandGeneratorProof,
)
from cyclebound.tb.dram.command_path_properties import CommandPathProof, CommandPathRequest
from cyclebound.tb.probe import Probe

_PARTS = {"x16": "ddr4-3200aa-x16", "x8": "ddr4-3200aa-x8", "slow": "ddr4-1866m-x16",
          "ddr3": "ddr3-1600-module"}

_OPENS = f"first(command.op == {Command.ACT.value}, idle)"  # a request's first command
_REFRESHES = f"(command.op == {Command.REF.value})"


def request_of(most):
    """The checker of requests of up to ``most`` bursts."""
    return lambda target: CommandPathRequest(target, most=most)


BLOCKS = (
    Block(
        name="dram.command_generator",
        summary="address mapping, precharge policy, and a FIFO for each bank",
        component=CommandGenerator,
        configurations={name: Configuration({"part": part}) for name, part in _PARTS.items()},
        testbenches=(Testbench("cycle", "cyclebound.tb.dram.command_generator", quick=("x16",)),),
        # With every head popped as it comes, each burst is seen once: as the entry that reads or
        # writes it, at the head of its bank's FIFO.
        bounds=(BoundBinding(
            "burst", pipeline_bounds.generator_burst, probe=Probe(
                start="bursts.valid & bursts.ready & declared.popped",
                end="any(heads[:].valid & ~heads[:].operation.precharge_only) & declared.popped",
                in_flight=4)),),
        properties=(
            Property(
                name="queues",
                quick=0,
                says="no FIFO is pushed into while it is full or popped while it is empty, "
                     "whatever is offered and popped; no entry is lost or doubled, no head "
                     "changes, every burst taken is described once",
                checker=CommandGeneratorProof,
                instances=({"part": "ddr4-3200aa-x16"}, {"part": "ddr3-1600-module"}),
                depth=8,
                induction=2,
            ),
        ),
        checker=CommandGeneratorCheck,
        mutants=MutationTarget("x16"),
        fpga=FpgaTarget("x16"),
        signals=("top.dut.bursts__valid", "top.dut.bursts__ready", "top.dut.describe__valid",
                 "top.dut.busy", "top.dut.pop"),
    ),
    Block(
        name="dram.command_arbiter",
        summary="one legal command per cycle from the heads of the banks' FIFOs",
        component=CommandArbiter,
        configurations={
            **{name: Configuration({"part": part}) for name, part in _PARTS.items()},
            "x16_carry": Configuration({"part": "ddr4-3200aa-x16", "carry": True}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dram.command_arbiter", quick=("x16",)),),
        bounds=(
            # from the cycle after a request's first command is on the pins, to the next one's
            BoundBinding("tile", bounds.tile_issue_delay,
                         probe=Probe(start=f"past({_OPENS})",
                                     end=f"({_OPENS} | {_REFRESHES}) & past(held({_OPENS}, "
                                         f"{_OPENS} | {_REFRESHES}))")),
            BoundBinding("refresh", pipeline_bounds.arbiter_refresh,
                         probe=Probe(start=f"past({_REFRESHES})",
                                     end=f"({_OPENS} | {_REFRESHES}) & past(held({_REFRESHES}, "
                                         f"{_OPENS} | {_REFRESHES}))")),
            BoundBinding("refresh_wait", pipeline_bounds.arbiter_refresh_wait,
                         probe=Probe(start="refresh & idle & ~past(refresh & idle & ~refreshed)",
                                     end="refreshed")),
        ),
        properties=(
            Property(
                name="one_command",
                quick=0,
                says="at most one of all banks' commands and the refresh is chosen in a cycle, "
                     "and it is on the pins in the next; a refresh only where nothing is under way",
                checker=CommandArbiterProof,
                instances=({"part": "ddr4-3200aa-x16"}, {"part": "ddr4-3200aa-x8"}),
                depth=4,
                induction=2,
            ),
            Property(
                name="activates",
                quick=0,
                says="an activate on the pins is that of a bank: of those that may, one is chosen",
                checker=CommandArbiterActivates,
                # of 16 banks, the bounded check takes more than five minutes
                instances=({"part": "ddr4-3200aa-x16"},),
                depth=4,
                induction=2,
            ),
            Property(
                name="bursts",
                quick=0,
                says="the data of no two reads or writes overlap on the bus; given that requests "
                     "have one direction each, and open the banks that they use",
                checker=CommandArbiterBursts,
                instances=tuple({"part": part} for part in _PARTS.values()),
                depth=4,
                induction=2,
            ),
            Property(
                name="request",
                quick=0,
                says="with the generator, on a part with 2 banks: from any state that a request "
                     "may begin in, one of up to 4 bursts is worked off within its issue delay, "
                     "wherever they lie, read or write, indexed or not; after it, as after a "
                     "pause or a refresh, the next may begin in such a state",
                checker=request_of(4),
                instances=({"part": SMALL.name},),
                depth=29,
                induction=None,
                top=on_small_part(CommandPath),
                anywhere=True,
            ),
            Property(
                name="requests",
                quick=0,
                says="the same of all requests of up to 2 bursts, from reset on",
                checker=lambda target: CommandPathProof(target, most=2),
                instances=({"part": SMALL.name},),
                depth=16,
                induction=16,
                top=on_small_part(CommandPath),
            ),
        ),
        checker=CommandArbiterCheck,
        fpga=FpgaTarget("x16"),
        signals=("top.dut.command", "top.dut.pop", "top.dut.holdoff", "top.dut.idle",
                 "top.dut.refreshed"),
    ),
)
