"""Arrays without NumPy: everything but NumPy's own arrays."""

from __future__ import annotations

import sys

import pytest

from support.processes import output_of

PROGRAM = """
import sys

sys.modules.update(dict.fromkeys(("numpy", "ml_dtypes", "dpctl", "dpnp", "rich")))
import array
import ctypes

import entrepot as ep

SOURCE = {
    "host": 'extern "C" void twice(const long long *range, void *const *arguments) {'
            ' for (long long i = range[10]; i < range[11]; ++i)'
            ' static_cast<int *>(arguments[0])[i] *= 2; }',
    "opencl:cpu": "__kernel void twice(__global int *a) { a[get_global_id(0)] *= 2; }",
}


def values(each):
    return memoryview(each.copy_to_host()).tolist()

backing = array.array("i", range(12))
view = ep.asarray(backing)
assert (view.shape, str(view.dtype), view.data_ptr) == ((12,), "int32", backing.buffer_info()[0])
matrix = view.reshape(3, 4)
assert matrix.T.shape == (4, 3) and int(matrix[2, 3]) == 11
assert values(matrix[1:, ::-2]) == [[7, 5], [11, 9]]
assert view.view("uint8").nbytes == 48 and "int32" in repr(view) and "11" in repr(view)
assert ep.asarray(b"abc").read_only
assert values(ep.asarray((ctypes.c_double * 3)(1, 2, 3))) == [1, 2, 3]

ep.fill(matrix[0], 9).wait()
assert backing[:4].tolist() == [9] * 4
back = ep.asarray(matrix.__dlpack__(max_version=(1, 0)))
assert back.data_ptr == view.data_ptr and memoryview(back).tolist()[0] == [9] * 4
there = ep.asarray(backing, device=DEVICE, copy=True)
assert values(there) == backing.tolist()
ep.copy(view, ep.zeros(12, "int32", device=DEVICE)).wait()
assert not any(backing)

twice = ep.Program(SOURCE[DEVICE], ep.device(DEVICE)).kernel("twice")
there = ep.asarray(array.array("i", range(12)), device=DEVICE, copy=True)
twice[12](there).wait()
assert values(there) == list(range(0, 24, 2))
for call in (matrix.numpy, lambda: ep.asarray([1, 2])):
    try:
        call()
    except (ImportError, TypeError) as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("device", ["host", pytest.param("opencl:cpu", marks=pytest.mark.sycl)])
def test_arrays_work_without_numpy(device: str) -> None:
    program = f"DEVICE = {device!r}\n{PROGRAM}"
    output = output_of([sys.executable, "-c", program], timeout=120)
    its_own, of_a_list = output.splitlines()
    assert its_own.startswith("ModuleNotFoundError ") and "numpy" in its_own
    assert of_a_list.startswith("TypeError a list holds no memory that can be viewed")
