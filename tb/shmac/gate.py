"""Testbench of the TDMA gate of SHMAC's tiles: random requests both ways, beside its model."""

from cyclebound.golden.shmac.gate import GateModel
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.shmac.tile import packet_said

__all__ = ["play"]


def _request(bench: Bench) -> RequestPacket:
    rng = bench.rng
    return RequestPacket(write=rng.random() < 0.5, target=(rng.randrange(16), rng.randrange(16)),
                         address=rng.getrandbits(24), strobes=rng.randrange(16),
                         data=rng.getrandbits(32))


async def play(bench: Bench, *, cycles: int, stalls: float) -> None:
    """Cycles from reset on; the network takes no request in ``stalls`` of them.

    The tile takes requests of the network in any cycle, and answers each of them in the next one or
    later.
    """
    rng, parameters = bench.rng, bench.parameters
    period, opens = parameters["period"], parameters["opens"]
    model = GateModel(period=period, opens=opens, evens=parameters["evens"])
    asked = access = answer = None
    for cycle in range(cycles):
        if asked is None and rng.random() < 0.4:
            asked = _request(bench)
            if not stalls:
                bench.declare("let_in", period=period, opens=opens, cycle=cycle % period)
        if access is None and rng.random() < 0.4:
            access = _request(bench)
        takes, passes, serves = (rng.random() >= chance for chance in (stalls, 0.3, 0.4))
        serves = serves and answer is None  # the tile
        inputs = {"admitted.ready": int(takes), "served.ready": int(serves),
                  "returned.ready": int(passes)}
        said = {
            "admitted.valid": int(asked is not None and model.open),
            "requests.ready": int(takes and model.open), "accesses.ready": int(serves),
            "served.valid": int(access is not None),
            "answers.ready": int(passes and not model.holds),
            "returned.valid": int(answer is not None and not model.holds),
        }
        for name, there, packet in (("requests", "admitted", asked), ("accesses", "served", access),
                                    ("answers", "returned", answer)):
            if packet is not None:
                inputs |= {f"{name}.valid": 1, **packet_said(f"{name}.payload", packet)}
                if said[f"{there}.valid"]:
                    said |= packet_said(f"{there}.payload", packet)
        bench.check_fields(await bench.step(bench.inputs.pack(inputs)), said)
        if said["requests.ready"]:
            asked = None
        if answer is not None and said["answers.ready"]:
            answer = None
        taken = access is not None and serves
        model.step(asked=access is not None, taken=taken)
        if taken:
            if rng.random() < 0.7:
                answer = ResponsePacket(initiator=(rng.randrange(16), 3), data=rng.getrandbits(32))
            access = None


@testbench
async def any_requests(bench: Bench) -> None:
    """With a network that takes them at once, and with one that does not."""
    for stalls in (0.0, 0.5):
        bench.forget()
        await bench.reset()
        await play(bench, cycles=700, stalls=stalls)


@testbench
async def few_requests(bench: Bench) -> None:
    bench.forget()
    await bench.reset()
    await play(bench, cycles=200, stalls=0.0)


reset_in_mid_run = interrupted(few_requests, longest=60, quiet=True)
