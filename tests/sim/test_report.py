"""The HTML report, from results with everything that can become of a bound."""

import base64
import html
import json
import re
import xml.etree.ElementTree as ElementTree

import matplotlib
import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.drawing.drawing import Drawing
from cyclebound.sim.drawing.lanes import lanes_of
from cyclebound.sim.fpga.placement import Figures
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.regression.results import Results
from cyclebound.sim.report.report import write_report
from cyclebound.sim.run.job import Group, Job, Outcome
from cyclebound.tools.gpu.stream_file import EXAMPLES

pytestmark = pytest.mark.unit

EVIL = '<script>alert("x")</script> & "more"'


def _lanes(folder):
    """The lanes of a small waveform."""
    lines = ["$timescale 1 ns $end", "$scope module top $end", "$var wire 1 ! clk $end",
             "$scope module dut $end", "$var wire 12 % grant $end", "$var wire 1 & accept $end",
             "$upscope $end", "$upscope $end", "$enddefinitions $end"]
    for cycle in range(300):
        lines += [f"#{cycle * 10}", "1!", f"b{1 << cycle % 12:b} %", f"{cycle % 3 // 2}&",
                  f"#{cycle * 10 + 5}", "0!"]
    path = folder / "wave.vcd"
    path.write_text("\n".join([*lines, "#3000", ""]))
    return lanes_of(path, ["dut.grant", "dut.accept"], 20, 250, title="grant noc.arbiter",
                    cycles=300).text


def synthetic(folder):
    """A run with exact, held, violated, unobserved and uncovered bounds."""
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder, create=True)
    results.note(command="cyclebound regress --seed 7 & more", created="2031-02-03T04:05:06",
                 seed=7, versions={"python": "3.11.7", "verilator": "5.48"}, jobs=9)
    for block, configuration, seed in (("noc.arbiter", "four", 1), ("noc.arbiter", "paper", 1),
                                       ("noc.arbiter", "paper", 2), ("dram.front", "tiny", 1),
                                       ("gpu.wide", "an_unusually_long_configuration_name", 1)):
        job = Job(block, configuration, "cycle", seed, str(folder / "jobs" / f"{block}-{seed}"))
        results.finished(job, Outcome(job.name, True, groups=[
            Group("grant", {"requesters": 4}, 4, 10, 2, 5, "t")], compared=500, cycles=2000,
            build_seconds=8.5, run_seconds=0.5, cached=seed == 2, tests=[("t", True)]), "c")
    job = Job("dram.front", EVIL, "cycle", 3, str(folder / "jobs" / "bad"))
    (folder / "jobs" / "bad").mkdir(parents=True)
    (folder / "jobs" / "bad" / "log.txt").write_text(
        "".join(f"line {n}\n" for n in range(100)) + f"\x1b[31mthe last line {EVIL}\x1b[0m\n")
    results.finished(job, Outcome(job.name, False, f"t: cycle 17: {EVIL}", cycles=123,
                                  run_seconds=0.1, build_seconds=1.0), "c")

    def verdict(block, configuration, bound, verdict, **more):
        if "allowed" in more:
            more.setdefault("tightest", {"latency": more["worst"], "allowed": more["allowed"],
                                         "parameters": more["parameters"]})
        results.verdict(Verdict(block, configuration, bound, "grant", "ceil(s / w) * N_req",
                                "memory-composition, Eq. 1", verdict=verdict, **more))

    verdict("noc.arbiter", "four", "wait", "exact", requests=1000, kinds=1, kinds_reached=1,
            worst=4, allowed=4, parameters={"requesters": 4}, evidence="proved",
            domain="fair for count 4", job="noc.arbiter/four/cycle/1", test="t", first=2, last=5,
            histogram=[(1, 130), (2, 90), (3, 120), (4, 660)])
    verdict("noc.arbiter", "paper", "wait", "held", requests=1_234_567, kinds=10,
            kinds_reached=3, ratios=[0.5, 0.75, 1.0], worst=231, allowed=231,
            parameters={"requesters": 11, "size": 21},
            tightest={"latency": 180, "allowed": 180, "parameters": {"requesters": 9, "size": 20}},
            evidence="exhaustive", domain="requesters 1..11, size 1..25",
            job="noc.arbiter/paper/cycle/1", test="t", first=20, last=250,
            histogram=[(n, 10 ** (n % 6)) for n in range(7, 181, 3)])
    verdict("noc.arbiter", "paper", "completion", "held", requests=5, kinds=1, worst=90,
            allowed=100, parameters={"requesters": 11}, job="noc.arbiter/paper/cycle/2", test="t",
            first=1, last=90, histogram=[(90, 5)])
    verdict("dram.front", "tiny", "latency", "violated", requests=77, kinds=1, worst=13,
            allowed=11, parameters={"bytes": 64}, job="dram.front/tiny/cycle/1", test="t", first=3,
            last=15, detail="grant with bytes 64 took 13, bound 11",
            histogram=[(9, 40), (11, 30), (12, 4), (13, 3)])
    verdict("dram.front", EVIL, "latency", "unobserved", detail=f"no {EVIL} request was observed")
    verdict("gpu.wide", "an_unusually_long_configuration_name", "-", "not covered", requests=3,
            worst=8, parameters={"a_parameter_with_a_long_name": 123456789}, test="t", first=1,
            last=8, job="gpu.wide/an_unusually_long_configuration_name/cycle/1",
            detail="no bound of gpu.wide covers observed 'grant' requests")
    lanes = _lanes(folder)
    results.waveform("noc.arbiter", "paper", "wait", lanes,
                     "cyclebound run noc.arbiter --seed 1 --waves")
    results.waveform("noc.arbiter", "four", "wait", f"No picture: {EVIL}", "cyclebound run x")
    results.waveform("dram.front", "tiny", "latency",
                     lanes.replace('"0"', '"</script><script>1</script>"'), "cyclebound run evil")
    for name, drawn in (("curve", '<?xml version="1.0"?><svg><script>1</script></svg>'),
                        (EVIL, f"No picture: {EVIL}")):
        results.picture(Drawing("noc.arbiter", "four", name, f"What is seen {EVIL}", "", "", (),
                                drawn, '{"traceEvents": []}' if name == "curve" else ""))
    for count, status, induction in ((4, "proved", 2), (11, "bounded", None), (12, "failed", None)):
        results.proof(Proof("noc.arbiter", "fair", f"who waits is served {EVIL}",
                            {"count": count}, status, 12, induction, "smtbmc z3", 3.25, count == 4,
                            "counterexample of 5 cycles" if status == "failed" else ""))
    results.proof(Proof("noc.arbiter", "open", "so", {"count": 4}, "bounded", 12, asked=True,
                        detail="induction does not close at depth 4: nine"))
    results.fpga(Figures("noc.arbiter", "paper", "ecp5-85k", 125.0, 1400, 321, 2, 0, 12.5, True,
                         {"count": 11}, "CABGA381, speed 6, seed 1"))
    results.close()
    return folder


@pytest.fixture
def page(tmp_path):
    return write_report(synthetic(tmp_path / "run")).read_text()


def _plain(page):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page.replace("<wbr>", ""))))


def test_goes_into_the_runs_folder_or_where_it_is_told(tmp_path):
    run = synthetic(tmp_path / "run")
    assert write_report(run) == run / "report.html"
    elsewhere = tmp_path / "new" / "page.html"
    assert write_report(run, elsewhere) == elsewhere
    assert elsewhere.read_text() == (run / "report.html").read_text()
    with pytest.raises(UserError, match=r"^cannot write "):
        write_report(run, run / "report.html" / "page.html")
    with pytest.raises(UserError, match="holds no run"):
        write_report(tmp_path / "nowhere")


def test_headline_counts(page):
    plain = _plain(page)
    assert "1 of 6 claims violated, 2 of 6 claims not shown to hold, 1 job failed" in plain
    assert "exact 1 ≤ held 2 > violated 1" in plain
    assert "2031-02-03 04:05:06" in plain
    assert "cyclebound regress --seed 7 & more" in plain
    assert "3 jobs of 9 did not finish; continue with cyclebound regress --resume" in plain
    assert "cycles simulated 10,123" in plain
    assert "requests 1,235,652" in plain


def test_proofs_that_show_too_little_are_problems(page):
    problems = _plain(page[page.index('class="problems"'):page.index('</section>')])
    assert "property fair (count 12) ✗ failed counterexample of 5 cycles" in problems
    assert "property open (count 4) ≤ bounded induction does not close" in problems
    assert "(count 11)" not in problems  # of which no induction was asked


def test_verdict_rows(page):
    rows = [_plain(row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL)]
    assert [rows[n].strip() for n in (1, 5, 8)] == ["noc.arbiter", "dram.front", "gpu.wide"]
    assert all(row.startswith(" noc.arbiter paper ") for row in rows[3:5])
    reached = next(row for row in rows if "exact for 3 of 10 kinds" in row)
    for text in ("paper ≤ held exact for 3", "grant within wait",
                 "ceil(s / w) * N_req · memory-composition, Eq. 1",
                 "231 231", "1.00", "exhaustive", "1,234,567",
                 "4,000"):
        assert text in reached
    violated = next(row for row in rows if row.startswith(" dram.front tiny "))
    assert "> violated" in violated
    assert "13 11 1.18" in violated
    unobserved = next(row for row in rows if "∅ unobserved" in row)
    assert re.search(r" - - - - 0 ", unobserved)


def test_everything_is_escaped(page):
    assert page.count("<script>") == 1  # the page's own, the only one of the policy's hash
    assert page.count("<script") == 1 + page.count('<script type="application/json">')
    assert EVIL in _plain(page)


def test_what_changed_since_an_earlier_run(tmp_path):
    for name, worst, verdict in (("old", 4, "exact"), ("new", 3, "held")):
        results = Results(tmp_path / name, create=True)
        results.verdict(Verdict("a.b", "c", f"bound{EVIL}", "w", "N", "here", verdict=verdict,
                                worst=worst, allowed=4))
        results.close()
    page = write_report(tmp_path / "new", since=tmp_path / "old").read_text()
    assert (f"a.b c bound{EVIL} verdict exact, worst 4 verdict held, worst 3"
            in _plain(page[page.index('id="changed"'):]))
    assert page.count("<script") == 1
    same = write_report(tmp_path / "new", since=tmp_path / "new").read_text()
    assert "Nothing." in same
    assert "What changed" not in write_report(tmp_path / "new").read_text()


def test_one_latency_is_a_sentence(page):
    assert "Each of the 5 requests with requesters 11 took 90 cycles." in _plain(page)
    assert page.count("aria-label=\"Histogram\"") == 3


def test_kinds_have_a_scatter(tmp_path):
    results = Results(tmp_path, create=True)
    points = [[limit, limit - limit % 3] for limit in range(10, 40)]
    for number, shown in enumerate((points, points[:2])):
        results.verdict(Verdict("a.b", f"c{number}", "bound", "w", "N", "here", verdict="held",
                                worst=36, allowed=36, kinds=30, kinds_reached=10,
                                ratios=[0.8, 0.95, 1.0], points=shown, unit="grants"))
    results.close()
    page = write_report(tmp_path).read_text()
    assert page.count('aria-label="Measured against bound"') == 1
    assert "Bound against worst measured of 30 kinds of request" in page
    assert page.count("h0") == 30
    assert "0.80 / 0.95 / 1.00" in page
    assert "bound, grants</text>" in page
    assert 'stroke="var(--bad)"' not in page


@pytest.mark.parametrize("points", ['[["<b>", 1]]', "[[1]]", "[1]"])
def test_points_that_are_none_are_refused(tmp_path, points):
    results = Results(tmp_path, create=True)
    results.verdict(Verdict("a.b", "c", "bound", "w", "N", "here", verdict="held",
                            points=json.loads(points)))
    results.close()
    with pytest.raises(UserError, match="points of"):
        write_report(tmp_path)


def test_fetches_nothing(page):
    assert not re.search(r"(?:https?:)?//[\w.]+/", page)
    assert not re.search(r"\b(?:src|href)=\"(?!#|data:)", page)
    assert "default-src 'none'" in page
    assert "@import" not in page
    assert "url(" not in page


def test_failed_job_shows_its_reason_and_the_end_of_its_log(page):
    plain = _plain(page)
    assert f"dram.front/{EVIL}/cycle/3" in plain
    assert f"t: cycle 17: {EVIL}" in plain
    assert f"line 99 the last line {EVIL}" in plain
    assert "line 70" not in plain
    assert "\x1b" not in page


def test_waveforms_and_the_command_that_shows_them_again(page):
    assert page.count('class="lanes"') == 1  # the one with a script in it is left out
    [text] = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    found = json.loads(text)
    assert (found["first"], found["last"], found["runs"]) == (20, 250, [[12, 259]])
    assert [(name, path, width) for name, path, width, _ in found["lanes"]] == [
        ("grant[11:0]", "top.dut.grant", 12), ("accept", "top.dut.accept", 1)]
    assert found["lanes"][0][3][:2] == [[12, "1"], [13, "2"]]
    plain = _plain(page)
    assert "cyclebound run noc.arbiter --seed 1 --waves --output seen" in plain
    assert f"No picture: {EVIL}" in plain
    assert "cyclebound run evil" in plain


def test_viewers_open_the_request(page):
    files = {name: base64.b64decode(content).decode() for name, content in re.findall(
        r'<a download="([^"]*)" href="data:application/octet-stream;base64,([^"]*)"', page)}
    assert list(files) == ["grant.sucl", "grant.gtkw"]
    dump = "seen/jobs/noc.arbiter/paper/cycle-1/wave.vcd"
    assert f"Surfer: surfer {dump} --command-file grant.sucl" in _plain(page)
    lines = files["grant.sucl"].splitlines()
    assert lines[:3] == ["variable_add top.dut.grant", "variable_add top.dut.accept", "zoom_fit"]
    assert lines[-3:] == ["marker_set request 200", "marker_set completion 2510",
                          "cursor_set 200"]
    lines = files["grant.gtkw"].splitlines()
    assert lines[:2] == [f'[dumpfile] "{dump}"', "[timestart] 160"]
    assert lines[2].split()[1:4] == ["200", "200", "2510"]
    assert len(lines[2].split()) == 2 + 26  # zoom, cursor, markers A to Z
    assert lines[3:] == ["@22", "top.dut.grant[11:0]", "@28", "top.dut.accept"]


def test_the_tightest_request_is_shown_beside_the_longest(page):
    rows = [_plain(row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL)]
    row = next(row for row in rows if "exact for 3 of 10 kinds" in row)
    assert re.search(r"231 231 .*1\.00 180 of 180 0\.50 / 0\.75 / 1\.00", row)
    assert "tightest 180 of 180 allowed, requesters 9, size 20" in _plain(page)


def test_what_a_proof_says_is_there_once(page):
    assert _plain(page).count("who waits is served") == 1


def test_pictures_of_blocks_are_images_that_cannot_act(page):
    [image] = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"', page)
    assert base64.b64decode(image).endswith(b"<script>1</script></svg>")
    plain = _plain(page)
    assert f"What is seen {EVIL}" in plain
    assert "cyclebound picture noc.arbiter curve --configuration four -o curve.svg" in plain
    assert plain.count(f"No picture: {EVIL}") == 2


def test_a_picture_has_a_trace_to_download(page):
    [(name, trace)] = re.findall(
        r'<a download="([^"]*)" href="data:application/json;base64,([^"]*)"', page)
    assert name == "curve.json"
    assert json.loads(base64.b64decode(trace)) == {"traceEvents": []}


def _charts(page):
    return [ElementTree.fromstring(chart) for chart in
            re.findall(r'<svg class="chart".*?</svg>', page, re.DOTALL)]


def _bars(chart, kind=""):
    """What each bar says of itself, from left to right."""
    return [group.find("title").text for group in chart.iter("g")
            if re.search(r"-(within|over)-\d+$", group.get("id"))
            and f"-{kind}" in group.get("id")]


def _extent(group):
    """Least and greatest x, and least and greatest y, of the drawn path of a group."""
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", group.find("path").get("d"))]
    return min(numbers[::2]), max(numbers[::2]), min(numbers[1::2]), max(numbers[1::2])


def test_histograms_are_drawings(page):
    four, paper, violated = _charts(page)
    assert _bars(four) == ["1: 130 requests", "2: 90 requests", "3: 120 requests",
                           "4: 660 requests"]
    assert "bound 4" in "|".join(four.itertext()).split("|")
    assert "bound 180" in paper.itertext()  # that of the requests in it, not of the longest
    assert "requests, log scale" in paper.itertext()
    assert "requests, log scale" not in four.itertext()
    assert "requests" in four.itertext()
    assert _bars(violated, "within") == ["9: 40 requests", "11: 30 requests"]
    assert _bars(violated, "over") == ["12: 4 requests", "13: 3 requests"]
    assert violated.get("role") == "img"
    assert violated.get("aria-label") == "Histogram: 4 latencies from 9 to 13, bound 11"


def test_histograms_take_their_colours_from_the_page(page):
    drawn = re.findall(r'<svg class="chart".*?</svg>', page, re.DOTALL)
    for chart in drawn:
        assert set(re.findall(r"(?:fill|stroke): ([^;\"]+)", chart)) <= {
            "none", "var(--ink)", "var(--soft)", "var(--line)", "var(--bar)", "var(--bad)"}
        assert "<style" not in chart  # it would be that of the whole page
        assert "metadata" not in chart
    assert "var(--bad)" in drawn[2]
    assert not any("var(--bad)" in chart for chart in drawn[:2])


def test_no_id_is_used_twice(page):
    names = re.findall(r'\bid="([^"]*)"', page)
    assert len(names) == len(set(names))


def test_histogram_of_many_latencies_keeps_every_request(page):
    bars = _bars(_charts(page)[1])
    assert len(bars) <= 48
    counts = [int(re.search(r": ([\d,]+) requests?$", bar)[1].replace(",", "")) for bar in bars]
    assert sum(counts) == sum(10 ** (n % 6) for n in range(7, 181, 3))


def test_cuda_kernels_have_a_section_beside_several_families(page, tmp_path):
    """The thesis's four numbers, as printed and measured, and the examples of streams."""
    part = page[page.index('<section id="gpu">'):page.index('<section id="facts">')]
    for row in (("matrix", "4,774", "4,774", "11,361", "4,083", "87,437"),
                ("convolution", "9,290", "9,290", "24,936", "8,223", "339,640")):
        assert " ".join(row) in " ".join(_plain(part).split())
    assert part.count("violated") == 0
    assert all(name in part for name in EXAMPLES)
    assert 'href="#gpu"' in page
    one = _judged(tmp_path / "one", [([(3, 4)], 4)])
    assert 'id="gpu"' not in write_report(one).read_text()


def test_proofs_and_fpga(page):
    rows = [_plain(row) for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]
    assert any("count 4 ✓ proved smtbmc z3 2 12 cycles bounded 3.2 cached" in row for row in rows)
    assert any("✗ failed smtbmc z3 counterexample of 5 cycles" in row for row in rows)
    fpga = next(row for row in rows if "ecp5-85k" in row)
    assert "125.0 1,848.0 ns wait: 231 for requesters 11, size 21 800.0 ns completion: 100" in fpga
    plain = _plain(page)
    assert "To prove what the block states: cyclebound prove dram.front" in plain
    assert "To place and route the block: cyclebound fpga gpu.wide" in plain


def test_good_run_says_so(tmp_path):
    results = Results(tmp_path, create=True)
    job = Job("noc.arbiter", "four", "cycle", 1, "gone")
    results.finished(job, Outcome(job.name, True, cycles=10, run_seconds=0.0), "c")
    for bound in ("one", "two"):
        results.verdict(Verdict("noc.arbiter", "four", bound, "grant", "N", "here", verdict="exact",
                                requests=1, worst=4, allowed=4, histogram=[(4, 1)]))
    results.close()
    page = write_report(tmp_path).read_text()
    assert "All 2 claims held" in page
    assert 'class="problems"' not in page


def test_aborted_run(tmp_path):
    results = Results(tmp_path, create=True)
    results.note(jobs=5)
    results.close()
    plain = _plain(write_report(tmp_path).read_text())
    assert "No verdicts in this run" in plain
    assert "5 jobs of 5 did not finish" in plain
    assert "No job finished." in plain


def _judged(folder, histograms, verdict="held"):
    """A run with nothing but bounds, each of them with a histogram."""
    results = Results(folder, create=True)
    for number, (histogram, allowed) in enumerate(histograms):
        results.verdict(Verdict("a.b", "c", f"bound{number}", "w", "N", "here", verdict, worst=1,
                                allowed=allowed, histogram=histogram))
    results.close()
    return folder


def test_zero_latencies_and_large_ones_have_a_histogram(tmp_path):
    histograms = (([(0, 3), (1, 1)], 1), ([(0, 1), (10 ** 9, 10 ** 12)], 10 ** 9),
                  ([(5, 1), (6, 1)], 10 ** 6),
                  ([(1, 1), (2, 51)], 2), ([(7, 10), (8, 1)], None), ([(100, 3), (250, 1)], 11),
                  ([(n, 10) for n in range(300)], 200))
    charts = _charts(write_report(_judged(tmp_path, histograms)).read_text())
    assert len(charts) == len(histograms)
    for chart, (_, allowed) in zip(charts, histograms, strict=True):
        wide, tall = float(chart.get("width")), float(chart.get("height"))
        groups = {group.get("id").split("-", 2)[2]: group for group in chart.iter("g")}
        line = _extent(groups["bound"])[0] if allowed is not None else None
        assert (line is None) == (allowed is None)
        assert line is None or 50 < line < wide
        for text in chart.iter("text"):
            if text.text.startswith("bound "):
                end = "text-anchor: end" in text.get("style")
                size = 7.5 * len(text.text)
                assert 0 < float(text.get("x")) + (-size if end else size) < wide
        ticks = [text.text for text in chart.iter("text") if text.text.isdecimal()]
        assert len(set(ticks)) >= len(ticks) / 2  # of either axis, each once
        for name, group in groups.items():
            if name.startswith(("within-", "over-")):
                left, right, top, base = _extent(group)
                assert 50 < left < right < wide
                assert 20 < top < base - 0.5 < tall - 30
                assert line is None or (right < line if name.startswith("within") else left > line)
    assert sum(int(bar.split(": ")[1].split()[0].replace(",", "")) for bar in
               _bars(charts[6], "over")) == 990  # no bar is on both sides of its bound


def test_reports_of_the_same_run_are_the_same(tmp_path):
    run = synthetic(tmp_path / "run")
    pages = [write_report(run, tmp_path / name).read_bytes() for name in ("one", "two")]
    assert pages[0] == pages[1]


def test_histograms_follow_no_settings_of_their_reader(tmp_path):
    run = _judged(tmp_path, [([(3, 1), (4, 2)], 4)])
    usual = write_report(run).read_text()
    with matplotlib.rc_context({"text.usetex": True, "axes.facecolor": "red", "font.size": 30}):
        assert write_report(run).read_text() == usual
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.parametrize(("verdicts", "headline"), [
    (["exact"], "The claim held, exactly"),
    (["held"], "The claim held"),
    (["exact"] * 3, "All 3 claims held, each one exactly"),
    (["exact", "right", "held"], "All 3 claims held, 2 of them exactly"),
    (["held", "held"], "All 2 claims held"),
])
def test_headline_says_how_tight_the_bounds_are(tmp_path, verdicts, headline):
    results = Results(tmp_path, create=True)
    for number, verdict in enumerate(verdicts):
        results.verdict(Verdict("a.b", "c", f"bound{number}", "w", "N", "here", verdict=verdict))
    results.close()
    page = write_report(tmp_path).read_text()
    assert f"<h1>{headline}</h1>" in page
    tally = _plain(re.search(r'<p class="tally">.*?</p>', page, re.DOTALL)[0])
    assert ("held" in tally) == ("held" in verdicts)


@pytest.mark.parametrize("count", [12, 13])
def test_a_long_list_of_jobs_is_folded(tmp_path, count):
    results = Results(tmp_path, create=True)
    for seed in range(count):
        job = Job("a.b", "c", "cycle", seed, "gone")
        results.finished(job, Outcome(job.name, seed > 0, cycles=10, run_seconds=0.1), "c")
    results.close()
    page = write_report(tmp_path).read_text()
    assert page.count("<details>") == page.count("</details>") == (count > 12)
    assert ("<summary>13 jobs, 1 failed</summary>" in page) == (count > 12)
    assert f"a.b/c/cycle/{count - 1}" in page


def test_names_break_only_where_their_parts_end(page):
    assert "gpu.<wbr>wide" in page
    assert "an_<wbr>unusually_<wbr>long_<wbr>configuration_<wbr>name" in page
