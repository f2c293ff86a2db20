// Context: the native context that queues and memory belong to. Counted; one native context has one
// record.
//
// Lock order
//   The table of live contexts (src/device/live_table.hpp) is locked to find, add and remove
//   records. Constant fields need no lock. The last reference destroys the record without the GIL
//   and without the table's mutex.
#pragma once
#include <entrepot/device/device.hpp>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

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

    Context(const Context &other) noexcept : record_(other.record_) { retain(); }
    Context(Context &&other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
    Context &operator=(Context other) noexcept {
        std::swap(record_, other.record_);
        return *this;
    }
    ~Context() { release(); }

    const Backend &backend() const noexcept { return *record_->backend; }
    ep_context handle() const noexcept { return record_->handle; }
    const std::vector<Device> &devices() const noexcept { return record_->devices; }
    bool is_default() const noexcept { return record_->is_default; }  // of its platform
    void *native() const;

    // Returns: what the driver knows of the range [pointer, pointer + bytes). `flags` of
    //          ep_query_flag.
    ep_allocation query(const void *pointer, std::size_t bytes, std::uint32_t flags = 0) const {
        ep_allocation found{};
        backend().call(&ep_backend::memory_query, record_->handle, pointer, bytes, flags, &found);
        return found;
    }

    explicit operator bool() const noexcept { return record_ != nullptr; }
    bool operator==(const Context &) const noexcept = default;

    struct Record {
        // atomic; 0 becomes 1 again only under the table's mutex
        std::atomic<std::uint32_t> references{1};
        // Constant from here on: written before the record is in the table of live contexts.
        // True for default contexts. Their references are not counted, because the hot paths copy
        // them.
        bool immortal = false;
        bool is_default = false;
        const Backend *backend = nullptr;
        ep_context handle = nullptr;  // the record owns one reference
        std::vector<Device> devices;
    };
    const Record *record() const noexcept { return record_; }

private:
    explicit Context(Record *record) noexcept : record_(record) {}
    void retain() const noexcept {
        if (record_ && !record_->immortal)
            record_->references.fetch_add(1, std::memory_order_relaxed);
    }
    void release() noexcept {
        if (record_ && !record_->immortal &&
            record_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
            destroy(record_);
    }
    static void destroy(Record *record) noexcept;  // a no-op if the table of live contexts has
                                                   // handed the record out again

    Record *record_ = nullptr;
};

// The devices of the context, as messages show it: `the default context of opencl:cpu:0`.
std::ostream &operator<<(std::ostream &out, const Context &context);

}  // namespace entrepot

template <> struct std::hash<entrepot::Context> {
    std::size_t operator()(const entrepot::Context &context) const noexcept {
        return context ? context.backend().api().context_hash(context.handle()) : 0;
    }
};
