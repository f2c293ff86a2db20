"""Two forms of the same work, for the advice in docs/performance.md. Both sides are Entrepot's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import entrepot as ep
from entrepot import kernel

from .harness import Pair

NUMBERS = 1 << 22
ITEMS = 1 << 10


@ep.kernel
def axpy(x, y):
    i = kernel.get_global_id(0)
    y[i] = 2 * x[i] + y[i]


@ep.kernel
def guarded_axpy(x, y, n):
    i = kernel.get_global_id(0)
    if i < n:
        y[i] = 2 * x[i] + y[i]


@ep.kernel
def axpy_by_chunks(x, y, n):
    count = n // kernel.get_global_size(0)
    first = kernel.get_global_id(0) * count
    for i in range(first, first + count):
        y[i] = 2 * x[i] + y[i]


@ep.kernel
def axpy_by_strides(x, y, n):
    for i in range(kernel.get_global_id(0), n, kernel.get_global_size(0)):
        y[i] = 2 * x[i] + y[i]


@ep.kernel
def n_body(points, forces):
    i = kernel.get_global_id(0)
    x = points[i, 0]
    y = points[i, 1]
    total = np.float32(0)
    for j in range(points.shape[0]):
        dx = points[j, 0] - x
        dy = points[j, 1] - y
        distance = dx * dx + dy * dy + np.float32(0.01)
        total += dx / (distance * math.sqrt(distance))
    forces[i] = total


def on(device: str) -> dict[str, Any]:
    """Arrays and launches for one device."""
    points = ep.asarray(
        np.random.default_rng(1).random((4096, 2), dtype="float32"), copy=True, device=device
    )
    return {
        "x": ep.zeros(NUMBERS, "float32", device=device),
        "y": ep.zeros(NUMBERS, "float32", device=device),
        "n": NUMBERS,
        "points": points,
        "forces": ep.zeros(4096, "float32", device=device),
        "small": ep.zeros(16, "float32", device=device),
        "exact": axpy[NUMBERS],
        "guarded": guarded_axpy[NUMBERS],
        "chunks": axpy_by_chunks[ITEMS],
        "strides": axpy_by_strides[ITEMS],
        "n_body": n_body[4096],
        "tiny": axpy[16],
    }


def pairs() -> list[Pair]:
    host, sycl = on("host"), on("opencl:cpu")
    forms = [
        ("a work-item for each number, against a guard", "exact(x, y)", "guarded(x, y, n)"),
        ("a work-item for each number, against chunks", "exact(x, y)", "chunks(x, y, n)"),
        ("a work-item for each number, against a grid stride", "exact(x, y)", "strides(x, y, n)"),
    ]
    found = [
        Pair(f"{device}: {what}", f"{ours}.wait()", f"{peer}.wait()", 0, names)
        for device, names in (("host", host), ("opencl:cpu", sycl))
        for what, ours, peer in forms
    ]
    both = {
        "points": sycl["points"],
        "forces": sycl["forces"],
        "host_points": host["points"],
        "host_forces": host["forces"],
        "n_body": n_body[4096],
    }
    found.append(
        Pair(
            "n-body of 4096: opencl:cpu, against the host",
            "n_body(points, forces).wait()",
            "n_body(host_points, host_forces).wait()",
            0,
            both,
            rest=0.3,
        )
    )
    tiny = host | {"numbers": np.zeros(16, "float32")}
    found.append(
        Pair(
            "host: launch of 2 Arrays, against 2 ndarrays",
            "tiny(small, small)",
            "tiny(numbers, numbers)",
            0,
            tiny,
        )
    )
    return found
