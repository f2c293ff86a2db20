// Conversion of Python call arguments for a kernel launch, signatures, and transfers of host memory
// to a device and back.
//
// Life of a launch's arguments
//   With the GIL: construct CallArguments, ask for queue(), allocate_copies(). Without it:
//   copy_to_device(), launch, copy_back(). With it again: destroy.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"

#include <entrepot/core/small_vector.hpp>
#include <kernel/frontend/structs.hpp>
#include <kernel/runtime/launch.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace entrepot::python {

// A parameter as declared in a signature.
struct DeclaredParameter {
    kernel::Argument::Kind kind = kernel::Argument::Kind::scalar;
    Dtype dtype{};
    std::uint32_t ndim = 0;
    bool contiguous = false;
};
using Signature = std::vector<DeclaredParameter>;

// Reads a tuple of tuples (kind, dtype, ndim, contiguous); kind is "array", "scalar" or "local".
// Throws: PythonError, ValueError for another kind, TypeError for an unknown dtype.
// GIL: required.
Signature signature_from(PyObject *entries);
std::string text_of(const Signature &signature);
// Placeholder arguments without memory, as for a launch whose arrays share no elements.
std::vector<kernel::Argument> arguments_of(const Signature &signature);
std::vector<kernel::ArgumentType> types_of(const Signature &signature);

// Argument of kernels: local memory whose size is known only at launch.
struct LocalAccessor {
    std::vector<std::int64_t> shape;
    Dtype dtype{};               // unless `type` is set
    kernel::StructTypePtr type;  // of structs or vectors
    Reference spelling;          // of the dtype, if it is NumPy's; owned
};

class CallArguments {
public:
    // Throws: TypeError if the number of arguments differs from the function's parameters, an
    //         object has no memory, or no signature matches. PythonError
    // Lifetime: borrows the objects in `given` and the function.
    // GIL: required.
    CallArguments(std::span<PyObject *const> given, const kernel::syntax::Function &function,
                  std::span<const Signature> signatures);
    ~CallArguments();  // GIL: required.
    CallArguments(const CallArguments &) = delete;
    CallArguments &operator=(const CallArguments &) = delete;

    // Arguments of the kernel. Each number of a struct is one of its own.
    std::span<const kernel::Argument> all() const noexcept { return all_; }
    // Arguments that are structs, by parameter; empty if none is.
    const std::vector<kernel::StructArgument> &structs() const noexcept { return structs_; }
    // Sets the function that messages name.
    //
    // Requires: it has a parameter for each of all().
    // Lifetime: borrows the function.
    void name_by(const kernel::syntax::Function &function) noexcept {
        ENTREPOT_ASSERT(function.parameters.size() == all_.size());
        function_ = &function;
    }
    // all() with `no_alias` set for arrays that share no element with another one.
    std::span<const kernel::Argument> with_aliases() noexcept {
        kernel::find_aliases(all_);
        return all_;
    }
    // True if the caller may access an argument's memory without synchronizing through Entrepot.
    bool is_watched() const noexcept { return watched_ || !copies_.empty(); }

    // Queue to launch on: a queue of the arrays' device, or of the current device if there are no
    // arrays. Contexts are checked here only if host memory must be copied, else by
    // require_one_context().
    // Throws: KernelError if the arrays are on several devices, or checked contexts differ.
    Queue queue() const;
    // Throws: KernelError if the arrays are on several devices or in several contexts.
    void require_one_context() const;
    // Allocates device memory for arrays in host memory that the queue's device cannot read, and
    // substitutes it in the arguments. Arrays that share elements share them on the device, too.
    void allocate_copies(const Queue &queue);
    // Copies the elements to that device memory.
    //
    // Requires: allocate_copies(queue) has been called.
    // Throws: KernelError for a written array that has several elements at one address.
    // Blocks: for all work in the queue if other code may write the host memory, since the copy has
    //         to follow that work.
    // GIL: released by the caller.
    void copy_to_device(const kernel::Compiled &compiled, const Queue &queue) const;
    // Copies arrays that the kernel has written back to the host.
    //
    // Requires: the kernel has been submitted to the queue.
    // GIL: released by the caller.
    void copy_back(const kernel::Compiled &compiled, const Queue &queue) const;

private:
    void add_array(const Array &array);
    void add(PyObject *object, const DeclaredParameter *declared);
    void add_imported(PyObject *object, const DeclaredParameter *declared);
    bool add_split(PyObject *object, const DeclaredParameter *declared);
    void add_fields(const Array &whole, kernel::StructTypePtr type);
    void add_local(const LocalAccessor &local);
    void add_numbers_of(PyObject *numbers, kernel::StructTypePtr type);
    void add_declared(PyObject *object, Dtype dtype);
    void add_number(PyObject *object, Dtype dtype);
    void refuse_local_memory(PyObject *object) const;
    void refuse_sequence(PyObject *object, std::size_t position) const;
    Array imported(PyObject *object, std::size_t position) const;
    std::string argument_name(std::size_t position) const;  // name of an argument for messages
    [[noreturn]] void refuse(PyObject *object, const DeclaredParameter &declared) const;
    const Signature *matching_signature(std::span<PyObject *const> given,
                                        std::span<const Signature> signatures) const;

    // An argument in host memory, and its copy on the device.
    struct Copy {
        std::size_t position;  // of the argument
        const Array *host;     // borrowed from the argument
        std::unique_ptr<Array> on_device;
    };
    // One transfer to the device: an array, or the bytes of several arrays that overlap.
    struct Transfer {
        Array host, on_device;
    };
    std::vector<Copy *> overlapping(Copy &first);
    void allocate_one(std::span<Copy *const> copies, const Queue &queue);
    void allocate_overlapping(std::span<Copy *const> copies, const Queue &queue);

    const kernel::syntax::Function *function_;
    std::size_t parameter_ = 0;  // place of the argument that is being added
    std::vector<kernel::StructArgument> structs_;
    std::vector<std::unique_ptr<Array>> fields_;  // `all_` points to the arrays
    SmallVector<kernel::Argument, 10> all_;
    const kernel::Argument *first_on_device_ = nullptr;
    bool has_host_memory_ = false;  // that a device may not be able to access
    bool has_other_devices_ = false;
    SmallVector<Array, 8> imported_;  // addresses are stable, because `all_` points to them
    std::vector<Copy> copies_;
    std::vector<Transfer> transfers_;
    bool watched_ = false, has_floats_ = false;
};

}  // namespace entrepot::python
