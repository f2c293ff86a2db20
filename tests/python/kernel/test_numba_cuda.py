"""Every row of the table of docs/kernels/numba_cuda.md: its right cell, run; and its left cell,
run by Numba."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import BACKENDS, Backend
from support.processes import completed, output_of

pytestmark = pytest.mark.numpy

TABLE = Path(__file__).parents[3] / "docs" / "kernels" / "numba_cuda.md"
CONSTANTS = np.array([3, 1, 4, 1], "f4")

ROWS: dict[str, Callable[[Backend], None]] = {}


def row(name: str) -> Callable:
    def keep(test: Callable[[Backend], None]) -> Callable[[Backend], None]:
        ROWS[name] = test
        return test

    return keep


def _first_cells() -> list[str]:
    lines = [
        line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
    return [line.split(" | ")[0].removeprefix("| ") for line in lines[1:]]


@dppy.kernel
def index_functions(out):
    i = dppy.get_global_id(0)
    out[i, 0] = dppy.get_global_size(0)
    out[i, 1] = dppy.get_local_id(0)
    out[i, 2] = dppy.get_group_id(0)
    out[i, 3] = dppy.get_local_size(0)
    out[i, 4] = dppy.get_num_groups(0)


def _index_column(column: int, expected: list[int]) -> Callable[[Backend], None]:
    def test(backend: Backend) -> None:
        (out,) = backend.run(index_functions, 6, 3, np.zeros((6, 5), "i8"))
        assert out[:, column].tolist() == expected

    return test


row("`cuda.gridsize(1)`")(_index_column(0, [6] * 6))
row("`cuda.threadIdx.x`")(_index_column(1, [0, 1, 2, 0, 1, 2]))
row("`cuda.blockIdx.x`")(_index_column(2, [0, 0, 0, 1, 1, 1]))
row("`cuda.blockDim.x`")(_index_column(3, [3] * 6))
row("`cuda.gridDim.x`")(_index_column(4, [2] * 6))


@dppy.func
def plus_one(x):
    return x + 1


@dppy.kernel
def increments(a):
    i = dppy.get_global_id(0)
    a[i] = plus_one(a[i])


@row("`@cuda.jit`")
@row("`@cuda.jit(device=True)`")
@row("`cuda.grid(1)`")
@row("`k.forall(n)(…)`")
def _(backend):
    assert backend.run(increments, 4, None, np.arange(4, dtype="f4"))[0].tolist() == [1, 2, 3, 4]


@row("`k[blocks, threads](…)`")
def _(backend):
    blocks, threads = 2, 4
    assert (
        backend.run(increments, blocks * threads, threads, np.zeros(8, "f4"))[0].tolist() == [1] * 8
    )


@row('`@cuda.jit("void(float32[:])")`')
def _(backend):
    with ep.device_context(backend.selector):

        @dppy.kernel("void(float32[:])")
        def eager(a):
            a[dppy.get_global_id(0)] = 2

    assert backend.run(eager, 2, None, np.zeros(2, "f4"))[0].tolist() == [2, 2]


@dppy.kernel
def sub_group_functions(out, x):
    i = dppy.get_global_id(0)
    lane, size = dppy.get_sub_group_local_id(), dppy.get_sub_group_size()
    one = dppy.sub_group.shuffle(x[i], 1)
    other = dppy.sub_group.shuffle_xor(x[i], 1)
    up = dppy.sub_group.shuffle_up(x[i], 1)
    down = dppy.sub_group.shuffle_down(x[i], 1)
    dppy.sub_group_barrier()
    out[i, 0] = lane
    out[i, 1] = size
    out[i, 2] = one == x[i - lane + 1]
    out[i, 3] = other == x[i ^ 1]
    out[i, 4] = lane == 0 or up == x[max(i - 1, 0)]
    out[i, 5] = lane == size - 1 or down == x[min(i + 1, 15)]


def _sub_groups(column: int) -> Callable[[Backend], None]:
    def test(backend: Backend) -> None:
        (out, _) = backend.run(
            sub_group_functions, 16, 16, np.zeros((16, 6), "i8"), np.arange(16, dtype="i4") * 3
        )
        if column < 2:
            assert (out[:, 0] < out[:, 1]).all()
        else:
            assert out[:, column].all()

    return test


row("`cuda.laneid`")(_sub_groups(0))
row("`cuda.warpsize`")(_sub_groups(1))
row("`cuda.syncwarp()`")(_sub_groups(2))
row("`cuda.shfl_sync(mask, x, lane)`")(_sub_groups(2))
row("`cuda.shfl_xor_sync(mask, x, n)`")(_sub_groups(3))
row("`cuda.shfl_up_sync(mask, x, n)`")(_sub_groups(4))
row("`cuda.shfl_down_sync(mask, x, n)`")(_sub_groups(5))


@dppy.kernel
def all_memory(out, at_launch):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.float32)
    mine = dppy.private.array(2, dppy.float32)
    constants = dppy.constant.array(CONSTANTS)
    shared[own] = i
    at_launch[own] = i * 10
    mine[0] = constants[own]
    dppy.mem_fence()
    dppy.barrier()
    some = dppy.group.any(own == 3)
    every = dppy.group.all(own < 3)
    out[i, 0] = shared[3 - own]
    out[i, 1] = at_launch[3 - own]
    out[i, 2] = mine[0]
    out[i, 3] = some
    out[i, 4] = every


def _memory(column: int, expected: list[float]) -> Callable[[Backend], None]:
    def test(backend: Backend) -> None:
        (out,) = backend.run(
            all_memory, 4, 4, np.zeros((4, 5), "f4"), dppy.LocalAccessor(4, dppy.float32)
        )
        assert out[:, column].tolist() == expected

    return test


row("`cuda.shared.array(shape, dtype)`")(_memory(0, [3, 2, 1, 0]))
row("`cuda.syncthreads()`")(_memory(0, [3, 2, 1, 0]))


@dppy.kernel
def all_groups(out):
    i = dppy.get_global_id(0)
    out[i] = i
    dppy.grid_barrier()
    total = out[3 - i]
    dppy.grid_barrier()
    out[i] = total


@row("`cuda.cg.this_grid().sync()`")
def _(backend):
    local = 4 if backend.marker == "sycl" else 2
    assert backend.run(all_groups, 4, local, np.zeros(4, "f4"))[0].tolist() == [3, 2, 1, 0]


row("`cuda.threadfence()`")(_memory(0, [3, 2, 1, 0]))
row("`cuda.shared.array(0, dtype)` and bytes at launch")(_memory(1, [30, 20, 10, 0]))
row("`cuda.local.array(shape, dtype)`")(_memory(2, CONSTANTS.tolist()))
row("`cuda.const.array_like(values)`")(_memory(2, CONSTANTS.tolist()))
row("`cuda.syncthreads_or(x)`")(_memory(3, [1] * 4))
row("`cuda.syncthreads_and(x)`")(_memory(4, [0] * 4))


@dppy.kernel
def atomics(a):
    i = dppy.get_global_id(0)
    dppy.atomic.add(a, 0, i)
    dppy.atomic.min(a, 1, i)
    dppy.atomic.max(a, 2, i)
    dppy.atomic.exchange(a, 3, 9)
    dppy.atomic.compare_exchange(a, 4, 0, 7)


def _atomics(places: slice, expected: list[int]) -> Callable[[Backend], None]:
    def test(backend: Backend) -> None:
        (a,) = backend.run(atomics, 5, None, np.array([0, 50, 0, 0, 0], "i4"))
        assert a[places].tolist() == expected

    return test


row("`cuda.atomic.add(a, i, x)`")(_atomics(slice(0, 1), [10]))
row("`cuda.atomic.min(a, i, x)`, `max`")(_atomics(slice(1, 3), [0, 4]))
row("`cuda.atomic.exch(a, i, x)`")(_atomics(slice(3, 4), [9]))
row("`cuda.atomic.cas(a, i, old, new)`")(_atomics(slice(4, 5), [7]))


@row("`cuda.to_device(a)`")
@row("`d.copy_to_host()`")
def _(backend):
    there = dppy.to_device(np.arange(3), device=backend.selector)
    assert there.device == backend.device
    assert there.copy_to_host().numpy().tolist() == [0, 1, 2]


@row("`cuda.device_array(shape, dtype)`")
def _(backend):
    there = dppy.device_array((2, 3), "float32", device=backend.selector)
    assert (there.shape, there.device) == ((2, 3), backend.device)


@row('`@vectorize(target="cuda")`')
def _(backend):
    @dppy.vectorize
    def doubled(x):
        return x * 2

    result = doubled(backend.array(np.arange(3.0)))
    assert ep.asarray(result).copy_to_host().numpy().tolist() == [0, 2, 4]


POINT = np.dtype([("x", "f4"), ("y", "f4")])


@dppy.kernel
def of_records(p):
    i = dppy.get_global_id(0)
    q = p[i]
    q["x"] = 2 * p[i]["y"]
    p[i].y = p[i].x + 1


@row('`p[i].x`, `p[i]["x"]` of a record array')
def _(backend):
    points = np.zeros(4, POINT)
    points["y"] = np.arange(4)
    moved = dppy.StructArray.to_device(points, backend.device)
    backend.launch(of_records, 4, None, moved)
    points = moved.copy_to_host()
    assert points["x"].tolist() == [0, 2, 4, 6]
    assert points["y"].tolist() == [1, 3, 5, 7]


@dppy.kernel
def of_vectors(out):
    v = dppy.float32x4(1, 2, 3, 4)
    out[dppy.get_global_id(0)] = v.x + v.w


@row("`cuda.float32x4(x, y, z, w)`")
def _(backend):
    (out,) = backend.run(of_vectors, 2, None, np.zeros(2, "f4"))
    assert out.tolist() == [5, 5]


@row("`@cuda.reduce`")
def _(backend):
    total = dppy.reduce(lambda x, y: x + y)
    assert float(total(backend.array(np.arange(5.0)))) == 10


@row("`cuda.synchronize()`")
def _(backend):
    array = backend.array(np.zeros(2, "f4"))
    event = increments[2](array)
    event.wait()
    assert event.done


@row("`NUMBA_ENABLE_CUDASIM=1`")
def _(backend):
    program = (
        "import numpy as np, entrepot.kernel as dppy, tempfile, importlib.util, pathlib\n"
        "folder = tempfile.TemporaryDirectory()\n"
        "path = pathlib.Path(folder.name) / 'simulated.py'\n"
        "path.write_text('import entrepot.kernel as d\\nran = []\\n@d.kernel\\ndef k(a):\\n    "
        "ran.append(1)\\n')\n"
        "spec = importlib.util.spec_from_file_location('simulated', path)\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "module.k[2, dppy.DEFAULT_LOCAL_SIZE](np.zeros(2))\n"
        "print(len(module.ran))\n"
    )
    environment = os.environ | {"ENTREPOT_SIMULATE": "1"}
    done = completed([sys.executable, "-c", program], env=environment, timeout=60)
    assert done.stdout.strip() == "2", done.stderr


def test_rows_of_table_all_have_a_test():
    assert sorted(_first_cells()) == sorted(ROWS)


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(each, id=str(each), marks=getattr(pytest.mark, each.marker))
        for each in BACKENDS
        if each.name != "sycl"
    ],
)
@pytest.mark.parametrize("name", ROWS)
def test_row_of_table(name, backend):
    ROWS[name](backend)


def test_names_of_the_table_are_there():
    """Every name in the right column exists."""
    for line in TABLE.read_text(encoding="utf-8").splitlines()[5:]:
        if line.startswith("| "):
            for name in re.findall(r"`@?([a-z_]+(?:\.[a-z_]+)?)[(`\[]", line.split(" | ")[1]):
                if name.split(".")[0] not in ("k", "d", "event", "max"):
                    owner: object = dppy
                    for part in name.split("."):
                        owner = getattr(owner, part)


def _names_of_numba_alone() -> dict[str, list[str]]:
    """Names of numba.cuda that entrepot.kernel does not have, and the right cells of their rows."""
    rows = [
        line.split(" | ")
        for line in TABLE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    found: dict[str, list[str]] = {}
    for left, right, *_ in rows:
        for name in re.findall(r"\bcuda\.(\w+)", left):
            if name not in dppy.__all__:
                found.setdefault(name, []).append(re.sub(r" \|$", "", right))
    return found


@pytest.mark.parametrize(
    ("name", "cells"), _names_of_numba_alone().items(), ids=_names_of_numba_alone()
)
def test_numba_name_is_refused_with_its_equivalent(name, cells):
    with pytest.raises(AttributeError) as refusal:
        getattr(dppy, name)
    message = str(refusal.value)
    assert message.startswith(f"module 'entrepot.kernel' has no attribute '{name}': ")
    for cell in cells:
        assert re.findall(r"`(@?[\w.]+)", cell)[0] in message
    with pytest.raises(ImportError, match=re.escape(message)):
        exec(f"from entrepot.kernel import {name}")


def test_unknown_name_is_refused_without_advice():
    with pytest.raises(
        AttributeError, match=r"^module 'entrepot.kernel' has no attribute 'no_such_name'$"
    ):
        dppy.no_such_name  # noqa: B018


@pytest.mark.numba
@pytest.mark.parametrize(
    "simulated",
    [pytest.param(False, marks=pytest.mark.cuda), True],
    ids=["cuda", "Numba's simulator"],
)
def test_numba_column_has_the_same_results(simulated):
    """Run by Numba itself, with the results of the right cells above."""
    pytest.importorskip("numba.cuda")
    script = Path(__file__).with_name("numba_cuda_column.py")
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": str(int(simulated))}
    output = output_of([sys.executable, script], env=environment)
    said = output.splitlines()
    assert {line.removeprefix("- ") for line in said} == set(ROWS)
    left_out = [line for line in said if line.startswith("- ")]
    assert bool(left_out) == simulated
    assert len(left_out) < len(said) / 2
