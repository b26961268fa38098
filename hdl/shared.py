"""Many equal parts of a large design, written once where the flow allows it.

No block: what uses it has files that cover it (the fabric and its special units); alone,
tests/sim/test_elaborate.py.
"""

from amaranth.hdl import ClockSignal, Instance, ResetInserter, ResetSignal

__all__ = ["shared"]


def shared(component, platform, *, alike, reset=None):
    """What to add to a module's submodules for one of many equal components.

    Amaranth writes a module for each component, however many are alike. Where the platform shares
    modules, this is an instance of the one module that was written for the first of them; anywhere
    else it is the component, to be written as always.

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
    """
    if not hasattr(platform, "share"):
        return component if reset is None else ResetInserter(reset)(component)
    ports = {f"{member.flow.name.lower()[0]}_{'__'.join(map(str, path))}": value
             for path, member, value in component.signature.flatten(component)}
    return Instance(platform.share(component, alike), **ports,
                    i_clk=ClockSignal(),
                    i_rst=ResetSignal() if reset is None else ResetSignal() | reset)
