"""Golden model of a pipeline that stands still as a whole."""

from typing import Generic, TypeVar

__all__ = ["PipelineModel"]

T = TypeVar("T")


class PipelineModel(Generic[T]):
    """A pipeline: an item leaves ``stages`` cycles after it entered, if nothing stalls.

    Nothing moves while the last stage holds something that is not taken.

    Parameters
    ----------
    stages : int
        Registers in a row.
    """

    def __init__(self, stages: int) -> None:
        self._places: list[T | None] = [None] * stages

    @property
    def empty(self) -> bool:
        return not any(place is not None for place in self._places)

    @property
    def shown(self) -> T | None:
        """The item that the last stage offers in this cycle, or None."""
        return self._places[-1]

    def takes(self, ready: bool) -> bool:
        """Whether an item is taken in this cycle."""
        return self.shown is None or ready

    def step(self, item: T | None, ready: bool) -> None:
        """End the cycle: ``item`` enters if it is taken."""
        if self.takes(ready):
            self._places = [item, *self._places[:-1]]
