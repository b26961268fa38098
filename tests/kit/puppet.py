"""A component without hardware, for checkers of what is large: a test says what its ports show."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from kit.run_bench import run_bench

__all__ = ["Puppet", "show"]


class Puppet(wiring.Component):
    """The ports of ``like``, and ``attributes``; a test moves its outputs, too."""

    def __init__(self, like, **attributes):
        super().__init__(like.signature)
        for name, value in attributes.items():
            setattr(self, name, value)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += Signal().eq(0)
        return m


def show(puppet, checker, *cycles):
    """Show ``cycles`` to the checker: in each, values of ports by their paths, the others 0.

    One more cycle follows, in which all are 0.
    """
    async def bench(ctx):
        for values in (*cycles, {}):
            for path, value in values.items():
                ctx.set(_at(puppet, path), value)
            await ctx.tick()
            for path, value in values.items():
                ctx.set(_at(puppet, path),
                        0 if isinstance(value, int) else dict.fromkeys(value, 0))

    run_bench(puppet, bench, checker)


def _at(port, path):
    for step in path.split("."):
        port = port[int(step)] if step.isdigit() else getattr(port, step)
    return port
