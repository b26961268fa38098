"""The pictures of blocks: drawn by their functions, kept as SVG, written as any format."""

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import IO, TYPE_CHECKING, Any

from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import everything

if TYPE_CHECKING:
    from matplotlib.figure import Figure  # it takes a second to load

    from cyclebound.sim.describe.block import Picture

__all__ = ["FORMATS", "Drawing", "figure_of", "save", "with_picture", "write"]

FORMATS = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class Drawing:
    """A picture, and all that it takes to draw it. Plain data.

    Attributes
    ----------
    configuration : str
        That of the job that kept something; empty where none is needed.
    source : str
        The file that the job kept; empty where none is needed.
    key : str
        Stands for all that the picture depends on.
    svg : str
        The picture, once it is drawn, or a sentence that says why there is none.
    trace : str
        The same for Perfetto, if there is one: JSON in the trace event format.
    """

    block: str
    configuration: str
    name: str
    caption: str
    source: str
    key: str
    pages: tuple[str, ...]
    svg: str = ""
    trace: str = ""

    @property
    def command(self) -> str:
        """The command that draws it again."""
        configuration = f" --configuration {self.configuration}" if self.configuration else ""
        return f"cyclebound picture {self.block} {self.name}{configuration} -o {self.name}.svg"


def figure_of(picture: "Picture", source: Path | None) -> "Figure":
    """The figure, from what a testbench kept in ``source``. Raises `UserError`."""
    return _made(picture.draw, picture, source)


def _made(function: str, picture: "Picture", source: Path | None):
    """What a function of a picture returns."""
    if not picture.kept:
        return resolve_name(function)(**picture.arguments)
    try:
        assert source is not None
        kept = json.loads(text_in(source))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read what was kept for picture {picture.name}: {error}") from error
    return resolve_name(function)(kept, **picture.arguments)


def save(figure: "Figure", target: str | Path | IO[Any], suffix: str) -> None:
    """Save a figure to a path or an open file; the same figure is the same SVG."""
    from matplotlib import rc_context

    vector = suffix == ".svg"
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "cyclebound"}):
        figure.savefig(target, format=suffix[1:], dpi=120, metadata={"Date": None} if vector
                       else None)


def write(figure: "Figure", path: Path, option: str = "--output") -> None:
    """Write a figure. Raises `UserError` for a format that is none, or no place."""
    if path.suffix not in FORMATS:
        raise UserError(f"{option} takes a file that ends in {', '.join(FORMATS)}, not {path}")
    try:
        save(figure, path, path.suffix)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def with_picture(drawing: Drawing) -> Drawing:
    """``drawing`` with its picture as SVG, and with its trace."""
    from cyclebound.sim import catalogue  # blocks take a third of a second to load
    from cyclebound.sim.build.sources import sources

    def drawn() -> dict[str, str]:
        picture = catalogue.load(drawing.pages).find(drawing.block).picture(drawing.name)
        target, source = io.StringIO(), Path(drawing.source)
        save(figure_of(picture, source), target, ".svg")
        trace = json.dumps(_made(picture.trace, picture, source)) if picture.trace else ""
        return {"svg": target.getvalue(), "trace": trace}

    def made(parts: dict[str, str]) -> Drawing:
        return replace(drawing, svg=parts["svg"], trace=parts["trace"])

    try:
        if drawing.source or drawing.pages:  # what was measured, or may import from anywhere
            return made(drawn())
        key = key_of(sources(drawing.pages), everything(), drawing.block, drawing.name)
        folder, _ = find_or_make("drawing", key, lambda folder: (
            folder / "picture.json").write_text(json.dumps(drawn())))
        return made(json.loads((folder / "picture.json").read_text()))
    except Exception as error:  # a run does not fail for want of a picture
        said = error if isinstance(error, UserError) else repr(error)
        return replace(drawing, svg=f"No picture: {said}")
