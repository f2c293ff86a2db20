#!/usr/bin/env python3
"""Builds the conda package of tools/conda/recipe.yaml without a channel, and tests it.

    python tools/conda.py [FOLDER]

1. The recipe is rendered in conda-forge's form, with the requirements that a feedstock would have.
   They are not looked up.
2. Its variant channel_free.yaml is built with this Python, and the CMake and compiler of PATH.
3. The package is installed into FOLDER/prefix, as a conda client does.
4. Its metadata, its files and its program are tested there. A line is printed for each fault.

FOLDER is build/conda by default. It receives the package and build.log. The exit status is 1 if the
recipe cannot be rendered or built, or if there is a fault. The functions import rattler_build, so
that tests of the others need no installation of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import version

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "tools/conda/recipe.yaml"
CHANNEL_FREE = ROOT / "tools/conda/channel_free.yaml"
PROGRAM = ROOT / "tools/conda/installed.py"

#: The variables that the recipe needs of conda-forge's pinning.
PINNED = {
    "python": ["3.11", "3.12", "3.13", "3.14"],
    "c_stdlib": ["sysroot"],
    "c_stdlib_version": ["2.28"],
}
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
#: The folder of Python's packages in a prefix.
PACKAGES = f"lib/python{PYTHON}/site-packages"


class Log:
    """Writes the messages of a build to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_text("", encoding="utf-8")

    def on_log(self, event: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{event.message}\n")

    def ignore(self, event: Any) -> None:
        pass

    on_download_start = on_download_progress = on_download_complete = on_build_step = ignore

    def tail(self, lines: int = 80) -> str:
        return "\n".join(self.path.read_text(encoding="utf-8").splitlines()[-lines:])


def render(recipe: Any) -> None:
    """Renders the form of conda-forge, and prints the requirements of its packages."""
    from rattler_build import VariantConfig

    variants = recipe.render(VariantConfig(PINNED))
    if len(variants) != len(PINNED["python"]):
        sys.exit(f"recipe.yaml has {len(variants)} variants for {len(PINNED['python'])} Pythons")
    for variant in variants:
        package = variant.recipe.package
        print(f"{package.name} {package.version} {variant.recipe.build.string}")
    for kind, rows in variants[0].recipe.to_dict()["requirements"].items():
        if isinstance(rows, list):
            print(f"  {kind}: {', '.join(rows)}")


def build(recipe: Any, folder: Path) -> Path:
    """Builds the variant without channels. Returns the package."""
    from rattler_build import (
        EnvironmentIsolation,
        RattlerBuildError,
        ToolConfiguration,
        VariantConfig,
    )

    log = Log(folder / "build.log")
    shutil.rmtree(folder / "bld", ignore_errors=True)  # of a build that failed
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        variants = VariantConfig.from_file(CHANNEL_FREE).merge(VariantConfig({"python": [PYTHON]}))
        (variant,) = recipe.render(variants)
        result = variant.run_build(
            tool_config=ToolConfiguration(test_strategy="skip"),
            output_dir=folder,
            channels=[],
            progress_callback=log,
            # One folder for all builds, so that ccache finds the objects of the last one.
            no_build_id=True,
            # Python can unpack it.
            package_format="tar.bz2",
            # The rendered recipe has folders of this machine.
            no_include_recipe=True,
            env_isolation=EnvironmentIsolation.NONE,
        )
    except RattlerBuildError as error:
        sys.exit(f"{log.tail()}\n\nThe package was not built: {error}\nAll messages: {log.path}")
    (package,) = map(Path, result.packages)
    return package


def install(package: Path, prefix: Path) -> str:
    """Unpacks the package over a new virtual environment, and writes the prefix into its files.

    Returns: the prefix of the build, which conda replaces.
    """
    venv.create(prefix, clear=True, symlinks=True)
    with tarfile.open(package) as archive:
        archive.extractall(prefix)
    placeholder = ""
    for entry in json.loads((prefix / "info/paths.json").read_text(encoding="utf-8"))["paths"]:
        if "prefix_placeholder" not in entry:
            continue
        placeholder = entry["prefix_placeholder"]
        if entry["file_mode"] == "text":
            file = prefix / entry["_path"]
            file.write_bytes(file.read_bytes().replace(placeholder.encode(), bytes(prefix)))
    return placeholder


def faults_of_metadata(prefix: Path) -> Iterator[str]:
    index = json.loads((prefix / "info/index.json").read_text(encoding="utf-8"))
    expected = {
        "name": "entrepot",
        "version": version.version(),
        "depends": ["python"],
        "license": "Apache-2.0",
    }
    for field, value in expected.items():
        if index.get(field) != value:
            yield f"{field} is {index.get(field)!r}, not {value!r}"
    if not re.fullmatch(rf"py{PYTHON.replace('.', '')}h[0-9a-f]{{7}}_0", index["build"]):
        yield f"the build string {index['build']} does not say Python {PYTHON}"
    for pattern in (
        "bin/entrepot",
        "info/licenses/LICENSE",
        f"{PACKAGES}/entrepot-{version.version()}.dist-info/METADATA",
        f"{PACKAGES}/entrepot/_core.*.so",
        f"{PACKAGES}/entrepot/libentrepot.so.*",
        f"{PACKAGES}/entrepot/include/entrepot/array/array.hpp",
    ):
        if not any(prefix.glob(pattern)):
            yield f"the package has no {pattern}"


def faults_of_files(package: Path, placeholder: str, machine: list[str]) -> Iterator[str]:
    """Files with a folder of this machine, apart from the prefix in text files."""
    with tarfile.open(package) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            content = file.read() if file else b""
            if placeholder and b"\0" not in content:
                content = content.replace(placeholder.encode(), b"")
            for folder in machine:
                if (start := content.find(folder.encode())) >= 0:
                    found = re.split(rb"[\0\n]", content[start : start + 100])[0]
                    yield f"{member.name} contains {found.decode(errors='replace')}"
                    break


def faults_of_program(prefix: Path) -> Iterator[str]:
    """Runs the installed command and a kernel, without the packages of this Python."""
    kept = ("PATH", "HOME", "CXX")
    clean = {name: os.environ[name] for name in kept if name in os.environ}
    clean["ENTREPOT_CACHE_DIR"] = ""  # no cache, so that the kernel is compiled
    for program, argument in (("entrepot", "info"), ("python", str(PROGRAM))):
        command = [str(prefix / "bin" / program), argument]
        done = subprocess.run(command, cwd=prefix, env=clean, capture_output=True, text=True)
        if done.returncode:
            yield f"{program} {argument} failed:\n{done.stdout}{done.stderr}"


def main(arguments: list[str]) -> int:
    from rattler_build import RattlerBuildError, Stage0Recipe

    folder = Path(arguments[0] if arguments else ROOT / "build/conda").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["ENTREPOT_VERSION"] = version.version()
    try:
        recipe = Stage0Recipe.from_file(RECIPE)
        render(recipe)
    except RattlerBuildError as error:
        sys.exit(f"{RECIPE} cannot be rendered: {error}")

    print("building the variant without channels …", flush=True)
    package = build(recipe, folder)
    prefix = folder / "prefix"
    placeholder = install(package, prefix)
    faults = [
        *faults_of_metadata(prefix),
        *faults_of_files(package, placeholder, [str(ROOT), str(folder), sys.prefix]),
        *faults_of_program(prefix),
    ]
    for fault in faults:
        print(f"{package.name}: {fault}", file=sys.stderr)
    if not faults:
        print(f"{package.name}: {(package.stat().st_size + 1023) // 1024} KiB, ok")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
