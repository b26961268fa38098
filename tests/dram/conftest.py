"""What tests of checkers on the DRAM path have in common."""

import pytest
from amaranth.hdl import Assert, Assume

from kit.run_bench import run_bench


@pytest.fixture
def fires(only):
    """Play a script to a checker, which has to say so in its last cycle and no sooner.

    A cycle of the script is a list of (port of the checker, value).
    """
    def play(says, module, check, script):
        only(says, module, kinds=(Assert, Assume))
        reached = []

        async def bench(ctx):
            for cycle in script:
                for port, value in cycle:
                    ctx.set(port, value)
                reached.append(cycle)
                await ctx.tick()

        with pytest.raises(AssertionError, match=rf"^\w+ violated: (owed: )?{says}$"):
            run_bench(check, bench)
        assert len(reached) == len(script)

    return play
