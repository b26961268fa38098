"""Proofs of a block's properties."""

from dataclasses import dataclass, field

__all__ = ["Proof"]


@dataclass
class Proof:
    """What became of one property for one set of parameters.

    Attributes
    ----------
    status : str
        ``proved`` (for any number of cycles), ``bounded`` (no counterexample up to ``depth``
        cycles, induction failed or was not asked for), ``failed`` (a counterexample).
    depth : int
        Cycles of the bounded check.
    induction : int or None
        The depth at which induction closed.
    """

    block: str
    property: str
    says: str
    parameters: dict = field(default_factory=dict)
    status: str = "failed"
    depth: int = 0
    induction: int | None = None
    method: str = ""
    seconds: float = 0.0
    cached: bool = False
    detail: str = ""
