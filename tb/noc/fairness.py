"""Round robin among packets at an output, as assertions and the invariants that prove them."""

from amaranth.hdl import Assert, Cat, Cover, Mux, Signal

__all__ = ["claim_fair"]


def claim_fair(m, n, arbiter, waiting, grant, free, *, head, shown=None):
    """Claim in ``m`` that an output is fair, for any number of cycles.

    The rank of an input is how many come before it in the order that begins after the one served
    last; rank and packets gone by stay below the number of inputs together. `Cover` shows a packet
    that waits for as many as may go by, or for ``shown``, where that takes too many cycles.

    Parameters
    ----------
    m : Module
        Of the checker.
    n : int
        Number of the output.
    arbiter : RoundRobinArbiter or PacketArbiter
        Its arbiter, with its state ``mask``.
    waiting : Value
        Bit by input: it waits for the output, until it is granted.
    grant : Value
        Bit by input: its grant, if it counts.
    free : Value
        The output may begin with a packet.
    head : str
        What waits, in a word.
    shown : int or None
        How many packets `Cover` shows go by; None: all that may.
    """
    count, mask = arbiter.count, arbiter.mask
    shown = count - 1 if shown is None else shown
    owed = Signal(count, name=f"owed_{n}")
    m.d.sync += owed.eq(waiting & ~grant)
    m.d.sync += [
        Assert((grant & (grant - 1)) == 0, f"output {n}: more than one packet begins"),
        Assert((grant & ~waiting) == 0, f"output {n}: a packet begins without a {head}"),
        Assert(~free | ~waiting.any() | grant.any(), f"output {n}: idle while a {head} waits"),
        Assert(free | ~grant.any(), f"output {n}: a packet begins within another"),
        Assert((owed & ~waiting) == 0, f"output {n}: a {head} that waited is gone"),
        Assert(~mask[0], "invariant: the mask leaves out requester 0"),
        Assert((mask[:-1] & ~mask[1:]) == 0, "invariant: the mask is a thermometer"),
    ]
    size = Signal(range(count + 1), name=f"size_{n}")  # how many `mask` holds
    m.d.comb += size.eq(sum(mask))
    longest = []
    for who in range(count):
        rank = Signal(range(count), name=f"rank_{n}_{who}")
        passed = Signal(range(count), name=f"passed_{n}_{who}")
        m.d.comb += rank.eq(Mux(mask[who], who + size - count, who + size))
        overtaken = Signal(name=f"overtaken_{n}_{who}")
        m.d.comb += overtaken.eq(waiting[who] & grant.any() & ~grant[who])
        with m.If(overtaken):
            m.d.sync += passed.eq(passed + 1)
        with m.Elif(~waiting[who] | grant[who]):
            m.d.sync += passed.eq(0)
        m.d.sync += [
            Assert(~(overtaken & (passed == count - 1)),
                   f"output {n}: {head} {who} overtaken by {count} packets"),
            Assert(owed[who] | (passed == 0), "invariant: who does not wait does not count"),
            Assert(rank + passed < count, "invariant: a waiting input moves forward"),
        ]
        longest.append(grant[who] & (passed == shown))
    m.d.sync += Cover(Cat(longest).any(), f"output {n}: a {head} waits for {shown} packets")
