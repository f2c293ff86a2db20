// Functions of the driver that the table does not use: for foreign contexts, streams and graphs.
#pragma once
#include "../gpu/table.hpp"

#include <dlfcn.h>

namespace entrepot::contract {

// A function of the driver that the backend does not use:
// driver_function<decltype(&::cuMemCreate)>("cuMemCreate").
template <class Function> Function driver_function(const char *name) {
    void *const library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    REQUIRE(library != nullptr);
    void *const found = dlsym(library, name);
    REQUIRE_MESSAGE(found != nullptr, name);
    return reinterpret_cast<Function>(found);
}

}  // namespace entrepot::contract
