"""A user's arrays and networks for the systolic accelerator, from files."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.user_arrays import array_in, arrays_in
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.systolic.models import Model, model_of_arrays
from cyclebound.sim.families.systolic.onnx import load_onnx

__all__ = ["load_array", "load_model"]

Tensor = NDArray[np.generic]


def load_array(path: Path) -> Tensor:
    """An array from a .npy file. Raises `UserError`."""
    try:
        return array_in(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UserError(f"{path} is no .npy file: {error}") from error


def load_model(path: Path, x: Tensor | None = None) -> Model:
    """A network from a file that ends in .npz or .onnx, for inputs such as ``x``.

    Raises `UserError` where it cannot be read, or holds what the accelerator cannot do.
    """
    if path.suffix == ".npz":
        try:
            arrays = arrays_in(path)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from error
        except ValueError as error:
            raise UserError(f"{path} is no .npz file: {error}") from error
        return model_of_arrays(arrays, x, path.stem)
    if path.suffix == ".onnx":
        return load_onnx(path, x)
    raise UserError(f"a model is a file that ends in .npz or .onnx, not {path}")
