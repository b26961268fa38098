"""A user's mistake: shown as one line, with exit status 2, and never as a traceback."""

import difflib
from collections.abc import Iterable

__all__ = ["UserError", "unknown"]


class UserError(Exception):
    """A message of one line: what is wrong, and what to do about it."""


def unknown(thing: str, name: str, names: Iterable[str]) -> UserError:
    """The error for a name that does not exist, with its nearest match or else all names."""
    names = sorted(set(names))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(names) or 'none'}"
    return UserError(f"no {thing} {name!r}; {hint}")
