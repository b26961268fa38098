"""Files that a user gives, read within limits.

A file of a few bytes can name an endless device, an array of a terabyte, or a table so deep that a
parser's memory grows with the square of its text. Whatever lies beyond these limits, which are far
beyond any real file, is an `OSError`, as a file that cannot be read is: its ``strerror`` says which
limit. While a file is parsed, this process takes no more than `MEMORY` beyond what it had.
"""

import contextlib
import errno
import io
import os
import re
import resource
import stat
import threading
import tomllib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

__all__ = ["MEMORY", "bytes_in", "in_bytes", "lines_of", "load_toml", "parsing",
           "text_in", "too_much"]

_MB = 1 << 20
TEXT = 64 * _MB
"""Bytes of a text."""
MEMORY = 4096 * _MB
"""Bytes that parsing a file may take."""
_LINE = _MB  # characters
_TOML = _MB
_DEPTH = 32  # names of a key in TOML

_Path = str | PathLike[str]


def too_much(path: _Path, what: str) -> OSError:
    """The error for a file beyond a limit."""
    return OSError(errno.EFBIG, what, str(path))


def in_bytes(size: int) -> str:
    """A size for an error."""
    return f"{size // _MB:,} MB" if size >= _MB else f"{size:,} bytes"


def bytes_in(path: _Path, most: int = TEXT) -> bytes:
    """The content of a file, which may be a pipe or a device. Raises `OSError` for more than
    ``most`` bytes (of a pipe or a device, `TEXT` at most), and as ``open`` does."""
    with open(path, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            most = min(most, TEXT)
        content = file.read(most + 1)
    if len(content) > most:
        raise too_much(path, f"it is larger than {in_bytes(most)}")
    return content


def text_in(path: _Path, most: int = TEXT, errors: str = "strict") -> str:
    """A file's text, which must be UTF-8, with line ends as Python has them."""
    content = io.BytesIO(bytes_in(path, most))
    return io.TextIOWrapper(content, encoding="utf-8", errors=errors).read()


def lines_of(file: io.TextIOBase, path: _Path) -> Iterator[str]:
    """The lines of an open text, however many they are. Raises `OSError` for a line of more than
    2^20 characters."""
    while line := file.readline(_LINE + 1):
        if len(line) > _LINE:
            raise too_much(path, f"it has a line of more than {_LINE:,} characters")
        yield line


@contextlib.contextmanager
def parsing(path: _Path) -> Iterator[None]:
    """While a file is parsed: memory is limited. Raises `OSError` for what would take more."""
    try:
        with _limit:
            yield
    except MemoryError:
        raise too_much(path, f"it would take more than {in_bytes(MEMORY)} of memory") from None


class _Limit:
    """The limit on memory, as long as any thread parses."""

    def __init__(self) -> None:
        self._lock, self._many, self._before = threading.Lock(), 0, (0, 0)

    def __enter__(self) -> None:
        with self._lock:
            self._many += 1
            if self._many == 1:
                self._before = resource.getrlimit(resource.RLIMIT_AS)
                self._set(_taken() + MEMORY)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._many -= 1
            if not self._many:
                self._set(self._before[0])

    def _set(self, most: int) -> None:
        soft, hard = self._before
        if soft == resource.RLIM_INFINITY or most <= soft:
            with contextlib.suppress(OSError, ValueError):  # some systems have no such limit
                resource.setrlimit(resource.RLIMIT_AS, (most, hard))


_limit = _Limit()


def _taken() -> int:
    """Bytes of this process's address space."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


# -- TOML ------------------------------------------------------------------------------------------

# what is no name: texts and comments, closed or not, so that each is passed once
_ASIDE = re.compile(r'''
    """ (?: [^"\\] | \\. | ""?(?!") )*+ (?:"{3,5})?
  | '{3} (?: [^'] | ''?(?!') )*+ (?:'{3,5})?
  | "  (?: [^"\\\n] | \\. )*+ "?
  | ' [^'\n]*+ '?
  | \# [^\n]*+
''', re.DOTALL | re.VERBOSE)
_SEGMENT = re.compile(r"[\n=,{}\[\]]")


def load_toml(text: str, **options: Any) -> dict[str, Any]:
    """The tables of a text.

    Raises `ValueError`, which says where, or what is too large or too deep.
    """
    if len(text) > _TOML:
        raise ValueError(f"it must have at most {_TOML:,} characters, not {len(text):,}")
    # the parser keeps every beginning of a key
    for segment in _SEGMENT.split(_ASIDE.sub("x", text)):
        if segment.count(".") >= _DEPTH:
            raise ValueError(f"a key must have at most {_DEPTH} names, not "
                             f"{segment.count('.') + 1:,}")
    try:
        return tomllib.loads(text, **options)
    except tomllib.TOMLDecodeError:
        raise
    except (ArithmeticError, ValueError):
        raise ValueError("a number too long") from None
    except RecursionError:
        raise ValueError("too many tables or lists in each other") from None
