"""Code that the examples share: the option ``--device``, and arrays on the device."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import entrepot as ep


def on(device: ep.Device, values: Any) -> ep.Array:
    """A copy of a NumPy array in memory of the device."""
    return ep.asarray(np.ascontiguousarray(values), device=device, copy=True)


def values(array: ep.Array) -> Any:
    """The elements, as a NumPy array on the host."""
    return array.copy_to_host().numpy()


def main(check: Callable[[ep.Device], None], description: str) -> None:
    """Runs ``check`` on the device that the command line names, and says that it held."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--device",
        default=None,
        help="a selector: host, opencl:cpu, cuda:0 …; without it, Entrepot's choice",
    )
    selector = parser.parse_args().device
    device = ep.device(selector) if selector else ep.empty(1, "uint8").device
    check(device)
    print(f"{description.rstrip('.')}: as NumPy has it, on {device}")
