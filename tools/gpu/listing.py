"""Listings of our own, in the form of ``cuobjdump -sass``: test data, kernels of a count table.

No compiler is involved and nothing of a vendor: the machine words are made up from line numbers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cyclebound.golden.gpu.thesis_wcet import Step
from cyclebound.tools.gpu.sass import BYTES

__all__ = ["SYNTAXES", "Line", "listing", "listing_of_steps"]

SYNTAXES = {
    "sm_70": ("[{register}]", "c[0x0][0x28]"), "sm_75": ("[{register}]", "c[0x0][0x28]"),
    "sm_80": ("[{register}.64]", "c[0x0][0x28]"),
    "sm_86": ("desc[UR4][{register}.64]", "c[0x0][0x28]"),
    "sm_89": ("desc[UR4][{register}.64]", "c[0x0][0x28]"),
    "sm_90": ("desc[UR4][{register}.64]", "c[0x0][0x28]"),
}
"""How each architecture writes a global address, and the constant of the stack pointer."""

_LINE = 128


@dataclass(frozen=True)
class Line:
    """An instruction as text: ``@!P0 `` or nothing, and ``BRA 0x40``."""

    text: str
    guard: str = ""
    label: str = ""


def listing(functions: dict[str, Sequence[Line]], architecture: str = "sm_80") -> str:
    """The text of functions, as cuobjdump writes it."""
    if architecture not in SYNTAXES:
        raise ValueError(f"architecture must be one of {', '.join(SYNTAXES)}, "
                         f"not {architecture!r}")
    number = architecture.removeprefix("sm_")
    out = ["", "Fatbin elf code:", "================", f"arch = {architecture}",
           "code version = [1,7]", "host = linux", "compile_size = 64bit", "",
           f"\tcode for {architecture}"]
    for name, lines in functions.items():
        out += [f"\t\tFunction : {name}",
                f'\t.headerflags\t@"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM{number}"']
        for index, line in enumerate(lines):
            if line.label:
                out.append(f"{line.label}:")
            body = f"{line.guard:>8} {line.text} ;"
            out.append(f"        /*{index * BYTES:04x}*/          {body:<60} /* 0x{index:016x} */")
            out.append(f"{'':79} /* 0x{index + 1:016x} */")
        out += ["\t\t..........", "", ""]
    return "\n".join(out)


class _Constants:
    """Addresses in bank 0 that are new under the rules that a step names, and under no other."""

    def __init__(self) -> None:
        self._anchor = 0  # the far or line-crossing address that was taken last
        self._free: list[int] = []  # in lines that were loaded from
        self._last = 0

    def address(self, rules: frozenset[str]) -> int:
        if "window" in rules:
            return self._take((self._anchor // _LINE + 4) * _LINE + _LINE - 4)
        if "exact" not in rules:
            return self._last
        if not self._free:
            raise ValueError("a count table must load a constant that is new by 128 bytes before "
                             "others that are new by their exact addresses only")
        if "line" in rules:  # 124 bytes further: within the window, in the next line
            return self._take(self._anchor + _LINE - 4)
        self._last = self._free.pop(0)
        return self._last

    def _take(self, address: int) -> int:
        self._anchor = self._last = address
        line = address // _LINE * _LINE
        self._free += [address_ for address_ in range(line, line + _LINE, 4) if address_ != address]
        return address


def listing_of_steps(name: str, steps: Iterable[Step], architecture: str = "sm_80") -> str:
    """A kernel with these opcodes and accesses, in this order, and an EXIT at its end.

    Its registers mean nothing. Every rule for constants counts as many new ones as the steps do,
    but for ``sheet``, which no address can show.
    """
    constants = _Constants()
    lines = [Line(_text(number, step, architecture, constants))
             for number, step in enumerate(steps)]
    end = len(lines) * BYTES + BYTES
    return listing({name: [*lines, Line("EXIT"), Line(f"BRA 0x{end:x}")]}, architecture)


def _text(number: int, step: Step, architecture: str, constants: _Constants) -> str:
    if architecture not in SYNTAXES:
        raise ValueError(f"architecture must be one of {', '.join(SYNTAXES)}, "
                         f"not {architecture!r}")
    target, base = f"R{8 + number % 64}", f"R{2 * (number % 4)}"
    where = SYNTAXES[architecture][0].format(register=base)
    opcode = step.name.split(".")[0]
    constant = next((access for access in step.accesses if access.space == "constant"), None)
    operand = "RZ"
    if constant is not None:
        if constant.address:
            offset = constant.address[1]
        elif constant.new is not None:
            offset = constants.address(constant.new)
        else:
            raise ValueError(f"step {number}: a listing needs the address of its constant, or the "
                             "rules under which that is new")
        operand = f"c[0x0][0x{offset:x}]"
    if step.name == "other":
        return "NOP"
    if opcode in ("LDG", "LDS"):
        return f"{step.name} {target}, {where if opcode == 'LDG' else f'[{base}]'}"
    if opcode in ("STG", "STS"):
        return f"{step.name} {where if opcode == 'STG' else f'[{base}]'}, {target}"
    if opcode == "S2R":
        return f"S2R {target}, SR_TID.X"
    if opcode == "BAR":
        return f"{step.name} 0x0"
    if opcode == "BRA":
        return f"BRA 0x{(number + 1) * BYTES:x}"
    if opcode in ("MOV", "ULDC", "LDC"):
        return f"{step.name} {'UR6' if opcode == 'ULDC' else target}, {operand}"
    if opcode in ("ISETP", "FSETP"):
        return f"{step.name} P0, PT, {target}, {operand}, PT"
    return f"{step.name} {target}, {base}, {operand}, RZ"
