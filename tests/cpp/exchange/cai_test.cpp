// CAI below Python: driver queries, refusals, stream order. SYCL's and CUDA's fakes claim every
// pointer.
#include "core/refusal.hpp"
#include "exchange/fake_cuda.hpp"

#include <entrepot/array/pin.hpp>
#include <entrepot/exchange/cai.hpp>
#include <entrepot/exchange/stream.hpp>
#include <entrepot/memory/operation.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace entrepot;

namespace {

// An allocation and a dict about it: sixteen floats, four rows. Tests change its fields, which are
// the dict's.
struct Producer {
    fake::Claimed memory;
    std::vector<std::int64_t> shape{4, 4}, strides;
    int released = 0;
    cai::Descriptor descriptor;

    explicit Producer(ep_usm_kind kind = EP_USM_DEVICE, std::uint32_t device = 0)
        : memory(kind, device) {
        descriptor.data = memory.data;
        descriptor.dtype = dtypes::float32;
    }

    Array take() {
        descriptor.shape = shape;
        descriptor.strides = strides.empty() ? nullptr : strides.data();
        return cai::verify(
            descriptor, Owner(this, [](void *self) { ++static_cast<Producer *>(self)->released; }));
    }
};

}  // namespace

TEST_CASE("memory known to SYCL and CUDA is imported by CUDA") {
    for (const std::uint32_t device : {0u, 1u})
        for (const ep_usm_kind kind : {EP_USM_DEVICE, EP_USM_SHARED}) {
            Producer producer(kind, device);
            {
                const Array array = producer.take();
                CHECK(array.data() == producer.memory.data);
                CHECK(array.kind() == static_cast<UsmKind>(kind));
                CHECK(&array.device().backend() == &fake::cuda());
                CHECK(array.device() == fake::cuda_device(device));
                CHECK(array.context() == array.device().default_context());
                CHECK(array.layout() == Layout{4, 4});
                CHECK(producer.released == 0);
            }
            CHECK(producer.released == 1);
        }
}

TEST_CASE("byte strides may be negative; all elements must be inside") {
    Producer producer;
    producer.descriptor.data = producer.memory.data + 15;
    producer.strides = {-16, -4};
    const Array array = producer.take();
    CHECK(array.strides()[0] == -4);
    CHECK(array.memory().data() == producer.memory.data);

    producer.descriptor.data = producer.memory.data + 16;
    CHECK_REFUSED(ErrorKind::interface, "'strides' are in bytes", producer.take());
    producer.strides = {6, 4};
    CHECK_REFUSED(ErrorKind::interface, "no multiple of the item size", producer.take());
    CHECK(producer.released == 2);
}

TEST_CASE("unknown pointer is refused, empty memory is not queried") {
    Producer producer;
    float host[16];
    producer.descriptor.data = host;
    CHECK_REFUSED(ErrorKind::interface, "unknown to CUDA's driver", producer.take());
    producer.descriptor.data = nullptr;
    CHECK_REFUSED(ErrorKind::interface, "unknown to CUDA's driver", producer.take());
    CHECK(producer.released == 2);

    producer.shape = {0, 4};
    const int asked = fake::world().calls.memory_query;
    const Array empty = producer.take();
    CHECK(empty.size() == 0);
    CHECK(&empty.device().backend() == &fake::cuda());
    CHECK(fake::world().calls.memory_query == asked);
}

TEST_CASE("misaligned items are refused") {
    Producer producer;
    producer.descriptor.data = reinterpret_cast<char *>(producer.memory.data) + 1;
    producer.shape = {2, 2};
    CHECK_REFUSED(ErrorKind::interface, "not aligned", producer.take());
}

TEST_CASE("stream 0 is refused before anything else happens") {
    Producer producer;
    producer.descriptor.stream = 0;
    const int wrapped = fake::streams().wrapped;
    CHECK_REFUSED(ErrorKind::interface, "may mean two streams", producer.take());
    CHECK(fake::streams().wrapped == wrapped);
    CHECK(producer.released == 1);
}

TEST_CASE("accesses wait for each kind of the producer's stream") {
    const Queue ours = fake::cuda_device().default_queue();
    Queue theirs = Queue::create(fake::cuda_device());
    for (const std::uintptr_t stream :
         {std::uintptr_t{1}, std::uintptr_t{2}, exchange::stream_of(theirs)}) {
        const Queue far =
            stream > 2 ? theirs : exchange::queue_of_stream(fake::cuda_device(), stream);
        Producer producer;
        producer.descriptor.stream = stream;
        fake::hold(far);
        fake::submit(far);
        const Array array = producer.take();
        CHECK_FALSE(array.memory().is_ready_for_host(Access::read));
        array.memory().wait_for_conflicts(Access::read, ours);
        CHECK_FALSE(ours.is_done(ours.position()));
        fake::release(far);
        CHECK(array.memory().is_ready_for_host(Access::read));
        CHECK(ours.is_done(ours.position()));
    }
}

TEST_CASE("named stream is the owner's queue until the release") {
    const Queue ours = fake::cuda_device().default_queue();
    Queue theirs = Queue::create(fake::cuda_device());
    Producer producer;
    producer.descriptor.stream = exchange::stream_of(theirs);
    std::optional<Array> array = producer.take();
    CHECK(array->queue() == theirs);

    fake::hold(theirs);
    fake::submit(theirs);  // after the import
    CHECK_FALSE(array->memory().is_ready_for_host(Access::read));
    Operation(ours).wait_for_conflicts(Access::read, array->memory());
    CHECK_FALSE(ours.is_done(ours.position()));
    fake::release(theirs);
    CHECK(ours.is_done(ours.position()));

    const int alive = fake::world().alive.queues;
    theirs = {};
    // The object owns its stream, and the memory owns the object.
    CHECK(fake::world().alive.queues == alive);
    array.reset();
    CHECK(producer.released == 1);
    CHECK(fake::world().alive.queues == alive - 1);
}

TEST_CASE("memory without a stream has no wait, release never blocks") {
    Producer producer;
    CHECK(producer.take().memory().has_no_pending_access());
    producer.descriptor.stream = 1;
    const Queue legacy = legacy_stream_of(fake::cuda_device());
    fake::hold(legacy);
    fake::submit(legacy);
    producer.released = 0;
    producer.take();
    CHECK(producer.released == 1);
    fake::release(legacy);
}

TEST_CASE("consumer receives the array's queue only if work is pending") {
    const fake::Claimed memory(EP_USM_DEVICE);
    const Array array = memory.array(UsmKind::device);
    CHECK(cai::stream_for_consumer(array) == std::nullopt);
    CHECK(array.memory().has_escaped());

    const Queue ours = array.queue(), other = Queue::create(memory.device);
    fake::hold(other);
    array.memory().record_access(Access::write, other, fake::submit(other));
    const auto stream = cai::stream_for_consumer(array);
    REQUIRE(stream.has_value());
    CHECK(*stream == exchange::stream_of(ours));
    CHECK_FALSE(ours.is_done(ours.position()));  // it waits for the other
    fake::release(other);
    CHECK(cai::stream_for_consumer(array) == std::nullopt);
}

TEST_CASE("later work waits for a consumer on the stream in the dict") {
    const fake::Claimed memory(EP_USM_DEVICE);
    const Array array = memory.array(UsmKind::device);
    const Queue ours = array.queue(), other = Queue::create(memory.device);
    fake::hold(ours);
    array.memory().record_access(Access::write, ours, fake::submit(ours));
    REQUIRE(cai::stream_for_consumer(array) == exchange::stream_of(ours));
    fake::release(ours);

    // The library does not see what the consumer submits to the stream in the dict.
    fake::hold(ours);
    bool consumed = false, ordered = false;
    {
        const std::unique_lock locked(fake::world().mutex);
        fake::enqueue(fake::world(), ours.handle(), [&] { consumed = true; });
    }
    Operation(other).wait_for_conflicts(Access::write, array.memory());
    fake::submit(other, [&] { ordered = consumed; });
    CHECK_FALSE(other.is_done(other.position()));
    fake::release(ours);
    CHECK(ordered);
}

TEST_CASE("pinned memory of the host is exported with a queue of its device") {
    const Array source = Array::empty(Layout{3}.shape(), dtypes::float32, UsmKind::host,
                                      registry::host().default_queue());
    const Array pinned = pin(source, fake::cuda_device(1));
    CHECK(cai::stream_for_consumer(pinned) == std::nullopt);
    CHECK(source.memory().has_peers());

    const Queue other = Queue::create(fake::cuda_device(1));
    fake::hold(other);
    source.memory().record_access(Access::write, other, fake::submit(other));
    const Queue ours = pinned.queue();
    CHECK(cai::stream_for_consumer(pinned) == exchange::stream_of(ours));
    CHECK_FALSE(ours.is_done(ours.position()));  // it waits for the other
    CHECK_FALSE(source.memory().is_ready_for_host(Access::read));
    fake::release(other);
    CHECK(source.memory().is_ready_for_host(Access::read));
}

TEST_CASE("memory of another backend has no CUDA array interface") {
    const Array host = Array::empty(Layout{3}.shape(), dtypes::float32, UsmKind::host,
                                    registry::host().default_queue());
    CHECK_REFUSED(ErrorKind::interface, "memory of CUDA and HIP devices only",
                  cai::stream_for_consumer(host));
    const fake::Claimed pinned(EP_USM_HOST);
    CHECK_REFUSED(ErrorKind::interface, "memory of CUDA and HIP devices only",
                  cai::stream_for_consumer(pinned.array(UsmKind::host).host()));
}
