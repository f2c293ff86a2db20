// The kernels that copy and fill a block on the cores of a CPU.
//
// Intel's OpenCL runtime (2026.2) cuts a block by the divisors of its size, so that one of 16 MiB and 5 bytes takes 33 ms where
// memory needs 0.4; it fills with items of more than a byte in 25 times memory's time, and takes three times as long to copy
// what lies 1 or 16 bytes past a multiple of 64 on the other side, as NumPy's arrays do beside a block of its own.
#include "contiguous.hpp"

#include <cstdint>

namespace entrepot::backends::sycl {

namespace {

// What a work-item, and so a core, takes at a time: a multiple of 64.
constexpr std::size_t piece = 64 << 10;

// PIECE, TAKE (from where), VALUE (16 bytes at an offset) and BYTE (one of them) are defined in front of it.
constexpr const char *kernel_text = R"(
kernel void NAME(global uchar *to, TAKE, ulong bytes) {
    const ulong begin = get_global_id(0) * PIECE;
    const ulong end = min(begin + PIECE, bytes), whole = begin + (end - begin) / 64 * 64;
    for (ulong at = begin; at < whole; at += 64) {
        const uchar16 first = VALUE(at), second = VALUE(at + 16), third = VALUE(at + 32), fourth = VALUE(at + 48);
        vstore16(first, 0, to + at);
        vstore16(second, 0, to + at + 16);
        vstore16(third, 0, to + at + 32);
        vstore16(fourth, 0, to + at + 48);
    }
    for (ulong at = whole; at < end; ++at)
        to[at] = BYTE(at);
}
)";

struct Verb {
    const char *name, *take, *value, *byte;
};
constexpr Verb copy_verb = {"copy_block", "global const uchar *from", "vload16(0, from + (at))", "from[at]"};
constexpr Verb fill_verb = {"fill_block", "uchar16 value", "value", "((const uchar *)&value)[(at) % 16]"};

template <class SetArgument>
void submit(ep_queue queue, ::sycl::queue &native, const Verb &verb, void *to, std::size_t bytes, SetArgument &&set_argument) {
    const auto source = [&](ep_dialect) {
        return sentence_of("#define NAME ", verb.name, "\n#define PIECE ", piece, "ul\n#define TAKE ", verb.take,
                           "\n#define VALUE(at) ", verb.value, "\n#define BYTE(at) ", verb.byte, kernel_text);
    };
    const ::sycl::kernel kernel = kept_kernel(queue, verb.name, verb.name, source);
    native.submit([&](::sycl::handler &handler) {
        handler.set_arg(0, to);
        set_argument(handler);
        handler.set_arg(2, static_cast<std::uint64_t>(bytes));
        handler.parallel_for(::sycl::nd_range<1>((bytes + piece - 1) / piece, 1), kernel);
    });
}

}  // namespace

bool is_of_cores(ep_queue queue) noexcept { return queue->context->cl && queue->device->info.type == EP_CPU; }

void copy_on_cores(ep_queue queue, ::sycl::queue &native, void *to, const void *from, std::size_t bytes) {
    submit(queue, native, copy_verb, to, bytes, [&](::sycl::handler &handler) { handler.set_arg(1, const_cast<void *>(from)); });
}

void fill_on_cores(ep_queue queue, ::sycl::queue &native, void *to, const Fill::Value &value, std::size_t bytes) {
    submit(queue, native, fill_verb, to, bytes,
           [&](::sycl::handler &handler) { handler.set_arg(1, syclex::raw_kernel_arg(value.data(), value.size())); });
}

}  // namespace entrepot::backends::sycl
