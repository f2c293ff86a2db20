// Reads the settings of a library from its TOML file.
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

void check_keys(const toml::table &table, const std::string &where,
                const std::set<std::string> &known) {
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

const toml::table &table_of(const toml::node &node, const std::string &where) {
    if (const toml::table *table = node.as_table())
        return *table;
    refuse(where + ": a table was expected, as in [" + where + "]");
}

const toml::array &array_of(const toml::node &node, const std::string &where) {
    if (const toml::array *array = node.as_array())
        return *array;
    refuse(where + ": a list was expected");
}

// The table of that name, or an empty one.
const toml::table &part(const toml::table &table, const char *key) {
    static const toml::table nothing;
    const toml::node *const node = table.get(key);
    return node ? table_of(*node, key) : nothing;
}

std::vector<std::string> texts(const toml::table &table, const char *key) {
    std::vector<std::string> out;
    if (const toml::node *const node = table.get(key))
        for (const toml::node &each : array_of(*node, key))
            out.push_back(each.value<std::string>().value_or(""));
    return out;
}

void read_parameters(const toml::table &table, LibrarySettings &settings) {
    for (const auto &[function, node] : part(table, "parameters"))
        for (const auto &[name, given] :
             table_of(node, "parameters." + std::string(function.str()))) {
            const std::string where = std::string(function.str()) + "." + std::string(name.str());
            ParameterOverride &out = settings.parameters[where];
            if (given.is_string()) {
                out.passed = given.value<std::string>();
                continue;
            }
            const toml::table &values = table_of(given, "parameters." + where);
            check_keys(values, where, {"passed", "type", "bytes", "count", "refusal"});
            out.passed = values["passed"].value<std::string>();
            out.adapter = values["type"].value<std::string>();
            out.bytes = values["bytes"].value<std::string>();
            out.count = values["count"].value<std::string>();
            out.refusal = values["refusal"].value<std::string>();
            if (out.bytes && out.count)
                refuse(where + ": 'bytes' and 'count' say the same thing; give one of them");
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
    for (const auto &[key, node] : part(table, "choices")) {
        const std::string name(key.str());
        settings.choices.push_back(choice_from(name, table_of(node, "choices." + name)));
    }
}

void read_defaults(const toml::table &table, LibrarySettings &settings) {
    for (const auto &[record, fields] : part(table, "defaults"))
        for (const auto &[field, value] : table_of(fields, "defaults." + std::string(record.str())))
            settings.defaults[std::string(record.str())][std::string(field.str())] =
                value.value<std::int64_t>().value_or(0);
}

}  // namespace

void read_enums(const toml::table &table, LibrarySettings &settings) {
    for (const auto &[key, node] : part(table, "enums")) {
        const std::string name(key.str()), where = "enums." + name + ".members";
        const toml::table &given = table_of(node, "enums." + name);
        check_keys(given, name, {"type", "doc", "members"});
        Enum &made = settings.enums.emplace_back();
        made.name = name;
        made.type = text(given, "type", "");
        made.doc = text(given, "doc", "");
        if (!given.contains("members"))
            refuse(where + " is missing");
        for (const toml::node &member : array_of(*given.get("members"), where)) {
            const toml::array &pair = array_of(member, where);
            if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_integer())
                refuse(where + ": a name and its number were expected, as in [\"RED\", 1]");
            made.enumerators.push_back({**pair[0].as_string(), **pair[1].as_integer(), ""});
        }
    }
}

LibrarySettings read_settings(const std::string &path) try {
    const toml::table table = toml::parse_file(path);
    check_keys(table, "the file",
               {"name",     "title",   "headers",     "raw",      "enums",      "files",
                "defines",  "sonames", "directories", "variable", "advice",     "status",
                "success",  "imports", "leave_out",   "more",     "parameters", "choices",
                "defaults", "symbols", "handles"});
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
    for (const auto &[function, symbol] : part(table, "symbols"))
        out.symbols[std::string(function.str())] = symbol.value<std::string>().value_or("");
    read_parameters(table, out);
    read_choices(table, out);
    read_enums(table, out);
    read_defaults(table, out);
    return out;
} catch (const toml::parse_error &error) {
    throw std::runtime_error(path + ":" + std::to_string(error.source().begin.line) + ": " +
                             std::string(error.description()));
} catch (const std::runtime_error &error) {
    throw std::runtime_error(path + ": " + error.what());
}

// The function's own row, else the row of the longest prefix before an asterisk.
const ParameterOverride *LibrarySettings::override_of(const std::string &function,
                                                      const std::string &parameter) const {
    if (const auto found = parameters.find(function + "." + parameter); found != parameters.end())
        return &found->second;
    for (std::size_t length = function.size() + 1; length-- > 0;)
        if (const auto found = parameters.find(function.substr(0, length) + "*." + parameter);
            found != parameters.end())
            return &found->second;
    return nullptr;
}

bool LibrarySettings::has_own_override(const std::string &function,
                                       const std::string &parameter) const {
    return parameters.contains(function + "." + parameter);
}

bool LibrarySettings::is_left_out(const std::string &declared) const {
    return std::ranges::any_of(leave_out, [&](const std::string &each) {
        return std::regex_match(declared, std::regex(each));
    });
}

}  // namespace bindgen
