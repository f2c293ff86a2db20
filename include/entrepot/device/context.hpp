// Context: the native context that queues and memory belong to. Counted; one native context has one
// record.
//
// Lock order
//   The table of live contexts (src/device/live_table.hpp) is locked to find, add and remove
//   records. Constant fields need no lock. The last reference destroys the record without the GIL
//   and without the table's mutex.
#pragma once
#include <entrepot/core/counted.hpp>
#include <entrepot/device/device.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

class Context {
public:
    Context() noexcept = default;

    // Throws: ValueError for no devices, and for devices of two backends.
    static Context create(std::span<const Device> devices);
    // Wraps a native context (`sycl::context *`, copied; `CUcontext`). One native context gives
    // equal Contexts.
    static Context from_native(const Backend &backend, void *native);
    // Ownership: takes one reference to the backend's handle, also if it throws.
    static Context adopt(const Backend &backend, ep_context handle);

    const Backend &backend() const noexcept { return *record_->backend; }
    ep_context handle() const noexcept { return record_->handle; }
    const std::vector<Device> &devices() const noexcept { return record_->devices; }
    bool is_default() const noexcept { return record_->is_default; }  // of its platform
    void *native() const;

    // Returns: what the driver knows of the range [pointer, pointer + bytes). `flags` of
    //          ep_query_flag.
    // GIL: kept if it is held, because drivers answer without waiting for the device.
    ep_allocation query(const void *pointer, std::size_t bytes, std::uint32_t flags = 0) const {
        ep_allocation found{};
        backend().call(&ep_backend::memory_query, record_->handle, pointer, bytes, flags, &found);
        return found;
    }

    explicit operator bool() const noexcept { return static_cast<bool>(record_); }
    bool operator==(const Context &) const noexcept = default;

    // The count becomes 1 again after 0 only under the table's mutex. Records of default contexts
    // are immortal, because the hot paths copy their handles. All fields are constant: they are
    // written before the record is in the table of live contexts.
    struct Record : Counted<Record> {
        // A no-op if the table has handed the record out again.
        static void end(Record *record) noexcept;

        bool is_default = false;
        const Backend *backend = nullptr;
        ep_context handle = nullptr;  // the record owns one reference
        std::vector<Device> devices;
    };
    const Record *record() const noexcept { return record_.get(); }

private:
    // Ownership: takes over the caller's reference.
    explicit Context(Record *record) noexcept : record_(IntrusivePtr<Record>::adopt(record)) {}

    IntrusivePtr<Record> record_;
};

// The devices of the context, as messages show it: `the default context of opencl:cpu:0`.
std::ostream &operator<<(std::ostream &out, const Context &context);

}  // namespace entrepot
#pragma GCC visibility pop

template <> struct std::hash<entrepot::Context> {
    std::size_t operator()(const entrepot::Context &context) const noexcept {
        return context ? context.backend().api().context_hash(context.handle()) : 0;
    }
};
