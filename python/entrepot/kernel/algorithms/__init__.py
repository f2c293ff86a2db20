"""Algorithms on arrays, written as kernels: they run on the host, SYCL, CUDA and HIP devices."""

from .histograms import bincount, histogram
from .reductions import reduce, segmented_reduce, transform_reduce
from .scans import exclusive_scan, inclusive_scan
from .searches import argmax, argmin
from .selection import select
from .sorting import argsort, sort, sort_by_key

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "bincount",
    "exclusive_scan",
    "histogram",
    "inclusive_scan",
    "reduce",
    "segmented_reduce",
    "select",
    "sort",
    "sort_by_key",
    "transform_reduce",
]
