"""Structs as elements, arguments and results of kernels, against NumPy's structured arrays."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend, every_compiler

pytestmark = pytest.mark.numpy

PARTICLE = np.dtype([("x", "f4"), ("n", "i4"), ("mass", "f8"), ("alive", "?")], align=True)
BODY = np.dtype(
    [("id", "i8"), ("pos", "f4", 3), ("box", [("low", "f4"), ("high", "f4", 2)]), ("c", "c8")],
    align=True,
)
LEAF = np.dtype([("w", "i2"), ("v", "i2")])
TREE = np.dtype([("leaves", LEAF, 3), ("grid", "f4", (2, 2))], align=True)
N = 12


def moved(backend, value):
    """A copy of the argument on the backend's device."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return dppy.StructArray.to_device(value, backend.device)
    return backend.array(value) if isinstance(value, np.ndarray) else value


def run(backend, kernel, size, *arguments, local=None):
    """Runs the kernel on copies, and returns the arrays of structs and of numbers afterwards."""
    given = [moved(backend, value) for value in arguments]
    backend.launch(kernel, size, local, *given)
    return [
        each.copy_to_host() if isinstance(each, dppy.StructArray) else dppy.copy_to_host(each)
        for each in given
        if isinstance(each, (ep.Array, dppy.StructArray))
    ]


def particles(shape=N):
    made = np.zeros(shape, PARTICLE)
    count = made.size
    made["x"] = np.arange(count).reshape(made.shape) / 4
    made["n"] = np.arange(count).reshape(made.shape)[::-1]
    made["mass"] = 0.5
    made["alive"] = np.arange(count).reshape(made.shape) % 3 == 0
    return made


def bodies():
    made = np.zeros(N, BODY)
    made["id"] = np.arange(N)
    made["pos"] = np.arange(3 * N).reshape(N, 3)
    made["box"]["low"] = 1.5
    made["box"]["high"] = np.arange(2 * N).reshape(N, 2)
    made["c"] = np.arange(N) * (1 - 2j)
    return made


def assert_same(found, expected):
    for name in expected.dtype.names:
        if expected.dtype[name].names:
            assert_same(found[name], expected[name])
        else:
            np.testing.assert_array_equal(found[name], expected[name])


# ------------------------------------------------------------------ fields


@dppy.kernel
def of_fields(p, out):
    i = dppy.get_global_id(0)
    p[i].x = p[i].x * 2 + p[i]["n"]
    p[i]["n"] += 1
    p[i].mass -= p[i].x
    if p[i].alive:
        p.n[i] = -p["n"][i]
    p[i].alive = not p[i].alive
    out[i] = p[i].mass


@every_backend
def test_fields_are_loaded_and_stored(backend):
    before = particles()
    after, out = run(backend, of_fields, N, before, np.zeros(N))
    expected = before.copy()
    expected["x"] = before["x"] * 2 + before["n"]
    expected["n"] = np.where(before["alive"], -(before["n"] + 1), before["n"] + 1)
    expected["mass"] = before["mass"] - expected["x"]
    expected["alive"] = ~before["alive"]
    assert_same(after, expected)
    np.testing.assert_array_equal(out, expected["mass"])


@dppy.kernel
def through_a_name(p, out):
    i = dppy.get_global_id(0)
    q = p[i]
    q.x = 7
    out[i] = p[i].x
    q["n"] += 3
    copy = p[i].copy()
    copy.x = 1
    q.x += copy.x
    out[i] += copy.n


@every_backend
def test_name_of_an_element_shares_its_memory(backend):
    before = particles()
    after, out = run(backend, through_a_name, N, before, np.zeros(N))
    np.testing.assert_array_equal(after["x"], np.full(N, 8, "f4"))
    np.testing.assert_array_equal(after["n"], before["n"] + 3)
    np.testing.assert_array_equal(out, 7.0 + before["n"] + 3)


@dppy.kernel
def exchanged(p, q):
    i = dppy.get_global_id(0)
    held = p[i].copy()
    p[i] = q[-1 - i]
    q[-1 - i] = held


@every_backend
def test_copies_are_values(backend):
    one, other = particles(), np.zeros(N, PARTICLE)
    other["n"] = 100 + np.arange(N)
    p, q = run(backend, exchanged, N, one, other)
    assert_same(p, other[::-1])
    assert_same(q, one[::-1])


@dppy.kernel
def of_two_dimensions(p, out):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    row = p[i]
    out[i, j] = row[j].x + p[i, j].n + p.shape[0] * 100 + p.ndim * 10 + len(row) + p.size
    part = p[::2, 1:]
    if i == 2 and j == 1:
        part[1, 0].x = -1
    if i == 0 and j == 2:
        part[...][0, 1].n = len(part) + part.shape[1]


@every_backend
def test_parts_of_arrays_are_views(backend):
    before = particles((4, 3))
    after, out = run(backend, of_two_dimensions, (4, 3), before, np.zeros((4, 3)))
    expected = before.copy()
    expected[2, 1]["x"] = -1
    expected[0, 2]["n"] = 2 + 2
    assert_same(after, expected)
    np.testing.assert_array_equal(out, before["x"] + before["n"] + 400 + 20 + 3 + 12)


# ------------------------------------------------------------------ nested


@dppy.kernel
def of_bodies(b, out):
    i = dppy.get_global_id(0)
    for k in range(3):
        b[i].pos[k] = b[i].pos[k] + b[i].box.low
    inner = b[i].box
    inner.high[1] = inner.high[0] - inner.low
    out[i] = b[i].c.imag + b[i].pos[2] + len(b[i].pos)
    b[i].id += 1
    b[i].c = b[i].c * 2


@every_backend
def test_nested_structs_and_sub_arrays_are_located(backend):
    before = bodies()
    after, out = run(backend, of_bodies, N, before, np.zeros(N))
    expected = before.copy()
    expected["pos"] += 1.5
    expected["box"]["high"][:, 1] = before["box"]["high"][:, 0] - 1.5
    expected["id"] += 1
    expected["c"] *= 2
    assert_same(after, expected)
    np.testing.assert_array_equal(out, before["c"].imag + expected["pos"][:, 2] + 3)


@dppy.kernel
def of_copied_bodies(a, b):
    i = dppy.get_global_id(0)
    a[i] = b[i]
    b[i].pos = (1, 2, 3)
    b[i].box = (4, (5, 6))
    b[i].box.high = a[i].box.high
    held = a[i].copy()
    b[i].id = int(held.pos[1]) + int(held.box.high[0])


@every_backend
def test_whole_structs_are_copied(backend):
    before = bodies()
    a, b = run(backend, of_copied_bodies, N, np.zeros(N, BODY), before)
    assert_same(a, before)
    expected = before.copy()
    expected["pos"] = (1, 2, 3)
    expected["box"]["low"] = 4
    expected["id"] = before["pos"][:, 1] + before["box"]["high"][:, 0]
    assert_same(b, expected)


@dppy.kernel
def of_trees(t, out):
    i = dppy.get_global_id(0)
    total = 0
    for k in range(len(t[i].leaves)):
        leaf = t[i].leaves[k]
        total += leaf.w * (k + 1)
        leaf.v = k
    t[i].grid[1, 0] = t[i].grid[0, 1] + total
    out[i] = total


@every_backend
def test_arrays_of_structs_in_structs_are_located(backend):
    before = np.zeros(N, TREE)
    before["leaves"]["w"] = np.arange(3 * N).reshape(N, 3)
    before["grid"] = np.arange(4 * N).reshape(N, 2, 2)
    after, out = run(backend, of_trees, N, before, np.zeros(N, "i2"))
    total = before["leaves"]["w"] @ np.array([1, 2, 3], "i2")
    np.testing.assert_array_equal(out, total)
    np.testing.assert_array_equal(after["leaves"]["v"], np.tile([0, 1, 2], (N, 1)))
    np.testing.assert_array_equal(after["grid"][:, 1, 0], before["grid"][:, 0, 1] + total)


# ------------------------------------------------------------------ functions


@dppy.func
def moved_by(p, distance):
    p.x += distance
    return p.x


@dppy.func
def heavier(p, q):
    if p.mass >= q.mass:
        return p
    return q


@dppy.func
def bounds(p):
    return p.x, p.copy(), p.n


@dppy.kernel
def of_functions(p, q, out):
    i = dppy.get_global_id(0)
    out[i] = moved_by(p[i], 2)
    best = heavier(p[i], q[i])
    p[i].mass = -1
    out[i] += best.mass
    x, whole, n = bounds(q[i])
    q[i] = best
    out[i] += x + whole.n + n


@every_backend
def test_functions_take_and_return_structs(backend):
    one, other = particles(), particles()
    other["mass"] = np.arange(N) % 2
    p, q, out = run(backend, of_functions, N, one, other, np.zeros(N))
    best = np.where(one["mass"] >= other["mass"], one["mass"], other["mass"])
    np.testing.assert_array_equal(p["x"], one["x"] + 2)
    np.testing.assert_array_equal(q["mass"], best)
    np.testing.assert_array_equal(out, one["x"] + 2 + best + other["x"] + 2 * other["n"])


@dppy.kernel
def of_records(p, s, out):
    i = dppy.get_global_id(0)
    s.n += 1
    p[i].x = s.x * i
    p[i].mass = s.n
    out[i] = s["mass"]


@every_backend
def test_records_are_scalar_arguments(backend):
    record = np.array([(2.5, 3, 0.25, True)], PARTICLE)[0]
    p, out = run(backend, of_records, N, particles(), record, np.zeros(N))
    np.testing.assert_array_equal(p["x"], np.arange(N) * np.float32(2.5))
    np.testing.assert_array_equal(p["mass"], 4)
    np.testing.assert_array_equal(out, 0.25)
    assert record["n"] == 3


@dppy.kernel
def of_nested_records(s, out):
    out[0] = s.pos[0] + s.pos[2]
    out[1] = s.box.high[1]
    out[2] = s.id


@every_backend
def test_records_have_nested_structs_and_sub_arrays(backend):
    record = bodies()[5]
    (out,) = run(backend, of_nested_records, 1, record, np.zeros(3))
    assert out.tolist() == [15 + 17, 11, 5]


@every_backend
def test_records_with_arrays_of_structs_are_refused(backend):
    @dppy.kernel
    def read(s, out):
        out[0] = s.leaves[0].w

    with pytest.raises(ep.KernelError, match=r"pass an array of one element|has fields and no"):
        run(backend, read, 1, np.zeros(1, TREE)[0], np.zeros(1))


# ------------------------------------------------------------------ memory of kernels


@dppy.kernel
def with_local_memory(p, out):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    shared = dppy.local.array(4, PARTICLE)
    shared[own] = p[i]
    shared[own].x += 1
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    private = dppy.private.array(2, LEAF)
    private[0].w = own
    private[1] = (own + 1, 7)
    neighbor = shared[(own + 1) % 4]
    out[i] = neighbor.x + neighbor.n + private[1].v + private[1].w - private[0].w


@every_backend
def test_local_and_private_arrays_hold_structs(backend):
    before = particles()
    _, out = run(backend, with_local_memory, N, before, np.zeros(N), local=4)
    of_neighbor = (before["x"] + 1 + before["n"]).reshape(-1, 4)
    np.testing.assert_array_equal(out, np.roll(of_neighbor, -1, axis=1).ravel() + 7 + 1)


@dppy.kernel
def with_atomics(p):
    i = dppy.get_global_id(0)
    dppy.atomic.add(p.n, i % 3, 1)
    dppy.atomic.max(p["x"], i % 3, dppy.float32(i))


@every_backend
def test_atomics_change_fields(backend):
    before = np.zeros(3, PARTICLE)
    (after,) = run(backend, with_atomics, N, before)
    assert after["n"].tolist() == [4, 4, 4]
    assert after["x"].tolist() == [9, 10, 11]


# ------------------------------------------------------------------ arguments


@dppy.kernel
def doubled(p):
    i = dppy.get_global_id(0)
    p[i].x = 2 * p[i].x


@every_compiler
@pytest.mark.parametrize("step", [1, 2, -1])
def test_numpy_arrays_are_used_and_written_back(backend, step):
    whole = particles(2 * N)
    expected = whole.copy()
    part = whole[::step][:N]
    expected[::step][:N]["x"] *= 2
    with ep.device_context(backend.selector):
        doubled.options(dialect=backend.dialect)[N](part).wait()
    assert_same(whole, expected)


@every_compiler
def test_array_given_twice_is_one_array(backend):
    @dppy.kernel
    def shifted(p, q):
        i = dppy.get_global_id(0)
        p[i].x = q[i].n

    array = particles()
    with ep.device_context(backend.selector):
        shifted.options(dialect=backend.dialect)[N](array, array).wait()
    np.testing.assert_array_equal(array["x"], array["n"])


@pytest.mark.host
def test_fields_of_one_array_are_restrict_pointers():
    array = particles()
    with ep.device_context("host"):
        doubled[N](array).wait()
        assert "*__restrict p_x" in doubled.source()


@pytest.mark.host
def test_changes_of_one_field_by_all_work_items_are_refused():
    @dppy.kernel
    def lost(p):
        p[0].x += 1

    with (
        ep.device_context("host"),
        pytest.raises(ep.KernelError, match=r"`atomic\.add\(p\.x, index, value\)`"),
    ):
        lost[2](particles())


@dppy.func
def measured(p, i):
    return len(p) * 100 + p.shape[0] + p[i].n + p.x[i]


@dppy.kernel
def of_arrays(p, out):
    i = dppy.get_global_id(0)
    out[i] = measured(p, i) + measured(p[1::2], i // 2)


@every_backend
def test_functions_take_arrays_of_structs(backend):
    before = particles()
    _, out = run(backend, of_arrays, N, before, np.zeros(N))
    i = np.arange(N)
    part = before[1::2][i // 2]
    np.testing.assert_array_equal(
        out, 101 * N + before["n"] + before["x"] + 101 * (N // 2) + part["n"] + part["x"]
    )


@pytest.mark.host
def test_array_given_twice_has_no_restrict_pointers():
    @dppy.kernel
    def copied(p, q):
        i = dppy.get_global_id(0)
        p[i].x = q[i].x

    array = particles()
    with ep.device_context("host"):
        copied[N](array, array).wait()
    assert "__restrict" not in copied.source()


@pytest.mark.host
def test_strides_of_contiguous_arrays_are_constants():
    with ep.device_context("host"):
        doubled[N](particles()).wait()
        assert "p_x[i * 6]" in doubled.source()
        doubled[N](particles(2 * N)[::2]).wait()
        assert "p_x[i * 6]" not in doubled.source()


@pytest.mark.host
def test_kernel_is_compiled_once_for_each_layout():
    @dppy.kernel
    def first(p, out):
        out[0] = p[0].x

    out = np.zeros(1)
    with ep.device_context("host"):
        for _ in range(2):
            for dtype in ([("x", "f4"), ("y", "f4")], [("y", "f4"), ("x", "f4")]):
                array = np.zeros(1, dtype)
                array["x"] = 3
                first[1](array, out).wait()
                assert out[0] == 3
    assert first.specializations == 2


@pytest.mark.host
def test_captured_dtype_is_part_of_the_code():
    def made(dtype):
        @dppy.kernel
        def stored(out):
            own = dppy.private.array(1, dtype)
            own[0].x = 2.5
            out[0] = own[0].x

        return stored

    out = np.zeros(1)
    with ep.device_context("host"):
        made(np.dtype([("x", "f4")]))[1](out).wait()
        assert out[0] == 2.5
        made(np.dtype([("x", "i4")]))[1](out).wait()
        assert out[0] == 2


@pytest.mark.host
def test_bounds_are_checked_in_debug_builds():
    with ep.device_context("host"), pytest.raises(IndexError, match=r"index 12 is out of bounds"):
        doubled.options(debug=True)[N + 1](particles())


@pytest.mark.host
def test_certain_access_out_of_bounds_is_refused():
    with (
        ep.device_context("host"),
        pytest.raises(IndexError, match=r"index 12 is out of bounds for axis 0 of 'p\.x'"),
    ):
        doubled[N + 1](particles())


@pytest.mark.host
def test_read_only_array_may_be_read_only():
    array = particles()
    array.flags.writeable = False
    with ep.device_context("host"):
        with pytest.raises(ep.KernelError, match="read-only"):
            doubled[N](array)
        out = np.zeros(N)

        @dppy.kernel
        def read(p, out):
            i = dppy.get_global_id(0)
            out[i] = p[i].x

        read[N](array, out).wait()
    np.testing.assert_array_equal(out, array["x"])


# ------------------------------------------------------------------ refused arguments


@pytest.mark.host
@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        ([("a", "u1"), ("x", "f4")], r"'x' \(float32\) is at byte 1.*align=True"),
        ([("x", "f4"), ("y", "f4"), ("z", "f4"), ("m", "c16")], "at byte 12"),
        ([("o", "O")], "'o' is a Python object"),
        ([("s", "S4")], "'s' is bytes"),
        ([("t", "M8[s]")], r"'t' is datetime64\[s\]"),
        ([("x", ">f4")], "'x' is >f4"),
        ({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2]}, "'b' overlaps"),
        ({"names": ["z"], "formats": ["f8"], "itemsize": 12}, "do not divide those of the struct"),
    ],
)
def test_unsupported_layout_is_refused_by_field(dtype, message):
    array = np.zeros(2, dtype)
    for launch in (doubled[1], doubled.simulate[1, None]):
        with (
            ep.device_context("host"),
            pytest.raises(ep.KernelError, match=rf"argument 0 \(p\): .*{message}"),
        ):
            launch(array)


@pytest.mark.host
def test_stride_that_a_field_does_not_divide_is_refused():
    whole = np.zeros(4, [("s", [("x", "f8"), ("y", "f4"), ("z", "f4")]), ("t", "f4")])
    with (
        ep.device_context("host"),
        pytest.raises(ep.KernelError, match=r"argument 0 \(p\): the stride of 20 bytes"),
    ):
        doubled[2](whole["s"])


@pytest.mark.host
@pytest.mark.parametrize("captured", [np.zeros(2, PARTICLE), np.zeros(2, PARTICLE)[0]])
def test_captured_structs_are_refused(captured):
    @dppy.kernel
    def read(out):
        out[0] = captured["x"]

    with ep.device_context("host"), pytest.raises(ep.KernelError, match="structs are arguments"):
        read[1](np.zeros(1))


@pytest.mark.host
def test_signature_refuses_structs():
    kernel = dppy.kernel("void(float32[:])")(doubled_of_numbers)
    with ep.device_context("host"), pytest.raises(TypeError, match="signatures do not name"):
        kernel[1](dppy.StructArray.zeros(2, PARTICLE, "host"))
    with pytest.raises(ValueError, match="'Particle' is no type"):
        dppy.kernel("void(Particle[:])")
    with pytest.raises(ValueError, match="'float32x4' is a vector"):
        dppy.kernel("void(float32x4[:])")


def doubled_of_numbers(p):
    p[0] *= 2


# ------------------------------------------------------------------ StructArray


@pytest.mark.host
class TestStructArray:
    def test_field_is_a_view_at_its_offset(self):
        array = dppy.StructArray.zeros((2, 3), BODY, "host")
        start = array.bytes.data_ptr
        for name, offset in {"id": 0, "pos": 8, "box": 20, "c": 32}.items():
            field = array.field(name)
            data = field.bytes if isinstance(field, dppy.StructArray) else field
            assert data.data_ptr == start + offset, name
        assert array.field("pos").shape == (2, 3, 3)
        assert array.field("pos").strides == (3 * BODY.itemsize // 4, BODY.itemsize // 4, 1)
        assert array["box"].field("high").shape == (2, 3, 2)

    def test_numpy_array_is_viewed_without_a_copy(self):
        whole = bodies()
        array = dppy.StructArray.asarray(whole[::2])
        assert array.bytes.data_ptr == whole.ctypes.data
        assert np.shares_memory(array.numpy(), whole)
        assert_same(array.numpy(), whole[::2])
        array["box"].field("low").numpy()[1] = 9
        assert whole[2]["box"]["low"] == 9

    def test_export_is_read_back(self):
        array = dppy.StructArray.asarray(bodies())
        back = np.asarray(array)
        assert back.dtype.names == BODY.names
        assert_same(back, bodies())
        assert np.shares_memory(back, array.numpy())

    def test_object_with_descr_is_an_argument(self):
        class Exporter:
            def __init__(self, array):
                self.owner = array
                self.__array_interface__ = {**array.__array_interface__}

        array = particles()
        with ep.device_context("host"):
            doubled[N](Exporter(array)).wait()
        np.testing.assert_array_equal(array["x"], particles()["x"] * 2)

    def test_wrong_bytes_are_refused(self):
        with pytest.raises(ValueError, match="the last axis has the 24 of one struct"):
            dppy.StructArray(np.zeros((2, 8), "u1"), PARTICLE)
        with pytest.raises(TypeError, match="has no fields"):
            dppy.StructArray(np.zeros((2, 8), "u1"), "f8")
        with pytest.raises(TypeError, match="has no fields"):
            dppy.StructArray.asarray(np.zeros(2))
        with pytest.raises(KeyError, match="'y' is no field"):
            dppy.StructArray.zeros(1, PARTICLE, "host").field("y")

    def test_other_dtype_is_not_copied_from(self):
        with pytest.raises(TypeError, match="give structs of the same dtype"):
            dppy.StructArray.zeros(2, PARTICLE, "host").copy_from_host(np.zeros(2, LEAF))


@pytest.mark.cuda
def test_cuda_array_interface_has_the_fields():
    array = dppy.StructArray.to_device(particles(), "cuda:0")
    interface = array.__cuda_array_interface__
    assert interface["typestr"] == f"|V{PARTICLE.itemsize}"
    assert interface["descr"] == PARTICLE.descr

    class Exporter:
        __cuda_array_interface__ = interface

    doubled[N](Exporter()).wait()
    np.testing.assert_array_equal(array.copy_to_host()["x"], particles()["x"] * 2)


@pytest.mark.sycl
def test_usm_array_interface_has_the_bytes():
    array = dppy.StructArray.to_device(particles(), "opencl:cpu")
    interface = array.__sycl_usm_array_interface__
    assert interface["typestr"] == f"|V{PARTICLE.itemsize}"
    assert interface["shape"] == (N,)

    class Exporter:
        dtype = PARTICLE
        __sycl_usm_array_interface__ = interface

    doubled[N](Exporter()).wait()
    np.testing.assert_array_equal(array.copy_to_host()["x"], particles()["x"] * 2)


# ------------------------------------------------------------------ tools


@pytest.mark.host
@pytest.mark.parametrize("dialect", ["opencl-c", "sycl", "cuda", "hip", "c++"])
def test_source_of_a_launch_has_a_pointer_for_each_field(dialect):
    with ep.device_context("host"):
        of_fields[N](particles(), np.zeros(N)).wait()
    text = of_fields.source(dialect)
    assert all(name in text for name in ("p_x", "p_n", "p_mass", "p_alive"))


@pytest.mark.host
def test_report_names_the_loop_over_work_items():
    with ep.device_context("host"):
        doubled[N](particles()).wait()
    assert "over work-items" in doubled.report()


@pytest.mark.host
def test_simulator_finds_races_of_fields():
    @dppy.kernel
    def raced(p):
        p[0].x = dppy.get_global_id(0)

    with pytest.raises(ep.KernelError, match=r"race for p\.x\[0\]"):
        raced.simulate[2, None](particles())

    @dppy.kernel
    def side_by_side(p):
        if dppy.get_global_id(0) == 0:
            p[0].x = 1
        else:
            p[0].n = 2

    array = particles()
    side_by_side.simulate[2, None](array)
    assert (array[0]["x"], array[0]["n"]) == (1, 2)


# ------------------------------------------------------------------ local memory of a launch


@dppy.kernel
def with_accessors(p, scratch, pairs, out):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    scratch[own] = p[i]
    pairs[own] = dppy.float2(own, scratch[own].box.high[1])
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    neighbor = scratch[(own + 1) % 4]
    pair = pairs[(own + 2) % 4]
    out[i] = neighbor.pos[2] + neighbor.id + pair.x + pair.y + len(scratch)


@every_backend
def test_local_accessors_hold_structs_and_vectors(backend):
    before = bodies()
    _, out = run(
        backend,
        with_accessors,
        N,
        before,
        dppy.LocalAccessor(4, BODY),
        dppy.LocalAccessor(4, dppy.float2),
        np.zeros(N),
        local=4,
    )
    groups = before.reshape(-1, 4)
    one, two = np.roll(groups, -1, axis=1), np.roll(groups, -2, axis=1)
    expected = (
        one["pos"][..., 2] + one["id"] + np.roll(np.arange(4), -2) + two["box"]["high"][..., 1]
    )
    np.testing.assert_array_equal(out.reshape(-1, 4), expected + 4)


@pytest.mark.host
def test_local_accessor_refuses_fields_by_name():
    with pytest.raises(ep.KernelError, match=r"'x' .* make the dtype with align=True"):
        dppy.LocalAccessor(4, np.dtype([("a", "u1"), ("x", "f4")]))
    assert dppy.LocalAccessor(4, BODY).dtype is BODY


@pytest.mark.host
def test_exported_header_takes_a_pointer_for_each_field(tmp_path):
    @dppy.kernel
    def moved_bodies(p, p_x):
        i = dppy.get_global_id(0)
        p[i].x += p_x[i] + p[i].mass

    array = particles()
    with ep.device_context("host"):
        moved_bodies[N](array, np.zeros(N, "f4")).wait()
    header = tmp_path / "moved.hpp"
    moved_bodies.export(header)
    text = header.read_text()
    assert "float *p_x_, const double *p_mass, const float *p_x," in text
