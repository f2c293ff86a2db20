"""Times of imports and exports, against the same exchange by other libraries."""

from __future__ import annotations

import array
import importlib
from types import ModuleType
from typing import Any

import dpctl.memory
import dpnp
import numpy as np

import entrepot as ep
import entrepot.memory

from .harness import Pair


class StoredInterface:
    """An object whose SUAI is an attribute, so that reading it costs nothing."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__sycl_usm_array_interface__ = interface


def _torch() -> ModuleType | None:
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


def suai_pairs() -> list[Pair]:
    raw = dpctl.memory.MemoryUSMShared(4096)
    array = dpnp.zeros(1024, dtype="float32", usm_type="shared")
    stored = StoredInterface({**array.__sycl_usm_array_interface__})
    ours = entrepot.memory.MemoryUSMShared(4096)
    names = {
        "ep": ep, "dpnp": dpnp, "ours_as": entrepot.memory.as_usm_memory,
        "peer_as": dpctl.memory.as_usm_memory,
        "raw": raw, "array": array, "stored": stored, "ours": ours, "nothing": callable,
        "plain": StoredInterface({**raw.__sycl_usm_array_interface__}),
    }  # fmt: skip
    return [
        Pair(
            "as_usm_memory(dpctl memory), against dpctl with ours",
            "ours_as(raw)",
            "peer_as(ours)",
            8,
            names,
        ),
        Pair(
            "as_usm_memory(stored SUAI of memory), against dpctl",
            "ours_as(plain)",
            "peer_as(plain)",
            8,
            names,
        ),
        Pair(
            "as_usm_memory(stored SUAI of an array), against dpctl",
            "ours_as(stored)",
            "peer_as(stored)",
            8,
            names,
        ),
        Pair(
            "asarray(stored SUAI), against dpnp.asarray, which copies",
            "ep.asarray(stored)",
            "dpnp.asarray(stored)",
            50,
            names,
        ),
        Pair(
            "asarray(stored SUAI), against dpctl's as_usm_memory",
            "ep.asarray(stored)",
            "peer_as(stored)",
            3,
            names,
        ),
        Pair(
            "asarray(stored SUAI), in empty calls",
            "ep.asarray(stored)",
            "nothing(stored)",
            1 / 30,
            names,
        ),
    ]


def dlpack_pairs() -> list[Pair]:
    ours = ep.zeros(1024, "float32", device="opencl:cpu", kind="shared")
    theirs = dpnp.zeros(1024, dtype="float32", usm_type="shared")
    names = {
        "ours": ours,
        "theirs": theirs,
        "np": np,
        "plain": np.zeros(1024, "float32"),
        "view": np.zeros(1024, "float32").data,
        "items": array.array("f", bytes(4096)),
    }
    keywords = "stream=None, max_version=(1, 0), dl_device=None, copy=None"
    return [
        Pair(
            "__dlpack__ with all keywords, against dpnp", f"ours.__dlpack__({keywords})",
            f"theirs.__dlpack__({keywords})",
            60, names,
        ),
        Pair(
            'np.from_dlpack(shared USM, device="cpu"), against a NumPy array',
            'np.from_dlpack(ours, device="cpu")',
            'np.from_dlpack(plain, device="cpu")', 1 / 1.2, names,
        ),
        Pair("np.asarray(shared USM), against a memoryview", "np.asarray(ours)",
            "np.asarray(view)", 1 / 1.2, names),
        # NumPy makes a memoryview of any object but a memoryview, so this is the fair comparison.
        Pair("np.asarray(shared USM), against an array.array", "np.asarray(ours)",
            "np.asarray(items)", 1 / 1.02, names),
    ]  # fmt: skip


def host_pairs() -> list[Pair]:
    array = np.zeros(1024, "float32")
    names: dict[str, Any] = {
        "asarray": ep.asarray, "np": np, "array": array, "text": b"x" * 4096,
        "ours": ep.zeros(16, "int8"), "nothing": callable
    }  # fmt: skip
    found = [
        Pair(
            "asarray(NumPy), against np.from_dlpack",
            "asarray(array)",
            "np.from_dlpack(array)",
            3,
            names,
        ),
        Pair("asarray(NumPy), against memoryview", "asarray(array)", "memoryview(array)", 1, names),
        Pair("asarray(bytes), in empty calls", "asarray(text)", "nothing(text)", 1 / 6, names),
        Pair("asarray(Array), in empty calls", "asarray(ours)", "nothing(ours)", 1 / 2, names),
    ]
    torch = _torch()
    if torch:
        names["tensor"] = torch.zeros(1024)
        found += [
            Pair(
                "asarray(torch CPU), against np.asarray",
                "asarray(tensor)",
                "np.asarray(tensor)",
                6,
                names,
            ),
            Pair(
                "asarray(torch CPU), against np.from_dlpack",
                "asarray(tensor)",
                "np.from_dlpack(tensor)",
                6,
                names,
            ),
        ]
    return found


def pairs() -> list[Pair]:
    """Every protocol that this machine has a peer for."""
    return [*suai_pairs(), *dlpack_pairs(), *host_pairs()]
