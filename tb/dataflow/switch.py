"""Testbench of the switch: every port compared in every cycle, in many configurations."""

from cyclebound.golden.dataflow.switch import SwitchModel
from cyclebound.tb.bench import Bench, interrupted, testbench


async def play(bench: Bench, choices: dict[int, int], *, cycles: int, load: float,
               sink: float) -> list[list[int]]:
    """Random traffic in one configuration; returns what each output had, as numbers."""
    await bench.reset()
    ports, rng = bench.parameters["ports"], bench.rng
    bits = bench.parameters["tid_width"], bench.parameters["width"]
    model: SwitchModel[tuple[int, int]] = SwitchModel(ports, choices)
    fixed = {f"choices.{o}": 1 + i for o, i in choices.items()}
    held: list[tuple[int, int] | None] = [None] * ports
    for what in ("hop", "stream"):
        bench.undeclare(what)
    for o in choices:
        if sink == 1:
            bench.declare("hop", {"o": o})
        if load == sink == 1:
            bench.declare("stream", {"o": o}, tokens=cycles - 1)
    got: list[list] = [[] for _ in range(ports)]
    sent: list[list] = [[] for _ in range(ports)]
    for _ in range(cycles):
        ready = [rng.random() < sink for _ in range(ports)]
        values = dict(fixed)
        for p in range(ports):
            if held[p] is None and rng.random() < load:
                held[p] = rng.getrandbits(bits[0]), rng.getrandbits(bits[1])
            values[f"outputs.{p}.ready"] = ready[p]
            if (token := held[p]) is not None:
                values |= {f"inputs.{p}.valid": 1, f"inputs.{p}.payload.tid": token[0],
                           f"inputs.{p}.payload.data": token[1]}
        seen = await bench.step(bench.inputs.pack(values))
        room, shown = model.ready, model.step(held, ready)
        expected: dict[str, int] = {}
        care = 0
        for p in range(ports):
            expected |= {f"inputs.{p}.ready": room[p], f"outputs.{p}.valid": shown[p] is not None}
            care |= (bench.outputs[f"inputs.{p}.ready"].mask
                     | bench.outputs[f"outputs.{p}.valid"].mask)
            if (token := shown[p]) is not None:
                expected |= {f"outputs.{p}.payload.tid": token[0],
                             f"outputs.{p}.payload.data": token[1]}
                care |= bench.outputs[f"outputs.{p}.payload"].mask
                if ready[p]:
                    got[p].append(shown[p])
        bench.check(seen, bench.outputs.pack(expected), care)
        for p in range(ports):
            if held[p] is not None and room[p]:
                sent[p].append(held[p])
                held[p] = None
    for o, source in choices.items():
        assert got[o] == sent[source][:len(got[o])]
    return got


def configurations(bench: Bench):
    """One to one, one to all, all from random inputs."""
    ports = bench.parameters["ports"]
    yield {o: (o + 1) % ports for o in range(ports)}
    yield dict.fromkeys(range(1, ports), 0)
    for _ in range(6):
        yield {o: source for o in range(ports)
               if (source := bench.rng.randrange(ports)) != o and bench.rng.random() < 0.8}


@testbench
async def a_token_in_every_cycle(bench: Bench) -> None:
    for choices in configurations(bench):
        got = await play(bench, choices, cycles=40, load=1, sink=1)
        assert all(len(got[o]) == 39 for o in choices)


@testbench
async def stalls_on_all_sides(bench: Bench) -> None:
    for choices in configurations(bench):
        for load, sink in ((0.5, 1), (1, 0.5), (0.7, 0.6)):
            await play(bench, choices, cycles=60, load=load, sink=sink)


reset_in_mid_run = interrupted(stalls_on_all_sides)
