"""The documentation has every public name, and quotes error messages verbatim."""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path

import pytest

import entrepot
import entrepot.adapters
import entrepot.allocators
import entrepot.hip.objects
import entrepot.memory

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
EXCHANGE_PAGES = sorted((ROOT / "docs" / "exchange").glob("*.md"))


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in entrepot.__all__ if name not in ("__version__", *entrepot._LAZY)),
        *entrepot.adapters.__all__,
        *entrepot.allocators.__all__,
        *("Library", "Record", "Field", "Handle", "FunctionPointer", "CType", "bits", "anonymous"),
        *entrepot.hip.objects.__all__,
        *(name for name in entrepot.memory.__all__ if name not in entrepot.__all__),
    ],
)
def test_every_public_name_is_in_the_reference(name):
    assert re.search(rf"^\.\. auto\w+:: {name}$", REFERENCE, re.MULTILINE), f"docs/reference.md does not list {name}"


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
    (made,) = (each for each in kind.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    assert parameters(ast.parse(f"def {name}{shown}: ...").body[0]) == parameters(made)


def test_every_resource_is_shown():
    resource = entrepot.memory.Resource
    made = {name for name in entrepot.memory.__all__ if resource in getattr(getattr(entrepot.memory, name), "__bases__", ())}
    assert {name for name, _ in RESOURCES} == made


def words_of_sources() -> str:
    """All sources with adjacent literals joined; a … in the documentation stands for streamed
    values between them."""
    files = chain(
        (ROOT / "src").rglob("*.[ch]pp"), (ROOT / "python" / "bind").rglob("*.[ch]pp"), (ROOT / "include").rglob("*.hpp")
    )
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return re.sub(r'"\s*\n?\s*(?:,\s*)?"', "", text)


def quoted_refusals(page: str) -> list[str]:
    """The words in italics of the first column below "Refusals"."""
    section = page.partition("\n## Refusals\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    return [words for row in rows for words in re.findall(r"\*([^*]+)\*", row)]


CASES = [(page.name, words) for page in EXCHANGE_PAGES for words in quoted_refusals(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "words"), CASES, ids=[f"{page}: {words}" for page, words in CASES])
def test_quoted_refusals_stand_in_the_sources(page, words):
    sources = words_of_sources()
    pieces = [part.strip(" ,'") for part in words.split("…")]
    assert max(map(len, pieces)) >= len("dates"), f"docs/exchange/{page} quotes {words!r}, which any source has"
    for piece in filter(None, pieces):
        assert piece in sources, f"docs/exchange/{page} quotes {words!r}, but no message has {piece!r}"


@pytest.mark.parametrize("page", [page for page in EXCHANGE_PAGES if page.name != "index.md"], ids=lambda page: page.name)
def test_every_page_of_a_protocol_has_the_same_parts(page):
    parts = re.findall(r"^## (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [part for part in parts if part != "Devices"][:-1] == ["In", "Out", "Order", "Lifetime", "Refusals"]
    assert parts[-1] in ("What others do", "Who has it")


def test_there_are_refusals_on_every_page_of_a_protocol():
    silent = [page.name for page in EXCHANGE_PAGES if page.name not in ("index.md", "c_exchange_api.md")]
    assert set(silent) <= {page for page, _ in CASES}


def test_unknown_refusal_is_found():
    assert quoted_refusals("\n## Refusals\n\n| *never said* | x |\n") == ["never said"]
    assert "never said" not in words_of_sources()
