// Programs: OpenCL C through the driver, SYCL source and SPIR-V through the runtime; kernels and
// their launches.
//
// A range is slowest dimension first, as everywhere in SYCL. The runtime reverses it for OpenCL:
// dimension 0 of n in ep_range is get_global_id(n - 1) in OpenCL C, and get_global_id(0) in SYCL
// source.
//
// SYCL source declares its kernels extern "C", since mangled names cannot be spelled at run time.
// Its local memory is a parameter of type work_group_memory<T[]>. A local_accessor, which counts
// elements, cannot be given a number of bytes.
#include "backends/cache.hpp"
#include "backends/processor.hpp"
#include "backends/sycl/native.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>

namespace entrepot::backends::sycl {

class Program : public Counted<Program> {
public:
    Program(Context &in, Device &on, ep_dialect of) : context(&in), device(on), dialect(of) {}
    ~Program() {
        if (cl != nullptr)
            opencl().release_program(cl);
    }

    const IntrusivePtr<Context> context;
    Device &device;
    const ep_dialect dialect;
    cl_program cl = nullptr;  // of EP_OPENCL_C
    // of the others
    std::unique_ptr<::sycl::kernel_bundle<::sycl::bundle_state::executable>> bundle;
};

class Kernel : public Counted<Kernel> {
public:
    Kernel(Program &of, std::string named, ::sycl::kernel found);

    const IntrusivePtr<Program> program;
    const std::string name;
    const ::sycl::kernel native;
    const ep_kernel_info info;
};

namespace {

struct DialectWords {
    ep_dialect dialect;
    const char *words;
};
constexpr DialectWords dialect_words[] = {
    {EP_OPENCL_C, "OpenCL C"}, {EP_SYCL_SOURCE, "SYCL source"}, {EP_SPIRV, "SPIR-V"}};

const char *words_of(ep_dialect dialect) {
    for (const DialectWords &known : dialect_words)
        if (known.dialect == dialect)
            return known.words;
    return "that dialect";
}

std::uint32_t dialects_of(const Device &device) {
    return (device.cl ? 1u << EP_OPENCL_C : 0u) |
           (device.builds_sycl_source ? 1u << EP_SYCL_SOURCE : 0u) |
           (device.builds_spirv ? 1u << EP_SPIRV : 0u);
}

void require_dialect(const Device &device, ep_dialect dialect) {
    const std::uint32_t offered = dialects_of(device);
    if (dialect >= 0 && dialect < EP_DIALECT_COUNT && offered & (1u << dialect))
        return;
    std::string names;
    for (const DialectWords &known : dialect_words)
        if (offered & (1u << known.dialect))
            names += (names.empty() ? "" : ", ") + std::string(known.words);
    refuse(EP_UNSUPPORTED, device.selector(), " builds no programs of ", words_of(dialect),
           "; what it builds: ", names.empty() ? "nothing" : names);
}

void tell(const ep_sink *log, std::string_view text) {
    if (log && !text.empty())
        log->write(log->user, text.data(), text.size());
}

[[noreturn]] void refuse_build(const Device &device, ep_dialect dialect) {
    refuse(EP_BUILD_FAILED, device.selector(), " refused the program in ", words_of(dialect),
           ": the build log says why");
}

std::vector<std::string> words_in(const char *options) {
    std::istringstream stream(options ? options : "");
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(std::move(word));
    return words;
}

// ----------------------------------------------------------------- OpenCL C

std::string build_log(cl_program program, cl_device_id device) {
    std::size_t size = 0;
    check(opencl().program_build_info(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size),
          "clGetProgramBuildInfo");
    std::string log(size, '\0');
    check(opencl().program_build_info(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(),
                                      nullptr),
          "clGetProgramBuildInfo");
    log.erase(std::find(log.begin(), log.end(), '\0'), log.end());
    return log;
}

// Empty if the program has no kernels, which drivers report as an invalid program.
std::string kernel_names(cl_program program) {
    std::size_t size = 0;
    const cl_int code = opencl().program_info(program, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size);
    if (code == CL_INVALID_PROGRAM_EXECUTABLE)
        return {};
    check(code, "clGetProgramInfo");
    std::string names(size, '\0');
    check(opencl().program_info(program, CL_PROGRAM_KERNEL_NAMES, size, names.data(), nullptr),
          "clGetProgramInfo");
    names.erase(std::find(names.begin(), names.end(), '\0'), names.end());
    return names;
}

// Environment variables of Intel's CPU driver: target processor and disabled features.
std::string settings_of_the_driver() {
    std::string settings;
    for (char **entry = environ; *entry; ++entry)
        if (std::string_view(*entry).starts_with("CL_CONFIG_"))
            (settings += *entry) += '\n';
    return settings;
}

std::string key_of(Program &program, std::string_view source, const char *options) {
    const ep_device_info &info = program.device.info;
    return cache_key(info.name, info.vendor, info.driver, processor_identity(),
                     settings_of_the_driver(), options ? options : "", source);
}

// The program's machine code; empty if the driver does not provide it.
std::string binary_of(cl_program program) {
    std::size_t size = 0;
    if (opencl().program_info(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) !=
        CL_SUCCESS)
        return {};
    std::string binary(size, '\0');
    auto *bytes = reinterpret_cast<unsigned char *>(binary.data());
    return opencl().program_info(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr) ==
                   CL_SUCCESS
               ? binary
               : "";
}

// True if the driver accepts its earlier binary; otherwise the source is compiled again.
bool build_binary(Program &program, const std::string &binary, const char *options) {
    const auto *bytes = reinterpret_cast<const unsigned char *>(binary.data());
    const std::size_t size = binary.size();
    cl_int code = CL_SUCCESS, taken = CL_SUCCESS;
    const cl_program made = opencl().create_program_with_binary(
        program.context->cl, 1, &program.device.cl, &size, &bytes, &taken, &code);
    if (code == CL_SUCCESS && taken == CL_SUCCESS &&
        opencl().build_program(made, 1, &program.device.cl, options, nullptr, nullptr) ==
            CL_SUCCESS) {
        program.cl = made;
        return true;
    }
    if (made)
        opencl().release_program(made);
    return false;
}

void build_source(Program &program, std::string_view source, const char *options,
                  const ep_sink *log) {
    cl_int code = CL_SUCCESS;
    const char *text = source.data();
    const std::size_t length = source.size();
    program.cl = opencl().create_program_with_source(program.context->cl, 1, &text, &length, &code);
    check(code, "clCreateProgramWithSource");
    code = opencl().build_program(program.cl, 1, &program.device.cl, options, nullptr, nullptr);
    if (code == CL_SUCCESS || code == CL_BUILD_PROGRAM_FAILURE)
        tell(log, build_log(program.cl, program.device.cl));
    if (code == CL_BUILD_PROGRAM_FAILURE)
        refuse_build(program.device, EP_OPENCL_C);
    if (code == CL_INVALID_BUILD_OPTIONS)
        refuse(EP_INVALID, "the OpenCL compiler does not know the options \"", options, "\"");
    check(code, "clBuildProgram");
}

// Programs for a context of several devices, and source that includes files, are not cached.
void build_opencl_c(Program &program, std::string_view source, const char *options,
                    const ep_sink *log) {
    constexpr std::string_view own_options[] = {"-cl-"};
    const bool is_kept = !names_files(source, Angled::anywhere) &&
                         !options_name_files(words_in(options), own_options);
    const std::string key = is_kept ? key_of(program, source, options) : "";
    const std::optional<std::string> known = is_kept ? cached("opencl", key) : std::nullopt;
    if (known && build_binary(program, *known, options))
        return;
    build_source(program, source, options, log);
    if (const std::string binary = is_kept ? binary_of(program.cl) : ""; !binary.empty())
        keep_cached("opencl", key, binary);
}

::sycl::kernel opencl_kernel(Program &program, const char *name) {
    cl_int code = CL_SUCCESS;
    const cl_kernel kernel = opencl().create_kernel(program.cl, name, &code);
    if (code == CL_INVALID_KERNEL_NAME || code == CL_INVALID_PROGRAM_EXECUTABLE) {
        const std::string names = kernel_names(program.cl);
        refuse(EP_INVALID, "the program has no kernel \"", name, "\"; ",
               names.empty() ? "it has none: 'kernel' stands before a function that is one"
                             : "it has: " + names);
    }
    check(code, "clCreateKernel");
    const std::unique_ptr<std::remove_pointer_t<cl_kernel>, cl_int (*)(cl_kernel)> ours(
        kernel, opencl().release_kernel);
    // The SYCL kernel holds its own reference.
    return ::sycl::make_kernel<::sycl::backend::opencl>(kernel, program.context->native);
}

// ------------------------------------------------------ SYCL source, SPIR-V

// Calls `visit` for each identifier in C++ source outside of comments and literals.
template <class Visit> void for_each_identifier(std::string_view source, Visit &&visit) {
    const auto is_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    std::size_t at = 0;
    const auto skip_to = [&](std::string_view end) {
        const std::size_t found = source.find(end, at);
        at = found == std::string_view::npos ? source.size() : found + end.size();
    };
    const auto skip_literal = [&](char quote) {
        for (++at; at < source.size() && source[at] != quote; ++at)
            at += source[at] == '\\';
        ++at;
    };
    while (at < source.size()) {
        const std::string_view rest = source.substr(at);
        if (rest.starts_with("//")) {
            skip_to("\n");
        } else if (rest.starts_with("/*")) {
            at += 2;
            skip_to("*/");
        } else if (rest[0] == '"' || rest[0] == '\'') {
            skip_literal(rest[0]);
        } else if (is_word(rest[0])) {
            const std::size_t begin = at;
            while (
                at < source.size() &&
                (is_word(source[at]) ||
                 (source[at] == '\'' && std::isdigit(static_cast<unsigned char>(source[begin])))))
                ++at;
            visit(source.substr(begin, at - begin));
        } else {
            ++at;
        }
    }
}

// The runtime's compiler (2026.2) terminates the process over these, so they are refused first.
void require_survivable(const Device &device, std::string_view source, const ep_sink *log) {
    static constexpr std::string_view deadly[] = {
        "group_local_memory", "group_local_memory_for_overwrite", "get_work_group_scratch_memory",
        "work_group_scratch_size"};
    for_each_identifier(source, [&](std::string_view identifier) {
        if (std::find(std::begin(deadly), std::end(deadly), identifier) == std::end(deadly))
            return;
        tell(log, std::string(identifier) + " crashes the run-time SYCL compiler: use a "
                                            "work_group_memory parameter or work_group_static\n");
        refuse_build(device, EP_SYCL_SOURCE);
    });
}

using SourceBundle = ::sycl::kernel_bundle<::sycl::bundle_state::ext_oneapi_source>;

void build_bundle(Program &program, SourceBundle source, const char *options, const ep_sink *log) {
    std::string text;
    try {
        const syclex::properties properties{syclex::build_options{words_in(options)},
                                            syclex::save_log{&text}};
        program.bundle = std::make_unique<::sycl::kernel_bundle<::sycl::bundle_state::executable>>(
            syclex::build(source, std::vector<::sycl::device>{program.device.native}, properties));
    } catch (const ::sycl::exception &error) {
        if (error.code() != ::sycl::errc::build)
            throw;
        tell(log, text.empty() ? error.what() : text);
        refuse_build(program.device, program.dialect);
    }
    tell(log, text);
}

void build_sycl_source(Program &program, std::string_view source, const char *options,
                       const ep_sink *log) {
    require_survivable(program.device, source, log);
    build_bundle(program,
                 syclex::create_kernel_bundle_from_source(
                     program.context->native, syclex::source_language::sycl, std::string(source)),
                 options, log);
}

void build_spirv(Program &program, std::string_view module, const char *options,
                 const ep_sink *log) {
    constexpr unsigned char magic[] = {0x03, 0x02, 0x23, 0x07};
    if (module.size() < 20 || module.size() % 4 != 0 ||
        !std::equal(std::begin(magic), std::end(magic), module.begin(),
                    [](auto a, char b) { return a == static_cast<unsigned char>(b); }))
        refuse(
            EP_INVALID, "the ", module.size(),
            " bytes given are not a SPIR-V module: it starts with 0x07230203 and has whole words");
    const auto *bytes = reinterpret_cast<const std::byte *>(module.data());
    build_bundle(program,
                 syclex::create_kernel_bundle_from_source(
                     program.context->native, syclex::source_language::spirv,
                     std::vector<std::byte>(bytes, bytes + module.size())),
                 options, log);
}

::sycl::kernel bundle_kernel(Program &program, const char *name) {
    if (!program.bundle->ext_oneapi_has_kernel(name))
        refuse(EP_INVALID, "the program has no kernel \"", name, "\"",
               program.dialect == EP_SYCL_SOURCE
                   ? ": is it an extern \"C\" function with the property nd_range_kernel or "
                     "single_task_kernel?"
                   : "");
    return program.bundle->ext_oneapi_get_kernel(name);
}

// ----------------------------------------------------------------- programs

IntrusivePtr<Program> build(Context &context, Device &device, ep_dialect dialect,
                            std::string_view source, const char *options, const ep_sink *log) {
    require_dialect(device, dialect);
    const auto program = IntrusivePtr<Program>::adopt(new Program(context, device, dialect));
    switch (dialect) {
    case EP_OPENCL_C:
        build_opencl_c(*program, source, options, log);
        break;
    case EP_SYCL_SOURCE:
        build_sycl_source(*program, source, options, log);
        break;
    default:
        build_spirv(*program, source, options, log);
        break;
    }
    return program;
}

::sycl::kernel kernel_of(Program &program, const char *name) {
    return program.cl != nullptr ? opencl_kernel(program, name) : bundle_kernel(program, name);
}

ep_status program_dialects(ep_device device, std::uint32_t *mask) {
    return guarded([&] { *mask = dialects_of(object(device)); });
}

ep_status program_build(ep_context context, ep_device device, ep_dialect dialect,
                        const char *source, std::size_t length, const char *options,
                        const ep_sink *log, ep_program *program) {
    return guarded([&] {
        *program =
            handle(build(object(context), object(device), dialect, {source, length}, options, log)
                       .detach());
    });
}

void program_release(ep_program program) { object(program).release(); }

// ------------------------------------------------------------------ kernels

std::uint64_t local_memory_of(const ::sycl::kernel &kernel, const Device &device) {
    if (device.cl == nullptr)
        return 0;
    const cl_kernel native = ::sycl::get_native<::sycl::backend::opencl>(kernel);
    cl_ulong bytes = 0;
    const cl_int code = opencl().kernel_work_group_info(native, device.cl, CL_KERNEL_LOCAL_MEM_SIZE,
                                                        sizeof bytes, &bytes, nullptr);
    opencl().release_kernel(native);
    check(code, "clGetKernelWorkGroupInfo");
    return bytes;
}

ep_kernel_info describe(const ::sycl::kernel &kernel, const Device &device) {
    namespace on_device = ::sycl::info::kernel_device_specific;
    ep_kernel_info info{};
    info.max_work_group = kernel.get_info<on_device::work_group_size>(device.native);
    info.preferred_multiple =
        kernel.get_info<on_device::preferred_work_group_size_multiple>(device.native);
    info.local_memory = local_memory_of(kernel, device);
    info.private_memory = kernel.get_info<on_device::private_mem_size>(device.native);
    info.argument_count =
        static_cast<std::int32_t>(kernel.get_info<::sycl::info::kernel::num_args>());
    return info;
}

ep_status program_kernel(ep_program program, const char *name, ep_kernel *kernel) {
    return guarded([&] {
        ::sycl::kernel found = kernel_of(object(program), name);
        *kernel = handle(new Kernel(object(program), name, std::move(found)));
    });
}

ep_status kernel_info(ep_kernel kernel, ep_device device, ep_kernel_info *info) {
    return guarded([&] {
        const Kernel &of = object(kernel);
        const Device &on = object(device);
        *info = &on == &of.program->device ? of.info : describe(of.native, on);
    });
}

void kernel_release(ep_kernel kernel) { object(kernel).release(); }

// ------------------------------------------------------------------- launch

bool is_local_chosen_by_runtime(const ep_range &range) {
    return std::all_of(range.local, range.local + range.ndim,
                       [](std::uint64_t items) { return items == 0; });
}

void require_place(const Queue &queue, const Kernel &kernel) {
    const Program &program = *kernel.program;
    if (program.context != queue.context)
        refuse(EP_INVALID, "kernel \"", kernel.name,
               "\" was built for another context than the queue's: build it for the context of the "
               "queue");
    if (&program.device != &queue.device)
        refuse(EP_INVALID, "kernel \"", kernel.name, "\" was built for ", program.device.selector(),
               ", and the queue is on ", queue.device.selector());
}

void require_arguments(const Kernel &kernel, const ep_argument *arguments, std::size_t count) {
    if (count != static_cast<std::size_t>(kernel.info.argument_count))
        refuse(EP_INVALID, "kernel \"", kernel.name, "\" takes ", kernel.info.argument_count,
               " arguments, and ", count, " were given",
               kernel.program->dialect == EP_SYCL_SOURCE
                   ? " (a local_accessor counts as four: use work_group_memory)"
                   : "");
    for (std::size_t i = 0; i < count; ++i)
        if (arguments[i].kind != EP_ARG_POINTER && arguments[i].size == 0)
            refuse(EP_INVALID, "argument ", i, " of kernel \"", kernel.name,
                   "\" has a size of 0 bytes");
}

void require_groups(const Kernel &kernel, const ep_device_info &device, const ep_range &range) {
    std::uint64_t group = 1;
    for (std::uint32_t i = 0; i < range.ndim; ++i) {
        const std::uint64_t local = range.local[i],
                            most = device.max_work_items[3 - range.ndim + i];
        if (local == 0)
            refuse(EP_INVALID, "dimension ", i,
                   " of the work-group is 0 and another is not: give all of them, or none");
        if (range.global[i] % local != 0)
            refuse(EP_INVALID, "dimension ", i, " has ", range.global[i],
                   " work-items, which groups of ", local, " do not divide");
        if (local > most)
            refuse(EP_INVALID, "dimension ", i, " of the work-group has ", local,
                   " work-items, and the device allows ", most);
        group *= local;
    }
    if (group > kernel.info.max_work_group)
        refuse(EP_INVALID, "a work-group of ", group, " work-items was asked for, and kernel \"",
               kernel.name, "\" allows ", kernel.info.max_work_group);
}

void require_range(const ep_range &range) {
    if (range.ndim < 1 || range.ndim > 3)
        refuse(EP_INVALID, "a range of ", range.ndim,
               " dimensions was given, and there may be 1 to 3");
}

void set_argument(::sycl::handler &handler, int index, const ep_argument &argument) {
    switch (argument.kind) {
    case EP_ARG_POINTER:
        return handler.set_arg(index, const_cast<void *>(argument.value));
    case EP_ARG_BYTES:
        return handler.set_arg(index, syclex::raw_kernel_arg(argument.value, argument.size));
    case EP_ARG_LOCAL: {
        syclex::work_group_memory<char[]> local(argument.size, handler);
        return handler.set_arg(index, local);
    }
    }
    refuse(EP_INVALID, "argument ", index, " is of kind ", static_cast<int>(argument.kind),
           ", which ep_argument_kind has not");
}

template <int Dimensions>::sycl::range<Dimensions> native_range(const std::uint64_t *items) {
    if constexpr (Dimensions == 1)
        return {items[0]};
    else if constexpr (Dimensions == 2)
        return {items[0], items[1]};
    else
        return {items[0], items[1], items[2]};
}

template <int Dimensions>
void submit(::sycl::queue &native, const Kernel &kernel, const ep_range &range,
            const ep_argument *arguments, std::size_t count) {
    native.submit([&](::sycl::handler &handler) {
        for (std::size_t i = 0; i < count; ++i)
            set_argument(handler, static_cast<int>(i), arguments[i]);
        const auto global = native_range<Dimensions>(range.global);
        if (is_local_chosen_by_runtime(range))
            handler.parallel_for(global, kernel.native);
        else
            handler.parallel_for(
                ::sycl::nd_range<Dimensions>(global, native_range<Dimensions>(range.local)),
                kernel.native);
    });
}

// The runtime detects a value of a wrong size only at submission, and does not say which.
[[noreturn]] void refuse_sizes(const Kernel &kernel, const ep_argument *arguments,
                               std::size_t count) {
    std::string given;
    for (std::size_t i = 0; i < count; ++i)
        if (arguments[i].kind == EP_ARG_BYTES)
            given += (given.empty() ? "" : ", ") + std::to_string(arguments[i].size) +
                     " (argument " + std::to_string(i) + ")";
    refuse(EP_INVALID, "kernel \"", kernel.name,
           "\" takes values of other sizes than these, in bytes: ", given,
           "; give each the type of its parameter, as ep.Scalar(value, dtype) does");
}

// SYCL 2020 says nothing about groups that wait for each other. The groups of a launch of one group
// do.
constexpr std::uint64_t resident_groups = 1;

void require_resident(const Queue &queue, const Kernel &kernel, const ep_range &range,
                      const ep_cooperation &cooperation) {
    if (std::any_of(cooperation.cluster, cooperation.cluster + 3,
                    [](std::uint64_t extent) { return extent != 0; }))
        refuse(EP_UNSUPPORTED, queue.device.selector(), " has no clusters of groups for kernel \"",
               kernel.name, "\": they came with CUDA's compute capability 9.0");
    std::uint64_t groups = 1;
    for (std::uint32_t i = 0; i < range.ndim; ++i)
        groups *= range.global[i] / std::max<std::uint64_t>(range.local[i], 1);
    if (groups > resident_groups || is_local_chosen_by_runtime(range))
        refuse(EP_INVALID, "a cooperative launch of kernel \"", kernel.name, "\" has ", groups,
               " work-groups, and ", queue.device.selector(), " runs ", resident_groups,
               " of them for certain, because SYCL does not say how many run at once: launch one "
               "group, or end the kernel where the groups wait and launch another");
}

ep_status kernel_resident_groups(ep_kernel, ep_device, std::uint64_t, std::uint64_t,
                                 std::uint64_t *groups) {
    *groups = resident_groups;
    return EP_OK;
}

ep_status kernel_launch(ep_queue queue, ep_kernel kernel, const ep_range *range,
                        const ep_cooperation *cooperation, const ep_argument *arguments,
                        std::size_t count) {
    return guarded([&] {
        Queue &in = object(queue);
        const Kernel &launched = object(kernel);
        require_place(in, launched);
        require_arguments(launched, arguments, count);
        require_range(*range);
        if (cooperation != nullptr)
            require_resident(in, launched, *range, *cooperation);
        if (!is_local_chosen_by_runtime(*range))
            require_groups(launched, in.device.info, *range);
        if (std::any_of(range->global, range->global + range->ndim,
                        [](std::uint64_t items) { return items == 0; }))
            return;  // no work-items, no work
        try {
            in.submit([&](::sycl::queue &native) {
                switch (range->ndim) {
                case 1:
                    return submit<1>(native, launched, *range, arguments, count);
                case 2:
                    return submit<2>(native, launched, *range, arguments, count);
                default:
                    return submit<3>(native, launched, *range, arguments, count);
                }
            });
        } catch (const ::sycl::exception &error) {
            if (std::strstr(error.what(), "INVALID_KERNEL_ARGUMENT_SIZE"))
                refuse_sizes(launched, arguments, count);
            throw;
        }
    });
}

}  // namespace

Kernel::Kernel(Program &of, std::string named, ::sycl::kernel found)
    : program(&of), name(std::move(named)), native(std::move(found)),
      info(describe(native, of.device)) {}

::sycl::kernel build_kernel(Context &context, Device &device, ep_dialect dialect,
                            const std::string &source, const char *name) {
    std::string log;
    const ep_sink sink{&log, [](void *user, const char *text, std::size_t length) {
                           static_cast<std::string *>(user)->append(text, length);
                       }};
    try {
        return kernel_of(*build(context, device, dialect, source, "", &sink), name);
    } catch (const Refusal &) {
        loader->log(log.c_str());  // the only place that shows the compiler's messages
        throw;
    }
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

}  // namespace entrepot::backends::sycl
