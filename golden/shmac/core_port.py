"""The memory port of SHMAC's core, and what it shows of each instruction. A specification.

A request is about one word of 32 bits. ``address`` is that of its first byte, a multiple of four.
Strobe i belongs to bits 8 i to 8 i + 7 of the data; of a write the strobes name the bytes that are
written, of a read those that the instruction uses. In a big-endian core bits 31 to 24 are the byte
with the word's own address, in a little-endian one bits 7 to 0.

Every request but a plain write has one response, in the cycle after the one in which the request is
taken at the earliest. That to a store conditional has in bit 0 of its data whether the word was
written.
"""

__all__ = ["ADDRESS_BITS", "DATA_BITS", "ENDIANS", "INTERRUPT_LINES", "REQUEST", "RESPONSE",
           "STROBE_BITS", "TRACE"]

ADDRESS_BITS = DATA_BITS = 32
STROBE_BITS = 4
ENDIANS = ("big", "little")
INTERRUPT_LINES = 6  # of Cause, bits 10 to 15

REQUEST = {
    "address": ADDRESS_BITS,
    "data": DATA_BITS,       # of a write; bytes without a strobe have any value
    "strobes": STROBE_BITS,
    "write": 1,              # or a read
    "sync": 1,               # LL or SC
    "fetch": 1,              # of an instruction
}
"""Fields of a request, with their bits."""

RESPONSE = {
    "data": DATA_BITS,
    "error": 1,              # nothing answers at this address
}
"""Fields of a response, with their bits."""

TRACE = {
    "begins": 1,             # the first cycle in which an instruction is executed
    "ends": 1,               # the last one
    "exception": 1,          # with either: it is not executed, and an exception is taken
    "pc": ADDRESS_BITS,      # from its beginning to its end, else 0
    "instruction": DATA_BITS,
    "register": 5,           # at its end, which general register is written; 0: none
    "value": DATA_BITS,      # with what; anything if none is
}
"""What is shown of each instruction, with the bits of each field."""
