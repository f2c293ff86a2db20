// Programs: CUDA C++ and HIP C++ through the run-time compiler, code in other forms through the
// driver; kernels and their launches.
//
// A range is slowest dimension first, as everywhere: its last dimension is x. Global sizes of
// ep_range are grid times block. So kernel[global, local] runs the same work-items as on other
// backends, and each has the index blockIdx * blockDim + threadIdx. Without a local range, a block
// size is chosen that divides the global range.
//
// Local memory is not a parameter in these languages. Arguments of that kind are laid out in the
// launch's dynamic shared memory, each aligned to 16 bytes. Kernels see it as `extern __shared__`.
//
// A kernel is found by the name of an extern "C" function, or by its C++ name: "scale",
// "space::scale<float, 4>". For a C++ name the program is compiled again.
#include "backends/gpu/code.hpp"
#include "backends/gpu/compiler.hpp"
#include "backends/gpu/native.hpp"

#include <algorithm>
#include <span>

namespace entrepot::backends::gpu {
namespace {

// Dynamic shared memory that a kernel may use without opting in.
constexpr std::size_t free_dynamic_bytes = std::size_t{48} << 10;
// Larger clusters run only on some devices and need an opt-in.
constexpr std::uint64_t portable_cluster = 8;

void tell(const ep_sink *log, std::string_view text) {
    if (log != nullptr && !text.empty())
        log->write(log->user, text.data(), text.size());
}

// ------------------------------------------------------------------ modules

CUmodule load_module(Context &context, const std::string &image, const ep_sink *log) {
    std::string said(8192, '\0');
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {said.data(), reinterpret_cast<void *>(said.size())};
    const Current current(context.native);
    CUmodule module = nullptr;
    const CUresult code =
        driver().cuModuleLoadDataEx(&module, image.c_str(), std::size(options), options, values);
    said.erase(std::find(said.begin(), said.end(), '\0'), said.end());
    tell(log, said);
    if (const char *const reason = reason_to_refuse(code)) {
        if (said.empty())
            tell(log, std::string(reason) + "\n");
        refuse(EP_BUILD_FAILED, reason, " (", text_of(code), ")");
    }
    check(code, "cuModuleLoadDataEx");
    return module;
}

// NULL if the module has no function of that name.
CUfunction function_of(CUmodule module, const std::string &name) {
    CUfunction function = nullptr;
    const CUresult code = driver().cuModuleGetFunction(&function, module, name.c_str());
    if (code == CUDA_ERROR_NOT_FOUND)
        return nullptr;
    check(code, "cuModuleGetFunction");
    return function;
}

// Names of the module's functions; empty before CUDA 12.4.
std::string names_in(CUmodule module) {
    const Driver &d = driver();
    unsigned count = 0;
    if (d.cuModuleGetFunctionCount == nullptr || d.cuModuleEnumerateFunctions == nullptr ||
        d.cuFuncGetName == nullptr || d.cuModuleGetFunctionCount(&count, module) != CUDA_SUCCESS)
        return {};
    std::vector<CUfunction> functions(count);
    check(d.cuModuleEnumerateFunctions(functions.data(), count, module),
          "cuModuleEnumerateFunctions");
    std::string names;
    for (const CUfunction function : functions) {
        const char *name = nullptr;
        check(d.cuFuncGetName(&name, function), "cuFuncGetName");
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return names;
}

}  // namespace

// ----------------------------------------------------------------- programs

class Program : public Counted<Program> {
public:
    // Its source was compiled from `asked`, which is empty for other dialects.
    Program(Context &in, CUmodule module, ep_dialect of, Request asked)
        : context(&in), dialect(of), request_(std::move(asked)), modules_{module} {}
    ~Program() {
        for (const CUmodule module : modules_)
            context->unload_later(module);
    }

    const IntrusivePtr<Context> context;
    const ep_dialect dialect;

    // Refuses with EP_INVALID if there is no kernel of that name.
    CUfunction function(const std::string &name);

private:
    CUfunction instantiate(const std::string &name) ENTREPOT_REQUIRES(mutex_);

    const Request request_;
    CheckedMutex mutex_;
    std::vector<CUmodule> modules_ ENTREPOT_GUARDED_BY(mutex_);
    std::map<std::string, CUfunction> instances_ ENTREPOT_GUARDED_BY(mutex_);
};

CUfunction Program::function(const std::string &name) {
    const MutexLock lock(mutex_);
    const auto known = instances_.find(name);
    if (known != instances_.end())
        return known->second;
    const Current current(context->native);
    if (const CUfunction plain = function_of(modules_.front(), name))
        return plain;
    if (dialect == source_dialect)
        return instances_[name] = instantiate(name);
    const std::string names = names_in(modules_.front());
    refuse(EP_INVALID, "the program has no kernel \"", name, "\"",
           names.empty() ? "" : "; it has: ", names);
}

CUfunction Program::instantiate(const std::string &name) {
    Request request = request_;
    request.expression = name;
    std::string log;
    Code code;
    try {
        code = compile(request, log);
    } catch (const Refusal &refusal) {
        if (refusal.status != EP_BUILD_FAILED)
            throw;
        const std::string names = names_in(modules_.front());
        refuse(EP_INVALID, "the program has no kernel \"", name, "\"",
               names.empty() ? "" : "; it has: ", names,
               "; as the name of a kernel in C++ the compiler does not take it either:\n", log);
    }
    const CUmodule module = load_module(*context, code.image, nullptr);
    modules_.push_back(module);
    const CUfunction found = function_of(module, code.lowered_name);
    if (found == nullptr)
        refuse(EP_INVALID, "\"", name, "\" is no kernel: is it __global__?");
    return found;
}

// ------------------------------------------------------------------ kernels

class Kernel : public Counted<Kernel> {
public:
    Kernel(Program &of, std::string named, CUfunction found);

    const IntrusivePtr<Program> program;
    const std::string name;
    const CUfunction native;
    ep_kernel_info info{};
    std::vector<std::size_t> parameters;  // size of each; valid if knows_parameters
    bool knows_parameters = false;

    // Raises the kernel's limit of dynamic shared memory to `bytes`.
    void allow_dynamic(std::size_t bytes);
    void allow_large_clusters();

private:
    int attribute(CUfunction_attribute which) const;
    // Bytes available without opting in, beside the kernel's own static ones.
    std::size_t unasked_dynamic_bytes() const noexcept {
        return free_dynamic_bytes - std::min<std::size_t>(info.local_memory, free_dynamic_bytes);
    }

    CheckedMutex mutex_;
    std::size_t dynamic_bytes_ ENTREPOT_GUARDED_BY(mutex_) = 0;  // largest opted-in size
    bool has_large_clusters_ ENTREPOT_GUARDED_BY(mutex_) = false;
};

Kernel::Kernel(Program &of, std::string named, CUfunction found)
    : program(&of), name(std::move(named)), native(found) {
    const Current current(program->context->native);
    info.max_work_group =
        static_cast<std::uint64_t>(attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    info.preferred_multiple = static_cast<std::uint64_t>(
        program->context->device.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
    info.local_memory = static_cast<std::uint64_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    info.private_memory = static_cast<std::uint64_t>(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
    info.registers = static_cast<std::uint32_t>(attribute(CU_FUNC_ATTRIBUTE_NUM_REGS));
    info.argument_count = -1;
    knows_parameters = driver().cuFuncGetParamInfo != nullptr;
    std::size_t offset = 0, bytes = 0;
    while (knows_parameters &&
           driver().cuFuncGetParamInfo(native, parameters.size(), &offset, &bytes) == CUDA_SUCCESS)
        parameters.push_back(bytes);
}

int Kernel::attribute(CUfunction_attribute which) const {
    int value = 0;
    check(driver().cuFuncGetAttribute(&value, which, native), "cuFuncGetAttribute");
    return value;
}

void Kernel::allow_dynamic(std::size_t bytes) {
    if (bytes <= unasked_dynamic_bytes())
        return;
    const MutexLock lock(mutex_);
    if (bytes <= dynamic_bytes_)
        return;
    const Device &device = program->context->device;
    if (bytes + info.local_memory > device.info.local_memory)
        refuse(EP_INVALID, "kernel \"", name, "\" was given ", bytes,
               " bytes of local memory on top of ", info.local_memory, " of its own, and ",
               device.selector(), " has ", device.info.local_memory, " for a work-group");
    const Current current(program->context->native);
    check(driver().cuFuncSetAttribute(native, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(bytes)),
          "cuFuncSetAttribute");
    dynamic_bytes_ = bytes;
}

void Kernel::allow_large_clusters() {
    const MutexLock lock(mutex_);
    const Current current(program->context->native);
    if (!std::exchange(has_large_clusters_, true))
        check(driver().cuFuncSetAttribute(native,
                                          CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
              "cuFuncSetAttribute");
}

namespace {

// ------------------------------------------------------------------- launch

// A launch in the driver's order of dimensions: x is the fastest.
struct Geometry {
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    bool is_empty = false;
};

// The largest divisor of `items` that is a valid block size; whole warps if possible.
std::uint64_t dividing_block(std::uint64_t items, std::uint64_t most) {
    constexpr std::uint64_t usual = 256, warp = 32;
    for (std::uint64_t size = std::min(most, usual); size >= warp; size -= warp)
        if (items % size == 0)
            return size;
    for (std::uint64_t size = std::min(most, items); size > 1; --size)
        if (items % size == 0)
            return size;
    return 1;
}

void choose_blocks(const Kernel &kernel, const ep_range &range, std::uint64_t *local) {
    const ep_device_info &device = kernel.program->context->device.info;
    std::uint64_t left = kernel.info.max_work_group;
    for (std::uint32_t i = range.ndim; i-- > 0;) {
        const std::uint64_t most = std::min(left, device.max_work_items[3 - range.ndim + i]);
        local[i] = range.global[i] == 0
                       ? 1
                       : dividing_block(range.global[i], std::max<std::uint64_t>(most, 1));
        left /= local[i];
    }
}

// The most blocks of a grid, in x, y and z.
constexpr std::uint64_t most_blocks[] = {(std::uint64_t{1} << 31) - 1, 65535, 65535};

// Reports the rule that a range of 1 to 3 dimensions breaks.
[[noreturn]] void refuse_range(const Kernel &kernel, const ep_range &range,
                               const std::uint64_t (&local)[3]) {
    const ep_device_info &device = kernel.program->context->device.info;
    std::uint64_t group = 1;
    for (std::uint32_t i = 0; i < range.ndim; ++i) {
        const std::uint32_t axis = range.ndim - 1 - i;
        const std::uint64_t most = device.max_work_items[3 - range.ndim + i];
        if (local[i] == 0)
            refuse(EP_INVALID, "dimension ", i,
                   " of the work-group is 0 and another is not: give all of them, or none");
        if (range.global[i] % local[i] != 0)
            refuse(EP_INVALID, "dimension ", i, " has ", range.global[i],
                   " work-items, which groups of ", local[i], " do not divide");
        if (local[i] > most)
            refuse(EP_INVALID, "dimension ", i, " of the work-group has ", local[i],
                   " work-items, and the device allows ", most);
        if (range.global[i] / local[i] > most_blocks[axis])
            refuse(EP_INVALID, "dimension ", i, " has ", range.global[i] / local[i],
                   " work-groups, and ", maker_api, " allows ", most_blocks[axis],
                   " there: larger groups, or more of them in the last dimension");
        group *= local[i];
    }
    refuse(EP_INVALID, "a work-group of ", group, " work-items was asked for, and kernel \"",
           kernel.name, "\" allows ", kernel.info.max_work_group);
}

Geometry geometry_of(const Kernel &kernel, const ep_range &range) {
    if (range.ndim < 1 || range.ndim > 3) [[unlikely]]
        refuse(EP_INVALID, "a launch of kernel \"", kernel.name, "\" in ", range.ndim,
               " dimensions was asked for: it has 1, 2 or 3");
    std::uint64_t local[3];
    std::copy_n(range.local, 3, local);
    if (std::all_of(local, local + range.ndim, [](std::uint64_t items) { return items == 0; }))
        choose_blocks(kernel, range, local);

    Geometry geometry;
    const std::uint64_t *const most_items =
        kernel.program->context->device.info.max_work_items + 3 - range.ndim;
    std::uint64_t group = 1;
    bool is_possible = true;
    for (std::uint32_t i = 0; i < range.ndim && is_possible; ++i) {
        const std::uint32_t axis = range.ndim - 1 - i;  // x, y, z
        const std::uint64_t global = range.global[i], own = local[i];
        is_possible = own != 0 && own <= most_items[i] && global % own == 0 &&
                      global / own <= most_blocks[axis];
        geometry.grid[axis] = static_cast<unsigned>(global / std::max<std::uint64_t>(own, 1));
        geometry.block[axis] = static_cast<unsigned>(own);
        geometry.is_empty |= global == 0;
        group *= own;
    }
    if (!is_possible || group > kernel.info.max_work_group) [[unlikely]]
        refuse_range(kernel, range, local);
    return geometry;
}

// Kernel parameters in the driver's form, and the size of dynamic shared memory.
class Parameters {
public:
    Parameters(const Kernel &kernel, std::span<const ep_argument> given) {
        if (take(kernel, given)) [[likely]]
            return;
        for (const ep_argument &argument : given) {
            switch (argument.kind) {
            case EP_ARG_POINTER:
                add(kernel, &argument.value, sizeof argument.value);
                break;
            case EP_ARG_BYTES:
                add(kernel, argument.value, argument.size);
                break;
            case EP_ARG_LOCAL:
                add_dynamic(kernel, argument.size);
                break;
            default:
                refuse(EP_INVALID, "argument ", count_, " of kernel \"", kernel.name,
                       "\" is of no kind that ep_argument_kind has");
            }
        }
        if (kernel.knows_parameters && count_ != kernel.parameters.size())
            refuse(EP_INVALID, "kernel \"", kernel.name, "\" takes ", kernel.parameters.size(),
                   " arguments, and ", count_, " were given");
    }

    void **pointers() noexcept { return many_.empty() ? few_ : many_.data(); }
    std::size_t dynamic_bytes() const noexcept { return dynamic_bytes_; }

private:
    // Fast path: few parameters of known sizes, and no shared memory. Returns false, with nothing
    // taken, for other launches.
    bool take(const Kernel &kernel, std::span<const ep_argument> given) noexcept {
        if (given.size() != kernel.parameters.size() || given.size() > std::size(few_))
            return false;
        for (std::size_t i = 0; i < given.size(); ++i) {
            const ep_argument &argument = given[i];
            const bool is_pointer = argument.kind == EP_ARG_POINTER;
            if (!is_pointer && argument.kind != EP_ARG_BYTES)
                return false;
            const void *const value = is_pointer ? &argument.value : argument.value;
            if (value == nullptr ||
                (is_pointer ? sizeof argument.value : argument.size) != kernel.parameters[i])
                return false;
            few_[i] = const_cast<void *>(value);
        }
        count_ = given.size();
        return true;
    }
    void add(const Kernel &kernel, const void *value, std::size_t bytes) {
        if (kernel.knows_parameters && count_ < kernel.parameters.size() &&
            kernel.parameters[count_] != bytes)
            refuse(EP_INVALID, "argument ", count_, " of kernel \"", kernel.name, "\" has ",
                   kernel.parameters[count_], " bytes, and ", bytes, " were given");
        if (value == nullptr)
            refuse(EP_INVALID, "argument ", count_, " of kernel \"", kernel.name,
                   "\" is passed by value, but its value is NULL");
        void *const parameter = const_cast<void *>(value);
        if (many_.empty() && count_ < std::size(few_)) {
            few_[count_++] = parameter;
            return;
        }
        if (many_.empty())
            many_.assign(few_, few_ + count_);
        many_.push_back(parameter);
        ++count_;
    }
    void add_dynamic(const Kernel &kernel, std::size_t bytes) {
        constexpr std::size_t alignment = 16;
        const std::uint64_t most = kernel.program->context->device.info.local_memory;
        if (bytes > most || dynamic_bytes_ + bytes > most)
            refuse(EP_INVALID, "kernel \"", kernel.name, "\" was given ", bytes,
                   " bytes of local memory", dynamic_bytes_ != 0 ? ", on top of others" : "",
                   ", and the device has ", most, " for a work-group");
        dynamic_bytes_ = (dynamic_bytes_ + alignment - 1) / alignment * alignment + bytes;
    }

    void *few_[32];
    std::vector<void *> many_;
    std::size_t count_ = 0, dynamic_bytes_ = 0;
};

void require_place(const Queue &queue, const Kernel &kernel) {
    if (&*kernel.program->context != &*queue.context)
        refuse(EP_INVALID, "kernel \"", kernel.name, "\" was built for ",
               kernel.program->context->device.selector(),
               ", and the queue is in another context, of ", queue.device().selector(),
               ": build it for the queue's");
}

void launch_alone(Queue &queue, const Kernel &kernel, const Geometry &geometry,
                  Parameters &parameters) {
    queue.submit([&](CUstream stream) {
        const unsigned *const grid = geometry.grid, *const block = geometry.block;
        check(driver().cuLaunchKernel(kernel.native, grid[0], grid[1], grid[2], block[0], block[1],
                                      block[2], static_cast<unsigned>(parameters.dynamic_bytes()),
                                      stream, parameters.pointers(), nullptr),
              "cuLaunchKernel");
    });
}

// -------------------------------------------------------------- cooperation

// How many groups of `work_items` the device runs at once.
std::uint64_t resident_groups(const Kernel &kernel, std::uint64_t work_items,
                              std::size_t dynamic_bytes) {
    const Device &device = kernel.program->context->device;
    if (!device.is_cooperative)
        refuse(EP_UNSUPPORTED, device.selector(), " has no cooperative launch");
    const Current current(kernel.program->context->native);
    int each = 0;
    check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
              &each, kernel.native, static_cast<int>(work_items), dynamic_bytes),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    return static_cast<std::uint64_t>(each) * device.info.compute_units;
}

void require_resident(const Kernel &kernel, const Geometry &geometry, std::size_t dynamic_bytes) {
    const std::uint64_t work_items =
        std::uint64_t{geometry.block[0]} * geometry.block[1] * geometry.block[2];
    const std::uint64_t groups =
        std::uint64_t{geometry.grid[0]} * geometry.grid[1] * geometry.grid[2];
    const std::uint64_t most = resident_groups(kernel, work_items, dynamic_bytes);
    if (groups > most)
        refuse(EP_INVALID, "a cooperative launch of kernel \"", kernel.name, "\" has ", groups,
               " work-groups, and ", kernel.program->context->device.selector(), " runs ", most,
               " of them at once: launch no more, and let each do more work in a loop");
}

CUlaunchAttribute cluster_attribute(Kernel &kernel, const Geometry &geometry, const ep_range &range,
                                    const ep_cooperation &cooperation) {
    const Device &device = kernel.program->context->device;
    if (!device.has_clusters)
        refuse(EP_UNSUPPORTED, device.selector(), " (compute capability ",
               device.compute_capability / 10, ".", device.compute_capability % 10,
               ") has no clusters: they came with 9.0");
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    unsigned *const extents[] = {&attribute.value.clusterDim.x, &attribute.value.clusterDim.y,
                                 &attribute.value.clusterDim.z};
    for (unsigned *extent : extents)
        *extent = 1;
    std::uint64_t groups = 1;
    for (std::uint32_t i = 0; i < range.ndim; ++i) {
        const std::uint32_t axis = range.ndim - 1 - i;
        const std::uint64_t extent = cooperation.cluster[i];
        if (extent == 0 || geometry.grid[axis] % extent != 0)
            refuse(EP_INVALID, "dimension ", i, " of kernel \"", kernel.name, "\" has ",
                   geometry.grid[axis], " work-groups, which clusters of ", extent,
                   " do not divide");
        *extents[axis] = static_cast<unsigned>(extent);
        groups *= extent;
    }
    if (groups > portable_cluster)
        kernel.allow_large_clusters();
    return attribute;
}

void launch_together(Queue &queue, Kernel &kernel, const ep_range &range, const Geometry &geometry,
                     const ep_cooperation &cooperation, Parameters &parameters) {
    std::vector<CUlaunchAttribute> attributes;
    const bool in_clusters = std::any_of(cooperation.cluster, cooperation.cluster + 3,
                                         [](std::uint64_t n) { return n != 0; });
    if (in_clusters)
        attributes.push_back(cluster_attribute(kernel, geometry, range, cooperation));
    if (cooperation.all_resident != 0) {
        require_resident(kernel, geometry, parameters.dynamic_bytes());
        CUlaunchAttribute attribute{};
        attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute.value.cooperative = 1;
        attributes.push_back(attribute);
    }
    CUlaunchConfig config{};
    config.gridDimX = geometry.grid[0];
    config.gridDimY = geometry.grid[1];
    config.gridDimZ = geometry.grid[2];
    config.blockDimX = geometry.block[0];
    config.blockDimY = geometry.block[1];
    config.blockDimZ = geometry.block[2];
    config.sharedMemBytes = static_cast<unsigned>(parameters.dynamic_bytes());
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    queue.submit([&](CUstream stream) {
        config.hStream = stream;
        const CUresult code =
            driver().cuLaunchKernelEx(&config, kernel.native, parameters.pointers(), nullptr);
        if (in_clusters &&
            (code == CUDA_ERROR_INVALID_CLUSTER_SIZE || code == CUDA_ERROR_INVALID_VALUE))
            refuse(EP_INVALID, "clusters of ", cooperation.cluster[0], " x ",
                   cooperation.cluster[1], " x ", cooperation.cluster[2], " groups of kernel \"",
                   kernel.name, "\" do not fit on ", queue.device().selector());
        check(code, "cuLaunchKernelEx");
    });
}

// ---------------------------------------------------------------- functions

ep_status program_dialects(ep_device, std::uint32_t *mask) {
    return guarded([&] { *mask = dialects; });
}

Request request_for(const Device &device, std::string_view source, const char *options) {
    return {std::string(source), words_in(options), "", device.target};
}

std::string compile_source(const Request &request, const ep_sink *log) {
    std::string said;
    try {
        Code code = compile(request, said);
        tell(log, said);
        return std::move(code.image);
    } catch (const Refusal &) {
        tell(log, said);
        throw;
    }
}

std::string require_form(ep_dialect dialect, std::string_view source, const ep_sink *log) {
    const char *const wrong = wrong_form(dialect, source);
    if (wrong == nullptr)
        return std::string(source);
    tell(log, std::string(wrong) + "\n");
    refuse(EP_BUILD_FAILED, wrong);
}

ep_status program_build(ep_context context, ep_device device, ep_dialect dialect,
                        const char *source, std::size_t length, const char *options,
                        const ep_sink *log, ep_program *program) {
    return guarded([&] {
        Context &in = object(context);
        if (&in.device != &object(device))
            refuse(EP_INVALID, object(device).selector(),
                   " is not the device of the context, which is ", in.device.selector());
        if (dialect < 0 || dialect >= EP_DIALECT_COUNT || (dialects & 1u << dialect) == 0)
            refuse(EP_UNSUPPORTED, in.device.selector(), " builds programs from ", dialect_words,
                   ", and was given dialect ", static_cast<int>(dialect));
        in.unload_finished();
        Request request = dialect == source_dialect
                              ? request_for(in.device, {source, length}, options)
                              : Request{};
        const std::string image = dialect == source_dialect
                                      ? compile_source(request, log)
                                      : require_form(dialect, {source, length}, log);
        const CUmodule module = load_module(in, image, log);
        *program = handle(new Program(in, module, dialect, std::move(request)));
    });
}

void program_release(ep_program program) { object(program).release(); }

ep_status program_kernel(ep_program program, const char *name, ep_kernel *kernel) {
    return guarded([&] {
        const CUfunction found = object(program).function(name);
        *kernel = handle(new Kernel(object(program), name, found));
    });
}

ep_status kernel_info(ep_kernel kernel, ep_device, ep_kernel_info *info) {
    return guarded([&] { *info = object(kernel).info; });
}

void kernel_release(ep_kernel kernel) { object(kernel).release(); }

ep_status kernel_resident_groups(ep_kernel kernel, ep_device, std::uint64_t work_items,
                                 std::uint64_t local_memory, std::uint64_t *groups) {
    return guarded([&] {
        Kernel &asked = object(kernel);
        asked.allow_dynamic(local_memory);
        *groups = resident_groups(asked, work_items, local_memory);
    });
}

[[gnu::hot]] ep_status kernel_launch(ep_queue queue, ep_kernel kernel, const ep_range *range,
                                     const ep_cooperation *cooperation,
                                     const ep_argument *arguments, std::size_t count) {
    return guarded([&] {
        Kernel &launched = object(kernel);
        require_place(object(queue), launched);
        const Geometry geometry = geometry_of(launched, *range);
        Parameters parameters(launched, {arguments, count});
        launched.allow_dynamic(parameters.dynamic_bytes());
        if (geometry.is_empty)
            return;  // no work-items, no work
        if (cooperation == nullptr)
            launch_alone(object(queue), launched, geometry, parameters);
        else
            launch_together(object(queue), launched, *range, geometry, *cooperation, parameters);
    });
}

}  // namespace

void replace_launch(CUgraphExec graph, CUgraphNode known, const ep_node &node) {
    ENTREPOT_ASSERT(node.kind == EP_NODE_LAUNCH && node.of.launch.cooperation == nullptr);
    const auto &of = node.of.launch;
    Kernel &launched = object(of.kernel);
    const Geometry geometry = geometry_of(launched, *of.range);
    Parameters parameters(launched, {of.arguments, of.count});
    launched.allow_dynamic(parameters.dynamic_bytes());
    if (geometry.is_empty)
        refuse(EP_UNSUPPORTED, "a node of a graph has work-items: create another graph");
    CUDA_KERNEL_NODE_PARAMS changed{};
    changed.func = launched.native;
    changed.gridDimX = geometry.grid[0];
    changed.gridDimY = geometry.grid[1];
    changed.gridDimZ = geometry.grid[2];
    changed.blockDimX = geometry.block[0];
    changed.blockDimY = geometry.block[1];
    changed.blockDimZ = geometry.block[2];
    changed.sharedMemBytes = static_cast<unsigned>(parameters.dynamic_bytes());
    changed.kernelParams = parameters.pointers();
    const CUresult code = driver().cuGraphExecKernelNodeSetParams(graph, known, &changed);
    if (code != CUDA_SUCCESS)
        refuse(EP_UNSUPPORTED, maker_api, " cannot replace a launch by one of kernel \"",
               launched.name, "\" (", text_of(code), "): create another graph");
}

void fill_program_functions(ep_backend &table) {
    table.program_dialects = program_dialects;
    table.program_build = program_build;
    table.program_release = program_release;
    table.program_kernel = program_kernel;
    table.kernel_info = kernel_info;
    table.kernel_release = kernel_release;
    table.kernel_launch = kernel_launch;
    table.kernel_resident_groups = kernel_resident_groups;
}

}  // namespace entrepot::backends::gpu
