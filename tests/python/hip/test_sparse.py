"""hipSPARSE, a further library that needs only a file of settings.

Tested: its absence, AMD's library without a device, and calls of a stand-in to the end.

AMD's library takes 1.3 GB, and CI does without. Not installed, but unpacked (`apt-get download
libhipsparse0 librocsparse0`, `dpkg-deb -x` each into a folder), it is found by
ENTREPOT_HIPSPARSE_LIBRARY, and what it needs by LD_LIBRARY_PATH.
"""

from __future__ import annotations

import array
import ctypes
import subprocess

import pytest

from entrepot import LibraryError, hip, hipsparse
from entrepot.hip import hip_check
from support.processes import run


def test_names_exist_without_the_library():
    assert hipsparse.hipsparseStatus_t.HIPSPARSE_STATUS_SUCCESS == 0
    assert "hipsparseScsrmv" in hipsparse.__all__  # type: ignore[attr-defined] # not in the stub
    assert hipsparse.hipsparseMatDescr_t.__base__ in hipsparse.hipsparseHandle_t.__mro__
    assert hipsparse.hipsparseHandle_t is not hipsparse.hipsparseMatDescr_t


def test_call_without_the_library_lists_attempts():
    if hipsparse._library.is_there():  # type: ignore[attr-defined] # not in the stub
        pytest.skip("hipSPARSE is here")
    with pytest.raises(LibraryError) as caught:
        hipsparse.hipsparseCreate()
    assert isinstance(caught.value, ImportError)
    said = str(caught.value)
    for word in (
        "libhipsparse.so.4",
        "libhipsparse.so.0",
        "/opt/rocm/lib",
        "ENTREPOT_HIPSPARSE_LIBRARY",
        "libhipsparse0",
    ):
        assert word in said, said


@pytest.mark.hip_library
@pytest.mark.hipsparse_library
class TestAmdsLibrary:
    """Descriptions of matrices and vectors are host objects: they need no device."""

    def test_matrix_description_round_trips(self):
        assert (
            hipsparse.hipsparseGetVersion(None)[0]
            == hipsparse.hipsparseStatus_t.HIPSPARSE_STATUS_NOT_INITIALIZED
        )
        descr, copy = (
            hip_check(hipsparse.hipsparseCreateMatDescr()),
            hip_check(hipsparse.hipsparseCreateMatDescr()),
        )
        properties = {
            "MatIndexBase": hipsparse.hipsparseIndexBase_t.HIPSPARSE_INDEX_BASE_ONE,
            "MatType": hipsparse.hipsparseMatrixType_t.HIPSPARSE_MATRIX_TYPE_SYMMETRIC,
            "MatFillMode": hipsparse.hipsparseFillMode_t.HIPSPARSE_FILL_MODE_UPPER,
            "MatDiagType": hipsparse.hipsparseDiagType_t.HIPSPARSE_DIAG_TYPE_UNIT,
        }
        for name, value in properties.items():
            assert hip_check(getattr(hipsparse, f"hipsparseGet{name}")(descr)) == 0
            hip_check(getattr(hipsparse, f"hipsparseSet{name}")(descr, value))
        hip_check(hipsparse.hipsparseCopyMatDescr(copy, descr))
        for name, value in properties.items():
            found = hip_check(getattr(hipsparse, f"hipsparseGet{name}")(copy))
            assert (found, type(found)) == (value, type(value))
        hip_check(hipsparse.hipsparseDestroyMatDescr(copy))
        hip_check(hipsparse.hipsparseDestroyMatDescr(descr))

    def test_descriptors_round_trip(self):
        values, at = array.array("f", [1, 2, 3]), array.array("i", [0, 2, 4])
        index, base = (
            hipsparse.hipsparseIndexType_t.HIPSPARSE_INDEX_32I,
            hipsparse.hipsparseIndexBase_t.HIPSPARSE_INDEX_BASE_ONE,
        )
        real = hip.hipDataType.HIP_R_32F
        addresses = [each.buffer_info()[0] for each in (at, values)]

        dense = hip_check(hipsparse.hipsparseCreateDnVec(3, values, real))
        assert hip_check(hipsparse.hipsparseDnVecGet(dense)) == (3, addresses[1], real)
        sparse = hip_check(hipsparse.hipsparseCreateSpVec(8, 3, at, values, index, base, real))
        assert hip_check(hipsparse.hipsparseSpVecGet(sparse)) == (
            8,
            3,
            *addresses,
            index,
            base,
            real,
        )
        matrix = hip_check(
            hipsparse.hipsparseCreateCsr(2, 5, 3, at, at, values, index, index, base, real)
        )
        assert hip_check(hipsparse.hipsparseSpMatGetSize(matrix)) == (2, 5, 3)
        assert (
            hip_check(hipsparse.hipsparseSpMatGetFormat(matrix))
            is hipsparse.hipsparseFormat_t.HIPSPARSE_FORMAT_CSR
        )
        assert hip_check(hipsparse.hipsparseSpMatGetIndexBase(matrix)) is base
        with pytest.raises(
            TypeError,
            match="argument 'spMatDescr': a hipsparseSpMatDescr_t was expected, not a "
            "hipsparseDnVecDescr_t",
        ):
            hipsparse.hipsparseDestroySpMat(dense)
        hip_check(hipsparse.hipsparseDestroyDnVec(dense))
        hip_check(hipsparse.hipsparseDestroySpVec(sparse))
        hip_check(hipsparse.hipsparseDestroySpMat(matrix))

    def test_calls_without_a_handle_return_a_status(self):
        """Version 5.3 returns success without a device, and creates no handle."""
        if hip.hipGetDeviceCount()[0] == 0:
            pytest.skip("there is a HIP device here")
        status, handle = hipsparse.hipsparseCreate()
        assert handle is None or status != 0
        descr = hip_check(hipsparse.hipsparseCreateMatDescr())
        numbers, at, one = array.array("f", [1, 2]), array.array("i", [0, 1, 2]), ctypes.c_float(1)
        none = hipsparse.hipsparseOperation_t.HIPSPARSE_OPERATION_NON_TRANSPOSE
        (status,) = hipsparse.hipsparseScsrmv(
            None, none, 2, 2, 2, one, descr, numbers, at, at, numbers, one, numbers
        )
        assert status in (
            hipsparse.hipsparseStatus_t.HIPSPARSE_STATUS_INVALID_VALUE,
            hipsparse.hipsparseStatus_t.HIPSPARSE_STATUS_NOT_INITIALIZED,
        )
        hip_check(hipsparse.hipsparseDestroyMatDescr(descr))


#: Without a device: y = alpha * A x + beta * y on host arrays.
STAND_IN = """
#include <stdlib.h>
int hipsparseCreate(void **handle) { *handle = malloc(1); return 0; }
int hipsparseDestroy(void *handle) { free(handle); return 0; }
int hipsparseCreateMatDescr(void **descr) { *descr = calloc(1, sizeof(int)); return 0; }
int hipsparseDestroyMatDescr(void *descr) { free(descr); return 0; }
int hipsparseSetMatIndexBase(void *descr, int base) { *(int *)descr = base; return 0; }
int hipsparseGetMatIndexBase(const void *descr) { return *(const int *)descr; }
int hipsparseScsrilu02_bufferSize(void *handle, int m, int nnz, void *descr, float *values,
                                  const int *rows, const int *columns, void *info, int *bytes) {
    *bytes = 4 * nnz;
    return 0;
}
int hipsparseScsrmv(void *handle, int op, int m, int n, int nnz, const float *alpha, void *descr,
                    const float *values, const int *rows, const int *columns, const float *x,
                    const float *beta, float *y) {
    const int base = *(int *)descr;
    for (int row = 0; row < m; ++row) {
        float sum = 0;
        for (int at = rows[row] - base; at < rows[row + 1] - base; ++at)
            sum += values[at] * x[columns[at] - base];
        y[row] = *alpha * sum + *beta * y[row];
    }
    return 0;
}
"""

PROGRAM = """
import array, ctypes, os
os.environ["ENTREPOT_HIPSPARSE_LIBRARY"] = "{library}"
from entrepot import hipsparse
from entrepot.hip import hip_check

handle = hip_check(hipsparse.hipsparseCreate())
descr = hip_check(hipsparse.hipsparseCreateMatDescr())
index_base = hipsparse.hipsparseIndexBase_t.HIPSPARSE_INDEX_BASE_ONE
hip_check(hipsparse.hipsparseSetMatIndexBase(descr, index_base))
print(hipsparse.hipsparseGetMatIndexBase(descr)[1].name)
values = array.array("f", [1, 2, 3])
rows, columns = array.array("i", [1, 3, 4]), array.array("i", [1, 2, 2])
x, y = array.array("f", [1, 10]), array.array("f", [100, 100])
matrix = descr, values, rows, columns
print(hip_check(hipsparse.hipsparseScsrilu02_bufferSize(handle, 2, 3, *matrix, None)))
none = hipsparse.hipsparseOperation_t.HIPSPARSE_OPERATION_NON_TRANSPOSE
one = ctypes.c_float(1)
hip_check(hipsparse.hipsparseScsrmv(handle, none, 2, 2, 3, one, *matrix, x, one, y))
print(y.tolist())
for wrong in (
    lambda: hipsparse.hipsparseScsrmv(descr, none, 2, 2, 3, one, *matrix, x, one, y),
    lambda: hipsparse.hipsparseScsrmv(handle, none, 2, 2, 3, one, *matrix, x, one, bytes(8)),
):
    try:
        wrong()
    except (TypeError, ValueError) as error:
        print(error)
hip_check(hipsparse.hipsparseDestroyMatDescr(descr))
hip_check(hipsparse.hipsparseDestroy(handle))
"""


def test_stand_in_receives_arguments(tmp_path):
    (tmp_path / "hipsparse.c").write_text(STAND_IN)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "lib.so", tmp_path / "hipsparse.c"], check=True
    )
    base, size, product, handle, memory = run(
        PROGRAM.format(library=tmp_path / "lib.so")
    ).splitlines()
    assert (base, size, product) == ("HIPSPARSE_INDEX_BASE_ONE", "12", "[121.0, 130.0]")
    assert (
        "argument 'handle': a hipsparseHandle_t was expected, not a hipsparseMatDescr_t" in handle
    )
    assert "argument 'y': the memory of a bytes is read-only" in memory
