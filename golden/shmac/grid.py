"""Golden model of a whole grid of SHMAC's tiles, cycle by cycle.

Each tile by its own model, and between them the two networks; nothing of it knows the other parts'
insides. In each cycle, all see what the others offered at its beginning.
"""

from collections.abc import Collection

from cyclebound.golden.noc.routes import Mesh, Tile
from cyclebound.golden.shmac.core import Shown
from cyclebound.golden.shmac.device import DeviceModel
from cyclebound.golden.shmac.gate import GateModel
from cyclebound.golden.shmac.gate_table import Gates, check_gates
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.golden.shmac.network import NetworkModel
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket
from cyclebound.golden.shmac.ram import RamModel
from cyclebound.golden.shmac.tile import TileModel

__all__ = ["GridModel"]


class GridModel:
    """A grid of tiles.

    Parameters
    ----------
    layout : Layout
        The kinds of the tiles.
    words : int
        Of each RAM.
    big_endian, bypass : bool
        As of `TileModel`.
    jump : collection of (row, column)
        Cores whose first words are tile (0, 0)'s.
    gates : Gates, optional
        When each core's requests may go. Raises `ValueError` if they are not those of the layout.

    Attributes
    ----------
    gates : dict of GateModel
        By tile with a core, if there are any.
    tiles : dict of TileModel
        Those with a core.
    rams : dict of RamModel
        Of all tiles that have one.
    devices : dict of DeviceModel
        What answers in the others.
    network : NetworkModel
        Between them.
    """

    def __init__(self, layout: Layout, *, words: int, big_endian: bool = True,
                 bypass: bool = True, jump: Collection[Tile] = (),
                 gates: Gates | None = None) -> None:
        shape = layout.height, layout.width
        if gates is not None:
            check_gates(layout, gates)
        self.gates = {} if gates is None else {
            tile: GateModel(period=gates.period, opens=opens, evens=bypass)
            for tile, opens in gates.opens.items()}
        cores = layout.tiles(Kind.CORE)
        self.tiles = {tile: TileModel(position=tile, shape=shape, words=words,
                                      big_endian=big_endian, bypass=bypass,
                                      jump=tile in jump) for tile in cores}
        self.rams = {tile: model.ram for tile, model in self.tiles.items()} | {
            tile: RamModel(words, masters=cores if kind is Kind.LOCKS else ())
            for kind in (Kind.RAM, Kind.LOCKS) for tile in layout.tiles(kind)}
        self.devices = {tile: DeviceModel(kind) for kind in DeviceModel.KINDS
                        for tile in layout.tiles(kind)}
        self.network = NetworkModel(Mesh(*shape))

    def host_taken(self) -> bool:
        """Whether a request of the host is taken in this cycle, if it offers one."""
        return self.network.host_taken()

    @property
    def exited(self) -> bool:
        """Whether all programs have ended."""
        return all(tile.exited for tile in self.tiles.values())

    def step(self, *, run: Collection[Tile] = (), host: RequestPacket | None = None
             ) -> dict[Tile, Shown]:
        """One cycle, in which these cores may go on: what each core shows."""
        requests, responses = self.network.requests, self.network.responses
        asked: dict[Tile, RequestPacket] = dict(requests.offers)
        answered: dict[Tile, ResponsePacket] = dict(responses.offers)
        offers = {tile: offer for tile, model in self.tiles.items()
                  if (offer := model.offer(tile in run)) is not None
                  and (tile not in self.gates or self.gates[tile].open)}
        slaves: dict[Tile, RamModel | DeviceModel] = {**self.rams, **self.devices}
        answers = {tile: slave.response for tile, slave in slaves.items()
                   if slave.response is not None
                   and not (tile in self.gates and self.gates[tile].holds)}
        passed = {tile for tile in answers if responses.takes(tile)}
        taken = {tile for tile in offers if requests.takes(tile)}
        ready = set()
        for tile, request in asked.items():
            if tile in self.tiles:
                goes = self.tiles[tile].ready(request, run=tile in run, passed=tile in passed)
            else:
                goes = slaves[tile].ready(request, passed=tile in passed)
            if goes:
                ready.add(tile)
        shown = {tile: model.step(run=tile in run, taken=tile in taken, response=answered.get(tile),
                                  request=asked.get(tile), passed=tile in passed)
                 for tile, model in self.tiles.items()}
        for tile, slave in slaves.items():
            if tile not in self.tiles:
                slave.step(asked[tile] if tile in ready else None, passed=tile in passed)
        for tile, gate in self.gates.items():
            gate.step(asked=tile in asked, taken=tile in ready)
        for device in self.devices.values():
            device.count(bool(run))
        requests.step(offers, ready, host=host)
        responses.step(answers)
        return shown
