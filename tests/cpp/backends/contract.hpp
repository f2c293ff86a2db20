// Contract suite of a backend's function table: checks the requirements of
// <entrepot/device/backend.h> on each device.
//
// To add a backend, describe a Subject in a file of its own and name it once:
//
//     static const Subject &subject() { … }
//     ENTREPOT_BACKEND_CONTRACT("host", subject())
//
// Open the table with contract::loader; then last_error() returns the message of a refusal.
#pragma once
#include <entrepot/device/backend.h>

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/grouped_digits.hpp"

namespace entrepot::contract {

// ---------------------------------------------------------------- description of a backend

// Graph capture by a program itself, outside the table. Streams are as the runtime passes them.
struct Graphs {
    std::function<bool(void *stream)> begin;
    // Returns: the graph, or NULL if the capture was invalidated.
    std::function<void *(void *stream)> end;
    std::function<bool(void *graph, void *stream)> run;  // waits for the graph's work
    std::function<bool(void *graph)> drop;
};

struct Subject {
    const ep_backend *table;
    ep_dialect dialect;  // dialect of the three sources

    // indices(int64 *out, int64 offset): each work-item writes { slow, middle, fast + offset } to
    // out[3 * p …]. Absent dimensions are 0 of size 1. The position is
    //     p = (slow * size of middle + middle) * size of fast + fast
    std::string indices;
    // spin(int64 *out, int64 steps, int64 value): one work-item. It computes x = x * a + b `steps`
    // times and writes x to out[1], so that no compiler can remove the loop. Then it writes value
    // to out[0].
    std::string spin;
    // reverse(const int32 *in, int32 *out, local int32 *scratch): one-dimensional. Each work-group
    // writes its part of `in` in reverse order to the same part of `out`. It uses scratch (one
    // int32 per work-item) and a barrier.
    std::string reverse;

    // False for the host: its memory_query returns EP_USM_HOST for every pointer.
    bool query_tells_kind = true;
    const Graphs *graphs = nullptr;  // required if a device has EP_GRAPH_CAPTURE
};

// ---------------------------------------------------------------- the loader, and checks of
// statuses

inline std::string &last_error() {
    static thread_local std::string message;
    return message;
}

inline const ep_loader loader{sizeof(ep_loader),
                              EP_BACKEND_VERSION,
                              [](const char *message) { last_error() = message; },
                              [](const char *) {},
                              [](const char *) -> const char * { return nullptr; },
                              [](const char *, std::uint32_t) -> void * { return nullptr; },
                              [](const char *) {}};

#define CONTRACT_OK(call)                                                                          \
    do {                                                                                           \
        const ep_status contract_status = (call);                                                  \
        REQUIRE_MESSAGE(contract_status == EP_OK,                                                  \
                        #call " was refused: ", ::entrepot::contract::last_error());               \
    } while (false)

// A refusal is a status and a message. CONTRACT_REFUSED accepts any status but EP_OK,
// CONTRACT_REFUSED_AS exactly one.
#define CONTRACT_REFUSED(call)                                                                     \
    do {                                                                                           \
        ::entrepot::contract::last_error().clear();                                                \
        const ep_status contract_status = (call);                                                  \
        CHECK_MESSAGE(contract_status != EP_OK, #call " was not refused");                         \
        CHECK_MESSAGE(!::entrepot::contract::last_error().empty(),                                 \
                      #call " was refused without a sentence");                                    \
    } while (false)

#define CONTRACT_REFUSED_AS(status, call)                                                          \
    do {                                                                                           \
        ::entrepot::contract::last_error().clear();                                                \
        const ep_status contract_status = (call);                                                  \
        CHECK_MESSAGE(contract_status == (status),                                                 \
                      #call " gave another status: ", ::entrepot::contract::last_error());         \
        CHECK_MESSAGE(!::entrepot::contract::last_error().empty(),                                 \
                      #call " was refused without a sentence");                                    \
    } while (false)

// ---------------------------------------------------------------- owners of handles

using Context = std::unique_ptr<ep_context_s, void (*)(ep_context)>;
using Queue = std::unique_ptr<ep_queue_s, void (*)(ep_queue)>;
using Event = std::unique_ptr<ep_event_s, void (*)(ep_event)>;
using Program = std::unique_ptr<ep_program_s, void (*)(ep_program)>;
using Kernel = std::unique_ptr<ep_kernel_s, void (*)(ep_kernel)>;

inline std::vector<ep_device> devices_of(const Subject &subject) {
    std::uint32_t count = 0;
    CONTRACT_OK(subject.table->device_count(&count));
    std::vector<ep_device> devices(count);
    for (std::uint32_t i = 0; i < count; ++i)
        CONTRACT_OK(subject.table->device_at(i, &devices[i]));
    return devices;
}

inline ep_device_info info_of(const Subject &subject, ep_device device) {
    ep_device_info info{};
    CONTRACT_OK(subject.table->device_info(device, &info));
    return info;
}

// A device with its default context, and functions that create its objects.
struct Bench {
    const Subject &subject;
    const ep_backend &table;
    ep_device device;
    ep_device_info info;
    Context context;

    Bench(const Subject &of, ep_device on)
        : subject(of), table(*of.table), device(on), info(info_of(of, on)),
          context(nullptr, table.context_release) {
        ep_context handle = nullptr;
        CONTRACT_OK(table.device_default_context(device, &handle));
        context.reset(handle);
    }

    bool has(ep_aspect aspect) const { return (info.aspects & aspect) != 0; }

    Queue queue(std::uint32_t flags = 0) const {
        ep_queue handle = nullptr;
        CONTRACT_OK(table.queue_create(context.get(), device, flags, &handle));
        return {handle, table.queue_release};
    }

    Event record(const Queue &queue) const {
        ep_event handle = nullptr;
        CONTRACT_OK(table.event_record(queue.get(), 0, &handle));
        return {handle, table.event_release};
    }

    void wait(const Queue &queue) const { CONTRACT_OK(table.queue_wait(queue.get())); }

    Kernel kernel(const std::string &source, const char *name) const {
        ep_program program = nullptr;
        CONTRACT_OK(table.program_build(context.get(), device, subject.dialect, source.data(),
                                        source.size(), "", nullptr, &program));
        // The kernel owns its program, so this reference may be released first.
        const Program keep(program, table.program_release);
        ep_kernel handle = nullptr;
        CONTRACT_OK(table.program_kernel(program, name, &handle));
        return {handle, table.kernel_release};
    }

    std::vector<ep_usm_kind> kinds() const {
        std::vector<ep_usm_kind> kinds;
        if (has(EP_USM_HOST_ALLOCATIONS))
            kinds.push_back(EP_USM_HOST);
        if (has(EP_USM_DEVICE_ALLOCATIONS))
            kinds.push_back(EP_USM_DEVICE);
        if (has(EP_USM_SHARED_ALLOCATIONS))
            kinds.push_back(EP_USM_SHARED);
        return kinds;
    }
};

// An allocation of any kind, which the host reads and writes by copies.
class Memory {
public:
    Memory(const Bench &bench, ep_usm_kind kind, std::size_t bytes, std::size_t alignment = 0)
        : bench_(bench), bytes_(bytes) {
        // Stream-ordered allocations need a queue. It is idle: all copies below are waited for.
        if (bench.has(EP_ORDERED_FREE))
            queue_ = bench.queue().release();
        CONTRACT_OK(bench.table.memory_allocate(bench.context.get(), bench.device, kind, bytes,
                                                alignment, queue_, &pointer_));
        if (queue_)
            CONTRACT_OK(bench.table.queue_wait(queue_));
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory() {
        CHECK(bench_.table.memory_free(bench_.context.get(), pointer_, queue_) == EP_OK);
        if (queue_)
            bench_.table.queue_release(queue_);
    }

    std::byte *at(std::ptrdiff_t offset = 0) const {
        return static_cast<std::byte *>(pointer_) + offset;
    }

    template <class T> void write(const std::vector<T> &values) const {
        REQUIRE(values.size() * sizeof(T) <= bytes_);
        const Queue queue = bench_.queue();
        CONTRACT_OK(bench_.table.memory_copy(queue.get(), pointer_, values.data(),
                                             values.size() * sizeof(T)));
        bench_.wait(queue);
    }
    template <class T> std::vector<T> read(std::size_t count) const {
        REQUIRE(count * sizeof(T) <= bytes_);
        std::vector<T> values(count);
        const Queue queue = bench_.queue();
        CONTRACT_OK(
            bench_.table.memory_copy(queue.get(), values.data(), pointer_, count * sizeof(T)));
        bench_.wait(queue);
        return values;
    }

private:
    const Bench &bench_;
    std::size_t bytes_;
    ep_queue queue_ = nullptr;
    void *pointer_ = nullptr;
};

inline ep_argument pointer_argument(const void *pointer) {
    return {EP_ARG_POINTER, sizeof(void *), pointer};
}
template <class T> ep_argument bytes_argument(const T &value) {
    return {EP_ARG_BYTES, sizeof(T), &value};
}
inline ep_argument local_argument(std::size_t bytes) { return {EP_ARG_LOCAL, bytes, nullptr}; }

inline void on_each_device(const Subject &subject, const std::function<void(const Bench &)> &body) {
    for (const ep_device device : devices_of(subject)) {
        const Bench bench(subject, device);
        INFO("device ", bench.info.backend, ": ", bench.info.name);
        body(bench);
    }
}

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// A slow kernel. The constructor measures how many steps take `seconds`. The kernel therefore still
// runs when a test observes it, on fast and on slow devices.
class Slow {
public:
    static constexpr double seconds = 0.4;

    explicit Slow(const Bench &bench)
        : bench_(bench), kernel_(bench.kernel(bench.subject.spin, "spin")),
          out_(bench, bench.kinds().front(), 2 * sizeof(std::int64_t)) {
        const Queue queue = bench.queue();
        const auto measure = [&] {
            const auto start = Clock::now();
            submit(queue, 0);
            bench.wait(queue);
            return seconds_since(start);
        };
        double taken = 0;
        for (steps_ = 1 << 15; taken < 0.02; taken = measure())
            steps_ *= 2;
        // The least of three: other processes make a kernel slower, never faster.
        for (int i = 0; i < 2; ++i)
            taken = std::min(taken, measure());
        steps_ = static_cast<std::int64_t>(static_cast<double>(steps_) * seconds / taken);
    }

    // Returns: the seconds that the submission took.
    double submit(const Queue &queue, std::int64_t value) const {
        const ep_argument arguments[] = {pointer_argument(out_.at()), bytes_argument(steps_),
                                         bytes_argument(value)};
        const ep_range range{1, {1, 1, 1}, {1, 1, 1}};
        const auto start = Clock::now();
        CONTRACT_OK(
            bench_.table.kernel_launch(queue.get(), kernel_.get(), &range, nullptr, arguments, 3));
        return seconds_since(start);
    }

    const std::byte *result() const { return out_.at(); }  // the int64 of the last completed kernel

private:
    const Bench &bench_;
    Kernel kernel_;
    Memory out_;
    std::int64_t steps_ = 0;
};

// ---------------------------------------------------------------- devices

inline void device_info_is_complete(const Subject &subject) {
    const ep_backend &table = *subject.table;
    CHECK(table.size == sizeof(ep_backend));
    CHECK(table.version == EP_BACKEND_VERSION);
    CHECK(std::string(table.name) != "");
    const void
        *functions[(sizeof(ep_backend) - offsetof(ep_backend, device_count)) / sizeof(void *)];
    std::memcpy(functions, &table.device_count, sizeof functions);
    CHECK_MESSAGE(std::count(std::begin(functions), std::end(functions), nullptr) == 0,
                  "no function of the table is NULL");

    const std::vector<ep_device> devices = devices_of(subject);
    REQUIRE(!devices.empty());
    for (std::uint32_t i = 0; i < devices.size(); ++i) {
        ep_device again = nullptr;
        CONTRACT_OK(table.device_at(i, &again));
        CHECK_MESSAGE(again == devices[i], "a device has one handle");

        const ep_device_info info = info_of(subject, devices[i]);
        for (const char *word : {info.backend, info.name, info.vendor, info.driver}) {
            REQUIRE(word != nullptr);
            CHECK(*word != '\0');
        }
        CHECK(info.compute_units >= 1);
        CHECK(info.max_work_group >= 1);
        for (const std::uint64_t limit : info.max_work_items)
            CHECK(limit >= 1);
        CHECK(info.global_memory > 0);
        CHECK(info.max_allocation > 0);

        std::uint32_t number = 0;  // counted as backend.h defines it
        for (std::uint32_t j = 0; j < i; ++j) {
            const ep_device_info other = info_of(subject, devices[j]);
            number += std::strcmp(other.backend, info.backend) == 0 && other.type == info.type;
        }
        CHECK(info.number == number);

        ep_device parent = devices[i];
        CONTRACT_OK(table.device_parent(devices[i], &parent));
        CHECK(parent == nullptr);

        void *native = nullptr;
        CONTRACT_OK(table.device_native(devices[i], &native));
        CONTRACT_OK(table.device_from_native(native, &again));
        CHECK_MESSAGE(again == devices[i], "a native device is imported as its handle");

        std::int32_t can = 0;
        CONTRACT_OK(table.peer_can_access(devices[i], devices[i], &can));
        CHECK(can == 1);
    }
    ep_device none = nullptr;
    CONTRACT_REFUSED_AS(EP_INVALID,
                        table.device_at(static_cast<std::uint32_t>(devices.size()), &none));
    CHECK(none == nullptr);
}

inline void device_partition_returns_sub_devices(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const std::uint32_t one = 1;
        std::size_t count = 0;
        if (!bench.has(EP_PARTITION_EQUALLY)) {
            CONTRACT_REFUSED_AS(EP_UNSUPPORTED, table.device_partition(bench.device, EP_EQUALLY,
                                                                       &one, 1, nullptr, &count));
            return;
        }
        CONTRACT_OK(table.device_partition(bench.device, EP_EQUALLY, &one, 1, nullptr, &count));
        REQUIRE(count == bench.info.compute_units);
        std::vector<ep_device> first(count), second(count);
        CONTRACT_OK(
            table.device_partition(bench.device, EP_EQUALLY, &one, 1, first.data(), &count));
        CONTRACT_OK(
            table.device_partition(bench.device, EP_EQUALLY, &one, 1, second.data(), &count));
        CHECK_MESSAGE(first == second, "a sub-device has one handle");
        for (std::size_t i = 0; i < first.size(); ++i) {
            ep_device parent = nullptr;
            CONTRACT_OK(table.device_parent(first[i], &parent));
            CHECK(parent == bench.device);
            CHECK(info_of(bench.subject, first[i]).number == i);
            CHECK(info_of(bench.subject, first[i]).compute_units == 1);
        }
        const std::uint32_t too_many = bench.info.compute_units + 1;
        CONTRACT_REFUSED(
            table.device_partition(bench.device, EP_EQUALLY, &too_many, 1, nullptr, &count));
    });
}

// ---------------------------------------------------------------- contexts

inline void context_has_one_handle_and_its_devices(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        ep_context handle = nullptr;
        CONTRACT_OK(table.device_default_context(bench.device, &handle));
        const Context again(handle, table.context_release);
        std::int32_t answer = 0;
        CHECK(bench.context.get() == again.get());
        CONTRACT_OK(table.context_is_default(bench.context.get(), &answer));
        CHECK(answer == 1);

        CONTRACT_OK(table.context_create(&bench.device, 1, &handle));
        const Context made(handle, table.context_release);
        std::size_t count = 0;
        CONTRACT_OK(table.context_devices(made.get(), nullptr, &count));
        REQUIRE(count == 1);
        ep_device device = nullptr;
        CONTRACT_OK(table.context_devices(made.get(), &device, &count));
        CHECK(device == bench.device);

        void *native = nullptr;
        CONTRACT_OK(table.context_native(made.get(), &native));
        CONTRACT_OK(table.context_from_native(native, &handle));
        const Context wrapped(handle, table.context_release);
        CHECK_MESSAGE(made.get() == wrapped.get(), "a native context is imported as its handle");
        CONTRACT_OK(table.context_devices(made.get(), nullptr, &count));
        CHECK(count == 1);

        CONTRACT_REFUSED(table.context_create(nullptr, 0, &handle));
    });
}

// ---------------------------------------------------------------- queues

inline void queue_reports_context_device_and_flags(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const Queue queue = bench.queue(), other = bench.queue();
        ep_context context = nullptr;
        CONTRACT_OK(table.queue_context(queue.get(), &context));
        const Context keep(context, table.context_release);
        std::int32_t answer = 0;
        CHECK(context == bench.context.get());
        ep_device device = nullptr;
        CONTRACT_OK(table.queue_device(queue.get(), &device));
        CHECK(device == bench.device);
        std::uint32_t flags = 99;
        CONTRACT_OK(table.queue_flags(queue.get(), &flags));
        CHECK_MESSAGE(flags == 0, "queues are in order and without profiling by default");
        if (bench.has(EP_PROFILING)) {
            const Queue timed = bench.queue(EP_QUEUE_PROFILING);
            CONTRACT_OK(table.queue_flags(timed.get(), &flags));
            CHECK(flags == EP_QUEUE_PROFILING);
        }
        ep_queue none = nullptr;
        CONTRACT_REFUSED_AS(EP_INVALID,
                            table.queue_create(bench.context.get(), bench.device, 1u << 31, &none));
        CHECK(last_error().find("unknown queue flags 2147483648") != std::string::npos);

        CHECK(queue.get() != other.get());
        CONTRACT_OK(table.queue_is_idle(queue.get(), &answer));
        CHECK(answer == 1);
        bench.wait(queue);

        void *native = nullptr;
        CONTRACT_OK(table.queue_native(queue.get(), &native));
        ep_queue handle = nullptr;
        CONTRACT_OK(table.queue_from_native(nullptr, native, &handle));
        const Queue wrapped(handle, table.queue_release);
        CHECK_MESSAGE(queue.get() == wrapped.get(), "a native queue is imported as its handle");
        bench.wait(wrapped);
        bench.wait(queue);
    });
}

inline void error_message_ignores_locale(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const GroupedDigits grouped;
        ep_queue queue = nullptr;
        CONTRACT_REFUSED_AS(
            EP_INVALID, bench.table.queue_create(bench.context.get(), bench.device, 4096, &queue));
        CHECK_MESSAGE(last_error().find("4096") != std::string::npos, last_error());
    });
}

inline void submission_does_not_block(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const Slow slow(bench);
        const Queue queue = bench.queue();
        const auto start = Clock::now();
        const double submitting = slow.submit(queue, 1);
        std::int32_t idle = 1;
        CONTRACT_OK(bench.table.queue_is_idle(queue.get(), &idle));
        CHECK(idle == 0);
        CHECK(submitting < Slow::seconds / 4);
        bench.wait(queue);
        CHECK(seconds_since(start) > Slow::seconds / 4);
        CONTRACT_OK(bench.table.queue_is_idle(queue.get(), &idle));
        CHECK(idle == 1);
    });
}

inline void released_queue_finishes_its_work(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const Slow slow(bench);
        Event done(nullptr, bench.table.event_release);
        {
            const Queue queue = bench.queue();
            slow.submit(queue, 77);
            done = bench.record(queue);
        }
        CONTRACT_OK(bench.table.event_wait(done.get()));
        std::int64_t value = 0;
        const Queue reader = bench.queue();
        CONTRACT_OK(bench.table.memory_copy(reader.get(), &value, slow.result(), sizeof value));
        bench.wait(reader);
        CHECK(value == 77);
    });
}

// ---------------------------------------------------------------- events

inline void event_of_idle_queue_is_done(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const Queue queue = bench.queue(), other = bench.queue();
        const Event event = bench.record(queue);
        CONTRACT_OK(table.event_wait(event.get()));
        std::int32_t done = 0;
        CONTRACT_OK(table.event_is_done(event.get(), &done));
        CHECK(done == 1);
        CONTRACT_OK(table.event_wait_in_queue(other.get(), event.get()));
        bench.wait(other);

        void *native = nullptr;
        const ep_status status = table.event_native(event.get(), &native);
        if (status == EP_UNSUPPORTED)
            return;
        REQUIRE(status == EP_OK);
        ep_event handle = nullptr;
        CONTRACT_OK(table.event_from_native(native, &handle));
        const Event wrapped(handle, table.event_release);
        CONTRACT_OK(table.event_is_done(wrapped.get(), &done));
        CHECK(done == 1);
    });
}

inline void events_order_work_across_queues(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const Slow slow(bench);
        const Queue producer = bench.queue(), consumer = bench.queue();
        const Memory copied(bench, bench.kinds().front(), sizeof(std::int64_t));
        copied.write(std::vector<std::int64_t>{-1});
        // In the second round, a copy that runs too early would read the value of the first.
        for (std::int64_t value : {11, 12}) {
            slow.submit(producer, value);
            const Event written = bench.record(producer);
            std::int32_t done = 1;
            CONTRACT_OK(table.event_is_done(written.get(), &done));
            CHECK_MESSAGE(done == 0, "the slow kernel cannot be done already");
            CONTRACT_OK(table.event_wait_in_queue(consumer.get(), written.get()));
            CONTRACT_OK(
                table.memory_copy(consumer.get(), copied.at(), slow.result(), sizeof value));
            const Event read = bench.record(consumer);
            CONTRACT_OK(table.event_is_done(read.get(), &done));
            CHECK_MESSAGE(done == 0, "the copy waits for the slow kernel");
            CONTRACT_OK(table.event_wait(read.get()));
            CONTRACT_OK(table.event_is_done(written.get(), &done));
            CHECK(done == 1);
            CHECK(copied.read<std::int64_t>(1).front() == value);
        }
    });
}

inline void queue_wait_queue_orders_work(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const Slow slow(bench);
        const Queue producer = bench.queue(), consumer = bench.queue();
        const Memory copied(bench, bench.kinds().front(), sizeof(std::int64_t));
        copied.write(std::vector<std::int64_t>{-1});
        for (std::int64_t value : {21, 22}) {
            slow.submit(producer, value);
            CONTRACT_OK(table.queue_wait_queue(producer.get(), consumer.get()));
            CONTRACT_OK(
                table.memory_copy(consumer.get(), copied.at(), slow.result(), sizeof value));
            std::int32_t idle = 1;
            CONTRACT_OK(table.queue_is_idle(consumer.get(), &idle));
            CHECK_MESSAGE(idle == 0, "the copy waits for the slow kernel");
            // The producer writes the next value after the copy.
            CONTRACT_OK(table.queue_wait_queue(consumer.get(), producer.get()));
            bench.wait(consumer);
            CHECK(copied.read<std::int64_t>(1).front() == value);
        }
        bench.wait(producer);
    });
}

inline void profiling_events_have_times(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        double seconds = -1;
        {
            const Queue untimed = bench.queue();
            const Event from = bench.record(untimed), to = bench.record(untimed);
            bench.wait(untimed);
            CONTRACT_REFUSED(table.event_seconds(from.get(), to.get(), &seconds));
        }
        if (!bench.has(EP_PROFILING))
            return;
        const Slow slow(bench);
        const Queue timed = bench.queue(EP_QUEUE_PROFILING);
        const auto start = Clock::now();
        const Event from = bench.record(timed);
        slow.submit(timed, 1);
        const Event to = bench.record(timed);
        bench.wait(timed);
        const double bound = seconds_since(start);
        CONTRACT_OK(table.event_seconds(from.get(), to.get(), &seconds));
        CHECK(seconds > Slow::seconds / 4);
        CHECK(seconds < bound * 1.05 + 0.01);  // the device's clock is not the host's
    });
}

// ---------------------------------------------------------------- memory

inline void allocations_have_the_requested_alignment(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        REQUIRE(!bench.kinds().empty());
        for (const ep_usm_kind kind : bench.kinds())
            for (std::size_t alignment = 0; alignment <= 4096;
                 alignment = alignment ? alignment * 2 : 1)
                for (const std::size_t bytes : {1, 7, 4096, 100'000}) {
                    const Memory memory(bench, kind, bytes, alignment);
                    if (alignment != 0)
                        CHECK(reinterpret_cast<std::uintptr_t>(memory.at()) % alignment == 0);
                    if (kind != EP_USM_DEVICE)
                        // The host can access every byte.
                        std::memset(memory.at(), 0xA5, bytes);
                }
    });
}

inline void trim_keeps_memory_in_use(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        for (const ep_usm_kind kind : bench.kinds()) {
            const Memory kept(bench, kind, 100'000);
            {
                const Memory gone(bench, kind, 1 << 20);
            }
            const std::vector<std::uint8_t> values(100'000, 7);
            kept.write(values);
            CONTRACT_OK(bench.table.memory_trim(bench.device));
            CHECK(kept.read<std::uint8_t>(100'000) == values);
        }
    });
}

inline void pinned_host_memory_is_used_in_place(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        constexpr std::size_t bytes = std::size_t{1} << 16;
        std::vector<std::uint8_t> block(3 * bytes);  // with pages of its own in the middle
        void *middle = block.data();
        std::size_t space = block.size();
        REQUIRE(std::align(bytes, bytes, middle, space));
        auto *const first = static_cast<std::uint8_t *>(middle);
        std::int32_t pinned = -1;
        const ep_status status = table.memory_pin(bench.context.get(), first, bytes, 0, &pinned);
        if (status == EP_UNSUPPORTED) {
            CHECK(!last_error().empty());
            return;
        }
        CONTRACT_OK(status);
        CHECK((pinned == 0 || pinned == 1));
        std::iota(first, first + bytes, std::uint8_t{1});
        const Memory there(bench, bench.kinds().front(), bytes);
        const Queue queue = bench.queue();
        CONTRACT_OK(table.memory_copy(queue.get(), there.at(), first, bytes));
        bench.wait(queue);
        CHECK(there.read<std::uint8_t>(bytes) == std::vector<std::uint8_t>(first, first + bytes));
        if (pinned == 0)
            return;
        std::int32_t again = -1;
        CONTRACT_REFUSED_AS(EP_INVALID,
                            table.memory_pin(bench.context.get(), first + 4096, 4096, 0, &again));
        CHECK_MESSAGE(again == -1, "a refused call writes nothing");
        CONTRACT_OK(table.memory_unpin(bench.context.get(), first, bytes));
        CONTRACT_REFUSED(table.memory_unpin(bench.context.get(), first, bytes));
        CONTRACT_OK(table.memory_pin(bench.context.get(), first, bytes, 0, &pinned));
        CONTRACT_OK(table.memory_unpin(bench.context.get(), first, bytes));
    });
}

inline void query_reports_kind_and_range(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        constexpr std::size_t bytes = 10'000;
        for (const ep_usm_kind kind : bench.kinds()) {
            const Memory memory(bench, kind, bytes);
            const auto query = [&](std::ptrdiff_t offset, std::size_t asked) {
                ep_allocation found{};
                CONTRACT_OK(table.memory_query(bench.context.get(), memory.at(offset), asked,
                                               EP_QUERY_DEVICE | EP_QUERY_SIZE, &found));
                CHECK(found.kind == (bench.subject.query_tells_kind ? kind : EP_USM_HOST));
                CHECK((found.device == nullptr || found.device == bench.device));
                if (found.base != nullptr)
                    CHECK(found.base == memory.at());
                if (found.size != 0)
                    CHECK(found.size >= bytes);
                return found;
            };
            for (const auto &[offset, asked] :
                 {std::pair{0, 1}, {0, 10'000}, {5'000, 1}, {5'000, 5'000}, {9'999, 1}})
                CHECK(query(offset, asked).contained != 0);
            // The range is longer than any rounded size. A backend that does not know the size may
            // report that it cannot tell.
            CHECK(query(5'000, std::size_t{1} << 30).contained != 1);

            ep_allocation placed{};
            CONTRACT_OK(table.memory_query(bench.context.get(), memory.at(5'000), 5'000,
                                           EP_QUERY_KIND_LATER, &placed));
            CHECK((placed.kind == EP_USM_UNASKED || placed.kind == query(0, 1).kind));
            CHECK(placed.contained != 0);
            CONTRACT_OK(table.memory_query(bench.context.get(), memory.at(5'000),
                                           std::size_t{1} << 30, EP_QUERY_KIND_LATER, &placed));
            CHECK(placed.kind == query(0, 1).kind);  // reported in full if the range is invalid
            CHECK(placed.contained != 1);
        }
        std::vector<int> foreign(1000);
        ep_allocation found{};
        CONTRACT_OK(
            table.memory_query(bench.context.get(), foreign.data(), 1, EP_QUERY_DEVICE, &found));
        CHECK(found.kind == (bench.subject.query_tells_kind ? EP_USM_UNKNOWN : EP_USM_HOST));
        CONTRACT_OK(table.memory_query(bench.context.get(), foreign.data(), 1, EP_QUERY_KIND_LATER,
                                       &found));
        CHECK(found.kind == (bench.subject.query_tells_kind ? EP_USM_UNKNOWN : EP_USM_HOST));
    });
}

inline void impossible_allocations_are_refused(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const Queue queue = bench.queue();
        const ep_queue ordered = bench.has(EP_ORDERED_FREE) ? queue.get() : nullptr;
        for (const ep_usm_kind kind : bench.kinds()) {
            void *pointer = nullptr;
            CONTRACT_REFUSED_AS(EP_OUT_OF_MEMORY,
                                table.memory_allocate(bench.context.get(), bench.device, kind,
                                                      std::size_t{1} << 55, 0, ordered, &pointer));
            CHECK_MESSAGE(last_error().find(std::to_string(std::size_t{1} << 55)) !=
                              std::string::npos,
                          "the message names the bytes: ", last_error());
            CONTRACT_REFUSED(table.memory_allocate(bench.context.get(), bench.device, kind,
                                                   ~std::size_t{0} - 7, 4096, ordered, &pointer));
            CONTRACT_REFUSED_AS(EP_INVALID, table.memory_allocate(bench.context.get(), bench.device,
                                                                  kind, 64, 48, ordered, &pointer));
            CHECK(pointer == nullptr);
            const Memory memory(bench, kind, 64);  // the device remains usable
        }
        void *pointer = nullptr;
        CONTRACT_REFUSED(table.memory_allocate(bench.context.get(), bench.device, EP_USM_UNKNOWN,
                                               64, 0, ordered, &pointer));
    });
}

// Generates eight bytes at a time by xorshift. With a sanitizer, a generator call per byte takes
// half of the test's time.
inline std::vector<std::uint8_t> random_bytes(std::mt19937 &random, std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    // Never 0: xorshift maps 0 to 0.
    std::uint64_t word = random() | std::uint64_t{1} << 32;
    for (std::size_t done = 0; done < count; done += sizeof word) {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        std::memcpy(bytes.data() + done, &word, std::min(sizeof word, count - done));
    }
    return bytes;
}

inline void copies_transfer_all_bytes(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        std::mt19937 random(1);
        const Queue queue = bench.queue();
        for (const ep_usm_kind from : bench.kinds())
            for (const ep_usm_kind to : bench.kinds())
                for (const std::size_t bytes :
                     {0u, 1u, 3u, 4096u, 65535u, 65536u, 65537u, (1u << 20) + 1, (9u << 20) + 5}) {
                    // Offset in the source; in the target it is 1.
                    const std::size_t at = bytes % 2 == 0 ? 16 : 1;
                    const std::vector<std::uint8_t> expected = random_bytes(random, bytes);
                    const Memory source(bench, from, bytes + at + 1), target(bench, to, bytes + 2);
                    target.write(std::vector<std::uint8_t>(bytes + 2, 0x5A));
                    CONTRACT_OK(bench.table.memory_copy(queue.get(), source.at(at), expected.data(),
                                                        bytes));
                    CONTRACT_OK(
                        bench.table.memory_copy(queue.get(), target.at(1), source.at(at), bytes));
                    bench.wait(queue);
                    std::vector<std::uint8_t> guarded(bytes + 2, 0x5A);
                    std::copy(expected.begin(), expected.end(), guarded.begin() + 1);
                    CHECK(target.read<std::uint8_t>(bytes + 2) == guarded);
                }
    });
}

inline void fills_repeat_an_item(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        std::mt19937 random(2);
        const Queue queue = bench.queue();
        for (const ep_usm_kind kind : bench.kinds())
            for (std::size_t itemsize = 1; itemsize <= 17; ++itemsize)
                for (const std::size_t count : {0u, 1u, 2u, 33u, 5000u, 70001u}) {
                    const std::vector<std::uint8_t> item = random_bytes(random, itemsize);
                    const Memory memory(bench, kind, (count + 1) * itemsize);
                    std::vector<std::uint8_t> expected((count + 1) * itemsize, 0x77);
                    memory.write(expected);
                    for (std::size_t i = 0; i < count; ++i)
                        std::copy(item.begin(), item.end(),
                                  expected.begin() + static_cast<std::ptrdiff_t>(i * itemsize));
                    CONTRACT_OK(bench.table.memory_fill(queue.get(), memory.at(), item.data(),
                                                        itemsize, count));
                    bench.wait(queue);
                    CHECK(memory.read<std::uint8_t>(expected.size()) == expected);
                }
        const Memory large(bench, bench.kinds().front(), 12u << 20);
        const std::uint32_t item = 0x01020304;
        CONTRACT_OK(bench.table.memory_fill(queue.get(), large.at(), &item, sizeof item, 3u << 20));
        bench.wait(queue);
        CHECK(large.read<std::uint32_t>(3u << 20) == std::vector<std::uint32_t>(3u << 20, item));
    });
}

// A layout in a buffer, in bytes: strides, and the offset of the first item.
struct Strided {
    std::vector<std::int64_t> strides;
    std::int64_t offset = 0;
    std::size_t buffer = 0;
};

// Returns: a layout of items that do not overlap. The dimensions have a random order and gaps;
//          some have negative strides.
inline Strided random_layout(std::mt19937 &random, const std::vector<std::int64_t> &shape,
                             std::size_t itemsize) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    Strided layout;
    layout.strides.resize(shape.size());
    std::int64_t reach = static_cast<std::int64_t>(itemsize);
    for (const std::size_t dimension : order) {
        const std::int64_t stride =
            reach + static_cast<std::int64_t>(itemsize) * (random() % 3 == 0 ? random() % 3 : 0);
        const bool backwards = random() % 3 == 0;
        layout.strides[dimension] = backwards ? -stride : stride;
        const std::int64_t extent = std::max<std::int64_t>(shape[dimension], 1);
        if (backwards)
            layout.offset += stride * (extent - 1);
        reach = stride * extent;
    }
    layout.buffer = static_cast<std::size_t>(reach);
    return layout;
}

// Copies item by item. Raw pointers keep the cost low: a sanitizer checks millions of accesses.
inline void copy_items(const std::vector<std::int64_t> &shape, std::size_t itemsize,
                       std::uint8_t *to, const std::int64_t *to_strides, const std::uint8_t *from,
                       const std::int64_t *from_strides, std::size_t dimension = 0) {
    if (dimension == shape.size()) {
        std::memcpy(to, from, itemsize);
        return;
    }
    const std::int64_t extent = shape[dimension], to_stride = to_strides[dimension],
                       from_stride = from_strides[dimension];
    for (std::int64_t i = 0; i < extent; ++i)
        copy_items(shape, itemsize, to + i * to_stride, to_strides, from + i * from_stride,
                   from_strides, dimension + 1);
}

inline std::vector<std::int64_t> random_shape(std::mt19937 &random) {
    std::vector<std::int64_t> shape(random() % 7);
    for (auto &extent : shape)
        extent = random() % 12 == 0 ? 0 : 1 + static_cast<std::int64_t>(random() % 5);
    return shape;
}

// Copies, or fills if `from` is NULL. Compares the whole target buffer, including its gaps, with
// the result of copy_items().
inline void check_strided(const Bench &bench, std::mt19937 &random,
                          const std::vector<std::int64_t> &shape, std::size_t itemsize,
                          const Strided &to, const Strided *from) {
    const Queue queue = bench.queue();
    const Memory target(bench, bench.kinds().back(), std::max<std::size_t>(to.buffer, 1));
    std::vector<std::uint8_t> expected = random_bytes(random, to.buffer);
    target.write(expected);
    const ep_box box{shape.size(), itemsize, shape.data()};
    if (from == nullptr) {
        const std::vector<std::uint8_t> item = random_bytes(random, itemsize);
        CONTRACT_OK(bench.table.memory_fill_strided(queue.get(), &box, target.at(to.offset),
                                                    to.strides.data(), item.data()));
        bench.wait(queue);
        const std::vector<std::int64_t> stays(shape.size(), 0);
        copy_items(shape, itemsize, expected.data() + to.offset, to.strides.data(), item.data(),
                   stays.data());
    } else {
        const Memory source(bench, bench.kinds().back(), std::max<std::size_t>(from->buffer, 1));
        const std::vector<std::uint8_t> values = random_bytes(random, from->buffer);
        source.write(values);
        CONTRACT_OK(bench.table.memory_copy_strided(queue.get(), &box, target.at(to.offset),
                                                    to.strides.data(), source.at(from->offset),
                                                    from->strides.data()));
        bench.wait(queue);
        copy_items(shape, itemsize, expected.data() + to.offset, to.strides.data(),
                   values.data() + from->offset, from->strides.data());
    }
    CHECK(target.read<std::uint8_t>(to.buffer) == expected);
}

inline void strided_copies_follow_their_layouts(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        std::mt19937 random(3);
        for (int round = 0; round < 400; ++round) {
            const std::vector<std::int64_t> shape = random_shape(random);
            const std::size_t itemsize = 1 + random() % 17;
            const Strided to = random_layout(random, shape, itemsize);
            Strided from = random_layout(random, shape, itemsize);
            for (std::size_t dimension = 0; dimension < shape.size(); ++dimension)
                if (random() % 5 == 0) {  // broadcast dimension: stride 0
                    if (from.strides[dimension] < 0)
                        from.offset += from.strides[dimension] *
                                       (std::max<std::int64_t>(shape[dimension], 1) - 1);
                    from.strides[dimension] = 0;
                }
            INFO("round ", round, ", ", shape.size(), " dimensions of items of ", itemsize,
                 " bytes");
            check_strided(bench, random, shape, itemsize, to, &from);
        }
        // A transposition above the size from which backends use a plan.
        for (const std::size_t itemsize : {1u, 2u, 4u, 8u, 16u, 12u}) {
            const std::vector<std::int64_t> shape{701, 503};
            const auto item = static_cast<std::int64_t>(itemsize);
            const Strided rows{{503 * item, item}, 0, 701 * 503 * itemsize},
                columns{{item, 701 * item}, 0, 701 * 503 * itemsize};
            check_strided(bench, random, shape, itemsize, rows, &columns);
            check_strided(bench, random, shape, itemsize, columns, &rows);
        }
        // One long dimension, which some backends split: every second item in reverse order.
        const std::int64_t n = 2'000'003;
        const Strided every_second{{8}, 0, static_cast<std::size_t>(8 * n)},
            backwards{{-4}, 4 * (n - 1), static_cast<std::size_t>(4 * n)};
        check_strided(bench, random, {n}, 4, every_second, &backwards);
    });
}

inline void strided_fills_follow_their_layouts(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        std::mt19937 random(4);
        for (int round = 0; round < 200; ++round) {
            const std::vector<std::int64_t> shape = random_shape(random);
            const std::size_t itemsize = 1 + random() % 17;
            INFO("round ", round, ", ", shape.size(), " dimensions of items of ", itemsize,
                 " bytes");
            check_strided(bench, random, shape, itemsize, random_layout(random, shape, itemsize),
                          nullptr);
        }
    });
}

inline void impossible_boxes_are_refused(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const Queue queue = bench.queue();
        const Memory memory(bench, bench.kinds().front(), 64);
        const std::vector<std::int64_t> shape(EP_MAX_NDIM + 1, 1), strides(EP_MAX_NDIM + 1, 4);
        const std::uint32_t item = 0;
        const ep_box too_deep{EP_MAX_NDIM + 1, 4, shape.data()};
        CONTRACT_REFUSED_AS(EP_INVALID,
                            bench.table.memory_fill_strided(queue.get(), &too_deep, memory.at(),
                                                            strides.data(), &item));
        CONTRACT_REFUSED_AS(EP_INVALID, bench.table.memory_copy_strided(
                                            queue.get(), &too_deep, memory.at(), strides.data(),
                                            memory.at(), strides.data()));
        const std::int64_t negative = -1;
        const ep_box inside_out{1, 4, &negative};
        CONTRACT_REFUSED_AS(EP_INVALID,
                            bench.table.memory_fill_strided(queue.get(), &inside_out, memory.at(),
                                                            strides.data(), &item));
        const ep_box deep{EP_MAX_NDIM, 4, shape.data()};
        CONTRACT_OK(bench.table.memory_fill_strided(queue.get(), &deep, memory.at(), strides.data(),
                                                    &item));
        bench.wait(queue);
    });
}

// ---------------------------------------------------------------- programs

inline void program_builds_or_logs_errors(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        std::uint32_t mask = 0;
        CONTRACT_OK(table.program_dialects(bench.device, &mask));
        REQUIRE((mask & 1u << bench.subject.dialect) != 0);

        const std::string nonsense = "this is not a program, whatever the dialect;";
        std::string log;
        const ep_sink sink{&log, [](void *user, const char *text, std::size_t length) {
                               static_cast<std::string *>(user)->append(text, length);
                           }};
        ep_program program = nullptr;
        CONTRACT_REFUSED_AS(EP_BUILD_FAILED,
                            table.program_build(bench.context.get(), bench.device,
                                                bench.subject.dialect, nonsense.data(),
                                                nonsense.size(), "", &sink, &program));
        CHECK_MESSAGE(!log.empty(), "a refused build has its reasons in the log");
        CHECK(program == nullptr);

        for (int dialect = 0; dialect < EP_DIALECT_COUNT; ++dialect)
            if ((mask & 1u << dialect) == 0)
                CONTRACT_REFUSED_AS(EP_UNSUPPORTED,
                                    table.program_build(bench.context.get(), bench.device,
                                                        static_cast<ep_dialect>(dialect),
                                                        nonsense.data(), nonsense.size(), "",
                                                        nullptr, &program));

        const std::string &source = bench.subject.indices;
        CONTRACT_OK(table.program_build(bench.context.get(), bench.device, bench.subject.dialect,
                                        source.data(), source.size(), "", &sink, &program));
        const Program keep(program, table.program_release);
        ep_kernel kernel = nullptr;
        CONTRACT_REFUSED(table.program_kernel(program, "no_such_kernel", &kernel));
        CHECK(kernel == nullptr);

        CONTRACT_OK(table.program_kernel(program, "indices", &kernel));
        const Kernel owned(kernel, table.kernel_release);
        ep_kernel_info info{};
        CONTRACT_OK(table.kernel_info(kernel, bench.device, &info));
        CHECK(info.max_work_group >= 1);
        CHECK(info.max_work_group <= bench.info.max_work_group);
        CHECK((info.argument_count == -1 || info.argument_count == 2));
    });
}

inline void check_indices(const Bench &bench, const Kernel &kernel, const ep_range &range) {
    std::uint64_t extent[3] = {1, 1, 1};  // slow, middle, fast
    for (std::uint32_t i = 0; i < range.ndim; ++i)
        extent[3 - range.ndim + i] = range.global[i];
    const std::size_t items = extent[0] * extent[1] * extent[2];
    const Memory out(bench, bench.kinds().back(), 3 * items * sizeof(std::int64_t));
    out.write(std::vector<std::int64_t>(3 * items, -1));
    const std::int64_t offset = 1'000'000'007'000;
    const ep_argument arguments[] = {pointer_argument(out.at()), bytes_argument(offset)};
    const Queue queue = bench.queue();
    CONTRACT_OK(
        bench.table.kernel_launch(queue.get(), kernel.get(), &range, nullptr, arguments, 2));
    bench.wait(queue);

    std::vector<std::int64_t> expected;
    for (std::uint64_t slow = 0; slow < extent[0]; ++slow)
        for (std::uint64_t middle = 0; middle < extent[1]; ++middle)
            for (std::uint64_t fast = 0; fast < extent[2]; ++fast)
                for (const std::uint64_t value : {slow, middle, fast + offset})
                    expected.push_back(static_cast<std::int64_t>(value));
    CHECK_MESSAGE(out.read<std::int64_t>(3 * items) == expected, range.ndim,
                  " dimensions: ", range.global[0], ", ", range.global[1], ", ", range.global[2],
                  " in groups of ", range.local[0]);
}

inline void launches_number_their_work_items(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const Kernel kernel = bench.kernel(bench.subject.indices, "indices");
        for (const ep_range &range :
             {ep_range{1, {1}, {}}, ep_range{1, {1000}, {}}, ep_range{1, {1024}, {16}},
              ep_range{1, {200'000}, {}}, ep_range{2, {7, 5}, {}}, ep_range{2, {6, 20}, {2, 5}},
              ep_range{2, {300, 2}, {}}, ep_range{3, {2, 3, 5}, {}},
              ep_range{3, {4, 6, 10}, {2, 3, 1}}, ep_range{3, {40, 3, 50}, {}}})
            // A backend may run later launches of a kernel in another way than the first.
            for (int repetition = 0; repetition < 3; ++repetition)
                check_indices(bench, kernel, range);
    });
}

inline void impossible_launches_are_refused(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const Kernel kernel = bench.kernel(bench.subject.indices, "indices");
        const Memory out(bench, bench.kinds().back(), 3 * 64 * sizeof(std::int64_t));
        const std::int64_t offset = 0;
        const ep_argument arguments[] = {pointer_argument(out.at()), bytes_argument(offset),
                                         bytes_argument(offset)};
        const Queue queue = bench.queue();
        const std::uint64_t too_many = bench.info.max_work_group * 2;
        for (const ep_range &range :
             {ep_range{0, {64}, {}}, ep_range{4, {64}, {}}, ep_range{1, {64}, {48}},
              ep_range{2, {8, 8}, {4, 0}}, ep_range{1, {too_many}, {too_many}}})
            CONTRACT_REFUSED_AS(EP_INVALID,
                                bench.table.kernel_launch(queue.get(), kernel.get(), &range,
                                                          nullptr, arguments, 2));

        ep_kernel_info info{};
        CONTRACT_OK(bench.table.kernel_info(kernel.get(), bench.device, &info));
        const ep_range range{1, {64}, {}};
        if (info.argument_count >= 0)
            for (const std::size_t count : {0u, 1u, 3u})
                CONTRACT_REFUSED_AS(EP_INVALID,
                                    bench.table.kernel_launch(queue.get(), kernel.get(), &range,
                                                              nullptr, arguments, count));
        const ep_argument excessive[] = {pointer_argument(out.at()),
                                         local_argument(std::size_t{1} << 50)};
        CONTRACT_REFUSED(
            bench.table.kernel_launch(queue.get(), kernel.get(), &range, nullptr, excessive, 2));

        check_indices(bench, kernel, range);  // a valid launch still runs
    });
}

inline void groups_share_local_memory(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const Kernel kernel = bench.kernel(bench.subject.reverse, "reverse");
        constexpr std::size_t items = 4096;
        std::vector<std::int32_t> values(items);
        std::iota(values.begin(), values.end(), 0);
        const Memory in(bench, bench.kinds().back(), items * 4),
            out(bench, bench.kinds().back(), items * 4);
        in.write(values);
        const Queue queue = bench.queue();
        for (const std::size_t group : {1u, 2u, 16u, 64u}) {
            const ep_argument arguments[] = {pointer_argument(in.at()), pointer_argument(out.at()),
                                             local_argument(group * 4)};
            const ep_range range{1, {items}, {group}};
            CONTRACT_OK(bench.table.kernel_launch(queue.get(), kernel.get(), &range, nullptr,
                                                  arguments, 3));
            bench.wait(queue);
            std::vector<std::int32_t> expected = values;
            for (std::size_t first = 0; first < items; first += group)
                std::reverse(expected.begin() + static_cast<std::ptrdiff_t>(first),
                             expected.begin() + static_cast<std::ptrdiff_t>(first + group));
            CHECK(out.read<std::int32_t>(items) == expected);
        }
    });
}

// A submission copies its arguments. The caller may change or release them at once.
inline void submissions_copy_their_arguments(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const Slow slow(bench);
        const ep_usm_kind kind = bench.kinds().back();
        const Memory indices(bench, kind, 3 * sizeof(std::int64_t)), filled(bench, kind, 64),
            strided(bench, kind, 64), copied(bench, kind, 64);
        copied.write(std::vector<std::int32_t>(16, 5));
        strided.write(std::vector<std::int32_t>(16, 0));
        const Queue queue = bench.queue();
        slow.submit(queue, 1);
        {
            Kernel kernel = bench.kernel(bench.subject.indices, "indices");
            std::int64_t offset = 31;
            std::vector<ep_argument> arguments{pointer_argument(indices.at()),
                                               bytes_argument(offset)};
            ep_range range{1, {1}, {}};
            CONTRACT_OK(table.kernel_launch(queue.get(), kernel.get(), &range, nullptr,
                                            arguments.data(), 2));
            std::int32_t item = 6;
            CONTRACT_OK(table.memory_fill(queue.get(), filled.at(), &item, sizeof item, 16));
            std::vector<std::int64_t> shape{4}, strides{8}, other{4};
            const ep_box box{1, sizeof item, shape.data()};
            CONTRACT_OK(
                table.memory_fill_strided(queue.get(), &box, strided.at(), strides.data(), &item));
            CONTRACT_OK(table.memory_copy_strided(queue.get(), &box, strided.at(4), strides.data(),
                                                  copied.at(), other.data()));
            offset = item = -1;
            range.global[0] = 1000;
            arguments.assign(2, ep_argument{});
            shape[0] = 1000;
            strides[0] = other[0] = 1 << 20;
        }
        bench.wait(queue);
        CHECK(indices.read<std::int64_t>(3) == std::vector<std::int64_t>{0, 0, 31});
        CHECK(filled.read<std::int32_t>(16) == std::vector<std::int32_t>(16, 6));
        CHECK(strided.read<std::int32_t>(9) ==
              std::vector<std::int32_t>{6, 5, 6, 5, 6, 5, 6, 5, 0});
    });
}

// ---------------------------------------------------------------- graphs

inline std::uint64_t capture_of(const Bench &bench, const Queue &queue) {
    std::uint64_t capture = 0;
    CONTRACT_OK(bench.table.queue_capture(queue.get(), &capture));
    return capture;
}

inline void wait_for_queue(const Bench &bench, const Queue &queue, const Queue &other) {
    const Event event = bench.record(other);
    CONTRACT_OK(bench.table.event_wait_in_queue(queue.get(), event.get()));
}

// Waits up to 5 s for `count` to be `wanted`: the runtime releases a graph's references on a
// thread of its own, at any time.
inline bool settles_at(const std::atomic<int> &count, int wanted) {
    for (const auto start = Clock::now(); count != wanted && seconds_since(start) < 5;)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return count == wanted;
}

inline void captured_work_runs_with_its_graph(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const Queue queue = bench.queue(), fork = bench.queue(), other = bench.queue();
        std::atomic<int> released = 0;
        const auto count = [](void *user) { ++*static_cast<std::atomic<int> *>(user); };
        CHECK(capture_of(bench, queue) == 0);
        CONTRACT_REFUSED_AS(EP_UNSUPPORTED, table.queue_keep(queue.get(), &released, count));
        if (!bench.has(EP_GRAPH_CAPTURE))
            return;
        REQUIRE(bench.subject.graphs != nullptr);
        const Graphs &graphs = *bench.subject.graphs;
        const Memory first(bench, EP_USM_DEVICE, 4), second(bench, EP_USM_DEVICE, 4),
            beside(bench, EP_USM_DEVICE, 4);
        for (const Memory *memory : {&first, &second, &beside})
            memory->write(std::vector<std::int32_t>{1});
        const auto fill = [&](const Queue &by, const Memory &memory, std::int32_t item) {
            CONTRACT_OK(table.memory_fill(by.get(), memory.at(), &item, 4, 1));
        };
        const auto content = [](const Memory &memory) { return memory.read<std::int32_t>(1)[0]; };
        void *native = nullptr;
        CONTRACT_OK(table.queue_native(queue.get(), &native));
        void *const stream = *static_cast<void **>(native);

        REQUIRE(graphs.begin(stream));
        const std::uint64_t number = capture_of(bench, queue);
        CHECK(number != 0);
        CHECK(capture_of(bench, fork) == 0);
        fill(queue, first, 2);
        CONTRACT_OK(table.queue_keep(queue.get(), &released, count));
        wait_for_queue(bench, fork, queue);
        CHECK_MESSAGE(capture_of(bench, fork) == number,
                      "a queue that waits for captured work joins the capture");
        fill(fork, second, 3);
        wait_for_queue(bench, queue, fork);

        std::int32_t idle = 0;
        CONTRACT_REFUSED_AS(EP_UNSUPPORTED, table.queue_wait(queue.get()));
        CONTRACT_REFUSED_AS(EP_UNSUPPORTED, table.queue_is_idle(queue.get(), &idle));
        CONTRACT_REFUSED_AS(EP_UNSUPPORTED, table.queue_wait_queue(queue.get(), other.get()));
        CHECK_MESSAGE(capture_of(bench, other) == 0,
                      "a refused queue_wait_queue adds no queue to the capture");
        fill(other, beside, 4);
        bench.wait(other);
        void *const graph = graphs.end(stream);
        REQUIRE_MESSAGE(graph != nullptr, "the refused calls did not invalidate the capture");

        for (const Queue *each : {&queue, &fork})
            CHECK(capture_of(bench, *each) == 0);
        CONTRACT_REFUSED_AS(EP_UNSUPPORTED, table.queue_keep(queue.get(), &released, count));
        CHECK((content(first) == 1 && content(second) == 1 && content(beside) == 4));
        REQUIRE(graphs.run(graph, stream));
        CHECK((content(first) == 2 && content(second) == 3));
        CHECK(released == 0);
        REQUIRE(graphs.drop(graph));
        CHECK(settles_at(released, 1));

        REQUIRE(graphs.begin(stream));
        CHECK_MESSAGE(capture_of(bench, queue) != number, "each capture has a number of its own");
        fill(queue, first, 5);
        void *const next = graphs.end(stream);
        REQUIRE(next != nullptr);
        CHECK(graphs.drop(next));
    });
}

// ---------------------------------------------------------------- graphs of the table

using GraphHandle = std::unique_ptr<ep_graph_s, void (*)(ep_graph)>;

// Returns: an empty handle if the device has no graphs, which it says for every graph.
inline GraphHandle graph_of(const Bench &bench, const std::vector<ep_node> &nodes) {
    ep_graph graph = nullptr;
    const ep_status status = bench.table.graph_create(bench.context.get(), bench.device,
                                                      nodes.data(), nodes.size(), &graph);
    if (status == EP_UNSUPPORTED) {
        CHECK(!last_error().empty());
        CONTRACT_REFUSED_AS(
            EP_UNSUPPORTED,
            bench.table.graph_create(bench.context.get(), bench.device, nullptr, 0, &graph));
        return {nullptr, bench.table.graph_release};
    }
    REQUIRE_MESSAGE(status == EP_OK, "graph_create was refused: ", last_error());
    return {graph, bench.table.graph_release};
}

inline ep_node fill_node(const Memory &memory, const std::int32_t &item, std::size_t count) {
    ep_node node{EP_NODE_FILL, {}};
    node.of.fill = {memory.at(), &item, sizeof item, count};
    return node;
}

// The nodes write over each other's memory, so another order has another result.
inline void graph_nodes_run_in_order_at_each_launch(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        constexpr std::int64_t count = 64;
        const Memory a(bench, bench.kinds().front(), count * 4),
            b(bench, bench.kinds().front(), count * 4);
        a.write(std::vector<std::int32_t>(count, 1));
        b.write(std::vector<std::int32_t>(count, 2));
        std::vector<std::int32_t> items{7, 8};
        ep_node copy{EP_NODE_COPY, {}};
        copy.of.copy = {b.at(), a.at(), count * 4};
        std::int64_t shape[]{count / 2}, strides[]{8};
        ep_box box{1, 4, shape};
        ep_node odd{EP_NODE_FILL_STRIDED, {}};
        odd.of.fill_strided = {&box, a.at(4), strides, &items[1]};
        ep_node spread{EP_NODE_COPY_STRIDED, {}};
        spread.of.copy_strided = {&box, b.at(), strides, a.at(4), strides};
        GraphHandle graph = graph_of(bench, {copy, fill_node(a, items[0], count), odd, spread});
        if (!graph)
            return;
        // everything that the nodes point to has been copied
        items = {0, 0};
        shape[0] = strides[0] = 0;
        CHECK_MESSAGE(b.read<std::int32_t>(1)[0] == 2, "graph_create runs nothing");
        const Queue queue = bench.queue();
        for (const std::int32_t before : {1, 7}) {
            CONTRACT_OK(bench.table.graph_launch(queue.get(), graph.get()));
            bench.wait(queue);
            const std::vector<std::int32_t> in_a = a.read<std::int32_t>(count),
                                            in_b = b.read<std::int32_t>(count);
            for (std::size_t i = 0; i < count; ++i) {
                CHECK(in_a[i] == (i % 2 == 0 ? 7 : 8));
                CHECK(in_b[i] == (i % 2 == 0 ? 8 : before == 1 ? 1 : 8));
            }
        }
    });
}

// A launch that another one replaces, and a slow one that runs while the graph is released.
inline void graph_launches_are_updated_and_finish(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const Slow slow(bench);
        const Kernel kernel = bench.kernel(bench.subject.indices, "indices");
        const Memory out(bench, bench.kinds().front(), 24), other(bench, bench.kinds().front(), 24);
        const ep_range range{1, {1, 1, 1}, {1, 1, 1}};
        std::int64_t offset = 5;
        ep_argument arguments[] = {pointer_argument(out.at()), bytes_argument(offset)};
        ep_node node{EP_NODE_LAUNCH, {}};
        node.of.launch = {kernel.get(), &range, nullptr, arguments, 2};
        GraphHandle graph = graph_of(bench, {node});
        if (!graph)
            return;
        offset = 9;  // copied before
        const Queue queue = bench.queue();
        slow.submit(queue, 1);
        CONTRACT_OK(bench.table.graph_launch(queue.get(), graph.get()));
        arguments[0] = pointer_argument(other.at());
        const ep_status status = bench.table.graph_update(graph.get(), 0, &node);
        if (status == EP_UNSUPPORTED)
            graph = graph_of(bench, {node});
        else
            REQUIRE_MESSAGE(status == EP_OK, last_error());
        CONTRACT_OK(bench.table.graph_launch(queue.get(), graph.get()));
        graph.reset();  // while it runs
        bench.wait(queue);
        CHECK(out.read<std::int64_t>(3)[2] == 5);
        CHECK(other.read<std::int64_t>(3)[2] == 9);
    });
}

inline void impossible_graphs_are_refused(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        if (!graph_of(bench, {}))
            return;
        const Kernel kernel = bench.kernel(bench.subject.indices, "indices");
        const ep_range range{1, {4, 1, 1}, {3, 1, 1}};  // groups that do not divide it
        const std::int64_t offset = 0;
        const ep_argument arguments[] = {pointer_argument(&offset), bytes_argument(offset)};
        ep_node launch{EP_NODE_LAUNCH, {}};
        launch.of.launch = {kernel.get(), &range, nullptr, arguments, 2};
        ep_graph graph = nullptr;
        CONTRACT_REFUSED_AS(EP_INVALID, bench.table.graph_create(bench.context.get(), bench.device,
                                                                 &launch, 1, &graph));
        ep_node unknown{static_cast<ep_node_kind>(7), {}};  // the largest that its type may hold
        CONTRACT_REFUSED_AS(EP_INVALID, bench.table.graph_create(bench.context.get(), bench.device,
                                                                 &unknown, 1, &graph));
        CHECK_MESSAGE(graph == nullptr, "a refused call writes nothing");
    });
}

// ---------------------------------------------------------------- IPC

// One process exports and opens the memory. Tests in Python share it between processes.
inline void ipc_memory_is_opened_or_refused(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        void *shared = nullptr;
        ep_ipc_handle handle{};
        const ep_usm_kind kind = bench.has(EP_USM_DEVICE_ALLOCATIONS) ? EP_USM_DEVICE : EP_USM_HOST;
        if (table.ipc_allocate(bench.context.get(), bench.device, kind, 5000, &shared) ==
            EP_UNSUPPORTED) {
            ep_device device = nullptr;
            const Memory memory(bench, bench.kinds().front(), 100);
            CONTRACT_REFUSED_AS(
                EP_UNSUPPORTED,
                table.ipc_allocate(bench.context.get(), bench.device, kind, 5000, &shared));
            CONTRACT_REFUSED_AS(EP_UNSUPPORTED, table.ipc_export(bench.context.get(), memory.at(),
                                                                 1, EP_IPC_FILE, &handle));
            handle.form = EP_IPC_FILE;
            handle.file = -1;
            handle.size = 100;
            CONTRACT_REFUSED_AS(EP_UNSUPPORTED,
                                table.ipc_open(bench.context.get(), &handle, 1, 0, &shared));
            // The runtime may support handles of memory that other programs allocate.
            CONTRACT_REFUSED(table.ipc_device(&handle, &device));
            CONTRACT_REFUSED(table.ipc_close(bench.context.get(), memory.at()));
            return;
        }
        auto *const first = static_cast<std::byte *>(shared);
        CONTRACT_OK(table.ipc_export(bench.context.get(), first + 100, 1, EP_IPC_ANY, &handle));
        CHECK(handle.form == EP_IPC_FILE);
        CHECK(handle.file >= 0);
        CHECK(handle.size >= 5000);
        CHECK(handle.offset == 100);
        ep_ipc_handle again{};
        CONTRACT_OK(table.ipc_export(bench.context.get(), first, 1, EP_IPC_ANY, &again));
        CHECK_MESSAGE(again.file == handle.file, "one allocation has one file");
        ep_device device = nullptr;
        CONTRACT_OK(table.ipc_device(&handle, &device));
        CHECK(device == bench.device);

        void *opened = nullptr;
        CONTRACT_OK(table.ipc_open(bench.context.get(), &handle, 1, 0, &opened));
        CHECK(opened != shared);
        const std::vector<std::int32_t> values{1, 2, 3};
        std::vector<std::int32_t> found(3);
        const Queue queue = bench.queue();
        CONTRACT_OK(table.memory_copy(queue.get(), shared, values.data(), 12));
        CONTRACT_OK(table.ipc_close(bench.context.get(), shared));
        CONTRACT_OK(table.memory_copy(queue.get(), found.data(), opened, 12));
        bench.wait(queue);
        CHECK_MESSAGE(found == values, "the memory exists while a process has it open");
        void *twice = nullptr;
        CONTRACT_OK(table.ipc_export(bench.context.get(), opened, 1, EP_IPC_FILE, &again));
        CONTRACT_OK(table.ipc_open(bench.context.get(), &again, 1, 1, &twice));
        CONTRACT_OK(table.memory_copy(queue.get(), found.data(), twice, 12));
        bench.wait(queue);
        CHECK(found == values);
        CONTRACT_OK(table.ipc_close(bench.context.get(), twice));

        again.size *= 1000;
        CONTRACT_REFUSED(table.ipc_open(bench.context.get(), &again, 1, 0, &twice));
        again.size = 0;
        CONTRACT_REFUSED(table.ipc_open(bench.context.get(), &again, 1, 0, &twice));
        again = handle;
        for (const std::int32_t file : {-1, 0, 1 << 20}) {
            again.file = file;
            CONTRACT_REFUSED(table.ipc_open(bench.context.get(), &again, 1, 0, &twice));
        }
        again = handle;
        again.form = EP_IPC_FABRIC;  // with a name that does not exist
        CONTRACT_REFUSED(table.ipc_open(bench.context.get(), &again, 1, 0, &twice));
        again.form = 77;
        CONTRACT_REFUSED_AS(EP_INVALID, table.ipc_open(bench.context.get(), &again, 1, 0, &twice));
        again.device[3] ^= 0xff;
        CONTRACT_REFUSED_AS(EP_INVALID, table.ipc_device(&again, &device));
        CONTRACT_OK(table.ipc_close(bench.context.get(), opened));
        CONTRACT_REFUSED_AS(EP_INVALID, table.ipc_close(bench.context.get(), opened));
        CONTRACT_REFUSED_AS(EP_INVALID,
                            table.ipc_open(bench.context.get(), &handle, 0, 0, &opened));

        const Memory ordinary(bench, bench.kinds().front(), 100);
        CONTRACT_REFUSED_AS(EP_UNSUPPORTED, table.ipc_export(bench.context.get(), ordinary.at(), 1,
                                                             EP_IPC_ANY, &handle));
        CONTRACT_REFUSED_AS(EP_OUT_OF_MEMORY,
                            table.ipc_allocate(bench.context.get(), bench.device, kind,
                                               std::size_t{1} << 60, &shared));
    });
}

// Memory of several allocations, as another library maps them. The host's memory is one.
inline void ipc_allocations_are_opened_one_after_the_other(const Subject &subject) {
    on_each_device(subject, [&subject](const Bench &bench) {
        const ep_backend &table = bench.table;
        void *parts[2] = {};
        ep_ipc_handle handles[2]{};
        for (std::size_t i = 0; i < 2; ++i) {
            if (table.ipc_allocate(bench.context.get(), bench.device, EP_USM_DEVICE, 5000,
                                   &parts[i]) == EP_UNSUPPORTED)
                return;
            CONTRACT_OK(
                table.ipc_export(bench.context.get(), parts[i], 1, EP_IPC_ANY, &handles[i]));
        }
        void *opened = nullptr;
        const ep_status status = table.ipc_open(bench.context.get(), handles, 2, 0, &opened);
        if (!subject.query_tells_kind) {
            CHECK(status == EP_INVALID);
        } else {
            CONTRACT_OK(status);
            const std::vector<std::int32_t> values{1, 2, 3};
            std::vector<std::int32_t> found(3);
            const Queue queue = bench.queue();
            auto *const second = static_cast<std::byte *>(opened) + handles[0].size;
            CONTRACT_OK(table.memory_copy(queue.get(), second - 4, values.data(), 12));
            CONTRACT_OK(table.memory_copy(queue.get(), found.data(), parts[1], 8));
            bench.wait(queue);
            CHECK(found == std::vector<std::int32_t>{2, 3, 0});
            // Each allocation is exported again by itself, with a file for the caller.
            ep_ipc_handle again{};
            CONTRACT_OK(table.ipc_export(bench.context.get(), second + 8, 1, EP_IPC_ANY, &again));
            CHECK(again.size == handles[1].size);
            CHECK(again.offset == 8);
            CHECK(again.owns_file == 1);
            close(again.file);
            CONTRACT_OK(table.ipc_close(bench.context.get(), opened));
        }
        for (void *const part : parts)
            CONTRACT_OK(table.ipc_close(bench.context.get(), part));
    });
}

// One process records and opens the event. Tests in Python do that in two.
inline void ipc_event_is_opened_or_refused(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const Queue first = bench.queue(), second = bench.queue();
        ep_ipc_event shared{};
        ep_event event = nullptr;
        if (table.ipc_event_record(first.get(), &shared) == EP_UNSUPPORTED) {
            CONTRACT_REFUSED_AS(EP_UNSUPPORTED, table.ipc_event_record(first.get(), &shared));
            CONTRACT_REFUSED_AS(EP_UNSUPPORTED,
                                table.ipc_event_open(bench.context.get(), &shared, &event));
            return;
        }
        for (int i = 0; i < 300; ++i) {  // more than a backend pools
            CONTRACT_OK(table.ipc_event_record(first.get(), &shared));
            CHECK(shared.file >= 0);
            CHECK(shared.process == getpid());
            CONTRACT_OK(table.ipc_event_open(bench.context.get(), &shared, &event));
            CONTRACT_OK(table.event_wait_in_queue(second.get(), event));
            if (i % 100 == 0) {
                std::int32_t is_done = 0;
                CONTRACT_OK(table.event_wait(event));
                CONTRACT_OK(table.event_is_done(event, &is_done));
                CHECK(is_done == 1);
            }
            table.event_release(event);
        }
        bench.wait(first);
        bench.wait(second);
        ep_ipc_event wrong = shared;
        wrong.name_size = 3;
        CONTRACT_REFUSED_AS(EP_INVALID, table.ipc_event_open(bench.context.get(), &wrong, &event));
        wrong = shared;
        wrong.file = -1;
        CONTRACT_REFUSED_AS(EP_INVALID, table.ipc_event_open(bench.context.get(), &wrong, &event));
    });
}

// ---------------------------------------------------------------- threads

inline void threads_share_a_device(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const Queue shared = bench.queue();
        std::atomic<int> failures = 0;  // doctest's assertions would serialize the threads
        const auto body = [&](int number) {
            const auto expect = [&](bool truth) { failures += !truth; };
            std::mt19937 random(static_cast<unsigned>(number));
            ep_queue queue = nullptr;
            expect(table.queue_create(bench.context.get(), bench.device, 0, &queue) == EP_OK);
            const ep_queue ordered = bench.has(EP_ORDERED_FREE) ? queue : nullptr;
            for (int round = 0; round < 200; ++round) {
                const std::size_t count = 1 + random() % 3000;
                const ep_usm_kind kind = bench.kinds()[random() % bench.kinds().size()];
                void *a = nullptr, *b = nullptr;
                expect(table.memory_allocate(bench.context.get(), bench.device, kind, count * 4, 0,
                                             ordered, &a) == EP_OK);
                expect(table.memory_allocate(bench.context.get(), bench.device, kind, count * 4, 64,
                                             ordered, &b) == EP_OK);
                const auto item = static_cast<std::uint32_t>(random());
                expect(table.memory_fill(queue, a, &item, 4, count) == EP_OK);
                ep_event filled = nullptr, copied = nullptr;
                expect(table.event_record(queue, 0, &filled) == EP_OK);
                expect(table.event_wait_in_queue(shared.get(), filled) == EP_OK);
                expect(table.memory_copy(shared.get(), b, a, count * 4) == EP_OK);
                expect(table.event_record(shared.get(), 0, &copied) == EP_OK);
                expect(table.event_wait_in_queue(queue, copied) == EP_OK);
                std::vector<std::uint32_t> out(count);
                expect(table.memory_copy(queue, out.data(), b, count * 4) == EP_OK);
                expect(table.queue_wait(queue) == EP_OK);
                expect(out == std::vector<std::uint32_t>(count, item));
                table.event_release(filled);
                table.event_release(copied);
                expect(table.memory_free(bench.context.get(), a, ordered) == EP_OK);
                expect(table.memory_free(bench.context.get(), b, ordered) == EP_OK);
            }
            table.queue_release(queue);
        };
        std::vector<std::thread> threads;
        for (int number = 0; number < 8; ++number)
            threads.emplace_back(body, number);
        for (auto &thread : threads)
            thread.join();
        CHECK(failures == 0);
    });
}

// Waits in own and in exported queues: before any submission, after work with an event, and after
// work without one.
inline void queue_wait_submitted_covers_own_work(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        for (const bool shared : {false, true})
            for (const std::uint32_t flags :
                 {std::uint32_t{0}, static_cast<std::uint32_t>(EP_QUEUE_OUT_OF_ORDER)}) {
                const Queue queue = bench.queue(flags);
                void *native = nullptr;
                if (shared)
                    CONTRACT_OK(table.queue_native(queue.get(), &native));
                CONTRACT_OK(table.queue_wait_submitted(queue.get()));
                const std::size_t count = 4 << 20;
                const Memory memory(bench, bench.kinds().front(), count);
                std::vector<unsigned char> bytes(count);
                for (unsigned char item = 1; item < 4; ++item) {
                    CONTRACT_OK(table.memory_fill(queue.get(), memory.at(), &item, 1, count));
                    if (item == 2)
                        CONTRACT_OK(table.queue_wait_submitted(queue.get()));
                    CONTRACT_OK(table.memory_copy(queue.get(), bytes.data(), memory.at(), count));
                    CONTRACT_OK(table.queue_wait_submitted(queue.get()));
                    CHECK((bytes.front() == item && bytes.back() == item));
                    std::int32_t idle = 0;
                    CONTRACT_OK(table.queue_is_idle(queue.get(), &idle));
                    CHECK(idle == 1);
                }
            }
    });
}

inline void threads_share_a_queue(const Subject &subject) {
    on_each_device(subject, [](const Bench &bench) {
        const ep_backend &table = bench.table;
        const ep_usm_kind kind = bench.kinds().front();
        for (const std::uint32_t flags :
             {std::uint32_t{0}, static_cast<std::uint32_t>(EP_QUEUE_OUT_OF_ORDER)}) {
            const Queue shared = bench.queue(flags);
            std::atomic<int> failures = 0;
            const auto body = [&](bool asks) {
                const Memory memory(bench, kind, 4096);
                for (int round = 0; round < 2000; ++round) {
                    std::int32_t idle = 0;
                    const std::uint32_t item = 7;
                    failures += asks ? table.queue_is_idle(shared.get(), &idle) != EP_OK
                                     : table.memory_fill(shared.get(), memory.at(), &item, 4,
                                                         1024) != EP_OK;
                    if (round % 50 == 0)
                        failures += table.queue_wait(shared.get()) != EP_OK;
                }
                failures += table.queue_wait(shared.get()) != EP_OK;
            };
            std::vector<std::thread> threads;
            for (int number = 0; number < 8; ++number)
                threads.emplace_back(body, number % 2 == 0);
            for (auto &thread : threads)
                thread.join();
            CHECK(failures == 0);
        }
    });
}

}  // namespace entrepot::contract

// Defines a test case for each clause. Its name contains the backend's name.
#define ENTREPOT_BACKEND_CONTRACT(NAME, SUBJECT)                                                   \
    CONTRACT_CASE(NAME, SUBJECT, device_info_is_complete)                                          \
    CONTRACT_CASE(NAME, SUBJECT, device_partition_returns_sub_devices)                             \
    CONTRACT_CASE(NAME, SUBJECT, context_has_one_handle_and_its_devices)                           \
    CONTRACT_CASE(NAME, SUBJECT, queue_reports_context_device_and_flags)                           \
    CONTRACT_CASE(NAME, SUBJECT, error_message_ignores_locale)                                     \
    CONTRACT_CASE(NAME, SUBJECT, submission_does_not_block)                                        \
    CONTRACT_CASE(NAME, SUBJECT, released_queue_finishes_its_work)                                 \
    CONTRACT_CASE(NAME, SUBJECT, event_of_idle_queue_is_done)                                      \
    CONTRACT_CASE(NAME, SUBJECT, events_order_work_across_queues)                                  \
    CONTRACT_CASE(NAME, SUBJECT, queue_wait_queue_orders_work)                                     \
    CONTRACT_CASE(NAME, SUBJECT, profiling_events_have_times)                                      \
    CONTRACT_CASE(NAME, SUBJECT, allocations_have_the_requested_alignment)                         \
    CONTRACT_CASE(NAME, SUBJECT, trim_keeps_memory_in_use)                                         \
    CONTRACT_CASE(NAME, SUBJECT, pinned_host_memory_is_used_in_place)                              \
    CONTRACT_CASE(NAME, SUBJECT, query_reports_kind_and_range)                                     \
    CONTRACT_CASE(NAME, SUBJECT, queue_wait_submitted_covers_own_work)                             \
    CONTRACT_CASE(NAME, SUBJECT, impossible_allocations_are_refused)                               \
    CONTRACT_CASE(NAME, SUBJECT, copies_transfer_all_bytes)                                        \
    CONTRACT_CASE(NAME, SUBJECT, fills_repeat_an_item)                                             \
    CONTRACT_CASE(NAME, SUBJECT, strided_copies_follow_their_layouts)                              \
    CONTRACT_CASE(NAME, SUBJECT, strided_fills_follow_their_layouts)                               \
    CONTRACT_CASE(NAME, SUBJECT, impossible_boxes_are_refused)                                     \
    CONTRACT_CASE(NAME, SUBJECT, program_builds_or_logs_errors)                                    \
    CONTRACT_CASE(NAME, SUBJECT, launches_number_their_work_items)                                 \
    CONTRACT_CASE(NAME, SUBJECT, impossible_launches_are_refused)                                  \
    CONTRACT_CASE(NAME, SUBJECT, groups_share_local_memory)                                        \
    CONTRACT_CASE(NAME, SUBJECT, submissions_copy_their_arguments)                                 \
    CONTRACT_CASE(NAME, SUBJECT, captured_work_runs_with_its_graph)                                \
    CONTRACT_CASE(NAME, SUBJECT, graph_nodes_run_in_order_at_each_launch)                          \
    CONTRACT_CASE(NAME, SUBJECT, graph_launches_are_updated_and_finish)                            \
    CONTRACT_CASE(NAME, SUBJECT, impossible_graphs_are_refused)                                    \
    CONTRACT_CASE(NAME, SUBJECT, ipc_memory_is_opened_or_refused)                                  \
    CONTRACT_CASE(NAME, SUBJECT, ipc_allocations_are_opened_one_after_the_other)                   \
    CONTRACT_CASE(NAME, SUBJECT, ipc_event_is_opened_or_refused)                                   \
    CONTRACT_CASE(NAME, SUBJECT, threads_share_a_device)                                           \
    CONTRACT_CASE(NAME, SUBJECT, threads_share_a_queue)

#define CONTRACT_CASE(NAME, SUBJECT, CLAUSE)                                                       \
    TEST_CASE(NAME " backend: " #CLAUSE) { ::entrepot::contract::CLAUSE(SUBJECT); }
