"""Dispatch of streams against the thesis's figures, and bounds against an adversary."""

import json
import random

import pytest

from cyclebound.golden.gpu.stream_bounds import stream_bounds
from cyclebound.golden.gpu.streams import Gpu, Operation, Stream, simulate
from cyclebound.sim.families.gpu.trace import trace_of
from cyclebound.tools.gpu.stream_file import EXAMPLES, parse_streams
from cyclebound.tools.gpu.stream_search import Attack, attack_run, search

pytestmark = pytest.mark.unit


def times(run):
    """First start and end of every operation."""
    return {ran.operation.name: (ran.start, ran.end) for ran in run.operations}


def test_figure_4_7():
    """The text: K1's first four blocks; its last two and K4, while K5 lacks shared memory; K5 with
    K2, which has reached its stream's head; K6 as soon as it is launched."""
    run = simulate(*parse_streams(EXAMPLES["figure-4.7"]))
    assert times(run) == {"K1": (0, 2000), "K2": (2000, 3000), "K3": (3000, 4000),
                          "K4": (1000, 2000), "K5": (2000, 3000), "K6": (2800, 3800)}
    first = [block for block in run.blocks if block.start == 0]
    assert sorted((block.operation, block.sm) for block in first) == [("K1", 0)] * 2 + [
        ("K1", 1)] * 2


def test_figure_4_8():
    """The null stream is a barrier in the order of launches."""
    run = simulate(*parse_streams(EXAMPLES["figure-4.8"]))
    assert times(run) == {"K1": (0, 2000), "K2": (2000, 3000), "K3": (3000, 4000),
                          "K4": (4000, 5000), "K5": (5000, 6000), "K6": (6000, 7000)}


def test_figure_4_9():
    """Blocks of low priority that have started go on; the others wait for both high streams."""
    run = simulate(*parse_streams(EXAMPLES["figure-4.9"]))
    low = sorted(block.start for block in run.blocks if block.operation == "K1")
    assert low == [0] * 4 + [2000] * 4
    assert times(run)["K2"] == times(run)["K3"] == (1000, 2000)


def test_the_default_stream_per_thread():
    """K5 waits for room only: 1,000 cycles after K2 of another host thread, not 3,000."""
    text = EXAMPLES["figure-4.8"].replace("sms = 2", 'sms = 2\ndefault_stream = "per-thread"')
    text = text.replace("release = 600", "release = 600\nthread = 1")
    gpu, streams = parse_streams(text)
    assert [stream.name for stream in streams] == [
        "S1", "null of thread 0", "null of thread 1", "S2", "S3"]
    assert times(simulate(gpu, streams))["K5"] == (2000, 3000)
    assert stream_bounds(gpu, streams).rule == "queues"


def test_the_head_of_the_queue_blocks_smaller_kernels():
    """K2 would fit beside K1, but K1's last block is ahead of it."""
    streams = [Stream("a", (Operation("K1", 10, 3, 1024),)),
               Stream("b", (Operation("K2", 1, 1, 32),))]
    assert times(simulate(Gpu(sms=1), streams)) == {"K1": (0, 20), "K2": (10, 11)}


def test_copies_are_one_at_a_time():
    streams = [Stream(name, (Operation(f"C{name}", 5), Operation(f"K{name}", 2, 1, 32)))
               for name in "ab"]
    assert times(simulate(Gpu(), streams)) == {"Ca": (0, 5), "Ka": (5, 7), "Cb": (5, 10),
                                               "Kb": (10, 12)}


def check_run(gpu, run):
    """No SM holds more than it can, and no block is lost."""
    for moment in {block.start for block in run.blocks}:
        for sm in range(gpu.sms):
            inside = [block for block in run.blocks if block.sm == sm
                      and block.start <= moment < block.end]
            need = {ran.operation.name: ran.operation for ran in run.operations}
            for thing in ("threads", "blocks", "shared", "registers"):
                assert sum(need[block.operation].needs[thing] for block in inside) <= getattr(
                    gpu, thing)
    assert all(ran.launched <= ran.head <= ran.queued <= ran.start < ran.end
               for ran in run.operations)
    assert len(run.blocks) == sum(ran.operation.blocks for ran in run.operations)


def random_streams(dice):
    """A device and streams of all kinds; periods are long enough, just long enough, or too short.
    """
    gpu = Gpu(sms=dice.randint(1, 3))
    mode = dice.choice(("queues", "priorities", "null"))
    streams = []
    for number in range(dice.randint(1, 4)):
        operations = []
        for index in range(dice.randint(1, 3)):
            kernel = (dice.randint(1, 12), dice.choice((32, 256, 768, 1024)),
                      dice.choice((0, 20000, 40000)), dice.choice((0, 64)))
            operations.append(Operation(f"O{number}{index}", dice.randint(1, 30),
                                        *(kernel if dice.random() < 0.8 else ())))
        streams.append(Stream(f"S{number}", tuple(operations),
                              high=mode == "priorities" and dice.random() < 0.5,
                              null=mode == "null" and not number,
                              period=dice.choice((None, 150, 400, 3000))))
    return gpu, streams


@pytest.mark.parametrize("seed", range(4))
def test_no_launches_exceed_the_bounds(seed):
    """Random and hill-climbing scenarios, and a bound without blocking is found to be wrong."""
    dice, planted, attacked, close = random.Random(seed), 0, 0, 0.0
    for number in range(12):
        gpu, streams = random_streams(dice)
        bounds = stream_bounds(gpu, streams)
        if bounds.problem:
            continue
        found = search(gpu, streams, bounds, tries=70, seed=number, launches=3)
        assert found.ratio <= 1, (found, streams)
        check_run(gpu, attack_run(gpu, streams, found.attack))
        attacked, close = attacked + 1, max(close, found.ratio)
        if len(streams) > 1:
            loose = stream_bounds(gpu, streams, blocking=False)
            planted += search(gpu, streams, loose, tries=70, seed=number).ratio > 1
    assert attacked >= 4
    assert close > 0.7
    assert planted >= 1


def test_the_rest_of_what_runs_is_needed():
    """The smallest witness: a long block that has just begun."""
    streams = [Stream("a", (Operation("K1", 10, 2, 1024),)),
               Stream("b", (Operation("K2", 1, 1, 1024),))]
    gpu = Gpu(sms=1)
    run = attack_run(gpu, streams, Attack({"a": ((0,),), "b": ((1,),)}))
    response = next(ran.response for ran in run.operations if ran.operation.name == "K2")
    bounds = (stream_bounds(gpu, streams, blocking=blocking) for blocking in (False, True))
    loose, right = (next(operation.response for operation in bound.operations
                         if operation.operation == "K2") for bound in bounds)
    assert (loose, response, right) == (1, 10, 12)


@pytest.mark.parametrize(("streams", "says"), [
    ([Stream("a", (Operation("K", 10, 1, 32),), period=9)], "launches may pile up"),
    ([Stream("a", (Operation("K", 10, 1, 32),), high=True, period=15),
      Stream("b", (Operation("L", 10, 1, 32),))], "may take 20, more than its period of 15"),
    ([Stream("a", (Operation("K", 10, 1, 32),), high=True, period=20),
      Stream("b", (Operation("L", 10, 1, 32),))], "may keep it waiting for ever"),
    ([Stream("a", (Operation("K", 10, 1, 32),), null=True, period=5)], "a busy period has no end"),
])
def test_where_there_is_no_bound(streams, says):
    found = stream_bounds(Gpu(), streams)
    assert found.operations == ()
    assert says in found.problem
    with pytest.raises(ValueError, match=r"^there is no bound to be attacked"):
        search(Gpu(), streams, found)


@pytest.mark.parametrize(("change", "says"), [
    (("sms = 2", "sms = 0"), "line 2: sms of the device must be 1 to 1000000, not 0"),
    (("sms = 2", "sms = 1025"), "line 2: sms of the device must be at most 1024, not 1025"),
    (("sms = 2", "sms = 'two'"), "line 3: device.sms must be a whole number, not 'two'"),
    (("sms = 2", "cores = 2"), "line 3: device.cores must be one of sms"),
    (("blocks = 6", "blocks = 0"), "line 10: stream.1.operation.1.blocks must be at least 1"),
    (("blocks = 6\n", ""), "line 8: stream.1.operation.1 must be a table with blocks"),
    (("blocks = 6", "copy = 'C'"), "line 8: stream.1.operation.1 must be a table with either"),
    (("threads = 768", "threads = 1025"), "line 8: threads of K1 must be at most 1024, not 1025"),
    (("time = 1000", "time = -1"), "line 8: time of K1 must be a whole number, 1 to"),
    (("time = 1000", "time = 1.5"), "line 12: stream.1.operation.1.time must be a whole number"),
    (("shared = 32768", "shared = 65537"), "a block of K4 does not fit into an SM: too many"),
    (('name = "S2"', 'name = "S1"'), "stream S1 is there 2 times"),
    (('name = "S1"', 'name = "S1"\npriority = "mid"'), "line 7: stream.1.priority must be one of"),
    (('name = "S1"', 'name = "S1"\nperiod = 0'), "period of S1 must be a whole number"),
    (('name = "S1"', 'name = "S1"\nnull = 1'), "line 7: stream.1.null must be true or false"),
    (('name = "S1"\n', ""), "line 5: stream.1 must be a text for name"),
    (("[[stream]]", "[[strem]]"), "strem must be one of device, stream"),
    (("time = 1000", "time = "), "not TOML: "),
])
def test_files_that_are_none(change, says):
    text = EXAMPLES["figure-4.7"]
    assert change[0] in text
    with pytest.raises(ValueError, match=r"^(line \d+|not TOML)") as caught:
        parse_streams(text.replace(*change))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_simulation_has_an_end():
    streams = [Stream("a", (Operation("K", 1, 10**9, 32),))]
    assert stream_bounds(Gpu(), streams).operations[0].response == -(-10**9 // 64)
    with pytest.raises(ValueError, match=r"at most 100000 blocks, not 1000000000$"):
        simulate(Gpu(), streams)


def test_launches_that_are_none():
    streams = [Stream("a", (Operation("K", 1, 1, 32), Operation("L", 1, 1, 32)))]
    for releases, says in (([[0]], "must have 2 times, not 1"), ([[4, 3]], "must be in order")):
        with pytest.raises(ValueError, match=says):
            simulate(Gpu(), streams, {"a": releases})
    with pytest.raises(ValueError, match="there must be a stream"):
        simulate(Gpu(), [])


def test_trace():
    """Blocks in a lane of an SM do not overlap, and all of them are there."""
    run = simulate(*parse_streams(EXAMPLES["figure-4.7"]))
    events = trace_of(run)["traceEvents"]
    blocks = [event for event in events if event.get("cat") == "block"]
    assert len(blocks) == len(run.blocks) == 20
    for one in blocks:
        assert not [other for other in blocks if other is not one and (one["pid"], one["tid"]) == (
            other["pid"], other["tid"]) and one["ts"] <= other["ts"] < one["ts"] + one["dur"]]
    assert {"SM 0", "SM 1"} <= {event["args"]["name"] for event in events
                                if event["name"] == "process_name"}


def test_command(call, tmp_path):
    shown = call("gpu", "streams", "figure-4.8", "--show").stdout
    (tmp_path / "mine.toml").write_text(shown)
    found = json.loads(call("gpu", "streams", "mine.toml", "--json", "--trace", "t.json",
                            "--search", 30, "--picture", "gantt.svg").stdout)
    assert [row["end"] for row in found["operations"]] == [2000, 3000, 4000, 5000, 6000, 7000]
    assert 0 < found["search"]["ratio"] <= 1
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert "K6:1" in (tmp_path / "gantt.svg").read_text()
    (tmp_path / "mine.toml").write_text(shown.replace("null = true", "null = true\nperiod = 9"))
    assert call("gpu", "streams", "mine.toml").returncode == 1
    said = call("gpu", "streams", "figure-4.5", "--show")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert "cannot read none.toml" in call("gpu", "streams", "none.toml").stderr
