#!/usr/bin/env python3
"""Opens the built documentation in headless Chromium, at the widths of a laptop and of a phone.

    tools/screenshots.py SITE FOLDER

Fails if a page is wider than the window, or if the laptop's width cuts a line of code. FOLDER
receives a picture of the top of each page at each width.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

LAPTOP, PHONE = 1280, 390
HEIGHT = 1200
#: The longest line of each block of code that is cut.
CUT = """
() => [...document.querySelectorAll(".highlight pre")]
    .filter(block => block.scrollWidth > block.clientWidth + 1)
    .map(block => block.innerText.trim().split("\\n").sort((a, b) => b.length - a.length)[0])
"""


def findings(page: Page, width: int) -> list[str]:
    content: int = page.evaluate("() => document.documentElement.scrollWidth")
    found = [f"{content} pixels wide"] if content > width else []
    if width == LAPTOP:
        found += [f"code is cut: {line}" for line in page.evaluate(CUT)]
    return found


def main(site: Path, folder: Path) -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not installed (Debian: apt-get install chromium)")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    total = 0
    pages = sorted(site.rglob("*.html"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=sandbox)
        for width in (LAPTOP, PHONE):
            tab = browser.new_page(viewport={"width": width, "height": HEIGHT})
            tab.set_default_timeout(120_000)  # milliseconds, for a loaded machine
            for path in pages:
                name = path.relative_to(site)
                tab.goto(path.as_uri())
                picture = (folder / str(width) / name).with_suffix(".png")
                picture.parent.mkdir(parents=True, exist_ok=True)
                tab.screenshot(path=picture)
                for finding in findings(tab, width):
                    print(f"{name} at {width} pixels: {finding}")
                    total += 1
        browser.close()
    print(f"{len(pages)} pages, {total} findings")
    return 1 if total or not pages else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
