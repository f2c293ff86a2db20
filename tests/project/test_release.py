"""tools/release.py: each of its checks fails alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import release

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@b")


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A tree that is ready for release 1.2.0, but for its archives."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    (tmp_path / "pyproject.toml").write_text('base = "1.2.0"\n[project.urls]\nSource = "there"\n')
    (tmp_path / "CITATION.cff").write_text("title: it\nversion: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.0 (2030-01-31)\n")
    for command in (
        ["init", "-q"],
        ["add", "."],
        [*AUTHOR, "commit", "-qm", "one"],
        ["tag", "v1.2.0"],
    ):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    return tmp_path


def failing(root: Path) -> dict[str, list[str]]:
    """Subject → faults, of the checks that do not hold."""
    found = {name: list(check()) for name, check in release.checks(root, None).items()}
    return {name: faults for name, faults in found.items() if faults}


def test_tree_that_is_ready_lacks_archives_only(ready: Path) -> None:
    assert set(failing(ready)) == {"archives"}


@pytest.mark.parametrize(
    ("file", "old", "new", "subjects"),
    [
        ("CITATION.cff", "1.2.0", "1.1.0", {"citation"}),
        ("CHANGELOG.md", "2030-01-31", "unreleased", {"changes"}),
        ("pyproject.toml", "[project.urls]\nSource", "[other]\nSource", {"addresses"}),
        ("pyproject.toml", "1.2.0", "1.2.0.dev0", {"version", "citation", "changes", "tag"}),
    ],
)
def test_fault_is_found(ready: Path, file: str, old: str, new: str, subjects: set[str]) -> None:
    path = ready / file
    path.write_text(path.read_text().replace(old, new))
    found = failing(ready)
    assert set(found) == {"archives", "tree", *subjects}
    assert file in found["tree"][0]


def test_untagged_commit_is_found(ready: Path) -> None:
    subprocess.run(["git", "-C", ready, "tag", "-d", "v1.2.0"], check=True, capture_output=True)
    assert set(failing(ready)) == {"archives", "tag"}


def test_archives_without_headers_are_found(ready: Path, tmp_path: Path) -> None:
    import tarfile
    import zipfile

    built = tmp_path / "built"
    built.mkdir()
    with tarfile.open(built / "entrepot-1.2.0.tar.gz", "w:gz") as archive:
        archive.add(ready / "pyproject.toml", "entrepot-1.2.0/pyproject.toml")
    with zipfile.ZipFile(built / "entrepot-1.2.0-cp311-none-any.whl", "w") as archive:
        archive.writestr("entrepot/__init__.py", "")
    faults = list(release.wrong_archives(ready, built, "1.2.0"))
    assert any("lacks PKG-INFO" in fault for fault in faults)
    assert any("whl lacks entrepot/include" in fault for fault in faults)
    assert not any("__init__" in fault for fault in faults)
