"""Ports of whole lines on a testbench's buses: what is driven, and what is expected."""

from cyclebound.golden.dataflow.cache import LineAnswer, LineRequest
from cyclebound.tb.bench import Bench

__all__ = ["answer_values", "expected_request", "packed_words", "request_values"]


def packed_words(words: tuple[int, ...], width: int) -> int:
    """A line's words as one number."""
    return sum(word << width * place for place, word in enumerate(words))


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
    """What a ``request`` at ``at`` has to show, and which bits of the outputs are compared.

    All words of a line that is written, those that its mask leaves out, too.
    """
    outputs = bench.outputs
    care = outputs[f"{at}.valid"].mask
    if request is None:
        return {}, care
    for name in ("line", "write", "mask", "data" if request.write else "id"):
        care |= outputs[f"{at}.payload.{name}"].mask
    return request_values(at, request, width), care
