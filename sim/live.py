"""A regression's findings on the screen, a line each, as soon as they are known."""

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from cyclebound.sim.job import Outcome
from cyclebound.sim.prove import Proof
from cyclebound.sim.verdict import Verdict

__all__ = ["line_of", "teller"]

_STYLE = {"exact": "green", "right": "green", "held": "cyan", "proved": "green",
          "bounded": "yellow"}


def line_of(found: Verdict | Proof | Outcome) -> Text:
    """One line: the verdict, the claim, and the numbers."""
    if isinstance(found, Outcome):
        word, rest = "FAILED", f"{found.name}: {found.reason}"
    elif isinstance(found, Proof):
        word = found.status
        values = ", ".join(f"{name}={value}" for name, value in found.parameters.items())
        rest = f"{found.block} property {found.property} ({values})"
        if found.detail and word != "proved":
            rest += f": {found.detail}"
    else:
        word = found.verdict
        rest = f"{found.block} {found.configuration} {found.what} within {found.bound}"
        if found.worst is not None:
            rest += (f": worst {found.worst:,} of {found.allowed:,} in {found.requests:,} requests"
                     if found.allowed is not None else f": {found.detail}")
            rest += found.closer
        elif found.detail:
            rest += f": {found.detail}"
        if word == "held" and found.kinds > 1:
            rest += f", {found.kinds_reached} of {found.kinds} kinds exact"
    return Text.assemble((f"{word:10}", _STYLE.get(word, "bold red")), " ",
                         rest.splitlines()[-1] if rest else "")


def teller(console: Console) -> Callable[[Verdict | Proof | Outcome], None]:
    """A function that prints a finding on ``console``, on one line."""
    return lambda found: console.print(line_of(found), soft_wrap=True, highlight=False)
