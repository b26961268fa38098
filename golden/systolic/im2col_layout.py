"""Fields of the im2col address generator's command, and of each word that it issues."""

__all__ = ["COMMAND", "SIGNED", "word_fields"]

COMMAND = ("origin", "pitch", "jump", "plane_step", "elements", "height", "top", "start", "step",
           "stride", "across", "down", "kernel", "run", "planes", "strips")
"""Fields for an image that lies in words of ``size`` elements, each row beginning with a word,
a pixel's channels beside each other:

* ``origin``: address of the word with which row ``top`` begins, or would; ``pitch``: words of a
  row; ``jump``: words between the rows of neighbouring results, ``stride * pitch``; ``plane_step``:
  words between images whose channels belong together.
* ``elements``, ``height``: elements of a row, and rows; ``top``, ``start``: first row of the first
  window, and its first element, negative where there is padding.
* ``step``, ``stride``: elements and rows between windows; ``across``, ``down``: windows beside
  and below each other; ``kernel``: rows of a window; ``run``: elements of one of its rows.
* ``planes``: images; ``strips``: how often all of it is wanted.
"""

SIGNED = ("top", "start")


def word_fields(size: int, address_width: int) -> dict[str, int]:
    """Fields of a word, with their widths.

    ``address``, ``offset``: where its first element is, the others after it, perhaps in the next
    word; ``lanes``: bit *i*: element *i* is one of the image and of the window, else it counts
    as 0; ``last``: the last word of its tile; ``final``: the last of all.
    """
    return {"address": address_width, "offset": (size - 1).bit_length(), "lanes": size, "last": 1,
            "final": 1}
