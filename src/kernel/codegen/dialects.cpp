// Dialects: the rows of the table.
#include "kernel/codegen/dialects.hpp"

#include "kernel/ir/numbers.hpp"
#include "kernel/passes/vector_math.hpp"
#include <algorithm>
#include <stdexcept>

namespace entrepot::kernel {

namespace {

using namespace dtypes;

constexpr TypeWords opencl_types[] = {
    {boolean, "bool", "uchar", ""},
    {int8, "char", "char", ""},
    {int16, "short", "short", ""},
    {int32, "int", "int", ""},
    {int64, "long", "long", "L"},
    {uint8, "uchar", "uchar", ""},
    {uint16, "ushort", "ushort", ""},
    {uint32, "uint", "uint", "u"},
    {uint64, "ulong", "ulong", "UL"},
    {float16, "half", "half", "h"},
    {float32, "float", "float", "f"},
    {float64, "double", "double", ""},
    {bfloat16, "float", "ushort", "f"},
    {complex64, "complex64", "complex64", ""},
    {complex128, "complex128", "complex128", ""},
};

#define ENTREPOT_C_TYPES                                                                           \
    {boolean, "bool", "unsigned char", ""}, {int8, "signed char", "signed char", ""},              \
        {int16, "short", "short", ""}, {int32, "int", "int", ""},                                  \
        {int64, "long long", "long long", "LL"}, {uint8, "unsigned char", "unsigned char", ""},    \
        {uint16, "unsigned short", "unsigned short", ""}, {uint32, "unsigned", "unsigned", "u"},   \
        {uint64, "unsigned long long", "unsigned long long", "ULL"},                               \
        {float32, "float", "float", "f"}, {float64, "double", "double", ""},                       \
        {bfloat16, "float", "unsigned short", "f"}, {complex64, "complex64", "complex64", ""},     \
        {complex128, "complex128", "complex128", ""}
constexpr TypeWords cpp_types[] = {ENTREPOT_C_TYPES, {float16, "float", "unsigned short", "f"}};
constexpr TypeWords sycl_types[] = {ENTREPOT_C_TYPES, {float16, "sycl::half", "sycl::half", ""}};
#undef ENTREPOT_C_TYPES

constexpr IndexWords opencl_indices[] = {
    {"global_id", "(long)get_global_id(@)"},
    {"local_id", "(long)get_local_id(@)"},
    {"group_id", "(long)get_group_id(@)"},
    {"num_groups", "(long)get_num_groups(@)"},
    {"global_size", "(long)get_global_size(@)"},
    {"local_size", "(long)get_local_size(@)"},
    {"sub_group_id", "(long)get_sub_group_id()"},
    {"sub_group_local_id", "(long)get_sub_group_local_id()"},
    {"sub_group_size", "(long)get_sub_group_size()"},
    {"num_sub_groups", "(long)get_num_sub_groups()"},
    {"max_sub_group_size", "(long)get_max_sub_group_size()"},
};
constexpr IndexWords sycl_indices[] = {
    {"global_id", "(long long)this_item().get_global_id(@)"},
    {"local_id", "(long long)this_item().get_local_id(@)"},
    {"group_id", "(long long)this_item().get_group(@)"},
    {"num_groups", "(long long)this_item().get_group_range(@)"},
    {"global_size", "(long long)this_item().get_global_range(@)"},
    {"local_size", "(long long)this_item().get_local_range(@)"},
    {"sub_group_id", "(long long)this_item().get_sub_group().get_group_linear_id()"},
    {"sub_group_local_id", "(long long)this_item().get_sub_group().get_local_linear_id()"},
    {"sub_group_size", "(long long)this_item().get_sub_group().get_local_linear_range()"},
    {"num_sub_groups", "(long long)this_item().get_sub_group().get_group_linear_range()"},
    {"max_sub_group_size", "(long long)this_item().get_sub_group().get_max_local_range()[0]"},
};
constexpr IndexWords cuda_indices[] = {
    {"global_id", "(long long)blockIdx.@ * blockDim.@ + threadIdx.@"},
    {"local_id", "(long long)threadIdx.@"},
    {"group_id", "(long long)blockIdx.@"},
    {"num_groups", "(long long)gridDim.@"},
    {"global_size", "(long long)gridDim.@ * blockDim.@"},
    {"local_size", "(long long)blockDim.@"},
    {"sub_group_id", "(long long)(group_thread() / warpSize)"},
    {"sub_group_local_id", "(long long)(group_thread() % warpSize)"},
    {"sub_group_size", "(long long)sub_group_threads()"},
    {"num_sub_groups", "(long long)((group_threads() + warpSize - 1) / warpSize)"},
    {"max_sub_group_size", "(long long)warpSize"},
};

constexpr DialectRow rows[] = {
    {.dialect = Dialect::opencl_c,
     .name = "OpenCL C",
     .kernel = "kernel void ",
     .function = "",
     .constant_array = "constant ",
     .local_array = "local ",
     .spaces = {"global ", "local ", "", "constant "},
     .restrict_ = "restrict ",
     .dimensions = {"0", "1", "2"},
     .infinity32 = "INFINITY",
     .infinity64 = "(double)INFINITY",
     .nan32 = "(0.0f / 0.0f)",
     .nan64 = "(0.0 / 0.0)",
     .barriers = {"barrier(CLK_LOCAL_MEM_FENCE);", "barrier(CLK_GLOBAL_MEM_FENCE);",
                  "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"},
     .sub_group_barrier = "sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
     .types = opencl_types,
     .indices = opencl_indices,
     .math_prefix = "",
     .overloads = true,
     .integers = {.wraps = false, .narrows = true, .converts_unsigned = true}},
    {.dialect = Dialect::sycl,
     .name = "SYCL source",
     .kernel = "void ",
     .function = "static inline ",
     .constant_array = "static constexpr ",
     .local_array = "",
     .spaces = {"", "", "", "const "},
     .restrict_ = "__restrict ",
     .dimensions = {"", "", ""},
     .infinity32 = "__builtin_inff()",
     .infinity64 = "__builtin_inf()",
     .nan32 = "__builtin_nanf(\"\")",
     .nan64 = "__builtin_nan(\"\")",
     .barriers = {"sycl::group_barrier(this_item().get_group());",
                  "sycl::group_barrier(this_item().get_group());",
                  "sycl::group_barrier(this_item().get_group());"},
     .sub_group_barrier = "sycl::group_barrier(this_item().get_sub_group());",
     .types = sycl_types,
     .indices = sycl_indices,
     .math_prefix = "sycl::",
     .overloads = true,
     .integers = {.wraps = true, .narrows = false, .converts_unsigned = false}},
    {.dialect = Dialect::cuda,
     .name = "CUDA C++",
     .kernel = "extern \"C\" __global__ void ",
     .function = "static __device__ inline ",
     .constant_array = "__constant__ const ",
     .local_array = "__shared__ ",
     .spaces = {"", "", "", "const "},
     .restrict_ = "__restrict__ ",
     .dimensions = {"x", "y", "z"},
     .infinity32 = "(1.0f / 0.0f)",
     .infinity64 = "(1.0 / 0.0)",
     .nan32 = "(0.0f / 0.0f)",
     .nan64 = "(0.0 / 0.0)",
     .barriers = {"__syncthreads();", "__syncthreads();", "__syncthreads();"},
     .sub_group_barrier = "__syncwarp();",
     .types = cpp_types,
     .indices = cuda_indices,
     .math_prefix = "",
     .overloads = false,
     .integers = {.wraps = false, .narrows = false, .converts_unsigned = false}},
    {.dialect = Dialect::hip,
     .name = "HIP C++",
     .kernel = "extern \"C\" __global__ void ",
     .function = "static __device__ inline ",
     .constant_array = "__constant__ const ",
     .local_array = "__shared__ ",
     .spaces = {"", "", "", "const "},
     .restrict_ = "__restrict__ ",
     .dimensions = {"x", "y", "z"},
     .infinity32 = "__builtin_inff()",
     .infinity64 = "__builtin_inf()",
     .nan32 = "__builtin_nanf(\"\")",
     .nan64 = "__builtin_nan(\"\")",
     .barriers = {"__syncthreads();", "__syncthreads();", "__syncthreads();"},
     // The barrier alone orders instructions but not memory accesses.
     .sub_group_barrier = "__builtin_amdgcn_fence(__ATOMIC_RELEASE, \"wavefront\"); "
                          "__builtin_amdgcn_wave_barrier(); "
                          "__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"wavefront\");",
     .types = cpp_types,
     .indices = cuda_indices,
     .math_prefix = "",
     .overloads = false,
     .integers = {.wraps = false, .narrows = false, .converts_unsigned = false}},
    {.dialect = Dialect::cpp,
     .name = "C++",
     .kernel = "static void ",
     .function = "static inline ",
     .constant_array = "static const ",
     .local_array = "alignas(64) ",
     .spaces = {"", "", "", "const "},
     .restrict_ = "__restrict ",
     .dimensions = {"", "", ""},
     .infinity32 = "__builtin_inff()",
     .infinity64 = "__builtin_inf()",
     .nan32 = "__builtin_nanf(\"\")",
     .nan64 = "__builtin_nan(\"\")",
     .barriers = {"", "", ""},
     .sub_group_barrier = "",
     .types = cpp_types,
     .indices = {},
     .math_prefix = "__builtin_",
     .overloads = false,
     .integers = {.wraps = true, .narrows = false, .converts_unsigned = false}},
};

// Functions whose name in a dialect is not the dialect's prefix plus the canonical name. An empty
// name stands for a helper.
struct MathWords {
    std::string_view name, opencl, sycl, cuda, cpp;
};
constexpr MathWords math_table[] = {
    {"abs", "fabs", "fabs", "fabs", "fabs"},
    {"isnan", "isnan", "isnan", "isnan", "isnan"},
    {"isinf", "isinf", "isinf", "isinf", "isinf"},
    {"isfinite", "isfinite", "isfinite", "isfinite", "isfinite"},
    {"power", "pow", "pow", "pow", "pow"},
    {"popcount", "popcount", "popcount", "__popcll", "popcountll"},
};
// Functions expanded in every dialect. Python's min and max define which operand is the result if
// one is NaN; C's do not. C lacks the other functions.
constexpr std::string_view own_functions[] = {"min",       "max",      "minimum", "maximum",
                                              "gcd",       "lcm",      "isqrt",   "perm",
                                              "factorial", "exponent", "comb",    "bitwise_count"};

constexpr std::string_view reserved[] = {
    // C and C++
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "const",
    "constexpr",
    "const_cast",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "concept",
    "co_await",
    "co_return",
    "co_yield",
    "wait",
    "linux",
    "unix",
    // OpenCL C
    "kernel",
    "global",
    "local",
    "constant",
    "half",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "size_t",
    "ptrdiff_t",
    "intptr_t",
    "uintptr_t",
    "event_t",
    "sampler_t",
    "image2d_t",
    "image3d_t",
    "pipe",
    "generic",
    "read_only",
    "write_only",
    "read_write",
    "uniform",
    "complex",
    "imaginary",
    "quad",
    "vec_step",
    "barrier",
    "mem_fence",
    "rsqrt",
    "exp10",
    "sinpi",
    "cospi",
    "tanpi",
    "asinpi",
    "acospi",
    "atanpi",
    "atan2pi",
    "isnormal",
    "INFINITY",
    "NAN",
    "MAXFLOAT",
    "NULL",
    "EOF",
    // C++, SYCL, CUDA, HIP
    "std",
    "sycl",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "dim3",
    "__shared__",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "assert",
    "memcpy",
    "memset",
    "malloc",
    "free",
    "printf",
    "clock",
    // Names in generated code
    "range",
    "arguments",
    "kept",
    "group",
    "item",
    "items",
    "complex64",
    "complex128",
    "report",
    "arrivals",
    "grid_barrier",
    "this_item",
    "bits_as",
    "next_item",
    "next_group",
    "group_thread",
    "group_threads",
    "sub_group_threads",
    "sub_group_lane",
    "group_place",
    "left",
    "returned",
    "launch_memory",
    "scratch",
    "value",
    "other",
    "first",
    "last",
    // Functions of the C library, whose types differ
    "sqrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "pow",
    "fabs",
    "abs",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "round",
    "fmod",
    "remainder",
    "hypot",
    "copysign",
    "fma",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
    "cbrt",
    "isnan",
    "isinf",
    "isfinite",
    "min",
    "max",
    "div",
    "gamma",
    "index",
    "j0",
    "j1",
    "jn",
    "y0",
    "y1",
    "yn",
    "select",
    "signbit",
    "exit",
    "abort",
    "read",
    "write",
    "open",
    "close",
    "time",
    "signal",
    "rand",
    "random",
    "scalb",
    "significand",
    "drem",
    "finite",
    "logb",
    "frexp",
    "ldexp",
    "ilogb",
    "nextafter",
    "modf",
    "step",
    "sign",
    "mix",
    "clamp",
    "dot",
    "cross",
    "length",
    "distance",
    "normalize",
    "degrees",
    "radians",
    "smoothstep",
    "shuffle",
    "ballot",
    "any",
    "all",
    "bitselect",
    "prefetch",
    "nan",
    "mad",
    "mul_hi",
    "rotate",
    "popcount",
    "clz",
    "abs_diff",
    "add_sat",
    "ctz",
    "fast_distance",
    "fast_length",
    "fast_normalize",
    "fdim",
    "fmax",
    "fmin",
    "fract",
    "hadd",
    "isequal",
    "isgreater",
    "isless",
    "isordered",
    "isunordered",
    "mad24",
    "mad_hi",
    "mad_sat",
    "maxmag",
    "minmag",
    "mul24",
    "pown",
    "powr",
    "remquo",
    "rhadd",
    "rootn",
    "sincos",
    "sub_sat",
    "upsample",
};

std::string_view word_of(const MathWords &row, Dialect dialect) {
    switch (dialect) {
    case Dialect::opencl_c:
        return row.opencl;
    case Dialect::sycl:
        return row.sycl;
    case Dialect::cuda:
    case Dialect::hip:
        return row.cuda;
    case Dialect::cpp:
        break;
    }
    return row.cpp;
}

}  // namespace

const DialectRow &dialect_row(Dialect dialect) {
    return *std::ranges::find(rows, dialect, &DialectRow::dialect);
}

const TypeWords &type_words(const DialectRow &dialect, Dtype dtype) {
    const auto found = std::ranges::find(dialect.types, dtype, &TypeWords::dtype);
    if (found == dialect.types.end())
        throw std::logic_error("no dialect spells " + name_of(dtype));
    return *found;
}

std::string math_words(const DialectRow &dialect, std::string_view name, Dtype dtype) {
    if (std::ranges::find(own_functions, name) != std::end(own_functions))
        return "";
    std::string_view word = name;
    if (const auto row = std::ranges::find(math_table, name, &MathWords::name);
        row != std::end(math_table)) {
        word = word_of(*row, dialect.dialect);
        if (word.empty())
            return "";
    }
    const bool is_predicate = name.starts_with("is");
    const bool is_single =
        !is_integer(dtype) && (dtype.bits == 32 || type_words(dialect, dtype).is_promoted());
    return std::string(dialect.math_prefix) + std::string(word) +
           (is_single && !is_predicate && !dialect.overloads ? "f" : "");
}

namespace {

// float4 and similar types of OpenCL C, CUDA and HIP.
bool is_vector_type(std::string_view name) {
    constexpr std::string_view elements[] = {"char", "uchar", "short", "ushort",   "int",
                                             "uint", "long",  "ulong", "float",    "double",
                                             "half", "bool",  "quad",  "longlong", "ulonglong"};
    const std::size_t digits = name.find_first_of("0123456789");
    constexpr std::string_view counts[] = {"1", "2", "3", "4", "8", "16"};
    return digits != name.npos &&
           std::ranges::find(elements, name.substr(0, digits)) != std::end(elements) &&
           std::ranges::find(counts, name.substr(digits)) != std::end(counts);
}

}  // namespace

bool is_reserved(std::string_view name) {
    constexpr std::string_view beginnings[] = {
        "__",         "get_",       "atomic_",     "global_id",  "local_id",
        "group_id",   "num_groups", "global_size", "local_size", "sub_group",
        "work_group", "as_",        "cl_",         "convert_",   "tile_"};
    if (is_vector_type(name))
        return true;
    if (std::ranges::any_of(beginnings,
                            [&](std::string_view each) { return name.starts_with(each); }))
        return true;
    if (name.size() > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z')
        return true;
    // Names without lower-case letters may be macros of the dialects' headers.
    if (name.size() > 1 && std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; }))
        return true;
    // Helpers have names that end with their type.
    if (const std::size_t last = name.rfind('_');
        last != name.npos && dtype_from_name(name.substr(last + 1)))
        return true;
    if (name.ends_with('f') && find_vector_math(name.substr(0, name.size() - 1)) != nullptr)
        return true;
    return std::ranges::find(reserved, name) != std::end(reserved);
}

}  // namespace entrepot::kernel
