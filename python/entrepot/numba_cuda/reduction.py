"""``reduce``: combines all elements of an array by a function of two numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import asarray
from ..kernel.reduction import Reduction
from ..kernel.reduction import reduce as make_reduction
from . import devices
from .arrays import DeviceNDArray, plain
from .streams import queue_of


class Reduce:
    """A function of two numbers that reduces an array of one dimension to a number.

    It is also the decorator ``@reduce``. The function has to be associative and commutative,
    rounding aside.

    Parameters
    ----------
    functor : callable
        The Python function.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> @cuda.reduce
    ... def total(x, y):
    ...     return x + y
    >>> int(total(np.arange(5)))
    10
    """

    def __init__(self, functor: Any) -> None:
        self._reduction: Reduction = make_reduction(functor)

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
    ) -> Any:
        """Reduce ``arr``.

        Parameters
        ----------
        arr : array_like
            The array of one dimension.
        size : int, optional
            The number of leading elements to combine. The default is all.
        res : DeviceNDArray, optional
            An array of one element for the result. Then None is returned.
        init : scalar, optional
            The value to begin with, and the result of no elements. The default is 0.
        stream : Stream or 0, optional
            The stream of the kernels.

        Returns
        -------
        scalar or None
            The result, in the type of the elements.

        Raises
        ------
        TypeError
            If the array does not have one dimension.
        """
        values = asarray(plain(arr))
        if values.ndim != 1:
            raise TypeError("reduce: only arrays of one dimension are supported: use ravel()")
        if size is not None:
            values = values[:size]
        dtype = np.dtype(str(values.dtype))
        total = dtype.type(init)
        if values.size:
            queue = queue_of(stream) or (
                values.queue if values.device.backend != "host" else devices.current_queue()
            )
            if values.device.backend == "host" and queue.device.backend != "host":
                values = values.to(queue=queue)
            found = dtype.type(self._reduction(values, queue=queue))
            total = dtype.type(self._reduction.function(total, found))
        if res is None:
            return total
        target = res if isinstance(res, DeviceNDArray) else DeviceNDArray(asarray(plain(res)))
        target[:1] = total
        return None


reduce = Reduce
