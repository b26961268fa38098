"""The checks of a design in RTLIL (``Assert``, ``Assume``, ``Cover``): named, and made others.

Line by line, and not by `Design.read`: a proof's key is the text, and most of it is no check.
"""

import re
from collections.abc import Mapping

__all__ = ["labelled", "recast"]

_LABEL = "cyclebound_check_"


def labelled(rtlil: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """RTLIL whose checks have names of their own, and the kind and message of each.

    Tools report a failed assertion by its cell's name, and Amaranth's are numbers.
    """
    lines, name = rtlil.splitlines(), None
    labels: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(lines):
        words = line.split(None, 2)
        if words[:2] == ["cell", "$check"]:
            name = f"{_LABEL}{len(labels)}"
            labels[name] = "", ""
            lines[number] = f"  cell $check \\{name}"
        elif words[:1] == ["end"]:
            name = None
        elif name and words[:2] == ["parameter", "\\FLAVOR"]:
            labels[name] = words[2].strip('"'), labels[name][1]
        elif name and words[:2] == ["parameter", "\\FORMAT"]:
            text = re.sub(r"\\(.)", r"\1", words[2][1:-1])
            labels[name] = labels[name][0], text or name
    return "\n".join(lines) + "\n", labels


def recast(rtlil: str, flavors: Mapping[str, str]) -> str:
    """The design with checks made into other kinds, by their names."""
    name, lines = "", rtlil.splitlines()
    for number, line in enumerate(lines):
        words = line.split(None, 2)
        if words[:2] == ["cell", "$check"]:
            name = words[2].removeprefix("\\")
        elif words[:2] == ["parameter", "\\FLAVOR"] and name in flavors:
            lines[number] = f'    parameter \\FLAVOR "{flavors[name]}"'
    return "\n".join(lines) + "\n"
