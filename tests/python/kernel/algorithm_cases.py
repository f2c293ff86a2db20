"""Random calls of ``entrepot.kernel.algorithms`` and ``random``: a strategy, and their comparison
with NumPy.

A case is a dict that JSON can carry. The elements are made from its numbers.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import strategies as st

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import algorithms, random, reducer
from entrepot.kernel.algorithms import histograms, scans, searches, selection, sorting
from kernel.philox import block, integer

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f2", "f4", "f8"]
#: Around the edges of groups, tiles, chunks and blocks.
EXTENTS = [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 255, 256, 257, 300, 1024, 2047, 2048, 2049]
SIZES = [*EXTENTS, 4095, 4096, 4097, 16_384, 32_768, 32_769, 70_001]
#: Modules whose kernels for GPUs have to run on every device as well.
WITH_GROUPS = (reducer, histograms, scans, searches, selection, sorting)


def add(x, y):
    return x + y


def multiply(x, y):
    return x * y


def smaller(x, y):
    return min(x, y)


def larger(x, y):
    return max(x, y)


def exclusive_or(x, y):
    return x ^ y


def latter(x, y):
    """Associative, and not commutative."""
    return y + x * 0


FUNCTIONS: dict[str, tuple[Callable[..., Any], Any, int]] = {
    "add": (add, np.add, 0),
    "multiply": (multiply, np.multiply, 1),
    "smaller": (smaller, np.minimum, 1),
    "larger": (larger, np.maximum, 0),
    "exclusive_or": (exclusive_or, np.bitwise_xor, 0),
}


def is_even(x):
    return x % 2 == 0


def is_positive(x):
    return x > 0


PREDICATES: dict[str, tuple[Callable[..., Any], Any]] = {
    "is_even": (is_even, lambda x: x % 2 == 0),
    "is_positive": (is_positive, lambda x: x > 0),
}


@dppy.kernel
def draws(uniforms, floats, normals, integers, seed, first, draw, low, high):
    i = dppy.get_global_id(0)
    uniforms[i] = random.uniform(seed, first + i, draw)
    floats[i] = random.uniform_float32(seed, first + i, draw)
    normals[i] = random.normal(seed, first + i, draw)
    integers[i] = random.integers(seed, first + i, draw, low, high)


# ---------------------------------------------------------------- the strategy

_WORDS = st.integers(-(2**63), 2**63 - 1)


@st.composite
def arrays(draw: Any, dtypes: list[str], dimensions: int | None = None) -> dict[str, Any]:
    """An array: dtype, shape, the step and the first index of each axis, and the seed."""
    if dimensions is None:
        dimensions = draw(st.integers(1, 3))
    if dimensions == 1:
        shape = [draw(st.sampled_from(SIZES) | st.integers(0, 100_000))]
    else:
        shape = []
        for _ in range(dimensions):
            most = 200_000 // max(1, math.prod(shape))
            extents = st.sampled_from(EXTENTS) | st.integers(0, 40)
            shape.append(min(draw(extents), most))
    return {
        "dtype": draw(st.sampled_from(dtypes)),
        "shape": shape,
        "steps": [draw(st.sampled_from([1, 1, 1, -1, 2, -3])) for _ in shape],
        "is_transposed": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**32 - 1)),
        "is_numpy": draw(st.integers(0, 4)) == 0,
    }


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    name = draw(st.sampled_from(sorted(CHECKS)))
    case = {"algorithm": name, "by_groups": draw(st.booleans())}
    dtypes = [*INTEGERS, *FLOATS]
    if name == "random":
        low, high = draw(_WORDS), draw(_WORDS | st.integers(-9, 9))
        return case | {
            "seed": draw(_WORDS),
            "first": draw(_WORDS),
            "draw": draw(st.integers(0, 2**32 - 1)),
            "low": low,
            "high": high,
        }
    if name == "bincount":
        dtypes = INTEGERS
    if name in ("sort", "argsort", "sort_by_key", "select"):
        dtypes = ["?", *dtypes]
    vectors = ("reduce", "transform_reduce", "argmin", "argmax", "histogram", "bincount")
    array = draw(arrays(dtypes, None if name in vectors else 1))
    functions = [*FUNCTIONS] if array["dtype"] in INTEGERS else ["add", "smaller", "larger"]
    case |= {"array": array, "function": draw(st.sampled_from(functions))}
    ndim = len(array["shape"])
    if name in ("argmin", "argmax"):
        case["axis"] = draw(st.none() | st.integers(-ndim, ndim - 1))
    if name == "reduce":
        axes = st.lists(st.integers(0, ndim - 1), unique=True, max_size=ndim)
        case["axis"] = draw(st.none() | st.integers(-ndim, ndim - 1) | axes)
    if name in ("reduce", "argmin", "argmax", "segmented_reduce"):
        case["out_step"] = draw(st.sampled_from([0, 1, -1, 2]))
    if name.endswith("scan"):
        case |= {
            "start": draw(st.none() | st.integers(0, 3)),
            "is_in_place": draw(st.booleans()),
            "is_latter": draw(st.integers(0, 3)) == 0,
        }
    if name in ("sort", "argsort", "sort_by_key"):
        case["descending"] = draw(st.booleans())
    if name == "sort_by_key":
        case["payload"] = draw(st.sampled_from(["?", *INTEGERS, *FLOATS, "c8", "c16"]))
    if name == "segmented_reduce":
        case |= {
            "segments": draw(st.sampled_from([0, 1, 2, 5, 100, 5000])),
            "offsets": draw(st.sampled_from(["i4", "u4", "i8", "u8"])),
            "check": draw(st.booleans()),
        }
    if name == "select":
        case["condition"] = draw(st.sampled_from(["mask", *PREDICATES]))
    if name == "histogram":
        edges = st.lists(st.integers(-60, 60), min_size=2, max_size=40).map(sorted)
        case["bins"] = draw(st.integers(1, 300) | edges)
        limits = st.tuples(st.integers(-60, 0), st.integers(0, 60)).map(list)
        case["range"] = draw(st.none() | limits)
    if name in ("histogram", "bincount"):
        case["weights"] = draw(st.none() | st.sampled_from(["i4", "u8", "f4"]))
    if name == "bincount":
        case["length"] = draw(st.none() | st.integers(0, 200))
    return case


# ---------------------------------------------------------------- arrays of a case


class Given:
    """NumPy's array of a case, and the one on the device with the same strides."""

    def __init__(self, array: dict[str, Any], device: str, values: Any = None) -> None:
        shape, steps = array["shape"], array["steps"]
        whole = [extent * abs(step) for extent, step in zip(shape, steps, strict=True)]
        elements = np.zeros(whole, array["dtype"])
        index = tuple(slice(None, None, step) for step in steps)
        if values is None:
            values = elements_of(array)
        elements[index] = values
        self._index = index
        self._is_transposed = array["is_transposed"]
        self.whole = elements if array["is_numpy"] else dppy.to_device(elements, device)
        self.numpy = self._view(elements)
        self.argument = self._view(self.whole)

    def _view(self, whole: Any) -> Any:
        view = whole[self._index]
        return view.T if self._is_transposed else view


def elements_of(array: dict[str, Any], size: int | None = None) -> np.ndarray:
    """Elements whose sums are exact in floats."""
    generator = np.random.default_rng(array["seed"])
    shape = array["shape"] if size is None else size
    most = min(50, 2000 // max(1, math.prod(array["shape"]))) if array["dtype"] == "f2" else 50
    low = 0 if array["dtype"][0] in "u?" else -most
    return generator.integers(low, most + 1, shape).astype(array["dtype"])


def with_special(array: dict[str, Any]) -> np.ndarray:
    """Elements with both zeros, infinities and NaNs among floats, and the extremes of integers."""
    values = elements_of(array)
    generator = np.random.default_rng(array["seed"] + 1)
    dtype = values.dtype
    if dtype.kind == "f":
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1], dtype)
    elif dtype.kind == "b":
        return values
    else:
        special = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0], dtype)
    places = generator.random(values.shape) < generator.choice([0, 0.01, 0.5])
    return np.where(places, generator.choice(special, values.shape), values)


def on_host(array: Any) -> np.ndarray:
    if isinstance(array, ep.Array):
        return array.copy_to_host().numpy()
    return np.asarray(array)


def same(found: Any, expected: Any, *, strict: bool = True) -> None:
    found, expected = on_host(found), np.asarray(expected)
    if strict:
        assert found.dtype == expected.dtype, f"{found.dtype}, and NumPy has {expected.dtype}"
    np.testing.assert_array_equal(found, expected)


def same_bits(found: Any, expected: np.ndarray) -> None:
    found = on_host(found)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


def out_of(case: dict[str, Any], shape: tuple[int, ...], dtype: Any, device: str) -> Any:
    """``out`` with a step in its last axis, or None."""
    step = case["out_step"]
    if step == 0 or case["array"]["is_numpy"]:
        return None
    whole = (*shape[:-1], shape[-1] * abs(step)) if shape else ()
    made = ep.zeros(whole, np.dtype(dtype).name, device=device)
    return made[..., ::step] if shape else made


# ---------------------------------------------------------------- the comparisons


def check_scan(case: dict[str, Any], device: str) -> None:
    given = Given(case["array"], device)
    values, start = given.numpy, case["start"]
    function, ufunc, neutral = FUNCTIONS[case["function"]]
    is_exclusive = case["algorithm"] == "exclusive_scan"
    if is_exclusive and start is None:
        start = neutral
    if case["is_latter"]:
        function = latter
    first = [] if start is None else [np.array(start).astype(values.dtype)]
    together = np.concatenate([*[each.reshape(1) for each in first], values])
    if case["is_latter"]:
        scanned = together.copy()
    elif together.size:
        scanned = ufunc.accumulate(together, dtype=values.dtype)
    else:
        scanned = together
    expected = scanned[:-1] if is_exclusive else scanned[len(first) :]
    out = given.argument if case["is_in_place"] else None
    if is_exclusive:
        found = algorithms.exclusive_scan(given.argument, function, initial=start, out=out)
    else:
        found = algorithms.inclusive_scan(given.argument, function, identity=start, out=out)
    same(found, expected)
    if out is not None:
        same(given.argument, expected)


def check_reduce(case: dict[str, Any], device: str) -> None:
    given = Given(case["array"], device)
    function, ufunc, neutral = FUNCTIONS[case["function"]]
    values = given.numpy
    axis = tuple(case["axis"]) if isinstance(case["axis"], list) else case["axis"]
    sums = {} if case["function"] in ("smaller", "larger") else {"dtype": values.dtype}
    axes = tuple(range(values.ndim)) if axis is None else axis
    expected = np.asarray(ufunc.reduce(values, axes, initial=neutral, **sums))
    if case["function"] in ("smaller", "larger") and math.prod(
        values.shape[each] for each in np.atleast_1d(np.array(axes, int))
    ):
        expected = np.asarray(ufunc.reduce(values, axes))
    out = out_of(case, expected.shape, expected.dtype, device)
    same(algorithms.reduce(given.argument, function, neutral, axis=axis, out=out), expected)
    if out is not None:
        same(out, expected)


def check_transform_reduce(case: dict[str, Any], device: str) -> None:
    one = Given(case["array"], device)
    other = Given(case["array"] | {"seed": case["array"]["seed"] + 1}, device)
    dtype = one.numpy.dtype
    if dtype.kind == "f":
        found = algorithms.transform_reduce(smaller, larger, -99, one.argument, other.argument)
        expected = np.minimum(one.numpy, other.numpy).max(initial=-99)
    else:
        found = algorithms.transform_reduce(multiply, add, 0, one.argument, other.argument)
        expected = (one.numpy * other.numpy).sum(dtype=dtype)
    same(found, expected)


def check_search(case: dict[str, Any], device: str) -> None:
    given = Given(case["array"], device, with_special(case["array"]))
    search, numpy_search = (getattr(each, case["algorithm"]) for each in (algorithms, np))
    try:
        expected = np.asarray(numpy_search(given.numpy, axis=case["axis"]))
    except ValueError:  # the axis is empty
        with pytest.raises(ValueError, match="at least one element is needed"):
            search(given.argument, case["axis"])
        return
    out = out_of(case, expected.shape, "i8", device)
    same(search(given.argument, case["axis"], out=out), expected)
    if out is not None:
        same(out, expected)


def check_segmented_reduce(case: dict[str, Any], device: str) -> None:
    given = Given(case["array"], device)
    function, ufunc, neutral = FUNCTIONS[case["function"]]
    values = given.numpy
    generator = np.random.default_rng(case["array"]["seed"])
    cuts = generator.integers(0, values.size + 1, case["segments"] + 1)
    offsets = np.sort(cuts).astype(case["offsets"])
    same_type = {} if ufunc in (np.minimum, np.maximum) else {"dtype": values.dtype}
    segments = (values[first:last] for first, last in itertools.pairwise(offsets))
    totals = [ufunc.reduce(each, **same_type) if each.size else neutral for each in segments]
    expected = np.array(totals, values.dtype)
    starts = offsets if case["array"]["is_numpy"] else dppy.to_device(offsets, device)
    out = out_of(case, expected.shape, values.dtype, device)
    found = algorithms.segmented_reduce(
        given.argument, starts, function, neutral, check=case["check"], out=out
    )
    same(found, expected)


def expected_order(values: np.ndarray, descending: bool = False) -> np.ndarray:
    """Indices of the sorted elements. Reversed twice, equal elements keep their order."""
    if not descending:
        return np.argsort(values, kind="stable")
    order = (values.size - 1 - np.argsort(values[::-1], kind="stable"))[::-1]
    return np.roll(order, -int((values != values).sum()))  # NaNs are last


def check_sort(case: dict[str, Any], device: str) -> None:
    array, name, descending = case["array"], case["algorithm"], case["descending"]
    given = Given(array, device, with_special(array))
    order = expected_order(given.numpy, descending)
    if name == "argsort":
        same(algorithms.argsort(given.argument, descending=descending), order)
        return
    if name == "sort":
        same_bits(algorithms.sort(given.argument, descending=descending), given.numpy[order])
        return
    payload = Given(array | {"dtype": case["payload"]}, device)
    keys, found = algorithms.sort_by_key(given.argument, payload.argument, descending=descending)
    same_bits(keys, given.numpy[order])
    same_bits(found, payload.numpy[order])


def check_select(case: dict[str, Any], device: str) -> None:
    array = case["array"]
    given = Given(array, device, with_special(array) if case["condition"] == "mask" else None)
    if case["condition"] == "mask":
        mask = np.random.default_rng(array["seed"]).random(array["shape"]) < 0.4
        chosen = Given(array | {"dtype": "?"}, device, mask)
        found = algorithms.select(given.argument, chosen.argument)
        same_bits(found, given.numpy[chosen.numpy])
        return
    predicate, of_numpy = PREDICATES[case["condition"]]
    values = given.numpy.astype("i8") if array["dtype"] == "?" else given.numpy
    same_bits(algorithms.select(given.argument, predicate), given.numpy[of_numpy(values)])


def weights_of(case: dict[str, Any], device: str) -> Any:
    if case["weights"] is None:
        return None
    return Given(case["array"] | {"dtype": case["weights"], "seed": 7}, device)


def check_histogram(case: dict[str, Any], device: str) -> None:
    array, bins, limits = case["array"], case["bins"], case["range"]
    if isinstance(bins, list):
        limits = None
    has_range = limits is not None or isinstance(bins, list)
    given = Given(array, device, with_special(array) if has_range else None)
    weights = weights_of(case, device)
    found, edges = algorithms.histogram(
        given.argument, bins, limits, weights=None if weights is None else weights.argument
    )
    expected, expected_edges = np.histogram(
        given.numpy, bins, limits, weights=None if weights is None else weights.numpy
    )
    same(edges, expected_edges)
    same(found, expected, strict=False)


def check_bincount(case: dict[str, Any], device: str) -> None:
    array, length = case["array"], case["length"]
    values = elements_of(array)
    if length is None:
        values = np.abs(values)
    given = Given(array, device, values)
    weights = weights_of(case, device)
    found = algorithms.bincount(
        given.argument, weights=None if weights is None else weights.argument, length=length
    )
    flat = given.numpy.reshape(-1).astype("i8")
    counted = flat >= 0
    if length is not None:
        counted &= flat < length
    chosen = None if weights is None else weights.numpy.reshape(-1)[counted]
    expected = np.bincount(flat[counted], chosen, minlength=length or 0)
    same(found, expected, strict=False)


def check_random(case: dict[str, Any], device: str) -> None:
    size = 8
    out = [ep.zeros(size, dtype, device=device) for dtype in ("float64", "float32", "float64")]
    whole = ep.zeros(size, "int64", device=device)
    seed, first, draw = case["seed"], case["first"], case["draw"]
    low, high = case["low"], case["high"]
    draws[size](*out, whole, seed, first, draw, low, high)
    uniforms, floats, normals, integers = map(on_host, (*out, whole))
    for i in range(size):
        word, _ = block(seed, first + i, draw, 0)
        assert uniforms[i] == (word >> 11) * 2.0**-53
        assert floats[i] == (word >> 40) * 2.0**-24
        one, two = block(seed, first + i, draw, 1)
        radius, angle = ((one >> 11) + 1) * 2.0**-53, (two >> 11) * 2.0**-53
        expected = math.sqrt(-2 * math.log(radius)) * math.cos(2 * math.pi * angle)
        assert math.isclose(normals[i], expected, rel_tol=1e-9, abs_tol=1e-9)
        expected_integer = integer(seed, first + i, draw, low, high) if high > low else low
        assert integers[i] == expected_integer


CHECKS: dict[str, Callable[[dict[str, Any], str], None]] = {
    "inclusive_scan": check_scan,
    "exclusive_scan": check_scan,
    "reduce": check_reduce,
    "transform_reduce": check_transform_reduce,
    "argmin": check_search,
    "argmax": check_search,
    "segmented_reduce": check_segmented_reduce,
    "sort": check_sort,
    "argsort": check_sort,
    "sort_by_key": check_sort,
    "select": check_select,
    "histogram": check_histogram,
    "bincount": check_bincount,
    "random": check_random,
}


@contextlib.contextmanager
def _kernels_of_groups(by_groups: bool) -> Iterator[None]:
    with contextlib.ExitStack() as patches:
        if by_groups:
            for module in WITH_GROUPS:
                patches.enter_context(mock.patch.object(module, "uses_groups", lambda device: True))
        yield


def check(case: dict[str, Any], device: str) -> None:
    """Raises AssertionError if the results on the device differ from NumPy's."""
    with (
        np.errstate(all="ignore"),
        ep.device_context(device),
        _kernels_of_groups(case["by_groups"]),
    ):
        CHECKS[case["algorithm"]](case, device)
