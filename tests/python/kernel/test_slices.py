"""Slices with start, stop and step at the ends of int64, in kernels and of Arrays, against
Python's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel.source import make
from kernel.backends import every_backend

pytestmark = pytest.mark.numpy

MOST = 2**63 - 1
LEAST = -(2**63)
STEPS = [MOST, MOST - 1, 2**62, 2**32, 3, 1, -1, -3, -(2**32), -(2**62), -MOST, LEAST]
#: Steps in kernels: fewer, because a kernel is compiled for each.
COMPILED_STEPS = [MOST, 2**32, 3, 1, -1, -(2**62), LEAST]
BOUNDS = [None, MOST, 2**62, 5, 0, -2, -(2**62), LEAST]
SIZE = 8


def expected_of(part: np.ndarray) -> list[int]:
    return [len(part), part[0] if len(part) else -1, part[-1] if len(part) else -1]


def kernel_of(slices: list[str], parameters: str = "") -> dppy.KernelFunction:
    lines = [f"def sliced(out, a{parameters}):"]
    for row, text in enumerate(slices):
        lines += [
            f"    part = a[{text}]",
            f"    out[{row}, 0] = len(part)",
            f"    out[{row}, 1] = part[0] if len(part) > 0 else -1",
            f"    out[{row}, 2] = part[len(part) - 1] if len(part) > 0 else -1",
        ]
    return dppy.kernel(make("sliced", "\n".join([*lines, ""]), {}))


def text_of(*bounds: int | None) -> str:
    return ":".join("" if bound is None else str(bound) for bound in bounds)


@every_backend
@pytest.mark.parametrize("step", COMPILED_STEPS)
def test_slice_by_constants_is_pythons(backend, step):
    pairs = list(itertools.product(BOUNDS, BOUNDS))
    a = np.arange(SIZE)
    (out, _) = backend.run(
        kernel_of([text_of(*pair, step) for pair in pairs]),
        1,
        None,
        np.zeros((len(pairs), 3), "i8"),
        a,
    )
    assert out.tolist() == [expected_of(a[start:stop:step]) for start, stop in pairs]


@every_backend
@pytest.mark.parametrize("step", COMPILED_STEPS)
def test_slice_by_variables_is_pythons(backend, step):
    kernel = kernel_of([f"start:stop:{step}", f"start::{step}", f":stop:{step}"], ", start, stop")
    a = np.arange(SIZE)
    bounds = [bound for bound in BOUNDS if bound is not None]
    for start, stop in itertools.product(bounds, bounds):
        (out, _) = backend.run(kernel, 1, None, np.zeros((3, 3), "i8"), a, start, stop)
        found = [a[start:stop:step], a[start::step], a[:stop:step]]
        assert out.tolist() == [expected_of(part) for part in found], (start, stop)


@every_backend
@pytest.mark.parametrize("step", [MOST, 2**62, 3, -3, -(2**62), LEAST])
def test_slice_of_strided_array_is_pythons(backend, step):
    base = np.arange(6 * SIZE).reshape(SIZE, 6)
    array, out = backend.array(base)[:, 2], backend.array(np.zeros((3, 3), "i8"))
    backend.launch(kernel_of([f"::{step}", f"1::{step}", f":-1:{step}"]), 1, None, out, array)
    a = base[:, 2]
    found = [a[::step], a[1::step], a[:-1:step]]
    assert out.copy_to_host().numpy().tolist() == [expected_of(part) for part in found]


@every_backend
@pytest.mark.parametrize("step", [MOST, 2, 1, -1, LEAST])
def test_slice_of_empty_array_is_empty(backend, step):
    (out, _) = backend.run(
        kernel_of([f"::{step}", f"1::{step}", f":1:{step}", f"1:3:{step}"]),
        1,
        None,
        np.ones((4, 3), "i8"),
        np.zeros(0),
    )
    assert out.tolist() == [[0, -1, -1]] * 4


@every_backend
def test_bounds_beyond_int64_are_clamped(backend):
    a = np.arange(SIZE)
    texts = [
        f":{2**63}",
        f"{2**63}:",
        f"2:{2**64 - 1}:3",
        f":{2**63}:-1",
        f"{2**63}::-1",
        f"::{2**63}",
        f"1::{2**64 - 1}",
    ]
    (out, _) = backend.run(kernel_of(texts), 1, None, np.zeros((len(texts), 3), "i8"), a)
    found = [
        a[: 2**63],
        a[2**63 :],
        a[2 : 2**64 - 1 : 3],
        a[: 2**63 : -1],
        a[2**63 :: -1],
        a[:: 2**63],
        a[1 :: 2**64 - 1],
    ]
    assert out.tolist() == [expected_of(part) for part in found]


@every_backend
@pytest.mark.parametrize("bound", [0, 3, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1])
def test_bounds_of_uint64_are_not_negative(backend, bound):
    kernel = kernel_of([":n", "n:", "n::-1"], ", n")
    a = np.arange(SIZE)
    (out, _) = backend.run(kernel, 1, None, np.zeros((3, 3), "i8"), a, np.uint64(bound))
    assert out.tolist() == [expected_of(part) for part in (a[:bound], a[bound:], a[bound::-1])]


@pytest.mark.parametrize("step", [*STEPS, 2**64, -(2**64)])
def test_slice_of_array_is_numpys(step):
    a = np.arange(SIZE)
    for values in (a, a[::-2], np.arange(3 * SIZE).reshape(SIZE, 3)[:, 1]):
        array = ep.asarray(values)
        for start, stop in itertools.product([*BOUNDS, 2**64, -(2**64)], repeat=2):
            assert array[start:stop:step].numpy().tolist() == values[start:stop:step].tolist(), (
                start,
                stop,
            )
