// The `syclobj` of SUAI: one function for each of its forms.
#include "syclobj.hpp"

#include <entrepot/exchange/suai.hpp>

#include "../convert.hpp"
#include "foreign_error.hpp"
#include "protocol.hpp"

#include <utility>

namespace entrepot::python {
namespace {

struct CapsuleNames {
    const char *fresh;
    const char *used;
};
constexpr CapsuleNames queue_names{"SyclQueueRef", "used_SyclQueueRef"}, context_names{"SyclContextRef", "used_SyclContextRef"};

SyclObject of_queue(Queue queue) {
    Context context = queue.context();
    return {std::move(context), std::move(queue), {}};
}

SyclObject from_selector(PyObject *text) {
    try {
        return {device_from(text).default_context(), {}, {}};
    } catch (const Error &error) {
        throw suai::speaker.refusal("'syclobj' is ", shown(text), ", which selects no device: ", error.what());
    }
}

SyclObject from_capsule(PyObject *capsule) {
    const Backend &sycl = registry::backend("sycl");
    if (PyCapsule_IsValid(capsule, queue_names.fresh))
        return of_queue(Queue::from_native(sycl, PyCapsule_GetPointer(capsule, queue_names.fresh)));
    if (PyCapsule_IsValid(capsule, context_names.fresh))
        return {Context::from_native(sycl, PyCapsule_GetPointer(capsule, context_names.fresh)), {}, {}};
    const char *const name = PyCapsule_GetName(capsule);
    PyErr_Clear();
    throw suai::speaker.refusal("'syclobj' is a capsule named '", name ? name : "", "'; '", queue_names.fresh, "' or '",
                                context_names.fresh, "' is expected, and a used one serves no second consumer");
}

SyclObject from_dict_capsule(PyObject *capsule) {
    SyclObject result = from_capsule(capsule);
    result.capsule = Reference::borrow(capsule);
    return result;
}

// Makes a new capsule at each call, so it is nobody else's and need not be marked.
SyclObject from_provider(PyObject *object) {
    static PyObject *const get_capsule = PyUnicode_InternFromString("_get_capsule");
    const Reference method = find_attribute(object, get_capsule);
    if (!method)
        throw suai::speaker.refusal("'syclobj' is ", shown(object),
                                    "; a filter selector, a queue, a context, one of their capsules, or an object ",
                                    "with _get_capsule() is expected");
    const Reference capsule(PyObject_CallNoArgs(method.get()));
    if (!capsule)
        throw suai::speaker.refusal("_get_capsule() of 'syclobj' failed: ", take_words_about_value());
    if (!PyCapsule_CheckExact(capsule.get()))
        throw suai::speaker.refusal("_get_capsule() of 'syclobj' gave ", shown(capsule.get()), ", which is no capsule");
    return from_capsule(capsule.get());
}

}  // namespace

void SyclObject::mark_used() const noexcept {
    for (const CapsuleNames &names : {queue_names, context_names})
        if (capsule && PyCapsule_IsValid(capsule.get(), names.fresh))
            PyCapsule_SetName(capsule.get(), names.used);
}

SyclObject sycl_object_from(PyObject *object) {
    if (Queue queue = known_queue(object)) [[likely]]
        return of_queue(std::move(queue));
    if (Context context = known_context(object))
        return {std::move(context), {}, {}};
    if (PyUnicode_Check(object))
        return from_selector(object);
    if (PyCapsule_CheckExact(object))
        return from_dict_capsule(object);
    return from_provider(object);
}

}  // namespace entrepot::python
