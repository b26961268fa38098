"""Whether a value has the type that an annotation names, for what comes from files and users.

A dataclass does not check its fields. Rows of a results file and pages of a catalogue are checked
against the annotations of the classes that they become, so that every later line may rely on them.
"""

import collections.abc
import functools
import math
import re
import types
import typing
from collections.abc import Mapping, Sequence

__all__ = ["cleaned", "fields_of", "misfit", "row_misfit", "shown"]

_LARGEST = 1 << 63  # what SQLite and numpy hold
# ASCII and C1 controls but tab and newline, halves of surrogate pairs, and what XML forbids
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false",
          dict: "a mapping", list: "a list", tuple: "a tuple", type(None): "nothing",
          range: "a range", object: "anything"}


def shown(value: object) -> str:
    """A value for an error message: its repr in at most 60 printable characters."""
    try:
        text = _CONTROL.sub("?", repr(value)).replace("\n", " ")
    except Exception:  # a huge integer has none, and a user's class may do anything
        text = f"an object of class {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def cleaned(value: typing.Any) -> typing.Any:
    """Text without control characters, which a terminal obeys and XML forbids, however deep."""
    if isinstance(value, str):
        return _CONTROL.sub("?", value)
    if isinstance(value, dict):
        return {cleaned(name): cleaned(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [cleaned(inner) for inner in value]
    return value


def misfit(value: object, wanted: object, thing: str) -> str | None:
    """Say why ``value`` does not fit the annotation ``wanted``; None if it fits.

    Integers must fit into 64 bits and numbers be finite. Lists and tuples stand for each other,
    and a text is neither.
    """
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        misfits = [misfit(value, kind, thing) for kind in inner]
        if None in misfits:
            return None
        if len(inner) == 1:
            return misfits[0]
        return _must(thing, " or ".join(map(_named, inner)), value)
    if origin is collections.abc.Callable:
        return None if callable(value) else _must(thing, "callable", value)
    if (origin or wanted) in (dict, Mapping):
        return _mapping(value, inner, thing)
    if (origin or wanted) in (list, tuple, Sequence):
        return _sequence(value, origin, inner, thing)
    if wanted in (object, typing.Any) or not isinstance(wanted, type):
        return None
    fits = (isinstance(value, int | float) if wanted is float else isinstance(value, wanted)) and (
        wanted not in (int, float) or not isinstance(value, bool))
    if not fits:
        return _must(thing, _named(wanted), value)
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return _must(thing, "a number of 64 bits", value)
    if isinstance(value, float) and not math.isfinite(value):
        return _must(thing, "finite", value)
    return None


def _must(thing: str, be: str, value: object) -> str:
    return f"{thing} must be {be}, not {shown(value)}"


def _named(wanted: object) -> str:
    base = typing.get_origin(wanted) or wanted
    if base is collections.abc.Callable:
        return "callable"
    if base is Mapping:
        return "a mapping"
    if base is Sequence:
        return "a list"
    name = _NAMES.get(base) if isinstance(base, type) else None
    return name or f"a {getattr(base, '__name__', base)}"


def _mapping(value: object, inner: tuple, thing: str) -> str | None:
    if not isinstance(value, Mapping):
        return _must(thing, "a mapping", value)
    key_type, value_type = inner or (str, object)  # every mapping of ours has names
    for key, item in value.items():
        if wrong := (misfit(key, key_type, f"a name in {thing}")
                     or misfit(item, value_type, f"{thing}[{shown(key)}]")):
            return wrong
    return None


def _sequence(value: object, origin: object, inner: tuple, thing: str) -> str | None:
    if not isinstance(value, list | tuple):
        return _must(thing, "a tuple" if origin is tuple else "a list", value)
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        if len(value) != len(inner):
            return _must(thing, f"a tuple of {len(inner)}", value)
        kinds = inner
    else:
        kinds = (inner[0] if inner else object,) * len(value)
    for number, (item, kind) in enumerate(zip(value, kinds, strict=True)):
        if wrong := misfit(item, kind, f"{thing}[{number}]"):
            return wrong
    return None


@functools.cache
def fields_of(cls: type) -> Mapping[str, object]:
    """The names and annotations of a dataclass's fields."""
    return typing.get_type_hints(cls)


def row_misfit(row: object, cls: type, thing: str) -> str | None:
    """Say why a mapping cannot become a ``cls`` (an unknown field, a missing one, a wrong type);
    None if it can."""
    if not isinstance(row, dict):
        return _must(thing, "a mapping", row)
    wanted = fields_of(cls)
    for name in row:
        if name not in wanted:
            return f"{thing} has the unknown field {shown(name)}"
    for name, kind in wanted.items():
        if name not in row:
            return f"{thing} lacks the field {name!r}"
        if wrong := misfit(row[name], kind, f"{name} of {thing}"):
            return wrong
    return None
