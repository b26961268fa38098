from cyclebound.sim import audit  # before all that it watches

__all__ = ["audit"]
