# amaranth: UnusedElaboratable=no
"""Grid, configurations, mapper and the fabric's golden model."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from cyclebound.golden.dataflow import fabric_bounds
from cyclebound.golden.dataflow.bitstream import UNIT_WORDS, Net, Route, connect, encode, fields
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.graph import NUMBER, Graph, Memory, Task, Token
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE, PAPER, PORTS, Grid, Kind, Node, fold
from cyclebound.golden.dataflow.interpret import interpret
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.mapped import utilisation
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES, Operation
from cyclebound.golden.dataflow.run import Layout, run_mapped
from cyclebound.golden.dataflow.wcet import estimate, longest_path
from cyclebound.hdl.dataflow.fabric import Fabric
from cyclebound.hdl.dataflow.fabric_unit import make_unit
from cyclebound.tools.dataflow.balance import missing
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph
from cyclebound.tools.dataflow.placement import GridTooSmall
from cyclebound.tools.dataflow.routing import Demand, RoutingError, Topology, route
from cyclebound.tools.dataflow.run import run_graphs

pytestmark = pytest.mark.unit
TINY = Grid(("SLT", "LCL"))


# -- the grid --------------------------------------------------------------------------------------

def test_every_link_has_two_ends():
    for grid in (FIVE_BY_FIVE, PAPER, TINY):
        links = list(grid.links())
        assert all(grid.peer(peer, entry) == (node, port) for node, port, peer, entry in links)
        for switch in grid.switches:
            assert all(grid.peer(switch, port) is not None for port in range(PORTS))
    assert [fold(i, 5) for i in (-2, -1, 0, 4, 5, 6)] == [1, 0, 0, 4, 4, 3]


def test_the_papers_grid_has_the_papers_units():
    count = {kind: len(PAPER.of_kind(kind)) for kind in Kind}
    special = count[Kind.DIVIDE] + count[Kind.INTEGER_DIVIDE] + count[Kind.ROOT]
    ends = count[Kind.SOURCE] + count[Kind.SINK]
    assert (count[Kind.COMPUTE], count[Kind.CONTROL], special) == (32, 32, 12)
    assert count[Kind.LOAD_STORE] + ends == 32
    # no other grid has 64 units inside and 44 around them
    sizes = [(r, c) for r in range(3, 70) for c in range(r, 70)
             if (r - 2) * (c - 2) == 64 and 2 * (r + c) - 4 == 44]
    assert sizes == [(PAPER.height, PAPER.width)]


@pytest.mark.parametrize(("rows", "message"), [
    ((), "grid must be two rows or more of one length, at least two, not none"),
    (("SL", "C"), "grid must be two rows or more of one length, at least two, not SL / C"),
    (("SX", "LL"), "grid must be made of CKLIDQST, not 'X'"),
    (("SLL", "LLL", "LLT"),
     r"unit \(1, 1\) must be compute or control, not load_store, for it is inside the grid"),
    (("SLL", "LCL", "LKL", "LLT"),
     "column 1 must be of one kind inside the grid, not C and K")])
def test_refuses_grids(rows, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Grid(rows)


# -- configurations --------------------------------------------------------------------------------

def test_layouts_are_those_of_the_units():
    for kind in Kind:
        unit = make_unit(kind, depth=2, tid_width=5, address_width=9)
        layout = unit.configuration.shape()
        assert [(name, field.width) for name, field in layout] == list(
            fields(kind, tid_width=5, address_width=9))
        assert sum(bits for _, bits in fields(kind, tid_width=13, address_width=30)) <= 64


def net(name, *links, unit=(0, 0), operand=0, channel=0):
    return Net(name, Node(False, *unit), channel,
               (Route(tuple((Node(*node), port) for *node, port in links), operand),))


SHORTS = {
    "net a must begin at a channel of unit (0, 0), not at 1": [
        ("a", [(False, 0, 0, 1)], {"channel": 1})],
    "port 1 of unit (0, 0) must carry one net, not a and b": [
        ("a", [(False, 0, 0, 1)], {}), ("b", [(False, 0, 0, 1)], {})],
    "port 1 of unit (0, 0) must end in one operand, not 0 and 1": [
        ("a", [(False, 0, 0, 1)], {}), ("a", [(False, 0, 0, 1)], {"operand": 1})],
    "operand 0 of unit (0, 1) must have one driver, not two": [
        ("a", [(False, 0, 0, 1)], {}), ("b", [(False, 1, 1, 0)], {"unit": (1, 1)})],
    "net a must go on from unit (0, 0), not by port 0 of unit (0, 0)": [
        ("a", [(False, 0, 0, 0)], {})],
    "net a must end at a unit, not at switch (0, 0)": [("a", [(False, 0, 0, 7)], {})],
    "net a must end at a unit, not at unit (0, 0)": [("a", [], {})],
}


@pytest.mark.parametrize("message", SHORTS)
def test_refuses_configurations_that_would_short_drivers(message):
    nets = [net(name, *links, **rest) for name, links, rest in SHORTS[message]]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        connect(TINY, {}, nets)


def test_refuses_values_that_do_not_fit():
    configuration = connect(TINY, {Node(False, 0, 0): {"threads": 99}}, [])
    with pytest.raises(ValueError,
                       match=r"^threads of unit \(0, 0\) must be from 1 to 16, not 99$"):
        encode(TINY, configuration, tid_width=4, address_width=8)
    with pytest.raises(ValueError, match=r"^unit \(0, 0\) has no size$"):
        encode(TINY, connect(TINY, {Node(False, 0, 0): {"size": 9}}, []), tid_width=4,
               address_width=8)
    assert len(encode(TINY, connect(TINY, {}, []), tid_width=4, address_width=8)) == 6 * (
        UNIT_WORDS + 1)


# -- mapping ---------------------------------------------------------------------------------------

def test_a_grid_too_small_says_what_ran_out():
    with pytest.raises(GridTooSmall, match="^the grid is too small: the kernel needs 2 compute "
                       r"units of 1 \(1 too many\)$") as caught:
        map_graph(compile_kernel(KERNELS["saxpy"], a=1.0), TINY)
    assert caught.value.missing == {Kind.COMPUTE: 1}


def test_a_routing_failure_says_which_nets():
    to = TINY.of_kind(Kind.SINK)[0]
    demands = [Demand(f"net {k}", unit, 0, ((to, None),) * 4)
               for k, unit in enumerate(TINY.of_kind(Kind.LOAD_STORE))]
    with pytest.raises(RoutingError, match=r"^no routes for net 0, net 1, net 2$") as caught:
        route(Topology(TINY), demands, rounds=5)
    assert caught.value.nets == ("net 0", "net 1", "net 2")


def test_the_same_seed_maps_alike():
    graph = compile_kernel(KERNELS["euclid"], **CONSTANTS["euclid"])
    one, same = (map_graph(graph, FIVE_BY_FIVE, seed=5) for _ in range(2))
    assert one == same
    assert utilisation(one)[Kind.ROOT] == (1, 1)


@pytest.mark.parametrize("name", ["euclid", "fan2"])
def test_mapping_depends_on_the_seed_alone(name):
    """Not on the order of sets, which differs from one Python process to the next."""
    source = ("from cyclebound.golden.dataflow import grid, kernels; "
              "from cyclebound.tools.dataflow import compile, partition; "
              "from cyclebound.golden.dataflow.kernel_constants import CONSTANTS; "
              f"parts = partition.map_parts(compile.compile_kernel(kernels.KERNELS[{name!r}], "
              f"**CONSTANTS[{name!r}]), grid.FIVE_BY_FIVE, seed=3, depth=4); "
              "print([part.words(8, {a: (0, 8) for a in part.arrays}, tid_width=11, "
              "address_width=16) for part in parts])")
    one, other = (subprocess.run([sys.executable, "-c", source], check=True, capture_output=True,
                                 text=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
                  for seed in ("1", "2"))
    assert one == other


def run(name, *, threads, depth, grid=FIVE_BY_FIVE, balance=False, **memory):
    """A kernel on the golden fabric: bit-equal to the reference, and within its bound."""
    kernel = KERNELS[name]
    graph = compile_kernel(kernel, **CONSTANTS.get(name, {}))
    rng = np.random.default_rng(2)
    arrays = {array: rng.standard_normal(1024).astype(np.float32).view(np.uint32)
              if kernel.parameters[array].__name__ == "Floats"
              else rng.integers(0, 2, 1024).astype(np.uint32) for array in kernel.arrays}
    wanted = {array: words.copy() for array, words in arrays.items()}
    interpret(graph, wanted, threads)
    found = run_graphs([graph], grid, arrays, threads=threads, depth=depth, balance=balance,
                       **memory)
    assert all(np.array_equal(found.arrays[array], wanted[array]) for array in wanted)
    assert found.cycles <= found.allowed
    assert all(set(busy.values()) <= {0, threads} for busy in found.busy)  # sinks send nothing
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_on_the_golden_fabric(name):
    """In parts where it is too large; those of 1,024 threads: docs/dataflow.md."""
    found = run(name, threads=48, depth=4, banks=8, hit=3, miss=20, miss_rate=0.2)
    assert len(found.parts) == {"fan2": 4, "adjust_weights": 2, "compute_step_factor": 6,
                     "time_step": 2}.get(name, 1)


def test_an_operation_is_no_delay():
    """`Operation.AND` and `Control.DELAY` have the same number."""
    graph = Graph()
    number = graph.add(Task("number"))
    masked = graph.add(Task(Operation.AND, [number, 7]))
    graph.ends = [graph.add(Task(Operation.ADD, [masked, number]))]
    assert missing(graph, depth=2) == {(2, 1): 2 + 9 + 2 - 2 + 2}
    mapped = map_graph(graph, FIVE_BY_FIVE)
    assert longest_path(mapped) > 2 * (2 + 9)
    cycles = run_mapped(mapped, [], Layout({}), threads=1, depth=2).cycles
    assert cycles == longest_path(mapped) + 2 <= estimate(mapped, threads=1, depth=2).cycles


def test_a_balanced_graph_completes_a_thread_in_each_cycle():
    unbalanced = [run("saxpy", threads=threads, depth=4).cycles for threads in (64, 128)]
    balanced = [run("saxpy", threads=threads, depth=4, balance=True).cycles
                for threads in (64, 128)]
    assert balanced[1] - balanced[0] == 64
    assert unbalanced[1] - unbalanced[0] > 4 * 64
    graph = compile_kernel(KERNELS["saxpy"], a=1.0)
    assert max(missing(graph, depth=4).values()) > 16 > 0 == len(missing(graph, depth=64))


def test_more_entries_hide_more_misses():
    slow, fast = (run("vector_add", threads=256, depth=depth, hit=4, miss=40, miss_rate=0.1).cycles
                  for depth in (2, 16))
    assert slow > 1.5 * fast


@pytest.mark.parametrize("depth", [2, 4, 16])
def test_threads_in_flight_fill_every_buffer_of_a_path(depth):
    """A store that is never taken, after three sums: each of the four holds ``depth`` threads, and
    sums those in their pipelines. A token that went past them would stop the source before."""
    graph = Graph()
    token = graph.add(Task(NUMBER))
    for number in range(3):
        token = graph.add(Task(Operation.ADD, [token, number]))
    graph.ends = [graph.add(Task(Memory.STORE, [token, token, None], array="z"))]
    mapped, threads = map_graph(graph, FIVE_BY_FIVE), 256
    fabric = FabricModel(FIVE_BY_FIVE, mapped.configuration(threads, {"z": (0, 512)}), depth=depth)
    source, = (unit for unit in fabric.units.values() if unit.kind == Kind.SOURCE)
    silent, sent = [None] * len(fabric.loads), []
    for cycle in range(8 * depth + 150):
        fabric.step(start=cycle == 0, requests_taken=[False] * len(silent), responses=silent)
        sent.append(source.sent)
    assert sent[-1] == sent[-50] < threads  # nothing moves any more
    assert sent[-1] >= 4 * depth + 3 * PIPELINE_STAGES


@pytest.mark.parametrize("threads", [1, 9, 40])
def test_where_no_memory_is_involved_the_bound_is_exact(threads):
    graph = Graph()
    first = graph.add(Task(Operation.ADD, [graph.add(Task(NUMBER)), 5]))
    graph.ends = [graph.add(Task(Operation.MUL, [first, 3]))]
    mapped = map_graph(graph, FIVE_BY_FIVE)
    cycles = run_mapped(mapped, [], Layout({}), threads=threads, depth=4).cycles
    assert cycles == fabric_bounds.fabric_stream(threads=threads, path=longest_path(mapped))
    found = estimate(mapped, threads=threads, depth=4)
    assert cycles == found.cycles == fabric_bounds.fabric_completion(
        threads=threads, depth=4, **found.parameters)
    with pytest.raises(ValueError, match=r"^load x has no fixed time$"):
        longest_path(map_graph(compile_kernel(KERNELS["vector_add"]), FIVE_BY_FIVE))


def test_accesses_outside_their_arrays_are_suppressed_and_reported():
    graph = compile_kernel(KERNELS["vector_add"])
    arrays = {name: np.arange(size, dtype=np.uint32)
              for name, size in (("x", 5), ("y", 8), ("z", 6))}
    found = run_graphs([graph], FIVE_BY_FIVE, arrays, threads=8, depth=2)
    assert sorted(map(str, found.faults)) == [
        "load x: thread 5 at index 5", "load x: thread 6 at index 6", "load x: thread 7 at index 7",
        "store z: thread 6 at index 6", "store z: thread 7 at index 7"]
    # what was not loaded is 0
    assert found.arrays["z"].view(np.float32).tolist() == [
        *(arrays["x"].view(np.float32) + arrays["y"].view(np.float32)[:5]), arrays["y"][5:6].view(
            np.float32)]


def test_threads_that_do_not_end_are_reported():
    mapped = map_graph(compile_kernel(KERNELS["vector_add"]), FIVE_BY_FIVE)
    with pytest.raises(RuntimeError, match=r"^threads were still under way after 9 cycles$"):
        run_mapped(mapped, [0] * 9, Layout.of(dict.fromkeys("xyz", np.zeros(3))), threads=3,
                   depth=2, limit=9)


# -- the component ---------------------------------------------------------------------------------

def test_refuses():
    with pytest.raises(ValueError, match=r"^address width must be from 1 to 30, not 31$"):
        Fabric(rows=TINY.rows, depth=2, tid_width=4, address_width=31)


def test_tokens_of_a_graph():
    graph = Graph()
    token = graph.add(Task(NUMBER))
    assert token == Token(0)
    assert replace(token, channel=1).task == 0
