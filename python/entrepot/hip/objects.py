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
    """A function of the HIP runtime, or of a library based on it, failed.

    Parameters
    ----------
    status : int
        The result of the function, a member of its enum. It is the attribute ``status``.

    Examples
    --------
    >>> from entrepot import hip
    >>> from entrepot.hip import HipError, hip_check
    >>> try:  # doctest: +SKIP
    ...     print(hip_check(hip.hipGetDeviceCount()), "devices")
    ... except HipError as error:
    ...     print(error.status.name)
    hipErrorNoDevice
    """

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
    """Return the results of a call without its status.

    Parameters
    ----------
    call_result : tuple
        The tuple that a call of ``hip``, ``hiprtc`` or another library's module returned. It
        begins with the status.

    Returns
    -------
    object
        The value after the status if there is one, else the tuple of them, which may be empty.

    Raises
    ------
    HipError
        If the status is an error.
    TypeError
        If the argument is no such tuple.

    Examples
    --------
    >>> from entrepot import hip
    >>> from entrepot.hip import hip_check
    >>> array = hip_check(hip.hipMalloc(1024))  # doctest: +SKIP
    >>> hip_check(hip.hipFree(array))  # doctest: +SKIP
    ()
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
        """Return the handle for ctypes, so that functions of the runtime accept the object itself.

        Returns
        -------
        ctypes.c_void_p
            The handle.

        Raises
        ------
        ValueError
            If the object is closed.

        Examples
        --------
        >>> import ctypes
        >>> from entrepot import hip
        >>> runtime = ctypes.CDLL("libamdhip64.so.7")  # doctest: +SKIP
        >>> with hip.Stream() as stream:  # doctest: +SKIP
        ...     runtime.hipStreamSynchronize(stream.as_c_void_p())
        0
        """
        return self.handle.as_c_void_p()

    def __int__(self) -> int:
        return int(self.handle)

    def close(self) -> None:
        """Destroy the handle; idempotent. Pending work still completes.

        Raises
        ------
        HipError
            If the runtime cannot destroy it.

        Examples
        --------
        >>> from entrepot import hip
        >>> stream = hip.Stream()  # doctest: +SKIP
        >>> stream.close()  # doctest: +SKIP
        """
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
    """A new stream. It can be passed as a handle.

    The stream is destroyed when its ``with`` block ends, or by ``close()``.

    Parameters
    ----------
    flags : int, optional
        The flags, as for hipStreamCreateWithFlags. The default is 0.

    Raises
    ------
    HipError
        If the runtime cannot create the stream.

    Examples
    --------
    >>> from entrepot import hip
    >>> with hip.Stream(hip.hipStreamNonBlocking) as stream:  # doctest: +SKIP
    ...     stream.synchronize()
    """

    _destroy = "hipStreamDestroy"

    def __init__(self, flags: int = 0) -> None:
        super().__init__(hip_check(_hip.hipStreamCreateWithFlags(flags)))

    def synchronize(self) -> None:
        """Wait until all submitted work is complete.

        Raises
        ------
        HipError
            If the runtime reports an error.
        ValueError
            If the stream is closed.

        Examples
        --------
        >>> from entrepot import hip
        >>> with hip.Stream() as stream:  # doctest: +SKIP
        ...     stream.synchronize()
        """
        hip_check(_hip.hipStreamSynchronize(self.handle))

    def wait(self, event: Event) -> None:
        """Make all later work wait for an event.

        Parameters
        ----------
        event : Event
            The event, which another stream may have recorded.

        Raises
        ------
        HipError
            If the runtime refuses the event.
        ValueError
            If the stream or the event is closed.

        Examples
        --------
        >>> from entrepot import hip
        >>> with hip.Stream() as copies, hip.Stream() as kernels:  # doctest: +SKIP
        ...     with hip.Event() as copied:
        ...         kernels.wait(copies.record(copied))
        """
        hip_check(_hip.hipStreamWaitEvent(self.handle, event.handle, 0))

    def record(self, event: Event) -> Event:
        """Record an event after all work submitted so far.

        Parameters
        ----------
        event : Event
            The event.

        Returns
        -------
        Event
            ``event`` itself.

        Raises
        ------
        HipError
            If the runtime cannot record the event.
        ValueError
            If the stream or the event is closed.

        Examples
        --------
        >>> from entrepot import hip
        >>> with hip.Stream() as stream, hip.Event() as event:  # doctest: +SKIP
        ...     stream.record(event).synchronize()
        """
        hip_check(_hip.hipEventRecord(event.handle, self.handle))
        return event


class Event(_Owned):
    """A new event. It can be passed as a handle.

    The event is destroyed when its ``with`` block ends, or by ``close()``.

    Parameters
    ----------
    flags : int, optional
        The flags, as for hipEventCreateWithFlags. The default is 0.

    Raises
    ------
    HipError
        If the runtime cannot create the event.

    Examples
    --------
    >>> from entrepot import hip
    >>> with hip.Stream() as stream, hip.Event() as start, hip.Event() as end:  # doctest: +SKIP
    ...     stream.record(start)
    ...     stream.record(end).synchronize()
    ...     print(end.milliseconds_since(start))
    """

    _destroy = "hipEventDestroy"

    def __init__(self, flags: int = 0) -> None:
        super().__init__(hip_check(_hip.hipEventCreateWithFlags(flags)))

    def synchronize(self) -> None:
        """Wait until the event is complete.

        Raises
        ------
        HipError
            If the runtime reports an error.
        ValueError
            If the event is closed.

        Examples
        --------
        >>> from entrepot import hip
        >>> with hip.Stream() as stream, hip.Event() as event:  # doctest: +SKIP
        ...     stream.record(event)
        ...     event.synchronize()
        """
        hip_check(_hip.hipEventSynchronize(self.handle))

    def milliseconds_since(self, start: Event) -> float:
        """Return the time from another event to this one. Requires: both are complete.

        Parameters
        ----------
        start : Event
            The event at the beginning.

        Returns
        -------
        float
            The time in milliseconds.

        Raises
        ------
        HipError
            If the runtime has no time for the two events.
        ValueError
            If an event is closed.

        Examples
        --------
        >>> from entrepot import hip
        >>> with hip.Stream() as stream, hip.Event() as start, hip.Event() as end:  # doctest: +SKIP
        ...     stream.record(start)
        ...     stream.record(end).synchronize()
        ...     print(end.milliseconds_since(start))
        """
        return float(hip_check(_hip.hipEventElapsedTime(start.handle, self.handle)))
