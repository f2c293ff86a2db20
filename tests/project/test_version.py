"""tools/version.py: releases, builds between them, and trees without git."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import output_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import version

AUTHOR = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "PATH": "/usr/bin:/bin"}
AUTHOR |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in AUTHOR.items()}


def tree(root: Path, base: str) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text(f'[[tool.dynamic-metadata]]\nbase = "{base}"\n')
    return root


def repository(root: Path, base: str) -> tuple[Path, str]:
    """A git repository of one commit, and the commit's first digits."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    tree(root, base)
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", root, *command], check=True, env=AUTHOR)
    return root, output_of(["git", "-C", root, "rev-parse", "HEAD"]).strip()[:8]


def test_build_between_releases_names_its_commit(tmp_path: Path) -> None:
    root, commit = repository(tmp_path, "1.2.0.dev0")
    (tmp_path / "untracked").touch()
    assert version.version(root) == f"1.2.0.dev0+g{commit}"
    (tmp_path / "pyproject.toml").write_text('base = "1.3.0.dev0"\n')
    assert version.version(root) == f"1.3.0.dev0+g{commit}.modified"


def test_release_has_its_number_alone(tmp_path: Path) -> None:
    root, _ = repository(tmp_path, "1.2.0")
    assert version.version(root) == "1.2.0"


def test_tree_without_git_has_the_written_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer, _ = repository(tmp_path, "0.9.0.dev0")
    assert version.version(tree(outer / "vendored", "1.2.0.dev0")) == "1.2.0.dev0"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version.version(outer) == "0.9.0.dev0"


def test_source_archive_keeps_its_version(tmp_path: Path) -> None:
    root, _ = repository(tmp_path, "1.2.0.dev0")
    (root / "PKG-INFO").write_text("Name: entrepot\nVersion: 1.2.0.dev0+g12345678\n\nText")
    assert version.version(root) == "1.2.0.dev0+g12345678"


def test_builds_take_the_version_of_the_script(tmp_path: Path) -> None:
    program = (
        "from scikit_build_core.build import prepare_metadata_for_build_wheel as prepare; "
        "import sys; print(prepare(sys.argv[1]))"
    )
    prepared = output_of([sys.executable, "-c", program, tmp_path], cwd=version.ROOT).split()[-1]
    assert prepared == f"entrepot-{version.version()}.dist-info"
