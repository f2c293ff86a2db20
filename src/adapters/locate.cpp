// Locating: asks the drivers that know addresses without a context, one after the other.
#include "adapters/locate.hpp"

#include <entrepot/device/registry.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace entrepot::adapters {
namespace {

// Without SYCL: its contexts would have to be asked one by one, and its allocations do not come as
// bare addresses.
constexpr std::array<std::string_view, 2> asked{"hip", "cuda"};

struct Found {
    ep_allocation allocation;
    Device device;
};

// None if the driver does not know the address or is absent: then `answer` is the reason.
std::optional<Found> ask(std::string_view name, const exchange::Reach &reach, std::string &answer) {
    try {
        const Backend &backend = registry::backend(name);
        const std::vector<Device> &devices = registry::devices(backend);
        if (devices.empty()) {
            answer = "there is no device";
            return std::nullopt;
        }
        const ep_allocation allocation = devices.front().default_context().query(
            reach.lowest, reach.bytes, EP_QUERY_DEVICE | EP_QUERY_SIZE);
        if (allocation.kind == EP_USM_UNKNOWN) {
            answer = "its driver does not know it";
            return std::nullopt;
        }
        const Device device = backend.device(allocation.device);
        return Found{allocation, device ? device : devices.front()};
    } catch (const Error &error) {
        answer = error.what();
        return std::nullopt;
    }
}

Memory borrowed(const Found &found, const exchange::Reach &reach, Owner &&owner) {
    const ep_allocation &allocation = found.allocation;
    if (allocation.contained == 0)
        throw speaker.refusal("the ", reach.bytes, " bytes from ", Hex(reach.lowest),
                              " leave the allocation of ", allocation.size, " bytes at ",
                              Hex(allocation.base));
    const bool is_whole = allocation.base && allocation.size;
    void *const begin =
        is_whole ? const_cast<void *>(static_cast<const void *>(allocation.base)) : reach.lowest;
    const std::size_t bytes = is_whole ? static_cast<std::size_t>(allocation.size) : reach.bytes;
    return Memory::borrow(begin, bytes, static_cast<UsmKind>(allocation.kind), found.device,
                          found.device.default_context(), std::move(owner));
}

}  // namespace

Memory locate(const exchange::Reach &reach, Owner owner) {
    std::string answers;
    for (const std::string_view name : asked) {
        std::string answer;
        if (const std::optional<Found> found = ask(name, reach, answer))
            return borrowed(*found, reach, std::move(owner));
        answers.append(answers.empty() ? "" : "; ").append(name).append(": ").append(answer);
    }
    throw speaker.refusal("no driver knows the address ", Hex(reach.lowest), ": ", answers,
                          "; a consumer of the CUDA array interface, which names no device, takes "
                          "the DeviceArray all the same");
}

}  // namespace entrepot::adapters
