"""ELF files made field by field, so that tests of SHMAC's programs need no compiler, and can make
what no compiler would."""

import struct
from dataclasses import dataclass, field


@dataclass
class Segment:
    """What a program header says, and the bytes that it speaks of."""

    address: int
    data: bytes = b""
    size: int | None = None  # in memory; None: as in the file
    flags: int = 5           # read and execute
    kind: int = 1            # PT_LOAD


@dataclass
class Elf:
    """An executable for MIPS-I; each field of its header may be another one."""

    segments: list[Segment]
    entry: int
    big_endian: bool = True
    symbols: list[tuple[str, int, int, int]] = field(default_factory=list)  # name, at, size, type
    code: list[tuple[str, int, int]] = field(default_factory=list)  # name, address, size
    kind: int = 2
    machine: int = 8
    flags: int = 0x1001
    size_class: int = 1

    def content(self) -> bytes:
        order = ">" if self.big_endian else "<"
        at = 52 + 32 * len(self.segments)
        headers, bodies, offsets = b"", b"", {}
        for segment in self.segments:
            size = len(segment.data) if segment.size is None else segment.size
            offsets[segment.address] = at + len(bodies)
            headers += struct.pack(f"{order}8I", segment.kind, at + len(bodies), segment.address,
                                   segment.address, len(segment.data), size, segment.flags, 4)
            bodies += segment.data
        names, table = b"\0", bytes(16)
        for name, address, size, kind in self.symbols:
            table += struct.pack(f"{order}IIIBBH", len(names), address, size, 0x10 | kind, 0, 1)
            names += name.encode() + b"\0"
        section_names = b"\0"
        sections = bytes(40)
        body_at = at + len(bodies)

        def section(name, kind, flags, address, offset, size, link=0, entry=0):
            nonlocal sections, section_names
            sections += struct.pack(f"{order}10I", len(section_names), kind, flags, address, offset,
                                    size, link, 0, 4, entry)
            section_names += name.encode() + b"\0"

        for name, address, size in self.code:
            begin = max(start for start in offsets if start <= address)
            section(name, 1, 6, address, offsets[begin] + address - begin, size)
        section(".symtab", 2, 0, 0, body_at, len(table), 2 + len(self.code), 16)
        section(".strtab", 3, 0, 0, body_at + len(table), len(names))
        names_at = body_at + len(table) + len(names)
        section(".shstrtab", 3, 0, 0, names_at, len(section_names) + len(b".shstrtab\0"))
        table_at = names_at + len(section_names)
        head = b"\x7fELF" + bytes([self.size_class, 2 if self.big_endian else 1, 1]) + bytes(9)
        head += struct.pack(f"{order}HHIIIIIHHHHHH", self.kind, self.machine, 1, self.entry, 52,
                            table_at, self.flags, 52, 32, len(self.segments), 40,
                            len(sections) // 40, len(sections) // 40 - 1)
        return head + headers + bodies + table + names + section_names + sections


def of_words(words, address, *, big_endian=True, **more) -> Elf:
    """One segment of words."""
    data = struct.pack(f"{'>' if big_endian else '<'}{len(words)}I", *words)
    return Elf([Segment(address, data)], address, big_endian, **more)
