"""Kernels that an installation brings along: ``.sas`` files in the folder ``sas``."""

from pathlib import Path

__all__ = ["KERNELS", "kernel_path"]

_FOLDER = Path(__file__).parent / "sas"

KERNELS = tuple(sorted(path.stem for path in _FOLDER.glob("*.sas")))
"""Their names."""


def kernel_path(name: str) -> Path:
    """The file of an installed kernel. Raises `ValueError` for an unknown name."""
    if name not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, not {name!r}")
    return _FOLDER / f"{name}.sas"
