"""What signals of a simulated design are, in cocotb 1.9 and in 2."""

from typing import Any

from cocotb import handle as handles
from cocotb.handle import HierarchyArrayObject, IntegerObject

__all__ = ["ARRAYS", "SIGNALS", "Handle", "indexes", "width"]

Handle = Any
"""A handle of cocotb, whose classes differ between its versions."""

SIGNALS: tuple[type, ...]
"""Classes of what has bits."""
ARRAYS: tuple[type, ...]
"""Classes of what has elements that are signals, or scopes."""

if hasattr(handles, "LogicObject"):
    SIGNALS = (handles.LogicObject, handles.LogicArrayObject, handles.PackedObject, IntegerObject)
    ARRAYS = (handles.ArrayObject, HierarchyArrayObject)
else:  # 1.9, where a real number is a signal, too, and each signal has elements
    SIGNALS = (vars(handles)["ModifiableObject"], vars(handles)["ConstantObject"])
    ARRAYS = (vars(handles)["NonHierarchyIndexableObject"], HierarchyArrayObject)


def width(handle: Handle) -> int:
    """Bits of a signal."""
    if isinstance(handle, IntegerObject):
        return 32
    try:
        return len(handle)
    except TypeError:  # one bit, in 2
        return 1


def indexes(handle: Handle) -> list[int]:
    """The indexes of an array's elements, from the least."""
    if hasattr(handle, "range"):
        return sorted(handle.range)
    if isinstance(handle, HierarchyArrayObject):
        return sorted(int(child._name.rpartition("[")[2].rstrip("]")) for child in handle)
    left, right = handle._range
    return list(range(min(left, right), max(left, right) + 1))
