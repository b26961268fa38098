"""How a layer is cut for the accelerator's scratchpads, and which part is where.

A layer is cut three ways: the rows of its result into pieces, its filters into chunks of strips,
and each window's elements (k of the product) into slices. A job is a computation: a slice, for a
chunk and a piece. Jobs of all slices of a chunk and a piece follow each other, and their sums stay
in the memory of the sums meanwhile.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cyclebound.golden.systolic.accelerator_layer import Layer, Part
from cyclebound.golden.systolic.accelerator_layout import Target
from cyclebound.golden.systolic.mapping import ceil_div

__all__ = ["Cut", "Job", "Move", "Part", "Slice", "cuts_of"]


_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_FIELD = 2**16 - 1
"""Greatest count in a command."""


class Slice(NamedTuple):
    """A share of each window's elements, which are beside each other in the weights' order.

    Attributes
    ----------
    planes : Part
        Of those that a strip sees.
    rows : Part
        Of the filter; all that the block has if there are several planes.
    column : int
        First column of the filter of its block.
    run : Part
        Elements of a row of the block; all of them if there are several rows.
    offset, words : int
        In the weights of a strip.
    """

    planes: Part
    rows: Part
    column: int
    run: Part
    offset: int
    words: int


class Move(NamedTuple):
    """A load: beats from ``place`` on of one of the layer's operands."""

    target: Target
    scratch: int
    place: int
    count: int  # type: ignore[assignment]  # not the method of a tuple


class Job(NamedTuple):
    """A part of a layer that is computed by one command.

    Attributes
    ----------
    rows : Part
        Of the convolution's result.
    strips : Part
        Of filters.
    slice : Slice
        Of the windows.
    first, last : bool
        Of the slices: whether sums begin, and whether they become results.
    loaded, planes : Part
        Rows and planes of the image in its scratchpad.
    a_base, b_base, bias_base, c_base : int
        Where all this is in the scratchpads.
    loads : tuple of Move
        What was not there before.
    """

    rows: Part
    strips: Part
    slice: Slice
    first: bool
    last: bool
    loaded: Part
    planes: Part
    a_base: int
    b_base: int
    bias_base: int
    c_base: int
    loads: tuple[Move, ...]


def _even(count: int) -> list[int]:
    """Sizes of parts into which ``count`` is cut evenly: by small numbers, or into single ones."""
    return sorted({ceil_div(count, min(parts, count)) for parts in (*_PARTS, count)}, reverse=True)


def _pieces(count: int, size: int) -> list[Part]:
    return [Part(start, min(size, count - start)) for start in range(0, count, size)]


class _Shape:
    """The sizes of a layer on a device that do not depend on how it is cut into jobs."""

    def __init__(self, layer: Layer, device) -> None:
        self.layer, self.device, conv = layer, device, layer.convolution
        _, self.channels = layer.planes(device.size)
        self.firsts, self.seen = layer.seen(device.size)
        self.alike = len(set(self.firsts)) == 1  # all strips see the same planes
        self.pitch = ceil_div(conv.width * self.channels, device.size)
        self.strips = len(self.firsts)
        self.words = self.seen * conv.kernels[0] * conv.kernels[1] * self.channels
        self.high, self.wide = layer.output
        self.whole_rows = self.high * layer.window
        self._most: dict[tuple[int, Part], int] = {}

    def slicings(self) -> Iterator[tuple[Slice, ...]]:
        """All ways to cut windows: by planes; planes by rows of the filter; these by elements."""
        runs = {columns.count * self.channels for _, columns in self.layer.blocks}
        taps = max(rows.count for rows, _ in self.layer.blocks)
        size = self.device.size
        for planes in _even(self.seen):
            yield tuple(self._slices(planes, taps, max(runs)))
        for rows in _even(taps)[1:]:
            yield tuple(self._slices(1, rows, max(runs)))
        for words in _even(ceil_div(max(runs), size))[1:]:
            yield tuple(self._slices(1, 1, words * size))

    def _slices(self, planes: int, rows: int, run: int) -> Iterator[Slice]:
        offset = 0
        for (top, high), (left, wide) in self.layer.blocks:
            length = wide * self.channels
            for plane, tap, part in itertools.product(
                    _pieces(self.seen, planes), _pieces(high, rows), _pieces(length, run)):
                words = plane.count * tap.count * part.count
                yield Slice(plane, Part(top + tap.start, tap.count), left, part, offset, words)
                offset += words

    def loaded(self, rows: Part, taps: Part) -> Part:
        """Rows of the image for these rows of the result, and of the filter."""
        conv = self.layer.convolution
        (down, _), (apart, _) = conv.strides, conv.dilations
        top = rows.start * down - conv.edges[0] + taps.start * apart
        bottom = top + (rows.count - 1) * down + (taps.count - 1) * apart + 1
        first = min(max(top, 0), conv.height - 1)
        return Part(first, max(min(bottom, conv.height) - first, 1))

    def most_loaded(self, rows: int, taps: Part) -> int:
        """The most rows of the image that a piece of ``rows`` rows needs."""
        if (rows, taps) not in self._most:
            self._most[rows, taps] = max(self.loaded(piece, taps).count
                                         for piece in _pieces(self.whole_rows, rows))
        return self._most[rows, taps]


@dataclass(frozen=True)
class Cut:
    """A way to cut a layer.

    Attributes
    ----------
    shape : object
        The layer and the device.
    rows, strips : int
        Of a piece, and of a chunk; the last of each may be smaller.
    slices : tuple of Slice
        Of the windows.
    image_stays, weights_stay : bool
        The image's rows of a piece, or the weights of a chunk, are loaded for all slices at once.
    chunks_inside : bool
        All chunks of a piece, then the next piece; else the other way around.
    """

    shape: _Shape
    rows: int
    strips: int
    slices: tuple[Slice, ...]
    image_stays: bool
    weights_stay: bool
    chunks_inside: bool

    @property
    def pieces(self) -> list[Part]:
        return _pieces(self.shape.whole_rows, self.rows)

    @property
    def chunks(self) -> list[Part]:
        return _pieces(self.shape.strips, self.strips)

    def _image(self, portion: Slice) -> tuple[Part, Part]:
        """Planes of those that a strip sees, and rows of the filter, of which an image is loaded
        for a slice."""
        if self.image_stays:
            return Part(0, self.shape.seen), Part(0, self.shape.layer.convolution.kernels[0])
        return portion.planes, portion.rows

    def needs(self) -> dict[str, tuple[int, int]]:
        """By scratchpad and limit of a command: the largest job's need, and the capacity."""
        shape, device, window = self.shape, self.shape.device, self.shape.layer.window
        cut_rows, cut_strips = self.rows < shape.whole_rows, self.strips < shape.strips
        sliced = len(self.slices) > 1
        images = {self._image(part) for part in self.slices}
        a = max(planes.count * shape.most_loaded(self.rows, taps) * shape.pitch
                for planes, taps in images)
        halves_a = 2 if cut_rows or len(images) > 1 or not shape.alike else 1
        most = shape.words if self.weights_stay else max(part.words for part in self.slices)
        halves_b = 2 if cut_strips or (sliced and not self.weights_stay) else 1
        pixels = self.rows * shape.wide * window
        return {
            "A": (a, device.a_depth // halves_a),
            "B": (self.strips * most, device.b_depth // halves_b),
            "biases": (self.strips, device.bias_depth // (2 if cut_strips else 1)),
            "C": (self.strips * (self.rows // window) * shape.wide,
                  device.c_depth // (2 if cut_rows or cut_strips else 1)),
            "the sums": (pixels * (self.strips if sliced else 1), device.sums_depth),
            "the pooling": (shape.wide if window > 1 else 0, device.pool_depth),
            "a command": (max(pixels, max(self.tiles(part) for part in self.slices), self.strips
                              * max(part.planes.count * part.rows.count for part in self.slices)),
                          _FIELD),
        }

    def tiles(self, portion: Slice) -> int:
        """Tiles of the array along a slice."""
        return (portion.planes.count * portion.rows.count
                * ceil_div(portion.run.count, self.shape.device.size))

    @property
    def fits(self) -> bool:
        return all(need <= there for need, there in self.needs().values())

    def jobs(self) -> Iterator[Job]:
        """All jobs in their order: what changes goes to the other half of its scratchpad."""
        shape, device, last = self.shape, self.shape.device, len(self.slices) - 1
        order = (((piece, chunk) for piece in self.pieces for chunk in self.chunks)
                 if self.chunks_inside else
                 ((piece, chunk) for chunk in self.chunks for piece in self.pieces))
        image_half = weight_half = bias_half = 1
        image: object = None
        weights: object = None
        biases: object = None
        for group, (rows, strips) in enumerate(order):
            c_base = group % 2 * (device.c_depth // 2)
            for number, part in enumerate(self.slices):
                loads: list[Move] = []
                if strips != biases:
                    biases, bias_half = strips, bias_half ^ 1
                    loads += self._biases(strips, bias_half * (device.bias_depth // 2))
                key = strips, None if self.weights_stay else number
                if key != weights:
                    weights, weight_half = key, weight_half ^ 1
                    loads += self._weights(strips, part, weight_half * (device.b_depth // 2))
                seen, taps = self._image(part)
                planes = Part(shape.firsts[strips.start] + seen.start, seen.count)
                loaded = shape.loaded(rows, taps)
                if (loaded, planes) != image:
                    image, image_half = (loaded, planes), image_half ^ 1
                    loads += self._rows(loaded, planes, image_half * (device.a_depth // 2))
                if number == last and shape.layer.shortcut:
                    loads += self.results(rows, strips, c_base)
                yield Job(rows, strips, part, number == 0, number == last, loaded, planes,
                          image_half * (device.a_depth // 2), weight_half * (device.b_depth // 2)
                          + (strips.count * part.offset if self.weights_stay else 0),
                          bias_half * (device.bias_depth // 2), c_base, tuple(loads))

    def _biases(self, strips: Part, base: int) -> list[Move]:
        moves = [Move(Target.BIAS, base, strips.start, strips.count)]
        if self.shape.layer.scales:
            moves.append(Move(Target.SCALE, base, strips.start, strips.count))
        return moves

    def _weights(self, strips: Part, portion: Slice, base: int) -> list[Move]:
        """The strips' weights of a slice, or of all of them, slice by slice."""
        words, moves = self.shape.words, []
        for part in self.slices if self.weights_stay else (portion,):
            if part.words == words:
                moves.append(Move(Target.B, base, words * strips.start, words * strips.count))
                continue
            begin = base + (strips.count * part.offset if self.weights_stay else 0)
            moves += [Move(Target.B, begin + number * part.words,
                           words * (strips.start + number) + part.offset, part.words)
                      for number in range(strips.count)]
        return moves

    def _rows(self, loaded: Part, planes: Part, base: int) -> list[Move]:
        pitch = self.shape.pitch
        plane, part = self.shape.layer.convolution.height * pitch, loaded.count * pitch
        if part == plane:
            return [Move(Target.A, base, plane * planes.start, plane * planes.count)]
        return [Move(Target.A, base + number * part,
                     plane * (planes.start + number) + pitch * loaded.start, part)
                for number in range(planes.count)]

    def results(self, rows: Part, strips: Part, base: int) -> list[Move]:
        """Moves of results from their scratchpad to the layer's whole result; of shortcuts too."""
        high, wide, window = self.shape.high, self.shape.wide, self.shape.layer.window
        start, count = rows.start // window, rows.count // window
        if count == high:
            return [Move(Target.SHORTCUT, base, wide * high * strips.start,
                         wide * high * strips.count)]
        return [Move(Target.SHORTCUT, base + number * count * wide,
                     wide * (high * (strips.start + number) + start), count * wide)
                for number in range(strips.count)]


def cuts_of(layer: Layer, device, *, sliced: bool) -> Iterator[Cut]:
    """All cuts of a layer that fit: those with as few slices as dilation allows, or all others.

    Raises `ValueError` where none does: it names the scratchpad that the least job does not fit.
    There are none with more slices where windows cannot be cut.
    """
    shape, fits = _Shape(layer, device), False
    least = None
    few = len(layer.blocks)
    for slices in shape.slicings():
        if (len(slices) > few) is not sliced:
            continue
        kinds = (False, True) if len(slices) > 1 else (True,)
        for rows, strips in itertools.product(
                (rows * layer.window for rows in _even(shape.high)),
                _even(shape.strips) if shape.alike else [1]):
            for image_stays, weights_stay in itertools.product(kinds, repeat=2):
                cut = Cut(shape, rows, strips, slices, image_stays, weights_stay, False)
                if image_stays is weights_stay is kinds[0]:
                    least = cut
                if not cut.fits:
                    continue
                fits = True
                yield cut
                if rows < shape.whole_rows and strips < shape.strips:
                    yield Cut(shape, rows, strips, slices, image_stays, weights_stay, True)
    if not fits and least is not None:
        scratchpad, (need, there) = next(item for item in least.needs().items()
                                         if item[1][0] > item[1][1])
        raise ValueError(f"{layer.name}: {scratchpad} must hold {need} words for the "
                         f"least part of this layer, not {there}")
