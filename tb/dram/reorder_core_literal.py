"""The paper's four rules alone, without an age cap: a request that never leaves.

Simulated without the cap that the configuration has; what it observes are the row hits that do
leave. Look at it with
``cyclebound run dram.reorder_core --testbench literal --waves``.
"""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dram.reorder_core import Scene, hold_back

_ISSUES = 400


@testbench
async def row_hits_starve_a_miss(bench: Bench) -> None:
    """A read of another row waits while 400 row hits that came later leave; the paper says 15."""
    scene = Scene(bench, cap=0)
    bench.undeclare("residence")  # a request that misses its row has no bound here
    last = await hold_back(scene)
    for _ in range(2):
        await scene.cycle(ready=False)
    bench.declare("residence")
    while scene.issued < _ISSUES:
        scene.request(0, 0)
        await scene.cycle()
        assert last in [each.request for each in scene.model.queue]
    waited = next(each for each in scene.model.queue if each.request == last)
    assert waited.overtaken > _ISSUES - 2 * scene.entries
    scene.keep()
    await scene.drain()
    assert last in [request for request, _ in scene.model.issued]
