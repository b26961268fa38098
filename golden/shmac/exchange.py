"""Masters and slaves on SHMAC's network, by their time alone. Stand-ins for cores and memories.

A master begins a request if it is idle and wants to; it offers it until it is taken, and is idle
again then, or, if the request has a response, in the cycle after that. It may be kept from
beginning while more than so many of its requests have not landed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cyclebound.golden.noc.routes import Mesh, Tile
from cyclebound.golden.shmac.network import NetworkModel
from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.shmac.slave import SlaveModel
from cyclebound.golden.shmac.traffic import HOST, MANY

__all__ = ["ExchangeModel", "Seen", "Wish"]

Wish = tuple[Tile, bool]
"""The target of a request, and whether it is a plain write."""


@dataclass
class Seen:
    """What is seen in a cycle, each by master.

    Attributes
    ----------
    offers : dict
        The request on offer.
    taken : set
        Whose offer is taken.
    landed : list
        The master and the slave of each request that a slave takes.
    received : set
        Who has a response.
    """

    offers: dict[Tile, RequestPacket] = field(default_factory=dict)
    taken: set[Tile] = field(default_factory=set)
    landed: list[tuple[Tile, Tile]] = field(default_factory=list)
    received: set[Tile] = field(default_factory=set)


class ExchangeModel:
    """The network with a master and a slave in each tile, and the host.

    Parameters
    ----------
    mesh : Mesh
        Rows and columns.
    service : int or mapping of Tile to int
        Of each slave.
    overlaps : bool
        Slaves are those that overlap.
    most : mapping of Tile to int
        Of these masters, how many requests may be under way where one begins.
    """

    def __init__(self, mesh: Mesh, *, service: int | Mapping[Tile, int], overlaps: bool = False,
                 most: Mapping[Tile, int] | None = None) -> None:
        self.mesh, self.network = mesh, NetworkModel(mesh)
        self.slaves = {tile: SlaveModel(service if isinstance(service, int) else service[tile],
                                        overlaps=overlaps) for tile in mesh.tiles}
        self._numbers = {tile: number for number, tile in enumerate([*mesh.tiles, HOST])}
        self._tiles = list(self._numbers)
        self._most = most or {}
        self._offers: dict[Tile, RequestPacket] = {}
        self._waiting: set[Tile] = set()
        self.under_way = dict.fromkeys(self._numbers, 0)  # not landed

    def step(self, wishes: Mapping[Tile, Wish]) -> Seen:
        """One cycle, and what is seen in it; ``wishes``: what each master would begin."""
        requests, responses = self.network.requests, self.network.responses
        for tile, (target, write) in wishes.items():
            if not (tile in self._offers or tile in self._waiting
                    or self.under_way[tile] > self._most.get(tile, MANY)):
                self._offers[tile] = RequestPacket(
                    write=write, initiator=(0, 0) if tile == HOST else tile, target=target,
                    data=self._numbers[tile])
                self.under_way[tile] += 1
        seen = Seen(offers=dict(self._offers))
        outside = self._offers.get(HOST)
        if outside is not None and self.network.host_taken():
            seen.taken.add(HOST)
        inside = {tile: packet for tile, packet in self._offers.items() if tile != HOST}
        seen.taken.update(filter(requests.takes, inside))
        came, answered = requests.offers, responses.offers
        answers = {tile: answer for tile, slave in self.slaves.items()
                   if (answer := slave.response) is not None}
        passed = set(filter(responses.takes, answers))
        ready = {tile for tile in came if self.slaves[tile].ready(passed=tile in passed)}
        requests.step(inside, ready, host=outside)
        responses.step(answers)
        for tile, slave in self.slaves.items():
            slave.step(came.get(tile), passed=tile in passed)
        for tile in ready:
            seen.landed.append((self._tiles[came[tile].data], tile))
        seen.received.update(answered)
        for tile, _ in seen.landed:
            self.under_way[tile] -= 1
        for tile in seen.taken:
            packet = self._offers.pop(tile)
            if packet.answered:
                self._waiting.add(tile)
        self._waiting -= seen.received
        return seen
