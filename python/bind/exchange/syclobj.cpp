// The `syclobj` of SUAI: one function for each form.
#include "syclobj.hpp"

#include <entrepot/exchange/suai.hpp>

#include "../device/convert.hpp"
#include "../support/foreign_error.hpp"
#include "protocol.hpp"

#include <utility>

namespace entrepot::python {
namespace {

SyclObject of_queue(Queue queue) {
    Context context = queue.context();
    return {std::move(context), std::move(queue), {}};
}

SyclObject from_selector(PyObject *text) {
    try {
        return {device_from(text).default_context(), {}, {}};
    } catch (const Error &error) {
        throw suai::speaker.refusal("'syclobj' is ", shown(text),
                                    ", which selects no device: ", error.what());
    }
}

[[noreturn]] void refuse(const SyclCapsule &capsule) {
    throw suai::speaker.refusal("'syclobj' is a capsule named '", capsule.name_text(), "'; '",
                                queue_capsule.fresh, "' or '", context_capsule.fresh,
                                "' is expected, and a used one serves no second consumer");
}

SyclObject from_capsule(SyclCapsule &&capsule) {
    const Backend &sycl = registry::backend("sycl");
    SyclObject found;
    if (capsule.is_queue())
        found = of_queue(Queue::from_native(sycl, capsule.pointer()));
    else if (capsule.is_context())
        found.context = Context::from_native(sycl, capsule.pointer());
    else
        refuse(capsule);
    found.capsule = std::move(capsule);
    return found;
}

SyclCapsule capsule_in(PyObject *object) {
    try {
        return find_sycl_capsule(object);
    } catch (const PythonError &) {
        throw suai::speaker.refusal("_get_capsule() of 'syclobj' failed: ",
                                    take_words_about_value());
    } catch (const Error &error) {
        throw suai::speaker.refusal("'syclobj': ", error.what());
    }
}

}  // namespace

void SyclObject::mark_used() const {
    if (!capsule.mark_used())
        refuse(capsule);
}

SyclObject sycl_object_from(PyObject *object) {
    if (Queue queue = known_queue(object)) [[likely]]
        return of_queue(std::move(queue));
    if (Context context = known_context(object))
        return {std::move(context), {}, {}};
    if (PyUnicode_Check(object))
        return from_selector(object);
    if (SyclCapsule capsule = capsule_in(object); capsule.object())
        return from_capsule(std::move(capsule));
    throw suai::speaker.refusal("'syclobj' is ", shown(object),
                                "; a filter selector, a queue, a context, one of their capsules, ",
                                "or an object with _get_capsule() is expected");
}

}  // namespace entrepot::python
