"""The documentation's example of hipRAND with NumPy.

It runs on AMD's library as far as a machine without a device allows. On a HIP device it runs to the
end, or on NVIDIA's with tests/hip_over_cuda, or on a stand-in with host memory and C's generator.
"""

from __future__ import annotations

import subprocess

import pytest

from entrepot import hiprand
from entrepot.hip import HipError, hip_check
from support.processes import run

RUNTIME = """
#include <stdlib.h>
#include <string.h>
int hipMalloc(void **out, size_t bytes) { return (*out = malloc(bytes)) ? 0 : 2; }
int hipFree(void *memory) { free(memory); return 0; }
int hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
    (void)kind;
    memcpy(to, from, bytes);
    return 0;
}
"""

#: hipRAND's host generators fill host memory, the others device memory; both are the same here.
GENERATOR = """
#include <stdlib.h>
struct generator { unsigned short state[3]; };
int hiprandCreateGenerator(struct generator **out, int type) {
    (void)type;
    *out = calloc(1, sizeof **out);
    return 0;
}
int hiprandCreateGeneratorHost(struct generator **out, int type) {
    return hiprandCreateGenerator(out, type);
}
int hiprandSetPseudoRandomGeneratorSeed(struct generator *it, unsigned long long seed) {
    it->state[0] = (unsigned short)seed;
    return 0;
}
int hiprandGenerateUniform(struct generator *it, float *to, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] = (float)(1 - erand48(it->state)); /* in (0, 1], as hipRAND's */
    return 0;
}
int hiprandGenerateUniformDouble(struct generator *it, double *to, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] = 1 - erand48(it->state);
    return 0;
}
int hiprandDestroyGenerator(struct generator *it) { free(it); return 0; }
"""

PROLOGUE = """
import numpy as np
from entrepot import hip, hiprand
from entrepot.hip import hip_check
"""

#: The documentation's example of HIP Python, but for the import.
ESTIMATE_OF_PI = """
def calculate_pi(n):
    xy = np.empty(shape=(2, n))
    gen = hip_check(
        hiprand.hiprandCreateGenerator(hiprand.hiprandRngType.HIPRAND_RNG_PSEUDO_DEFAULT)
    )
    xy_d = hip_check(hip.hipMalloc(xy.size * xy.itemsize))
    hip_check(hiprand.hiprandGenerateUniformDouble(gen, xy_d, xy.size))
    hip_check(
        hip.hipMemcpy(xy, xy_d, xy.size * xy.itemsize, hip.hipMemcpyKind.hipMemcpyDeviceToHost)
    )
    hip_check(hip.hipFree(xy_d))
    hip_check(hiprand.hiprandDestroyGenerator(gen))
    inside = xy[0, :] ** 2 + xy[1, :] ** 2 <= 1.0
    return 4 * np.count_nonzero(inside) / n

assert abs(calculate_pi(10**6) - np.pi) < 0.01
print("done")
"""

INTO_MEMORY_OF_THE_HOST = """
import entrepot as ep

def filled(numbers, seed):
    gen = hip_check(
        hiprand.hiprandCreateGeneratorHost(hiprand.hiprandRngType.HIPRAND_RNG_PSEUDO_DEFAULT)
    )
    hip_check(hiprand.hiprandSetPseudoRandomGeneratorSeed(gen, seed))
    hip_check(hiprand.hiprandGenerateUniform(gen, numbers, 10**5))
    hip_check(hiprand.hiprandDestroyGenerator(gen))
    return np.asarray(numbers)

numpys, ours = filled(np.zeros(10**5, "f4"), 7), filled(ep.zeros(10**5, "float32"), 7)
assert abs(numpys.mean() - 0.5) < 0.01 and 0 < numpys.min() and numpys.max() <= 1
assert np.array_equal(numpys, ours) and not np.array_equal(numpys, filled(np.zeros(10**5, "f4"), 8))
constant = np.zeros(10**5, "f4")
constant.flags.writeable = False
try:
    filled(constant, 7)
except ValueError as error:
    assert "argument 'output_data': the memory of a numpy.ndarray is read-only" in str(error), error
    print("done")
"""


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory):
    """Variables that name the libraries."""
    folder = tmp_path_factory.mktemp("stand_ins")
    for name, source in {"hip": RUNTIME, "hiprand": GENERATOR}.items():
        (folder / f"{name}.c").write_text(source)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", folder / f"lib{name}.so", folder / f"{name}.c"],
            check=True,
        )
    return {
        f"ENTREPOT_{name.upper()}_LIBRARY": str(folder / f"lib{name}.so")
        for name in ("hip", "hiprand")
    }


@pytest.mark.numpy
@pytest.mark.parametrize("where", ["stand-in", pytest.param("device", marks=pytest.mark.hip)])
@pytest.mark.parametrize(
    "example", [ESTIMATE_OF_PI, INTO_MEMORY_OF_THE_HOST], ids=["pi", "memory of the host"]
)
def test_example_completes(stand_ins, monkeypatch, where, example):
    if where == "stand-in":
        for variable, library in stand_ins.items():
            monkeypatch.setenv(variable, library)
    assert run(PROLOGUE + example) == "done"


@pytest.mark.hip_library
@pytest.mark.hiprand_library
def test_generator_without_device_has_a_status():
    """Debian's 5.3 has no host generator, either."""
    version = hip_check(hiprand.hiprandGetVersion())
    status = hiprand.hiprandStatus
    kind = hiprand.hiprandRngType.HIPRAND_RNG_PSEUDO_DEFAULT
    found, generator = hiprand.hiprandCreateGenerator(kind)
    if found == status.HIPRAND_STATUS_SUCCESS:
        pytest.skip("there is a HIP device here")
    assert (found, generator) == (status.HIPRAND_STATUS_ALLOCATION_FAILED, None)
    if version < 201100:
        assert hiprand.hiprandCreateGeneratorHost(kind) == (
            status.HIPRAND_STATUS_NOT_IMPLEMENTED,
            None,
        )
        with pytest.raises(HipError, match=r"HIPRAND_STATUS_NOT_IMPLEMENTED.*1000"):
            hip_check(hiprand.hiprandCreateGeneratorHost(kind))


ROCM_6 = """
hiprandGenerateLongLong hiprandSetGeneratorOrdering hiprandGetDirectionVectors32
hiprandGetDirectionVectors64 hiprandGetScrambleConstants32 hiprandGetScrambleConstants64
hiprandOrdering_t hiprandDirectionVectorSet_t
""".split()


@pytest.mark.parametrize("name", ROCM_6)
def test_names_of_rocm_6_exist(name):
    assert hasattr(hiprand, name) and name in hiprand.__all__  # type: ignore[attr-defined] # not in the stub


def test_functions_of_rocm_6_reach_the_library(tmp_path, monkeypatch):
    source = """
    #include <stddef.h>
    static unsigned int vectors[2][32];
    static const unsigned long long constants[2] = {7, 8};
    int hiprandGetDirectionVectors32(unsigned int (**to)[32], int set) {
        vectors[1][31] = set;
        *to = vectors;
        return 0;
    }
    int hiprandGetScrambleConstants64(const unsigned long long **to) { *to = constants; return 0; }
    int hiprandGenerateLongLong(void *generator, unsigned long long *to, size_t n) {
        while (n--)
            to[n] = n + (1ull << 40);
        return 0;
    }
    int hiprandSetGeneratorOrdering(void *generator, int order) { return order == 103 ? 0 : 105; }
    """
    (tmp_path / "rand.c").write_text(source)
    library = tmp_path / "libhiprand.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "rand.c"], check=True)
    monkeypatch.setenv("ENTREPOT_HIPRAND_LIBRARY", str(library))
    program = """
        import ctypes
        import numpy as np
        from entrepot import hiprand
        from entrepot.hip import hip_check
        place = np.zeros(1, "uint64")
        kind = hiprand.hiprandDirectionVectorSet_t.HIPRAND_DIRECTION_VECTORS_32_JOEKUO6
        hip_check(hiprand.hiprandGetDirectionVectors32(place, kind))
        print((ctypes.c_uint * 64).from_address(int(place[0]))[63])
        hip_check(hiprand.hiprandGetScrambleConstants64(place))
        print((ctypes.c_uint64 * 2).from_address(int(place[0]))[1])
        numbers = np.zeros(3, "uint64")
        hip_check(hiprand.hiprandGenerateLongLong(None, numbers, 3))
        print(numbers[2] - 2**40)
        order = hiprand.hiprandOrdering_t.HIPRAND_ORDERING_PSEUDO_LEGACY
        hip_check(hiprand.hiprandSetGeneratorOrdering(None, order))
    """
    assert run(program).split() == ["101", "8", "2"]
