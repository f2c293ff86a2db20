#include "kernel/runtime/argument.hpp"
#include <entrepot/core/small_vector.hpp>
#include <kernel/runtime/address_range.hpp>

#include <algorithm>
#include <cstddef>

namespace entrepot::kernel {

Argument Argument::local(Dtype dtype, Extents shape) {
    if (shape.size() > max_local_ndim)
        throw Error(ErrorKind::value, "local memory of ", shape.size(),
                    " dimensions was asked for: it has up to ", max_local_ndim);
    Argument argument(dtype, {});
    argument.kind = Kind::local;
    argument.declared_contiguous = argument.no_alias = true;
    argument.ndim = static_cast<std::uint32_t>(shape.size());
    std::int64_t bytes = dtype.itemsize();
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] < 0)
            throw Error(ErrorKind::value, "local memory of shape ", tuple_text(shape),
                        " was asked for: an extent is negative");
        if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(shape[i], 1), &bytes))
            throw Error(ErrorKind::value, "local memory of shape ", tuple_text(shape),
                        " was asked for: no memory is that large");
        argument.extents[i] = shape[i];
    }
    return argument;
}

ArgumentType Argument::type() const {
    if (kind == Kind::scalar)
        return {scalar_type(dtype), false};
    Type type;
    type.kind = Type::Kind::array;
    type.dtype = dtype;
    type.space = kind == Kind::local ? Space::local : Space::global;
    type.ndim = ndim;
    type.contiguous = is_contiguous();
    type.read_only = read_only;
    return {std::move(type), no_alias};
}

std::size_t Argument::local_bytes() const noexcept {
    ENTREPOT_ASSERT(kind == Kind::local);
    std::int64_t elements = 1;
    for (std::uint32_t i = 0; i < ndim; ++i)
        elements *= extents[i];
    return static_cast<std::size_t>(std::max<std::int64_t>(elements, 1) * dtype.itemsize());
}

void find_aliases(std::span<Argument> arguments) noexcept {
    constexpr std::size_t most = 16;  // with more arrays, the code assumes overlap
    Argument *arrays[most];
    SmallVector<AddressRange, most> bytes(most);
    std::size_t count = 0;
    for (Argument &argument : arguments) {
        if (argument.kind != Argument::Kind::array)
            continue;
        if (count == most)
            return;
        arrays[count++] = &argument;
        bytes.emplace_back(*argument.array);
    }
    for (std::size_t i = 0; i < count; ++i) {
        arrays[i]->no_alias = true;
        for (std::size_t j = 0; j < i; ++j)
            if (bytes[i].overlaps(bytes[j]) && !arrays[i]->is_field_beside(*arrays[j])) [[unlikely]]
                arrays[i]->no_alias = arrays[j]->no_alias = false;
    }
}

}  // namespace entrepot::kernel
