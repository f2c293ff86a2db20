"""Runs ``entrepot check`` over every installed library and Entrepot itself:
docs/conformance*.md.

``make conformance`` writes the page of the host and of SYCL. With ``cuda`` this script writes
that of CUDA, on a machine that has it. A library joins with its rows in TARGETS or CUDA_TARGETS,
and known defects with rows in DEFECTS.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import entrepot
from entrepot.check import Request, Result, TargetError, check
from entrepot.check.clauses import EXPORT, FAILED, IMPORT, NOT_APPLICABLE, PASSED, Outcome
from entrepot.check.protocols import PROTOCOLS, every_clause

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
SYCL, CUDA = "opencl:cpu", "cuda:0"


@dataclass(frozen=True)
class Target:
    """A library and the request to check; ``needs`` are markers of tests/conftest.py."""

    library: str
    request: Request
    needs: tuple[str, ...]

    @property
    def text(self) -> str:
        """The request as arguments of the command line."""
        options = [f"--device {self.request.device}"] * (self.request.device != "host") + [
            "--copies"
        ] * self.request.copies
        options += [f"--protocol {name}" for name in self.request.protocols]
        return " ".join([self.request.target, *options])

    def bring(self) -> None:
        bring("nanobind" in self.needs)

    def check(self) -> Result:
        self.bring()
        return check(self.request)


@functools.cache
def bring(nanobind: bool) -> None:
    """Makes wrapped.py importable, and on request an extension that uses nanobind."""
    if not nanobind:
        sys.path.append(str(HERE))
        return
    bring(False)
    sys.path.append(str(HERE.parent))
    from interop.nanobind_extension import built

    sys.path.append(str(built().parent))


def target(library: str, name: str, *needs: str, **words: Any) -> Target:
    return Target(library, Request(name, **words), needs)


NUMPY_MADE = "__import__('numpy').zeros((3, 4), 'float32')"
HIP_TYPES = "rocm.bindings.util.types"
EXTENSION, WRAPPED = (f"__import__('{name}')" for name in ("nanobind_arrays", "wrapped"))
COPIER = "partial(__import__('dpctl.memory').memory.MemoryUSMShared, copy=True)"

TARGETS: tuple[Target, ...] = (
    target("Entrepot", "entrepot:zeros((3, 4), 'float32', device='host')", "host"),
    target(
        "Entrepot", f"entrepot:zeros((3, 4), 'float32', device='{SYCL}', kind='shared')", "sycl"
    ),
    target(
        "Entrepot", f"entrepot:zeros((3, 4), 'float32', device='{SYCL}', kind='device')", "sycl"
    ),
    target("Entrepot", "entrepot:asarray", "host"),
    target("Entrepot", "entrepot:asarray", "sycl", device=SYCL),
    target("Entrepot", "entrepot:from_dlpack", "host"),
    target("Python", "builtins:bytearray(48)"),
    target("Python", "builtins:memoryview"),
    target("Python", "array:array('f', [1, 2, 3])"),
    target("NumPy", "numpy:zeros((3, 4), 'float32')", "numpy"),
    target("NumPy", "numpy:broadcast_to(arange(4.0), (3, 4))", "numpy"),
    target("NumPy", "numpy:asarray", "numpy"),
    target("NumPy", "numpy:from_dlpack", "numpy"),
    target(
        "ml_dtypes", "numpy:zeros((3, 4), __import__('ml_dtypes').bfloat16)", "numpy", "ml_dtypes"
    ),
    target("PyTorch", "torch:zeros(3, 4)", "torch"),
    target("PyTorch", "torch:from_dlpack", "torch"),
    target("JAX", "jax.numpy:zeros((3, 4))", "jax"),
    target("JAX", "jax.numpy:from_dlpack", "jax"),
    target("apache-tvm-ffi", f"tvm_ffi:from_dlpack({NUMPY_MADE})", "tvm_ffi", "numpy"),
    target("apache-tvm-ffi", "tvm_ffi:from_dlpack", "tvm_ffi"),
    target("mpi4py", "mpi4py.MPI:buffer.allocate(48)", "mpi4py"),
    target("mpi4py", "mpi4py.MPI:buffer.frombuffer", "mpi4py"),
    # Its capsules of one array share a tensor, so the clauses of DLPack would count its deleter for
    # all of them.
    target("nanobind", f"nanobind:{EXTENSION}.make()", "nanobind", protocols=("buffer",)),
    target("nanobind", f"nanobind:{WRAPPED}.nanobind_array", "nanobind"),
    target("HIP Python", f"{HIP_TYPES}:DeviceArray(bytearray(48))", "hip_python"),
    target("HIP Python", f"{HIP_TYPES}:{WRAPPED}.hip_device_array", "hip_python"),
    target("dpctl", "dpctl.memory:MemoryUSMShared(48)", "dpctl", "sycl"),
    target("dpctl", "dpctl.memory:MemoryUSMDevice(48)", "dpctl", "sycl"),
    target("dpctl", "dpctl.memory:as_usm_memory", "dpctl", "sycl", device=SYCL),
    target("dpctl", f"functools:{COPIER}", "dpctl", "sycl", device=SYCL, copies=True),
    target("dpnp", f"dpnp:zeros((3, 4), device='{SYCL}', usm_type='shared')", "dpnp", "sycl"),
    target("dpnp", f"dpnp:ones((), device='{SYCL}')", "dpnp", "sycl"),
    target("dpnp", "dpnp:asarray", "dpnp", "sycl", device=SYCL),
    target("dpnp", "dpnp:from_dlpack", "dpnp", "sycl", device=SYCL),
)

ON_CUDA = f"device='{CUDA}'"
CUPY_MANAGED = "ndarray((3, 4), 'float32', cuda.MemoryPointer(cuda.ManagedMemory(48), 0))"
CUPY_PINNED = "zeros_pinned((3, 4), 'float32')"
NUMBA_ON_A_STREAM = "device_array((3, 4), 'float32', stream=stream())"
STRIDED_VIEW = (
    "partial(__import__('cuda.core.utils').core.utils.StridedMemoryView.from_any_interface, "
    "stream_ptr=-1)"
)

CUDA_TARGETS: tuple[Target, ...] = (
    target("Entrepot", f"entrepot:zeros((3, 4), 'float32', {ON_CUDA})", "cuda"),
    target("Entrepot", f"entrepot:zeros((3, 4), 'float32', {ON_CUDA}, kind='host')", "cuda"),
    target("Entrepot", f"entrepot:zeros((3, 4), 'float32', {ON_CUDA}, kind='shared')", "cuda"),
    target("Entrepot", "entrepot:asarray", "cuda", device=CUDA),
    target("Entrepot", "entrepot:from_dlpack", "cuda", device=CUDA),
    target("PyTorch", "torch:zeros(3, 4, device='cuda')", "torch", "cuda"),
    target("PyTorch", "torch:zeros(3, 4).pin_memory()", "torch", "cuda"),
    target("PyTorch", "torch:from_dlpack", "torch", "cuda", device=CUDA),
    target(
        "PyTorch",
        "functools:partial(__import__('torch').as_tensor, device='cuda')",
        "torch",
        "cuda",
        device=CUDA,
    ),
    target("CuPy", "cupy:zeros((3, 4), 'float32')", "cupy", "cuda"),
    target("CuPy", "cupy:flip(zeros((3, 4), 'float32'))", "cupy", "cuda"),
    target("CuPy", f"cupy:{CUPY_MANAGED}", "cupy", "cuda"),
    target("CuPy", f"cupyx:{CUPY_PINNED}", "cupy", "cuda"),
    target("CuPy", "cupy:from_dlpack", "cupy", "cuda", device=CUDA),
    target("CuPy", "cupy:asarray", "cupy", "cuda", device=CUDA),
    target("JAX", "jax.numpy:zeros((3, 4))", "jax", "cuda"),
    target("JAX", "jax.numpy:from_dlpack", "jax", "cuda", device=CUDA),
    target("numba-cuda", "numba.cuda:device_array((3, 4), 'float32')", "numba_cuda", "cuda"),
    target("numba-cuda", f"numba.cuda:{NUMBA_ON_A_STREAM}", "numba_cuda", "cuda"),
    target("numba-cuda", "numba.cuda:managed_array((3, 4), 'float32')", "numba_cuda", "cuda"),
    target("numba-cuda", "numba.cuda:as_cuda_array", "numba_cuda", "cuda", device=CUDA),
    target("cuda.core", f"cuda.core:{WRAPPED}.core_buffer('')", "cuda_core", "cuda"),
    target(
        "cuda.core",
        f"cuda.core:{WRAPPED}.core_buffer('LegacyPinnedMemoryResource')",
        "cuda_core",
        "cuda",
    ),
    target(
        "cuda.core",
        f"cuda.core:{WRAPPED}.core_buffer('ManagedMemoryResource')",
        "cuda_core",
        "cuda",
    ),
    target("cuda.core", f"functools:{STRIDED_VIEW}", "cuda_core", "cuda", device=CUDA),
    target("apache-tvm-ffi", "tvm_ffi:from_dlpack", "tvm_ffi", "cuda", device=CUDA),
    target("nanobind", f"nanobind:{WRAPPED}.nanobind_array", "nanobind", "cuda", device=CUDA),
    target("mpi4py", "mpi4py.MPI:buffer.frombuffer", "mpi4py", "cuda", device=CUDA),
)


@dataclass(frozen=True)
class Defect:
    """A known defect of a library, the clause that finds it, and the version that fixes it."""

    what: str
    target: str
    clause: str
    status: str = FAILED
    fixed: tuple[str, str] | None = None  # distribution and version

    @property
    def is_fixed(self) -> bool:
        return self.fixed is not None and numbers(
            importlib.metadata.version(self.fixed[0])
        ) >= numbers(self.fixed[1])


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:2]]


def named(start: str) -> Target:
    """The first target with this name, or else the first whose name begins so."""
    rows = (*TARGETS, *CUDA_TARGETS)
    exact = [row for row in rows if row.request.target == start]
    return (exact or [row for row in rows if row.request.target.startswith(start)])[0]


USM, SUAI_IN, DPNP_OUT, DPNP_IN = (
    "dpctl.memory:MemoryUSMShared",
    "dpctl.memory:as_usm",
    "dpnp:zeros",
    "dpnp:asarray",
)
DEFECTS: tuple[Defect, ...] = (
    Defect("sets data[1] to True for writable memory", USM, "suai.export.read-only"),
    Defect("does not look at the read-only flag", SUAI_IN, "suai.import.read-only"),
    Defect("takes a missing typestr for float64", SUAI_IN, "suai.import.refuses-no-typestr"),
    Defect("uses a capsule up and then refuses", SUAI_IN, "suai.import.keeps-a-refused-capsule"),
    Defect(
        "ends the process where a context does not know the pointer",
        SUAI_IN,
        "suai.import.refuses-foreign-memory-of-a-context",
    ),
    Defect(
        "refuses a missing data, in place of which the buffer is meant",
        SUAI_IN,
        "suai.import.buffer",
    ),
    Defect(
        "does not compare the elements with the allocation",
        SUAI_IN,
        "suai.import.refuses-beyond-the-allocation",
    ),
    Defect("copy=True of the same kind is a view", "functools:partial", "suai.import.zero-copy"),
    Defect(
        "waits for its queue at each access of the attribute", DPNP_OUT, "suai.export.does-not-wait"
    ),
    Defect(
        "copies for dl_device=(kDLCPU, 0) what the host can read",
        DPNP_OUT,
        "dlpack.export.host-view",
    ),
    Defect("exports every 0-d array as read-only", "dpnp:ones", "dlpack.export.read-only"),
    Defect("copies what has only SUAI", DPNP_IN, "suai.import.zero-copy"),
    Defect(
        "has no negative strides of SUAI", DPNP_IN, "suai.import.negative-strides", NOT_APPLICABLE
    ),
    Defect(
        "refuses the null pointer of a tensor without elements",
        "dpnp:from_dlpack",
        "dlpack.import.zero-size",
    ),
    Defect("follows null strides", "dpnp:from_dlpack", "dlpack.import.null-strides"),
    Defect("loses the read-only flag", "torch:from_dlpack", "dlpack.import.read-only"),
    Defect(
        "has no negative strides",
        "torch:from_dlpack",
        "dlpack.import.negative-strides",
        NOT_APPLICABLE,
    ),
    Defect(
        "asks for legacy tensors",
        "jax.numpy:from_dlpack",
        "dlpack.import.asks-for-a-version",
        fixed=("jax", "0.12"),
    ),
    Defect(
        "gives what is immutable as legacy tensors",
        "jax.numpy:zeros",
        "dlpack.export.read-only-legacy",
    ),
    Defect("loses the read-only flag", "tvm_ffi:from_dlpack", "c_exchange_api.import.read-only"),
    Defect(
        "holds the capsule and does not rename it",
        "mpi4py.MPI:buffer.frombuffer",
        "dlpack.import.renames-the-capsule",
    ),
    Defect("loses the read-only flag", "cupy:from_dlpack", "dlpack.import.read-only"),
    Defect("loses the read-only flag", "cupy:asarray", "cai.import.read-only"),
    Defect("takes stream 0", "cupy:zeros", "dlpack.export.ambiguous-stream"),
    Defect("says negative strides as unsigned numbers", "cupy:flip", "dlpack.export.agrees"),
    Defect(
        "has the second version, without a stream",
        "torch:zeros(3, 4, device='cuda')",
        "cai.export.version",
    ),
    Defect(
        "does not look at the mask",
        "functools:partial(__import__('torch')",
        "cai.import.refuses-a-mask",
    ),
    Defect("does not follow strides of 0", "numba.cuda:as_cuda_array", "cai.import.broadcast"),
    Defect(
        "takes a tensor of another major version",
        "functools:partial(__import__('cuda.core",
        "dlpack.import.refuses-a-major-version",
    ),
    Defect(
        "has a key of its own, offset",
        "rocm.bindings.util.types:DeviceArray",
        "cai.export.known-keys",
    ),
    Defect("has the typestr 'B'", "rocm.bindings.util.types:DeviceArray", "cai.export.typestr"),
    Defect(
        "does not keep the object",
        "rocm.bindings.util.types:__import__('wrapped')",
        "cai.import.keeps-the-object",
    ),
    Defect(
        "does not look at the version",
        "rocm.bindings.util.types:__import__('wrapped')",
        "cai.import.refuses-no-version",
    ),
    Defect(
        "does not rename the capsule",
        "nanobind:__import__('wrapped')",
        "dlpack.import.renames-the-capsule",
    ),
    Defect(
        "takes a tensor of another major version",
        "nanobind:__import__('wrapped')",
        "dlpack.import.refuses-a-major-version",
    ),
    Defect(
        "takes contiguous memory only",
        "mpi4py.MPI:buffer.frombuffer",
        "dlpack.import.steps",
        NOT_APPLICABLE,
    ),
)


# ---------------------------------------------------------------- the page


def rows_of(result: Result) -> Iterator[list[str]]:
    """A row for each protocol of the target."""
    for protocol, count in result.counts().items():
        if count[PASSED] or count[FAILED]:
            yield [
                PROTOCOLS[protocol].title,
                *(str(count[status]) for status in (PASSED, FAILED, NOT_APPLICABLE)),
            ]


def plain(text: str) -> str:
    """Removes the parts that differ between runs."""
    text = re.sub(r"bytes [0-9a-f]+…, and not [0-9a-f]+…", "other bytes", text)
    return re.sub(r"0x[0-9a-f]+", "an address", text)


def cell(text: str) -> str:
    return plain(text).replace("|", r"\|")


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def failure(outcome: Outcome) -> list[str]:
    return [f"`{outcome.clause}`", outcome.says, outcome.found]


def versions_text(results: Sequence[Result]) -> str:
    # without the commit of a build between releases, which would change the page each time
    found = {
        name: version.partition("+g")[0]
        for result in results
        for name, version in result.versions.items()
    }
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))


def count_text(protocol: str) -> list[str]:
    sides = [len(PROTOCOLS[protocol].clauses(side)) for side in (EXPORT, IMPORT)]
    return [PROTOCOLS[protocol].title, f"`{protocol}`", *map(str, sides)]


INTRODUCTION = """\
<!-- Written by `{command}`. -->
# {title}

Results of `entrepot check` for the libraries that Entrepot connects, and for Entrepot itself. They
were found on {machine}.

[The command](check.md) explains the clauses, and prints all of them with their sources. This page
is written by `{command}`.

A clause that failed is no verdict on a library: its users may never pass such an object to it. The
command's own table gives the reason of each clause that is *not applicable*. A crash is one of the
clause's own process. Some importers return objects that speak no protocol. They are checked by a
view, `wrapped` (`tests/peers/wrapped.py`), which also makes some objects. `nanobind_arrays` is an
extension in `tests/interop`.

{count} clauses:

{clauses}
"""


def section(library: str, rows: Sequence[tuple[Target, Result]]) -> Iterator[str]:
    versions = versions_text([result for _, result in rows])
    yield f"## {library}\n"
    if versions:
        yield f"{versions}\n"
    summary = [[f"`{row.text}`", *line] for row, result in rows for line in rows_of(result)]
    yield table(["target", "protocol", "passed", "failed", "not applicable"], summary) + "\n"
    for row, result in rows:
        if result.failed:
            yield f"`{row.text}`:\n"
            yield (
                table(["clause", "says", "found"], [failure(outcome) for outcome in result.failed])
                + "\n"
            )


@dataclass(frozen=True)
class Page:
    name: str
    title: str
    command: str
    targets: tuple[Target, ...]
    processor: Callable[[], str]

    @property
    def path(self) -> Path:
        return DOCS / f"{self.name}.md"

    def text(self) -> str:
        for row in self.targets:
            row.bring()  # compiles once, which several threads at a time would not
        with ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 1) // 2)) as at_once:
            results = list(at_once.map(lambda row: (row, row.check()), self.targets))
        clauses = table(
            ["protocol", "clauses", "of exporters", "of importers"],
            [count_text(name) for name in PROTOCOLS],
        )
        system = f"{platform.system()} {platform.machine()}"
        machine = f"Python {platform.python_version()}, {system}, {self.processor()}"
        words = {"title": self.title, "command": self.command, "machine": machine}
        parts = [INTRODUCTION.format(**words, count=len(every_clause()), clauses=clauses)]
        for library in dict.fromkeys(row.library for row in self.targets):
            parts += section(
                library, [(row, result) for row, result in results if row.library == library]
            )
        return "\n".join(parts).rstrip() + "\n"


def cuda_device() -> str:
    device = entrepot.device(CUDA)
    return f"{device.name}, driver {device.driver_version}"


PAGES = {
    "host": Page(
        "conformance",
        "Conformance of the libraries",
        "make conformance",
        TARGETS,
        lambda: "without a GPU",
    ),
    "cuda": Page(
        "conformance_cuda",
        "Conformance of the libraries on CUDA",
        "python tests/peers/conformance.py cuda",
        CUDA_TARGETS,
        cuda_device,
    ),
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Writes a page of what the libraries that are installed here keep to."
    )
    parser.add_argument(
        "place",
        nargs="?",
        choices=PAGES,
        default="host",
        help="whose page it is (default: %(default)s)",
    )
    page = PAGES[parser.parse_args(arguments).place]
    try:
        text = page.text()
    except TargetError as error:
        print(f"{page.path} stays as it is: it needs every library, and {error}", file=sys.stderr)
        return 1
    page.path.write_text(text, encoding="utf-8")
    print(f"{page.path} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
