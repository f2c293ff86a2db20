// Group functions of the device dialects. SYCL has all of them. CUDA and HIP build work-group
// functions from warp functions. OpenCL C has some sub-group functions; the others use local
// memory.
#include "kernel/codegen/device.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"

#include <algorithm>
#include <limits>

namespace entrepot::kernel {

namespace {

// Limit on inlined group functions, because of a bug in Intel's compiler for the CPU (2026.2). It
// copies values computed before a barrier to the blocks after it that use them, and has a table of
// these blocks. At the 48th block of a function it reallocates the table, but continues to read the
// old one. Some builds of a given text then crash. An inlined group function makes up to 7 such
// blocks, a barrier with its loop 2. The limit leaves blocks for other branches. A called function
// has a table of its own, but takes up to twice as long. tools/intel_opencl_compiler.py reproduces
// the bug.
constexpr std::size_t blocks_of_group_function = 7, blocks_of_barrier = 2, max_inlined_blocks = 28;

bool may_drop_nan(const ir::Expression &call) {
    return is_float(call.operands[0].type.dtype) &&
           (call.operation == "min" || call.operation == "max");
}

}  // namespace

bool DeviceEmitter::has_few_blocks(const ir::Function &kernel) {
    std::size_t blocks = 0;
    ir::for_each_statement(kernel.body, [&](const ir::Statement &statement) {
        if (statement.act == ir::Act::barrier)
            blocks += blocks_of_barrier;
        else if (ir::is_group_function(statement) &&
                 statement.expressions[0].scope == ir::Scope::work_group)
            blocks += blocks_of_group_function;
    });
    return blocks <= max_inlined_blocks;
}

void DeviceEmitter::write_group_function(const ir::Statement &statement) {
    const std::string call = group_call(statement);
    if (statement.act == ir::Act::assign)
        write_assignment(statement, statement.id, call);
    else
        out_.line(call + ";");
}

std::string DeviceEmitter::group_call(const ir::Statement &statement) {
    const ir::Expression &call = statement.expressions[0];
    const Dtype dtype = call.operands[0].type.dtype;
    if (call.scope == ir::Scope::sub_group && !target_.sub_groups)
        refuse_here(call.at, "the device has no sub-groups; use the functions of the work-group");
    if (dtype.code == TypeCode::complex)
        refuse_here(call.at, "group functions of " + name_of(dtype) + " are not supported in " +
                                 std::string(dialect_.name) +
                                 "; apply them to the real and the imaginary part");
    std::vector<std::string> values;
    for (const ir::Expression &operand : call.operands)
        values.push_back(text(operand));
    if (call.text == "broadcast")
        values.resize(2, "0");
    if (is(Dialect::sycl))
        return sycl_group(call, values);
    return is(Dialect::opencl_c) ? opencl_group(call, values) : cuda_group(call, values);
}

// Index of the source lane in the sub-group: 0 if `place` is out of range.
std::string DeviceEmitter::lane_of(const std::string &place) {
    if (place == "0")
        return place;
    const bool opencl = is(Dialect::opencl_c);
    if (!opencl)
        add_linear_ids();
    const std::string count = opencl ? "get_sub_group_size()" : "sub_group_threads()";
    add_once("sub_group_lane", std::string(opencl ? "" : dialect_.function) +
                                   (opencl ? "uint" : "int") + " sub_group_lane(" +
                                   (opencl ? "ulong" : "unsigned long long") +
                                   " place) {\n    return place < " + count + " ? place : 0;\n}");
    return "sub_group_lane(" + place + ")";
}

// The device's min and max may ignore NaN, so that NaN is detected separately.
std::string DeviceEmitter::add_nan_propagation(const std::string &called, const std::string &group,
                                               const std::string &unordered,
                                               const std::string &found, Dtype dtype) {
    const std::string T = value_type(dtype);
    add_once(called,
             group + T + " value) {\n    const int unordered = " + unordered + ";\n    const " + T +
                 " found = " + found + ";\n    return unordered > 0 ? " +
                 float_constant(std::numeric_limits<double>::quiet_NaN(), dtype) + " : found;\n}");
    return called;
}

// ---------------------------------------------------------------- SYCL

std::string DeviceEmitter::sycl_group(const ir::Expression &call,
                                      const std::vector<std::string> &values) {
    struct Words {
        std::string_view name, sycl;
    };
    constexpr Words functions[] = {{"reduce", "reduce_over_group"},
                                   {"inclusive_scan", "inclusive_scan_over_group"},
                                   {"exclusive_scan", "exclusive_scan_over_group"},
                                   {"broadcast", "group_broadcast"},
                                   {"any", "any_of_group"},
                                   {"all", "all_of_group"},
                                   {"shuffle", "select_from_group"},
                                   {"shuffle_xor", "permute_group_by_xor"},
                                   {"shuffle_up", "shift_group_right"},
                                   {"shuffle_down", "shift_group_left"}};
    constexpr Words operations[] = {{"add", "plus"},    {"mul", "multiplies"}, {"min", "minimum"},
                                    {"max", "maximum"}, {"and", "bit_and"},    {"or", "bit_or"},
                                    {"xor", "bit_xor"}};
    add_this_item();
    const Dtype dtype = call.operands[0].type.dtype;
    const std::string T = value_type(dtype);
    const std::string group =
        std::string("this_item().") +
        (call.scope == ir::Scope::sub_group ? "get_sub_group()" : "get_group()");
    const std::string function =
        "sycl::" + std::string(std::ranges::find(functions, call.text, &Words::name)->sycl) + "(";
    const bool combines = call.text == "reduce" || call.text.ends_with("scan");
    const std::string operation =
        combines
            ? "sycl::" +
                  std::string(std::ranges::find(operations, call.operation, &Words::name)->sycl)
            : "";
    if (may_drop_nan(call)) {
        const std::string called = call.text + "_" + call.operation + "_" + name_of(dtype);
        return add_nan_propagation(
                   called,
                   "template <class Group> static inline " + T + " " + called + "(Group group, ",
                   function + "group, (int)(value != value), sycl::maximum<int>())",
                   function + "group, value, " + operation + "<" + T + ">())", dtype) +
               "(" + group + ", " + values[0] + ")";
    }
    std::string text = function + group + ", (" + T + ")(" + values[0] + ")";
    if (combines)
        text += ", " + operation + "<" + T + ">()";
    else if (call.text == "shuffle_xor")
        text += ", sycl::id<1>(" + values[1] + ")";
    else if (call.text.starts_with("shuffle_"))
        text += ", (unsigned)(" + values[1] + ")";
    else if (call.text == "broadcast" && values[1] != "0") {
        add_once(
            "group_place",
            "template <class Group> static inline size_t group_place(Group group, size_t place) {\n"
            "    return place < group.get_local_linear_range() ? place : 0;\n}");
        text += ", group_place(" + group + ", " + values[1] + ")";
    } else if (values.size() > 1)
        text += ", (size_t)(" + values[1] + ")";
    return text + ")";
}

// ---------------------------------------------------------------- CUDA, HIP

// All lanes of a warp reach a group function, but perhaps at different times. The mask makes them
// wait for each other. Missing lanes in the last warp of a group count as exited.
constexpr const char *whole_warp = "0xffffffffu, ";

namespace {

bool is_of_bits(std::string_view operation) {
    return operation == "and" || operation == "or" || operation == "xor";
}

// True if GPUs from compute capability 8.0 on combine such values of a warp by one instruction.
bool has_warp_instruction(std::string_view operation, Dtype dtype) {
    return dtype.bits == 32 && is_integer(dtype) &&
           (is_of_bits(operation) || operation == "add" || operation == "min" ||
            operation == "max");
}

}  // namespace

std::string DeviceEmitter::add_warp_function(const std::string &name, const std::string &operation,
                                             Dtype dtype) {
    add_linear_ids();
    const std::string called =
        "sub_group_" + name + (operation.empty() ? "" : "_" + operation) + "_" + name_of(dtype);
    const bool hip = is(Dialect::hip);
    const std::string mask = hip ? "" : whole_warp, suffix = hip ? "(" : "_sync(";
    std::string body;
    if (name == "reduce")
        body = "    const unsigned lane = group_thread() % warpSize, lanes = sub_group_threads();\n"
               "    for (unsigned step = warpSize / 2; step > 0; step /= 2) {\n"
               "        const T other = (T)__shfl_down$value, step);\n"
               "        if (lane + step < lanes)\n"
               "            value = (T)(COMBINED);\n"
               "    }\n"
               "    return (T)__shfl$value, 0);\n";
    else if (name.ends_with("scan"))
        body = std::string("    const unsigned lane = group_thread() % warpSize;\n"
                           "    for (unsigned step = 1; step < warpSize; step *= 2) {\n"
                           "        const T other = (T)__shfl_up$value, step);\n"
                           "        if (lane >= step)\n"
                           "            value = (T)(COMBINED);\n"
                           "    }\n") +
               (name == "inclusive_scan" ? "    return value;\n"
                                         : "    const T before = (T)__shfl_up$value, 1);\n"
                                           "    return lane == 0 ? (T)IDENTITY : before;\n");
    const std::string combination = operation.empty()
                                        ? ""
                                        : combined(operation, name == "reduce" ? "value" : "other",
                                                   name == "reduce" ? "other" : "value", dtype);
    body = substituted(body, {{"$", suffix + mask}, {"COMBINED", combination}});
    if (name == "exclusive_scan")
        body = substituted(body, {{"IDENTITY", identity(operation, dtype)}});
    if (name == "reduce" && !hip && has_warp_instruction(operation, dtype))
        body = "#if __CUDA_ARCH__ >= 800\n    return (T)__reduce_" + operation + "_sync(" + mask +
               (is_signed(dtype) && !is_of_bits(operation) ? "" : "(unsigned)") +
               "value);\n#else\n" + body + "#endif\n";
    const std::string T = value_type(dtype);
    add_once(called, substituted(std::string(dialect_.function) + "T " + called + "(T value) {\n" +
                                     body + "}",
                                 {{"T ", T + " "}, {"(T)", "(" + T + ")"}}));
    return called;
}

std::string DeviceEmitter::add_block_function(const std::string &name, const std::string &operation,
                                              Dtype dtype) {
    add_linear_ids();
    const std::string called =
        "work_group_" + name + (operation.empty() ? "" : "_" + operation) + "_" + name_of(dtype);
    const std::string T = value_type(dtype);
    std::string body;
    if (name == "broadcast") {
        body = "    __shared__ T one;\n"
               "    __syncthreads();\n"
               "    if (group_thread() == (source < group_threads() ? source : 0))\n"
               "        one = value;\n"
               "    __syncthreads();\n"
               "    return one;\n";
    } else {
        const std::string warp =
            add_warp_function(name == "reduce" ? "reduce" : "inclusive_scan", operation, dtype);
        body = "    __shared__ T parts[32];\n"
               "    const unsigned lane = group_thread() % warpSize, warp = group_thread() / "
               "warpSize;\n"
               "    const T all = WARP(value);\n"
               "    __syncthreads();\n"
               "    if (lane == sub_group_threads() - 1)\n"
               "        parts[warp] = all;\n"
               "    __syncthreads();\n";
        if (name == "reduce")
            body +=
                "    T result = parts[0];\n"
                "    for (unsigned i = 1; i < (group_threads() + warpSize - 1) / warpSize; ++i)\n"
                "        result = (T)(RESULT_PART);\n"
                "    return result;\n";
        else if (name == "inclusive_scan")
            body += "    T result = (T)IDENTITY;\n"
                    "    for (unsigned i = 0; i < warp; ++i)\n"
                    "        result = (T)(RESULT_PART);\n"
                    "    return warp == 0 ? all : (T)(RESULT_ALL);\n";
        else
            body += "    T result = (T)IDENTITY;\n"
                    "    for (unsigned i = 0; i < warp; ++i)\n"
                    "        result = (T)(RESULT_PART);\n"
                    "    const T before = (T)SHUFFLE;\n"
                    "    return lane == 0 ? result : (T)(RESULT_BEFORE);\n";
        body = substituted(
            body, {{"WARP", warp},
                   {"RESULT_PART", combined(operation, "result", "parts[i]", dtype)},
                   {"RESULT_ALL", combined(operation, "result", "all", dtype)},
                   {"RESULT_BEFORE", combined(operation, "result", "before", dtype)},
                   {"SHUFFLE", is(Dialect::hip)
                                   ? "__shfl_up(all, 1)"
                                   : "__shfl_up_sync(" + std::string(whole_warp) + "all, 1)"},
                   {"IDENTITY", identity(operation, dtype)}});
    }
    const std::string parameters =
        name == "broadcast" ? "(T value, unsigned long long source)" : "(T value)";
    const std::uint64_t declared =
        static_cast<std::uint64_t>(dtype.itemsize()) * (name == "broadcast" ? 1 : 32);
    if (add_once(called, substituted(std::string(dialect_.function) + "T " + called + parameters +
                                         " {\n" + body + "}",
                                     {{"(T value", "(" + T + " value"},
                                      {" T ", " " + T + " "},
                                      {"(T)", "(" + T + ")"}})))
        group_functions_bytes_ += aligned_to_16(declared);
    return called;
}

std::string DeviceEmitter::cuda_group(const ir::Expression &call,
                                      const std::vector<std::string> &values) {
    const Dtype dtype = call.operands[0].type.dtype;
    const bool in_sub_group = call.scope == ir::Scope::sub_group, hip = is(Dialect::hip);
    const std::string &name = call.text, T = value_type(dtype);
    const std::string begin = hip ? "(" : "_sync(" + std::string(whole_warp);
    if (name == "any" || name == "all") {
        if (in_sub_group)
            return "(bool)__" + name + begin + values[0] + ")";
        return std::string("(bool)__syncthreads_") + (name == "any" ? "or(" : "and(") + values[0] +
               ")";
    }
    if (name == "ballot")
        return "__ballot" + begin + values[0] + ")";
    if (name == "broadcast" && !in_sub_group)
        return add_block_function(name, "", dtype) + "(" + values[0] + ", " + values[1] + ")";
    if (name == "broadcast" || name.starts_with("shuffle")) {
        const std::string word = name == "broadcast" ? "__shfl" : "__shfl" + name.substr(7);
        return "(" + T + ")" + word + begin + "(" + T + ")(" + values[0] + "), " +
               (name == "broadcast" ? lane_of(values[1]) : "(int)(" + values[1] + ")") + ")";
    }
    return (in_sub_group ? add_warp_function(name, call.operation, dtype)
                         : add_block_function(name, call.operation, dtype)) +
           "(" + values[0] + ")";
}

// ---------------------------------------------------------------- OpenCL C

// Group functions in scratch memory: 8 bytes of local memory for each work-item, sized at launch. A
// sub-group function uses only the slots of its own work-items, whatever the element size. Each
// function ends with a barrier, so that the scratch memory can be reused. A work-group function
// also begins with one, because other sub-groups may still be reading.
std::string DeviceEmitter::add_scratch_function(const std::string &name,
                                                const std::string &operation, Dtype dtype,
                                                bool in_sub_group) {
    scratch_ = "scratch";
    scratch_bytes_ = 8;
    const std::string called = std::string(in_sub_group ? "sub_group_" : "work_group_") + name +
                               "_of" + (operation.empty() ? "" : "_" + operation) + "_" +
                               name_of(dtype);
    const std::string T = value_type(dtype);
    std::string body = "    const size_t id = (get_local_id(2) * get_local_size(1) + "
                       "get_local_id(1)) * get_local_size(0) + "
                       "get_local_id(0);\n";
    if (in_sub_group) {
        body += "    const size_t own = get_sub_group_local_id(), count = get_sub_group_size();\n"
                "    local T *place = (local T *)(scratch + (id - own));\n"
                "    place[own] = value;\n"
                "    sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n";
        if (name.starts_with("shuffle") || name == "broadcast") {
            const std::string other = name == "shuffle_xor"    ? "own ^ (size_t)by"
                                      : name == "shuffle_up"   ? "own - (size_t)by"
                                      : name == "shuffle_down" ? "own + (size_t)by"
                                                               : "(size_t)by";
            body += "    const size_t other = " + other +
                    ";\n"
                    "    const T found = place[other < count ? other : " +
                    (name == "broadcast" ? "0" : "own") + "];\n";
        } else {
            body += std::string("    T found = IDENTITY;\n") + "    for (size_t i = 0; i < " +
                    (name == "reduce"           ? "count"
                     : name == "inclusive_scan" ? "own + 1"
                                                : "own") +
                    "; ++i)\n"
                    "        found = FOUND_PART;\n";
        }
        body += "    sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
                "    return found;\n";
        pragmas_.insert("cl_khr_subgroups");
    } else {
        std::string found = name == "broadcast" ? "place[(size_t)by < count ? by : 0]"
                            : name == "reduce"  ? "place[0]"
                                                : "place[id]";
        body +=
            "    const size_t count = get_local_size(0) * get_local_size(1) * get_local_size(2);\n"
            "    local T *place = (local T *)scratch;\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
            "    place[id] = value;\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n";
        if (name != "broadcast") {
            body += "    for (size_t step = 1; step < count; step *= 2) {\n";
            if (name == "reduce")
                body += "        if (id % (2 * step) == 0 && id + step < count)\n"
                        "            place[id] = HERE_THERE;\n"
                        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                        "    }\n";
            else
                body += "        const T other = id >= step ? place[id - step] : value;\n"
                        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                        "        if (id >= step)\n"
                        "            place[id] = OTHER_HERE;\n"
                        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                        "    }\n";
            if (name == "exclusive_scan")
                found = "id == 0 ? IDENTITY : place[id - 1]";
        }
        body += "    const T found = " + found +
                ";\n"
                "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                "    return found;\n";
    }
    if (!operation.empty())
        body = substituted(
            body, {{"HERE_THERE", combined(operation, "place[id]", "place[id + step]", dtype)},
                   {"OTHER_HERE", combined(operation, "other", "place[id]", dtype)},
                   {"FOUND_PART", combined(operation, "found", "place[i]", dtype)},
                   {"IDENTITY", "(" + T + ")" + identity(operation, dtype)}});
    const std::string by = name == "broadcast" || name.starts_with("shuffle") ? ", long by" : "";
    const std::string outlined =
        in_sub_group || inlines_group_functions_ ? "" : "__attribute__((noinline)) ";
    add_once(called, substituted(outlined + "T " + called + "(T value" + by +
                                     ", local ulong *scratch) {\n" + body + "}",
                                 {{"(T value", "(" + T + " value"},
                                  {" T ", " " + T + " "},
                                  {"T work", T + " work"},
                                  {"T sub", T + " sub"}}));
    return called;
}

std::string DeviceEmitter::opencl_group(const ir::Expression &call,
                                        const std::vector<std::string> &values) {
    const Dtype dtype = call.operands[0].type.dtype;
    const bool in_sub_group = call.scope == ir::Scope::sub_group;
    const std::string &name = call.text;
    if (name == "any" || name == "all") {
        if (in_sub_group) {
            pragmas_.insert("cl_khr_subgroups");
            return "sub_group_" + name + "(" + values[0] + ") != 0";
        }
        return add_scratch_function("reduce", name == "any" ? "or" : "and", dtypes::int32, false) +
               "(" + values[0] + ", scratch) != 0";
    }
    const bool native = in_sub_group && dtype.bits >= 32 && !words(dtype).is_promoted() &&
                        (name == "broadcast" || call.operation == "add" ||
                         call.operation == "min" || call.operation == "max") &&
                        !name.starts_with("shuffle");
    if (!native)
        return add_scratch_function(name, call.operation, dtype, in_sub_group) + "(" +
               joined(values) + ", scratch)";
    pragmas_.insert("cl_khr_subgroups");
    if (name == "broadcast")
        return "sub_group_broadcast(" + values[0] + ", " + lane_of(values[1]) + ")";
    const std::string word = name == "reduce"           ? "reduce_"
                             : name == "inclusive_scan" ? "scan_inclusive_"
                                                        : "scan_exclusive_";
    if (may_drop_nan(call)) {
        const std::string called = name + "_" + call.operation + "_" + name_of(dtype);
        return add_nan_propagation(called, value_type(dtype) + " " + called + "(",
                                   "sub_group_" + word + "max((int)(value != value))",
                                   "sub_group_" + word + call.operation + "(value)", dtype) +
               "(" + values[0] + ")";
    }
    return "sub_group_" + word + call.operation + "((" + value_type(dtype) + ")(" + values[0] +
           "))";
}

}  // namespace entrepot::kernel
