"""Ports of whole lines on a testbench's buses: what is driven, and what is expected."""

from cyclebound.golden.dataflow.cache import LineAnswer, LineRequest
from cyclebound.tb.bench import Bench

__all__ = ["answer_values", "expected_request", "packed_words", "request_values"]


def packed_words(words: tuple[int, ...], width: int, mask: int = -1) -> int:
    """A line's words as one number; those that are not in ``mask`` are 0."""
    return sum(word << width * place for place, word in enumerate(words) if mask >> place & 1)


def answer_values(at: str, answer: LineAnswer | None, width: int) -> dict[str, int]:
    """What a memory drives at ``at``, the name of its ``response``."""
    return {} if answer is None else {
        f"{at}.valid": 1, f"{at}.payload.id": answer.id,
        f"{at}.payload.data": packed_words(answer.data, width)}


def request_values(at: str, request: LineRequest | None, width: int) -> dict[str, int]:
    """What a cache drives at ``at``, the name of its ``request``."""
    return {} if request is None else {
        f"{at}.valid": 1, f"{at}.payload.id": request.id, f"{at}.payload.line": request.line,
        f"{at}.payload.write": request.write, f"{at}.payload.mask": request.mask,
        f"{at}.payload.data": packed_words(request.data, width)}


def expected_request(bench: Bench, at: str, request: LineRequest | None, width: int
                     ) -> tuple[dict[str, int], int]:
    """What a ``request`` at ``at`` has to show, and which bits of the outputs mean something."""
    outputs = bench.outputs
    care = outputs[f"{at}.valid"].mask
    if request is None:
        return {}, care
    expected = request_values(at, request, width)
    for name in ("line", "write", "mask", *(() if request.write else ("id",))):
        care |= outputs[f"{at}.payload.{name}"].mask
    if request.write:
        data = outputs[f"{at}.payload.data"]
        expected[f"{at}.payload.data"] = packed_words(request.data, width, request.mask)
        care |= data.to(packed_words((2**width - 1,) * len(request.data), width, request.mask))
    return expected, care
