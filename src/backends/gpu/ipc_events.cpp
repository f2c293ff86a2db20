// IPC events: the driver's events that other processes open, so that their streams wait for work of
// this one.
//
// Overview
//   Such an event is slow to create, and its name is 64 bytes of the driver. So each context has
//   some, which are recorded again and again. Other processes may open an event later than it was
//   recorded, and wait for its latest record then. A record therefore has to cover the earlier
//   ones.
//
// States
//   An event of this process is recorded again once its last record is done. If all are pending
//   and no more may be made, the queue first waits for the event that was recorded longest ago. Its
//   new record then covers the old one.
//
// Lifetime
//   The driver does not support an opened event whose original was destroyed. So the events of a
//   process are destroyed with their context, which is its device's primary one.
#include "backends/gpu/native.hpp"

#include <algorithm>
#include <cstring>

namespace entrepot::backends::gpu {
namespace {

// A pipeline that runs ahead of its consumers by more batches waits for older ones.
constexpr std::size_t most_own = 64;
// Events that this process has opened last: those of some other processes.
constexpr std::size_t most_opened = 256;

static_assert(sizeof(ep_ipc_event::name) >= sizeof(CUipcEventHandle));

bool are_same(const CUipcEventHandle &one, const CUipcEventHandle &other) noexcept {
    return std::memcmp(&one, &other, sizeof one) == 0;
}

ep_status ipc_event_record(ep_queue queue, ep_ipc_event *event) {
    return guarded([&] {
        Queue &in = object(queue);
        if (!in.is_of_this_thread())
            refuse(EP_UNSUPPORTED, "an event of another thread's per-thread default stream cannot "
                                   "be recorded here");
        if (!in.context->is_primary)
            refuse(EP_UNSUPPORTED, "the queue is of a context that the program created, and other "
                                   "processes open events of primary contexts alone");
        in.require_running("an event for other processes in");
        in.context->shared_events->record(in, *event);
    });
}

ep_status ipc_event_open(ep_context context, const ep_ipc_event *shared, ep_event *event) {
    return guarded([&] {
        Context &in = object(context);
        *event = handle(in.shared_events->open(in, *shared).detach());
    });
}

}  // namespace

SharedEvents::Own SharedEvents::create_own() {
    if (!refusal_.empty())
        refuse(EP_UNSUPPORTED, refusal_);
    CUevent native = nullptr;
    CUipcEventHandle name{};
    const char *function = "cuEventCreate";
    CUresult code =
        driver().cuEventCreate(&native, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    if (code == CUDA_SUCCESS) {
        function = "cuIpcGetEventHandle";
        code = driver().cuIpcGetEventHandle(&name, native);
        if (code != CUDA_SUCCESS)
            driver().cuEventDestroy(native);
    }
    if (code != CUDA_SUCCESS) {
        const std::string refusal =
            sentence_of("the driver makes no event for other processes, with ", text_of(code),
                        " from ", function);
        if (code == CUDA_ERROR_NOT_SUPPORTED)  // other failures may pass
            refusal_ = refusal;
        refuse(EP_UNSUPPORTED, refusal);
    }
    return {IntrusivePtr<Event>::adopt(new Event(native, nullptr)), name};
}

SharedEvents::Own &SharedEvents::next_own(const Queue &queue) {
    const bool is_oldest_done = !own_.empty() && own_.front().event->is_done();
    if (!is_oldest_done && own_.size() < most_own)
        return own_.emplace_back(create_own());
    if (!is_oldest_done)
        check(driver().cuStreamWaitEvent(queue.native, own_.front().event->native,
                                         CU_EVENT_WAIT_DEFAULT),
              "cuStreamWaitEvent");
    own_.push_back(std::move(own_.front()));
    own_.pop_front();
    return own_.back();
}

void SharedEvents::record(Queue &queue, ep_ipc_event &recorded) {
    const RelaxedCaptureMode relaxed;
    const Current current(queue.context->native);
    const MutexLock lock(mutex_);
    if (own_.empty() && refusal_.empty() &&
        queue.device().attribute(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED) == 0)
        refusal_ = queue.device().selector() + " has no events for other processes "
                                               "(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED)";
    recorded = {};
    recorded.file = EmptyLifeFile::for_others();
    recorded.process = getpid();
    const Own &own = next_own(queue);
    check(driver().cuEventRecord(own.event->native, queue.native), "cuEventRecord");
    recorded.name_size = sizeof own.name;
    std::memcpy(recorded.name, &own.name, sizeof own.name);
}

IntrusivePtr<Event> SharedEvents::open(const Context &context, const ep_ipc_event &shared) {
    CUipcEventHandle name{};
    if (shared.name_size != sizeof name)
        refuse(EP_INVALID, "the handle has an event of ", shared.name_size, " bytes, and one of ",
               sizeof name, " belongs to the driver");
    std::memcpy(&name, shared.name, sizeof name);
    struct stat about{};
    if (fstat(shared.file, &about) != 0)
        refuse(EP_INVALID, "the file of a shared event is not open: ", std::strerror(errno));
    IntrusivePtr<Event> left;  // dropped after the mutex: the driver may block
    const MutexLock lock(mutex_);
    // The driver opens an event in other processes alone.
    if (shared.process == getpid())
        for (const Own &own : own_)
            if (are_same(own.name, name))
                return own.event;
    std::shared_ptr<const ProcessLife> process;
    for (auto opened = opened_.begin(); opened != opened_.end(); ++opened) {
        if (!opened->process->is_of(about))
            continue;
        if (are_same(opened->name, name)) {
            std::rotate(opened_.begin(), opened, opened + 1);
            return opened_.front().event;
        }
        process = opened->process;
    }
    if (!process)
        process = std::make_shared<const ProcessLife>(shared.file, shared.process);
    const RelaxedCaptureMode relaxed;
    const Current current(context.native);
    CUevent native = nullptr;
    const CUresult code = driver().cuIpcOpenEventHandle(&native, name);
    if (code != CUDA_SUCCESS)
        refuse(code == CUDA_ERROR_NOT_SUPPORTED ? EP_UNSUPPORTED : EP_INVALID,
               "the driver does not open the event of the handle, with ", text_of(code),
               ": the process that shared the memory has ended, or is in a container with other "
               "namespaces (IPC, PID); there, wait for pending work before share()");
    auto event = IntrusivePtr<Event>::adopt(new Event(native, process));
    if (opened_.size() == most_opened) {
        left = std::move(opened_.back().event);
        opened_.pop_back();
    }
    opened_.insert(opened_.begin(), {std::move(process), name, event});
    return event;
}

void fill_ipc_event_functions(ep_backend &table) {
    table.ipc_event_record = ipc_event_record;
    table.ipc_event_open = ipc_event_open;
}

}  // namespace entrepot::backends::gpu
