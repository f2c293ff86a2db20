"""CuPy's own tests of DLPack and of the CUDA Array Interface, run with Entrepot as the producer,
and as the consumer.

    python tests/peers/cupy_suite.py CUPY/tests/cupy_tests/core_tests [--side producer|consumer]
    [arguments of pytest]

The tests are those of a checkout of CuPy, whose packages have none; nothing of them is here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import cupy
from exchanged import Judge, Replaced, main, pytest_run

import entrepot as ep

FILES = ("test_dlpack.py", "test_ndarray_cuda_array_interface.py")

OWN_EXPORTER = "asks CuPy's exporter for what it has of its own"
LEFT_OUT = {
    "producer": {
        "TestDLPackConversion": "toDlpack and fromDlpack are CuPy's own, and no protocol",
        "test_multiple_consumption_error": "toDlpack and fromDlpack are CuPy's own, and no "
        "protocol",
        "test_from_dlpack_and_conv_errors": "CuPy refuses a copy within the device, and Entrepot "
        "makes it",
        "test_stream_zero_legacy_compat": "CuPy takes stream 0 with a warning; the protocol says "
        "that it is ambiguous",
        "test_conversion_device_to_cpu": "CuPy copies to the host without being asked for a copy, "
        "and Entrepot refuses to",
        "TestCUDAArrayInterfaceStream": "the stream is that of CuPy's array; an Array's is that "
        "of its work",
    },
    "consumer": {
        "TestDLPackConversion": "toDlpack and fromDlpack are CuPy's own, and no protocol",
        "test_multiple_consumption_error": "toDlpack and fromDlpack are CuPy's own, and no "
        "protocol",
        "test_from_dlpack_and_conv_errors": "asks for the refusals of CuPy's importer",
        "test_conversion_bad_device": OWN_EXPORTER,
        "test_conversion_device_to_cpu": OWN_EXPORTER,
        "TestArrayUfunc": "the consumer is inside of CuPy's functions",
        "TestElementwiseKernel": "the consumer is inside of CuPy's functions",
        "SimpleReductionFunction": "the consumer is inside of CuPy's functions",
        "TestReductionKernel": "the consumer is inside of CuPy's functions",
        "TestSlicingMemoryPointer": OWN_EXPORTER,
        "TestCUDAArrayInterface": OWN_EXPORTER,
    },
}


class Produced(cupy.ndarray):
    """CuPy's array, exported by Entrepot."""

    def _array(self) -> ep.Array:
        judge.exchanged += 1
        return ep.asarray(self.view(cupy.ndarray))

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._array().__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array().__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._array().__cuda_array_interface__


def producing(make: Any) -> Any:
    return lambda *arguments, **keywords: make(*arguments, **keywords).view(Produced)


def replace_producer(module: ModuleType) -> None:
    makers = {name: producing(getattr(cupy, name)) for name in ("array", "empty", "zeros")}
    module.cupy = Replaced(cupy, **makers)  # type: ignore[attr-defined]
    for name in ("_gen_array",):
        if hasattr(module, name):
            setattr(module, name, producing(getattr(module, name)))
    if hasattr(module, "DummyObjectWithCudaArrayInterface"):
        module.DummyObjectWithCudaArrayInterface = judge.counting(ep.asarray)  # type: ignore[attr-defined]


def replace_consumer(module: ModuleType) -> None:
    def from_dlpack(obj: Any, **keywords: Any) -> cupy.ndarray:
        return cupy.from_dlpack(ep.from_dlpack(obj, **keywords))

    module.cupy = Replaced(cupy, from_dlpack=judge.counting(from_dlpack))  # type: ignore[attr-defined]


judge: Judge


def run(side: str, arguments: Sequence[str]) -> tuple[int, Judge]:
    global judge
    judge = Judge(replace_producer if side == "producer" else replace_consumer, LEFT_OUT[side])
    return pytest_run(judge, arguments[0], FILES, arguments[1:]), judge


if __name__ == "__main__":
    sys.exit(main(__file__, sys.argv[1:], run, __doc__.splitlines()[0]))
