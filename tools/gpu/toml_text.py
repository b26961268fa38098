"""TOML from users, with the line of a value for messages."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from cyclebound.golden import user_files

__all__ = ["Reader", "line_of", "load_toml", "shown", "toml_text"]

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST = 50  # lines of a value that are gone through for a message
_PARSED = 1 << 22  # characters that are parsed for a message


def load_toml(text: str) -> dict[str, object]:
    """The tables of a text. Raises `ValueError`; the parser's message has the line."""
    try:
        return user_files.load_toml(text)
    except ValueError as error:
        raise ValueError(f"not TOML: {error}") from None


def toml_text(tables: Mapping[str, Any]) -> str:
    """TOML of values, then tables and arrays of tables; what these hold is written inline.

    Texts, numbers, truth values, lists and tables, as `load_toml` reads them.
    """
    def is_table(value: object) -> bool:
        return isinstance(value, Mapping) or (isinstance(value, list) and bool(value)
                                              and all(isinstance(one, Mapping) for one in value))

    lines = [f"{_key(name)} = {_inline(value)}" for name, value in tables.items()
             if not is_table(value)]
    lines += [""] * bool(lines)
    for name, value in tables.items():
        for table in (value if isinstance(value, list) else [value]) if is_table(value) else ():
            lines += [f"[[{_key(name)}]]" if isinstance(value, list) else f"[{_key(name)}]",
                      *(f"{_key(key)} = {_inline(inner)}" for key, inner in table.items()), ""]
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _inline(name)


def _inline(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():  # JSON's escapes are TOML's
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case [Mapping(), *_]:  # a line each
            return "[\n{}]".format("".join(f"    {_inline(one)},\n" for one in value))
        case list() | tuple():
            return f"[{', '.join(map(_inline, value))}]"
        case Mapping():
            inner = ", ".join(f"{_key(key)} = {_inline(one)}" for key, one in value.items())
            return f"{{{inner}}}"
    return str(value)


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line where a value begins, or the last one if it is not found."""
    lines = text.split("\n")
    left = _PARSED
    word = next((key for key in reversed(path) if isinstance(key, str)), "")
    for first, line in enumerate(lines, 1):
        if word not in line:
            continue  # where its name is not, it does not begin
        for number in range(first, min(first + _LONGEST, len(lines)) + 1):
            beginning = "\n".join(lines[:number])
            if (left := left - len(beginning)) < 0:
                return len(lines)
            try:
                inner: Any = tomllib.loads(beginning)
            except tomllib.TOMLDecodeError:
                continue  # within a value of several lines
            try:
                for name in path:
                    inner = inner[name]
            except (KeyError, IndexError, TypeError):
                break
            return first
    return len(lines)


def shown(value: object) -> str:
    """A value for a message, in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Reader:
    """Checks values of a file and names their lines."""

    def __init__(self, text: str) -> None:
        self._text = text

    def refuse(self, path: list, must: str, value: object) -> ValueError:
        """The error for a value; numbers in a path count from 1 in the message."""
        name = ".".join(str(key + 1) if isinstance(key, int) else key for key in path)
        return ValueError(f"line {line_of(self._text, path)}: {name} must be {must}, not "
                          f"{shown(value)}")

    def table(self, path: list, value: object, names: tuple[str, ...]) -> Mapping:
        """A table with no other names than these."""
        if not isinstance(value, dict):
            raise self.refuse(path, "a table", value)
        for name in value:
            if name not in names:
                if not names:
                    raise self.refuse(path, "a table without entries", value)
                raise self.refuse([*path, name], f"one of {', '.join(names)}", name)
        return value

    def tables(self, path: list, value: object) -> list:
        """An array of tables that is not empty."""
        if not isinstance(value, list) or not value:
            raise self.refuse(path, "at least one table", value)
        return value

    def number(self, path: list, table: Mapping, default: int | None = None) -> int:
        """A whole number under the path's last name; needed where there is no default."""
        value = table.get(path[-1], default)
        if isinstance(value, bool) or not isinstance(value, int):
            where = path if path[-1] in table else path[:-1]
            raise self.refuse(where, "a whole number" if path[-1] in table else
                              f"a table with {path[-1]}", value if path[-1] in table else table)
        return value

    def text(self, path: list, table: Mapping, among: tuple[str, ...] | None = None,
             default: str | None = None) -> str:
        """A text under the path's last name, maybe one of a few."""
        value = table.get(path[-1], default)
        if not isinstance(value, str) or not value or (among and value not in among):
            where = path if path[-1] in table else path[:-1]
            raise self.refuse(where, f"one of {', '.join(among)}" if among else
                              f"a text for {path[-1]}", value)
        return value

    def at(self, path: list, make: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call ``make``, and add the line of a path to an error that it raises."""
        try:
            return make(*arguments, **named)
        except (TypeError, ValueError) as error:
            raise ValueError(f"line {line_of(self._text, path)}: {error}") from None
