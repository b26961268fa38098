"""Occupancy against an SM that is filled block by block, and the command that shows it."""

import json

import pytest

from cyclebound.golden.gpu.compute_capability import CAPABILITIES, capability
from cyclebound.golden.gpu.occupancy import BlockResources, calculator_tables, occupancy

pytestmark = pytest.mark.unit
A100 = CAPABILITIES["8.0"]


def filled(threads, registers, total_shared, carve_out, limits):
    """Warps of an SM that takes one block after the other until one no longer fits.

    By another method than the model: registers are four banks, and each warp takes its own from
    the bank that has most left.
    """
    banks = [limits.registers // limits.partitions] * limits.partitions
    memory, places, warps, blocks = carve_out, limits.warps, 0, 0
    chunk = -(-total_shared // limits.shared_unit) * limits.shared_unit
    while blocks < limits.blocks:
        inside = 0
        for _ in range(0, threads, 32):
            bank = banks.index(max(banks))
            need = -(-32 * registers // limits.register_unit) * limits.register_unit
            if banks[bank] < need:
                return warps
            banks[bank] -= need
            inside += 1
        if places < inside or memory < chunk:
            return warps
        places, memory, warps, blocks = places - inside, memory - chunk, warps + inside, blocks + 1
    return warps


def compared(block, limits, carve_out=None):
    """How many table values were compared."""
    count = 0
    for row in calculator_tables(block, limits, carve_out=carve_out):
        of = {"threads": block.threads, "registers": block.registers,
              "shared": block.shared + limits.shared_reserved} | {row.over: row.value}
        assert row.warps == filled(of["threads"], of["registers"], of["shared"], row.carve_out,
                                   limits), row
        count += 1
    return count


@pytest.mark.parametrize("block", [
    BlockResources(256, 32, 0), BlockResources(64, 64, 1000), BlockResources(1000, 33, 12345)])
def test_every_value_of_the_calculators_tables(block):
    """32 block sizes, 255 registers, 329 sizes of shared memory for each of eight carve-outs."""
    assert compared(block, A100, 65536 if block.shared < 9000 else None) == 32 + 255 + 329 * 8
    assert 32 + 255 + 329 * 8 == 2919


@pytest.mark.parametrize("name", [name for name in CAPABILITIES if name != "8.0"])
def test_tables_of_the_other_capabilities(name):
    limits = CAPABILITIES[name]
    assert compared(BlockResources(192, 40, 3000), limits) == (
        32 + 255 + len(limits.carve_outs) * (limits.carve_outs[0] // 512 + 1))


@pytest.mark.parametrize(("block", "carve_out", "blocks", "warps", "limits"), [
    (BlockResources(1024, 16), None, 2, 64, ("warps",)),       # the thesis's vector addition
    (BlockResources(64, 64), None, 16, 32, ("registers",)),    # its convolution: 32 warps
    (BlockResources(32, 16, 0), 65536, 32, 32, ("warps",)),    # 32 blocks at most
    (BlockResources(32, 16, 1025), 65536, 30, 30, ("shared memory",)),  # 2,176 bytes a block
    (BlockResources(1024, 255), None, 0, 0, ("registers",)),
    (BlockResources(1, 1), 0, 0, 0, ("shared memory",)),       # the runtime's 1,024 do not fit
    (BlockResources(1024, 64, 163840 + 3072), None, 1, 32, ("registers", "shared memory")),
])
def test_known_blocks(block, carve_out, blocks, warps, limits):
    found = occupancy(block, A100, carve_out=carve_out)
    assert (found.blocks, found.warps, found.limits) == (blocks, warps, limits)


@pytest.mark.parametrize(("block", "carve_out", "says"), [
    (BlockResources(0), None, r"^threads per block must be 1 to 1024 .*, not 0$"),
    (BlockResources(1025), None, r"^threads per block must be 1 to 1024 .*, not 1025$"),
    (BlockResources(32, 256), None, r"^registers per thread must be 1 to 255 .*, not 256$"),
    (BlockResources(32, 8, -1), None, r"^shared memory per block must be 0 to 166912 .*, not -1$"),
    (BlockResources(32, 8, 166913), None, r"^shared memory per block must be .*, not 166913$"),
    (BlockResources(32), 1000, r"^carve-out must be one of 167936, .* bytes .*, not 1000$"),
])
def test_what_no_launch_can_name(block, carve_out, says):
    with pytest.raises(ValueError, match=says):
        occupancy(block, A100, carve_out=carve_out)


def test_names_of_capabilities():
    assert capability("sm_86") is capability("8.6")
    for wrong in ("sm_", "sm_8", "10", "", "8.0 "):
        with pytest.raises(ValueError, match=r"^compute capability must be one of 7\.0"):
            capability(wrong)


def test_command(call, tmp_path):
    said = call("gpu", "occupancy", "--threads", 64, "-r", 64, "--json", "--tables")
    found = json.loads(said.stdout)
    assert (said.returncode, found["warps"], found["limits"]) == (0, 32, ["registers"])
    assert len(found["tables"]) == 2919
    said = call("gpu", "occupancy", "-t", 64, "-r", 64, "--html", "page.html", "--picture", "p.svg")
    assert "limited by registers" in said.stdout
    assert "<svg" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "p.svg").stat().st_size > 1000
    assert call("gpu", "occupancy", "-t", 1024, "-r", 255).returncode == 1


@pytest.mark.parametrize(("words", "says"), [
    (["-t", 0], "threads per block must be 1 to 1024"),
    (["-t", 32, "-c", "9.9"], "compute capability must be one of"),
    (["-t", 32, "--carve-out", 5], "carve-out must be one of"),
    (["-t", 32, "--picture", "p.bmp"], "--picture takes a file that ends in"),
    (["-t", 32, "--html", "nowhere/p.html"], "cannot write nowhere/p.html"),
])
def test_mistakes(call, words, says):
    said = call("gpu", "occupancy", *words)
    assert said.returncode == 2
    assert says in said.stderr
    assert said.stderr.count("\n") == 1
