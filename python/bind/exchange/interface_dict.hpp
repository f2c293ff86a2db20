// Interface dicts: the entries that SUAI, the CUDA array interface and NumPy's array interface share, read and written.
//
// A dict is read in one pass, by the identity of its keys, which are interned wherever somebody wrote them in source. A value
// that is not what its protocol says is refused with the protocol's error; exceptions that have nothing to do with the value
// (KeyboardInterrupt, MemoryError) pass through.
#pragma once
#include "../reference.hpp"
#include "protocol.hpp"

#include <entrepot/array/array.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace entrepot::python {

enum class Key : std::uint8_t { shape, typestr, data, strides, offset, version, syclobj, mask, stream };
inline constexpr std::size_t key_count = 9;

// The key as a Python string, interned; borrowed.
PyObject *key_object(Key key);

// The attribute's value. An empty reference where the object does not have it after all (AttributeError, NotImplementedError);
// throws PythonError for anything else that its getter raises.
Reference find_attribute(PyObject *object, PyObject *name);

// Extents, or strides, as numbers.
struct Numbers {
    std::array<std::int64_t, Layout::max_ndim> values;
    std::size_t count;

    Extents extents() const noexcept { return {values.data(), count}; }
};

struct DataEntry {
    void *pointer;
    bool flag;  // the protocol's "read-only"
};

class InterfaceDict {
public:
    // `speaker` outlives this. Keeps what the dict says now, because whatever Python code runs next may change it. Throws the
    // speaker's refusal where it is no dict.
    InterfaceDict(const exchange::Speaker &speaker, Reference dict);

    // Borrowed from this; nullptr where there is no such key, or None.
    PyObject *find(Key key) const noexcept { return values_[static_cast<std::size_t>(key)].get(); }
    // Throws where 'version' is missing or none of lowest … highest; `usual` is the one to be advised.
    void check_version(std::int64_t lowest, std::int64_t highest, std::int64_t usual) const;
    // Throws where there is a mask.
    void check_no_mask() const;
    // Throws where there is an offset, for protocols that have none: HIP Python writes one, and whoever reads the protocol would
    // look at other memory.
    void check_no_offset() const;
    // The text lives as long as this. Throws where it is missing or no string.
    std::string_view typestr() const;
    // Throws where it is missing or no tuple (or list) of ints.
    void read_shape(Numbers &shape) const;
    // False where there are none: C-contiguous. Throws where they are no tuple (or list) of `count` ints.
    bool read_strides(Numbers &strides, std::size_t count) const;
    // 0 where there is none.
    std::int64_t offset() const;
    // Throws where the value is no int; one that does not fit an address, too.
    std::uintptr_t address(PyObject *value, const char *what) const;
    // Throws where the value is no pair of address and flag; a list is taken as well as a tuple.
    DataEntry data_entry(PyObject *value) const;

private:
    std::int64_t integer(PyObject *value, const char *what) const;
    void read_numbers(PyObject *sequence, Numbers &numbers, const char *what) const;

    const exchange::Speaker &speaker_;
    std::array<Reference, key_count> values_;
};

// A tuple of the numbers, each times `factor`; throws PythonError.
Reference tuple_of(Extents numbers, std::int64_t factor = 1);

// Throws PythonError where there is no value, or no memory left for it.
void set_entry(const Reference &dict, Key key, const Reference &value);

// Throws PythonError: AttributeError with the refusal, so that the consumer tries another protocol.
[[noreturn]] void refuse_absent(const char *attribute, const Error &refusal);

// What a hand-over gives. Memory that the protocol does not describe, an InterfaceError, is an attribute that is not there.
template <class HandOver> auto unless_absent(const char *attribute, HandOver hand_over) {
    try {
        return hand_over();
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interface)
            refuse_absent(attribute, error);
        throw;
    }
}

// Throws PythonError: AttributeError, so that the consumer tries another protocol, with advice. For types without a typestr.
[[noreturn]] void refuse_dtype(Dtype dtype, const char *attribute);

// The entries that every such dict of ours has: shape, typestr, data and version; strides are None where they are C-contiguous,
// else each times `stride_unit`. Throws PythonError, as refuse_dtype does where the dtype has no typestr.
Reference interface_dict_of(const Array &array, std::int64_t stride_unit, int version, const char *attribute);

}  // namespace entrepot::python
