"""A chain through all compute units of a fabric: a thread in each cycle, without monitors.

For the speed of simulation (`python -m cyclebound.tools.maintenance.performance fabrics`); Python
sees the first and the last cycle of each run.
"""

from cyclebound.golden.dataflow.fabric_bounds import fabric_stream
from cyclebound.golden.dataflow.graph import NUMBER, Graph, Task
from cyclebound.golden.dataflow.grid import Grid, Kind
from cyclebound.golden.dataflow.operations import Operation
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dataflow.wcet import longest_path
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import configure
from cyclebound.tools.dataflow.mapper import map_graph

RUNS = 40


@testbench
async def a_chain_through_all_compute_units(bench: Bench) -> None:
    grid = Grid(tuple(bench.parameters["rows"]))
    graph = Graph()
    token = graph.add(Task(NUMBER))
    for number in range(len(grid.of_kind(Kind.COMPUTE))):
        token = graph.add(Task(Operation.ADD if number % 2 else Operation.MUL, [token, number + 3]))
    graph.ends = [token]
    mapped = map_graph(graph, grid)
    threads, path = 2 ** bench.parameters["tid_width"] - 1, longest_path(mapped)
    cycles = fabric_stream(threads=threads, path=path)
    done = bench.outputs["done"].mask
    for _ in range(RUNS):
        await configure(bench, mapped, Layout({}), threads)
        bench.declare("stream", threads=threads, path=path)
        await bench.step(bench.inputs["start"].mask)
        bench.drive(0)
        bench.check(await bench.wait(cycles - 2), 0, done)
        bench.check(await bench.wait(1), done, done)
