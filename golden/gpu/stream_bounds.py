"""Response-time bounds for streams, whatever the arrival times and the placement of blocks.

Source: this project; derivations in `docs/gpu.md`, "Streams". The response of an operation counts
from its launch to its end; where operations of its own stream are ahead of it, they count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.gpu.streams import Gpu, Operation, Stream, check_streams

__all__ = ["OperationBound", "StreamBounds", "stream_bounds"]

_ROUNDS = 10000


@dataclass(frozen=True)
class OperationBound:
    """The response-time bound of one operation.

    Attributes
    ----------
    assign : int
        At the head of the compute queue, until its last block is assigned: the rest of what runs,
        and all but the last of its own waves.
    service : int or None
        From the head of its stream to its end; None where only the busy period bounds it.
    response : int
        From its launch to its end.
    """

    stream: str
    operation: str
    assign: int
    service: int | None
    response: int


@dataclass(frozen=True)
class StreamBounds:
    """The response-time bounds of a set of streams.

    Attributes
    ----------
    rule : str
        ``"queues"``, ``"priorities"`` or ``"busy period"``.
    problem : str or None
        Why there is no bound: then ``operations`` is empty.
    """

    rule: str
    operations: tuple[OperationBound, ...]
    problem: str | None = None


def _assign(gpu: Gpu, stream: Stream, operation: Operation, streams: Sequence[Stream], *,
            blocking: bool) -> int:
    """Until the last block of the head is assigned.

    The blocks that run then belong to other streams and end within their greatest time, after
    which the SMs hold no other kernel's blocks; every further wave takes one block's time.
    """
    if not operation.blocks:
        return 0
    running = max((operation.time for other in streams if other.name != stream.name
                   for operation in other.operations if operation.blocks),
                  default=0) if blocking else 0
    waves = -(-operation.blocks // (gpu.sms * operation.resident(gpu)))
    return running + (waves - 1) * operation.time


def stream_bounds(gpu: Gpu, streams: Sequence[Stream], *, blocking: bool = True) -> StreamBounds:
    """Bounds for every operation of every stream.

    Parameters
    ----------
    blocking : bool
        False leaves out the rest of what runs when a kernel comes to the head. That is wrong; the
        search for adversarial arrivals is tested with it.
    """
    check_streams(gpu, streams)
    assign = {(stream.name, operation.name, number): _assign(gpu, stream, operation, streams,
                                                             blocking=blocking)
              for stream in streams for number, operation in enumerate(stream.operations)}

    def of(stream: Stream, number: int) -> int:
        return assign[stream.name, stream.operations[number].name, number]

    if any(stream.null for stream in streams):
        return _busy_period(streams, of)
    rule = "priorities" if len({stream.high for stream in streams}) > 1 else "queues"
    services: dict[str, list[int]] = {}
    # higher priorities first: lower ones read how often they may come in between
    for stream in sorted(streams, key=lambda stream: not stream.high):
        times = []
        for number, operation in enumerate(stream.operations):
            service = _service(stream, number, operation, streams, of)
            if service is None:
                return StreamBounds(rule, (), f"{operation.name} of {stream.name}: streams of high "
                                    "priority may keep it waiting for ever")
            times.append(service)
        services[stream.name] = times
        if stream.period is not None and sum(times) > stream.period:
            return StreamBounds(rule, (), f"stream {stream.name} may take {sum(times)}, more than "
                                f"its period of {stream.period}: launches may pile up")
    return StreamBounds(rule, tuple(
        OperationBound(stream.name, operation.name, of(stream, number),
                       services[stream.name][number], sum(services[stream.name][:number + 1]))
        for stream in streams for number, operation in enumerate(stream.operations)))


def _service(stream: Stream, number: int, operation: Operation, streams: Sequence[Stream], of
             ) -> int | None:
    """From the head of its stream to the end."""
    others = [other for other in streams if other.name != stream.name]
    if not operation.blocks:  # the copy engine is one queue
        return operation.time + sum(max((operation.time for operation in other.operations
                                         if not operation.blocks), default=0) for other in others)
    ahead = sum(max((of(other, index) for index, operation in enumerate(other.operations)
                     if operation.blocks), default=0)
                for other in others if other.high == stream.high)
    least = ahead + of(stream, number)
    if stream.high:
        return least + operation.time
    higher = [other for other in others if other.high]
    waiting = least
    for _ in range(_ROUNDS):  # every kernel of high priority that can come in this time
        more = sum(_launches(other, waiting + operation.time) * (of(other, index) + rival.time)
                   for other in higher for index, rival in enumerate(other.operations)
                   if rival.blocks)
        if least + more == waiting:
            return waiting + operation.time
        waiting = least + more
    return None


def _launches(stream: Stream, window: int) -> int:
    """How many launches of a stream's list can be pending within a window: one from before."""
    return 1 if stream.period is None else -(-window // stream.period) + 1


def _busy_period(streams: Sequence[Stream], of) -> StreamBounds:
    """With a null stream, every operation may wait for every other one of the busy period."""
    demand = {stream.name: sum(of(stream, number) + operation.time
                               for number, operation in enumerate(stream.operations))
              for stream in streams}
    length = sum(demand.values())
    for _ in range(_ROUNDS):
        longer = sum(demand[stream.name] * (
            1 if stream.period is None else -(-length // stream.period)) for stream in streams)
        if longer == length:
            return StreamBounds("busy period", tuple(
                OperationBound(stream.name, operation.name, of(stream, number), None, length)
                for stream in streams for number, operation in enumerate(stream.operations)))
        length = longer
    return StreamBounds("busy period", (), "the streams ask for more than the device has: a busy "
                        "period has no end")
