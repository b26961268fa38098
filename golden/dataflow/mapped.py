"""A mapped kernel: which unit does which task, and the routes of its tokens.

Source: SGMF, sections 2 and 5. The mapper (`tools.dataflow.mapper`) makes it; the fabric's model
runs it, and `golden.dataflow.wcet` bounds its time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cyclebound.golden.dataflow.bitstream import Configuration, Net, connect, encode
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import NUMBER, Graph, Memory, Special, Task
from cyclebound.golden.dataflow.grid import CHANNELS, Grid, Kind, Node
from cyclebound.golden.dataflow.operations import Operation

__all__ = ["SINK", "Mapped", "utilisation"]

SINK = -1  # the task in which threads end


@dataclass(frozen=True)
class Mapped:
    """A graph on a grid.

    Attributes
    ----------
    grid : Grid
        The grid.
    graph : Graph
        What was mapped, with all that the mapper added.
    places : mapping of int to Node
        By task: its unit; `SINK` is where threads end.
    nets : tuple of Net
        The tokens' paths.
    """

    grid: Grid
    graph: Graph
    places: Mapping[int, Node]
    nets: tuple[Net, ...]

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays that are accessed."""
        return tuple(sorted({task.array for task in self.graph.tasks.values() if task.array}))

    def accesses(self) -> list[str]:
        """The task of each load/store unit of the grid, as a text; "" for unused ones."""
        tasks = {unit: number for number, unit in self.places.items()}
        return [str(self.graph.tasks[tasks[unit]]) if unit in tasks else ""
                for unit in self.grid.of_kind(Kind.LOAD_STORE)]

    def configuration(self, threads: int, buffers: Mapping[str, tuple[int, int]], *,
                      first: int = 0) -> Configuration:
        """The configuration for ``threads`` threads and for arrays of these first words and sizes.

        ``first``: the number of the first thread.
        """
        values = {self.places[number]: _settings(task, threads, buffers, first)
                  for number, task in self.graph.tasks.items()}
        needed = sum(1 << path.operand for net in self.nets for path in net.routes
                     if self.grid.end(*path.links[-1]) == self.places[SINK])
        values[self.places[SINK]] = {"needed": needed, "threads": threads}
        return connect(self.grid, values, self.nets)

    def words(self, threads: int, buffers: Mapping[str, tuple[int, int]], *, tid_width: int,
              address_width: int, first: int = 0) -> list[int]:
        """The words that the configuration port takes."""
        return encode(self.grid, self.configuration(threads, buffers, first=first),
                      tid_width=tid_width, address_width=address_width)


def _settings(task: Task, threads: int, buffers: Mapping[str, tuple[int, int]], first: int
              ) -> dict[str, int]:
    literals = {k: operand for k, operand in enumerate(task.operands) if isinstance(operand, int)}
    chosen = {"literals": sum(1 << k for k in literals),
              "value": next(iter(literals.values()), 0)}
    present = [k for k, operand in enumerate(task.operands) if operand is not None]
    if isinstance(task.function, Operation):
        return {"operation": int(task.function), **chosen}
    if isinstance(task.function, Control):
        return {"function": int(task.function), "operands": sum(1 << k for k in present),
                "inverted": sum(1 << k for k in task.inverted), "slots": task.slots}
    if isinstance(task.function, Memory):
        base, size = buffers[task.array]
        return {"store": task.function == Memory.STORE, "gated": 2 in present, "base": base,
                "size": size}
    if isinstance(task.function, Special):
        return chosen
    number = task.function == NUMBER
    return {"threads": threads, "number": number, "value": first if number else task.value}


def utilisation(mapped: Mapped) -> dict[Kind, tuple[int, int]]:
    """By kind of unit, how many are in use, and how many there are."""
    used = [mapped.grid.kind(unit) for unit in mapped.places.values()]
    return {kind: (used.count(kind), len(mapped.grid.of_kind(kind))) for kind in CHANNELS
            if mapped.grid.of_kind(kind)}
