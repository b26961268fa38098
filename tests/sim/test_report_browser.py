"""The report in a browser: nothing overflows, nothing is fetched, nothing goes wrong."""

import os
import re
import runpy
from pathlib import Path

import pytest

from cyclebound.sim.regression.results import Results
from cyclebound.sim.report.report import write_report

pytestmark = pytest.mark.system

@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A run with everything in it, and one that was stopped before its first job ended."""
    folder = tmp_path_factory.mktemp("reports")
    make = runpy.run_path(str(Path(__file__).with_name("test_report.py")))["synthetic"]
    Results(folder / "aborted", create=True).close()
    return {"full": write_report(make(folder / "full")),
            "aborted": write_report(folder / "aborted")}


@pytest.mark.parametrize(("run", "width", "scheme"), [
    ("full", 390, "dark"),
    *(pytest.param(*case, marks=pytest.mark.thorough) for case in (
        ("full", 1280, "light"), ("full", 1280, "dark"), ("full", 400, "light"),
        ("aborted", 1280, "light"), ("aborted", 1280, "dark"), ("aborted", 400, "light"),
        ("aborted", 400, "dark")))])
def test_report_in_a_browser(browser, reports, tmp_path, run, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(reports[run].as_uri())
    needed, there = page.evaluate("[document.documentElement.scrollWidth, "
                                  "document.documentElement.clientWidth]")
    assert needed <= there
    assert said == []
    assert all(url.startswith(("file://", "data:,")) for url in asked)
    assert page.locator("h1").is_visible()
    assert page.locator("#verdicts").is_visible()
    if run == "full":
        table = page.locator("table.verdicts")
        assert table.is_visible()
        assert page.locator("table.verdicts tbody tr:not(.group)").count() == 6
        assert page.locator("table.verdicts tr.group").count() == 3
        box = page.locator("table.verdicts .mark").first.bounding_box()
        assert box["x"] + box["width"] <= width  # the verdict is in sight without scrolling
        if width < 560:  # so are the latencies
            cells = page.locator("table.verdicts tbody tr:not(.group) td:nth-child(-n+7)").all()
            cells += page.locator("table.proofs td").all()  # and all that proofs say
            assert page.locator("table.proofs td").count() >= 4
            assert all(cell["x"] + cell["width"] <= width
                       for cell in (found.bounding_box() for found in cells))
            assert not page.locator("table.proofs thead").first.is_visible()  # each is a card
            assert page.locator("table.proofs tr:not(.group)").first.evaluate(
                "row => getComputedStyle(row).display") == "grid"
        for chart in page.locator("svg.chart").all():
            box = chart.bounding_box()
            assert box["x"] + box["width"] <= width
        drawn = page.locator("svg.chart text").first.evaluate("e => getComputedStyle(e).fill")
        assert drawn == {"light": "rgb(90, 103, 116)", "dark": "rgb(154, 167, 180)"}[scheme]
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    folder = Path(os.environ.get("CYCLEBOUND_SCREENSHOTS", tmp_path))
    picture = folder / f"{run}-{width}-{scheme}.png"
    page.screenshot(path=picture, full_page=True)
    assert picture.stat().st_size > 5_000
    context.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_search_filters_and_sorting(browser, reports, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(reports["full"].as_uri())

    def seen():
        return [row.get_attribute("data-card") for row in
                page.locator("tr[data-verdict]").all() if row.is_visible()]

    everything = seen()
    assert len(everything) == 6
    page.fill("#filters input", "paper wait")
    assert seen() == ["bound-2"]
    assert page.locator("#filters output").inner_text() == "1 of 6 claims"
    assert not page.locator("#bound-1").is_visible()
    assert page.locator("#bound-2").is_visible()
    page.fill("#filters input", "")
    page.select_option("#filters select[name=verdict]", "held")
    assert seen() == ["bound-2", "bound-3"]
    page.select_option("#filters select[name=family]", "dram")
    assert seen() == []
    page.select_option("#filters select[name=verdict]", "")
    page.select_option("#filters select[name=family]", "")
    assert seen() == everything
    page.locator("table.verdicts thead th", has_text="worst").click()
    assert seen()[0] == "bound-2"  # 231, the most
    page.locator("table.verdicts thead th", has_text="worst").press("Enter")
    assert seen()[-1] == "bound-2"
    page.locator("#filters button").click()
    assert seen() == everything
    assert said == []
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_waveform_lanes(browser, reports, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark")
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(reports["full"].as_uri())
    from playwright.sync_api import expect

    canvas = page.locator(".lanes canvas")
    canvas.scroll_into_view_if_needed()
    expect(canvas).to_have_attribute("data-from", re.compile(r"\d"))  # it is drawn

    def shown():
        return int(canvas.get_attribute("data-from")), int(canvas.get_attribute("data-to"))

    def press(name):
        page.locator(f".lanes button[data-do={name}]").click()
        return shown()

    def pixels():
        return canvas.evaluate("""canvas => {
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.data.buffer)).size; }""")

    box = canvas.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert shown() == (16, 255)  # the request and four cycles around it
    assert pixels() > 5
    begin, end = press("in")
    assert end - begin == pytest.approx(239 / 2, abs=2)
    assert press("all") == (12, 259)
    assert press("request") == (16, 255)
    for _ in range(6):
        press("in")
    canvas.focus()
    page.keyboard.press("Home")
    output = page.locator(".lanes output")
    assert output.inner_text() == "cycle 20, 1 of the request: top.dut.grant = 0x100 (256)"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert output.inner_text() == ("cycle 21, 2 of the request: top.dut.accept = 0, "
                                   "in cycles 21 to 22")
    begin, end = shown()
    assert begin <= 21 < end  # the view has followed the cursor
    assert end - begin < 8
    press("request")
    page.mouse.move(box["x"] + box["width"] - 3, canvas.bounding_box()["y"] + 50)
    assert re.match(r"cycle 25\d: top\.dut\.grant = ", output.inner_text())  # after the request
    press("in")
    before = shown()
    where = canvas.bounding_box()
    page.mouse.move(where["x"] + where["width"] * 0.7, where["y"] + 50)
    page.mouse.down()
    page.mouse.move(where["x"] + where["width"] * 0.6, where["y"] + 50)
    page.mouse.up()
    after = shown()
    assert after[0] > before[0]  # dragged to the left
    assert after[1] - after[0] == pytest.approx(before[1] - before[0], abs=1)
    assert said == []
    page.close()


def test_lanes_follow_the_color_scheme(browser, reports):
    page = browser.new_page(viewport={"width": 800, "height": 900}, color_scheme="light")
    page.goto(reports["full"].as_uri())
    from playwright.sync_api import expect

    canvas = page.locator(".lanes canvas")
    canvas.scroll_into_view_if_needed()
    expect(canvas).to_have_attribute("data-from", re.compile(r"\d"))  # it is drawn

    def ink():
        """The extremes of red in what is opaque among the names."""
        return canvas.evaluate("""canvas => {
            const data = canvas.getContext('2d').getImageData(0, 42, 80, 52).data, red = [];
            for (let n = 0; n < data.length; n += 4) if (data[n + 3] === 255) red.push(data[n]);
            return [Math.min(...red), Math.max(...red)]; }""")

    assert ink()[0] < 60
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(100)
    assert ink()[1] > 200
    page.close()


def test_a_script_of_the_data_does_not_run(browser, reports, tmp_path):
    text = reports["full"].read_text().replace("</main>", "</main><script>alert(1)</script>")
    (tmp_path / "evil.html").write_text(text)
    page = browser.new_page()
    said, alerts = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    page.goto((tmp_path / "evil.html").as_uri())
    assert alerts == []
    assert any("Content Security Policy" in line for line in said)
    page.close()


def test_report_prints(browser, reports, tmp_path):
    page = browser.new_page()
    page.goto(reports["full"].as_uri())
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 760, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 760
    page.close()
