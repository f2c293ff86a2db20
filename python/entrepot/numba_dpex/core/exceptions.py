"""``numba_dpex.core.exceptions``: the classes that are raised here, each a KernelError."""

from __future__ import annotations

from ..errors import (
    ExecutionQueueInferenceError,
    IllegalRangeValueError,
    InvalidKernelLaunchArgsError,
    InvalidKernelSpecializationError,
    KernelHasReturnValueError,
    MissingSpecializationError,
    UnknownGlobalRangeError,
    UnmatchedNumberOfRangeDimsError,
    UnsupportedGroupWorkItemSizeError,
    UnsupportedKernelArgumentError,
    refuse_unknown,
    unsupported,
)

__all__ = [
    "ExecutionQueueInferenceError",
    "IllegalRangeValueError",
    "InvalidKernelLaunchArgsError",
    "InvalidKernelSpecializationError",
    "KernelHasReturnValueError",
    "MissingSpecializationError",
    "UnknownGlobalRangeError",
    "UnmatchedNumberOfRangeDimsError",
    "UnsupportedGroupWorkItemSizeError",
    "UnsupportedKernelArgumentError",
]


def __getattr__(name: str) -> object:
    if name.endswith("Error"):
        unsupported(__name__, name, "it is never raised; catch entrepot.KernelError")
    refuse_unknown(__name__, name)
