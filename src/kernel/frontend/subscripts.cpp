// Subscripts: array elements, sub-arrays, items of tuples.
#include "kernel/frontend/lowering.hpp"

#include <algorithm>

namespace entrepot::kernel {

namespace {

using build::difference;
using build::greater;
using build::product;
using build::smaller;
using build::sum;
using ir::Expression;

bool is_whole(const syntax::Node &slice) {
    return std::ranges::all_of(slice.operands,
                               [](const auto &operand) { return operand == nullptr; });
}

bool are_same(const View &a, const View &b) {
    return build::same(a.offset, b.offset) &&
           std::ranges::equal(a.extents, b.extents, build::same) &&
           std::ranges::equal(a.strides, b.strides, build::same);
}

// True for an integer constant beyond int64. A bound or step of that size has the effect of
// INT64_MAX.
bool is_beyond_int64(const Expression &value) {
    const auto *const number = std::get_if<std::uint64_t>(&value.value);
    return value.op == ir::Op::constant && number && *number > std::uint64_t{INT64_MAX};
}

// Converts an unsigned number to int64, saturating at INT64_MAX.
Expression saturated(Expression value) {
    if (value.type.dtype != dtypes::uint64)
        return value;
    const Position at = value.at;
    Expression limit = build::integer(0, at);
    limit.type = value.type;
    limit.value = std::uint64_t{INT64_MAX};
    return build::converted(build::math("min", limit.type, at, {std::move(value), limit}),
                            dtypes::int64);
}

// Number of elements in [0, distance) with the given step. Written so that no step overflows.
Expression steps_within(const Expression &distance, std::int64_t step) {
    if (step == 1)
        return distance;
    const Expression one = build::integer(1, distance.at);
    return sum(build::quotient(difference(distance, one), step), one);
}

// `value` if it is at least 0, else `value + extent`.
Expression wrapped(const Expression &value, const Expression &extent) {
    const Position at = value.at;
    const Expression negative =
        build::of(ir::Op::less, scalar_type(dtypes::boolean), at, {value, build::integer(0, at)});
    return build::of(ir::Op::select, value.type, at, {negative, sum(value, extent), value});
}

}  // namespace

// A subscript of a tuple, or the part of an array; an element is not loaded.
Value Lowering::subscript_of(const Value &object, const Node &node) {
    if (object.kind == Value::Kind::tuple)
        return item_of_tuple(object, node);
    const Node &index = *node.operands[1];
    if (object.is_scalar() && index.kind == Kind::tuple && index.operands.empty())
        return object;  // x[()]: an array without dimensions was passed as a number
    Value value;
    value.kind = Value::Kind::array;
    value.at = node.at;
    value.view = std::make_shared<const View>(subscripted(object, index, node.at));
    return value;
}

Value Lowering::item_of_tuple(const Value &tuple, const Node &node) {
    const Node &index = *node.operands[1];
    if (index.kind == Kind::slice)
        refuse(index.at, "a tuple is not sliced in a kernel; write the items, as in (t[0], t[1])");
    const auto count = static_cast<std::int64_t>(tuple.items.size());
    std::int64_t place = literal_of(index, "the index of a tuple");
    if (count == 0)
        refuse(index.at,
               sentence_of(
                   "there is no item ", place,
                   " in a tuple without items, as the shape of an array without dimensions is"));
    if (place < -count || place >= count)
        refuse(index.at,
               sentence_of("there is no item ", place, " in a tuple of ", counted(count, "item"),
                           ", such as the shape of an array with ", counted(count, "dimension")));
    place += place < 0 ? count : 0;
    return tuple.items[static_cast<std::size_t>(place)];
}

View Lowering::subscripted(const Value &array, const Node &index, Position at) {
    if (index.kind == Kind::tuple)
        return subscripted(array, index.operands, at);
    const syntax::NodePtr one(std::shared_ptr<void>{}, &index);  // non-owning; the tree outlives it
    return subscripted(array, std::span(&one, 1), at);
}

// Entries of a subscript, one for each dimension that it names. Tuple variables are expanded.
std::vector<Lowering::Subscript> Lowering::subscripts_of(std::span<const syntax::NodePtr> indices) {
    std::vector<Subscript> subscripts;
    for (const auto &node : indices) {
        if (node->kind == Kind::slice || node->kind == Kind::ellipsis) {
            subscripts.push_back({node.get(), {}});
            continue;
        }
        const Mark before = mark();
        const Value value = value_after_effects(*node);
        for (Subscript &earlier : subscripts)
            save_before(earlier.index, before);
        if (value.kind == Value::Kind::tuple)
            for (const Value &item : value.items)
                subscripts.push_back({nullptr, item});
        else
            subscripts.push_back({nullptr, value});
    }
    return subscripts;
}

View Lowering::subscripted(const Value &array, std::span<const syntax::NodePtr> indices,
                           Position at) {
    if (array.kind != Value::Kind::array)
        refuse(array.at,
               "only arrays and tuples have elements, but this is " + array.type_name() +
                   (array.is_scalar() ? "; write it without brackets, or give an array" : ""));
    const View &whole = *array.view;
    const std::string &name = function_.roots[whole.root].shown;
    if (!whole.type.tile.empty() && source_->tile.empty())
        refuse(at, "`" + name + "` is an accumulator, whose elements are spread over the group's " +
                       "work-items; write it to an array by tile.store(array, (row, column), " +
                       name + ")");
    std::vector<Subscript> subscripts = subscripts_of(indices);
    const auto is_index = [](const Subscript &each) {
        return !each.node || each.node->kind != Kind::ellipsis;
    };
    if (whole.extents.empty() && std::ranges::any_of(subscripts, is_index))
        refuse(at, "`" + name + "` has no dimensions (" + name_of(whole.type) +
                       "), so no index: its element is " + name +
                       "[()]; an array of one element, as x.reshape(1) is, has " + name + "[0]");
    complete(subscripts, whole.extents.size(), name_of(whole.type), at);
    return part_of_array(whole, subscripts, at);
}

const syntax::Node &Lowering::whole_slice() {
    static const Node all{Kind::slice, {}, {}, {}, {nullptr, nullptr, nullptr}, {}, {}, {}, {}};
    return all;
}

// Adds whole slices for the dimensions that are not named, in place of the ellipsis or at the end.
void Lowering::complete(std::vector<Subscript> &subscripts, std::size_t ndim,
                        const std::string &array, Position at) const {
    const auto is_ellipsis = [](const Subscript &each) {
        return each.node && each.node->kind == Kind::ellipsis;
    };
    const auto named =
        static_cast<std::size_t>(std::ranges::count_if(subscripts, std::not_fn(is_ellipsis)));
    if (named > ndim)
        refuse(at, sentence_of("there are ", named, " indices for ", array,
                               "; write one for each dimension, ", ndim, " at most"));
    const std::vector<Subscript> rest(ndim - named, Subscript{&whole_slice(), {}});
    auto ellipsis = std::ranges::find_if(subscripts, is_ellipsis);
    if (ellipsis != subscripts.end())
        ellipsis = subscripts.erase(ellipsis);
    if (std::ranges::any_of(subscripts, is_ellipsis))
        refuse(at, "there is more than one `...` between the brackets");
    subscripts.insert(ellipsis, rest.begin(), rest.end());
}

View Lowering::part_of_array(const View &whole, const std::vector<Subscript> &subscripts,
                             Position at) {
    View part{whole.root, whole.type, whole.offset, {}, {}};
    // Offset of a contiguous array whose dimensions all have an index.
    Expression inner = build::integer(0, at);
    const bool is_element =
        std::ranges::all_of(subscripts, [](const Subscript &each) { return each.node == nullptr; });
    std::vector<Expression> indices;
    for (std::size_t dimension = 0; dimension < subscripts.size(); ++dimension) {
        const Subscript &subscript = subscripts[dimension];
        if (subscript.node) {
            slice_dimension(whole, dimension, *subscript.node, part);
            continue;
        }
        part.type.contiguous = part.type.contiguous && part.extents.empty();
        const Expression index = index_in(whole, dimension, subscript.index);
        indices.push_back(index);
        if (is_element && whole.type.contiguous)
            inner = sum(product(std::move(inner), whole.extents[dimension]), index);
        else
            part.offset = sum(std::move(part.offset), product(index, whole.strides[dimension]));
    }
    part.offset = sum(std::move(part.offset), std::move(inner));
    if (is_element && are_same(whole, whole_of(whole.root, at)))
        part.offset.indices = std::make_shared<const std::vector<Expression>>(std::move(indices));
    part.type.ndim = static_cast<std::uint32_t>(part.extents.size());
    part.type.shape.clear();
    if (std::ranges::all_of(part.extents, [](const auto &extent) {
            return build::constant_of(extent).has_value();
        }))
        for (const Expression &extent : part.extents)
            part.type.shape.push_back(*build::constant_of(extent));
    return part;
}

Expression Lowering::index_in(const View &array, std::size_t dimension, const Value &index) {
    if (!index.is_scalar() || !is_integer(index.expression.type.dtype))
        refuse(index.at, "an index is an integer, but this is " + index.type_name() +
                             (index.is_scalar() ? "; write int(...)"
                                                : "; kernels work on elements: write a loop"));
    const Expression &extent = array.extents[dimension];
    const auto size = build::constant_of(extent);
    Expression value = as(index, dtypes::int64).expression;
    if (const auto constant = build::constant_of(value)) {
        if (size && (*constant >= *size || *constant < -*size))
            refuse(index.at,
                   sentence_of("index ", *constant, " is outside of dimension ", dimension, " of `",
                               function_.roots[array.root].shown, "`, which has ", *size,
                               " elements; write one from 0 to ", *size - 1));
        if (*constant < 0)
            value = sum(extent, std::move(value));
    } else if (!counts_from_front(value)) {
        if (!build::is_simple(value))
            value = in_variable(made(std::move(value)), "index").expression;
        value = wrapped(value, extent);
    }
    // A constant index into a known extent has been checked.
    if (!target_.debug || (size && build::constant_of(value)))
        return value;
    return build::of(ir::Op::bound_check, value.type, index.at, {value, extent});
}

// Bound of a slice, clamped to the array as in Python.
Expression Lowering::clamped(const Node &bound, const Expression &extent, std::int64_t least,
                             const Expression &most) {
    const Value value = scalar_value(bound);
    if (!is_integer(value.expression.type.dtype))
        refuse(bound.at, "a bound of a slice is an integer, but this is " + value.type_name() +
                             "; write int(...)");
    Expression index = is_beyond_int64(value.expression) ? build::integer(INT64_MAX, bound.at)
                       : value.is_literal()
                           ? as(value, dtypes::int64).expression
                           : build::converted(saturated(value.expression), dtypes::int64);
    const auto constant = build::constant_of(index);
    if (constant && *constant < 0)
        return greater(sum(extent, std::move(index)), build::integer(least, bound.at));
    if (constant || proved(index).is_non_negative())
        return smaller(std::move(index), most);
    if (!build::is_simple(index))
        index = in_variable(made(std::move(index)), "bound").expression;
    return greater(smaller(wrapped(index, extent), most), build::integer(least, bound.at));
}

// INT64_MIN becomes INT64_MIN + 1, which can be negated. No array is long enough for the difference
// to matter.
std::int64_t Lowering::step_of(const Node &node) {
    if (is_beyond_int64(value_after_effects(node).expression))
        return INT64_MAX;
    const std::int64_t step = literal_of(node, "the step of a slice");
    if (step == 0)
        refuse(node.at, "the step of a slice is 0; write one that is not");
    return std::max(step, -INT64_MAX);
}

void Lowering::slice_dimension(const View &array, std::size_t dimension, const Node &slice,
                               View &part) {
    const Expression &extent = array.extents[dimension], &stride = array.strides[dimension];
    const Node *const from = slice.operands[0].get(), *const to = slice.operands[1].get(),
                      *const by = slice.operands[2].get();
    part.type.contiguous = part.type.contiguous && (is_whole(slice) || part.extents.empty());
    if (is_whole(slice)) {
        part.extents.push_back(extent);
        part.strides.push_back(stride);
        return;
    }
    const Position at = slice.at;
    const std::int64_t step = by ? step_of(*by) : 1;
    part.type.contiguous = part.type.contiguous && step == 1;
    const Expression zero = build::integer(0, at), last = difference(extent, build::integer(1, at));
    Expression start, length;
    if (step > 0) {
        start = from ? clamped(*from, extent, 0, extent) : zero;
        const Expression stop = to ? clamped(*to, extent, 0, extent) : extent;
        length = steps_within(difference(stop, start), step);
        if (from && to)
            length = greater(std::move(length), zero);
    } else if (!from && !to) {
        start = last;
        length = steps_within(extent, -step);
    } else {
        start = from ? clamped(*from, extent, -1, last) : last;
        const Expression stop = to ? clamped(*to, extent, -1, last) : build::integer(-1, at);
        length = greater(steps_within(difference(start, stop), -step), zero);
    }
    part.offset = sum(std::move(part.offset), product(std::move(start), stride));
    part.extents.push_back(std::move(length));
    // A step beyond the extent is clamped to it, so that the stride fits: no further element is
    // reached.
    const bool is_far = step > INT32_MAX || step < -INT32_MAX;
    const Expression far = smaller(extent, build::integer(step < 0 ? -step : step, at));
    const Expression taken = !is_far    ? build::integer(step, at)
                             : step > 0 ? far
                                        : difference(zero, far);
    part.strides.push_back(product(stride, taken));
}

Value Lowering::loaded(const View &element, Position at) {
    if (!element.extents.empty())
        refuse(at, "a number is expected here, but this is " + name_of(element.type) +
                       "; name one element, by an index for each " + "dimension");
    Expression load =
        build::of(ir::Op::load, scalar_type(element.type.dtype), at, {element.offset});
    load.id = element.root;
    return made(std::move(load));
}

}  // namespace entrepot::kernel
