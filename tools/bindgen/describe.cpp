#include "describe.hpp"

#include "comment.hpp"

#include <clang-c/Index.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

namespace bindgen {
namespace {

template <class Body> void for_each_child(CXCursor cursor, Body &&body) {
    clang_visitChildren(
        cursor,
        [](CXCursor child, CXCursor, CXClientData data) {
            (*static_cast<std::remove_reference_t<Body> *>(data))(child);
            return CXChildVisit_Continue;
        },
        &body);
}

template <class Body> void for_each_field(CXType type, Body &&body) {
    clang_Type_visitFields(
        type,
        [](CXCursor field, CXClientData data) {
            (*static_cast<std::remove_reference_t<Body> *>(data))(field);
            return CXVisit_Continue;
        },
        &body);
}

bool is_record(CXCursorKind kind) {
    return kind == CXCursor_StructDecl || kind == CXCursor_UnionDecl;
}

std::string usr_of(CXCursor cursor) { return taken(clang_getCursorUSR(cursor)); }

// Tag in the source. For unnamed declarations libclang 14 returns "", and later versions a sentence
// with the location.
std::string tag_of(CXCursor cursor) {
    std::string name = taken(clang_getCursorSpelling(cursor));
    return name.find(' ') == std::string::npos && name.find('(') == std::string::npos ? name : "";
}

std::string file_of(CXCursor cursor) {
    CXFile file = nullptr;
    clang_getExpansionLocation(clang_getCursorLocation(cursor), &file, nullptr, nullptr, nullptr);
    return file ? taken(clang_getFileName(file)) : "";
}

// Names of the standard headers whose width is theirs to choose; what they stand for would be
// another machine's choice.
const std::map<std::string, std::string> standard_names{
    {"size_t", "c_size_t"},   {"ssize_t", "c_ssize_t"},  {"int8_t", "c_int8"},
    {"uint8_t", "c_uint8"},   {"int16_t", "c_int16"},    {"uint16_t", "c_uint16"},
    {"int32_t", "c_int32"},   {"uint32_t", "c_uint32"},  {"int64_t", "c_int64"},
    {"uint64_t", "c_uint64"}, {"intptr_t", "c_ssize_t"}, {"uintptr_t", "c_size_t"},
};

std::string scalar_name(CXTypeKind kind) {
    switch (kind) {
    case CXType_Bool:
        return "c_bool";
    case CXType_Char_S:
    case CXType_Char_U:
        return "c_char";
    case CXType_SChar:
        return "c_byte";
    case CXType_UChar:
        return "c_ubyte";
    case CXType_Short:
        return "c_short";
    case CXType_UShort:
        return "c_ushort";
    case CXType_Int:
        return "c_int";
    case CXType_UInt:
        return "c_uint";
    case CXType_Long:
        return "c_long";
    case CXType_ULong:
        return "c_ulong";
    case CXType_LongLong:
        return "c_longlong";
    case CXType_ULongLong:
        return "c_ulonglong";
    case CXType_Float:
        return "c_float";
    case CXType_Double:
        return "c_double";
    default:
        return "";
    }
}

class Describer {
public:
    explicit Describer(const LibrarySettings &settings) : settings_(settings) {}

    void name_by_typedefs(CXCursor unit) {
        for_each_child(unit, [&](CXCursor cursor) {
            if (clang_getCursorKind(cursor) != CXCursor_TypedefDecl)
                return;
            const CXCursor declared =
                clang_getTypeDeclaration(clang_getTypedefDeclUnderlyingType(cursor));
            if (is_record(clang_getCursorKind(declared)) ||
                clang_getCursorKind(declared) == CXCursor_EnumDecl)
                if (tag_of(declared).empty())
                    names_.emplace(usr_of(declared), taken(clang_getCursorSpelling(cursor)));
        });
    }

    void visit(CXCursor cursor) {
        if (!belongs(cursor))
            return;
        switch (clang_getCursorKind(cursor)) {
        case CXCursor_FunctionDecl:
            add_function(cursor);
            break;
        case CXCursor_EnumDecl:
            add_enum(cursor);
            break;
        case CXCursor_StructDecl:
        case CXCursor_UnionDecl:
            add_record(cursor);
            break;
        case CXCursor_TypedefDecl:
            add_typedef(cursor);
            break;
        default:
            break;
        }
    }

    // Structs that are named in the library's types and declared nowhere, or by other headers.
    void add_missing() {
        for (const auto &[name, cursor] : opaques_)
            if (!done_.contains(name) && !settings_.is_left_out(name))
                out_.opaques.push_back({name, comment_of(cursor).text});
    }

    bool belongs(CXCursor cursor) const {
        const std::string file = file_of(cursor);
        return std::ranges::any_of(settings_.files, [&](const std::string &part) {
            return file.find(part) != std::string::npos;
        });
    }

    Description &&take() { return std::move(out_); }
    Description &out() { return out_; }
    bool is_known(const std::string &name) const { return done_.contains(name); }

private:
    std::string name_of(CXCursor declared) {
        if (std::string tag = tag_of(declared); !tag.empty())
            if (const auto nested = names_.find(usr_of(declared)); nested != names_.end())
                return nested->second;
            else
                return tag;
        const auto found = names_.find(usr_of(declared));
        return found == names_.end() ? "" : found->second;
    }

    Type type_of(CXType type) {
        switch (type.kind) {
        case CXType_Elaborated:
            return type_of(clang_Type_getNamedType(type));
        case CXType_Typedef:
            return type_of_typedef(type);
        case CXType_Pointer:
            return pointer_to(clang_getPointeeType(type));
        case CXType_ConstantArray:
            return {"array",
                    "",
                    false,
                    clang_getArraySize(type),
                    {type_of(clang_getArrayElementType(type))}};
        case CXType_IncompleteArray:  // in a parameter, or a flexible member
            return pointer_to(clang_getArrayElementType(type));
        case CXType_Record:
            return type_of_record(clang_getTypeDeclaration(type));
        case CXType_Enum:
            return {"enum", name_of(clang_getTypeDeclaration(type)), false, 0, {}};
        case CXType_Void:
            return {};
        default:
            break;
        }
        if (std::string name = scalar_name(type.kind); !name.empty())
            return {"scalar", std::move(name), false, 0, {}};
        const CXType canonical = clang_getCanonicalType(type);
        if (canonical.kind != type.kind)
            return type_of(canonical);
        throw std::runtime_error("no rule for the C type '" + taken(clang_getTypeSpelling(type)) +
                                 "'");
    }

    Type type_of_record(CXCursor declared) {
        const std::string name = name_of(declared);
        const bool is_defined = !clang_Cursor_isNull(clang_getCursorDefinition(declared));
        if (!is_defined)
            opaques_.emplace(name, declared);
        return {is_defined ? "record" : "opaque", name, false, 0, {}};
    }

    Type type_of_typedef(CXType type) {
        const std::string name = taken(clang_getTypedefName(type));
        if (const auto standard = standard_names.find(name); standard != standard_names.end())
            return {"scalar", standard->second, false, 0, {}};
        const CXCursor declared = clang_getTypeDeclaration(type);
        if (is_handle(name)) {
            opaques_.emplace(name, declared);
            return {"pointer", name, false, 0, {{"opaque", name, false, 0, {}}}};
        }
        const CXType meant = clang_getTypedefDeclUnderlyingType(declared);
        if (is_function_pointer(meant) || is_function(meant))
            return {is_function(meant) ? "function" : "callback", name, false, 0, {}};
        Type out = type_of(meant);
        if (out.is("pointer"))
            out.name = name;
        return out;
    }

    Type pointer_to(CXType pointee) {
        const CXType canonical = clang_getCanonicalType(pointee);
        if (is_function(canonical)) {
            Type named = pointee.kind == CXType_Typedef ? type_of(pointee)
                                                        : Type{"callback", "", false, 0, {}};
            named.kind = "callback";
            return named;
        }
        return {"pointer", "", clang_isConstQualifiedType(canonical) != 0, 0, {type_of(pointee)}};
    }

    bool is_handle(const std::string &name) const {
        return std::ranges::find(settings_.handles, name) != settings_.handles.end();
    }

    static bool is_function(CXType type) {
        return clang_getCanonicalType(type).kind == CXType_FunctionProto;
    }
    static bool is_function_pointer(CXType type) {
        const CXType canonical = clang_getCanonicalType(type);
        return canonical.kind == CXType_Pointer && is_function(clang_getPointeeType(canonical));
    }

    // A pointer to a function that no typedef names is called for where it stands.
    Type named_callback(Type type, const std::string &name, CXType c_type) {
        if (type.is("callback") && type.name.empty()) {
            type.name = name;
            add_callback(name, clang_getPointeeType(clang_getCanonicalType(c_type)),
                         clang_getNullCursor(), Comment());
        }
        return type;
    }

    void add_function(CXCursor cursor) {
        const std::string name = taken(clang_getCursorSpelling(cursor));
        if (clang_Cursor_getStorageClass(cursor) == CX_SC_Static ||
            clang_Cursor_isFunctionInlined(cursor) || settings_.is_left_out(name))
            return;
        const Comment comment = comment_of(cursor);
        if (const auto again = functions_.find(name); again != functions_.end()) {
            if (out_.functions[again->second].doc.empty())
                out_.functions[again->second].doc = comment.text;
            return;
        }
        Function function{name,
                          type_of(clang_getCursorResultType(cursor)),
                          {},
                          clang_Cursor_isVariadic(cursor) != 0,
                          "",
                          comment.text,
                          comment.returns};
        const int count = clang_Cursor_getNumArguments(cursor);
        std::string list;
        for (int i = 0; i < count; ++i) {
            const CXCursor argument = clang_Cursor_getArgument(cursor, static_cast<unsigned>(i));
            Parameter parameter = parameter_of(argument, i, comment);
            parameter.type = named_callback(parameter.type, name + "_" + parameter.name,
                                            clang_getCursorType(argument));
            list += (i ? ", " : "") + declarator(clang_getCursorType(argument), parameter.name);
            function.parameters.push_back(std::move(parameter));
        }
        function.declaration = declarator(clang_getCursorResultType(cursor), name) + "(" + list +
                               (function.is_variadic ? ", ..." : "") + ")";
        functions_.emplace(name, out_.functions.size());
        out_.functions.push_back(std::move(function));
        done_.insert(name);
    }

    static std::string declarator(CXType type, const std::string &name) {
        std::string text = taken(clang_getTypeSpelling(type));
        // whose name stands inside; an array's stands before its extents
        const std::size_t function = text.find("(*");
        const std::size_t at =
            function != std::string::npos ? function + 2 : std::min(text.find('['), text.size());
        const bool is_apart = text[at - 1] == ' ' || text[at - 1] == '*';
        return text.insert(at, is_apart ? name : " " + name);
    }

    Parameter parameter_of(CXCursor argument, int position, const Comment &comment) {
        Parameter parameter;
        const std::string name = taken(clang_getCursorSpelling(argument));
        parameter.name = name.empty() ? "arg" + std::to_string(position) : name;
        parameter.type = type_of(clang_getCursorType(argument));
        if (const auto found = comment.parameters.find(name); found != comment.parameters.end()) {
            parameter.direction = found->second.direction;
            parameter.doc = found->second.text;
        }
        return parameter;
    }

    void add_callback(const std::string &name, CXType type, CXCursor cursor,
                      const Comment &comment) {
        Function callback{
            name, type_of(clang_getResultType(type)), {}, false, "", comment.text, comment.returns};
        std::vector<CXCursor> arguments;
        if (!clang_Cursor_isNull(cursor))
            for_each_child(cursor, [&](CXCursor child) {
                if (clang_getCursorKind(child) == CXCursor_ParmDecl)
                    arguments.push_back(child);
            });
        for (int i = 0; i < clang_getNumArgTypes(type); ++i) {
            const auto index = static_cast<std::size_t>(i);
            Parameter parameter = index < arguments.size()
                                      ? parameter_of(arguments[index], i, comment)
                                      : Parameter{"arg" + std::to_string(i), {}, "", ""};
            // The spelling at the declaration: the function's own type has its typedefs resolved.
            parameter.type = type_of(index < arguments.size()
                                         ? clang_getCursorType(arguments[index])
                                         : clang_getArgType(type, static_cast<unsigned>(i)));
            callback.parameters.push_back(std::move(parameter));
        }
        done_.insert(name);
        out_.callbacks.push_back(std::move(callback));
    }

    void add_enum(CXCursor cursor) {
        if (!clang_isCursorDefinition(cursor))
            return;
        Enum each{name_of(cursor),
                  scalar_name(clang_getCanonicalType(clang_getEnumDeclIntegerType(cursor)).kind),
                  {},
                  comment_of(cursor).text};
        for_each_child(cursor, [&](CXCursor child) {
            if (clang_getCursorKind(child) == CXCursor_EnumConstantDecl)
                each.enumerators.push_back({taken(clang_getCursorSpelling(child)),
                                            clang_getEnumConstantDeclValue(child),
                                            comment_of(child).text});
        });
        if (each.name.empty())
            for (Enumerator &enumerator : each.enumerators)
                out_.constants.push_back({enumerator.name, enumerator.value, enumerator.doc});
        else if (!settings_.is_left_out(each.name) && done_.insert(each.name).second)
            out_.enums.push_back(std::move(each));
    }

    void add_record(CXCursor cursor) {
        if (!clang_isCursorDefinition(cursor)) {
            if (clang_Cursor_isNull(clang_getCursorDefinition(cursor)) && !tag_of(cursor).empty())
                opaques_.emplace(tag_of(cursor), cursor);
            return;
        }
        const std::string name = name_of(cursor);
        if (name.empty() || settings_.is_left_out(name) || !done_.insert(name).second)
            return;
        add_nested(cursor, name);
        const CXType type = clang_getCursorType(cursor);
        Record record;
        record.name = name;
        record.c_name = taken(clang_getTypeSpelling(type));
        if (record.c_name.find('(') != std::string::npos)
            record.c_name.clear();
        record.is_union = clang_getCursorKind(cursor) == CXCursor_UnionDecl;
        record.size = clang_Type_getSizeOf(type);
        record.alignment = clang_Type_getAlignOf(type);
        record.doc = comment_of(cursor).text;
        for_each_field(type, [&](CXCursor child) {
            Field field;
            field.name = taken(clang_getCursorSpelling(child));
            if (field.name.find('(') != std::string::npos)  // later versions of libclang
                field.name.clear();
            field.type = named_callback(type_of(clang_getCursorType(child)),
                                        name + "_" + field.name, clang_getCursorType(child));
            field.bit_offset = clang_Cursor_getOffsetOfField(child);
            if (field.type.is("array") &&
                std::ranges::find(settings_.raw, name + "." + field.name) != settings_.raw.end())
                field.type.inner.front().name = "c_raw";
            field.width = clang_Cursor_isBitField(child) ? clang_getFieldDeclBitWidth(child) : 0;
            field.doc = comment_of(child).text;
            record.fields.push_back(std::move(field));
        });
        out_.records.push_back(std::move(record));
    }

    // Named after where they stand: of the second struct inside X, X_struct_1; tags keep theirs,
    // after X.
    void add_nested(CXCursor cursor, const std::string &name) {
        std::map<CXCursorKind, int> counts;
        for_each_child(cursor, [&](CXCursor child) {
            const CXCursorKind kind = clang_getCursorKind(child);
            if (kind == CXCursor_EnumDecl)
                return visit(child);
            if (!is_record(kind) || !clang_isCursorDefinition(child))
                return;
            const std::string tag = tag_of(child);
            names_.emplace(
                usr_of(child),
                name + "_" +
                    (!tag.empty() ? tag
                                  : std::string(kind == CXCursor_UnionDecl ? "union_" : "struct_") +
                                        std::to_string(counts[kind]++)));
            add_record(child);
        });
    }

    void add_typedef(CXCursor cursor) {
        const std::string name = taken(clang_getCursorSpelling(cursor));
        if (settings_.is_left_out(name) || standard_names.contains(name))
            return;
        if (is_handle(name)) {
            opaques_.emplace(name, cursor);
            return;
        }
        const CXType meant = clang_getTypedefDeclUnderlyingType(cursor);
        if (is_function_pointer(meant) || is_function(meant)) {
            if (!done_.contains(name)) {
                const CXType canonical = clang_getCanonicalType(meant);
                add_callback(name, is_function(meant) ? canonical : clang_getPointeeType(canonical),
                             cursor, comment_of(cursor));
            }
            return;
        }
        const Type type = type_of(meant);
        const Type &target = type.is("pointer") ? type.pointee() : type;
        if ((target.is("record") || target.is("enum") || target.is("opaque")) &&
            !target.name.empty() && target.name != name && done_.insert(name).second)
            out_.aliases.push_back({name, target.name});
        if (type.is("pointer") && target.is("void") && done_.insert(name).second)
            out_.aliases.push_back({name, "Pointer"});
    }

    const LibrarySettings &settings_;
    Description out_;
    std::map<std::string, std::string> names_;  // of declarations without a tag, by USR
    std::map<std::string, CXCursor> opaques_;
    std::map<std::string, std::size_t> functions_;
    std::set<std::string> done_;
};

std::string includes_of(const LibrarySettings &settings) {
    std::string text;
    for (const std::string &header : settings.headers)
        text += "#include <" + header + ">\n";
    return text;
}

// A translation unit and the index that it is of.
class Unit {
public:
    Unit(const LibrarySettings &settings, const std::vector<std::string> &include_directories,
         const std::string &text, bool may_have_errors) {
        // Comments of headers in /usr/include, too: clang drops those of system headers by default.
        std::vector<std::string> options{"-x", "c", "-fretain-comments-from-system-headers"};
        for (const std::string &define : settings.defines)
            options.push_back("-D" + define);
        for (const std::string &directory : include_directories)
            options.push_back("-I" + directory);
        std::vector<const char *> arguments;
        for (const std::string &option : options)
            arguments.push_back(option.c_str());
        CXUnsavedFile file{"bindgen.c", text.c_str(), text.size()};
        const CXErrorCode code = clang_parseTranslationUnit2(
            index_, file.Filename, arguments.data(), static_cast<int>(arguments.size()), &file, 1,
            CXTranslationUnit_DetailedPreprocessingRecord, &unit_);
        if (code != CXError_Success)
            throw std::runtime_error(settings.name + ": libclang does not parse the headers");
        if (!may_have_errors)
            throw_errors(settings);
    }
    ~Unit() {
        clang_disposeTranslationUnit(unit_);
        clang_disposeIndex(index_);
    }
    Unit(const Unit &) = delete;
    Unit &operator=(const Unit &) = delete;

    CXCursor cursor() const { return clang_getTranslationUnitCursor(unit_); }
    CXTranslationUnit get() const { return unit_; }

private:
    void throw_errors(const LibrarySettings &settings) const {
        std::string errors;
        for (unsigned i = 0; i < clang_getNumDiagnostics(unit_); ++i) {
            const CXDiagnostic diagnostic = clang_getDiagnostic(unit_, i);
            if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error)
                errors += "\n  " + taken(clang_formatDiagnostic(
                                       diagnostic, clang_defaultDiagnosticDisplayOptions()));
            clang_disposeDiagnostic(diagnostic);
        }
        if (!errors.empty())
            throw std::runtime_error(settings.name + ": the headers do not compile:" + errors);
    }

    CXIndex index_ = clang_createIndex(0, 0);
    CXTranslationUnit unit_ = nullptr;
};

struct Macro {
    std::string name;
    std::vector<std::string> tokens;
};

std::vector<Macro> macros_of(const Unit &unit, const Describer &describer,
                             const LibrarySettings &settings) {
    std::vector<Macro> macros;
    for_each_child(unit.cursor(), [&](CXCursor cursor) {
        if (clang_getCursorKind(cursor) != CXCursor_MacroDefinition ||
            clang_Cursor_isMacroFunctionLike(cursor) || !describer.belongs(cursor))
            return;
        Macro macro{taken(clang_getCursorSpelling(cursor)), {}};
        CXToken *tokens = nullptr;
        unsigned count = 0;
        clang_tokenize(unit.get(), clang_getCursorExtent(cursor), &tokens, &count);
        for (unsigned i = 1; i < count; ++i)
            macro.tokens.push_back(taken(clang_getTokenSpelling(unit.get(), tokens[i])));
        clang_disposeTokens(unit.get(), tokens, count);
        if (!macro.tokens.empty() && !settings.is_left_out(macro.name))
            macros.push_back(std::move(macro));
    });
    return macros;
}

// The compiler itself says what a macro is worth: a variable is initialized with each, as a number
// and, for addresses, cast to one.
constexpr const char *as_is = "bindgen_value_", *as_address = "bindgen_address_";

std::map<std::string, Json> values_of(const std::vector<Macro> &macros,
                                      const LibrarySettings &settings,
                                      const std::vector<std::string> &include_directories) {
    std::string text = includes_of(settings);
    for (const Macro &macro : macros) {
        text += "static const __auto_type " + (as_is + macro.name) + " = " + macro.name + ";\n";
        text +=
            "static const long " + (as_address + macro.name) + " = (long)(" + macro.name + ");\n";
    }
    const Unit unit(settings, include_directories, text, true);
    std::map<std::string, Json> values;
    for_each_child(unit.cursor(), [&](CXCursor cursor) {
        const std::string name = taken(clang_getCursorSpelling(cursor));
        const bool is_value = name.starts_with(as_is);
        if (clang_getCursorKind(cursor) != CXCursor_VarDecl ||
            !(is_value || name.starts_with(as_address)))
            return;
        const std::string macro = name.substr(std::strlen(is_value ? as_is : as_address));
        const CXEvalResult result = clang_Cursor_Evaluate(cursor);
        if (!result)
            return;
        switch (clang_EvalResult_getKind(result)) {
        case CXEval_Int:
            if (clang_EvalResult_isUnsignedInt(result))
                values.emplace(macro, clang_EvalResult_getAsUnsigned(result));
            else
                values.emplace(macro, clang_EvalResult_getAsLongLong(result));
            break;
        case CXEval_Float:
            values.emplace(macro, clang_EvalResult_getAsDouble(result));
            break;
        case CXEval_StrLiteral:
            values.emplace(macro, clang_EvalResult_getAsStr(result));
            break;
        default:
            break;
        }
        clang_EvalResult_dispose(result);
    });
    return values;
}

void add_macros(const Unit &unit, Describer &describer, const LibrarySettings &settings,
                const std::vector<std::string> &include_directories) {
    const std::vector<Macro> macros = macros_of(unit, describer, settings);
    const std::map<std::string, Json> values = values_of(macros, settings, include_directories);
    std::set<std::string> seen;
    for (const Macro &macro : macros) {
        if (!seen.insert(macro.name).second)
            continue;
        if (macro.tokens.size() == 1 && describer.is_known(macro.tokens.front()))
            describer.out().aliases.push_back({macro.name, macro.tokens.front()});
        else if (const auto value = values.find(macro.name); value != values.end())
            describer.out().constants.push_back({macro.name, value->second, ""});
    }
}

// An enum from the settings: a new one, or further members of one that the headers have.
void add_enum(const Enum &given, std::vector<Enum> &enums) {
    const auto known = std::ranges::find(enums, given.name, &Enum::name);
    if (known == enums.end()) {
        if (given.type.empty())
            throw std::runtime_error("[enums] has members for " + given.name +
                                     ", and the headers have no such enum");
        enums.push_back(given);
        return;
    }
    if (!given.type.empty())
        throw std::runtime_error("[enums] has a type for " + given.name +
                                 ", and the headers have that enum: leave the type out");
    for (const Enumerator &member : given.enumerators) {
        if (std::ranges::find(known->enumerators, member.name, &Enumerator::name) !=
            known->enumerators.end())
            throw std::runtime_error("[enums] has " + given.name + "." + member.name +
                                     ", and so have the headers");
        known->enumerators.push_back(member);
    }
}

}  // namespace

Description describe(const LibrarySettings &settings,
                     const std::vector<std::string> &include_directories) {
    const Unit unit(settings, include_directories, includes_of(settings), false);
    Describer describer(settings);
    describer.name_by_typedefs(unit.cursor());
    for_each_child(unit.cursor(), [&](CXCursor cursor) { describer.visit(cursor); });
    describer.add_missing();
    add_macros(unit, describer, settings, include_directories);
    for (const Enum &each : settings.enums)
        add_enum(each, describer.out().enums);
    return describer.take();
}

}  // namespace bindgen
