// HandleTable: one handle for each native object, also while the last one is being destroyed.
#include "backends/handle_table.hpp"

#include <doctest/doctest.h>

using namespace entrepot;

namespace {

struct Handle : Counted<Handle> {
    explicit Handle(int &of) : destroyed(of) {}
    ~Handle() { ++destroyed; }
    int &destroyed;
};

using Table = backends::HandleTable<int, Handle>;

IntrusivePtr<Handle> intern(Table &table, int key, int &destroyed) {
    return table.intern(key, [&] { return std::make_unique<Handle>(destroyed); });
}

}  // namespace

TEST_CASE("native object that is wrapped again has the same handle") {
    Table table;
    int destroyed = 0;
    const IntrusivePtr<Handle> one = intern(table, 1, destroyed),
                               same = intern(table, 1, destroyed),
                               other = intern(table, 2, destroyed);
    CHECK(one == same);
    CHECK(one != other);
    CHECK(one->count() == 2);
    CHECK(table.any_of([&](const Handle &each) { return &each == other.get(); }));
}

TEST_CASE("second handle made at the same time is destroyed") {
    Table table;
    int destroyed = 0;
    IntrusivePtr<Handle> first;
    const IntrusivePtr<Handle> second = table.intern(1, [&] {
        first = intern(table, 1, destroyed);  // as another thread would
        return std::make_unique<Handle>(destroyed);
    });
    CHECK(first == second);
    CHECK(destroyed == 1);
}

TEST_CASE("handle without references is replaced and not handed out") {
    Table table;
    int destroyed = 0;
    Handle *const ending = intern(table, 1, destroyed).detach();
    CHECK(ending->drop());
    const IntrusivePtr<Handle> next = intern(table, 1, destroyed);
    CHECK(next.get() != ending);
    table.forget(1, *ending);
    delete ending;
    CHECK(intern(table, 1, destroyed) == next);
    CHECK(destroyed == 1);
}
