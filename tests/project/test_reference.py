"""The documentation has every public name, and quotes error messages verbatim."""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path

import pytest

import entrepot
import entrepot.memory
from support.reference import public_names

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = "\n".join(
    page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "reference").glob("*.md"))
)
EXCHANGE_PAGES = sorted((ROOT / "docs" / "exchange").glob("*.md"))


def documented(pages: str) -> set[str]:
    """Full names of the objects that the pages describe."""
    module, is_list, names = "", False, set()
    for line in pages.splitlines():
        if found := re.match(r"\.\. (\w+)::(?: (\S+))?$", line):
            directive, name = found.groups()
            module = name if directive == "currentmodule" else module
            is_list = directive == "described"
            if directive == "data":
                names.add(f"{module}.{name}")
        elif is_list and (found := re.match(r"   (\w+)$", line)):
            names.add(f"{module}.{found[1]}")
    return names


@pytest.mark.parametrize("name", public_names())
def test_reference_lists_public_name(name):
    assert name in documented(REFERENCE), f"docs/reference does not list {name}"


def test_reference_without_a_name_is_reported():
    assert "entrepot.kernel.barrier" not in documented(
        REFERENCE.replace("   barrier\n", "   other\n")
    )


MEMORY_PAGE = (ROOT / "docs" / "concepts" / "memory.md").read_text(encoding="utf-8")
STUB = ast.parse((ROOT / "python" / "entrepot" / "_core.pyi").read_text(encoding="utf-8"))
RESOURCES = re.findall(r"^\| `(\w+)(\(.*?\))` \|", MEMORY_PAGE, re.MULTILINE)


def parameters(function: ast.FunctionDef) -> str:
    """Names, defaults and the star of a signature, without types and self."""
    for argument in (*function.args.args, *function.args.kwonlyargs):
        argument.annotation = None
    function.args.args = [argument for argument in function.args.args if argument.arg != "self"]
    return ast.unparse(function.args)


@pytest.mark.parametrize(("name", "shown"), RESOURCES, ids=[name for name, _ in RESOURCES])
def test_documented_resources_have_their_parameters(name, shown):
    (kind,) = (each for each in STUB.body if isinstance(each, ast.ClassDef) and each.name == name)
    (made,) = (
        each for each in kind.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"
    )
    (documented,) = ast.parse(f"def {name}{shown}: ...").body
    assert isinstance(documented, ast.FunctionDef)
    assert parameters(documented) == parameters(made)


def test_reference_has_an_example_of_each_resource():
    resource = entrepot.memory.Resource
    made = {
        name
        for name in entrepot.memory.__all__
        if resource in getattr(getattr(entrepot.memory, name), "__bases__", ())
    }
    assert {name for name, _ in RESOURCES} == made


def words_of_sources() -> str:
    """All sources with adjacent literals joined; a … in the documentation stands for streamed
    values between them."""
    files = chain(
        (ROOT / "src").rglob("*.[ch]pp"),
        (ROOT / "python" / "bind").rglob("*.[ch]pp"),
        (ROOT / "include").rglob("*.hpp"),
    )
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return re.sub(r'"\s*\n?\s*(?:,\s*)?"', "", text)


def quoted_refusals(page: str) -> list[str]:
    """The words in italics of the first column below "Refusals"."""
    section = page.partition("\n## Refusals\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    return [words for row in rows for words in re.findall(r"\*([^*]+)\*", row)]


CASES = [
    (page.name, words)
    for page in EXCHANGE_PAGES
    for words in quoted_refusals(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(
    ("page", "words"), CASES, ids=[f"{page}: {words}" for page, words in CASES]
)
def test_quoted_refusals_are_in_the_sources(page, words):
    sources = words_of_sources()
    pieces = [part.strip(" ,'") for part in words.split("…")]
    assert max(map(len, pieces)) >= len("dates"), (
        f"docs/exchange/{page} quotes {words!r}, which any source has"
    )
    for piece in filter(None, pieces):
        assert piece in sources, (
            f"docs/exchange/{page} quotes {words!r}, but no message has {piece!r}"
        )


@pytest.mark.parametrize(
    "page", [page for page in EXCHANGE_PAGES if page.name != "index.md"], ids=lambda page: page.name
)
def test_protocol_page_has_all_parts(page):
    parts = re.findall(r"^## (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [part for part in parts if part != "Devices"][:-1] == [
        "In",
        "Out",
        "Order",
        "Lifetime",
        "Refusals",
    ]
    assert parts[-1] in ("What others do", "Who has it")


def test_protocol_pages_quote_refusals():
    silent = [
        page.name for page in EXCHANGE_PAGES if page.name not in ("index.md", "c_exchange_api.md")
    ]
    assert set(silent) <= {page for page, _ in CASES}


def test_unknown_refusal_is_found():
    assert quoted_refusals("\n## Refusals\n\n| *never said* | x |\n") == ["never said"]
    assert "never said" not in words_of_sources()
