// Addresses below Python: the device and size that drivers report. The fake driver is CUDA's.
#include "core/refusal.hpp"
#include "exchange/fake_cuda.hpp"

#include "adapters/locate.hpp"

#include <doctest/doctest.h>

using namespace entrepot;

namespace {

// An owner that counts its releases.
Owner counting(int &released) {
    return Owner(&released, [](void *count) { ++*static_cast<int *>(count); });
}

exchange::Reach part_of(const fake::Claimed &claimed, std::size_t first, std::size_t count) {
    return {claimed.data + first, count * sizeof(float)};
}

}  // namespace

TEST_CASE("address inside an allocation locates all of the allocation") {
    for (const std::uint32_t device : {0u, 1u})
        for (const ep_usm_kind kind : {EP_USM_DEVICE, EP_USM_SHARED}) {
            const fake::Claimed claimed(kind, device);
            int released = 0;
            {
                const Memory memory = adapters::locate(part_of(claimed, 4, 4), counting(released));
                CHECK(memory.data() == claimed.data);
                CHECK(memory.nbytes() == 16 * sizeof(float));
                CHECK(memory.kind() == static_cast<UsmKind>(kind));
                CHECK(memory.device() == fake::cuda_device(device));
                CHECK(memory.context() == memory.device().default_context());
                CHECK(memory.is_borrowed());
                CHECK(released == 0);
            }
            CHECK(released == 1);
        }
}

TEST_CASE("bytes outside the allocation are refused, owner released") {
    const fake::Claimed claimed(EP_USM_DEVICE);
    int released = 0;
    CHECK_REFUSED(ErrorKind::exchange, "leave the allocation of 64 bytes",
                  adapters::locate(part_of(claimed, 8, 9), counting(released)));
    CHECK(released == 1);
}

TEST_CASE("unknown address is refused with the reason of each driver") {
    fake::cuda();
    float ours[4];
    int released = 0;
    CHECK_REFUSED(ErrorKind::exchange, "cuda: its driver does not know it",
                  adapters::locate({ours, sizeof ours}, counting(released)));
    CHECK_REFUSED(ErrorKind::exchange, "DeviceArray: no driver knows the address 0x",
                  adapters::locate({ours, sizeof ours}, {}));
    CHECK_REFUSED(ErrorKind::exchange, ": hip: ", adapters::locate({ours, sizeof ours}, {}));
    CHECK(released == 1);
}
