// Quirks: known deviations of producers from the specifications, and how they are handled.
#pragma once
#include <Python.h>

namespace entrepot::python {

// A producer whose data misreport writability or elements. It is identified by the class that
// defines the attribute: subclasses inherit the quirk, and classes that override the attribute do
// not have it.
struct OddProducer {
    const char *package;  // the class's module or a parent package of it
    const char *name;     // of the class
    const char *reason;
};

// SUAI, data[1]: the flag means "writable", while the specification says "read-only".
inline constexpr OddProducer inverted_producers[] = {
    {"dpctl.memory", "_Memory",
     "emits the constant True and calls it 'writable'; dpctl's parser does not look at it. "
     "Believed, it would make all memory of "
     "dpctl read-only"},
    {"onedal", "table",
     "emits is_mutable (and a list in place of the tuple): scikit-learn-intelex, onedal/datatypes, "
     "in builds with SYCL; PyPI's "
     "wheels have none"},
};

// DLPack: the memory must never be written, but the tensor has no read-only flag.
inline constexpr OddProducer immutable_producers[] = {
    {"jaxlib", "ArrayImpl",
     "JAX's arrays are immutable and shared behind the scenes; its capsules are legacy ones, which "
     "have no flags"},
};

// `mask`: some elements are missing, which no other protocol of the object reports.
inline constexpr OddProducer masking_producers[] = {
    {"numpy.ma", "MaskedArray",
     "inherits every protocol of ndarray's, each with the numbers behind the mask and without the "
     "mask"},
};

// True if objects of the type belong to inverted_producers,
// immutable_producers or masking_producers.
bool inverted_read_only(PyTypeObject *type);
bool is_immutable(PyTypeObject *type);
bool may_be_masked(PyTypeObject *type);

// Throws if an element of the object is masked. A mask without masked elements can be dropped.
void refuse_mask(PyObject *object);

}  // namespace entrepot::python
