// DLPack on the host: imports, refusals and deleters; exports, their pool, and their import.
#include "core/refusal.hpp"

#include <entrepot/exchange/dlpack.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

using namespace entrepot;
using namespace entrepot::dlpack;

namespace {

constexpr DLDevice cpu{kDLCPU, 0};

// A producer of tensors that counts deleter calls. Tests change its fields, which are the tensor's.
template <class Managed> struct Producer {
    alignas(64) std::array<float, 64> data{};
    std::vector<std::int64_t> shape{4, 3}, strides{3, 1};
    int deleted = 0;
    Managed managed{};

    Producer() {
        if constexpr (requires { managed.version; })
            managed.version = version;
        managed.manager_ctx = this;
        managed.deleter = [](Managed *self) {
            ++static_cast<Producer *>(self->manager_ctx)->deleted;
        };
        managed.dl_tensor = {data.data(), cpu, 2, {2, 32, 1}, shape.data(), strides.data(), 0};
    }
    DLTensor &tensor() { return managed.dl_tensor; }
};

Array host_array(std::initializer_list<std::int64_t> shape, Dtype dtype = dtypes::float32) {
    return Array::empty({shape.begin(), shape.size()}, dtype, UsmKind::host,
                        registry::host().default_queue());
}

}  // namespace

TEST_CASE_TEMPLATE("tensor is used in place, and freed once", Managed, DLManagedTensorVersioned,
                   DLManagedTensor) {
    Producer<Managed> producer;
    {
        const Array array = from_managed(&producer.managed);
        CHECK(array.data() == producer.data.data());
        CHECK(array.dtype() == dtypes::float32);
        CHECK(array.layout() == Layout{4, 3});
        CHECK(array.device() == registry::host());
        CHECK_FALSE(array.read_only());
        const Array view = array.transposed({});
        CHECK(producer.deleted == 0);
    }
    CHECK(producer.deleted == 1);
}

TEST_CASE_TEMPLATE("tensor without a deleter is not freed", Managed, DLManagedTensorVersioned,
                   DLManagedTensor) {
    Producer<Managed> producer;
    producer.managed.deleter = nullptr;
    CHECK(from_managed(&producer.managed).data() == producer.data.data());
    CHECK(producer.deleted == 0);
}

TEST_CASE("byte_offset is applied, and null strides are C-contiguous") {
    Producer<DLManagedTensorVersioned> producer;
    producer.tensor().byte_offset = 8;
    producer.tensor().strides = nullptr;
    const Array array = from_managed(&producer.managed);
    CHECK(array.data() == producer.data.data() + 2);
    CHECK(array.layout() == Layout{4, 3});
}

TEST_CASE("negative and zero strides define the borrowed memory") {
    Producer<DLManagedTensorVersioned> producer;
    producer.strides = {-3, 0};
    producer.tensor().byte_offset = 9 * sizeof(float);
    const Array array = from_managed(&producer.managed);
    CHECK(array.data() == producer.data.data() + 9);
    CHECK(array.memory().data() == producer.data.data());
    CHECK(array.memory().nbytes() == 10 * sizeof(float));
}

TEST_CASE("read-only flag is kept") {
    Producer<DLManagedTensorVersioned> producer;
    producer.managed.flags = flag_read_only;
    CHECK(from_managed(&producer.managed).read_only());
}

TEST_CASE("empty tensor may have any data") {
    Producer<DLManagedTensorVersioned> null, nonsense;
    null.shape = nonsense.shape = {0, 3};
    null.tensor().data = nullptr;
    nonsense.tensor().data = reinterpret_cast<void *>(3);
    nonsense.strides = {std::numeric_limits<std::int64_t>::max(), 2};
    CHECK(from_managed(&null.managed).size() == 0);
    CHECK(from_managed(&nonsense.managed).layout().shape()[1] == 3);
    CHECK(null.deleted == 1);
    CHECK(nonsense.deleted == 1);
}

TEST_CASE("scalar needs neither shape nor strides") {
    Producer<DLManagedTensor> producer;
    producer.tensor().ndim = 0;
    producer.tensor().shape = producer.tensor().strides = nullptr;
    CHECK(from_managed(&producer.managed).size() == 1);
}

TEST_CASE("other major version is freed unread") {
    Producer<DLManagedTensorVersioned> producer;
    producer.managed.version = {2, 0};
    producer.tensor() = {reinterpret_cast<void *>(1),
                         {static_cast<DLDeviceType>(-1), -1},
                         -7,
                         {255, 255, 0},
                         nullptr,
                         nullptr,
                         1};
    CHECK_REFUSED(ErrorKind::exchange, "version 2.0", from_managed(&producer.managed));
    CHECK(producer.deleted == 1);
}

TEST_CASE("newer minor version is accepted") {
    Producer<DLManagedTensorVersioned> producer;
    producer.managed.version = {1, 99};
    CHECK(from_managed(&producer.managed).size() == 12);
}

TEST_CASE("malformed tensors are refused and freed once") {
    using Bend = void (*)(Producer<DLManagedTensorVersioned> &);
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    struct Row {
        const char *words;
        Bend bend;
    };
    const Row rows[] = {
        {"-1 dimensions", [](auto &p) { p.tensor().ndim = -1; }},
        {"1000000 dimensions", [](auto &p) { p.tensor().ndim = 1'000'000; }},
        {"no shape", [](auto &p) { p.tensor().shape = nullptr; }},
        {"no data", [](auto &p) { p.tensor().data = nullptr; }},
        {"no data", [](auto &p) { p.tensor().data = nullptr, p.tensor().byte_offset = 64; }},
        {"DLPack: ", [](auto &p) { p.shape = {-4, 3}; }},
        {"DLPack: ", [](auto &p) { p.shape = {huge, huge}; }},
        {"DLPack: ", [](auto &p) { p.strides = {huge, huge}; }},
        {"64 bits", [](auto &p) { p.strides = {huge / 4, 1}; }},
        {"address space", [](auto &p) { p.strides = {-huge / 16, 1}; }},
        {"address space",
         [](auto &p) { p.tensor().data = reinterpret_cast<void *>(-std::intptr_t{16}); }},
        {"not aligned", [](auto &p) { p.tensor().byte_offset = 2; }},
        {"no address",
         [](auto &p) { p.tensor().byte_offset = std::numeric_limits<std::uint64_t>::max(); }},
        {"is not supported; ask", [](auto &p) { p.tensor().dtype = {2, 32, 0}; }},
        {"is not supported; ask", [](auto &p) { p.tensor().dtype = {2, 24, 1}; }},
        {"is not supported; ask", [](auto &p) { p.tensor().dtype = {3, 64, 1}; }},
        {"is not supported; ask", [](auto &p) { p.tensor().dtype = {255, 32, 1}; }},
        {"is not supported; ask", [](auto &p) { p.tensor().dtype = {15, 8, 1}; }},
        {"packed", [](auto &p) { p.tensor().dtype = {17, 4, 1}; }},
        {"packed", [](auto &p) { p.tensor().dtype = {15, 6, 2}; }},
        {"packed",
         [](auto &p) {
             p.tensor().dtype = {17, 4, 2}, p.managed.flags = flag_subbyte_type_padded;
         }},
        {"kDLROCM (10)", [](auto &p) { p.tensor().device = {kDLROCM, 0}; }},
        {"kDLMetal (8)", [](auto &p) { p.tensor().device = {kDLMetal, 0}; }},
        {"(99)", [](auto &p) { p.tensor().device = {static_cast<DLDeviceType>(99), 0}; }},
    };
    for (const Row &row : rows) {
        Producer<DLManagedTensorVersioned> producer;
        row.bend(producer);
        CHECK_REFUSED(ErrorKind::exchange, row.words, from_managed(&producer.managed));
        CHECK_MESSAGE(producer.deleted == 1, row.words);
    }
}

TEST_CASE("elements of 4 and 6 bits with addresses are accepted") {
    Producer<DLManagedTensorVersioned> padded, pairs;
    padded.tensor().dtype = {16, 6, 1};
    padded.managed.flags = flag_subbyte_type_padded;
    pairs.tensor().dtype = {17, 4, 2};
    CHECK(from_managed(&padded.managed).itemsize() == 1);
    CHECK(from_managed(&pairs.managed).itemsize() == 1);
}

TEST_CASE("owner is not released if the import is refused") {
    Producer<DLManagedTensorVersioned> producer;
    producer.tensor().byte_offset = 1;
    int released = 0;
    Owner owner(&released, [](void *count) { ++*static_cast<int *>(count); });
    CHECK_REFUSED(ErrorKind::exchange, "not aligned", take(producer.managed, std::move(owner)));
    CHECK(released == 0);
    CHECK(owner.detach() == &released);
}

TEST_CASE("export describes the array, and keeps its memory alive") {
    DLManagedTensorVersioned *tensor;
    void *data;
    {
        const Array array = host_array({2, 3, 4}).transposed({});
        data = array.data();
        tensor = to_managed(array);
    }
    CHECK(tensor->version.major == 1);
    CHECK(tensor->version.minor == 3);
    CHECK(tensor->flags == 0);
    CHECK(tensor->dl_tensor.data == data);
    CHECK(tensor->dl_tensor.device == cpu);
    CHECK(tensor->dl_tensor.ndim == 3);
    CHECK(tensor->dl_tensor.byte_offset == 0);
    CHECK(std::vector(tensor->dl_tensor.shape, tensor->dl_tensor.shape + 3) ==
          std::vector<std::int64_t>{4, 3, 2});
    CHECK(std::vector(tensor->dl_tensor.strides, tensor->dl_tensor.strides + 3) ==
          std::vector<std::int64_t>{1, 4, 12});
    // AddressSanitizer would see freed memory
    static_cast<float *>(tensor->dl_tensor.data)[23] = 1;
    tensor->deleter(tensor);
}

TEST_CASE("export supports eight dimensions") {
    const Array array = host_array({1, 2, 1, 2, 1, 2, 1, 2});
    DLManagedTensor *const tensor = to_legacy(array, cpu);
    CHECK(tensor->dl_tensor.ndim == 8);
    CHECK(tensor->dl_tensor.shape[7] == 2);
    CHECK(tensor->dl_tensor.strides[1] == 8);
    tensor->deleter(tensor);
}

TEST_CASE("export holds and releases one reference to the memory") {
    const Array array = host_array({4});
    const auto references = [&] { return array.memory().record()->count(); };
    const auto before = references();
    DLManagedTensorVersioned *const tensor = to_managed(array);
    CHECK(references() == before + 1);
    tensor->deleter(tensor);
    CHECK(references() == before);
}

TEST_CASE("empty array is exported with the address of its memory") {
    const Array array = host_array({0, 3});
    DLManagedTensorVersioned *const tensor = to_managed(array);
    CHECK(tensor->dl_tensor.data == array.data());
    CHECK(tensor->dl_tensor.shape[1] == 3);
    tensor->deleter(tensor);
}

TEST_CASE("flags unsupported by legacy and borrowed tensors are refused") {
    const Array array = host_array({4}, dtypes::uint8);
    const Array read_only = array.as_read_only(),
                padded = array.viewed_as({TypeCode::float4_e2m1fn, 4});
    DLManagedTensorVersioned *const one = to_managed(read_only, cpu, flag_is_copied, 1),
                                    *const other = to_managed(padded);
    CHECK(one->flags == (flag_read_only | flag_is_copied));
    CHECK(one->version.minor == 1);
    CHECK(other->flags == flag_subbyte_type_padded);
    one->deleter(one);
    other->deleter(other);
    CHECK_REFUSED(ErrorKind::exchange, "read-only", to_legacy(read_only, cpu));
    CHECK_REFUSED(ErrorKind::exchange, "read-only", unowned_tensor(read_only, cpu));
    CHECK_REFUSED(ErrorKind::exchange, "takes a byte", to_legacy(padded, cpu));
}

TEST_CASE("exported tensor is imported as the same memory") {
    const Array array = host_array({4, 3});
    const Array versioned = from_managed(to_managed(array.as_read_only())),
                legacy = from_managed(to_legacy(array, cpu));
    CHECK(versioned.memory() == array.memory());
    CHECK(versioned.read_only());
    CHECK(legacy.memory() == array.memory());
    CHECK(array.memory().record()->count() == 3);
}

TEST_CASE("exports are released on other threads") {
    const Array array = host_array({4});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            std::vector<DLManagedTensorVersioned *> tensors;
            for (int j = 0; j < 200; ++j)  // more than a thread's pool keeps
                tensors.push_back(to_managed(array));
            std::thread([&] {
                for (DLManagedTensorVersioned *tensor : tensors)
                    tensor->deleter(tensor);
            }).join();
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(array.memory().record()->count() == 1);
}

TEST_CASE("borrowed tensor points into the array") {
    const Array array = host_array({4, 3});
    const DLTensor tensor = unowned_tensor(array, cpu);
    CHECK(tensor.shape == array.shape().data());
    CHECK(tensor.strides == array.strides().data());
    CHECK(tensor.data == array.data());
}

TEST_CASE("allocation has the layout of the prototype") {
    std::int64_t shape[] = {2, 5};
    DLTensor prototype{reinterpret_cast<void *>(1), cpu, 2, {1, 16, 1}, shape, nullptr, 3};
    const Array array = allocate(prototype);
    CHECK(array.layout() == Layout{2, 5});
    CHECK(array.itemsize() == 2);
    shape[0] = -2;
    CHECK_REFUSED(ErrorKind::exchange, "(-2, 5)", allocate(prototype));
    prototype.ndim = -1;
    CHECK_REFUSED(ErrorKind::exchange, "-1 dimensions", allocate(prototype));
}
