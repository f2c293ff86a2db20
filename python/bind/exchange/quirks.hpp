// Quirks of the world: where producers in use depart from a specification, and how we take them.
#pragma once
#include <Python.h>

namespace entrepot::python {

// Producers whose SUAI says in data[1] whether the memory may be written, the opposite of the specification ("read-only").
struct InvertedProducer {
    const char *package;  // of the class that defines the attribute: its module, or a package above it
    const char *name;     // of that class
    const char *reason;
};

inline constexpr InvertedProducer inverted_producers[] = {
    {"dpctl.memory", "_Memory",
     "emits the constant True and calls it 'writable'; dpctl's parser does not look at it. Believed, it would make all memory of "
     "dpctl read-only"},
    {"onedal", "table", "emits is_mutable (and a list in place of the tuple): scikit-learn-intelex, onedal/datatypes"},
};

// Whether objects of the type have an inverted flag. The class that defines the attribute decides, so subclasses follow it.
bool inverted_read_only(PyTypeObject *type);

}  // namespace entrepot::python
