"""Graphs: launches, copies and fills that are recorded once and replayed many times.

``record`` is the context manager; :class:`Graph` is the result, and its nodes are
:class:`GraphNode` objects. All three are attributes of ``entrepot``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from . import _core

__all__ = ["Graph", "GraphNode", "record"]


class GraphNode:
    """One launch, copy or fill of a :class:`Graph`.

    Examples
    --------
    >>> array = ep.empty(3, "float32", device="host")
    >>> queue = array.queue
    >>> with ep.record(queue) as graph:
    ...     event = ep.fill(array, 1)
    >>> graph.nodes
    (<entrepot.GraphNode fill(float32 array of 1 dimension)>,)
    """

    __slots__ = (
        "_arguments",
        "_graph",
        "_index",
        "_kernel",
        "_keywords",
        "_kind",
        "_launcher",
        "_name",
    )

    _launcher: Callable[..., _core.Event] | None
    _keywords: dict[str, object]

    def __init__(self, graph: Graph, index: int, native: _core._Graph) -> None:
        self._graph = graph
        self._index = index
        self._kind, name, arrays = native.node(index)
        self._name = name or self._kind
        self._arguments: tuple[object, ...] = arrays
        self._kernel: object = None
        self._launcher = None
        self._keywords = {}

    @property
    def kind(self) -> str:
        """One of 'launch', 'copy' and 'fill'."""
        return self._kind

    @property
    def name(self) -> str:
        """The name of the kernel. A copy has the name 'copy', and a fill 'fill'."""
        return self._name

    @property
    def kernel(self) -> object:
        """The kernel of a launch that Python code made. Other nodes have None."""
        return self._kernel

    @property
    def arguments(self) -> tuple[object, ...]:
        """The arguments of a launch, in order.

        A copy has its destination and its source, and a fill its destination.
        """
        return self._arguments

    def _set_call(
        self,
        launcher: Callable[..., _core.Event],
        kernel: object,
        arguments: tuple[object, ...],
        keywords: dict[str, object],
    ) -> None:
        self._launcher, self._kernel = launcher, kernel
        self._arguments, self._keywords = arguments, keywords
        self._name = getattr(kernel, "__name__", None) or self._name

    def update(self, *arguments: object) -> None:
        """Replace the arguments of the launch, for later replays.

        A replay that runs is not affected. CUDA, HIP and the host change the prepared graph. The
        SYCL runtime cannot: the next replay prepares the nodes again.

        Parameters
        ----------
        *arguments : object
            One for each argument of the launch, of the same type. An array has the same dtype and
            number of dimensions.

        Raises
        ------
        TypeError
            If an argument has another type, or there are more or fewer.
        ValueError
            If the node is a copy or a fill.
        DeviceError
            If the calling thread records, or the launch cannot be recorded.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> @ek.kernel
        ... def add(numbers, amount):
        ...     numbers[ek.get_global_id(0)] += amount
        >>> numbers = ep.zeros(3, "int32", device="host")
        >>> with ep.record(numbers.queue) as graph:
        ...     event = add[3](numbers, 1)
        >>> graph.replay().wait()
        >>> graph.nodes[0].update(numbers, 10)
        >>> graph.replay().wait()
        >>> numbers.numpy().tolist()
        [11, 11, 11]
        """
        if self._launcher is None:
            what = "a launch of C++ code" if self.kind == "launch" else f"a {self.kind}"
            raise ValueError(
                f"update: node {self._index} is {what}, and only launches of Python code can be "
                "updated: record the graph again"
            )
        self._require_same_types(arguments)
        native = self._graph._require_native()
        recording = _core._Recording(native)
        try:
            self._launcher(*arguments, queue=recording.queue, **self._keywords)
            recording.replace(native, self._index)
        finally:
            recording.discard()
        self._arguments = arguments

    def _require_same_types(self, arguments: tuple[object, ...]) -> None:
        where = f"update of node {self._index} ('{self.name}')"
        if len(arguments) != len(self.arguments):
            raise TypeError(
                f"{where}: the launch has {len(self.arguments)} arguments, and {len(arguments)} "
                "were given"
            )
        for position, (old, new) in enumerate(zip(self.arguments, arguments, strict=True)):
            was, given = _type_text(old), _type_text(new)
            if was != given:
                raise TypeError(
                    f"{where}: argument {position} is {_article(was)}, and {_article(given)} was "
                    "given: record the graph again for other types"
                )

    def __repr__(self) -> str:
        arguments = ", ".join(_type_text(argument) for argument in self.arguments)
        return f"<entrepot.GraphNode {self.name}({arguments})>"


class Graph:
    """Work of one queue that was recorded by :func:`record`, and is replayed as one piece.

    The nodes run one after the other, in the order of the recording. A replay waits for pending
    accesses to all memory of the nodes, whatever queue or library they belong to, as one launch
    does. Later work on that memory waits for the replay.

    The graph keeps its kernels, its arguments and their memory alive. It may be dropped while a
    replay runs.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.kernel
    ... def double(numbers):
    ...     numbers[ek.get_global_id(0)] *= 2
    >>> numbers = ep.full(4, 1, "int32", device="host")
    >>> with ep.record(numbers.queue) as graph:
    ...     for _ in range(3):
    ...         event = double[4](numbers)
    >>> len(graph)
    3
    >>> graph.replay().wait()
    >>> numbers.numpy().tolist()
    [8, 8, 8, 8]
    """

    __slots__ = ("__weakref__", "_native", "_nodes", "_state")

    def __init__(self) -> None:
        self._native: _core._Graph | None = None
        self._nodes: tuple[GraphNode, ...] = ()
        self._state = "is being recorded: leave the with block first"

    @property
    def nodes(self) -> tuple[GraphNode, ...]:
        """The launches, copies and fills, in order. Empty until the recording has ended."""
        return self._nodes

    @property
    def queue(self) -> _core.Queue | None:
        """The queue of the recording.

        None until the recording has ended, and for a stream of another library that may be
        destroyed.
        """
        return None if self._native is None else self._native.queue

    def replay(self, *, queue: object = None) -> _core.Event:
        """Submit all nodes as one piece of work.

        The call does not wait for work of the device, and an earlier replay may still run.

        Parameters
        ----------
        queue : Queue, optional
            A queue of the same device and context. The default is the queue of the recording.

        Returns
        -------
        Event
            Done when the last node is.

        Raises
        ------
        DeviceError
            If the recording has not ended or was discarded, the calling thread records, or the
            queue is being captured by another library.
        ValueError
            If the queue is of another device or context.

        Examples
        --------
        >>> array = ep.empty(2, "int32", device="host")
        >>> with ep.record(array.queue) as graph:
        ...     event = ep.fill(array, 7)
        >>> graph.replay(queue=ep.Queue("host")).wait()
        >>> array.numpy().tolist()
        [7, 7]
        """
        return self._require_native().replay(queue)

    def _require_native(self) -> _core._Graph:
        if self._native is None:
            raise _core.DeviceError(f"the graph {self._state}")
        return self._native

    def _finish(self, native: _core._Graph, calls: list[_Call]) -> None:
        nodes = tuple(GraphNode(self, index, native) for index in range(len(native)))
        for index, launcher, kernel, arguments, keywords in calls:
            nodes[index]._set_call(launcher, kernel, arguments, keywords)
        self._nodes, self._native = nodes, native

    def _discard(self) -> None:
        self._state = "was discarded, because its recording ended with an error: record it again"

    def __len__(self) -> int:
        return len(self._nodes)

    def __repr__(self) -> str:
        if self._native is None:
            return f"<entrepot.Graph that {self._state.partition(':')[0]}>"
        nodes = f"{len(self)} node{'' if len(self) == 1 else 's'}"
        queue = self.queue
        return f"<entrepot.Graph of {nodes}{'' if queue is None else f' on {queue.device}'}>"


_Call = tuple[int, Callable[..., _core.Event], object, tuple[object, ...], dict[str, object]]


class record:
    """Record the work that this thread submits to a queue, instead of running it.

    Launches, copies and fills of the block on the queue become nodes of a :class:`Graph`. They do
    not run before :meth:`Graph.replay`. Work of other threads runs as usual. An exception that
    leaves the block discards the recording.

    In the block, these raise DeviceError:

    - waiting for the queue or for recorded work
    - reading or exporting memory that recorded work uses
    - work that this thread submits to another queue
    - launches on memory that the host may access at any time, such as a NumPy array's
    - copies in which the host takes part

    Parameters
    ----------
    queue : Queue or str, optional
        The queue, or a device for its default queue. The default is the current queue.

    Returns
    -------
    Graph
        The value of ``as``, which is complete when the block ends.

    Raises
    ------
    DeviceError
        If the device has no graphs, the thread records already, or another library captures the
        queue.

    Examples
    --------
    >>> source = ep.full(3, 5, "int32", device="host")
    >>> target = ep.empty(3, "int32", device="host")
    >>> with ep.record(source.queue) as graph:
    ...     event = ep.copy(target, source)
    >>> graph
    <entrepot.Graph of 1 node on host>
    >>> graph.replay().wait()
    >>> target.numpy().tolist()
    [5, 5, 5]
    """

    __slots__ = ("_graph", "_queue", "_recording")

    def __init__(self, queue: object = None) -> None:
        self._queue = queue
        self._graph = Graph()

    def __enter__(self) -> Graph:
        self._recording = _core._Recording(self._queue)
        self._graph = Graph()
        return self._graph

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        recording, graph = self._recording, self._graph
        del self._recording
        if exception_type is not None:
            graph._discard()
            recording.discard()
            return
        try:
            graph._finish(recording.end(), recording.calls)
        except BaseException:
            graph._discard()
            raise


def _type_text(argument: object) -> str:
    dtype, ndim = getattr(argument, "dtype", None), getattr(argument, "ndim", None)
    if dtype is None:
        return type(argument).__name__
    name = str(dtype).rpartition(".")[2]  # torch's are torch.float32
    if ndim is None or (ndim == 0 and not isinstance(argument, _core.Array)):
        return f"{name} scalar"
    return f"{name} array of {ndim} dimension{'' if ndim == 1 else 's'}"


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
