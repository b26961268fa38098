"""Kernels of SHMAC's cores: one instruction, repeated (SHMACsim, Table 4.2). A specification."""

from dataclasses import dataclass
from enum import IntEnum

from cyclebound.golden.noc.routes import Tile

__all__ = ["Kernel", "Operation"]


class Operation(IntEnum):
    """An instruction's access to memory, besides its fetch."""

    NONE = 0
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Kernel:
    """The instruction that a core repeats while ``enable`` is set.

    Attributes
    ----------
    enable : bool
        Begin another instruction.
    fetch : bool
        Fetch it from the tile's own RAM.
    bypass : bool
        Fetch it by the second port of a dual-port RAM, past the router (SHMACsim, 5.1).
    operation : Operation
        What it does.
    target : (row, column)
        To whose RAM.
    """

    enable: bool = False
    fetch: bool = False
    bypass: bool = False
    operation: Operation = Operation.NONE
    target: Tile = (0, 0)

    @property
    def runs(self) -> bool:
        """Whether there is anything to do."""
        return self.enable and (self.fetch or self.operation is not Operation.NONE)
