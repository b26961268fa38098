"""Checks of the catalogue's blocks, made before anything runs.

Names of blocks, configurations, testbenches, bounds and pictures become folders of a run and words
of commands, so they are letters, digits and a few signs.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.shape import fields_of, misfit, shown
from cyclebound.sim.describe.block import Block
from cyclebound.tb.expression import ExpressionError, parse

__all__ = ["check_block"]

_NAME = re.compile(r"\w[\w.+-]{0,99}", re.ASCII)
_RULE = ("must be up to 100 letters, digits and any of _ . + -, the first a letter, a digit or _,")


def check_block(block: object) -> None:
    """Raise `UserError` for what is no block, or for a field, a name or a value that is wrong."""
    if not isinstance(block, Block):
        raise UserError(f"BLOCKS must hold blocks, not {shown(block)}")
    for wrong in _problems(block):
        named = isinstance(block.name, str) and _NAME.fullmatch(block.name)
        raise UserError(f"{block.name if named else 'a block'}: {wrong}")


def _problems(block: Block) -> Iterator[str]:
    """All that is wrong, in the order in which later lines rely on earlier ones."""
    yield from _types(block, "the block")
    yield from _names(block)
    yield from _numbers(block)
    yield from _depths(block)
    yield from _domains(block)
    yield from _independences(block)
    yield from _references(block)
    yield from _parameters(block)


def _types(thing: object, called: str) -> Iterator[str]:
    """Fields that are not of their annotated type, here and in what they hold."""
    of_block: type = type(thing)
    for name, kind in fields_of(of_block).items():
        value = getattr(thing, name)
        if wrong := misfit(value, kind, f"{name} of {called}"):
            yield wrong
            continue
        for inner in value.values() if isinstance(value, Mapping) else (
                value if isinstance(value, list | tuple) else (value,)):
            if is_dataclass(inner) and not isinstance(inner, type):
                yield from _types(inner, f"a {type(inner).__name__} in {name} of {called}")


def _names(block: Block) -> Iterator[str]:
    named = [("a block", [block.name]), ("a configuration", list(block.configurations)),
             ("a testbench", [bench.name for bench in block.testbenches]),
             ("a bound", [observed.bound.name for observed in block.bounds]),
             ("what a bound is on", [observed.what for observed in block.bounds]),
             ("a property", [claim.name for claim in block.shown]),
             ("a picture", [picture.name for picture in block.pictures])]
    for thing, names in named:
        for number, name in enumerate(names):
            if not _NAME.fullmatch(name):
                yield f"the name of {thing} {_RULE} not {shown(name)}"
            if name in names[:number]:
                yield f"the name of {thing} must be unique, and {name!r} occurs twice"
    for picture in block.pictures:
        if picture.kept and not _NAME.fullmatch(picture.kept):
            yield f"the file that picture {picture.name} keeps {_RULE} not {shown(picture.kept)}"


def _numbers(block: Block) -> Iterator[str]:
    for thing, some in (("configuration", block.configurations), ("testbench", block.testbenches)):
        if not some:
            yield f"it must have a {thing}"
    if block.component is None:
        yield "it must have a component, or sources and their top"
    if bool(block.sources) != bool(block.top):
        yield "it must have both sources and top, or neither"
    for bench in block.testbenches:
        if bench.tests == ():
            yield f"tests of testbench {bench.name} must name some, or be None for its module's"
        for name in ("seeds", "max_cycles"):
            if getattr(bench, name) < 1:
                yield (f"{name} of testbench {bench.name} must be at least 1, "
                       f"not {getattr(bench, name)}")
    for binding in block.bounds:
        if binding.bound.kind == "rate":
            yield (f"{binding.bound.name} is a rate, and {binding.what} a request: "
                   "no latency is a rate")


def _depths(block: Block) -> Iterator[str]:
    for claim in block.properties:
        for instance in claim.instances:
            try:
                depth = claim.depth_of(instance)
            except Exception:  # whatever a user's function does
                depth = None
            if wrong := misfit(depth, int, f"depth of property {claim.name}"):
                yield wrong
            elif depth is not None and depth < 1:
                yield f"depth of property {claim.name} must be at least 1, not {depth}"
        if claim.induction is not None and claim.induction < 1:
            yield f"induction of property {claim.name} must be at least 1, not {claim.induction}"


def _domains(block: Block) -> Iterator[str]:
    for name, configuration in block.configurations.items():
        try:
            domain = configuration.values.items()
        except Exception as error:  # whatever a user's function does
            yield f"the domain of configuration {name}: {type(error).__name__}: {error}"
            continue
        for parameter, values in domain:
            if not values or (isinstance(values, range) and values.step != 1):
                yield (f"the domain of {parameter} in configuration {name} must be some values, "
                       f"or some consecutive numbers, not {shown(values)}")
            elif isinstance(values, list | tuple) and len({*map(str, values)}) < len(values):
                yield (f"the domain of {parameter} in configuration {name} must have each value "
                       f"once, not {shown(values)}")


def _independences(block: Block) -> Iterator[str]:
    for claim in block.properties:
        for parameter in claim.independent:
            if len({str(instance.get(parameter, _default(block, parameter)))
                    for instance in claim.instances}) < 2:
                yield (f"property {claim.name} says that {parameter} makes no difference, and is "
                       "proved for one value of it only")


def _default(block: Block, parameter: str) -> object:
    """The component's default for a parameter; None if the parameters cannot be inspected."""
    try:
        return block.default_of(parameter)
    except Exception:  # of a component whose parameters are not known yet
        return None


def _references(block: Block) -> Iterator[str]:
    configurations = set(block.configurations)
    benches = {bench.name for bench in block.testbenches}
    claims = {claim.name for claim in block.properties}
    named = [(f"testbench {b.name}", "configuration", b.configurations or (), configurations)
             for b in block.testbenches]
    named += [(f"testbench {b.name}", "configuration", b.quick or (), configurations)
              for b in block.testbenches]
    named += [(f"bound {o.bound.name}", "configuration", o.configurations, configurations)
              for o in block.bounds]
    named += [(f"bound {o.bound.name}", "property", o.proved_by, claims) for o in block.bounds]
    named += [(f"picture {p.name}", "testbench", p.testbenches, benches) for p in block.pictures]
    if block.mutants is not None:
        named.append(("mutants", "configuration", (block.mutants.configuration,), configurations))
    if block.fpga is not None:
        named.append(("fpga", "configuration", (block.fpga.configuration,), configurations))
    parameters = {name for configuration in block.configurations.values()
                  for name in configuration.parameters}
    named += [(f"testbench {b.name}", "parameter", (*b.least, *b.fixed), parameters)
              for b in block.testbenches]
    for where, thing, names, targets in named:
        for name in names:
            if name not in targets:
                yield f"{where} names the {thing} {shown(name)}, which does not exist"
    for binding in block.bounds:
        for text in binding.probe.texts() if binding.probe else ():
            try:
                parse(text)
            except ExpressionError as error:
                yield f"the probe of {binding.what}: {error}"
        for claim in block.properties:
            if claim.name in binding.proved_by and (
                    binding.probe is None or binding.what not in claim.declares):
                yield (f"property {claim.name} is to prove {binding.what}, and declares no kind of "
                       "such requests")
    observed = {binding.what for binding in block.bounds if binding.probe}
    for exploration in block.explorations:
        if exploration.what not in observed:
            yield (f"exploration {exploration.name} names the requests {shown(exploration.what)}, "
                   "which no probe observes")
    for picture in block.pictures:
        if bool(picture.kept) != bool(picture.testbenches):
            yield f"picture {picture.name} must have both kept and testbenches, or neither"


def _parameters(block: Block) -> Iterator[str]:
    """Runs are kept by parameters, in JSON."""
    named = [(f"configuration {name}", configuration.parameters)
             for name, configuration in block.configurations.items()]
    named += [(f"property {claim.name}", instance)
              for claim in block.shown
              for instance in claim.instances]
    for where, parameters in named:
        for name, value in parameters.items():
            try:
                json.dumps(value, allow_nan=False)
            except TypeError:
                yield (f"{where}: {name} must be a number, a name, or a list or mapping "
                       f"of these, not an object of class {type(value).__name__}")
            except (ValueError, RecursionError):
                yield f"{where}: {name} must be finite numbers, and not hold itself"

