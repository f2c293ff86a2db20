// Functions of CUDA's driver for foreign contexts, streams and graphs.
#pragma once
#include "../gpu/table.hpp"

#include <dlfcn.h>

namespace entrepot::contract {

// Looks up a function that the backend does not use, for example
// driver_function<decltype(&::cuMemCreate)>("cuMemCreate").
template <class Function> Function driver_function(const char *name) {
    void *const library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    REQUIRE(library != nullptr);
    void *const found = dlsym(library, name);
    REQUIRE_MESSAGE(found != nullptr, name);
    return reinterpret_cast<Function>(found);
}

}  // namespace entrepot::contract
