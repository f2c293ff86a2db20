"""An empty kernel: submitted, and waited for, on the SYCL CPU device and on the host. Calls of a
vectorized function on few elements.
"""

from __future__ import annotations

from typing import Any

import dpctl
import dpctl.program

import entrepot as ep
import entrepot.kernel as ek

from .harness import Pair

OPENCL = "__kernel void nothing(__global int *p) {}"
HOST = 'extern "C" void nothing(const long long *range, void *const *arguments) {}'


def scaled(x: float, y: float) -> float:
    return 2.5 * x + y


def pairs() -> list[Pair]:
    """Ours against dpctl's on one device; the host's against the device's."""
    peer_queue = dpctl.SyclQueue("opencl:cpu", property="in_order")
    peer_kernel = (
        dpctl.program.create_kernel_bundle_from_source(peer_queue, OPENCL).get_sycl_kernel(
            "nothing"
        )
        if hasattr(dpctl.program, "create_kernel_bundle_from_source")
        else dpctl.program.create_program_from_source(peer_queue, OPENCL).get_sycl_kernel("nothing")
    )
    device = ep.device("opencl:cpu")
    on_device = ep.zeros(16, "int32", device=device, kind="device")
    on_host = ep.zeros(16, "int32")
    names: dict[str, Any] = {
        "launch": ep.Program(OPENCL, device).kernel("nothing")[16, 16],
        "host_launch": ep.Program(HOST, ep.device("host")).kernel("nothing")[16],
        "array": on_device, "host_array": on_host, "queue": peer_queue, "kernel": peer_kernel,
        "scaled": ek.vectorize(scaled), "x": ep.full(64, 1, "float32"),
        "out": ep.full(64, 1, "float32"),
        "memory": dpctl.memory.MemoryUSMDevice(64, queue=peer_queue), "items": [16],
    }  # fmt: skip
    return [
        Pair(
            "submit, against dpctl",
            "launch(array)",
            "queue.submit(kernel, [memory], items, items)",
            1,
            names,
        ),
        Pair(
            "submit and wait, against dpctl",
            "launch(array).wait()",
            "queue.submit(kernel, [memory], items, items).wait()",
            1,
            names,
        ),
        Pair(
            "host submit and wait, against the SYCL device's",
            "host_launch(host_array).wait()",
            "launch(array).wait()",
            4,
            names,
        ),
        # The type of a new result is remembered: finding it took three times as long as the call.
        Pair(
            "host: vectorized function of 64 float32 with a new result, against out=",
            "scaled(x, x)",
            "scaled(x, x, out=out)",
            0.5,
            names,
        ),
    ]
