"""Golden model of data through the DRAM controller: requests in order, each at once, in numpy.

Ref: Sim-D, sections 3.2.1, 3.2.3 and 3.2.4.
"""

from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.controller import words_moved
from cyclebound.golden.dram.data_harness import has_word, indexes_of, mixed, signature
from cyclebound.golden.dram.request import TARGET_BITS, Destination, Refusal
from cyclebound.golden.dram.snoop_cam import Load

__all__ = ["DataRequest", "DramDataModel", "Lane", "Result"]


@dataclass(frozen=True)
class DataRequest:
    """A request, and what its words and indexes are: see the harness' ``DataRequestLayout``."""

    request: BufferRequest
    seed: int = 0
    holes: bool = False
    span: int = 1
    length: int = 0


@dataclass(frozen=True)
class Result:
    """Result of a request: its refusal, the number of words delivered, and their sum."""

    refusal: Refusal
    words: int = 0
    sum: int = 0


@dataclass
class Lane:
    """A lane of the CAM."""

    index: int = 0
    data: int = 0
    armed: bool = False
    hit: bool = False


class DramDataModel:
    """Memory and CAM, one call a request.

    Parameters
    ----------
    window_bits : int
        Words whose addresses agree in this number of low bits are one word.
    lanes : int
        Of the CAM.

    Attributes
    ----------
    memory : numpy.ndarray
        Words, uint32; zeros at first.
    lanes : list of Lane
        The CAM.
    buffers : dict
        Mapped buffers by number.
    """

    def __init__(self, *, window_bits: int, lanes: int) -> None:
        self.memory = np.zeros(1 << window_bits, dtype=np.uint32)
        self.lanes = [Lane() for _ in range(lanes)]
        self.buffers: dict[int, Mapping] = {}

    def load(self, load: Load) -> None:
        """Load a lane of the CAM: index, data, and whether it is armed."""
        self.lanes[load.lane] = Lane(load.index, load.data, load.armed)

    def carry_out(self, data_request: DataRequest) -> Result:
        """One request, from its first word to its last."""
        request = data_request.request
        indexes = indexes_of(data_request.seed, data_request.span,
                             data_request.length if request.indexed else 0)
        refusal, addresses, targets = words_moved(
            self.buffers.get(request.buffer), request, indexes,
            (request.base + np.arange(len(indexes), dtype=np.int64)) % (1 << TARGET_BITS))
        places = addresses % len(self.memory)
        snoopy = request.destination == Destination.CAM
        if not request.write:
            words = self.memory[places]
            if snoopy:
                self._capture(targets, words)
            return Result(refusal, len(words), signature(words, targets))
        words = mixed(data_request.seed, targets)
        there = has_word(words) if data_request.holes else np.ones(len(words), dtype=bool)
        if snoopy:
            words, there = self._held(targets)
        # of equal places, the last one stays
        self.memory[places[there]] = words[there]
        return Result(refusal)

    def _capture(self, targets: np.ndarray, words: np.ndarray) -> None:
        for lane in self.lanes:
            if lane.armed:
                for at in np.flatnonzero(targets == lane.index):
                    lane.data, lane.hit = int(words[at]), True

    def _held(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words that some lane has for these targets, and where there is one."""
        words, there = np.zeros(len(targets), dtype=np.uint64), np.zeros(len(targets), dtype=bool)
        for lane in reversed(self.lanes):  # the lowest one comes last
            if lane.armed:
                here = targets == lane.index
                words[here], there[here] = lane.data, True
        return words, there
