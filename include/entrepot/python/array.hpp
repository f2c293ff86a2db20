// The class entrepot::Array for extensions: memory of any library, in C++, on top of the function
// table of c_api.h. Header-only.
//
//     entrepot::Array x(object, entrepot::writable | entrepot::on_host);
//     x.for_each<float>([](float &value) { value *= 2; });
//
// Construction from an object needs the GIL; copies and destruction do not.
#pragma once
#include <entrepot/python/c_api.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace entrepot {
inline namespace extension {  // distinct from the core's Array in the same program

// A Python exception is set: return to the interpreter with it. The casters for nanobind and
// pybind11 do so in their own way.
struct python_error : std::exception {
    const char *what() const noexcept override { return "a Python exception is set"; }
};

// Requirements of an importer, combined by |.
enum requirement : std::uint32_t {
    anything = 0,
    writable = ENTREPOT_WRITABLE,
    on_host = ENTREPOT_HOST,
    c_contiguous = ENTREPOT_C_CONTIGUOUS,
};
constexpr requirement operator|(requirement a, requirement b) noexcept {
    return static_cast<requirement>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

// The table, looked up once per extension. Throws python_error (an ImportError is set).
inline const entrepot_c_api &api() {
    // Racing threads store the same value.
    static std::atomic<const entrepot_c_api *> found{nullptr};
    const entrepot_c_api *table = found.load(std::memory_order_acquire);
    if (table)
        return *table;
    table = entrepot_import();
    if (!table)
        throw python_error();
    found.store(table, std::memory_order_release);
    return *table;
}

template <class T> struct element;  // DLPack's code for the C++ types that have one
template <> struct element<bool> {
    static constexpr std::uint8_t code = 6;
};
template <> struct element<std::int8_t> {
    static constexpr std::uint8_t code = 0;
};
template <> struct element<std::int16_t> {
    static constexpr std::uint8_t code = 0;
};
template <> struct element<std::int32_t> {
    static constexpr std::uint8_t code = 0;
};
template <> struct element<std::int64_t> {
    static constexpr std::uint8_t code = 0;
};
template <> struct element<std::uint8_t> {
    static constexpr std::uint8_t code = 1;
};
template <> struct element<std::uint16_t> {
    static constexpr std::uint8_t code = 1;
};
template <> struct element<std::uint32_t> {
    static constexpr std::uint8_t code = 1;
};
template <> struct element<std::uint64_t> {
    static constexpr std::uint8_t code = 1;
};
template <> struct element<float> {
    static constexpr std::uint8_t code = 2;
};
template <> struct element<double> {
    static constexpr std::uint8_t code = 2;
};

class Array {
public:
    Array() noexcept = default;

    // Views the object's memory and never copies it. Throws python_error if the object has none, or
    // does not meet the requirements.
    explicit Array(PyObject *object, requirement needs = anything)
        : handle_(api().from_object(object, needs)) {
        if (!handle_)
            throw python_error();
        view_ = api().view(handle_);
    }

    Array(const Array &other) noexcept : handle_(other.handle_), view_(other.view_) {
        if (handle_)
            api().retain(handle_);
    }
    Array(Array &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)),
          view_(std::exchange(other.view_, nullptr)) {}
    Array &operator=(Array other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(view_, other.view_);
        return *this;
    }
    ~Array() {
        if (handle_)
            api().release(handle_);
    }

    // New memory, C-contiguous; `device` is a selector, nullptr the current device. Throws
    // python_error.
    template <class T>
    static Array empty(std::span<const std::int64_t> shape, const char *device = nullptr,
                       int kind = ENTREPOT_KIND_HOST) {
        return take(api().empty(static_cast<std::int32_t>(shape.size()), shape.data(),
                                element<T>::code, 8 * sizeof(T), device, kind));
    }

    // Views existing memory; memory of `const T` is read-only. Strides are in elements, none:
    // C-contiguous. The drivers are asked for the device, unless its selector is given.
    //
    // Ownership: `deleter(user)` is called once, after the last array is released and work on the
    //            memory is done, on any thread and without the GIL. With a null deleter, the memory
    //            must outlive the array.
    // Throws: python_error; then the deleter is not called.
    template <class T>
    static Array from_address(T *data, std::span<const std::int64_t> shape,
                              void (*deleter)(void *user) = nullptr, void *user = nullptr,
                              const char *device = nullptr,
                              std::span<const std::int64_t> strides = {}) {
        using Element = std::remove_const_t<T>;
        if (!strides.empty() && strides.size() != shape.size())
            throw std::invalid_argument("an array needs as many strides as it has dimensions");
        entrepot_view memory{};
        memory.data = const_cast<Element *>(data);
        memory.shape = shape.data();
        memory.strides = strides.empty() ? nullptr : strides.data();
        memory.ndim = static_cast<std::int32_t>(shape.size());
        memory.dtype_code = element<Element>::code;
        memory.dtype_bits = 8 * sizeof(T);
        memory.dtype_lanes = 1;
        memory.read_only = std::is_const_v<T>;
        memory.device = device;
        return take(api().from_address(&memory, deleter, user));
    }

    void *data() const noexcept { return view_->data; }
    std::size_t ndim() const noexcept { return static_cast<std::size_t>(view_->ndim); }
    std::int64_t size() const noexcept { return view_->size; }
    std::span<const std::int64_t> shape() const noexcept { return {view_->shape, ndim()}; }
    // elements
    std::span<const std::int64_t> strides() const noexcept { return {view_->strides, ndim()}; }
    bool read_only() const noexcept { return view_->read_only != 0; }
    bool host_accessible() const noexcept {
        return view_->kind == ENTREPOT_KIND_HOST || view_->kind == ENTREPOT_KIND_SHARED;
    }
    const char *device() const noexcept { return view_->device; }
    const entrepot_view &view() const noexcept { return *view_; }

    template <class T> bool is() const noexcept {
        return view_->dtype_code == element<T>::code && view_->dtype_bits == 8 * sizeof(T) &&
               view_->dtype_lanes == 1;
    }

    // Calls `visit(element)` for every element of a host-accessible array, in C order, with any
    // strides. Throws std::invalid_argument if the elements are not T.
    template <class T, class Visit> void for_each(Visit visit) const {
        if (!is<T>())
            throw std::invalid_argument("the array's elements have another type");
        walk<T>(static_cast<T *>(data()), 0, visit);
    }

    // Returns: a new reference to an entrepot.Array, or to None if this is empty; nullptr with an
    //          exception set.
    PyObject *object() const { return handle_ ? api().to_object(handle_) : Py_NewRef(Py_None); }

    // Device work: submit to `native_queue()` between before_use() and after_use(). Throws
    // python_error.
    void *native_queue() const { return api().native_queue(handle_); }
    void before_use(bool writes) const { check(api().before_use(handle_, writes)); }
    void after_use(bool writes) const { check(api().after_use(handle_, writes)); }
    void wait_for_host(bool writes) const { check(api().wait_for_host(handle_, writes)); }

    explicit operator bool() const noexcept { return handle_ != nullptr; }

private:
    static Array take(entrepot_array *handle) {
        if (!handle)
            throw python_error();
        Array array;
        array.handle_ = handle;
        array.view_ = api().view(handle);
        return array;
    }

    static void check(int status) {
        if (status != 0)
            throw python_error();
    }

    template <class T, class Visit> void walk(T *item, std::size_t axis, Visit &visit) const {
        if (axis == ndim()) {
            visit(*item);
            return;
        }
        for (std::int64_t i = 0; i < view_->shape[axis]; ++i)
            walk(item + i * view_->strides[axis], axis + 1, visit);
    }

    entrepot_array *handle_ = nullptr;
    const entrepot_view *view_ = nullptr;
};

}  // namespace extension
}  // namespace entrepot
