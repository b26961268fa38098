"""Arrays in files that a user gives, read within limits (`golden.user_files`)."""

import math
import stat
import zipfile
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.user_files import in_bytes, parsing, too_much

__all__ = ["array_in", "arrays_in"]

_DATA = 2048 << 20  # bytes of an array, or of all of an .npz file, which may be compressed
_ARRAYS = 10_000  # in an .npz file
_HEADS = {(1, 0): np.lib.format.read_array_header_1_0,
          (2, 0): np.lib.format.read_array_header_2_0}
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError,
           RuntimeError)  # it is encrypted, or compressed in another way
_Path = str | PathLike[str]


def array_in(path: _Path, most: int = _DATA) -> NDArray[Any]:
    """The array of an .npy file. Raises `OSError` or `ValueError`."""
    size = _size(path, most)
    with open(path, "rb") as file, parsing(path):
        if file.read(2) == b"PK":
            raise ValueError("it holds several arrays, as .npz files do")
        file.seek(0)
        return _array(file, size)


def arrays_in(path: _Path, most: int = _DATA) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name. Raises `OSError` or `ValueError`."""
    _size(path, most)
    try:
        with parsing(path), zipfile.ZipFile(path) as whole:
            parts = whole.infolist()
            if len(parts) > _ARRAYS:
                raise too_much(path, f"it has {len(parts):,} arrays, and at most {_ARRAYS:,} are "
                                     "read")
            if sum(part.file_size for part in parts) > most:
                raise too_much(path, f"its arrays are larger than {in_bytes(most)}")
            arrays = {}
            for part in parts:
                with whole.open(part) as file:
                    arrays[part.filename.removesuffix(".npy")] = _array(file, part.file_size)
            return arrays
    except _BROKEN as error:
        raise ValueError(str(error)) from None


def _size(path: _Path, most: int) -> int:
    """A file's size; of a device or a pipe it is not known."""
    found = Path(path).stat()
    if not stat.S_ISREG(found.st_mode):
        raise too_much(path, "it is no regular file")
    if found.st_size > most:
        raise too_much(path, f"it is larger than {in_bytes(most)}")
    return found.st_size


def _array(file: Any, size: int) -> NDArray[Any]:
    """The array in ``size`` bytes from here, of which its head says no more than there are."""
    begin, version = file.tell(), np.lib.format.read_magic(file)
    if version not in _HEADS:
        raise ValueError(f"it is of version {version[0]}.{version[1]}, and 1.0 and 2.0 are read")
    shape, _, kind = _HEADS[version](file)
    count, held = math.prod(shape), size - (file.tell() - begin)
    if not kind.hasobject and count * kind.itemsize > held:
        raise ValueError(f"its head says {count:,} values of {kind}, and {held:,} bytes follow")
    file.seek(begin)
    return np.lib.format.read_array(file, allow_pickle=False)
