// CStr: a C string, which ends at its first NUL.
#include "object.hpp"

#include "../memory/owner.hpp"
#include "../support/ctypes_data.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"

#include <cstring>
#include <string>

namespace entrepot::python {
namespace {

// UTF-8, which the str object creates once and caches.
Target target_of_text(PyObject *text) {
    Py_ssize_t length = 0;
    const char *const bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (!bytes)
        throw PythonError{};
    if (std::memchr(bytes, '\0', static_cast<std::size_t>(length)))
        throw Error(
            ErrorKind::value,
            "the string has a NUL inside, where C would end it; pass bytes if that is meant");
    return {const_cast<char *>(bytes), keep(text), length, true};
}

const char *text_of(PyObject *self) noexcept {
    return static_cast<const char *>(pointer_of(self)->address);
}

// Bytes up to the first NUL, or up to the end of the memory if that is known.
std::size_t count(PyObject *self) noexcept {
    const entrepot_pointer &pointer = *pointer_of(self);
    if (!pointer.address)
        return 0;
    return pointer.length < 0 ? std::strlen(text_of(self))
                              : strnlen(text_of(self), static_cast<std::size_t>(pointer.length));
}

Reference decoded(PyObject *self, const char *encoding, const char *errors) {
    const char *const text = text_of(self);
    return checked(
        PyUnicode_Decode(text ? text : "", static_cast<Py_ssize_t>(count(self)), encoding, errors));
}

const Parameters of_decode("decode", 2, 0, {"encoding", "errors"});
const Parameters of_encode("encode", 2, 0, {"encoding", "errors"});

const char *word(PyObject *object, const char *otherwise) {
    if (!object)
        return otherwise;
    const char *const text = PyUnicode_AsUTF8(object);
    if (!text)
        throw PythonError{};
    return text;
}

PyObject *decode(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [encoding, errors] = of_decode.read(args, nargs, kwnames);
        return decoded(self, word(encoding, "utf-8"), word(errors, "strict")).release();
    });
}

PyObject *encode(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [encoding, errors] = of_encode.read(args, nargs, kwnames);
        const Reference text = decoded(self, "utf-8", "strict");
        return PyUnicode_AsEncodedString(text.get(), word(encoding, "utf-8"),
                                         word(errors, "strict"));
    });
}

PyObject *to_bytes(PyObject *self, PyObject *) {
    return PyBytes_FromStringAndSize(text_of(self), static_cast<Py_ssize_t>(count(self)));
}

[[noreturn]] void refuse_state(const char *words) {
    PyErr_SetString(PyExc_RuntimeError, words);
    throw PythonError{};
}

// Allocates room for a string that a C function writes, and one NUL, so that
// a full buffer still ends.
PyObject *allocate(PyObject *self, PyObject *object) {
    return guarded([&] {
        const Py_ssize_t length = PyNumber_AsSsize_t(object, PyExc_OverflowError);
        if (length == -1 && PyErr_Occurred())
            throw PythonError{};
        if (length < 0)
            throw Error(ErrorKind::value, "malloc: ", length, " bytes cannot be allocated");
        if (pointer_of(self)->address)
            refuse_state(
                "malloc: this CStr already has a string; make CStr(None) and allocate there");
        OwnBlock block = new_block(static_cast<std::size_t>(length) + 1, 16, {});
        set(self, {block.data, std::move(block.owner), length + 1, false}, length + 1);
        return Py_NewRef(Py_None);
    });
}

PyObject *free_own(PyObject *self, PyObject *) {
    return guarded([&] {
        if (pointer_of(self)->address && !is_owner(*pointer_of(self)))
            refuse_state("free: the memory of this CStr is not its own; only what its malloc() has "
                         "allocated is");
        set(self, {});
        return Py_NewRef(Py_None);
    });
}

}  // namespace

PyMethodDef c_string_methods[] = {
    {"decode", with_keywords(decode), METH_FASTCALL | METH_KEYWORDS,
     "decode($self, /, encoding='utf-8', errors='strict')\n--\n\n"
     "Decode the string, as bytes.decode() does.\n\n"
     "Parameters\n"
     "----------\n"
     "encoding : str, optional\n"
     "    The encoding of the bytes. The default is ``\"utf-8\"``.\n"
     "errors : str, optional\n"
     "    How to treat bytes that cannot be decoded. The default, ``\"strict\"``, raises.\n\n"
     "Returns\n"
     "-------\n"
     "str\n"
     "    The text up to the first NUL. It is empty if the address is NULL.\n\n"
     "Raises\n"
     "------\n"
     "UnicodeDecodeError\n"
     "    If the bytes are not valid in the encoding, and ``errors`` is ``\"strict\"``.\n"
     "LookupError\n"
     "    If the encoding is unknown.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import CStr\n"
     ">>> CStr(b\"gfx90a\").decode(\"ascii\")\n"
     "'gfx90a'"},
    {"encode", with_keywords(encode), METH_FASTCALL | METH_KEYWORDS,
     "encode($self, /, encoding='utf-8', errors='strict')\n--\n\n"
     "Encode the string's text in another encoding, like str.encode().\n\n"
     "Parameters\n"
     "----------\n"
     "encoding : str, optional\n"
     "    The encoding of the result. The default is ``\"utf-8\"``.\n"
     "errors : str, optional\n"
     "    How to treat characters that cannot be encoded. The default, ``\"strict\"``,\n"
     "    raises.\n\n"
     "Returns\n"
     "-------\n"
     "bytes\n"
     "    The text up to the first NUL, which is read as UTF-8.\n\n"
     "Raises\n"
     "------\n"
     "UnicodeError\n"
     "    If the string is not UTF-8, or the encoding does not have a character.\n"
     "LookupError\n"
     "    If the encoding is unknown.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import CStr\n"
     ">>> CStr(\"gfx\").encode(\"utf-16-le\")\n"
     "b'g\\x00f\\x00x\\x00'"},
    {"__bytes__", to_bytes, METH_NOARGS,
     "__bytes__($self, /)\n--\n\nThe string's bytes, without the NUL."},
    {"malloc", allocate, METH_O,
     "malloc($self, content_len, /)\n--\n\n"
     "Allocate a zeroed string of ``content_len`` bytes and its terminating NUL.\n\n"
     "The memory is freed by ``free()``, or with this CStr.\n\n"
     "Parameters\n"
     "----------\n"
     "content_len : int\n"
     "    The length of the longest string in bytes, without the NUL.\n\n"
     "Raises\n"
     "------\n"
     "RuntimeError\n"
     "    If this CStr is not NULL.\n"
     "ValueError\n"
     "    If the length is negative.\n\n"
     "Examples\n"
     "--------\n"
     ">>> import ctypes\n"
     ">>> from entrepot.adapters import CStr\n"
     ">>> name = CStr(None)\n"
     ">>> name.malloc(63)\n"
     ">>> _ = ctypes.memmove(int(name), b\"gfx90a\", 6)  # a C function writes the string\n"
     ">>> str(name)\n"
     "'gfx90a'"},
    {"free", free_own, METH_NOARGS,
     "free($self, /)\n--\n\n"
     "Free the memory that malloc() allocated. A no-op for NULL.\n\n"
     "This CStr is NULL afterwards.\n\n"
     "Raises\n"
     "------\n"
     "RuntimeError\n"
     "    If the memory is not that of ``malloc()``.\n"
     "ExchangeError\n"
     "    If other objects use the memory, such as a memoryview.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import CStr\n"
     ">>> name = CStr(None)\n"
     ">>> name.malloc(63)\n"
     ">>> name.free()\n"
     ">>> name.is_ptr_null\n"
     "True"},
    {},
};

void fill_c_string(PyObject *self, const AdapterRow &, PyObject *source) {
    const bool is_text = PyUnicode_Check(source);
    Target target = is_text ? target_of_text(source) : target_of(source);
    const Py_ssize_t length = target.bytes;
    if (is_adapter(source))
        return set(self, std::move(target), length,
                   pointer_of(source)->flags & ENTREPOT_ADAPTER_UNTERMINATED);
    // A bytes or bytearray object always has a NUL after its contents.
    const bool ends = is_text || length < 0 || PyBytes_Check(source) || PyByteArray_Check(source) ||
                      std::memchr(target.address, '\0', static_cast<std::size_t>(length));
    set(self, std::move(target), length, ends ? 0u : unsigned{ENTREPOT_ADAPTER_UNTERMINATED});
}

// The text is shown only if the end of the memory is known. Other addresses may not be readable.
PyObject *c_string_repr(PyObject *self) {
    return guarded([&] {
        if (pointer_of(self)->length < 0)
            return pointer_repr(self);
        const Reference text = decoded(self, "utf-8", "backslashreplace");
        return PyUnicode_FromFormat("<%s %s %R>", _PyType_Name(Py_TYPE(self)), HexText(self).text,
                                    text.get());
    });
}

PyObject *c_string_str(PyObject *self) {
    return guarded([&] { return decoded(self, "utf-8", "strict").release(); });
}

Py_ssize_t c_string_length(PyObject *self) { return static_cast<Py_ssize_t>(count(self)); }

PyObject *c_string_subscript(PyObject *self, PyObject *index) {
    return guarded([&] { return PyObject_GetItem(decoded(self, "utf-8", "strict").get(), index); });
}

int c_string_buffer(PyObject *self, Py_buffer *view, int flags) {
    const int filled =
        PyBuffer_FillInfo(view, self, const_cast<char *>(text_of(self) ? text_of(self) : ""),
                          c_string_length(self), 1, flags);
    if (filled == 0) {
        const Exclusive exclusive(self);
        ++pointer_of(self)->exports;
    }
    return filled;
}

void c_string_release_buffer(PyObject *self, Py_buffer *) {
    const Exclusive exclusive(self);
    --pointer_of(self)->exports;
}

}  // namespace entrepot::python
