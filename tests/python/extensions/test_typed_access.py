"""Typed access to elements in C++: View, span, for_each and visit of entrepot::Array."""

from __future__ import annotations

import os
import re
import signal
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import entrepot as ep
from support.compiled import compiled_module
from support.places import Place, every_place
from support.processes import TESTS, completed, output_of

pytestmark = [pytest.mark.host, pytest.mark.numpy]

SOURCE = Path(__file__).with_name("typed_access.cpp")
TYPES = [
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("bool", "float16", "float32", "float64", "bfloat16", "complex64", "complex128"),
]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("typed_access")
    return compiled_module(SOURCE, folder, "-DENTREPOT_ASSERTIONS")


@st.composite
def strided(draw: st.DrawFn) -> Any:
    """A NumPy array of 0 … 3 dimensions, sliced by any steps, transposed and broadcast."""
    import numpy as np

    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    array = np.arange(int(np.prod([2 * n for n in shape])), dtype="f4").reshape(
        [2 * n for n in shape]
    )
    for axis, extent in enumerate(shape):
        step = draw(st.sampled_from([1, 2, -1, -2]))
        length = draw(st.integers(0, extent))
        array = np.moveaxis(np.moveaxis(array, axis, 0)[::step][:length], 0, axis)
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    if array.ndim < 3 and draw(st.booleans()):
        array = np.broadcast_to(array, (draw(st.integers(0, 3)), *array.shape))
    return array


@settings(
    deadline=None,
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(strided())
def test_accesses_visit_all_elements_in_c_order(module: ModuleType, array: Any) -> None:
    expected = array.ravel().tolist()
    assert module.by_for_each(array) == module.by_view(array) == expected
    try:
        spanned = module.by_span(array)
    except ValueError as error:
        assert "a C-contiguous array was expected" in str(error)
        assert not array.flags.c_contiguous
    else:
        assert spanned == expected
        assert array.flags.c_contiguous


@pytest.mark.parametrize("dtype", TYPES)
def test_visit_passes_the_type_of_the_elements(module: ModuleType, dtype: str) -> None:
    import numpy as np

    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    extreme = -1 if np.dtype(dtype).kind != "u" else np.iinfo(dtype).max
    array = np.array([[0, 1, 2], [3, 100, 1]]).astype(dtype)
    array[1, 2] = extreme
    assert module.by_for_each(array) == module.by_view(array) == array.ravel().tolist()
    assert module.by_span(array) == array.ravel().tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_elements_are_changed_in_place(module: ModuleType, dtype: str) -> None:
    import numpy as np

    pytest.importorskip("ml_dtypes")
    whole = np.arange(12, dtype=dtype).reshape(3, 4)
    module.halve(whole[:, ::2])
    expected = np.arange(12.0).reshape(3, 4)
    expected[:, ::2] /= 2
    assert (whole.astype("f8") == expected).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_small_floats_round_as_numpy_does(module: ModuleType, dtype: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    import numpy as np

    numbers = np.concatenate(
        [
            np.random.default_rng(1).integers(0, 2**32, 20_000, "u4").view("f4"),
            np.array([0.0, -0.0, 65519.0, 65520.0, 2**-24, 2**-25, 3e38, np.inf, -np.inf], "f4"),
        ]
    )
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16
    with np.errstate(all="ignore"):
        expected = numbers.astype(kind).astype("f4")
    round_trip = getattr(module, f"rounded_to_{dtype}")
    found = np.array([round_trip(float(number)) for number in numbers], "f4")
    numeric = ~np.isnan(numbers)
    assert np.isnan(found[~numeric]).all()
    assert struct.pack(f"{numeric.sum()}f", *found[numeric]) == struct.pack(
        f"{numeric.sum()}f", *expected[numeric]
    )


def test_visitor_of_for_each_keeps_its_state(module: ModuleType) -> None:
    import numpy as np

    assert module.sum(np.arange(10, dtype="f4")[::3]) == 18


def test_huge_empty_array_has_no_elements(module: ModuleType) -> None:
    array = ep.empty((0, 2**31, 2**31), "float32", device="host")
    assert module.by_for_each(array) == module.by_view(array) == module.by_span(array) == []


def test_extension_exports_no_symbol_of_entrepot(module: ModuleType) -> None:
    """Extensions that were compiled with other headers share no variables with it."""
    assert module.__file__
    rows = output_of(["nm", "--dynamic", "--defined-only", "--format=posix", module.__file__])
    names = [row.split()[0] for row in rows.splitlines()]
    assert "PyInit_typed_access" in names
    assert [name for name in names if re.match(r"_ZZ?NK?8entrepot", name)] == []


def test_contiguous_view_refuses_other_layouts(module: ModuleType) -> None:
    import numpy as np

    array = np.arange(6, dtype="f4").reshape(2, 3)
    assert module.by_contiguous_view(array) == array.ravel().tolist()
    assert module.by_contiguous_view(array[:1]) == [0, 1, 2]
    with pytest.raises(ValueError, match="a C-contiguous array was expected: copy it first"):
        module.by_contiguous_view(array.T)
    with pytest.raises(ValueError, match="an array of 2 dimensions was expected, not of 1"):
        module.by_contiguous_view(array[0])


def test_read_only_array_is_read_as_const_only(module: ModuleType) -> None:
    import numpy as np

    array = np.arange(3, dtype="f4")
    array.flags.writeable = False
    assert module.by_for_each(array) == [0, 1, 2]
    with pytest.raises(ValueError, match="the array is read-only: ask for const elements"):
        module.halve(array)
    assert array.tolist() == [0, 1, 2]


def test_other_types_are_refused_by_name(module: ModuleType) -> None:
    import numpy as np

    assert module.size_of_float_or_double(np.zeros(1, "f4")) == 4
    assert module.size_of_float_or_double(np.zeros(1, "f8")) == 8
    with pytest.raises(ValueError) as raised:
        module.size_of_float_or_double(np.zeros(1, "i4"))
    assert str(raised.value) == "an array of float32, float64 was expected, not of int32"
    with pytest.raises(ValueError, match="an array of float32 was expected, not of int64"):
        module.by_contiguous_view(np.zeros((1, 1), "i8"))
    with pytest.raises(ValueError, match="was expected, not of float8_e4m3fn"):
        module.by_span(ep.empty(1, "float8_e4m3fn", device="host"))


@every_place
def test_memory_that_the_host_cannot_access_is_refused(module: ModuleType, place: Place) -> None:
    array = place.empty(3, "f4")
    ep.fill(array, 1).wait()
    if place.host_accessible:
        assert module.by_for_each(array) == [1, 1, 1]
        return
    with pytest.raises(ValueError, match=r"the host cannot access memory on .*: copy the array"):
        module.by_for_each(array)


@pytest.mark.parametrize("index", [(2, 0), (0, 3), (-1, 0)])
def test_index_outside_of_a_view_ends_builds_with_assertions(
    module: ModuleType, index: tuple[int, int]
) -> None:
    program = f"""if True:
        import sys
        from pathlib import Path

        import numpy as np
        from support.modules import load_module

        module = load_module(Path(sys.argv[1]), "typed_access")
        print(module.element_at(np.ones((2, 3), "f4"), 1, 2), flush=True)
        module.element_at(np.ones((2, 3), "f4"), *{index})
    """
    done = completed(
        [sys.executable, "-c", program, str(module.__file__)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert done.stdout.strip() == "1.0"
    assert "broken invariant: index >= 0 && index < extents_[axis]" in done.stderr
    assert done.returncode == -signal.SIGABRT


@pytest.fixture(scope="module")
def mdspan(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    probe = "#include <version>\n#ifndef __cpp_lib_mdspan\n#error absent\n#endif\n"
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-std=c++23", "-x", "c++", "-fsyntax-only", "-"]
    if completed(command, input=probe).returncode != 0:
        pytest.skip(f"the standard library of {compiler} has no std::mdspan")
    source = SOURCE.with_name("mdspan.cpp")
    return compiled_module(source, tmp_path_factory.mktemp("mdspan"), "-std=c++23")


class TestMdspan:
    def test_elements_are_in_c_order(self, mdspan: ModuleType) -> None:
        import numpy as np

        whole = np.arange(24, dtype="f4").reshape(4, 6)
        for array in (whole, whole[::2, 1::3], whole.T, whole[:1], whole[:0], whole[::-3][:1]):
            assert mdspan.by_mdspan(array) == array.ravel().tolist()
        assert mdspan.by_contiguous_mdspan(whole) == whole.ravel().tolist()

    def test_axes_without_a_layout_of_mdspan_are_refused(self, mdspan: ModuleType) -> None:
        import numpy as np

        whole = np.arange(6, dtype="f4").reshape(2, 3)
        windows = np.lib.stride_tricks.sliding_window_view(whole[0], 2)
        for array in (whole[::-1], np.broadcast_to(whole[0], (2, 3)), windows):
            with pytest.raises(ValueError, match=r"std::mdspan cannot describe: copy the array"):
                mdspan.by_mdspan(array)
