"""The simulator: Python runs the kernel, and undefined behavior on a device is reported with
the work-items' ids."""

from __future__ import annotations

import math
import os
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot import _core
from support.processes import completed

pytestmark = [pytest.mark.numpy, pytest.mark.host]


@dppy.kernel
def shifts_in_place(a):
    i = dppy.get_global_id(0)
    a[i] = a[(i + 1) % a.shape[0]]


@dppy.kernel
def all_write_one(a):
    a[0] = dppy.get_global_id(0)


@dppy.kernel
def local_race(a):
    lid = dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.int32)
    shared[lid] = lid
    dppy.barrier()
    shared[lid] += shared[3 - lid]
    a[lid] = 0


@dppy.kernel
def fence_of_the_wrong_space(a):
    i = dppy.get_global_id(0)
    a[i] = i
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    a[i + 4] = a[3 - i]


@dppy.kernel
def local_behind_a_global_fence(a):
    lid = dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.int32)
    shared[lid] = lid
    dppy.barrier(dppy.CLK_GLOBAL_MEM_FENCE)
    a[lid] = shared[3 - lid]


@dppy.kernel
def across_groups(a):
    i = dppy.get_global_id(0)
    a[i] = i
    dppy.barrier()
    a[(i + 2) % 4] = 1


@dppy.kernel
def atomic_and_plain(a):
    dppy.atomic.add(a, 0, 1)
    if dppy.get_global_id(0) == 2:
        a[0] = 7


@dppy.kernel
def write_after_reads(a):
    i = dppy.get_global_id(0)
    seen = a[0]
    if i == 3:
        a[0] = seen + 1


@pytest.mark.parametrize(
    "kernel,local,message",
    [
        (
            shifts_in_place,
            4,
            r"race for a\[1\] in global memory: a read by work-item \(0,\) .* a write by "
            r"work-item \(1,\) ",
        ),
        (
            all_write_one,
            4,
            r"race for a\[0\].*a write by work-item \(0,\).*a write by work-item \(1,\)",
        ),
        (local_race, 4, r"race for shared\[1\] in local memory"),
        (fence_of_the_wrong_space, 4, r"race for a\[\d\] in global memory"),
        (local_behind_a_global_fence, 4, r"race for shared\[3\] in local memory"),
        (across_groups, 2, r"race for a\[\d\].*of group \(0,\).*of group \(1,\)"),
        (
            atomic_and_plain,
            4,
            r"race for a\[0\].*an atomic write by work-item \(1,\).*a write by work-item \(2,\)",
        ),
        (
            write_after_reads,
            4,
            r"race for a\[0\].*a read by work-item \(0,\).*a write by work-item \(3,\)",
        ),
    ],
    ids=lambda value: value.function.__name__ if hasattr(value, "function") else None,
)
def test_races_are_refused(kernel, local, message):
    with pytest.raises(ep.KernelError, match=message):
        kernel.simulate[4, local](np.zeros(8, "i4"))


@pytest.mark.parametrize(
    "kernel,local,instead",
    [
        (
            shifts_in_place,
            4,
            r"put barrier\(CLK_GLOBAL_MEM_FENCE\) between the two, or write to another array",
        ),
        (
            local_race,
            4,
            r"put barrier\(CLK_LOCAL_MEM_FENCE\) between the two, or write to another array",
        ),
        (
            all_write_one,
            4,
            r"let each write elements of its own, or use entrepot.kernel.atomic, or put "
            r"barrier\(CLK_GLOBAL_MEM_FENCE\)",
        ),
        (
            all_write_one,
            1,
            r"of different groups: let each write elements of its own, or use "
            r"entrepot.kernel.atomic, or launch two kernels",
        ),
        (
            shifts_in_place,
            1,
            r"of different groups: write to another array, or launch two kernels one after the "
            r"other",
        ),
    ],
)
def test_race_error_suggests_a_fix(kernel, local, instead):
    with pytest.raises(ep.KernelError, match=rf"with no barrier between them; .*{instead}"):
        kernel.simulate[4, local](np.zeros(8, "i4"))


@dppy.kernel
def over_the_end(a):
    i = dppy.get_global_id(0)
    a[i + 1] = i


@dppy.kernel
def before_the_start(a):
    i = dppy.get_global_id(0)
    a[i - 5] = i


def test_out_of_bounds_index_is_refused():
    with pytest.raises(
        ep.KernelError,
        match=r"test_simulator.py:\d+: work-item \(3,\) of group \(0,\): index 4 is outside of a",
    ) as error:
        over_the_end.simulate[4](np.zeros(4, "i4"))
    assert "a[i + 1] = i" in str(error.value)
    with pytest.raises(
        ep.KernelError, match=r"work-item \(0,\) of group \(0,\): index -5 is outside of a"
    ):
        before_the_start.simulate[4](np.zeros(4, "i4"))


@dppy.kernel
def some_wait(a):
    i = dppy.get_global_id(0)
    if i < 3:
        dppy.barrier()
    a[i] = i


@dppy.kernel
def wait_in_two_places(a):
    i = dppy.get_global_id(0)
    if i % 2:
        dppy.barrier()
    else:
        dppy.barrier()
    a[i] = i


@dppy.kernel
def loops_of_their_own(a):
    i = dppy.get_global_id(0)
    for _ in range(i):
        dppy.barrier()
    a[i] = i


@pytest.mark.parametrize(
    "kernel", [some_wait, wait_in_two_places, loops_of_their_own], ids=lambda k: k.function.__name__
)
def test_divergent_barrier_is_refused(kernel):
    with pytest.raises(
        ep.KernelError,
        match=r"divergent barrier: work-item \(0,\) of group \(0,\).*; work-item \(\d,\)",
    ):
        kernel.simulate[4, 4](np.zeros(4, "i4"))


@dppy.kernel
def reads_uninitialized_element(a):
    mine = dppy.private.array(3, dppy.int32)
    mine[0] = 1
    a[0] = mine[2]


def test_uninitialized_memory_is_reported():
    with pytest.raises(ep.KernelError, match=r"mine\[2\] is read before it was written"):
        reads_uninitialized_element.simulate[1](np.zeros(4, "i4"))


@dppy.kernel
def first_group_writes(a):
    shared = dppy.local.array(1, dppy.int32)
    if dppy.get_group_id(0) == 0:
        shared[0] = 1
    a[dppy.get_global_id(0)] = shared[0]


def test_local_memory_does_not_leak_between_groups():
    with pytest.raises(
        ep.KernelError,
        match=r"work-item \(1,\) of group \(1,\): shared\[0\] is read before it was written",
    ):
        first_group_writes.simulate[2, 1](np.zeros(2, "i4"))


def test_ordered_accesses_are_no_race():
    @dppy.kernel
    def passes(a, b):
        i, lid = dppy.get_global_id(0), dppy.get_local_id(0)
        a[i] = i
        dppy.barrier()
        b[i] = a[i - lid] + a[i - lid + 1]
        dppy.barrier()
        a[i - lid + (lid + 1) % 4] = 1
        dppy.atomic.add(b, 8, 1)

    b = np.zeros(9, "i8")
    passes.simulate[8, 4](np.zeros(8, "i4"), b)
    assert b.tolist() == [1] * 4 + [9] * 4 + [8]


@dppy.func
def swapped_with(shared, mine, lid):
    shared[lid] = mine
    dppy.barrier()
    return shared[3 - lid]


def test_device_function_may_have_a_barrier():
    @dppy.kernel
    def swaps(a):
        shared = dppy.local.array(4, dppy.int32)
        i = dppy.get_global_id(0)
        a[i] = swapped_with(shared, a[i], dppy.get_local_id(0))

    a = np.arange(8, dtype="i4")
    swaps.simulate[8, 4](a)
    assert a.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


def test_arrays_of_devices_are_copied_in_and_out():
    selector = next((str(d) for d in ep.devices() if d.backend != "host"), None)
    if selector is None:
        pytest.skip("there is only the host")
    a = ep.asarray(np.arange(4, dtype="i4"), device=selector, copy=True)

    @dppy.kernel
    def adds(a):
        a[dppy.get_global_id(0)] += 1

    adds.simulate[4](a)
    assert a.copy_to_host().numpy().tolist() == [1, 2, 3, 4]


@dppy.kernel
def writes_through_both(a, b):
    i = dppy.get_global_id(0)
    b[i] = 7
    dppy.barrier(dppy.CLK_GLOBAL_MEM_FENCE)
    a[i] += b[i]


@dppy.kernel
def one_after_the_other(a, b):
    for i in range(a.shape[0]):
        b[i] = a[i] + 1


@pytest.mark.sycl
def test_overlapping_device_arrays_share_a_simulated_copy():
    both, row = (ep.zeros(8, "int32", device="opencl:cpu") for _ in range(2))
    matrix = ep.zeros((4, 8), "int32", device="opencl:cpu")
    writes_through_both.simulate[8, 8](both, both)
    assert both.copy_to_host().numpy().tolist() == [14] * 8
    one_after_the_other.simulate[1](row[:-1], row[1:])
    assert row.copy_to_host().numpy().tolist() == list(range(8))
    one_after_the_other.simulate[1](
        matrix[::-1, 3], matrix.T[3, ::-1]
    )  # the same column, downwards twice
    assert matrix.copy_to_host().numpy()[:, 3].tolist() == [1] * 4
    one_after_the_other.simulate[1](row[:0], row[1:])
    races = dppy.kernel(one_apart)
    with pytest.raises(ep.KernelError, match="race"):
        races.simulate[7, 7](row[:-1], row[1:])


def one_apart(a, b):
    i = dppy.get_global_id(0)
    b[i] = a[i] + 1


def test_environment_variable_simulates_all_launches(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import numpy as np
            import entrepot.kernel as dppy

            seen = []

            @dppy.kernel
            def remembers(a):
                i = dppy.get_global_id(0)
                a[i] = i
                seen.append(i)

            a = np.zeros(3, "i4")
            remembers[3, dppy.DEFAULT_LOCAL_SIZE](a)
            print(a.tolist(), [int(i) for i in seen])
            """
        )
    )
    done = completed(
        [sys.executable, program], env=os.environ | {"ENTREPOT_SIMULATE": "1"}, timeout=60
    )
    assert done.stdout.strip() == "[0, 1, 2] [0, 1, 2]", done.stderr


def test_recursion_is_refused():
    with pytest.raises(ep.KernelError, match="recursion: endless → endless"):
        calls_endless.simulate[1](np.zeros(1, "i4"))


@dppy.func
def endless(x):
    return endless(x - 1)


@dppy.kernel
def calls_endless(a):
    a[0] = endless(a[0])


def test_literal_out_of_range_is_refused():
    @dppy.kernel
    def too_great(a):
        a[0] = a[0] + 300

    with pytest.raises(ep.KernelError, match=r"300 is out of the range of uint8"):
        too_great.simulate[1](np.zeros(1, "u1"))


@dppy.kernel
def array_called_item(item, out):
    i = dppy.get_global_id(0)
    out[i] = item[i]


@dppy.kernel
def item_by_its_methods(it, source, out):
    i = it.get_group().get_group_id(0)
    out[i] = source[i]


@dppy.kernel
def by_places_only(source, /, out):
    i = dppy.get_global_id(0)
    out[i] = source[i]


@pytest.mark.parametrize(
    "kernel",
    [array_called_item, item_by_its_methods, by_places_only],
    ids=lambda it: it.function.__name__,
)
def test_simulator_binds_parameters_as_items_like_the_compiler(kernel):
    numbers, compiled, simulated = np.arange(4.0), np.zeros(4), np.zeros(4)
    with ep.device_context("host"):
        kernel[4, 1](numbers, compiled)
    kernel.simulate[4, 1](numbers, simulated)
    assert compiled.tolist() == simulated.tolist() == numbers.tolist()


@dppy.kernel
def fills(a, x):
    a[dppy.get_global_id(0)] = x


@dppy.kernel("void(float64[::1], float32)")
def fills_by_signature(a, x):
    a[dppy.get_global_id(0)] = x


@dppy.kernel
def multiplies_matrices(a, x):
    a @= x


WRONG_LAUNCHES = {
    "too few arguments": lambda kernel, a: kernel[4](a),
    "an argument by name": lambda kernel, a: kernel[4](a, x=1),
    "an unknown option": lambda kernel, a: kernel[4](a, 1, waitt=True),
    "a list": lambda kernel, a: kernel[4]([1, 2], 1),
    "an object": lambda kernel, a: kernel[4](object(), 1),
    "a great integer": lambda kernel, a: kernel[4](a, 1 << 70),
    "a negative extent": lambda kernel, a: kernel[-1](a, 1),
    "four dimensions": lambda kernel, a: kernel[(1, 1, 1, 1), None](a, 1),
    "three entries": lambda kernel, a: kernel[1, 1, 1](a, 1),
    "ranges that do not fit": lambda kernel, a: kernel[(4, 4), 2](a, 1),
    "a group of none": lambda kernel, a: kernel[4, 0](a, 1),
    "half a work-item": lambda kernel, a: kernel[2.5](a, 1),
    "a group that does not divide": lambda kernel, a: kernel[4, 3](a, 1),
}


@pytest.mark.parametrize("launch", WRONG_LAUNCHES.values(), ids=WRONG_LAUNCHES)
def test_simulator_refuses_like_a_launch(launch, monkeypatch):
    numbers, refusals = np.zeros(4), []
    with ep.device_context("host"):
        for simulated in "01":
            monkeypatch.setenv("ENTREPOT_SIMULATE", simulated)
            with pytest.raises((TypeError, ValueError, OverflowError, ep.EntrepotError)) as refusal:
                launch(fills, numbers)
            refusals.append(refusal.type)
    assert refusals[0] is refusals[1]


def test_signature_applies_in_simulator():
    compiled, simulated = np.zeros(4), np.zeros(4)
    with ep.device_context("host"):
        fills_by_signature[4](compiled, 0.1)
    fills_by_signature.simulate[4](simulated, 0.1)
    assert simulated.tolist() == compiled.tolist() == [float(np.float32(0.1))] * 4
    with pytest.raises(TypeError, match="the signature says float64"):
        fills_by_signature.simulate[4](np.zeros(4, "f4"), 0.1)


def test_matrices_are_not_multiplied_in_place():
    with pytest.raises(ep.KernelError, match=r"test_simulator.py:\d+: @ multiplies matrices"):
        multiplies_matrices.simulate[4](np.zeros(4), 1)


#: Functions of `math` and `numpy` with integers, tuples or three numbers, or with two results.
#: The others take one number or two.
_OTHERWISE = {
    *(
        "math.comb",
        "math.dist",
        "math.factorial",
        "math.fma",
        "math.frexp",
        "math.fsum",
        "math.gcd",
        "math.isqrt",
        "math.lcm",
    ),
    *("math.ldexp", "math.modf", "math.perm", "math.prod", "math.sumprod"),
    *(
        "numpy.bitwise_count",
        "numpy.clip",
        "numpy.frexp",
        "numpy.gcd",
        "numpy.lcm",
        "numpy.ldexp",
        "numpy.modf",
        "numpy.where",
    ),
}
_OF_TWO = {
    *(
        "math.atan2",
        "math.copysign",
        "math.fmod",
        "math.hypot",
        "math.isclose",
        "math.log",
        "math.nextafter",
        "math.pow",
    ),
    *(
        "math.remainder",
        "numpy.arctan2",
        "numpy.copysign",
        "numpy.fmod",
        "numpy.hypot",
        "numpy.maximum",
        "numpy.minimum",
    ),
    *("numpy.nextafter", "numpy.power"),
}


def kernel_of(calls: list[str], folder) -> dppy.KernelFunction:
    """A kernel that writes each call's result beside the previous one."""
    lines = ["def calls(out, x, y):", "    i = dppy.get_global_id(0)"]
    lines += [f"    out[i, {place}] = {call}" for place, call in enumerate(calls)]
    path = folder / "calls.py"
    path.write_text("\n".join([*lines, ""]))
    named: dict[str, Any] = {"__name__": "calls", "dppy": dppy, "math": math, "numpy": np}
    exec(compile(path.read_text(), str(path), "exec"), named)
    return dppy.kernel(named["calls"])


def results_of(
    kernel, calls: list[str], dtype: str, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The results of the simulator and of the host."""
    simulated, compiled = (
        np.zeros((x.size, len(calls)), dtype),
        np.zeros((x.size, len(calls)), dtype),
    )
    with np.errstate(all="ignore"):
        kernel.simulate[x.size](simulated, x, y)
    kernel.options(dialect="c++")[x.size](compiled, x, y).wait()
    return simulated, compiled


def test_functions_of_floats_are_the_hosts_at_their_edges(tmp_path):
    names = [
        name
        for name in _core.kernel_function_names
        if name.startswith(("math.", "numpy.")) and name not in _OTHERWISE
    ]
    names = [
        name
        for name in names
        if hasattr(math if name.startswith("math.") else np, name.split(".")[1])
    ]
    calls = [f"{name}(x[i], y[i])" if name in _OF_TWO else f"{name}(x[i])" for name in names]
    calls += [
        "complex(x[i], y[i]).real",
        "complex(x[i], y[i]).imag",
        "max(x[i], y[i])",
        "x[i] ** y[i]",
        "x[i] // y[i]",
        "x[i] % y[i]",
    ]
    edges = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        2,
        -2.5,
        3,
        1e-310,
        1e300,
        171.5,
        -171.5,
        -3,
        710,
    ]
    x, y = np.ascontiguousarray(np.array([(a, b) for a in edges for b in edges]).T)
    simulated, compiled = results_of(kernel_of(calls, tmp_path), calls, "f8", x, y)
    for place, call in enumerate(calls):
        # Outside of int64, C's conversion is undefined.
        compared = (
            abs(x) < 2**63
            if call.startswith(("math.ceil", "math.floor", "math.trunc"))
            else slice(None)
        )
        np.testing.assert_allclose(
            simulated[compared, place], compiled[compared, place], rtol=1e-12, err_msg=call
        )


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8"])
def test_functions_of_integers_are_the_hosts_at_their_edges(tmp_path, dtype):
    of_one = (
        "math.floor",
        "math.ceil",
        "math.trunc",
        "int",
        "round",
        "abs",
        "math.isqrt",
        "numpy.bitwise_count",
        "numpy.square",
        "-",
        "~",
    )
    of_two = ("math.gcd", "math.lcm", "numpy.fmod", "numpy.maximum", "numpy.minimum", "max", "min")
    calls = [f"{name}(x[i])" for name in of_one] + [f"{name}(x[i], y[i])" for name in of_two]
    calls += [
        f"x[i] {sign} y[i]"
        for sign in ("+", "-", "*", "//", "%", "&", "|", "^", "<", "==", "<<", ">>")
    ]
    limits = np.iinfo(dtype)
    edges = [
        0,
        1,
        2,
        3,
        7,
        100,
        limits.max,
        limits.max - 1,
        limits.min,
        *([-1, -2, -7, limits.min + 1] if limits.min else []),
    ]
    x, y = np.ascontiguousarray(np.array([(a, b) for a in edges for b in edges], dtype).T)
    simulated, compiled = results_of(kernel_of(calls, tmp_path), calls, "i8", x, y)
    for place, call in enumerate(calls):
        np.testing.assert_array_equal(simulated[:, place], compiled[:, place], err_msg=call)


@dppy.kernel
def pow_of_three(out):
    out[0] = pow(3, 4, 5)


def test_pow_of_three_numbers_is_refused_as_by_the_compiler():
    with pytest.raises(dppy.KernelError, match=r"`pow\(base, exp\)` takes at most 2 arguments"):
        pow_of_three.simulate[1](np.zeros(1, "i4"))
    with pytest.raises(dppy.KernelError, match=r"`pow\(base, exp\)` takes at most 2 arguments"):
        pow_of_three[1](np.zeros(1, "i4"))
