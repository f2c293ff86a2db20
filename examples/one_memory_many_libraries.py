"""One piece of USM memory under many names: dpnp computes in it, NumPy, PyTorch and JAX read it,
and a socket could send it.

Run it with the libraries that you have; those that are not installed are left out.
"""

# needs: sycl, numpy, dpnp

import importlib

import dpnp
import numpy as np

import entrepot as ep

shared = ep.zeros((2, 3), "float32", device="opencl:cpu", kind="shared")

on_device = dpnp.asarray(shared)  # dpnp's array of the same memory
on_device += dpnp.arange(6, dtype="float32", device="opencl:cpu").reshape(2, 3)
on_device.sycl_queue.wait()

names = {"NumPy": np.asarray(shared), "memoryview": memoryview(shared)}
for library, module in (("PyTorch", "torch"), ("JAX", "jax.numpy")):
    try:
        names[library] = importlib.import_module(module).from_dlpack(shared.host())
    except ImportError:
        print(f"{library} is not installed")

for library, view in names.items():
    assert ep.asarray(view).data_ptr == shared.data_ptr, f"{library} copied"
    assert ep.asarray(view).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    print(f"{library:10} {type(view).__name__:12} at {ep.asarray(view).data_ptr:x}")
