"""Blocks of on-chip memory."""

import functools

from cyclebound.golden.sram import bounds
from cyclebound.hdl.sram.banked_memory import BankedMemory
from cyclebound.hdl.sram.banked_memory_harness import BankedMemoryHarness
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Property,
    Testbench,
)
from cyclebound.tb.probe import Probe
from cyclebound.tb.sram.banked_memory_properties import (
    BankedMemoryCheck,
    BankedMemoryDataProof,
    BankedMemoryObserver,
    BankedMemoryProof,
)

_OFFERED, _READY = "ports[r][b].request.valid", "ports[r][b].request.ready"
_READ = f"{_OFFERED} & (ports[r][b].request.payload.write == 0)"
# One requester's words in one bank, back to back; how many, it says beforehand.
_transaction = functools.partial(
    Probe, starts="declared.words", ends="declared.words",
    over={"r": "requesters", "b": "banks"},
    request={"first": "observer.first[r][b]"}, observer=BankedMemoryObserver)
_EXHAUSTS = "others that ask in every cycle, where the bound lets them pause"


def _cases(most):
    """Requesters on the bank, bytes, how many requesters asked in every cycle, and how many of them
    the round robin serves first: more of the arbiter's state there is not.
    """
    return lambda parameters: {"requesters": range(1, parameters["requesters"] + 1),
                               "transaction_bytes": range(1, most + 1),
                               "asking": range(1, parameters["requesters"] + 1),
                               "first": range(parameters["requesters"])}


def _among(*, requesters, asking, first, **_):
    return first < requesters == asking


def _one_word(parameters):
    """Requests of a proof: transactions of one word, against all other requesters."""
    return {"words": 1, "transaction_bytes": parameters["word_bytes"],
            "requesters": parameters["requesters"]}


BLOCKS = (
    Block(
        name="sram.banked_memory",
        summary="local memory of a compute tile: banks behind round-robin arbiters",
        component=BankedMemory,
        configurations={
            "tiny": Configuration(
                {"banks": 2, "requesters": 2, "words": 4, "word_bytes": 2},
                domain=_cases(16), possible=_among),
            "quad": Configuration(
                {"banks": 4, "requesters": 4, "words": 512, "word_bytes": 4},
                domain=_cases(17), possible=_among),
            # memory-composition, Table III: 10 cores and a DMA, 8 banks, 8 bytes
            "paper": Configuration(
                {"banks": 8, "requesters": 11, "words": 1024, "word_bytes": 8},
                domain=_cases(25), possible=_among),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.sram.banked_memory", quick=("tiny",)),
            Testbench("harness", "cyclebound.tb.sram.banked_memory_harness",
                      top=BankedMemoryHarness, probed=lambda harness: harness.memory,
                      max_cycles=20_000_000, quick=("tiny",)),
        ),
        # A word waits for one grant to each other requester that asks: N_req cycles with its own.
        # The next word is offered in the cycle after, so the words of a transaction add up to
        # Eq. 1; and the last one, if it is a read, is answered one cycle later.
        bounds=(
            BoundBinding("transaction", bounds.eq1, proved_by=("arbitration",), exhaustive=True,
                         exhausts=_EXHAUSTS,
                         probe=_transaction(start=f"{_OFFERED} & ~past({_OFFERED} & ~{_READY})",
                                     end=f"{_OFFERED} & {_READY}",
                                     conditions={"asking": "observer.asking[r][b]"})),
            BoundBinding("read", bounds.read_completion, exhaustive=True, exhausts=_EXHAUSTS,
                         probe=_transaction(start=f"{_READ} & ~past({_READ} & ~{_READY})",
                                     end="ports[r][b].response.valid", in_flight=2,
                                     conditions={"asking": "observer.asked[r][b]"})),
        ),
        properties=(
            Property(
                name="arbitration",
                quick=1,
                says="a bank grants one access in every cycle in which a requester asks; one "
                     "that waits sees each other granted once at most, so that a word takes as "
                     "many cycles as requesters ask; a read is answered in the cycle after its "
                     "grant, and nothing else is",
                checker=BankedMemoryProof,
                assumes={
                    "bank #: offer withdrawn": "an access on offer stays until it is granted",
                    "bank #: offer # changed": "an access on offer stays until it is granted",
                },
                instances=tuple(dict(zip(("banks", "requesters", "words", "word_bytes"), values,
                                         strict=True))
                                for values in ((2, 2, 2, 1), (2, 4, 2, 1), (1, 8, 2, 1),
                                               (1, 11, 2, 1), (1, 2, 4, 2))),
                induction=4,
                independent={
                    "banks": "banks share no signal but clock and reset",
                    "words": "a bank's arbiter reads no address",
                    "word_bytes": "a bank's arbiter reads no data"},
                declares={"transaction": _one_word},
            ),
            Property(
                name="data",
                quick=0,
                says="a read returns, byte by byte, what was written last",
                checker=BankedMemoryDataProof,
                instances=({"banks": 2, "requesters": 2, "words": 4, "word_bytes": 2},),
                depth=6,
                induction=4,
            ),
        ),
        checker=BankedMemoryCheck,
        mutants=MutationTarget("tiny"),
        fpga=FpgaTarget("quad"),
        signals=("top.dut.bank_0.arbiter.requests", "top.dut.bank_0.arbiter.grant",
                 "top.dut.bank_0.access", "top.dut.bank_0.ports__0__response__valid"),
    ),
)
