// repr(array): shape, type, place, and the values where the host may read them now.
#include "methods.hpp"

#include "../array_object/array_object.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/load_number.hpp"

#include <entrepot/core/small_float.hpp>

#include <algorithm>
#include <charconv>
#include <string>

namespace entrepot::python {
namespace {

// Longer axes show only this many elements at either end.
constexpr std::int64_t edge = 3;
constexpr std::int64_t whole = 1000;  // elements up to which everything is shown

template <class T> std::string number_text(T value) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

template <class T> std::string complex_text(const std::byte *item) {
    const std::string imaginary = number_text(load<T>(item + sizeof(T)));
    return number_text(load<T>(item)) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
}

// Shows dtypes without a C++ or Python number type as bits.
std::string bits_text(const std::byte *item, std::int64_t bytes) {
    std::string text = "0x";
    for (std::int64_t i = bytes; i-- > 0;) {
        const char digits[] = "0123456789abcdef";
        text += digits[std::to_integer<int>(item[i] >> 4)];
        text += digits[std::to_integer<int>(item[i] & std::byte{15})];
    }
    return text;
}

std::string item_text(const std::byte *item, Dtype dtype) {
    if (dtype.lanes == 1) {
        switch (dtype.code) {
        case TypeCode::boolean:
            return load<std::uint8_t>(item) ? "True" : "False";
        case TypeCode::integer:
            return number_text(load_signed(item, dtype.bits));
        case TypeCode::unsigned_integer:
            return number_text(load_unsigned(item, dtype.bits));
        case TypeCode::bfloat:
            return number_text(static_cast<float>(BFloat16::decode(load<std::uint16_t>(item))));
        case TypeCode::floating:
            if (dtype.bits == 16)
                return number_text(static_cast<float>(Float16::decode(load<std::uint16_t>(item))));
            return dtype.bits == 32 ? number_text(load<float>(item))
                                    : number_text(load<double>(item));
        case TypeCode::complex:
            if (dtype.bits >= 64)
                return dtype.bits == 64 ? complex_text<float>(item) : complex_text<double>(item);
            break;
        default:
            break;
        }
    }
    return bits_text(item, dtype.itemsize());
}

void append_values(std::string &out, const Array &array, const std::byte *item, std::size_t axis) {
    if (axis == array.ndim()) {
        out += item_text(item, array.dtype());
        return;
    }
    if (array.size() == 0) {  // whatever the shape
        out += "[]";
        return;
    }
    const std::int64_t extent = array.shape()[axis],
                       stride = array.strides()[axis] * array.itemsize();
    const bool innermost = axis + 1 == array.ndim(),
               shortened = array.size() > whole && extent > 2 * edge;
    const std::string separator = innermost ? ", " : ",\n" + std::string(7 + axis, ' ');
    out += '[';
    for (std::int64_t i = 0; i < extent; ++i) {
        if (i > 0)
            out += separator;
        if (shortened && i == edge) {
            out += "...";
            i = extent - edge - 1;
        } else {
            append_values(out, array, item + i * stride, axis + 1);
        }
    }
    out += ']';
}

std::string text_of(const Array &array) {
    std::string out = "Array(";
    if (array.is_host_accessible()) {
        array.memory().wait_for_host(Access::read);
        append_values(out, array, static_cast<const std::byte *>(array.data()), 0);
        out += ", ";
    }
    if (!array.is_host_accessible() || array.size() == 0 || array.size() > whole)
        out += "shape=" + tuple_text(array.shape()) + ", ";
    out += "dtype=" + name_of(array.dtype());
    out += ", device=" + array.device().selector();
    out += ", kind=" + std::string(name_of(array.kind()));
    if (array.read_only())
        out += ", read_only=True";
    return out + ")";
}

}  // namespace

PyObject *array_repr(PyObject *self) {
    return guarded([&] {
        const Array array = array_of(self);
        const std::string text = without_gil([&] { return text_of(array); });
        return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    });
}

}  // namespace entrepot::python
