# amaranth: UnusedElaboratable=no
"""Figure 4's graph comes to its end with epochs, whenever and in whatever order memory answers.

All states of the RTL that there are, with a memory that takes requests when it likes, and answers
those that it has taken when it likes; a run can only stay for ever in a state that does not change.
"""

import itertools

import networkx
import numpy as np
import pytest

from cyclebound.hdl.dataflow.load_chain import LoadChain
from cyclebound.tools.maintenance.reach import Netlist, Reached, reach

pytestmark = pytest.mark.proof
TAGS = THREADS = 4  # a bit for each load and tag: the memory owes an answer


class Memories:
    """Both memories beside the chain, in one state: registers, answers owed, sums that have left.

    What is loaded is always 0: no address is outside, nothing is gated, so that only the way of
    the threads counts.
    """

    def __init__(self, folder, *, epochs):
        self.chain = Netlist.of(LoadChain(depth=2, tid_width=2, threads=THREADS, width=1,
                                          epochs=epochs), folder)
        self.count = len(self.chain.registers)

    def reach(self) -> Reached:
        ways = [(ready, tag) for ready in (True, False) for tag in (None, 0, 1)]
        return reach(np.zeros(self.count + TAGS + THREADS, bool),
                     [lambda states, choice=choice: self.move(states, choice)
                      for choice in itertools.product(ways, ways)])

    def move(self, states, choice):
        """By memory: whether it takes a request, and the tag that it answers, or None."""
        values = {"sums__ready": 1, "enables__0__ready": 1, "enables__1__ready": 1}
        possible = np.ones(len(states), bool)
        for load, (ready, tag) in enumerate(choice):
            at = f"memory__{load}__"
            values[f"{at}request__ready"] = ready
            if tag is not None:
                values |= {f"{at}response__valid": 1, f"{at}response__payload[0]": tag}
                possible &= states[:, self.count + 2 * load + tag]
        states = states[possible]
        after, seen = self.chain.step(states[:, :self.count], values)
        owed, left = states[:, self.count:][:, :TAGS].copy(), states[:, -THREADS:].copy()
        for load, (ready, answered) in enumerate(choice):
            asks = seen[f"memory__{load}__request__valid"] & ready
            tags = seen[f"memory__{load}__request__payload[0]"]
            if answered is not None:
                owed[:, 2 * load + answered] = False
            for tag in range(2):
                asked = asks & (tags == tag)
                assert not (asked & owed[:, 2 * load + tag]).any()  # no tag is used twice
                owed[asked, 2 * load + tag] = True
            assert not seen[f"faults__{load}__valid"].any()
        threads = seen["sums__payload[0]"] + 2 * seen["sums__payload[1]"]
        for thread in range(THREADS):
            leaves = seen["sums__valid"] & (threads == thread)
            assert not (leaves & left[:, thread]).any()  # no thread leaves twice
            left[leaves, thread] = True
        return possible, np.concatenate([after, owed, left], axis=1)

    def waits(self, states):
        """Whether a memory owes an answer, or is asked."""
        _, seen = self.chain.step(states[:, :self.count], {})
        return (states[:, self.count:][:, :TAGS].any(axis=1) | seen["memory__0__request__valid"]
                | seen["memory__1__request__valid"])


@pytest.mark.thorough
@pytest.mark.parametrize("epochs", [True, False])
def test_no_order_of_answers_is_a_deadlock(tmp_path, epochs):
    memories = Memories(tmp_path, epochs=epochs)
    found = memories.reach()
    # states come in no circle, so that a run ends in one that it does not leave
    steps = networkx.DiGraph((one, other) for one, other in found.steps if one != other)
    assert networkx.is_directed_acyclic_graph(steps)
    stays = np.array(sorted({one for one, other in found.steps if one == other}))
    over = found.states[stays, -THREADS:].all(axis=1)
    # a state that has not ended stays only because a memory has yet to do its part
    stuck = ~over & ~memories.waits(found.states[stays])
    assert stuck.any() == (not epochs)
    assert over.any()
    assert len(found.states) > 2000
