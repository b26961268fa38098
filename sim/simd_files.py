"""Kernels of the SIMD accelerator, and the content of their buffers, from a user's files."""

import sys
from pathlib import Path

from cyclebound.golden.simd.program import Program
from cyclebound.sim.errors import UserError, unknown
from cyclebound.tools.simd.assembler import AssemblyError, assemble_file
from cyclebound.tools.simd.kernels import KERNELS, kernel_path

__all__ = ["load_program"]


def load_program(kernel: str) -> Program:
    """The program of a ``.sas`` file, or of a kernel that is installed, by name.

    Problems are printed on standard error, one a line. Raises `UserError`.
    """
    if kernel.endswith(".sas"):
        path = Path(kernel)
        if not path.is_file():
            raise UserError(f"there is no file {path}")
    elif kernel in KERNELS:
        path = kernel_path(kernel)
    else:
        raise unknown("kernel (or file ending in .sas)", kernel, KERNELS)
    try:
        return assemble_file(path)
    except AssemblyError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        count = len(error.problems)
        raise UserError(f"{path} does not assemble: {count} "
                        f"{'problem' if count == 1 else 'problems'}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
