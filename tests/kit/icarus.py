"""Icarus Verilog, which users need not have."""

import os
import shutil

import pytest

__all__ = ["has_icarus", "needs_icarus"]


def has_icarus():
    """Whether it is installed. An error where it is not, and ``CYCLEBOUND_REQUIRE_ICARUS`` says
    that it has to be."""
    there = shutil.which("iverilog") is not None
    assert there or "CYCLEBOUND_REQUIRE_ICARUS" not in os.environ, "iverilog is not installed"
    return there


needs_icarus = pytest.mark.skipif(not has_icarus(), reason="needs Icarus Verilog")
