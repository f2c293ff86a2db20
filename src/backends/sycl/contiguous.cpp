// Kernels that copy and fill a block on the cores of a CPU.
//
// They avoid slow paths of Intel's OpenCL runtime (2026.2):
// - It splits a block by the divisors of its size. A block of 16 MiB and 5 bytes takes 33 ms, where
//   memory needs 0.4.
// - Fills with items of more than a byte take 25 times as long as memory needs.
// - Copies take three times as long if one side is aligned to 64 bytes and the other is not.
//   NumPy's arrays are often 1 or 16 bytes past a multiple of 64.
#include "backends/sycl/contiguous.hpp"

#include <cstdint>

namespace entrepot::backends::sycl {
namespace {

// Bytes that a work-item, and so a core, processes at a time: a multiple of 64.
constexpr std::size_t piece = 64 << 10;

// The source prepended to this text defines NAME, PIECE, TAKE (the source parameter), VALUE (16
// bytes at an offset) and BYTE (one of them).
constexpr const char *block_text = R"(
kernel void NAME(global uchar *to, TAKE, ulong bytes) {
    const ulong begin = get_global_id(0) * PIECE;
    const ulong end = min(begin + PIECE, bytes), whole = begin + (end - begin) / 64 * 64;
    for (ulong at = begin; at < whole; at += 64) {
        const uchar16 first = VALUE(at), second = VALUE(at + 16);
        const uchar16 third = VALUE(at + 32), fourth = VALUE(at + 48);
        vstore16(first, 0, to + at);
        vstore16(second, 0, to + at + 16);
        vstore16(third, 0, to + at + 32);
        vstore16(fourth, 0, to + at + 48);
    }
    for (ulong at = whole; at < end; ++at)
        to[at] = BYTE(at);
}
)";

struct BlockVerb {
    const char *name, *take, *value, *byte;
};
constexpr BlockVerb copies = {"copy_block", "global const uchar *from", "vload16(0, from + (at))",
                              "from[at]"};
constexpr BlockVerb fills = {"fill_block", "uchar16 value", "value",
                             "((const uchar *)&value)[(at) % 16]"};

std::optional<::sycl::kernel> kernel_of(Queue &queue, const BlockVerb &verb) {
    const ep_device_info &device = queue.device.info;
    if (!queue.context->cl || device.type != EP_CPU || !(device.aspects & EP_READS_HOST_MEMORY) ||
        queue.context->builds_no_blocks.load(std::memory_order_relaxed))
        return std::nullopt;
    const auto source = [&](ep_dialect) {
        return sentence_of("#define NAME ", verb.name, "\n#define PIECE ", piece,
                           "ul\n#define TAKE ", verb.take, "\n#define VALUE(at) ", verb.value,
                           "\n#define BYTE(at) ", verb.byte, block_text);
    };
    try {
        return queue.context->built_in_kernel(queue.device, verb.name, verb.name, source);
    } catch (...) {  // a driver without a compiler can still copy
        queue.context->builds_no_blocks.store(true, std::memory_order_relaxed);
        return std::nullopt;
    }
}

template <class SetArgument>
void submit_block(::sycl::queue &native, const ::sycl::kernel &kernel, void *to, std::size_t bytes,
                  SetArgument &&set_argument) {
    native.submit([&](::sycl::handler &handler) {
        handler.set_arg(0, to);
        set_argument(handler);
        handler.set_arg(2, static_cast<std::uint64_t>(bytes));
        handler.parallel_for(::sycl::nd_range<1>((bytes + piece - 1) / piece, 1), kernel);
    });
}

}  // namespace

std::optional<::sycl::kernel> block_copy(Queue &queue) { return kernel_of(queue, copies); }
std::optional<::sycl::kernel> block_fill(Queue &queue) { return kernel_of(queue, fills); }

void submit_block_copy(::sycl::queue &native, const ::sycl::kernel &kernel, void *to,
                       const void *from, std::size_t bytes) {
    submit_block(native, kernel, to, bytes,
                 [&](::sycl::handler &handler) { handler.set_arg(1, const_cast<void *>(from)); });
}

void submit_block_fill(::sycl::queue &native, const ::sycl::kernel &kernel, void *to,
                       const Fill::Value &value, std::size_t bytes) {
    submit_block(native, kernel, to, bytes, [&](::sycl::handler &handler) {
        handler.set_arg(1, syclex::raw_kernel_arg(value.data(), value.size()));
    });
}

}  // namespace entrepot::backends::sycl
