"""Base of bound checkers and observers, which see every port of a component, and drive none."""

from amaranth.hdl import Const, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Rigid", "Watcher", "claim_kept", "delayed"]


class Watcher(wiring.Component):
    """Has every port of its target as an input, under the same name.

    Parameters
    ----------
    target : wiring.Component
        What to watch, or anything with the same members.
    begins : int
        Of a probe's observer: bits of a further input ``begins``, one for each of its places, set
        in the first cycle of a request; 0: it does not need that.

    Attributes
    ----------
    rigid : list of Signal
        What a prover chooses freely for each `Rigid`: nothing drives it, so that it is 0 in a
        simulation.
    """

    def __init__(self, target, *, begins=0):
        more = {"begins": In(begins)} if begins else {}
        super().__init__({**_inputs(target.signature), **more})
        self.rigid = []

    def any_one(self, like, name):
        """A `Rigid` choice among as many as ``like`` can tell apart."""
        choice = Rigid(len(Value.cast(like)), name)
        self.rigid.append(choice.free)
        return choice


class Rigid:
    """One of several alike, of a tag, a word or a lane, that a checker follows from reset on.

    In a proof it is any, whatever the traffic is, so that the proof is one for all of them:
    ``free`` is an input of its top. In a simulation, the traffic decides.

    Attributes
    ----------
    chosen : Signal
        Not in the first cycle after reset any more.
    kept, now : Signal
        The choice, from the second cycle on; and in every cycle.
    free : Signal
        The prover's share of it.
    """

    def __init__(self, width, name):
        self.chosen, self.kept, self.now, self.free = (
            Signal(shape, name=f"{name}_{of}") for shape, of in (
                (1, "chosen"), (width, "kept"), (width, "followed"), (width, "free")))

    def follow(self, m, traffic):
        """Choose in ``m``: in a simulation, ``traffic`` of the first cycle after reset."""
        m.d.comb += self.now.eq(Mux(self.chosen, self.kept, Value.cast(traffic) ^ self.free))
        m.d.sync += [self.chosen.eq(1), self.kept.eq(self.now)]


def _inputs(signature):
    """These members, all of them as inputs."""
    return {name: (In(member.shape) if member.is_port else
                   Out(wiring.Signature(_inputs(member.signature))))  # `In` would turn its members
                  .array(*member.dimensions)
            for name, member in signature.members.items()}


def delayed(m, value, cycles):
    """``value`` of that many cycles ago; 0 after reset."""
    for number in range(cycles):
        later = Signal.like(value, name=f"inputs_{number + 1}")
        m.d.sync += later.eq(value)
        value = later
    return value


def claim_kept(m, name, port, claim, *, unless=None):
    """Claim in ``m`` that what a stream offers stays, unchanged, until it is taken.

    Parameters
    ----------
    m : Module
        Of the checker.
    name : str
        Of the stream, in a message.
    port : stream
        With ``valid``, ``ready`` and ``payload``.
    claim : Assert or stays
        Who owes it: the target, or its surroundings (`cyclebound.tb.assumed.stays`).
    unless : Value or None
        A cycle in which the offer may go.
    """
    payload, label = Value.cast(port.payload), name.replace(" ", "_")
    waits, offer = Signal(name=f"{label}_waits"), Signal(len(payload), name=f"{label}_offer")
    m.d.sync += [waits.eq(port.valid & ~port.ready), offer.eq(payload)]
    excused = Const(0) if unless is None else unless
    m.d.sync += claim(~waits | excused | (port.valid & (payload == offer)),
                      f"{name}: offer withdrawn or changed")
