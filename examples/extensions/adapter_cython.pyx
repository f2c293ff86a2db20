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

    @property
    def x(self):
        return (<double *> self.address)[0]

    @property
    def y(self):
        return (<double *> self.address)[1]


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
    for i in range(count):
        result += (<double *> adapter.address)[i]
    return result
