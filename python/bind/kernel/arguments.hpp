// Arguments: what a kernel is called with, as its launch takes it; signatures; and the host's memory brought to a device and
// back.
#pragma once
#include <Python.h>

#include <entrepot/core/small_vector.hpp>
#include <entrepot/kernel/runtime/launch.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace entrepot::python {

// What a signature says of a parameter.
struct DeclaredParameter {
    kernel::Argument::Kind kind = kernel::Argument::Kind::scalar;
    Dtype dtype{};
    std::uint32_t ndim = 0;
    bool contiguous = false;
};
using Signature = std::vector<DeclaredParameter>;

// Of a tuple of tuples (kind, dtype, ndim, contiguous), kind being "array", "scalar" or "local".
Signature signature_from(PyObject *entries);
std::string text_of(const Signature &signature);
// As a launch would have them: arrays that share no element, and are not there.
std::vector<kernel::Argument> arguments_of(const Signature &signature);
std::vector<kernel::ArgumentType> types_of(const Signature &signature);

// Local memory of a size that is known at launch; an argument of kernels.
struct LocalAccessor {
    std::vector<std::int64_t> shape;
    Dtype dtype{};
};

class CallArguments {
public:
    // Throws TypeError for another number of arguments than the function has parameters, for objects that hold no memory, and
    // where no signature fits.
    CallArguments(std::span<PyObject *const> given, const kernel::syntax::Function &function,
                  std::span<const Signature> signatures);
    ~CallArguments();  // with the GIL
    CallArguments(const CallArguments &) = delete;
    CallArguments &operator=(const CallArguments &) = delete;

    std::span<const kernel::Argument> all() const noexcept { return all_; }
    // The same, each with what it says of the others: whether it is apart from them.
    std::span<const kernel::Argument> with_overlaps() noexcept {
        kernel::find_overlaps(all_);
        return all_;
    }
    // Whether the caller may look at memory of an argument without asking us whether it is done.
    bool is_watched() const noexcept { return watched_ || !copies_.empty(); }

    // Where it runs: on the device of the arrays, and if there is none, on the current one. Throws KernelError where they are on
    // several, or, before host memory is copied there, in several contexts; other contexts are left to require_one_place.
    Queue queue() const;
    // Throws KernelError where the arrays are on several devices, or in several contexts.
    void require_one_place() const;
    // Gives arrays in host memory that the queue's device cannot read a place on the device, and
    // puts that place in their stead. Arrays that share elements share them there, too.
    void place_on(const Queue &queue);
    // Copies the elements to those places.
    //
    // Throws: KernelError for a written array that has several elements in one place.
    // Blocks: for all work in the queue if the host memory may be written without telling us, since
    //         the copy has to be made after that work.
    void bring_to(const kernel::Compiled &compiled, const Queue &queue) const;
    // Copies the arrays that the kernel has written back to the host.
    void bring_back(const kernel::Compiled &compiled, const Queue &queue) const;

private:
    void add_array(const Array &array);
    void add(PyObject *object, const DeclaredParameter *declared);
    void add_imported(PyObject *object, const DeclaredParameter *declared);
    void add_declared(PyObject *object, Dtype dtype);
    void add_number(PyObject *object, Dtype dtype);
    void refuse_local_memory(PyObject *object) const;
    void refuse_sequence(PyObject *object, std::size_t position) const;
    Array imported(PyObject *object, std::size_t position) const;
    std::string named(std::size_t position) const;  // as messages name an argument
    [[noreturn]] void refuse(PyObject *object, const DeclaredParameter &declared) const;
    const Signature *chosen(std::span<PyObject *const> given, std::span<const Signature> signatures) const;

    // An argument in host memory, and its place on the device.
    struct Copy {
        std::size_t position;
        const Array *host;
        std::unique_ptr<Array> there;
    };
    // What is copied to the device in one piece: an array, or all bytes of several that overlap.
    struct Transfer {
        Array host, there;
    };
    std::vector<Copy *> overlapping(Copy &first);
    void place_alone(std::span<Copy *const> copies, const Queue &queue);
    void place_together(std::span<Copy *const> copies, const Queue &queue);

    const kernel::syntax::Function &function_;
    SmallVector<kernel::Argument, 10> all_;
    const kernel::Argument *first_on_device_ = nullptr;
    bool has_host_memory_ = false;  // which a device may not reach
    bool has_other_devices_ = false;
    SmallVector<Array, 8> imported_;  // each stays where it is: `all_` refers to it
    std::vector<Copy> copies_;
    std::vector<Transfer> transfers_;
    bool watched_ = false, has_floats_ = false;
};

}  // namespace entrepot::python
