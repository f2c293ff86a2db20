// The boundary of all functions of a backend's table: the only place that converts exceptions to
// statuses.
#pragma once
#include <entrepot/core/text.hpp>
#include <entrepot/device/backend.h>

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace entrepot::backends {

// An error with its status at the boundary.
struct Refusal : std::runtime_error {
    Refusal(ep_status code, const std::string &message)
        : std::runtime_error(message), status(code) {}
    ep_status status;
};

template <class... Parts> [[noreturn]] void refuse(ep_status status, const Parts &...parts) {
    throw Refusal(status, sentence_of(parts...));
}

// The loader's functions; set once by the backend's entry function, before any other function runs.
inline const ep_loader *loader = nullptr;

// For the entry function of a backend. Stores the loader.
// Returns: EP_UNAVAILABLE, with an error set, if the loader was built with another version of
//          backend.h. The error calls this library `backend`.
inline ep_status accept_loader(const ep_loader *given, const char *backend) {
    if (given->version != EP_BACKEND_VERSION) {
        given->set_error(sentence_of(backend, " and the library that loads it were built from "
                                              "different versions of device/backend.h")
                             .c_str());
        return EP_UNAVAILABLE;
    }
    loader = given;
    return EP_OK;
}

template <class Body> ep_status guarded(Body &&body) noexcept {
    try {
        body();
        return EP_OK;
    } catch (const Refusal &refusal) {
        loader->set_error(refusal.what());
        return refusal.status;
    } catch (const std::bad_alloc &) {
        loader->set_error("the host is out of memory");
        return EP_OUT_OF_MEMORY;
    } catch (const std::exception &error) {
        loader->set_error(error.what());
        return EP_DEVICE_ERROR;
    } catch (...) {
        loader->set_error("the runtime threw something that is not a std::exception");
        return EP_DEVICE_ERROR;
    }
}

// Declares the class behind a handle of the C contract, and the conversions object(handle) and
// handle(object). The contract leaves the types of handles incomplete: each backend has its own
// classes behind them.
#define ENTREPOT_HANDLE(Class, Handle)                                                             \
    class Class;                                                                                   \
    inline Class &object(Handle handle) noexcept { return *reinterpret_cast<Class *>(handle); }    \
    inline Handle handle(Class *object) noexcept { return reinterpret_cast<Handle>(object); }

// For queue_create. Refuses bits that ep_queue_flag lacks.
inline void require_known_flags(std::uint32_t flags) {
    if (const std::uint32_t unknown =
            flags & ~std::uint32_t{EP_QUEUE_PROFILING | EP_QUEUE_OUT_OF_ORDER})
        refuse(EP_INVALID, "unknown queue flags ", unknown, ": the known ones are ",
               std::uint32_t{EP_QUEUE_PROFILING}, " (EP_QUEUE_PROFILING) and ",
               std::uint32_t{EP_QUEUE_OUT_OF_ORDER}, " (EP_QUEUE_OUT_OF_ORDER)");
}

// Implements queue_wait_queue by three other functions, for runtimes without a faster way.
template <auto record, auto wait_in_queue, auto release>
ep_status wait_by_event(ep_queue from, ep_queue to) noexcept {
    ep_event event = nullptr;
    if (const ep_status status = record(from, EP_EVENT_EXACT, &event); status != EP_OK)
        return status;
    const ep_status status = wait_in_queue(to, event);
    release(event);
    return status;
}

}  // namespace entrepot::backends
