"""Makes docs/report.png: ``python -m cyclebound.tools.maintenance.report_picture docs/report.png``.

It runs a small regression, opens its report in Chromium and keeps the upper part, down to the first
worst request. The picture carries what it shows as text (PNG's ``Description``, JSON), so that a
test finds out when there is no such block, command or signal any more.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, PngImagePlugin
from playwright.sync_api import sync_playwright

__all__ = ["SHOWN", "make", "shown"]

_WORDS = ["regress", "noc.arbiter", "sram.banked_memory", "-c", "four", "-c", "tiny",
          "--pictures", "-o", "seen"]
_WIDTH = 1280  # pixels
SHOWN = "Description"


def make(path: Path) -> None:
    """Run the regression in an empty folder, and write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(Path(sys.executable).with_name("cyclebound")), *_WORDS], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL)
        image, texts = _seen(Path(folder) / "seen" / "report.html")
    about = PngImagePlugin.PngInfo()
    about.add_itxt(SHOWN, json.dumps(texts))
    new = path.with_suffix(".new.png")
    image.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(
        new, pnginfo=about, optimize=True)
    os.replace(new, path)


def shown(path: Path) -> dict[str, list[str]]:
    """What the picture says that it shows: ``commands``, ``signals``, ``columns``."""
    with PngImagePlugin.PngImageFile(path) as image:
        return json.loads(image.text[SHOWN])


def _seen(report: Path) -> tuple[Image.Image, dict[str, list[str]]]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": _WIDTH, "height": 1400}, color_scheme="light")
        page.goto(report.as_uri())
        card = page.locator("article.bound-card").first
        command = card.locator("pre").first
        box = command.bounding_box()
        assert box is not None
        said = page.inner_text("body")
        texts = {
            "commands": [line.strip().removeprefix("$").strip() for line in said.splitlines()
                         if "cyclebound r" in line][:2],
            "signals": sorted(set(re.findall(r'\["[^"]*","top\.dut\.([\w.]+)"',
                                             card.inner_html()))),
            "columns": page.locator("table.verdicts thead th").all_inner_texts()}
        data = page.screenshot(full_page=True, clip={
            "x": 0, "y": 0, "width": _WIDTH, "height": box["y"] + box["height"] + 2})
        browser.close()
    return Image.open(io.BytesIO(data)), texts


if __name__ == "__main__":
    make(Path(sys.argv[1]))
