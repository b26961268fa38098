"""Testbench of the RAM of SHMAC's tiles: random requests, beside the golden model."""

from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.shmac.ram import RamModel, merge
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.shmac.tile import packet_said

__all__ = ["play"]


async def play(bench: Bench, content: list[int], *, cycles: int, stall: int) -> None:
    """Cycles of any requests, from reset on; responses wait up to ``stall`` cycles.

    In a RAM with a core, the core reads and writes, too: neither in two cycles that follow each
    other.
    """
    rng, parameters = bench.rng, bench.parameters
    words, core = parameters["words"], parameters["raises"]
    masters = [tuple(master) for master in parameters["masters"]]
    model = RamModel(words, raises=core, masters=masters)
    model.content = content
    bench.declare("ram_access", stall=stall, core=int(core))
    request, waited = None, 0
    did = word = ""  # what the core did in the cycle before, and what its word is now
    few = [rng.randrange(words) for _ in range(3)]
    for _ in range(cycles):
        if request is None and rng.random() < 0.8:
            initiator = (rng.choice(masters) if masters and rng.random() < 0.9
                         else (rng.randrange(16), rng.randrange(16)))
            place = rng.choice((*few, rng.randrange(words)))
            kind = rng.random()
            request = RequestPacket(
                write=rng.random() < 0.5, interrupt=kind < 0.05, sync=kind > 0.4,
                initiator=initiator, data=rng.getrandbits(32), strobes=rng.randrange(16),
                address=rng.choice((4 * place,) * 15 + (4 * rng.randrange(1 << 22),
                                                        4 * place + rng.randrange(4))))
        passed = waited >= stall or rng.random() < 0.5
        does = rng.choice([kind for kind in ("reads", "writes", "") if not kind or kind != did]
                          if core else [""])
        place, data, strobes = rng.choice(few), rng.getrandbits(32), rng.randrange(16)
        answer = model.response
        inputs = {"accesses.valid": int(request is not None), "answers.ready": int(passed),
                  "address": place, "data": data, "strobes": strobes}
        if request is not None:
            inputs |= packet_said("accesses.payload", request)
        if does:
            inputs[does] = 1
        said = {"answers.valid": int(answer is not None)}
        if answer is not None:
            said |= packet_said("answers.payload", answer)
            if answer.error:
                del said["answers.payload.data"]
        if did == "reads":
            said["word"] = int(word)
        takes = request is not None and model.ready(
            request, passed=passed, reads=does == "reads", writes=does == "writes")
        said["raised"] = int(bool(takes and request and core and request.interrupt
                                  and request.write and not request.sync))
        if request is not None:
            said["accesses.ready"] = int(takes)
        seen = await bench.step(bench.inputs.pack(inputs))
        bench.check_fields(seen, said)
        if does == "reads":
            word = str(content[place])
        if takes and request is not None and not request.write:  # before the core writes
            model.step(request, passed=passed)
        if does == "writes":
            content[place] = merge(content[place], data, strobes)
        if not takes or request is None or request.write:
            model.step(request if takes else None, passed=passed)
        waited = 0 if passed or model.response is None else waited + 1
        did = does
        if takes:
            request = None


async def _written(bench: Bench) -> list[int]:
    """Write 0 everywhere: what is in a RAM is not known, and no reset changes it."""
    bench.forget()
    await bench.reset()
    words = bench.parameters["words"]
    await bench.play([bench.inputs.pack({"accesses.valid": 1, **packet_said(
        "accesses.payload", RequestPacket(write=True, address=4 * place, strobes=15))})
        for place in range(words)] + [0])
    bench.forget()
    await bench.reset()
    return [0] * words


@testbench
async def any_requests(bench: Bench) -> None:
    for stall in (0, 1, 5):
        await play(bench, await _written(bench), cycles=2_000, stall=stall)


@testbench
async def some_requests(bench: Bench) -> None:
    await play(bench, await _written(bench), cycles=300, stall=2)


reset_in_mid_run = interrupted(some_requests, longest=100, quiet=True)
