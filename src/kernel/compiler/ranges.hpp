// Ranges: what the integers of a function are at least and at most, whatever it is called with.
#pragma once
#include <entrepot/kernel/compiler/ir.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace entrepot::kernel {

// Upper bound of an id, a size or a loop's rounds: more would not finish.
constexpr std::int64_t most_rounds = std::int64_t{1} << 48;

struct Range {
    std::int64_t least, most;

    bool operator==(const Range &) const = default;
    bool is_within(const Range &other) const { return other.least <= least && most <= other.most; }
    bool is_natural() const { return least >= 0; }
};

// All that the type holds; nullopt of what is no integer, and of uint64.
std::optional<Range> all_of(Dtype dtype);

// Of a calculation by the ranges of its operands, which `of` gives. nullopt: not known, or beyond the type, so that it may wrap.
std::optional<Range> calculated(const ir::Expression &expression,
                                const std::function<std::optional<Range>(const ir::Expression &)> &of);
// What the counter of a loop over a range is within the loop; the range may be empty.
std::optional<Range> counted(const Range &start, const Range &stop, const Range &step);

// What `v = v + x` adds, or `v = v - x` takes away, of the variable `id`. nullptr: the statement does something else.
const ir::Expression *changed_by(const ir::Statement &statement, ir::VariableId id);

class Ranges {
public:
    explicit Ranges(const ir::Function &function);

    // nullopt: as all_of.
    std::optional<Range> of(const ir::Expression &expression);
    std::optional<Range> of(ir::VariableId id);
    // Of an operation on integers as if its type had no end. nullopt: beyond int64, or not known.
    std::optional<Range> unwrapped(const ir::Expression &expression);
    // Whether no `v = v + x` leaves what the type of `v` holds.
    bool changes_fit(ir::VariableId id);
    // What the counter of a `for` is within the loop.
    std::optional<Range> counted(const ir::Statement &loop);
    // Whether the counter's type surely holds what it is at the loop's end, a step behind the last round.
    bool ends_within_type(const ir::Statement &loop);

private:
    struct Assignment {
        const ir::Statement *statement;
        std::vector<const ir::Statement *> loops;  // around it, the innermost last
    };

    void collect(const std::vector<ir::Statement> &statements, std::vector<const ir::Statement *> &loops);
    std::optional<Range> found(ir::VariableId id);
    std::optional<Range> assigned(const ir::Statement &statement);
    std::optional<std::int64_t> rounds(const std::vector<const ir::Statement *> &loops);
    struct End {
        std::int64_t furthest;
        Range compared;  // of the type that the variable is compared as: as long as it is within, it is itself
    };
    std::optional<End> end_of(const Assignment &change, ir::VariableId id, const Range &by);

    const ir::Function &function_;
    std::map<ir::VariableId, std::vector<Assignment>> assignments_;
    std::map<ir::VariableId, std::optional<Range>> known_;
    std::set<ir::VariableId> fitting_;
    int depth_ = 0;  // of the expressions that are being looked at
    // What the stack of any thread has place for, however long a chain of variables is of which each is made of the one before.
    static constexpr int most_depth = 500;
};

}  // namespace entrepot::kernel
