"""A kernel's result: its work-groups one after the other, each to its end.

Work-groups must not depend on each other (Sim-D, section 3): what two of them write to the same
words, or one reads that another writes, depends on their order in hardware.
"""

from collections.abc import Callable

import numpy as np

from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import Code, Memory, WorkGroup

__all__ = ["run"]


def run(program: Program, grid: Grid, memory: Memory, *, most: int = 1 << 40,
        tell: Callable[[int, int], None] = lambda done, total: None,
        printed: Callable[[str], None] = lambda text: None,
        traced: Callable[[list[int]], None] | None = None, code: Code | None = None) -> int:
    """Run a kernel; ``memory`` is changed in place.

    ``most`` is of instructions that a work-group may run; ``tell`` hears how many work-groups are
    done, of how many; ``traced`` gets each work-group's trace (`WorkGroup.advance`) at its end;
    ``code`` are the program's functions, if a caller has changed some.
    Returns the number of lane operations: vector instructions times items.
    Raises `KernelFault`, and `ValueError` for a program that the machine has no room for
    (`Program.check`).
    """
    program.check(grid.machine)
    code = code or Code(program)
    operations = 0
    with np.errstate(all="ignore"):
        for place in grid.places():
            tell(place.number, grid.count)
            group = WorkGroup(code, grid, place, memory, most=most, printed=printed)
            trace: list[int] | None = None if traced is None else []
            while True:
                access = group.advance(trace)
                if access is None:
                    break
                group.make(access)
            if traced is not None and trace is not None:
                traced(trace)
            operations += group.vectors * grid.machine.items
    tell(grid.count, grid.count)
    return operations
