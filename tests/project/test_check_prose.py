"""tools/check_prose.py: the prose that it reads, and the words and names that it flags."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_prose  # noqa: E402


def found_in(tmp_path: Path, name: str, text: str) -> list[str]:
    path = tmp_path / name
    path.write_text(text)
    return [f"{finding.line}: {finding.what}" for finding in check_prose.findings_of(path)[0]]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.cpp", "int x;  // Nobody reads it.\n", ["1: 'Nobody'"]),
        ("a.cpp", "// It waits\n// for ever.\n", ["2: 'for ever'"]),
        ("a.cpp", 'throw Error("the queue lets go of it");\n', ["1: 'lets go'"]),
        ("a.hpp", "// Whether it is done.\n", ["1: begins with 'Whether'"]),
        ("a.hpp", "/* One. The same for two. */\n", ["1: begins with 'The'"]),
        ("a.py", '"""Of a queue."""\n', ["1: begins with 'Of'"]),
        ("a.py", "x = 1  # a thread, who waits\n", ["1: 'who'"]),
        ("a.py", f"def test_{'a' * 60}():\n    pass\n", ["1: test_"]),
        ("a.py", "def test_a_view_works():\n    pass\n", ["1: test_a_view_works: begin"]),
        ("a.py", "class A:\n    def test_is_new(self):\n        pass\n", ["2: test_is_new: begin"]),
        ("a.py", "def test_view_is_none():\n    pass\n", ["1: test_view_is_none: 'is none'"]),
        (
            "a.py",
            '"""Copy.\n\nParameters\n----------\nsrc : int\n    Of an array.\n"""\n',
            ["6: begins with 'Of'"],
        ),
        ("a.py", "class TestWhatFails:\n    pass\n", ["1: TestWhatFails: begin"]),
        ("a.cpp", f'TEST_CASE("{"a" * 73}") {{}}\n', ["1: 'aaa"]),
        ("a.cpp", 'TEST_CASE("a queue waits") {}\n', ["1: 'a queue waits': begin"]),
        (
            "a.cpp",
            'SUBCASE("queue is told what waits") {}\n',
            ["1: 'queue is told what waits': 'what'"],
        ),
        ("a.cpp", 'TEST_CASE_TEMPLATE("copy of no array goes", T, int) {}\n', ["1: 'copy of no"]),
        (
            "a.cpp",
            'TEST_CASE(\n    "queue waits "\n    "for none") {}\n',
            ["2: 'queue waits for none'"],
        ),
        (
            "a.hpp",
            "CONTRACT_CASE(NAME, SUBJECT, queues_know_who_they_are)\n",
            ["1: 'queues know who"],
        ),
        ("a.md", "It is none.\n", ["1: 'is none'"]),
        ("a.md", " ".join(["word"] * 26) + ".\n", ["1: a sentence of 26 words"]),
        ("a.cmake", "# Somebody sets it.\n", ["1: 'Somebody'"]),
        (
            "a.ipynb",
            '{"cells": [{"cell_type": "code", "source": []},\n'
            '{"cell_type": "markdown", "source": ["A\\n",\n"b"]},\n'
            '{"cell_type": "markdown", "source": ["A\\n",\n"nobody"]}]}',
            ["5: 'nobody'"],
        ),
    ],
)
def test_finding_is_reported_with_its_line(
    tmp_path: Path, name: str, text: str, expected: list[str]
) -> None:
    found = found_in(tmp_path, name, text)
    assert len(found) == len(expected)
    assert all(one.startswith(start) for one, start in zip(found, expected, strict=True)), found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cpp", 'const char *url = "https://example.org/who";  // Locks the mutex.\n'),
        ("a.py", 'x = "nobody"\n'),  # one word is a name or a value
        (
            "a.py",
            f'"""Copy.\n\nParameters\n----------\nsrc : {"int or " * 26}float\n    It.\n\n'
            f'Examples\n--------\n>>> {"1 + " * 26}1\nOf 27\n"""\n',
        ),  # types and examples
        ("a.md", "```python\nnobody = 1\n```\n"),
        ("a.md", "What does it cost?\n"),
        ("a.md", "Call `nobody()`.\n"),
        ("a.py", "def test_array_is_new():\n    pass\n\n\nclass TestAllocation:\n    pass\n"),
        ("a.cpp", 'TEST_CASE("`!=` only narrows a range at its lower bound") {}\n'),
        ("a.cpp", 'TEST_CASE("in-place addition keeps the dtype") {}\n'),
        ("a.cpp", "".join(f"int x{i};  // one of the eight fields\n" for i in range(8))),
        ("a.py", "".join(f"x{i} = 1  # one of the eight values\n" for i in range(8))),
        ("a.hpp", "// " + "word " * 20 + "\n// Returns: " + "word " * 20 + "\n"),
    ],
)
def test_code_and_questions_are_not_flagged(tmp_path: Path, name: str, text: str) -> None:
    assert found_in(tmp_path, name, text) == []


def test_finding_in_tracked_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("The consumer.\n")
    bad.write_text("Nobody.\n")
    monkeypatch.setattr(check_prose, "tracked", lambda: [good])
    assert check_prose.main([]) == 0
    monkeypatch.setattr(check_prose, "tracked", lambda: [good, bad])
    assert check_prose.main([]) == 1


def test_cpp_file_without_opening_comment_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header, source, program = (tmp_path / name for name in ("a.hpp", "a.cpp", "main.cpp"))
    header.write_text("// Arrays.\n")
    source.write_text("int x;\n")  # its header has the comment
    program.write_text("// Adds.\nint main() {}\n")
    monkeypatch.setattr(check_prose, "tracked", lambda: [header, source, program])
    assert check_prose.main([]) == 0
    program.write_text("int main() {}\n")
    assert check_prose.main([]) == 1
