"""DFI adapter: the controller's commands and data, on the phases of a DDR3 PHY.

Ref: DFI 2.1 and 3.1, control, write data and read data interfaces, frequency ratios; JESD79-3F.
"""

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.dfi import CAS_PHASE, ROW_PHASE, DfiPhy, dfi_part
from cyclebound.golden.dram.request import BEAT_WORDS, BEATS, WORD_BITS
from cyclebound.golden.dram.rules import CAS, WRITES, Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.layouts import DriveLayout
from cyclebound.hdl.interfaces import Strobe

__all__ = ["DfiAdapter", "ModeLayout"]

_BEAT_BITS = BEAT_WORDS * WORD_BITS
_ADDRESS_BITS = 13  # at least: A10 and A12 have meanings of their own
_BANK_BITS = 3      # of every DDR3 device: they choose mode registers, too
_AUTO = 10          # the address pin that says precharge, all banks, or long calibration
_LEAD = 7           # cycles that the DQ scheduler needs from a write to its first beat
_ODT_CLOCKS = 6     # ODTH8: termination stays on after a write [JESD79-3F, 5.1]
_PINS = {  # ras_n, cas_n, we_n
    Command.ACT: (0, 1, 1), Command.PRE: (0, 1, 0), Command.PREA: (0, 1, 0),
    Command.REF: (0, 0, 1)}


class ModeLayout(data.StructLayout):
    """A mode register set, or a long ZQ calibration where ``calibrate`` is set."""

    def __init__(self, *, part):
        super().__init__({"calibrate": 1, "bank": 2,
                          "address": max(_ADDRESS_BITS, (part.rows - 1).bit_length())})


class DfiAdapter(wiring.Component):
    """One command of the controller in a clock becomes commands on phases, its beats DFI words.

    Phase 0 has activates, precharges, refreshes and mode registers; phase ``ratio / 2`` reads and
    writes. A read or write of the controller is ``ratio`` of them, for consecutive columns, the
    last with precharge if it has one. The device's data bus has ``64 / ratio`` bits.

    Latency: a command is on DFI ``delay`` cycles after it was on ``command``. A write's first beat
    is taken from ``dq_out`` ``write_latency`` cycles after ``command``, and leaves when the PHY
    wants it; a read's is on ``dq_in`` ``read_latency`` cycles after ``command``, however early the
    PHY had its words. Bounds: ``golden.dram.dfi_bounds``.

    Parameters
    ----------
    part : Part or str
        The device, or its name: DDR3.
    ratio : int
        DRAM clocks in a cycle, 2 or 4.
    wrlat, wrdata, rddata_en, rdlat : int
        The PHY's timing, see `DfiPhy`.

    Members
    -------
    command : In(CommandLayout)
        The controller's commands, timed for `dfi_part`; there a column counts 64 bytes.
    dq_out : In(Strobe(DriveLayout))
        The beats of writes.
    dq_in : Out(4 words)
        The beats of reads.
    arrived : Out(1)
        ``dq_in`` holds one.
    starved : Out(1)
        Set from the first read whose words were not there in time.
    mode : In(Strobe(ModeLayout))
        A command of the power-up sequence. The controller issues none meanwhile.
    cke, reset_n : In(1)
        Passed on, to all phases.
    dfi_..._pN : Out
        ``address``, ``bank``, ``cs_n``, ``ras_n``, ``cas_n``, ``we_n``, ``cke``, ``odt``,
        ``reset_n``, ``wrdata_en``, ``wrdata``, ``wrdata_mask``, ``rddata_en`` of phase N.
    dfi_rddata_wN, dfi_rddata_valid_wN : In
        Words of reads, in rotating order.

    Attributes
    ----------
    seen : Part
        The part for which the controller has to be made.
    delay, write_latency, read_latency : int
        See above.
    dfi_pins : tuple of str
        Names of the members that go to the PHY.

    Raises
    ------
    TypeError, ValueError
        As `DfiPhy` and `dfi_part` do.
    """

    def __init__(self, *, part, ratio, wrlat, wrdata, rddata_en, rdlat):
        self.part, self.ratio = part_named(part), ratio
        self.phy = phy = DfiPhy(wrlat, wrdata, rddata_en, rdlat)
        self.seen = seen = dfi_part(self.part, phy, ratio=ratio)
        cas = CAS_PHASE[ratio]
        self._write_at = divmod(cas + wrlat + wrdata, ratio)
        self._write_enable_at = divmod(cas + wrlat, ratio)
        self._read_enable_at = divmod(cas + rddata_en, ratio)
        self._read_by = (cas + rddata_en + rdlat) // ratio
        self.delay = max(1, _LEAD + 1 - self._write_at[0])
        self.write_latency = self.delay + self._write_at[0] - 1
        self.read_latency = self.delay + self._read_by + 1
        bits = _BEAT_BITS // ratio
        mode = ModeLayout(part=seen)
        ports = {
            "command": In(CommandLayout(part=seen)),
            "dq_out": In(Strobe(DriveLayout)),
            "dq_in": Out(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)),
            "arrived": Out(1), "starved": Out(1),
            "mode": In(Strobe(mode)), "cke": In(1), "reset_n": In(1),
        }
        pins = {}
        for n in range(ratio):
            pins |= {
                f"dfi_address_p{n}": Out(mode["address"].shape),
                f"dfi_bank_p{n}": Out(_BANK_BITS),
                **{f"dfi_{name}_p{n}": Out(1, init=1)
                   for name in ("cs_n", "ras_n", "cas_n", "we_n")},
                **{f"dfi_{name}_p{n}": Out(1)
                   for name in ("cke", "odt", "reset_n", "wrdata_en")},
                f"dfi_wrdata_p{n}": Out(bits), f"dfi_wrdata_mask_p{n}": Out(bits // 8),
                f"dfi_rddata_en_p{n}": Out(1),
                f"dfi_rddata_w{n}": In(bits), f"dfi_rddata_valid_w{n}": In(1),
            }
        self.dfi_pins = tuple(pins)
        super().__init__(ports | pins)

    def _phase(self, name, number):
        return getattr(self, f"dfi_{name}_p{number}")

    def elaborate(self, platform):
        m = Module()

        head = self.command
        for number in range(self.delay - 1):
            later = Signal.like(self.command, name=f"delayed_{number}")
            m.d.sync += later.eq(head)
            head = later
        reads, writes = self._cas(m, head)
        self._row(m, head)
        self._write_data(m, writes)
        self._read_data(m, reads)
        for n in range(self.ratio):
            m.d.sync += [self._phase("cke", n).eq(self.cke),
                         self._phase("reset_n", n).eq(self.reset_n)]
        return m

    def _row(self, m, head):
        """Phase 0: rows, refreshes, and the power-up sequence."""
        mode = self.mode.payload
        pins = Cat(self._phase(name, ROW_PHASE) for name in ("ras_n", "cas_n", "we_n"))
        address, bank = self._phase("address", ROW_PHASE), self._phase("bank", ROW_PHASE)
        none = self._phase("cs_n", ROW_PHASE)
        m.d.sync += [none.eq(1), pins.eq(0b111), bank.eq(head.bank), address.eq(head.row)]
        for op, levels in _PINS.items():
            with m.If(head.op == op):
                m.d.sync += [none.eq(0), pins.eq(Cat(Const(level, 1) for level in levels))]
                if op is not Command.ACT:
                    m.d.sync += address.eq(1 << _AUTO if op is Command.PREA else 0)
        with m.If(self.mode.valid):
            m.d.sync += [none.eq(0), bank.eq(mode.bank), address.eq(mode.address),
                         pins.eq(Mux(mode.calibrate, 0b011, 0b000))]

    def _cas(self, m, head):
        """Phase N/2: reads and writes. Whether beats of reads, and of writes, belong to a cycle:
        to the four from that on in which the first of them is chosen.

        A column's bits are on A0 to A9, and on A11 if it has eleven: A10 says precharge, however
        few columns there are, and A12, a shorter burst, is not read with bursts of eight
        [JESD79-3F, table 6, 3.4.2.1].
        """
        ratio, cas = self.ratio, CAS_PHASE[self.ratio]
        apart = BEATS // ratio  # cycles from one read of a burst to the next
        begins, writes, closes = Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq(Cat(head.op == op for op in CAS).any()),
            writes.eq(Cat(head.op == op for op in WRITES).any()),
            closes.eq((head.op == Command.RDA) | (head.op == Command.WRA)),
        ]
        age = Signal(range(BEATS))  # cycles since a burst began; 0: none is going on
        kept = Signal(data.StructLayout({"bank": head.bank.shape(), "column": head.column.shape(),
                                         "write": 1, "close": 1}))
        with m.If(begins):
            m.d.sync += [age.eq(1), kept.bank.eq(head.bank), kept.column.eq(head.column),
                         kept.write.eq(writes), kept.close.eq(closes)]
        with m.Elif(age != 0):
            m.d.sync += age.eq(age + 1)  # and from the last to 0

        part = Signal(range(ratio))  # which of the burst's reads or writes it is
        column = Signal(max(_AUTO, len(head.column) + ceil_log2(ratio) + 3))
        low = ceil_log2(apart)
        last, write = Signal(), Signal()
        m.d.comb += [
            part.eq(Mux(begins, 0, age >> low)), last.eq(part == ratio - 1),
            column.eq(Cat(Const(0, 3), part, Mux(begins, head.column, kept.column))),
            write.eq(Mux(begins, writes, kept.write)),
        ]
        none = self._phase("cs_n", cas)
        address = self._phase("address", cas)
        goes = begins | ((age != 0) & (age[:low] == 0))
        m.d.sync += [
            none.eq(~goes), self._phase("ras_n", cas).eq(1),
            self._phase("cas_n", cas).eq(~goes), self._phase("we_n", cas).eq(~(goes & write)),
            self._phase("bank", cas).eq(Mux(begins, head.bank, kept.bank)),
            address.eq(Cat(column[:_AUTO], last & Mux(begins, closes, kept.close),
                           column[_AUTO:])),
        ]
        moves = begins | (age != 0)
        return moves & ~write, moves & write

    def _spread(self, m, name, cycles, first, value):
        """``value`` of a beat on the phases, ``cycles`` later and from phase ``first`` on."""
        later = self._later(m, f"{name}_later", value, cycles)
        before = Signal.like(later, name=f"{name}_before")
        m.d.sync += before.eq(later)
        width = len(value) // self.ratio
        both = Cat(before[(self.ratio - first) * width:], later)
        return [both[n * width:(n + 1) * width] for n in range(self.ratio)]

    @staticmethod
    def _later(m, name, value, cycles):
        stages = [Signal(len(value), name=f"{name}_{n}") for n in range(cycles + 1)]
        m.d.comb += stages[0].eq(value)
        for earlier, later in pairwise(stages):
            m.d.sync += later.eq(earlier)
        return stages[-1]

    def _write_data(self, m, writes):
        ratio, drive = self.ratio, self.dq_out.payload
        cycles, first = self._write_enable_at
        enables = self._spread(m, "wrdata_en", cycles, first, writes.replicate(ratio))
        # a DQ scheduler's beat comes a cycle before it is due here
        _, first = self._write_at
        words = self._spread(m, "wrdata", 0, first, drive.words.as_value())
        kept = Cat(written.replicate(WORD_BITS // 8) for written in drive.mask)
        masks = self._spread(m, "wrdata_mask", 0, first, ~kept)

        # termination: from the first write's cycle on, until long enough after the last
        last = BEATS - BEATS // ratio
        stays = last + (CAS_PHASE[ratio] + _ODT_CLOCKS - 1) // ratio + 1
        recent = Signal(max(1, stays - BEATS))
        m.d.sync += recent.eq(Cat(writes, recent)[:len(recent)])
        for n in range(ratio):
            m.d.sync += [
                self._phase("wrdata_en", n).eq(enables[n]), self._phase("wrdata", n).eq(words[n]),
                self._phase("wrdata_mask", n).eq(masks[n]),
                self._phase("odt", n).eq(writes | recent.any()),
            ]

    def _read_data(self, m, reads):
        ratio = self.ratio
        cycles, first = self._read_enable_at
        enables = self._spread(m, "rddata_en", cycles, first, reads.replicate(ratio))
        for n in range(ratio):
            m.d.sync += self._phase("rddata_en", n).eq(enables[n])

        # Words wait for the cycle in which the latest would be there: a read takes always as long.
        m.d.comb += self.arrived.eq(self._later(m, "read", reads, self._read_by + 2))
        depth = 1 << ceil_log2(self.phy.rdlat // ratio + 3)
        taken = Signal(range(depth))
        m.d.sync += taken.eq(taken + self.arrived)
        missing, words = [], []
        for n in range(ratio):
            word = getattr(self, f"dfi_rddata_w{n}")
            valid = getattr(self, f"dfi_rddata_valid_w{n}")
            m.submodules[f"words_{n}"] = memory = Memory(shape=len(word), depth=depth, init=[])
            keep, look = memory.write_port(), memory.read_port(domain="comb")
            come = Signal(range(depth), name=f"come_{n}")
            m.d.sync += come.eq(come + valid)
            m.d.comb += [keep.addr.eq(come), keep.data.eq(word), keep.en.eq(valid),
                         look.addr.eq(taken)]
            missing.append(come == taken)
            words.append(look.data)
        m.d.comb += self.dq_in.as_value().eq(Cat(words))
        with m.If(self.arrived & Cat(missing).any()):
            m.d.sync += self.starved.eq(1)


