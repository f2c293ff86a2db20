#include "library.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <regex>
#include <set>
#include <stdexcept>

namespace bindgen {
namespace {

[[noreturn]] void refuse(const std::string &why) { throw std::runtime_error(why); }

void check_keys(const toml::table &table, const std::string &where, const std::set<std::string> &known) {
    for (const auto &[key, value] : table)
        if (!known.contains(std::string(key.str())))
            refuse(where + ": nothing is called '" + std::string(key.str()) + "'");
}

std::string text(const toml::table &table, const char *key, const char *otherwise = nullptr) {
    if (const auto value = table[key].value<std::string>())
        return *value;
    if (!otherwise)
        refuse(std::string("'") + key + "' is missing, or no string");
    return otherwise;
}

std::vector<std::string> texts(const toml::table &table, const char *key) {
    std::vector<std::string> out;
    if (const toml::array *list = table[key].as_array())
        for (const toml::node &each : *list)
            out.push_back(each.value<std::string>().value_or(""));
    return out;
}

void read_parameters(const toml::table &table, LibrarySettings &settings) {
    const toml::table *functions = table["parameters"].as_table();
    if (!functions)
        return;
    for (const auto &[function, node] : *functions)
        for (const auto &[name, given] : *node.as_table()) {
            const std::string where = std::string(function.str()) + "." + std::string(name.str());
            ParameterOverride &out = settings.parameters[where];
            if (given.is_string()) {
                out.passed = given.value<std::string>();
                continue;
            }
            check_keys(*given.as_table(), where, {"passed", "type", "bytes"});
            const toml::table &values = *given.as_table();
            out.passed = values["passed"].value<std::string>();
            out.adapter = values["type"].value<std::string>();
            out.bytes = values["bytes"].value<std::string>();
        }
}

Choice choice_from(const std::string &name, const toml::table &table) {
    check_keys(table, name, {"symbol", "with", "without"});
    Choice out{name, text(table, "symbol"), text(table, "with"), "", nullptr};
    if (const toml::table *further = table["without"].as_table())
        out.otherwise = std::make_shared<Choice>(choice_from(name + ".without", *further));
    else
        out.without = text(table, "without");
    return out;
}

void read_choices(const toml::table &table, LibrarySettings &settings) {
    if (const toml::table *choices = table["choices"].as_table())
        for (const auto &[name, node] : *choices)
            settings.choices.push_back(choice_from(std::string(name.str()), *node.as_table()));
}

void read_defaults(const toml::table &table, LibrarySettings &settings) {
    if (const toml::table *records = table["defaults"].as_table())
        for (const auto &[record, fields] : *records)
            for (const auto &[field, value] : *fields.as_table())
                settings.defaults[std::string(record.str())][std::string(field.str())] = value.value<std::int64_t>().value_or(0);
}

}  // namespace

void read_enums(const toml::table &table, LibrarySettings &settings) {
    if (const toml::table *enums = table["enums"].as_table())
        for (const auto &[name, node] : *enums) {
            check_keys(*node.as_table(), std::string(name.str()), {"type", "doc", "members"});
            Enum &made = settings.enums.emplace_back();
            made.name = std::string(name.str());
            made.type = text(*node.as_table(), "type");
            made.doc = text(*node.as_table(), "doc", "");
            for (const toml::node &member : *node.as_table()->get_as<toml::array>("members"))
                made.enumerators.push_back({member.as_array()->get(0)->value<std::string>().value_or(""),
                                            member.as_array()->get(1)->value<std::int64_t>().value_or(0), ""});
        }
}

LibrarySettings read_settings(const std::string &path) try {
    const toml::table table = toml::parse_file(path);
    check_keys(table, "the file", {"name",      "title",       "headers",    "raw",     "enums",    "files",   "defines",
                                   "sonames",   "directories", "variable",   "advice",  "status",   "success", "imports",
                                   "leave_out", "more",        "parameters", "choices", "defaults", "symbols", "handles"});
    LibrarySettings out;
    out.name = text(table, "name");
    out.title = text(table, "title");
    out.headers = texts(table, "headers");
    out.raw = texts(table, "raw");
    out.handles = texts(table, "handles");
    out.files = texts(table, "files");
    out.defines = texts(table, "defines");
    out.sonames = texts(table, "sonames");
    out.directories = texts(table, "directories");
    out.variable = text(table, "variable", "");
    out.advice = text(table, "advice", "");
    out.status = text(table, "status", "");
    out.success = text(table, "success", "");
    out.imports = texts(table, "imports");
    out.leave_out = texts(table, "leave_out");
    out.more = text(table, "more", "");
    if (const toml::table *symbols = table["symbols"].as_table())
        for (const auto &[function, symbol] : *symbols)
            out.symbols[std::string(function.str())] = symbol.value<std::string>().value_or("");
    read_parameters(table, out);
    read_choices(table, out);
    read_enums(table, out);
    read_defaults(table, out);
    return out;
} catch (const toml::parse_error &error) {
    throw std::runtime_error(path + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
} catch (const std::runtime_error &error) {
    throw std::runtime_error(path + ": " + error.what());
}

// The function's own row, else the one of the longest prefix that ends with an asterisk.
const ParameterOverride *LibrarySettings::override_of(const std::string &function, const std::string &parameter) const {
    if (const auto found = parameters.find(function + "." + parameter); found != parameters.end())
        return &found->second;
    for (std::size_t length = function.size() + 1; length-- > 0;)
        if (const auto found = parameters.find(function.substr(0, length) + "*." + parameter); found != parameters.end())
            return &found->second;
    return nullptr;
}

bool LibrarySettings::is_left_out(const std::string &declared) const {
    return std::ranges::any_of(leave_out, [&](const std::string &each) { return std::regex_match(declared, std::regex(each)); });
}

}  // namespace bindgen
