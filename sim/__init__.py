from cyclebound.sim.base import audit  # before all that it watches

__all__ = ["audit"]
