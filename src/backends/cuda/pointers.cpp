// Pointer attributes of CUDA: one query for all of them.
#include "backends/gpu/native.hpp"

#include <iterator>

namespace entrepot::backends::gpu {

PointerAttributes attributes_of(const void *pointer) {
    PointerAttributes found;
    if (pointer == nullptr)  // the driver refuses it
        return found;
    CUpointer_attribute asked[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *answers[] = {&found.type, &found.is_managed, &found.ordinal, &found.base, &found.size};
    check(driver().cuPointerGetAttributes(std::size(asked), asked, answers, address(pointer)),
          "cuPointerGetAttributes");
    return found;
}

}  // namespace entrepot::backends::gpu
