// Selectors: the parts of their text.
#include "device/selector.hpp"

#include <doctest/doctest.h>

#include "core/grouped_digits.hpp"
#include "core/refusal.hpp"
#include "fake_backend.hpp"

using namespace entrepot;

static Selector parse(std::string_view text) {
    return parse_selector(text, [](std::string_view word) { return word == "added"; });
}

TEST_CASE("selector has a backend, a type and a number, each optional") {
    const Selector full = parse("opencl:cpu:3");
    CHECK(full.backend == "opencl");
    CHECK(full.type == EP_CPU);
    CHECK(full.number == 3);

    CHECK(parse("level_zero").backend == "level_zero");
    CHECK(parse("gpu").type == EP_GPU);
    CHECK(parse("accelerator").type == EP_ACCELERATOR);
    CHECK(parse("0").number == 0);
    CHECK(parse("gpu:1").number == 1);
    CHECK(parse("cuda:7").number == 7);
    CHECK(parse("level_zero:gpu").type == EP_GPU);
    CHECK(parse("host").backend == "host");
    CHECK(parse("default").is_default);
    CHECK(parse("added:0").backend == "added");
}

TEST_CASE("selectors ignore case") {
    CHECK(parse("OpenCL:CPU:0").backend == "opencl");
    CHECK(parse("DEFAULT").is_default);
}

TEST_CASE("sub-devices follow a slash each") {
    CHECK(parse("opencl:cpu:0/1").path == std::vector<std::uint32_t>{1});
    CHECK(parse("cpu/0/12").path == std::vector<std::uint32_t>{0, 12});
}

TEST_CASE("program's locale does not group a device's number") {
    const GroupedDigits grouped;
    ep_device_info info = fake::device().info();
    info.number = 1234;
    CHECK(selector_of(fake::backend(), info, Device()) == "opencl:cpu:1234");
    CHECK(selector_of(fake::backend(), info, fake::device()) == "opencl:cpu:0/1234");
}

TEST_CASE("invalid selector is refused with the invalid part") {
    CHECK_REFUSED(ErrorKind::value, "it names no device", parse(""));
    CHECK_REFUSED(ErrorKind::value, "a part of it is empty", parse(":"));
    CHECK_REFUSED(ErrorKind::value, "a part of it is empty", parse("opencl::0"));
    CHECK_REFUSED(ErrorKind::value, "a part of it is empty", parse("opencl:cpu:"));
    CHECK_REFUSED(ErrorKind::value, "'opencl' does not stand first", parse("cpu:opencl"));
    CHECK_REFUSED(ErrorKind::value, "'cuda' does not stand first", parse("opencl:cuda"));
    CHECK_REFUSED(ErrorKind::value, "'gpu' stands behind", parse("cpu:gpu"));
    CHECK_REFUSED(ErrorKind::value, "'cpu' stands behind", parse("0:cpu"));
    CHECK_REFUSED(ErrorKind::value, "'1'", parse("cuda:0:1"));
    CHECK_REFUSED(ErrorKind::value, "'1x' is no device number", parse("gpu:1x"));
    CHECK_REFUSED(ErrorKind::value, "is no device number", parse("99999999999"));
    CHECK_REFUSED(ErrorKind::value, "'-1' is neither", parse("gpu:-1"));
    CHECK_REFUSED(ErrorKind::value, "'metal' is neither", parse("metal:gpu"));
    CHECK_REFUSED(ErrorKind::value, "' cpu' is neither", parse(" cpu"));
    CHECK_REFUSED(ErrorKind::value, "'' is no number of a sub-device", parse("cpu/"));
    CHECK_REFUSED(ErrorKind::value, "'x' is no number of a sub-device", parse("cpu/x"));
    CHECK_REFUSED(ErrorKind::value, "is neither", parse(std::string_view("cpu\0", 4)));
}
