"""Payloads of the streams between dataflow units.

Ref: SGMF, section 2.2: every value in
flight carries the identifier of its thread.
"""

from amaranth.hdl import unsigned
from amaranth.lib import data
from amaranth.utils import exact_log2

__all__ = ["BankRequestLayout", "FiringLayout", "LineRequestLayout", "LineResponseLayout",
           "MemoryRequestLayout", "MemoryResponseLayout", "TokenLayout"]


class TokenLayout(data.StructLayout):
    """A value on its way: thread ``tid``, and ``data``; a control token's data are 1, or 0 if it
    is poisoned."""

    def __init__(self, *, tid_width, width):
        super().__init__({"tid": unsigned(tid_width), "data": unsigned(width)})


class FiringLayout(data.StructLayout):
    """All operands of thread ``tid``; those that the unit does not need mean nothing."""

    def __init__(self, *, operands, tid_width, width):
        super().__init__({"tid": unsigned(tid_width),
                          "values": data.ArrayLayout(unsigned(width), operands)})


class MemoryRequestLayout(data.StructLayout):
    """A word's access. ``tag`` comes back with its response."""

    def __init__(self, *, tag_width, address_width, width):
        super().__init__({"tag": unsigned(tag_width), "address": unsigned(address_width),
                          "write": unsigned(1), "data": unsigned(width)})


class MemoryResponseLayout(data.StructLayout):
    """The answer to a load or store: the word read; of a store, ``data`` are undefined."""

    def __init__(self, *, tag_width, width):
        super().__init__({"tag": unsigned(tag_width), "data": unsigned(width)})


class LineRequestLayout(data.StructLayout):
    """A line's access: number ``line`` is read, or its words in ``mask`` are written. ``id`` comes
    back with a read's line."""

    def __init__(self, *, id_width, line_width, line, width):
        super().__init__({"id": unsigned(id_width), "line": unsigned(line_width),
                          "write": unsigned(1), "mask": unsigned(line),
                          "data": data.ArrayLayout(unsigned(width), line)})


class LineResponseLayout(data.StructLayout):
    """The line that a read has asked for."""

    def __init__(self, *, id_width, line, width):
        super().__init__({"id": unsigned(id_width),
                          "data": data.ArrayLayout(unsigned(width), line)})


class BankRequestLayout(data.StructLayout):
    """An access at one bank of a cache of this ``shape``: of a word, or of a ``whole`` line.

    ``line`` counts the lines of the bank; ``place`` is a word's, ``mask`` the words of a line that
    are written.
    """

    def __init__(self, *, shape, tag_width, width, whole):
        lines = -(-(1 << shape.line_width) // shape.banks)
        super().__init__({
            "tag": unsigned(tag_width), "line": unsigned((lines - 1).bit_length()),
            "write": unsigned(1),
            **({"mask": unsigned(shape.line), "data": unsigned(shape.line * width)} if whole else
               {"place": unsigned(exact_log2(shape.line)), "data": unsigned(width)})})
