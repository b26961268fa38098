"""Base of bound checkers and observers, which see every port of a component, and drive none."""

from amaranth.hdl import Const, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Watcher", "claim_kept", "delayed"]


class Watcher(wiring.Component):
    """Has every port of its target as an input, under the same name.

    Parameters
    ----------
    target : wiring.Component
        What to watch, or anything with the same members.
    begins : int
        Of a probe's observer: bits of a further input ``begins``, one for each of its places, set
        in the first cycle of a request; 0: it does not need that.
    """

    def __init__(self, target, *, begins=0):
        more = {"begins": In(begins)} if begins else {}
        super().__init__({**_inputs(target.signature), **more})


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
    claim : Assert or Assume
        Who owes it: the target, or its surroundings.
    unless : Value or None
        A cycle in which the offer may go.
    """
    payload, label = Value.cast(port.payload), name.replace(" ", "_")
    waits, offer = Signal(name=f"{label}_waits"), Signal(len(payload), name=f"{label}_offer")
    m.d.sync += [waits.eq(port.valid & ~port.ready), offer.eq(payload)]
    excused = Const(0) if unless is None else unless
    m.d.sync += claim(~waits | excused | (port.valid & (payload == offer)),
                      f"{name}: offer withdrawn or changed")
