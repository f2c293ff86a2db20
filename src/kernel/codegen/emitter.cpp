// Emitter: names, functions and arrays, common to all dialects.
#include "kernel/codegen/emitter.hpp"
#include "kernel/ir/module.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/check.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>

namespace entrepot::kernel {

namespace {

// C identifier for a Python name, which may contain any letters.
std::string identifier(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
            text += c;
        else {
            constexpr char digits[] = "0123456789abcdef";
            text += 'x';
            text += digits[static_cast<unsigned char>(c) >> 4];
            text += digits[static_cast<unsigned char>(c) & 15];
        }
    }
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])))
        text.insert(0, "_");
    return is_reserved(text) ? text + "_" : text;
}

float float_from_half(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                       : exponent == 31
                           ? (fraction == 0 ? INFINITY : NAN)
                           : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    return bits & 0x8000 ? -size : size;
}

template <class Number> Number element_at(const std::vector<std::byte> &bytes, std::size_t offset) {
    Number value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

void replace(std::string &text, std::string_view what, std::string_view substituted) {
    const auto is_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos;) {
        const bool joins = at > 0 && is_word(text[at - 1]) && text[at - 1] != '_';
        const bool goes_on = at + what.size() < text.size() && is_word(text[at + what.size()]);
        if (joins || goes_on) {
            at += what.size();
            continue;
        }
        text.replace(at, what.size(), substituted);
        at += substituted.size();
    }
}

bool has_integers_of_floats(const ir::Module &module) {
    bool found = false;
    for (const ir::Function &function : module.functions)
        ir::for_each_expression(function.body, [&](const ir::Expression &each) {
            found |= each.op == ir::Op::convert && is_integer(each.type.dtype) &&
                     is_float(each.operands[0].type.dtype);
        });
    return found;
}

}  // namespace

std::string joined(const std::vector<std::string> &parts, std::string_view between) {
    std::string text;
    for (const std::string &part : parts)
        text += (text.empty() ? "" : std::string(between)) + part;
    return text;
}

std::string
substituted(std::string text,
            std::initializer_list<std::pair<std::string_view, std::string>> replacements) {
    for (const auto &[what, by] : replacements)
        for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
            text.replace(at, what.size(), by);
    return text;
}

std::string digits_of(double value, bool single) {
    char buffer[32];
    const std::to_chars_result end =
        single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value))
               : std::to_chars(buffer, buffer + sizeof buffer, value);
    std::string text(buffer, end.ptr);
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string operation_text(const std::string &name) {
    if (name == "add")
        return "old + value";
    if (name == "sub")
        return "old - value";
    if (name == "min")
        return "value < old ? value : old";
    if (name == "max")
        return "value > old ? value : old";
    if (name == "and")
        return "old & value";
    if (name == "or")
        return "old | value";
    return name == "xor" ? "old ^ value" : "value";
}

void Emitter::refuse_here(Position at, const std::string &message) const {
    throw CompileError({function_, inlined_, at}, message);
}

Emitter::Emitter(const ir::Module &module, const Target &target)
    : module_(module), target_(target), dialect_(dialect_row(target.dialect)),
      converts_floats_to_integers_(has_integers_of_floats(module)) {
    std::set<std::string> taken;
    for (const ir::Function &function : module.functions) {
        std::string name = identifier(function.name);
        for (int i = 2; !taken.insert(name).second; ++i)
            name = identifier(function.name) + "_" + std::to_string(i);
        function_names_.push_back(name);
    }
}

Compiled Emitter::run(const std::vector<ArgumentType> &arguments) {
    for (const ir::Function &function : module_.functions) {
        begin_function(function);
        if (&function == &module_.kernel())
            write_kernel(function);
        else if (!has_own_text(function))
            write_function(function);
    }
    Compiled compiled;
    compiled.name = function_names_.back();
    compiled.options = options();
    compiled.source = prologue() + helpers_ + out_.text();
    compiled.parameters = std::move(parameters_);
    compiled.checks = std::move(checks_);
    compiled.read.assign(arguments.size(), false);
    compiled.written.assign(arguments.size(), false);
    for (const ir::Root &root : module_.kernel().roots) {
        if (root.parameter && *root.parameter < arguments.size()) {
            compiled.read[*root.parameter] = root.read;
            compiled.written[*root.parameter] = root.written;
        }
        if (!root.parameter && root.type.space == Space::local)
            compiled.local_bytes += bytes_of(root.type);
    }
    compiled.uses_groups = module_.uses_groups;
    compiled.has_barriers = module_.has_barriers;
    compiled.is_cooperative = module_.has_grid_barriers;
    compiled.prints = module_.prints;
    compiled.has_tiles = ir::has_tiles(module_);
    return compiled;
}

// ---------------------------------------------------------------- types and names

std::string Emitter::value_type(Dtype dtype) {
    if (is_complex(dtype))
        helper("type", dtype);
    return std::string(words(dtype).value);
}

std::string Emitter::storage_type(Dtype dtype) {
    if (is_complex(dtype))
        helper("type", dtype);
    return std::string(words(dtype).storage);
}

std::string Emitter::pointer_to(const ir::Root &root, bool restricted) const {
    std::string text(dialect_.spaces[static_cast<std::size_t>(root.type.space)]);
    if (root.type.space == Space::private_)
        text += private_qualifier(root);
    if (!root.written && root.type.space != Space::constant)
        text += "const ";
    text += std::string(words(root.type.dtype).storage) + " *";
    // Other groups change what the pointer reaches while a group waits for them in a function that
    // is not given the pointer. A compiler may take that for impossible if the pointer is restrict.
    const bool is_exchanged =
        module_.has_grid_barriers && root.written && root.type.space == Space::global;
    return restricted && !is_exchanged ? text + std::string(dialect_.restrict_) : text;
}

std::string Emitter::unique(const std::string &wanted) { return ir::unique_name(wanted, names_); }

void Emitter::begin_function(const ir::Function &function) {
    function_ = &function;
    ranges_.emplace(function);
    names_.clear();
    names_.insert(function_names_.begin(), function_names_.end());
    variables_.clear();
    roots_.clear();
    for (const ir::Root &root : function.roots)
        roots_.push_back(unique(identifier(root.name)));
    for (const ir::Variable &each : function.variables)
        variables_.push_back(unique(identifier(each.name)));

    assignments_.assign(function.variables.size(), 0);
    for (std::size_t i = 0; i < function.variables.size(); ++i)
        assignments_[i] = function.variables[i].parameter ? 1 : 0;
    ir::for_each_statement(function.body, [&](const ir::Statement &statement) {
        for (const ir::VariableId id : ir::assigned_by(statement))
            ++assignments_[id];
    });

    used_roots_.clear();
    used_dimensions_.clear();
    ir::for_each_statement(function.body, [&](const ir::Statement &statement) {
        if (statement.act == ir::Act::store)
            used_roots_.insert(statement.id);
    });
    ir::for_each_expression(function.body, [&](const ir::Expression &expression) {
        if (expression.op == ir::Op::load || expression.op == ir::Op::atomic)
            used_roots_.insert(expression.id);
        if (expression.op == ir::Op::extent || expression.op == ir::Op::stride)
            used_dimensions_.insert({expression.op, expression.id, expression.number});
        used_roots_.insert(expression.roots.begin(), expression.roots.end());
        if (is_complex(expression.type.dtype) && expression.type.kind == Type::Kind::scalar)
            helper("type", expression.type.dtype);
    });
    for (const ir::Root &root : function.roots)
        if (is_complex(root.type.dtype))
            helper("type", root.type.dtype);
}

std::string Emitter::function_name(const ir::Function &function) const {
    return function_names_[static_cast<std::size_t>(&function - module_.functions.data())];
}

std::string Emitter::filled(std::string_view text, Dtype dtype) {
    std::string filled(text.substr(text.starts_with('\n') ? 1 : 0));
    const bool complex = is_complex(dtype);
    const Dtype part = complex ? part_of(dtype) : dtype;
    for (std::size_t open; (open = filled.find("{")) != filled.npos;) {
        std::size_t close = open + 1;
        while (close < filled.size() && (std::isalnum(static_cast<unsigned char>(filled[close]))))
            ++close;
        if (close == open + 1 || close >= filled.size() || filled[close] != '}') {
            filled[open] = '\1';  // placeholder for a literal `{`
            continue;
        }
        filled.replace(open, close + 1 - open,
                       math_function(filled.substr(open + 1, close - open - 1), part));
    }
    std::ranges::replace(filled, '\1', '{');
    if (const std::string line = no_contraction_line();
        !line.empty() && complex && filled.find(" * ") != filled.npos)
        filled.insert(filled.find(") {\n") + 4, line + "\n");
    for (std::size_t at; (at = filled.find("FUNCTION ")) != filled.npos;)
        filled.replace(at, 9, dialect_.function);
    for (std::size_t at; (at = filled.find("BITCAST(")) != filled.npos;) {
        const std::size_t comma = filled.find(',', at), type = at + 8;
        const std::string to = filled.substr(type, comma - type);
        if (dialect_.dialect == Dialect::opencl_c)
            filled.replace(at, comma + 2 - at, "as_" + (to == "UINT" ? "uint" : to) + "(");
        else
            filled.replace(at, comma + 2 - at,
                           "__builtin_bit_cast(" + (to == "UINT" ? "unsigned" : to) + ", ");
    }
    for (std::size_t at; (at = filled.find("NEGATE(")) != filled.npos;) {
        if (const std::string name = negation_helper(part); !name.empty()) {
            filled.replace(at, 6, name);
            continue;
        }
        filled.erase(filled.find(')', at), 1);
        filled.replace(at, 7, "-");
    }
    replace(filled, "UINT", dialect_.dialect == Dialect::opencl_c ? "uint" : "unsigned");
    replace(filled, "NAME", name_of(dtype));
    replace(filled, "P2", std::string(words(part).value) + "2");
    replace(filled, "P", words(part).value);
    if (is_integer(dtype))
        replace(filled, "U", words({TypeCode::unsigned_integer, dtype.bits}).value);
    replace(filled, "BITS", std::to_string(dtype.bits));
    replace(filled, "T", words(dtype).value);
    replace(filled, "S", words(dtype).storage);
    return filled;
}

std::string Emitter::math_function(std::string_view name, Dtype dtype) {
    std::string word = math_words(dialect_, name, dtype);
    declare_math_function(word);
    return word;
}

std::string Emitter::helper(std::string_view name, Dtype dtype) {
    const std::string type_name = name_of(dtype);
    const bool names_its_type = name.ends_with("float16");
    const std::string called =
        name == "type" ? type_name : std::string(name) + (names_its_type ? "" : "_" + type_name);
    if (helper_keys_.contains(called))
        return called;
    const HelperRow *row = find_helper(name, dialect_.dialect, dtype);
    if (row == nullptr)
        throw std::logic_error("there is no helper \"" + std::string(name) + "\" for " + type_name);
    for (std::string_view needs = row->needs; !needs.empty();) {
        const std::size_t space = std::min(needs.find(' '), needs.size());
        helper(needs.substr(0, space), dtype);
        needs.remove_prefix(std::min(space + 1, needs.size()));
    }
    add_once(called, filled(row->text, dtype));
    return called;
}

bool Emitter::add_once(const std::string &key, const std::string &text) {
    const bool is_new = helper_keys_.insert(key).second;
    if (is_new)
        helpers_ += text + "\n\n";
    return is_new;
}

std::string Emitter::dimension_name(ir::Op op, ir::RootId root, std::uint32_t dimension) const {
    return roots_[root] + (op == ir::Op::extent ? "_extent" : "_stride") +
           std::to_string(dimension);
}

// ---------------------------------------------------------------- functions and arrays

std::string Emitter::constant_array(const ir::Function &function, ir::RootId root) {
    const ConstantArray &array = *function.roots[root].values;
    const auto size = static_cast<std::size_t>(array.dtype.itemsize());
    std::vector<std::string> items;
    ir::Expression item;
    item.type.kind = Type::Kind::scalar;
    item.type.dtype = array.dtype;
    const bool bits = words(array.dtype).is_promoted();
    for (std::size_t at = 0; at + size <= array.bytes.size(); at += size) {
        if (bits) {
            items.push_back(std::to_string(element_at<std::uint16_t>(array.bytes, at)));
            continue;
        }
        const auto part = [&](std::size_t offset, std::size_t bytes) {
            return bytes == 8 ? element_at<double>(array.bytes, at + offset)
                              : static_cast<double>(element_at<float>(array.bytes, at + offset));
        };
        switch (array.dtype.code) {
        case TypeCode::boolean:
            item.value = element_at<std::uint8_t>(array.bytes, at) != 0;
            break;
        case TypeCode::integer: {
            std::int64_t value = 0;
            std::memcpy(&value, array.bytes.data() + at, size);
            const unsigned above = 64 - array.dtype.bits;
            item.value =
                static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << above) >> above;
            break;
        }
        case TypeCode::unsigned_integer: {
            std::uint64_t value = 0;
            std::memcpy(&value, array.bytes.data() + at, size);
            item.value = value;
            break;
        }
        case TypeCode::complex:
            items.push_back(
                (dialect_.dialect == Dialect::opencl_c ? "(" + name_of(array.dtype) + ")(" : "{") +
                float_constant(part(0, size / 2), part_of(array.dtype)) + ", " +
                float_constant(part(size / 2, size / 2), part_of(array.dtype)) +
                (dialect_.dialect == Dialect::opencl_c ? ")" : "}"));
            continue;
        default:
            item.value = size == 2 ? static_cast<double>(float_from_half(
                                         element_at<std::uint16_t>(array.bytes, at)))
                                   : part(0, size);
        }
        items.push_back(constant(item, false));
    }
    if (items.size() <= 16)
        return joined(items);
    std::string lines;
    for (std::size_t i = 0; i < items.size(); i += 16) {
        lines += "\n    ";
        for (std::size_t j = i; j < std::min(i + 16, items.size()); ++j)
            lines +=
                items[j] +
                (j + 1 < items.size() ? j + 1 < std::min(i + 16, items.size()) ? ", " : "," : "");
    }
    return lines + "\n";
}

// All arrays of a program share CUDA's constant memory. An array that does not fit is placed in
// global memory.
bool Emitter::fits_constant_memory(std::size_t bytes) {
    constexpr std::size_t most = std::size_t{64} << 10;
    if (dialect_.dialect != Dialect::cuda && dialect_.dialect != Dialect::hip)
        return true;
    const std::size_t start = aligned_to_16(constant_bytes_);
    if (bytes > most || start > most - bytes)
        return false;
    constant_bytes_ = start + bytes;
    return true;
}

void Emitter::write_constant_arrays(const ir::Function &function) {
    for (ir::RootId i = 0; i < function.roots.size(); ++i) {
        const ir::Root &root = function.roots[i];
        if (!root.values || !uses_root(i))
            continue;
        roots_[i] = function_name(function) + "_" + roots_[i];
        const bool in_constant_memory = fits_constant_memory(root.values->bytes.size());
        const auto count =
            root.values->bytes.size() / static_cast<std::size_t>(root.values->dtype.itemsize());
        add_once(roots_[i], std::string(in_constant_memory ? dialect_.constant_array
                                                           : "static __device__ const ") +
                                storage_type(root.type.dtype) + " " + roots_[i] + "[" +
                                std::to_string(std::max<std::size_t>(count, 1)) + "] = {" +
                                constant_array(function, i) + "};");
    }
}

void Emitter::write_private_arrays(const ir::Function &function,
                                   const std::set<ir::RootId> &wanted) {
    for (ir::RootId i = 0; i < function.roots.size(); ++i) {
        const ir::Root &root = function.roots[i];
        if (root.type.space == Space::private_ && !root.parameter && !root.values &&
            wanted.contains(i))
            out_.line(private_qualifier(root) + storage_type(root.type.dtype) + " " + roots_[i] +
                      "[" + std::to_string(elements_of(root.type)) + "];");
    }
}

void Emitter::write_function(const ir::Function &function) {
    write_constant_arrays(function);
    std::map<std::uint32_t, std::string> places;
    for (ir::RootId i = 0; i < function.roots.size(); ++i)
        if (function.roots[i].parameter)
            places[*function.roots[i].parameter] = pointer_to(function.roots[i], false) + roots_[i];
    for (ir::VariableId i = 0; i < function.variables.size(); ++i)
        if (function.variables[i].parameter)
            places[*function.variables[i].parameter] =
                value_type(function.variables[i].type.dtype) + " " + variables_[i];
    std::vector<std::string> parameters;
    for (const auto &[place, parameter] : places)
        parameters.push_back(parameter);
    add_hidden_parameters(parameters);

    const std::string name = function_name(function);
    std::string returns = "void";
    if (function.returns.kind == Type::Kind::scalar)
        returns = value_type(function.returns.dtype);
    if (function.returns.kind == Type::Kind::tuple) {
        returns = (dialect_.dialect == Dialect::opencl_c ? "struct " : "") + name + "_result";
        out_.open("struct " + name + "_result");
        for (std::size_t i = 0; i < function.returns.items.size(); ++i)
            out_.line(value_type(function.returns.items[i].dtype) + " item" + std::to_string(i) +
                      ";");
        out_.close("};");
        out_.line("");
    }
    Declarations::Variables local;
    for (ir::VariableId i = 0; i < function.variables.size(); ++i)
        if (!function.variables[i].parameter)
            local.insert(i);
    declarations_.clear();
    declarations_.plan(ir::row_of(function.body), local);
    out_.open(std::string(dialect_.function) + returns + " " + name + "(" + joined(parameters) +
              ")");
    write_private_arrays(function, used_roots_);
    write(function.body);
    out_.close();
    out_.line("");
}

Compiled emit(const ir::Module &module, const std::vector<ArgumentType> &arguments,
              const Target &target) {
    check_private_memory(module, target);
    return target.dialect == Dialect::cpp ? emit_host(module, arguments, target)
                                          : emit_device(module, arguments, target);
}

}  // namespace entrepot::kernel
