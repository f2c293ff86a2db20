// The class entrepot::Array for extensions: memory of any library, in C++, on top of the function
// table of c_api.h. Header-only.
//
//     entrepot::Array x(object, entrepot::writable | entrepot::on_host);
//     x.for_each<float>([](float &value) { value *= 2; });
//     entrepot::visit<float, double>(x, [&]<class T>(std::type_identity<T>) { f(x.span<T>()); });
//
// Construction from an object needs the GIL; copies and destruction do not.
#pragma once
#ifdef ENTREPOT_ARRAY_OF_THE_LIBRARY
#error "entrepot::Array is defined already: include array/array.hpp or python/array.hpp"
#endif
#define ENTREPOT_ARRAY_OF_EXTENSIONS

#include <entrepot/python/c_api.h>
#include <entrepot/python/element.hpp>
#include <entrepot/python/view.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(hidden)
namespace entrepot {
// Distinct from the core's Array in the same program. Hidden, because other extensions may have
// been compiled with other headers.
inline namespace extension {

// A Python exception is set: return to the interpreter with it.
struct python_error : std::exception {
    const char *what() const noexcept override {
        return "a Python exception is set: with nanobind, call entrepot::register_errors() in "
               "NB_MODULE; elsewhere, catch entrepot::python_error and return nullptr";
    }
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

// The table, looked up once per extension.
// Throws: python_error (an ImportError is set).
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

class Array {
public:
    Array() noexcept = default;

    // Views the object's memory and never copies it.
    // Throws: python_error if the object has none, or does not meet the requirements.
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

    // New memory, C-contiguous; `device` is a selector, nullptr the current device.
    // Throws: python_error.
    template <class T>
    static Array empty(std::span<const std::int64_t> shape, const char *device = nullptr,
                       int kind = ENTREPOT_KIND_HOST) {
        constexpr Dtype dtype = dtype_of<T>;
        static_assert(dtype.lanes == 1, "new memory has elements of one lane");
        return take(api().empty(static_cast<std::int32_t>(shape.size()), shape.data(),
                                static_cast<std::uint8_t>(dtype.code), dtype.bits, device, kind));
    }

    // Views existing memory from `data`, the lowest address. Memory of `const T` is read-only.
    // `strides` are in elements and not negative; empty means C-contiguous. The drivers are asked
    // for the device, unless its selector is given.
    //
    // Ownership: `deleter(user)` is called once, after the last array is released and work on the
    //            memory is done, on any thread and without the GIL. With a null deleter, the memory
    //            must outlive the array.
    // Throws: python_error, or std::invalid_argument if the numbers of strides and extents differ;
    //         then the deleter is not called.
    template <class T>
    static Array from_address(T *data, std::span<const std::int64_t> shape,
                              void (*deleter)(void *user) = nullptr, void *user = nullptr,
                              const char *device = nullptr,
                              std::span<const std::int64_t> strides = {}) {
        constexpr Dtype dtype = dtype_of<T>;
        static_assert(dtype.lanes == 1, "memory is described by elements of one lane");
        if (!strides.empty() && strides.size() != shape.size())
            throw std::invalid_argument("an array needs as many strides as it has dimensions");
        entrepot_view memory{};
        memory.data = const_cast<std::remove_const_t<T> *>(data);
        memory.shape = shape.data();
        memory.strides = strides.empty() ? nullptr : strides.data();
        memory.ndim = static_cast<std::int32_t>(shape.size());
        memory.dtype_code = static_cast<std::uint8_t>(dtype.code);
        memory.dtype_bits = dtype.bits;
        memory.dtype_lanes = 1;
        memory.read_only = std::is_const_v<T>;
        memory.device = device;
        return take(api().from_address(&memory, deleter, user));
    }

    // False for an empty array, which is default-constructed or moved from. The functions below,
    // except for object(), require a true one.
    explicit operator bool() const noexcept { return handle_ != nullptr; }

    const entrepot_view &description() const noexcept {
        ENTREPOT_ASSERT(view_);
        return *view_;
    }
    void *data() const noexcept { return description().data; }
    std::size_t ndim() const noexcept { return static_cast<std::size_t>(description().ndim); }
    std::int64_t size() const noexcept { return description().size; }
    std::span<const std::int64_t> shape() const noexcept { return {description().shape, ndim()}; }
    std::span<const std::int64_t> strides() const noexcept {  // in elements
        return {description().strides, ndim()};
    }
    bool read_only() const noexcept { return description().read_only != 0; }
    bool host_accessible() const noexcept {
        return description().kind == ENTREPOT_KIND_HOST ||
               description().kind == ENTREPOT_KIND_SHARED;
    }
    const char *device() const noexcept { return description().device; }
    Dtype dtype() const noexcept {
        const entrepot_view &view = description();
        return {static_cast<TypeCode>(view.dtype_code), view.dtype_bits, view.dtype_lanes};
    }
    template <class T> bool is() const noexcept { return dtype() == dtype_of<T>; }
    bool is_c_contiguous() const noexcept {
        if (size() == 0)
            return true;
        std::int64_t expected = 1;
        for (std::size_t axis = ndim(); axis-- > 0;) {
            if (shape()[axis] != 1 && strides()[axis] != expected)
                return false;
            expected *= shape()[axis];
        }
        return true;
    }

    // Elements on the host, as T; as `const T` also those of read-only arrays. None of these
    // functions waits for pending work: require `on_host`, or call wait_for_host() before.
    //
    // Throws: std::invalid_argument if the elements are not T, the array is read-only and T is not
    //         const, or the host cannot access the memory.

    // By N indices, with any strides. With `layout` c_contiguous, compilers vectorize loops over
    // the last index.
    //
    // Throws: as above, and std::invalid_argument if the rank is not N, or the layout is not
    //         `layout`.
    // Lifetime: the array outlives the view.
    template <class T, std::size_t N, requirement layout = anything>
    View<T, N, layout == c_contiguous> view() const && = delete;
    template <class T, std::size_t N, requirement layout = anything>
    View<T, N, layout == c_contiguous> view() const & {
        static_assert(layout == anything || layout == c_contiguous,
                      "a view's layout is anything or c_contiguous");
        check_elements<T>();
        if (ndim() != N)
            throw std::invalid_argument("an array of " + std::to_string(N) +
                                        " dimensions was expected, not of " +
                                        std::to_string(ndim()));
        if constexpr (layout == c_contiguous)
            check_contiguous();
        return {static_cast<T *>(data()), shape().data(), strides().data()};
    }
    // All elements of a C-contiguous array, of any number of dimensions.
    //
    // Throws: as above, and std::invalid_argument if the array is not C-contiguous.
    // Lifetime: the array outlives the span.
    template <class T> std::span<T> span() const && = delete;
    template <class T> std::span<T> span() const & {
        check_elements<T>();
        check_contiguous();
        return {static_cast<T *>(data()), static_cast<std::size_t>(size())};
    }
    // Calls `visit(element)` with each element, in C order, with any strides.
    template <class T, class Visit> void for_each(Visit &&visit) const {
        check_elements<T>();
        detail::FoldedAxes(shape(), strides()).for_each(static_cast<T *>(data()), visit);
    }

    // Returns: a new reference to an entrepot.Array, or to None if this is empty; nullptr with an
    //          exception set.
    PyObject *object() const { return handle_ ? api().to_object(handle_) : Py_NewRef(Py_None); }

    // Device work: submit to `native_queue()` between before_use() and after_use().
    // Requires: the array is not empty.
    // Returns (native_queue): nullptr on the host.
    // Throws: python_error.
    void *native_queue() const {
        ENTREPOT_ASSERT(handle_);
        void *const queue = api().native_queue(handle_);
        if (!queue && PyErr_Occurred())
            throw python_error();
        return queue;
    }
    void before_use(bool writes) const { check(api().before_use(handle_, writes)); }
    void after_use(bool writes) const { check(api().after_use(handle_, writes)); }
    void wait_for_host(bool writes) const { check(api().wait_for_host(handle_, writes)); }

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

    template <class T> void check_elements() const {
        if (!is<T>())
            throw std::invalid_argument("an array of " + detail::text_of(dtype_of<T>) +
                                        " was expected, not of " + detail::text_of(dtype()));
        if (!host_accessible())
            throw std::invalid_argument(std::string("the host cannot access memory on ") +
                                        device() + ": copy the array to the host first");
        if constexpr (!std::is_const_v<T>)
            if (read_only())
                throw std::invalid_argument("the array is read-only: ask for const elements");
    }
    void check_contiguous() const {
        if (!is_c_contiguous())
            throw std::invalid_argument("a C-contiguous array was expected: copy it first");
    }

    entrepot_array *handle_ = nullptr;
    const entrepot_view *view_ = nullptr;
};

// An Array that meets requirements, as a parameter of functions bound with nanobind.
template <requirement needs> class ArrayWith : public Array {
public:
    ArrayWith() noexcept = default;
    // Throws: python_error
    explicit ArrayWith(PyObject *object) : Array(object, needs) {}
};

namespace detail {

// `expected()` is the text of all types, for the message.
template <class T, class... Others, class Visit, class Expected>
decltype(auto) visit_one_of(const Array &array, Visit &visit, const Expected &expected) {
    if (array.is<T>())
        return visit(std::type_identity<T>());
    if constexpr (sizeof...(Others) != 0)
        return visit_one_of<Others...>(array, visit, expected);
    else
        throw std::invalid_argument("an array of " + expected() + " was expected, not of " +
                                    text_of(array.dtype()));
}

}  // namespace detail

// Calls `visit(std::type_identity<T>())` for the T among Types that the array's elements have.
//
// Returns: what `visit` returns, which must be of one type for all T.
// Throws: std::invalid_argument if the elements have none of the Types.
template <class... Types, class Visit>
    requires(sizeof...(Types) != 0)
decltype(auto) visit(const Array &array, Visit &&visit) {
    return detail::visit_one_of<Types...>(array, visit, [] {
        std::string names;
        ((names += (names.empty() ? "" : ", ") + detail::text_of(dtype_of<Types>)), ...);
        return names;
    });
}
// Does so for bool, integers, floats and complex numbers.
template <class Visit> decltype(auto) visit(const Array &array, Visit &&visitor) {
    return visit<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                 std::uint16_t, std::uint32_t, std::uint64_t, float16_t, bfloat16_t, float, double,
                 std::complex<float>, std::complex<double>>(array, visitor);
}

}  // namespace extension
}  // namespace entrepot

#pragma GCC visibility pop
