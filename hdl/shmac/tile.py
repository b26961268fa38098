"""A tile of SHMAC with a core: its RAM, its system registers, and its ports to the network.

Ref: SHMAC thesis, 2.3, 5.1 (router bypass), 5.2 (system registers). docs/shmac.md says
what was decided where it is silent.
"""

from functools import cached_property

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.shmac.address_map import (
    BOOT_WORDS,
    COORDINATE_BITS,
    LOCAL_BITS,
    SYSTEM_BASE,
    VECTOR_OFFSET,
    SystemRegister,
)
from cyclebound.golden.shmac.core_port import ADDRESS_BITS, DATA_BITS
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shmac.core import Core, TraceLayout, check_endian
from cyclebound.hdl.shmac.device import CharacterLayout, boot_words
from cyclebound.hdl.shmac.packet import (
    PositionLayout,
    RequestPacketLayout,
    ResponsePacketLayout,
)
from cyclebound.hdl.shmac.ram import Ram, check_words

__all__ = ["CoreTile", "check_tile"]

_FAILED_BITS = 16


def check_tile(*, rows, columns, words, endian="big", bypass=True, jump=False):
    """Raise `ValueError` or `TypeError` unless there is such a `CoreTile`."""
    check_integer("Row count", rows, 1, 1 << COORDINATE_BITS)
    check_integer("Column count", columns, 1, 1 << COORDINATE_BITS)
    check_words(words)
    check_endian(endian)
    for what, flag in (("Bypass", bypass), ("Jump", jump)):
        if not isinstance(flag, bool):
            raise TypeError(f"{what} must be True or False, not {flag!r}")


class CoreTile(wiring.Component):
    """A core, its RAM and its system registers.

    Latency: a system register, the tile's own RAM past the router (``bypass``), and an address that
    belongs to no tile of the grid, answer in the cycle after the core's request was first on offer.
    A request to the network is on offer to it at once, and its response is the core's in the cycle
    in which the network offers it. What the network asks of the RAM: see `Ram`.

    Parameters
    ----------
    rows, columns : int
        Of the grid, 1 to 16 each.
    words : int
        Of the RAM, a power of two.
    endian : str
        As of `Core`.
    bypass : bool
        The core reaches its own RAM without the router; otherwise as any other tile's.
    jump : bool
        The first four words are tile (0, 0)'s, as in the thesis' jump tile; otherwise the bootstrap
        is among the system registers.

    Members
    -------
    position : In(PositionLayout)
        Where it is; constant.
    run : In(1)
        The core may go on; low from reset until its program is in the RAM, then high.
    requests, responses : Out, In(stream)
        Of its core, to and from the network.
    accesses, answers : In, Out(stream)
        Of the network, to its RAM and back.
    console : Out(CharacterLayout)
        A character that the program has written, for one cycle.
    exited, status : Out(1), Out(32)
        The program has ended, and with what.
    trace : Out(TraceLayout)
        Of the core.
    """

    def __init__(self, *, rows, columns, words, endian="big", bypass=True, jump=False):
        check_tile(rows=rows, columns=columns, words=words, endian=endian, bypass=bypass,
                   jump=jump)
        self.rows, self.columns, self.words, self.bypass = rows, columns, words, bypass
        self.jump, self.endian = jump, endian
        super().__init__({
            "position": In(PositionLayout), "run": In(1),
            "requests": Out(stream.Signature(RequestPacketLayout)),
            "responses": In(stream.Signature(ResponsePacketLayout)),
            "accesses": In(stream.Signature(RequestPacketLayout)),
            "answers": Out(stream.Signature(ResponsePacketLayout)),
            "console": Out(CharacterLayout), "exited": Out(1), "status": Out(DATA_BITS),
            "trace": Out(TraceLayout),
        })

    # Made late: a tile that is only asked for its ports has neither.
    @cached_property
    def core(self):
        """The core."""
        return Core(endian=self.endian)

    @cached_property
    def ram(self):
        """Its RAM."""
        return Ram(words=self.words, raises=True)

    def elaborate(self, platform):
        m = Module()
        m.submodules.core, m.submodules.ram = core, ram = self.core, self.ram
        position, asked, packet = self.position, core.request.payload, self.requests.payload
        responses, bypass = self.responses, self.bypass

        # Who answers.
        address, posted, whole = asked.address, Signal(), Signal()
        system, own, there = Signal(), Signal(), Signal(PositionLayout)
        raises, inside, to_network = Signal(), Signal(), Signal()
        free, goes, here, local, absent = (Signal() for _ in range(5))
        boots = 0 if self.jump else address < 4 * BOOT_WORDS
        kept = ADDRESS_BITS - (SYSTEM_BASE ^ (1 << ADDRESS_BITS) - 1).bit_length()
        m.d.comb += [
            posted.eq(asked.write & ~asked.sync), whole.eq(posted & asked.strobes.all()),
            raises.eq(whole & (address == SystemRegister.RAISE)),
            system.eq((boots | address[-kept:].all()) & ~raises),
            there.eq(Mux(raises, asked.data[:2 * COORDINATE_BITS], address[LOCAL_BITS:])),
            inside.eq((there.row < self.rows) & (there.column < self.columns)),
            own.eq(~raises & (address[LOCAL_BITS:] == position.as_value())),
            local.eq(~system & inside & own & bypass),
            absent.eq(~system & ~inside), to_network.eq(~system & ~local & ~absent),
            free.eq(self.run & ~self.exited), goes.eq(core.request.valid & free),
            here.eq(goes & ~to_network),
            core.request.ready.eq(free & (~to_network | self.requests.ready)),
        ]

        # The network.
        m.d.comb += [
            self.requests.valid.eq(goes & to_network),
            packet.write.eq(asked.write), packet.sync.eq(asked.sync),
            packet.interrupt.eq(raises), packet.initiator.eq(position), packet.target.eq(there),
            packet.address.eq(Mux(raises, 0, address[:LOCAL_BITS])),
            packet.strobes.eq(Mux(raises, 0, asked.strobes)),
            packet.data.eq(Mux(raises, 0, asked.data)),
            responses.ready.eq(1),
        ]
        wiring.connect(m, wiring.flipped(self.accesses), ram.accesses)
        wiring.connect(m, ram.answers, wiring.flipped(self.answers))

        # The RAM.
        out_of_range = address[2 + len(ram.address):LOCAL_BITS].any() | asked.sync
        m.d.comb += [
            ram.reads.eq(goes & local & ~asked.write), ram.writes.eq(goes & local & asked.write),
            ram.address.eq(address[2:]), ram.data.eq(asked.data),
            ram.strobes.eq(Mux(out_of_range, 0, asked.strobes)),
        ]

        # System registers.
        clock, failed, raised = Signal(DATA_BITS), Signal(_FAILED_BITS), Signal()
        refused, value = Signal(), Signal(DATA_BITS)
        m.d.sync += clock.eq(Mux(self.run, clock + 1, 0))
        m.d.comb += refused.eq(~asked.strobes.all() | asked.sync)
        with m.If(asked.write):
            with m.Switch(address):
                with m.Case(SystemRegister.EXIT, SystemRegister.CONSOLE, SystemRegister.FAILED,
                            SystemRegister.RAISED):
                    pass
                with m.Default():
                    m.d.comb += refused.eq(1)
        with m.Else():
            with m.Switch(address):
                for number, word in enumerate(boot_words(position)):
                    with m.Case(4 * number):
                        m.d.comb += value.eq(word)
                with m.Case(SystemRegister.CLOCK):
                    m.d.comb += value.eq(clock)
                with m.Case(SystemRegister.TILE):
                    m.d.comb += value.eq(position)
                with m.Case(SystemRegister.FAILED):
                    m.d.comb += value.eq(failed)
                with m.Case(SystemRegister.RAISED):
                    m.d.comb += value.eq(raised)
                with m.Default():
                    m.d.comb += refused.eq(1)
        written = Signal()
        m.d.comb += written.eq(goes & system & whole)
        m.d.sync += [
            self.console.valid.eq(written & (address == SystemRegister.CONSOLE)),
            self.console.character.eq(asked.data[:8]),
        ]
        with m.If(written & (address == SystemRegister.EXIT)):
            m.d.sync += [self.exited.eq(1), self.status.eq(asked.data)]
        with m.If(ram.raised):
            m.d.sync += raised.eq(1)
        with m.Elif(written & (address == SystemRegister.RAISED)):
            m.d.sync += raised.eq(0)

        # What the tile itself answers, in the next cycle.
        answers, from_ram, error, answer = Signal(), Signal(), Signal(), Signal(DATA_BITS)
        fails = Signal()
        m.d.comb += fails.eq(absent | Mux(system, refused, out_of_range))
        m.d.sync += [answers.eq(here & ~posted), from_ram.eq(local), error.eq(fails),
                     answer.eq(value)]
        failures, base, count = Signal(2), Signal(_FAILED_BITS), Signal(_FAILED_BITS + 1)
        m.d.comb += [
            failures.eq((here & posted & fails) + (responses.valid & responses.payload.write)),
            base.eq(Mux(written & (address == SystemRegister.FAILED), 0, failed)),
            count.eq(base + failures),
        ]
        m.d.sync += failed.eq(Mux(count[-1], (1 << _FAILED_BITS) - 1, count))

        # The core.
        m.d.comb += [
            core.vector.eq(Cat(C(VECTOR_OFFSET, LOCAL_BITS), position)),
            core.interrupts.eq(Cat(raised, failed.any())),
            core.response.valid.eq(answers | (responses.valid & ~responses.payload.write)),
            core.response.payload.data.eq(Mux(answers, Mux(from_ram, ram.word, answer),
                                              responses.payload.data)),
            core.response.payload.error.eq(Mux(answers, error, responses.payload.error)),
            self.trace.eq(core.trace),
        ]
        return m
