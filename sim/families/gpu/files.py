"""Files that users give to ``cyclebound gpu``: listings, resource usage, latencies, launches."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from cyclebound.golden.gpu.instruction import Kernel
from cyclebound.golden.gpu.thesis_wcet import Launch
from cyclebound.golden.user_files import parsing, text_in
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.families.gpu.nvcc import SOURCE, compiled
from cyclebound.tools.gpu.annotate import Missing, missing_opcodes
from cyclebound.tools.gpu.latency_file import LatencyFile, parse_latencies
from cyclebound.tools.gpu.resource_usage import Usage, parse_usage
from cyclebound.tools.gpu.sass import parse_sass

__all__ = ["check_opcodes", "read_kernel", "read_kernels", "read_latencies", "read_launch",
           "read_usage", "reading"]

T = TypeVar("T")
_USUAL = "sm_80"  # what the thesis measured


def reading(path: Path, parse: Callable[[str], T]) -> T:
    """The result of ``parse`` on a text file. Raises `UserError` with the file's name."""
    try:
        text = text_in(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text, at byte {error.start}") from None
    try:
        with parsing(path):
            return parse(text)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _parsed(path: Path, text: str, parse: Callable[[str], T]) -> T:
    """What a compiler made of a file. Raises `UserError` with the file's name."""
    try:
        return parse(text)
    except ValueError as error:
        raise UserError(f"the listing of {path} (`cyclebound gpu listing {path} -o FILE`): "
                        f"{error}") from None


def read_kernels(path: Path, architecture: str | None = None) -> tuple[Kernel, ...]:
    """All kernels of a listing, or of CUDA C++ that is compiled for an architecture (sm_80)."""
    if path.suffix == SOURCE:
        return _parsed(path, compiled(path, architecture or _USUAL).listing, parse_sass)
    return reading(path, parse_sass)


def read_kernel(path: Path, name: str | None, architecture: str | None = None) -> Kernel:
    """One kernel of a listing: the only one, or the one that is named, of one architecture."""
    kernels = read_kernels(path, architecture)
    names = list(dict.fromkeys(kernel.name for kernel in kernels))
    if name is None:
        if len(names) > 1:
            raise UserError(f"{path} has {len(names)} kernels; name one by --kernel: "
                            f"{', '.join(names[:9])}{', ...' if len(names) > 9 else ''}")
        name = names[0]
    if name not in names:
        raise unknown(f"kernel in {path}", name, names)
    matches = [kernel for kernel in kernels if kernel.name == name]
    if len(matches) > 1 and architecture is not None:
        matches = [kernel for kernel in matches
                   if _same(kernel.architecture, architecture)] or matches
    if len(matches) > 1:
        architectures = ", ".join(kernel.architecture for kernel in matches)
        raise UserError(f"{path} has {name} for {architectures}; name one by --capability")
    return matches[0]


def _same(one: str, other: str) -> bool:
    """Whether two architectures are of one capability, as sm_90 and sm_90a."""
    return one.rstrip("af") == other.rstrip("af")


def read_usage(path: Path | None, listing: Path, name: str, architecture: str) -> Usage | None:
    """A kernel's resources from a file, if given: for its architecture, if the kernel names it.

    What the compiler made of CUDA C++, it says itself.
    """
    if path is not None:
        usages = reading(path, parse_usage)
    elif listing.suffix == SOURCE:
        path, usages = listing, _parsed(listing, compiled(listing, architecture).usage, parse_usage)
    else:
        return None
    named = [usage for usage in usages if usage.name == name]
    if not named:
        raise unknown(f"kernel in {path}", name, dict.fromkeys(usage.name for usage in usages))
    matches = [usage for usage in named if not architecture or not usage.architecture
               or _same(usage.architecture, architecture)]
    if not matches:
        architectures = ", ".join(usage.architecture for usage in named)
        raise UserError(f"{path} has {name} for {architectures}, not for {architecture}")
    if any(replace(usage, architecture="") != replace(matches[0], architecture="")
           for usage in matches):
        raise UserError(f"{path} has {name} {len(matches)} times, with different resources")
    return matches[0]


def read_latencies(path: Path | None) -> LatencyFile:
    """The user's delays and opcodes, or none."""
    return LatencyFile() if path is None else reading(path, parse_latencies)


def _sizes(option: str, text: str, most: int) -> list[int]:
    parts = text.split("x")
    if not 1 <= len(parts) <= most or not all(part.isdecimal() and len(part) < 12
                                              for part in parts):
        raise UserError(f"{option} takes sizes as in {'x'.join(['8', '1', '2'][:most])}, "
                        f"not {text!r}")
    return [int(part) for part in parts] + [1] * (most - len(parts))


def read_launch(grid: str, block: str, sms: int) -> Launch:
    """A launch from ``8x1x2`` and ``128`` or ``8x8``. Raises `UserError`."""
    x, y, z = _sizes("--grid", grid, 3)
    a, b, c = _sizes("--block", block, 3)
    if c > 64:
        raise UserError(f"--block: z must be at most 64, not {c}")
    try:
        return Launch((x, y, z), a * b * c, sms)
    except ValueError as error:
        raise UserError(str(error)) from None


def _said(missing: Sequence[Missing]) -> str:
    return "; ".join(
        f"{lack.name} x {len(lack.lines)} (line {', '.join(map(str, lack.lines[:5]))}"
        f"{', ...' if len(lack.lines) > 5 else ''})" for lack in missing)


def check_opcodes(kernel: Kernel, own: LatencyFile, *, delays: bool) -> None:
    """Refuse a kernel with unknown opcodes, or opcodes without a delay: all of them at once."""
    missing = missing_opcodes(kernel, own, delays=delays)
    opcodes = [lack for lack in missing if lack.lacks == "opcode"]
    without = [lack for lack in missing if lack.lacks == "delay"]
    parts = ([f"unknown opcodes: {_said(opcodes)}"] if opcodes else []) + (
        [f"opcodes without a delay in the thesis: {_said(without)}"] if without else [])
    if parts:
        raise UserError(f"{kernel.name}: {'; '.join(parts)}; give them with --latencies FILE.toml "
                        "(`cyclebound gpu latencies --help`)")
