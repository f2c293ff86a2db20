// Interface dicts: the entries that SUAI, the CUDA array interface and
// NumPy's array interface share.
//
// A dict is read in one pass that compares keys by identity, because string literals are interned.
// A value that violates the protocol is refused with the protocol's error. Exceptions that are
// unrelated to the value (KeyboardInterrupt, MemoryError) pass through.
#pragma once
#include "../support/reference.hpp"
#include "protocol.hpp"

#include <entrepot/array/array.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace entrepot::python {

enum class Key : std::uint8_t {
    shape,
    typestr,
    data,
    strides,
    offset,
    version,
    syclobj,
    mask,
    stream
};
inline constexpr std::size_t key_count = 9;

// The key as an interned Python string; borrowed.
PyObject *key_object(Key key);

// Extents or strides.
struct Numbers {
    std::array<std::int64_t, Layout::max_ndim> values;
    std::size_t count;

    Extents extents() const noexcept { return {values.data(), count}; }
};

struct DataEntry {
    void *pointer;
    bool flag;  // the protocol's read-only flag
};

class InterfaceDict {
public:
    // Stores the current values, because Python code that runs later may change the dict. Throws
    // the speaker's refusal if it is not a dict. `speaker` must outlive this object.
    InterfaceDict(const exchange::Speaker &speaker, Reference dict);

    // Borrowed from this object; nullptr if the key is missing or has the value None.
    PyObject *find(Key key) const noexcept { return values_[static_cast<std::size_t>(key)].get(); }
    // Throws if 'version' is missing or outside lowest … highest. The message recommends `usual`.
    void check_version(std::int64_t lowest, std::int64_t highest, std::int64_t usual) const;
    // Throws if there is a mask.
    void check_no_mask() const;
    // Throws if there is an offset, for protocols without one. HIP Python writes an offset, and a
    // consumer that follows the protocol would read other memory.
    void check_no_offset() const;
    // The text lives as long as this object. Throws if it is missing or not a string.
    std::string_view typestr() const;
    // Throws if it is missing or not a tuple (or list) of ints.
    void read_shape(Numbers &shape) const;
    // Returns false if there are no strides (C-contiguous). Throws if they are not a tuple (or
    // list) of `count` ints.
    bool read_strides(Numbers &strides, std::size_t count) const;
    // 0 if there is no offset.
    std::int64_t offset() const;
    // Throws if the value is not an int or does not fit an address.
    std::uintptr_t address(PyObject *value, const char *what) const;
    // Throws if the value is not a pair of address and flag. Accepts a list as well as a tuple.
    DataEntry data_entry(PyObject *value) const;

private:
    std::int64_t integer(PyObject *value, const char *what) const;
    void read_numbers(PyObject *sequence, Numbers &numbers, const char *what) const;

    const exchange::Speaker &speaker_;
    std::array<Reference, key_count> values_;
};

// A tuple of the numbers, each multiplied by `factor`; throws PythonError.
Reference tuple_of(Extents numbers, std::int64_t factor = 1);

// Sets an entry. Throws PythonError if `value` is empty or memory runs out.
void set_entry(const Reference &dict, Key key, const Reference &value);

// Throws PythonError: AttributeError with the refusal's message, so that the
// consumer tries another protocol.
[[noreturn]] void refuse_absent(const char *attribute, const Error &refusal);

// Runs `describe`. If the protocol cannot describe the memory (InterfaceError), the attribute is
// reported as missing.
template <class Describe> auto unless_absent(const char *attribute, Describe describe) {
    try {
        return describe();
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::interface)
            refuse_absent(attribute, error);
        throw;
    }
}

// Refuses a dtype without a typestr. Throws PythonError: AttributeError with advice, so that the
// consumer tries another protocol.
[[noreturn]] void refuse_dtype(Dtype dtype, const char *attribute);

// The common entries of an exported dict: shape, typestr, data, version and strides. Strides are
// None if C-contiguous, otherwise multiplied by `stride_unit`.
// Throws: PythonError; for a dtype without a typestr as refuse_dtype().
Reference interface_dict_of(const Array &array, std::int64_t stride_unit, int version,
                            const char *attribute);

}  // namespace entrepot::python
