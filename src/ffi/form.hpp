// The libffi form of a type. The only header of src/ffi that includes libffi's.
#pragma once
#include "ffi/type.hpp"

#include <ffi.h>

#include <vector>

namespace entrepot::ffi {

struct RecordForm {
    ffi_type type{};
    std::vector<ffi_type *> elements;  // ends with nullptr
};

// Lifetime: that of the type.
ffi_type *libffi_type(const Type &type) noexcept;

}  // namespace entrepot::ffi
