"""tools/conda.py: the faults that it finds, and what its recipe repeats of pyproject.toml."""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import conda
import version

PLACEHOLDER = "/there/build/conda/bld/host_env_placehold"
METADATA = {
    "name": "entrepot",
    "version": version.version(),
    "depends": ["python"],
    "license": "Apache-2.0",
    "build": f"py{conda.PYTHON.replace('.', '')}h0123abc_0",
}
FILES = {
    "bin/entrepot": f"#!{PLACEHOLDER}/bin/python\n",
    "info/licenses/LICENSE": "Apache",
    f"{conda.PACKAGES}/entrepot-{version.version()}.dist-info/METADATA": "Name: entrepot",
    f"{conda.PACKAGES}/entrepot/_core.abi.so": "\0",
    f"{conda.PACKAGES}/entrepot/libentrepot.so.0.1": "\0",
    f"{conda.PACKAGES}/entrepot/include/entrepot/array/array.hpp": "",
}


def package_of(folder: Path, files: dict[str, str], **metadata: str) -> Path:
    """A conda package with the files, of which bin/entrepot has the prefix of the build."""
    command = {"_path": "bin/entrepot", "prefix_placeholder": PLACEHOLDER, "file_mode": "text"}
    paths = [command, {"_path": "info/licenses/LICENSE"}]
    texts = {
        **files,
        "info/index.json": json.dumps(METADATA | metadata),
        "info/paths.json": json.dumps({"paths": paths}),
    }
    package = folder / "package.tar.bz2"
    with tarfile.open(package, "w:bz2") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return package


def faults(package: Path, prefix: Path) -> list[str]:
    placeholder = conda.install(package, prefix)
    return [
        *conda.faults_of_metadata(prefix),
        *conda.faults_of_files(package, placeholder, ["/there"]),
    ]


def test_installed_command_has_its_prefix(tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    assert faults(package_of(tmp_path, FILES), prefix) == []
    assert (prefix / "bin/entrepot").read_text() == f"#!{prefix}/bin/python\n"


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("info/about.json", "at /there/build\n", "info/about.json contains /there/build"),
        ("lib/libx.so", f"\0{PLACEHOLDER}/lib\0", f"lib/libx.so contains {PLACEHOLDER}/lib"),
    ],
)
def test_folder_of_the_build_is_found(tmp_path: Path, name, text, fault) -> None:
    package = package_of(tmp_path, FILES | {name: text})
    assert faults(package, tmp_path / "prefix") == [fault]


@pytest.mark.parametrize("name", sorted(FILES.keys() - {"bin/entrepot"}))
def test_missing_file_is_found(tmp_path: Path, name: str) -> None:
    package = package_of(tmp_path, {each: FILES[each] for each in FILES if each != name})
    (fault,) = faults(package, tmp_path / "prefix")
    assert fault.startswith("the package has no ")


@pytest.mark.parametrize(
    "field", [{"version": "0.0.1"}, {"name": "other"}, {"license": "MIT"}, {"build": "h0123abc_0"}]
)
def test_wrong_metadata_is_found(tmp_path: Path, field: dict[str, str]) -> None:
    package = package_of(tmp_path, FILES, **field)
    (fault,) = faults(package, tmp_path / "prefix")
    assert "".join(field.values()) in fault


def test_recipe_repeats_pyproject() -> None:
    recipe, project = conda.RECIPE.read_text(), (conda.ROOT / "pyproject.toml").read_text()
    (summary,) = re.findall(r'^description = "(.*)"$', project, re.MULTILINE)
    (license_name,) = re.findall(r'^license = "(.*)"$', project, re.MULTILINE)
    assert f"\n  summary: {summary}\n" in recipe
    assert f"\n  license: {license_name}\n" in recipe
    for tool in ("scikit-build-core", "nanobind", "cmake"):
        (least,) = set(re.findall(rf'"{tool}(>=[\d.]+)"', project))
        assert f"- {tool} {least}\n" in recipe
