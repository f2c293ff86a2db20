// Ranges of the integers in a function, valid for all arguments.
#pragma once
#include "kernel/ir/ir.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace entrepot::kernel {

// Upper bound of an id, a size or a loop's rounds. A launch with more would not finish.
constexpr std::int64_t max_trip_count = std::int64_t{1} << 48;

struct Range {
    std::int64_t least, most;

    bool operator==(const Range &) const = default;
    bool is_within(const Range &other) const { return other.least <= least && most <= other.most; }
    bool is_non_negative() const { return least >= 0; }
};

// All values of the type; nullopt for uint64 and for types that are not integers.
std::optional<Range> full_range(Dtype dtype);

// Range of an operation; `of` returns the ranges of its operands.
// Returns: nullopt if the range is unknown or exceeds the type, so that the operation may wrap.
std::optional<Range>
range_of_operation(const ir::Expression &expression,
                   const std::function<std::optional<Range>(const ir::Expression &)> &of);
// Range of the counter inside a loop over a range, which may be empty.
std::optional<Range> counter_range(const Range &start, const Range &stop, const Range &step);

// The `x` of a statement `v = v + x` or `v = v - x`, where `v` is the variable `id`. nullptr for
// any other statement.
const ir::Expression *increment_of(const ir::Statement &statement, ir::VariableId id);

class RangeAnalysis {
public:
    explicit RangeAnalysis(const ir::Function &function);

    // Returns: nullopt for types without a range, as full_range().
    std::optional<Range> of(const ir::Expression &expression);
    std::optional<Range> of(ir::VariableId id);
    // Range of an integer operation as if its type were unbounded.
    // Returns: nullopt if the range is unknown or exceeds int64.
    std::optional<Range> unwrapped(const ir::Expression &expression);
    // True if every `v = v + x` stays within the type of `v`.
    bool increments_fit(ir::VariableId id);
    // Range of the counter inside a `for`.
    std::optional<Range> counter_range(const ir::Statement &loop);
    // True if the counter's type holds its final value, one step after the last round.
    bool ends_within_type(const ir::Statement &loop);

private:
    struct Assignment {
        const ir::Statement *statement;
        std::vector<const ir::Statement *> loops;  // enclosing loops, the innermost last
    };

    void collect(const std::vector<ir::Statement> &statements,
                 std::vector<const ir::Statement *> &loops);
    std::optional<Range> range_of_assignments(ir::VariableId id);
    std::optional<Range> assigned_range(const ir::Statement &statement);
    std::optional<std::int64_t> trip_count(const std::vector<const ir::Statement *> &loops);
    struct End {
        std::int64_t furthest;
        Range compared;  // all values of the type that the variable is compared as
    };
    std::optional<End> end_of(const Assignment &change, ir::VariableId id, const Range &by);

    const ir::Function &function_;
    std::map<ir::VariableId, std::vector<Assignment>> assignments_;
    std::map<ir::VariableId, std::optional<Range>> known_;
    std::set<ir::VariableId> fitting_;
    int depth_ = 0;  // current depth of recursion
    // Limits recursion over long chains of variables, so that it fits the stack of any thread.
    static constexpr int max_depth = 500;
};

}  // namespace entrepot::kernel
