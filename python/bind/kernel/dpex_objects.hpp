// DpexObjects: names in a kernel that denote numba-dpex's work-items, groups and atomic references.
// These objects do not exist at run time: the walker replaces their methods by functions.
#pragma once
#include <kernel/frontend/syntax.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace entrepot::python {

class DpexObjects {
public:
    enum class Class { item, group, atomic };

    // Maps a method to a function of the language. If linear_sizes is set, the method returns a
    // linear id: the ids of three dimensions combined with the sizes that it names.
    struct Method {
        std::string_view name;
        const char *builtin;
        const char *linear_sizes;
    };
    struct Atomic {
        kernel::syntax::NodePtr array, index;
        kernel::syntax::NodePtr order, scope, space;  // nullptr: default of the language
    };

    void add_item(const std::string &name) { classes_[name] = Class::item; }
    void add_group(const std::string &name) { classes_[name] = Class::group; }
    void add_atomic(const std::string &name, Atomic atomic) {
        classes_[name] = Class::atomic;
        atomics_[name] = std::move(atomic);
    }

    bool has(const std::string &name) const { return classes_.contains(name); }
    std::optional<Class> class_of(const std::string &name) const {
        const auto found = classes_.find(name);
        return found == classes_.end() ? std::nullopt : std::optional(found->second);
    }
    // "a work-item", for messages.
    // Requires: has(name).
    const char *description(const std::string &name) const;
    // Requires: has(name).
    // Returns: nullptr if the object has no such method.
    const Method *method(const std::string &name, std::string_view method) const;
    static const Method *group_method(std::string_view method);  // nullptr: unknown
    const Atomic *atomic(const std::string &name) const;         // nullptr: not an atomic reference

    // True if this method of an item returns its group.
    static bool returns_group(std::string_view method) { return method == "get_group"; }
    static bool is_item_method(std::string_view method);
    static std::vector<std::string> item_methods();
    static std::vector<std::string> group_methods();
    // Function for a method of an atomic reference; nullptr if unknown.
    static const char *atomic_function(std::string_view method);
    static std::vector<std::string> atomic_methods();
    // The language's name for a keyword of these methods.
    static std::string argument_name(const std::string &keyword);
    static const Method *local_linear_id();

private:
    std::unordered_map<std::string, Class> classes_;
    std::unordered_map<std::string, Atomic> atomics_;
};

}  // namespace entrepot::python
