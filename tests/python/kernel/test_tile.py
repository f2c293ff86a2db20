"""Tile operations, compared with NumPy in float64: on every backend and as text for GPUs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import tile
from kernel.backends import every_backend, every_dialect
from kernel.test_cuda_text import compile_for_h100, nvrtc  # noqa: F401
from kernel.test_group_operations import dtype_of
from kernel.test_hip_text import compile_for_mi250

pytestmark = pytest.mark.numpy

DTYPES = ["float16", "bfloat16", "float32", "float64"]


def sums_of(dtype: str) -> str:
    return "float64" if dtype == "float64" else "float32"


@functools.cache
def matmul_by_tiles(dtype: str, rows: int, columns: int, depth: int, precision: str) -> Any:
    """The product of matrices by tiles of these extents."""
    sums = sums_of(dtype)

    @dppy.kernel
    def matmul(c, a, b):
        row, column = dppy.get_group_id(0) * rows, dppy.get_group_id(1) * columns
        a_tile = dppy.local.array((rows, depth), dtype)
        b_tile = dppy.local.array((depth, columns), dtype)
        total = tile.zeros((rows, columns), sums)
        for k in range(0, a.shape[1], depth):
            tile.load(a_tile, a, (row, k))
            tile.load(b_tile, b, (k, column))
            dppy.barrier()
            tile.matmul(a_tile, b_tile, total, precision)
            dppy.barrier()
        tile.store(c, (row, column), total)

    return matmul


def ranges(shape: tuple[int, int], rows: int, columns: int, items: int) -> Any:
    return (-(-shape[0] // rows), -(-shape[1] // columns) * items), (1, items)


def matrices(dtype: str, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    a, b = (random.standard_normal(shape).astype(dtype_of(dtype)) for shape in ((m, k), (k, n)))
    return a, b


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype("f8") @ b.astype("f8")


@every_dialect
@pytest.mark.parametrize("dtype", DTYPES)
def test_product_of_matrices_that_tiles_do_not_divide(backend, dtype):
    if dtype == "float64" and not backend.fp64:
        pytest.skip("the device has no float64")
    a, b = matrices(dtype, 21, 40, 19)
    kernel = matmul_by_tiles(dtype, 16, 32, 16, "float32")
    given, local = ranges((21, 40), 16, 32, 32)
    c, *_ = backend.run(kernel, given, local, np.zeros((21, 40), sums_of(dtype)), a, b)
    tolerance = 1e-13 if dtype == "float64" else 1e-5
    assert np.allclose(c, product(a, b), rtol=tolerance, atol=tolerance)


@every_backend
@pytest.mark.parametrize(
    ("rows", "columns", "depth", "items"), [(64, 64, 32, 128), (32, 48, 8, 32), (128, 32, 24, 64)]
)
def test_product_by_several_warps(backend, rows, columns, depth, items):
    m, n, k = (rows, columns, depth) if backend.simulates else (150, 130, 70)
    a, b = matrices("float32", m, n, k)
    kernel = matmul_by_tiles("float32", rows, columns, depth, "float32")
    c, *_ = backend.run(kernel, *ranges((m, n), rows, columns, items), np.zeros((m, n), "f4"), a, b)
    assert np.allclose(c, product(a, b), rtol=1e-5, atol=1e-5)


@every_backend
@pytest.mark.parametrize(("side", "items"), [(32, 32), (64, 128)])
def test_tf32_error_is_that_of_ten_bits_of_fraction(backend, side, items):
    a, b = matrices("float32", side, side, 32)
    kernel = matmul_by_tiles("float32", side, side, 16, "tf32")
    given, local = ranges((side, side), side, side, items)
    c, *_ = backend.run(kernel, given, local, np.zeros((side, side), "f4"), a, b)
    bound = 2.0**-9 * (np.abs(a.astype("f8")) @ np.abs(b.astype("f8")))
    assert (np.abs(c - product(a, b)) <= bound + 1e-5).all()


@dppy.kernel
def pipelined(c, a, b):
    a_tiles = dppy.local.array((3, 32, 16), dppy.float32)
    b_tiles = dppy.local.array((3, 16, 32), dppy.float32)
    total = tile.zeros((32, 32))
    steps = (a.shape[1] + 15) // 16
    for step in range(2):
        tile.load_async(a_tiles[step], a, (0, 16 * step))
        tile.load_async(b_tiles[step], b, (16 * step, 0))
        tile.commit()
    for step in range(steps):
        tile.wait(1)
        dppy.barrier()
        tile.matmul(a_tiles[step % 3], b_tiles[step % 3], total)
        ahead = step + 2
        tile.load_async(a_tiles[ahead % 3], a, (0, 16 * ahead))
        tile.load_async(b_tiles[ahead % 3], b, (16 * ahead, 0))
        tile.commit()
    tile.store(c, (0, 0), total)


@every_backend
def test_pipeline_of_asynchronous_loads_has_the_product(backend):
    a, b = matrices("float32", 32, 32, 64)
    c, *_ = backend.run(pipelined, 32, 32, np.zeros((32, 32), "f4"), a, b)
    assert np.allclose(c, product(a, b), rtol=1e-5, atol=1e-5)


@dppy.kernel
def filled_by_hand(c, a, b):
    """The tiles are parts of padded arrays, and a work-item writes its elements."""
    item = dppy.get_local_id(0)
    a_tile = dppy.local.array((16, 19), dppy.float32)
    b_tile = dppy.local.array((16, 17), dppy.float32)
    for i in range(16):
        if item < 16:
            a_tile[i, item] = a[i, item]
            b_tile[i, item] = b[i, item]
    dppy.barrier()
    total = tile.zeros((16, 16))
    for _ in range(2):
        tile.matmul(a_tile[:, :16], b_tile[:, :16], total)
    tile.store(c, (0, 0), total)


@every_backend
def test_strided_tiles_are_added_twice(backend):
    a, b = matrices("float32", 16, 16, 16)
    c, *_ = backend.run(filled_by_hand, 32, 32, np.zeros((16, 16), "f4"), a, b)
    assert np.allclose(c, 2 * product(a, b), rtol=1e-5, atol=1e-5)


@dppy.func
def multiplied(a_tile, b_tile, total):
    dppy.barrier()
    tile.matmul(a_tile, b_tile, total)
    dppy.barrier()


@dppy.kernel
def by_function(c, a, b):
    a_tile = dppy.local.array((16, 16), dppy.float32)
    b_tile = dppy.local.array((16, 16), dppy.float32)
    total = tile.zeros((16, 16))
    tile.load(a_tile, a, (-1, 2))
    tile.load(b_tile, b, (2, 0))
    multiplied(a_tile, b_tile, total)
    tile.store(c, (-1, 0), total)


@every_backend
def test_function_of_group_multiplies_tiles(backend):
    """A row before the array is zero, and is not written."""
    a, b = matrices("float32", 15, 16, 18)
    c, *_ = backend.run(by_function, 32, 32, np.ones((15, 16), "f4"), a, b)
    assert np.allclose(c, product(a[:, 2:], b[2:]), rtol=1e-5, atol=1e-5)


@every_backend
def test_store_converts_to_dtype_of_array(backend):
    a, b = matrices("float16", 16, 16, 16)
    kernel = matmul_by_tiles("float16", 16, 16, 16, "float32")
    c, *_ = backend.run(kernel, *ranges((16, 16), 16, 16, 32), np.zeros((16, 16), "f2"), a, b)
    assert c.dtype == np.float16
    assert np.allclose(c.astype("f8"), product(a, b), rtol=2e-3, atol=2e-3)


@every_backend
def test_arrays_of_any_strides_are_loaded_and_stored(backend):
    a, b = matrices("float32", 16, 16, 16)
    kernel = matmul_by_tiles("float32", 16, 16, 16, "float32")
    arrays = [backend.array(x) for x in (np.zeros((16, 16), "f4"), a, b)]
    turned = [x.T for x in arrays]
    backend.launch(kernel, *ranges((16, 16), 16, 16, 32), *turned)
    assert np.allclose(arrays[0].copy_to_host().numpy().T, product(a.T, b.T), rtol=1e-5, atol=1e-5)


@pytest.mark.host
def test_local_sizes_have_code_of_their_own():
    a, b = matrices("float32", 64, 64, 16)
    kernel = matmul_by_tiles("float32", 64, 64, 16, "float32")
    for items in (32, 64, 128, 256, 512, 32):
        c = np.zeros((64, 64), "f4")
        kernel[items, items](c, a, b)
        assert np.allclose(c, product(a, b), rtol=1e-5, atol=1e-5), items


# ------------------------------------------------------------------------ text for GPUs


def text_of(kernel: Any, dtype: str, dialect: str, items: int) -> str:
    """The text for groups of that size, which the kernel is launched with on the host."""
    c, a = (ep.zeros((16, 16), each, device="host") for each in (sums_of(dtype), dtype))
    kernel[(1, items), (1, items)](c, a, a).wait()
    return kernel.source(dialect)


CASES = [(dtype, "float32") for dtype in DTYPES] + [("float32", "tf32")]


@pytest.mark.host
@pytest.mark.parametrize(("dtype", "precision"), CASES)
def test_text_for_cuda_compiles(dtype, precision, nvrtc):  # noqa: F811
    text = text_of(matmul_by_tiles(dtype, 64, 64, 32, precision), dtype, "cuda", 128)
    assert compile_for_h100(nvrtc, text) == ""
    assert "TILE_SWIZZLED" in text and "mma.sync" in text


@pytest.mark.host
def test_text_for_cuda_keeps_layout_of_tiles_with_other_uses(nvrtc):  # noqa: F811
    text = text_of(filled_by_hand, "float32", "cuda", 32)
    assert compile_for_h100(nvrtc, text) == ""
    assert "1, 1, TILE_WARPS, 0, TILE_STRIDED, TILE_STRIDED>" in text


@pytest.mark.host
@pytest.mark.hip_library
@pytest.mark.parametrize(("dtype", "precision"), CASES)
def test_text_for_hip_compiles(dtype, precision):
    text = text_of(matmul_by_tiles(dtype, 64, 64, 32, precision), dtype, "hip", 128)
    assert compile_for_mi250(text) == ""
    assert "__builtin_amdgcn_mfma" in text


@pytest.mark.host
@pytest.mark.hip_library
def test_text_for_hip_has_loops_if_a_wave_is_not_full():
    text = text_of(matmul_by_tiles("float32", 16, 16, 16, "float32"), "float32", "hip", 32)
    assert compile_for_mi250(text) == ""
    assert "mfma" not in text


# ------------------------------------------------------------------------ refusals


def refused(kernel: Any, *arrays: Any, items: int = 32) -> str:
    with ep.device_context("host"), pytest.raises(ep.KernelError) as error:
        kernel[items, items](*arrays)
    return str(error.value)


def with_tiles(a_shape: Any, b_shape: Any, of: str, sums: Any, precision: str) -> Any:
    @dppy.kernel
    def multiplies(c):
        a_tile = dppy.local.array(a_shape, of)
        b_tile = dppy.local.array(b_shape, of)
        total = tile.zeros((16, 16), sums)
        tile.matmul(a_tile, b_tile, total, precision)
        tile.store(c, (0, 0), total)

    return multiplies


@pytest.mark.host
@pytest.mark.parametrize(
    ("a_shape", "b_shape", "dtype", "sums", "precision", "message"),
    [
        ((16, 16), (8, 16), "float32", "float32", "float32", "16 x 16, 8 x 16 and 16 x 16"),
        ((16, 8), (8, 16), "float16", "float32", "float32", "a multiple of 16, but it is 8"),
        ((16, 12), (12, 16), "float32", "float32", "float32", "a multiple of 8, but it is 12"),
        ((16, 16), (16, 16), "int32", "float32", "float32", "but these are int32 and int32"),
        ((16, 16), (16, 16), "float64", "float32", "float32", "are added up in float64"),
        ((16, 16), (16, 16), "float16", "float16", "float32", "but this is float16"),
        ((16, 16), (16, 16), "float16", "float32", "tf32", "is for tiles of float32"),
        ((16, 16), (16, 16), "float32", "float32", "double", 'but this is "double"'),
        ((2, 16, 16), (16, 16), "float32", "float32", "float32", "of two dimensions"),
    ],
)
def test_matmul_of_unfit_tiles_is_refused(a_shape, b_shape, dtype, sums, precision, message):
    kernel = with_tiles(a_shape, b_shape, dtype, sums, precision)
    assert message in refused(kernel, np.zeros((16, 16), "f4"))


def makes(shape: Any) -> Any:
    @dppy.kernel
    def made(c):
        tile.store(c, (0, 0), tile.zeros(shape))

    return made


@pytest.mark.host
@pytest.mark.parametrize(
    ("shape", "items", "message"),
    [
        ((16, 24), 32, "multiples of 16, but the shape is 16 x 24"),
        ((16,), 32, "multiples of 16, but the shape is 16"),
        ((32, 32), 48, "a group of 48 work-items cannot divide a tile of 32 x 32"),
        ((32, 32), 256, "launch groups of 32, 64, 128"),
    ],
)
def test_accumulator_of_unfit_shape_is_refused(shape, items, message):
    assert message in refused(makes(shape), np.zeros((16, 16), "f4"), items=items)


@pytest.mark.host
def test_launch_without_local_range_is_refused():
    with (
        ep.device_context("host"),
        pytest.raises(ep.KernelError, match="kernel\\[global, local\\]"),
    ):
        makes((16, 16))[32](np.zeros((16, 16), "f4"))


@dppy.kernel
def diverges(c):
    total = tile.zeros((16, 16))
    if dppy.get_local_id(0) < 16:
        tile.store(c, (0, 0), total)


@dppy.kernel
def takes_element(c):
    total = tile.zeros((16, 16))
    c[0, 0] = total[0, 0]


@dppy.kernel
def takes_part(c):
    total = tile.zeros((16, 16))
    c[0, 0] = total.T[0, 0]


@dppy.kernel
def loads_another_dtype(c):
    a_tile = dppy.local.array((16, 16), dppy.float16)
    tile.load(a_tile, c, (0, 0))


@dppy.kernel
def loads_to_private_array(c):
    a_tile = dppy.private.array((16, 16), dppy.float32)
    tile.load(a_tile, c, (0, 0))


@dppy.kernel
def loads_at_one_index(c):
    a_tile = dppy.local.array((16, 16), dppy.float32)
    tile.load(a_tile, c, 3)


@dppy.kernel
def stores_an_array(c):
    a_tile = dppy.local.array((16, 16), dppy.float32)
    tile.store(c, (0, 0), a_tile)


@dppy.kernel
def waits_for_a_variable(c):
    tile.wait(int(c[0, 0]))


@pytest.mark.host
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (diverges, "this tile operation may not be reached by all work-items"),
        (takes_element, "`total` is an accumulator, whose elements are spread"),
        (takes_part, "an accumulator has shape and dtype, but no `.T`"),
        (loads_another_dtype, "tile.load converts nothing"),
        (loads_to_private_array, "the tile of tile.load is a local array of two dimensions"),
        (loads_at_one_index, "the place of a tile in an array is (row, column), but this is 3"),
        (stores_an_array, "tile.store writes an accumulator, but this is float32[16, 16]"),
        (waits_for_a_variable, "from 0 to 7"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.function.__name__,
)
def test_misuse_of_tile_is_refused(kernel, message):
    assert message in refused(kernel, np.zeros((16, 16), "f4"))


@pytest.mark.host
def test_simulator_refuses_group_that_cannot_divide_tile():
    with pytest.raises(ep.KernelError, match="48 work-items cannot divide"):
        makes((16, 16)).simulate[48, 48](np.zeros((16, 16), "f4"))


@dppy.kernel
def multiplies_without_barrier(c):
    a_tile = dppy.local.array((16, 16), dppy.float32)
    total = tile.zeros((16, 16))
    tile.load(a_tile, c, (0, 0))
    tile.matmul(a_tile, a_tile, total)


@pytest.mark.host
def test_simulator_reports_missing_barrier():
    with pytest.raises(ep.KernelError, match=r"race for .* in local memory|before it was written"):
        multiplies_without_barrier.simulate[32, 32](np.zeros((16, 16), "f4"))


@pytest.mark.host
def test_first_launch_with_groups_that_do_not_divide_is_refused():
    with pytest.raises(ep.KernelError, match="work-groups of 32 do not divide"):
        makes((16, 16))[(1, 1), (1, 32)](np.zeros((16, 16), "f4"))
