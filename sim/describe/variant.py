"""A block with other values for some of a configuration's parameters, as ``--set`` names them.

`variant` adds one such configuration to a block, for a single simulation. `varied` makes a block
of nothing but such configurations, which a regression runs like any other. Workers and a resumed
run make it anew from `Changes`, which hold a part file's content and not its path.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cyclebound.golden.dram.part_file import PartFileError, load_part
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.shape import row_misfit
from cyclebound.sim.describe.block import Block, Configuration, Property, Testbench

__all__ = ["UNCHANGED", "Changes", "VariedBlock", "possible", "proofs_with", "refusal", "variant",
           "varied"]

_LONGEST = 100  # characters of a configuration's name, which becomes a folder


@dataclass(frozen=True)
class Changes:
    """The changes of ``--set`` and ``--part``. Plain data: it travels to other machines.

    Attributes
    ----------
    settings : tuple of (name, value)
        Parameters with their values; a part's file by its name without folders.
    part_file : str
        The text of that file; empty if ``part`` names none.
    """

    settings: tuple[tuple[str, int | str], ...] = ()
    part_file: str = ""

    @classmethod
    def of(cls, values: Mapping[str, int | str]) -> "Changes":
        """The changes to these values; reads a part's file. Raises `UserError`."""
        values = {name: _resolved(name, value) for name, value in values.items()}
        if not _is_file("part", values.get("part")):
            return cls(tuple(values.items()))
        path = Path(str(values["part"]))
        return cls(tuple({**values, "part": path.name}.items()), text_in(path))

    @classmethod
    def kept(cls, value: object) -> "Changes":
        """The changes that `as_options` wrote into a run's folder. Raises `UserError`."""
        wrong = row_misfit(value, cls, "changes")
        if wrong or not isinstance(value, dict):
            raise UserError(wrong)
        changes = cls(tuple((name, setting) for name, setting in value["settings"]),
                      value["part_file"])
        part = dict(changes.settings).get("part")
        if _is_file("part", part) != bool(changes.part_file):
            raise UserError("changes have a part file's name and its text, or neither")
        if changes.part_file and Path(str(part)).name != part:
            raise UserError(f"the part file in changes must be in no folder, not {part!r}")
        return changes

    def __bool__(self) -> bool:
        return bool(self.settings)

    def as_options(self) -> dict[str, object]:
        """As plain data for JSON, from which `kept` makes the changes again."""
        return {"settings": [list(setting) for setting in self.settings],
                "part_file": self.part_file}

    @property
    def part_name(self) -> str:
        """The name of the part's file; empty if there is none."""
        return str(dict(self.settings)["part"]) if self.part_file else ""

    @property
    def _path(self) -> str:
        """The part's file on this machine: in the cache, where no edit reaches it in a run."""
        def make(folder: Path) -> None:
            (folder / self.part_name).write_text(self.part_file)

        folder, _ = find_or_make("part", key_of(self.part_name, self.part_file), make)
        return str(folder / self.part_name)

    @property
    def _label(self) -> str:
        return f"{self.part_name} ({key_of(self.part_name, self.part_file)[:8]})"

    @property
    def values(self) -> dict[str, int | str]:
        """The changed parameters, for this machine: a part's file by its path here."""
        return {**dict(self.settings), **({"part": self._path} if self.part_file else {})}

    def labelled(self, parameters: Mapping[str, object]) -> dict[str, object]:
        """Parameters that are the same on every machine: the part's file by name and content."""
        return self._exchanged(parameters, self._path, self._label) if self.part_file \
            else dict(parameters)

    def local(self, parameters: Mapping[str, object]) -> dict[str, object]:
        """Undo `labelled`: the parameters with the part's file by its path on this machine."""
        return self._exchanged(parameters, self._label, self._path) if self.part_file \
            else dict(parameters)

    @staticmethod
    def _exchanged(parameters: Mapping[str, object], old: str, new: str) -> dict[str, object]:
        return {name: new if value == old else value for name, value in parameters.items()}

    def without_paths(self, text: str) -> str:
        """``text`` with the part file's path replaced by its label."""
        return text.replace(self._path, self._label) if self.part_file else text

    def words(self, part: Path) -> list[str]:
        """The command line's words for them; ``part`` is the part's file, if there is one."""
        words = [word for name, value in self.settings if not (self.part_file and name == "part")
                 for word in ("--set", f"{name}={value}")]
        return [*words, *(["--part", str(part)] if self.part_file else [])]


UNCHANGED = Changes()
_Value = TypeVar("_Value")


def _is_file(name: str, value: object) -> bool:
    """Whether that parameter names a part's file."""
    return name == "part" and isinstance(value, str) and value.endswith(".toml")


def _resolved(name: str, value: _Value) -> _Value | str:
    """The value; a part's file by its whole path, for simulators run in folders of their own."""
    if isinstance(value, str) and _is_file(name, value):
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
    values = {key: _resolved(key, value) for key, value in values.items()}
    new, parameters = _changed(name, base, values)
    if new == name:
        return block, name
    block.make(parameters)

    def joined(listed: tuple[str, ...]) -> tuple[str, ...]:
        """Configurations, with the new one if the old one is among them."""
        return (*listed, new) if name in listed else listed

    return dataclasses.replace(
        block, configurations={**block.configurations,
                               new: dataclasses.replace(base, parameters=parameters)},
        testbenches=tuple(dataclasses.replace(
            bench, configurations=bench.configurations and joined(bench.configurations))
            for bench in block.testbenches),
        bounds=tuple(dataclasses.replace(binding, configurations=joined(binding.configurations))
                     for binding in block.bounds)), new


def _changed(name: str, base: Configuration, values: Mapping[str, object]
             ) -> tuple[str, dict[str, object]]:
    """A configuration with these values: what it is called, and its parameters."""
    changed = {key: value for key, value in values.items() if base.parameters.get(key) != value}
    words = [f"{key}={Path(value).stem if isinstance(value, str) else value}"
             for key, value in changed.items()]
    new = re.sub(r"[^\w.,=+-]", "_", "+".join([name, *words]))
    if len(new) > _LONGEST:
        new = f"{new[:_LONGEST - 9]}~{key_of(new)[:8]}"
    return new, {**base.parameters, **changed}


@dataclass(frozen=True)
class VariedBlock:
    """A block whose configurations are all changed.

    Attributes
    ----------
    names : mapping
        The name of each of the block's own configurations, and of what became of it.
    refused : tuple[str, ...]
        What cannot be, or not run, a sentence each.
    """

    block: Block
    names: Mapping[str, str]
    refused: tuple[str, ...] = ()


def varied(block: Block, changes: Changes) -> VariedBlock:
    """The block with every configuration, testbench, bound and proof for the changed parameters.

    A property's instances keep what is independent of it; of others, those are left out that
    say nothing of the changed configurations. Nothing is built; see `possible`.
    """
    if not changes:
        return VariedBlock(block, {name: name for name in block.configurations})
    values = changes.values
    having = {name: configuration for name, configuration in block.configurations.items()
              if values.keys() <= configuration.parameters.keys()}
    changed = {name: _changed(name, configuration, values)
               for name, configuration in having.items()}
    names = {name: new for name, (new, _) in changed.items()}

    def renamed(listed: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in listed)

    fpga = block.fpga and (None if block.fpga.configuration not in names else dataclasses.replace(
        block.fpga, configuration=names[block.fpga.configuration]))
    return VariedBlock(dataclasses.replace(
        block, fpga=fpga,
        configurations={new: dataclasses.replace(having[name], parameters=parameters)
                        for name, (new, parameters) in changed.items()},
        testbenches=tuple(dataclasses.replace(
            bench, configurations=bench.configurations and renamed(bench.configurations),
            quick=bench.quick and renamed(bench.quick))
            for bench in block.testbenches),
        bounds=tuple(dataclasses.replace(binding, configurations=renamed(binding.configurations))
                     for binding in block.bounds),
        properties=tuple(dataclasses.replace(claim, instances=_instances(claim, values))
                         for claim in block.properties),
        explorations=(),  # their environments are made for the catalogue's parameters
        pictures=()), names)  # `picture` could not draw them again


def possible(block: Block, changes: Changes, wanted: Iterable[str] = ()) -> VariedBlock:
    """`varied` without what the component, or the hardware around it in a testbench, refuses.

    Raises `UserError` if nothing of it is left, or not all of the configurations ``wanted``.
    """
    unchecked = varied(block, changes)
    if not changes:
        return unchecked
    refused: list[str] = []
    configurations = {}
    benches: dict[str, list[str]] = {bench.name: [] for bench in block.testbenches}
    for name, new in unchecked.names.items():
        parameters = unchecked.block.configurations[new].parameters
        try:
            block.make(parameters)
        except UserError as error:
            where = changes.without_paths(f"{block.name}: configuration {name} cannot have "
                                          f"{_listed(changes)}: "
                                          f"{str(error).removeprefix(f'{block.name}: ')}")
            if name in wanted or new in wanted:
                raise UserError(where) from error
            refused += [] if wanted else [where]
            continue
        configurations[new] = unchecked.block.configurations[new]
        for bench in unchecked.block.testbenches:
            if not bench.runs_on(new):
                continue
            own = block.configurations[name].parameters
            if not (wrong := refusal(bench, block, parameters, own)):
                benches[bench.name].append(new)
            elif not wanted or name in wanted or new in wanted:
                refused.append(changes.without_paths(
                    f"{block.name}: testbench {bench.name} cannot run on {new}: {wrong}"))
    if not configurations:
        raise UserError(refused[0] if refused else
                        f"no configuration of {block.name} has {_listed(changes)} to change")
    claims = tuple(dataclasses.replace(claim, instances=tuple(
        instance for instance in claim.instances if _makes(claim, block, instance)))
        for claim in unchecked.block.properties)
    return VariedBlock(dataclasses.replace(
        unchecked.block, configurations=configurations, properties=claims,
        testbenches=tuple(dataclasses.replace(bench, configurations=tuple(benches[bench.name]))
                          for bench in unchecked.block.testbenches)),
        {name: new for name, new in unchecked.names.items() if new in configurations},
        tuple(refused))


def _listed(changes: Changes) -> str:
    return ", ".join(f"{name} {value}" for name, value in changes.settings)


def refusal(bench: Testbench, block: Block, parameters: Mapping[str, object],
             own: Mapping[str, object]) -> str:
    """Why the testbench cannot run with these parameters; empty if it can.

    ``own`` are those of the configuration that they come from.
    """
    for name in bench.fixed:
        if name in own and parameters[name] != own[name]:
            return f"its models know {name} {own[name]} only, not {parameters[name]}"
    for name, least in bench.least.items():
        value = parameters.get(name)
        if isinstance(value, int) and value < least:
            return f"it needs {name} to be at least {least}, not {value}"
    if bench.top is None and bench.checker is None:
        return ""
    try:
        component = (bench.top or block.maker)(**parameters)
        if bench.checker:
            bench.checker(component)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def _makes(claim: Property, block: Block, parameters: Mapping[str, object]) -> bool:
    """Whether there is a component with these parameters, and a checker for it."""
    try:
        claim.checker((claim.top or block.maker)(**parameters))
    except (TypeError, ValueError):
        return False
    return True


def _instances(claim: Property, values: Mapping[str, object]) -> tuple[dict[str, object], ...]:
    """The property's instances that say something of a block with these values, each once."""
    instances: list[dict[str, object]] = []
    for instance in claim.instances:
        depends = {name: value for name, value in values.items() if name not in claim.independent}
        new = {**instance, **depends}
        if (depends.keys() <= instance.keys() and new not in instances
                and ("part" not in depends or _real(instance["part"]))):
            instances.append(new)
    return tuple(instances)


def _real(part: object) -> bool:
    """Whether that is a part of DRAM, and none that was made small for a proof."""
    if not isinstance(part, Part | str):
        return False
    try:
        part_named(part)
    except ValueError:
        return False
    return True


def proofs_with(block: Block, values: Mapping[str, object]) -> list[tuple[Property, dict]]:
    """The block's properties with these values, and for which parameters each is to be proved.

    A property that names none of them is left out, and one that is proved for parts made small for
    it; one whose instances so become the same is proved once. Raises `UserError` if none is left.
    """
    values = {key: _resolved(key, value) for key, value in values.items()}
    proofs: list[tuple[Property, dict]] = []
    for claim in block.properties:
        for instance in claim.instances:
            changed = {**instance, **values}
            if (values.keys() <= instance.keys() and (claim, changed) not in proofs
                    and ("part" not in values or _real(instance["part"]))):
                proofs.append((claim, changed))
    if not proofs:
        raise UserError(f"no property of {block.name} has the "
                        f"{'parameters' if len(values) > 1 else 'parameter'} {', '.join(values)}")
    return proofs
