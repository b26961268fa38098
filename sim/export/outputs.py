"""RTLIL in which no output port is connected to another bit of itself.

Where bits of a port are always equal, yosys keeps one of their drivers and connects the others to
that bit: ``active[2] = active[1]``. To tools that see vectors, this is a loop. Here such a port
gets a wire for each bit, and the port is made of these.
"""

import re

__all__ = ["split_outputs"]

_MODULE = re.compile(r"^module (\S+)\n(.*?)^end\n", re.DOTALL | re.MULTILINE)
_OUTPUT = re.compile(r"^  wire width (\d+) .*?output \d+ (?:signed )?\\(\S+)$", re.MULTILINE)
_CONNECT = re.compile(r"^  connect (.*)$", re.MULTILINE)
_LINE = re.compile(r"^ +connect .*$", re.MULTILINE)


def split_outputs(text: str) -> str:
    """The same modules, with a wire for each bit of an output that is connected to itself."""
    return _MODULE.sub(lambda found: f"module {found[1]}\n{_module(found[2])}end\n", text)


def _module(body: str) -> str:
    widths = {name: int(width) for width, name in _OUTPUT.findall(body)}
    looped: dict[str, None] = {}
    for line in _CONNECT.findall(body):
        target, source = (set(re.findall(r"\\(\S+)", half)) for half in _halves(line))
        looped |= dict.fromkeys(name for name in widths if name in target & source)
    for name in looped:
        body = _split(body, name, widths[name])
    return body


def _halves(line: str) -> tuple[str, str]:
    """What a connection drives, and with what."""
    # yosys writes no braces in braces
    target = re.sub(r"^(\{.*?\}|\S+(?: \[\d+(?::\d+)?\])?) .*", r"\1", line)
    return target, line[len(target):]


def _split(body: str, name: str, width: int) -> str:
    """One module's body, with wires for the bits of this output."""
    stem = name
    while any(re.search(rf"\\{re.escape(stem)}_{bit}(?=\s)", body) for bit in range(width)):
        stem += "_bit"
    bits = [f"\\{stem}_{bit}" for bit in range(width)]
    part = re.compile(rf"\\{re.escape(name)}(?: \[(\d+)(?::(\d+))?\])?(?=\s|$)")

    def line(found: re.Match) -> str:
        def wires(place: re.Match) -> str:
            high = int(place[1]) if place[1] else width - 1
            low = int(place[2]) if place[2] else high if place[1] else 0
            chosen = " ".join(reversed(bits[low:high + 1]))
            before = found[0][:place.start()]
            inside = high == low or before.count("{") > before.count("}")
            return chosen if inside else f"{{ {chosen} }}"
        return part.sub(wires, found[0])

    body = _LINE.sub(line, body)
    declared = "".join(f"  wire {bit}\n" for bit in bits)
    body = re.sub(rf"^  wire .* \\{re.escape(name)}\n", lambda found: found[0] + declared, body,
                  count=1, flags=re.MULTILINE)
    return f"{body}  connect \\{name} {{ {' '.join(reversed(bits))} }}\n"
