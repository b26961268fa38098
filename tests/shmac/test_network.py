# amaranth: UnusedElaboratable=no
"""SHMAC's network with two channels: RTL against golden model, checker against faults."""

import random

import pytest
from amaranth.back import rtlil

from cyclebound.golden.noc.routes import Mesh
from cyclebound.golden.shmac.network import NetworkModel
from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.shmac.slave import SlaveModel
from cyclebound.hdl.shmac.network import Network
from cyclebound.tb.shmac.network_properties import NetworkCheck
from kit.puppet import Puppet, show
from kit.run_bench import run_bench

from .test_router import fields

unit = pytest.mark.unit


@unit
@pytest.mark.parametrize(("wrong", "says"), [
    ({"rows": 0}, "Row count must be from 1 to 16, not 0"),
    ({"columns": 17}, "Column count must be from 1 to 16, not 17"),
    ({"data_bits": 33}, "Data bits must be from 1 to 32, not 33")])
def test_refuses(wrong, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        Network(**{"rows": 1, "columns": 1, **wrong})


@unit
def test_a_single_tile_converts():
    assert "attribute \\top 1" in rtlil.convert(Network(rows=1, columns=1))


@unit
def test_reads_and_host_writes_on_rtl_and_model():
    """Each tile reads every other one's slave, while the host writes; all is as in the model."""
    mesh, rng = Mesh(1, 2), random.Random(3)
    network, model = Network(rows=1, columns=2), NetworkModel(mesh)
    slaves = [SlaveModel(2), SlaveModel(3)]
    todo = {tile: [RequestPacket(write=rng.random() < 0.4, initiator=tile, target=there,
                                 data=rng.getrandbits(32)) for there in mesh.tiles * 4]
            for tile in mesh.tiles}
    host = [RequestPacket(write=True, target=(0, n % 2), data=n) for n in range(8)]
    waits, received, landed = dict.fromkeys(mesh.tiles, False), 0, []

    async def bench(ctx):
        nonlocal received
        for port in network.master_responses:
            ctx.set(port.ready, 1)
        for _ in range(140):
            offers = {tile: queue[0] for tile, queue in todo.items() if queue and not waits[tile]}
            answers = {tile: answer for tile, slave in zip(mesh.tiles, slaves, strict=True)
                       if (answer := slave.response) is not None}
            sides = ((network.master_requests, offers), (network.slave_responses, answers),
                     ([network.host], {mesh.tiles[0]: host[0]} if host else {}))
            for ports, offered in sides:
                for port, tile in zip(ports, mesh.tiles, strict=False):
                    ctx.set(port.valid, tile in offered)
                    if tile in offered:
                        ctx.set(port.payload, fields(offered[tile]))
            ready = {tile for tile, slave in zip(mesh.tiles, slaves, strict=True)
                     if slave.ready(passed=False)}
            for port, tile in zip(network.slave_requests, mesh.tiles, strict=True):
                ctx.set(port.ready, tile in ready)
            came, answered = model.requests.offers, model.responses.offers
            for ports, shown in ((network.slave_requests, came),
                                 (network.master_responses, answered)):
                assert [ctx.get(port.payload.data) if ctx.get(port.valid) else None
                        for port in ports] == [
                    shown[tile].data if tile in shown else None for tile in mesh.tiles]
            taken = [tile for tile in offers if model.requests.takes(tile)]
            passed = {tile for tile in answers if model.responses.takes(tile)}
            for ports, channel in ((network.master_requests, model.requests),
                                   (network.slave_responses, model.responses)):
                assert [bool(ctx.get(port.ready)) for port in ports] == [
                    channel.takes(tile) for tile in mesh.tiles]
            assert bool(ctx.get(network.host.ready)) == model.host_taken()
            outside = host[0] if host else None
            if host and model.host_taken():
                host.pop(0)
            model.requests.step(offers, ready, host=outside)
            model.responses.step(answers)
            for tile, slave in zip(mesh.tiles, slaves, strict=True):
                if tile in came and tile in ready and came[tile].write:
                    landed.append(came[tile].data)
                slave.step(came.get(tile), passed=tile in passed)
            for tile in taken:
                waits[tile] = todo[tile].pop(0).answered
            for tile in answered:
                waits[tile] = False
                received += 1
            await ctx.tick()

    run_bench(network, bench, NetworkCheck(network))
    assert not host
    assert not any(todo.values())
    assert received + len(landed) == 24
    assert received > 3
    assert {n for n in landed if n < 8} == set(range(8))


ENTERS = {"master_requests.1.valid": 1, "master_requests.1.ready": 1}


@unit
@pytest.mark.parametrize(("cycles", "says"), [
    ([{"slave_requests.0.valid": 1, "slave_requests.0.ready": 1}],
     "requests: more leave than have entered"),
    ([ENTERS, {"master_responses.1.valid": 1, "master_responses.1.ready": 1}],
     "responses: more leave than have entered"),
    ([ENTERS, {"slave_requests.1.valid": 1}, {}],
     "requests from it, 1: offer withdrawn or changed")])
def test_checker_fires(cycles, says):
    puppet = Puppet(Network(rows=1, columns=2))
    with pytest.raises(AssertionError, match=f"violated: (owed: )?{says}$"):
        show(puppet, NetworkCheck(puppet), *cycles)


@unit
def test_checker_is_silent_where_all_is_well():
    puppet = Puppet(Network(rows=1, columns=2))
    leaves = {"slave_requests.0.valid": 1, "slave_requests.0.ready": 1}
    show(puppet, NetworkCheck(puppet), {"host.valid": 1, "host.ready": 1}, leaves, ENTERS, leaves)
