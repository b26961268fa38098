"""TOML from users, with the line of a value for messages."""

import tomllib
from collections.abc import Sequence

__all__ = ["line_of", "load_toml", "shown"]


def load_toml(text: str) -> dict[str, object]:
    """The tables of a text. Raises `ValueError`; the parser's message has the line."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"not TOML: {error}") from None


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line in which a value first is there: the end of the shortest beginning that has it."""
    lines = text.split("\n")
    for number in range(1, len(lines) + 1):
        try:
            inner = tomllib.loads("\n".join(lines[:number]))
            for name in path:
                inner = inner[name]
        except (tomllib.TOMLDecodeError, KeyError, IndexError, TypeError):
            continue
        return number
    return len(lines)


def shown(value: object) -> str:
    """A value for a message, in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
