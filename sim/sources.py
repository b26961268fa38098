"""What results depend on: a hash of all code."""

import functools
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cyclebound.golden
import cyclebound.hdl
import cyclebound.sim
import cyclebound.tb
import cyclebound.tools
from cyclebound.sim import catalogue
from cyclebound.sim.errors import UserError

__all__ = ["commit", "sources"]


@functools.cache
def sources(pages: tuple[str, ...]) -> str:
    """A hash of all code that a result may depend on: this project's and the pages' folders'."""
    digest = hashlib.sha256()
    roots = [Path(package.__file__).parent for package in
             (cyclebound.golden, cyclebound.hdl, cyclebound.sim, cyclebound.tb, cyclebound.tools)]
    catalogue.load(pages)
    for page in pages:
        roots.append(Path(sys.modules[page].__file__).parent)
    for root in roots:
        for path in _modules(root):
            try:
                content = path.read_bytes()
            except OSError as error:
                raise UserError(f"cannot read {path}, which lies beside catalogue pages or below "
                                f"them: {error.strerror}") from error
            digest.update(str(path.relative_to(root)).encode() + b"\0" + content)
    return digest.hexdigest()


def commit() -> str:
    """The commit that this project's code is of, ``-dirty`` after it if files differ from it.

    ``-`` for an installed package, which is of none, wherever it is installed.
    """
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True,
                              text=True)
        return "" if done.returncode else done.stdout.strip()

    try:
        ours = git("ls-files", "--error-unmatch", Path(__file__).name)
        return (ours and git("describe", "--always", "--dirty", "--abbrev=12")) or "-"
    except OSError:
        return "-"


def _modules(root: Path) -> Iterator[Path]:
    """All Python files below ``root``, but not those of an environment that lives there too.

    What Python cannot import is none: a link to nowhere (an editor's lock on a file), a pipe.
    """
    for here, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders
                            if not name.startswith(".") and name not in ("site-packages", "runs")
                            and not Path(here, name, "pyvenv.cfg").exists())
        yield from (path for name in sorted(files) if name.endswith(".py")
                    and (path := Path(here, name)).is_file())
