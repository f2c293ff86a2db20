"""Keyword options of hipRTC's linker, as in HIP Python's `hiprtc.ext`."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Iterator
from typing import Any

from .adapters import ListOfBytes, ListOfPointer, Pointer

__all__ = ["HiprtcLinkCreateOpts", "hiprtcLinkCreate2"]

_hiprtc: Any = None  # set by bind()


def bind(hiprtc: Any) -> None:
    """Receives ``entrepot.hiprtc``, which imports this module and so cannot be imported here."""
    global _hiprtc
    if hiprtc.__name__ == "entrepot.hiprtc":  # not a copy of it, for another library
        _hiprtc = hiprtc


# Representation of an option's value: a number of this type, or an address.
_UNSIGNED, _SIGNED, _SIZE, _BOOL = "unsigned", "signed", "size", "bool"

# The member of hipJitOption, its name before ROCm 6.4 (without HIPRTC_JIT_), and the type of its
# value.
_OPTIONS: tuple[tuple[str, str, Any], ...] = (
    ("hipJitOptionMaxRegisters", "MAX_REGISTERS", _UNSIGNED),
    ("hipJitOptionThreadsPerBlock", "THREADS_PER_BLOCK", _UNSIGNED),
    ("hipJitOptionWallTime", "WALL_TIME", _SIZE),
    ("hipJitOptionInfoLogBuffer", "INFO_LOG_BUFFER", Pointer),
    ("hipJitOptionInfoLogBufferSizeBytes", "INFO_LOG_BUFFER_SIZE_BYTES", _SIZE),
    ("hipJitOptionErrorLogBuffer", "ERROR_LOG_BUFFER", Pointer),
    ("hipJitOptionErrorLogBufferSizeBytes", "ERROR_LOG_BUFFER_SIZE_BYTES", _SIZE),
    ("hipJitOptionOptimizationLevel", "OPTIMIZATION_LEVEL", _UNSIGNED),
    ("hipJitOptionTargetFromContext", "TARGET_FROM_HIPCONTEXT", _UNSIGNED),
    ("hipJitOptionTarget", "TARGET", _UNSIGNED),
    ("hipJitOptionFallbackStrategy", "FALLBACK_STRATEGY", _UNSIGNED),
    ("hipJitOptionGenerateDebugInfo", "GENERATE_DEBUG_INFO", _SIGNED),
    ("hipJitOptionLogVerbose", "LOG_VERBOSE", _SIZE),
    ("hipJitOptionGenerateLineInfo", "GENERATE_LINE_INFO", _SIGNED),
    ("hipJitOptionCacheMode", "CACHE_MODE", _UNSIGNED),
    ("hipJitOptionSm3xOpt", "NEW_SM3X_OPT", _BOOL),
    ("hipJitOptionFastCompile", "FAST_COMPILE", _BOOL),
    ("hipJitOptionGlobalSymbolNames", "GLOBAL_SYMBOL_NAMES", ListOfBytes),
    ("hipJitOptionGlobalSymbolAddresses", "GLOBAL_SYMBOL_ADDRESS", ListOfPointer),
    ("hipJitOptionGlobalSymbolCount", "GLOBAL_SYMBOL_COUNT", _UNSIGNED),
    ("hipJitOptionLto", "LTO", _SIGNED),
    ("hipJitOptionFtz", "FTZ", _SIGNED),
    ("hipJitOptionPrecDiv", "PREC_DIV", _SIGNED),
    ("hipJitOptionPrecSqrt", "PREC_SQRT", _SIGNED),
    ("hipJitOptionFma", "FMA", _SIGNED),
    ("hipJitOptionPositionIndependentCode", "POSITION_INDEPENDENT_CODE", _SIGNED),
    ("hipJitOptionMinCTAPerSM", "MIN_CTA_PER_SM", _SIGNED),
    ("hipJitOptionMaxThreadsPerBlock", "MAX_THREADS_PER_BLOCK", _SIGNED),
    ("hipJitOptionOverrideDirectiveValues", "OVERRIDE_DIRECT_VALUES", _SIGNED),
    ("hipJitOptionIRtoISAOptExt", "IR_TO_ISA_OPT_EXT", ListOfBytes),
    ("hipJitOptionIRtoISAOptCountExt", "IR_TO_ISA_OPT_COUNT_EXT", _SIZE),
)

_BY_NAME = {
    name: (member, kind) for member, old, kind in _OPTIONS for name in (member, f"HIPRTC_JIT_{old}")
}

_RANGES = {_UNSIGNED: (0, 2**32 - 1), _SIGNED: (-(2**31), 2**31 - 1), _SIZE: (0, 2**64 - 1)}


def _value(name: str, kind: Any, value: Any) -> Any:
    """The entry in the list of values: an address or a number. Raises TypeError and
    OverflowError.
    """
    if kind is _BOOL:
        return int(bool(value))
    if kind not in _RANGES:
        return kind(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: an int was expected, not a {type(value).__name__}") from None
    least, most = _RANGES[kind]
    if not least <= number <= most:
        raise OverflowError(f"{name}: {number} is not in [{least}, {most}]")
    return number % 2**64


class HiprtcLinkCreateOpts:
    """The first three arguments of ``hiprtcLinkCreate``:
    ``hiprtcLinkCreate(*HiprtcLinkCreateOpts(hipJitOptionLto=1))``.

    Options are named as the members of ``hipJitOption``, or as before ROCm 6.4
    (``HIPRTC_JIT_LTO``).

    Ownership: owns the lists given as values, which the linker reads until ``hiprtcLinkComplete``
    has returned. The caller owns the memory for logs.
    """

    def __init__(self, **options: Any) -> None:
        unknown = next((name for name in options if name not in _BY_NAME), None)
        if unknown is not None:
            raise KeyError(
                f"{unknown!r} is not an option of hipRTC's linker: use a member of hipJitOption "
                "other than "
                "hipJitOptionNumOptions, such as hipJitOptionLto"
            )
        self.num_opts = len(options)
        self.keys: list[Any] | None = None
        self.values: list[Any] | None = None
        if options:
            self.keys = [getattr(_hiprtc.hipJitOption, _BY_NAME[name][0]) for name in options]
            self.values = [
                _value(name, _BY_NAME[name][1], value) for name, value in options.items()
            ]

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return (self.num_opts, self.keys, self.values)[index]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.num_opts, self.keys, self.values))


def hiprtcLinkCreate2(**options: Any) -> tuple[Any, Any]:
    """``hiprtcLinkCreate`` with options by keyword: returns the status and the linker.

    Lifetime: the linker owns the lists given as values, such as that of
    ``hipJitOptionIRtoISAOptExt=[b"-O3"]``.
    """
    arguments = HiprtcLinkCreateOpts(**options)
    status, state = _hiprtc.hiprtcLinkCreate(*arguments)
    if arguments.values and state is not None:
        weakref.finalize(
            state, list.clear, arguments.values
        ).atexit = False  # holds a reference until then
    return status, state
