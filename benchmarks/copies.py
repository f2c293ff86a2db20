"""Copies from the host to the device and back, and fills, against memcpy, dpctl and NumPy."""

from __future__ import annotations

import ctypes

import dpctl
import dpctl.memory
import numpy as np

import entrepot
import entrepot.memory

from .harness import Pair

SIZES = {
    "4 KiB": 1 << 12, "64 KiB": 1 << 16, "1 MiB": 1 << 20, "16 MiB + 5 B": (1 << 24) + 5,
    "64 MiB": 1 << 26, "256 MiB": 1 << 28,
}  # fmt: skip


def fills() -> list[Pair]:
    """Fills with items of 1, 4 and 16 bytes, by the device and by NumPy."""
    queue = entrepot.Queue("opencl:cpu")
    found = []
    for dtype in ("uint8", "int32", "complex128"):
        theirs = np.empty((1 << 26) // np.dtype(dtype).itemsize, dtype)
        names = {
            "fill": entrepot.fill,
            "ours": entrepot.empty(theirs.shape, dtype, queue=queue),
            "theirs": theirs,
        }
        found.append(
            Pair(
                f"fill 64 MiB of {dtype}, against NumPy",
                "fill(ours, 7).wait()",
                "theirs.fill(7)",
                0.9,
                names,
            )
        )
    return found


def pairs() -> list[Pair]:
    """Both directions at every size; against memcpy where the copy is bound by memory."""
    memcpy = ctypes.CDLL(None).memcpy
    memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    queue = dpctl.SyclQueue("opencl:cpu", property="in_order")
    found = []
    for size, nbytes in SIZES.items():
        host, other = np.ones(nbytes, "uint8"), np.zeros(nbytes, "uint8")
        names = {
            "ours": entrepot.memory.MemoryUSMDevice(nbytes, queue=queue),
            "theirs": dpctl.memory.MemoryUSMDevice(nbytes, queue=queue),
            "host": host, "other": other, "memcpy": memcpy, "nbytes": nbytes,
            "to": other.ctypes.data, "from_": host.ctypes.data,
        }  # fmt: skip
        found.append(
            Pair(
                f"host → device {size}, against dpctl",
                "ours.copy_from_host(host)",
                "theirs.copy_from_host(host)",
                1,
                names,
            )
        )
        found.append(
            Pair(
                f"device → host {size}, against dpctl",
                "ours.copy_to_host(host)",
                "theirs.copy_to_host(host)",
                1,
                names,
            )
        )
        if nbytes == 1 << 26:
            found.append(
                Pair(
                    f"host → device {size}, against memcpy",
                    "ours.copy_from_host(host)",
                    "memcpy(to, from_, nbytes)",
                    0.9,
                    names,
                )
            )
            found.append(
                Pair(
                    f"device → host {size}, against memcpy",
                    "ours.copy_to_host(host)",
                    "memcpy(to, from_, nbytes)",
                    0.9,
                    names,
                )
            )
    return [*found, *fills()]
