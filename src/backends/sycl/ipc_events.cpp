// IPC events: events by the extensions sycl_ext_oneapi_ipc_event and
// sycl_ext_oneapi_reusable_events, if the device has the aspect. OpenCL's CPU device has not.
//
// States
//   An event is recorded again once its last record is done. If all are pending, the host waits.
//
// Lifetime
//   The events of a process are destroyed with their context.
#include "backends/sycl/extensions.hpp"
#include "backends/sycl/native.hpp"

#include <unistd.h>

#include <cstring>

namespace entrepot::backends::sycl {
namespace {

constexpr std::size_t most_own = 64;

void require_shared_events(const Device &device) {
    if (!shares_events(device.native))
        refuse(EP_UNSUPPORTED, device.selector(),
               " lacks the aspect ext_oneapi_ipc_event, by which the SYCL runtime shares events "
               "with other processes");
}

ep_status ipc_event_record(ep_queue queue, ep_ipc_event *event) {
    return guarded([&] {
        Queue &in = object(queue);
        require_shared_events(in.device);
        in.context->shared_events->record(in, *event);
    });
}

ep_status ipc_event_open(ep_context context, const ep_ipc_event *shared, ep_event *event) {
    return guarded([&] {
        Context &in = object(context);
        require_shared_events(*in.devices.front());
        if (shared->name_size > sizeof shared->name)
            refuse(EP_INVALID, "the handle has an event of ", shared->name_size, " bytes, and ",
                   sizeof shared->name, " is the most");
        const auto *const first = reinterpret_cast<const std::byte *>(shared->name);
        const std::vector<std::byte> name(first, first + shared->name_size);
        IntrusivePtr<Event> opened;
        if (shared->process == getpid())
            opened = in.shared_events->find(name);
        if (!opened)
            opened = IntrusivePtr<Event>::adopt(
                new Event(open_shared_event(name, in.native),
                          std::make_shared<const ProcessLife>(shared->file, shared->process)));
        *event = handle(opened.detach());
    });
}

}  // namespace

SharedEvents::Own &SharedEvents::next_own(const Queue &queue) {
    if (!own_.empty() && own_.front().event->is_done()) {
        own_.push_back(std::move(own_.front()));
        own_.pop_front();
        return own_.back();
    }
    if (own_.size() == most_own)
        refuse(EP_UNSUPPORTED, "the events of ", most_own,
               " shared arrays are pending, and no more are possible");
    ::sycl::event native = make_shared_event(queue.context->native);
    std::vector<std::byte> name = shared_name(native);
    if (name.size() > sizeof(ep_ipc_event::name))
        refuse(EP_UNSUPPORTED, "the SYCL runtime names events by ", name.size(),
               " bytes, and handles have ", sizeof(ep_ipc_event::name));
    return own_.emplace_back(Own{IntrusivePtr<Event>::adopt(new Event(native)), std::move(name)});
}

void SharedEvents::record(Queue &queue, ep_ipc_event &recorded) {
    recorded = {};
    recorded.file = EmptyLifeFile::for_others();
    recorded.process = getpid();
    const MutexLock lock(mutex_);
    const Own &own = next_own(queue);
    {
        const SubmitLock submitting(queue);
        signal_event(queue.native, own.event->native);
    }
    recorded.name_size = static_cast<std::uint32_t>(own.name.size());
    std::memcpy(recorded.name, own.name.data(), own.name.size());
}

IntrusivePtr<Event> SharedEvents::find(const std::vector<std::byte> &name) {
    const MutexLock lock(mutex_);
    for (const Own &own : own_)
        if (own.name == name)
            return own.event;
    return {};
}

void fill_ipc_event_functions(ep_backend &table) {
    table.ipc_event_record = ipc_event_record;
    table.ipc_event_open = ipc_event_open;
}

}  // namespace entrepot::backends::sycl
