// Extensions that not every runtime of this generation has: memory of the process that is
// registered with a context, and memory that another process opens.
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

// For functions that the headers of the build lack. A caller asks registers_host_memory() or
// shares_memory() first.
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

}  // namespace entrepot::backends::sycl
