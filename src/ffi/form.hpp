// What libffi knows a type by. The only header of the room that includes libffi's.
#pragma once
#include <entrepot/ffi/type.hpp>

#include <ffi.h>

#include <vector>

namespace entrepot::ffi {

struct RecordForm {
    ffi_type type{};
    std::vector<ffi_type *> elements;  // ends with nullptr
};

// Valid for as long as the type lives.
ffi_type *libffi_type(const Type &type) noexcept;

}  // namespace entrepot::ffi
