"""What a checker assumes of its block's surroundings, and why it may.

An `Assume` that reads only the block's inputs needs no more than a message. One that depends on
what the block gives, now or before, would hide a faulty block, unless it is a rule that the
surroundings keep whatever the block does; one that keeps a value for good, unless it is a
configuration. They are declared here, and `cyclebound.sim.proof.assumptions` tests them.
"""

from amaranth.hdl import Assert, Assume

__all__ = ["FIXED", "LAW", "OFFER", "OWED", "START", "at_rest", "fixed", "kind_of", "law", "owes",
           "said", "stays"]

OWED, OFFER, FIXED, LAW, START = "owed: ", "offer: ", "fixed: ", "law: ", "start: "
"""How the messages begin: of a rule of the surroundings, of that of an offer, of a value that never
changes, of a law of arithmetic, and of the state in which a proof begins."""


def owes(fact, says):
    """Assume a rule that the surroundings keep with what the block has given them.

    Parameters
    ----------
    fact : Value
        True while they keep it. Of what the block gives in this cycle, it may depend on what does
        not depend on this cycle's inputs.
    says : str
        What they never do, in a few words.
    """
    return Assume(fact, f"{OWED}{says}")


def stays(fact, says):
    """Assume that what is on offer stays until it is taken: a rule that binds only after a cycle
    with an offer that the block did not take, and that the same inputs again always keep."""
    return Assume(fact, f"{OFFER}{says}")


def fixed(fact, says):
    """Assume that something is never changed after its first use: a configuration, say."""
    return Assume(fact, f"{FIXED}{says}")


def law(fact, says):
    """Assume what is true of all products, where these are free (`Property.any_product`)."""
    return Assume(fact, f"{LAW}{says}")


def at_rest(m, first, ends, facts):
    """Assume in ``m`` facts about the block where a proof begins, and claim them where it ends.

    So a proof that begins anywhere (`Property.anywhere`) is about any number of requests.

    Parameters
    ----------
    first, ends : Value
        True in the first cycle of all, and where a request is over.
    facts : iterable of (Value, str)
        The facts, and their names.
    """
    for fact, name in facts:
        m.d.sync += [Assume(~first | fact, f"{START}not at rest: {name}"),
                     Assert(~ends | fact, f"invariant: {name}")]


def kind_of(message):
    """One of the beginnings above, or an empty text."""
    return next((kind for kind in (OWED, OFFER, FIXED, LAW, START) if message.startswith(kind)), "")


def said(message):
    """A message without its kind."""
    return message.removeprefix(kind_of(message))
