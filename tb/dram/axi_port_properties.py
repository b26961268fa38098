"""Bound checkers of the AXI4 port: the rules of the handshakes, cycle by cycle.

`AxiRules` looks at the five channels only. `AxiPortCheck` looks at the DRAM's pins as well, and
watches simulations; `AxiPortProof` looks inside `AxiPort`, and is for induction.

Ref: AMBA AXI Protocol Specification (IHI 0022), sections A3.2.1, A3.3, A3.4.4 and A5.3.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from cyclebound.golden.dram.axi_port import MOST_TRANSFERS, AxiResponse
from cyclebound.tb.assumed import owes
from cyclebound.tb.dram.timing_properties import CommandPins, DramTimingCheck

__all__ = ["AxiPortCheck", "AxiPortProof", "AxiRules"]

_EXOKAY = 1  # the answer to an exclusive access where these are monitored
_SENT = {"ar": ("id", "addr", "len", "size", "burst"), "w": ("data", "strb", "last"),
         "r": ("id", "data", "resp", "last"), "b": ("id", "resp")}
_SENT["aw"] = _SENT["ar"]


class AxiRules(wiring.Component):
    """AXI's rules for a subordinate's five channels, and one burst at a time.

    Assumes that the manager's offers stay until they are taken.

    Parameters
    ----------
    target : wiring.Component
        Has the members of an AXI4 subordinate, by Arm's names: ``s_axi_awvalid`` and so on.
    more : dict
        Members of a checker that sees more.

    Members
    -------
    All of the channels, as inputs.

    Attributes
    ----------
    busy, write, identity : Signal
        Whether a burst is under way; its direction and identifier.
    left : Signal
        Its transfers still to come on W or R, as AXI counts them: less one.
    complete, astray : Signal
        All words of a write have been taken; WLAST was not with the last of them.
    passed : dict
        By address channel: whether one of the other direction was taken while this one waits.
    waits : dict
        By channel: whether it was on offer, and not taken, in the cycle before.
    """

    def __init__(self, target, **more):
        super().__init__({name: In(member.shape) for name, member in
                          target.signature.members.items() if name.startswith("s_axi_")} | more)
        self.busy, self.write, self.complete, self.astray = (
            Signal(name=name) for name in ("busy", "write", "complete", "astray"))
        self.identity = Signal.like(self.of("b", "id"))
        self.left = Signal(range(MOST_TRANSFERS))
        self.passed = {name: Signal(name=f"passed_{name}") for name in ("ar", "aw")}
        self.waits = {name: Signal(name=f"waits_{name}") for name in _SENT}

    def of(self, channel, name):
        """A signal of one channel."""
        return getattr(self, f"s_axi_{channel}{name}")

    def elaborate(self, platform):
        m = Module()
        of = self.of
        taken = {name: of(name, "valid") & of(name, "ready") for name in _SENT}
        for name, payload in _SENT.items():
            offer = Cat(of(name, field) for field in payload)
            before, waits = Signal(len(offer), name=f"before_{name}"), self.waits[name]
            m.d.sync += [waits.eq(of(name, "valid") & ~of(name, "ready")), before.eq(offer)]
            rule = Assert if name in "rb" else owes
            m.d.sync += rule(~waits | (of(name, "valid") & (offer == before)),
                             f"{name.upper()} withdrawn or changed while it waited")

        for name, other in (("ar", "aw"), ("aw", "ar")):
            waiting, passed = of(name, "valid") & ~of(name, "ready"), self.passed[name]
            m.d.sync += passed.eq(Mux(waiting, passed | taken[other], 0))
            m.d.sync += Assert(~(waiting & passed & taken[other]),
                               f"{name.upper()} is passed over twice")

        busy, write, left = self.busy, self.write, self.left
        with m.If(taken["ar"] | taken["aw"]):
            m.d.sync += [busy.eq(1), write.eq(taken["aw"]), self.complete.eq(0), self.astray.eq(0),
                         left.eq(Mux(taken["aw"], of("aw", "len"), of("ar", "len"))),
                         self.identity.eq(Mux(taken["aw"], of("aw", "id"), of("ar", "id")))]
        with m.Elif(taken["b"] | (taken["r"] & (left == 0))):
            m.d.sync += busy.eq(0)
        with m.Elif(taken["w"] | taken["r"]):
            m.d.sync += left.eq(left - 1)
        with m.If(taken["w"]):
            m.d.sync += [self.complete.eq(left == 0),
                         self.astray.eq(self.astray | (of("w", "last") != (left == 0)))]

        answered = {name: of(name, "valid") for name in "rb"}
        m.d.sync += [
            Assert(~(taken["ar"] & taken["aw"]), "a read and a write are taken at once"),
            Assert(~busy | ~(taken["ar"] | taken["aw"]), "taken while another is under way"),
            Assert(~taken["w"] | (busy & write & ~self.complete),
                   "a word is taken that belongs to no write"),
            Assert(~answered["b"] | (busy & write & self.complete),
                   "B without a write, or before its last word"),
            Assert(~answered["r"] | (busy & ~write), "R without a read"),
            Assert(~answered["r"] | (of("r", "last") == (left == 0)),
                   "RLAST is not with the last transfer"),
            Assert(~answered["b"] | ~self.astray | (of("b", "resp") == AxiResponse.SLVERR),
                   "WLAST was misplaced, and the answer is not SLVERR"),
        ]
        for name, valid in answered.items():
            m.d.sync += [
                Assert(~valid | (of(name, "id") == self.identity),
                       f"{name.upper()} has another identifier"),
                Assert(~valid | (of(name, "resp") != _EXOKAY),
                       f"{name.upper()} is EXOKAY, and nothing is exclusive here"),
            ]
        return m


class AxiPortCheck(AxiRules):
    """`AxiRules`, and every rule of the DRAM's pins.

    Parameters
    ----------
    target : AxiController
        Or a component with the same members and part.

    Members
    -------
    s_axi_*
        As there.
    command : In(CommandPins)
        See `DramTimingCheck`.
    """

    def __init__(self, target):
        self.part = target.part
        super().__init__(target, command=In(CommandPins(part=self.part)))

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.submodules.pins = pins = DramTimingCheck(part=self.part)
        m.d.comb += pins.command.eq(self.command)
        return m


class AxiPortProof(AxiRules):
    """`AxiRules`, with invariants: the port's state is what its channels have said.

    `Cover` shows that bursts are answered, if only with a refusal: words take longer.

    Parameters
    ----------
    target : AxiPort
        The port itself; whatever answers it may do as it likes.

    Members
    -------
    As `AxiRules`.
    """

    def __init__(self, target):
        super().__init__(target)
        self._port = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        port, busy, write, left = self._port, self.busy, self.write, self.left
        at, fetched, shown = port.state, port.fetched, self.of("r", "valid")
        outside = (at["MAP"] | at["MAPPING"] | at["IDLE"] | at["TAKE-READ"]
                   | at["TAKE-WRITE"])
        sending = at["SEND"] | at["DRAIN"]
        facts = {
            "one state": sum(at.values()) == 1,
            "busy": busy == ~outside,
            "the burst": ~busy | ((write == port.write) & (self.identity == port.identity)),
            "what was chosen is still there": (~at["TAKE-READ"] | self.waits["ar"])
            & (~at["TAKE-WRITE"] | self.waits["aw"]),
            "collecting": ~at["COLLECT"] | (write & ~self.complete & (left == port.left)),
            "collected": ~(at["ASK"] | at["WAIT"] | at["ANSWER"]) | ~write | self.complete,
            "decoding": ~at["DECODE"] | (~self.complete & ~self.astray & (left == port.left)),
            "answering": ~at["ANSWER"] | write,
            "reading": ~(at["SETTLE"] | sending) | ~write,
            "the line to R is empty": sending | ~(fetched | shown),
            "before the first": ~(at["ASK"] | at["WAIT"] | at["SETTLE"]) | write
            | (left == port.left),
            "sending": ~at["SEND"] | ((left == port.left + fetched + shown)
                                      & ~(fetched & port.fetched_last)),
            "draining": ~at["DRAIN"] | ((left + 1 == fetched + shown)
                                        & (~fetched | port.fetched_last)),
            "astray": ~self.astray | outside | (
                (port.response == AxiResponse.SLVERR) & (at["COLLECT"] | at["ANSWER"])),
            "the answer": port.response != _EXOKAY,
            "turns of reads": ~self.passed["ar"] | (~port.after_read & ~at["TAKE-WRITE"]),
            "turns of writes": ~self.passed["aw"] | (port.after_read & ~at["TAKE-READ"]),
        }
        for says, fact in facts.items():
            m.d.sync += Assert(fact, f"invariant: {says}")
        m.d.sync += [
            Cover(self.of("b", "valid") & self.astray, "a write with WLAST astray is answered"),
            Cover(self.of("r", "valid") & (left == 0) & self.waits["r"], "a last transfer waits"),
        ]
        return m
