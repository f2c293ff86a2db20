// SUAI below Python: driver queries, refusals, order of work. The fake backend stands for SYCL.
#include "core/refusal.hpp"
#include "fake_backend.hpp"

#include <entrepot/exchange/suai.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

using namespace entrepot;

namespace {

const Backend &sycl() {
    fake::world().name = "sycl";
    return fake::backend();
}

// An allocation and a dict about it: sixteen floats, four rows. Tests change its fields, which are
// the dict's.
struct Producer {
    Device device = (sycl(), fake::device(0));
    Context context = device.default_context();
    float *data = nullptr;
    std::vector<std::int64_t> shape{4, 4}, strides;
    int released = 0;
    suai::Descriptor descriptor;

    explicit Producer(ep_usm_kind kind = EP_USM_SHARED, const Context &in = {}) {
        if (in)
            context = in;
        void *block = nullptr;
        sycl().call(&ep_backend::memory_allocate, context.handle(), device.handle(), kind,
                    16 * sizeof(float), 0, nullptr, &block);
        data = static_cast<float *>(block);
        descriptor.data = data;
        descriptor.typestr = "<f4";
        descriptor.context = context;
    }
    ~Producer() { sycl().api().memory_free(context.handle(), data, nullptr); }

    Array take() {
        descriptor.shape = shape;
        descriptor.strides = strides.empty() ? nullptr : strides.data();
        return suai::verify(
            descriptor, Owner(this, [](void *self) { ++static_cast<Producer *>(self)->released; }));
    }
};

}  // namespace

TEST_CASE("memory is used in place with its kind, and released once") {
    for (const ep_usm_kind kind : {EP_USM_HOST, EP_USM_DEVICE, EP_USM_SHARED}) {
        Producer producer(kind);
        {
            const Array array = producer.take();
            CHECK(array.data() == producer.data);
            CHECK(array.kind() == static_cast<UsmKind>(kind));
            CHECK(array.device() == producer.device);
            CHECK(array.context() == producer.context);
            CHECK(array.dtype() == dtypes::float32);
            CHECK(array.layout() == Layout{4, 4});
            const Array view = array.transposed({});
            CHECK(producer.released == 0);
        }
        CHECK(producer.released == 1);
    }
}

TEST_CASE("strides and offset are in elements") {
    Producer producer;
    producer.shape = {3, 2};
    producer.strides = {-4, 2};
    producer.descriptor.offset = 9;
    const Array array = producer.take();
    CHECK(array.data() == producer.data + 9);
    CHECK(array.memory().data() == producer.data + 1);
    CHECK(array.memory().nbytes() == 11 * sizeof(float));

    producer.descriptor.data = producer.data + 9;
    producer.descriptor.offset = 0;
    CHECK(producer.take().memory().data() == producer.data + 1);
}

TEST_CASE("both ends of the memory are checked") {
    Producer producer;
    SUBCASE("element past the end") { producer.shape = {17}; }
    SUBCASE("offset in bytes") { producer.descriptor.offset = 4 * sizeof(float); }
    SUBCASE("strides in bytes") { producer.strides = {16, 4}; }
    SUBCASE("below the allocation") { producer.descriptor.offset = -1; }
    SUBCASE("negative strides out of the allocation") { producer.strides = {-4, 1}; }
    const auto refusal = refusal_of([&] { producer.take(); });
    REQUIRE(refusal);
    CHECK(refusal->kind == ErrorKind::interface);
    CHECK_MESSAGE((refusal->says("in elements, not bytes") || refusal->says("is not USM memory")),
                  refusal->message);
    CHECK(producer.released == 1);
}

TEST_CASE("kind is queried once, on demand") {
    Producer producer(EP_USM_DEVICE);
    const int asked = fake::world().calls.memory_query;
    const Array array = producer.take(), view = array;
    CHECK(fake::world().calls.memory_query == asked + 1);
    CHECK(view.kind() == UsmKind::device);
    CHECK(array.kind() == UsmKind::device);
    CHECK_FALSE(array.is_host_accessible());
    CHECK(fake::world().calls.memory_query == asked + 2);
}

TEST_CASE("pointer of another context is refused") {
    Producer producer;
    const std::vector<Device> halves = producer.device.partition_equally(2);
    producer.descriptor.context = Context::create({&halves[0], 1});
    CHECK_REFUSED(ErrorKind::interface, "bound to another context", producer.take());
    CHECK(producer.released == 1);
}

TEST_CASE("memory of a sub-device's context is of the sub-device") {
    Producer probe;
    const std::vector<Device> halves = probe.device.partition_equally(2);
    const Context context = Context::create({&halves[1], 1});
    Producer producer(EP_USM_DEVICE, context);
    CHECK(producer.take().device() == halves[1]);
    CHECK(producer.take().context() == context);
}

TEST_CASE("empty memory is not queried") {
    Producer producer;
    producer.shape = {0, 3};
    producer.descriptor.data = reinterpret_cast<void *>(3);
    const int asked = fake::world().calls.memory_query;
    const Array array = producer.take();
    CHECK(fake::world().calls.memory_query == asked);
    CHECK(array.size() == 0);
    CHECK(array.device() == producer.device);
    CHECK(array.shape()[1] == 3);
}

TEST_CASE("scalar has one element") {
    Producer producer;
    producer.shape = {};
    CHECK(producer.take().size() == 1);
    CHECK(producer.take().memory().nbytes() == sizeof(float));
}

TEST_CASE("malformed input is refused and released once") {
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    struct Row {
        const char *words;
        void (*bend)(Producer &);
    };
    const Row rows[] = {
        {"typestr 'O8'", [](Producer &p) { p.descriptor.typestr = "O8"; }},
        {"Python objects", [](Producer &p) { p.descriptor.typestr = "|O8"; }},
        {"swapped", [](Producer &p) { p.descriptor.typestr = ">f4"; }},
        {"negative", [](Producer &p) { p.shape = {-4, 4}; }},
        {"too many elements", [](Producer &p) { p.shape = {huge, huge}; }},
        {"64 bits", [](Producer &p) { p.strides = {huge, huge}; }},
        {"the allocation there has 64 bytes", [](Producer &p) { p.strides = {huge / 8, 1}; }},
        {"address space", [](Producer &p) { p.strides = {-huge / 8, 1}; }},
        {"64 bits", [](Producer &p) { p.strides = {huge / 2, 1}; }},
        {"address space",
         [](Producer &p) { p.descriptor.offset = std::numeric_limits<std::int64_t>::max(); }},
        {"dimensions", [](Producer &p) { p.shape = std::vector<std::int64_t>(65, 1); }},
        {"not aligned",
         [](Producer &p) {
             p.descriptor.data = reinterpret_cast<char *>(p.data) + 2;
             p.shape = {1};
         }},
        {"not USM memory", [](Producer &p) { p.descriptor.data = nullptr; }},
        {"'syclobj' is missing", [](Producer &p) { p.descriptor.context = {}; }},
    };
    for (const Row &row : rows) {
        CAPTURE(row.words);
        Producer producer;
        row.bend(producer);
        CHECK_REFUSED(ErrorKind::interface, row.words, producer.take());
        CHECK(producer.released == 1);
    }
}

TEST_CASE("array has the producer's queue, and other queues wait") {
    Producer producer;
    const Queue theirs = Queue::create(producer.device, {false, true});
    producer.descriptor.queue = theirs;
    fake::hold(theirs);
    bool written = false;
    fake::submit(theirs, [&] { written = true; });

    const int marks = fake::world().calls.event_record;
    const Array array = producer.take();
    CHECK(array.queue() == theirs);
    CHECK(fake::world().calls.event_record == marks);  // nothing was ordered yet

    const Queue ours = Queue::create(producer.device);
    array.memory().wait_for_conflicts(Access::read, ours);
    bool read_after_write = false;
    fake::submit(ours, [&] { read_after_write = written; });
    CHECK_FALSE(array.memory().is_ready_for_host(Access::read));
    fake::release(theirs);
    ours.wait();
    CHECK(read_after_write);
    CHECK(array.memory().is_ready_for_host(Access::read));
}

TEST_CASE("buffer of an object may replace the pointer") {
    Producer producer;
    producer.descriptor.buffer_bytes = 16 * sizeof(float);
    SUBCASE("USM") { CHECK(producer.take().kind() == UsmKind::shared); }
    SUBCASE("unknown to the context: host memory") {
        alignas(4) char bytes[64];
        producer.descriptor.data = bytes;
        const Array array = producer.take();
        CHECK(array.data() == bytes);
        CHECK(array.device() == registry::host());
    }
    SUBCASE("missing context") {
        producer.descriptor.context = {};
        CHECK(producer.take().device() == registry::host());
    }
    SUBCASE("offset past the end") {
        producer.descriptor.offset = 1;
        CHECK_REFUSED(ErrorKind::interface, "leave it", producer.take());
    }
    SUBCASE("offset before the beginning") {
        producer.descriptor.offset = -1;
        CHECK_REFUSED(ErrorKind::interface, "leave it", producer.take());
    }
}

TEST_CASE("queue for consumer: consumer waits, later work waits for consumer") {
    sycl();
    const Device device = fake::device(0);
    const Queue busy = Queue::create(device), own = Queue::create(device);
    const Array array = Array::empty(Layout{4}.shape(), dtypes::float32, UsmKind::device, own);
    fake::hold(busy);
    bool written = false;
    array.memory().wait_for_conflicts(Access::write, busy);
    array.memory().record_access(Access::write, busy, fake::submit(busy, [&] { written = true; }));

    const Queue given = suai::queue_for_consumer(array);
    CHECK(given == own);
    CHECK(array.memory().has_escaped());
    bool consumer_saw = false;
    fake::submit(given, [&] { consumer_saw = written; });
    bool later_saw = false;
    array.memory().wait_for_conflicts(Access::read, busy);
    fake::submit(busy, [&] { later_saw = consumer_saw; });
    fake::release(busy);
    busy.wait();
    CHECK(consumer_saw);
    CHECK(later_saw);
}

TEST_CASE("queue for consumer: memory of its own context gets one in-order queue") {
    Producer probe;
    const std::vector<Device> halves = probe.device.partition_equally(2);
    const Context context = Context::create({&halves[0], 1});
    Producer producer(EP_USM_SHARED, context);
    const Array array = producer.take();
    const Queue given = suai::queue_for_consumer(array);
    CHECK(given.context() == context);
    CHECK(given.is_in_order());
    CHECK(suai::queue_for_consumer(array) == given);
}

TEST_CASE("queue for consumer: memory of the host is refused") {
    const Array host = Array::empty(Layout{4}.shape(), dtypes::float32, UsmKind::host,
                                    registry::host().default_queue());
    CHECK_REFUSED(ErrorKind::interface, "SYCL USM only", suai::queue_for_consumer(host));
    Producer producer;
    CHECK_REFUSED(ErrorKind::interface, "SYCL USM only",
                  suai::queue_for_consumer(producer.take().host()));
}
