"""Many equal parts of a large design, written once where the flow allows it.

No block: what uses it has files that cover it (the fabric and its special units); alone,
tests/sim/test_elaborate.py.
"""

from amaranth.hdl import ClockSignal, EnableInserter, Instance, Module, ResetInserter, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Enabled", "shared"]


class Enabled(wiring.Component):
    """A component that moves while ``enable`` is set."""

    def __init__(self, component):
        self.component = component
        super().__init__({"enable": In(1), **component.signature.members})

    def elaborate(self, platform):
        m = Module()
        m.submodules.component = EnableInserter(self.enable)(self.component)
        for path, member, inner in self.component.signature.flatten(self.component):
            outer = self
            for step in path:
                outer = outer[step] if isinstance(step, int) else getattr(outer, step)
            m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)
        return m


def shared(component, platform, *, alike, reset=None, enable=None):
    """Return what stands for one of many equal components among a module's submodules.

    Amaranth writes a module for each component, however many are alike. Where the platform shares
    modules, this is an instance of the one module that was written for the first of them; anywhere
    else it is the component, to be written as always. A `ResetInserter` or `EnableInserter` around
    what contains an instance does not reach it: hand on ``reset`` and ``enable``.

    Parameters
    ----------
    component : wiring.Component
        In the domain ``sync``; its ports are connected as if it were a submodule itself.
    platform : object or None
        What ``elaborate`` was given. It shares modules if it has a method ``share(component,
        alike)`` which returns a module's name.
    alike : hashable
        Equal for components of this class that are the same hardware.
    reset : Value or None
        Resets the component, besides its domain's reset.
    enable : Value or None
        The component moves in cycles in which this is set; None: in all.
    """
    if not hasattr(platform, "share"):
        if enable is not None:
            component = EnableInserter(enable)(component)
        return component if reset is None else ResetInserter(reset)(component)
    ports = {f"{member.flow.name.lower()[0]}_{'__'.join(map(str, path))}": value
             for path, member, value in component.signature.flatten(component)}
    if enable is not None:
        ports["i_enable"] = enable
        component = Enabled(component)
    key = alike if enable is None else (alike, "enabled")
    return Instance(platform.share(component, key), **ports, i_clk=ClockSignal(),
                    i_rst=ResetSignal() if reset is None else ResetSignal() | reset)
