"""Documents are tested: Python blocks run; C, C++ and CMake blocks occur in compiled files.

The Python blocks of one document are one program, in order. A block that needs more than the host
is preceded by a line `<!-- needs: sycl, dpnp -->`. The needs are markers of tests/conftest.py. A
`text` block that follows a Python block is what that block prints.
If a block is selected alone, the earlier blocks that it builds on run as well.
"""

from __future__ import annotations

import builtins
import functools
import re
import symtable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>[^>]*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
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


def output_of(block: Block) -> str | None:
    """The text block behind a Python block, with an empty line between them; None if there is
    none."""
    behind = block.line + block.text.count("\n") + 3
    return next(
        (
            each.text
            for each in blocks_of(block.document)
            if each.language == "text" and each.line == behind
        ),
        None,
    )


@functools.cache
def names_of(block: Block) -> tuple[frozenset[str], frozenset[str]]:
    """Names that the block defines, and names that it uses without defining them."""
    top = symtable.symtable(block.text, str(block.document), "exec")
    scopes = [top]
    for scope in scopes:
        scopes += scope.get_children()
    given = {
        symbol.get_name()
        for symbol in top.get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    used = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    used |= {
        symbol.get_name()
        for scope in scopes[1:]
        for symbol in scope.get_symbols()
        if symbol.is_global()
    }
    return frozenset(given), frozenset(used - given)


@functools.cache
def builds_on(block: Block) -> tuple[Block, ...]:
    """The earlier blocks of the document that run before this block, in order.

    These are the blocks that define the names it uses, and all blocks without further needs,
    which may change those names' values. If several blocks define a name, the last one without
    further needs is taken, else the last one.
    """
    earlier = [
        each
        for each in blocks_of(block.document)
        if each.language == block.language and each.line < block.line
    ]
    found: set[Block] = set()
    for name in names_of(block)[1]:
        giving = [each for each in earlier if name in names_of(each)[0]]
        for each in ([each for each in giving if set(each.needs) <= set(block.needs)] or giving)[
            -1:
        ]:
            found |= {each, *builds_on(each)}
    needs = {need for each in (*found, block) for need in each.needs}
    return tuple(each for each in earlier if each in found or set(each.needs) <= needs)


def needs_of(block: Block) -> tuple[str, ...]:
    """Needs of the block, including those of the blocks that it builds on."""
    blocks = (*builds_on(block), block) if block.language == "python" else (block,)
    return tuple(dict.fromkeys(need for each in blocks for need in each.needs))


def cases(*languages: str) -> list:
    found = [
        block
        for document in documents()
        for block in blocks_of(document)
        if block.language in languages
    ]
    return [
        pytest.param(
            block,
            id=f"{block.document.relative_to(ROOT)}:{block.line}",
            marks=[getattr(pytest.mark, need) for need in needs_of(block)],
        )
        for block in found
    ]


class Program:
    """One document: the namespace in which its blocks run in order."""

    def __init__(self, document: Path) -> None:
        self.namespace: dict = {"__name__": f"<{document.name}>"}
        self.ran: set[Block] = set()

    def run(self, block: Block) -> None:
        for each in (*(needed for needed in builds_on(block) if needed not in self.ran), block):
            code = (
                "\n" * each.line + each.text
            )  # so that a traceback names the line of the document
            exec(compile(code, each.document, "exec"), self.namespace)
            self.ran.add(each)


@pytest.fixture(scope="module")
def programs() -> dict[Path, Program]:
    return {document: Program(document) for document in documents()}


@pytest.mark.goes_on
@pytest.mark.parametrize("block", cases("python"))
def test_python_block_runs(block, programs, capsys):
    program = programs[block.document]
    for needed in builds_on(block):
        if needed not in program.ran:
            program.run(needed)
    capsys.readouterr()
    program.run(block)
    if (shown := output_of(block)) is not None:
        assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    "document", documents(), ids=lambda document: str(document.relative_to(ROOT))
)
def test_names_in_python_blocks_are_defined(document):
    """Also if the block's needs are not met here."""
    for block in blocks_of(document):
        if block.language == "python":
            known = set(dir(builtins)).union(*(names_of(each)[0] for each in builds_on(block)))
            assert not names_of(block)[1] - known, f"in the block behind line {block.line}"


def test_readme_block_uses_no_name_of_another():
    """A reader copies one section; its block must not fail with NameError."""
    missing = {
        f"README.md:{block.line}": names
        for block in blocks_of(ROOT / "README.md")
        if block.language == "python" and (names := names_of(block)[1] - set(dir(builtins)))
    }
    assert not missing


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("block", cases(*EXAMPLES))
def test_compiled_block_is_part_of_an_example(block):
    files = [
        file
        for pattern in EXAMPLES[block.language]
        for file in (*(ROOT / "examples").rglob(pattern), *(ROOT / "tools").rglob(pattern))
    ]
    wanted = words(block.text)
    assert any(wanted in words(file.read_text(encoding="utf-8")) for file in files), (
        f"no {' or '.join(EXAMPLES[block.language])} below examples/ has this block word for word"
    )


class TestBlocks:
    DOCUMENT = (
        "Text.\n\n<!-- needs: host -->\n```python\nx = 1\n```\n\n"
        "```python\nassert x == 2, 'no'\n```\n"
    )

    def test_text_behind_a_block_is_its_output(self, tmp_path):
        document = tmp_path / "a.md"
        document.write_text("```python\nprint(1)\n```\n\n```text\n1\n```\n\n```text\n2\n```\n")
        (block, *_) = blocks_of(document)
        assert output_of(block) == "1\n"
        document.write_text("```python\nprint(1)\n```\n\nIt prints:\n\n```text\n1\n```\n")
        assert output_of(blocks_of(document)[0]) is None

    def test_blocks_are_found_with_their_needs_and_lines(self, tmp_path):
        (tmp_path / "a.md").write_text(self.DOCUMENT)
        first, second = blocks_of(tmp_path / "a.md")
        assert (first.needs, first.line, second.needs, second.line) == (("host",), 4, (), 8)

    def test_failing_block_names_its_line(self, tmp_path):
        (tmp_path / "a.md").write_text(self.DOCUMENT)
        first, second = blocks_of(tmp_path / "a.md")
        program = Program(tmp_path / "a.md")
        program.run(first)
        with pytest.raises(AssertionError, match="no") as caught:
            program.run(second)
        assert caught.traceback[-1].lineno + 1 == 9

    def test_selected_block_runs_the_blocks_it_builds_on(self, tmp_path):
        texts = {
            "a = 0": "sycl",
            "a = []": "host",
            "b = 1": "cuda",
            "def f():\n    return a + [b]": "host",
            "a.append(b)": "host, cuda",
            "a = None": "torch",
            "assert [x for x in f()] == [1, 1]": "numpy",
        }
        written = "".join(
            f"<!-- needs: {needs} -->\n```python\n{text}\n```\n" for text, needs in texts.items()
        )
        (tmp_path / "a.md").write_text(written)
        blocks = blocks_of(tmp_path / "a.md")
        assert names_of(blocks[3]) == (frozenset("f"), frozenset("ab"))
        assert builds_on(blocks[3]) == (blocks[1], blocks[2])
        assert builds_on(blocks[6]) == tuple(blocks[1:5]), (
            "f by its name, a and b by f's, and what changes a"
        )
        assert needs_of(blocks[6]) == ("host", "cuda", "numpy")
        program = Program(tmp_path / "a.md")
        program.run(blocks[6])
        assert program.ran == {*blocks[1:5], blocks[6]}

    def test_shared_block_runs_once_and_its_error_propagates(self, tmp_path):
        (tmp_path / "a.md").write_text("```python\nx = 1 / zero\n```\n```python\nassert x\n```\n")
        _, second = blocks_of(tmp_path / "a.md")
        program = Program(tmp_path / "a.md")
        program.namespace["zero"] = 0
        with pytest.raises(ZeroDivisionError):
            program.run(second)
        program.namespace["zero"] = 1
        program.run(second)
        program.namespace["zero"] = 0
        program.run(second)

    def test_readme_has_python_blocks(self):
        assert [block for block in blocks_of(ROOT / "README.md") if block.language == "python"]
