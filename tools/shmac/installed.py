"""Programs that an installation brings along: files in the folder ``programs``."""

from pathlib import Path

__all__ = ["PROGRAMS", "program_path"]

_FOLDER = Path(__file__).parent / "programs"
_FILES = {path.stem: path for path in sorted(_FOLDER.iterdir()) if path.suffix in (".c", ".s")}

PROGRAMS = tuple(_FILES)
"""Their names."""


def program_path(name: str) -> Path:
    """The file of an installed program. Raises `ValueError` for an unknown name."""
    if name not in _FILES:
        raise ValueError(f"program must be one of {', '.join(PROGRAMS)}, not {name!r}")
    return _FILES[name]
