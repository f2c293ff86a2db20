"""Prints the folder of include/sycl/sycl.hpp in the intel-sycl-rt wheel, if it is installed."""

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
