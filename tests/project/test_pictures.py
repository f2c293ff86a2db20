"""docs/pictures: every drawing is on a page, and the committed picture is that of its source."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PICTURES = sorted((ROOT / "docs/pictures").glob("*.dot"))


@pytest.mark.parametrize("picture", [pytest.param(each, id=each.stem) for each in PICTURES])
def test_picture_is_shown_once(picture: Path) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = re.compile(rf"pictures/{picture.stem}\.(dot|svg)\b")
    found = [page for page in pages if shown.search(page.read_text(encoding="utf-8"))]
    assert len(found) == (2 if picture.stem == "libraries" else 1), (
        "the site begins as the README does"
    )


def test_committed_picture_has_the_labels_of_its_source() -> None:
    """`dot -Tsvg docs/pictures/libraries.dot -o docs/pictures/libraries.svg` writes it again."""
    source = (ROOT / "docs/pictures/libraries.dot").read_text(encoding="utf-8")
    drawn = html.unescape((ROOT / "docs/pictures/libraries.svg").read_text(encoding="utf-8"))
    labels = [
        line for label in re.findall(r'label="([^"]*)"', source) for line in label.split(r"\n")
    ]
    assert len(labels) > 10
    assert [label for label in labels if f">{label}</text>" not in drawn] == []
