"""Targets of the contract suite of kernels: each device and dialect, and the simulator."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from support.places import values_of


@dataclass(frozen=True)
class Backend:
    name: str
    selector: str
    dialect: str  # "" for the simulator
    marker: str

    @property
    def simulates(self) -> bool:
        return not self.dialect

    @property
    def is_gpu(self) -> bool:
        return self.marker in ("cuda", "hip")

    @property
    def device(self) -> ep.Device:
        return ep.device(self.selector)

    @property
    def fp64(self) -> bool:
        return self.device.has_aspect_fp64

    def array(self, values: Any) -> ep.Array:
        """A copy of a NumPy array on the device."""
        array = ep.empty(values.shape, values.dtype, device=self.selector)
        ep.copy(array, np.ascontiguousarray(values)).wait()
        return array

    def launch(self, kernel: Any, global_range: Any, local_range: Any, *arguments: Any) -> None:
        """Runs the kernel on Arrays and scalars, and waits for it."""
        if self.simulates:
            kernel.simulate[global_range, local_range](*arguments)
            return
        _through(kernel, self.dialect)[global_range, local_range](*arguments).wait()

    def run(self, kernel: Any, global_range: Any, local_range: Any, *arguments: Any) -> list[Any]:
        """Runs the kernel on copies of the NumPy arrays among the arguments, and returns their
        elements."""
        moved = [
            self.array(value) if isinstance(value, np.ndarray) else value for value in arguments
        ]
        self.launch(kernel, global_range, local_range, *moved)
        return [values_of(value) for value in moved if isinstance(value, ep.Array)]

    def __str__(self) -> str:
        return self.name


@functools.cache
def _through(kernel: Any, dialect: str) -> Any:
    """The kernel for that dialect; one object for all launches, since it caches its compiled
    code."""
    return kernel.options(dialect=dialect)


BACKENDS = [
    Backend("host", "host", "c++", "host"),
    Backend("opencl-c", "opencl:cpu", "opencl-c", "sycl"),
    Backend("sycl", "opencl:cpu", "sycl", "sycl"),
    Backend("cuda", "cuda:0", "cuda", "cuda"),
    Backend("hip", "hip:0", "hip", "hip"),
    Backend("simulator", "host", "", "host"),
]


def with_backend(backend: Backend, *values: str) -> Any:
    """Parameters of one test, the backend first, with its marker."""
    return pytest.param(
        backend,
        *values,
        id="-".join([str(backend), *values]),
        marks=getattr(pytest.mark, backend.marker),
    )


def _params(backends: list[Backend]) -> list[object]:
    return [with_backend(each) for each in backends]


#: SYCL's own compiler takes up to a second a kernel. It runs in every test with
#: ENTREPOT_SYCL_SOURCE=1, else only in those of every_dialect.
_QUICK = [
    each for each in BACKENDS if each.dialect != "sycl" or os.environ.get("ENTREPOT_SYCL_SOURCE")
]

#: Every backend, as parameters with their markers.
every_backend = pytest.mark.parametrize("backend", _params(_QUICK))
#: Those that compile.
every_compiler = pytest.mark.parametrize(
    "backend", _params([each for each in _QUICK if not each.simulates])
)
#: Every backend and SYCL's dialect, for tests of differences between dialects.
every_dialect = pytest.mark.parametrize("backend", _params(BACKENDS))
#: The compiled dialects, SYCL's included.
every_compiled_dialect = pytest.mark.parametrize(
    "backend", _params([each for each in BACKENDS if not each.simulates])
)
#: The devices of these backends, for tests in which the device selects the dialect.
every_device = pytest.mark.parametrize(
    "device",
    [
        pytest.param(selector, marks=getattr(pytest.mark, marker))
        for selector, marker in {each.selector: each.marker for each in BACKENDS}.items()
    ],
)
