// Times a call of Entrepot and the runtime's own alternately in one run: medians in nanoseconds,
// and their ratio.
#pragma once
#include <entrepot/device/backend.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace benchmarks {

inline void ok(ep_status status) {
    if (status != EP_OK)
        std::exit(1);
}

inline double median(std::vector<double> &times) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
}

template <class Call> double nanoseconds(Call &&call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
}

inline std::string_view wanted;  // prefix of the names of the rows to run

// Both sides alternate in rounds of several calls, so that other work on the machine disturbs both.
// Several calls also share the cost of reading the clock. `before` and `after` run around each
// round and are not timed.
template <class Ours, class Theirs, class Before, class After>
void compare(const char *what, Ours &&ours, Theirs &&theirs, Before &&before, After &&after) {
    if (!std::string_view(what).starts_with(wanted))
        return;
    constexpr int rounds = 400, calls = 10;
    std::vector<double> us, them;
    const auto round = [&](auto &&call) {
        before();
        const double time = nanoseconds([&] {
            for (int i = 0; i < calls; ++i)
                call();
        });
        after();
        return time / calls;
    };
    for (int i = 0; i < rounds; ++i) {
        us.push_back(round(ours));
        them.push_back(round(theirs));
    }
    const double a = median(us), b = median(them);
    std::printf("%-44s ours %8.0f   runtime %8.0f   difference %7.0f   ratio %.2f\n", what, a, b,
                a - b, a / b);
}

template <class Ours, class Theirs, class After>
void compare(const char *what, Ours &&ours, Theirs &&theirs, After &&after) {
    compare(what, ours, theirs, [] {}, after);
}

template <class Ours, class Theirs> void compare(const char *what, Ours &&ours, Theirs &&theirs) {
    compare(what, ours, theirs, [] {}, [] {});
}

}  // namespace benchmarks
