// The function table that other extensions get in a capsule: include/entrepot/python/c_api.h.
#include <entrepot/python/c_api.h>

#include "adapters/adapters.hpp"
#include "array_object/array_object.hpp"
#include "exchange/routes.hpp"
#include "exchange/stream_libraries.hpp"
#include "init.hpp"
#include "memory/allocate.hpp"
#include "memory/deleter.hpp"
#include "memory/owner.hpp"
#include "support/errors.hpp"
#include "support/guarded.hpp"

#include <entrepot/core/counted.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/operation.hpp>
#include <exchange/address.hpp>

#include <atomic>
#include <memory>
#include <mutex>

using entrepot::Array, entrepot::Owner, entrepot::Queue;

// The handle: an array, and its description as plain C.
struct entrepot_array : entrepot::Counted<entrepot_array> {
    explicit entrepot_array(Array given) : array(std::move(given)) {
        view.data = array.data();
        view.shape = array.shape().data();
        view.strides = array.strides().data();
        view.size = array.size();
        view.ndim = static_cast<std::int32_t>(array.ndim());
        view.dtype_code = static_cast<std::uint8_t>(array.dtype().code);
        view.dtype_bits = array.dtype().bits;
        view.dtype_lanes = array.dtype().lanes;
        view.itemsize = static_cast<std::int32_t>(array.itemsize());
        view.kind = static_cast<std::int32_t>(array.kind());
        view.read_only = array.read_only();
        view.device = array.device().selector().c_str();
    }

    // The queue is chosen once for the life of the handle, although Array::queue may change. So
    // before_use and after_use order the work that was submitted to the result of native_queue.
    const Queue &queue() {
        if (!is_chosen_.load(std::memory_order_acquire)) {
            // outside call_once, because creating a queue releases the GIL
            Queue asked = array.queue();
            Owner owner = owner_of_stream(asked);
            std::call_once(choosing_, [&] {
                stream_owner_ = std::move(owner);
                queue_ = std::move(asked);
                is_chosen_.store(true, std::memory_order_release);
            });
        }
        return queue_;
    }

    const Array array;
    entrepot_view view;

private:
    // Empty if the driver or `array` keeps the stream of the queue alive, or if that is unknown.
    Owner owner_of_stream(const Queue &queue) const {
        if (!queue.may_be_destroyed() || array.memory().has_destroyable_owner_stream())
            return {};
        const auto object = entrepot::python::current_stream_object_of_cupy(queue);
        return object ? entrepot::python::keep(object.get()) : Owner();
    }

    std::atomic<bool> is_chosen_{false};
    std::once_flag choosing_;
    Owner stream_owner_;  // released after the queue
    Queue queue_;
};

namespace entrepot::python {
namespace {

static_assert(ENTREPOT_KIND_HOST == static_cast<int>(UsmKind::host) &&
              ENTREPOT_KIND_DEVICE == static_cast<int>(UsmKind::device) &&
              ENTREPOT_KIND_SHARED == static_cast<int>(UsmKind::shared));

// ABI of compiled extensions: a new version must not move the members of an earlier one.
constexpr std::size_t slot(std::size_t number) { return number * sizeof(void (*)()); }
static_assert(ENTREPOT_DTYPE_INT == static_cast<int>(TypeCode::integer) &&
              ENTREPOT_DTYPE_UINT == static_cast<int>(TypeCode::unsigned_integer) &&
              ENTREPOT_DTYPE_FLOAT == static_cast<int>(TypeCode::floating) &&
              ENTREPOT_DTYPE_BFLOAT == static_cast<int>(TypeCode::bfloat) &&
              ENTREPOT_DTYPE_COMPLEX == static_cast<int>(TypeCode::complex) &&
              ENTREPOT_DTYPE_BOOL == static_cast<int>(TypeCode::boolean) &&
              ENTREPOT_DTYPE_FLOAT8_E8M0FNU == static_cast<int>(TypeCode::float8_e8m0fnu) &&
              ENTREPOT_DTYPE_FLOAT4_E2M1FN == static_cast<int>(TypeCode::float4_e2m1fn));
static_assert(offsetof(entrepot_c_api, version) == 0 &&
                  offsetof(entrepot_c_api, from_object) == slot(1) &&
                  offsetof(entrepot_c_api, to_object) == slot(2) &&
                  offsetof(entrepot_c_api, retain) == slot(3) &&
                  offsetof(entrepot_c_api, release) == slot(4) &&
                  offsetof(entrepot_c_api, view) == slot(5) &&
                  offsetof(entrepot_c_api, empty) == slot(6) &&
                  offsetof(entrepot_c_api, native_queue) == slot(7) &&
                  offsetof(entrepot_c_api, before_use) == slot(8) &&
                  offsetof(entrepot_c_api, after_use) == slot(9) &&
                  offsetof(entrepot_c_api, wait_for_host) == slot(10),
              "version 1");
static_assert(offsetof(entrepot_c_api, argument) == slot(11), "version 2");
static_assert(offsetof(entrepot_c_api, from_address) == slot(12), "version 3");
static_assert(offsetof(entrepot_view, data) == 0 && offsetof(entrepot_view, shape) == 8 &&
                  offsetof(entrepot_view, strides) == 16 && offsetof(entrepot_view, size) == 24 &&
                  offsetof(entrepot_view, ndim) == 32 &&
                  offsetof(entrepot_view, dtype_code) == 36 &&
                  offsetof(entrepot_view, dtype_bits) == 37 &&
                  offsetof(entrepot_view, dtype_lanes) == 38 &&
                  offsetof(entrepot_view, itemsize) == 40 && offsetof(entrepot_view, kind) == 44 &&
                  offsetof(entrepot_view, read_only) == 48 && offsetof(entrepot_view, device) == 56,
              "version 1");

Access access_of(int writes) { return writes ? Access::write : Access::read; }

void require(const Array &array, std::uint32_t requirements) {
    if (requirements & ENTREPOT_WRITABLE && array.read_only())
        throw Error(ErrorKind::value, "the array is read-only, and the extension writes to it");
    if (requirements & ENTREPOT_C_CONTIGUOUS && !array.layout().is_c_contiguous())
        throw Error(ErrorKind::value,
                    "the extension needs C-contiguous elements, and the array has ",
                    array.layout());
    if (requirements & ENTREPOT_HOST && !array.is_host_accessible())
        throw Error(ErrorKind::exchange, "the extension works on the host, which cannot reach ",
                    array.kind(), " memory of ", array.device(), "; copy it with copy_to_host()");
}

entrepot_array *from_object(PyObject *object, std::uint32_t requirements) {
    return guarded([&] {
        Array array = is_array(object) ? array_of(object) : import_array(object, {});
        require(array, requirements);
        const Access access = access_of(requirements & ENTREPOT_WRITABLE);
        if (requirements & ENTREPOT_HOST && !array.memory().is_ready_for_host(access))
            array.memory().wait_for_host(access);
        array.memory().mark_escaped();
        return new entrepot_array(std::move(array));
    });
}

PyObject *to_object(entrepot_array *handle) {
    return guarded([&] { return wrap(Array(handle->array)); });
}

void retain(entrepot_array *handle) { handle->retain(); }
void release(entrepot_array *handle) { handle->release(); }

const entrepot_view *view(entrepot_array *handle) { return &handle->view; }

entrepot_array *empty(std::int32_t ndim, const std::int64_t *shape, std::uint8_t code,
                      std::uint8_t bits, const char *selector, std::int32_t kind) {
    return guarded([&] {
        if (ndim < 0)
            throw Error(ErrorKind::value, "empty: ", ndim, " dimensions");
        const Dtype dtype{static_cast<TypeCode>(code), bits};
        if (!find_dtype(dtype))
            throw Error(ErrorKind::value, "empty: there is no dtype ", dtype);
        if (kind < ENTREPOT_KIND_HOST || kind > ENTREPOT_KIND_SHARED)
            throw Error(ErrorKind::value, "empty: ", kind, " is no USM kind");
        const Queue queue =
            selector ? registry::select(selector).default_queue() : registry::current_queue();
        const Extents extents{shape, static_cast<std::size_t>(ndim)};
        return new entrepot_array(
            Array::empty(extents, dtype, static_cast<UsmKind>(kind), queue, 0, allocate));
    });
}

void *native_queue(entrepot_array *handle) {
    return guarded([&] {
        return handle->array.device().backend().is_host() ? nullptr : handle->queue().native();
    });
}

int before_use(entrepot_array *handle, int writes) {
    return guarded([&] {
        Operation(handle->queue()).wait_for_conflicts(access_of(writes), handle->array.memory());
    });
}

int after_use(entrepot_array *handle, int writes) {
    return guarded([&] {
        const Queue &queue = handle->queue();
        const Memory &memory = handle->array.memory();
        Operation operation(queue);
        operation.resume(memory);
        operation.submitted(queue.take_position(), queue.capture_of_work(),
                            [&](auto &&record) { record(access_of(writes), memory); });
    });
}

int wait_for_host(entrepot_array *handle, int writes) {
    return guarded([&] { handle->array.memory().wait_for_host(access_of(writes)); });
}

int argument_of_type(PyObject *object, const char *type_name, int writes, const char *function,
                     const char *name, void **address, PyObject **held) {
    return guarded([&] {
        PyTypeObject *const type = adapter_type(type_name);
        if (!type)
            throw Error(ErrorKind::value, "there is no adapter type ", type_name);
        Argument result = argument(object, type, writes ? Use::write : Use::read, function, name);
        *address = result.address;
        *held = result.held.release();
    });
}

Dtype dtype_of(const entrepot_view &memory) {
    Dtype dtype{static_cast<TypeCode>(memory.dtype_code), memory.dtype_bits};
    const bool is_known = find_dtype(dtype) && memory.dtype_lanes != 0;
    dtype.lanes = memory.dtype_lanes;
    if (!is_known || (dtype.lanes != 1 && dtype.bits * dtype.lanes % 8 != 0))
        throw Error(ErrorKind::value, "from_address: there is no dtype ", dtype);
    return dtype;
}

Layout layout_of(const entrepot_view &memory) {
    if (memory.ndim < 0 || (memory.ndim > 0 && !memory.shape))
        throw Error(ErrorKind::value, "from_address: ", memory.ndim, " dimensions",
                    memory.ndim < 0 ? "" : " and no shape");
    const auto ndim = static_cast<std::size_t>(memory.ndim);
    return memory.strides ? Layout({memory.shape, ndim}, {memory.strides, ndim})
                          : Layout({memory.shape, ndim});
}

entrepot_array *from_address(const entrepot_view *memory, void (*deleter)(void *user), void *user) {
    return guarded([&] {
        address::Descriptor what{.data = memory->data,
                                 .dtype = dtype_of(*memory),
                                 .layout = layout_of(*memory),
                                 .read_only = memory->read_only != 0,
                                 .device =
                                     memory->device ? registry::select(memory->device) : Device(),
                                 .queue = {}};
        Deleter last = deleter ? Deleter::of_function(deleter, user) : Deleter();
        auto *const array =
            new entrepot_array(address::verify(std::move(what), std::move(last.owner)));
        last.arm();
        return array;
    });
}

constexpr entrepot_c_api table{ENTREPOT_C_API_VERSION,
                               from_object,
                               to_object,
                               retain,
                               release,
                               view,
                               empty,
                               native_queue,
                               before_use,
                               after_use,
                               wait_for_host,
                               argument_of_type,
                               from_address};

}  // namespace

void init_c_api(nanobind::module_ &m) {
    m.attr("c_api") = nanobind::capsule(&table, ENTREPOT_C_API_CAPSULE);
}

}  // namespace entrepot::python
