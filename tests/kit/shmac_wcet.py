"""Programs on the models of SHMAC's core, beside what the analysis of their worst case says."""

from cyclebound.golden.shmac.core import CoreModel
from cyclebound.golden.shmac.machine import CoreAccess, Machine
from cyclebound.golden.shmac.memory import SharedMemory
from cyclebound.tb.shmac.core import LatestMemory
from cyclebound.tools.shmac.known_wcet import RETURN, STACK, START, placed_in_memory
from cyclebound.tools.shmac.wcet.graph import RouteGraph
from cyclebound.tools.shmac.wcet.loop_bounds import analysed

ENTRY = {29: STACK, 31: RETURN}
AT_ENTRY = {29: (STACK, STACK)}
"""What the analysis is told of it."""


def measured(code, memory, inputs, *, start=START, registers=None, limit=1_000_000):
    """Cycles of a function on the cycle model, with every wait at its longest."""
    model = CoreModel(reset_address=start)
    for register, value in {**ENTRY, **(registers or {})}.items():
        model.machine.registers[register] = value
    beside = LatestMemory(placed_in_memory(code.words, inputs), memory)
    begun = None
    for cycle in range(limit):
        ready, response = beside.cycle(model.request)
        shown = model.step(ready=ready, response=response)
        assert not (shown.retired and shown.retired.exception), shown
        if shown.begins and begun is None:
            begun = cycle
        elif shown.begins and shown.pc == RETURN:
            return cycle - begun
    raise AssertionError("it did not return")


def follow(code, inputs, *, start=START, limit=1_000_000):
    """Run a function along its graph: what the analysis says of loops, branches and addresses
    must hold. Returns how many instructions it took."""
    machine = Machine(pc=start)
    for register, value in ENTRY.items():
        machine.registers[register] = value
    return follow_machine(RouteGraph(code, start), AT_ENTRY, machine,
                          SharedMemory(placed_in_memory(code.words, inputs)), limit, RETURN)


def follow_machine(graph, known, machine, memory, limit, end):
    """The same for a machine that is at the beginning of a graph, up to the address of its end."""
    found = analysed(graph, known)
    loops = list(found.whole.all())
    rounds = dict.fromkeys(loops, 0)
    stays = {}
    node = graph.start
    for loop in loops:
        rounds[loop] += loop.head == node
    for count in range(limit):
        access = machine.begin(memory.fetch(machine.pc))
        if isinstance(access, CoreAccess):
            low, high = found.addresses[node]
            assert low & ~3 <= access.address <= high, (hex(node.pc), access)
            machine.end(memory.access(access))
        after = [follower for follower in graph.after[node]
                 if follower is None or (follower.pc == machine.pc and follower.following in (
                     machine.next_pc, None))]
        assert len(after) == 1, f"no step of the graph: {node}"
        edge = node, after[0]
        assert edge in found.edges, f"a step that was left out: {edge}"
        if after[0] is None:
            assert machine.pc == end
            return count + 1
        for loop in loops:
            if after[0] == loop.head:
                inside = node in loop.nodes
                rounds[loop] = rounds[loop] + 1 if inside else 1
                if not inside:
                    stays.update({test.stay: 0 for test in found.bounds[loop].tests})
                assert rounds[loop] <= found.bounds[loop].rounds, hex(loop.head.pc)
            for test in found.bounds[loop].tests if loop in found.bounds else ():
                if edge == test.stay:
                    stays[edge] = stays.get(edge, 0) + 1
                    assert stays[edge] <= test.most, hex(node.pc)
        node = after[0]
    raise AssertionError("it did not return")
