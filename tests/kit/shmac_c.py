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


if os.environ.get("CYCLEBOUND_REQUIRE_ZIG") == "1":
    assert "zig" in installed(), "ziglang is not installed: pip install 'cyclebound[shmac]'"

needs_compiler = pytest.mark.skipif(
    not installed(), reason="no C compiler for MIPS-I: pip install 'cyclebound[shmac]'")
