#!/usr/bin/env python3
"""Checks the English of comments, docstrings, messages, test names and Markdown.

    tools/check_prose.py              all tracked files
    tools/check_prose.py FILE...      these files

It flags words that are not the field's standard terms, fragments, sentences of more than 25 words,
and names of tests, in Python and C++, that are long, riddles, or do not begin with their subject.
Among all tracked files, it also flags C++ files that do not open with a comment.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LONGEST_SENTENCE = 25  # words
LONGEST_TEST_NAME = 60  # characters
LONGEST_CASE_NAME = 72  # characters of a doctest case

# Flagged words, each with its replacement.
WORDS = [
    (r"\b(?:nobody|somebody|anybody|everybody|whoever)\b", "name the program or the object"),
    (r"\b(?:he|she|his|him|himself|whom)\b", "a program is 'it'"),
    (r"(?<=[a-z,;:] )who\b", "a program is 'it': that"),
    (r"\bof (?:ours|theirs)\b", "say which"),
    (r"\b(?:lets?|letting) (?:\w+ ){0,3}go\b", "releases"),
    (r"\bgiv(?:es?|en|ing) (?:it |them |the \w+ )?(?:back|up)\b", "returns, releases"),
    (r"\b(?:comes?|came|coming) behind\b", "waits for, is ordered after"),
    (r"\b(?:has|have|takes?) (?:its|their) turn\b", "is ordered after"),
    (r"\b(?:takes?|taken|took) in(?=[ ,.;]|$)", "imports"),
    (r"\bis none(?=[ ,.;:]|$)", "is no ..., is not a ..."),
    (r"\bfor ever\b", "hangs, deadlocks, forever"),
    (r"\bthe short way\b", "the fast path"),
    (r"\b(?:stranger|lender|borrower)s?\b", "the other process, library or program"),
]
FLAGGED = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in WORDS]
# Names of tests are test_<subject>_<condition>_<expected>; these begin a sentence, or have no
# subject. A doctest case has the same parts, with spaces.
NO_SUBJECT = (
    r"a|an|the|of|what|it|its|one|no|every|each|any|nothing|there|that|this|these|those"
    r"|who|is|are|was|nor|with|without|in|on|by|at"
)
TEST_WITHOUT_SUBJECT = re.compile(
    rf"test_(?:(?:{NO_SUBJECT})(?=_|$))|Test(?:A|An|The|These|Of|What|Who|Where|While)(?=[A-Z])"
)
CASE_WITHOUT_SUBJECT = re.compile(rf"(?:{NO_SUBJECT})(?=[ ,]|$)", re.IGNORECASE)
RIDDLE = re.compile(
    r"\b(?:what|whatever|who|whose|none|goes?|is left|that\b.*\bthat|of\b.*\bof\b.*\bof)\b",
    re.IGNORECASE,
)
FRAGMENT = re.compile(r"(?:Of|The same|What|Whoever|Whether|Who|Where|As)\b")

GENERATED = re.compile(
    r"python/entrepot/(hip\b.*|hipr.*|hips.*)|examples/bindings/.*_bindings\..*|tests/python/kernel/refused/.*"
    r"|docs/cuda_matrix\.md|tools/check_prose\.py|tests/project/test_check_prose\.py"
)
COMMENTED = {
    ".cpp": "//",
    ".hpp": "//",
    ".h": "//",
    ".c": "//",
    ".cu": "//",
    ".cmake": "#",
    ".sh": "#",
    ".txt": "#",
    ".yaml": "#",
    ".toml": "#",
    ".pyx": "#",
    ".pxd": "#",
    ".pat": "#",
    ".allow": "#",
    ".supp": "#",
    "Makefile": "#",
    "run": "#",  # .ci/run
}


@dataclass(frozen=True)
class Text:
    """Prose of a file: text without markup, its first line, and whether it is made of sentences."""

    line: int
    text: str
    is_sentences: bool = True


@dataclass(frozen=True)
class Finding:
    line: int
    what: str
    is_word: bool = False


# ------------------------------------------------------------------ what is prose

CPP = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


def joined(lines: list[tuple[int, str]]) -> Iterator[Text]:
    """Comments of adjacent lines as one text."""
    block: list[str] = []
    first = last = 0
    for line, text in lines:
        if block and line != last + 1:
            yield Text(first, "\n".join(block))
            block = []
        if not block:
            first = line
        block.append(text)
        last = line + text.count("\n")
    if block:
        yield Text(first, "\n".join(block))


def texts_of_cpp(source: str) -> Iterator[Text]:
    comments: list[tuple[int, str]] = []
    for match in CPP.finditer(source):
        line, found = source.count("\n", 0, match.start()) + 1, match[0]
        is_alone = not source[source.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if found.startswith("//") and not is_alone:  # behind code, a note of its own
            yield Text(line, found.lstrip("/").strip(), is_sentences=False)
        elif found.startswith("//"):
            comments.append((line, found.lstrip("/").strip()))
        elif found.startswith("/**<"):  # Doxygen's note on the code before it
            yield Text(line, found.strip(" */<"), is_sentences=False)
        elif found.startswith("/*"):
            comments.append((line, "\n".join(each.strip(" */") for each in found.split("\n"))))
        elif " " in found:  # words of a message
            yield Text(line, found[1:-1], is_sentences=False)
    yield from joined(comments)


def prose_of_docstring(docstring: str) -> str:
    """The docstring with empty lines for numpydoc's headings and names, and for examples."""
    lines = docstring.split("\n")
    section, is_example = "", False
    for number, line in enumerate(lines):
        text = line.strip()
        is_underlined = number + 1 < len(lines) and re.fullmatch(r"\s*-{4,}", lines[number + 1])
        is_example = bool(text) and (is_example or text.startswith(">>>"))
        indent = len(line) - len(line.lstrip())
        if is_underlined:
            section, margin = text, indent
        is_name = section in ("Parameters", "Returns", "Yields", "Raises") and indent == margin
        if is_underlined or is_example or is_name or re.fullmatch(r"-{4,}", text):
            lines[number] = ""
    return "\n".join(lines)


def texts_of_python(source: str) -> Iterator[Text]:
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            comments.append((token.start[0], token.string.lstrip("#: ")))
        elif token.type == tokenize.COMMENT:
            yield Text(token.start[0], token.string.lstrip("#: "), is_sentences=False)
    yield from joined(comments)
    tree = ast.parse(source)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.add(first.value)
                yield Text(first.value.lineno, prose_of_docstring(first.value.value))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node not in docstrings
        ):
            if " " in node.value and "\n" not in node.value:
                yield Text(node.lineno, node.value, is_sentences=False)


def texts_of_comments(source: str, sign: str) -> Iterator[Text]:
    yield from joined(
        [
            (number, line.strip().lstrip(sign).strip())
            for number, line in enumerate(source.split("\n"), 1)
            if line.strip().startswith(sign) and not line.startswith("#!")
        ]
    )


def texts_of_markdown(source: str) -> Iterator[Text]:
    inside = False
    lines: list[str] = []
    for line in source.split("\n"):
        if line.lstrip().startswith("```"):
            inside = not inside
            line = ""
        lines.append("" if inside or line.startswith(("    ", "|")) else line)
    yield Text(1, "\n".join(lines))


def texts_of_notebook(source: str) -> Iterator[Text]:
    """Its cells; the line is that of the cell's first line of text."""
    position = 0
    for cell in json.loads(source)["cells"]:
        lines = cell["source"]
        if not lines:
            continue
        position = source.index(json.dumps(lines[0], ensure_ascii=False), position)
        line = source.count("\n", 0, position) + 1
        position += 1
        read = texts_of_markdown if cell["cell_type"] == "markdown" else texts_of_python
        for each in read("".join(lines)):
            yield Text(line + each.line - 1, each.text, each.is_sentences)


def texts_of(path: Path, source: str) -> Iterator[Text]:
    if path.suffix in (".py", ".pyi"):
        return texts_of_python(source)
    if path.suffix == ".md":
        return texts_of_markdown(source)
    if path.suffix == ".ipynb":
        return texts_of_notebook(source)
    sign = COMMENTED.get(path.suffix or path.name)
    return (
        texts_of_cpp(source)
        if sign == "//"
        else texts_of_comments(source, sign)
        if sign
        else iter(())
    )


# ------------------------------------------------------------------ what is flagged

CODE = re.compile(r"``[^`]*``|`[^`]*`|https?://\S+|\S+\(\)|\S*[_/\\]\S*|-{3,}|={3,}")
# Blank lines, list items and the labels of contracts (Returns:, Thread safety:) end a sentence as
# well.
SENTENCE = re.compile(
    r"(?<=[.!?])\s+(?=[A-Z`])|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s|\n(?=\s*[A-Z][a-z]+(?: [a-z]+)?: "
    r")|\n(?=GIL: )"
)


def findings_in(text: Text) -> Iterator[Finding]:
    plain = CODE.sub("x", text.text)
    for pattern, instead in FLAGGED:
        for match in pattern.finditer(plain):
            yield Finding(
                text.line + plain.count("\n", 0, match.start()),
                f"{match[0]!r}: {instead}",
                is_word=True,
            )
    if not text.is_sentences:
        return
    start = 0
    for sentence in SENTENCE.split(plain):
        at = plain.find(sentence, start)
        start = at + len(sentence)
        line = text.line + plain.count("\n", 0, at)
        words = sentence.split()
        if FRAGMENT.match(sentence.strip()) and not sentence.rstrip().endswith("?"):
            yield Finding(line, f"begins with {words[0]!r}: say what the subject is or does")
        if len(words) > LONGEST_SENTENCE and "|" not in sentence:
            yield Finding(line, f"a sentence of {len(words)} words: at most {LONGEST_SENTENCE}")


TEST = re.compile(r"^\s*(?:def|class) (test_\w+|Test\w+)", re.MULTILINE)
LITERAL = r'"((?:\\.|[^"\\\n])*)"'
CASE = re.compile(rf"\b(?:TEST_CASE(?:_TEMPLATE)?|SUBCASE)\(\s*((?:{LITERAL}\s*)+)")
CLAUSE = re.compile(r"\bCONTRACT_CASE\(.+,\s*(\w+)\)")  # a function of the contract suite


def findings_in_test_name(line: int, name: str) -> Iterator[Finding]:
    if len(name) > LONGEST_TEST_NAME:
        yield Finding(line, f"{name}: more than {LONGEST_TEST_NAME} characters")
    if TEST_WITHOUT_SUBJECT.match(name):
        yield Finding(
            line, f"{name}: begin with the subject: test_<subject>_<condition>_<expected>"
        )
    for pattern, instead in FLAGGED:
        for match in pattern.finditer(name.replace("_", " ")):
            yield Finding(line, f"{name}: {match[0]!r}: {instead}", is_word=True)


def case_names(source: str) -> Iterator[tuple[int, str]]:
    """Names of doctest cases, each with its line."""
    for match in CASE.finditer(source):
        name = "".join(part[1] for part in re.finditer(LITERAL, match[1]))
        yield source.count("\n", 0, match.start(1)) + 1, name
    for match in CLAUSE.finditer(source):
        yield source.count("\n", 0, match.start(1)) + 1, match[1].replace("_", " ")


def findings_in_case_name(line: int, name: str) -> Iterator[Finding]:
    if len(name) > LONGEST_CASE_NAME:
        yield Finding(line, f"{name!r}: more than {LONGEST_CASE_NAME} characters")
    if CASE_WITHOUT_SUBJECT.match(name):
        yield Finding(line, f"{name!r}: begin with the subject, then condition and result")
    for match in RIDDLE.finditer(name):
        yield Finding(line, f"{name!r}: {match[0]!r}: name the object")


def findings_of(path: Path) -> tuple[list[Finding], int]:
    """The findings, and how many words were read."""
    source = path.read_text(encoding="utf-8", errors="replace")
    found: list[Finding] = []
    words = 0
    for text in texts_of(path, source):
        words += len(text.text.split())
        found += findings_in(text)
    if path.suffix == ".py":
        for match in TEST.finditer(source):
            found += findings_in_test_name(source.count("\n", 0, match.start(1)) + 1, match[1])
    if COMMENTED.get(path.suffix) == "//":
        for line, name in case_names(source):
            found += findings_in_case_name(line, name)
    return sorted(found, key=lambda each: each.line), words


def without_comment(files: list[Path]) -> Iterator[Path]:
    """C++ files that do not open with a comment. The header of a source may have it instead."""
    headers = {path.stem for path in files if path.suffix == ".hpp"}
    for path in files:
        if path.suffix == ".hpp" or (path.suffix == ".cpp" and path.stem not in headers):
            if not path.read_text(encoding="utf-8").startswith(("//", "/*")):
                yield path


def tracked() -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    return [
        ROOT / name
        for name in names
        if name and not GENERATED.fullmatch(name) and (ROOT / name).is_file()
    ]


def main(arguments: list[str] | None = None) -> int:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    total = flagged = words = 0
    chosen = parser.parse_args(arguments).files
    for path in without_comment([] if chosen else tracked()):
        print(f"{path}:1: begin with a comment that says what the file is for")
        total += 1
    for path in chosen or tracked():
        found, read = findings_of(path)
        words += read
        total += len(found)
        flagged += sum(each.is_word for each in found)
        for finding in found:
            print(f"{path}:{finding.line}: {finding.what}")
    print(
        f"{total} findings in {words} words; {flagged / max(words, 1) * 10_000:.1f} flagged words "
        "in 10,000"
    )
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
