"""A regression's findings on the screen, a line each, as soon as they are known."""

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from cyclebound.sim.judge.cross_check import CrossChecked
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.proof.prove import Certificate, Proof
from cyclebound.sim.run.job import Outcome

__all__ = ["line_of", "teller"]

_STYLE = {"exact": "green", "right": "green", "held": "cyan", "proved": "green",
          "bounded": "yellow"}


def line_of(result: Verdict | Proof | Outcome | CrossChecked) -> Text:
    """One line: the verdict, the claim, and the numbers."""
    if isinstance(result, Outcome):
        word, rest = "FAILED", f"{result.name}: {result.reason}"
    elif isinstance(result, CrossChecked):
        word = "right" if result.passed else "DIFFERS"
        rest = f"table {result.table} against {result.says}" + (
            f": {result.detail}" if result.detail else "")
    elif isinstance(result, Proof):
        word = result.status
        values = ", ".join(f"{name}={value}" for name, value in result.parameters.items())
        rest = f"{result.block} property {result.property} ({values})"
        if result.detail and word != "proved":
            rest += f": {result.detail}"
        if result.certificate:
            rest += f": {Certificate(**result.certificate)}"
    else:
        word = result.verdict
        rest = f"{result.block} {result.configuration} {result.what} within {result.bound}"
        if result.worst is not None:
            rest += (f": worst {result.worst:,} of {result.allowed:,} in {result.requests:,} "
                     "requests"
                     if result.allowed is not None else f": {result.detail}")
            rest += result.closer
            if word in ("weaker", "changed"):
                rest += f": {result.detail}"
        elif result.detail:
            rest += f": {result.detail}"
        if word == "held" and result.kinds > 1:
            rest += f", {result.kinds_reached} of {result.kinds} kinds exact"
    return Text.assemble((f"{word:10}", _STYLE.get(word, "bold red")), " ",
                         rest.splitlines()[-1] if rest else "")


def teller(console: Console) -> Callable[[Verdict | Proof | Outcome | CrossChecked], None]:
    """A function that prints a finding on ``console``, on one line."""
    return lambda result: console.print(line_of(result), soft_wrap=True, highlight=False)
