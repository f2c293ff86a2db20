// Library: one TOML file, with the headers, the places of the shared library, and facts that the
// rules cannot derive.
#pragma once
#include "description.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bindgen {

// Overrides the default rules for a parameter.
struct ParameterOverride {
    std::optional<std::string> passed;  // value, in, out, inout, returned, sync
    // the type that the argument is taken by, or that is returned
    std::optional<std::string> adapter;
    // the parameter that has the memory's bytes, or "4 * " and that parameter
    std::optional<std::string> bytes;
    std::optional<std::string> count;  // the parameter that has the number of its elements
    // a function of Python's that says what the library cannot bear
    std::optional<std::string> refusal;
};

// A name with two possible declarations; a symbol of the loaded library decides.
struct Choice {
    std::string name, symbol, with;
    std::string without;                // empty where there is a further choice
    std::shared_ptr<Choice> otherwise;  // without a name
};

struct LibrarySettings {
    std::string name;                  // of the Python module
    std::string title;                 // the first line of its doc string
    std::vector<std::string> headers;  // what is included
    std::vector<std::string> files;    // parts of paths whose declarations belong to the library
    std::vector<std::string> defines;
    std::vector<std::string> sonames, directories;
    std::string variable, advice;
    // the enum that functions return, and its member for success; empty: none
    std::string status, success;
    std::vector<std::string> imports;    // modules of other libraries whose declarations it uses
    std::vector<std::string> leave_out;  // regular expressions of names
    // by "function.parameter"; "*" and a prefix stand for many
    std::map<std::string, ParameterOverride> parameters;
    std::map<std::string, std::map<std::string, std::int64_t>> defaults;  // record → field → value
    // function → the symbol of libraries that have no other
    std::map<std::string, std::string> symbols;
    std::vector<Enum> enums;       // that no header has any more; without a type: further members
    std::vector<std::string> raw;  // "record.field": chars that are bytes, and no text
    std::vector<std::string> handles;  // typedefs of void * that stand for objects of the library
    std::vector<Choice> choices;
    // A handwritten Python module. The generated module adds its names, and passes itself to its
    // function bind(): the handwritten module must not import the generated one.
    std::string more;

    const ParameterOverride *override_of(const std::string &function,
                                         const std::string &parameter) const;
    // True if the function has an override of its own, not only one by a pattern.
    bool has_own_override(const std::string &function, const std::string &parameter) const;
    bool is_left_out(const std::string &name) const;
};

// Throws: std::runtime_error with the file and the error.
LibrarySettings read_settings(const std::string &path);

}  // namespace bindgen
