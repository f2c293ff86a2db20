"""Streams and events. A Stream is a queue of Entrepot, which works in order."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from .._core import Queue
from . import devices


class Stream:
    """A queue of launches and copies, which run in the order of their submission.

    ``stream()`` makes one. It compares equal to a stream of the same queue.

    Parameters
    ----------
    queue : Queue
        The queue.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> stream = cuda.stream()
    >>> array = cuda.to_device(np.arange(3), stream=stream)
    >>> with stream.auto_synchronize():
    ...     result = array.copy_to_host(stream=stream)
    >>> result.tolist()
    [0, 1, 2]
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        #: Configurations of kernels for this stream, as a dispatcher stores them.
        self.launches: dict[Any, Any] = {}
        self._timing: Queue | None = None

    def __repr__(self) -> str:
        return f"<numba_cuda stream of {self.queue.device}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.queue == other.queue

    def __hash__(self) -> int:
        return hash(self.queue)

    def __int__(self) -> int:
        """The CUstream of a CUDA device; the address of SYCL's queue of others."""
        if self.queue.backend == "cuda":
            return self.queue.__cuda_stream__()[1]
        return self.queue.addressof_ref()

    def __cuda_stream__(self) -> tuple[int, int]:
        return self.queue.__cuda_stream__()

    def synchronize(self) -> None:
        """Wait for all work of the stream."""
        self.queue.wait()

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Wait for the stream at the end of the ``with`` statement."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[..., Any], arg: Any = None) -> None:
        """Call ``callback(stream, status, arg)`` once the work that the stream holds now is done.

        The status is 0, or CUDA's number of an unknown error, 999, if the work failed. A thread of
        its own makes the call. Later work of the stream does not wait for it.
        """
        self._when_done(lambda error: callback(self, 0 if error is None else _FAILED, arg))

    def _when_done(self, then: Callable[[Exception | None], None]) -> None:
        """Calls ``then`` in a thread, with the error of the work or None."""
        event = self.queue.record()

        def run() -> None:
            try:
                event.wait()
            except Exception as error:  # an error of any kind has to reach the caller
                then(error)
            else:
                then(None)

        threading.Thread(target=run, daemon=True).start()

    def async_done(self) -> asyncio.Future[Stream]:
        """A future of the running event loop, done when the work that the stream holds now is.

        If the work fails, the future has the exception.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Stream] = loop.create_future()

        def resolve(error: Exception | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(self)
            else:
                future.set_exception(error)

        def then(error: Exception | None) -> None:
            # A loop that is closed raises RuntimeError, and nothing waits for its futures.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(resolve, error)

        self._when_done(then)
        return future

    def timing_queue(self) -> Queue:
        """A queue whose events have times. It is ordered after this stream at each record, since
        a queue with times in all of its events would be slower.
        """
        with _timing_lock:
            if self._timing is None:
                self._timing = Queue(self.queue.device, context=self.queue.context, profiling=True)
            return self._timing


#: CUDA_ERROR_UNKNOWN, the status of a callback after work that failed.
_FAILED = 999

# The lock guards Stream._timing of all streams, so that each has one queue for times.
_timing_lock = threading.Lock()

# Default streams and those of other libraries by their queues, so that their queues for times are
# made once. The lock guards the table.
_known: dict[Queue, Stream] = {}
_known_lock = threading.Lock()
_MAX_KNOWN = 64


def _known_stream(queue: Queue) -> Stream:
    with _known_lock:
        found = _known.get(queue)
        if found is None:
            if len(_known) >= _MAX_KNOWN:
                del _known[next(iter(_known))]  # the oldest
            found = _known[queue] = Stream(queue)
        return found


def queue_of(stream: Any) -> Queue | None:
    """The queue of a stream as numba.cuda takes it; None for 0, the default stream."""
    if isinstance(stream, Stream):
        return stream.queue
    if isinstance(stream, Queue):
        return stream
    if stream is None or (isinstance(stream, int) and stream == 0):
        return None
    if isinstance(stream, (str, float, tuple, list)):
        raise TypeError(
            f"a stream is what cuda.stream() makes, or 0 for the default one, not {stream!r}"
        )
    return external_stream(stream).queue


def stream_of(stream: Any) -> Stream:
    """The stream; for 0 the default stream of the current device."""
    if isinstance(stream, Stream):
        return stream
    queue = queue_of(stream)
    return default_stream() if queue is None else _known_stream(queue)


def stream() -> Stream:
    """Make a stream on the current device.

    Returns
    -------
    Stream
        The stream.

    Raises
    ------
    DeviceError
        If the device cannot make a queue.
    """
    made = Stream(Queue(devices.current_device()))
    devices.watch(made.queue)
    return made


def default_stream() -> Stream:
    """Return the default stream of the current device."""
    return _known_stream(devices.current_queue())


# Entrepot has one default queue for a device. Work on the same memory is ordered in any case.
legacy_default_stream = default_stream
per_thread_default_stream = default_stream


class _CudaStream:
    """A CUstream that another library made."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address


def external_stream(ptr: Any) -> Stream:
    """Make a Stream of a stream or queue of another library.

    Parameters
    ----------
    ptr : int or object
        The address of a CUstream, an object with ``__cuda_stream__()``, or dpctl's SyclQueue.

    Returns
    -------
    Stream
        The stream. The caller keeps the other library's stream alive, if ``ptr`` is an address.

    Raises
    ------
    DeviceError
        If there is no CUDA device for the address.
    TypeError
        If the object is no stream.
    """
    return Stream(Queue(_CudaStream(ptr) if isinstance(ptr, int) else ptr))


class Event:
    """A position in a stream. ``event()`` makes one, and ``record()`` sets it.

    Parameters
    ----------
    timing : bool, optional
        True if ``elapsed_time()`` is asked for later. The default is True.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> start, end = cuda.event(), cuda.event()
    >>> start.record()
    >>> array = cuda.to_device(np.zeros(100))
    >>> end.record()
    >>> end.synchronize()
    >>> start.elapsed_time(end) >= 0
    True
    """

    def __init__(self, timing: bool = True) -> None:
        self._timing = timing
        self._event: _core.Event | None = None

    def record(self, stream: Any = 0) -> None:
        """Set the event to the end of the work that the stream holds now."""
        given = stream_of(stream)
        queue = given.queue
        if self._timing and queue.device.has_aspect_queue_profiling:
            timing = given.timing_queue()
            timing.wait_for(queue)
            queue = timing
        self._event = queue.record()

    def query(self) -> bool:
        """True if the work before the event is done, or nothing was recorded."""
        return self._event is None or self._event.done

    def synchronize(self) -> None:
        """Wait for the work before the event."""
        if self._event is not None:
            self._event.wait()

    def wait(self, stream: Any = 0) -> None:
        """Let later work of the stream wait for the event."""
        if self._event is not None:
            stream_of(stream).queue.wait_for(self._event)

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds from this event to ``evtend``; both are done.

        Raises DeviceError if an event is not recorded or not done, and ValueError if it was made
        with ``timing=False`` or the device cannot measure time.
        """
        if self._event is None or evtend._event is None:
            raise _core.DeviceError("elapsed_time(): both events are recorded before it is called")
        return 1000 * self._event.seconds_until(evtend._event)


def event(timing: bool = True) -> Event:
    """Make an event.

    Parameters
    ----------
    timing : bool, optional
        True if its time is asked for later. The default is True.

    Returns
    -------
    Event
        The event, which is not recorded yet.
    """
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two events."""
    return evtstart.elapsed_time(evtend)
