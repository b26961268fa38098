"""Removes a half-made folder whose maker was killed outright and could not clean up.

A compiler starts others (g++ starts cc1plus), and none of them notices that the process that wanted
the result is gone. A shell waits beside the maker, on a pipe that only the maker holds open: if the
pipe closes without a word, the shell kills every process that works in the folder, and removes it.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

__all__ = ["guarded"]

_WATCH = """
read -r word && exit
for round in 1 2 3; do
    for link in /proc/[0-9]*/cwd; do
        case "$(readlink "$link")" in
            "$1"|"$1"/*) pid="${link#/proc/}"; kill -KILL "${pid%/cwd}";;
        esac
    done
done
rm -rf -- "$1"
"""


@contextlib.contextmanager
def guarded(folder: Path) -> Iterator[None]:
    """While this process makes ``folder``: should it be killed, nothing stays of either."""
    try:
        watch = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH, "guard", os.path.realpath(folder)], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
            env={"PATH": "/usr/bin:/bin"})
    except OSError:  # no shell: then the next maker removes what is left
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            watch.communicate(b"done\n")
