// Verifies an address: compares the caller's description with the drivers' answers.
#include "exchange/address.hpp"
#include <entrepot/exchange/host_view.hpp>
#include <entrepot/memory/resource.hpp>

#include "exchange/gpu.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace entrepot::address {
namespace {

// `speaker` reports invalid arguments; `driver` reports mismatches found by a driver, which are
// ExchangeErrors for all kinds of memory.
constexpr exchange::Speaker speaker{"from_address", ErrorKind::value};
constexpr exchange::Speaker driver{"from_address", ErrorKind::exchange};

[[noreturn]] void refuse_outside(const ep_allocation &found, const exchange::Reach &reach,
                                 const Context &context) {
    throw driver.refusal("the elements need the ", reach.bytes, " bytes from ", Hex(reach.lowest),
                         ", but the allocation there has ", found.size, " bytes from ",
                         Hex(found.base), ", says the driver of ", context,
                         "; strides are in elements, not bytes");
}

[[noreturn]] void refuse_elsewhere(const exchange::Reach &reach, const Place &place,
                                   const Descriptor &asked) {
    const std::string where =
        asked.queue ? sentence_of(", in ", asked.queue.context(), ",") : std::string();
    throw driver.refusal("the memory at ", Hex(reach.lowest), " is ", place.kind, " memory of ",
                         place.device, ", in ", place.context, ", and memory of ", asked.device,
                         where, " was asked for; name the device that it is on, or none");
}

[[noreturn]] void refuse_unknown(const exchange::Reach &reach, const Context &context) {
    throw driver.refusal("the memory at ", Hex(reach.lowest), " is unknown in ", context,
                         " and in the default context of every other device: it is ordinary host "
                         "memory (leave the device out), ",
                         "bound to another context (pass a queue of that), or freed already");
}

// A driver may know memory of contexts other than the one asked.
Context context_of(const Context &asked, const Device &device) {
    const std::vector<Device> &devices = asked.devices();
    return exchange::is_gpu(device) && std::ranges::find(devices, device) == devices.end()
               ? device.default_context()
               : asked;
}

// Returns: none if the context does not know the memory. The runtime may not name the device of
//          host memory and of some sub-devices; then it is `otherwise`.
std::optional<Place> find_in(const Context &context, const Device &otherwise,
                             const exchange::Reach &reach) {
    const ep_allocation found =
        context.query(reach.lowest, reach.bytes, EP_QUERY_DEVICE | EP_QUERY_SIZE);
    if (found.kind == EP_USM_UNKNOWN)
        return std::nullopt;
    if (found.contained == 0)
        refuse_outside(found, reach, context);
    const Device known = context.backend().device(found.device);
    const Device &device = known ? known : otherwise;
    return Place{context_of(context, device), device, static_cast<UsmKind>(found.kind)};
}

// CUDA's and HIP's drivers know the memory of all their devices, whichever device is asked.
bool is_answered_by_another(const Device &device) {
    return exchange::is_gpu(device) && device != registry::devices(device.backend()).front();
}

// Asks one driver after the other. In a forked child none is asked, because device memory is
// unusable there.
std::optional<Place> find_anywhere(const exchange::Reach &reach) {
    if (fork_guard::is_child())
        return std::nullopt;
    Context last;
    for (const Device &device : registry::devices()) {
        if (device.backend().is_host() || is_answered_by_another(device))
            continue;
        try {
            const Context &context = device.default_context();
            if (context == last)
                continue;
            if (std::optional<Place> place = find_in(context, device, reach))
                return place;
            last = context;
        } catch (const Error &error) {  // lost, or exclusive to another process: has no memory here
            if (error.kind() != ErrorKind::device)
                throw;
        }
    }
    return std::nullopt;
}

Place find_named(const Descriptor &asked, const exchange::Reach &reach) {
    const Context context = asked.queue ? asked.queue.context() : asked.device.default_context();
    std::optional<Place> place = find_in(context, asked.device, reach);
    if (place && place->device == asked.device && place->context == context)
        return *std::move(place);
    if (!place)
        place = find_anywhere(reach);
    if (!place)
        refuse_unknown(reach, context);
    refuse_elsewhere(reach, *place, asked);
}

// An array without elements: no driver is asked.
Array empty_array(Descriptor &&asked, Owner &&owner) {
    const Device &device = asked.device ? asked.device : registry::host();
    const UsmKind kind = device.backend().is_host() ? UsmKind::host : UsmKind::device;
    Memory memory = Memory::borrow(asked.data, 0, kind, device,
                                   asked.queue ? asked.queue.context() : device.default_context(),
                                   std::move(owner));
    return Array(std::move(memory), asked.data, asked.dtype, std::move(asked.layout),
                 asked.read_only, std::move(asked.queue));
}

[[noreturn]] void refuse_below(const Descriptor &asked, const ByteRange &touched) {
    throw speaker.refusal(
        "elements of ", asked.layout, " begin ", -touched.begin, " bytes below the address, ",
        Hex(asked.data),
        "; name the lowest address with positive strides, and turn the array: a[::-1]");
}

exchange::Reach checked_reach(const Descriptor &asked) {
    const ByteRange touched = asked.layout.byte_range(asked.dtype.itemsize());
    if (!asked.data)
        throw speaker.refusal("the address is 0, but an array of ", asked.layout, " has elements");
    exchange::check_alignment(speaker, asked.data, asked.dtype);
    if (touched.begin < 0)
        refuse_below(asked, touched);
    return exchange::reach_of(speaker, asked.layout, asked.data, asked.dtype.itemsize());
}

}  // namespace

Array verify(Descriptor asked, Owner owner) {
    if (asked.layout.size() == 0)
        return empty_array(std::move(asked), std::move(owner));

    const exchange::Reach reach = checked_reach(asked);
    const bool as_host = asked.device && asked.device.backend().is_host();
    const std::optional<Place> place =
        asked.device && !as_host ? find_named(asked, reach) : find_anywhere(reach);
    const auto note_use = [&](const Memory &memory) {
        if (asked.queue)
            memory.record_submitted(Access::write, asked.queue);
    };
    if (!place) {
        Array array = exchange::view_host(speaker, asked.data, asked.dtype, std::move(asked.layout),
                                          asked.read_only, std::move(owner), asked.queue);
        note_use(array.memory());
        return array;
    }
    if (as_host && !is_host_accessible(place->kind))
        refuse_elsewhere(reach, *place, asked);

    Memory memory = Memory::borrow(reach.lowest, reach.bytes, place->kind, place->device,
                                   place->context, std::move(owner));
    note_use(memory);
    const Array array(std::move(memory), asked.data, asked.dtype, std::move(asked.layout),
                      asked.read_only, as_host ? Queue() : std::move(asked.queue));
    return as_host ? array.host() : array;
}

}  // namespace entrepot::address
