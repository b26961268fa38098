"""How near a packet's path through a mesh comes to its bound: a search for the slowest packet.

    python -m cyclebound.tools.maintenance.tightness

draws networks, and looks for each of their streams for the plan of all senders (which packets, and
from which cycle on) with which one of its packets takes longest: a plan is changed a little, and
kept if it is no worse, and after a while without a better one another one is drawn
(`tightness.cpp`). That program has the routers once more, for its speed alone: each plan that it
finds is played on the golden model, which the RTL is compared with in every cycle, and a latency is
what the golden model has. Where the two differ, it is an error. Prints, for each kind of network,
how many networks and streams there were, the mean of the longest latency found over the bound, how
many streams meet their bound, and the least of these ratios, with its network and stream. Exit
status 1 if a packet took longer than its bound.
"""

import argparse
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from cyclebound.golden.noc.patterns import HOTSPOT, TRANSPOSE, pattern
from cyclebound.golden.noc.routes import Channel, Mesh, Port, Tile, channels, xy_route
from cyclebound.golden.noc.traversal import Stream
from cyclebound.sim.base.native import compiled
from cyclebound.tb.noc.staggered import Network, Plan, Planned, play, random_network

__all__ = ["KINDS", "Slowest", "slowest"]

_PROGRAM = Path(__file__).with_name("tightness.cpp")
_PATIENCE = 600  # plans without a slower packet after which the search begins anew
_SMALL = ((2, 2), (2, 3), (3, 2), (3, 3), (1, 4), (1, 5), (2, 4))


def random_pattern(seed: int, *sizes: tuple[int, int]) -> Network:
    """A network that `golden.noc.bounds.traversal` is about: a hotspot, a transpose, or, most
    often, a permutation, on a mesh of one of these sizes."""
    rng = random.Random(seed)
    mesh = Mesh(*rng.choice(sizes))
    delta = rng.choice([2, 2, 2, 3, 4])
    depth = rng.randint(delta + 1, delta + 4)
    numbers = [HOTSPOT, *[rng.randrange(TRANSPOSE + 1, 1 << 20)] * 3]
    if mesh.rows == mesh.columns:
        numbers.append(TRANSPOSE)
    flits = rng.choice([1, 2, 3, depth, depth + 1, 2 * (depth + 1), 3 * (depth + 1),
                        rng.randint(2, 16)])
    goals: dict[Tile, Tile] = {}
    while not goals:
        goals = pattern(mesh, rng.choice(numbers), rng.choice(mesh.tiles))
    return Network(mesh, {str(mesh.tiles.index(source)): Stream(xy_route(mesh, source, target),
                                                                flits)
                          for source, target in goals.items()}, delta, depth)


KINDS: Mapping[str, tuple[int, Callable[[int], Network]]] = {
    "patterns, up to 3 x 3 and 2 x 4": (30, lambda seed: random_pattern(seed, *_SMALL)),
    "patterns, 4 x 4": (6, lambda seed: random_pattern(seed, (4, 4))),
    "any streams, packets of one length": (
        40, lambda seed: random_network(seed, alike=True, hostile=False)),
    "any streams, packets of several lengths": (
        40, lambda seed: random_network(seed, alike=False, hostile=False)),
    "the same, with pauses and stalls": (40, lambda seed: random_network(seed, alike=False)),
}


@dataclass(frozen=True)
class Slowest:
    """The slowest packet of a stream that was found: its latency, from its header's acceptance to
    its last flit's delivery, both included, and the plan of all senders."""

    cycles: int
    plan: Plan


def _numbers(network: Network, lasts: Mapping[str, int]) -> list[int]:
    """The network as `tightness.cpp` reads it; a run lasts for so many cycles, by stream."""
    paths = {name: channels(stream.route) for name, stream in network.streams.items()}
    every = sorted({channel for path in paths.values() for channel in path})
    place = {channel: number for number, channel in enumerate(every)}
    inputs: dict[Channel, set[Channel]] = {channel: set() for channel in every}
    for path in paths.values():
        for before, channel in pairwise(path):
            inputs[channel].add(before)

    def entrance(channel: Channel) -> Port:
        return Port.LOCAL if channel.into else channel.port.opposite

    numbers = [len(every)]
    for channel in every:
        numbers += [channel.into, len(inputs[channel]),
                    *(place[before] for before in sorted(inputs[channel], key=entrance))]
    numbers.append(len(paths))
    for name, path in paths.items():
        stream = network.streams[name]
        numbers += [network.mesh.tiles.index(stream.route[0]), stream.least, stream.flits,
                    stream.pauses, len(path), *(place[channel] for channel in path), lasts[name]]
    return numbers


def slowest(network: Network, *, cycles: int, seed: int,
            program: Path = _PROGRAM) -> dict[str, Slowest]:
    """The slowest packet of each stream, from a search of so many simulated cycles each.

    A sender pauses at one place of a packet at most, and a receiver stalls all of its flits for as
    long. Raises `RuntimeError` if the golden model has another latency than the search had.
    """
    lasts = {name: 3 * bound + 60 for name, bound in network.allowed.items()}
    numbers = [network.delta, network.depth, network.stalls, cycles, _PATIENCE, seed,
               *_numbers(network, lasts)]
    done = subprocess.run([str(compiled(program))], input=" ".join(map(str, map(int, numbers))),
                          capture_output=True, text=True, check=True)
    words = map(int, done.stdout.split())
    names, found = list(network.streams), {}
    for target in names:
        most, delivered, packets = next(words), next(words), next(words)
        plan: dict[tuple[int, int], list[Planned]] = {}
        for _ in range(packets):
            name, flits, begin, pause, place, stall = names[next(words)], *islice(words, 5)
            plan.setdefault(network.streams[name].route[0], []).append(Planned(
                begin, name, flits, tuple(pause * (place == at) for at in range(flits)), stall))
        latency = max((last - first + 1 for name, first, last
                       in play(network, plan, cycles=delivered + 1) if name == target), default=-1)
        if latency != most:
            raise RuntimeError(f"the golden model has {latency} cycles for stream {target}, "
                               f"the search had {most}")
        found[target] = Slowest(latency, plan)
    return found


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=_count, default=500_000, help="simulated for each stream")
    parser.add_argument("--networks", type=_count, help="of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the first network of each kind")
    arguments = parser.parse_args()
    exceeded = False
    for kind, (count, draw) in KINDS.items():
        ratios, networks = [], arguments.networks or count
        for seed in range(arguments.seed, arguments.seed + networks):
            network = draw(seed)
            allowed = network.allowed
            for name, found in slowest(network, cycles=arguments.cycles, seed=seed).items():
                ratios.append((found.cycles / allowed[name], seed, name))
                if found.cycles > allowed[name]:
                    exceeded = True
                    print(f"{kind}, network {seed}, stream {name}: {found.cycles} cycles of "
                          f"{allowed[name]} allowed: {found.plan}", flush=True)
        values = [ratio for ratio, *_ in ratios]
        least, seed, name = min(ratios)
        print(f"{kind}: {networks} networks, {len(values)} streams, mean "
              f"{sum(values) / len(values):.3f}, {values.count(1)} meet their bound, least "
              f"{least:.3f} (network {seed}, stream {name})", flush=True)
    sys.exit(exceeded)


if __name__ == "__main__":
    main()
