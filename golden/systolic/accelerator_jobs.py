"""How a layer is cut for the accelerator's scratchpads, and which part is where."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cyclebound.golden.systolic.accelerator_layer import Layer
from cyclebound.golden.systolic.mapping import ceil_div

__all__ = ["Job", "Part", "jobs_of"]


_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


class Part(NamedTuple):
    """``count`` of something, from ``start`` on."""

    start: int
    count: int


@dataclass(frozen=True)
class Job:
    """A part of a layer that is computed by one command.

    Attributes
    ----------
    rows : Part
        Of the convolution's result.
    rows_loaded, planes : Part
        Of the image.
    strips : Part
        Of filters.
    pitch, words_of_strip : int
        Words of a row of the image, and of the weights of a strip.
    a_base, b_base, bias_base, c_base : int
        Where all this is in the scratchpads.
    loads_image, loads_chunk : bool
        It is not there from the job before.
    """

    rows: Part
    rows_loaded: Part
    planes: Part
    strips: Part
    pitch: int
    words_of_strip: int
    a_base: int
    b_base: int
    bias_base: int
    c_base: int
    loads_image: bool
    loads_chunk: bool


class _Cut:
    """Everything about a layer that decides which cuts fit."""

    def __init__(self, layer: Layer, device) -> None:
        self.layer, self.device, conv = layer, device, layer.convolution
        self.planes, self.channels = layer.planes(device.size)
        self.pitch = ceil_div(conv.width * self.channels, device.size)
        self.strips = ceil_div(conv.filters, device.size)
        self.per_job = 1 if layer.depthwise else self.planes  # planes
        self.words = self.per_job * conv.kernel * conv.kernel * self.channels
        self.high, self.wide = layer.output

    def loaded(self, rows: Part) -> Part:
        """Rows of the image for these rows of the result."""
        conv = self.layer.convolution
        top = rows.start * conv.stride - conv.padding
        bottom = top + (rows.count - 1) * conv.stride + conv.kernel
        first = min(max(top, 0), conv.height - 1)
        return Part(first, max(min(bottom, conv.height) - first, 1))

    def needs(self, rows: int, strips: int) -> dict[str, tuple[int, int]]:
        """What a job with that many needs of each scratchpad, and how much there is."""
        d, window = self.device, self.layer.window
        half_rows = 2 if rows < self.high * window else 1
        half_strips = 2 if strips < self.strips else 1
        most = max(self.loaded(part).count for part in self.pieces(rows))
        half_image = 2 if self.layer.depthwise and self.strips > 1 else half_rows
        return {
            "A": (most * self.pitch * self.per_job, d.a_depth // half_image),
            "B": (strips * self.words, d.b_depth // half_strips),
            "biases": (strips, d.bias_depth // half_strips),
            "C": (strips * (rows // window) * self.wide,
                  d.c_depth // max(half_rows, half_strips)),
            "the sums": (rows * self.wide * window, d.sums_depth),
            "the pooling": (self.wide if window > 1 else 0, d.pool_depth),
        }

    def pieces(self, rows: int) -> list[Part]:
        whole = self.high * self.layer.window
        return [Part(start, min(rows, whole - start)) for start in range(0, whole, rows)]

    def chunks(self, strips: int) -> list[Part]:
        return [Part(start, min(strips, self.strips - start))
                for start in range(0, self.strips, strips)]

    def fits(self, rows: int, strips: int) -> bool:
        return all(need <= there for need, there in self.needs(rows, strips).values())


def _even(count: int) -> list[int]:
    """Sizes of parts into which ``count`` is cut evenly: by small numbers, or into single ones."""
    return sorted({ceil_div(count, min(parts, count)) for parts in (*_PARTS, count)}, reverse=True)


def _place(cut: _Cut, order: list[tuple[Part, Part]]) -> list[Job]:
    """Jobs in their order: what changes goes to the other half of its scratchpad."""
    device, depthwise = cut.device, cut.layer.depthwise
    jobs: list[Job] = []
    image_half = chunk_half = 1
    before: tuple[object, object] = (None, None)
    for number, (rows, strips) in enumerate(order):
        planes = Part(strips.start if depthwise else 0, cut.per_job)
        image, chunk = (rows, planes), strips
        loads_image, loads_chunk = image != before[0], chunk != before[1]
        image_half ^= loads_image
        chunk_half ^= loads_chunk
        before = image, chunk
        jobs.append(Job(
            rows, cut.loaded(rows), planes, strips, cut.pitch, cut.words,
            image_half * (device.a_depth // 2), chunk_half * (device.b_depth // 2),
            chunk_half * (device.bias_depth // 2), number % 2 * (device.c_depth // 2),
            loads_image, loads_chunk))
    return jobs


def jobs_of(layer: Layer, device) -> Iterator[list[Job]]:
    """All cuts of a layer that fit.

    Raises `ValueError` where none does: it names the scratchpad that the least job does not fit.
    """
    cut, found = _Cut(layer, device), False
    for strips in ([1] if layer.depthwise else _even(cut.strips)):
        for rows in (each * layer.window for each in _even(cut.high)):
            if not cut.fits(rows, strips):
                continue
            found = True
            pieces, chunks = cut.pieces(rows), cut.chunks(strips)
            yield _place(cut, [(piece, chunk) for chunk in chunks for piece in pieces])
            if len(pieces) > 1 and len(chunks) > 1:
                yield _place(cut, [(piece, chunk) for piece in pieces for chunk in chunks])
    if not found:
        least = cut.needs(layer.window, 1)
        scratchpad, (need, there) = next(item for item in least.items() if item[1][0] > item[1][1])
        raise ValueError(f"{layer.convolution.name}: {scratchpad} must hold {need} words for the "
                         f"least part of this layer, not {there}")
