// Small caches of answers about types and other objects, each answer kept until another key takes
// its slot.
//
// Thread safety: none. A cache of static storage is ENTREPOT_GIL_GUARDED. The look-up may call
// Python, and so the same cache.
#pragma once
#include "reference.hpp"
#include "type_version.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace entrepot::python {

inline std::size_t slot_of(const void *key, std::size_t slots) noexcept {
    return (reinterpret_cast<std::uintptr_t>(key) >> 4) % slots;
}

// Answers that hold for a type until it changes. The key is the type and its version, which is
// unique in the process and changes with the type. A type without a version is looked up each time.
template <class Answer, std::size_t slots> class VersionCache {
public:
    template <class LookUp> Answer find(PyTypeObject *type, LookUp &&look_up) {
        Entry &entry = entries_[slot_of(type, slots)];
        const unsigned version = version_of(type);  // before the type is looked at
        if (entry.type == type && entry.version == version && version != 0) [[likely]]
            return entry.answer;
        const Answer answer = look_up();
        entry = {type, version, answer};
        return answer;
    }

private:
    struct Entry {
        PyTypeObject *type = nullptr;
        unsigned version = 0;
        Answer answer{};
    };
    std::array<Entry, slots> entries_;
};

// Answers that never change for an object. An entry owns its object, so that a new object at the
// same address is not mistaken for it.
template <class Answer, std::size_t slots> class ObjectCache {
public:
    template <class LookUp> Answer find(PyObject *object, LookUp &&look_up) {
        Entry &entry = entries_[slot_of(object, slots)];
        if (entry.object.get() != object) [[unlikely]]
            return replace(entry, object, look_up);
        return entry.answer;
    }
    // Returns: the answer for a cached object; else a value-initialized one.
    Answer peek(PyObject *object) const noexcept {
        const Entry &entry = entries_[slot_of(object, slots)];
        return entry.object.get() == object ? entry.answer : Answer{};
    }

private:
    struct Entry {
        CachedReference object;
        Answer answer{};
    };

    // Releasing the old object may run Python code that looks up another object in this slot.
    template <class LookUp>
    [[gnu::noinline]] static Answer replace(Entry &entry, PyObject *object, LookUp &look_up) {
        const Answer answer = look_up();
        entry.answer = answer;
        entry.object.replace(object);
        return answer;
    }

    std::array<Entry, slots> entries_;
};

}  // namespace entrepot::python
