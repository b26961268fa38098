"""The switch delivers exactly what is configured: every output its input's tokens, all of them, in
order, and no others.

`SwitchCheck` knows the ports only, and watches simulations. `SwitchProof` adds what induction needs
to know about the inside of `Switch`.

Ref: SGMF, section 5.3.
"""

from amaranth.hdl import Array, Assert, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.tb.assumed import fixed
from cyclebound.tb.watcher import Watcher

__all__ = ["SwitchCheck", "SwitchProof"]

_PLACES = 2


class SwitchCheck(Watcher):
    """Each output keeps account of what its input has taken, and must offer it, oldest first: at
    once, unless another output of the same input has still to take the token before.

    Assumes that the configuration does not change.

    Parameters
    ----------
    target : Switch
        The switch, or a component with the same members and ``ports``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    owed : list of Signal
        By output: the tokens that it has still to deliver.
    older, younger : list of Signal
        By output: the first and the second of them.
    """

    def __init__(self, target):
        super().__init__(target)
        self.ports = target.ports
        size = len(Value.cast(self.inputs[0].payload))
        self.owed, self.older, self.younger = (
            [Signal(bits, name=f"{name}_{o}") for o in range(self.ports)]
            for name, bits in (("owed", 2), ("older", size), ("younger", size)))

    def source(self, output):
        """Whether the output has an input, and which."""
        choice = self.choices[output]
        there = (choice != 0) & (choice <= self.ports) & (choice != output + 1)
        return there, (choice - 1)[:len(choice)]

    def elaborate(self, platform):
        m = Module()
        began = Signal()
        m.d.sync += began.eq(1)
        taken = Array([port.valid & port.ready for port in self.inputs])
        payloads = Array([Value.cast(port.payload) for port in self.inputs])
        for o, output in enumerate(self.outputs):
            choice = self.choices[o]
            before = Signal.like(choice, name=f"choice_{o}")
            m.d.sync += [before.eq(choice),
                         fixed(~began | (before == choice), "configuration changed")]
            there, number = self.source(o)
            owed, older, younger = self.owed[o], self.older[o], self.younger[o]
            enters, leaves = Signal(name=f"enters_{o}"), Signal(name=f"leaves_{o}")
            token = Signal.like(older, name=f"token_{o}")
            m.d.comb += [enters.eq(there & taken[number]), token.eq(payloads[number]),
                         leaves.eq(output.valid & output.ready)]
            m.d.sync += owed.eq(owed + enters - leaves)
            with m.If(leaves | (owed == 0)):
                m.d.sync += older.eq(Mux(owed == _PLACES, younger, token))
            with m.If(owed != _PLACES):
                m.d.sync += younger.eq(token)
            # one that shares its input with a slower one waits until that one has the same token
            first = Cat((other != choice) | (late <= owed)
                        for other, late in zip(self.choices, self.owed, strict=True)).all()
            m.d.sync += [
                Assert(output.valid == ((owed != 0) & first),
                       f"output {o}: a token is offered if and only if one is owed"),
                Assert(~output.valid | (Value.cast(output.payload) == older),
                       f"output {o}: another token than the oldest that is owed"),
                Assert(~enters | (owed != _PLACES), f"output {o}: a third token"),
            ]
        return m


class SwitchProof(SwitchCheck):
    """`SwitchCheck`, with invariants about the inside of a `Switch`.

    Parameters
    ----------
    target : Switch
        The switch itself, not elaborated yet.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        pairs, served = self._target.pairs, self._target.crossbar.served
        levels = Array([pair.level for pair in pairs])
        firsts = Array([Value.cast(pair.first) for pair in pairs])
        seconds = Array([Value.cast(pair.second) for pair in pairs])
        for i, pair in enumerate(pairs):
            chosen = Cat(self.source(o)[0] & (self.source(o)[1] == i) for o in range(self.ports))
            m.d.sync += [
                Assert(pair.level <= _PLACES, f"invariant: input {i} holds two tokens at most"),
                Assert((served[i] & ~chosen) == 0, f"invariant: input {i} serves none that has it"),
                Assert((served[i] == 0) | (pair.level != 0),
                       f"invariant: input {i} has the token that it has served"),
                Assert((served[i] == 0) | (served[i] != chosen),
                       f"invariant: input {i} keeps no token that all outputs have"),
            ]
        for o in range(self.ports):
            there, number = self.source(o)
            has = Array([port[o] for port in served])[number]
            level = levels[number]
            m.d.sync += [
                Assert(there | (self.owed[o] == 0), f"invariant: output {o} without an input"),
                Assert(~there | (self.owed[o] + has == level),
                       f"invariant: output {o} is owed what its input holds"),
                Assert(~there | (self.owed[o] == 0)
                       | (self.older[o] == Mux(has, seconds[number], firsts[number])),
                       f"invariant: output {o}: the oldest"),
                Assert(~there | (self.owed[o] != _PLACES) | (self.younger[o] == seconds[number]),
                       f"invariant: output {o}: the youngest"),
            ]
        m.d.sync += Cover((self.owed[0] == _PLACES) & (self.owed[1] == 1)
                          & (self.choices[0] == self.choices[1]), "one output lags another")
        return m
