"""``reduce``, ``transform_reduce`` and ``segmented_reduce``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core import Array, Queue, Scalar, zeros
from ..functions import DeviceFunction, kernel
from ..language import atomic, get_global_id
from ..operands import About, flat
from ..reducer import Reducer, reducer_of
from .axes import along_axes, axes_of, without
from .common import Call, operator


@kernel
def _find_descent(offsets, size, found):  # type: ignore[no-untyped-def]
    s = get_global_id(0)
    if offsets[s] < 0 or offsets[s] > size or offsets[max(s - 1, 0)] > offsets[s]:
        atomic.max(found, 0, 1)


def _reducer(name: str, function: Any) -> Reducer:
    return reducer_of(operator(name, function, "two numbers"))


def reduce(
    array: Any,
    function: Any,
    identity: Any,
    *,
    axis: int | Sequence[int] | None = None,
    queue: object = None,
    out: Any = None,
) -> Any:
    """Combine the elements of an array, or those along axes, by a function of two numbers.

    The order of the elements is unspecified: the function has to be associative and commutative,
    rounding aside. The call does not wait, unless an argument is not an Array.

    Parameters
    ----------
    array : array_like
        The array, of any shape and layout.
    function : callable
        A Python function of two numbers, or a DeviceFunction.
    identity : scalar
        The result of no elements.
    axis : int or sequence of int, optional
        The axes that are reduced. A negative axis counts from the last one. The default is all.
    queue : Queue, optional
        The queue to use. The default is the array's on a device, else that of the innermost
        ``device_context``.
    out : array_like, optional
        The array for the result, of its shape and type.

    Returns
    -------
    Array, ndarray or scalar
        ``out``, or a new array without the reduced axes, of the type of ``function`` for two
        elements. It is NumPy's if ``array`` is, and an Array on the device of ``queue`` otherwise.

    Raises
    ------
    TypeError
        If ``function`` is not a function, ``axis`` not of ints, or ``out`` of another type.
    ValueError
        If an axis does not exist or is repeated, or ``out`` has another shape.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.reduce(np.arange(6).reshape(2, 3), lambda a, b: a + b, 0, axis=0).tolist()
    [3, 5, 7]
    """
    reducer = _reducer("reduce", function)
    call = Call("reduce", {"array": array}, queue, out)
    (values,) = call.arrays
    axes = axes_of("reduce", axis, values.ndim)
    total = reducer.type_of((values.dtype,), call.queue.device)
    result = call.result_of(without(values.shape, axes), total)
    if result.written.size == 0:
        return result.returned(None)
    if values.size == 0:
        with About("reduce", "identity"):
            return result.filled(identity)
    return along_axes(
        call,
        values,
        axes,
        result,
        lambda layered, target: reducer.along_axis([layered], target, call.queue),
    )


def transform_reduce(
    transform: Any,
    function: Any,
    identity: Any,
    *arrays: Any,
    queue: object = None,
    out: Any = None,
) -> Any:
    """Combine the results of a function of an element of each array.

    The transformed elements are not stored. Their order is unspecified: ``function`` has to be
    associative and commutative, rounding aside. The call does not wait, unless an argument is not
    an Array.

    Parameters
    ----------
    transform : callable
        A Python function of an element of each array, or a DeviceFunction.
    function : callable
        A Python function of two numbers, or a DeviceFunction.
    identity : scalar
        The result of no elements.
    *arrays : array_like
        The arrays, which have one shape.
    queue : Queue, optional
        The queue to use. The default is that of the first array on a device, else that of the
        innermost ``device_context``.
    out : array_like, optional
        The array for the result, of one element and the result's type.

    Returns
    -------
    Array or scalar
        ``out``, or a new array without axes, of the type of ``function`` for two transformed
        elements. It is a NumPy scalar if all arrays are NumPy's.

    Raises
    ------
    TypeError
        If there is no array, a function is not one, or ``out`` has another type.
    ValueError
        If the arrays differ in their shapes, or ``out`` has axes.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> x, y = np.array([3, 4, 5]), np.array([1, 10, 100])
    >>> product = lambda a, b: a * b
    >>> total = lambda a, b: a + b
    >>> int(algorithms.transform_reduce(product, total, 0, x, y))
    543
    """
    reducer = _reducer("transform_reduce", function)
    mapping = DeviceFunction(operator("transform_reduce", transform, "an element of each array"))
    if not arrays:
        raise TypeError("transform_reduce() takes at least one array, and no array was given")
    named = {f"arrays[{at}]": each for at, each in enumerate(arrays)}
    call = Call("transform_reduce", named, queue, out)
    shapes = [each.shape for each in call.arrays]
    if len(set(shapes)) > 1:
        raise ValueError(
            "transform_reduce() takes arrays of one shape, and their shapes are "
            f"{', '.join(map(str, shapes))}: broadcast them first"
        )
    types = tuple(each.dtype for each in call.arrays)
    result = call.result_of((), reducer.type_of(types, call.queue.device, mapping))
    if call.arrays[0].size == 0:
        with About("transform_reduce", "identity"):
            return result.filled(identity)
    rows = [flat(each).reshape(1, -1) for each in call.arrays]
    target = result.written.reshape(1, 1)
    return result.returned(reducer.along_axis(rows, target, call.queue, mapping))


def segmented_reduce(
    array: Any,
    offsets: Any,
    function: Any,
    identity: Any,
    *,
    check: bool = True,
    queue: object = None,
    out: Any = None,
) -> Any:
    """Combine the elements of each segment of an array by a function of two numbers.

    Segment ``s`` consists of the elements from ``offsets[s]`` to ``offsets[s + 1] - 1``, as a row
    of a CSR matrix does. The order of the elements is unspecified: the function has to be
    associative and commutative, rounding aside.

    Parameters
    ----------
    array : array_like
        The elements, of one dimension.
    offsets : array_like
        The starts of the segments and the end of the last one, in one dimension. They are integers
        that ascend from 0 or more to the number of elements or less.
    function : callable
        A Python function of two numbers, or a DeviceFunction.
    identity : scalar
        The result of an empty segment.
    check : bool, optional
        True, the default, to check the offsets before anything is reduced, for which the call
        waits. With False, the call does not wait, unless an argument is not an Array. The result of
        an invalid segment is then ``identity``, and no element of it is read.
    queue : Queue, optional
        The queue to use. The default is that of the first array on a device, else that of the
        innermost ``device_context``.
    out : array_like, optional
        The array for the result, of its shape and type.

    Returns
    -------
    Array or ndarray
        ``out``, or a new array with an element for each segment, of the type of ``function`` for
        two elements. It is NumPy's if ``array`` and ``offsets`` are, and an Array on the device of
        ``queue`` otherwise.

    Raises
    ------
    ValueError
        If an array has not one dimension, ``offsets`` has no element, or ``out`` has another shape.
        With ``check``, if an offset is less than the one before it, or outside of the array.
    TypeError
        If the offsets are not integers, ``function`` is not a function, or ``out`` has another
        type.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> values, offsets = np.array([1, 2, 3, 4]), np.array([0, 2, 2, 4])
    >>> algorithms.segmented_reduce(values, offsets, lambda a, b: a + b, 0).tolist()
    [3, 0, 7]
    """
    reducer = _reducer("segmented_reduce", function)
    arguments = {"array": array, "offsets": offsets}
    call = Call("segmented_reduce", arguments, queue, out, takes_vectors=True)
    values, starts = call.arrays
    if not starts.dtype.name.startswith(("int", "uint")):
        raise TypeError(
            f"segmented_reduce(): offsets are integers, and {starts.dtype} was given: convert them"
        )
    if starts.size == 0:
        raise ValueError(
            "segmented_reduce(): offsets has one element more than there are segments, and it is "
            "empty: give at least the start 0"
        )
    if check:
        _check_offsets(starts, values.size, call.queue)
    total = reducer.type_of((values.dtype,), call.queue.device)
    result = call.result_of((starts.size - 1,), total)
    with About("segmented_reduce", "identity"):
        neutral = Scalar(identity, total)
    values, starts = map(result.apart_from, (values, starts))
    return result.returned(reducer.in_segments(values, starts, neutral, result.written, call.queue))


def _check_offsets(offsets: Array, size: int, queue: Queue) -> None:
    """Raises ValueError if an offset is outside of the array, or less than the one before it."""
    found = zeros(1, "int32", queue=queue)
    _find_descent[offsets.size](offsets, size, found, queue=queue, wait=False)
    if not found.item():
        return
    before = 0
    for at, offset in enumerate(memoryview(offsets.copy_to_host()).tolist()):
        if not before <= offset <= size:
            raise ValueError(
                f"segmented_reduce(): offsets ascend from 0 to {size} at most, and offset {at} is "
                f"{offset} after {before}: give starts as in a CSR matrix"
            )
        before = offset
