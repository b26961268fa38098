"""What the tests of the dataflow units share."""

import pytest

from kit.faults import Tampered
from kit.run_bench import run_bench


@pytest.fixture
def tampered():
    """``tampered(component, fault)``: the component with some of its connections overridden."""
    return Tampered


@pytest.fixture
def simulate():
    """``simulate(dut, bench, *checkers)``: run ``bench`` on ``dut`` to its end."""
    return run_bench
