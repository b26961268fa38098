"""A proof that exported Verilog is the hardware that it was made from.

Both are read by yosys: the RTLIL from before expressions were put together, and the text. Registers
have the same names in both, so that what has to be compared is the logic between them, by structure
where that is equal, else by a solver. The step before, `explicit_widths`, is proved by itself for
all kinds of cells (``tests/sim/test_verilog_cells.py``). The shell around the core only sorts wires
and is not in this proof; blocks' testbenches run on it (``tests/sim/test_verilog_runs.py``).
"""

import math
import re
import tempfile
from pathlib import Path

from cyclebound.sim.elaborate import run_yosys
from cyclebound.sim.errors import UserError
from cyclebound.sim.verilog import Export

__all__ = ["MOST_MEMORY", "check_equivalent", "memory_bits"]

MOST_MEMORY = 1024
"""Bits of memory up to which a block is proved: each becomes a register."""

_READ = ("{read}; hierarchy -check -top {top}; proc; flatten; opt_expr; memory_collect; opt_clean; "
         "memory_map; opt_clean; rename {top} {name}; design -stash {name}; ")
_COMPARE = ("design -copy-from gold -as gold gold; design -copy-from gate -as gate gate; "
            "equiv_make gold gate both; hierarchy -top both; opt_clean; equiv_struct -icells both; "
            "equiv_simple -undef both; equiv_induct -undef both; equiv_status -assert both")


def memory_bits(made: Export) -> int:
    """Bits of all memories of the block's modules, each counted once."""
    return sum(math.prod(map(int, sizes)) for sizes in re.findall(
        r"^    parameter \\SIZE (\d+)\n(?:    parameter .*\n)*?    parameter \\WIDTH (\d+)$|"
        r"^    parameter \\WIDTH (\d+)\n(?:    parameter .*\n)*?    parameter \\SIZE (\d+)$",
        made.rtlil, re.MULTILINE) for sizes in [[size for size in sizes if size]])


def check_equivalent(made: Export) -> None:
    """Raises `UserError` where the core's Verilog is not proved equal to what it was made from."""
    if memory_bits(made) > MOST_MEMORY:
        raise UserError(f"{made.block} has {memory_bits(made):,} bits of memory; equivalence is "
                        f"proved up to {MOST_MEMORY:,}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "source.il").write_text(made.rtlil)
        (folder / "source.v").write_text(made.text)
        try:
            run_yosys(_READ.format(read="read_rtlil source.il", top=made.core, name="gold")
                      + _READ.format(read="read_verilog source.v", top=made.core, name="gate")
                      + _COMPARE, folder)
        except RuntimeError as error:
            raise UserError(f"{made.block}: the Verilog is not proved equal to its source: "
                            f"{str(error)[-300:]}") from error
