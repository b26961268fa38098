"""Blocks of the networks on chip."""

from cyclebound.golden.noc import bounds
from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Property,
    Testbench,
)
from cyclebound.tb.noc.arbiter_properties import RoundRobinCheck, RoundRobinProof
from cyclebound.tb.probe import Probe

BLOCKS = (
    Block(
        name="noc.arbiter",
        summary="round-robin arbiter that holds a grant until it is accepted",
        component=RoundRobinArbiter,
        configurations={
            "four": Configuration({"count": 4}),
            "paper": Configuration({"count": 11}),  # 10 cores and a DMA [Table III]
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.arbiter", quick=("four",)),),
        bounds=(BoundBinding(
            "grant", bounds.round_robin_wait, proved_by=("fair",),
            probe=Probe(start="requests[r] & ~past(requests[r] & ~(grant[r] & accept))",
                        end="grant[r] & accept", ticks="any(grant) & accept", unit="grants",
                        over={"r": "count"})),),
        properties=(
            Property(
                name="fair",
                quick=2,
                says="a requester that keeps asking is served within as many accepted grants as "
                     "there are requesters; grants are one-hot, only for requests, never idle, and "
                     "held",
                checker=RoundRobinProof,
                assumes={
                    "request withdrawn before it was served":
                        "a request stays until it is served",
                },
                instances=tuple({"count": count} for count in (2, 4, 8, 11)),
                # Cover waits for all the others, one grant each.
                depth=lambda instance: max(12, instance["count"] + 2),
                induction=4,
                declares={"grant": lambda parameters: {"requesters": parameters["count"]}},
            ),
        ),
        checker=RoundRobinCheck,
        mutants=MutationTarget("four"),
        fpga=FpgaTarget("paper"),
    ),
)
