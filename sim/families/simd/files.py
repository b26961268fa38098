"""Kernels of the SIMD accelerator, and the content of their buffers, from a user's files."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cyclebound.golden.dram.request import WORD_BYTES
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import Memory, memory_of
from cyclebound.golden.user_files import bytes_in
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.families.dataflow.files import read_array
from cyclebound.tools.simd.assembler import AssemblyError, assemble_file
from cyclebound.tools.simd.kernels import KERNELS, kernel_path

__all__ = ["data_file", "load_memory", "load_program", "read_words", "write_results"]

_WORDS = 1 << 30  # bytes of raw words


def load_program(kernel: str) -> Program:
    """The program of a ``.sas`` file, or of a kernel that is installed, by name.

    Problems are printed on standard error, one a line. Raises `UserError`.
    """
    path = _path(kernel)
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


def _path(kernel: str) -> Path:
    if kernel.endswith(".sas"):
        path = Path(kernel)
        if not path.is_file():
            raise UserError(f"there is no file {path}")
        return path
    if kernel in KERNELS:
        return kernel_path(kernel)
    raise unknown("kernel (or file ending in .sas)", kernel, KERNELS)


def read_words(path: Path, form: str = "") -> np.ndarray:
    """The 32-bit words of a file, in one line.

    ``.npy``: floats, rounded to single precision, or integers of 32 bits; ``.csv`` and ``.txt``:
    floats; anything else: raw words, the lowest byte first. A form that ``.data`` names says it
    whatever the file's name: ``d`` floats, ``f`` raw words. Raises `UserError`.
    """
    if form == "d" or (not form and path.suffix in (".npy", ".csv", ".txt")):
        return _words_of(read_array(path, floats=True, decimals=form == "d"), path)
    try:
        content = bytes_in(path, _WORDS)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if len(content) % WORD_BYTES:
        raise UserError(f"{path} must hold words of {WORD_BYTES} bytes, not {len(content)} bytes")
    return np.frombuffer(content, dtype="<u4").astype(np.uint32)


def _words_of(values: np.ndarray, path: Path) -> np.ndarray:
    values = values.reshape(-1)
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            singles = values.astype(np.float32)
        if (np.isinf(singles) & ~np.isinf(values)).any():
            raise UserError(f"{path} has a number that is too large for single precision")
        return singles.view(np.uint32)
    if values.dtype.kind not in "iub":
        raise UserError(f"{path} must hold floats or integers, not {values.dtype}")
    wrong = (values < -(1 << 31)) | (values > (1 << 32) - 1) if values.dtype.itemsize > 4 else None
    if wrong is not None and wrong.any():
        raise UserError(f"{path}: {values[wrong][0]} has more than 32 bits")
    return values.astype(np.int64).astype(np.uint32)


def load_memory(program: Program, given: Mapping[int, Path], source: Path | None = None) -> Memory:
    """The content of a program's buffers: given files, else those that ``.data`` names, else zeros.

    A file may be shorter than its buffer, which then ends in zeros, and a given one not longer.
    ``source`` is the kernel's folder, or the user's choice: what ``.data`` names is there, or below
    the nearest folder above it that has it, as where kernels and data are two folders of one
    project; of what is
    longer than its buffer, the beginning is taken, with a note. Raises `UserError`.
    """
    memory = memory_of(program)
    for number in given:
        if number not in program.buffers:
            raise UserError(f"{program.name} has no buffer {number}; it has "
                            f"{', '.join(map(str, program.buffers)) or 'none'}")
    for number, buffer in program.buffers.items():
        if number in given:
            path, words = given[number], read_words(given[number])
        elif buffer.form != "n" and source is not None:
            path = data_file(source, buffer.source)
            words = read_words(path, buffer.form)
        else:
            continue
        if len(words) > buffer.words and number not in given:
            print(f"{path} has {len(words)} words, of which buffer {number} has the first "
                  f"{buffer.words}", file=sys.stderr)
            words = words[:buffer.words]
        if len(words) > buffer.words:
            raise UserError(f"{path} has {len(words)} words, and buffer {number} only "
                            f"{buffer.x} x {buffer.y}; another size is --size {number}=X,Y")
        memory[number].reshape(-1)[:len(words)] = words
    return memory


def data_file(folder: Path, name: str) -> Path:
    """A file that a kernel in a folder names."""
    above = (folder / name, *(parent / name for parent in folder.resolve().parents))
    return next((path for path in above if path.exists()), folder / name)


def write_results(memory: Memory, numbers: Sequence[int], integers: Sequence[int], folder: Path
                  ) -> list[str]:
    """Write buffers as ``buffer-N.npy``, as floats or as integers. Raises `UserError`."""
    written = []
    for number in numbers:
        path = folder / f"buffer-{number}.npy"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            np.save(path, memory[number].view(np.int32 if number in integers else np.float32))
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from None
        written.append(str(path))
    return written
