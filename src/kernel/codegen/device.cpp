// Emitter of OpenCL C, SYCL source, CUDA C++ and HIP C++: kernels, ids, atomics.
#include "kernel/codegen/device.hpp"
#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/uniform.hpp"

#include <algorithm>
#include <set>

namespace entrepot::kernel {

namespace {

// Limit of the shared memory that a CUDA kernel may declare statically. Dynamic shared memory may
// be larger.
constexpr std::uint64_t max_declared_local = std::uint64_t{48} << 10;

// NVRTC 12 lacks this builtin of the other compilers.
constexpr std::string_view bit_cast = "__builtin_bit_cast(";
constexpr const char *bit_cast_of_cuda =
    R"(template <class To, class From> static __device__ inline To bits_as(From from) {
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
#define __builtin_bit_cast(To, from) bits_as<To>(from)

)";

// Headers for the names in the text. Including all of SYCL costs the run-time compiler more than
// two seconds, these headers a third of one. If the runtime stores them elsewhere, all of SYCL is
// included.
std::string sycl_headers(std::string_view text) {
    struct Row {
        std::string_view name, header;
    };
    // The first row whose name is a prefix applies. Any other name is a mathematical function.
    static constexpr Row rows[] = {
        {"sycl::ext::oneapi::experimental::nd_range_kernel",
         "ext/oneapi/free_function_kernel_properties.hpp"},
        {"sycl::ext::oneapi::experimental::printf", "ext/oneapi/experimental/builtins.hpp"},
        {"sycl::ext::oneapi::experimental::work_group_memory",
         "ext/oneapi/experimental/work_group_memory.hpp"},
        {"sycl::ext::oneapi::experimental::work_group_static", "ext/oneapi/work_group_static.hpp"},
        {"sycl::ext::oneapi::this_work_item", "ext/oneapi/free_function_queries.hpp"},
        {"sycl::access", "access/access.hpp"},
        {"sycl::atomic_fence", "atomic_fence.hpp"},
        {"sycl::atomic_ref", "atomic_ref.hpp"},
        {"sycl::bit_", "functional.hpp"},
        {"sycl::group_barrier", "group_barrier.hpp"},
        {"sycl::half", "half_type.hpp"},
        {"sycl::id", "id.hpp"},
        {"sycl::maximum", "functional.hpp"},
        {"sycl::memory_", "memory_enums.hpp"},
        {"sycl::minimum", "functional.hpp"},
        {"sycl::multiplies", "functional.hpp"},
        {"sycl::plus", "functional.hpp"}};
    std::set<std::string_view> headers;
    constexpr std::string_view begin = "sycl::";
    for (std::size_t at = text.find(begin); at != text.npos;
         at = text.find(begin, at + begin.size())) {
        const std::string_view rest = text.substr(at);
        const auto *const row = std::ranges::find_if(
            rows, [&](const Row &each) { return rest.starts_with(each.name); });
        const std::string_view name = rest.substr(0, rest.find_first_of("<("));
        headers.insert(row != std::end(rows)             ? row->header
                       : name.find("group") != name.npos ? "group_algorithm.hpp"
                                                         : "builtins.hpp");
    }
    std::string found, included;
    for (const std::string_view header : headers) {
        found += (found.empty() ? "#if __has_include(<sycl/" : " && __has_include(<sycl/") +
                 std::string(header) + ">)";
        included += "#include <sycl/" + std::string(header) + ">\n";
    }
    return found + "\n" + included + "#else\n#include <sycl/sycl.hpp>\n#endif\n\n";
}

// True for the loop of tile.zeros. It is unrolled, so that the elements stay in registers.
bool clears_accumulator(const ir::Function &function, const ir::Statement &statement) {
    return statement.act == ir::Act::for_ && statement.body.size() == 1 &&
           statement.body[0].act == ir::Act::store &&
           !function.roots[statement.body[0].id].type.tile.empty();
}

}  // namespace

// ---------------------------------------------------------------- the program

std::string DeviceEmitter::prologue() {
    std::string text;
    switch (dialect_.dialect) {
    case Dialect::opencl_c: {
        const auto uses = [&](std::string_view word) {
            return out_.text().find(word) != std::string::npos;
        };
        if (target_.fp64 && uses("double"))
            pragmas_.insert("cl_khr_fp64");
        if (target_.fp16 && uses("half"))
            pragmas_.insert("cl_khr_fp16");
        for (const std::string &pragma : pragmas_)
            text += "#pragma OPENCL EXTENSION " + pragma + " : enable\n";
        return text.empty() ? text : text + "\n";
    }
    case Dialect::sycl:
        return sycl_headers(helpers_ + out_.text());
    case Dialect::cuda:
        return (helpers_ + out_.text()).find(bit_cast) == std::string::npos ? text
                                                                            : bit_cast_of_cuda;
    default:
        return text;
    }
}

std::string DeviceEmitter::options() const {
    switch (dialect_.dialect) {
    case Dialect::opencl_c:
        return target_.fast_math ? "-cl-fast-relaxed-math" : "";
    case Dialect::sycl:
        return target_.fast_math ? "-ffast-math -fwrapv" : "-fno-fast-math -fwrapv";
    case Dialect::cuda: {
        const std::string fast = target_.fast_math ? "--use_fast_math" : "";
        if (target_.max_registers == 0)
            return fast;
        return fast + (fast.empty() ? "" : " ") +
               "--maxrregcount=" + std::to_string(target_.max_registers);
    }
    default:
        return target_.fast_math ? "-ffast-math -fwrapv" : "-fwrapv";
    }
}

void DeviceEmitter::add_array(const ir::Function &kernel, ir::RootId id,
                              std::vector<std::string> &parameters) {
    const ir::Root &root = kernel.roots[id];
    const std::uint32_t place = *root.parameter;
    if (uses_root(id)) {
        const bool is_local = root.type.space == Space::local;
        parameters_.push_back(
            {is_local ? CompiledParameter::What::local : CompiledParameter::What::pointer, place, 0,
             root.type.dtype});
        if (is_local && is(Dialect::sycl))
            parameters.push_back("sycl::ext::oneapi::experimental::work_group_memory<" +
                                 storage_type(root.type.dtype) + "[]> " + roots_[id]);
        else if (!(is_local && is_cuda_like()))
            parameters.push_back(pointer_to(root, root.restrict_ && !is_local) + roots_[id]);
    }
    for (const ir::Op op : {ir::Op::extent, ir::Op::stride})
        for (std::uint32_t i = 0; i < root.type.ndim; ++i) {
            if (!uses_dimension(op, id, i))
                continue;
            parameters_.push_back({op == ir::Op::extent ? CompiledParameter::What::extent
                                                        : CompiledParameter::What::stride,
                                   place, i, dtypes::int64});
            parameters.push_back(value_type(dtypes::int64) + " " + dimension_name(op, id, i));
        }
}

std::vector<std::string> DeviceEmitter::parameters_of(const ir::Function &kernel) {
    std::vector<std::string> parameters;
    std::set<ir::VariableId> used;
    ir::for_each_expression(kernel.body, [&](const ir::Expression &each) {
        if (each.op == ir::Op::variable)
            used.insert(each.id);
    });
    std::size_t local_arrays = 0;
    for (ir::RootId i = 0; i < kernel.roots.size(); ++i)
        local_arrays +=
            kernel.roots[i].parameter && kernel.roots[i].type.space == Space::local && uses_root(i);
    if (is_cuda_like() && local_arrays > 1)  // each begins where the previous one ends
        for (ir::RootId i = 0; i < kernel.roots.size(); ++i)
            if (kernel.roots[i].parameter && kernel.roots[i].type.space == Space::local)
                for (std::uint32_t d = 0; d < kernel.roots[i].type.ndim; ++d)
                    used_dimensions_.insert({ir::Op::extent, i, d});

    for (std::uint32_t place = 0; place < kernel.parameter_count; ++place) {
        for (ir::RootId i = 0; i < kernel.roots.size(); ++i)
            if (kernel.roots[i].parameter == place)
                add_array(kernel, i, parameters);
        for (ir::VariableId i = 0; i < kernel.variables.size(); ++i) {
            const ir::Variable &variable = kernel.variables[i];
            if (variable.parameter != place || !used.contains(i))
                continue;
            parameters_.push_back({CompiledParameter::What::value, place, 0, variable.type.dtype});
            const bool is_promoted = words(variable.type.dtype).is_promoted();
            parameters.push_back(storage_type(variable.type.dtype) + " " + variables_[i] +
                                 (is_promoted ? "_bits" : ""));
        }
    }
    for (std::uint32_t i = 0; i < target_.dimensions && is_guarded(); ++i) {
        parameters_.push_back({CompiledParameter::What::global_size, 0, i, dtypes::int64});
        parameters.push_back("long long global_size" + std::to_string(i));
    }
    if (module_.has_grid_barriers && is_cuda_like()) {
        parameters_.push_back({CompiledParameter::What::arrivals, 0, 0, dtypes::uint64});
        parameters.push_back("unsigned long long *arrivals");
    }
    if (module_.debug) {
        parameters_.push_back({CompiledParameter::What::report, 0, 0, dtypes::int64});
        parameters.push_back(std::string(dialect_.spaces[0]) + value_type(dtypes::int64) +
                             " *report");
    }
    return parameters;
}

void DeviceEmitter::write_local_arrays(const ir::Function &kernel) {
    for (const ir::RootId i : own_local_arrays(kernel)) {
        const ir::Root &root = kernel.roots[i];
        const std::string extent = "[" + std::to_string(elements_of(root.type)) + "]";
        if (is(Dialect::sycl))
            out_.line("static sycl::ext::oneapi::experimental::work_group_static<" +
                      storage_type(root.type.dtype) + extent + "> " + roots_[i] + ";");
        else
            out_.line(std::string(dialect_.local_array) +
                      (is_cuda_like() && ir::has_tiles(module_)
                           ? "__align__(" + std::to_string(local_alignment()) + ") "
                           : "") +
                      storage_type(root.type.dtype) + " " + roots_[i] + extent + ";");
    }
}

// CUDA's dynamic shared memory is one block. The arrays follow each other in it, each aligned to 16
// bytes.
void DeviceEmitter::write_launch_memory(const ir::Function &kernel) {
    std::string before;
    const auto place = [&](ir::RootId i, const std::string &bytes) {
        const std::string type = storage_type(kernel.roots[i].type.dtype);
        if (before.empty())
            out_.line("extern __shared__ unsigned char launch_memory[] __attribute__((aligned(" +
                      std::to_string(local_alignment()) + ")));");
        out_.line(type + " *" + roots_[i] + " = (" + type + " *)" +
                  (before.empty() ? "launch_memory" : "(launch_memory + " + before + ")") + ";");
        before += (before.empty() ? "" : " + ") + bytes;
    };
    if (launches_arrays_)
        for (const ir::RootId i : own_local_arrays(kernel))
            place(i, std::to_string(aligned_bytes(kernel.roots[i].type)));
    for (std::uint32_t parameter = 0; parameter < kernel.parameter_count; ++parameter)
        for (ir::RootId i = 0; i < kernel.roots.size(); ++i) {
            const ir::Root &root = kernel.roots[i];
            if (root.parameter != parameter || root.type.space != Space::local || !uses_root(i))
                continue;
            std::string size = "sizeof(" + storage_type(root.type.dtype) + ")";
            for (std::uint32_t d = 0; d < root.type.ndim; ++d)
                size += " * " + dimension_name(ir::Op::extent, i, d);
            place(i, "(" + size + " + 15) / 16 * 16");
        }
}

std::vector<ir::RootId> DeviceEmitter::own_local_arrays(const ir::Function &kernel) const {
    std::vector<ir::RootId> arrays;
    for (ir::RootId i = 0; i < kernel.roots.size(); ++i)
        if (kernel.roots[i].type.space == Space::local && !kernel.roots[i].parameter &&
            uses_root(i))
            arrays.push_back(i);
    return arrays;
}

std::uint64_t DeviceEmitter::own_local_bytes(const ir::Function &kernel) const {
    std::uint64_t bytes = 0;
    for (const ir::RootId i : own_local_arrays(kernel))
        bytes += aligned_bytes(kernel.roots[i].type);
    return bytes;
}

// wgmma repeats the layout of a tile every 1024 bytes.
std::uint64_t DeviceEmitter::local_alignment() const {
    return is(Dialect::cuda) && ir::has_tiles(module_) ? 1024 : 16;
}

std::uint64_t DeviceEmitter::aligned_bytes(const Type &array) const {
    return (bytes_of(array) + local_alignment() - 1) / local_alignment() * local_alignment();
}

// Intel's OpenCL compiler for the CPU (2026.2, driver 2026.22.10) accesses wrong elements of
// private arrays in vectorized code. This happens if the work-items in the lanes of a vector store
// to different elements. See "Known problems of compilers" in docs/kernels/errors.md. The code is
// correct without vectorization, and with volatile arrays.
bool DeviceEmitter::miscompiles_private_stores() const {
    return target_.vectorizes_items && !is_cuda_like() && has_divergent_private_store(module_);
}

// Intel's OpenCL compiler for the CPU (2026.2, driver 2026.22.10) treats LLVM's `fneg` as uniform.
// If a float is negated before a barrier and used after it, every work-item of the group gets the
// last one's value.
//
// LLVM also creates `fneg` from -1 * x, x / -1, -0.0 - x and a flipped sign bit. It does so for the
// fused multiply-add of a * b - x and a - x * b, too. It moves these out of loops and reuses them.
// The workaround combines the mask of the sign bit, or the factor -1, with a zero that is unknown
// to the compiler. See "Known problems of compilers" in docs/kernels/errors.md.
bool DeviceEmitter::miscompiles_negation() const {
    return target_.vectorizes_items && !is_cuda_like() && module_.has_barriers;
}

std::string DeviceEmitter::negation_helper(Dtype dtype) {
    if (!miscompiles_negation() || !is_float(dtype))
        return "";
    return add_with_opaque_zero("negate", dtype, "bits ^ (BITS)((BITS)1 << SIGN >> ZERO)");
}

std::string DeviceEmitter::opaque_factor_helper(const ir::Expression &factor) {
    if (!miscompiles_negation() || !is_float(factor.type.dtype))
        return "";
    const auto minus_one = minus_one_.try_emplace(function_, module_, *function_).first;
    return minus_one->second.may_be_minus_one(factor)
               ? add_with_opaque_zero("hide", factor.type.dtype, "bits | (BITS)ZERO")
               : "";
}

std::string DeviceEmitter::no_contraction_line() const {
    if (!miscompiles_negation())
        return "";
    return is(Dialect::opencl_c) ? "#pragma OPENCL FP_CONTRACT OFF"
                                 : "#pragma clang fp contract(off)";
}

// Defines a function from float to float by a formula for its bits.
std::string DeviceEmitter::add_with_opaque_zero(const char *name, Dtype dtype,
                                                const std::string &bits) {
    const Dtype kept = words(dtype).is_promoted() ? dtypes::float32 : dtype;
    const std::string called = std::string(name) + "_" + name_of(kept);
    const std::string T = value_type(kept), B(words({TypeCode::unsigned_integer, kept.bits}).value);
    const auto as = [&](const std::string &to, const std::string &value) {
        return is(Dialect::opencl_c) ? "as_" + to + "(" + value + ")"
                                     : "__builtin_bit_cast(" + to + ", " + value + ")";
    };
    const std::string zero = opaque_zero();
    add_once(called,
             substituted(std::string(dialect_.function) + T + " " + called + "(" + T +
                             " x) {\n    const BITS bits = " + as(B, "x") + ";\n    return " +
                             as(T, "(BITS)(" + bits + ")") + ";\n}",
                         {{"SIGN", std::to_string(kept.bits - 1)}, {"ZERO", zero}, {"BITS", B}}));
    return called;
}

// For processors with AVX-512, Intel's OpenCL compiler (driver 2026.22.10) miscompiles some `~x`.
// If the value goes to an atomic of local memory, it emits an invalid instruction. Others near a
// barrier get wrong values. An xor with a mask that is not a known constant is compiled correctly.
bool DeviceEmitter::miscompiles_inversion() const {
    return target_.vectorizes_items && !is_cuda_like() && module_.uses_groups;
}

std::string DeviceEmitter::inversion_helper(Dtype dtype) {
    if (!miscompiles_inversion())
        return "";
    const std::string called = "invert_" + name_of(dtype), T = value_type(dtype),
                      zero = opaque_zero();
    add_once(called, std::string(dialect_.function) + T + " " + called + "(" + T +
                         " x) {\n    return (" + T + ")(x ^ (" + T + ")((" + T + ")" + zero +
                         " - 1));\n}");
    return called;
}

// The id that the operand is made of by conversions only, or nullopt.
std::optional<ir::Expression> DeviceEmitter::converted_id(const ir::Expression &operand) {
    if (!definitions_)
        definitions_.emplace(module_.kernel());
    std::optional<ir::Expression> known = definitions_->resolved(operand);
    const ir::Expression *id = known ? &*known : nullptr;
    while (id != nullptr && id->op == ir::Op::convert && is_integer(id->type.dtype))
        id = &id->operands[0];
    const bool is_id = id != nullptr && id->op == ir::Op::index &&
                       (id->text == "global_id" || id->text == "local_id");
    return is_id ? known : std::nullopt;
}

// The operand that is an id and is compared with a value that is no constant: 0, 1 or -1 for none.
int DeviceEmitter::side_of_id(const ir::Expression &equality) {
    for (const int side : {0, 1})
        if (equality.operands[1 - side].op != ir::Op::constant &&
            is_integer(equality.operands[side].type.dtype) && converted_id(equality.operands[side]))
            return side;
    return -1;
}

// Intel's OpenCL compiler for the CPU (2026.2, driver 2026.22.10) makes bounds of a loop over
// work-items of `if id == n`. If n is negative, the process ends, so that is asked first. If there
// is another such equality, elements are left out. Both then have an id that the compiler does not
// recognize, which it takes for 32 bits. In SYCL the compiler reorders the conditions, and ids have
// 32 bits anyway.
std::string DeviceEmitter::id_equality(const ir::Expression &equality) {
    const int side = target_.vectorizes_items && !is_cuda_like() && function_ == &module_.kernel()
                         ? side_of_id(equality)
                         : -1;
    if (side < 0)
        return "";
    if (!id_equalities_) {
        id_equalities_ = 0;
        ir::for_each_expression(module_.kernel().body, [&](const ir::Expression &each) {
            if (each.op == ir::Op::equal || each.op == ir::Op::not_equal)
                *id_equalities_ += side_of_id(each) >= 0;
        });
    }
    const ir::Expression &id = equality.operands[side], &other = equality.operands[1 - side];
    const bool is_equal = equality.op == ir::Op::equal;
    const std::string compared = (is_equal ? " == " : " != ") + text(other, binds_equal + 1);
    // Conversion to a smaller type may make it negative.
    const bool is_natural = build::without_widening(*converted_id(id)).op == ir::Op::index;
    if (*id_equalities_ == 1 && is_natural && build::is_simple(other) && is(Dialect::opencl_c))
        return "(" + text(other, binds_less + 1) + (is_equal ? " >= 0 && " : " < 0 || ") +
               text(id, binds_equal) + compared + ")";
    return "((" + text(id, binds_unary) + " ^ (" + value_type(id.type.dtype) + ")" + opaque_zero() +
           ")" + compared + ")";
}

// Expression for a 0 that compilers cannot fold: no group has 2^30 work-items. With 2^31, SYCL's
// compiler could fold it, because it is told that sizes fit an int.
std::string DeviceEmitter::opaque_zero() {
    ir::Expression size;
    size.op = ir::Op::index;
    size.text = "local_size";
    return "(" + index(size).text + " >> 30)";
}

bool DeviceEmitter::uses_sub_groups() const {
    bool found = false;
    for (const ir::Function &function : module_.functions) {
        ir::for_each_expression(function.body, [&](const ir::Expression &each) {
            found |= (each.op == ir::Op::index && each.text.find("sub_group") != each.text.npos) ||
                     (each.op == ir::Op::group && each.scope == ir::Scope::sub_group);
        });
        ir::for_each_statement(function.body, [&](const ir::Statement &each) {
            found |= each.act == ir::Act::barrier && each.scope == ir::Scope::sub_group;
        });
    }
    return found;
}

// Workaround for miscompiles_private_stores(). OpenCL C without sub-groups disables vectorization
// instead, by an attribute that SYCL lacks. With sub-groups it would leave one work-item in each.
std::string DeviceEmitter::private_qualifier(const ir::Root &root) const {
    const bool is_class =
        is(Dialect::sycl) && (is_complex(root.type.dtype) || root.type.dtype == dtypes::float16);
    return !is_class && miscompiles_private_stores() && (is(Dialect::sycl) || uses_sub_groups())
               ? "volatile "
               : "";
}

void DeviceEmitter::write_kernel(const ir::Function &kernel) {
    write_constant_arrays(kernel);
    const std::vector<std::string> parameters = parameters_of(kernel);
    // The body is written first, because it determines what the signature needs.
    Declarations::Variables local;
    for (ir::VariableId i = 0; i < kernel.variables.size(); ++i)
        if (!kernel.variables[i].parameter)
            local.insert(i);
    declarations_.clear();
    declarations_.plan(ir::row_of(kernel.body), local);

    Writer before = out_;
    const std::size_t promised = parameters_.size();
    const auto write_all = [&] {
        std::vector<std::string> all = parameters;
        if (!scratch_.empty())
            all.push_back("local ulong *scratch");
        // Compilers use more registers for a work-item if a group has fewer of them.
        const std::string bounds = is_cuda_like() && ir::has_tiles(module_)
                                       ? "__launch_bounds__(" + std::to_string(group_items()) + ") "
                                       : "";
        std::string head =
            std::string(dialect_.kernel) + bounds + function_name(kernel) + "(" + joined(all) + ")";
        if (is(Dialect::sycl)) {
            out_.line("extern \"C\" "
                      "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_"
                      "range_kernel<" +
                      std::to_string(target_.dimensions) + ">))");
        }
        if (is(Dialect::opencl_c) && miscompiles_private_stores() && !uses_sub_groups())
            out_.line("__attribute__((intel_vec_len_hint(1)))");
        out_.open(head);
        for (ir::VariableId i = 0; i < kernel.variables.size(); ++i) {
            const ir::Variable &variable = kernel.variables[i];
            if (variable.parameter && words(variable.type.dtype).is_promoted())
                out_.line("float " + variables_[i] + " = " +
                          loaded(variables_[i] + "_bits", variable.type.dtype) + ";");
        }
        // The work-items of a coarsened kernel have guards of their own along the first dimension.
        const std::uint32_t first = module_.items_per_thread > 1 ? 1 : 0;
        for (std::uint32_t i = first; i < target_.dimensions && is_guarded(); ++i) {
            const std::string axis = dimension(i);
            out_.line("if ((long long)blockIdx." + axis + " * blockDim." + axis + " + threadIdx." +
                      axis + " >= global_size" + std::to_string(i) + ")");
            out_.line("    return;");
        }
        if (!launches_arrays_)
            write_local_arrays(kernel);
        if (is_cuda_like())
            write_launch_memory(kernel);
        write_private_arrays(kernel, used_roots_);
        write(kernel.body);
        out_.close();
    };
    write_all();
    const std::uint64_t arrays = own_local_bytes(kernel);
    launches_arrays_ =
        is_cuda_like() && arrays != 0 && arrays + group_functions_bytes_ > max_declared_local;
    if (scratch_.empty() && !launches_arrays_)
        return;
    // The body has determined which further parameters the kernel needs: write everything again.
    out_ = std::move(before);
    parameters_.resize(promised);
    if (launches_arrays_)
        parameters_.push_back({CompiledParameter::What::arrays, 0, arrays, dtypes::uint8});
    else
        parameters_.push_back(
            {CompiledParameter::What::scratch, 0, scratch_bytes_, dtypes::uint64});
    write_all();
}

std::string DeviceEmitter::root_argument(ir::RootId root) {
    const ir::Root &array = function_->roots[root];
    if (is(Dialect::sycl) && array.type.space == Space::local)
        return "&" + roots_[root] + "[0]";
    return roots_[root];
}

// True if device functions have the global size as hidden parameters: one of them queries it.
bool DeviceEmitter::passes_global_sizes() const {
    bool asks = false;
    for (const ir::Function &function : module_.functions)
        if (&function != &module_.kernel())
            ir::for_each_expression(function.body, [&](const ir::Expression &each) {
                asks |= each.op == ir::Op::index && each.text == "global_size";
            });
    return asks && is_guarded();
}

void DeviceEmitter::add_hidden_parameters(std::vector<std::string> &parameters) {
    for (std::uint32_t i = 0; i < target_.dimensions && passes_global_sizes(); ++i)
        parameters.push_back("long long global_size" + std::to_string(i));
    if (module_.debug)
        parameters.push_back(std::string(dialect_.spaces[0]) + value_type(dtypes::int64) +
                             " *report");
}

void DeviceEmitter::add_hidden_arguments(std::vector<std::string> &arguments,
                                         const ir::Function &) {
    for (std::uint32_t i = 0; i < target_.dimensions && passes_global_sizes(); ++i)
        arguments.push_back("global_size" + std::to_string(i));
    if (module_.debug)
        arguments.push_back("report");
}

// ---------------------------------------------------------------- ids, barriers, fences

std::string DeviceEmitter::dimension(std::uint32_t number) const {
    return dialect_.dimensions[0].empty()
               ? std::to_string(number)
               : std::string(dialect_.dimensions[target_.dimensions - 1 - number]);
}

void DeviceEmitter::add_this_item() {
    add_once("this_item", "static inline auto this_item() {\n    return "
                          "sycl::ext::oneapi::this_work_item::get_nd_item<" +
                              std::to_string(target_.dimensions) + ">();\n}");
}

void DeviceEmitter::add_linear_ids() {
    const std::string head(dialect_.function);
    add_once(
        "group_thread",
        head +
            "unsigned group_thread() {\n"
            "    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * "
            "threadIdx.z);\n}\n\n" +
            head +
            "unsigned group_threads() {\n    return blockDim.x * blockDim.y * blockDim.z;\n}\n\n" +
            head +
            "unsigned sub_group_threads() {\n"
            "    unsigned left = group_threads() - group_thread() / warpSize * warpSize;\n"
            "    return left < warpSize ? left : warpSize;\n}");
}

Spelled DeviceEmitter::index(const ir::Expression &expression) {
    if (expression.text == "work_dim")
        return {std::to_string(target_.dimensions)};
    if (expression.text == "max_sub_group_size" && is(Dialect::cuda))
        return {"32"};  // of every GPU; a literal lets the compiler unroll loops
    const auto row = std::ranges::find(dialect_.indices, expression.text, &IndexWords::index);
    if (row == dialect_.indices.end())
        throw std::logic_error("no dialect knows the index " + expression.text);
    const bool is_sub_group = expression.text.find("sub_group") != std::string::npos;
    if (is_sub_group && !target_.sub_groups)
        refuse_here(expression.at, "the device has no sub-groups; use local memory and " +
                                       named("barrier()") + " instead");
    if (!is_sub_group && expression.number >= target_.dimensions)
        return {expression.text.ends_with("_id") ? "0" : "1"};
    if (is_guarded() && expression.text == "global_size")
        return {"global_size" + std::to_string(expression.number)};
    if (is(Dialect::sycl))
        add_this_item();
    if (is_sub_group && is_cuda_like())
        add_linear_ids();
    if (is_sub_group && is(Dialect::opencl_c))
        pragmas_.insert("cl_khr_subgroups");
    std::string text(row->text);
    for (std::size_t at; (at = text.find('@')) != text.npos;)
        text.replace(at, 1, dimension(expression.number));
    const int binding = text.find(" + ") != text.npos   ? binds_add
                        : text.find(" * ") != text.npos ? binds_multiply
                                                        : binds_unary;
    return {std::move(text), binding};
}

// Barrier of all groups for CUDA and HIP. cooperative_groups is not used, because NVRTC needs the
// toolkit's headers for it.
//
// Invariants:
// - All groups are resident, since the launch is cooperative. So a group that waits does not keep
//   another one from arriving.
// - `arrivals` is a multiple of the number of groups before a barrier, and each group adds 1. The
//   barrier is passed once the next multiple is reached. A count of 64 bits does not wrap.
// - The writes of a group are before its first __syncthreads, and the fence orders them before its
//   arrival. The second fence and __syncthreads order its later reads after all arrivals.
// - A volatile load is a relaxed atomic one, so that the loop sees the count change.
void DeviceEmitter::add_grid_barrier() {
    add_linear_ids();
    add_once("grid_barrier",
             std::string(dialect_.function) +
                 "void grid_barrier(unsigned long long *arrivals) {\n"
                 "    __syncthreads();\n"
                 "    if (group_thread() == 0) {\n"
                 "        const unsigned long long groups =\n"
                 "            (unsigned long long)gridDim.x * gridDim.y * gridDim.z;\n"
                 "        __threadfence();\n"
                 "        const unsigned long long end =\n"
                 "            (atomicAdd(arrivals, 1ull) / groups + 1) * groups;\n"
                 "        while (*(volatile unsigned long long *)arrivals < end)\n"
                 "            ;\n"
                 "        __threadfence();\n"
                 "    }\n"
                 "    __syncthreads();\n"
                 "}");
}

void DeviceEmitter::write_barrier(const ir::Statement &statement) {
    if (is(Dialect::sycl))
        add_this_item();
    if (ir::is_grid_barrier(statement) && is_cuda_like()) {
        add_grid_barrier();
        return out_.line("grid_barrier(arrivals);");
    }
    // SYCL's devices are given one group, whose barrier is that of the grid.
    if (statement.scope == ir::Scope::sub_group) {
        if (is(Dialect::opencl_c))
            pragmas_.insert("cl_khr_subgroups");
        return out_.line(dialect_.sub_group_barrier);
    }
    const std::size_t which = statement.fences == ir::local_fence    ? 0
                              : statement.fences == ir::global_fence ? 1
                                                                     : 2;
    out_.line(dialect_.barriers[which]);
}

namespace {

std::string sycl_order(ir::Order order) {
    constexpr const char *names[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
    return "sycl::memory_order::" + std::string(names[static_cast<std::size_t>(order)]);
}

std::string sycl_scope(ir::Scope scope) {
    constexpr const char *names[] = {"work_item", "sub_group", "work_group", "device", "system"};
    return "sycl::memory_scope::" + std::string(names[static_cast<std::size_t>(scope)]);
}

}  // namespace

std::string DeviceEmitter::fence(ir::Scope scope, ir::Order order, std::uint8_t fences) {
    if (is(Dialect::sycl))
        return "sycl::atomic_fence(" + sycl_order(order) + ", " + sycl_scope(scope) + ");";
    if (is_cuda_like())
        return scope <= ir::Scope::work_group ? "__threadfence_block();"
               : scope == ir::Scope::device   ? "__threadfence();"
                                              : "__threadfence_system();";
    return fences == ir::local_fence    ? "mem_fence(CLK_LOCAL_MEM_FENCE);"
           : fences == ir::global_fence ? "mem_fence(CLK_GLOBAL_MEM_FENCE);"
                                        : "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
}

void DeviceEmitter::write_fence(const ir::Statement &statement) {
    out_.line(fence(statement.scope, statement.order, statement.fences));
}

// Atomics are relaxed in dialects without memory orders. Fences around them provide the other
// orders.
void DeviceEmitter::write(const ir::Statement &statement) {
    if (ir::is_tile_operation(module_, statement) &&
        has_own_text(module_.functions[statement.expressions[0].id]))
        return write_tile_operation(statement);
    // Products of wgmma are pending until these statements.
    const bool clears = is_cuda_like() && clears_accumulator(*function_, statement);
    const bool synchronizes = statement.act == ir::Act::barrier || ir::is_group_function(statement);
    if ((clears || synchronizes) && runs_wgmma())
        out_.line("tile_finish();");
    if (clears)
        out_.line("#pragma unroll");
    const bool is_ordered = !is(Dialect::sycl) && !statement.expressions.empty() &&
                            statement.expressions[0].op == ir::Op::atomic &&
                            statement.expressions[0].order != ir::Order::relaxed;
    if (!is_ordered)
        return Emitter::write(statement);
    const ir::Expression &atomic = statement.expressions[0];
    const std::string line = fence(atomic.scope, atomic.order, ir::local_fence | ir::global_fence);
    if (atomic.order != ir::Order::acquire)
        out_.line(line);
    Emitter::write(statement);
    if (atomic.order != ir::Order::release)
        out_.line(line);
}

// ---------------------------------------------------------------- atomics

// A compare-and-swap loop on the bits. Floats cannot be compared as such: equal floats may have
// different bits, and NaN is not equal to itself.
std::string DeviceEmitter::compare_exchange_loop(const ir::Expression &expression,
                                                 const std::string &at,
                                                 const std::vector<std::string> &values) {
    const ir::Root &root = function_->roots[expression.id];
    const Dtype dtype = root.type.dtype, bits = dtype.bits == 64 ? dtypes::uint64 : dtypes::uint32;
    const std::string &name = expression.text;
    const std::string space(
        is(Dialect::opencl_c) ? dialect_.spaces[static_cast<std::size_t>(root.type.space)] : "");
    const std::string word = space.empty() ? "" : "_" + space.substr(0, space.size() - 1);
    const std::string called = "atomic_" + name + "_" + name_of(dtype) + word;
    const std::string T(words(dtype).value), B(words(bits).value);
    const std::string swap = is(Dialect::opencl_c)
                                 ? (dtype.bits == 64 ? "atom_cmpxchg" : "atomic_cmpxchg")
                                 : "atomicCAS";
    const auto as = [&](const std::string &to, const std::string &what) {
        return is(Dialect::opencl_c) ? "as_" + to + "(" + what + ")"
                                     : "__builtin_bit_cast(" + to + ", " + what + ")";
    };
    const std::string pointer = "volatile " + space + B + " *";
    const std::string given = is(Dialect::opencl_c) ? pointer : B + " *";
    std::string body;
    if (name == "compare_exchange") {
        body = T + " " + called + "(" + (is(Dialect::opencl_c) ? "volatile " : "") + space + T +
               " *at, " + T + " expected, " + T + " desired) {\n    return " +
               as(T, swap + "((" + given + ")at, " + as(B, "expected") + ", " + as(B, "desired") +
                         ")") +
               ";\n}";
    } else if (name == "load") {
        body = T + " " + called + "(" + (is(Dialect::opencl_c) ? "volatile " : "") + space + T +
               " *at) {\n    return " + as(T, swap + "((" + given + ")at, 0, 0)") + ";\n}";
    } else {
        body = T + " " + called + "(" + (is(Dialect::opencl_c) ? "volatile " : "") + space + T +
               " *at, " + T + " value) {\n" + "    " + given + "bits = (" + given + ")at;\n" +
               "    " + B + " found = *(" + pointer + ")at, expected;\n" +
               "    do {\n"
               "        expected = found;\n"
               "        const " +
               T + " old = " + as(T, "expected") + ";\n" + "        found = " + swap +
               "(bits, expected, " + as(B, "(" + T + ")(" + operation_text(name) + ")") + ");\n" +
               "    } while (found != expected);\n"
               "    return " +
               as(T, "found") + ";\n}";
    }
    add_once(called, std::string(dialect_.function) + body);
    return called + "(" + at + (values.empty() ? "" : ", ") + joined(values) + ")";
}

std::string DeviceEmitter::volatile_load(const ir::Root &root, const std::string &at) const {
    return "*(const volatile " + pointer_without_const(root) + ")" + at;
}

// Like `pointer_to`, for elements that the kernel only reads but other code may change.
std::string DeviceEmitter::pointer_without_const(const ir::Root &root) const {
    return std::string(dialect_.spaces[static_cast<std::size_t>(root.type.space)]) +
           std::string(words(root.type.dtype).storage) + " *";
}

std::string DeviceEmitter::opencl_atomic(const ir::Expression &expression, const std::string &given,
                                         const std::vector<std::string> &values) {
    const ir::Root &root = function_->roots[expression.id];
    const Dtype dtype = root.type.dtype;
    const std::string &name = expression.text;
    // The atomic functions below would write to read-only memory.
    if (name == "load" && root.type.read_only)
        return volatile_load(root, given);
    if (dtype.bits == 64) {
        pragmas_.insert("cl_khr_int64_base_atomics");
        if (name == "min" || name == "max" || name == "and" || name == "or" || name == "xor")
            pragmas_.insert("cl_khr_int64_extended_atomics");
    }
    const std::string at = root.written ? given : "(" + pointer_without_const(root) + ")" + given;
    // cl_ext_float_atomics is not used: Intel's CPU device reports it but defines none of its
    // features, and its functions are as slow.
    if (!is_integer(dtype))
        return compare_exchange_loop(expression, at, values);
    const std::string prefix = dtype.bits == 64 ? "atom_" : "atomic_";
    if (name == "load")
        return prefix + "add(" + at + ", 0)";
    const std::string word = name == "exchange" || name == "store" ? "xchg"
                             : name == "compare_exchange"          ? "cmpxchg"
                                                                   : name;
    return prefix + word + "(" + at + ", " + joined(values) + ")";
}

std::string DeviceEmitter::sycl_atomic(const ir::Expression &expression,
                                       const std::vector<std::string> &values) {
    const ir::Root &root = function_->roots[expression.id];
    const std::string T = storage_type(root.type.dtype), &name = expression.text;
    const std::string space = root.type.space == Space::local ? "local_space" : "global_space";
    const std::string at = element(expression.id, expression.operands[0]);
    const std::string reference = "sycl::atomic_ref<" + T + ", sycl::memory_order::relaxed, " +
                                  sycl_scope(expression.scope) +
                                  ", sycl::access::address_space::" + space + ">(" +
                                  (root.written ? at : "const_cast<" + T + " &>(" + at + ")") + ")";
    const std::string order =
        expression.order == ir::Order::relaxed ? "" : sycl_order(expression.order);
    const auto with_order = [&](std::string listed) {
        return "(" + listed + (order.empty() || listed.empty() ? order : ", " + order) + ")";
    };
    if (name == "load" || name == "store" || name == "exchange")
        return reference + "." + name + with_order(joined(values));
    if (name == "compare_exchange") {
        add_once("compare_exchange",
                 "template <class Reference, class T> static inline T compare_exchange(Reference "
                 "reference, T expected, T desired, sycl::memory_order order) {\n"
                 "    reference.compare_exchange_strong(expected, desired, order);\n"
                 "    return expected;\n}");
        return "compare_exchange(" + reference + ", (" + T + ")(" + values[0] + "), (" + T + ")(" +
               values[1] + "), " + sycl_order(expression.order) + ")";
    }
    return reference + ".fetch_" + name + with_order(joined(values));
}

std::string DeviceEmitter::cuda_atomic(const ir::Expression &expression, const std::string &at,
                                       const std::vector<std::string> &values) {
    const ir::Root &root = function_->roots[expression.id];
    const Dtype dtype = root.type.dtype;
    const std::string &name = expression.text;
    // PTX and AMD's memory model define a volatile load as a relaxed atomic one of the widest
    // scope. The atomic functions would write to memory that may be read-only.
    if (name == "load")
        return volatile_load(root, at);
    const bool wide = dtype.bits == 64, is_signed = dtype.code == TypeCode::integer;
    const std::string scope = expression.scope == ir::Scope::system ? "_system"
                              : expression.scope <= ir::Scope::work_group && is(Dialect::cuda)
                                  ? "_block"
                                  : "";
    if (!is_integer(dtype)) {
        if (name == "add")
            return "atomicAdd" + scope + "(" + at + ", " + values[0] + ")";
        if (name == "sub")
            return "atomicAdd" + scope + "(" + at + ", -(" + values[0] + "))";
        return compare_exchange_loop(expression, at, values);
    }
    if (name == "min" || name == "max") {
        if (wide && is_signed && is(Dialect::hip))  // HIP 5.2 lacks them
            return compare_exchange_loop(expression, at, values);
        return std::string("atomicM") + name.substr(1) + scope + "(" + at + ", " + values[0] + ")";
    }
    // The other operations do not depend on the sign and have no signed 64-bit form.
    const std::string U = "unsigned long long", T(words(dtype).value);
    const bool cast = wide && is_signed;
    const std::string where = cast ? "(" + U + " *)" + at : at;
    const auto value = [&](const std::string &text) {
        return cast ? "(" + U + ")(" + text + ")" : text;
    };
    const auto call = [&](const std::string &word, const std::string &listed) {
        return (cast ? "(" + T + ")" : "") + word + scope + "(" + where + ", " + listed + ")";
    };
    if (name == "sub")
        return call("atomicAdd",
                    "0 - (" + std::string(words({TypeCode::unsigned_integer, dtype.bits}).value) +
                        ")(" + values[0] + ")");
    if (name == "exchange" || name == "store")
        return call("atomicExch", value(values[0]));
    if (name == "compare_exchange")
        return call("atomicCAS", value(values[0]) + ", " + value(values[1]));
    std::string word = "atomic" + name;
    word[6] = static_cast<char>(word[6] - 'a' + 'A');
    return call(word, value(values[0]));
}

std::string DeviceEmitter::atomic(const ir::Expression &expression) {
    const Dtype dtype = function_->roots[expression.id].type.dtype;
    if (dtype.bits < 32 || (!is_integer(dtype) && dtype.code != TypeCode::floating))
        refuse_here(expression.at, "an atomic of " + name_of(dtype) + " is not supported in " +
                                       std::string(dialect_.name) +
                                       "; use int32, int64, uint32, uint64, float32 or float64");
    if (dtype.bits == 64 && !target_.atomic64)
        refuse_here(expression.at, "the device has no atomics of 64 bits, and this one is of " +
                                       name_of(dtype) + "; use a type of 32 bits");
    // The compiler also inverts for `-1 - x`, `-x - 1` and `-(x + 1)`.
    const bool hides = is_integer(dtype) && miscompiles_inversion() &&
                       function_->roots[expression.id].type.space == Space::local;
    std::vector<std::string> values;
    for (std::size_t i = 1; i < expression.operands.size(); ++i) {
        const std::string value = text(expression.operands[i]);
        const bool is_plain = !hides || expression.operands[i].op == ir::Op::constant;
        values.push_back(
            is_plain ? value : "(" + value + ") + (" + value_type(dtype) + ")" + opaque_zero());
    }
    const std::string at = "&" + element(expression.id, expression.operands[0]);
    if (is(Dialect::opencl_c))
        return opencl_atomic(expression, at, values);
    return is(Dialect::sycl) ? sycl_atomic(expression, values)
                             : cuda_atomic(expression, at, values);
}

// ---------------------------------------------------------------- bounds

std::string DeviceEmitter::claims_report() const {
    if (is(Dialect::opencl_c))
        return "atomic_cmpxchg((volatile global int *)report, 0, 1) == 0";
    if (is(Dialect::sycl))
        return "sycl::atomic_ref<int, sycl::memory_order::relaxed, "
               "sycl::memory_scope::device>(*(int *)report).exchange(1) == 0";
    return "atomicCAS((int *)report, 0, 1) == 0";
}

Compiled emit_device(const ir::Module &module, const std::vector<ArgumentType> &arguments,
                     const Target &target) {
    return DeviceEmitter(module, target).run(arguments);
}

}  // namespace entrepot::kernel
