// Shared by the files of the SYCL backend: the structs behind its handles with their caches, and
// the conversion of the runtime's errors.
//
// Nothing here is destroyed at process exit: the runtime's own statics may be gone by then.
#pragma once
#include "../boundary.hpp"
#include <entrepot/core/counted.hpp>

// Included one by one: GCC 16 rejects unused parts of <sycl/sycl.hpp> (2026.2).
#include <sycl/backend.hpp>
#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/event.hpp>
#include <sycl/ext/oneapi/experimental/enqueue_functions.hpp>
#include <sycl/kernel_bundle.hpp>
#include <sycl/properties/all_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace entrepot::backends::sycl {

namespace syclex = ::sycl::ext::oneapi::experimental;

ep_status status_of(const ::sycl::exception &error);

// The boundary of this backend: backends::guarded, plus conversion of the runtime's error codes to
// statuses.
template <class Body> ep_status guarded(Body &&body) noexcept {
    return backends::guarded([&] {
        try {
            body();
        } catch (const ::sycl::exception &error) {
            throw Refusal(status_of(error), error.what());
        }
    });
}

// ------------------------------------------------------------------ OpenCL

using QueryAllocation = cl_int(CL_API_CALL *)(cl_context, const void *, cl_uint, size_t, void *,
                                              size_t *);

// OpenCL functions without an equivalent in SYCL. They are looked up in the library that the
// runtime mapped. Linking the wheel's libOpenCL would load it before the runtime has prepared what
// it needs.
struct OpenCl {
    decltype(&::clGetExtensionFunctionAddressForPlatform) extension_function = nullptr;
    decltype(&::clReleaseContext) release_context = nullptr;
    decltype(&::clCreateProgramWithSource) create_program_with_source = nullptr;
    decltype(&::clCreateProgramWithBinary) create_program_with_binary = nullptr;
    decltype(&::clBuildProgram) build_program = nullptr;
    decltype(&::clGetProgramInfo) program_info = nullptr;
    decltype(&::clGetProgramBuildInfo) program_build_info = nullptr;
    decltype(&::clReleaseProgram) release_program = nullptr;
    decltype(&::clCreateKernel) create_kernel = nullptr;
    decltype(&::clGetKernelWorkGroupInfo) kernel_work_group_info = nullptr;
    decltype(&::clReleaseKernel) release_kernel = nullptr;
    decltype(&::clCreateUserEvent) create_user_event = nullptr;
    decltype(&::clSetUserEventStatus) set_user_event_status = nullptr;
    decltype(&::clSetEventCallback) set_event_callback = nullptr;
    decltype(&::clRetainEvent) retain_event = nullptr;
    decltype(&::clReleaseEvent) release_event = nullptr;
};

// Refuses with EP_UNSUPPORTED if no OpenCL loader is mapped.
const OpenCl &opencl();

// Refuses with EP_DEVICE_ERROR unless `code` is CL_SUCCESS.
void check(cl_int code, const char *function);

}  // namespace entrepot::backends::sycl

// ----------------------------------------------------------------- devices

// Immortal and interned: sub-devices of the runtime do not compare equal when they are created
// again.
struct ep_device_s {
    ::sycl::device native;
    ep_device_s *parent = nullptr;
    std::string name, vendor, driver;
    ep_device_info info{};
    cl_device_id cl = nullptr;  // of OpenCL devices
    bool builds_sycl_source = false, builds_spirv = false;

    using Partition = std::pair<ep_partition, std::vector<std::uint32_t>>;
    std::mutex mutex;                                            // guards the three below
    std::map<Partition, std::vector<ep_device_s *>> partitions;  // created so far
    // Devices whose memory is accessible.
    std::set<ep_device_s *> peers;
    // Sub-devices are numbered in order of creation.
    std::uint32_t sub_device_count = 0;
};

namespace entrepot::backends::sycl {

ep_device device_of(const ::sycl::device &native);
// The device's selector, for messages: "opencl:cpu:0", "opencl:cpu:0/1".
std::string selector(ep_device device);

}  // namespace entrepot::backends::sycl

// Interned: while a handle lives, its sycl::context has no other handle, so equal handles mean
// equal contexts.
struct ep_context_s : entrepot::Counted<ep_context_s> {
    explicit ep_context_s(const ::sycl::context &context);
    ~ep_context_s();

    ::sycl::context native;
    std::vector<ep_device> devices;
    bool is_default = false;
    // Set for OpenCL contexts; owns one reference.
    cl_context cl = nullptr;
    // of OpenCL contexts whose platform has it
    entrepot::backends::sycl::QueryAllocation query = nullptr;

    // Kernels of copies and fills, built on demand; see kept_kernel.
    std::mutex mutex;
    std::map<std::tuple<ep_device, std::string>, ::sycl::kernel> kernels;
    std::atomic<bool> builds_no_blocks = false;  // see contiguous.hpp
};

namespace entrepot::backends::sycl {

// Returns: one reference to the handle of `native`, created if necessary.
ep_context intern(const ::sycl::context &native);

// The first error of a queue's asynchronous work, kept until a wait reports it. The runtime's
// default handler would terminate the process.
class AsyncError {
public:
    void keep(const ::sycl::exception_list &errors) noexcept;
    void report();  // throws a pending error as a Refusal and clears it

private:
    std::atomic<bool> pending_{false};
    std::mutex mutex_;
    std::string message_;
};

// Serializes submissions to a queue and queries of its work.
//
// In an out-of-order OpenCL queue, waits are serialized too, and exclude submissions. With Intel's
// CPU driver (2026.2), a waiting thread runs the queue's commands. If another thread submits
// meanwhile, both may see a command's last dependency done. Then both start the command, and one of
// them finds it without a queue. Eight threads of plain OpenCL, with fills and clFinish alone,
// crash within a minute. Foreign submissions to such a queue during a wait cannot be prevented.
struct QueueLocks {
    std::mutex mutex;
    std::atomic<int> waiting{0};  // threads in or before a serialized wait
};

// Scope of a serialized wait.
class ExclusiveWaitLock {
public:
    explicit ExclusiveWaitLock(QueueLocks &locks) : ExclusiveWaitLock(locks, std::defer_lock) {
        lock_.lock();
    }

    // Another thread may be waiting for much later work. This polls `is_done` meanwhile and returns
    // without the lock once it is true.
    template <class IsDone>
    ExclusiveWaitLock(QueueLocks &locks, const IsDone &is_done)
        : ExclusiveWaitLock(locks, std::defer_lock) {
        using namespace std::chrono_literals;
        for (std::chrono::microseconds pause = 1us; !lock_.try_lock() && !is_done();
             pause = std::min(2 * pause, 1000us))
            std::this_thread::sleep_for(pause);
    }

    ~ExclusiveWaitLock() { locks_.waiting.fetch_sub(1); }
    ExclusiveWaitLock(const ExclusiveWaitLock &) = delete;
    ExclusiveWaitLock &operator=(const ExclusiveWaitLock &) = delete;

private:
    ExclusiveWaitLock(QueueLocks &locks, std::defer_lock_t deferred)
        : locks_(locks), lock_(locks.mutex, deferred) {
        locks.waiting.fetch_add(1);
    }

    QueueLocks &locks_;
    std::unique_lock<std::mutex> lock_;
};

}  // namespace entrepot::backends::sycl

struct ep_queue_s : entrepot::Counted<ep_queue_s> {
    ::sycl::queue native;
    ep_context context;  // one reference
    ep_device device;
    std::uint32_t flags;
    std::shared_ptr<entrepot::backends::sycl::AsyncError> error;  // of queues created here
    std::shared_ptr<entrepot::backends::sycl::QueueLocks> locks =
        std::make_shared<entrepot::backends::sycl::QueueLocks>();
    std::optional<::sycl::event> last = {};  // of the last submission here, if it has an event
    // True if foreign code has the native queue, and may submit to it.
    std::atomic<bool> shared = false;

    bool is_in_order() const noexcept { return !(flags & EP_QUEUE_OUT_OF_ORDER); }
    bool requires_exclusive_wait() const noexcept {
        return !is_in_order() && context->cl;
    }  // see QueueLocks
};

struct ep_event_s : entrepot::Counted<ep_event_s> {
    ::sycl::event native;
    ep_context context;  // one reference; NULL of wrapped events
    std::shared_ptr<entrepot::backends::sycl::AsyncError> error;  // of its queue, if created here
    // QueueLocks of its queue, if waits are serialized.
    std::shared_ptr<entrepot::backends::sycl::QueueLocks> locks;
};

struct ep_program_s : entrepot::Counted<ep_program_s> {
    ep_context context;  // one reference
    ep_device device;
    ep_dialect dialect;
    cl_program cl = nullptr;  // of EP_OPENCL_C
    // of the others
    std::unique_ptr<::sycl::kernel_bundle<::sycl::bundle_state::executable>> bundle;
};

struct ep_kernel_s : entrepot::Counted<ep_kernel_s> {
    ep_program program;  // one reference
    std::string name;
    ::sycl::kernel native;
    ep_kernel_info info{};
};

namespace entrepot::backends::sycl {

template <class Handle> std::uint64_t hash_of(Handle handle) noexcept {
    return std::hash<decltype(handle->native)>{}(handle->native);
}

// Ownership: the caller gets a further reference.
template <class Handle> Handle retained(Handle handle) noexcept {
    if (handle)
        handle->retain();
    return handle;
}

void release(ep_context context) noexcept;

// Scope of a submission to the queue.
class SubmitLock {
public:
    explicit SubmitLock(ep_queue queue) : lock_(queue->locks->mutex) { queue->last.reset(); }

private:
    std::lock_guard<std::mutex> lock_;
};

// Submits work as if the queue were in order. An out-of-order queue (dpctl's default, for one) gets
// a barrier before it, which orders the work after earlier work. A barrier after it orders later
// submissions by other libraries.
//
// Fills are submitted without an event, which costs twice as much as the fill. A kernel's event is
// dropped at once: without an event the runtime (2026.2) takes 0.7 µs longer. ExclusiveWaitLock for
// the event takes twice as long as waiting for the queue.
//
// Submissions are serialized because the runtime's OpenCL adapter (2026.2) keeps a queue's last
// event without a lock. One thread may use an event that another has just released, if both submit
// to an out-of-order queue, or one asks whether it is empty. The result is
// UR_RESULT_ERROR_INVALID_EVENT, or a crash.
template <class Submit> void in_order(ep_queue queue, Submit &&submit) {
    const SubmitLock turn(queue);
    if (queue->is_in_order())
        return submit(queue->native);
    queue->native.ext_oneapi_submit_barrier();
    submit(queue->native);
    queue->native.ext_oneapi_submit_barrier();
}

// Variant for a submission that returns an event. The event of a copy costs 0.2 µs.
// ExclusiveWaitLock for it takes 0.4 µs less than waiting for the queue.
template <class Submit> void in_order_with_event(ep_queue queue, Submit &&submit) {
    if (!queue->is_in_order())
        return in_order(queue, [&](::sycl::queue &native) { submit(native); });
    const std::lock_guard lock(queue->locks->mutex);
    queue->last = submit(queue->native);
}

// Locks the queue for a query or for recording an event. Returns no lock if another thread waits
// for the queue, rather than block until that wait ends.
inline std::unique_lock<std::mutex> try_submit_lock(ep_queue queue) {
    std::unique_lock lock(queue->locks->mutex, std::defer_lock);
    while (!lock.try_lock() && queue->locks->waiting.load() == 0)
        std::this_thread::yield();
    return lock;
}

// True if all work of the queue is done; false while another thread waits for the queue.
//
// Requires: no foreign code submits to the queue meanwhile; see in_order.
inline bool is_idle(ep_queue queue) {
    const std::unique_lock lock = try_submit_lock(queue);
    return lock && queue->native.ext_oneapi_empty();
}

// Builds one of Entrepot's kernels for a device.
::sycl::kernel build_kernel(ep_context context, ep_device device, ep_dialect dialect,
                            const std::string &source, const char *name);

// Builds a kernel for the queue's device, cached in its context under `form`. The first call asks
// `source(dialect)` for the source.
template <class Source>
::sycl::kernel kept_kernel(ep_queue queue, std::string form, const char *name,
                           const Source &source) {
    ep_context context = queue->context;
    const std::lock_guard lock(context->mutex);
    auto key = std::make_tuple(queue->device, std::move(form));
    const auto known = context->kernels.find(key);
    if (known != context->kernels.end())
        return known->second;
    const ep_dialect dialect = context->cl ? EP_OPENCL_C : EP_SYCL_SOURCE;
    ::sycl::kernel built = build_kernel(context, queue->device, dialect, source(dialect), name);
    return context->kernels.emplace(std::move(key), std::move(built)).first->second;
}

// -------------------------------------------------------------------- files

// Each file of the backend enters its functions into the table.
void fill_device_functions(ep_backend &table);
void fill_context_functions(ep_backend &table);
void fill_queue_functions(ep_backend &table);
void fill_event_functions(ep_backend &table);
void fill_memory_functions(ep_backend &table);
void fill_program_functions(ep_backend &table);
void fill_peer_functions(ep_backend &table);
void fill_ipc_functions(ep_backend &table);

}  // namespace entrepot::backends::sycl
