"""Every check of the matrix fails for a way with the defect that it is to find."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.pairs import In, Out, Way, columns
from interop.test_builtin_buffers import ARRAY
from interop.test_numpy import PEER as NUMPY
from support.malformed import Speaker
from support.places import HOST, Place

pytestmark = [pytest.mark.host, pytest.mark.numpy]

SHARED = Place("opencl:cpu", "shared")
kept: list[Any] = []


def keeping_references(carry: Any) -> Any:
    """Keeps references to its arguments forever."""

    def keep_reference(obj: Any) -> Any:
        kept.append(carry(obj))
        return kept[-1]

    return keep_reference


def forgetting(array: ep.Array) -> np.ndarray:
    """The right bytes at the right address, without a reference that keeps them alive."""
    memory = (ctypes.c_byte * array.nbytes).from_address(array.data_ptr)
    return np.frombuffer(memoryview(memory), str(array.dtype)).reshape(array.shape)


def flagless(array: ep.Array) -> np.ndarray:
    strides = tuple(array.itemsize * stride for stride in array.strides)
    return np.lib.stride_tricks.as_strided(
        forgetting(array.reshape(24)), array.shape, strides, writeable=True
    )


def misread(dtype: str) -> Any:
    return lambda array: np.asarray(array).view(dtype)


def unordered(array: ep.Array) -> np.ndarray:
    """An export that claims to need no wait."""
    return np.from_dlpack(Unordered(array))  # type: ignore[arg-type] # a capsule is an object


class Unordered:
    def __init__(self, array: ep.Array) -> None:
        self.array = array

    def __dlpack__(self, **_: object) -> object:
        return self.array.__dlpack__(max_version=(1, 0), dl_device=(1, 0), stream=-1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def described(obj: np.ndarray, **changes: object) -> ep.Array:
    """From a dict with a mistake in it, of an object that is not kept alive."""
    interface = obj.__array_interface__ | changes
    return ep.asarray(Speaker("__array_interface__", interface))


BROKEN_OUT = {
    "whole": lambda a: np.array(a),
    "0-d": lambda a: np.array(a),
    "zero-size": lambda a: np.asarray(a).reshape(-1),
    "negative strides": lambda a: np.asarray(a)[::-1],
    "broadcast strides": lambda a: np.array(a),
    "offset": lambda a: np.ascontiguousarray(np.asarray(a)),
    "transposed": lambda a: np.asarray(a).reshape(a.shape[::-1]),
    "our write": lambda a: np.array(a),
    "their write": lambda a: np.array(a),
    "producer dropped first": forgetting,
    "consumer dropped first": keeping_references(np.asarray),
    "writable": lambda a: np.broadcast_to(np.asarray(a), a.shape),
    "read-only": flagless,
    "dtype int32": misread("uint32"),
}
BROKEN_IN = {
    "whole": lambda x: ep.asarray(x.copy()),
    "0-d": lambda x: ep.asarray(x.copy()),
    "zero-size": lambda x: described(x, shape=(0,), strides=None),
    "negative strides": lambda x: described(x, strides=None),
    "broadcast strides": lambda x: described(x, strides=None),
    "offset": lambda x: described(x, strides=None),
    "transposed": lambda x: described(x, strides=None),
    "our write": lambda x: ep.asarray(x.copy()),
    "their write": lambda x: ep.asarray(x.copy()),
    "consumer dropped first": keeping_references(ep.asarray),
    "writable": lambda x: described(x, data=(x.ctypes.data, True)),
    "read-only": lambda x: described(x, data=(x.ctypes.data, False)),
    "dtype int32": lambda x: described(x, typestr="<u4"),
}


def check_is_red(way: Way, place: Place, column: str) -> None:
    check = dict(columns(way, place))[column]
    with pytest.raises((AssertionError, ValueError)):
        check(way, place)
    kept.clear()


def test_matrix_columns_all_have_a_broken_case() -> None:
    asked = {name for name, _ in columns(Out("", NUMPY, np.asarray), HOST)}
    assert asked == set(BROKEN_OUT)
    assert asked == set(BROKEN_IN) | {"producer dropped first"}


@pytest.mark.parametrize("column", BROKEN_OUT)
def test_broken_export_is_detected(column: str) -> None:
    check_is_red(Out("broken", NUMPY, BROKEN_OUT[column]), HOST, column)


@pytest.mark.parametrize("column", BROKEN_IN)
def test_broken_import_is_detected(column: str) -> None:
    check_is_red(In("broken", NUMPY, BROKEN_IN[column]), HOST, column)


def test_producer_dropped_first_detects_broken_import() -> None:
    """One import leaks the object, and one does not keep it alive."""
    check_is_red(
        In("broken", ARRAY, keeping_references(ep.asarray)), HOST, "producer dropped first"
    )
    check_is_red(In("broken", NUMPY, described), HOST, "producer dropped first")


@pytest.mark.sycl
def test_unordered_export_is_detected() -> None:
    check_is_red(Out("broken", NUMPY, unordered, [SHARED]), SHARED, "order")
    ep.device("opencl:cpu").queue.wait()


@pytest.mark.sycl
def test_export_without_sub_devices_is_detected() -> None:
    check_is_red(Out("broken", NUMPY, np.array, [SHARED]), SHARED, "sub-devices")


@pytest.mark.sycl
@pytest.mark.dpctl
def test_unordered_import_is_detected() -> None:
    from interop.test_dpctl import PEER as DPCTL

    def unasked(memory: Any) -> ep.Array:
        """The interface with a context in place of the queue, which hides the pending kernel."""
        interface = memory.__sycl_usm_array_interface__
        interface["syclobj"] = memory.sycl_context
        interface["data"] = (interface["data"][0], False)
        return ep.asarray(Speaker("__sycl_usm_array_interface__", interface, keep=memory))

    check_is_red(In("broken", DPCTL, unasked, [SHARED]), SHARED, "order")
