"""Streams and events as context managers, and statuses as exceptions, for the HIP runtime."""

from __future__ import annotations

import sys

from .._core import DeviceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

__all__ = ["Event", "HipError", "Stream", "hip_check"]

_hip: Any = None  # set by bind()


def bind(hip: Any) -> None:
    """Receives ``entrepot.hip``, which imports this module and so cannot be imported here."""
    global _hip
    if hip.__name__ == "entrepot.hip":  # not a copy of it, for another library
        _hip = hip


class HipError(DeviceError, RuntimeError):
    """A function of the HIP runtime, or of a library based on it, failed; ``status`` is its result."""

    def __init__(self, status: Any) -> None:
        self.status = status
        said = [_words_of(status), _ADVICE.get(getattr(status, "name", ""), "")]
        words = "; ".join(each for each in said if each)
        super().__init__(f"{_name_of(status)}: {words}" if words else _name_of(status))

    def __reduce__(self) -> Any:
        return type(self), (self.status,)


def _name_of(status: Any) -> str:
    return f"{status.name} ({int(status)})" if hasattr(status, "name") else f"status {status}"


_NO_DEVICE = "`entrepot devices` prints the devices, or why no device is available"

# Advice for statuses whose text is not sufficient.
_ADVICE = {
    "hipErrorNoDevice": _NO_DEVICE,
    "hipErrorInvalidDevice": _NO_DEVICE,  # up to HIP 5 also if no device exists
    "HIPRTC_ERROR_COMPILATION": "the reason is in the program's log: hiprtcGetProgramLogSize(prog), hiprtcGetProgramLog(prog, log)",
}

# The function that returns the text of an enum's statuses, in the module that declares both.
_SPEAKERS = {"hipError_t": "hipGetErrorString", "hiprtcResult": "hiprtcGetErrorString"}


def _words_of(status: Any) -> str:
    """AMD's text for a status; empty if not available: older libraries have only the names."""
    enum = type(status)
    if enum.__name__ not in _SPEAKERS:
        return ""
    try:
        words = str(getattr(sys.modules[enum.__module__], _SPEAKERS[enum.__name__])(status)[1])
    except ImportError:
        return ""
    return "" if words in enum.__members__ else words


def hip_check(call_result: Any) -> Any:
    """The results of a call without its status: (), one value, or a tuple. Raises HipError for an
    error.
    """
    if not isinstance(call_result, tuple) or not call_result or not isinstance(call_result[0], int):
        raise TypeError(
            f"hip_check: what a call of hip or hiprtc returned was expected, a tuple that begins with its status, not {call_result!r}"
        )
    status, *values = call_result
    if status != 0:
        raise HipError(status)
    return values[0] if len(values) == 1 else tuple(values)


class _Owned:
    """A handle that is destroyed when its ``with`` block ends, or by ``close()``."""

    _destroy = ""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    @property
    def handle(self) -> Any:
        """The C handle. Raises ValueError if it is closed."""
        if self._handle is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._handle

    def as_c_void_p(self) -> Any:
        """The handle for ctypes, so that functions of the runtime accept the object itself."""
        return self.handle.as_c_void_p()

    def __int__(self) -> int:
        return int(self.handle)

    def close(self) -> None:
        """Destroys the handle; idempotent. Pending work still completes."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            hip_check(getattr(_hip, self._destroy)(handle))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'closed' if self._handle is None else hex(int(self._handle))}>"


class Stream(_Owned):
    """A new stream; ``flags`` as for hipStreamCreateWithFlags. Raises HipError."""

    _destroy = "hipStreamDestroy"

    def __init__(self, flags: int = 0) -> None:
        super().__init__(hip_check(_hip.hipStreamCreateWithFlags(flags)))

    def synchronize(self) -> None:
        """Waits until all submitted work is complete."""
        hip_check(_hip.hipStreamSynchronize(self.handle))

    def wait(self, event: Event) -> None:
        """Makes all later work wait for the event."""
        hip_check(_hip.hipStreamWaitEvent(self.handle, event.handle, 0))

    def record(self, event: Event) -> Event:
        """Records the event after all work submitted so far; returns it."""
        hip_check(_hip.hipEventRecord(event.handle, self.handle))
        return event


class Event(_Owned):
    """A new event; ``flags`` as for hipEventCreateWithFlags. Raises HipError."""

    _destroy = "hipEventDestroy"

    def __init__(self, flags: int = 0) -> None:
        super().__init__(hip_check(_hip.hipEventCreateWithFlags(flags)))

    def synchronize(self) -> None:
        """Waits until the event is complete."""
        hip_check(_hip.hipEventSynchronize(self.handle))

    def milliseconds_since(self, start: Event) -> float:
        """The time from ``start`` to this event. Requires: both are complete."""
        return float(hip_check(_hip.hipEventElapsedTime(start.handle, self.handle)))
