"""Golden model of the special unit (SGMF, sections 4.2 and 5.2.1)."""

__all__ = ["SpecialUnitModel"]


class SpecialUnitModel:
    """To come."""
