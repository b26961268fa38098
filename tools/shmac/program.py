"""Programs for a tile of SHMAC: words with their addresses, and what an ELF file says of them.

`load_elf` reads an executable of a MIPS-I compiler. It refuses what the core cannot run or the
tile's memory cannot hold, and what is no whole ELF file, as `ProgramError`, which says where.
"""

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from cyclebound.golden.shmac.address_map import (
    BOOT_WORDS,
    LOCAL_BITS,
    SYSTEM_BASE,
    entry_of,
    tile_base,
    tile_of,
)
from cyclebound.golden.shmac.isa import encoding_of
from cyclebound.tools.shmac.assembler import assemble

__all__ = ["Program", "ProgramError", "Region", "Symbol", "assembled", "load_elf",
           "unknown_instructions"]

_MIPS, _EXECUTABLE = 8, 2
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_MOST_HEADERS, _MOST_SYMBOLS, _MOST_NAME = 1024, 1 << 18, 1 << 12
_ARCHITECTURES = ("MIPS-I", "MIPS-II", "MIPS-III", "MIPS-IV", "MIPS-V", "MIPS32", "MIPS64",
                  "MIPS32 release 2", "MIPS64 release 2", "MIPS32 release 6", "MIPS64 release 6")
_SPACE = 1 << LOCAL_BITS  # bytes that a tile can have


class ProgramError(ValueError):
    """A file that is no program for a tile. Says the file, the place, the rule and the value."""


@dataclass(frozen=True)
class Symbol:
    """A name of an ELF file.

    Attributes
    ----------
    name : str
        As the compiler wrote it.
    address, size : int
        In bytes; the size is 0 where the file does not say it.
    kind : str
        ``function``, ``object``, or empty.
    """

    name: str
    address: int
    size: int
    kind: str


@dataclass(frozen=True)
class Region:
    """A range of addresses that a program takes.

    Attributes
    ----------
    name : str
        As the file calls it.
    address, size : int
        In bytes.
    executable : bool
        Whether it has instructions.
    """

    name: str
    address: int
    size: int
    executable: bool

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.address + self.size

    @property
    def words(self) -> range:
        """The addresses of its words."""
        return range(self.address & ~3, self.end, 4)


@dataclass(frozen=True)
class Program:
    """What is in a tile's memory before its core begins.

    Attributes
    ----------
    name : str
        The file's.
    big_endian : bool
        Which byte of a word has the word's address.
    entry : int
        Address of the first instruction.
    words : dict
        Addresses of words, with their values. The rest of the memory is 0.
    regions : tuple of Region
        What the program takes, with what is not in the file (``.bss``); no two overlap.
    code : tuple of Region
        Instructions: sections of the file if it names them, else executable regions.
    symbols : tuple of Symbol
        By address.
    """

    name: str
    big_endian: bool
    entry: int
    words: dict[int, int]
    regions: tuple[Region, ...]
    code: tuple[Region, ...] = ()
    symbols: tuple[Symbol, ...] = field(default=(), repr=False)

    @property
    def tile(self) -> tuple[int, int]:
        """The tile that it is for."""
        return tile_of(self.entry)

    @property
    def end(self) -> int:
        """The first address after all that it takes."""
        return max(region.end for region in self.regions)

    def symbol(self, name: str) -> Symbol | None:
        """The symbol of this name."""
        return next((symbol for symbol in self.symbols if symbol.name == name), None)

    def function_at(self, address: int) -> Symbol | None:
        """The function that an address is in."""
        found = None
        for symbol in self.symbols:
            if symbol.address > address:
                break
            if symbol.kind == "function" and address < symbol.address + max(symbol.size, 4):
                found = symbol
        return found

    def where(self, address: int) -> str:
        """An address for a message, with the function that it is in."""
        function = self.function_at(address)
        inside = f" ({function.name} + {address - function.address:#x})" if function else ""
        return f"{address:#010x}{inside}"

    def check_begins(self) -> None:
        """Raise `ProgramError` unless it begins where its tile's bootstrap leads to, or after words
        that do nothing."""
        row, column = self.tile
        begins = range(entry_of(row, column), self.entry, 4)
        if self.entry != entry_of(row, column) and (
                not begins or len(begins) > BOOT_WORDS or any(self.words.get(at) for at in begins)):
            raise ProgramError(
                f"{self.name}: its entry must be {entry_of(row, column):#x}, where tile ({row}, "
                f"{column}) begins, not {self.entry:#x}")

    def check_fits(self, ram: int) -> None:
        """Raise `ProgramError` if it takes more than the first ``ram`` bytes of its tile."""
        row, column = self.tile
        last = tile_base(row, column) + ram
        for region in self.regions:
            if region.end > last:
                raise ProgramError(
                    f"{self.name}: {region.name} ends at {region.end:#x}, and the {ram:,} bytes of "
                    f"tile ({row}, {column}) at {last:#x}")
        top = self.symbol("__stack_top")
        if top is not None and top.address > last:
            raise ProgramError(
                f"{self.name}: its stack begins at {top.address:#x}, and the {ram:,} bytes of tile "
                f"({row}, {column}) end at {last:#x}: it was linked for a larger memory")


def assembled(text: str, name: str, row: int, column: int, *, big_endian: bool = True) -> Program:
    """A program in assembly language (`cyclebound.tools.shmac.assembler`), which begins where its
    tile's bootstrap leads to; the label ``tile`` is the beginning of the tile's memory.

    Raises `AssemblyError`, and `ProgramError` for one without an instruction or too large.
    """
    entry = entry_of(row, column)
    words = assemble(text, origin=entry, symbols={"tile": tile_base(row, column)})
    if not words:
        raise ProgramError(f"{name}: there is no instruction in it")
    if 4 * len(words) > _SPACE - entry % _SPACE:
        raise ProgramError(f"{name}: a program must have at most {_SPACE:,} bytes, not "
                           f"{4 * len(words):,}")
    region = Region("program", entry, 4 * len(words), True)
    return Program(name, big_endian, entry, dict(zip(region.words, words, strict=True)), (region,),
                   (region,))


def unknown_instructions(program: Program) -> Iterator[tuple[int, int]]:
    """Address and word of each word of a program's code that is no instruction of the core."""
    for region in program.code:
        for address in region.words:
            word = program.words.get(address, 0)
            if encoding_of(word) is None:
                yield address, word


def load_elf(content: bytes, name: str) -> Program:
    """The program of an ELF file for one tile. Raises `ProgramError`."""
    try:
        return _Reader(content, name).program()
    except ProgramError:
        raise
    except (ELFError, ValueError, KeyError, IndexError, AttributeError, TypeError, AssertionError,
            OverflowError, struct.error, EOFError) as error:  # what the reader of ELF stumbles over
        said = " ".join(str(error).split()) or type(error).__name__
        raise ProgramError(f"{name}: it is no whole ELF file: {said}") from None


class _Reader:
    """An ELF file, looked at with suspicion: whatever it counts is checked before it is read."""

    def __init__(self, content: bytes, name: str) -> None:
        self.content, self.name = content, name
        self.order = ">"

    def fail(self, text: str) -> ProgramError:
        return ProgramError(f"{self.name}: {text}")

    def program(self) -> Program:
        self.check_header()
        elf = ELFFile(io.BytesIO(self.content))
        regions, words = self.segments(elf)
        entry = elf["e_entry"]
        tile = tile_of(entry)
        if entry % 4:
            raise self.fail(f"its entry must be a multiple of 4, not {entry:#x}")
        for region in regions:
            if tile_of(region.address) != tile or tile_of(region.end - 1) != tile:
                raise self.fail(
                    f"{region.name}, {region.address:#x} to {region.end - 1:#x}, must be in tile "
                    f"({tile[0]}, {tile[1]}), where its entry {entry:#x} is")
        if not any(region.executable and region.address <= entry < region.end
                   for region in regions):
            raise self.fail(f"its entry {entry:#x} must be in an executable segment")
        if max(region.end for region in regions) > SYSTEM_BASE:
            raise self.fail(f"system registers hide what is at {SYSTEM_BASE:#x} and after it")
        code, symbols = self.sections(elf, regions)
        return Program(self.name, self.order == ">", entry, words, regions, code, symbols)

    def check_header(self) -> None:
        content = self.content
        if content[:4] != b"\x7fELF":
            raise self.fail("it is no ELF file: it does not begin with 7f 45 4c 46")
        if len(content) < 52:
            raise self.fail(f"it is cut off in its header, at byte {len(content)} of 52")
        if content[4] != 1:
            raise self.fail(f"it must be of 32 bits (class 1), not of class {content[4]}")
        if content[5] not in (1, 2):
            raise self.fail(f"its byte order must be 1 or 2, not {content[5]}")
        self.order = "<" if content[5] == 1 else ">"
        (kind, machine, version, _, programs, sections, flags, _, program_size, program_count,
         section_size, section_count, names) = struct.unpack(f"{self.order}HHIIIIIHHHHHH",
                                                             content[16:52])
        if machine != _MIPS:
            raise self.fail(f"it must be for MIPS (machine 8), not for machine {machine}")
        if kind != _EXECUTABLE:
            said = {1: "an object that has to be linked first", 3: "a shared or "
                    "position-independent one", 4: "a core dump"}.get(kind, f"type {kind}")
            raise self.fail(f"it must be an executable (type 2), not {said}")
        if version != 1 or content[6] != 1:
            raise self.fail("its version must be 1")
        architecture = flags >> 28
        if architecture:
            known = architecture < len(_ARCHITECTURES)
            said = _ARCHITECTURES[architecture] if known else f"architecture {architecture}"
            raise self.fail(f"its instructions must be MIPS-I, not {said}")
        if flags & 0x0E00_0000:
            raise self.fail("its instructions must be of 32 bits, not MIPS16 or microMIPS")
        if not 1 <= program_count <= _MOST_HEADERS:
            raise self.fail(f"it must have 1 to {_MOST_HEADERS} segments, not {program_count}")
        self.table("segments", programs, program_size, 32, program_count)
        if sections:
            if not 1 <= section_count <= _MOST_HEADERS:
                raise self.fail(f"it must have 1 to {_MOST_HEADERS} sections, not {section_count}")
            self.table("sections", sections, section_size, 40, section_count)
            if names >= section_count:
                raise self.fail(f"its names are in section {names} of {section_count}")

    def table(self, what: str, at: int, size: int, needed: int, count: int) -> None:
        if size != needed:
            raise self.fail(f"headers of {what} must have {needed} bytes, not {size}")
        self.inside(f"the table of {what}", at, size * count)

    def inside(self, what: str, at: int, size: int) -> bytes:
        """These bytes of the file."""
        if at + size > len(self.content):
            raise self.fail(f"it is cut off: {what} is at bytes {at:,} to {at + size:,}, and the "
                            f"file has {len(self.content):,}")
        return self.content[at:at + size]

    def segments(self, elf: ELFFile) -> tuple[tuple[Region, ...], dict[int, int]]:
        regions: list[Region] = []
        words: dict[int, int] = {}
        for number in range(elf.num_segments()):
            header = elf.get_segment(number).header
            name, kind = f"segment {number}", header["p_type"]
            if kind in ("PT_DYNAMIC", "PT_INTERP"):
                raise self.fail(f"{name} asks for a dynamic linker: it must be linked statically")
            if kind != "PT_LOAD" or not header["p_memsz"]:
                continue
            address, size, held = header["p_vaddr"], header["p_memsz"], header["p_filesz"]
            if held > size:
                raise self.fail(f"{name} has {held:,} bytes in the file for {size:,} in memory")
            if address % 4:
                raise self.fail(f"{name} must begin at a multiple of 4, not at {address:#x}")
            if size > _SPACE:
                raise self.fail(f"{name} must have at most {_SPACE:,} bytes, not {size:,}")
            if address + size > 1 << 32:
                raise self.fail(f"{name} must end before 2^32: it has {size:,} bytes at "
                                f"{address:#x}")
            region = Region(name, address, size, bool(header["p_flags"] & 1))
            for other in regions:
                if region.address < other.end and other.address < region.end:
                    raise self.fail(f"{name} and {other.name} overlap at "
                                    f"{max(region.address, other.address):#x}")
            regions.append(region)
            data = self.inside(name, header["p_offset"], held)
            data += bytes(-len(data) % 4)
            held_words = struct.unpack(f"{self.order}{len(data) // 4}I", data)
            for at, word in enumerate(held_words):
                words[address + 4 * at] = words.get(address + 4 * at, 0) | word
        if not regions:
            raise self.fail("it has no segment that is loaded")
        return tuple(sorted(regions, key=lambda region: region.address)), words

    def sections(self, elf: ELFFile, regions: tuple[Region, ...]
                 ) -> tuple[tuple[Region, ...], tuple[Symbol, ...]]:
        code: list[Region] = []
        symbols: list[Symbol] = []
        if elf["e_shoff"]:
            self.names(elf, elf["e_shstrndx"])
            for number in range(elf.num_sections()):
                # its header first: the reader makes of it what it says it is
                header = elf._get_section_header(number)
                if header["sh_type"] == "SHT_SYMTAB":
                    self.names(elf, header["sh_link"])
                    symbols += self.symbols(elf, number)
                elif header["sh_flags"] & 6 == 6 and header["sh_type"] == "SHT_PROGBITS":
                    name = self.section_name(elf, header["sh_name"])
                    code.append(Region(name, header["sh_addr"], header["sh_size"], True))
        for section in code:
            if not any(section.address >= region.address and section.end <= region.end
                       for region in regions):
                raise self.fail(f"section {section.name}, {section.address:#x} to "
                                f"{section.end - 1:#x}, must be in a segment")
            if section.address % 4:
                raise self.fail(f"section {section.name} must begin at a multiple of 4, not at "
                                f"{section.address:#x}")
        if not code:
            code = [region for region in regions if region.executable]
        return (tuple(sorted(code, key=lambda region: region.address)),
                tuple(sorted(symbols, key=lambda symbol: symbol.address)))

    def names(self, elf: ELFFile, number: int) -> None:
        """Check a section of names: each ends, and soon."""
        header = elf._get_section_header(number)
        if header["sh_type"] != "SHT_STRTAB":
            raise self.fail(f"section {number} must hold names")
        content = self.inside(f"section {number}", header["sh_offset"], header["sh_size"])
        if content and (content[-1] or max(map(len, content.split(b"\0"))) > _MOST_NAME):
            raise self.fail(f"names in section {number} must end, after {_MOST_NAME} bytes at most")

    def section_name(self, elf: ELFFile, offset: int) -> str:
        header = elf._get_section_header(elf["e_shstrndx"])
        names = self.inside("the names", header["sh_offset"], header["sh_size"])
        return _text(names[offset:].partition(b"\0")[0]) or "without a name"

    def symbols(self, elf: ELFFile, number: int) -> Iterator[Symbol]:
        header = elf._get_section_header(number)
        size, each = header["sh_size"], header["sh_entsize"]
        if each != 16 or size % 16 or size // 16 > _MOST_SYMBOLS:
            raise self.fail(f"section {number} must hold at most {_MOST_SYMBOLS:,} symbols of 16 "
                            f"bytes, not {size:,} bytes in symbols of {each}")
        self.inside(f"section {number}", header["sh_offset"], size)
        section = elf.get_section(number)
        if not isinstance(section, SymbolTableSection):
            raise self.fail(f"section {number} must hold symbols")
        names_header = elf._get_section_header(header["sh_link"])
        names = self.inside("the names", names_header["sh_offset"], names_header["sh_size"])
        for index in range(section.num_symbols()):
            entry = elf.structs.Elf_Sym.parse(
                self.content[header["sh_offset"] + 16 * index:][:16])
            name = _text(names[entry["st_name"]:entry["st_name"] + _MOST_NAME].partition(b"\0")[0])
            kind = {"STT_FUNC": "function", "STT_OBJECT": "object",
                    "STT_NOTYPE": ""}.get(entry["st_info"]["type"])
            if name and kind is not None and entry["st_shndx"] != "SHN_UNDEF":
                yield Symbol(name, entry["st_value"], entry["st_size"], kind)


def _text(name: bytes) -> str:
    """A name for messages and terminals, which no character of it is to command."""
    return "".join(letter if letter.isprintable() else "?"
                   for letter in name.decode("utf-8", "replace"))
