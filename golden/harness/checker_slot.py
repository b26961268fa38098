"""Model of a row of sticky fault flags, from the list of all faults so far."""

__all__ = ["CheckerModel"]


class CheckerModel:
    """Keeps every fault as ``(cycle, number)``; one call of `step` per cycle."""

    def __init__(self) -> None:
        self.faults: list[tuple[int, int]] = []
        self._cycle = 0

    def step(self, faults: int, *, clear: bool = False) -> None:
        if clear:
            self.faults = []
        else:
            self.faults += [(self._cycle, i) for i in range(faults.bit_length()) if faults >> i & 1]
        self._cycle += 1

    def summary(self) -> dict[str, int]:
        return {
            "failed": sum(1 << i for i in {number for _, number in self.faults}),
            "any": int(bool(self.faults)),
            "first_cycle": min((cycle for cycle, _ in self.faults), default=0),
        }
