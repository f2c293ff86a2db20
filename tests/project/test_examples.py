"""The examples work: scripts run, the extensions are built against the installed package and
run.

A script states its needs as `# needs: sycl, dpnp`, with the markers of tests/conftest.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.built import build_folder
from support.processes import output_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(*command: object, **environment: object) -> str:
    return output_of(
        command,
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        timeout=600,
    )


def scripts() -> list:
    found = []
    for file in sorted([*EXAMPLES.glob("*.py"), *EXAMPLES.glob("processes/*.py")]):
        needs = re.search(r"^# needs: (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        marks = (
            [getattr(pytest.mark, need.strip()) for need in needs[1].split(",")] if needs else []
        )
        found.append(pytest.param(file, id=file.name, marks=marks))
    return found


@pytest.mark.parametrize("script", scripts())
def test_script_runs(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(sys.executable, script)


@pytest.mark.host
@pytest.mark.numpy
@pytest.mark.mpi4py
@pytest.mark.parametrize("ranks", [2, 3])
def test_stencil_runs_on_several_ranks(ranks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpiexec", "--oversubscribe", "-n", ranks, sys.executable]
    said = run(*command, EXAMPLES / "processes/stencil_mpi.py", **root)
    assert re.search(rf"stencil on mpi4py, {ranks} ranks: .* ms by mpi4py's pickles", said)


def built(examples: str) -> Path:
    """Folder of those examples, built against the installed package."""
    cmake_dir = run(sys.executable, "-m", "entrepot", "--cmake-dir").strip()
    with build_folder(examples) as folder:
        run("cmake", "-S", EXAMPLES / examples, "-B", folder, "-G", "Ninja",
            f"-Dentrepot_ROOT={cmake_dir}",
            f"-DPython_EXECUTABLE={sys.executable}")  # fmt: skip
        run("cmake", "--build", folder)
    return folder


@pytest.fixture(scope="module")
def extensions():
    return built("extensions")


@pytest.fixture(scope="module")
def programs():
    """Folder of a program, a library and an extension that link libentrepot."""
    return built("cpp")


def test_empty_array_is_passed_as_no_value(extensions):
    source = (
        "from scale_nanobind import first_of; print(first_of([]), first_of([bytearray(3)]).shape)"
    )
    assert run(sys.executable, "-c", source, PYTHONPATH=extensions).split("\n")[0] == "None (3,)"


@pytest.mark.numpy
def test_extensions_scale_every_array_in_place(extensions):
    said = run(sys.executable, EXAMPLES / "extensions" / "use.py", PYTHONPATH=extensions)
    scaled = "[2.0, 4.0, 6.0, 8.0] [2.0, 4.0, 6.0, 8.0] [[3.0, 3.0], [3.0, 3.0]]"
    ways = ("scale_c", "scale_nanobind", "scale_pybind11", "scale_cython")
    refused = "scale takes arrays of float32 or float64"
    assert said.splitlines() == [
        f"{way}: {line}" for way in ways for line in (refused, refused, scaled)
    ]


def test_cython_extension_derives_from_adapter(extensions):
    said = run(sys.executable, EXAMPLES / "extensions" / "use_adapters.py", PYTHONPATH=extensions)
    assert said.splitlines() == ["4.0 6.0", "3.0 4.0 2.5", "True True", "(1,) nothing"]


def test_cython_adapter_type_holds_and_releases(extensions):
    source = """if True:
        import gc, weakref
        from adapter_cython import Named, Pair, total
        from entrepot.adapters import Pointer

        buffer = bytearray(16)
        pair = Pair(buffer)
        try:
            buffer.append(1)
        except BufferError:
            print("held")
        pair.__init__(1.0, 2.0)
        print(pair.x, bool(Pointer(pair)))
        del pair
        gc.collect()

        class Node(bytearray):
            pass

        for kind in (Pair, lambda node: Named(node, "node")):
            node = Node(16)
            node.adapter = kind(node)
            gone = weakref.ref(node)
            del node
            gc.collect()
            print(gone())

        class Derived(Pair):
            pass

        for _ in range(10_000):
            Derived(1.0, 2.0), Pair(buffer), Named(None, "")
        buffer.append(1)

        pair = Pair(1.0, 2.0)
        gone = weakref.ref(pair)
        pointer = Pointer(pair)
        del pair
        print(total(pointer, 2))
        del pointer
        print(gone())
    """
    said = run(sys.executable, "-c", source, PYTHONPATH=extensions).splitlines()
    assert said == ["held", "1.0 True", "None", "None", "3.0", "None"]


@pytest.mark.numpy
def test_nanobind_converts_arrays_both_ways(extensions):
    """Through the type caster: arrays of any library are accepted, and an entrepot.Array of the
    same memory is returned."""
    source = """if True:
        import gc, weakref
        import numpy as np
        import entrepot as ep
        from scale_nanobind import as_array, element_count

        strided, ours = np.arange(12.0).reshape(3, 4)[::2], ep.zeros((5, 2), "int8")
        print(element_count(strided), element_count(ours), element_count(bytearray(7)))
        for made, address in (
            (as_array(strided), strided.ctypes.data),
            (as_array(ours), ours.data_ptr),
        ):
            in_place = made.data_ptr == address
            print(type(made) is ep.Array, in_place, made.shape, made.strides, made.dtype)

        class Owner(bytearray):
            pass

        owner = Owner(8)
        gone, made = weakref.ref(owner), as_array(owner)
        del owner
        gc.collect()
        print(gone() is not None)
        del made
        gc.collect()
        print(gone() is None)
    """
    assert run(sys.executable, "-c", source, PYTHONPATH=extensions).splitlines() == [
        "8 10 7",
        "True True (2, 4) (8, 1) float64",
        "True True (5, 2) (2, 1) int8",
        "True",
        "True",
    ]


@pytest.mark.numpy
def test_refused_array_goes_to_other_nanobind_overload(extensions):
    source = """if True:
        import numpy as np
        from scale_nanobind import is_array

        swapped = np.ones(3, dtype="f8").view(">f8")
        print([is_array(each) for each in (np.ones(3), swapped, [1.0], 3)])
    """
    said = run(sys.executable, "-c", source, PYTHONPATH=extensions)
    assert said == "[True, False, False, False]\n"


@pytest.mark.numpy
def test_refusal_keeps_its_reason_in_nanobind(extensions):
    source = """if True:
        import numpy as np
        from rows_nanobind import row_sums

        print(row_sums(np.arange(6, dtype="f4").reshape(3, 2).T).numpy().tolist())
        swapped = np.ones(3, dtype="f8").view(">f8")
        for wrong in (swapped, np.ones((2, 2), "i4"), np.ones(3), [[1.0]]):
            try:
                row_sums(wrong)
            except (BufferError, TypeError, ValueError) as error:
                print(f"{type(error).__name__}: {error}".split("\\n")[0])
    """
    sums, swapped, *others = run(sys.executable, "-c", source, PYTHONPATH=extensions).splitlines()
    assert sums == "[6.0, 9.0]"
    assert swapped.startswith("ExchangeError: NumPy: typestr '>f8' cannot be taken")
    assert others == [
        "ValueError: an array of float32, float64 was expected, not of int32",
        "ValueError: an array of 2 dimensions was expected, not of 1",
        "TypeError: row_sums(): incompatible function arguments. The following argument types are "
        "supported:",
    ]


@pytest.mark.parametrize(
    ("raised", "caught"),
    [
        ("KeyboardInterrupt()", "KeyboardInterrupt()"),
        ("MemoryError('of the producer')", "MemoryError('of the producer')"),
        ("ZeroDivisionError('of the producer')", "ZeroDivisionError('of the producer')"),
        ("ValueError('of the producer')", "ValueError('of the producer')"),
        ("BufferError('of the producer')", "BufferError('of the producer')"),
        (
            "TypeError('of the producer')",
            "TypeError: element_count(): incompatible function arguments",
        ),
    ],
)
def test_type_error_alone_skips_nanobind_overload(extensions, raised, caught):
    source = f"""if True:
        import scale_nanobind

        class Producer:
            @property
            def __array_interface__(self):
                raise {raised}

        try:
            scale_nanobind.element_count(Producer())
        except BaseException as error:
            print(repr(error), f"{{type(error).__name__}}: {{error}}", sep="\\n")
    """
    assert caught in run(sys.executable, "-c", source, PYTHONPATH=extensions)


on_each_device = pytest.mark.parametrize(
    "device",
    [
        "host",
        pytest.param("opencl:cpu:0", marks=pytest.mark.sycl),
        pytest.param("cuda:0", marks=pytest.mark.cuda),
    ],
)


@on_each_device
def test_program_without_python_runs_on_each_device(programs, device):
    assert run(programs / "two_queues", device) == f"{device}: 338350\n"


@on_each_device
def test_first_program_copies_to_a_device_and_back(programs, device):
    assert run(programs / "round_trip/round_trip", device) == f"{device}: 0 1 2 3 4 5\n"


def test_program_without_python_names_absent_device(programs):
    done = subprocess.run([programs / "two_queues", "hip:77"], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(
        "hip: .*(not part of this build|does not load|no device|not installed)", done.stderr
    )


PASS_TABLE = """
import ctypes, sys

pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
pointer_in.restype, pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
library = ctypes.PyDLL(sys.argv[1])

def copy_of(tensor):
    table = pointer_in(type(tensor).__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    made, reason = ctypes.py_object(), ctypes.create_string_buffer(500)
    failed = library.copy_of_tensor(
        ctypes.c_void_p(table), ctypes.py_object(tensor), ctypes.byref(made), reason, 500
    )
    if failed:
        raise RuntimeError(reason.value.decode())
    return made.value
"""


def test_library_copies_through_dlpack_exchange(programs):
    source = """
import entrepot as ep

given = ep.asarray(memoryview(bytearray(range(6)))).reshape(2, 3)[:, ::-1]
made = copy_of(given)
print(type(made) is ep.Array, made.data_ptr != given.data_ptr, made.strides)
print(memoryview(made).tolist())
"""
    library = programs / "libdlpack_exchange.so"
    said = run(sys.executable, "-c", PASS_TABLE + source, library)
    assert said.splitlines() == ["True True (3, 1)", "[[2, 1, 0], [5, 4, 3]]"]


@pytest.mark.torch
def test_library_returns_tensor_of_the_other_library(programs):
    source = """
import torch

made = copy_of(torch.arange(3.0))
print(type(made).__name__, made.tolist())
"""
    library = programs / "libdlpack_exchange.so"
    assert run(sys.executable, "-c", PASS_TABLE + source, library) == "Tensor [0.0, 1.0, 2.0]\n"


def test_extension_allocates_from_resource_of_python(programs):
    source = """if True:
        import entrepot as ep
        import entrepot.memory as mem
        import shared_pool

        in_use = mem.limit(1_000_000)
        with mem.use_resource(in_use):
            made = ep.from_dlpack(shared_pool.full(1000, 2.0, "host"))
            try:
                shared_pool.full(1_000_000, 2.0, "host")
            except shared_pool.Error:
                print("refused")
        print(in_use.used_bytes, made.shape, memoryview(made)[999])
        del made
        print(in_use.used_bytes)
    """
    said = run(sys.executable, "-c", source, PYTHONPATH=programs)
    assert said.splitlines() == ["refused", "4000 (1000,) 2.0", "0"]


@pytest.mark.sycl
def test_extension_waits_for_kernel_of_python(programs):
    source = """if True:
        import entrepot as ep
        import shared_pool
        from support import opencl_kernels

        made = ep.from_dlpack(shared_pool.full(4, 2.0, "opencl:cpu:0"))
        done = opencl_kernels.launch("slow", made.view("int32"))
        first = shared_pool.first_of(made)
        print(done.done, first == memoryview(made)[0] != 2.0)
    """
    tests = Path(__file__).resolve().parents[1]
    said = run(sys.executable, "-c", source, PYTHONPATH=f"{programs}:{tests}")
    assert said == "True True\n"
