"""Checks of parameters that all components share: those of models and specifications."""

from cyclebound.golden.parameters import check_integer, check_power_of_two

__all__ = ["check_integer", "check_power_of_two"]
