#include "dpex_objects.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace entrepot::python {
namespace {

constexpr DpexObjects::Method item_rows[] = {
    {"get_id", "get_global_id", nullptr},
    {"get_linear_id", "get_global_id", "get_global_size"},
    {"get_range", "get_global_size", nullptr},
    {"get_linear_range", "get_global_size", "get_global_size"},
    {"get_global_id", "get_global_id", nullptr},
    {"get_global_linear_id", "get_global_id", "get_global_size"},
    {"get_global_range", "get_global_size", nullptr},
    {"get_global_linear_range", "get_global_size", "get_global_size"},
    {"get_local_id", "get_local_id", nullptr},
    {"get_local_linear_id", "get_local_id", "get_local_size"},
    {"get_local_range", "get_local_size", nullptr},
    {"get_local_linear_range", "get_local_size", "get_local_size"},
};

constexpr DpexObjects::Method group_rows[] = {
    {"get_group_id", "get_group_id", nullptr},
    {"get_group_linear_id", "get_group_id", "get_num_groups"},
    {"get_group_range", "get_num_groups", nullptr},
    {"get_group_linear_range", "get_num_groups", "get_num_groups"},
    {"get_local_range", "get_local_size", nullptr},
    {"get_local_linear_range", "get_local_size", "get_local_size"},
};

std::vector<std::string> method_names(std::span<const DpexObjects::Method> rows) {
    std::vector<std::string> names;
    for (const DpexObjects::Method &row : rows)
        names.emplace_back(row.name);
    return names;
}

struct AtomicRow {
    std::string_view method;
    const char *function;
};
constexpr AtomicRow atomic_rows[] = {
    {"fetch_add", "atomic.add"},
    {"fetch_sub", "atomic.sub"},
    {"fetch_min", "atomic.min"},
    {"fetch_max", "atomic.max"},
    {"fetch_and", "atomic.and"},
    {"fetch_or", "atomic.or"},
    {"fetch_xor", "atomic.xor"},
    {"exchange", "atomic.exchange"},
    {"load", "atomic.load"},
    {"store", "atomic.store"},
    {"compare_exchange", "AtomicRef.compare_exchange"},
};

}  // namespace

const char *DpexObjects::description(const std::string &name) const {
    switch (classes_.at(name)) {
    case Class::item:
        return "a work-item";
    case Class::group:
        return "a work-group";
    default:
        return "an atomic reference";
    }
}

const DpexObjects::Method *DpexObjects::group_method(std::string_view method) {
    const Method *const found = std::ranges::find(group_rows, method, &Method::name);
    return found == std::end(group_rows) ? nullptr : found;
}

const DpexObjects::Method *DpexObjects::method(const std::string &name,
                                               std::string_view method) const {
    if (classes_.at(name) != Class::item)
        return group_method(method);
    const Method *const found = std::ranges::find(item_rows, method, &Method::name);
    return found == std::end(item_rows) ? nullptr : found;
}

bool DpexObjects::is_item_method(std::string_view method) {
    return returns_group(method) ||
           std::ranges::find(item_rows, method, &Method::name) != std::end(item_rows);
}

const DpexObjects::Atomic *DpexObjects::atomic(const std::string &name) const {
    const auto found = atomics_.find(name);
    return found == atomics_.end() ? nullptr : &found->second;
}

std::vector<std::string> DpexObjects::item_methods() { return method_names(item_rows); }

std::vector<std::string> DpexObjects::group_methods() { return method_names(group_rows); }

std::vector<std::string> DpexObjects::atomic_methods() {
    std::vector<std::string> methods;
    for (const AtomicRow &row : atomic_rows)
        methods.emplace_back(row.method);
    return methods;
}

// The class of the Python interpreter and that of the compiler name them differently.
std::string DpexObjects::argument_name(const std::string &keyword) {
    return keyword == "val" ? "value" : keyword == "expected_ref" ? "expected" : keyword;
}

const DpexObjects::Method *DpexObjects::local_linear_id() {
    return std::ranges::find(item_rows, "get_local_linear_id", &Method::name);
}

const char *DpexObjects::atomic_function(std::string_view method) {
    for (const AtomicRow &row : atomic_rows)
        if (row.method == method)
            return row.function;
    return nullptr;
}

}  // namespace entrepot::python
