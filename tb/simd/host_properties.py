"""Bound checkers of the register interface: they read its ports and drive none.

`HostCheck` knows the bus and the registers, and watches simulations; `HostProof` looks inside
`HostInterface` as well, and is for induction.

Ref: AMBA AXI Protocol Specification (IHI 0022), A3.2 and chapter B1.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal

from cyclebound.golden.simd.host_registers import Register
from cyclebound.tb.watcher import Watcher

__all__ = ["HostCheck", "HostProof"]

_CHIP = 8  # bit of MAP
_WIDTHS = {Register.PROGRAM: 30, Register.INSTRUCTIONS: 32, Register.GRID_X: 32,
           Register.GRID_Y: 32, Register.WIDTH: 4, Register.POLICY: 3, Register.ADDRESS: 30,
           Register.SIZE_X: 32, Register.SIZE_Y: 32}


class HostCheck(Watcher):
    """Each write and each read has one answer, OKAY, in its cycle, and one at a time is under way.

    Of any one register that keeps its value: a read returns what was last written as a whole word.
    A kernel starts, and a buffer is mapped, only by a write to the register that does so, while
    no kernel runs, and with what the register that is followed holds; else STATUS has a mark.

    Parameters
    ----------
    target : HostInterface
        The interface, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    acts, looks : Signal
        A write was taken in the cycle before, and an address to read.
    address, word, whole, wanted : Signal
        What it was.
    followed, value : Signal
        The register that is followed, as a place among those that keep their value, and its value.
    """

    def __init__(self, target):
        super().__init__(target)
        self._choice = self.any_one(Signal(range(len(_WIDTHS))), "register")
        self.followed, self.value = self._choice.now, Signal(32)
        self.acts, self.looks, self.whole = Signal(), Signal(), Signal()
        self.address, self.word = Signal.like(self.s_axil_awaddr), Signal(32)
        self.wanted = Signal.like(self.s_axil_araddr)

    def elaborate(self, platform):
        m = Module()
        self._choice.follow(m, self.s_axil_awaddr[2:2 + len(self.followed)])
        register = Array([*_WIDTHS, *[0xFC] * ((1 << len(self.followed)) - len(_WIDTHS))])[
            self.followed]  # beyond: an address without a register
        self._writes(m, register)
        self._reads(m, register)
        self._sends(m, register)
        return m

    def _writes(self, m, register):
        """Taken together, carried out in the next cycle, answered in the one after that, or when
        the mapping has been taken."""
        taken = Signal()
        answered, mapped = Signal(), Signal()  # in the cycle before, and not over
        m.d.comb += taken.eq(self.s_axil_awvalid & self.s_axil_awready)
        m.d.sync += [
            self.acts.eq(taken),
            answered.eq(self.s_axil_bvalid & ~self.s_axil_bready),
            mapped.eq(self.mapping.valid),
        ]
        with m.If(taken):
            m.d.sync += [self.address.eq(self.s_axil_awaddr), self.word.eq(self.s_axil_wdata),
                         self.whole.eq(self.s_axil_wstrb.all())]
        acted, given = Signal(), Signal()
        m.d.sync += [acted.eq(self.acts), given.eq(self.mapping.valid & self.mapping.ready)]
        offers = self.s_axil_awvalid & self.s_axil_wvalid
        busy = self.acts | self.mapping.valid | (self.s_axil_bvalid & ~self.s_axil_bready)
        m.d.sync += [
            Assert((self.s_axil_awready == self.s_axil_wready)
                   & (self.s_axil_awready == (offers & ~busy)),
                   "a write is refused without a reason, or taken in parts, or before its time"),
            Assert((self.s_axil_bvalid ^ self.mapping.valid)
                   == (acted | answered | mapped), "a write has no answer, or an answer no write"),
            Assert(~(given | answered) | self.s_axil_bvalid, "an answer withdrawn, or missing"),
            Assert(~(mapped & ~given) | self.mapping.valid, "a mapping withdrawn"),
            Assert(~(self.s_axil_bvalid & self.mapping.valid), "answered before it was mapped"),
            Assert(~self.s_axil_bvalid | (self.s_axil_bresp == 0), "an answer that is not OKAY"),
            Cover(self.s_axil_bvalid & given, "the answer to a mapping"),
        ]
        with m.If(self.acts & self.whole & (self.address == register)):
            width = Array([*_WIDTHS.values(), *[32] * (
                (1 << len(self.followed)) - len(_WIDTHS))])[self.followed]
            m.d.sync += self.value.eq(Mux(register == 0xFC, 0, self.word & ((1 << width) - 1)))

    def _reads(self, m, register):
        """Taken, looked up in the next cycle, on offer from the one after that on."""
        heard = self.s_axil_arvalid & self.s_axil_arready
        looked, waits, shown = Signal(), Signal(), Signal(32)
        found, ours = Signal(32), Signal()
        m.d.sync += [
            self.looks.eq(heard), looked.eq(self.looks), shown.eq(self.s_axil_rdata),
            waits.eq(self.s_axil_rvalid & ~self.s_axil_rready),
            found.eq(self.value), ours.eq(self.looks & (self.wanted == register)),
        ]
        with m.If(heard):
            m.d.sync += self.wanted.eq(self.s_axil_araddr)
        busy = self.looks | (self.s_axil_rvalid & ~self.s_axil_rready)
        m.d.sync += [
            Assert(self.s_axil_arready == (self.s_axil_arvalid & ~busy),
                   "a read is refused without a reason, or taken before its time"),
            Assert(self.s_axil_rvalid == (looked | waits), "a read has no answer, or one too many"),
            Assert(~waits | (self.s_axil_rdata == shown), "a word changes before it is taken"),
            Assert(~self.s_axil_rvalid | (self.s_axil_rresp == 0), "a word that is not OKAY"),
            Assert(~ours | (self.s_axil_rdata == found), "not what was written"),
        ]

    def _sends(self, m, register):
        """Starts and mappings come of writes, with what was written before; or are refused."""
        acts = self.acts & self.whole
        starts = acts & (self.address == Register.CONTROL) & self.word[0]
        maps = acts & (self.address == Register.MAP)
        may_map, waits = Signal(), Signal()  # an offer comes of the write before, or waits
        fresh = self.mapping.valid & ~waits
        m.d.sync += [may_map.eq(maps & self.idle & ~self.word[_CHIP]),
                     waits.eq(self.mapping.valid & ~self.mapping.ready)]
        m.d.sync += [
            Assert(~self.start.valid | (starts & self.idle), "an unrequested start"),
            Assert(~self.chip.valid | (maps & self.idle & self.word[_CHIP]),
                   "a buffer on chip that nobody mapped"),
            Assert(~fresh | may_map, "an unrequested mapping"),
            Assert(~self.chip.valid | (self.chip.payload.number == self.word[:5]),
                   "another buffer on chip"),
            Assert(~self.mapping.valid | ((self.mapping.payload.buffer == self.word[:5])
                                          & self.mapping.payload.valid), "another buffer"),
        ]
        kernel, chip, mapping = self.start.payload, self.chip.payload.buffer, self.mapping.payload
        sent = {Register.PROGRAM: kernel.address, Register.INSTRUCTIONS: kernel.instructions,
                Register.GRID_X: kernel.grid.x, Register.GRID_Y: kernel.grid.y,
                Register.WIDTH: kernel.grid.width, Register.POLICY: kernel.policy}
        for name, field in sent.items():
            m.d.sync += Assert(~self.start.valid | (register != name) | (field == self.value),
                               f"a start with another {name.name}")
        for valid, payload, what in ((self.chip.valid, chip, "a buffer on chip"),
                                     (self.mapping.valid, mapping, "a mapping")):
            for name, field in {Register.ADDRESS: payload.address, Register.SIZE_X: payload.x,
                                Register.SIZE_Y: payload.y}.items():
                m.d.sync += Assert(~valid | (register != name) | (field == self.value),
                                   f"{what} with another {name.name}")

        # The mark in STATUS: of a start or mapping that was not carried out, until it is cleared.
        mark, kept, maybe = Signal(), Signal(), Signal()
        m.d.comb += mark.eq(kept | (maybe & ~self.mapping.valid))
        m.d.sync += [kept.eq(mark), maybe.eq(maps & ~self.word[_CHIP])]
        with m.If(acts & (self.address == Register.STATUS) & self.word[3]):
            m.d.sync += kept.eq(0)
        with m.If((starts & ~self.start.valid) | (maps & self.word[_CHIP] & ~self.chip.valid)):
            m.d.sync += kept.eq(1)
        status, ours = Signal(4), Signal()
        m.d.sync += [status.eq(Cat(self.idle, self.fault.valid, self.loaded, mark)),
                     ours.eq(self.looks & (self.wanted == Register.STATUS)),
                     Assert(~ours | (self.s_axil_rdata == status), "not the status")]
        self.mark = kept, maybe


class HostProof(HostCheck):
    """The check, and the registers of a `HostInterface`; for induction.

    Parameters
    ----------
    target : HostInterface
        The interface itself.
    maps : int or None
        Assume a host that takes each answer at once, and no write that waits for a mapping, as the
        bounds do; 0: a probe follows writes to other registers than MAP.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, maps=None):
        super().__init__(target)
        self._kept, self._refused, self._maps = target.kept, target.refused, maps

    def elaborate(self, platform):
        m = super().elaborate(platform)
        kept, maybe = self.mark
        for place, name in enumerate(_WIDTHS):
            m.d.sync += Assert((self.followed != place) | (self._kept[name] == self.value),
                               "invariant: the register that is followed")
        m.d.sync += [
            Assert((self.followed < len(_WIDTHS)) | (self.value == 0), "invariant: no register"),
            Assert(maybe | (self._refused == kept), "invariant: the mark"),
            Assert(~maybe | (self._refused == (kept | ~self.mapping.valid)),
                   "invariant: the mark after a mapping"),
        ]
        if self._maps is not None:
            m.d.sync += [Assume(self.s_axil_bready & self.s_axil_rready, "an answer waits"),
                         Assume(self.mapping.ready, "a mapping waits")]
        return m

    def explain(self, m, probes):
        """Assert in ``m`` what the probes count of writes and reads."""
        self._explain_writes(m, *probes["write"])
        counter, = probes.get("read", [None])
        if counter is not None:
            looked = Signal()
            m.d.sync += [
                looked.eq(self.looks),
                Assert(counter.busy == (self.looks | looked), "invariant: a read is under way"),
                Assert(~self.looks | (counter.before == 1), "invariant: its first cycle is over"),
                Assert(~looked | (counter.before == 2), "invariant: its second cycle is over"),
                Assert((counter.ended == 0) & (counter.more == 0), "invariant: single events"),
                Assert(counter.kept[0] == 0, "invariant: no word waits"),
            ]

    def _explain_writes(self, m, counter):
        acted, given = Signal(), Signal()
        stages = self.acts, acted, given
        m.d.sync += [
            acted.eq(self.acts), given.eq(self.mapping.valid),
            Assert(counter.level == (self.acts | acted | given), "invariant: one is under way"),
            Assert(sum(stages) <= 1, "invariant: in one of its cycles"),
            Assert(~counter.busy | (counter.level != 0), "invariant: it is that one"),
            Assert(counter.ahead == 0, "invariant: none is before it"),
            Assert(counter.kept[0] == 0, "invariant: no answer waits"),
        ]
        for number, here in enumerate(stages, 1):
            m.d.sync += Assert(~(counter.busy & here) | (counter.before == number),
                               f"invariant: so many cycles are over: {number}")
        if self._maps == 0:
            m.d.sync += [
                Assume(~counter.pick | (self.s_axil_awaddr != Register.MAP),
                       "a mapping is followed"),
                Assert(~(counter.busy & self.acts) | (self.address != Register.MAP),
                       "invariant: what is followed maps nothing"),
                Assert(~counter.busy | ~self.mapping.valid, "invariant: and offers nothing"),
            ]
