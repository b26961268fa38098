"""What tests that compile C for SHMAC need: a compiler, which comes in an extra of its own."""

import os

import pytest

from cyclebound.tools.shmac.compiler import COMPILERS, CompileError, compiler_named


def installed():
    """The C compilers for MIPS-I that are here."""
    found = []
    for name in COMPILERS:
        try:
            found.append(compiler_named(name))
        except CompileError:
            continue
    return found


def demand(environment):
    """Those of ``CYCLEBOUND_REQUIRE_ZIG=1`` and ``CYCLEBOUND_REQUIRE_GCC=1`` have to be here."""
    missing = [name for name in COMPILERS
               if environment.get(f"CYCLEBOUND_REQUIRE_{name.upper()}") == "1"
               and name not in installed()]
    assert not missing, f"not installed: {', '.join(missing)}"


demand(os.environ)

needs_compiler = pytest.mark.skipif(
    not installed(), reason="no C compiler for MIPS-I: pip install 'cyclebound[shmac]'")
