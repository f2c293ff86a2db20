"""Documents cannot rot: their Python blocks run, their C, C++ and CMake blocks stand word for word in files that are compiled.

The Python blocks of one document are one program, in order. A block that needs more than the host says so in the line
above it, `<!-- needs: sycl, dpnp -->`, with the markers of tests/conftest.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^(?:<!-- needs: (?P<needs>[^>]*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = {
    "c": ("*.c", "*.h"),
    "cpp": ("*.cpp", "*.hpp"),
    "cmake": ("CMakeLists.txt",),
    "cython": ("*.pyx",),
    "toml": ("*.toml",),
}


class Block(NamedTuple):
    document: Path
    line: int
    language: str
    needs: tuple[str, ...]
    text: str


def documents(root: Path = ROOT) -> list[Path]:
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def blocks_of(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(
            document,
            text.count("\n", 0, found.start("text")),
            found["language"],
            tuple(need.strip() for need in (found["needs"] or "").split(",") if need.strip()),
            found["text"],
        )
        for found in BLOCK.finditer(text)
    ]


def cases(*languages: str) -> list:
    found = [block for document in documents() for block in blocks_of(document) if block.language in languages]
    return [
        pytest.param(
            block,
            id=f"{block.document.relative_to(ROOT)}:{block.line}",
            marks=[getattr(pytest.mark, need) for need in block.needs],
        )
        for block in found
    ]


@pytest.fixture(scope="module")
def programs() -> dict[Path, dict]:
    """The namespace of each document, in which its blocks run one after the other."""
    return {document: {"__name__": f"<{document.name}>"} for document in documents()}


def run(block: Block, namespace: dict) -> None:
    code = "\n" * block.line + block.text  # so that a traceback names the line of the document
    exec(compile(code, block.document, "exec"), namespace)


@pytest.mark.parametrize("block", cases("python"))
def test_python_block_runs(block, programs):
    run(block, programs[block.document])


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("block", cases(*EXAMPLES))
def test_compiled_block_stands_in_an_example(block):
    files = [
        file
        for pattern in EXAMPLES[block.language]
        for file in (*(ROOT / "examples").rglob(pattern), *(ROOT / "tools").rglob(pattern))
    ]
    wanted = words(block.text)
    assert any(wanted in words(file.read_text(encoding="utf-8")) for file in files), (
        f"no {' or '.join(EXAMPLES[block.language])} below examples/ has this block word for word"
    )


class TestTheseTestsCanFail:
    DOCUMENT = "Text.\n\n<!-- needs: host -->\n```python\nx = 1\n```\n\n```python\nassert x == 2, 'no'\n```\n"

    def test_blocks_are_found_with_their_needs_and_lines(self, tmp_path):
        (tmp_path / "a.md").write_text(self.DOCUMENT)
        first, second = blocks_of(tmp_path / "a.md")
        assert (first.needs, first.line, second.needs, second.line) == (("host",), 4, (), 8)

    def test_a_wrong_block_is_red_and_names_its_line(self, tmp_path):
        (tmp_path / "a.md").write_text(self.DOCUMENT)
        first, second = blocks_of(tmp_path / "a.md")
        namespace: dict = {}
        run(first, namespace)
        with pytest.raises(AssertionError, match="no") as caught:
            run(second, namespace)
        assert caught.traceback[-1].lineno + 1 == 9

    def test_the_readme_is_read(self):
        assert [block for block in blocks_of(ROOT / "README.md") if block.language == "python"]
