"""What an access moves: its tile, clipped to its buffer, or the fault that it is.

A rectangle is cut where it leaves its buffer, and its first word's place on the chip moves by as
much. Words in a row may run over the ends of lines: in a scratchpad they are one line, from DRAM
they come as whole lines of their buffer, of which the last may have more than are wanted.

Ref: Sim-D, sections 3.2.3, 3.2.4 and 3.3.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BEAT_WORDS, COUNT_BITS, TARGET_BITS, Destination
from cyclebound.golden.simd.isa import OPCODES
from cyclebound.golden.simd.machine import SCALARS, machine_named
from cyclebound.golden.simd.scratchpad import SCRATCHPAD_WORDS
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.interfaces import AccessLayout, GridLayout

__all__ = ["AccessSetup", "BufferSize", "JobLayout", "ScratchpadBuffer"]

_SIGNED = 34  # an offset of 32 bits with a sign, times four
_CHIP = SCRATCHPAD_WORDS.bit_length()
_FEW = SCALARS.bit_length()


class BufferSize(data.Struct):
    """Words in a line of a DRAM buffer, and lines; none, if it is not mapped."""

    x: COUNT_BITS
    y: COUNT_BITS


class ScratchpadBuffer(data.Struct):
    """A buffer in a scratchpad: ``y`` lines of ``x`` words from word ``address`` on."""

    address: _CHIP
    x: _CHIP
    y: _CHIP


class JobLayout(data.Struct):
    """An access, ready for its memory.

    ``scratchpad``, ``write``: as in `AccessLayout`. ``x, y, words, count``: the tile in its DRAM
    buffer; ``address, period``: of the scratchpad. ``base, pitch, transform``: targets, as in
    `TileRequest`. ``scalars``: they are scalar registers, the last of them before ``end``.
    ``register``: the first of vector registers. ``cam``: `mem_data` by `mem_idx`. ``split``: line
    by line, as words of two lines may meet in one beat that have no place there; ``restart``: the
    same of a line of the scratchpad's bus. ``fault``: it leaves its buffer, and nothing moves.
    """

    scratchpad: 1
    write: 1
    buffer: 5
    x: COUNT_BITS
    y: COUNT_BITS
    words: COUNT_BITS
    count: COUNT_BITS
    address: _CHIP
    period: _CHIP
    base: TARGET_BITS
    pitch: TARGET_BITS
    transform: 2
    destination: 2
    indexed: 1
    scalars: 1
    end: _FEW
    cam: 1
    register: 7
    split: 1
    restart: 1
    fault: 1


class AccessSetup(wiring.Component):
    """Works out an access in four cycles.

    Latency: ``job`` follows ``access`` by four cycles. Throughput: one in a cycle.

    Parameters
    ----------
    machine : Machine or str
        Sizes.

    Members
    -------
    access : In(Strobe(AccessLayout))
        An access.
    grid : In(GridLayout)
        The kernel's.
    buffer : In(BufferSize)
        Dimensions of the DRAM buffer that ``access`` names.
    chip : In(ScratchpadBuffer)
        The scratchpad buffer that it names: ``buffer`` of an access to the scratchpad, ``target``
        of a tile.
    job : Out(Strobe(JobLayout))
        The same access, clipped.
    slot : Out(1)
        With ``job``: whose.
    """

    def __init__(self, *, machine):
        self.machine = machine_named(machine)
        super().__init__({
            "access": In(Strobe(AccessLayout())), "grid": In(GridLayout(machine=self.machine)),
            "buffer": In(data.Layout.cast(BufferSize)),
            "chip": In(data.Layout.cast(ScratchpadBuffer)),
            "job": Out(Strobe(data.Layout.cast(JobLayout))), "slot": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        access, grid, machine = self.access.payload, self.grid, self.machine

        def named(*names):
            return access.opcode.matches(*(OPCODES[name] for name in names))

        def later(value, cycles, name):
            for number in range(cycles):
                kept = Signal(value.shape() if hasattr(value, "shape") else len(value),
                              name=f"{name}_{number}", reset_less=name != "valid")
                m.d.sync += kept.eq(value)
                value = kept
            return value

        # 1: the tile as it is wanted, in its buffer.
        tile = named("ldg2sptile", "stg2sptile")
        linear = named("ldglin", "stglin")
        local = named("ldsplin", "stsplin")
        some = named("ldgcidx", "stgcidx")
        whole = named("ldgbidx", "stgbidx", "ldspbidx", "stspbidx")
        indexed = named("ldgidxit", "stgidxit")
        few = named("sldg", "sldsp")
        shape = Signal(data.StructLayout({
            "left": signed(_SIGNED), "top": signed(_SIGNED), "words": 32, "count": 32,
            "limit_x": COUNT_BITS, "limit_y": COUNT_BITS, "pitch": TARGET_BITS, "shift": 4,
            "from_chip": 1, "wide": 1}))
        lines = self.grid.y - access.group_y
        height = (machine.items >> grid.width)
        m.d.sync += [
            shape.left.eq(access.x), shape.top.eq(access.y),
            shape.limit_x.eq(Mux(access.scratchpad, self.chip.x, self.buffer.x)),
            shape.limit_y.eq(Mux(access.scratchpad, self.chip.y, self.buffer.y)),
            shape.words.eq(1 << grid.width), shape.count.eq(height),
            shape.pitch.eq(1 << (grid.width + access.width)),
            shape.shift.eq(grid.width + access.width), shape.from_chip.eq(tile),
            shape.wide.eq(0),
        ]
        with m.If(linear):
            m.d.sync += [
                shape.left.eq((access.x + access.group_x) << access.width),
                shape.top.eq(access.y + access.group_y),
                shape.words.eq(1 << (grid.width + access.width)),
                shape.count.eq(Mux(lines < height, lines, height)),
            ]
        with m.If(tile):
            m.d.sync += [shape.words.eq(self.chip.x), shape.count.eq(self.chip.y),
                         shape.pitch.eq(self.chip.x)]
        with m.If(whole):
            m.d.sync += [shape.left.eq(0), shape.top.eq(0),
                         shape.words.eq(Mux(access.scratchpad, self.chip.x, self.buffer.x)),
                         shape.count.eq(Mux(access.scratchpad, self.chip.y, self.buffer.y)),
                         shape.pitch.eq(Mux(access.scratchpad, self.chip.x, self.buffer.x))]
        with m.If(few):
            wide = ~access.scratchpad & (access.count > self.buffer.x)
            m.d.sync += [shape.words.eq(Mux(access.scratchpad, access.sd_words, access.count)),
                         shape.count.eq(1), shape.pitch.eq(self.buffer.x), shape.wide.eq(wide)]
            with m.If(wide):
                m.d.sync += shape.words.eq(self.buffer.x)
        with m.If(some):
            m.d.sync += [shape.words.eq(access.sd_words), shape.count.eq(access.sd_period_cnt),
                         shape.pitch.eq(self.buffer.x)]

        # Lines of a buffer that hold so many words: a table, read meanwhile.
        few_bits = ceil_log2(SCALARS)
        m.submodules.lines_of = table = Memory(
            shape=unsigned(_FEW), depth=SCALARS * SCALARS,
            init=[-(-(count + 1) // across) if across else 0
                  for across in range(SCALARS) for count in range(SCALARS)])
        lines_of = table.read_port()
        m.d.comb += lines_of.addr.eq(Cat((access.count - 1)[:few_bits],
                                         self.buffer.x[:few_bits]))

        # 2: clipped; and what cannot be clipped.
        cut = Signal(data.StructLayout({
            "left": COUNT_BITS, "top": COUNT_BITS, "words": COUNT_BITS, "count": COUNT_BITS,
            "over_x": COUNT_BITS, "over_y": COUNT_BITS, "fault": 1}))
        cut_3 = Signal.like(cut)
        left, right, top, bottom = (Signal(signed(_SIGNED + 2), name=name)
                                    for name in ("left", "right", "top", "bottom"))
        end_x, end_y = (Signal(signed(_SIGNED + 2), name=name) for name in ("end_x", "end_y"))
        strict, row = later(few | some, 1, "strict"), later(named("sldsp"), 1, "of_scalars")
        count = Mux(shape.wide, lines_of.data, shape.count)
        kept = later(self.access.payload, 1, "kept")
        m.d.comb += [
            left.eq(Mux(shape.left < 0, 0, shape.left)), top.eq(Mux(shape.top < 0, 0, shape.top)),
            end_x.eq(shape.left + shape.words), end_y.eq(shape.top + count),
            right.eq(Mux((end_x > shape.limit_x) & ~row, shape.limit_x, end_x)),
            bottom.eq(Mux(end_y > shape.limit_y, shape.limit_y, end_y)),
        ]
        empty = (left >= right) | (top >= bottom)
        beyond = Signal()
        m.d.comb += beyond.eq(strict & ((shape.left < 0) | (shape.top < 0) | (shape.words == 0)
                                        | ((end_x > shape.limit_x) & ~row)
                                        | (shape.left >= shape.limit_x)
                                        | (end_y > shape.limit_y)))
        with m.If(row & ((kept.target + kept.sd_words) > SCALARS)):
            m.d.comb += beyond.eq(1)
        with m.If(later(some, 1, "some")):
            # its lines are the buffer's, as far apart as those
            with m.If((shape.count == 0) | (kept.sd_period < shape.words)
                      | ((kept.sd_period != shape.limit_x) & (shape.count != 1))):
                m.d.comb += beyond.eq(1)
        m.d.sync += [
            cut.left.eq(left), cut.top.eq(top),
            cut.words.eq(Mux(empty, 0, right - left)), cut.count.eq(Mux(empty, 0, bottom - top)),
            cut.over_x.eq(left - shape.left), cut.over_y.eq(top - shape.top),
            cut.fault.eq(beyond),
        ]
        wanted = later(shape, 1, "wanted")

        # 3: products, for scratchpads; and the first word's index in its buffer, for CAMs.
        chip = later(self.chip, 2, "chip")
        skipped, address = Signal(TARGET_BITS), Signal(TARGET_BITS)
        held, ends = Signal(_CHIP), Signal(_CHIP + 1)  # words of the buffer; after a row's last
        m.d.sync += [
            skipped.eq(Mux(wanted.from_chip, (cut.over_y[:_CHIP] * chip.x)[:TARGET_BITS],
                           cut.over_y << wanted.shift) + cut.over_x),
            address.eq((cut.top * wanted.limit_x)[:TARGET_BITS] + cut.left),
            held.eq(chip.x * chip.y),
        ]
        m.d.comb += ends.eq(address[:_CHIP] + cut_3.words[:_FEW])
        m.d.sync += cut_3.eq(cut)
        wanted_3 = later(wanted, 1, "shape")

        # 4: the job.
        known = later(kept, 2, "known")
        chip = later(chip, 1, "buffer")
        kinds = {name: later(kind, 3, name) for name, kind in (
            ("tile", tile), ("whole", whole), ("some", some), ("indexed", indexed), ("few", few),
            ("local", local), ("row", named("sldsp")))}
        job = self.job.payload
        gap = wanted_3.limit_x - cut_3.words
        # words of two lines may come close that are elsewhere apart
        apart = ((cut_3.count > 1) & (cut_3.words != wanted_3.pitch)
                 & (wanted_3.limit_x != wanted_3.pitch))
        cam = kinds["whole"] | kinds["some"]
        m.d.sync += [
            job.scratchpad.eq(known.scratchpad), job.write.eq(known.store),
            job.buffer.eq(known.buffer), job.x.eq(cut_3.left), job.y.eq(cut_3.top),
            job.words.eq(cut_3.words), job.count.eq(cut_3.count),
            job.address.eq(chip.address + address), job.period.eq(chip.x),
            job.base.eq(skipped), job.pitch.eq(wanted_3.pitch), job.transform.eq(known.width),
            job.destination.eq(Destination.REGISTERS), job.indexed.eq(kinds["indexed"]),
            job.scalars.eq(kinds["few"]), job.end.eq(known.target + Mux(
                known.scratchpad, known.sd_words, known.count)),
            job.cam.eq(cam), job.register.eq(known.target),
            job.split.eq(~known.scratchpad & ~cam & ~kinds["indexed"] & apart
                         & (gap < BEAT_WORDS - 1)),
            job.restart.eq(kinds["local"] & apart & (gap < machine.scratchpad_bus - 1)),
            job.fault.eq(cut_3.fault | (kinds["row"] & (ends > held))),
        ]
        with m.If(kinds["tile"]):
            m.d.sync += [job.destination.eq(Destination.SCRATCHPAD),
                         job.base.eq(chip.address + skipped), job.transform.eq(0)]
        with m.If(kinds["few"]):
            m.d.sync += [job.base.eq(known.target), job.transform.eq(0)]
        with m.If(kinds["indexed"]):
            m.d.sync += [job.base.eq(0), job.transform.eq(0)]
        with m.If(cam):
            m.d.sync += [job.destination.eq(Destination.CAM), job.base.eq(address),
                         job.transform.eq(0)]
        m.d.comb += [self.job.valid.eq(later(self.access.valid, 4, "valid")),
                     self.slot.eq(later(self.access.payload.slot, 4, "slot"))]
        return m
