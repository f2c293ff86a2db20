#include "python.hpp"

#include "rules.hpp"
#include "scalars.hpp"

#include <algorithm>
#include <cstddef>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

namespace bindgen {
namespace {

constexpr std::size_t columns = 120;

const std::set<std::string> keywords{
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

std::string python_name(const std::string &name) {
    return keywords.contains(name) ? name + "_" : name;
}

std::string quoted(const std::string &text) { return Json(text).dump(); }

std::string listed(const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &each : texts)
        out += (out.empty() ? "" : ", ") + quoted(each);
    return "[" + out + "]";
}

// Wraps one paragraph; code, which begins with a space, stays as it is.
std::string wrapped(const std::string &paragraph, const std::string &indent,
                    const std::string &hanging = "") {
    if (paragraph.starts_with(" ")) {
        std::string out = indent;
        for (const char each : paragraph)
            out += each == '\n' ? "\n" + indent : std::string(1, each);
        return out;
    }
    std::istringstream words(paragraph);
    std::string out = indent, word;
    std::size_t length = indent.size();
    bool first = true;
    while (words >> word) {
        if (!first && length + 1 + word.size() > columns) {
            out += "\n" + indent + hanging;
            length = indent.size() + hanging.size();
        } else if (!first) {
            out += " ";
            ++length;
        }
        out += word;
        length += word.size();
        first = false;
    }
    return out;
}

// #hipSuccess is doxygen's syntax of a link.
std::string cleaned(std::string text) {
    static const std::regex link("#(?=[A-Za-z_])");
    text = std::regex_replace(text, link, "");
    std::string out;
    for (const char each : text)
        if (each == '\\')
            out += "\\\\";
        else if (each == '"' && out.ends_with("\"\""))
            out += "'";
        else
            out += each;
    return out;
}

std::string one_line(const std::string &text) {
    std::string out = cleaned(text);
    std::ranges::replace(out, '\n', ' ');
    while (out.starts_with("- "))
        out.erase(0, 2);
    return out;
}

// Paragraphs that are not empty, each wrapped, with blank lines between.
class DocString {
public:
    explicit DocString(std::string indent) : indent_(std::move(indent)) {}

    void add(const std::string &text) {
        std::size_t begin = 0;
        const std::string all = cleaned(text);
        while (begin < all.size()) {
            const std::size_t end = std::min(all.find("\n\n", begin), all.size());
            if (end > begin)
                add_paragraph(all.substr(begin, end - begin));
            begin = end + 2;
        }
    }
    void add_lines(const std::string &title, const std::vector<std::string> &lines) {
        if (lines.empty())
            return;
        std::string text = indent_ + opening() + title;
        for (const std::string &line : lines)
            text += "\n" + wrapped(line, indent_ + "    ", "    ");
        paragraphs_.push_back(text);
    }
    bool is_empty() const { return paragraphs_.empty(); }
    std::string text() const {
        std::string out;
        for (const std::string &each : paragraphs_)
            out += (out.empty() ? "" : "\n\n") + each;
        const bool is_short = out.find('\n') == std::string::npos && out.size() <= columns - 4;
        if (!is_short)
            return out + "\n" + indent_ + "\"\"\"\n";
        return out + (out.ends_with("\"") ? " \"\"\"\n" : "\"\"\"\n");
    }

private:
    // The quotes stand on the first line, and count.
    std::string opening() const { return paragraphs_.empty() ? "\"\"\"" : ""; }

    void add_paragraph(const std::string &paragraph) {
        const bool is_code = paragraph.starts_with(" ");
        paragraphs_.push_back(is_code ? indent_ + opening() +
                                            wrapped(paragraph, indent_).substr(indent_.size())
                                      : wrapped(opening() + paragraph, indent_));
    }

    std::string indent_;
    std::vector<std::string> paragraphs_;
};

// In parentheses, and on several lines if one is too long; `beside` is the number of columns
// already used.
std::string quoted_in_lines(const std::string &text, const std::string &indent,
                            std::size_t beside) {
    if (indent.size() + beside + quoted(text).size() <= columns)
        return quoted(text);
    std::istringstream words(text);
    std::string out = "(", line, word;
    const std::string inner = indent + "    ";
    const auto add_line = [&](const std::string &piece) { out += "\n" + inner + quoted(piece); };
    while (words >> word) {
        if (!line.empty() && inner.size() + quoted(line + word + " ").size() > columns)
            add_line(std::exchange(line, ""));
        line += word + " ";
    }
    line.pop_back();
    add_line(line);
    return out + "\n" + indent + ")";
}

// After the line if there is room, else above it.
std::string with_comment(const std::string &line, const std::string &comment) {
    const std::string indent(line.find_first_not_of(' '), ' ');
    if (comment.empty())
        return line + "\n";
    if (line.size() + 4 + comment.size() <= columns)
        return line + "  # " + comment + "\n";
    return wrapped(comment, indent + "# ") + "\n" + line + "\n";
}

class Writer {
public:
    Writer(const LibrarySettings &settings, const Description &description)
        : settings_(settings), description_(description), rules_(settings, description) {}

    Written write() {
        write_constants();
        write_enums();
        write_opaques();
        write_records();
        write_callbacks();
        write_functions();
        write_choices();
        return {head() + module_ + tail(), stub_head() + stub_, report_};
    }

private:
    static std::string title(const char *what) {
        const std::string words = std::string(" ") + what;
        return "\n# " + std::string(columns - 2 - words.size(), '-') + words + "\n\n";
    }

    std::string made_by() const {
        std::string headers;
        for (const std::string &header : settings_.headers)
            headers += (headers.empty() ? "<" : ", <") + header + ">";
        return "Generated by tools/bindgen from " + headers +
               ". What no header says stands in tools/bindgen/libraries/" + settings_.name +
               ".toml.";
    }

    std::string head() const {
        std::string names;
        for (const std::string &each : used_)
            names += "    " + each + ",\n";
        std::string out = wrapped("\"\"\"" + settings_.title, "") + "\n\n" +
                          wrapped(made_by(), "") + "\n\"\"\"\n\n";
        out +=
            "from __future__ import annotations\n\nfrom entrepot.ffi import (\n" + names + ")\n\n";
        out += "_library = Library(\n    " + quoted(settings_.name) +
               ",\n    sonames=" + listed(settings_.sonames) + ",\n";
        if (!settings_.directories.empty())
            out += "    directories=" + listed(settings_.directories) + ",\n";
        if (!settings_.variable.empty())
            out += "    variable=" + quoted(settings_.variable) + ",\n";
        if (!settings_.advice.empty())
            out += "    advice=" +
                   quoted_in_lines(settings_.advice, "    ", std::string("advice=,").size()) +
                   ",\n";
        if (!settings_.imports.empty())
            out += "    imports=" + listed(settings_.imports) + ",\n";
        if (!settings_.status.empty())
            out += "    status=(" + quoted(settings_.status) + ", " + quoted(settings_.success) +
                   "),\n";
        return out + ")\n";
    }

    std::string tail() const {
        const std::string own = "\n__getattr__, __dir__, __all__ = _library.declared(globals())\n";
        if (settings_.more.empty())
            return own;
        return own + "\nfrom " + settings_.more + " import *  # noqa: E402, F403\nfrom " +
               settings_.more + " import __all__ as _more  # noqa: E402\nfrom " + settings_.more +
               " import bind as _bind  # noqa: E402\n\n__all__ += _more\n"
               "_bind(_library.module)\n";
    }

    std::string stub_head() const {
        std::string imports = "import enum\n";
        if (stub_.find("Callable[") != std::string::npos)
            imports += "from collections.abc import Callable\n";
        std::string typing;
        for (const char *each : {"Any", "overload"})
            if (std::regex_search(stub_, std::regex("\\b" + std::string(each) + "\\b")))
                typing += (typing.empty() ? "" : ", ") + std::string(each);
        if (!typing.empty())
            imports += "from typing import " + typing + "\n";
        imports += "\n";
        std::string names;
        for (const char *each :
             {"CStr", "DeviceArray", "FunctionPointer", "Handle", "Pointer", "Record"})
            if (std::regex_search(stub_, std::regex("\\b" + std::string(each) + "\\b")))
                names += (names.empty() ? "" : ", ") + std::string(each);
        if (!names.empty())
            imports += "from entrepot.ffi import " + names + "\n";
        for (const std::string &each : settings_.imports)
            imports += "from " + each + " import *\n";
        if (!settings_.more.empty())
            imports += "from " + settings_.more + " import *\n";
        return wrapped(made_by(), "# ") + "\n" + imports + "\n";
    }

    // Names of entrepot.ffi in an annotation.
    std::string used(const std::string &annotation) {
        static const std::regex name("[A-Za-z_][A-Za-z_0-9]*");
        static const std::regex ours("c_[a-z0-9_]+|Pointer|CStr|DeviceArray|ListOf[A-Za-z0-9]+|"
                                     "HipModuleLaunchKernel_extra|In|Out|"
                                     "InOut|Returned|Freed|Sync|At|bits|anonymous");
        for (auto at = std::sregex_iterator(annotation.begin(), annotation.end(), name);
             at != std::sregex_iterator(); ++at)
            if (std::regex_match(at->str(), ours))
                used_.insert(at->str());
        return annotation;
    }

    void write_aliases(const std::string &target) {
        for (const Alias &alias : description_.aliases)
            if (alias.target == target && !is_choice(alias.name)) {
                module_ += alias.name + " = " + target + "\n";
                stub_ += alias.name + " = " + target + "\n";
                write_aliases(alias.name);
            }
    }

    bool is_choice(const std::string &name) const {
        return std::ranges::any_of(settings_.choices,
                                   [&](const Choice &choice) { return choice.name == name; });
    }

    void write_constants() {
        if (description_.constants.empty())
            return;
        module_ += title("constants");
        for (const Constant &constant : description_.constants) {
            module_ +=
                with_comment(constant.name + " = " + constant.value.dump(), one_line(constant.doc));
            stub_ += constant.name + ": " +
                     (constant.value.is_string()         ? "str"
                      : constant.value.is_number_float() ? "float"
                                                         : "int") +
                     "\n";
        }
    }

    void write_doc(const std::string &doc, bool is_all) {
        DocString text("    ");
        text.add(doc);
        if (!text.is_empty())
            module_ += text.text() + (is_all ? "" : "\n");
        else if (is_all)
            module_ += "    pass\n";
    }

    void write_enums() {
        if (description_.enums.empty())
            return;
        module_ += title("enums");
        for (const Enum &each : description_.enums) {
            module_ += "\n@_library.enum(" + used(each.type) + ")\nclass " + each.name + ":\n";
            stub_ += "\nclass " + each.name + "(enum.IntEnum):\n";
            write_doc(each.doc, each.enumerators.empty());
            for (const Enumerator &enumerator : each.enumerators) {
                module_ += with_comment("    " + python_name(enumerator.name) + " = " +
                                            std::to_string(enumerator.value),
                                        one_line(enumerator.doc));
                stub_ += "    " + python_name(enumerator.name) + " = " +
                         std::to_string(enumerator.value) + "\n";
            }
            if (each.enumerators.empty())
                stub_ += "    pass\n";
            module_ += "\n";
            write_aliases(each.name);
        }
        used_.insert("Library");
    }

    void write_opaques() {
        if (description_.opaques.empty())
            return;
        module_ += title("handles");
        write_aliases(used("Pointer"));
        for (const Opaque &opaque : description_.opaques) {
            module_ += "\n@_library.opaque\nclass " + opaque.name + ":\n";
            write_doc(opaque.doc, true);
            module_ += "\n";
            stub_ += "\nclass " + opaque.name + "(Handle): ...\n";
            write_aliases(opaque.name);
        }
    }

    void write_records() {
        if (description_.records.empty())
            return;
        module_ += title("structs and unions");
        for (const Record &record : description_.records)
            write_record(record);
    }

    void write_record(const Record &record) {
        module_ += std::string("\n@_library.") + (record.is_union ? "union" : "struct") +
                   "(size=" + std::to_string(record.size) +
                   ", alignment=" + std::to_string(record.alignment) + ")\nclass " + record.name +
                   ":\n";
        stub_ += "\nclass " + record.name + "(Record):\n";
        write_doc(record.doc, record.fields.empty());
        for (const Field &field : record.fields) {
            const std::string name = name_in(record, field);
            std::string annotation = used(rules_.annotation_of_field(field.type));
            if (field.name.empty())
                annotation = used("anonymous(" + annotation + ")");
            std::int64_t offset = field.bit_offset / 8;
            if (field.width) {
                const std::int64_t unit = bytes_of(field.type);
                offset = offset / unit * unit;
                annotation = used("bits(" + annotation + ", " +
                                  std::to_string(field.bit_offset - 8 * offset) + ", " +
                                  std::to_string(field.width) + ")");
            }
            module_ += with_comment("    " + name + ": " + annotation + " @ " +
                                        std::to_string(offset) + default_of(record.name, name),
                                    one_line(field.doc));
        }
        write_stub_of_fields(record);
        module_ += "\n";
        write_aliases(record.name);
    }

    // An unnamed member is named by its type's name, without the record's prefix.
    static std::string name_in(const Record &record, const Field &field) {
        if (!field.name.empty())
            return python_name(field.name);
        return field.type.name.substr(std::min(field.type.name.size(), record.name.size() + 1));
    }

    // Fields of unnamed members, which are the record's, too.
    std::vector<const Field *> fields_inside(const Field &anonymous) const {
        std::vector<const Field *> found;
        for (const Record &record : description_.records)
            if (anonymous.name.empty() && record.name == anonymous.type.name)
                for (const Field &field : record.fields) {
                    if (!field.name.empty())
                        found.push_back(&field);
                    const std::vector<const Field *> deeper = fields_inside(field);
                    found.insert(found.end(), deeper.begin(), deeper.end());
                }
        return found;
    }

    // Attributes and constructor; fields of an unnamed member are set by their own names.
    void write_stub_of_fields(const Record &record) {
        std::vector<std::string> list{"self"}, inside;
        if (record.is_union)
            list.push_back("*");
        for (const Field &field : record.fields) {
            const std::string name = name_in(record, field);
            stub_ += "    " + name + ": " + rules_.stub_of_field(field.type) + "\n";
            list.push_back(name + ": " + rules_.stub_of_initial(field.type) + " = ...");
            for (const Field *each : fields_inside(field)) {
                stub_ += "    " + python_name(each->name) + ": " +
                         rules_.stub_of_field(each->type) + "\n";
                inside.push_back(python_name(each->name) + ": " +
                                 rules_.stub_of_initial(each->type) + " = ...");
            }
        }
        if (list.back() == "*")
            list.pop_back();
        else if (!inside.empty() && !record.is_union)
            list.push_back("*");
        list.insert(list.end(), inside.begin(), inside.end());
        stub_ += definition("__init__", list, "None", " ...\n", "    ");
    }

    static std::int64_t bytes_of(const Type &type) {
        const ScalarRow *row = scalar_named(type.name);
        return type.is("enum") ? 4 : row ? row->bytes : 8;
    }

    std::string default_of(const std::string &record, const std::string &field) const {
        if (const auto fields = settings_.defaults.find(record); fields != settings_.defaults.end())
            if (const auto value = fields->second.find(field); value != fields->second.end())
                return " = " + std::to_string(value->second);
        return "";
    }

    // `def name(list) -> result:`, on one line or on several.
    static std::string definition(const std::string &name, const std::vector<std::string> &list,
                                  const std::string &result, const std::string &end,
                                  const std::string &indent = "") {
        std::string line = indent + "def " + name + "(";
        for (std::size_t i = 0; i < list.size(); ++i)
            line += (i ? ", " : "") + list[i];
        line += ") -> " + result + ":";
        if (line.size() + end.size() <= columns)
            return line + end;
        std::string out = indent + "def " + name + "(\n";
        for (const std::string &each : list)
            out += indent + "    " + each + ",\n";
        // without its end of line
        const std::string last = ") -> " + result + ":" + end.substr(0, end.size() - 1);
        // to be broken inside of its brackets
        const bool is_long = indent.size() + last.size() > columns;
        return out + (is_long ? wrapped(last, indent, "    ") : indent + last) + "\n";
    }

    void write_callbacks() {
        if (description_.callbacks.empty())
            return;
        module_ += title("pointers to functions");
        for (const Function &callback : description_.callbacks) {
            std::vector<std::string> list;
            for (const Parameter &parameter : callback.parameters)
                list.push_back(python_name(parameter.name) + ": " +
                               used(rules_.of_value(parameter.type).annotation));
            module_ += "\n@_library.callback\n" +
                       definition(callback.name, list,
                                  used(rules_.of_value(callback.result).annotation), "\n");
            write_doc(callback.doc, true);
            module_ += "\n";
            stub_ += "\nclass " + callback.name + "(FunctionPointer): ...\n";
            write_aliases(callback.name);
        }
    }

    void write_functions() {
        if (description_.functions.empty())
            return;
        module_ += title("functions");
        for (const Function &function : description_.functions)
            if (!function.is_variadic)
                write_function(function);
            else
                report_ += function.name + ": left out, because it takes any number of arguments\n";
    }

    void write_function(const Function &function) {
        std::vector<std::string> list, arguments, returned;
        StubLists stubs;
        std::string results;
        for (const Parameter &parameter : function.parameters) {
            const Passing passing = rules_.of(function, parameter);
            const std::string name = python_name(parameter.name);
            list.push_back(name + ": " + used(passing.annotation));
            const std::string doc = one_line(parameter.doc);
            stubs.all.push_back(name + ": " + (passing.is_returned ? "object" : passing.stub));
            if (passing.is_returned) {
                stubs.brought.push_back(name + ": object");
                results += ", " + passing.stub;
                returned.push_back(name + (doc.empty() ? "" : ": " + doc));
            } else {
                stubs.taken.push_back(name + ": " + passing.stub);
                if (!doc.empty())
                    arguments.push_back(name + ": " + doc);
            }
            if (passing.rule == "default")
                report_ += function.name + "." + parameter.name + ": " + passing.annotation +
                           ", for want of a rule\n";
            else if (passing.is_guess)
                report_ += function.name + "." + parameter.name + ": " + passing.annotation + ", " +
                           passing.rule + "\n";
            else if (passing.is_measured_by_name)
                report_ += function.name + "." + parameter.name + ": " + passing.annotation +
                           ", by the name alone\n";
        }
        const Passing result = rules_.of_value(function.result);
        module_ += "\n" + decorator(function) +
                   definition(function.name, list, used(result.annotation), "\n") +
                   doc_of(function, arguments, returned) + "\n";
        write_stub(function.name, stubs, result.stub, results);
        write_aliases(function.name);
    }

    struct StubLists {
        // what callers give; memory for what C writes; both, in the order of C
        std::vector<std::string> taken, brought, all;
    };

    // Memory of the caller is passed by name, or all by position as in C, and is not returned.
    void write_stub(const std::string &name, const StubLists &lists, const std::string &result,
                    const std::string &results) {
        const std::string whole = stub_result(result, results);
        if (lists.brought.empty()) {
            stub_ += definition(name, lists.taken, whole, " ...\n");
            return;
        }
        const std::string bare = stub_result(result, "");
        const bool is_one = lists.brought.size() == 1;
        std::vector<std::string> by_name = lists.taken, by_position = lists.all;
        by_name.push_back("*");
        for (const std::string &each : lists.brought)
            by_name.push_back(each + (is_one ? "" : " = ..."));
        by_position.push_back("/");
        stub_ += "@overload\n" + definition(name, lists.taken, whole, " ...\n");
        stub_ += "@overload\n" + definition(name, by_name, is_one ? bare : "Any", " ...\n");
        stub_ += "@overload\n" + definition(name, by_position, bare, " ...\n");
    }

    std::string decorator(const Function &function) const {
        const auto symbol = settings_.symbols.find(function.name);
        return symbol == settings_.symbols.end()
                   ? "@_library.function\n"
                   : "@_library.function_or(" + quoted(symbol->second) + ")\n";
    }

    // Status first, then the out-parameters; libraries without statuses return a lone result as it
    // is.
    std::string stub_result(const std::string &result, const std::string &results) const {
        if (!settings_.status.empty())
            return "tuple[" + settings_.status +
                   (result == settings_.status || result == "None" ? "" : ", " + result) + results +
                   "]";
        if (results.empty())
            return result;
        return result == "None" ? "tuple[" + results.substr(2) + "]"
                                : "tuple[" + result + results + "]";
    }

    static std::string doc_of(const Function &function, const std::vector<std::string> &arguments,
                              const std::vector<std::string> &returned) {
        DocString text("    ");
        text.add(function.doc);
        text.add_lines("Args:", arguments);
        std::vector<std::string> results;
        if (!function.returns.empty())
            results.push_back(one_line(function.returns));
        results.insert(results.end(), returned.begin(), returned.end());
        text.add_lines("Returns:", results);
        text.add("C: " + function.declaration);
        return text.text();
    }

    static std::string in_one_line(const Choice &choice) {
        return "_library.choice(" + quoted(choice.symbol) + ", present=" + choice.with +
               ", absent=" + (choice.otherwise ? in_one_line(*choice.otherwise) : choice.without) +
               ")";
    }

    static std::string in_lines(const Choice &choice, const std::string &indent) {
        const std::string further = indent + "    ";
        return "_library.choice(\n" + further + quoted(choice.symbol) + ",\n" + further +
               "present=" + choice.with + ",\n" + further + "absent=" +
               (choice.otherwise ? in_lines(*choice.otherwise, further) : choice.without) + ",\n" +
               indent + ")";
    }

    void write_choices() {
        if (settings_.choices.empty())
            return;
        module_ += title("by the version of the library");
        for (const Choice &choice : settings_.choices) {
            const std::string head = choice.name + " = ", line = head + in_one_line(choice);
            module_ += (line.size() <= columns ? line : head + in_lines(choice, "")) + "\n";
            if (choice.name != choice.with)
                stub_ += choice.name + " = " + choice.with + "\n";
        }
    }

    const LibrarySettings &settings_;
    const Description &description_;
    Rules rules_;
    std::string module_, stub_, report_;
    std::set<std::string> used_{"Library"};
};

}  // namespace

Written write_python(const LibrarySettings &settings, const Description &description) {
    return Writer(settings, description).write();
}

}  // namespace bindgen
