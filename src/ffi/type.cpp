#include "ffi/type.hpp"

#include <entrepot/core/error.hpp>

#include "ffi/form.hpp"

#include <algorithm>
#include <bit>

namespace entrepot::ffi {
namespace {

// By size: 1, 2, 4 and 8 bytes.
ffi_type *const unsigned_types[] = {&ffi_type_uint8, &ffi_type_uint16, &ffi_type_uint32,
                                    &ffi_type_uint64};
ffi_type *const signed_types[] = {&ffi_type_sint8, &ffi_type_sint16, &ffi_type_sint32,
                                  &ffi_type_sint64};

ffi_type *scalar_type(Kind kind) noexcept {
    const KindRow &row = row_of(kind);
    if (row.size == 0)
        return &ffi_type_void;
    if (kind == Kind::pointer)
        return &ffi_type_pointer;
    if (row.is_floating)
        return row.size == sizeof(float) ? &ffi_type_float : &ffi_type_double;
    return (row.is_signed ? signed_types : unsigned_types)[std::countr_zero(row.size)];
}

constexpr std::size_t eightbyte = 8;
// Larger records are passed in memory, where their elements do not matter.
constexpr std::size_t largest_in_registers = 2 * eightbyte;

bool is_floating_eightbyte(std::span<const Scalar> scalars, std::size_t first) {
    bool any = false;
    for (const Scalar &scalar : scalars)
        if (scalar.offset >= first && scalar.offset < first + eightbyte) {
            if (!is_floating(scalar.kind))
                return false;
            any = true;
        }
    return any;
}

// Adds elements that do not overlap and have the same classes.
void add_eightbytes(RecordForm &form, std::size_t size, std::span<const Scalar> scalars) {
    for (std::size_t first = 0; first < size; first += eightbyte) {
        const std::size_t bytes = std::min(size - first, eightbyte);
        if (is_floating_eightbyte(scalars, first)) {
            form.elements.push_back(bytes == sizeof(float) ? &ffi_type_float : &ffi_type_double);
        } else if (bytes == eightbyte) {
            form.elements.push_back(&ffi_type_uint64);
        } else {
            form.elements.insert(form.elements.end(), bytes, &ffi_type_uint8);
        }
    }
}

bool is_plain_struct(std::span<const Scalar> scalars) {
    std::size_t end = 0;
    for (const Scalar &scalar : scalars) {
        const std::size_t size = size_of(scalar.kind);
        if (scalar.offset != (end + size - 1) / size * size)
            return false;
        end = scalar.offset + size;
    }
    return true;
}

void check_form(std::size_t size, std::size_t alignment, std::span<const Scalar> scalars) {
    if (size == 0)
        throw Error(ErrorKind::value, "a record of no bytes cannot be passed by value");
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        throw Error(ErrorKind::value, "a record's alignment is a power of two, not ", alignment);
    for (const Scalar &scalar : scalars)
        if (size_of(scalar.kind) == 0 || scalar.offset > size ||
            size_of(scalar.kind) > size - scalar.offset)
            throw Error(ErrorKind::value, "a field at ", scalar.offset,
                        " lies outside its record of ", size, " bytes");
    // C passes packed records in memory, whatever their size, which libffi does not support.
    for (const Scalar &scalar : scalars)
        if (size <= largest_in_registers && scalar.offset % size_of(scalar.kind) != 0)
            throw Error(ErrorKind::value, "a packed record of ", size,
                        " bytes cannot be passed by value");
}

}  // namespace

Type Type::record(std::size_t size, std::size_t alignment, std::span<const Scalar> scalars) {
    check_form(size, alignment, scalars);
    auto form = std::make_shared<RecordForm>();
    if (size > largest_in_registers)
        form->elements.assign(1, &ffi_type_uint8);
    else if (is_plain_struct(scalars))
        for (const Scalar &scalar : scalars)
            form->elements.push_back(scalar_type(scalar.kind));
    else
        add_eightbytes(*form, size, scalars);
    form->elements.push_back(nullptr);
    // With a size given, libffi does not compute size and alignment.
    form->type = {size, static_cast<unsigned short>(alignment), FFI_TYPE_STRUCT,
                  form->elements.data()};
    Type type(Kind::record);
    type.form_ = std::move(form);
    return type;
}

std::size_t Type::size() const noexcept { return form_ ? form_->type.size : size_of(kind_); }

ffi_type *libffi_type(const Type &type) noexcept {
    // The parameters of libffi's functions are not const.
    return type.form() ? const_cast<ffi_type *>(&type.form()->type) : scalar_type(type.kind());
}

}  // namespace entrepot::ffi
