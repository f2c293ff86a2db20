# needs: sycl, numpy, dpnp
"""A kernel writes to a dpnp array, and NumPy reads the result: three libraries, one address."""

import dpnp
import numpy as np

import entrepot as ep

SOURCE = """
kernel void saxpy(float a, global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}
"""

theirs = dpnp.ones(8, dtype="float32", usm_type="shared")
y = ep.asarray(theirs)
x = ep.full(8, 3.0, "float32", device=y.device, kind="shared")

saxpy = ep.Program(SOURCE, y.device).kernel("saxpy")
saxpy[8](ep.Scalar(2.0, "float32"), x, y)

seen = np.asarray(y)  # waits for the kernel, because the host reads
assert seen.ctypes.data == y.data_ptr == theirs.get_array().usm_data._pointer
assert seen.tolist() == [7.0] * 8
print(f"dpnp, entrepot and numpy at {y.data_ptr:#x}: {seen.tolist()}")
