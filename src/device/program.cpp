#include "core/interrupt.hpp"
#include "device/capture_release.hpp"
#include <entrepot/core/text.hpp>
#include <entrepot/device/program.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace entrepot {

struct Program::Record {
    Device device;
    Context context;
    ep_dialect dialect = EP_OPENCL_C;
    std::string log;
    ep_program handle = nullptr;

    ~Record() {
        if (handle) {
            const CaptureRelease released(device);
            device.backend().drop(&ep_backend::program_release, handle);
        }
    }
};

struct Kernel::Record {
    Program program;
    std::string name;
    ep_kernel_info info{};
    ep_kernel handle = nullptr;

    ~Record() {
        if (handle)  // the program is here until afterwards
            program.device().backend().drop(&ep_backend::kernel_release, handle);
    }
};

namespace {

const DialectRow &row_of(ep_dialect dialect) {
    return *std::ranges::find(dialect_table, dialect, &DialectRow::dialect);
}

DialectMask dialects_of(const Device &device) {
    DialectMask mask = 0;
    device.backend().call(&ep_backend::program_dialects, device.handle(), &mask);
    return mask;
}

ep_dialect choose_dialect(const Device &device, std::optional<ep_dialect> asked) {
    const DialectMask mask = dialects_of(device);
    for (const DialectRow &row : dialect_table)
        if (mask & (1u << row.dialect) && asked.value_or(row.dialect) == row.dialect)
            return row.dialect;
    if (asked)
        throw Error(ErrorKind::device, device, " does not build ", row_of(*asked).doc,
                    " (dialect '", row_of(*asked).name,
                    "'); the dialects it builds: ", names_of(mask));
    throw Error(ErrorKind::device, device, " builds no programs",
                device.backend().is_host() ? ": they are compiled by the compiler that CXX "
                                             "names, or by g++ or clang if it is unset, "
                                             "and none was found in the PATH; install "
                                             "one, or correct CXX"
                                           : "");
}

const ep_sink sink_into(std::string &log) {
    return {&log, [](void *user, const char *text, std::size_t length) {
                static_cast<std::string *>(user)->append(text, length);
            }};
}

// The product of the extents of a range or group, and if it overflows 64 bits.
struct Count {
    std::uint64_t items = 1;
    bool overflows = false, is_empty = false;

    void add(std::uint64_t extent) noexcept {
        overflows |= __builtin_mul_overflow(items, extent == 0 ? 1 : extent, &items);
        is_empty |= extent == 0;
    }
};

std::string text_of(const std::uint64_t (&extents)[3], std::uint32_t ndim) {
    std::string text;
    for (std::uint32_t axis = 0; axis < ndim; ++axis)
        text += sentence_of(axis ? " x " : "", extents[axis]);
    return text;
}

// Returns: true if the range has work-items.
// Throws: Error(kernel) if it has too many, or groups that do not fit it or the kernel.
bool check_range(const Kernel &kernel, const ep_range &range) {
    if (range.ndim < 1 || range.ndim > 3) [[unlikely]]
        throw Error(ErrorKind::kernel, "kernel '", kernel.name(),
                    "': a range has 1 to 3 dimensions, this one ", range.ndim);
    Count items, group;
    bool is_given = false, divides = true;
    for (std::uint32_t axis = 0; axis < range.ndim; ++axis) {
        const std::uint64_t global = range.global[axis], local = range.local[axis];
        items.add(global);
        group.add(local);
        is_given |= local != 0;
        divides &= local == 0 || global % local == 0;
    }
    if (is_given && group.is_empty) [[unlikely]]
        throw Error(ErrorKind::kernel, "kernel '", kernel.name(), "': a work-group of ",
                    text_of(range.local, range.ndim),
                    " has no work-items; give every extent, or none and the backend chooses");
    if (!divides) [[unlikely]]
        throw Error(ErrorKind::kernel, "kernel '", kernel.name(), "': work-groups of ",
                    text_of(range.local, range.ndim), " do not divide the ",
                    text_of(range.global, range.ndim), " work-items");
    const std::uint64_t most = kernel.info().max_work_group;
    if (most && (group.overflows || group.items > most)) [[unlikely]]
        throw Error(ErrorKind::kernel, "kernel '", kernel.name(), "': a work-group of ",
                    text_of(range.local, range.ndim), " work-items, the most on ",
                    kernel.program().device(), " is ", most, "; launch smaller work-groups");
    if (items.overflows && !items.is_empty) [[unlikely]]
        throw Error(ErrorKind::kernel, "kernel '", kernel.name(), "': a range of ",
                    text_of(range.global, range.ndim), " has 2**64 work-items or more");
    return !items.is_empty;
}

void check_arguments(const Kernel &kernel, std::span<const ep_argument> arguments) {
    const std::int32_t wanted = kernel.info().argument_count;
    if (wanted >= 0 && arguments.size() != static_cast<std::size_t>(wanted))
        throw Error(ErrorKind::kernel, "kernel '", kernel.name(), "' takes ", wanted,
                    " arguments, ", arguments.size(), " were given");
    std::uint64_t local = kernel.info().local_memory;
    for (const ep_argument &argument : arguments)
        if (argument.kind == EP_ARG_LOCAL)
            local += argument.size;
    const std::uint64_t most = kernel.program().device().info().local_memory;
    if (local > most)
        throw Error(ErrorKind::kernel, "kernel '", kernel.name(), "' needs ", local,
                    " bytes of local memory, ", kernel.program().device(), " has ", most,
                    "; make the arrays in local memory smaller");
}

}  // namespace

const char *name_of(ep_dialect dialect) noexcept { return row_of(dialect).name; }

std::string names_of(DialectMask dialects) {
    std::string names;
    for (const DialectRow &row : dialect_table)
        if (dialects & (1u << row.dialect))
            names += (names.empty() ? "'" : ", '") + std::string(row.name) + "'";
    return names.empty() ? "none" : names;
}

ep_dialect dialect_from(std::string_view name, DialectMask among) {
    for (const DialectRow &row : dialect_table)
        if (among & (1u << row.dialect) && name == row.name)
            return row.dialect;
    throw Error(ErrorKind::value, "dialect: one of ", names_of(among), " was expected, not '", name,
                "'");
}

Program::Program(std::string_view source, const Device &device, std::optional<ep_dialect> dialect,
                 const std::string &options, const Context &context)
    : record_(std::make_shared<Record>()) {
    record_->device = device;
    record_->context = context ? context : device.default_context();
    record_->dialect = choose_dialect(device, dialect);
    const ep_sink sink = sink_into(record_->log);
    const CaptureRelease released(device);
    const ep_status status = device.backend().status_of(
        &ep_backend::program_build, record_->context.handle(), device.handle(), record_->dialect,
        source.data(), source.size(), options.c_str(), &sink, &record_->handle);
    if (take_interruption() && status != EP_OK)
        throw Interrupted(ErrorKind::device, Backend::last_error());
    if (status == EP_BUILD_FAILED)
        throw Error(ErrorKind::kernel, Backend::last_error(), record_->log.empty() ? "" : "\n",
                    record_->log);
    device.backend().check(status);
    deliver_warnings();
}

Kernel Program::kernel(const std::string &name) const {
    auto record = std::make_shared<Kernel::Record>();
    record->program = *this;
    record->name = name;
    const Backend &backend = device().backend();
    fork_guard::require_usable(backend);
    const InterpreterLock::Released released;
    const ep_status status = backend.status_of(&ep_backend::program_kernel, record_->handle,
                                               name.c_str(), &record->handle);
    if (status == EP_INVALID)
        throw Error(ErrorKind::kernel, Backend::last_error());
    backend.check(status);
    deliver_warnings();  // a kernel of a template is compiled here
    backend.call(&ep_backend::kernel_info, record->handle, device().handle(), &record->info);
    Kernel kernel;
    kernel.record_ = std::move(record);
    return kernel;
}

const std::string &Program::log() const noexcept { return record_->log; }
const Device &Program::device() const noexcept { return record_->device; }
const Context &Program::context() const noexcept { return record_->context; }
ep_dialect Program::dialect() const noexcept { return record_->dialect; }

const std::string &Kernel::name() const noexcept { return record_->name; }
const Program &Kernel::program() const noexcept { return record_->program; }
const ep_kernel_info &Kernel::info() const noexcept { return record_->info; }
ep_kernel Kernel::handle() const noexcept { return record_->handle; }

[[gnu::hot]] bool Kernel::check(const Queue &queue, const ep_range &range,
                                std::span<const ep_argument> arguments) const {
    const bool has_items = check_range(*this, range);
    if (queue.context() != program().context())
        throw Error(ErrorKind::kernel, "kernel '", name(), "' was built in ", program().context(),
                    ", the queue is in ", queue.context(),
                    ": build the program for the queue's context");
    check_arguments(*this, arguments);
    return has_items;
}

std::uint64_t Kernel::max_resident_groups(std::uint64_t work_items,
                                          std::uint64_t local_memory) const {
    const Device &device = program().device();
    if (work_items == 0 || work_items > info().max_work_group)
        throw Error(ErrorKind::kernel, "kernel '", name(), "' cannot run groups of ", work_items,
                    " work-items: ", device, " runs it in groups of 1 to ", info().max_work_group);
    std::uint64_t groups = 0;
    device.backend().call(&ep_backend::kernel_resident_groups, record_->handle, device.handle(),
                          work_items, local_memory, &groups);
    return groups;
}

[[gnu::hot]] Queue::Position Kernel::launch(const Queue &queue, const ep_range &range,
                                            std::span<const ep_argument> arguments,
                                            const ep_cooperation *cooperation) const {
    if (!check(queue, range, arguments))
        return queue.position();  // no work-items: nothing to do, as for a loop over nothing
    return submit(queue, range, arguments, cooperation);
}

[[gnu::hot]] Queue::Position Kernel::submit(const Queue &queue, const ep_range &range,
                                            std::span<const ep_argument> arguments,
                                            const ep_cooperation *cooperation) const {
    fork_guard::require_usable(queue.backend());
    queue.submitting();
    const ep_status status =
        queue.backend().status_of(&ep_backend::kernel_launch, queue.handle(), record_->handle,
                                  &range, cooperation, arguments.data(), arguments.size());
    if (status == EP_INVALID)
        throw Error(ErrorKind::kernel, "kernel '", name(), "': ", Backend::last_error());
    queue.backend().check(status);
    return queue.take_position();
}

}  // namespace entrepot
