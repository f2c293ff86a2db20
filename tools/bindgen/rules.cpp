#include "rules.hpp"

#include "scalars.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <stdexcept>

namespace bindgen {
namespace {

std::string stub_of_scalar(const std::string &name) {
    const ScalarRow *row = scalar_named(name);
    return row ? row->stub : "int";
}

bool is_character(const Type &type) { return type.is("scalar") && type.name == "c_char"; }

// Raw bytes or text: the caller's buffer, because no type says how long it is.
bool has_no_length(const Type &type) { return type.is("void") || is_character(type); }

// Stub of a return type as the settings name it: a class, or an array as "c_float * 4".
std::string stub_of_chosen(const std::string &type) {
    const std::size_t times = type.find(" * ");
    return times == std::string::npos ? type
                                      : "tuple[" + stub_of_scalar(type.substr(0, times)) + ", ...]";
}

// ---------------------------------------------------------------- how much memory there is

// Without underscores, in lower case, and without the letter for "pointer".
std::string bare(const std::string &name) {
    const bool is_marked =
        name.size() > 1 && name[0] == 'p' && std::isupper(static_cast<unsigned char>(name[1]));
    std::string out;
    for (const char each : name.substr(is_marked ? 1 : 0))
        if (each != '_')
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    return out;
}

bool is_integer(const Type &type) {
    return type.is("scalar") && type.name != "c_bool" && type.name != "c_float" &&
           type.name != "c_double";
}

// 0 if the header does not say.
std::int64_t bytes_of(const Type &pointee) {
    const ScalarRow *const row = pointee.is("scalar") ? scalar_named(pointee.name) : nullptr;
    return row ? row->bytes : 0;
}

// numOptions of options, pNumNodes of nodes or pNodes.
bool counts(const std::string &number, const std::string &array) {
    return bare(number) == "num" + bare(array) || bare(number) == bare(array) + "count";
}

// image_size for image; sizeBytes and ByteCount for names with dst and src, which are copied.
bool counts_bytes(const std::string &number, const std::string &memory) {
    const std::string said = bare(number), name = bare(memory);
    if (name.starts_with("dst") || name.starts_with("src"))
        if (said == "sizebytes" || said == "bytecount")
            return true;
    return std::ranges::any_of(
        std::initializer_list<const char *>{"size", "bytes", "len", "length"},
        [&](const char *end) { return said == name + end; });
}

// `bytes` or `count` of an annotation, in brackets.
std::string measure(const std::string &subject, const Type &pointee, const std::string &adapter,
                    const std::string &count) {
    if (adapter != "Pointer" && adapter != "CStr")
        return "count=\"" + count + "\"";
    const std::int64_t bytes = bytes_of(pointee);
    if (bytes == 0)
        throw std::runtime_error(subject + ": nothing says how large the elements of a " + adapter +
                                 " are: say bytes in place of count, as bytes = \"4 * n\"");
    return "bytes=\"" + (bytes == 1 ? "" : std::to_string(bytes) + " * ") + count + "\"";
}

const Parameter *parameter_named(const Function &function, const std::string &name) {
    const auto found = std::ranges::find(function.parameters, name, &Parameter::name);
    return found == function.parameters.end() ? nullptr : &*found;
}

// Matches the name itself, or the beginning before an asterisk.
bool fits(const std::string &pattern, const std::string &name) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                  : name == pattern;
}

bool is_there(const Description &description, const std::string &pattern,
              const std::string &parameter) {
    return std::ranges::any_of(description.functions, [&](const Function &function) {
        return fits(pattern, function.name) && parameter_named(function, parameter);
    });
}

// A row that matches nothing is an error: its name is misspelt, or no longer in the headers.
void require_known(const LibrarySettings &settings, const Description &description) {
    if (description.functions.empty() && description.enums.empty() && description.records.empty())
        throw std::runtime_error("the headers declare nothing in the files that `files` names");
    for (const auto &[where, chosen] : settings.parameters) {
        const std::size_t dot = where.rfind('.');
        if (!is_there(description, where.substr(0, dot), where.substr(dot + 1)))
            throw std::runtime_error("[parameters] has " + where +
                                     ", and the headers have no such parameter");
    }
    const auto status = std::ranges::find(description.enums, settings.status, &Enum::name);
    if (status == description.enums.end()) {
        if (!settings.status.empty() && settings.imports.empty())
            throw std::runtime_error("status is '" + settings.status +
                                     "', and the headers have no such enum");
    } else if (std::ranges::find(status->enumerators, settings.success, &Enumerator::name) ==
               status->enumerators.end()) {
        throw std::runtime_error("success is '" + settings.success + "', which is no member of " +
                                 settings.status);
    }
}

Passing taken(const std::string &mode, const std::string &adapter, const std::string &rule) {
    return {mode + "[" + adapter + "]", "object", false, rule};
}

}  // namespace

Rules::Rules(const LibrarySettings &settings, const Description &description)
    : settings_(settings) {
    require_known(settings, description);
    for (const Enum &each : description.enums)
        enum_types_[each.name] = each.type;
    for (const Alias &alias : description.aliases)
        aliases_[alias.name] = alias.target;
}

// By the typedef if that is a name of the module, as in the header.
std::string Rules::spelled(const Type &pointer) const {
    const auto alias = aliases_.find(pointer.name);
    return alias != aliases_.end() && alias->second == pointer.pointee().name
               ? pointer.name
               : pointer.pointee().name;
}

std::string Rules::enum_list(const std::string &name) const {
    const auto found = enum_types_.find(name);
    return found != enum_types_.end() && found->second == "c_int" ? "ListOfInt" : "ListOfUnsigned";
}

std::string Rules::adapter_of(const Type &pointee) const {
    if (pointee.is("scalar")) {
        const ScalarRow *row = scalar_named(pointee.name);
        return row ? row->list : "Pointer";
    }
    if (pointee.is("enum"))
        return enum_list(pointee.name);
    if (pointee.is("record"))
        return pointee.name;
    if (pointee.is("pointer"))
        return is_character(pointee.pointee()) ? "ListOfBytes" : "ListOfPointer";
    return "Pointer";
}

Passing Rules::of_value(const Type &type) const {
    if (type.is("void"))
        return {"None", "None", false, "value"};
    if (type.is("scalar"))
        return {type.name, stub_of_scalar(type.name), false, "value"};
    if (type.is("enum"))
        return {type.name, type.name, false, "value"};
    if (type.is("record") || type.is("callback"))
        return {type.name, type.name, false, "value"};
    if (type.is("array"))  // a parameter that is declared as an array is a pointer
        return of_value({"pointer", "", false, 0, {type.inner.front()}});
    const Type &pointee = type.pointee();
    if (pointee.is("opaque"))
        return {spelled(type), spelled(type), false, "value"};
    if (is_character(pointee))
        return {"CStr", "CStr", false, "value"};
    if (pointee.is("record"))
        return {"At[" + pointee.name + "]", pointee.name, false, "value"};
    return {"Pointer", "Pointer", false, "value"};
}

Passing Rules::of(const Function &function, const Parameter &parameter) const {
    Passing passing = chosen_for(function, parameter);
    add_measure(function, parameter, passing);
    const bool is_against_words =
        parameter.direction == "out" && parameter.type.is_const && passing.rule == "doxygen";
    if (is_against_words || (passing.rule == "handle" && parameter.direction == "out"))
        passing.rule = "though the documentation has it as out";
    passing.is_guess = passing.rule == "though the documentation has it as out" ||
                       passing.rule == "allocated by the callee";
    return passing;
}

Passing Rules::chosen_for(const Function &function, const Parameter &parameter) const {
    const ParameterOverride *chosen = settings_.override_of(function.name, parameter.name);
    const std::string passed = chosen && chosen->passed ? *chosen->passed : "";
    Type type = parameter.type;
    if (type.is("array"))
        type = {"pointer", "", type.is_const, 0, {type.inner.front()}};
    if (type.is("callback"))
        return {passed == "sync" ? "Sync[" + type.name + "]" : type.name, "object", false,
                passed == "sync" ? "override" : "value"};
    if (!type.is("pointer")) {
        Passing value = of_value(type);
        if (type.is("enum"))
            value.stub += " | int";
        else if (type.is("record"))
            value.stub = "object";
        return value;
    }
    const Type &pointee = type.pointee();
    const std::string adapter = chosen && chosen->adapter ? *chosen->adapter : adapter_of(pointee);
    // whatever a pattern says of parameters of that name
    if (pointee.is("opaque") && !(chosen && chosen->adapter))
        return {spelled(type), "object", false, "handle"};

    std::string direction = passed, rule = "override";
    if (direction.empty() && !parameter.direction.empty()) {
        direction = type.is_const ? "in" : parameter.direction;  // whatever the words say
        if (direction == "out")
            direction = has_no_length(pointee) ? "out" : "returned";
        // a handle that is made, said in other words
        if (direction == "inout" && pointee.points_to("opaque"))
            direction = "returned";
        rule = "doxygen";
        // the struct behind a handle
        if (direction == "returned" && pointee.is("record") && !type.name.empty()) {
            direction = "inout";
            rule = "handle";
        }
    }
    if (direction.empty() && type.is_const) {
        direction = "in";
        rule = "const";
    }
    if (direction.empty() && pointee.is("pointer") && !is_character(pointee.pointee())) {
        direction = "returned";
        rule = "allocated by the callee";
    }
    if (direction.empty()) {
        direction = "inout";
        rule = "default";
    }

    if (direction == "in")
        return taken("In", adapter, rule);
    if (direction == "out")
        return taken("Out",
                     has_no_length(pointee) && !(chosen && chosen->adapter) ? "Pointer" : adapter,
                     rule);
    if (direction == "inout")
        return taken("InOut", adapter, rule);
    if (direction == "freed")
        return taken("Freed", adapter, rule);
    if (direction != "returned")
        throw std::runtime_error(function.name + "." + parameter.name + ": nothing is passed '" +
                                 direction +
                                 "'; in, out, inout, freed, returned and sync are known");
    if (chosen && chosen->adapter && chosen->bytes)
        return {"Returned[" + *chosen->adapter + "](bytes=\"" + *chosen->bytes + "\")",
                *chosen->adapter, true, rule};
    Passing value = chosen && chosen->adapter
                        ? Passing{*chosen->adapter, stub_of_chosen(*chosen->adapter), false, ""}
                        : of_value(pointee);
    return {"Returned[" + value.annotation + "]", value.stub, true, rule};
}

// Adds the size that the caller's memory must have, from the settings or else from parameter names.
// Memory known to be smaller is refused.
void Rules::add_measure(const Function &function, const Parameter &parameter,
                        Passing &passing) const {
    const std::size_t bracket = passing.annotation.find('[');
    const bool is_brought =
        passing.annotation.starts_with("In") || passing.annotation.starts_with("Out");
    if (bracket == std::string::npos || !is_brought || passing.annotation.ends_with(")"))
        return;
    const Type &pointee = parameter.type.inner.front();
    const std::string adapter =
        passing.annotation.substr(bracket + 1, passing.annotation.size() - bracket - 2);
    const ParameterOverride *const chosen = settings_.override_of(function.name, parameter.name);
    const std::string subject = function.name + "." + parameter.name;
    std::string words;
    if (chosen && (chosen->bytes || chosen->count)) {
        const std::string said = chosen->bytes ? *chosen->bytes : *chosen->count;
        const bool is_there =
            parameter_named(function, said.substr(said.rfind(' ') + 1)) != nullptr;
        if (!is_there && settings_.has_own_override(function.name, parameter.name))
            throw std::runtime_error(subject + ": there is no parameter '" + said +
                                     "' that says how much memory there is");
        if (is_there)
            words =
                chosen->bytes ? "bytes=\"" + said + "\"" : measure(subject, pointee, adapter, said);
    }
    for (const Parameter &each : function.parameters) {
        const bool is_list = adapter.starts_with("ListOf"),
                   is_bytes = pointee.is("void") || bytes_of(pointee) == 1;
        const Type &number = each.type.is("pointer") && is_list ? each.type.pointee() : each.type;
        if (!words.empty() || !is_integer(number) || adapter == "CStr" ||
            chosen_for(function, each).is_returned)
            continue;
        if (is_list && counts(each.name, parameter.name))
            words = "count=\"" + each.name + "\"";
        else if (is_bytes && counts_bytes(each.name, parameter.name))
            words = "bytes=\"" + each.name + "\"";
        passing.is_measured_by_name = !words.empty();
    }
    if (chosen && chosen->refusal)
        words += (words.empty() ? "" : ", ") + ("refusal=\"" + *chosen->refusal + "\"");
    if (!words.empty())
        passing.annotation += "(" + words + ")";
}

std::string Rules::annotation_of_field(const Type &type) const {
    if (type.is("array"))
        return annotation_of_field(type.inner.front()) + " * " + std::to_string(type.count);
    if (type.is("pointer") && is_character(type.pointee()))
        return "CStr";
    return of_value(type).annotation;
}

std::string Rules::stub_of_initial(const Type &type) const {
    if (type.is("scalar") && !is_character(type))
        return stub_of_scalar(type.name);
    return type.is("enum") ? type.name + " | int" : "object";
}

std::string Rules::stub_of_field(const Type &type) const {
    if (type.is("array"))
        return is_character(type.inner.front())
                   ? "bytes"
                   : "tuple[" + stub_of_field(type.inner.front()) + ", ...]";
    return of_value(type).stub;
}

}  // namespace bindgen
