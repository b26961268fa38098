"""Figure 4's graph comes to its end, whatever memory does within its time.

Ref: SGMF, section 4.1.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal

from cyclebound.golden.dataflow.bounds import chain_completion
from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["QUICK", "SLOW", "LoadChainCheck", "LoadChainObserver", "LoadChainTime"]

QUICK, SLOW = 2, 13  # cycles of an access in simulation; a slow one lets all others pass


class LoadChainCheck(Watcher):
    """Every thread's sum leaves once at most, and stays on offer until it is taken; requests stay;
    no load reports a fault, or uses a tag again before its answer.

    Parameters
    ----------
    target : LoadChain
        The graph, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    done : Signal
        The threads whose sums have left.
    """

    def __init__(self, target):
        super().__init__(target)
        self.threads, self.depth = target.threads, target.depth
        self.done = Signal(target.threads)

    def elaborate(self, platform):
        m = Module()
        sums, tid = self.sums, self.sums.payload.tid
        claim_kept(m, "sum", sums, Assert)
        for number, (memory, fault) in enumerate(zip(self.memory, self.faults, strict=True)):
            request, response = memory.request, memory.response
            claim_kept(m, f"request {number}", request, Assert)
            asked = Signal(self.depth, name=f"asked_{number}")
            comes = Mux(response.valid, 1 << response.payload.tag, 0)
            goes = Mux(request.valid & request.ready, 1 << request.payload.tag, 0)
            m.d.sync += [
                asked.eq(asked & ~comes | goes),
                Assert((goes & asked & ~comes) == 0, f"load {number} uses a tag twice"),
                Assert(~fault.valid, f"load {number} reports a fault"),
            ]
        with m.If(sums.valid & sums.ready):
            m.d.sync += self.done.eq(self.done | (1 << tid))
        m.d.sync += [
            Assert(~(sums.valid & self.done.bit_select(tid, 1)), "a thread leaves twice"),
            Assert(~(sums.valid & (tid >= self.threads)) if self.threads < 2**len(tid)
                   else 1, "a thread leaves that was not started"),
            Cover(self.done.all(), "all threads have left"),
        ]
        return m


class LoadChainTime(LoadChainCheck):
    """`LoadChainCheck`, and all sums leave within the bound.

    Assumes a memory that takes every request, and answers each within ``memory`` cycles, one at a
    time, in any order; and that sums are taken at once. The graph runs once after reset, so that a
    bounded check over its cycles is complete.

    Parameters
    ----------
    target : LoadChain
        The graph, or a component with the same members and parameters.
    memory : int
        Cycles of an access, at most.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, memory=4):
        super().__init__(target)
        self.latency = memory
        self.within = chain_completion(threads=target.threads, depth=target.depth, memory=memory)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for number, memory in enumerate(self.memory):
            request, response = memory.request, memory.response
            ages = [Signal(range(self.latency + 1), name=f"age_{number}_{tag}")
                    for tag in range(self.depth)]  # 0: nothing is owed
            m.d.sync += Assume(request.ready, f"memory {number} takes every request")
            m.d.sync += owes(~response.valid | Cat(
                (age != 0) & (response.payload.tag == tag)
                for tag, age in enumerate(ages)).any(), f"memory {number} answers what was asked")
            for tag, age in enumerate(ages):
                answered = response.valid & (response.payload.tag == tag)
                asked = request.valid & (request.payload.tag == tag)
                m.d.sync += owes((age != self.latency - 1) | answered,
                                   f"memory {number} answers in time")
                with m.If(asked):
                    m.d.sync += age.eq(1)
                with m.Elif(answered):
                    m.d.sync += age.eq(0)
                with m.Elif(age != 0):
                    m.d.sync += age.eq(age + 1)
        m.d.sync += Assume(self.sums.ready, "sums are taken")
        for number, enable in enumerate(self.enables):
            m.d.sync += Assume(enable.ready, f"enable tokens of load {number} are taken")

        cycle = Signal(range(self.within + 2))
        with m.If(cycle <= self.within):
            m.d.sync += cycle.eq(cycle + 1)
        m.d.sync += Assert((cycle < self.within) | self.done.all(),
                           f"not all done in {self.within} cycles")
        return m


class LoadChainObserver(Watcher):
    """Which accesses of the graph's run have been slow: the case that a simulation has tried.

    Parameters
    ----------
    target : LoadChain
        The graph.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    late : Signal
        A bit for each load and thread: its access has taken ``SLOW`` cycles. Another one in front
        of these: an access has taken longer than that, or neither as long nor ``QUICK`` cycles, or
        one more where another answer had its turn.
    """

    def __init__(self, target):
        super().__init__(target)
        self.threads, self.depth, self.width = target.threads, target.depth, target.width
        self.late = Signal(2 * self.threads + 1)

    def elaborate(self, platform):
        m = Module()
        # the second load's address is what the first one got for that thread
        whose = Array(Signal(range(self.threads), name=f"whose_{address}")
                      for address in range(2**self.width))
        found = []
        for number, memory in enumerate(self.memory):
            request, response = memory.request, memory.response
            ages = Array(Signal(range(2 * SLOW), name=f"age_{number}_{tag}")
                         for tag in range(self.depth))
            threads = Array(Signal(range(self.threads), name=f"thread_{number}_{tag}")
                            for tag in range(self.depth))
            for age in ages:  # of what is not asked, it goes nowhere
                m.d.sync += age.eq(Mux(age == 2 * SLOW - 1, age, age + 1))
            with m.If(request.valid & request.ready):
                address = request.payload.address
                m.d.sync += [ages[request.payload.tag].eq(2), threads[request.payload.tag].eq(
                    whose[address] if number else address)]
            tag = response.payload.tag
            if number == 0:
                with m.If(response.valid):
                    m.d.sync += whose[response.payload.data].eq(threads[tag])
            took = Signal(range(2 * SLOW), name=f"took_{number}")
            m.d.comb += took.eq(ages[tag])
            slow = 1 << threads[tag] + number * self.threads
            other = 1 << 2 * self.threads
            found.append(Mux(~response.valid | (took == QUICK) | (took == QUICK + 1), 0,
                             Mux(took == SLOW, slow, other)))
        m.d.sync += self.late.eq(self.late | found[0] | found[1])
        return m
