// Names of types, for messages and the printed form.
#include "kernel/ir/types.hpp"

namespace entrepot::kernel {

namespace {

std::string_view place_of(Space space) {
    switch (space) {
    case Space::local:
        return " in local memory";
    case Space::private_:
        return " in private memory";
    case Space::constant:
        return " in constant memory";
    case Space::global:
        break;
    }
    return "";
}

std::string dimensions_of(const Type &array) {
    std::string text;
    for (std::uint32_t dimension = 0; dimension < array.ndim; ++dimension) {
        const bool last = dimension + 1 == array.ndim;
        text += dimension ? ", " : "";
        if (!array.shape.empty())
            text += std::to_string(array.shape[dimension]);
        else
            text += last && array.contiguous ? "::1" : ":";
    }
    return text;
}

std::string items_of(const Type &tuple) {
    std::string text;
    for (const Type &item : tuple.items)
        text += (text.empty() ? "" : ", ") + name_of(item);
    return tuple.items.size() == 1 ? text + "," : text;
}

}  // namespace

Type scalar_type(Dtype dtype) {
    Type type;
    type.kind = Type::Kind::scalar;
    type.dtype = dtype;
    return type;
}

std::uint64_t elements_of(const Type &array) {
    std::uint64_t elements = 1;
    for (const std::int64_t extent : array.shape)
        elements *= static_cast<std::uint64_t>(extent);
    return elements;
}

std::uint64_t bytes_of(const Type &array) {
    return elements_of(array) * static_cast<std::uint64_t>(array.dtype.itemsize());
}

std::string name_of(const Type &type) {
    switch (type.kind) {
    case Type::Kind::nothing:
        return "None";
    case Type::Kind::scalar:
        return name_of(type.dtype);
    case Type::Kind::array:
        if (!type.tile.empty())
            return "accumulator of " + name_of(type.dtype) + "[" + std::to_string(type.tile[0]) +
                   ", " + std::to_string(type.tile[1]) + "]";
        return std::string(type.read_only && type.space == Space::global ? "read-only " : "") +
               name_of(type.dtype) + "[" + dimensions_of(type) + "]" +
               std::string(place_of(type.space));
    case Type::Kind::tuple:
        return "(" + items_of(type) + ")";
    case Type::Kind::text:
        return "str";
    case Type::Kind::dtype:
        return "dtype";
    }
    return "";
}

}  // namespace entrepot::kernel
