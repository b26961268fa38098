"""A block with other values for some of a configuration's parameters, as ``--set`` names them."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

from cyclebound.golden.dram.part_file import PartFileError, load_part
from cyclebound.golden.dram.timing import PARTS
from cyclebound.sim.block import Block, Configuration, Property
from cyclebound.sim.errors import UserError

__all__ = ["proofs_with", "variant"]


def _found(name: str, value: object) -> object:
    """The value; a part's file by its whole path, for simulators run in folders of their own."""
    if name == "part" and isinstance(value, str) and value.endswith(".toml"):
        path = str(Path(value).resolve())
        try:
            load_part(path)
        except PartFileError as error:
            raise UserError(str(error)) from error
        return path
    return value


def variant(block: Block, configuration: str | None, values: Mapping[str, object]
            ) -> tuple[Block, str]:
    """A block with one more configuration, and the name of that.

    It is what ``configuration`` is but for ``values``, and runs on the same testbenches. Its name
    says what was changed. Raises `UserError` for values that the component refuses.
    """
    name, base = block.configuration(configuration)
    values = {key: _found(key, value) for key, value in values.items()}
    changed = {key: value for key, value in values.items() if base.parameters.get(key) != value}
    if not changed:
        return block, name
    parameters = {**base.parameters, **changed}
    block.make(parameters)
    words = [f"{key}={Path(value).stem if isinstance(value, str) else value}"
             for key, value in changed.items()]
    new = re.sub(r"[^\w.,=+-]", "_", "+".join([name, *words]))
    with_new = {"configurations": {**block.configurations, new: Configuration(parameters,
                                                                             base.domain)},
                "testbenches": tuple(_joined(each, name, new) for each in block.testbenches),
                "bounds": tuple(_joined(each, name, new) for each in block.bounds)}
    return dataclasses.replace(block, **with_new), new


def _joined(entry: object, name: str, new: str) -> object:
    """A testbench or bound that speaks of the new configuration if it does of the old one."""
    if entry.configurations and name in entry.configurations:
        return dataclasses.replace(entry, configurations=(*entry.configurations, new))
    return entry


def proofs_with(block: Block, values: Mapping[str, object]) -> list[tuple[Property, dict]]:
    """The block's properties with these values, and for which parameters each is to be proved.

    A property that names none of them is left out, and one that is proved for parts made small for
    it; one whose instances so become the same is proved once. Raises `UserError` if none is left.
    """
    values = {key: _found(key, value) for key, value in values.items()}
    found: list[tuple[Property, dict]] = []
    for claim in block.properties:
        for instance in claim.instances:
            changed = {**instance, **values}
            made_small = "part" in values and instance.get("part") not in PARTS
            if (values.keys() <= instance.keys() and not made_small
                    and (claim, changed) not in found):
                found.append((claim, changed))
    if not found:
        raise UserError(f"no property of {block.name} has the "
                        f"{'parameters' if len(values) > 1 else 'parameter'} {', '.join(values)}")
    return found
