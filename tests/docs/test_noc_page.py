"""The page about networks on chip: tables that formulas give are what the formulas say."""

import json
import re
from fractions import Fraction

import pytest

from cyclebound.golden.dram.front_end_bounds import front_end_wait
from cyclebound.golden.dram.page_bounds import request_time
from cyclebound.golden.dram.reorder_bounds import residence
from cyclebound.golden.noc import bounds
from cyclebound.golden.noc import end_to_end as write
from cyclebound.golden.noc import end_to_end_read as read
from cyclebound.golden.noc.composition import Path, Transaction, row_conflict
from cyclebound.golden.noc.composition_corrected import (
    end_to_end,
    packets_in_window,
    wait_for_packet,
)
from cyclebound.golden.noc.units import NS
from cyclebound.golden.noc.visible_timing import refreshed, visible
from cyclebound.sim.run.job import Job, run_job
from cyclebound.tb.noc.end_to_end import SEARCHED
from kit.pages import Page, numbers, results

PAGE = Page("noc.md")
WRITE = {"nbytes": 4096, "delta": 5, "window": 512, "period": 1024, "quarters": 3, "cap": 9,
         "part": "ddr3-1600-module"}
INTERFACE = {"period": 1024, "length": 512, "crossing": 24, "offset": 0}  # Table III
unit = pytest.mark.unit
FOUR = {"rows": 4, "columns": 4, "delta": 2, "depth": 4}
SEARCH = "| N_req | N_trans | places tried |"
SWEEP = "| N_req | N_trans | t_1, t_2 | first packet |"


def shown(number):
    """As the page prints cycles of the network: 3,466.5; a quarter is rounded up."""
    tenths = int(number * 10 + Fraction(1, 2))
    return f"{tenths / 10:,.1f}".removesuffix(".0")


@unit
def test_errata_of_the_formulas():
    one, three, eleven = (Transaction(Path(), requesters=n) for n in (1, 3, 11))
    noc = Path().noc
    packet = Transaction(Path(), nbytes=256)
    windows = {number: -(-eleven.packets // number) for number in (1, 2)}
    ahead = packets_in_window(eleven)
    assert PAGE.says(
        f"{shown(one.eq7.to(noc).amount)} NoC cycles printed (case {one.case(one.eq7)}), "
        f"{shown(one.eq7_times.to(noc).amount)} meant (case {one.case(one.eq7_times)})",
        f"waits {wait_for_packet(packet).amount} cycles, not {packet.wait.amount}",
        f"a DMA that begins to read when the window opens: {packets_in_window(one, prefetch=False)}"
        f" packets, not {one.packets_per_window}",
        f"{ahead} packets per window, not {eleven.packets_per_window}, and {windows[ahead]} "
        f"windows, not {eleven.windows}",
        f"case 1 ({shown(three.eq7_times.to(noc).amount)} < 1,024), yet b2 = "
        f"{shown(three.b2(three.eq7_times).amount)} > b1 = "
        f"{shown(three.b1(three.eq7_times).amount)}",
        f"t_req^max would be {row_conflict().amount - 17 + 12} cycles",
        f"(WR to RD is 18 cycles, not {visible('WR', 'RD').amount})")
    assert refreshed(cycles=2917) - 2917 == 2 * 208
    assert PAGE.says("2,917 cycles meet two refreshes, not one",
                     f"t_req^max = {float(row_conflict().to(NS).amount)} ns, N_pk^NoC = "
                     f"{Path().packets_by_network} and t_NoC(66) = {Path().crossing(66).amount}")


@unit
def test_stages_of_the_composed_bound():
    rows = PAGE.rows("| N_req | N_trans | printed, divided |")
    assert len(rows) == 4
    for row in rows:
        requesters, competitors, *printed = (numbers(cell)[0] for cell in row)
        transaction = Transaction(Path(), requesters=int(requesters), competitors=int(competitors))
        ours = end_to_end(transaction, row_conflict(), refreshes=False)
        assert printed == [time.amount for time in (
            transaction.total(transaction.eq7), transaction.total(transaction.eq7_times),
            ours.total, ours.fill, ours.read, ours.network, ours.memory,
            end_to_end(transaction, row_conflict()).total)]


@unit
def test_the_router():
    longest = bounds.packet_hop(delta=2, flits=66, contenders=4, rival_flits=66)
    assert PAGE.says(f"e.g. {longest} cycles for 66 flits against three packets of 66")
    assert results("full")["noc.wormhole_router", "paper", "hop"]["worst"] == str(longest)
    (rate,) = re.findall(r"\*\*Clock rate\*\*: (\d+) MHz on ECP5-85k, speed grade 6, with 32-bit",
                         PAGE.text)
    rows = PAGE.rows("| | least delta_R | clock |")
    assert rows[2][2] == f"**{rate} MHz**"
    before = int(rows[0][2].split()[0])
    with_stage, without = (bounds.t_noc(delta=delta, flits=66, routers=4) for delta in (2, 1))
    assert PAGE.says(
        f"takes {with_stage} cycles at {rate} MHz, {1000 * with_stage / int(rate):.0f} ns; it "
        f"would be {without} cycles at {before} MHz, {1000 * without / before:.0f} ns")


@unit
def test_the_meshes_area_by_router():
    mesh = re.search(r"106\.4 MHz, ([\d,]+) lookup tables, ([\d,]+) registers", PAGE.text)
    tables, registers = (numbers(text)[0] / 16 for text in mesh.groups())
    assert PAGE.says(f"{round(tables):,} lookup tables and {round(registers)} registers for each "
                     "router")


@unit
def test_the_network_interface():
    wait = bounds.window_wait(flits=66, **INTERFACE)
    whole = bounds.injection(words=1024, payload=64, **INTERFACE)
    early = {"words": 2, "payload": 4, "period": 59, "length": 59, "crossing": 1, "offset": 54}
    assert PAGE.says(
        f"**{wait} cycles where the paper says {Transaction(Path()).wait.amount}**",
        f"4 KiB in Table III's windows take {whole:,} NoC cycles",
        f"a transaction of 2 words takes {bounds.injection(**early)} cycles right after reset, "
        f"and {bounds.injection(**early, opened=1)} later",
        f"Packets in a window are floor((L - crossing) / N_flits), {(512 - 24) // 66} in Table "
        "III's")


def saturated(size, groups):
    """Sources that met their bound in a mesh whose tiles all sent without a pause, as the page
    counts them: by flits and column of its table, ``met of all`` and the greatest bound met."""
    worst, found = {}, {}
    for group in groups:
        if group.what == "traversal":
            known = {name: group.parameters[name]
                     for name in ("flits", "pattern", "hot", "source")}
            key = tuple(known.items())
            worst[key] = max(worst.get(key, 0), group.latency)
    for key, latency in worst.items():
        known = dict(key)
        column = {0: "column" if known["hot"] else "hotspot", 1: "transpose"}.get(
            known["pattern"], "permutations")
        bound = bounds.traversal(rows=size, columns=size, delta=2, depth=4, **known)
        assert latency <= bound
        met, whole, greatest = found.get((known["flits"], column), (0, 0, 0))
        reached = latency == bound
        found[known["flits"], column] = (met + reached, whole + 1,
                                         max(greatest, bound if reached else 0))
    return found


@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize(("size", "head", "says"), [
    (4, "| 4 x 4, FIFOs of 4", (
        "All held: {packets:,} packets in {cycles:,} cycles",
        "traffic saturates at {0:.2f} flits in each cycle at each tile, transposes at {1:.2f}, ",
        "and with every 8th packet to one corner, {2:.2f} are delivered at most")),
    (8, "| 8 x 8, as above", ("All held here, too: {packets:,} packets in {cycles:,} cycles",
                              "8 x 8: {0:.2f}, {1:.2f} and {2:.2f}"))])
def test_sources_that_met_their_bound(tmp_path, size, head, says):
    outcome = run_job(Job("noc.mesh", f"harness{size}", "large", 1, str(tmp_path),
                          wall_limit=7200))
    assert outcome.passed, outcome.reason
    found = saturated(size, outcome.groups)
    for row in PAGE.rows(head):
        columns = [name for name, cell in zip(("hotspot", "column", "transpose", "permutations"),
                                              row[1:5], strict=True) if cell]
        here = [found[int(row[0]), name] for name in columns]
        assert [cell for cell in row[1:5] if cell] == [f"{met} of {all_}" for met, all_, _ in here]
        assert row[5] == "; ".join(f"{greatest:,}" for *_, greatest in here)
    curves = json.loads((tmp_path / "curves.json").read_text())
    most = [max(point[1] for point in curves[name])
            for name in ("uniform", "transpose", "hotspot, 1 of 8 packets")]
    assert PAGE.says(*(sentence.format(*most, packets=outcome.compared, cycles=outcome.cycles)
                       for sentence in says))


@pytest.mark.thorough
@pytest.mark.cosim
def test_the_smallest_mesh(tmp_path):
    outcome = run_job(Job("noc.mesh", "harness2", "harness", 1, str(tmp_path)))
    assert outcome.passed, outcome.reason
    found = saturated(2, outcome.groups).values()
    met, whole = (sum(counts) for counts in list(zip(*found, strict=True))[:2])
    assert met == whole
    assert PAGE.says(f"In 2 x 2 (`harness2`), all {whole} are met.")


@pytest.mark.thorough
@pytest.mark.cosim
def test_packets_watched_one_by_one(tmp_path):
    outcome = run_job(Job("noc.mesh", "four", "traffic", 1, str(tmp_path),
                          test="a_hundred_thousand_packets"))
    assert outcome.passed, outcome.reason
    worst = {}
    for group in outcome.groups:
        key = group.parameters["pattern"], group.parameters["source"]
        worst[key] = max(worst.get(key, 0), group.latency)
    bound = {key: bounds.traversal(**FOUR, flits=6, pattern=key[0], source=key[1])
             for key in worst}
    met = [bound[key] for key in worst if worst[key] == bound[key]]
    least = min(worst[key] / bound[key] for key in worst)
    assert PAGE.says(
        f"{len(met)} of {len(worst)} sources meet their bound ({min(met)} to {max(met):,} cycles), "
        f"the one that is farthest from it has {least:.2f} of it",
        f"twelve permutations, {sum(group.count for group in outcome.groups):,} packets")


@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize(("name", "says"), [("square", "others saturating; {} and"),
                                            ("oblong", "and {} cycles |")])
def test_transfers_of_interfaces(tmp_path, name, says):
    outcome = run_job(Job("noc.mesh_interfaces", name, "cycle", 1, str(tmp_path)))
    assert outcome.passed, outcome.reason
    assert PAGE.says(says.format(max(group.latency for group in outcome.groups)))


@unit
def test_the_ddr3_side():
    ours = request_time(part="ddr3-1600-module", refreshes=0)
    assert PAGE.says(
        f"exact, sampled: {ours} ({ours * 1.25:g} ns, the paper's t_req^max), and "
        f"{request_time(part='ddr3-1600-module', refreshes=1)} with a refresh",
        f"a cap of n + 1 = {8 + 1} makes it the paper's {residence(entries=8, cap=9) - 1}")
    assert results()["dram.page_controller", "open", "request"]["worst"] == str(
        request_time(part="ddr3-1600-module", refreshes=1))
    assert results("full")["dram.multi_port_front_end", "equal", "wait"]["worst"] == str(
        front_end_wait(priorities=[4] * 8, limits=[0] * 8, port=0))


@unit
def test_the_searched_starts():
    """Those of which the quick testbench takes one are the longest that any search has found."""
    rows = PAGE.rows(SEARCH)
    assert [tuple(map(int, row[:2])) for row in rows] == list(SEARCHED)
    for requesters, competitors, _, plain, _, took, most, ratio in rows:
        bound = write.total(requesters=int(requesters), competitors=int(competitors), **WRITE)
        assert numbers(most) == [bound]
        assert ratio == f"{float(numbers(took)[0] / bound):.3f}"
        place, settled, turn = SEARCHED[int(requesters), int(competitors)]
        assert plain.endswith(f" DDR cycles, place {place}")
        assert took.endswith(f" DDR cycles, from cycle {settled:,}, turn {turn}")


@unit
def test_the_bounds_of_the_sweep():
    rows = PAGE.rows(SWEEP)
    assert len(rows) == 23
    exceeded = []
    for row in rows:
        kind = {"requesters": int(row[0]), "competitors": int(row[1])}
        printed = Transaction(Path(), **kind)
        assert row[9] == shown(end_to_end(printed, row_conflict()).total.amount)
        loose, tight = printed.total(printed.eq7_times), printed.total(printed.eq7)
        assert row[10] == shown(loose.amount)
        assert row[11].strip("*") == shown(tight.amount)
        stages, whole = [numbers(cell)[0] for cell in row[2:6]], numbers(row[6])[0]
        assert abs(sum(stages) - whole) <= 0.75
        assert stages[0] == write.fill(nbytes=4096, requesters=kind["requesters"])
        assert stages[1] == write.first_packet(requesters=kind["requesters"])
        plain = numbers(row[7])[0]  # as what is printed, without refreshes
        assert plain < whole <= numbers(row[8])[0] <= numbers(row[9])[0] + 120
        assert (plain > tight.amount) == row[11].startswith("**")
        if plain > tight.amount:
            exceeded.append((plain / tight.amount, *kind.values()))
    most, at, _ = max(exceeded)
    last = max(requesters for _, requesters, competitors in exceeded if competitors == 8)
    assert PAGE.says(f"with N_trans = 8 in the rows up to N_req = {last}, by "
                     f"{float(100 * most - 100):.0f} % at N_req = {at}")
    one = next(row for row in rows if row[:2] == ["1", "4"])
    assert PAGE.says(f"take {numbers(one[7])[0] // 1:,} network cycles and "
                     f"{one[11].strip('*')} are allowed",
                     f"{one[7].strip('*')} network cycles measured, {one[11].strip('*')} printed")


@pytest.mark.thorough
@unit
def test_our_bound_of_the_sweep():
    for row in PAGE.rows(SWEEP):
        assert row[8] == shown(0.75 * write.total(
            requesters=int(row[0]), competitors=int(row[1]), **WRITE)), row[:2]


@pytest.mark.thorough
@pytest.mark.cosim
def test_the_sweep(tmp_path):
    outcome = run_job(Job("noc.end_to_end", "paper", "sweep", 1, str(tmp_path)))
    assert outcome.passed, outcome.reason
    kept = {(row["requesters"], row["competitors"]): row
            for row in json.loads((tmp_path / "stages.json").read_text())}
    for row in PAGE.rows(SWEEP):
        found = kept[int(row[0]), int(row[1])]
        stages, whole = found["measured"], 0.75 * found["took"]
        assert row[2:8] == [f"{round(stages[name]):,} ({100 * stages[name] / whole:.0f} %)"
                            for name in ("fill", "first_packet", "flow", "dram")] + [
            f"**{shown(whole)}**", shown(0.75 * found["plain"])]


READS = "| N_req | window, room for 2"
RIVALS = "| N_trans | measured, DDR cycles"
READ = {"nbytes": 4096, "delta": 5, "period": 1024, "quarters": 3, "cap": 9,
        "part": "ddr3-1600-module"}


@unit
def test_the_bounds_of_reads():
    rows = PAGE.rows(READS)
    assert [row[0] for row in rows] == [str(number) for number in range(1, 12)]
    for requesters, *cells in rows:
        for packets, (window, took, most) in ((2, cells[:3]), (16, cells[3:])):
            longest = read.longest_window(requesters=int(requesters), packets=packets, delta=5,
                                          period=1024, most=512)
            assert int(window) == longest
            bound = read.read_total(**READ, requesters=int(requesters), competitors=1,
                                    window=longest, packets=packets, opened=1)
            assert numbers(most) == [bound]
            assert numbers(took)[0] <= bound
    for competitors, took, most in PAGE.rows(RIVALS):
        bound = read.read_total(**READ, requesters=1, competitors=int(competitors), window=512,
                                packets=2, opened=1)
        assert numbers(most) == [bound]
        assert numbers(took)[0] <= bound


@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize(("configuration", "column"), [("paper", 2), ("room", 5)])
def test_the_sweep_of_reads(tmp_path, configuration, column):
    outcome = run_job(Job("noc.end_to_end_read", configuration, "sweep", 1, str(tmp_path)))
    assert outcome.passed, outcome.reason
    kept = {(row["requesters"], row["competitors"]): row["took"]
            for row in json.loads((tmp_path / "stages.json").read_text())}
    for row in PAGE.rows(READS):
        assert numbers(row[column]) == [kept[int(row[0]), 1]]
    if configuration == "paper":
        for competitors, took, _ in PAGE.rows(RIVALS):
            assert numbers(took) == [kept[1, int(competitors)]]


@pytest.mark.thorough
@pytest.mark.cosim
def test_the_search(tmp_path):
    outcome = run_job(Job("noc.end_to_end", "paper", "search", 1, str(tmp_path)))
    assert outcome.passed, outcome.reason
    found = re.findall(r"N_req (\d+), N_trans (\d+): (\d+) places searched, the longest is (\d+) "
                       r"with (\d+) DDR cycles; from there (\d+) starts, the longest is (\d+), "
                       r"turn (\d+), with (\d+) DDR cycles", (tmp_path / "log.txt").read_text())
    shown_as = [[requesters, competitors, places, f"{int(plain):,} DDR cycles, place {place}",
                 tried, f"{int(took):,} DDR cycles, from cycle {int(start):,}, turn {turn}"]
                for requesters, competitors, places, place, plain, tried, start, turn, took
                in found]
    assert [row[:6] for row in PAGE.rows(SEARCH)] == shown_as


def test_the_queue_of_a_read():
    assert PAGE.says("of 4 KiB **30 of 32 bursts**")
    allowed = read.read_queue(nbytes=4096, quarters=3, part="ddr3-1600-module")
    (_, *cells), = PAGE.rows("| N_trans | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |")
    assert max(map(int, cells)) == allowed == 30
