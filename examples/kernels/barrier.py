"""An array turned round through local memory: every work-item reads what another one has written
before the barrier.
"""

from __future__ import annotations

import numpy as np
from example import main, on, values

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import float32

SIZE = 10


@dppy.kernel
def reverse_array(a):
    shared = dppy.local.array(shape=10, dtype=float32)
    i = dppy.get_global_id(0)
    shared[i] = a[i]
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    a[i] += shared[SIZE - 1 - i]


def check(device: ep.Device) -> None:
    a = np.arange(SIZE, dtype="f4")
    array = on(device, a)
    reverse_array[SIZE, dppy.DEFAULT_LOCAL_SIZE](array).wait()
    np.testing.assert_array_equal(values(array), a + a[::-1])


if __name__ == "__main__":
    main(check, str(__doc__))
