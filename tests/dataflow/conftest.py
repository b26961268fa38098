"""What the tests of the dataflow units share."""

import pytest
from amaranth.hdl import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import flipped

from kit.run_bench import run_bench


class _Tampered(wiring.Component):
    """A component with a fault: ``fault(m, inner, outer)`` overrides some connections."""

    def __init__(self, inner, fault):
        self.inner, self.fault = inner, fault
        for name in ("depth", "width", "count", "tid_width"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        super().__init__(inner.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = self.inner
        for name, member in self.signature.members.items():
            _link(m, member, getattr(self, name), getattr(self.inner, name))
        self.fault(m, self.inner, self)
        return m


def _link(m, member, outer, inner):
    if isinstance(outer, list):
        for here, there in zip(outer, inner, strict=True):
            _link(m, member, here, there)
    elif not member.is_port:
        wiring.connect(m, flipped(outer), inner)
    elif member.flow == wiring.In:
        m.d.comb += inner.eq(outer)
    else:
        m.d.comb += outer.eq(inner)


@pytest.fixture
def tampered():
    """``tampered(component, fault)``: the component with some of its connections overridden."""
    return _Tampered


@pytest.fixture
def simulate():
    """``simulate(dut, bench, *checkers)``: run ``bench`` on ``dut`` to its end."""
    return run_bench


@pytest.fixture
def only(monkeypatch):
    """``only(module, says)``: leave one assertion in force, so that no other fires first."""

    def choose(module, says):
        true = module.Assert
        monkeypatch.setattr(module, "Assert", lambda fact, text:
                            true(fact if text == says else Const(1), text))

    return choose
