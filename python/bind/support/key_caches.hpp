// Small caches of answers about types and other objects. Two keys share a set without evicting each
// other; a third evicts the one that was stored earlier.
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

// The entries of all keys with one hash.
template <class Entry> struct CacheSet {
    Entry newer, older;

    template <class Sets> static auto &of(const void *key, Sets &all) noexcept {
        return all[(reinterpret_cast<std::uintptr_t>(key) >> 4) % all.size()];
    }
};

// Answers that hold for a type until it changes. The key is the type and its version, which is
// unique in the process and changes with the type. A type without a version is looked up each time.
template <class Answer, std::size_t sets> class VersionCache {
public:
    template <class LookUp> Answer find(PyTypeObject *type, LookUp &&look_up) {
        CacheSet<Entry> &set = CacheSet<Entry>::of(type, sets_);
        const unsigned version = version_of(type);  // before the type is looked at
        if (set.newer.holds(type, version)) [[likely]]
            return set.newer.answer;
        if (set.older.holds(type, version))
            return set.older.answer;
        const Answer answer = look_up();
        if (set.newer.type != type)  // else that entry is out of date
            set.older = set.newer;
        set.newer = {type, version, answer};
        return answer;
    }

private:
    struct Entry {
        PyTypeObject *type = nullptr;
        unsigned version = 0;
        Answer answer{};

        bool holds(PyTypeObject *wanted, unsigned of_version) const noexcept {
            return type == wanted && version == of_version && of_version != 0;
        }
    };
    std::array<CacheSet<Entry>, sets> sets_;
};

// Answers that never change for an object. An entry owns its object, so that a new object at the
// same address is not mistaken for it.
template <class Answer, std::size_t sets> class ObjectCache {
public:
    template <class LookUp> Answer find(PyObject *object, LookUp &&look_up) {
        CacheSet<Entry> &set = CacheSet<Entry>::of(object, sets_);
        if (set.newer.object.get() == object) [[likely]]
            return set.newer.answer;
        if (set.older.object.get() == object)
            return set.older.answer;
        return add(set, object, look_up);
    }
    // Returns: the answer for a cached object; else a value-initialized one.
    Answer peek(PyObject *object) const noexcept {
        const CacheSet<Entry> &set = CacheSet<Entry>::of(object, sets_);
        if (set.newer.object.get() == object) [[likely]]
            return set.newer.answer;
        return set.older.object.get() == object ? set.older.answer : Answer{};
    }

private:
    struct Entry {
        CachedReference object;
        Answer answer{};
    };

    // Releasing the evicted object may run Python code that looks up another object in this set.
    template <class LookUp>
    [[gnu::noinline]] static Answer add(CacheSet<Entry> &set, PyObject *object, LookUp &look_up) {
        const Answer answer = look_up();
        set.older.object.swap(set.newer.object);
        set.older.answer = set.newer.answer;
        set.newer.answer = answer;
        set.newer.object.replace(object);
        return answer;
    }

    std::array<CacheSet<Entry>, sets> sets_;
};

}  // namespace entrepot::python
