// guarded: the boundary between C++ and Python. Runs the body of a function that Python or C calls,
// and converts C++ exceptions into Python ones.
#pragma once
#include "errors.hpp"

#include <type_traits>

namespace entrepot::python {

// Returns: the result of `body`, or 0 if it returns void. If it throws, sets the Python exception
//          and returns nullptr, or -1 where the result is a number.
template <class Body> auto guarded(Body &&body) noexcept {
    using Result = std::invoke_result_t<Body &>;
    try {
        if constexpr (std::is_void_v<Result>) {
            body();
            return 0;
        } else {
            return body();
        }
    } catch (...) {
        const int failed = raise_current();
        if constexpr (std::is_pointer_v<Result>)
            return static_cast<Result>(nullptr);
        else if constexpr (std::is_void_v<Result>)
            return failed;
        else
            return static_cast<Result>(failed);
    }
}

}  // namespace entrepot::python
