"""The site that `make docs` makes: every link of it, and what its search finds."""

import functools
import http.server
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.unit
def test_every_page_has_its_place():
    listed = re.findall(r"^[\w/-]+$", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE)
    assert sorted([*listed, "index"]) == sorted([*PAGES, "modules/index"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, from a copy of the pages; any link that leads nowhere ends its making."""
    folder = tmp_path_factory.mktemp("site")
    for name in (".paths", "README.md", "CONTRIBUTING.md", "CITATION.cff", "golden", "hdl", "tb",
                 "sim", "tools", "tests", "CHANGELOG.md", "LICENSE"):
        (folder / name).symlink_to(ROOT / name)
    subprocess.run(["cp", "-r", ROOT / "docs", folder / "docs"], check=True)
    done = _made(folder, "site")
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def _made(folder, name):
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto",
         "-d", folder / "doctrees", folder / "docs", folder / name], text=True,
        capture_output=True)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *words):
        pass


@pytest.fixture(scope="module")
def address(site):
    """The site as a server has it: excerpts in what is found are fetched, which files are not."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=site / "site"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.system
@pytest.mark.thorough
@pytest.mark.parametrize(("words", "page", "text"), [
    ("tile_issue_delay", "modules/golden.dram.html", "tile_issue_delay"),
    ("round_robin_wait", "modules/golden.noc.html", "N_req"),
    ("traversal", "modules/golden.noc.html", "cyclebound.golden.noc.bounds.traversal(rows"),
    ("precharge", "dram.html", "precharge"),
    ("resume", "commands.html", "resum"),
    ("work-group", "simd.html", "work-group"),
    ("mutant", "mutation.html", "mutant")])
def test_the_search_finds(browser, address, words, page, text):
    seen = browser.new_page()
    failed = []
    seen.on("pageerror", lambda error: failed.append(str(error)))
    seen.goto(f"{address}/search.html")
    seen.fill("#furo-main-content input[name=q], .sidebar-search", words)
    seen.keyboard.press("Enter")
    seen.wait_for_selector("#search-results ul.search li a")
    seen.wait_for_function("!document.querySelector('#search-results p.search-summary')"
                           ".textContent.includes('Searching')")
    seen.wait_for_selector("#search-results ul.search li p.context")
    links = seen.locator("#search-results ul.search li a").evaluate_all(
        "all => all.map(each => each.href.replace(/[?#].*/, ''))")
    assert any(link.endswith(f"/{page}") for link in links), links[:10]
    seen.goto(f"{address}/{page}")
    assert text in seen.inner_text("body")  # what was found is marked: words are in elements
    assert failed == []
    seen.close()


@pytest.mark.system
@pytest.mark.thorough
def test_a_link_that_leads_nowhere_is_named(site):
    page = site / "docs" / "check.md"
    page.write_text(page.read_text() + "\n[there](nowhere.md), [here](glossary.md#no-such-head)\n")
    done = _made(site, "broken")
    assert done.returncode == 1
    assert "nowhere.md" in done.stderr
    assert "no-such-head" in done.stderr
