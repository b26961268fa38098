"""What tests of checkers on the DRAM path have in common."""

import pytest
from amaranth.hdl import Assert, Assume, Const

from kit.run_bench import run_bench


@pytest.fixture
def alone(monkeypatch):
    """Leave one statement of modules in force, so that no other fires in its place."""
    def leave(says, *modules):
        for module in modules:
            for name, kind in (("Assert", Assert), ("Assume", Assume)):
                monkeypatch.setattr(module, name, lambda fact, text, kind=kind:
                                    kind(fact if text == says else Const(1), text), raising=False)

    return leave


@pytest.fixture
def fires(alone):
    """Play a script to a checker, which has to say so in its last cycle and no sooner.

    A cycle of the script is a list of (port of the checker, value).
    """
    def play(says, module, check, script):
        alone(says, module)
        reached = []

        async def bench(ctx):
            for cycle in script:
                for port, value in cycle:
                    ctx.set(port, value)
                reached.append(cycle)
                await ctx.tick()

        with pytest.raises(AssertionError, match=rf"^\w+ violated: {says}$"):
            run_bench(check, bench)
        assert len(reached) == len(script)

    return play
