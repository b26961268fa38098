"""Clock rates and areas on pages are those of ``cyclebound fpga``, seed 1.

Left out is what takes many minutes: `dram.controller` and the ports and adapters around it, the
4 x 4 mesh, and the parts of the 5x5 fabric.
"""

import json

import pytest

from kit.pages import Page, numbers

SYSTOLIC = "| block | configuration | clock rate | LUTs | flip-flops | multipliers |"
DATAFLOW = {  # by the first words of a row: block and configuration
    "token_buffer": ("dataflow.token_buffer", None),
    "float_fma": ("dataflow.float_fma", None),
    "compute_unit": ("dataflow.compute_unit", None),
    "load_store_unit": ("dataflow.load_store_unit", None),
    "control_unit": ("dataflow.control_unit", None),
    "special_unit": ("dataflow.special_unit", None),
    "thread_source": ("dataflow.thread_source", None),
    "switch": ("dataflow.switch", None),
    "thread_sink": ("dataflow.thread_sink", None),
    "cache_banks": ("dataflow.cache_banks", "crossing"),
}
DDR3 = {
    "front end": ("dram.multi_port_front_end", "equal"),
    "reorder core": ("dram.reorder_core", "paper"),
    "page controller": ("dram.page_controller", "open"),
}
SENTENCES = {  # of noc.md
    "noc.wormhole_router": "{mhz:.0f} MHz on ECP5-85k, speed grade 6, with 32-bit flits and FIFOs "
                           "of 4; {luts:,} lookup tables, {flip_flops:,} registers",
    "noc.network_interface": "{mhz:.0f} MHz on ECP5-85k, speed grade 6, {luts:,} lookup tables, "
                             "{flip_flops:,} registers, {block_rams} block RAMs",
}
pytestmark = [pytest.mark.system, pytest.mark.thorough]


def rows(page, head):
    """Rows of all tables of a page that begin so."""
    found, text = [], Page(page)
    for part in text.text.split(head)[1:]:
        for line in part.splitlines()[2:]:
            if not line.startswith("|"):
                break
            found.append([cell.strip() for cell in line.split("|")[1:-1]])
    assert found
    return found


def of_blocks():
    """Each row that names its block and configuration: page, block, configuration, its figures."""
    for cell, configuration, rate, luts, flip_flops, *_ in [
            *rows("systolic.md", SYSTOLIC),
            *rows("dram.md", "| block | configuration | clock | LUTs | flip-flops |")]:
        block = cell.strip("`")
        if block != "dram.controller" and "before" not in configuration:
            yield block, configuration.split()[0].rstrip(":"), (rate, luts, flip_flops)
    for name, rate, luts, flip_flops, *_ in rows("dataflow.md", "| block | MHz | LUTs |"):
        yield *DATAFLOW[name.partition(",")[0].split()[0]], (rate, luts, flip_flops)
    for name, rate, luts, flip_flops in rows("noc.md", "| ECP5-85k, speed grade 6, seed 1 | MHz |"):
        yield *DDR3[name.partition(",")[0]], (rate, luts, flip_flops)


def placed(call, block, configuration=None):
    words = ["fpga", block, "--json", *(["-c", configuration] if configuration else [])]
    done = call(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("block", "configuration", "figures"), list(of_blocks()),
                         ids=lambda value: value if isinstance(value, str) else "")
def test_tables(call, block, configuration, figures):
    found = placed(call, block, configuration)
    decimals = 1 if "." in figures[0] else 0
    assert f"{found['mhz']:.{decimals}f}" == figures[0].removesuffix(" MHz")
    assert [found["luts"], found["flip_flops"]] == [numbers(cell)[0] for cell in figures[1:]]


@pytest.mark.parametrize("block", SENTENCES)
def test_sentences(call, block):
    assert Page("noc.md").says(f"**Clock rate**: {SENTENCES[block].format(**placed(call, block))}")


def test_the_router_of_two_channels(call):
    assert Page("shmac.md").says(
        "seed 1): {mhz:.1f} MHz, {luts:,} lookup tables, {flip_flops:,} registers, for".format(
            **placed(call, "shmac.router")))


@pytest.mark.parametrize(("block", "column"), [("noc.handshake_router", 1),
                                               ("noc.pipelined_router", 2)])
def test_shmacs_routers(call, block, column):
    found = placed(call, block)
    table = {row[0]: row for row in Page("shmac.md").rows("| | handshake | pipelined |")}
    rate = table["ECP5-85k, speed grade 6, seed 1: clock rate"][column]
    assert f"{found['mhz']:.0f} MHz" == rate
    assert table["lookup tables, registers"][column] == (
        f"{found['luts']:,}, {found['flip_flops']:,}")


def test_the_slowest_path(call):
    shown = [(f"`{step['signal']}`", step["line"], str(step["cells"]), f"{step['logic_ns']:.2f}",
              f"{step['routing_ns']:.2f}") for step in placed(call, "noc.wormhole_router")["path"]]
    for row, step in zip(rows("fpga.md", "| at | file:line |"), shown, strict=True):
        assert row[0] == step[0]
        assert step[1].endswith(row[1])
        assert row[2:] == list(step[2:])
