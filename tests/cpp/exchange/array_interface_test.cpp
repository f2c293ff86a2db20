// The array interface below Python: dict, struct, and contradictions in them.
#include "core/refusal.hpp"

#include <entrepot/exchange/array_interface.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace entrepot;
using array_interface::Descriptor;
using array_interface::PyArrayInterface;

namespace {

// Twelve floats, four rows, with the fields of a dict.
struct Producer {
    alignas(64) float data[12]{};
    std::vector<std::int64_t> shape{4, 3}, strides{12, 4};
    int released = 0;
    Descriptor descriptor{.data = data, .read_only = false, .typestr = "<f4"};

    Array take() {
        descriptor.shape = shape;
        descriptor.strides = strides.empty() ? nullptr : strides.data();
        return array_interface::verify(
            descriptor, Owner(this, [](void *self) { ++static_cast<Producer *>(self)->released; }));
    }
};

// The struct form of Producer's memory.
struct StructProducer {
    alignas(64) float data[12]{};
    std::intptr_t shape[2]{4, 3}, strides[2]{12, 4};
    PyArrayInterface interface{
        2,     2,       'f',  4,      array_interface::writeable | array_interface::not_swapped,
        shape, strides, data, nullptr};

    Array take() const {
        char typestr[16];
        return array_interface::verify(array_interface::describe(interface, typestr), Owner());
    }
};

}  // namespace

TEST_CASE("memory is used in place, and released once") {
    Producer producer;
    {
        const Array array = producer.take();
        CHECK(array.data() == producer.data);
        CHECK(array.layout() == Layout{4, 3});
        CHECK_FALSE(array.read_only());
        CHECK(producer.released == 0);
    }
    CHECK(producer.released == 1);
}

TEST_CASE("offset is in bytes, and needs a buffer") {
    Producer producer;
    producer.shape = {2, 3};
    producer.descriptor.offset = 24;
    CHECK_REFUSED(ErrorKind::interface, "'offset' is 24", producer.take());
    producer.descriptor.buffer_bytes = sizeof producer.data;
    CHECK(producer.take().data() == producer.data + 6);
    producer.descriptor.offset = 28;
    CHECK_REFUSED(ErrorKind::interface, "leave it", producer.take());
    producer.descriptor.offset = -4;
    CHECK_REFUSED(ErrorKind::interface, "leave it", producer.take());
    CHECK(producer.released == 4);
}

TEST_CASE("malformed input is refused and released once") {
    struct Row {
        const char *words;
        void (*bend)(Producer &);
    };
    const Row rows[] = {
        {"swapped", [](Producer &p) { p.descriptor.typestr = ">f4"; }},
        {"structured", [](Producer &p) { p.descriptor.typestr = "|V4"; }},
        {"typestr", [](Producer &p) { p.descriptor.typestr = ""; }},
        {"multiple of the item size", [](Producer &p) { p.strides = {14, 4}; }},
        {"not aligned",
         [](Producer &p) { p.descriptor.data = reinterpret_cast<char *>(p.data) + 2; }},
        {"NULL", [](Producer &p) { p.descriptor.data = nullptr; }},
        {"negative", [](Producer &p) { p.shape = {4, -3}; }},
    };
    for (const Row &row : rows) {
        CAPTURE(row.words);
        Producer producer;
        row.bend(producer);
        CHECK_REFUSED(ErrorKind::interface, row.words, producer.take());
        CHECK(producer.released == 1);
    }
}

TEST_CASE("struct describes the same as the dict") {
    StructProducer producer;
    const Array array = producer.take();
    CHECK(array.data() == producer.data);
    CHECK(array.dtype() == dtypes::float32);
    CHECK(array.layout() == Layout{4, 3});
    CHECK_FALSE(array.read_only());
    producer.interface.flags = array_interface::not_swapped;
    CHECK(producer.take().read_only());
    producer.interface.strides = nullptr;
    CHECK(producer.take().layout() == Layout{4, 3});
}

TEST_CASE("invalid struct, or one with swapped bytes, is refused") {
    StructProducer producer;
    SUBCASE("wrong marker of the struct") {
        producer.interface.two = 3;
        CHECK_REFUSED(ErrorKind::interface, "instead of 2", producer.take());
    }
    SUBCASE("swapped bytes") {
        producer.interface.flags = array_interface::writeable;
        CHECK_REFUSED(ErrorKind::interface, "swapped", producer.take());
    }
    SUBCASE("dimensions") {
        producer.interface.nd = -1;
        CHECK_REFUSED(ErrorKind::interface, "-1 dimensions", producer.take());
    }
    SUBCASE("shape") {
        producer.interface.shape = nullptr;
        CHECK_REFUSED(ErrorKind::interface, "no shape", producer.take());
    }
    SUBCASE("type") {
        producer.interface.typekind = 'O';
        producer.interface.itemsize = 8;
        CHECK_REFUSED(ErrorKind::interface, "Python objects", producer.take());
    }
    SUBCASE("item size") {
        producer.interface.itemsize = -2147483647;
        CHECK_REFUSED(ErrorKind::interface, "typestr", producer.take());
    }
}

TEST_CASE("export has the flags of its layout") {
    const Array array = Array::empty(Layout{4, 3}.shape(), dtypes::float32, UsmKind::host,
                                     registry::host().default_queue());
    using namespace array_interface;
    CHECK(flags_of(array) == (c_contiguous | aligned | not_swapped | writeable));
    CHECK(flags_of(array.transposed({}).as_read_only()) == (f_contiguous | aligned | not_swapped));
}
