// Extensions that not every runtime of this generation has. They are for memory of the process that
// is registered with a context, and for memory and events that another process opens.
//
// Headers of 2026.0 lack them, and a runtime of 2026.0 lacks their functions. So a function is a
// weak symbol, which is NULL if the runtime does not have it.
#pragma once
#include "backends/sycl/driver.hpp"

#include <cstdint>
#include <vector>

#if __has_include(<sycl/ext/oneapi/experimental/detail/ipc_common.hpp>)
#include <sycl/ext/oneapi/experimental/ipc_memory.hpp>
#define ENTREPOT_SYCL_SHARES_MEMORY

namespace sycl {
inline namespace _V1 {
namespace detail {
__attribute__((weak)) void *openIPCMemHandle(const std::byte *, std::size_t, const context &,
                                             const device &);
}
namespace ext::oneapi::experimental::ipc::memory {
__attribute__((weak)) handle get(void *, const context &);
__attribute__((weak)) void close(void *, const context &);
}  // namespace ext::oneapi::experimental::ipc::memory
}  // namespace _V1
}  // namespace sycl
#endif

#if __has_include(<sycl/ext/oneapi/experimental/ipc_event.hpp>)
#include <sycl/ext/oneapi/experimental/ipc_event.hpp>
#include <sycl/ext/oneapi/experimental/reusable_events.hpp>
#define ENTREPOT_SYCL_SHARES_EVENTS

namespace sycl {
inline namespace _V1 {
namespace detail {
__attribute__((weak)) event openIPCEventHandle(const std::byte *, std::size_t, const context &);
}
namespace ext::oneapi::experimental {
namespace detail {
__attribute__((weak)) event make_event(const context &, std::uint32_t);
}
__attribute__((weak)) void enqueue_signal_event(queue, event &);
__attribute__((weak)) void enqueue_wait_event(queue, const event &);
namespace ipc::event {
__attribute__((weak)) handle get(const sycl::event &);
}
}  // namespace ext::oneapi::experimental
}  // namespace _V1
}  // namespace sycl
#endif

#if __has_include(<sycl/ext/oneapi/experimental/register_host_memory.hpp>)
#include <sycl/ext/oneapi/experimental/register_host_memory.hpp>
#define ENTREPOT_SYCL_REGISTERS_HOST_MEMORY

namespace sycl {
inline namespace _V1 {
namespace ext::oneapi::experimental::detail {
__attribute__((weak)) void register_host_memory(void *, std::size_t, const context &,
                                                std::uint32_t);
__attribute__((weak)) void unregister_host_memory(void *, const context &);
}  // namespace ext::oneapi::experimental::detail
}  // namespace _V1
}  // namespace sycl
#endif

namespace entrepot::backends::sycl {

// For functions that the headers of the build lack. A caller asks registers_host_memory(),
// shares_memory() or shares_events() first.
[[noreturn]] inline void refuse_missing(const char *function) {
    refuse(EP_UNSUPPORTED, "the SYCL headers that Entrepot was built with have no function ",
           function, ": build it with later headers");
}

#ifdef ENTREPOT_SYCL_REGISTERS_HOST_MEMORY

inline bool registers_host_memory(const ::sycl::device &device) {
    return syclex::detail::register_host_memory != nullptr &&
           device.has(::sycl::aspect::ext_oneapi_register_host_memory);
}
// Requires (both): registers_host_memory() of each device of the context.
inline void register_host_memory(void *first, std::size_t bytes, const ::sycl::context &context,
                                 bool read_only) {
    const std::uint32_t flags =
        read_only ? std::uint32_t{syclex::detail::register_host_memory_flag_read_only} : 0u;
    syclex::detail::register_host_memory(first, bytes, context, flags);
}
inline void unregister_host_memory(void *first, const ::sycl::context &context) {
    syclex::detail::unregister_host_memory(first, context);
}

#else

inline bool registers_host_memory(const ::sycl::device &) { return false; }
[[noreturn]] inline void register_host_memory(void *, std::size_t, const ::sycl::context &, bool) {
    refuse_missing("register_host_memory");
}
[[noreturn]] inline void unregister_host_memory(void *, const ::sycl::context &) {
    refuse_missing("unregister_host_memory");
}

#endif

#ifdef ENTREPOT_SYCL_SHARES_MEMORY

inline bool shares_memory(const ::sycl::device &device) {
    return ::sycl::detail::openIPCMemHandle != nullptr &&
           device.has(::sycl::aspect::ext_oneapi_ipc_memory);
}
// The name of device memory for other processes, valid until the memory is freed.
// Requires (all): shares_memory() of the device.
inline std::vector<std::byte> shared_name(void *pointer, const ::sycl::context &context) {
    return syclex::ipc::memory::get(pointer, context).data();
}
inline void *open_shared(const std::vector<std::byte> &name, const ::sycl::context &context,
                         const ::sycl::device &device) {
    return syclex::ipc::memory::open(name, context, device);
}
inline void close_shared(void *pointer, const ::sycl::context &context) {
    syclex::ipc::memory::close(pointer, context);
}

#else

inline bool shares_memory(const ::sycl::device &) { return false; }
[[noreturn]] inline std::vector<std::byte> shared_name(void *, const ::sycl::context &) {
    refuse_missing("ipc::memory::get");
}
[[noreturn]] inline void *open_shared(const std::vector<std::byte> &, const ::sycl::context &,
                                      const ::sycl::device &) {
    refuse_missing("ipc::memory::open");
}
[[noreturn]] inline void close_shared(void *, const ::sycl::context &) {
    refuse_missing("ipc::memory::close");
}

#endif

#ifdef ENTREPOT_SYCL_SHARES_EVENTS

inline bool shares_events(const ::sycl::device &device) {
    return ::sycl::detail::openIPCEventHandle != nullptr && syclex::detail::make_event != nullptr &&
           syclex::enqueue_signal_event != nullptr && syclex::enqueue_wait_event != nullptr &&
           syclex::ipc::event::get != nullptr && device.has(::sycl::aspect::ext_oneapi_ipc_event);
}
// Requires (all): shares_events() of the device.
inline ::sycl::event make_shared_event(const ::sycl::context &context) {
    return syclex::make_event(context, syclex::properties{syclex::enable_ipc{}});
}
inline std::vector<std::byte> shared_name(const ::sycl::event &event) {
    return syclex::ipc::event::get(event).data();
}
inline ::sycl::event open_shared_event(const std::vector<std::byte> &name,
                                       const ::sycl::context &context) {
    return syclex::ipc::event::open(name, context);
}
inline void signal_event(const ::sycl::queue &queue, ::sycl::event &event) {
    syclex::enqueue_signal_event(queue, event);
}
inline void wait_for_event(const ::sycl::queue &queue, const ::sycl::event &event) {
    syclex::enqueue_wait_event(queue, event);
}

#else

inline bool shares_events(const ::sycl::device &) { return false; }
[[noreturn]] inline ::sycl::event make_shared_event(const ::sycl::context &) {
    refuse_missing("make_event");
}
[[noreturn]] inline std::vector<std::byte> shared_name(const ::sycl::event &) {
    refuse_missing("ipc::event::get");
}
[[noreturn]] inline ::sycl::event open_shared_event(const std::vector<std::byte> &,
                                                    const ::sycl::context &) {
    refuse_missing("ipc::event::open");
}
[[noreturn]] inline void signal_event(const ::sycl::queue &, ::sycl::event &) {
    refuse_missing("enqueue_signal_event");
}
[[noreturn]] inline void wait_for_event(const ::sycl::queue &, const ::sycl::event &) {
    refuse_missing("enqueue_wait_event");
}

#endif

}  // namespace entrepot::backends::sycl
