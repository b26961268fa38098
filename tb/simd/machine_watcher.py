"""Base class of the checkers of the accelerator's parts: they have the machine's sizes."""

from cyclebound.tb.watcher import Watcher

__all__ = ["MachineWatcher"]


class MachineWatcher(Watcher):
    """Has every port of its target as an input, and its sizes.

    Parameters
    ----------
    target : wiring.Component
        What to watch, or anything with the same members and ``machine``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    machine : Machine
        The target's.
    """

    def __init__(self, target):
        super().__init__(target)
        self.machine = target.machine
