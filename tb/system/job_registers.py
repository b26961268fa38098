"""Testbench of the registers of a tile's jobs: any requests, beside the golden model."""

from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.system.job_registers import JobRegistersModel
from cyclebound.golden.system.job_table import Control, JobRegister
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.shmac.tile import packet_said

__all__ = ["play", "request_of"]

_START = 1 << Control.START


def request_of(rng, operands: int) -> RequestPacket:
    """Most of them are good: whole words of registers that are there."""
    odd = rng.random() < 0.15
    places = [*JobRegister, *(JobRegister.OPERAND + 4 * number for number in range(operands + 1))]
    address = rng.choice(places)
    if odd and rng.random() < 0.5:
        address = rng.choice((rng.randrange(1 << 24), address + rng.randrange(1, 4),
                              address | 1 << rng.randrange(8, 24)))
    control = address == JobRegister.CONTROL
    data = rng.choice((_START,) * 8 + (0, 2, 3, 5, 1 << 31 | 1)) if control else \
        rng.choice((rng.getrandbits(32), 0, (1 << 32) - 1, 8))
    return RequestPacket(
        write=rng.random() < (0.9 if control else 0.5),
        interrupt=odd and rng.random() < 0.3, sync=odd and rng.random() < 0.3,
        initiator=(rng.randrange(16), rng.randrange(16)),
        target=(rng.randrange(16), rng.randrange(16)), address=address, data=data,
        strobes=rng.randrange(16) if odd and rng.random() < 0.5 else 15)


async def play(bench: Bench, *, cycles: int, stall: int, asks: float = 0.8, job: int = 6) -> None:
    """Cycles of any requests, from reset on; a response waits up to ``stall`` cycles, a job takes
    up to ``job`` cycles, and words are taken in half of them."""
    rng, operands = bench.rng, bench.parameters["operands"]
    model = JobRegistersModel(operands)
    request, waited, left = None, 0, 0
    for what in ("taken", "access", "start", "end"):
        bench.declare(what, **({"stall": stall, "core": 0} if what == "taken" else {}))
    for _ in range(cycles):
        if request is None and rng.random() < asks:
            request = request_of(rng, operands)
        passed = waited >= stall or rng.random() < 0.5
        if model.start:
            left = rng.randrange(job + 1)
        elif left:
            left -= 1
        idle = left == 0 if model.busy and not model.start else rng.random() < 0.5
        fault = rng.random() < 0.1
        takes = rng.random() < 0.5
        inputs = {"accesses.valid": int(request is not None), "answers.ready": int(passed),
                  "idle": int(idle), "fault": int(fault), "word.ready": int(takes)}
        if request is not None:
            inputs |= packet_said("accesses.payload", request)
        answer = model.response
        said = {"answers.valid": int(answer is not None), "start": int(model.start),
                "busy": int(model.busy),
                "word.valid": int(model.word is not None),
                "accesses.ready": int(model.ready(passed=passed)),
                **{f"operands.{number}": value for number, value in enumerate(model.kept)}}
        if answer is not None:
            said |= packet_said("answers.payload", answer)
        if model.word is not None:
            said["word.payload"] = model.word
        bench.check_fields(await bench.step(bench.inputs.pack(inputs)), said)
        taken = request if model.ready(passed=passed) else None
        model.step(taken, passed=passed, idle=idle, fault=fault, takes=takes)
        waited = 0 if passed or model.response is None else waited + 1
        if taken is not None:
            request = None


@testbench
async def any_requests(bench: Bench) -> None:
    """In each cycle, in some, and few beside long jobs."""
    for stall, asks, job in ((0, 1, 3), (1, 0.8, 6), (5, 0.8, 6), (2, 0.1, 60)):
        bench.forget()
        await bench.reset()
        await play(bench, cycles=2_000, stall=stall, asks=asks, job=job)


@testbench
async def some_requests(bench: Bench) -> None:
    await play(bench, cycles=300, stall=2)


reset_in_mid_run = interrupted(some_requests, longest=100, quiet=True)
