// The buffer protocol below Python: formats, strides in bytes and contradictions of exporters.
#include "core/refusal.hpp"

#include <entrepot/exchange/buffer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace entrepot;

namespace {

// Twelve floats, four rows. Tests change its fields, which are those of a Py_buffer.
struct Exporter {
    alignas(64) float data[12]{};
    std::vector<std::int64_t> shape{4, 3}, strides{12, 4}, suboffsets;
    int released = 0;
    buffer::Descriptor descriptor{.data = data,
                                  .bytes = sizeof data,
                                  .read_only = false,
                                  .format = "f",
                                  .itemsize = sizeof(float)};

    Array take() {
        descriptor.shape = shape;
        descriptor.strides = strides.empty() ? nullptr : strides.data();
        descriptor.suboffsets = suboffsets.empty() ? nullptr : suboffsets.data();
        return buffer::verify(
            descriptor, Owner(this, [](void *self) { ++static_cast<Exporter *>(self)->released; }));
    }
};

}  // namespace

TEST_CASE("buffer is used in place, and released once") {
    Exporter exporter;
    {
        const Array array = exporter.take();
        CHECK(array.data() == exporter.data);
        CHECK(array.layout() == Layout{4, 3});
        CHECK(array.dtype() == dtypes::float32);
        CHECK(array.kind() == UsmKind::host);
        CHECK_FALSE(array.read_only());
        CHECK(exporter.released == 0);
    }
    CHECK(exporter.released == 1);
}

TEST_CASE("types with a format are imported by format") {
    for (const DtypeRow &row : dtype_table) {
        if (row.format.empty())
            continue;
        CAPTURE(row.name);
        Exporter exporter;
        exporter.descriptor.format = row.format.data();
        exporter.descriptor.itemsize = row.dtype.itemsize();
        exporter.shape = {2};
        exporter.strides.clear();
        exporter.descriptor.bytes = 2 * row.dtype.itemsize();
        CHECK(exporter.take().dtype() == row.dtype);
    }
}

TEST_CASE("byte strides may be negative, below the first element") {
    Exporter exporter;
    exporter.strides = {-12, 4};
    exporter.descriptor.data = exporter.data + 9;
    const Array array = exporter.take();
    CHECK(array.layout().strides()[0] == -3);
    CHECK(array.memory().data() == exporter.data);
    CHECK(array.memory().nbytes() == sizeof exporter.data);
}

TEST_CASE("missing strides, format and dimensions have their defaults") {
    Exporter exporter;
    exporter.strides.clear();
    CHECK(exporter.take().layout() == Layout{4, 3});
    exporter.descriptor.format = nullptr;
    exporter.descriptor.itemsize = 1;
    exporter.shape = {48};
    CHECK(exporter.take().dtype() == dtypes::uint8);
    exporter.shape = {};
    exporter.descriptor.bytes = 1;
    CHECK(exporter.take().size() == 1);
}

TEST_CASE("empty buffer may have no address") {
    Exporter exporter;
    exporter.shape = {0, 3};
    exporter.descriptor.bytes = 0;
    exporter.descriptor.data = nullptr;
    CHECK(exporter.take().size() == 0);
}

TEST_CASE("stride of an extent of 1 may be any number") {
    Exporter exporter;
    exporter.shape = {1, 3};
    exporter.strides = {7, 4};
    exporter.descriptor.bytes = 12;
    CHECK(exporter.take().size() == 3);
}

TEST_CASE("unsupported buffers are refused and released once") {
    struct Row {
        const char *words;
        void (*bend)(Exporter &);
    };
    const Row rows[] = {
        {"structures", [](Exporter &e) { e.descriptor.format = "T{f:x:}"; }},
        {"swapped", [](Exporter &e) { e.descriptor.format = ">f"; }},
        {"contradicts itself", [](Exporter &e) { e.descriptor.format = "d"; }},
        {"itemsize of 0", [](Exporter &e) { e.descriptor.itemsize = 0; }},
        {"contradicts itself", [](Exporter &e) { e.descriptor.bytes = 47; }},
        {"through pointers", [](Exporter &e) { e.suboffsets = {0, -1}; }},
        {"multiple of the item size", [](Exporter &e) { e.strides = {13, 4}; }},
        {"not aligned",
         [](Exporter &e) { e.descriptor.data = reinterpret_cast<char *>(e.data) + 1; }},
        {"NULL", [](Exporter &e) { e.descriptor.data = nullptr; }},
        {"negative", [](Exporter &e) { e.shape = {-4, 3}; }},
        {"dimensions", [](Exporter &e) { e.shape.assign(65, 1), e.strides.assign(65, 4); }},
        {"64 bits", [](Exporter &e) { e.strides = {std::int64_t{1} << 62, 4}; }},
    };
    for (const Row &row : rows) {
        CAPTURE(row.words);
        Exporter exporter;
        row.bend(exporter);
        CHECK_REFUSED(ErrorKind::exchange, row.words, exporter.take());
        CHECK(exporter.released == 1);
    }
}

TEST_CASE("negative suboffsets are ignored") {
    Exporter exporter;
    exporter.suboffsets = {-1, -1};
    CHECK(exporter.take().size() == 12);
}
