"""``entrepot devices``: lists devices with their capabilities, and backends with their library or
why they are absent.
"""

from __future__ import annotations

from . import Device, _core, _table, devices


def bytes_text(number: int) -> str:
    """A number of bytes in the largest binary unit that leaves at least 1."""
    value = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def floats_text(device: Device) -> str:
    """The floating-point types besides float32 that kernels may compute in."""
    known = [("fp64", device.has_aspect_fp64), ("fp16", device.has_aspect_fp16)]
    return " ".join(name for name, has in known if has) or "-"


def kinds_text(device: Device) -> str:
    """The kinds of memory that can be allocated."""
    known = [
        ("host", device.has_aspect_usm_host_allocations),
        ("device", device.has_aspect_usm_device_allocations),
        ("shared", device.has_aspect_usm_shared_allocations),
    ]
    return " ".join(name for name, has in known if has) or "-"


def sub_devices_text(device: Device) -> str:
    """The maximum number of sub-devices and the ways to partition the device."""
    if device.partition_max_sub_devices <= 1 or not device.partitions:
        return "-"
    return f"{device.partition_max_sub_devices}, by {' or '.join(device.partitions)}"


def cells(device: Device) -> list[str]:
    return [
        str(device),
        device.device_type,
        device.name,
        bytes_text(device.global_mem_size),
        kinds_text(device),
        str(device.max_compute_units),
        floats_text(device),
        bytes_text(device.local_mem_size),
        sub_devices_text(device),
        device.driver_version,
    ]


def main() -> int:
    """Prints both tables. Always returns 0, because an absent backend is no failure."""
    _table.show(
        [
            "device",
            "type",
            "name",
            "memory",
            "kinds",
            "units",
            "floats",
            "local memory",
            "sub-devices",
            "driver",
        ],
        [cells(device) for device in devices()],
    )
    print()
    _table.show(
        ["backend", "", "what was loaded, or why not"],
        [
            [name, "present" if present else "absent", reason]
            for name, present, reason in _core.backends()
        ],
    )
    return 0
