"""Golden model of the DFI controller: which words each request delivers, and which it writes.

When, is for probes and bounds to say, and for the device to judge.

Ref: Sim-D, section 3.2.
"""

from collections import defaultdict
from collections.abc import Callable

from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.controller import words_moved
from cyclebound.golden.dram.request import Refusal

__all__ = ["DfiControllerModel"]


class DfiControllerModel:
    """Memory by words, and requests that are carried out one after the other.

    Parameters
    ----------
    content : Callable[[int], int]
        What a word holds at first, by its address.
    """

    def __init__(self, content: Callable[[int], int]) -> None:
        self.buffers: dict[int, Mapping] = {}
        self.memory: defaultdict[int, int] = defaultdict(int)
        self._content = content

    def word(self, address: int) -> int:
        """The word at an address, in words."""
        return self.memory[address] if address in self.memory else self._content(address)

    def carry_out(self, request: BufferRequest, indexes: tuple[int, ...] = (),
                  targets: tuple[int, ...] = (), *, store: Callable[[int], int] = int
                  ) -> tuple[Refusal, dict[int, int]]:
        """Carry out a request: its refusal, and the words that it delivers, by target.

        ``store`` gives the chip's word for a target, for writes.
        """
        refusal, addresses, goals = words_moved(self.buffers.get(request.buffer), request, indexes,
                                                targets)
        delivered = {}
        for address, target in zip(addresses.tolist(), goals.tolist(), strict=True):
            if request.write:
                self.memory[address] = store(target)
            else:
                delivered[target] = self.word(address)
        return refusal, delivered
