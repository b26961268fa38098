"""Bound checker of SHMAC's core, and proofs of its time and of what each instruction does.

`CoreCheck` knows the ports only, and watches simulations. `CoreTimeProof` adds what induction needs
to know about the inside, so that the core cycles of each class are proved for every memory.
"""

from amaranth.hdl import Assert, Cover, Module, Mux, Signal

from cyclebound.golden.shmac.core_bounds import CLASSES
from cyclebound.golden.shmac.isa import Function, Opcode
from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["CoreCheck", "CoreTimeProof", "decodes"]

_CHECKED = (Opcode.COP0, Opcode.SC)


class CoreCheck(Watcher):
    """Bound checker of a core: one request at a time, and the core cycles of each class.

    Assumes that memory answers requests only, once, and not in the cycle in which it takes one.

    Attributes
    ----------
    kind : dict of str to Signal
        Of the instruction that has begun last, whether it is of that class.
    cycles : Signal
        Its core cycles so far, before this cycle.
    core_cycle : Signal
        This cycle is one.
    awaited, of_fetch, executes : Signal
        A response is to come, to a fetch; an instruction has begun, and not ended.
    """

    def __init__(self, target):
        super().__init__(target)
        self.kind = {name: Signal(name=f"is_{name}") for name in CLASSES}
        self.cycles = Signal(range(max(claim() for claim in CLASSES.values()) + 2))
        self.awaited, self.executes, self.of_fetch = Signal(), Signal(), Signal()
        self.core_cycle = Signal()

    def elaborate(self, platform):
        m = Module()
        request, response, trace = self.request, self.response, self.trace
        payload, awaited, executes = request.payload, self.awaited, self.executes
        taken = request.valid & request.ready
        answered = ~payload.write | payload.sync
        with m.If(taken):
            m.d.sync += [awaited.eq(answered), self.of_fetch.eq(payload.fetch)]
        with m.Elif(response.valid):
            m.d.sync += awaited.eq(0)
        m.d.sync += owes(~response.valid | awaited, "response without a request")

        claim_kept(m, "request", request, Assert)
        m.d.sync += [
            Assert(response.ready, "a response is not taken at once"),
            Assert(~(request.valid & awaited), "a second request while one is under way"),
            Assert(~request.valid | (payload.address[:2] == 0), "an unaligned request"),
            Assert(~(request.valid & payload.fetch) | (payload.strobes.all() & ~payload.write
                                                       & ~payload.sync), "a fetch that is none"),
            Assert(~(request.valid & ~payload.fetch) | executes, "an access of no instruction"),
            Assert(~trace.begins | ~executes, "an instruction begins before another one ends"),
            Assert(~trace.ends | trace.begins | executes, "an end without an instruction"),
            Assert(~trace.exception | trace.ends, "an exception without an end"),
            Assert((trace.register == 0) | (trace.ends & ~trace.exception),
                   "a register is written before the end, or in spite of an exception"),
            Cover(trace.exception & executes, "an access fails"),
        ]
        m.d.sync += executes.eq((executes | trace.begins) & ~trace.ends)

        # The class, where an instruction begins; and core cycles, those without waiting.
        core_cycle = self.core_cycle
        m.d.comb += core_cycle.eq(~((request.valid & ~request.ready) | (taken & answered)
                                    | (awaited & ~response.valid)))
        word = trace.instruction
        opcode, function = word[26:32], word[0:6]
        special = opcode == Opcode.SPECIAL
        ends = trace.ends
        checked = opcode.matches(*_CHECKED)
        signed = (opcode == Opcode.ADDI) | (special & function.matches(Function.ADD, Function.SUB))
        store = opcode[3:] == Opcode.SB >> 3
        runs = trace.begins & ~trace.exception
        now = {
            "trap": trace.begins & trace.exception, "plain": runs & ends & ~checked,
            "signed": runs & signed, "checked": runs & ends & checked,
            "multiply": runs & special & function.matches(Function.MULT, Function.MULTU),
            "divide": runs & special & function.matches(Function.DIV, Function.DIVU),
            "load": runs & ~ends & opcode[5] & ~store, "store": runs & store,
        }
        with m.If(trace.begins):
            m.d.sync += [signal.eq(now[name]) for name, signal in self.kind.items()]
        with m.If(trace.begins):
            m.d.sync += self.cycles.eq(core_cycle)
        with m.Else():
            m.d.sync += self.cycles.eq(self.cycles + core_cycle)
        m.d.sync += Assert(~trace.begins | (sum(now.values()) == 1), "an instruction of no class")
        for name, claim in CLASSES.items():
            m.d.sync += [
                Assert(~(trace.begins & self.kind[name]) | (self.cycles == claim()),
                       f"{name}: other core cycles than predicted"),
                Assert(~self.kind[name] | (self.cycles <= claim()), f"{name}: too late"),
            ]
        return m


def decodes(m, target, response, holds):
    """Invariants in ``m`` of a `Core` that decodes an instruction when it comes in.

    ``holds`` takes a fact and its name.
    """
    seen = Signal()  # an instruction, since reset
    with m.If(target.states["INSTRUCTION"] & response.valid):
        m.d.sync += seen.eq(1)
    for name, value in vars(target.decode(m, target.word)).items():
        holds(~seen | (getattr(target.decoded, name) == value), f"{name} is decoded")
    holds(seen | ((target.states["FETCH"] | target.states["INSTRUCTION"])
                  & (target.pc == target.reset_address)), "the first instruction is fetched")


class CoreTimeProof(CoreCheck):
    """`CoreCheck`, with invariants about the states of a `Core`, and what its probes count.

    Where an instruction has ended and the next one is fetched, all core cycles of its class but the
    last one have gone by. An access is made after one of them, and a product is ``left`` cycles
    before its end.

    Parameters
    ----------
    target : Core
        The core, with its states.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, kind, cycles = self._target, self.kind, self.cycles
        states, product = target.states, target.multiply_divide
        left, word = product.left, target.word
        fetches = states["FETCH"] | states["INSTRUCTION"]
        loads, stores = kind["load"], kind["store"]
        none = ~sum(kind.values()).any()

        def holds(fact, name):
            m.d.sync += Assert(fact, f"invariant: {name}")

        holds(sum(states.values()) == 1, "one state")
        holds(states["EXECUTE"] == self.trace.begins, "executed where it begins")
        holds(sum(kind.values()) <= 1, "one class")
        holds((states["SUM"] | states["PRODUCT"] | states["ACCESS"] | states["DATA"])
              == self.executes, "executed until it ends")
        holds((states["INSTRUCTION"] | states["DATA"]) == self.awaited, "awaited")
        holds(~self.awaited | (states["INSTRUCTION"] == self.of_fetch), "what is awaited")
        for name, claim in CLASSES.items():
            holds(~(fetches & kind[name]) | (cycles == claim() - 1), f"fetched after {name}")
            holds(~(states["EXECUTE"] & kind[name]) | (cycles == claim()), f"executed after {name}")
        holds(~(self.executes & none), "a class while it is executed")
        holds(~(states["ACCESS"] | states["DATA"]) | ((loads | stores) & (cycles == 1)),
              "an access after one cycle")
        holds(~(states["ACCESS"] | states["DATA"])
              | (word[31] & (stores == (word[29:32] == 0b101))), "an access by its instruction")
        holds(~states["DATA"] | loads, "only loads wait")
        holds(~states["SUM"] | (kind["signed"] & (cycles == 1)), "a sum after one cycle")
        decodes(m, target, self.response, holds)
        holds(states["PRODUCT"] == (left != 0), "a product has cycles left")
        holds(~states["PRODUCT"] | Mux(product.divides, kind["divide"] & (cycles == 36 - left)
                                       & (left <= 35), kind["multiply"] & (cycles == 33 - left)
                                       & (left <= 32)), "a product's cycles")
        holds(product.final == (states["PRODUCT"] & ~product.divides & (left == 1)),
              "a product's last cycle")
        holds(product.last == (states["PRODUCT"] & product.divides & (left == 1)),
              "a quotient's last cycle")
        holds(product.last_but_one == (states["PRODUCT"] & product.divides & (left == 2)),
              "a quotient's last cycle but one")
        for name in CLASSES:
            if name not in ("multiply", "divide"):  # which take longer than a bounded check
                m.d.sync += Cover(self.trace.begins & kind[name], f"after {name}")
        return m

    def explain(self, m, probes):
        """Say in ``m`` what the probes count: the core cycles of their class, a cycle later."""
        before = Signal()  # no instruction has just begun
        last = Signal()    # the cycle before was a core cycle
        m.d.sync += [before.eq(~self.trace.begins), last.eq(self.core_cycle)]
        for name, (counter,) in probes.items():
            began, held, past, awaited, ticked = counter.kept
            for register, value, what in (
                    (began, self.kind[name] & ~before, "begins"), (held, self.kind[name], "class"),
                    (past, self.kind[name], "class before"), (awaited, self.awaited, "memory"),
                    (ticked, last, "ticks"), (counter.busy, self.kind[name] & before, "request")):
                m.d.sync += Assert(register == value, f"invariant: {name}'s {what}")
            m.d.sync += Assert(~counter.busy | (counter.before == (self.cycles - last)[:len(
                self.cycles)]), f"invariant: {name}'s count")
