"""Commands that give Verilog, proofs and statements of what a run showed."""

import functools
import json
import os
import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.lazy import lazily
from cyclebound.sim.base.shape import cleaned
from cyclebound.sim.cli import base as cli
from cyclebound.sim.cli.base import (
    AsJson,
    BlockName,
    ConfigurationName,
    PartFile,
    Settings,
    Workers,
    app,
    changes_of,
    console,
    parameters_of,
    progress_bars,
    the_catalogue,
    with_part,
)

with lazily():
    from cyclebound.sim.base import print_table as printing
    from cyclebound.sim.describe import variant as variants
    from cyclebound.sim.export import check as verilog_checks
    from cyclebound.sim.export import compare as verilog_comparing
    from cyclebound.sim.export import litex as verilog_litex
    from cyclebound.sim.export import registers as register_files
    from cyclebound.sim.export import shells as verilog_shells
    from cyclebound.sim.export import verilog as verilogs
    from cyclebound.sim.proof import certify as certifying
    from cyclebound.sim.proof import prove as proving
    from cyclebound.sim.regression import attest as attesting
    from cyclebound.sim.regression import regress as regression
    from cyclebound.sim.regression import results as run_results


_DIFFERENT = 10  # lines of what differs here
_SHELLS = ("axi-stream", "wishbone")


@app.command()
def verilog(block: BlockName, output: Annotated[Path, typer.Option(
                "--output", "-o", metavar="FILE", help="Where to write; - for standard output.")
            ] = Path("-"),
            configuration: ConfigurationName = None, settings: Settings = None,
            part: PartFile = None,
            name: Annotated[str | None, typer.Option(
                "--name", metavar="NAME", help="What the module is called, and how the names of "
                "all others begin; so that two configurations fit into one design. The default is "
                "the block's name.")] = None,
            port_map: Annotated[Path | None, typer.Option(
                "--port-map", metavar="FILE", help="Write ports, fields, claims and an instance as "
                "JSON too.")] = None,
            fusesoc: Annotated[Path | None, typer.Option(
                "--fusesoc", metavar="FILE", help="Write a FuseSoC core file for --output too.")
            ] = None,
            litex: Annotated[Path | None, typer.Option(
                "--litex", metavar="FILE", help="Write a LiteX module around --output too.")
            ] = None,
            registers: Annotated[Path | None, typer.Option(
                "--registers", metavar="DIR", help="Write the block's registers too: SystemRDL, "
                "IP-XACT of --output, a C header and a driver in Python.")] = None,
            shell: Annotated[str | None, typer.Option(
                "--shell", metavar="KIND", help="axi-stream: ports as in AXI4-Stream, in a module "
                "NAME_axis around the block. wishbone: registers for streams, and a slave for each "
                "requester of a memory, in a module NAME_wb.")] = None,
            check: Annotated[bool, typer.Option(
                "--check", help="Prove with yosys that the Verilog is the hardware that was built.")
            ] = False,
            seconds: Annotated[int | None, typer.Option(
                "--check-seconds", metavar="S", min=1, help="Seconds of CPU for each module in "
                "--check; those that take longer are named, with exit status 1.")] = None,
            beside: Annotated[int | None, typer.Option(
                "--beside", metavar="CYCLES", min=1, help="Simulate the Verilog beside the "
                "hardware that was built, with random inputs for so many cycles, and compare all "
                "outputs.")
            ] = None) -> int:
    """Verilog for other designs: a port for each field, claims in the head, an instance to copy.

    The result is checked with `verilator --lint-only -Wall`. Exit status 1 if that warns.
    """
    the_block = the_catalogue().find(block)
    if registers and not the_block.registers:
        have = [one.name for one in the_catalogue() if one.registers]
        raise UserError(f"{the_block.name} has no register table; {', '.join(have)} have one")
    if registers and (str(output) == "-" or shell):
        raise UserError("--registers describes the file of --output, a block without a shell")
    made = verilogs.export(the_block, parameters_of(the_block, configuration,
                                                    with_part(settings, part)), name)
    problems = verilogs.lint(made, the_block.unused_inputs)
    for option, path in (("--fusesoc", fusesoc), ("--litex", litex)):
        if path and (str(output) == "-" or output.resolve().parent != path.resolve().parent):
            raise UserError(f"{option} names a file in the folder of --output")
    core, module = made.fusesoc(output.name), verilog_litex.litex_module(made, output.name)
    verilog_text = made.text
    if shell is not None:
        if shell not in _SHELLS:
            raise unknown("shell", shell, _SHELLS)
        if fusesoc or litex:
            raise UserError("--fusesoc and --litex are for the block without a shell")
        around = (verilog_shells.wishbone if shell == "wishbone" else
                  verilog_shells.axi_stream)(made)
        verilog_text = around.text
        problems += verilogs.warnings(around.text, around.name)
    described = {} if not registers or not the_block.registers else {
        registers / name: text for name, text in register_files.register_files(
            made, the_block.registers, os.path.relpath(output, registers)).items()}
    for path, text in ((output, verilog_text), (port_map, made.port_map), (fusesoc, core),
                       (litex, module), *described.items()):
        if path is None:
            continue
        if str(path) == "-":
            print(text)
            continue
        try:
            if path in described:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error
    for problem in problems:
        cli.say(f"{the_block.name}: {problem}")
    if check:
        checked = verilog_checks.check_equivalent(made, seconds)
        cli.say(f"{made.core}: {checked}")
        problems += list(checked.left)
    if beside:
        compared = verilog_comparing.compare_with_source(the_block, made.parameters, made, beside)
        cli.say(f"{made.name}: equal to its source in {compared.cycles:,} cycles; of "
                f"{compared.outputs:,} bits of outputs {compared.moved:,} were 0 and 1")
    return 1 if problems else 0


@app.command()
def prove(block: BlockName, workers: Workers = None, settings: Settings = None,
          part: PartFile = None, solvers: Annotated[str | None, typer.Option(
              "--solvers", help="Prove with each of these, such as yices,z3; that they disagree is "
                                "an error.")] = None,
          certify: Annotated[bool, typer.Option(
              "--certify", help="Restate each proof as plain SAT problems, whose proofs by another "
              "solver are checked line by line.")] = False,
          keep: Annotated[Path | None, typer.Option(
              "--certificates", metavar="DIR", help="The same, and keep the problems (.cnf) and "
              "their proofs (.lrat), for other checkers.")] = None,
          as_json: AsJson = False) -> int:
    """Prove the block's properties with SymbiYosys: bounded, then by induction.

    Where the block has explorations, every state that it can reach is visited instead, and the
    longest time of a request is found.

    --set and --part give parameters other values; properties that depend on them are proved for
    these.

    Exit status 1 if a property has a counterexample, if its induction does not close, or if a
    certificate was asked for and is refused or takes too long.
    """
    the_block = the_catalogue().find(block)
    names = None if solvers is None else proving.solvers_of(solvers)
    if certify := certify or keep is not None:
        certifying.need_solver()
    if not the_block.properties and not the_block.explorations:
        raise UserError(f"{the_block.name} has no properties to prove")
    changes = changes_of(the_block, None, settings, part)
    with progress_bars() as report:
        if changes or solvers is not None:
            proofs = []
            wanted = variants.proofs_with(the_block, changes) if changes else [
                (prop, instance) for prop in the_block.properties
                for instance in prop.instances]
            by = (proving.prove if names is None else
                  functools.partial(proving.prove_with, names))
            for number, (prop, parameters) in enumerate(wanted):
                report("proofs", number, len(wanted))
                try:
                    proof = by(the_block, prop, parameters)
                    if certify:
                        proof = certifying.certified(
                            proof, the_block, prop,
                            keep=keep and keep / f"{the_block.name}.{prop.name}.{number + 1}")
                    proofs.append(proof)
                except UserError as error:
                    proofs.append(proving.Proof(the_block.name, prop.name, prop.says,
                                                dict(parameters),
                                                detail=str(error)))
        else:
            proofs = regression.prove_blocks([the_block], pages=tuple(cli.pages), workers=workers,
                                             report=report, certify=certify, keep=keep)
    if as_json:
        print(json.dumps([asdict(proof) for proof in proofs], indent=2))
    else:
        table = Table()
        for name in ("property", "for", "status", "checked to", "induction", "seconds", "says"):
            table.add_column(name, overflow="fold")
        for proof in proofs:
            style = {"proved": "green", "bounded": "yellow"}.get(proof.status, "bold red")
            words = [proof.says, *([proof.detail] if proof.status != "proved" else ())]
            if proof.certificate:
                words.append(str(proving.Certificate(**proof.certificate)))
            table.add_row(
                proof.property, ", ".join(f"{k}={v}" for k, v in proof.parameters.items()),
                Text(proof.status, style=style), str(proof.depth),
                "-" if proof.induction is None else str(proof.induction),
                f"{proof.seconds:.1f}" + (" (cached)" if proof.cached else ""),
                ": ".join(words))
        printing.print_table(table, console())
    return int(bool(run_results.unproved(map(asdict, proofs)))
               or any(proof.certificate.get("status") == "open" for proof in proofs))


@app.command()
def attest(run: Annotated[Path | None, typer.Argument(
               metavar="RUN", help="The run's folder.", show_default=False)] = None,
           output: Annotated[Path | None, typer.Option(
               "--output", "-o", metavar="FILE", help="Where the statement goes, its signature "
               "beside it; the default is statement.json in the run's folder.")] = None,
           key: Annotated[Path | None, typer.Option(
               "--key", metavar="FILE", help="A private ssh key to sign with; the default is one "
               "of its own, made at first.")] = None,
           verify: Annotated[Path | None, typer.Option(
               "--verify", metavar="STATEMENT", help="Check this statement, and RUN against it; "
               "the default for RUN is the run that it lies in.")] = None,
           signers: Annotated[Path | None, typer.Option(
               "--signers", metavar="FILE", help="Who may sign, as ssh's allowed_signers; else any "
               "key that fits is good.")] = None,
           signer: Annotated[str, typer.Option(
               "--signer", metavar="NAME", help="Which of the signers it has to be.")] = "",
           sample: Annotated[int, typer.Option(
               "--sample", metavar="N", min=0, help="Run so many jobs and proofs again.")] = 0,
           seed: Annotated[int | None, typer.Option(
               "--seed", metavar="S", min=0, help="Draw them by this seed; the default is a "
               "new random one.")] = None) -> int:
    """Write and sign what a run showed, of what sources, packages and tools; or verify that.

    Exit status 1: something is not as the statement says.
    """
    if verify is None:
        if run is None:
            raise UserError("name a run to attest, or a statement to check with --verify")
        if sample or signers or signer or seed is not None:
            raise UserError("--sample, --seed, --signers and --signer belong to --verify")
        statement = output or run / attesting.STATEMENT
        signature = attesting.attest(run, statement, key)
        _tell(f"{statement}, signed: {signature}")
        return 0
    if output or key:
        raise UserError("--output and --key are for a statement that is written, not --verify")
    if run is None and (verify.parent / run_results.FILE).is_file():
        run = verify.parent
    seed = secrets.randbits(32) if seed is None else seed
    check = attesting.verify(verify, run, signers=signers, signer=signer, sample=sample, seed=seed,
                             tell=lambda name: _tell(f"again: {name}"))
    _tell(check.signer)
    for line in check.differs[:_DIFFERENT]:
        _tell(f"not as here: {line}")
    if len(check.differs) > _DIFFERENT:
        _tell(f"not as here: {len(check.differs) - _DIFFERENT:,} more")
    for line in check.wrong:
        _tell(f"WRONG: {line}")
    again = f", {len(check.ran)} run again (seed {seed})" if sample else ""
    _tell(f"{'not ' * bool(check.wrong)}as the statement says{again}"
            + ("" if run else "; the run itself was not looked at"))
    return 1 if check.wrong else 0


def _tell(line: str) -> None:
    console().print(cleaned(line), soft_wrap=True, highlight=False, markup=False)
