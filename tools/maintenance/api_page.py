"""Writes docs/api.md from docstrings:
``python -m cyclebound.tools.maintenance.api_page > docs/api.md``."""

import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator

__all__ = ["page"]

_PARTS = (
    ("A block and what belongs to it", "cyclebound.sim.describe.block", (
        "Block", "Configuration", "Testbench", "BoundBinding", "Property", "FpgaTarget",
        "Picture")),
    ("Registers", "cyclebound.golden.register_table", (
        "RegisterTable", "RegisterRow", "RegisterField", "Command")),
    ("Blocks in Verilog and VHDL", "cyclebound.sim.netlist.verilog_module", ("VerilogModule",)),
    ("Bounds", "cyclebound.golden.bound", (
        "bound", "prediction", "rate", "Range", "NotCovered", "Bound")),
    ("Bounds as formulas", "cyclebound.golden.formula", ("formula_bound", "as_bound")),
    ("The bench of a testbench", "cyclebound.tb.bench", ("testbench", "Bench")),
    ("Ports on packed buses", "cyclebound.tb.bus", ("Bus", "Field")),
    ("Probes", "cyclebound.tb.probe", ("Probe", "taken", "offered")),
    ("Expressions", "cyclebound.tb.expression", ()),
    ("A bound in any testbench", "cyclebound.tb.monitor", ("BoundMonitor",)),
)
_ABOUT = ("Made from docstrings by `python -m cyclebound.tools.maintenance.api_page > "
          "docs/api.md`; a test keeps it current. [A block of your own](your-own-block.md) shows "
          "these classes in use, and "
          "[bounds on any waveform](check.md) those at the end.")
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def page() -> str:
    """The whole page, as Markdown."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield from ("# API reference", "", _ABOUT, "")
    for title, module_name, names in _PARTS:
        module = importlib.import_module(module_name)
        yield from (f"## {title}", "", f"`{module_name}`", "")
        if not names:
            yield from _document(inspect.getdoc(module))
        for name in names:
            thing = getattr(module, name)
            yield from (f"### `{name}`", "")
            if not (inspect.isclass(thing) and "NotCovered" in name):
                yield from ("```python", *_signature(name, thing), "```", "")
            yield from _document(inspect.getdoc(thing))
            if inspect.isclass(thing):
                yield from _members(thing)


def _signature(name: str, thing: Callable) -> Iterator[str]:
    """The call, a line if it fits, else a line for each argument."""
    call = thing.__init__ if inspect.isclass(thing) else thing
    taken = [parameter for parameter in inspect.signature(call).parameters.values()
             if parameter.name != "self"]
    arguments = [str(parameter.replace(annotation=parameter.empty)).replace("<factory>", "...")
                 for parameter in taken]
    first = next((n for n, parameter in enumerate(taken)
                  if parameter.kind is parameter.KEYWORD_ONLY), None)
    if first is not None and not any(parameter.kind is parameter.VAR_POSITIONAL
                                     for parameter in taken):
        arguments.insert(first, "*")
    last = max((n for n, parameter in enumerate(taken)
                if parameter.kind is parameter.POSITIONAL_ONLY), default=-1)
    if last >= 0:
        arguments.insert(last + 1, "/")
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= 92:
        yield line
        return
    yield f"{name}("
    yield from (f"    {argument}," for argument in arguments)
    yield ")"


def _members(owner: type) -> Iterator[str]:
    """The documented public methods and properties of a class."""
    for name, member in vars(owner).items():
        if name.startswith("_"):
            continue
        inner = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        if isinstance(member, property | functools.cached_property) and member.__doc__:
            yield from (f"#### `{owner.__name__}.{name}`", "")
        elif inspect.isfunction(inner) and inner.__doc__:
            call = next(iter(_signature(name, inner)))
            waits = "await " * inspect.iscoroutinefunction(inner)
            shown = call if call.endswith(")") else f"{name}(...)"
            yield from (f"#### `{waits}{owner.__name__}.{shown}`", "")
        else:
            continue
        yield from _document(inspect.getdoc(member))


def _document(text: str | None) -> Iterator[str]:
    """A docstring in the style of numpy, as Markdown."""
    text = re.sub(r"``(.+?)``", r"`\1`", text or "")
    before, *sections = _HEADING.split(text)
    yield from (*before.rstrip().splitlines(), "")
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        yield from (f"**{title}**", "")
        entry: list[str] = []
        for line in [*body.strip("\n").splitlines(), "end : x"]:
            if line[:1].strip() and " : " in line:
                if entry:
                    yield from _entry(entry)
                entry = [line]
            elif line[:1].strip():  # a paragraph between them
                if entry:
                    yield from _entry(entry)
                entry = []
                yield from ("", line) if line.strip() else ()
            elif line.strip() and entry:
                entry.append(line.strip())
            elif line.strip():
                yield line.strip()
        yield ""


def _entry(lines: list[str]) -> Iterator[str]:
    names, _, kind = lines[0].partition(" : ")
    yield f"- `{names}` ({kind}): {' '.join(lines[1:])}"


if __name__ == "__main__":
    print(page(), end="")
