"""The page about SHMAC's network: its tables are the formulas', its CPIs the golden models'."""

import pytest

from cyclebound.golden.noc import shmac_bounds as bounds
from cyclebound.golden.noc.handshake_mesh import HandshakeMeshModel
from cyclebound.golden.noc.pipelined_mesh import PipelinedMeshModel
from cyclebound.golden.noc.routes import Mesh
from cyclebound.golden.noc.shmac_kernel import Kernel, Operation
from cyclebound.golden.shmac import core_bounds
from cyclebound.golden.shmac.network_bounds import NetworkBounds
from cyclebound.golden.shmac.traffic import ALONE, HOTSPOT, MANY, senders
from cyclebound.tb.noc import handshake_mesh, pipelined_mesh
from cyclebound.tb.noc.handshake_mesh import AROUND, CENTRE, reads
from kit.pages import Page, numbers, results

PAGE = Page("shmac.md")
FPGA = {"fetch": 29, "read": 78, "write": 40}  # Table 4.3
pytestmark = pytest.mark.unit


def cpi(operation, bypass=0):
    return bounds.instruction(bypass=bypass, operation=operation, links=int(operation > 0))


def pipelined_cpi(operation, bypass=0):
    return bounds.pipelined_instruction(bypass=bypass, operation=operation,
                                        links=int(operation > 0))


def test_one_masters_accesses():
    """The simulator's column is the thesis'; Tables 4.3 and 4.4 print these."""
    table = PAGE.rows("| quantity |")
    assert [row[1] for row in table] == [*map(str, (27, 47, 22, 31, 28, 75, 38, 8)), (
        f"{cpi(1) / cpi(1, bypass=1):.2f} and {cpi(2) / cpi(2, bypass=1):.2f} times better")]
    assert {row[0]: row[2] for row in table if row[2]} == {
        f"CPI {name}": str(cycles) for name, cycles in FPGA.items()}
    assert {row[4] for row in table} == {
        f"`read_lifetime`: {bounds.read_lifetime.formula.partition(',')[0]}, h links; right",
        f"`write_lifetime`: {bounds.write_lifetime.formula}; right", "the same",
        "`read_lifetime`, with 4 more; right", "`instruction`; right"}
    rows = {row[0]: row[3] for row in table}
    assert rows == {
        "fetch": str(bounds.read_lifetime(links=0)),
        "read of the neighbour": str(bounds.read_lifetime(links=1)),
        "write to the neighbour, until it has left for the memory":
            str(bounds.write_lifetime(links=1)),
        "fetch after a write": str(bounds.read_lifetime(links=0, after_write=1)),
        "CPI fetch": str(cpi(0)), "CPI read": str(cpi(1)), "CPI write": str(cpi(2)),
        "CPI fetch, dual-port RAM": str(cpi(0, bypass=1)),
        "CPI read, write, dual-port RAM": f"{cpi(1, bypass=1)}, {cpi(2, bypass=1)}"}
    fetch, read, write = (f"{2000 * cpi(operation) + 270:,}" for operation in (0, 1, 2))
    assert PAGE.says("2,000 instructions and 270 cycles around them are Table 4.3's "
                     f"{fetch}, {read} and {write}")


def test_what_the_fpga_takes_more():
    ours = [cpi(operation) for operation in (0, 1, 2)]
    more = [fpga - mine for fpga, mine in zip(FPGA.values(), ours, strict=True)]
    shares = [f"{100 * extra / fpga:.1f} %"
              for extra, fpga in zip(more, FPGA.values(), strict=True)]
    assert PAGE.says(f"our RTL is {more[0]}, {more[1]} and {more[2]} cycles faster, "
                     f"{shares[0]}, {shares[1]} and {shares[2]}")


def test_the_routers_bounds():
    shown = {row[0].strip("`"): row for row in PAGE.rows("| bound | formula | evidence |")}
    assert shown["handshake_hop"][1].startswith("11 + 6 (N - 1): ")
    assert shown["handshake_accept"][1].startswith(f"{bounds.handshake_accept.formula}: ")
    hops = next(row for row in PAGE.rows("| | handshake |") if row[0].startswith("through one"))
    assert hops[1:] == ["11 + 6 (N - 1), exact", "4 + (N - 1), exact"]
    for inputs in range(1, 6):
        assert bounds.handshake_hop(contenders=inputs) == 11 + 6 * (inputs - 1)
        assert bounds.handshake_accept(contenders=inputs) == 5 + 6 * inputs
        assert bounds.pipelined_hop(contenders=inputs) == 4 + inputs - 1
    for request in ("hop", "accept"):
        row = results()["noc.handshake_router", "thesis", request]
        assert row["verdict"] == "exact"
        assert shown[f"handshake_{request}"][2].endswith(f"1 to 5 inputs; {row['worst']} cycles")


def test_several_masters():
    """The testbench of the grid holds the RTL to these numbers."""
    shown = {"read": "read", "write": "write", "dual_read": "read, dual-port RAM",
             "dual_write": "write, dual-port RAM",
             "fetch_among_writers": "fetch in the middle, others write",
             "fetch_among_readers": "fetch in the middle, others read"}
    rows = {name: [int(cell) for cell in cells]
            for name, *cells in PAGE.rows("| masters | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |")}
    assert rows == {shown[name]: [round(mean) for mean in means]
                    for name, means in handshake_mesh.SHARED.items()}


def test_round_robin_is_among_ports():
    """Eight masters: one at E and one at W, three at N and at S."""
    grid, ended = HandshakeMeshModel(Mesh(3, 3)), {tile: [] for tile in AROUND}
    for now in range(1300):
        for tile, events in grid.step(dict.fromkeys(AROUND, reads(CENTRE))).items():
            if events.ends == "operation" and now >= 480:
                ended[tile].append(now)
    found = {tile: round((when[-1] - when[0]) / (len(when) - 1)) for tile, when in ended.items()}
    sides = {found[1, 0], found[1, 2]}
    others = {cycles for tile, cycles in found.items() if tile not in {(1, 0), (1, 2)}}
    assert len(sides) == len(others) == 1
    assert PAGE.says(f"those at E and W have a CPI of {sides.pop()}, and the three beyond N and "
                     f"the three beyond S have {others.pop()}")


def test_the_worst_read_of_a_shared_ram():
    alone, two, three = PAGE.rows("| masters | 1 | 2 | 3 | 4 | 5 | 6 to 8 |")
    assert [numbers(cell) for cell in alone[1:5]] == [
        [bounds.shared_read(links=1, sharing=1, inputs=inputs)] for inputs in range(1, 5)]
    most = bounds.shared_read(links=1, sharing=1, inputs=4)
    assert alone[5:] == [str(most)] * 2
    assert two[5:] == [two[5], f"{two[5]} (7)"]
    assert PAGE.says(f"(`shared_read`, measured): {bounds.shared_read.formula}")
    for row, sharing in ((two, 2), (three, 3)):
        assert numbers(row[-1].removesuffix(" (7)")) == [
            bounds.shared_read(links=links, sharing=sharing, inputs=4) for links in (1, 2)]
    worst = bounds.shared_read(links=1, sharing=1, inputs=3)
    assert PAGE.says(f"a worst read of {worst} cycles, not {bounds.read_lifetime(links=1)}",
                     f"S = {bounds.service('passed')} is the time from one grant of the RAM to the "
                     f"next ({bounds.service('accepted')} with `\"accepted\"`)")


def test_the_worst_write_to_a_shared_ram():
    rows = PAGE.rows("| inputs | 1 | 2 | 3 | 4 |")
    assert [[numbers(cell) for cell in row[1:]] for row in rows] == [
        [[bounds.shared_write(links=links, sharing=sharing, inputs=inputs) for links in (1, 2)]
         for inputs in range(1, 5)] for sharing in (1, 2, 3)]
    assert PAGE.says(bounds.shared_write.formula.partition(",")[0], "and P = max(14, 10 n)",
                     f"In an idle network a write takes {bounds.write_lifetime(links=1)} and "
                     f"{bounds.write_lifetime(links=2)} cycles")


def test_the_slowest_among_both():
    """What is allowed; the search has found what is beside it."""
    rows = PAGE.rows("| masters | read, among reads | read, among both | write, among writes | "
                     "write, among both |")
    kinds = [{"links": links, "sharing": sharing, "inputs": inputs} for links, sharing, inputs in (
        (1, 1, 2), (1, 2, 1), (2, 2, 1), (1, 2, 2), (2, 2, 2))]
    assert [[int(cell.split()[-1]) for cell in row[1:]] for row in rows] == [
        [claim(**kind) for claim in (bounds.shared_read, bounds.mixed_read, bounds.shared_write,
                                     bounds.mixed_write)] for kind in kinds]
    assert all(int(cell.split()[0]) <= int(cell.split()[-1]) for row in rows for cell in row[1:])
    pair = {"links": 1, "sharing": 1, "inputs": 2}
    assert PAGE.says(f"28 of {bounds.pipelined_mixed_read(**pair)} cycles for a read, and 75 of "
                     f"{bounds.pipelined_mixed_write(**pair)} for a write")
    two = {"links": 1, "sharing": 2, "inputs": 1}
    assert PAGE.says(f"two masters at one input take {bounds.shared_read(**two, late=True)} cycles "
                     f"for a read, where `shared_read` allowed {bounds.shared_read(**two)} before")


def means(shared, name):
    return ", ".join(f"{shared[name, masters]:g}" for masters in (3, 4, 8))


def test_the_pipelined_router():
    rows = {row[0]: row[1:] for row in PAGE.rows("| | handshake | pipelined |")}
    lives, plain, dual = ([f"{a}, {b}, {c}" for a, b, c in both] for both in (
        ((bounds.read_lifetime(links=0), bounds.read_lifetime(links=1),
          bounds.write_lifetime(links=1)),
         (bounds.pipelined_read_lifetime(links=0), bounds.pipelined_read_lifetime(links=1),
          bounds.pipelined_write_lifetime(links=1))),
        ([cpi(n) for n in (0, 1, 2)], [pipelined_cpi(n) for n in (0, 1, 2)]),
        ([cpi(n, bypass=1) for n in (0, 1, 2)], [pipelined_cpi(n, bypass=1) for n in (0, 1, 2)])))
    assert rows["fetch, read and write lifetimes"] == lives
    assert rows["CPI fetch, read, write"] == plain
    assert rows["the same, dual-port RAM"] == dual
    hops = [bounds.read_lifetime, bounds.pipelined_read_lifetime]
    assert rows["router to router"] == [
        f"{(life(links=1) - life(links=0)) // 2} cycles" for life in hops]
    two = {("read", n): handshake_mesh.SHARED["read"][n - 1] for n in (3, 4, 8)} | {
        ("write", n): handshake_mesh.SHARED["write"][n - 1] for n in (3, 4, 8)}
    for name in ("read", "write"):
        assert rows[f"3, 4, 8 masters that {name}"] == [
            means(two, name), means(pipelined_mesh.SHARED, name)]
    rates, fetches = rows["ECP5-85k, speed grade 6, seed 1: clock rate"], (cpi(0), pipelined_cpi(0))
    assert rows["a fetch at that clock rate (CPI)"] == [
        f"{1000 * cycles / int(rate.split()[0]):.0f} ns"
        for cycles, rate in zip(fetches, rates, strict=True)]


def goes_on(columns, targets):
    """Whether cores of a row with pipelined routers that read these RAMs still end instructions."""
    grid = PipelinedMeshModel(Mesh(1, columns))
    kernels = {(0, n): Kernel(True, True, False, Operation.READ, (0, target))
               for n, target in enumerate(targets)}
    return any(events.ends for now in range(3000) for events in grid.step(kernels).values()
               if now > 2400)


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [12, 14, 16])
def test_pipelined_rows_that_go_on(columns):
    assert PAGE.says("pipelined, rows of 12 to 16, the longest, go on")
    half = columns // 2
    assert goes_on(columns, [half] * half + [half - 1] * half)


def test_shares_of_the_router():
    routers, fetch, read = 20, bounds.read_lifetime(links=0), cpi(1)
    assert PAGE.says("neighbour read, by Figure 5.7 and Table 4.4: "
                     f"{3 * routers} of {read} cycles, {100 * 3 * routers // read} % | the same; "
                     f"{100 * routers // fetch} % of a local fetch ({routers} of {fetch})")


def test_the_cores_classes():
    assert {row[0].strip("`"): int(row[2]) for row in PAGE.rows("| class | instructions |")} == {
        name: claim() for name, claim in core_bounds.CLASSES.items()}
    plain, load = (core_bounds.instruction(core_cycles=claim(), fetch_wait=26, data_wait=wait)
                   for claim, wait in ((core_bounds.plain, 0), (core_bounds.load, 46)))
    assert PAGE.says(f"`addiu` takes {plain} cycles (there: 28) and `lw` {load} (75)")


def test_worst_cases_with_two_channels():
    def of(mesh, traffic, hot, master):
        within = NetworkBounds(mesh, senders(mesh, traffic, hot=hot, master=master), service=1)
        return [within.read(master, hot, behind=0), within.read(master, hot, behind=MANY),
                within.write(master, hot, behind=MANY), within.accept(master)]

    pair, there = Mesh(1, 2), (0, 1)
    assert [numbers(" ".join(row[1:])) for row in PAGE.rows("| master | read, nothing")] == [
        of(pair, ALONE, there, (0, 0)), of(pair, HOTSPOT, there, (0, 0)),
        of(pair, HOTSPOT, there, there)]
    nine = [of(Mesh(3, 3), HOTSPOT, (1, 1), master)[2]
            for master in ((0, 0), (0, 1), (1, 0), (1, 1))]
    assert PAGE.says("corner waits for up to {} cycles, the next tile in the middle's column for "
                     "{}, that in its row for {}, the middle's own master for {}.".format(*nine))
