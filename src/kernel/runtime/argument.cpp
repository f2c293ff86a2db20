#include <entrepot/kernel/runtime/argument.hpp>

#include <algorithm>
#include <cstddef>

namespace entrepot::kernel {
namespace {

struct Bytes {
    const std::byte *begin, *end;
};

// Where the elements lie. An array whose reach does not fit 64 bits was never made.
Bytes bytes_of(const Array &array) {
    const auto *first = static_cast<const std::byte *>(array.data());
    const ByteRange range = array.layout().byte_range(array.itemsize());
    return {first + range.begin, first + range.end};
}

bool meet(const Bytes &one, const Bytes &other) noexcept { return one.begin < other.end && other.begin < one.end; }

}  // namespace

Argument Argument::local(Dtype dtype, Extents shape) {
    if (shape.size() > max_local_ndim)
        throw Error(ErrorKind::value, "local memory of ", shape.size(), " dimensions was asked for: it has up to ",
                    max_local_ndim);
    Argument argument(dtype, {});
    argument.kind = Kind::local;
    argument.declared_contiguous = argument.apart = true;
    argument.ndim = static_cast<std::uint32_t>(shape.size());
    std::int64_t bytes = dtype.itemsize();
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] < 0)
            throw Error(ErrorKind::value, "local memory of shape ", tuple_text(shape), " was asked for: an extent is negative");
        if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(shape[i], 1), &bytes))
            throw Error(ErrorKind::value, "local memory of shape ", tuple_text(shape), " was asked for: no memory is that large");
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
    return {std::move(type), apart};
}

std::size_t Argument::local_bytes() const noexcept {
    std::int64_t elements = 1;
    for (std::uint32_t i = 0; i < ndim; ++i)
        elements *= extents[i];
    return static_cast<std::size_t>(std::max<std::int64_t>(elements, 1) * dtype.itemsize());
}

bool overlap(const Array &one, const Array &other) { return meet(bytes_of(one), bytes_of(other)); }

void find_overlaps(std::span<Argument> arguments) noexcept {
    constexpr std::size_t most = 16;  // launches of more arrays have their code without what this tells
    Argument *arrays[most];
    Bytes bytes[most];
    std::size_t count = 0;
    for (Argument &argument : arguments) {
        if (argument.kind != Argument::Kind::array)
            continue;
        if (count == most)
            return;
        arrays[count] = &argument;
        bytes[count++] = bytes_of(*argument.array);
    }
    for (std::size_t i = 0; i < count; ++i) {
        arrays[i]->apart = true;
        for (std::size_t j = 0; j < i; ++j)
            if (meet(bytes[i], bytes[j])) [[unlikely]]
                arrays[i]->apart = arrays[j]->apart = false;
    }
}

}  // namespace entrepot::kernel
