"""Writes docs/test-plan.md, what must hold of each block and what shows it:
``python -m cyclebound.tools.maintenance.test_plan > docs/test-plan.md``."""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping

from amaranth.hdl import Fragment, UnusedElaboratable
from amaranth.hdl._ast import Property as Assertion
from amaranth.hdl._ast import Switch

from cyclebound.sim import catalogue
from cyclebound.sim.describe.block import Block, BoundBinding, Property, Testbench
from cyclebound.sim.describe.named_tests import named_tests

__all__ = ["asserted", "page"]

_ABOUT = """# Test plan

What must hold of each block, and which test or proof shows it. Made from the catalogue, the
checkers' assertions and the testbenches by
`python -m cyclebound.tools.maintenance.test_plan > docs/test-plan.md`; a test keeps it current.
Whether it was shown, and with which numbers, is what [results](results.md) are for; how sharp the
tests are, [mutation](mutation.md).

*Claims* are bounds, predictions and rates: which properties prove them, in which explorations
every state is visited, whether a domain is exhausted; all are measured. *Properties* are proved by
induction unless a depth is given. *Always* is what the checker beside the block asserts in every
cycle of every simulation of it; of a number in a message, `#` is left. *Tests* are those of its
testbenches; what runs in the full level only is in parentheses.
"""


def page() -> str:
    """The whole page, as Markdown."""
    blocks = list(catalogue.load())
    lines = [_ABOUT, *_summary(blocks)]
    for family in dict.fromkeys(block.family for block in blocks):
        lines += [f"## {family}", ""]
        for block in blocks:
            if block.family == family:
                lines += _block(block)
    return "\n".join(lines).rstrip() + "\n"


def _summary(blocks: list[Block]) -> Iterator[str]:
    yield "| family | blocks | claims | proved or explored | properties | blocks without | tests |"
    yield "| --- | ---: | ---: | ---: | ---: | --- | ---: |"
    for family in dict.fromkeys(block.family for block in blocks):
        here = [block for block in blocks if block.family == family]
        claims = [(block, claim) for block in here for claim in block.bounds]
        without = ", ".join(block.name.partition(".")[2] for block in here
                            if not block.properties and not block.explorations)
        tests = sum(len(_tests(block, bench)) for block in here for bench in block.testbenches)
        yield (f"| {family} | {len(here)} | {len(claims)} | "
               f"{sum(bool(_shown(*claim)) for claim in claims)} | "
               f"{sum(len(block.properties) for block in here)} | {without or '-'} | {tests} |")
    yield ""


def _block(block: Block) -> Iterator[str]:
    yield from (f"### `{block.name}`", "", f"{block.summary[:1].upper()}{block.summary[1:]}.", "")
    if block.bounds:
        yield from ("| claim | formula | shown by |", "| --- | --- | --- |")
        for claim in block.bounds:
            formula = " ".join(claim.bound.formula.split()).replace("|", "\\|")
            yield (f"| {claim.what}: `{claim.bound.name}` | {formula} | "
                   f"{'; '.join(_shown(block, claim)) or 'measured'} |")
        yield ""
    if block.properties or block.explorations:
        yield from ("| property | says | proved for |", "| --- | --- | --- |")
        for each in block.properties:
            yield f"| {each.name} | {_flowing(each.says)} | {_instances(each)} |"
        for exploration in block.explorations:
            yield (f"| {exploration.name} | every state: {_flowing(exploration.says)} | "
                   f"{_listed(exploration.instances)} |")
        yield ""
    if always := asserted(block):
        yield from (f"Always: {'; '.join(always)}.", "")
    for bench in block.testbenches:
        tests = ", ".join(f"{name}" for name in _tests(block, bench))
        where = ", ".join(bench.configurations or ("every configuration",))
        quick = any(bench.is_quick(name) for name in block.configurations if bench.runs_on(name))
        text = f"`{bench.name}` on {where}: {tests or 'its module'}"
        yield f"- {text if quick else f'({text})'}"
    yield ""


def _shown(block: Block, claim: BoundBinding) -> list[str]:
    """What shows the claim beyond measurements."""
    proofs = [each.name for each in block.properties
              if claim.what in each.declares or each.name in claim.proved_by]
    found = [f"proved by {', '.join(proofs)}"] if proofs else []
    explored = [each.name for each in block.explorations if each.what == claim.what]
    found += [f"every state: {', '.join(explored)}"] if explored else []
    return found + ["exhaustive over its domain"] * claim.exhaustive


def _instances(claim: Property) -> str:
    listed = _listed(claim.instances)
    return listed if claim.induction is not None else (
        f"{listed}, to a depth of {claim.depth_of(claim.instances[0])} cycles only")


def _listed(instances: Iterable[Mapping[str, object]]) -> str:
    """Each instance's parameters."""
    texts = [", ".join(f"{name} {value}" for name, value in dict(each).items()) or "its defaults"
             for each in instances]
    shown = [text if len(text) < 90 else f"{text[:87]}..." for text in texts[:4]]
    return "; ".join([*shown, *([f"{len(texts) - 4} more"] if len(texts) > 4 else [])]).replace(
        "|", "\\|")


def _flowing(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _tests(block: Block, bench: Testbench) -> list[str]:
    """The tests that a testbench runs."""
    others = {name for other in block.testbenches if other.module == bench.module
              for name in other.tests or ()}
    return [name for name in named_tests(bench.module)
            if (name in bench.tests if bench.tests is not None else name not in others)
            and not name.startswith("_")]


def asserted(block: Block) -> list[str]:
    """The messages of what the block's checker asserts in its first configuration.

    Without what only helps a proof (``invariant: ...``); numbers are ``#``, each message once.
    """
    if block.checker is None:
        return []
    first = next(iter(block.configurations.values()))
    component = block.make(first.parameters)
    checker = block.checker(component)
    messages = list(_messages(Fragment.get(checker, None)))
    plain = (re.sub(r"\d+", "#", message) for message in messages)
    return [message for message in dict.fromkeys(plain) if not message.startswith("invariant")]


def _messages(fragment: Fragment) -> Iterator[str]:
    for statements in fragment.statements.values():
        yield from _said(statements)
    for inner, *_ in fragment.subfragments:
        yield from _messages(inner)


def _said(statements: Iterable[object]) -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, Assertion) and statement.kind is Assertion.Kind.Assert:
            if statement.message is not None:
                yield "".join(part if isinstance(part, str) else "#"
                              for part in statement.message._chunks)
        elif isinstance(statement, Switch):
            for _, inner, *_ in statement.cases:
                yield from _said(inner)


if __name__ == "__main__":
    warnings.simplefilter("ignore", UnusedElaboratable)  # checkers are made without their blocks
    print(page(), end="")
