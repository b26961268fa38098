"""Kernels of the adversary that were tried before: a file to which each adds a line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.errors import UserError
from cyclebound.tools.simd.wcet_adversary import Attack

__all__ = ["KeptAttacks", "kept_attacks"]

_CODE = tuple(f"cyclebound.tools.simd.{name}" for name in (
    "wcet_adversary", "wcet.analysis", "published.analysis"))


class KeptAttacks:
    """Attacks of one setting in a file, or of no file; what it has from other sources or settings
    is left there and does not count.

    Parameters
    ----------
    path : Path or None
        The file, which need not exist. None: nothing is kept.
    setting : mapping
        What an attack depends on besides its seed.

    Raises
    ------
    UserError
        For a file that cannot be read, or is not of this kind.
    """

    def __init__(self, path: Path | None, setting: Mapping[str, str]) -> None:
        from cyclebound.sim.build.sources import closure  # with blocks, which take a while to load

        self._path = path
        self._head = {"code": closure(*_CODE) if path else "", **setting}
        self._by_seed = ({attack.seed: attack for attack in kept_attacks(path, self._head)}
                       if path else {})
        self._begun = False

    def get(self, seed: int) -> Attack | None:
        """The attack of a seed, if it was made before."""
        return self._by_seed.get(seed)

    def add(self, attack: Attack) -> Attack:
        """Keep an attack, and return it. Raises `UserError`."""
        if self._path is not None:
            record = attack.record
            if not attack.violated:  # its seed is enough to make it again
                del record["text"]
            try:
                with self._path.open("a+b") as file:
                    if not self._begun:
                        _whole_lines(file)
                        self._begun = True
                    file.write(json.dumps({**self._head, "attack": record}).encode() + b"\n")
            except OSError as error:
                raise UserError(f"cannot write {self._path}: {error.strerror}") from None
        return attack


def _whole_lines(file: BinaryIO) -> None:
    """A line that was cut off, when a run was stopped, goes."""
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)


def kept_attacks(path: Path, setting: Mapping[str, str]) -> list[Attack]:
    """The attacks in a file whose line has this setting; a last line that was cut off is none.

    Raises `UserError`.
    """
    try:
        lines = text_in(path).split("\n") if path.exists() else []
    except (OSError, UnicodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    attacks = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            record = json.loads(line)
            if all(record.get(name) == value for name, value in setting.items()):
                attacks.append(Attack.of({"text": "", **record["attack"]}))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UserError(f"{path}, line {number}: this is no kernel that the adversary kept"
                            ) from None
    return attacks
