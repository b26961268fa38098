"""Setup of an access: its tile, clipped to its buffer, or a fault.

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
from cyclebound.golden.simd.isa import OPCODES, TABLE
from cyclebound.golden.simd.machine import SCALARS, SCRATCHPAD_WORDS, machine_named
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.interfaces import AccessLayout, GridLayout

__all__ = ["AccessSetup", "BufferSize", "JobLayout", "ScratchpadBuffer"]

_SIGNED = 34  # an offset of 32 bits with a sign, times four
_CHIP = SCRATCHPAD_WORDS.bit_length()
_SCALAR = SCALARS.bit_length()
_KINDS = {  # instructions that are set up alike
    "linear": ("ldglin", "stglin"),
    "tile": ("ldg2sptile", "stg2sptile"),
    "snoopy_buffer": ("ldgbidx", "stgbidx", "ldspbidx", "stspbidx"),
    "snoopy_tile": ("ldgcidx", "stgcidx"),
    "indexed": ("ldgidxit", "stgidxit"),
    "scalars": ("sldg", "sldsp"),
    "scratchpad_linear": ("ldsplin", "stsplin"),
    "scratchpad_scalars": ("sldsp",),
}


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
    end: _SCALAR
    cam: 1
    register: 7
    split: 1
    restart: 1
    fault: 1


class AccessSetup(wiring.Component):
    """Computes the tile and targets of an access in four cycles.

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
        The kernel's grid.
    buffer : In(BufferSize)
        Dimensions of the DRAM buffer that ``access`` names.
    chip : In(ScratchpadBuffer)
        The scratchpad buffer that it names: ``buffer`` of an access to the scratchpad, ``target``
        of a tile.
    job : Out(Strobe(JobLayout))
        The access, clipped to its buffer.
    slot : Out(1)
        Slot of ``job``.
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
        access = self.access.payload
        kinds = {kind: access.opcode.matches(*(
                     OPCODES[name] for name in names
                     if self.machine.snoopy or not TABLE[OPCODES[name]].snoopy))
                 for kind, names in _KINDS.items()}

        # The number at the end of a name: how many clocks it follows ``access``.
        tile_1 = self._wanted_tile(m, kinds)
        scalar_lines_1 = self._lines_of_scalars(m)
        unclipped = kinds["scalars"] | kinds["snoopy_tile"]
        kinds_1 = {kind: _delayed(m, is_kind, 1, f"{kind}_after") for kind, is_kind in (
            ("unclipped", unclipped), ("scratchpad_scalars", kinds["scratchpad_scalars"]),
            ("snoopy_tile", kinds["snoopy_tile"]))}
        access_1 = _delayed(m, access, 1, "access_after")
        cut_2 = self._clip(m, kinds_1, access_1, tile_1, scalar_lines_1)

        tile_2 = _delayed(m, tile_1, 1, "tile_after")
        chip_2 = _delayed(m, self.chip, 2, "chip_after")
        products_3 = self._multiply(m, tile_2, cut_2, chip_2)

        cut_3 = Signal.like(cut_2)
        m.d.sync += cut_3.eq(cut_2)
        tile_3 = _delayed(m, tile_2, 1, "tile_of_job")
        access_3 = _delayed(m, access_1, 2, "access_of_job")
        chip_3 = _delayed(m, chip_2, 1, "chip_of_job")
        kinds_3 = {kind: _delayed(m, is_kind, 3, kind) for kind, is_kind in kinds.items()
                   if kind != "linear"}
        self._describe(m, kinds_3, access_3, tile_3, cut_3, chip_3, products_3)

        m.d.comb += [self.job.valid.eq(_delayed(m, self.access.valid, 4, "valid")),
                     self.slot.eq(_delayed(m, access.slot, 4, "slot"))]
        return m

    def _wanted_tile(self, m, kinds):
        """The tile that the access asks for, wherever its buffer ends."""
        access, grid = self.access.payload, self.grid
        tile = Signal(data.StructLayout({
            "left": signed(_SIGNED), "top": signed(_SIGNED), "words": 32, "count": 32,
            "limit_x": COUNT_BITS, "limit_y": COUNT_BITS, "pitch": TARGET_BITS, "shift": 4,
            "from_chip": 1, "wide": 1}))
        lines_left = grid.y - access.group_y
        height = self.machine.items >> grid.width
        m.d.sync += [
            tile.left.eq(access.x), tile.top.eq(access.y),
            tile.limit_x.eq(Mux(access.scratchpad, self.chip.x, self.buffer.x)),
            tile.limit_y.eq(Mux(access.scratchpad, self.chip.y, self.buffer.y)),
            tile.words.eq(1 << grid.width), tile.count.eq(height),
            tile.pitch.eq(1 << (grid.width + access.width)),
            tile.shift.eq(grid.width + access.width), tile.from_chip.eq(kinds["tile"]),
            tile.wide.eq(0),
        ]
        with m.If(kinds["linear"]):
            m.d.sync += [
                tile.left.eq((access.x + access.group_x) << access.width),
                tile.top.eq(access.y + access.group_y),
                tile.words.eq(1 << (grid.width + access.width)),
                tile.count.eq(Mux(lines_left < height, lines_left, height)),
            ]
        with m.If(kinds["tile"]):
            m.d.sync += [tile.words.eq(self.chip.x), tile.count.eq(self.chip.y),
                         tile.pitch.eq(self.chip.x)]
        with m.If(kinds["snoopy_buffer"]):
            m.d.sync += [tile.left.eq(0), tile.top.eq(0),
                         tile.words.eq(Mux(access.scratchpad, self.chip.x, self.buffer.x)),
                         tile.count.eq(Mux(access.scratchpad, self.chip.y, self.buffer.y)),
                         tile.pitch.eq(Mux(access.scratchpad, self.chip.x, self.buffer.x))]
        with m.If(kinds["scalars"]):
            wide = ~access.scratchpad & (access.count > self.buffer.x)  # several lines of DRAM
            m.d.sync += [tile.words.eq(Mux(access.scratchpad, access.sd_words, access.count)),
                         tile.count.eq(1), tile.pitch.eq(self.buffer.x), tile.wide.eq(wide)]
            with m.If(wide):
                m.d.sync += tile.words.eq(self.buffer.x)
        with m.If(kinds["snoopy_tile"]):
            m.d.sync += [tile.words.eq(access.sd_words), tile.count.eq(access.sd_period_cnt),
                         tile.pitch.eq(self.buffer.x)]
        return tile

    def _lines_of_scalars(self, m):
        """Lines of the DRAM buffer that hold ``access.count`` words: a quotient, from a table."""
        m.submodules.lines_of = table = Memory(
            shape=unsigned(_SCALAR), depth=SCALARS * SCALARS,
            init=[-(-(count + 1) // across) if across else 0
                  for across in range(SCALARS) for count in range(SCALARS)])
        lines_of = table.read_port()
        bits = ceil_log2(SCALARS)
        m.d.comb += lines_of.addr.eq(Cat((self.access.payload.count - 1)[:bits],
                                         self.buffer.x[:bits]))
        return lines_of.data

    def _clip(self, m, kinds, access, tile, scalar_lines):
        """The tile without what lies outside its buffer, and how much was cut above and on the
        left. Scalars and snoopy tiles are not clipped: they are faults."""
        cut = Signal(data.StructLayout({
            "left": COUNT_BITS, "top": COUNT_BITS, "words": COUNT_BITS, "count": COUNT_BITS,
            "over_x": COUNT_BITS, "over_y": COUNT_BITS, "fault": 1}))
        left, right, top, bottom = (Signal(signed(_SIGNED + 2), name=name)
                                    for name in ("left", "right", "top", "bottom"))
        end_x, end_y = (Signal(signed(_SIGNED + 2), name=name) for name in ("end_x", "end_y"))
        row = kinds["scratchpad_scalars"]  # its lines are one; `_describe` finds its end
        count = Mux(tile.wide, scalar_lines, tile.count)
        m.d.comb += [
            left.eq(Mux(tile.left < 0, 0, tile.left)), top.eq(Mux(tile.top < 0, 0, tile.top)),
            end_x.eq(tile.left + tile.words), end_y.eq(tile.top + count),
            right.eq(Mux((end_x > tile.limit_x) & ~row, tile.limit_x, end_x)),
            bottom.eq(Mux(end_y > tile.limit_y, tile.limit_y, end_y)),
        ]
        empty = (left >= right) | (top >= bottom)

        fault = Signal()
        m.d.comb += fault.eq(kinds["unclipped"]
                             & ((tile.left < 0) | (tile.top < 0) | (tile.words == 0)
                                | ((end_x > tile.limit_x) & ~row)
                                | (tile.left >= tile.limit_x)
                                | (end_y > tile.limit_y)))
        with m.If(row & ((access.target + access.sd_words) > SCALARS)):
            m.d.comb += fault.eq(1)
        with m.If(kinds["snoopy_tile"]):
            # its lines are the buffer's, as far apart as those
            with m.If((tile.count == 0) | (access.sd_period < tile.words)
                      | ((access.sd_period != tile.limit_x) & (tile.count != 1))):
                m.d.comb += fault.eq(1)
        m.d.sync += [
            cut.left.eq(left), cut.top.eq(top),
            cut.words.eq(Mux(empty, 0, right - left)), cut.count.eq(Mux(empty, 0, bottom - top)),
            cut.over_x.eq(left - tile.left), cut.over_y.eq(top - tile.top),
            cut.fault.eq(fault),
        ]
        return cut

    def _multiply(self, m, tile, cut, chip):
        """Compute the values that are products: the words cut from the other side, the index of
        the first word in its buffer, and the words of the scratchpad buffer."""
        skipped, index = Signal(TARGET_BITS), Signal(TARGET_BITS)
        chip_words = Signal(_CHIP)
        m.d.sync += [
            skipped.eq(Mux(tile.from_chip, (cut.over_y[:_CHIP] * chip.x)[:TARGET_BITS],
                           cut.over_y << tile.shift) + cut.over_x),
            index.eq((cut.top * tile.limit_x)[:TARGET_BITS] + cut.left),
            chip_words.eq(chip.x * chip.y),
        ]
        return skipped, index, chip_words

    def _describe(self, m, kinds, access, tile, cut, chip, products):
        """``job``, in the layout of the memories."""
        job = self.job.payload
        skipped, index, chip_words = products
        row_end = Signal(_CHIP + 1)  # of scalars from a scratchpad
        m.d.comb += row_end.eq(index[:_CHIP] + cut.words[:_SCALAR])
        gap = tile.limit_x - cut.words
        # words of two lines may come close that are elsewhere apart
        apart = ((cut.count > 1) & (cut.words != tile.pitch) & (tile.limit_x != tile.pitch))
        snoopy = kinds["snoopy_buffer"] | kinds["snoopy_tile"]
        m.d.sync += [
            job.scratchpad.eq(access.scratchpad), job.write.eq(access.store),
            job.buffer.eq(access.buffer), job.x.eq(cut.left), job.y.eq(cut.top),
            job.words.eq(cut.words), job.count.eq(cut.count),
            job.address.eq(chip.address + index), job.period.eq(chip.x),
            job.base.eq(skipped), job.pitch.eq(tile.pitch), job.transform.eq(access.width),
            job.destination.eq(Destination.REGISTERS), job.indexed.eq(kinds["indexed"]),
            job.scalars.eq(kinds["scalars"]), job.end.eq(access.target + Mux(
                access.scratchpad, access.sd_words, access.count)),
            job.cam.eq(snoopy), job.register.eq(access.target),
            job.split.eq(~access.scratchpad & ~snoopy & ~kinds["indexed"] & apart
                         & (gap < BEAT_WORDS - 1)),
            job.restart.eq(kinds["scratchpad_linear"] & apart
                           & (gap < self.machine.scratchpad_bus - 1)),
            job.fault.eq(cut.fault | (kinds["scratchpad_scalars"] & (row_end > chip_words))),
        ]
        with m.If(kinds["tile"]):
            m.d.sync += [job.destination.eq(Destination.SCRATCHPAD),
                         job.base.eq(chip.address + skipped), job.transform.eq(0)]
        with m.If(kinds["scalars"]):
            m.d.sync += [job.base.eq(access.target), job.transform.eq(0)]
        with m.If(kinds["indexed"]):
            m.d.sync += [job.base.eq(0), job.transform.eq(0)]
        with m.If(snoopy):
            m.d.sync += [job.destination.eq(Destination.CAM), job.base.eq(index),
                         job.transform.eq(0)]


def _delayed(m, value, cycles, name):
    """``value`` after ``cycles`` registers, of which only ``valid`` is reset."""
    for number in range(cycles):
        register = Signal(value.shape() if hasattr(value, "shape") else len(value),
                          name=f"{name}_{number}", reset_less=name != "valid")
        m.d.sync += register.eq(value)
        value = register
    return value
