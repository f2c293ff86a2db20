// An operator new[] that fails on demand, for programs that preload it.
#include <cstdlib>
#include <new>

namespace {
bool failing = false;
}

extern "C" void fail_new(int whether) { failing = whether != 0; }

void *operator new[](std::size_t bytes) {
    void *const block = failing ? nullptr : std::malloc(bytes);
    if (!block)
        throw std::bad_alloc();
    return block;
}
