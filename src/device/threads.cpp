#include <entrepot/device/threads.hpp>

#include <entrepot/core/error.hpp>
#include <entrepot/device/registry.hpp>

namespace entrepot {

namespace {

unsigned limit_threads(std::uint32_t count) {
    const Device &host = registry::host();
    std::uint32_t limit = 0;
    host.backend().call(&ep_backend::device_limit_threads, host.handle(), count, &limit);
    return limit;
}

}  // namespace

unsigned num_threads() { return limit_threads(0); }

void set_num_threads(unsigned count) {
    if (count == 0)
        throw Error(ErrorKind::value, "0 threads were asked for: at least 1 is needed");
    limit_threads(count);
}

}  // namespace entrepot
