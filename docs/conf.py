"""The documentation as a site with a search: ``make docs`` (see `CONTRIBUTING.md`).

Pages are Markdown, as a forge shows them. Those of ``modules/`` are made here, one for each folder
of models, hardware and testbenches, from docstrings.
"""

import importlib
import inspect
import shutil
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from sphinx.ext.napoleon import Config, NumpyDocstring

_DOCS = Path(__file__).parent
_MEASURING = ("performance.py",)  # testbenches of the simulator itself: none but it imports them
_PACKAGE = _DOCS.parent / ".paths" / "cyclebound"
sys.path.insert(0, str(_PACKAGE.parent))

project = "Cyclebound"
author = "the authors of Cyclebound"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = project
html_copy_source = False
html_show_copyright = False
exclude_patterns = ["parts"]
# A type in a docstring is a class of that name; several modules may have one.
suppress_warnings = ["ref.python"]
myst_heading_anchors = 6
autodoc_default_options = {"members": True}
autodoc_typehints = "none"  # types are in the sections of docstrings
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_ivar = True  # fields of a dataclass are described once
default_role = "code"  # `name` in docstrings


def _module_pages() -> None:
    folders: dict[str, list[str]] = defaultdict(list)
    for part in ("golden", "hdl", "tb"):
        for path in sorted((_PACKAGE / part).rglob("*.py")):
            if path.name not in ("__init__.py", *_MEASURING):
                name = path.relative_to(_PACKAGE).with_suffix("").as_posix().replace("/", ".")
                folders[name.rpartition(".")[0]].append(f"cyclebound.{name}")
    made = _DOCS / "modules"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    for folder, modules in folders.items():
        parts = [_titled(f"``{folder}``", "=")]
        for module in modules:
            parts += [_titled(f"``{module}``", "-"), f".. automodule:: {module}\n",
                      *_bounds(module)]
        (made / f"{folder}.rst").write_text("\n".join(parts))
    listed = "\n".join(f"   {folder}" for folder in folders)
    (made / "index.rst").write_text(
        f"{_titled('Modules', '=')}\nModels and bounds, hardware, and testbenches, from their "
        f"docstrings.\n\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n")


def _bounds(module: str) -> Iterator[str]:
    """Bounds, predictions and rates of a module: to autodoc, they are values like any other."""
    from cyclebound.golden.bound import Bound

    if not module.startswith("cyclebound.golden."):
        return
    for name, claim in vars(importlib.import_module(module)).items():
        if isinstance(claim, Bound) and claim.function.__module__ == module:
            facts = [claim.kind, f"``{' '.join(claim.formula.split())}``", claim.source]
            said = NumpyDocstring(inspect.getdoc(claim.function) or "", Config(
                napoleon_google_docstring=False))
            where = f"\n\nEnvironment: {claim.environment}." if claim.environment else ""
            text = f"*{facts[0]}*: {facts[1]} ({facts[2]}){where}\n\n{said}"
            yield (f".. py:function:: {module}.{name}({', '.join(claim.parameters)})\n\n"
                   f"{textwrap.indent(text, '   ')}\n")


def _titled(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}\n"


_module_pages()
