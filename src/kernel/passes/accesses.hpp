// Accesses to memory that a launch checks before it runs: elements that every work-item uses, and
// stores that several work-items may make.
#pragma once
#include "kernel/ir/ir.hpp"
#include "kernel/ir/source.hpp"
#include "kernel/ir/types.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::kernel {

// An index that every work-item uses: constant + by_id[0] * global id 0 + …. `axes` lists the array
// axes that it indexes.
struct Reach {
    struct Axis {
        std::uint32_t argument = 0, axis = 0;
        bool counts_from_end = false;  // true: the index is negative; false: it is never negative
        Position at;                   // in the kernel's source

        bool operator==(const Axis &other) const {
            return argument == other.argument && axis == other.axis &&
                   counts_from_end == other.counts_from_end;
        }
    };
    std::int64_t constant = 0;
    std::array<std::int64_t, 3> by_id{};
    std::vector<Axis> axes;
};

// An index that every work-item uses and that no Reach describes. It consists of constants, sizes,
// ids, extents and strides, where `id` of an extent or stride is the argument's place.
struct CertainAccess {
    // An argument, or an array of fixed shape that the kernel makes.
    struct Array {
        std::string name;
        Space space = Space::global;
        std::optional<std::uint32_t> argument;  // its place
        std::vector<std::int64_t> shape;        // of an array that the kernel makes
    };
    Array array;
    std::optional<std::uint32_t> axis;  // nullopt: `index` is an offset in elements from the first
    bool counts_from_end = false;       // with an axis: a negative index counts from its end
    ir::Expression index;
    std::shared_ptr<const Source> source;  // has the access at `at`
    Position at;
};

// A store that loses updates if several work-items of a launch, or of a group, execute it.
struct LostUpdate {
    // Condition on the path to the store. It consists of constants, sizes, ids, extents (`id` is
    // the argument's place) and scalar arguments (Op::index with the text `argument`; `number` is
    // the place). Any other subexpression is unknown.
    struct Guard {
        ir::Expression condition;
        // an unknown value counts as this; true: it may hold for several work-items
        bool if_unknown = false;
        bool is_divergent = false;  // it may differ between work-items
    };
    static constexpr std::string_view argument = "argument";

    std::string message;
    bool in_group = false;  // between work-items of one group only
    std::vector<Guard> guards;
};

}  // namespace entrepot::kernel
