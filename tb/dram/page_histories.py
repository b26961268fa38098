"""Requests to a page controller of which the last one has to wait as long as a rule can make it."""

__all__ = ["LONGEST"]

_READ, _WRITE = False, True
LONGEST = {
    "a precharge after a write, or the activate's": ((_WRITE, 0, 0), (_READ, 0, 1)),
    "a precharge after a read": ((_READ, 0, 0), (_READ, 0, 1)),
    "an activate after another": ((_WRITE, 0, 0), (_READ, 1, 0)),
    "a fifth activate": (*((_WRITE, bank, 0) for bank in range(4)), (_READ, 4, 0)),
    "a read after a write": ((_WRITE, 0, 0), (_READ, 0, 0)),
    "a read after a read": ((_READ, 0, 0), (_READ, 0, 0)),
    "a write after a read": ((_READ, 0, 0), (_WRITE, 0, 0)),
    "a write after a write": ((_WRITE, 0, 0), (_WRITE, 0, 0)),
}
"""By what the last one waits for: requests (writes, bank, row) that find all banks closed."""
