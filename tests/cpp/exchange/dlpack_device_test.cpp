// kDLOneAPI, step by step, with the fake backend in place of SYCL. It shows cases that the
// installed runtime cannot: sub-devices in the default context, several platforms, wrong numbers.
// Then CUDA's types, with the fake in place of its driver as well.
#include "core/refusal.hpp"
#include "exchange/fake_cuda.hpp"

#include <entrepot/array/pin.hpp>
#include <entrepot/exchange/dlpack.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <vector>

using namespace entrepot;
using namespace entrepot::dlpack;

namespace {

// The fake has two root devices with a default context each, like two platforms.
using fake::sycl;

Device root(std::uint32_t index) {
    sycl();
    return fake::device(index);
}

struct Usm {
    Context context;
    float *data;

    Usm(const Device &device, ep_usm_kind kind, const Context &in = {})
        : context(in ? in : device.default_context()) {
        void *block = nullptr;
        sycl().call(&ep_backend::memory_allocate, context.handle(), device.handle(), kind,
                    16 * sizeof(float), 0, nullptr, &block);
        data = static_cast<float *>(block);
    }
    ~Usm() { sycl().api().memory_free(context.handle(), data, nullptr); }

    Array array(const Device &device, UsmKind kind) const {
        return Array(Memory::borrow(data, 16 * sizeof(float), kind, device, context, {}), data,
                     dtypes::float32, Layout{16});
    }
};

// A foreign tensor of 16 floats, which tests may change.
struct Tensor {
    std::vector<std::int64_t> shape{4, 4}, strides{4, 1};
    int deleted = 0;
    DLManagedTensorVersioned managed{
        .version = version,
        .manager_ctx = this,
        .deleter =
            [](DLManagedTensorVersioned *self) {
                ++static_cast<Tensor *>(self->manager_ctx)->deleted;
            },
        .flags = 0,
        .dl_tensor = {nullptr, {kDLOneAPI, 0}, 2, {2, 32, 1}, shape.data(), strides.data(), 0}};

    explicit Tensor(void *data, std::int32_t device_id = 0) {
        managed.dl_tensor.data = data;
        managed.dl_tensor.device.device_id = device_id;
    }
};

std::string text(DLDevice device) {
    std::ostringstream out;
    out << device;
    return out.str();
}

}  // namespace

TEST_CASE("USM of all kinds is kDLOneAPI at the root's position") {
    for (const std::uint32_t index : {0u, 1u})
        for (const ep_usm_kind kind : {EP_USM_HOST, EP_USM_DEVICE, EP_USM_SHARED}) {
            const Usm block(root(index), kind);
            CHECK(device_of(block.array(root(index), static_cast<UsmKind>(kind))) ==
                  DLDevice{kDLOneAPI, static_cast<std::int32_t>(index)});
        }
}

TEST_CASE("memory of the host, and USM seen as the host's, is kDLCPU") {
    const Usm block(root(0), EP_USM_SHARED);
    CHECK(device_of(block.array(root(0), UsmKind::shared).host()) == DLDevice{kDLCPU, 0});
    CHECK(device_of(Array::empty(Layout{3}.shape(), dtypes::float32, UsmKind::host,
                                 registry::host().default_queue())) == DLDevice{kDLCPU, 0});
}

TEST_CASE("memory of a sub-device has its parent's position") {
    const Device sub = root(1).partition_equally(2).at(1);
    REQUIRE(sub.default_context() == root(1).default_context());
    const Usm block(sub, EP_USM_DEVICE, root(1).default_context());
    CHECK(device_of(block.array(sub, UsmKind::device)) == DLDevice{kDLOneAPI, 1});

    Tensor tensor(block.data, 1);
    CHECK(from_managed(&tensor.managed).device() == sub);
}

TEST_CASE("memory of a non-default context is refused with advice") {
    const Device sub = root(0).partition_equally(2).at(0);
    const Context own = Context::create({&sub, 1});
    const Usm block(sub, EP_USM_DEVICE, own);
    const Array array = block.array(sub, UsmKind::device);
    CHECK_REFUSED(ErrorKind::exchange, "default context", device_of(array));
    CHECK_REFUSED(ErrorKind::exchange, "__sycl_usm_array_interface__", to_managed(array));
    // no wrong answer was cached
    CHECK_REFUSED(ErrorKind::exchange, "default context", device_of(array));
}

TEST_CASE("device's DLPack name is computed once") {
    const Usm block(root(0), EP_USM_DEVICE);
    const Array array = block.array(root(0), UsmKind::device);
    const DLDevice first = device_of(array);
    const int queries = fake::world().calls.memory_query, infos = fake::world().calls.device_info;
    CHECK(device_of(array) == first);
    CHECK(fake::world().calls.memory_query == queries);
    CHECK(fake::world().calls.device_info == infos);
}

TEST_CASE("tensor has the kind and device reported for its pointer") {
    for (const ep_usm_kind kind : {EP_USM_HOST, EP_USM_DEVICE, EP_USM_SHARED}) {
        const Usm block(root(1), kind);
        Tensor tensor(block.data, 1);
        {
            const Array array = from_managed(&tensor.managed);
            CHECK(array.data() == block.data);
            CHECK(array.kind() == static_cast<UsmKind>(kind));
            CHECK(array.device() == root(1));
            CHECK(array.context() == root(1).default_context());
        }
        CHECK(tensor.deleted == 1);
    }
}

TEST_CASE("device of the pointer overrides the tensor's number") {
    const Usm block(root(1), EP_USM_DEVICE);
    Tensor tensor(block.data, 0);
    const Array array = from_managed(&tensor.managed);
    CHECK(array.device() == root(1));
    CHECK(array.context() == root(1).default_context());
}

TEST_CASE("unknown device number is refused") {
    const Usm block(root(0), EP_USM_DEVICE);
    for (const std::int32_t number : {2, -1, 1'000'000}) {
        Tensor tensor(block.data, number);
        CHECK_REFUSED(ErrorKind::exchange, "lists 2 devices", from_managed(&tensor.managed));
        CHECK(tensor.deleted == 1);
    }
}

TEST_CASE("pointer unknown to default contexts is refused") {
    std::vector<float> elsewhere(16);
    Tensor plain(elsewhere.data());
    CHECK_REFUSED(ErrorKind::exchange, "kDLOneAPI (14) device 0", from_managed(&plain.managed));
    CHECK(plain.deleted == 1);

    const Device first = root(0);
    const Usm bound(first, EP_USM_DEVICE, Context::create({&first, 1}));
    Tensor foreign(bound.data);
    CHECK_REFUSED(ErrorKind::exchange, "another context", from_managed(&foreign.managed));
}

TEST_CASE("tensor reaching outside its allocation is refused") {
    const Usm block(root(0), EP_USM_SHARED);
    Tensor high(block.data), low(block.data + 15);
    high.managed.dl_tensor.byte_offset = 4;
    low.strides = {-4, -2};
    CHECK_REFUSED(ErrorKind::exchange, "allocation of 64 bytes", from_managed(&high.managed));
    CHECK_REFUSED(ErrorKind::exchange, "DLPack: ", from_managed(&low.managed));
    CHECK(high.deleted == 1);
    CHECK(low.deleted == 1);

    Tensor backwards(block.data + 15);
    backwards.strides = {-4, -1};
    CHECK(from_managed(&backwards.managed).memory().data() == block.data);
}

TEST_CASE("empty tensor is not queried") {
    Tensor tensor(reinterpret_cast<void *>(0x40), 1);
    tensor.shape = {0, 4};
    const int queries = fake::world().calls.memory_query;
    const Array array = from_managed(&tensor.managed);
    CHECK(fake::world().calls.memory_query == queries);
    CHECK(array.device() == root(1));
    CHECK(array.size() == 0);
}

TEST_CASE("exported host view is imported as a host view") {
    const Usm block(root(0), EP_USM_SHARED);
    const Array usm = block.array(root(0), UsmKind::shared);
    const Array as_usm = from_managed(to_managed(usm)),
                as_host = from_managed(to_managed(usm, {kDLCPU, 0}));
    CHECK(as_usm.memory() == usm.memory());
    CHECK(as_usm.device() == root(0));
    CHECK(as_host.memory() == usm.memory());
    CHECK(as_host.device() == registry::host());
}

TEST_CASE("allocation is on the device of the prototype") {
    std::int64_t shape[] = {3};
    const DLTensor prototype{nullptr, {kDLOneAPI, 1}, 1, {2, 32, 1}, shape, nullptr, 0};
    const Array array = allocate(prototype);
    CHECK(array.device() == root(1));
    CHECK(array.kind() == UsmKind::device);
}

TEST_CASE("rows of the table print name and number") {
    for (const DeviceTypeRow &row : device_type_table)
        CHECK(text({row.type, 3}) ==
              std::string(row.name) + " (" + std::to_string(row.type) + ") device 3");
    CHECK(text({static_cast<DLDeviceType>(99), 0}) == "device type (99) device 0");
}

TEST_CASE("device type without a backend is refused by name") {
    for (const DeviceTypeRow &row : device_type_table)
        if (!row.backend)
            CHECK_REFUSED(ErrorKind::exchange, row.name, device_at({row.type, 0}));
}

// ---------------------------------------------------------------- CUDA, which names the kind

TEST_CASE("memory of CUDA has the type of its kind") {
    for (const std::uint32_t index : {0u, 1u}) {
        const fake::Claimed block(EP_USM_DEVICE, index);
        CHECK(device_of(block.array(UsmKind::device)) ==
              DLDevice{kDLCUDA, static_cast<std::int32_t>(index)});
        CHECK(device_of(block.array(UsmKind::host)) == DLDevice{kDLCUDAHost, 0});
        CHECK(device_of(block.array(UsmKind::shared)) == DLDevice{kDLCUDAManaged, 0});
        CHECK(device_of(block.array(UsmKind::shared).host()) == DLDevice{kDLCPU, 0});
    }
}

TEST_CASE("pinned memory of the host has the type of its driver") {
    const Array source = Array::empty(Layout{3}.shape(), dtypes::float32, UsmKind::host,
                                      registry::host().default_queue());
    const Array pinned = pin(source, fake::cuda_device(1));
    CHECK(device_of(pinned) == DLDevice{kDLCUDAHost, 0});
    CHECK(device_of(source) == DLDevice{kDLCPU, 0});
    CHECK(device_of(pinned.host()) == DLDevice{kDLCPU, 0});
}

TEST_CASE("device type decides if SYCL and CUDA both know the pointer") {
    const fake::Claimed block(EP_USM_DEVICE);
    for (const auto &[type, backend] :
         {std::pair(kDLCUDA, &fake::cuda()), std::pair(kDLOneAPI, &sycl())}) {
        Tensor tensor(block.data);
        tensor.managed.dl_tensor.device.device_type = type;
        const Array array = from_managed(&tensor.managed);
        CHECK(&array.device().backend() == backend);
        CHECK(device_of(array).device_type == type);
    }
}

TEST_CASE("CUDA's driver decides device and kind, not the number") {
    const fake::Claimed block(EP_USM_SHARED, 1);
    for (const DLDeviceType type : {kDLCUDA, kDLCUDAHost, kDLCUDAManaged}) {
        Tensor tensor(block.data, 0);
        tensor.managed.dl_tensor.device.device_type = type;
        const Array array = from_managed(&tensor.managed);
        CHECK(array.device() == fake::cuda_device(1));
        CHECK(array.context() == fake::cuda_device(1).default_context());
        CHECK(array.kind() == UsmKind::shared);
    }
    float host[16];
    Tensor lie(host);
    lie.managed.dl_tensor.device.device_type = kDLCUDA;
    CHECK_REFUSED(ErrorKind::exchange, "its driver does not know", from_managed(&lie.managed));
    Tensor nowhere(block.data, 7);
    nowhere.managed.dl_tensor.device.device_type = kDLCUDA;
    CHECK_REFUSED(ErrorKind::exchange, "numbered from 0", from_managed(&nowhere.managed));
    CHECK(nowhere.deleted == 1);
}

TEST_CASE("allocation has the kind of the prototype's device") {
    for (const auto &[type, kind] :
         {std::pair{kDLCUDA, UsmKind::device}, std::pair{kDLCUDAHost, UsmKind::host},
          std::pair{kDLCUDAManaged, UsmKind::shared}}) {
        Tensor prototype(nullptr);
        prototype.managed.dl_tensor.device = {type, 0};
        const Array array = allocate(prototype.managed.dl_tensor);
        CHECK(array.kind() == kind);
        CHECK(&array.device().backend() == &fake::cuda());
    }
}
