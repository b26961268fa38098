"""Kernels and arrays from a user's files."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np

from cyclebound.golden.dataflow.kernel import Kernel, KernelError
from cyclebound.golden.user_arrays import array_in
from cyclebound.golden.user_files import parsing, text_in
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.tools.dataflow.c_kernel import c_kernels

__all__ = ["C_FILES", "load_kernel", "read_array"]

C_FILES = (".c", ".cl", ".cu")
_BLANK = re.compile(r"(^|,)\s*,")  # a field without a number
_C_TEXT = 1 << 20  # bytes of a kernel's file


def load_kernel(path: str | Path, name: str | None = None) -> Kernel:
    """The kernel of a file in Python or C (`C_FILES`), or the one of that name. Raises
    `UserError`."""
    path = Path(path)
    if path.suffix in C_FILES:
        kernels = _c_kernels(path)
        return _named(path, kernels, kernels, name, "kernel: a function that returns void")
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"kernel_in_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is no kernel's file: its name must end in .py, "
                        f"{', '.join(C_FILES)}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))  # a file may import its neighbours
    try:
        spec.loader.exec_module(module)
    except KernelError as error:
        raise UserError(str(error)) from None
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise UserError(f"{path}{line}: {error.msg}") from None
    except RecursionError:
        raise UserError(f"{path}: an expression in it is too deep") from None
    except (Exception, SystemExit) as error:
        raise UserError(f"{path}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.pop(0)
    kernels = {var.name: var for var in vars(module).values() if isinstance(var, Kernel)}
    own = {kernel.name: kernel for kernel in kernels.values()
           if kernel.function.__module__ == module.__name__} or kernels
    return _named(path, kernels, own, name, "kernel: a function with @kernel before it")


def _c_kernels(path: Path) -> dict[str, Kernel]:
    try:
        text = text_in(path, _C_TEXT)
        with parsing(path):
            return c_kernels(text, str(path))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except KernelError as error:
        raise UserError(str(error)) from None
    except UnicodeDecodeError as error:
        raise UserError(f"cannot read {path}: {error}") from None


def _named(path: Path, kernels: dict[str, Kernel], own: dict[str, Kernel], name: str | None,
           what: str) -> Kernel:
    """The kernel of that name, or the only one that is the file's own."""
    if name is not None:
        if name not in kernels:
            raise unknown(f"kernel in {path}", name, kernels)
        return kernels[name]
    if not own:
        raise UserError(f"{path} has no {what}")
    if len(own) > 1:
        raise UserError(f"{path} has several kernels; name one: {', '.join(own)}")
    return next(iter(own.values()))


def read_array(path: str | Path, *, floats: bool, decimals: bool = False) -> np.ndarray:
    """An array from a file: .npy, or .csv or .txt with numbers between commas and line ends, which
    are rounded to single precision if they are floats; a line may end in a comma. ``decimals``: a
    file of any name with numbers between commas, blanks and line ends; a field without a number is
    none, with a note, as in the files of Sim-D's simulator. Raises `UserError`."""
    path = Path(path)
    try:
        if path.suffix == ".npy" and not decimals:
            return array_in(path)
        if path.suffix not in (".csv", ".txt") and not decimals:
            raise UserError(f"{path} must be an .npy, a .csv or a .txt file")
        lines = text_in(path).splitlines()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"cannot read {path}: {error}") from None
    if decimals and (found := next((place for place, line in enumerate(lines, 1)
                                    if _BLANK.search(line)), None)):
        print(f"{path}, line {found}: fields without a number are left out", file=sys.stderr)
    numbers = []
    for place, line in enumerate(lines, 1):
        *cells, last = line.replace(",", " ").split() or [""] if decimals else line.split(",")
        for cell in (*cells, last) if last.strip() else cells:
            try:
                numbers.append(float(cell) if floats else int(cell))
            except ValueError:
                what = "number" if floats else "integer"
                raise UserError(f"{path}, line {place}: {cell.strip()!r} is no {what}") from None
    if not floats:
        return np.array(numbers, dtype=object if any(abs(n) >= 1 << 63 for n in numbers)
                        else np.int64)
    with np.errstate(over="ignore"):
        array = np.array(numbers, dtype=np.float32)
    wrong = np.isinf(array) & ~np.isinf(np.array(numbers))
    if wrong.any():
        raise UserError(f"{path}: {np.array(numbers)[wrong][0]} is too large for single precision")
    return array
