"""The commands ``list`` and ``bound``."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cyclebound.golden.bound import Bound, NotCovered
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.lazy import lazily
from cyclebound.sim.base.shape import shown
from cyclebound.sim.cli.base import (
    AsJson,
    ConfigurationName,
    PartFile,
    Settings,
    app,
    console,
    parameters_of,
    say,
    the_catalogue,
    with_part,
)

with lazily():
    from rich import table as tables

    from cyclebound.sim.base import print_table as printing
    from cyclebound.sim.describe import block as blocks
    from cyclebound.sim.judge import verdict as verdicts


@app.command("list")
def list_blocks(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="BLOCK", help="Blocks or families, in detail; the default is all, a line each."
    )] = None,
    as_json: AsJson = False,
) -> None:
    """The catalogue: blocks, configurations, bounds, and the evidence each can give."""
    blocks = sorted(the_catalogue().select(names), key=lambda block: block.name)
    if as_json:
        print(json.dumps([{
            "block": b.name, "family": b.family, "summary": b.summary,
            "configurations": {n: dict(c.parameters) for n, c in b.configurations.items()},
            "default": b.configuration(None)[0],
            "pictures": {picture.name: picture.caption for picture in b.pictures},
            "bounds": [{"bound": o.bound.name, "what": o.what, "formula": o.bound.formula,
                        "source": o.bound.source} for o in b.bounds],
            "evidence": _evidence(b)} for b in blocks], indent=2))
        return
    table = tables.Table(
        caption=None if names else "the first configuration is the default; `cyclebound list "
        "BLOCK` (or a family) says more")
    for heading in ("block", "configurations", "bounds",
                    *(["evidence", "pictures"] if names else []), "what it is"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "block")
    for b in blocks:
        if not names:
            table.add_row(b.name, ", ".join(b.configurations),
                          ", ".join(dict.fromkeys(o.bound.name for o in b.bounds)), b.summary)
            continue
        default = b.configuration(None)[0]
        table.add_row(b.name, "\n".join(
            f"{n}{' (default)' if n == default and len(b.configurations) > 1 else ''}: "
            + ", ".join(f"{k}={v}" for k, v in c.parameters.items())
            for n, c in b.configurations.items()),
            "\n".join(f"{o.what}: {o.bound.formula}" for o in b.bounds),
            "\n".join(_evidence(b)), "\n".join(picture.name for picture in b.pictures) or "-",
            b.summary, end_section=True)
    printing.print_table(table, console())


def _evidence(block: "blocks.Block") -> list[str]:
    kinds = [f"simulation: {', '.join(t.name for t in block.testbenches)}"]
    if any(o.exhaustive for o in block.bounds) and any(
            c.values for c in block.configurations.values()):
        kinds.append("exhaustive")
    if block.properties:
        kinds.append(f"proof: {', '.join(p.name for p in block.properties)}")
    if block.explorations:
        kinds.append(f"every state: {', '.join(e.name for e in block.explorations)}")
    if block.fpga:
        kinds.append(f"fpga: {block.fpga.device}")
    return kinds


@app.command()
def bound(name: Annotated[str, typer.Argument(
              metavar="BLOCK", help="A block or a family, as `list` names it.")],
          configuration: ConfigurationName = None, settings: Settings = None,
          part: PartFile = None, derivation: Annotated[bool, typer.Option(
              "--derivation", help="Quote each claim's derivation.")] = False,
          as_json: AsJson = False) -> None:
    """Claims about latencies: values, formulas and sources, without a simulation.

    For a block, or for all blocks of a family that have what --configuration, --set and --part
    name. A claim may need parameters of a request besides those of the block: name them with --set,
    e.g. `cyclebound bound noc.arbiter --set requesters=11`.
    """
    changes = with_part(settings, part)
    chosen = the_catalogue().select([name])
    family = name not in (block.name for block in chosen) and chosen[0].family == name
    claims_of, refused = {}, []
    for block in chosen:
        if family and not _has(block, configuration, changes):
            continue
        try:
            claims_of[block.name] = _claims(block, configuration, changes)
        except UserError as error:
            if not (family and part):
                raise
            refused.append(error)  # no part is for every block
    if refused and not claims_of:
        raise refused[0]
    for problem in refused:
        say(str(problem))
    if not claims_of:
        raise UserError(f"no block of {name} has all that --configuration, --set and --part name")
    rows = [row for group in claims_of.values() for row in group]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        for title, claims in claims_of.items():
            if family:
                console().print(f"{title}\n", style="bold underline")
            for row in claims:
                _print_claim(row, derivation)
    if settings and not family and all(row["cycles"] is None for row in rows):
        raise UserError(rows[0]["problem"] + "; give it with --set NAME=VALUE")


def _has(block: "blocks.Block", configuration: str | None, settings: list[str]) -> bool:
    """Whether a block has this configuration and all parameters that are to be changed."""
    if configuration is not None and configuration not in block.configurations:
        return False
    names = {*block.configuration(configuration)[1].parameters,
             *(name for binding in block.bounds for name in binding.bound.parameters)}
    return names >= {option.partition("=")[0] for option in settings}


def _claims(block: "blocks.Block", configuration: str | None,
            settings: list[str]) -> list[dict[str, Any]]:
    """All claims of a block, as rows for `bound`. Raises `UserError`."""
    more = tuple(dict.fromkeys(p for o in block.bounds for p in o.bound.parameters))
    parameters = parameters_of(block, configuration, settings, more=more)
    own = block.configuration(configuration)[1].parameters
    block.make({name: parameters[name] for name in own})  # refuses what the component refuses
    rows = []
    for observed in block.bounds:
        row: dict[str, Any] = {
               "block": block.name, "bound": observed.bound.name,
               "claim": observed.bound.kind, "what": observed.what,
               "environment": observed.bound.environment,
               "assumed": [*dict.fromkeys(says for prop in block.properties
                                          if prop.name in observed.proved_by
                                          for says in prop.assumes)],
               "symbols": _symbols(observed.bound),
               "first": observed.probe.start if observed.probe else None,
               "last": observed.probe.end if observed.probe else None,
               "ticks": observed.probe.ticks if observed.probe else "",
               "derivation": observed.bound.derivation,
               "formula": observed.bound.formula, "source": observed.bound.source,
               "parameters": {k: parameters[k] for k in observed.bound.parameters
                              if k in parameters},
               "unit": observed.probe.counts if observed.probe else "cycles",
               "values": _values(block, observed), "cycles": None, "problem": None}
        try:
            row["cycles"] = verdicts.cycles_of(observed.bound, parameters)
            row["source"] = observed.bound.source_of(parameters)
        except NotCovered as error:
            row["problem"] = str(error)
        except UserError:  # what it needs cannot be imported
            raise
        except (MemoryError, OverflowError) as error:
            most = max(settings, key=lambda setting: len(setting.partition("=")[2]), default="")
            raise UserError(f"bound {observed.bound.name} of {block.name}: too large to be worked "
                            f"out{f', with {shown(most)}' if most else ''}") from error
        except Exception as error:  # a mistake in the formula, which may be the user's own
            raise UserError(f"bound {observed.bound.name} of {block.name}: "
                            f"{type(error).__name__}: {error}") from error
        rows.append(row)
    return rows


def _values(block: "blocks.Block", observed: "blocks.BoundBinding") -> list[dict]:
    """A claim's values in the block's configurations: for all requests if the configuration alone
    decides the value, else for the kinds of request that proofs declare and for the largest of
    the exhaustive domain."""
    rows: list[dict] = []
    for name, configuration in block.configurations.items():
        kinds = [{}, *declared_kinds(block, configuration.parameters, observed.what),
                 *([{name: max(values) for name, values in configuration.values.items()
                     if name in observed.bound.parameters}] if configuration.values else [])]
        for kind in kinds:
            try:
                value = verdicts.cycles_of(observed.bound, {**configuration.parameters, **kind})
            except Exception:  # a request decides it, or the property is of other parameters
                continue
            row = {"configuration": name, "request": kind, "value": value}
            if row not in rows and not (kind and any(
                    other["value"] == value and other["configuration"] == name
                    for other in rows)):
                rows.append(row)
    return rows


def declared_kinds(block: "blocks.Block", parameters: Mapping[str, object], what: str
                   ) -> list[Mapping[str, object]]:
    """The kinds of request that proofs declare for hardware of these parameters."""
    return [declares(parameters) for prop in block.properties
            if parameters.keys() >= set().union(*map(set, prop.instances[:1]))
            for bound, declares in prop.declares.items() if bound == what]


def _symbols(claim: Bound) -> dict[str, str]:
    """Meaning and range of each argument of a claim."""
    ranges = claim.ranges
    return {name: f"{ranges[name].says or name}: {ranges[name]}" if name in ranges else ""
            for name in claim.parameters}


def _print_claim(row: Mapping, derivation: bool) -> None:
    """One claim as a paragraph: its value, or which parameter is missing, then its formula, source,
    environment, events and parameters."""
    value = (row["problem"].removeprefix(f"bound {row['bound']} ") if row["problem"] is not None
             else f"{row['cycles']:,} {row['unit']}" if row["claim"] != "rate"
             else str(row["cycles"]))
    lines = [("formula", row["formula"]), ("source", row["source"])]
    if row["environment"]:
        lines.append(("environment", row["environment"]))
    if row["assumed"]:
        lines.append(("proofs", f"assume that none of these happens: {'; '.join(row['assumed'])}"))
    if row["first"]:
        lines += [("from", row["first"]), ("to", f"{row['last']}, both included")]
    if row["ticks"]:
        lines.append(("counts", f"{row['unit']}: {row['ticks']}"))
    for one in row["values"]:
        request = "".join(f", {name} {number}" for name, number in one["request"].items())
        lines.append((one["configuration"], f"{one['value']:,} {row['unit']}{request}"))
    if derivation:
        lines.append(("derivation", row["derivation"]))
    lines += [(f"  --set {name}=", " ".join(filter(None, (
        f"= {row['parameters'][name]}" if name in row["parameters"] else "", says))))
        for name, says in row["symbols"].items()]
    console().print(f"{row['claim']} {row['bound']} ({row['what']}): {value}", style="bold")
    table = tables.Table.grid(padding=(0, 2))
    for name, says in lines:
        table.add_row(f"  {name}", says)
    console().print(table)
