"""Blocks with other parameters than a configuration's, for ``run`` and ``prove``."""

import dataclasses
import re
from pathlib import Path

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.catalogue import load
from cyclebound.sim.describe.variant import proofs_with, variant

pytestmark = pytest.mark.unit

FILE = Path(__file__).parents[2] / "docs" / "parts" / "ddr4-2400.toml"


@pytest.fixture
def own_part(tmp_path, monkeypatch):
    """A part's file in the current folder, named as a user would."""
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text(FILE.read_text())
    return "my.toml"


def test_a_configuration_with_a_users_part(own_part):
    block = load().find("dram.controller")
    found, name = variant(block, "4bg", {"part": own_part})
    assert name == "4bg+part=my"
    assert found.configurations[name].parameters == {"part": str(Path(own_part).resolve())}
    assert list(block.configurations) == ["2bg", "4bg"]
    same, name = variant(block, None, {"part": "ddr4-3200aa-x16"})
    assert (same, name) == (block, "2bg")


def test_testbenches_of_a_configuration_are_its_variants_too():
    found, name = variant(load().find("noc.mesh"), "harness4", {"depth": 9})
    assert any(name in (bench.configurations or ()) for bench in found.testbenches)


def test_proofs_with_a_users_part(own_part):
    block = load().find("dram.command_arbiter")
    found = [(claim.name, dict(parameters)) for claim, parameters in proofs_with(
        block, {"part": own_part})]
    path = str(Path(own_part).resolve())
    assert found == [(name, {"part": path}) for name in ("one_command", "activates", "bursts")]


@pytest.mark.parametrize(("make", "message"), [
    (lambda block: variant(block, None, {"part": "nothing.toml"}),
     r"^.*nothing\.toml: cannot be read: No such file or directory$"),
    (lambda block: variant(block, None, {"part": "ddr9"}),
     r"^dram\.controller: part must be one of .*, or a file that ends in \.toml, not 'ddr9'$"),
    (lambda block: proofs_with(load().find("noc.arbiter"), {"part": "ddr4-3200aa-x8"}),
     r"^no property of noc\.arbiter has the parameter part$"),
])
def test_mistakes(make, message):
    with pytest.raises(UserError) as raised:
        make(load().find("dram.controller"))
    assert re.match(message, str(raised.value))


def test_a_block_too_large_for_the_machine():
    def component(count):
        raise MemoryError

    block = dataclasses.replace(load().find("noc.arbiter"), component=component)
    with pytest.raises(UserError, match=r"^noc\.arbiter: too large for this machine's memory with "
                                        r"count=999999999999$"):
        block.make({"count": 999_999_999_999})
