#include "call_errors.hpp"

#include "reference.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace entrepot::python {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view refusal =
    "(): incompatible function arguments. The following argument types are supported:\n";
constexpr std::string_view invoked = "Invoked with types: ";

std::string without_module(std::string_view text) {
    constexpr std::string_view module = "entrepot._core.";
    std::string found(text);
    for (std::size_t at = 0; (at = found.find(module, at)) != std::string::npos;)
        found.erase(at, module.size());
    return found;
}

// `    1. wait(self, event: Event) -> None` → `wait(event: Event)`, with `name` for `__init__`.
std::string signature(std::string_view line, std::string_view name) {
    line.remove_prefix(std::min(line.find(". ") + 2, line.size()));
    line = line.substr(0, line.rfind(" -> "));
    std::string found = without_module(line);
    const std::size_t open = found.find('(');
    if (open == std::string::npos)
        return found;
    for (const std::string_view self : {"self, "sv, "self"sv})
        if (std::string_view(found).substr(open + 1).starts_with(self)) {
            found.erase(open + 1, self.size());
            break;
        }
    return found.replace(0, open, name);
}

// Returns: nanobind's message in one line: the signatures, and the types that were passed. Empty if
//          it is another message.
std::string shortened(std::string_view text) {
    const std::size_t end = text.find(refusal);
    const std::size_t types_at = text.rfind(invoked);
    if (end == std::string_view::npos || types_at == std::string_view::npos)
        return {};
    std::string_view name = text.substr(0, end);
    std::string types = without_module(text.substr(types_at + invoked.size()));
    std::string_view lines = text.substr(end + refusal.size(), types_at - end - refusal.size());
    std::string class_name;
    if (lines.find("(self") != std::string_view::npos) {
        const std::size_t comma = types.find(", ");
        class_name = types.substr(0, comma);
        types.erase(0, comma == std::string::npos ? comma : comma + 2);
        if (name == "__init__")
            name = class_name;
    }
    std::string found;
    while (!lines.empty() && lines.front() != '\n') {
        const std::size_t length = std::min(lines.find('\n'), lines.size());
        found += (found.empty() ? "" : " or ") + signature(lines.substr(0, length), name);
        lines.remove_prefix(std::min(length + 1, lines.size()));
    }
    return found + " cannot be called with (" + types + ")";
}

void shorten_error() noexcept {
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    std::string text;
    if (const Reference words(value ? PyObject_Str(value) : nullptr); words)
        if (const char *const utf8 = PyUnicode_AsUTF8(words.get()))
            try {
                text = shortened(utf8);
            } catch (...) {  // out of memory: nanobind's message stays
            }
    if (text.empty())
        return PyErr_Restore(type, value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_SetString(PyExc_TypeError, text.c_str());
}

// nanobind has a few entry points, which it chooses by the arguments that a function takes. Each
// gets a caller of its own, so that a call costs no lookup. Written at import, before the module's
// functions can be called.
constexpr std::size_t most_entries = 8;
std::array<vectorcallfunc, most_entries> entries{};

template <std::size_t index>
PyObject *call(PyObject *function, PyObject *const *arguments, std::size_t count, PyObject *names) {
    PyObject *const result = entries[index](function, arguments, count, names);
    if (!result) [[unlikely]]
        shorten_error();
    return result;
}

template <std::size_t... index>
constexpr std::array<vectorcallfunc, most_entries> callers_of(std::index_sequence<index...>) {
    return {call<index>...};
}
constexpr auto callers = callers_of(std::make_index_sequence<most_entries>());

void shorten_errors_of(PyObject *function) {
    const std::string_view type = Py_TYPE(function)->tp_name;
    const Py_ssize_t offset = Py_TYPE(function)->tp_vectorcall_offset;
    if ((!type.ends_with("nb_func") && !type.ends_with("nb_method")) || offset <= 0)
        return;
    auto &entry =
        *reinterpret_cast<vectorcallfunc *>(reinterpret_cast<std::byte *>(function) + offset);
    if (std::ranges::find(callers, entry) != callers.end())
        return;  // it has two names
    // The first free place follows the known entries. Without one, nanobind's message stays.
    const auto found = std::ranges::find_if(
        entries, [&](vectorcallfunc known) { return known == entry || !known; });
    if (found == entries.end())
        return;
    *found = entry;
    entry = callers[static_cast<std::size_t>(found - entries.begin())];
}

bool for_each_value(PyObject *object, auto &&visit) {
    const Reference names(PyObject_GetAttrString(object, "__dict__"));
    const Reference values(names ? PyMapping_Values(names.get()) : nullptr);
    for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(values.get()); ++i)
        if (!visit(PyList_GET_ITEM(values.get(), i)))
            return false;
    return static_cast<bool>(values);
}

}  // namespace

bool shorten_call_errors(PyObject *module) {
    const auto visit = [](PyObject *function) {
        shorten_errors_of(function);
        return true;
    };
    return for_each_value(module, [&](PyObject *value) {
        return PyType_Check(value) ? for_each_value(value, visit) : visit(value);
    });
}

}  // namespace entrepot::python
