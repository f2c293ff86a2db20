// ENTREPOT_ASSERT: states an invariant, and checks it in builds for tests and sanitizers.
#pragma once
#include <cstdio>
#include <cstdlib>

#pragma GCC visibility push(hidden)
namespace entrepot {

[[noreturn]] inline void assertion_failed(const char *condition, const char *file,
                                          int line) noexcept {
    std::fprintf(stderr, "entrepot: broken invariant: %s (%s:%d)\n", condition, file, line);
    std::abort();
}

}  // namespace entrepot

#pragma GCC visibility pop

// The condition must have no side effects: builds without assertions compile but do not evaluate
// it.
#ifdef ENTREPOT_ASSERTIONS
#define ENTREPOT_ASSERT(condition)                                                                 \
    ((condition) ? static_cast<void>(0)                                                            \
                 : ::entrepot::assertion_failed(#condition, __FILE__, __LINE__))
#else
#define ENTREPOT_ASSERT(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
