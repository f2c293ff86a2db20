"""Measures what Python's stable ABI would cost: one wheel for all versions of Python.

It compiles a small extension with and without the stable ABI, once through nanobind and once
through Python's C API. It prints the least time of each call. The split mode of nanobind is used,
whose library is the package nanobind-backend. With ``--uses`` it also lists what python/bind/ uses
and the stable ABI does not have, which takes minutes.

It needs CMake and nanobind, and installs nanobind-backend into its build directory.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import re
import subprocess
import sys
import sysconfig
import timeit
from pathlib import Path

import nanobind

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "stable_abi"
LIMIT_NS = 5
CALLS, ROUNDS = 100_000, 30

STATEMENTS = [
    ("bound", "call of a method", "point.add(1, 2)"),
    ("bound", "call with a keyword", "point.add(1, z=2)"),
    ("bound", "property", "point.x"),
    ("bound", "new object", "make()"),
    ("plain", "tuple of ints", "product(shape)"),
    ("plain", "method of a type", "has_method(shape)"),
    ("plain", "new object", "Number(1)"),
]


def build() -> None:
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install"]
    subprocess.run(
        [*pip, "--target", BUILD / "backend", "--upgrade", "nanobind-backend"], check=True
    )
    python = f"-DPython_EXECUTABLE={sys.executable}"
    source = ROOT / "tools" / "stable_abi"
    subprocess.run(
        [
            "cmake",
            "-S",
            source,
            "-B",
            BUILD,
            "-DCMAKE_BUILD_TYPE=Release",
            python,
            "--log-level=NOTICE",
        ],
        check=True,
    )
    subprocess.run(["cmake", "--build", BUILD], check=True, stdout=subprocess.DEVNULL)


def names_for(kind: str, abi: str) -> dict[str, object]:
    module = importlib.import_module(f"{kind}_{abi}")
    names = {"shape": (2, 3, 4)} | vars(module)
    if kind == "bound":
        names["point"] = module.Point()
    return names


def print_times() -> None:
    print(f"Python {sys.version.split()[0]}, nanobind {nanobind.__version__}; least ns of a call")
    print(f"{'':<30}{'version':>9}{'stable':>9}{'more':>7}")
    for kind, what, statement in STATEMENTS:
        sides = [names_for(kind, abi) for abi in ("for_version", "stable")]
        least = [float("inf")] * 2
        for _ in range(ROUNDS):  # alternately, so that a change of the clock affects both
            for side, names in enumerate(sides):
                taken = timeit.timeit(statement, globals=names, number=CALLS) / CALLS * 1e9
                least[side] = min(least[side], taken)
        more = least[1] - least[0]
        label = f"{'nanobind' if kind == 'bound' else 'C API'}: {what}"
        verdict = "" if more <= LIMIT_NS else f"  over the limit of {LIMIT_NS} ns"
        print(f"{label:<30}{least[0]:>9.1f}{least[1]:>9.1f}{more:>+7.1f}{verdict}")


def print_uses() -> None:
    """Names of the C API in python/bind/ that are not declared with Py_LIMITED_API."""
    include = [ROOT / "include", ROOT / "src", ROOT / "python" / "bind", nanobind.include_dir()]
    include += [ROOT / "python", sysconfig.get_paths()["include"]]
    command = [
        "c++",
        "-std=c++20",
        "-fsyntax-only",
        "-fmax-errors=0",
        "-DPy_LIMITED_API=0x030c0000",
    ]
    command += [f"-I{folder}" for folder in include]
    uses: collections.Counter[str] = collections.Counter()
    for path in sorted((ROOT / "python" / "bind").rglob("*.cpp")):
        output = subprocess.run([*command, path], capture_output=True, text=True).stderr
        lines = {line for line in output.splitlines() if "python/bind/" in line}
        for line in lines:
            found = re.search(r"error: .(_?Py\w+). was not declared", line)
            if found:
                uses[found[1]] += 1
            elif re.search(
                r"error: invalid use of incomplete type.*(PyTypeObject|_typeobject)", line
            ):
                uses["members of PyTypeObject"] += 1
    print("places in python/bind/ that the stable ABI of Python 3.12 does not allow")
    for name, count in uses.most_common():
        print(f"{count:>5} {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uses", action="store_true", help="list names outside the stable ABI")
    arguments = parser.parse_args()
    build()
    sys.path[:0] = [str(BUILD), str(BUILD / "backend")]
    print_times()
    if arguments.uses:
        print_uses()


if __name__ == "__main__":
    main()
