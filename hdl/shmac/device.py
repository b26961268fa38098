"""What answers in SHMAC's tiles that have no RAM.

Ref: SHMAC thesis, 2.3 (Table 2.2), 4.2 and 4.3 (clock and jump tile).
Part of `shmac.grid`, whose testbench (configuration ``devices``) and tests cover it; its model is
in golden/shmac/device.py.
"""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.shmac.address_map import BOOT_WORDS, LOCAL_BITS, boot_stub
from cyclebound.golden.shmac.core_port import DATA_BITS, STROBE_BITS
from cyclebound.golden.shmac.layout import Kind
from cyclebound.hdl.shmac.packet import RequestPacketLayout, ResponsePacketLayout

__all__ = ["DEVICES", "CharacterLayout", "Device", "boot_words"]

CharacterLayout = data.StructLayout({"valid": 1, "character": 8})
DEVICES = (Kind.JUMP, Kind.CLOCK, Kind.UART, Kind.ROUTER)


def boot_words(position):
    """The bootstrap of a tile whose position is known in hardware only."""
    lui, jr, *others = boot_stub(15, 15)  # of a tile whose position is all ones
    first = Mux(position.as_value() == 0, boot_stub(0, 0)[0],
                Cat(C(0, LOCAL_BITS - DATA_BITS // 2), position, C(lui >> 16, DATA_BITS // 2)))
    return (first, C(jr, DATA_BITS), *(C(word, DATA_BITS) for word in others))


class Device(wiring.Component):
    """A slave of one word, or of the bootstrap's four, or of none.

    Latency: its response is on offer in the cycle after the request was taken. A request waits
    while the response before it is not taken. Everything but whole words is answered with an
    error, so is what the kind does not have, and so are plain writes then, which otherwise have no
    response.

    Parameters
    ----------
    kind : Kind
        One of `DEVICES`.

    Members
    -------
    accesses, answers : In, Out(stream)
        From and to the network.
    sends : Out(CharacterLayout)
        Of a UART: a character that was written, for one cycle.
    receives : In(stream of 8 bits)
        Of a UART: characters for who reads; one waits here.
    run : In(1)
        Of a clock: it counts.
    """

    def __init__(self, *, kind):
        if kind not in DEVICES:
            raise ValueError(f"Kind must be one of {', '.join(map(str, DEVICES))}, not {kind!r}")
        self.kind = kind
        super().__init__({
            "accesses": In(stream.Signature(RequestPacketLayout)),
            "answers": Out(stream.Signature(ResponsePacketLayout)),
            "sends": Out(CharacterLayout), "receives": In(stream.Signature(8)), "run": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        accesses, answers, packet = self.accesses, self.answers, self.accesses.payload
        takes, posted, error, value = Signal(), Signal(), Signal(), Signal(DATA_BITS)
        reads, writes, place = Signal(), Signal(), Signal(LOCAL_BITS - 2)
        whole = packet.strobes == (1 << STROBE_BITS) - 1
        m.d.comb += [
            accesses.ready.eq(~answers.valid | answers.ready),
            takes.eq(accesses.valid & accesses.ready), place.eq(packet.address[2:]),
            posted.eq(packet.write & ~packet.sync), error.eq(1),
            reads.eq(~packet.write & ~packet.sync & whole),
            writes.eq(posted & ~packet.interrupt & whole),
        ]
        if self.kind is Kind.CLOCK:
            clock = Signal(DATA_BITS)
            m.d.sync += clock.eq(Mux(self.run, clock + 1, 0))
            m.d.comb += [value.eq(clock), error.eq(~(reads & (place == 0)))]
        elif self.kind is Kind.JUMP:
            for number, word in enumerate(boot_words(packet.initiator)):
                with m.If(place == number):
                    m.d.comb += value.eq(word)
            m.d.comb += error.eq(~(reads & (place < BOOT_WORDS)))
        elif self.kind is Kind.UART:
            received, waiting = Signal(8), Signal()
            m.d.comb += [
                error.eq(~((reads | writes) & (place == 0))), self.receives.ready.eq(~waiting),
                value.eq(Mux(waiting, received, (1 << DATA_BITS) - 1)),
            ]
            with m.If(self.receives.ready):
                m.d.sync += [waiting.eq(self.receives.valid),
                             received.eq(self.receives.payload)]
            with m.Elif(takes & reads & (place == 0)):
                m.d.sync += waiting.eq(0)
            m.d.sync += [self.sends.valid.eq(takes & writes & (place == 0)),
                         self.sends.character.eq(packet.data[:8])]
        with m.If(takes):
            m.d.sync += [
                answers.valid.eq(~posted | error), answers.payload.write.eq(posted),
                answers.payload.error.eq(error), answers.payload.initiator.eq(packet.initiator),
                answers.payload.target.eq(packet.target), answers.payload.data.eq(value),
            ]
        with m.Elif(answers.ready):
            m.d.sync += answers.valid.eq(0)
        return m
