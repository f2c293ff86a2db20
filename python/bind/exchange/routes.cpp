// Routes: the table of protocols in the order of attempts, and the cache of each type's protocols.
#include "routes.hpp"

#include "../array_object/array_object.hpp"
#include "../support/attribute.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/key_caches.hpp"
#include "../support/release.hpp"
#include "interface_dict.hpp"
#include "quirks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <sstream>

namespace entrepot::python {
namespace {

const std::array<const Protocol *, 11> protocols{
    &usm_memory_protocol,     &device_array_protocol, &numpy_protocol,          &cupy_protocol,
    &c_exchange_api_protocol, &suai_protocol,         &dlpack_protocol,         &cai_protocol,
    &buffer_protocol,         &array_struct_protocol, &array_interface_protocol};

// The interned names of the attributes, so that lookups compare pointers.
std::array<PyObject *, protocols.size()> attribute_names{};

// One bit for each protocol, in the order of the table.
using Candidates = std::uint32_t;

// Extra bit: objects of the type may have masked elements.
constexpr Candidates masks = Candidates{1} << 31;

Candidates probe(PyTypeObject *type) {
    Candidates found = 0;
    for (std::size_t i = 0; i < protocols.size(); ++i) {
        const bool speaks = protocols[i]->probe
                                ? protocols[i]->probe(type)
                                : _PyType_Lookup(type, attribute_names[i]) != nullptr;
        found |= Candidates{speaks} << i;
    }
    return may_be_masked(type) ? found | masks : found;
}

// Candidates of recently used types.
ENTREPOT_GIL_GUARDED ObjectCache<Candidates, 128> route_cache;

const Protocol &first_of(Candidates candidates) {
    return *protocols[static_cast<std::size_t>(std::countr_zero(candidates))];
}

std::optional<Array> read_first(PyObject *object, Candidates candidates,
                                const ImportRequest &request) {
    for (; candidates; candidates &= candidates - 1)
        if (std::optional<Array> array = first_of(candidates).read(object, request))
            return array;
    return std::nullopt;
}

// The protocols of the object's type. Throws if an element of the object is masked.
inline Candidates candidates_of(PyObject *object) {
    const Candidates found = route_cache.find(reinterpret_cast<PyObject *>(Py_TYPE(object)),
                                              [&] { return probe(Py_TYPE(object)); });
    if (found & masks) [[unlikely]]
        refuse_mask(object);
    return found & ~masks;
}

// Tries attributes that are set on the object itself or come from its __getattr__.
std::optional<Array> read_instance(PyObject *object, Candidates tried,
                                   const ImportRequest &request) {
    for (std::size_t i = 0; i < protocols.size(); ++i) {
        if (tried >> i & 1 || !protocols[i]->attribute)
            continue;
        if (protocols[i]->probe && !find_attribute(object, attribute_names[i]))
            continue;
        if (std::optional<Array> array = protocols[i]->read(object, request))
            return array;
    }
    return std::nullopt;
}

std::string names_of_protocols() {
    std::ostringstream out;
    for (const Protocol *protocol : protocols)
        out << (protocol == protocols.front() ? "" : ", ") << protocol->name;
    return std::move(out).str();
}

// True for Python's own sequences and numbers, which NumPy can convert.
bool is_plain_value(PyObject *object) {
    return PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object) ||
           PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object);
}

[[noreturn]] void refuse(PyObject *object) {
    const std::string_view name = Py_TYPE(object)->tp_name;
    const char *const article =
        std::string_view("aeiouAEIOU").find(name.front()) == std::string_view::npos ? "a " : "an ";
    if (object == Py_None)
        throw Error(ErrorKind::type, "None holds no memory that can be viewed; pass an array");
    if (is_plain_value(object))
        throw Error(ErrorKind::type, article, name,
                    " holds no memory that can be viewed; make an array of it, as in ",
                    "numpy.asarray(x)");
    throw Error(ErrorKind::type, article, name,
                " holds no memory that can be viewed: it speaks none of ", names_of_protocols(),
                "; make an array of it with the library that should own it");
}

// Tries all protocols of the type except the first, then the instance's attributes.
[[gnu::noinline]] void import_otherwise(std::optional<Array> &array, PyObject *object,
                                        Candidates by_type, const ImportRequest &request) {
    array = read_first(object, by_type & (by_type - 1), request);
    if (!array)
        array = read_instance(object, by_type, request);
    if (!array)
        refuse(object);
}

// The result of the first protocol that accepts the object; never empty.
inline std::optional<Array> import_by(PyObject *object, Candidates by_type,
                                      const ImportRequest &request) {
    drain_released();
    std::optional<Array> array = by_type ? first_of(by_type).read(object, request) : std::nullopt;
    if (!array) [[unlikely]]
        import_otherwise(array, object, by_type, request);
    return array;
}

const ImportRequest nothing_asked;

}  // namespace

const ImportRequest for_an_operand{.queue = {}, .for_one_operation = true};

Array import_array(PyObject *object, const ImportRequest &request) {
    return *import_by(object, candidates_of(object), request);
}

[[gnu::hot]] PyObject *import_wrapped(PyObject *object) {
    return guarded([&] {
        return wrap_made([&] { return import_by(object, candidates_of(object), nothing_asked); });
    });
}

bool is_array_type(PyTypeObject *type) noexcept {
    const Candidates speaks = route_cache.peek(reinterpret_cast<PyObject *>(type));
    if (speaks == 0)
        return false;
    const Protocol *const first = &first_of(speaks);
    return first == &numpy_protocol || first == &cupy_protocol || first == &c_exchange_api_protocol;
}

Array import_operand(PyObject *object) {
    HangOnForcedUnwind hang;
    Array array = is_array(object) ? array_of(object) : import_array(object, for_an_operand);
    hang.dismiss();
    return array;
}

Array import_array(PyObject *object, const ImportRequest &request, std::string_view name) {
    drain_released();
    const auto protocol = std::ranges::find(
        protocols, name, [](const Protocol *p) { return std::string_view(p->name); });
    if (protocol == protocols.end())
        throw Error(ErrorKind::value, "protocol '", name, "' is unknown; there are ",
                    names_of_protocols());
    const Candidates bit = Candidates{1} << (protocol - protocols.begin());
    if (std::optional<Array> array = read_first(object, candidates_of(object) & bit, request))
        return *std::move(array);
    if (std::optional<Array> array = read_instance(object, ~bit, request))
        return *std::move(array);
    throw Error(ErrorKind::exchange, "a ", Py_TYPE(object)->tp_name, " does not speak ", name);
}

bool init_routes() {
    for (std::size_t i = 0; i < protocols.size(); ++i)
        if (protocols[i]->attribute &&
            !(attribute_names[i] = PyUnicode_InternFromString(protocols[i]->attribute)))
            return false;
    return true;
}

}  // namespace entrepot::python
