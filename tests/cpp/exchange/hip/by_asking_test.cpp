// The drivers decide whether memory is CUDA's or HIP's, not the protocol or the producer. The
// suites simulate machines with devices of both, of HIP only, and of neither.
#include "core/refusal.hpp"
#include "exchange/hip/fake_drivers.hpp"

#include "exchange/address.hpp"
#include <entrepot/exchange/cai.hpp>
#include <entrepot/exchange/dlpack.hpp>
#include <entrepot/exchange/stream.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace entrepot;
using namespace entrepot::dlpack;

namespace {

// Sets up the suite's machine. Requires: no earlier call.
void both() { fake::cuda(), fake::hip(); }
void alone() {
    fake::cuda_driver.has_device = false;
    both();
}
void neither() {
    fake::hip_driver.has_device = false;
    alone();
}

struct Dict {
    std::vector<std::int64_t> shape{4, 4};
    cai::Descriptor descriptor;

    explicit Dict(void *data) {
        descriptor.data = data;
        descriptor.dtype = dtypes::float32;
    }
    Array take() {
        descriptor.shape = shape;
        return cai::verify(descriptor, {});
    }
};

Array by_cai(void *data) { return Dict(data).take(); }

Array by_address(void *data) {
    address::Descriptor what;
    what.data = data;
    what.dtype = dtypes::float32;
    what.layout = Layout{4, 4};
    return address::verify(what, {});
}

Array by_dlpack(void *data, DLDeviceType named, std::int32_t number = 0) {
    std::int64_t shape[] = {4, 4};
    const DLTensor tensor{data, {named, number}, 2, {2, 32, 1}, shape, nullptr, 0};
    return dlpack::verify(tensor, 0, {});
}

void check_on(const Array &array, const fake::Block &block, ep_usm_kind kind) {
    CHECK(array.data() == block.data);
    CHECK(array.device() == block.device);
    CHECK(array.context() == block.device.default_context());
    CHECK(array.kind() == static_cast<UsmKind>(kind));
}

}  // namespace

TEST_SUITE_BEGIN("both");

TEST_CASE("CAI queries CUDA before HIP for the owning driver") {
    both();
    for (const ep_usm_kind kind : {EP_USM_DEVICE, EP_USM_SHARED}) {
        const fake::Block cudas(fake::cuda(), kind), hips(fake::hip(), kind);
        int asked = fake::hip_driver.asked;
        check_on(by_cai(cudas.data), cudas, kind);
        CHECK(fake::hip_driver.asked == asked);
        asked = fake::cuda_driver.asked;
        check_on(by_cai(hips.data), hips, kind);
        CHECK(fake::cuda_driver.asked == asked + 1);
    }
}

TEST_CASE("DLPack's device type is a hint for the owning driver") {
    both();
    const fake::Block cudas(fake::cuda()), hips(fake::hip());
    for (const DLDeviceType named : {kDLCUDA, kDLROCM}) {
        check_on(by_dlpack(cudas.data, named), cudas, EP_USM_DEVICE);
        check_on(by_dlpack(hips.data, named), hips, EP_USM_DEVICE);
    }
    CHECK(dlpack::device_of(by_cai(cudas.data)) == DLDevice{kDLCUDA, 0});
    CHECK(dlpack::device_of(by_cai(hips.data)) == DLDevice{kDLROCM, 0});
    const fake::Block pinned(fake::hip(), EP_USM_HOST);
    CHECK(dlpack::device_of(by_dlpack(pinned.data, kDLROCMHost)) == DLDevice{kDLROCMHost, 0});
}

TEST_CASE("address belongs to the driver knowing the pointer") {
    both();
    const fake::Block cudas(fake::cuda()), hips(fake::hip());
    check_on(by_address(cudas.data), cudas, EP_USM_DEVICE);
    check_on(by_address(hips.data), hips, EP_USM_DEVICE);
}

TEST_CASE("memory claimed by both is CUDA's by CAI, named by DLPack") {
    both();
    const fake::Block block(fake::cuda());
    fake::hip_driver.claims_all = true;
    CHECK(by_cai(block.data).device() == block.device);
    CHECK(by_dlpack(block.data, kDLCUDA).device() == block.device);
    CHECK(&by_dlpack(block.data, kDLROCM).device().backend() == &fake::hip());
    fake::hip_driver.claims_all = false;
}

TEST_CASE("pointer unknown to both is refused with both names") {
    both();
    alignas(16) float host[16];
    CHECK_REFUSED(ErrorKind::interface, "is unknown to CUDA's driver and to HIP's", by_cai(host));
    for (const DLDeviceType named : {kDLCUDA, kDLROCM})
        CHECK_REFUSED(ErrorKind::exchange, "its driver does not know", by_dlpack(host, named));
}

TEST_CASE("DLPack queries the other driver if a device is absent") {
    both();
    const fake::Block cudas(fake::cuda()), hips(fake::hip());
    check_on(by_dlpack(hips.data, kDLCUDA, 7), hips, EP_USM_DEVICE);
    check_on(by_dlpack(cudas.data, kDLROCM, 7), cudas, EP_USM_DEVICE);
    CHECK_REFUSED(ErrorKind::exchange, "numbered from 0", by_dlpack(cudas.data, kDLCUDA, 7));
    CHECK_REFUSED(ErrorKind::exchange, "numbered from 0", by_dlpack(hips.data, kDLROCM, 7));
}

TEST_CASE("stream belongs to the memory's device and is not 0") {
    both();
    const fake::Block hips(fake::hip());
    // The legacy default stream, which a producer without a stream uses: the fake has no stream of
    // number 0.
    static const Queue legacy = Queue::create(hips.device);
    const Queue *unset = nullptr;
    hips.device.record()->legacy_stream.compare_exchange_strong(unset, &legacy);
    const Queue theirs = Queue::create(hips.device);
    const Array array = by_cai(hips.data);
    CHECK(cai::stream_for_consumer(array) == std::nullopt);
    fake::hold(theirs);
    array.memory().record_access(Access::write, theirs, fake::submit(theirs));
    const auto stream = cai::stream_for_consumer(array);
    REQUIRE(stream.has_value());
    CHECK(*stream != 0);
    CHECK(*stream == exchange::stream_of(array.queue()));
    CHECK(&array.queue().device().backend() == &fake::hip());
    fake::release(theirs);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("alone");

TEST_CASE("HIP is queried first if CUDA lists no device") {
    alone();
    const fake::Block hips(fake::hip());
    const int asked = fake::cuda_driver.asked;
    check_on(by_cai(hips.data), hips, EP_USM_DEVICE);
    check_on(by_dlpack(hips.data, kDLCUDA), hips, EP_USM_DEVICE);
    check_on(by_dlpack(hips.data, kDLROCM), hips, EP_USM_DEVICE);
    CHECK(fake::cuda_driver.asked == asked);
}

TEST_CASE("empty memory is on HIP's device") {
    alone();
    Dict dict(nullptr);
    dict.shape = {0, 4};
    CHECK(dict.take().device() == fake::device_of(fake::hip()));
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("neither");

TEST_CASE("CAI without devices is refused with the reason") {
    neither();
    alignas(16) float host[16];
    CHECK_REFUSED(
        ErrorKind::interface,
        "it describes memory of CUDA devices, or HIP's, and there are none: the driver lists none",
        by_cai(host));
}

TEST_SUITE_END();
