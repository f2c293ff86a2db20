"""Random numbers of kernels: Philox against published vectors and a reference in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import random
from kernel.backends import every_backend, every_compiled_dialect, every_device
from kernel.philox import MASK, block, integer, philox
from kernel.test_cuda_text import compile_for_h100
from kernel.test_cuda_text import nvrtc as nvrtc  # a fixture

pytestmark = pytest.mark.numpy

#: From kat_vectors of Random123: counter, key, words.
VECTORS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([MASK] * 4, [MASK] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@dppy.kernel
def words(out, counter, key):
    out[0], out[1], out[2], out[3] = random.philox(
        counter[0], counter[1], counter[2], counter[3], key[0], key[1]
    )


@dppy.kernel
def uniform(out, seed, first, draw):
    i = dppy.get_global_id(0)
    out[i] = random.uniform(seed, first + i, draw)


@dppy.kernel
def uniform_float32(out, seed, first, draw):
    i = dppy.get_global_id(0)
    out[i] = random.uniform_float32(seed, first + i, draw)


@dppy.kernel
def normal(out, seed, first, draw):
    i = dppy.get_global_id(0)
    out[i] = random.normal(seed, first + i, draw)


@dppy.kernel
def normal_float32(out, seed, first, draw):
    i = dppy.get_global_id(0)
    out[i] = random.normal_float32(seed, first + i, draw)


@dppy.kernel
def integers(out, seed, draw, low, high):
    i = dppy.get_global_id(0)
    out[i] = random.integers(seed, i, draw, low, high)


def skip_without(backend, dtype: str) -> None:
    if dtype == "f8" and not backend.fp64:
        pytest.skip(f"{backend.selector} has no float64")


KERNELS = {"f8": (uniform, normal), "f4": (uniform_float32, normal_float32)}
#: Seeds, first ids and draws with bits in every word.
ARGUMENTS = [(0, 0, 0), (42, 7, 3), (-1, 2**40 + 5, 2**31), (2**62 + 9, -3, 2**32 - 1)]


@every_compiled_dialect
@pytest.mark.parametrize(("counter", "key", "expected"), VECTORS)
def test_philox_matches_known_answers(backend, counter, key, expected):
    found = backend.run(
        words, 1, None, np.zeros(4, "u4"), np.array(counter, "u4"), np.array(key, "u4")
    )[0]
    assert [hex(word) for word in found] == [hex(word) for word in expected]


@pytest.mark.host
@pytest.mark.parametrize(("counter", "key", "expected"), VECTORS)
def test_philox_in_simulator_matches_known_answers(counter, key, expected):
    assert philox(counter, key) == expected, "the reference of these tests"
    out = np.zeros(4, "u4")
    words.simulate[1](out, np.array(counter, "u4"), np.array(key, "u4"))
    assert out.tolist() == expected


@every_backend
@pytest.mark.parametrize("dtype", KERNELS)
@pytest.mark.parametrize(("seed", "first", "draw"), ARGUMENTS)
def test_uniform_is_the_same_bits_everywhere(backend, dtype, seed, first, draw):
    skip_without(backend, dtype)
    found = backend.run(KERNELS[dtype][0], 8, None, np.zeros(8, dtype), seed, first, draw)[0]
    highs = [block(seed, first + i, draw, 0)[0] for i in range(8)]
    bits = {"f8": 53, "f4": 24}[dtype]
    assert found.tolist() == [(high >> 64 - bits) / 2**bits for high in highs]


@every_backend
@pytest.mark.parametrize("dtype", KERNELS)
@pytest.mark.parametrize(("seed", "first", "draw"), ARGUMENTS)
def test_normal_matches_reference_to_rounding(backend, dtype, seed, first, draw):
    skip_without(backend, dtype)
    found = backend.run(KERNELS[dtype][1], 8, None, np.zeros(8, dtype), seed, first, draw)[0]
    expected = []
    for i in range(8):
        high, low = block(seed, first + i, draw, 1)
        radius = ((high >> 11) + 1) / 2**53 if dtype == "f8" else ((high >> 32) + 1) / 2**32
        angle = (low >> 11) / 2**53 if dtype == "f8" else (low >> 40) / 2**24
        expected.append(math.sqrt(-2 * math.log(radius)) * math.cos(2 * math.pi * angle))
    np.testing.assert_allclose(found, expected, rtol=0, atol={"f8": 1e-14, "f4": 5e-6}[dtype])


@every_backend
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 1),
        (1, 7),
        (-3, 4),
        (-(2**40), 2**41 + 3),
        (-(2**63), 2**63 - 1),
        (-(2**62), 2**62 + 1),  # rejects almost every second word
    ],
)
def test_integers_are_the_same_everywhere(backend, low, high):
    found = backend.run(integers, 24, None, np.zeros(24, "i8"), 2026, 5, low, high)[0]
    assert found.tolist() == [integer(2026, i, 5, low, high) for i in range(24)]


@pytest.mark.host
@pytest.mark.parametrize(("low", "high"), [(5, 5), (5, -5), (2**63 - 1, -(2**63))])
def test_integers_of_empty_interval_are_low(low, high):
    out = ep.zeros(3, "int64", device="host")
    integers[3](out, 1, 0, low, high).wait()
    assert out.numpy().tolist() == [low] * 3


@every_device
def test_uniform_is_independent_of_range_and_group(device):
    if not ep.device(device).has_aspect_fp64:
        pytest.skip("no float64")
    whole, parts = ep.zeros(1000, "f8", device=device), ep.zeros(1000, "f8", device=device)
    uniform[1000, 250](whole, 9, 0, 1).wait()
    for first in range(0, 1000, 100):
        uniform[100](parts[first : first + 100], 9, first, 1).wait()
    assert dppy.copy_to_host(whole).tolist() == dppy.copy_to_host(parts).tolist()


def sample(kernel, count: int, *arguments: int, dtype: str = "f8") -> np.ndarray:
    out = ep.zeros(count, dtype, device="host")
    kernel[count](out, *arguments).wait()
    return out.numpy()


COUNT = 1_000_000


@pytest.mark.host
@pytest.mark.parametrize("dtype", KERNELS)
def test_uniform_moments_and_bins_fit(dtype):
    values = sample(KERNELS[dtype][0], COUNT, 1, 0, 0, dtype=dtype).astype("f8")
    assert values.min() >= 0
    assert values.max() < 1
    # Standard errors, by five of which a moment may differ.
    assert abs(values.mean() - 1 / 2) < 5 * math.sqrt(1 / 12 / COUNT)
    assert abs(values.var() - 1 / 12) < 5 * math.sqrt(1 / 180 / COUNT)
    counts = np.bincount((values * 100).astype("i8"), minlength=100)
    chi_square = ((counts - COUNT / 100) ** 2 / (COUNT / 100)).sum()
    assert 50 < chi_square < 170, "99 degrees of freedom"


@pytest.mark.host
@pytest.mark.parametrize("dtype", KERNELS)
def test_normal_moments_and_tails_fit(dtype):
    values = sample(KERNELS[dtype][1], COUNT, 1, 0, 0, dtype=dtype).astype("f8")
    for power, (moment, variance) in {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96)}.items():
        assert abs((values**power).mean() - moment) < 5 * math.sqrt(variance / COUNT)
    for limit in (0.0, 1.0, 2.0, 3.0):
        share = math.erfc(limit / math.sqrt(2)) / 2
        error = math.sqrt(share * (1 - share) / COUNT)
        assert abs((values > limit).mean() - share) < 5 * error
        assert abs((values < -limit).mean() - share) < 5 * error


@pytest.mark.host
def test_integers_occur_equally_often():
    counts = np.bincount(sample(integers, COUNT, 1, 0, -3, 4, dtype="i8") + 3, minlength=7)
    assert counts.size == 7
    assert ((counts - COUNT / 7) ** 2 / (COUNT / 7)).sum() < 30, "6 degrees of freedom"


@pytest.mark.host
@pytest.mark.parametrize("other", [(2, 0, 0), (1, 0, 1), (1, 2**32, 0), (1 + 2**32, 0, 0)], ids=str)
def test_uniform_of_other_seed_id_or_draw_is_uncorrelated(other):
    one, two = sample(uniform, COUNT, 1, 0, 0), sample(uniform, COUNT, *other)
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / math.sqrt(COUNT)


@pytest.mark.host
def test_uniform_and_normal_of_one_draw_are_uncorrelated():
    one, two = sample(uniform, COUNT, 1, 0, 0), sample(normal, COUNT, 1, 0, 0)
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / math.sqrt(COUNT)
    assert abs(np.corrcoef(one, np.abs(two))[0, 1]) < 5 / math.sqrt(COUNT)


@pytest.mark.host
@pytest.mark.parametrize(
    ("kernel", "signature"),
    [
        (uniform, "void(float64[::1], int64, int64, int64)"),
        (uniform_float32, "void(float32[::1], int64, int64, int64)"),
        (normal, "void(float64[::1], int64, int64, int64)"),
        (normal_float32, "void(float32[::1], int64, int64, int64)"),
        (integers, "void(int64[::1], int64, int64, int64, int64)"),
    ],
    ids=["uniform", "uniform_float32", "normal", "normal_float32", "integers"],
)
def test_cuda_text_compiles(nvrtc, kernel, signature):
    text = kernel.source("cuda", signature=signature, device="host")
    assert compile_for_h100(nvrtc, text) == "", text
    if "float32" in signature:
        assert "double" not in text.split("__global__")[1], "float32 needs no float64"
