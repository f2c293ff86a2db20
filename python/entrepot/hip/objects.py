"""Streams and events as context managers, and statuses as exceptions: what every user of the HIP runtime writes first."""

from __future__ import annotations

import sys

from .. import hip
from .._core import DeviceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

__all__ = ["Event", "HipError", "Stream", "hip_check"]


class HipError(DeviceError, RuntimeError):
    """A function of the HIP runtime, or of a library on top of it, did not succeed; ``status`` is what it returned."""

    def __init__(self, status: Any) -> None:
        self.status = status
        said = [_words_of(status), _ADVICE.get(getattr(status, "name", ""), "")]
        words = "; ".join(each for each in said if each)
        super().__init__(f"{_name_of(status)}: {words}" if words else _name_of(status))

    def __reduce__(self) -> Any:
        return type(self), (self.status,)


def _name_of(status: Any) -> str:
    return f"{status.name} ({int(status)})" if hasattr(status, "name") else f"status {status}"


_NO_DEVICE = "`entrepot devices` prints the devices that there are, or why there is none"

# What to do, of statuses that tell half of it.
_ADVICE = {
    "hipErrorNoDevice": _NO_DEVICE,
    "hipErrorInvalidDevice": _NO_DEVICE,  # also where there is none: until HIP 5
    "HIPRTC_ERROR_COMPILATION": "the reason is in the program's log: hiprtcGetProgramLogSize(prog), hiprtcGetProgramLog(prog, log)",
}

# The function that knows the words for an enum's statuses, of the module that declares both.
_SPEAKERS = {"hipError_t": "hipGetErrorString", "hiprtcResult": "hiprtcGetErrorString"}


def _words_of(status: Any) -> str:
    """AMD's text for a status; empty where there is none: older libraries have the names alone."""
    enum = type(status)
    if enum.__name__ not in _SPEAKERS:
        return ""
    try:
        words = str(getattr(sys.modules[enum.__module__], _SPEAKERS[enum.__name__])(status)[1])
    except ImportError:
        return ""
    return "" if words in enum.__members__ else words


def hip_check(call_result: Any) -> Any:
    """What a call returned besides its status: nothing, one value, or a tuple. Raises HipError where the status says so."""
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
        """What C has for it. Raises ValueError once it is closed."""
        if self._handle is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._handle

    def as_c_void_p(self) -> Any:
        """The handle as ctypes has it: so functions of the runtime take the object itself."""
        return self.handle.as_c_void_p()

    def __int__(self) -> int:
        return int(self.handle)

    def close(self) -> None:
        """Destroys the handle; again, nothing happens. What was submitted to it is still done."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            hip_check(getattr(hip, self._destroy)(handle))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'closed' if self._handle is None else hex(int(self._handle))}>"


class Stream(_Owned):
    """A new stream; ``flags`` as hipStreamCreateWithFlags takes them. Raises HipError."""

    _destroy = "hipStreamDestroy"

    def __init__(self, flags: int = 0) -> None:
        super().__init__(hip_check(hip.hipStreamCreateWithFlags(flags)))

    def synchronize(self) -> None:
        """Waits until all that was submitted is done."""
        hip_check(hip.hipStreamSynchronize(self.handle))

    def wait(self, event: Event) -> None:
        """What is submitted from now on begins when the event has happened."""
        hip_check(hip.hipStreamWaitEvent(self.handle, event.handle, 0))

    def record(self, event: Event) -> Event:
        """The event happens when all that was submitted is done; returns it."""
        hip_check(hip.hipEventRecord(event.handle, self.handle))
        return event


class Event(_Owned):
    """A new event; ``flags`` as hipEventCreateWithFlags takes them. Raises HipError."""

    _destroy = "hipEventDestroy"

    def __init__(self, flags: int = 0) -> None:
        super().__init__(hip_check(hip.hipEventCreateWithFlags(flags)))

    def synchronize(self) -> None:
        """Waits until the event has happened."""
        hip_check(hip.hipEventSynchronize(self.handle))

    def milliseconds_since(self, start: Event) -> float:
        """The time from another event to this one; both have happened."""
        return float(hip_check(hip.hipEventElapsedTime(start.handle, self.handle)))
