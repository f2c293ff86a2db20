# The adapter types for Cython: `from entrepot.adapters cimport Pointer`. Compile with the headers of entrepot (entrepot::headers).


cdef extern from "entrepot/python/adapters.h":
    enum entrepot_adapter_flag:
        ENTREPOT_ADAPTER_READ_ONLY
        ENTREPOT_ADAPTER_FREED
        ENTREPOT_ADAPTER_UNTERMINATED

    ctypedef class entrepot._core.Pointer [object entrepot_pointer]:
        cdef void *address
        cdef void *handle
        cdef void (*release)(void *handle) noexcept
        cdef Py_ssize_t length
        cdef unsigned flags

    ctypedef class entrepot._core.CStr(Pointer) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.DeviceArray(Pointer) [object entrepot_device_array]:
        pass

    ctypedef class entrepot._core.ListOfBytes(Pointer) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.ListOfPointer(Pointer) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.ListOfInt(Pointer) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.ListOfUnsigned(Pointer) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.ListOfLong(Pointer) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.ListOfUnsignedLong(Pointer) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.ListOfInt64(Pointer) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.ListOfUInt64(Pointer) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.PointerToInt(ListOfInt) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.PointerToUnsigned(ListOfUnsigned) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.PointerToLong(ListOfLong) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.PointerToUnsignedLong(ListOfUnsignedLong) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.PointerToInt64(ListOfInt64) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.PointerToUInt64(ListOfUInt64) [object entrepot_pointer]:
        pass

    ctypedef class entrepot._core.HipModuleLaunchKernel_extra(Pointer) [object entrepot_pointer]:
        pass
