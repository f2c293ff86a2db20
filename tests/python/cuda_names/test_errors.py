"""Bad programs: the errors say what was asked, and have the classes that programs catch."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import entrepot as ep
from entrepot import numba_cuda as cuda
from entrepot.kernel import float32, int32
from entrepot.numba_cuda.language import NUMBA_CUDA

pytestmark = pytest.mark.numpy


@cuda.jit
def fill(a, value):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = value


def test_launch_without_configuration_is_a_value_error():
    with pytest.raises(ValueError, match=r"fill\[blocks, threads\]"):
        fill(np.zeros(3), 1)


@pytest.mark.parametrize("index", [4, (4,), (1, 2, 0, 0, 0)])
def test_launch_without_grid_and_block_is_a_value_error(index):
    with pytest.raises(ValueError, match="launched with its grid and block"):
        fill[index]


@pytest.mark.parametrize(
    "index", [(1.0, 1), (1, 1.0), (True, 1), ((1.0, 1), 1), (1, 1, 0.0), ((1, True), (1, 1))]
)
def test_launch_with_other_types_after_ints_is_a_type_error(index):
    @cuda.jit
    def fill(a):
        a[0] = 1

    for known in [(1, 1), (1, 1, 0), ((1, 1), 1), ((1, 1), (1, 1))]:
        fill[known](np.zeros(1))
    with pytest.raises(TypeError):
        fill[index]


def test_launch_with_float_extent_is_a_type_error():
    with pytest.raises(TypeError, match="divide by //"):
        fill[10 / 2, 32]


@pytest.mark.parametrize("extent", [0, -1, (2, 0)])
def test_launch_without_threads_is_a_value_error(extent):
    with pytest.raises(ValueError, match="at least 1"):
        fill[extent, 32]


def test_launch_of_four_dimensions_is_a_value_error():
    with pytest.raises(ValueError, match="1 to 3 dimensions"):
        fill[(1, 1, 1, 1), 32]


def test_launch_of_device_function_is_a_value_error():
    @cuda.jit(device=True)
    def square(x):
        return x * x

    assert square(3) == 9
    with pytest.raises(ValueError, match="is a device function"):
        square[1, 1](np.zeros(1))


def test_wrong_number_of_arguments_is_a_type_error():
    with pytest.raises(TypeError, match="takes 2 arguments"):
        fill[1, 1](np.zeros(3))


def test_error_in_a_kernel_shows_the_line_as_written():
    @cuda.jit
    def wrong(a):
        a[cuda.grid(4)] = 1

    with pytest.raises(ep.KernelError) as error:
        wrong[1, 1](np.zeros(1))
    message = str(error.value)
    assert "`grid(ndim)` takes 1, 2 or 3" in message
    assert "a[cuda.grid(4)] = 1" in message
    assert "test_errors.py" in message


def test_name_of_a_group_that_is_absent_is_refused_in_a_kernel():
    @cuda.jit
    def wrong(a):
        a[0] = cuda.threadIdx.w

    with pytest.raises(ep.KernelError, match="'w'"):
        wrong[1, 1](np.zeros(1))


def test_barrier_under_a_condition_is_refused():
    @cuda.jit
    def wrong(a):
        if cuda.threadIdx.x < 3:
            cuda.syncthreads()

    with pytest.raises(ep.KernelError, match="barrier"):
        wrong[1, 4](np.zeros(1))


def test_function_that_is_not_jitted_is_refused():
    def helper(x):
        return x

    @cuda.jit
    def wrong(a):
        a[0] = helper(1)

    with pytest.raises(ep.KernelError, match="is a Python function"):
        wrong[1, 1](np.zeros(1))


def test_kernel_that_another_calls_is_a_device_function():
    @cuda.jit
    def one():
        return 1

    @cuda.jit
    def caller(a):
        a[0] = one()

    a = np.zeros(1)
    caller[1, 1](a)
    assert a[0] == 1


def test_name_of_kernels_is_refused_in_plain_python():
    with pytest.raises(ep.KernelError, match="only inside a kernel"):
        cuda.grid(1)


def test_dynamic_memory_in_device_function_is_refused():
    @cuda.jit(device=True)
    def inner():
        held = cuda.shared.array(0, float32)
        return held[0]

    @cuda.jit
    def outer(a):
        a[0] = inner()

    with pytest.raises(ep.KernelError, match="a device function takes it as an argument"):
        outer[1, 1, 0, 16](np.zeros(1))


def test_dynamic_memory_of_two_types_is_refused():
    @cuda.jit
    def wrong(a):
        first = cuda.shared.array(0, float32)
        second = cuda.shared.array(0, int32)
        first[0] = second[0]

    with pytest.raises(ep.KernelError, match="share their bytes"):
        wrong[1, 1, 0, 16](np.zeros(1))


def test_debug_reports_index_out_of_bounds(device):
    @cuda.jit(debug=True, opt=False)
    def wrong(a):
        a[cuda.grid(1)] = 1

    with pytest.raises(IndexError, match="out of bounds"):
        wrong[1, 4](cuda.to_device(np.zeros(3)))


def test_check_of_bounds_without_debug_reports_the_index(device):
    @cuda.jit(debug=False, boundscheck=True)
    def wrong(a, places):
        a[places[0]] = 1

    with pytest.raises(IndexError, match="out of bounds"):
        wrong[1, 1](cuda.to_device(np.zeros(3)), cuda.to_device(np.array([3])))


def test_signature_is_compiled_and_checked(device):
    @cuda.jit("void(float32[:], float32)")
    def store(a, value):
        a[cuda.grid(1)] = value

    a = np.zeros(4, "f4")
    store[1, 4](a, 3)
    assert a.tolist() == [3] * 4
    assert store.specialized
    with pytest.raises(TypeError, match="signature"):
        store[1, 4](np.zeros(4), 3)


@pytest.mark.parametrize("signature", ["void(float33[:])", "float32(float32[:])"])
def test_invalid_signature_is_a_value_error(signature):
    with pytest.raises(ValueError, match="signature"):
        cuda.jit(signature)(lambda a: None)


def test_specialized_kernel_takes_one_combination_of_types(device):
    a = cuda.to_device(np.zeros(4, "f4"))
    special = fill.specialize(a, 1.0)
    special[1, 4](a, 2.0)
    assert a.copy_to_host().tolist() == [2] * 4
    assert special.signatures == ["void(float32[::1], float64)"]
    with pytest.raises(TypeError):
        special[1, 4](cuda.to_device(np.zeros(4)), 2.0)


def test_unknown_option_is_a_type_error():
    with pytest.raises(TypeError, match="has no option fastmth"):
        cuda.jit(fastmth=True)


def test_limit_of_registers_is_checked_and_runs(device):
    @cuda.jit(max_registers=32)
    def one(a):
        a[cuda.grid(1)] = 1

    a = np.zeros(4)
    one[1, 4](a)
    assert a.tolist() == [1] * 4

    @cuda.jit(max_registers=256)
    def many(a):
        a[cuda.grid(1)] = 1

    with pytest.raises(ValueError, match="up to 255 registers"):
        many[1, 4](a)


def test_fastmath_kernel_runs(device):
    @cuda.jit(fastmath=True)
    def halve(a):
        a[cuda.grid(1)] /= 2

    a = np.ones(4, "f4")
    halve[1, 4](a)
    assert a.tolist() == [0.5] * 4


def test_types_of_numba_make_a_signature():
    numba = pytest.importorskip("numba")

    @cuda.jit((numba.float32[::1], numba.int32))
    def store(a, value):
        a[cuda.grid(1)] = value

    a = np.zeros(2, "f4")
    store[1, 2](a, 5)
    assert a.tolist() == [5, 5]

    @cuda.jit(numba.void(numba.float32[:]))
    def clear(a):
        a[cuda.grid(1)] = 0

    clear[1, 2](a)
    assert a.tolist() == [0, 0]


def refusal_of(function, *arguments, threads=4, simulated=False):
    kernel = cuda.jit(function)
    launch = kernel.simulate if simulated else kernel
    with pytest.raises(Exception) as raised:
        launch[1, threads](*arguments)
    message = str(raised.value)
    assert "\x02" not in message
    assert not re.search("work-(item|group)|sub-group|LocalAccessor", message)
    assert "entrepot.kernel" not in message
    return message


def test_lost_update_names_the_functions_of_cuda():
    def wrong(a):
        a[0] += 1

    message = refusal_of(wrong, np.zeros(1))
    assert "`cuda.atomic.add(a, index, value)`" in message
    assert "`cuda.reduce`" in message
    assert "`if cuda.grid(1) == 0:`" in message


def test_private_array_of_numpy_names_the_functions_of_cuda():
    def wrong(a):
        own = np.zeros(4)
        a[0] = own[0]

    message = refusal_of(wrong, np.zeros(1))
    assert "cuda.local.array(shape, dtype)" in message
    assert "cuda.shared.array(shape, dtype)" in message


def test_list_names_the_function_of_cuda():
    def wrong(a):
        own = [1, 2]
        a[0] = own[0]

    assert "cuda.local.array()" in refusal_of(wrong, np.zeros(1))


def test_index_of_shared_memory_names_the_index_of_cuda():
    def wrong(a):
        shared = cuda.shared.array(2, "float32")
        shared[cuda.grid(1)] = 1
        cuda.syncthreads()
        a[cuda.grid(1)] = shared[0]

    assert "cuda.threadIdx" in refusal_of(wrong, np.zeros(4))


def test_function_without_decorator_names_that_of_cuda():
    def helper(x):
        return x

    def wrong(a):
        a[0] = helper(1)

    assert "put @cuda.jit(device=True) before its def" in refusal_of(wrong, np.zeros(1))


def test_simulated_race_names_the_functions_of_cuda():
    def wrong(a):
        i = cuda.grid(1)
        a[i] = a[(i + 1) % a.size]

    message = refusal_of(wrong, np.zeros(4), simulated=True)
    assert "put cuda.syncthreads() between the two" in message


def test_barrier_under_a_condition_speaks_of_threads_and_blocks():
    def wrong(a):
        if cuda.threadIdx.x < 3:
            cuda.syncthreads()

    message = refusal_of(wrong, np.zeros(1))
    assert "may not be reached by all threads of a block" in message
    assert "this may differ between threads" in message


def test_return_before_a_barrier_says_to_use_a_condition():
    def wrong(a):
        i = cuda.grid(1)
        if i >= a.size:
            return
        cuda.syncthreads()
        a[i] = 1

    message = refusal_of(wrong, np.zeros(1))
    assert "in place of the return before it, put the accesses under a condition" in message
    assert "if i >= a.size:" in message


def test_shape_of_shared_memory_shows_its_use():
    def wrong(a):
        held = cuda.shared.array(a.size, "float32")
        a[0] = held[0]

    message = refusal_of(wrong, np.zeros(1))
    assert "use cuda.shared.array(0, dtype), and give its bytes" in message
    assert "        held = cuda.shared.array(a.size" not in message
    assert message.splitlines()[-1].count("^") == len("a.size")


def test_too_much_shared_memory_speaks_of_a_block():
    def wrong(a):
        held = cuda.shared.array(10_000_000, "float32")
        held[cuda.threadIdx.x] = 1
        cuda.syncthreads()
        a[cuda.threadIdx.x] = held[cuda.threadIdx.x]

    message = refusal_of(wrong, np.zeros(4))
    assert "the kernel's shared memory is 40000000 bytes" in message
    assert "a block of the device has" in message


def test_index_out_of_bounds_has_x_first(device):
    @cuda.jit
    def wrong(a):
        x, y = cuda.grid(2)
        a[y, x] = 1

    with pytest.raises(IndexError, match=r"every thread of a launch of \(8, 6\) makes"):
        wrong[(2, 2), (4, 3)](cuda.to_device(np.zeros((4, 4))))


def test_checked_index_names_the_thread_with_x_first(device):
    @cuda.jit(debug=True, opt=False)
    def wrong(a, places):
        x, y = cuda.grid(2)
        if x == 2 and y == 1:
            a[places[0]] = 1

    with pytest.raises(IndexError, match=r"in thread \(2, 1, 0\) of kernel"):
        wrong[1, (4, 3)](cuda.to_device(np.zeros(3)), cuda.to_device(np.array([3])))


def test_simulated_index_names_the_thread_with_x_first():
    def wrong(a):
        x, y = cuda.grid(2)
        a[x, y] = 1

    message = refusal_of(wrong, np.zeros((4, 2)), threads=(4, 3), simulated=True)
    assert "thread (0, 2) of block (0, 0)" in message


def test_simulated_divergence_speaks_of_threads_and_blocks():
    def wrong(a):
        if cuda.threadIdx.x < 3:
            cuda.syncthreads()

    message = refusal_of(wrong, np.zeros(1), simulated=True)
    assert "thread (0,) of block (0,) and 2 more waits at the barrier" in message
    assert "all of a block or warp have to come" in message


@pytest.mark.sycl
def test_block_that_is_too_large_speaks_of_threads():
    with (
        ep.device_context("opencl:cpu"),
        pytest.raises(ep.KernelError, match=r"a block of \d+ threads.* launch smaller blocks"),
    ):
        fill[1, 1 << 20](cuda.to_device(np.zeros(3)), 1)


def test_dynamic_memory_that_is_too_large_is_shared_memory(device):
    @cuda.jit
    def wrong(a):
        held = cuda.shared.array(0, float32)
        held[cuda.threadIdx.x] = 1
        cuda.syncthreads()
        a[cuda.threadIdx.x] = held[cuda.threadIdx.x]

    with pytest.raises(ep.KernelError, match=r"needs \d+ bytes of shared memory"):
        wrong[1, 4, 0, 100_000_000](cuda.to_device(np.zeros(4)))


def test_terms_that_begin_with_others_stand_first():
    terms = list(NUMBA_CUDA.terms)
    for place, term in enumerate(terms):
        assert not any(term.startswith(earlier) for earlier in terms[:place])


def test_stream_of_another_type_is_a_type_error():
    with pytest.raises(TypeError, match=r"a stream is what cuda\.stream\(\) makes"):
        fill[1, 1, "s"](np.zeros(1), 1)


def test_names_in_messages_have_spellings_of_cuda():
    root = Path(__file__).parents[3]
    files = [*root.glob("src/kernel/**/*.cpp"), *root.glob("python/bind/kernel/*.cpp")]
    literal = re.compile(r"""named\("((?:[^"\\]|\\.)*)"\)|\\x02([^']*?)\\x03""")
    found = {
        (one or other).replace('\\"', '"')
        for file in files
        for one, other in literal.findall(file.read_text(encoding="utf-8"))
    }
    assert len(found) > 10
    assert found - {"get_local_id(0)", "get_global_id(0)"} <= set(NUMBA_CUDA.spellings)
