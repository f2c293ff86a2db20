// Addresses below Python: driver queries, refusals, release of the owner. SYCL's and CUDA's fakes
// claim all their pointers.
#include "core/refusal.hpp"
#include "exchange/fake_cuda.hpp"

#include "exchange/address.hpp"
#include "memory/release.hpp"

#include <doctest/doctest.h>

using namespace entrepot;

namespace {

// Sixteen floats of a caller, and a count of releases. Tests change fields of `what`.
struct Caller {
    fake::Claimed memory;
    address::Descriptor what;
    int released = 0;

    explicit Caller(ep_usm_kind kind = EP_USM_DEVICE, std::uint32_t device = 0)
        : memory(kind, device) {
        what.data = memory.data;
        what.dtype = dtypes::float32;
        what.layout = Layout{4, 4};
    }

    Array take() {
        return address::verify(
            what, Owner(this, [](void *self) { ++static_cast<Caller *>(self)->released; }));
    }
};

}  // namespace

TEST_CASE("address has the kind and device reported by the driver") {
    for (const std::uint32_t device : {0u, 1u})
        for (const ep_usm_kind kind : {EP_USM_DEVICE, EP_USM_SHARED, EP_USM_HOST}) {
            Caller caller(kind, device);
            caller.what.device = fake::cuda_device(device);
            {
                const Array array = caller.take();
                CHECK(array.data() == caller.memory.data);
                CHECK(array.kind() == static_cast<UsmKind>(kind));
                CHECK(array.device() == fake::cuda_device(device));
                CHECK(array.context() == array.device().default_context());
                const Array view = array.reshaped(std::array<std::int64_t, 1>{16});
                CHECK(caller.released == 0);
            }
            CHECK(caller.released == 1);
        }
}

TEST_CASE("drivers are queried in order without a device") {
    Caller caller(EP_USM_SHARED);
    const Array array = caller.take();
    CHECK(array.kind() == UsmKind::shared);
    CHECK_FALSE(array.device().backend().is_host());

    alignas(16) float host[16];
    caller.what.data = host;
    CHECK(caller.take().device() == registry::host());
    CHECK(caller.released == 1);
}

TEST_CASE("memory of another device is refused with both names") {
    Caller caller(EP_USM_DEVICE, 1);
    caller.what.device = fake::cuda_device(0);
    CHECK_REFUSED(ErrorKind::exchange, "is device memory of opencl:gpu:0", caller.take());
    CHECK_REFUSED(ErrorKind::exchange, "memory of opencl:cpu:0 was asked for", caller.take());
    caller.what.device = registry::host();
    CHECK_REFUSED(ErrorKind::exchange, "memory of host was asked for", caller.take());
    CHECK(caller.released == 3);
}

TEST_CASE("host-accessible memory may be imported as the host's") {
    Caller caller(EP_USM_SHARED);
    caller.what.device = registry::host();
    const Array array = caller.take();
    CHECK(array.device() == registry::host());
    CHECK(array.kind() == UsmKind::host);
    CHECK_FALSE(array.memory().device().backend().is_host());
}

TEST_CASE("unknown address or outside elements are refused") {
    Caller caller;
    caller.what.device = fake::cuda_device(0);
    caller.what.layout = Layout{4, 5};
    CHECK_REFUSED(ErrorKind::exchange, "need the 80 bytes", caller.take());
    alignas(16) float host[16];
    caller.what.data = host;
    CHECK_REFUSED(ErrorKind::exchange, "unknown in", caller.take());
    CHECK(caller.released == 2);
}

TEST_CASE("invalid description is a ValueError without a query") {
    Caller caller;
    const int asked = fake::world().calls.memory_query;
    caller.what.layout = Layout(std::array<std::int64_t, 1>{4}, std::array<std::int64_t, 1>{-1});
    CHECK_REFUSED(ErrorKind::value, "begin 12 bytes below the address", caller.take());
    caller.what.layout = Layout{4};
    caller.what.data = reinterpret_cast<std::byte *>(caller.memory.data) + 2;
    CHECK_REFUSED(ErrorKind::value, "not aligned", caller.take());
    caller.what.data = nullptr;
    CHECK_REFUSED(ErrorKind::value, "the address is 0", caller.take());
    CHECK(caller.released == 3);

    caller.what.layout = Layout{0, 4};
    caller.what.device = fake::cuda_device(1);
    CHECK(caller.take().device() == fake::cuda_device(1));
    CHECK(caller.released == 4);
    CHECK(fake::world().calls.memory_query == asked);
}

TEST_CASE("pending work of the queue delays the release of the owner") {
    Caller caller(EP_USM_SHARED);
    const Queue queue =
        Queue::internal_for_context(caller.memory.device.default_context(), caller.memory.device);
    caller.what.queue = queue;
    caller.what.device = queue.device();
    fake::hold(queue);
    fake::submit(queue);
    {
        const Array array = caller.take();
        CHECK(array.queue() == queue);
        CHECK_FALSE(array.memory().has_no_pending_access());
    }
    release_finished();
    CHECK(caller.released == 0);
    fake::release(queue);
    release_finished();
    CHECK(caller.released == 1);
}

TEST_CASE("pending work of a host queue delays the release of the owner") {
    Caller caller;
    alignas(16) float memory[16];
    caller.what.data = memory;
    caller.what.queue = Queue::create(registry::host());
    caller.what.device = registry::host();
    CHECK_FALSE(caller.take().memory().has_no_pending_access());
    release_finished();
    CHECK(caller.released == 1);
}
