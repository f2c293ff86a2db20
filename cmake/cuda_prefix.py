"""Prints the folder of NVIDIA's wheels: of include/cuda.h, include/nvrtc.h and lib/libnvrtc.so.13.

Prints nothing if nvidia-cuda-runtime and nvidia-cuda-nvrtc are not both installed.
"""

import importlib.metadata
from pathlib import Path

NEEDED = {"nvidia-cuda-runtime": "include/cuda.h", "nvidia-cuda-nvrtc": "include/nvrtc.h"}


def prefix_of(package: str, header: str) -> Path | None:
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next(
        (Path(file.locate()).resolve().parents[1] for file in files if str(file).endswith(header)),
        None,
    )


prefixes = {prefix_of(package, header) for package, header in NEEDED.items()}
if len(prefixes) == 1 and None not in prefixes:
    print(prefixes.pop())
