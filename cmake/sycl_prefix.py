"""Prints the folder into which the intel-sycl-rt wheel laid include/sycl/sycl.hpp; nothing if it is not installed."""

import importlib.metadata
from pathlib import Path

try:
    files = importlib.metadata.files("intel-sycl-rt") or []
except importlib.metadata.PackageNotFoundError:
    files = []

for file in files:
    if file.parts[-3:] == ("include", "sycl", "sycl.hpp"):
        print(Path(file.locate()).resolve().parents[2])
        break
