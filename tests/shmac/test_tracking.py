"""Packets followed through SHMAC's network: on the golden model, on the RTL, and as a command."""

import json
import random

import pytest

from cyclebound.golden.noc.routes import Port
from cyclebound.golden.shmac.layout import Layout
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket
from cyclebound.golden.shmac.tracking import ENTRY, Choice, Sight, Tracker
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.shmac.rtl import run_rtl
from cyclebound.sim.families.shmac.run import CycleRun, Setup, run_cycles
from cyclebound.sim.families.shmac.tracks import choice_of, flows, packet_trace, spans
from cyclebound.tools.shmac.program import assembled

unit = pytest.mark.unit

# each core's: a sum in the tile with locks, a store and a load in RAM, and one that fails
PROGRAM = """
        lw    $1, -0x200($0)       # the tile
        li    $3, 0x01000000
        sll   $4, $1, 2
        addu  $3, $3, $4
        sw    $1, 0($3)
        lw    $5, 0($3)
        lui   $6, 0x1000
again:  ll    $7, 0($6)
        addu  $7, $7, $5
        sc    $7, 0($6)
        beq   $7, $0, again
        nop
        sw    $0, -4($3)           # no memory
        lui   $3, 0x0110
        sw    $0, 0($3)
        sb    $1, 1($6)
        sw    $0, -0x1fc($0)
"""


class Recorder(Tracker):
    """A tracker that keeps what it sees."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.seen = []

    def see(self, sight):
        self.seen.append(sight)
        super().see(sight)

    @property
    def in_order(self):
        return sorted(self.seen, key=lambda sight: (
            sight.cycle, isinstance(sight.packet, RequestPacket), sight.tile, sight.place))


def in_order(tracks):
    """Those that enter in one cycle by tile."""
    return sorted(tracks, key=lambda track: (track.there.stations[0].taken,
                                             track.request.initiator))


def setup():
    layout = Layout(("PR", "LP"))
    return Setup(layout, {tile: assembled(PROGRAM, f"add {tile}", *tile)
                          for tile in ((0, 0), (1, 1))}, dict.fromkeys(layout.tiles(), 1 << 15))


@pytest.fixture(scope="module")
def tracked():
    recorder = Recorder()
    return recorder, run_cycles(CycleRun(setup(), tracker=recorder), limit=5_000)


@unit
def test_latencies_are_those_of_an_idle_network(tracked):
    """3 (h + 1) + 1 there, and as much back (`network_bounds.alone`), and what a packet waited."""
    recorder, done = tracked
    assert done.ended
    assert {track.type for track in recorder.tracks} == {"read", "write", "ll", "sc"}
    for track in recorder.tracks:
        if track.ended:
            request = track.request
            links = sum(abs(a - b) for a, b in zip(request.initiator, request.target, strict=True))
            way = 3 * (links + 1) + 1
            assert track.latency - track.waited == (2 * way if request.answered else way)
            routers = [station.tile for station in track.there.stations]
            assert (routers[0], routers[-1]) == (request.initiator, request.target)
            assert len(routers) == links + 2


@unit
def test_a_store_that_fails_has_a_response_that_its_latency_does_not_count(tracked):
    failed = [track for track in tracked[0].tracks if track.type == "write" and track.back]
    assert failed
    for track in failed:
        assert track.response is not None
        assert track.response.error
        assert track.latency < 15


@unit
def test_waiting_is_seen_where_two_meet():
    """Many cores that store into one tile."""
    text = "li $1, 0x01010000\n" + "sw $1, 0($1)\n" * 20 + "sw $0, -0x1fc($0)"
    layout = Layout(("PPP", "PRP", "PPP"))
    recorder = Tracker([Choice(target=(1, 1))])
    programs = {tile: assembled(text.replace("0x0101", "0x1100"), "all", *tile)
                for tile in layout.tiles() if tile != (1, 1)}
    done = run_cycles(CycleRun(Setup(layout, programs, dict.fromkeys(layout.tiles(), 1 << 15)),
                               tracker=recorder), limit=5_000)
    assert done.ended
    assert max(track.waited for track in recorder.tracks) > 20
    assert all(wait >= 0 for track in recorder.tracks for wait in track.there.waits)
    table = flows(recorder.tracks)
    assert [flow.packets + flow.under_way for flow in table] == [20] * 8
    assert sum(flow.packets for flow in table) == sum(track.ended for track in recorder.tracks)
    assert all(flow.least <= flow.mean <= flow.most for flow in table)


@unit
def test_a_tracker_changes_nothing(tracked):
    done, again = tracked[1], run_cycles(CycleRun(setup()), limit=5_000)
    assert (again.tiles, again.rounds) == (done.tiles, done.rounds)


@pytest.mark.cosim
def test_the_stations_of_the_rtl_are_those_of_the_model(tmp_path, tracked):
    """Every stream of every router in every cycle, with its packet."""
    recorder, done = tracked
    hardware = Recorder()
    ran = run_rtl(setup(), limit=5_000, tracker=hardware, folder=tmp_path)
    assert hardware.in_order == recorder.in_order
    assert in_order(hardware.tracks) == in_order(recorder.tracks)
    assert ran.rounds == done.rounds
    for tile, result in done.tiles.items():
        assert (ran.tiles[tile].cycles, ran.tiles[tile].instructions) == (
            result.cycles, result.instructions)


@unit
def test_random_programs_are_followed_to_their_ends():
    """No packet is lost from sight: all that are under way at the end are in the routers."""
    rng = random.Random(3)
    layout = Layout(("PLP", "RPU", "PC."))
    for _ in range(4):
        programs = {}
        for tile in layout.tiles():
            if layout.rows[tile[0]][tile[1]] == "P":
                text = [f"li $1, {rng.getrandbits(32):#x}"]
                for _ in range(60):
                    row, column = rng.randrange(3), rng.randrange(3)
                    text += [f"li $2, {row << 28 | column << 24 | 0x400:#x}",
                             f"{rng.choice(('sw', 'sh', 'sb'))} $1, {4 * rng.randrange(9)}($2)"]
                programs[tile] = assembled("\n".join([*text, "sw $0, -0x1fc($0)"]), "any", *tile)
        recorder = Recorder()
        run = CycleRun(Setup(layout, programs, dict.fromkeys(layout.tiles(), 1 << 15)),
                       tracker=recorder)
        for _ in range(2_000):
            run.step()
        assert run.ended
        assert run.grid.network.inside == 0
        assert all(track.ended for track in recorder.tracks)
        entered = sum(sight.taken and sight.place == ENTRY and isinstance(
            sight.packet, RequestPacket) for sight in recorder.seen)
        assert entered == len(recorder.tracks) > 100


@unit
def test_packets_that_overtake_are_noticed():
    first, second = (RequestPacket(write=True, target=(0, 1), data=data) for data in (1, 2))
    tracker = Tracker()
    for cycle, packet in enumerate((first, second)):
        tracker.see(Sight(cycle, (0, 0), ENTRY, packet, True))
    with pytest.raises(AssertionError, match=r"^packets of one flow have changed their order$"):
        tracker.see(Sight(3, (0, 0), Port.EAST, second, True))


@unit
def test_a_response_belongs_to_the_request_that_was_taken_before():
    """The slave takes the next request in the cycle in which the response before it leaves."""
    here, tracker = (0, 0), Tracker()
    requests = [RequestPacket(address=4 * number) for number in range(2)]
    for number, request in enumerate(requests):
        tracker.see(Sight(number, here, ENTRY, request, True))
    tracker.see(Sight(3, here, Port.LOCAL, requests[0], True))
    tracker.see(Sight(4, here, Port.LOCAL, requests[1], True))
    for cycle, data in ((4, 8), (5, 9)):
        tracker.see(Sight(cycle, here, ENTRY, ResponsePacket(data=data), True))
    assert [track.response and track.response.data for track in tracker.tracks] == [8, 9]


@unit
@pytest.mark.parametrize(("text", "kept"), [
    ("all", 12), ("from=0,0", 6), ("from=1,1 type=ll", 2), ("type=ll,sc", 8), ("to=1,0", 6),
    ("from=0,1", 0), ("address=0x10000000..0x10000003 type=write", 2), ("address=268435457", 6),
    ("address=0x10000004", 0), ("type=interrupt", 0)])
def test_choices(text, kept):
    tracker = Tracker([choice_of(text)])
    for source in ((0, 0), (1, 1)):
        for sync, write in ((True, False), (True, True), (False, True)):
            for target in ((0, 1), (1, 0)):
                tracker.see(Sight(0, source, ENTRY, RequestPacket(
                    write=write, sync=sync, initiator=source, target=target), True))
    assert len(tracker.tracks) == kept


@unit
@pytest.mark.parametrize(("text", "said"), [
    ("", "--track takes all, or terms as from=0,0, not nothing"),
    ("everything", ("--track takes all, or terms as from=0,0 to=0,1 "
      "address=0x1000000..0x10000ff type=read,ll, not 'everything'")),
    ("all from=0,0", ("--track takes all, or terms as from=0,0 to=0,1 "
      "address=0x1000000..0x10000ff type=read,ll, not 'all'")),
    ("form=0,0", "no term of --track 'form'; did you mean from?"),
    ("from=0,0 from=0,1", "--track must say from once, not '0,0' and '0,1'"),
    ("to=0,16", "--track to takes ROW,COLUMN, each 0 to 15, not '0,16'"),
    ("address=8..4", ("--track address takes a number of 32 bits, or FIRST..LAST in this order, as "
      "0x1000000..0x10000ff, not '8..4'")),
    ("address=4294967296", ("--track address takes a number of 32 bits, or FIRST..LAST in this "
      "order, as 0x1000000..0x10000ff, not '4294967296'")),
    ("type=fetch", "no type of packets 'fetch'; known are interrupt, ll, read, sc, write"),
])
def test_choices_that_are_none(text, said):
    with pytest.raises(UserError) as raised:
        choice_of(text)
    assert str(raised.value) == said


@unit
def test_only_the_first_packets_are_kept():
    recorder = Tracker(most=3)
    run_cycles(CycleRun(setup(), tracker=recorder), limit=5_000)
    whole = Tracker()
    run_cycles(CycleRun(setup(), tracker=whole), limit=5_000)
    assert recorder.tracks == whole.tracks[:3]
    assert recorder.left_out == len(whole.tracks) - 3


@unit
def test_spans_are_the_whole_latency(tracked):
    for track in tracked[0].tracks:
        found = spans(track)
        assert [first for _, _, first, _ in found[1:]] == [last for *_, last in found[:-1]]
        if track.ended and track.request.answered:
            assert sum(last - first for *_, first, last in found) == track.latency


@unit
def test_the_trace(tracked):
    events = packet_trace(tracked[0].tracks)["traceEvents"]
    assert isinstance(events, list)
    whole = [event for event in events if event["ph"] == "X" and "args" in event]
    assert len(whole) == len(tracked[0].tracks)
    for one in whole:  # on one lane none overlap
        for other in whole:
            if one is not other and (one["pid"], one["tid"]) == (other["pid"], other["tid"]):
                assert one["ts"] + one["dur"] <= other["ts"] or (
                    other["ts"] + other["dur"] <= one["ts"])


@pytest.mark.system
def test_the_command(call, tmp_path):
    (tmp_path / "add.s").write_text(PROGRAM)
    said = call("shmac", "run", "add.s", "-g", "PR/LP", "--model", "cycle", "--track", "type=ll,sc",
                "--track", "to=0,1", "--chart", "out.svg", "--trace", "out.json")
    assert (said.returncode, said.stderr) == (0, "")
    assert "tracked: " in said.stdout
    assert "ll: 0,0 to 1,0 at 0x10000000, from cycle " in (tmp_path / "out.svg").read_text()
    assert json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    said = call("shmac", "run", "add.s", "-g", "PR/LP", "--model", "cycle", "--track", "from=0,0",
                "--json")
    found = json.loads(said.stdout)
    assert {tuple(flow["source"]) for flow in found["flows"]} == {(0, 0)}
    assert found["left_out"] == 0


@pytest.mark.system
@pytest.mark.parametrize(("options", "said"), [
    (["--track", "all"], ("--track follows packets, and the functional model has none: give "
                          "--model cycle or --model rtl")),
    (["--model", "cycle", "--chart", "a.svg"], (
        "--chart shows packets: give --track all, or which ones")),
    (["--model", "cycle", "--track", "all", "--trace", "a.txt"],
     "--trace takes a file that ends in .json, not a.txt"),
    (["--model", "cycle", "--track", "all", "--chart", "a.txt"],
     "--chart takes a file that ends in .svg, .png, .pdf, not a.txt"),
    (["--model", "cycle", "--random", "1"],
     "--random is an order of the functional model's; the hardware has its own"),
    (["--model", "gold"], "--model is functional, cycle or rtl, not 'gold'"),
])
def test_the_command_refuses(call, tmp_path, options, said):
    (tmp_path / "add.s").write_text(PROGRAM)
    ran = call("shmac", "run", "add.s", *options)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"cyclebound: {said}\n")
