# amaranth: UnusedElaboratable=no
"""Im2col: parameters, and that its words are those of the convolution."""

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic import im2col as golden
from cyclebound.golden.systolic.layers import Convolution, im2col
from cyclebound.hdl.systolic.im2col import Im2col

pytestmark = pytest.mark.unit


def test_parameters():
    with pytest.raises(ValueError, match=r"^Size must be at least 2, not 1$"):
        Im2col(size=1)
    with pytest.raises(ValueError, match=r"^Size must be a power of two, not 6$"):
        Im2col(size=6)
    with pytest.raises(TypeError, match=r"^Size must be an integer, not 2.0$"):
        Im2col(size=2.0)
    with pytest.raises(ValueError, match=r"^Address width must be at least 1, not 0$"):
        Im2col(size=2, address_width=0)


@pytest.mark.parametrize("shape", [
    {"height": 5, "width": 6, "channels": 1, "kernel": 3},
    {"height": 6, "width": 5, "channels": 3, "kernel": 3, "stride": 2, "padding": 1},
    {"height": 3, "width": 3, "channels": 9, "kernel": 1},
    {"height": 4, "width": 4, "channels": 5, "kernel": 4, "padding": 2, "stride": 3},
    {"height": 1, "width": 7, "channels": 10, "kernel": 1}])
def test_the_words_are_the_windows(shape):
    """The elements that the words name, put together, are the rows of the usual im2col."""
    size, rng = 4, np.random.default_rng(3)
    layer = Convolution("layer", filters=1, **shape)
    image = rng.integers(1, 100, (layer.height, layer.width, layer.channels))  # no zeros
    words = list(golden.walk(golden.command_of(size=size, base=7, **shape), size, 10))
    memory = np.vstack([np.full((7, size), -1), golden.image_words(image, size)])
    tiles = golden.gather(words, memory).reshape(-1, layer.product.m, size)
    runs = tiles.reshape(layer.kernel, -1, layer.product.m, size).transpose(2, 0, 1, 3)
    run = layer.kernel * layer.channels
    found = runs.reshape(layer.product.m, layer.kernel, -1)
    assert not found[:, :, run:].any()
    usual, _ = im2col(layer, image.transpose(2, 0, 1), np.zeros((1, 1, 1, 1)))
    by_channel = found[:, :, :run].reshape(-1, layer.kernel, layer.kernel, layer.channels)
    assert np.array_equal(by_channel.transpose(0, 3, 1, 2).reshape(layer.product.m, -1), usual)
    assert [word.final for word in words] == [False] * (len(words) - 1) + [True]
    assert len(words) + 2 == golden.im2col_cycles(size=size, **shape)


def test_the_bound_covers_convolutions():
    good = {"size": 2, "height": 3, "width": 3, "channels": 1, "kernel": 3}
    assert golden.im2col_cycles(**good) == 3 * 2 + 2
    for name in good:
        with pytest.raises(NotCovered, match=f"^{name} must be a whole number of at least 1"):
            golden.im2col_cycles(**good | {name: 0})
    with pytest.raises(NotCovered,
                       match=r"^kernel's room must be a whole number of at least 0, not -1$"):
        golden.im2col_cycles(**good | {"kernel": 4})
