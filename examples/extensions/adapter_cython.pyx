"""An adapter type of one's own, in Cython: a pair of doubles that any binding takes as a pointer, and
a function that takes any."""

from entrepot.adapters cimport DeviceArray, Pointer


cdef class Pair(Pointer):
    """``struct { double x, y; }``, made from numbers, or standing for whatever Pointer takes."""

    cdef double cells[2]

    def __init__(self, *values):
        if len(values) == 2:
            self.cells[0], self.cells[1] = values
            self.address = self.cells
        else:
            super().__init__(*values)

    cdef double _cell(self, int place) except? -1:
        if self.address == NULL:
            raise ValueError("the pair has no memory")
        return (<double *> self.address)[place]

    @property
    def x(self):
        return self._cell(0)

    @property
    def y(self):
        return self._cell(1)


cdef class Named(DeviceArray):
    """A DeviceArray with a name."""

    cdef readonly str name

    def __init__(self, source, str name):
        super().__init__(source)
        self.name = name


def total(pointer, Py_ssize_t count):
    """The sum of ``count`` doubles at any address."""
    cdef Pointer adapter = Pointer.fromObj(pointer)
    cdef Py_ssize_t i
    cdef double result = 0
    if adapter.address == NULL and count > 0:
        raise ValueError(f"a null pointer does not have {count} doubles")
    for i in range(count):
        result += (<double *> adapter.address)[i]
    return result
