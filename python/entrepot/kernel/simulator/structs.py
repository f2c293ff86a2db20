"""Structs and short vectors of simulated kernels.

An array of structs has a View for each number in it. An element refers to it, so that ``q = p[i]``
shares its memory. A vector, and a copied struct, is a value that never changes: an assignment to a
component makes a new one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import arithmetic
from .arithmetic import cast, dtype_of, kind_of
from .errors import refuse

#: OpenCL's names of the components of long vectors.
_LONG = tuple(f"s{place:x}" for place in range(16))
_ARRAY_ATTRIBUTES = ("shape", "size", "ndim")


def names_of_components(count: int) -> tuple[str, ...]:
    return tuple("xyzw"[:count]) if count <= 4 else _LONG[:count]


class Record:
    """A struct or a vector as a value: the names and the values of its fields."""

    __slots__ = ("is_vector", "names", "values")

    names: tuple[str, ...]
    values: tuple[Any, ...]
    is_vector: bool

    def __init__(
        self, names: tuple[str, ...], values: tuple[Any, ...], is_vector: bool = False
    ) -> None:
        self.names, self.values, self.is_vector = names, values, is_vector

    def place_of(self, key: Any) -> int:
        """The place of the field that a name or the number of a component denotes."""
        if isinstance(key, str):
            if key not in self.names:
                raise refuse(f"{self} has no field {key!r}; it has {', '.join(self.names)}")
            return self.names.index(key)
        if not self.is_vector or not isinstance(key, (int, np.integer)):
            raise refuse(f"{self} has fields and no elements; write one of {', '.join(self.names)}")
        if not -len(self.values) <= key < len(self.values):
            raise refuse(f"there is no component {key} in {self}")
        return int(key) % len(self.values)

    def __getattr__(self, name: str) -> Any:
        return self.values[self.place_of(name)]

    def __getitem__(self, key: Any) -> Any:
        return self.values[self.place_of(key)]

    def __len__(self) -> int:
        if not self.is_vector:
            raise refuse(f"{self} has no length")
        return len(self.values)

    def __str__(self) -> str:
        if self.is_vector:
            return f"a {self.values[0].dtype}x{len(self.values)}"
        return f"a struct of {', '.join(self.names)}"

    __repr__ = __str__

    def copy(self) -> Record:
        return self

    def with_part(self, key: Any, value: Any) -> Record:
        """The value in which one number differs."""
        place = self.place_of(key)
        old = self.values[place]
        if not isinstance(old, np.generic):
            raise refuse("only numbers of a copied struct are assigned")
        values = list(self.values)
        values[place] = cast(old.dtype, value)
        return Record(self.names, tuple(values), self.is_vector)


class Structs:
    """An array of structs or vectors, or one element of it.

    ``fields`` are the Views, or Structs, of the whole array; ``index`` is that of the element.
    """

    __slots__ = ("_fields", "_index", "_is_vector", "_ndim")

    _fields: dict[str, Any]
    _ndim: int
    _is_vector: bool
    _index: tuple[Any, ...]

    def __init__(
        self,
        fields: dict[str, Any],
        ndim: int,
        is_vector: bool = False,
        index: tuple[Any, ...] = (),
    ) -> None:
        set_own = functools.partial(object.__setattr__, self)
        set_own("_fields", fields)
        set_own("_ndim", ndim)
        set_own("_is_vector", is_vector)
        set_own("_index", index)

    @property
    def is_element(self) -> bool:
        return self._ndim == len(self._index)

    @property
    def is_vector(self) -> bool:
        return self._is_vector

    def __repr__(self) -> str:
        kind = "a vector" if self._is_vector else f"a struct of {', '.join(self._fields)}"
        return kind if self.is_element else f"an array of elements, each {kind}"

    def _first(self) -> Any:
        field = next(iter(self._fields.values()))
        return field._first() if isinstance(field, Structs) else field

    def __len__(self) -> int:
        if self.is_element:
            return len(self.read())
        return int(self._first().shape[0])

    def _field(self, name: str) -> Any:
        if name not in self._fields:
            raise refuse(f"{self!r} has no field {name!r}; it has {', '.join(self._fields)}")
        field = self._fields[name]
        return field[self._index] if self.is_element else field

    def __getattr__(self, name: str) -> Any:
        if not self.is_element and name in _ARRAY_ATTRIBUTES:
            shape = self._first().shape[: self._ndim]
            if name == "shape":
                return shape
            return np.int64(len(shape) if name == "ndim" else np.prod(shape, dtype=np.int64))
        return self._field(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return self._field(index)
        if self.is_element:
            if isinstance(index, tuple) and not index:
                return self
            return self.read()[index]
        indices = _complete(index if isinstance(index, tuple) else (index,), self._ndim)
        if not any(isinstance(each, slice) for each in indices):
            return Structs(self._fields, self._ndim, self._is_vector, indices)
        fields = {name: field[indices] for name, field in self._fields.items()}
        ndim = sum(isinstance(each, slice) for each in indices)
        return Structs(fields, ndim, self._is_vector)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str):
            if not self.is_element:
                raise refuse(f"a part of {self!r} is assigned at once; write a loop")
            for place, number in _stores(self._place(key), value):
                place[()] = number
            return
        element = self
        if self.is_element and self._is_vector and not isinstance(key, tuple):
            self[tuple(self._fields)[self.read().place_of(key)]] = value
            return
        if not self.is_element:
            element = self[key]
        for place, number in _stores(element, value):
            place[()] = number

    def _place(self, name: str) -> Any:
        """The field of an element as a part of its array."""
        if name not in self._fields:
            raise refuse(f"{self!r} has no field {name!r}; it has {', '.join(self._fields)}")
        field = self._fields[name]
        if isinstance(field, Structs):
            return field[self._index]
        return (
            _Element(field, self._index) if field.ndim == len(self._index) else field[self._index]
        )

    def places(self) -> Iterator[Any]:
        return map(self._place, self._fields)

    def read(self) -> Record:
        """The numbers of an element as a value; those of a sub-array become a tuple."""
        if not self.is_element:
            raise refuse(f"{self!r} is copied at once; write a loop over its elements")
        values = tuple(map(_read, (self._field(name) for name in self._fields)))
        return Record(tuple(self._fields), values, self._is_vector)

    def copy(self) -> Record:
        return self.read()


class _Element:
    """An element of a View, to store to."""

    __slots__ = ("_index", "_view")

    def __init__(self, view: Any, index: tuple[Any, ...]) -> None:
        self._view, self._index = view, index

    def __setitem__(self, _: tuple[()], value: Any) -> None:
        self._view[self._index] = value


def _complete(indices: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """The subscript with an entry for each of the dimensions."""
    named = len(indices) - (Ellipsis in indices)
    if named > ndim:
        raise refuse(f"there are {named} indices for an array of {ndim} dimensions")
    rest = (slice(None),) * (ndim - named)
    if Ellipsis not in indices:
        return (*indices, *rest)
    place = indices.index(Ellipsis)
    return (*indices[:place], *rest, *indices[place + 1 :])


def _read(value: Any) -> Any:
    if isinstance(value, Structs):
        return value.read()
    if isinstance(value, (np.generic, Record)):
        return value
    return tuple(_read(value[place]) for place in range(len(value)))


def _stores(place: Any, value: Any) -> list[tuple[Any, Any]]:
    """The places and the numbers that a store assigns; all are read before the first is written."""
    if isinstance(place, _Element):
        return [(place, value)]
    if isinstance(place, Structs):
        parts = list(place.places())
        items = _items(place, value)
    else:
        count = int(place.shape[0])
        if place.ndim == 1:
            parts = [_Element(place, (k,)) for k in range(count)]
        else:
            parts = [place[k] for k in range(count)]
        items = value if isinstance(value, tuple) else tuple(value[k] for k in range(count))
    if len(parts) != len(items):
        raise refuse(f"there are {len(items)} items for {len(parts)} numbers")
    found = []
    for part, item in zip(parts, items, strict=True):
        found += _stores(part, item)
    return found


def _items(place: Structs, value: Any) -> tuple[Any, ...]:
    if isinstance(value, Structs):
        value = value.read()
    if isinstance(value, Record) and value.names == tuple(place._fields):
        return value.values
    if isinstance(value, tuple):
        return value
    raise refuse(f"the element is {place!r}, but this is {value!r}")


# Vectors ----------------------------------------------------------------------------------------


def vector(dtype: Any, *arguments: Any) -> Record:
    """``float32x4(x, y, z, w)``: of numbers, vectors and structs, or of one number for all."""
    lane = dtype_of(str(dtype).rpartition("x")[0])
    numbers = list(_numbers(arguments))
    if len(numbers) == 1:
        numbers *= dtype.lanes
    if len(numbers) != dtype.lanes:
        raise refuse(
            f"{dtype}(...) takes {dtype.lanes} numbers, or one for all, but {len(numbers)} are "
            "given"
        )
    return _made([cast(lane, number) for number in numbers])


def _numbers(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, Structs):
            value = value.read()
        if isinstance(value, Record):
            yield from _numbers(value.values)
        elif isinstance(value, tuple):
            yield from _numbers(value)
        else:
            yield value


def _made(components: list[Any]) -> Record:
    return Record(names_of_components(len(components)), tuple(components), is_vector=True)


def value_of(value: Any) -> Any:
    """The vector that an element of an array of vectors holds; other values are unchanged."""
    is_element = type(value) is Structs and value._is_vector and value.is_element
    return value.read() if is_element else value


def returned(value: Any) -> Any:
    """The result of a device function, which copies structs."""
    if isinstance(value, tuple):
        return tuple(map(returned, value))
    return value.read() if type(value) is Structs and value.is_element else value


def by_component(
    function: Callable[..., Any], of_components: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Extends a function of numbers to vectors; a number counts as a vector of equal components.

    ``of_components`` is the function of components, if it differs.
    """
    inner = of_components or function

    def apply(*values: Any, **named: Any) -> Any:
        for value in values:
            if type(value) is Structs or type(value) is Record:
                return _applied(inner, tuple(map(value_of, values)))
        return function(*values, **named)

    return apply


def _applied(function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    first = next((value for value in values if isinstance(value, Record)), None)
    if first is None or not first.is_vector:
        raise refuse("a struct is no number; write its fields, as in p[i].x")
    lane = first.values[0].dtype
    columns = []
    for value in values:
        if isinstance(value, Record):
            if not value.is_vector or len(value) != len(first) or value.values[0].dtype != lane:
                raise refuse(f"vectors of one type meet, but these are {first} and {value}")
            columns.append(value.values)
            continue
        is_float = isinstance(value, float) or (
            isinstance(value, np.generic) and kind_of(value.dtype) in ("float", "complex")
        )
        if is_float and kind_of(lane) != "float":
            raise refuse(f"{first} meets {value!r}; convert one of them")
        columns.append((cast(lane, value),) * len(first))
    return _made([function(*operands) for operands in zip(*columns, strict=True)])


def dot(left: Any, right: Any) -> Any:
    products = by_component(arithmetic.multiply)(left, right)
    return functools.reduce(arithmetic.add, products.values)


def items_of(value: Any, count: int) -> tuple[Any, ...]:
    """The items of a tuple for as many targets."""
    if not isinstance(value, tuple) or len(value) != count:
        raise refuse(f"a tuple of {count} items is expected, but this is {value!r}")
    return tuple(map(value_of, value))


def replaced(value: Any, owner: Any, key: Any) -> Any:
    """``owner`` after the assignment of ``value`` to its part: a new value, or the same array,
    which is changed.
    """
    if isinstance(owner, Record):
        return owner.with_part(key, value)
    owner[key] = value
    return owner


# Arrays -----------------------------------------------------------------------------------------


def structs_of(
    dtype: Any, view: Callable[[str, Any, tuple[int, ...]], Any], ndim: int, prefix: str = ""
) -> Structs:
    """An array of structs; ``view(name, dtype, extents)`` makes the View of a number.

    ``dtype`` is a structured dtype of NumPy, or a vector's of Entrepot.
    """
    if getattr(dtype, "lanes", 1) > 1:
        lane = dtype_of(str(dtype).rpartition("x")[0])
        names = names_of_components(dtype.lanes)
        return Structs({name: view(name, lane, ()) for name in names}, ndim, is_vector=True)

    def fields_of(dtype: Any, prefix: str, extents: tuple[int, ...], ndim: int) -> Structs:
        fields: dict[str, Any] = {}
        for name in dtype.names:
            base, shape = dtype.fields[name][0].subdtype or (dtype.fields[name][0], ())
            inner = (*extents, *shape)
            if base.names is None:
                fields[name] = view(prefix + name, base, inner)
            else:
                fields[name] = fields_of(base, f"{prefix}{name}.", inner, ndim + len(shape))
        return Structs(fields, ndim)

    return fields_of(dtype, prefix, (), ndim)


def record_of(value: Any, dtype: Any) -> Record:
    """A record of NumPy as a value."""
    values = []
    for name in dtype.names:
        base, _ = dtype.fields[name][0].subdtype or (dtype.fields[name][0], ())
        part = value[name]
        if base.names is not None:
            values.append(record_of(part, base))
        else:
            values.append(_tuples(part) if getattr(part, "shape", ()) else part)
    return Record(tuple(dtype.names), tuple(values))


def _tuples(array: Any) -> Any:
    return tuple(map(_tuples, array)) if getattr(array, "shape", ()) else array


def is_struct_dtype(spelling: Any) -> bool:
    """True for a dtype of structs or vectors."""
    return getattr(spelling, "names", None) is not None or getattr(spelling, "lanes", 1) > 1
