// Layouts of structs and short vectors, and functions whose parameters are split by them.
#include "kernel/frontend/structs.hpp"

#include "kernel/frontend/syntax.hpp"

#include <algorithm>
#include <sstream>

namespace entrepot::kernel {

namespace {

// OpenCL's names of components: x, y, z and w, or s0 to sf.
std::string component_name(int place, int lanes) {
    return lanes <= 4 ? std::string(1, "xyzw"[place])
                      : std::string("s") + "0123456789abcdef"[place];
}

std::int64_t count_of(const std::vector<std::int64_t> &extents) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents)
        count *= extent;
    return count;
}

void for_each_number(
    const StructType &type, const std::string &prefix,
    const std::function<void(const std::string &name, const StructType::Field &)> &visit) {
    for (const StructType::Field &field : type.fields)
        if (field.type)
            for_each_number(*field.type, prefix + field.name + ".", visit);
        else
            visit(prefix + field.name, field);
}

}  // namespace

std::optional<std::size_t> StructType::place_of(const std::string &name) const {
    const auto found = std::ranges::find(fields, name, &Field::name);
    return found == fields.end() ? std::nullopt
                                 : std::optional(static_cast<std::size_t>(found - fields.begin()));
}

bool lanes_are_named(int lanes) noexcept {
    return lanes == 2 || lanes == 3 || lanes == 4 || lanes == 8 || lanes == 16;
}

StructTypePtr vector_type(Dtype dtype) {
    auto type = std::make_shared<StructType>();
    type->is_vector = true;
    type->itemsize = dtype.itemsize();
    const Dtype lane{dtype.code, dtype.bits, 1};
    for (int i = 0; i < dtype.lanes; ++i)
        type->fields.push_back(
            {component_name(i, dtype.lanes), {}, nullptr, lane, i * lane.itemsize(), {}, {}});
    return type;
}

bool same(const StructTypePtr &a, const StructTypePtr &b) {
    if (a == b)
        return true;
    return a && b && a->itemsize == b->itemsize && a->is_vector == b->is_vector &&
           std::ranges::equal(
               a->fields, b->fields, [](const StructType::Field &x, const StructType::Field &y) {
                   return x.name == y.name && x.shape == y.shape && x.dtype == y.dtype &&
                          x.offset == y.offset && x.extents == y.extents &&
                          x.strides == y.strides && same(x.type, y.type);
               });
}

bool same(const StructArgument &a, const StructArgument &b) {
    return a.form == b.form && same(a.type, b.type);
}

std::string fields_of(const StructType &type) {
    std::string text;
    for (const StructType::Field &field : type.fields)
        text += (text.empty() ? "" : &field == &type.fields.back() ? " and " : ", ") + field.name;
    return text;
}

std::string name_of(const StructType &type) {
    return type.is_vector ? name_of(type.lane()) + "x" + std::to_string(type.fields.size())
                          : "a struct of " + fields_of(type);
}

std::string text_of(const StructType &type) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << (type.is_vector ? "vector" : "struct") << type.itemsize << "{";
    for (const StructType::Field &field : type.fields) {
        text << field.name.size() << ":" << field.name;
        for (const std::int64_t extent : field.shape)
            text << "[" << extent << "]";
        if (field.type)
            text << text_of(*field.type);
        else
            text << field.dtype << "@" << field.offset;
        text << ";";
    }
    text << "}";
    return std::move(text).str();
}

void for_each_number(
    const StructType &type,
    const std::function<void(const std::string &name, const StructType::Field &)> &visit) {
    for_each_number(type, "", visit);
}

std::size_t argument_count(const StructArgument &argument) {
    if (argument.form == StructForm::none)
        return 1;
    std::int64_t count = 0;
    for_each_number(*argument.type, [&](const std::string &, const StructType::Field &field) {
        count += argument.form == StructForm::value ? count_of(field.extents) : 1;
    });
    return static_cast<std::size_t>(count);
}

std::shared_ptr<const syntax::Function> with_structs(const syntax::Function &function,
                                                     const std::vector<StructArgument> &arguments) {
    auto made = std::make_shared<syntax::Function>(function);
    made->parameters.clear();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const syntax::Parameter &parameter = function.parameters[i];
        if (arguments[i].form == StructForm::none) {
            made->parameters.push_back(parameter);
            continue;
        }
        made->structs.push_back({parameter.name, parameter.at,
                                 static_cast<std::uint32_t>(made->parameters.size()),
                                 arguments[i]});
        for_each_number(
            *arguments[i].type, [&](const std::string &name, const StructType::Field &field) {
                const bool is_value = arguments[i].form == StructForm::value;
                const std::int64_t count = is_value ? count_of(field.extents) : 1;
                for (std::int64_t k = 0; k < count; ++k)
                    made->parameters.push_back(
                        {parameter.name + "." + name +
                             (is_value && !field.extents.empty() ? "." + std::to_string(k) : ""),
                         parameter.at});
            });
    }
    return made;
}

}  // namespace entrepot::kernel
