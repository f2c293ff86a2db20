"""Runs kernels of entrepot.numba_cuda on each device, and in the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from entrepot import numba_cuda as cuda
from kernel.backends import BACKENDS, Backend
from kernel.test_cuda_text import nvrtc as nvrtc


@dataclass(frozen=True)
class Runner:
    backend: Backend

    def launch(self, kernel: Any, blocks: Any, threads: Any, *arguments: Any, shared: int = 0):
        """Launches the kernel with these arguments as they are."""
        if self.backend.simulates:
            kernel.simulate[blocks, threads, 0, shared](*arguments)
        else:
            kernel[blocks, threads, 0, shared](*arguments)

    def run(
        self, kernel: Any, blocks: Any, threads: Any, *arguments: Any, shared: int = 0
    ) -> list[Any]:
        """Launches the kernel on copies of the NumPy arrays, and returns their elements."""
        moved = [
            cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in arguments
        ]
        self.launch(kernel, blocks, threads, *moved, shared=shared)
        return [each.copy_to_host() for each in moved if isinstance(each, cuda.DeviceNDArray)]


_RUN = [each for each in BACKENDS if each.name != "sycl"]


@pytest.fixture(
    params=[
        pytest.param(each, id=str(each), marks=getattr(pytest.mark, each.marker)) for each in _RUN
    ]
)
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    """Runs kernels on one device, which is current, or in the simulator."""
    with ep.device_context(request.param.selector):
        yield Runner(request.param)


@pytest.fixture(
    params=[
        pytest.param(each, id=str(each), marks=getattr(pytest.mark, each.marker))
        for each in _RUN
        if not each.simulates
    ]
)
def device(request: pytest.FixtureRequest) -> Iterator[ep.Device]:
    """Each device once, which is current."""
    with ep.device_context(request.param.selector):
        yield request.param.device
