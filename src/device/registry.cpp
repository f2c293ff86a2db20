#include <entrepot/device/registry.hpp>

#include "core/interpreter_lock.hpp"
#include <entrepot/core/publish.hpp>
#include <entrepot/device/queue.hpp>

#include "device/loader.hpp"
#include "device/mapped.hpp"
#include "device/selector.hpp"

#include <algorithm>
#include <cstdlib>
#include <list>
#include <mutex>
#include <sstream>

namespace entrepot {
namespace {

// ---------------------------------------------------------------- the rows

struct Row {
    std::string name;
    // nullptr: the program added it
    Loaded (*load)(const std::vector<std::string> &library_directories);
    std::mutex loading;
    // set with `loading` held, when what follows is written and constant
    std::atomic<bool> asked{false};
    std::unique_ptr<Backend> backend;
    std::vector<Device> devices;
    std::string reason;

    Row(std::string_view of, decltype(load) how) : name(of), load(how) {}
};

// Never destroyed, because devices live as long as the process. The mutex is held for moments only,
// and a fork takes it. Each row has a mutex for loading, which may take long. A fork takes that of
// the host only. It is locked without the GIL, because a thread may wait for another that loads.
struct Registry {
    std::mutex mutex;
    std::vector<std::string> library_directories;  // guarded by mutex
    std::list<Row> rows;  // the list is guarded by mutex; rows are never removed
    Row *host;

    Registry() {
        rows.emplace_back("sycl", load_sycl);
        rows.emplace_back("cuda", [](const std::vector<std::string> &) { return load_cuda(); });
        rows.emplace_back("hip", [](const std::vector<std::string> &) { return load_hip(); });
        host = &rows.emplace_back("host",
                                  [](const std::vector<std::string> &) { return load_host(); });
    }
};

Registry &all() {
    static constinit FirstUse<Registry> registry;
    return registry.get();
}

void take_locks() noexcept {
    all().host->loading.lock();
    all().mutex.lock();
}

void release_locks() noexcept {
    all().mutex.unlock();
    all().host->loading.unlock();
}

[[maybe_unused]] const bool rows_are_locked =
    fork_guard::lock_over_fork(fork_guard::ForkRow::registry, {take_locks, release_locks});

// True if loading the row loads a vendor's runtime, for which a fork cannot wait.
bool brings_runtime(const Row &row) { return &row != all().host; }

std::vector<Device> root_devices(const Backend &backend) {
    std::uint32_t count = 0;
    backend.call(&ep_backend::device_count, &count);
    std::vector<Device> devices;
    for (std::uint32_t i = 0; i < count; ++i) {
        ep_device device;
        backend.call(&ep_backend::device_at, i, &device);
        devices.push_back(backend.device(device));
    }
    return devices;
}

// Completes a row with a backend and its devices.
void fill(Row &row, const ep_backend *api, std::string reason) {
    auto backend = std::make_unique<Backend>(api);
    if (!backend->is_host()) {
        fork_guard::arm();
        fork_guard::install_exit_handler();
    }
    row.devices = root_devices(*backend);
    if (!backend->is_host())
        fork_guard::install_exit_handler();  // to ask for devices loads more libraries, whose ends
                                             // come before those of the first
    row.reason = std::move(reason);
    row.backend = std::move(backend);  // not before: one that does not list its devices is absent
}

void load(Row &row) {
    try {
        const std::vector<std::string> directories = library_directories();
        const Loaded loaded = row.load(directories);
        row.reason = loaded.reason;
        if (loaded.api)
            fill(row, loaded.api, loaded.reason);
        if (row.name == "sycl" && loaded.api && row.devices.empty())
            row.reason += "; it lists no device: " + explain_no_sycl_device(directories);
    } catch (const std::exception &error) {
        row.reason = error.what();
        row.devices.clear();
    }
}

Row &loaded(Row &row) {
    if (row.asked.load(std::memory_order_acquire))
        return row;
    if (brings_runtime(row)) {
        if (fork_guard::is_child())  // of a parent that was loading it, perhaps: the lock would
                                     // never be free
            fork_guard::refuse_to_load(row.name);
        fork_guard::arm();
    }
    const InterpreterLock::Released released;
    const std::lock_guard locked(row.loading);
    if (!row.asked.load(std::memory_order_relaxed)) {
        load(row);
        row.asked.store(true, std::memory_order_release);
    }
    return row;
}

Row *find_row(std::string_view name) {
    const std::lock_guard locked(all().mutex);
    auto row = std::ranges::find(all().rows, name, &Row::name);
    return row == all().rows.end() ? nullptr : &*row;
}

std::vector<Row *> every_row() {
    const std::lock_guard locked(all().mutex);
    std::vector<Row *> rows;
    for (Row &row : all().rows)
        rows.push_back(&row);
    return rows;
}

// ------------------------------------------------------------- selection

bool uses_word(const Row &row, std::string_view word) {
    return std::ranges::any_of(row.devices,
                               [&](const Device &device) { return device.info().backend == word; });
}

bool some_row_uses_word(std::string_view word) {
    return std::ranges::any_of(every_row(), [&](Row *row) {
        return row->asked.load(std::memory_order_acquire) && uses_word(*row, word);
    });
}

// The backends to ask, in order: for a word those of the table, then those that the program added
// and that use it. Without a word all but the host, which is a device of its own kind and answers
// to its name.
std::vector<Row *> rows_of(const Selector &selector) {
    std::vector<Row *> rows;
    for (std::string_view name : backends_of_word(selector.backend))
        rows.push_back(find_row(name));
    for (Row *row : every_row())
        if (selector.backend.empty() ? row->name != "host"
                                     : !row->load && uses_word(*row, selector.backend))
            rows.push_back(row);
    return rows;
}

bool matches(const Selector &selector, const ep_device_info &info) {
    return (selector.backend.empty() || selector.backend == info.backend) &&
           (!selector.type || *selector.type == info.type);
}

std::vector<Device> matching(const Selector &selector, const std::vector<Row *> &rows) {
    std::vector<Device> found;
    for (Row *row : rows) {
        std::ranges::copy_if(
            loaded(*row).devices, std::back_inserter(found),
            [&](const Device &device) { return matches(selector, device.info()); });
        if (!selector.backend.empty() && !found.empty())
            break;  // cuda:N counts the driver's own devices, not those and SYCL's
    }
    return found;
}

// The highest score, and of those the first. None where all scores are below `least`.
Device best_of(const std::vector<Device> &devices, std::int32_t least) {
    Device best;
    for (const Device &device : devices)
        if (device.info().score >= least && (!best || device.info().score > best.info().score))
            best = device;
    return best;
}

const Device &host_device() { return loaded(*all().host).devices.at(0); }

[[noreturn]] void refuse(std::string_view selector, const std::vector<Row *> &rows) {
    std::ostringstream out;
    out << "no device matches '" << selector << "'; there ";
    const std::vector<Device> devices = registry::devices();
    out << (devices.size() == 1 ? "is " : "are ");
    const char *separator = "";
    for (const Device &device : devices) {
        out << separator << device;
        separator = ", ";
    }
    for (Row *row : rows)
        if (row->devices.empty())
            out << "; " << row->name << ": " << row->reason;
    throw Error(ErrorKind::device, out.str());
}

Device root_of(const Selector &selector, std::string_view text) {
    const std::vector<Row *> rows = rows_of(selector);
    const std::vector<Device> found = matching(selector, rows);
    if (selector.is_default) {
        const Device best = best_of(found, 0);
        return best ? best : host_device();
    }
    if (found.empty() || (selector.number && *selector.number >= found.size()))
        refuse(text, rows);
    return selector.number ? found[*selector.number] : best_of(found, INT32_MIN);
}

// ------------------------------------------------------- the current queue

thread_local std::vector<Queue> current;

const Queue &named_queue() {
    const char *named = std::getenv("ENTREPOT_DEVICE");
    if (!named || !*named)
        return host_device().default_queue();
    try {
        return registry::select(named).default_queue();
    } catch (const Error &error) {
        throw Error(error.kind(), "ENTREPOT_DEVICE: ", error.what());
    }
}

// Read once: what programs change in between is the context, not the variable. No static
// initialization, which a thread that loads a backend would leave unfinished in a forked child: two
// threads find the same queue.
const Queue &initial_queue() {
    static std::atomic<const Queue *> known{nullptr};
    if (const Queue *const queue = known.load(std::memory_order_acquire))
        return *queue;
    const Queue &queue = named_queue();
    known.store(&queue, std::memory_order_release);
    return queue;
}

}  // namespace

std::vector<std::string> library_directories() {
    // First, because it locks the loader. That may run code of a library that asks for devices.
    std::vector<std::string> packages = package_directories();
    const std::lock_guard locked(all().mutex);
    std::vector<std::string> directories = all().library_directories;
    directories.insert(directories.end(), packages.begin(), packages.end());
    return directories;
}

namespace registry {

constinit FirstUse<HostPlace> made_host_place;

void add_library_directory(std::string directory) {
    const std::lock_guard locked(all().mutex);
    all().library_directories.push_back(std::move(directory));
}

std::vector<BackendReport> report() {
    std::vector<BackendReport> rows;
    for (Row *row : every_row())
        rows.push_back({loaded(*row).name, row->backend != nullptr, row->reason});
    return rows;
}

const Backend &backend(std::string_view name) {
    Row *row = find_row(name);
    if (!row)
        throw Error(ErrorKind::device, "there is no backend '", name,
                    "': ", "the names are sycl, cuda, hip and host");
    if (!loaded(*row).backend)
        throw Error(ErrorKind::device, "the ", name, " backend is absent: ", row->reason);
    return *row->backend;
}

std::vector<Device> devices() {
    std::vector<Device> devices;
    for (Row *row : every_row())
        std::ranges::copy(loaded(*row).devices, std::back_inserter(devices));
    return devices;
}

const std::vector<Device> &devices(const Backend &backend) {
    return find_row(backend.name())->devices;
}

Device select(std::string_view text) {
    const Selector selector = parse_selector(text, some_row_uses_word);
    Device device = root_of(selector, text);
    for (const std::uint32_t number : selector.path) {
        const Device sub = device.backend().sub_device(device, number);
        if (!sub)
            throw Error(ErrorKind::device, device, " has handed out no sub-device ", number,
                        " in this process: divide it first (device.sub_devices), they are numbered "
                        "as they are handed out");
        device = sub;
    }
    return device;
}

const Queue &current_queue() { return current.empty() ? initial_queue() : current.back(); }

Device current_device() { return current_queue().device(); }

bool is_in_device_context() noexcept { return !current.empty(); }

const Device &host() { return host_device(); }

Device default_sycl_device() {
    Row &row = loaded(*find_row("sycl"));
    const Device best = best_of(row.devices, 0);
    if (!best)
        throw Error(ErrorKind::device, "there is no SYCL device: ", row.reason);
    return best;
}

const Backend &add(const ep_backend *api) {
    if (api->version != EP_BACKEND_VERSION || api->size != sizeof(ep_backend))
        throw Error(ErrorKind::value, "the backend is of version ", api->version, " and ",
                    api->size, " bytes, this library wants version ", EP_BACKEND_VERSION, " and ",
                    sizeof(ep_backend));
    Row *row = find_row(api->name);
    std::list<Row> added;
    if (!row)
        row = &added.emplace_back(api->name, nullptr);
    const InterpreterLock::Released released;
    const std::lock_guard loading(row->loading);
    if (row->asked.load(std::memory_order_relaxed))
        throw Error(ErrorKind::value, "there is a backend '", api->name, "' already");
    fill(*row, api, "added by the program");
    row->asked.store(true, std::memory_order_release);
    const std::lock_guard locked(all().mutex);
    if (!added.empty() && std::ranges::find(all().rows, row->name, &Row::name) != all().rows.end())
        throw Error(ErrorKind::value, "there is a backend '", api->name,
                    "' already: another thread has added it");
    all().rows.splice(std::prev(all().rows.end()), added);  // the host stays the last
    return *row->backend;
}

void push_current(const Queue &queue) { current.push_back(queue); }

void pop_current(const Queue &queue) {
    if (current.empty() || current.back() != queue)
        throw Error(ErrorKind::value,
                    "with queue: scopes end on the thread that entered them, the innermost first");
    current.pop_back();
}

}  // namespace registry
}  // namespace entrepot
