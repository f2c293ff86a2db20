"""Numba's types, which signatures are made of, and loads and stores with hints."""

from __future__ import annotations

import numpy as np
import pytest

from entrepot import numba_cuda as cuda
from entrepot.kernel.number_types import NumberType
from entrepot.numba_cuda import float32, int32, types, void
from entrepot.numba_cuda.signatures import text_of

pytestmark = pytest.mark.numpy


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        (void(float32[:], int32), "void(float32[:], int32)"),
        (void(types.float64[:, ::1]), "void(float64[:, ::1])"),
        ((float32[::1], types.u1), "void(float32[::1], uint8)"),
        ("float32[:]", "void(float32[:])"),
    ],
)
def test_signature_of_types_is_its_text(signature, text):
    assert text_of(signature) == text


def test_kernel_with_a_signature_of_types_runs(device):
    @cuda.jit(void(float32[:], int32))
    def store(a, value):
        a[cuda.grid(1)] = float32(value) / types.float32(2)

    a = np.zeros(4, "f4")
    store[1, 4](a, 3)
    assert a.tolist() == [1.5] * 4
    with pytest.raises(TypeError, match="signature"):
        store[1, 4](np.zeros(4), 3)


def test_shared_array_of_a_type_runs(runner):
    @cuda.jit
    def reverse(a):
        i = cuda.threadIdx.x
        held = cuda.shared.array(4, types.int32)
        held[i] = a[i]
        cuda.syncthreads()
        a[i] = held[3 - i]

    (a,) = runner.run(reverse, 1, 4, np.arange(4, dtype="i4"))
    assert a.tolist() == [3, 2, 1, 0]


def test_vectorize_with_a_signature_of_types_runs(device):
    @cuda.vectorize([float32(float32, float32)], target="cuda")
    def add(x, y):
        return x + y

    assert add(np.ones(3, "f4"), np.ones(3, "f4")).tolist() == [2] * 3


def test_guvectorize_with_a_signature_of_types_runs(device):
    @cuda.guvectorize([void(float32[:], float32, float32[:])], "(n),()->(n)", target="cuda")
    def add(x, y, total):
        for i in range(x.shape[0]):
            total[i] = x[i] + y

    assert add(np.ones(3, "f4"), np.float32(2)).tolist() == [3] * 3


def test_type_converts_a_number_in_python():
    assert float32(0.1) == np.float32(0.1)
    assert isinstance(types.u1(3), np.uint8)
    assert cuda.device_array(3, types.int16).dtype == np.int16


@pytest.mark.parametrize("axes", [3, slice(0, 3), (slice(None), slice(None, None, 2))])
def test_array_type_with_other_axes_is_a_type_error(axes):
    with pytest.raises(TypeError, match="axes of an array's type"):
        float32[axes]


def test_loads_and_stores_with_hints_are_plain(runner):
    @cuda.jit
    def loads(a, out):
        i = cuda.grid(1)
        out[i] = cuda.ldca(a, i) + cuda.ldcg(a, i) + cuda.ldcs(a, i) + cuda.ldlu(a, i)

    @cuda.jit
    def stores(out):
        i = 4 * cuda.grid(1)
        cuda.stcg(out, i, 1)
        cuda.stcs(out, i + 1, 2)
        cuda.stwb(out, i + 2, 3)
        cuda.stwt(out, i + 3, 4)

    _, out = runner.run(loads, 2, 4, np.arange(8), np.zeros(8))
    assert out.tolist() == [4 * i for i in range(8)]
    (out,) = runner.run(stores, 2, 4, np.zeros(32))
    assert out.tolist() == [1, 2, 3, 4] * 8


def test_aliases_are_the_types_that_numba_gives_them():
    numba = pytest.importorskip("numba")
    for name, ours in vars(types).items():
        theirs = getattr(numba.types, name, None)
        if isinstance(ours, NumberType) and theirs is not None:
            assert str(theirs) == str(ours), name
