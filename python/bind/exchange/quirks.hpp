// Quirks of the world: where producers in use depart from a specification, and how we take them.
#pragma once
#include <Python.h>

namespace entrepot::python {

// A producer that says something else than it means, of writing or of its elements. It is named by the class that defines the
// attribute, so that subclasses follow it and a class that answers for itself is believed.
struct OddProducer {
    const char *package;  // of the class: its module, or a package above it
    const char *name;     // of the class
    const char *reason;
};

// SUAI, data[1]: whether the memory may be written, the opposite of the specification ("read-only").
inline constexpr OddProducer inverted_producers[] = {
    {"dpctl.memory", "_Memory",
     "emits the constant True and calls it 'writable'; dpctl's parser does not look at it. Believed, it would make all memory of "
     "dpctl read-only"},
    {"onedal", "table",
     "emits is_mutable (and a list in place of the tuple): scikit-learn-intelex, onedal/datatypes, in builds with SYCL; PyPI's "
     "wheels have none"},
};

// DLPack: the memory must never be written, and the tensor is one that cannot say so.
inline constexpr OddProducer immutable_producers[] = {
    {"jaxlib", "ArrayImpl",
     "JAX's arrays are immutable and shared behind the scenes; its capsules are legacy ones, which have no flags"},
};

// `mask`: elements that are not there, of which none of the protocols that the object speaks has a word.
inline constexpr OddProducer masking_producers[] = {
    {"numpy.ma", "MaskedArray",
     "inherits every protocol of ndarray's, each with the numbers behind the mask and without the mask"},
};

// Whether objects of the type are of inverted_producers, of immutable_producers, or of masking_producers.
bool inverted_read_only(PyTypeObject *type);
bool is_immutable(PyTypeObject *type);
bool may_be_masked(PyTypeObject *type);

// Throws where elements of such an object are masked; a mask that hides nothing is lost without harm.
void refuse_mask(PyObject *object);

}  // namespace entrepot::python
