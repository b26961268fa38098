"""Planted faults: wrong connections, wrong source text, and one assertion at a time.

A test that a checker fires plants the fault that the checker is there for, and leaves only that
assertion in force, so that no other can fire in its place.
"""

import ast
import importlib
import inspect
import sys
import types
from unittest import mock

from amaranth.hdl import Assert, Assume, Const, Module, Signal
from amaranth.lib import wiring

from cyclebound.tb.assumed import fixed, law, owes

__all__ = ["Stub", "Tampered", "edited", "leave_one", "override", "replace_once"]


class _Double(wiring.Component):
    """Stands in for ``inner``: the same ports, and all other attributes that checkers read."""

    def __init__(self, inner, fault):
        self.inner, self._fault = inner, fault
        super().__init__(inner.signature)

    def __getattr__(self, name):
        inner = self.__dict__.get("inner")
        if inner is None or name.startswith("_") or name in inner.signature.members:
            raise AttributeError(name)
        return getattr(inner, name)


class Tampered(_Double):
    """A component with a fault between its ports and those of ``inner``.

    ``fault(m, inner, outer)`` adds statements to ``m`` that replace connections, which are in
    force where it adds none. `override` makes one from statements.
    """

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = self.inner
        for name, member in self.signature.members.items():
            _link(m, member, getattr(self, name), getattr(self.inner, name))
        self._fault(m, self.inner, self)
        return m


def _link(m, member, outer, inner):
    if isinstance(outer, list):  # `wiring.flipped` leaves the interfaces of an array as they are
        for one, other in zip(outer, inner, strict=True):
            _link(m, member, one, other)
    elif not member.is_port:
        wiring.connect(m, wiring.flipped(outer), inner)
    elif member.flow == wiring.In:
        m.d.comb += inner.eq(outer)
    else:
        m.d.comb += outer.eq(inner)


class Stub(_Double):
    """The ports of ``inner`` without its hardware: ``fault(outer)`` says what the outputs are."""

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self._fault(self)
        return m


def override(statements):
    """A fault for `Tampered`: combinational ``statements(inner, outer, cycle)``, from reset on.

    ``cycle`` counts from 0 in the first cycle, modulo 65,536.
    """
    def fault(m, inner, outer):
        cycle = Signal(16)
        m.d.sync += cycle.eq(cycle + 1)
        m.d.comb += statements(inner, outer, cycle)

    return fault


def leave_one(monkeypatch, says, *modules, kinds=(Assert,)):
    """Leave in force the assertions of ``modules`` that say so, and no other.

    With ``kinds=(Assert, Assume)`` assumptions as well; they are all in force without.
    The fixture ``only`` of tests/conftest.py binds ``monkeypatch``.
    """
    for module in modules:
        for kind in kinds:
            monkeypatch.setattr(module, kind.__name__, lambda fact, text, kind=kind:
                                kind(fact if text == says else Const(1), text),
                                raising=kind is not Assume)
        for rule in (owes, fixed, law) if Assume in kinds else ():
            monkeypatch.setattr(module, rule.__name__, lambda fact, text, rule=rule:
                                rule(fact if text == says else Const(1), text), raising=False)


def replace_once(source, old, new):
    """``source`` with another text in one place. `ValueError` unless ``old`` occurs once."""
    found = source.count(old)
    if found != 1:
        raise ValueError(f"the text to edit must occur once, not {found} times: {old!r}")
    return source.replace(old, new)


def edited(module, *edits, part=None):
    """A module made from the source of ``module``, or of its name, with each (old, new) replaced.

    ``part``: another module's source is edited, and ``module`` made from the result, together with
    all modules of the same package by which it imports that part.

    `ValueError` unless each old text occurs once, and ``module`` imports ``part``: a fault must not
    be lost when the RTL moves on.
    """
    if isinstance(module, str):
        module = importlib.import_module(module)
    made = {}
    if not _make(module, part or module.__name__, edits, made):
        raise ValueError(f"{module.__name__} does not import {part}")
    return made[module.__name__]


def _make(module, part, edits, made):
    """Whether ``module`` is or imports ``part``; if so, it is ``made`` anew, by its name."""
    name, source = module.__name__, inspect.getsource(module)
    if name == part:
        for old, new in edits:
            source = replace_once(source, old, new)
    elif name not in made:
        reach = [_make(sys.modules[node.module], part, edits, made)
                 for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)
                 and (node.module or "").startswith(f"{part.rpartition('.')[0]}.")]
        if not any(reach):
            return False
    if name not in made:
        made[name] = types.ModuleType(f"{name}_edited")
        with mock.patch.dict(sys.modules, made):
            exec(compile(source, f"<{name}, edited>", "exec"), made[name].__dict__)
    return True
