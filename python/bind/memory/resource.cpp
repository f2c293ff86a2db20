// Memory resources in Python: where allocations come from, which resource is
// current, and statistics.
#include "../device/convert.hpp"
#include "../init.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/reference.hpp"
#include "../support/size_arg.hpp"
#include "owner.hpp"

#include <entrepot/memory/current.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/limit.hpp>
#include <entrepot/memory/log.hpp>
#include <entrepot/memory/pool.hpp>
#include <entrepot/memory/share.hpp>
#include <entrepot/memory/shareable.hpp>
#include <entrepot/memory/statistics.hpp>
#include <entrepot/memory/track.hpp>
#include <memory/release.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

namespace nb = nanobind;
using namespace nb::literals;

namespace entrepot::python {
namespace {

// Resources have their own reference count, because memory owns them too. A
// Python object holds one reference.
struct Handle {
    ResourceRef resource;
};
template <class T> struct HandleOf : Handle {
    T &operator*() const noexcept { return static_cast<T &>(*resource); }
    T *operator->() const noexcept { return static_cast<T *>(resource.get()); }
};
using Direct = HandleOf<DirectResource>;
using Shareable = HandleOf<ShareableResource>;
using Pool = HandleOf<PoolResource>;
using Limit = HandleOf<LimitResource>;
using Log = HandleOf<LogResource>;
using Track = HandleOf<TrackResource>;
using Statistics = HandleOf<StatisticsResource>;

// Wraps the resource in the Python class of its C++ class; None for nullptr.
template <class T> bool wrap_as(const ResourceRef &resource, nb::object &wrapped) {
    if (!dynamic_cast<T *>(resource.get()))
        return false;
    wrapped = nb::cast(HandleOf<T>{{resource}});
    return true;
}
nb::object wrap_resource(const ResourceRef &resource) {
    nb::object wrapped = nb::none();
    if (resource &&
        !(wrap_as<DirectResource>(resource, wrapped) ||
          wrap_as<ShareableResource>(resource, wrapped) ||
          wrap_as<PoolResource>(resource, wrapped) || wrap_as<LimitResource>(resource, wrapped) ||
          wrap_as<LogResource>(resource, wrapped) || wrap_as<TrackResource>(resource, wrapped) ||
          wrap_as<StatisticsResource>(resource, wrapped)))
        wrapped = nb::cast(Handle{resource});
    return wrapped;
}

const ResourceRef &resource_from(nb::handle object, const char *what) {
    const Handle *known = nullptr;
    if (!nb::try_cast(object, known) || !known)
        throw Error(ErrorKind::type, what,
                    ": one of entrepot.memory's resources was expected, such as pool(), not ",
                    shown(object.ptr()));
    return known->resource;
}

Resource *resource_or(nb::handle object, const char *what, Resource *otherwise) {
    return object.is_none() ? otherwise : resource_from(object, what).get();
}

Resource *upstream_or(nb::handle object, Resource *otherwise) {
    return resource_or(object, "upstream", otherwise);
}

template <class T, class... Arguments> void construct(HandleOf<T> *self, Arguments &&...arguments) {
    new (self) HandleOf<T>{{make_resource<T>(std::forward<Arguments>(arguments)...)}};
}

// ------------------------------------------------------------ sinks and stacks

// The resource may release its callable on any thread, so the callable is stored in an Owner.
LogResource::Sink sink_of(nb::object callable) {
    if (callable.is_none())
        return {};
    if (!PyCallable_Check(callable.ptr()))
        throw Error(ErrorKind::type, "sink: a function of one line of text was expected, not ",
                    nb::cast<std::string>(nb::str(callable.type().attr("__name__"))));
    return [kept = std::make_shared<Owner>(keep(callable.ptr()))](std::string_view line) {
        if (!Py_IsInitialized())
            return;
        const AcquireGil held;
        const SetErrorAside aside;
        auto *const sink = static_cast<PyObject *>(kept->handle());
        const Reference text(PyUnicode_DecodeUTF8(line.data(), static_cast<Py_ssize_t>(line.size()),
                                                  "backslashreplace"));
        HangOnThreadExit hang;
        const Reference answer(text ? PyObject_CallOneArg(sink, text.get()) : nullptr);
        hang.dismiss();
        if (!answer)
            PyErr_WriteUnraisable(sink);
    };
}

std::string frame_text(PyFrameObject *frame) {
    const nb::object code = nb::steal(reinterpret_cast<PyObject *>(PyFrame_GetCode(frame)));
    return "  File \"" + nb::cast<std::string>(code.attr("co_filename")) + "\", line " +
           std::to_string(PyFrame_GetLineNumber(frame)) + ", in " +
           nb::cast<std::string>(code.attr("co_name")) + "\n";
}

// The innermost frames of the calling thread in the order of a traceback: the
// most recent call last.
std::string python_stack(std::size_t frames) {
    if (!Py_IsInitialized())
        return {};
    const AcquireGil held;
    const SetErrorAside aside;
    std::string text;
    nb::object frame = nb::borrow(reinterpret_cast<PyObject *>(PyEval_GetFrame()));
    for (std::size_t i = 0; i < frames && frame.is_valid(); ++i) {
        auto *const current = reinterpret_cast<PyFrameObject *>(frame.ptr());
        text.insert(0, frame_text(current));
        frame = nb::steal(reinterpret_cast<PyObject *>(PyFrame_GetBack(current)));
    }
    return text;
}

// A stream that waits for a process that was killed may never go on.
constexpr std::chrono::seconds longest_wait_at_exit{60};

// Waits until the work that handles have events of is done, or the user interrupts.
void wait_for_shared_work_at_exit() {
    using std::chrono::steady_clock;
    const steady_clock::time_point end = steady_clock::now() + longest_wait_at_exit;
    while (!without_gil([] { return wait_for_shared_work(std::chrono::milliseconds{50}); }) &&
           steady_clock::now() < end)
        if (PyErr_CheckSignals() != 0)
            throw nb::python_error();
}

// Runs last at process exit. Memory that is left then is not freed; the
// operating system reclaims it.
void at_exit() {
    if (!fork_guard::is_child())
        for (const ResourceRef &tracker : live_trackers())
            if (const std::string report = static_cast<TrackResource &>(*tracker).leak_report();
                !report.empty())
                std::fprintf(stderr, "entrepot: at exit, %s\n", report.c_str());
    try {
        wait_for_shared_work_at_exit();
    } catch (...) {
        leak_from_now_on();
        throw;
    }
    leak_from_now_on();
}

// ---------------------------------------------------------------------- scopes

// A reentrant context manager.
struct UseResourceObject {
    ResourceRef resource;

    void exit() const { pop_resource(resource.get()); }
};

std::size_t trim_all() {
    const ReleaseGil released;
    std::size_t bytes = 0;
    release_finished();
    for (const ResourceRef &pool : live_pools())
        bytes += pool->trim();
    return bytes;
}

// -------------------------------------------------------------------- bindings

void bind_base(nb::module_ &m) {
    nb::class_<Handle>(m, "Resource", nb::is_weak_referenceable(),
                       "A source of memory. Most resources wrap another resource, their upstream.")
        .def_prop_ro(
            "name", [](const Handle &self) { return self.resource->name(); },
            "The kind of resource, such as 'pool'.")
        .def_prop_ro(
            "upstream",
            [](const Handle &self) {
                return wrap_resource(ResourceRef(self.resource->upstream()));
            },
            nb::sig("def upstream(self) -> Resource | None"),
            "The resource that this one wraps; None for a resource that allocates from the driver.")
        .def(
            "trim",
            [](const Handle &self) { return without_gil([&] { return self.resource->trim(); }); },
            "Return unused memory of this resource and its upstream to the driver.\n\n"
            "Returns\n"
            "-------\n"
            "int\n"
            "    The number of bytes.\n\n"
            "Examples\n"
            "--------\n"
            ">>> pool = ep.memory.pool()\n"
            ">>> with ep.memory.use_resource(pool):\n"
            "...     array = ep.empty(1 << 20, \"uint8\", device=\"host\")\n"
            ">>> del array\n"
            ">>> pool.trim() >= 1 << 20\n"
            "True")
        .def(
            "__eq__",
            [](const Handle &self, nb::handle other) -> nb::object {
                const Handle *known = nullptr;
                if (!nb::try_cast(other, known) || !known)
                    return nb::borrow(Py_NotImplemented);
                return nb::bool_(known->resource.get() == self.resource.get());
            },
            nb::arg().none(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
        .def("__hash__",
             [](const Handle &self) { return std::hash<const void *>{}(self.resource.get()); })
        .def("__repr__", [](const Handle &self) {
            const std::string report = self.resource->report();
            return "<entrepot.memory." + self.resource->name() +
                   (report.empty() ? ">" : ": " + report + ">");
        });
}

void bind_shareable(nb::module_ &m) {
    nb::class_<Shareable, Handle>(
        m, "shareable",
        "A resource of memory that other processes can open, by ``Array.share``.\n\n"
        "Each block is a separate allocation in whole pages of the device. On the host,\n"
        "it is a file without a name. On CUDA, it is device memory with a file descriptor\n"
        "of the driver. A block is freed when the last process that holds it releases it\n"
        "or dies.\n\n"
        "Allocating for a device without such memory raises DeviceError.\n\n"
        "Examples\n"
        "--------\n"
        ">>> with ep.memory.use_resource(ep.memory.shareable()):\n"
        "...     array = ep.zeros(3, \"int32\", device=\"host\")\n"
        ">>> handle = array.share()  # pickle it, and send it to the other process\n"
        ">>> same = handle.open()  # there\n"
        ">>> ep.fill(array, 7).wait()\n"
        ">>> same.numpy()\n"
        "array([7, 7, 7], dtype=int32)")
        .def("__init__",
             [](Shareable *self) { new (self) Shareable{{ResourceRef(shareable_resource())}}; });
}

void bind_direct_and_pool(nb::module_ &m) {
    nb::class_<Direct, Handle>(m, "direct",
                               "A resource that allocates every block from the driver.\n\n"
                               "A block is freed once the work that uses it is done.\n\n"
                               "Examples\n"
                               "--------\n"
                               ">>> with ep.memory.use_resource(ep.memory.direct()):\n"
                               "...     array = ep.zeros(3, \"int32\", device=\"host\")\n"
                               ">>> ep.memory.limit(1 << 30, ep.memory.direct()).upstream.name\n"
                               "'direct'")
        .def("__init__", [](Direct *self) { new (self) Direct{{ResourceRef(direct_resource())}}; });

    const auto number = [](std::size_t PoolResource::Statistics::*member) {
        return [member](const Pool &self) { return self->statistics().*member; };
    };
    nb::class_<Pool, Handle>(
        m, "pool",
        "A resource that caches freed blocks and reuses them, mostly without a lock or a\n"
        "driver call.\n\n"
        "Parameters\n"
        "----------\n"
        "upstream : Resource, optional\n"
        "    The resource that blocks come from. The default is the driver.\n"
        "max_cached : int, optional\n"
        "    The pool caches at most this number of unused bytes, as far as the blocks in\n"
        "    use allow. The default is no limit.\n\n"
        "Raises\n"
        "------\n"
        "TypeError\n"
        "    If ``upstream`` is not a resource, or ``max_cached`` is not an int.\n"
        "ValueError\n"
        "    If ``max_cached`` is negative or has more than 64 bits.\n\n"
        "Examples\n"
        "--------\n"
        ">>> pool = ep.memory.pool(max_cached=64 << 20)\n"
        ">>> with ep.memory.use_resource(pool):\n"
        "...     array = ep.empty(1000, \"float32\", device=\"host\")\n"
        ">>> del array\n"
        ">>> pool.used_bytes, pool.cached_bytes >= 4000\n"
        "(0, True)")
        .def(
            "__init__",
            [](Pool *self, nb::handle upstream, nb::handle max_cached) {
                construct(self, upstream_or(upstream, direct_resource()),
                          max_cached.is_none() ? PoolResource::unlimited
                                               : size_from(max_cached.ptr(), "max_cached"));
            },
            "upstream"_a.none() = nb::none(), nb::kw_only(), "max_cached"_a.none() = nb::none(),
            nb::sig("def __init__(self, upstream: Resource | None = None, *, max_cached: int | "
                    "None = None) -> None"))
        .def_prop_ro("reserved_bytes", number(&PoolResource::Statistics::reserved),
                     "Bytes that were allocated from the upstream and not returned.")
        .def_prop_ro("used_bytes", number(&PoolResource::Statistics::used),
                     "Bytes of blocks in use, as rounded by the pool.")
        .def_prop_ro("cached_bytes", number(&PoolResource::Statistics::cached),
                     "Unused bytes, available for reuse.")
        .def_prop_ro("waiting_bytes", number(&PoolResource::Statistics::waiting),
                     "Bytes of freed blocks that a device may still be using.");
}

void bind_limit_and_log(nb::module_ &m) {
    nb::class_<Limit, Handle>(
        m, "limit",
        "A resource that limits the bytes in use of its upstream.\n\n"
        "Allocations beyond ``limit`` bytes raise USMAllocationError.\n\n"
        "Parameters\n"
        "----------\n"
        "limit : int\n"
        "    The largest number of bytes that may be in use.\n"
        "upstream : Resource, optional\n"
        "    The resource that is limited. The default is the default pool.\n\n"
        "Raises\n"
        "------\n"
        "TypeError\n"
        "    If ``limit`` is not an int, or ``upstream`` is not a resource.\n"
        "ValueError\n"
        "    If ``limit`` is negative or has more than 64 bits.\n\n"
        "Examples\n"
        "--------\n"
        ">>> budget = ep.memory.limit(1000)\n"
        ">>> with ep.memory.use_resource(budget):\n"
        "...     array = ep.empty(600, \"uint8\", device=\"host\")\n"
        ">>> budget.used_bytes\n"
        "600")
        .def(
            "__init__",
            [](Limit *self, nb::handle limit, nb::handle upstream) {
                const std::size_t bytes = size_from(limit.ptr(), "limit");
                construct(self, upstream_or(upstream, default_resource()), bytes);
            },
            "limit"_a.none(), "upstream"_a.none() = nb::none(),
            nb::sig("def __init__(self, limit: int, upstream: Resource | None = None) -> None"))
        .def_prop_ro(
            "limit", [](const Limit &self) { return self->limit(); },
            "Largest number of bytes that may be in use.")
        .def_prop_ro(
            "used_bytes", [](const Limit &self) { return self->used(); },
            "Bytes in use, as requested.");

    nb::class_<Log, Handle>(
        m, "log",
        "A resource that logs each allocation and deallocation of its upstream.\n\n"
        "Parameters\n"
        "----------\n"
        "upstream : Resource, optional\n"
        "    The resource that allocates. The default is the default pool.\n"
        "sink : callable, optional\n"
        "    The allocating thread calls it with each line, a str without its newline.\n"
        "    Without a sink, lines go to standard error.\n\n"
        "Raises\n"
        "------\n"
        "TypeError\n"
        "    If ``upstream`` is not a resource, or ``sink`` cannot be called.\n\n"
        "Examples\n"
        "--------\n"
        ">>> lines = []\n"
        ">>> with ep.memory.use_resource(ep.memory.log(sink=lines.append)):\n"
        "...     array = ep.empty(500, \"uint8\", device=\"host\")\n"
        ">>> lines[0].split(\" at \")[0]\n"
        "'allocate host host 500 bytes'")
        .def(
            "__init__",
            [](Log *self, nb::handle upstream, nb::object sink) {
                construct(self, upstream_or(upstream, default_resource()),
                          sink_of(std::move(sink)));
            },
            "upstream"_a.none() = nb::none(), nb::kw_only(), "sink"_a.none() = nb::none(),
            nb::sig("def __init__(self, upstream: Resource | None = None, *, sink: "
                    "collections.abc.Callable[[str], object] | None = "
                    "None) -> None"));
}

void bind_track(nb::module_ &m) {
    using Allocation = TrackResource::Allocation;
    nb::class_<Allocation>(m, "TrackedAllocation", "An allocation that has not been freed.")
        .def_prop_ro(
            "address",
            [](const Allocation &self) {
                return reinterpret_cast<std::uintptr_t>(self.block.data);
            },
            "Address of the memory.")
        .def_prop_ro(
            "nbytes", [](const Allocation &self) { return self.block.bytes; },
            "Size in bytes, as requested.")
        .def_prop_ro(
            "kind", [](const Allocation &self) { return std::string(name_of(self.kind)); },
            "'host', 'device' or 'shared'.")
        .def_prop_ro(
            "device", [](const Allocation &self) { return self.device; },
            "The device of the allocation.")
        .def_prop_ro(
            "stack", [](const Allocation &self) { return self.stack; },
            "Python stack of the allocation, the most recent call last.")
        .def("__repr__", [](const Allocation &self) {
            return "<entrepot.memory.TrackedAllocation, " + std::to_string(self.block.bytes) +
                   " bytes, " + std::string(name_of(self.kind)) + ", " + self.device.selector() +
                   ">";
        });
    nb::class_<Track, Handle>(
        m, "track",
        "A resource that records the Python stack of each allocation of its upstream.\n\n"
        "Allocations that are live at interpreter shutdown are reported on standard\n"
        "error.\n\n"
        "Parameters\n"
        "----------\n"
        "upstream : Resource, optional\n"
        "    The resource that allocates. The default is the default pool.\n"
        "frames : int, optional\n"
        "    Stacks have at most this number of frames, the innermost ones. The default\n"
        "    is 16.\n\n"
        "Raises\n"
        "------\n"
        "TypeError\n"
        "    If ``upstream`` is not a resource, or ``frames`` is not an int.\n"
        "ValueError\n"
        "    If ``frames`` is negative or has more than 64 bits.\n\n"
        "Examples\n"
        "--------\n"
        ">>> track = ep.memory.track()\n"
        ">>> with ep.memory.use_resource(track):\n"
        "...     array = ep.empty(500, \"uint8\", device=\"host\")\n"
        ">>> [each.nbytes for each in track.live]\n"
        "[500]")
        .def(
            "__init__",
            [](Track *self, nb::handle upstream, nb::handle frames) {
                const std::size_t most = size_from(frames.ptr(), "frames");
                construct(self, upstream_or(upstream, default_resource()),
                          [most] { return python_stack(most); });
            },
            "upstream"_a.none() = nb::none(), nb::kw_only(), "frames"_a.none() = 16,
            nb::sig("def __init__(self, upstream: Resource | None = None, *, frames: int = 16) -> "
                    "None"))
        .def_prop_ro(
            "live", [](const Track &self) { return self->live(); },
            "The allocations that have not been freed, in the order of allocation.")
        .def(
            "report", [](const Track &self) { return self->leak_report(); },
            "A text that lists the live allocations and their stacks.\n\n"
            "Returns\n"
            "-------\n"
            "str\n"
            "    The text; '' if there are no live allocations.\n\n"
            "Examples\n"
            "--------\n"
            ">>> track = ep.memory.track()\n"
            ">>> with ep.memory.use_resource(track):\n"
            "...     array = ep.empty(500, \"uint8\", device=\"host\")\n"
            ">>> print(track.report().splitlines()[0])\n"
            "1 allocation, of 500 bytes, is still live");
}

void bind_statistics(nb::module_ &m) {
    using Numbers = StatisticsResource::Numbers;
    const auto number = [](std::size_t Numbers::*member) {
        return [member](const Statistics &self) { return self->numbers().*member; };
    };
    nb::class_<Statistics, Handle>(
        m, "statistics",
        "A resource that counts the allocations of its upstream.\n\n"
        "Bytes are counted as requested.\n\n"
        "Parameters\n"
        "----------\n"
        "upstream : Resource, optional\n"
        "    The resource that allocates. The default is the default pool.\n\n"
        "Raises\n"
        "------\n"
        "TypeError\n"
        "    If ``upstream`` is not a resource.\n\n"
        "Examples\n"
        "--------\n"
        ">>> numbers = ep.memory.statistics()\n"
        ">>> with ep.memory.use_resource(numbers):\n"
        "...     array = ep.zeros(1000, \"float32\", device=\"host\")\n"
        ">>> numbers.current_bytes, numbers.total_count\n"
        "(4000, 1)")
        .def(
            "__init__",
            [](Statistics *self, nb::handle upstream) {
                construct(self, upstream_or(upstream, default_resource()));
            },
            "upstream"_a.none() = nb::none(),
            nb::sig("def __init__(self, upstream: Resource | None = None) -> None"))
        .def_prop_ro("current_bytes", number(&Numbers::current_bytes), "Bytes in use.")
        .def_prop_ro("peak_bytes", number(&Numbers::peak_bytes),
                     "Largest number of bytes in use at one time.")
        .def_prop_ro("total_bytes", number(&Numbers::total_bytes),
                     "Bytes of all allocations so far.")
        .def_prop_ro("current_count", number(&Numbers::current_count),
                     "Number of allocations in use.")
        .def_prop_ro("peak_count", number(&Numbers::peak_count),
                     "Largest number of allocations in use at one time.")
        .def_prop_ro("total_count", number(&Numbers::total_count),
                     "Number of all allocations so far.")
        .def_prop_ro("failed_count", number(&Numbers::failed_count),
                     "Number of allocations that the upstream refused. Retries are not counted.")
        .def(
            "reset_peaks", [](const Statistics &self) { self->reset_peaks(); },
            "Reset the peaks to the current values.\n\n"
            "Examples\n"
            "--------\n"
            ">>> numbers = ep.memory.statistics()\n"
            ">>> with ep.memory.use_resource(numbers):\n"
            "...     ep.zeros(1000, \"float32\", device=\"host\").nbytes\n"
            "4000\n"
            ">>> numbers.reset_peaks()\n"
            ">>> numbers.peak_bytes\n"
            "0");
}

void bind_current(nb::module_ &m) {
    m.def(
        "set_resource",
        [](nb::handle device, nb::handle resource) {
            set_resource(device_from(device.ptr()), resource_or(resource, "resource", nullptr));
        },
        "device"_a, "resource"_a.none(),
        nb::sig("def set_resource(device: object, resource: Resource | None) -> None"),
        "Set the resource of later allocations for ``device``, on every thread.\n\n"
        "Parameters\n"
        "----------\n"
        "device : Device or str\n"
        "    The device, or a selector.\n"
        "resource : Resource or None\n"
        "    The resource. None restores the default pool.\n\n"
        "Raises\n"
        "------\n"
        "TypeError\n"
        "    If ``resource`` is not a resource, or ``device`` is not a device.\n"
        "ValueError\n"
        "    If the selector is malformed.\n"
        "DeviceError\n"
        "    If no device matches the selector.\n\n"
        "Examples\n"
        "--------\n"
        ">>> numbers = ep.memory.statistics()\n"
        ">>> ep.memory.set_resource(\"host\", numbers)\n"
        ">>> array = ep.zeros(1000, \"float32\", device=\"host\")\n"
        ">>> numbers.current_bytes\n"
        "4000\n"
        ">>> ep.memory.set_resource(\"host\", None)");
    m.def(
        "get_resource",
        [](nb::handle device) {
            return wrap_resource(current_resource(device_from(device.ptr())));
        },
        "device"_a, nb::sig("def get_resource(device: object) -> Resource"),
        "The resource that an allocation for ``device`` would use now.\n\n"
        "It is the thread's innermost ``use_resource``, else the resource of\n"
        "``set_resource``, else the default pool.\n\n"
        "Parameters\n"
        "----------\n"
        "device : Device or str\n"
        "    The device, or a selector.\n\n"
        "Returns\n"
        "-------\n"
        "Resource\n"
        "    The resource, as an object of its class, such as pool.\n\n"
        "Raises\n"
        "------\n"
        "TypeError\n"
        "    If ``device`` is not a device.\n"
        "ValueError\n"
        "    If the selector is malformed.\n"
        "DeviceError\n"
        "    If no device matches the selector.\n\n"
        "Examples\n"
        "--------\n"
        ">>> ep.memory.get_resource(\"host\").name\n"
        "'pool'");
    m.def("trim", &trim_all,
          "Return unused memory of every pool to the driver.\n\n"
          "Returns\n"
          "-------\n"
          "int\n"
          "    The number of bytes.\n\n"
          "Examples\n"
          "--------\n"
          ">>> array = ep.empty(5 << 20, \"uint8\", device=\"host\")\n"
          ">>> del array\n"
          ">>> ep.memory.trim() >= 5 << 20\n"
          "True");

    nb::class_<UseResourceObject>(
        m, "use_resource",
        "A context manager that sets the resource of the thread's allocations, for every\n"
        "device.\n\n"
        "``with use_resource(resource):`` may be nested. ``as`` binds the resource.\n\n"
        "Parameters\n"
        "----------\n"
        "resource : Resource\n"
        "    The resource of the allocations in the ``with`` statement.\n\n"
        "Raises\n"
        "------\n"
        "TypeError\n"
        "    If ``resource`` is not a resource.\n\n"
        "Examples\n"
        "--------\n"
        ">>> with ep.memory.use_resource(ep.memory.pool()) as pool:\n"
        "...     array = ep.zeros(1000, \"float32\", device=\"host\")\n"
        ">>> pool.used_bytes >= 4000\n"
        "True")
        .def(
            "__init__",
            [](UseResourceObject *self, nb::handle resource) {
                new (self) UseResourceObject{resource_from(resource, "resource")};
            },
            "resource"_a.none(), nb::sig("def __init__(self, resource: Resource) -> None"))
        .def(
            "__enter__",
            [](const UseResourceObject &self) {
                push_resource(self.resource.get());
                return wrap_resource(self.resource);
            },
            nb::sig("def __enter__(self) -> Resource"))
        .def(
            "__exit__", [](const UseResourceObject &self, nb::args) { self.exit(); },
            nb::sig("def __exit__(self, exc_type: object, exc_value: object, traceback: object, /) "
                    "-> None"));
}

}  // namespace

void init_memory(nb::module_ &m) {
    bind_base(m);
    bind_direct_and_pool(m);
    bind_shareable(m);
    bind_limit_and_log(m);
    bind_track(m);
    bind_statistics(m);
    bind_current(m);
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&at_exit));
    m.def("_wait_for_shared_work", &wait_for_shared_work_at_exit);
}

}  // namespace entrepot::python
