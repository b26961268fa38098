"""Golden model of a memory channel: lines in a DRAM, which its controller reads and writes.

Source: SGMF, section 5 and Table 1 (memory channels below the second level); Sim-D, section 3.2
(the controller, with closed pages).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.dataflow.cache import LineAnswer, LineRequest
from cyclebound.golden.dataflow.channel_shape import SLOTS, ChannelShape
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.controller import ControllerShown, DramControllerModel
from cyclebound.golden.dram.part import Part
from cyclebound.golden.dram.request import BEAT_WORDS, BURST_WORDS

__all__ = ["ChannelModel"]


@dataclass
class _UnderWay:
    """A request, and the words that it has read so far."""

    request: LineRequest
    data: list[int]


class ChannelModel:
    """A channel and its controller, with the methods of `LineMemoryModel`.

    In each cycle `takes`, which runs the controller's, then `answer`, then `step`. After a reset
    it maps its lines as the controller's buffer 0, and takes requests from then on.

    Parameters
    ----------
    part : Part
        The DRAM.
    shape : ChannelShape
        Its lines.

    Attributes
    ----------
    controller : DramControllerModel
        With the device's data.
    shown : ControllerShown
        What the controller has shown in this cycle.
    """

    def __init__(self, part: Part, *, shape: ChannelShape) -> None:
        shape.check_part(part.name, part.bursts)
        self.shape, self.controller = shape, DramControllerModel(part)
        self.shown: ControllerShown | None = None
        self._mapping: Mapping | None = Mapping(0, x=shape.line, y=shape.lines)
        self._mapped = False
        self._slots: deque[_UnderWay] = deque()
        self._answer: LineAnswer | None = None
        self._next: LineAnswer | None = None
        none = ((0,) * BEAT_WORDS, 0)
        self._stores: deque[tuple[Sequence[int], int]] = deque([none, none])  # two cycles

    def load(self, words: Sequence[int]) -> None:
        """Put words into the DRAM, from address 0 on. Nothing may be under way."""
        for address, word in enumerate(words):
            self.controller.memory[address // BURST_WORDS][address % BURST_WORDS] = int(word)

    def line(self, number: int) -> list[int]:
        """The words of a line, as they are in the DRAM."""
        return [self.controller.memory[address // BURST_WORDS][address % BURST_WORDS]
                for address in range(number * self.shape.line, (number + 1) * self.shape.line)]

    @property
    def idle(self) -> bool:
        """Whether no request is under way. The last one's line may come in this cycle."""
        return not self._slots

    def takes(self, request: LineRequest | None) -> bool:
        """Whether this request is taken in this cycle."""
        offered = None
        if request is not None and self._mapped and len(self._slots) < SLOTS:
            offered = BufferRequest(0, y=request.line, words=self.shape.line, write=request.write)
        self.shown = shown = self.controller.step(
            mapping=self._mapping, request=offered, store=self._stores.popleft())
        self._move(shown)
        taken = request is not None and offered is not None and shown.takes_request
        if taken:
            assert request is not None
            self._slots.append(_UnderWay(request, [0] * self.shape.line))
        if self._mapping is not None and shown.takes_mapping:
            self._mapping = None
        self._mapped |= shown.mapped is not None
        return taken

    def _move(self, shown: ControllerShown) -> None:
        """Words of the oldest request, and its end."""
        words, enable = [0] * BEAT_WORDS, 0
        if shown.fetch is not None:
            request = self._slots[0].request
            for lane, target in enumerate(shown.fetch.targets):
                if shown.fetch.enable >> lane & 1:
                    words[lane] = request.data[target]
                    enable |= (request.mask >> target & 1) << lane
        self._stores.append((words, enable))
        if shown.deliver is not None:
            for lane, target in enumerate(shown.deliver.targets):
                if shown.deliver.enable >> lane & 1:
                    self._slots[0].data[target] = shown.deliver.words[lane]
        self._next = None
        if shown.completion is not None:
            over = self._slots.popleft()
            if not over.request.write:
                self._next = LineAnswer(over.request.id, tuple(over.data))

    def answer(self) -> LineAnswer | None:
        """The line that comes in this cycle."""
        return self._answer

    def step(self, taken: bool) -> None:
        """End the cycle."""
        self._answer = self._next
