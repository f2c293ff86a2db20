#include <entrepot/device/context.hpp>

#include "core/interpreter_lock.hpp"
#include "device/live_table.hpp"
#include <entrepot/core/publish.hpp>

#include <ostream>

namespace entrepot {
namespace {

using Table = LiveTable<Context::Record>;

Table &live() {
    static constinit FirstUse<Table> table;
    return table.get();
}

// The lock is held during a fork.
void take_lock() noexcept ENTREPOT_NO_THREAD_SAFETY_ANALYSIS { live().mutex.lock(); }
void release_lock() noexcept ENTREPOT_NO_THREAD_SAFETY_ANALYSIS { live().mutex.unlock(); }
[[maybe_unused]] const bool contexts_are_locked =
    fork_guard::lock_over_fork(fork_guard::ForkRow::contexts, {take_lock, release_lock});

bool asks_default(const Backend &backend, ep_context handle) {
    std::int32_t is_default = 0;
    backend.call(&ep_backend::context_is_default, handle, &is_default);
    return is_default != 0;
}

std::vector<Device> devices_of(const Backend &backend, ep_context handle) {
    std::size_t count = 0;
    backend.call(&ep_backend::context_devices, handle, nullptr, &count);
    std::vector<ep_device> handles(count);
    backend.call(&ep_backend::context_devices, handle, handles.data(), &count);
    std::vector<Device> devices;
    for (ep_device device : handles)
        devices.push_back(backend.device(device));
    return devices;
}

}  // namespace

Context Context::create(std::span<const Device> devices) {
    if (devices.empty())
        throw Error(ErrorKind::value, "a context needs at least one device");
    std::vector<ep_device> handles;
    for (const Device &device : devices) {
        if (&device.backend() != &devices.front().backend())
            throw Error(ErrorKind::value,
                        "a context cannot hold devices of two backends: ", devices.front(), " and ",
                        device);
        handles.push_back(device.handle());
    }
    const Backend &backend = devices.front().backend();
    const InterpreterLock::Released released;
    ep_context handle;
    backend.call(&ep_backend::context_create, handles.data(), handles.size(), &handle);
    return adopt(backend, handle);
}

Context Context::from_native(const Backend &backend, void *native) {
    const InterpreterLock::Released released;
    ep_context handle;
    backend.call(&ep_backend::context_from_native, native, &handle);
    return adopt(backend, handle);
}

Context Context::adopt(const Backend &backend, ep_context handle) {
    const auto find_known = [&]() -> Record * {
        const MutexLock lock(live().mutex);
        return live().find(backend, handle);
    };
    // The driver is called without the table's mutex.
    Record *known = find_known();
    if (!known) {
        std::unique_ptr<Record> record;
        try {
            record = std::make_unique<Record>();
            record->backend = &backend;
            record->handle = handle;
            record->is_default = asks_default(backend, handle);
            if (record->is_default)
                record->make_immortal();
            record->devices = devices_of(backend, handle);
            const MutexLock lock(live().mutex);
            known = live().find(backend, handle);  // another thread may be faster
            if (!known) {
                live().insert(record.get());
                return Context(record.release());
            }
        } catch (...) {
            backend.drop(&ep_backend::context_release, handle);
            throw;
        }
    }
    backend.drop(&ep_backend::context_release, handle);  // the record has its own reference
    return Context(known);
}

void Context::Record::end(Record *record) noexcept {
    ENTREPOT_ASSERT(!HeldMutexes::has_leaf());  // the last reference calls the driver
    {
        const MutexLock lock(live().mutex);
        if (!live().remove_if_dead(record))
            return;
    }
    const InterpreterLock::Released released;
    record->backend->drop(&ep_backend::context_release, record->handle);
    delete record;
}

void *Context::native() const {
    void *native;
    backend().call(&ep_backend::context_native, handle(), &native);
    return native;
}

std::ostream &operator<<(std::ostream &out, const Context &context) {
    if (!context)
        return out << "no context";
    out << (context.is_default() ? "the default context of " : "a context of ");
    const char *separator = "";
    for (const Device &device : context.devices()) {
        out << separator << device;
        separator = ", ";
    }
    return out;
}

}  // namespace entrepot
