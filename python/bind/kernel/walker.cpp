#include "walker.hpp"

#include "../support/attribute.hpp"
#include "../support/errors.hpp"
#include "../support/interned.hpp"
#include "constant.hpp"
#include "dpex_objects.hpp"
#include "free_variables.hpp"
#include "kernel.hpp"
#include "language.hpp"

#include <core/closest.hpp>
#include <kernel/frontend/functions.hpp>

#include <nanobind/nanobind.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

using kernel::CompileError;
using kernel::ConstantArray;
using kernel::named;
using kernel::Position;
using namespace kernel::syntax;

const Interned args_name = "args", posonlyargs_name = "posonlyargs", kwonlyargs_name = "kwonlyargs",
               vararg_name = "vararg", kwarg_name = "kwarg", defaults_name = "defaults",
               arg_name = "arg", annotation_name = "annotation", body_name = "body",
               orelse_name = "orelse", test_name = "test", msg_name = "msg", target_name = "target",
               targets_name = "targets", value_name = "value", values_name = "values",
               iter_name = "iter", func_name = "func", keywords_name = "keywords",
               operand_name = "operand", op_name = "op", left_name = "left", right_name = "right",
               ops_name = "ops", comparators_name = "comparators", slice_name = "slice",
               lower_name = "lower", upper_name = "upper", step_name = "step", elts_name = "elts",
               attr_name = "attr", id_name = "id", ctx_name = "ctx", name_name = "name",
               conversion_name = "conversion", format_spec_name = "format_spec",
               lineno_name = "lineno", col_offset_name = "col_offset",
               end_lineno_name = "end_lineno", end_col_offset_name = "end_col_offset",
               function_name = "function", fields_name = "_fields", own_name = "__name__",
               function_defaults_name = "__defaults__", self_name = "__self__",
               tile_operation_name = "tile_operation", annotations_name = "__annotations__",
               expand_name = "expand", typing_name = "typing", spellings_name = "spellings",
               terms_name = "terms", x_first_name = "x_first";

std::string_view kind_of(PyObject *node) {
    const std::string_view name = Py_TYPE(node)->tp_name;
    return name.substr(name.rfind('.') + 1);
}

std::string text_of_name(PyObject *text) {
    const char *const bytes = PyUnicode_AsUTF8(text);
    if (!bytes)
        throw PythonError{};
    return bytes;
}

bool is_node(PyObject *object) { return PyObject_HasAttr(object, fields_name); }

Reference child(PyObject *node, PyObject *name) { return checked(PyObject_GetAttr(node, name)); }

// Child nodes in the list attribute `name` of the node.
std::vector<Reference> children(PyObject *node, PyObject *name) {
    const Reference items = items_of(child(node, name).get());
    std::vector<Reference> found;
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i)
        found.push_back(Reference::borrow(PyTuple_GET_ITEM(items.get(), i)));
    return found;
}

// Calls `visit` for the node and all its descendants.
template <class Visit> void for_each_node(PyObject *node, Visit &&visit) {
    visit(node);
    const Reference fields = child(node, fields_name);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields.get()); ++i) {
        const Reference field(PyObject_GetAttr(node, PyTuple_GET_ITEM(fields.get(), i)));
        PyErr_Clear();  // optional fields may be absent
        if (!field)
            continue;
        if (PyList_Check(field.get())) {
            const Reference items = items_of(field.get());
            for (Py_ssize_t j = 0; items && j < PyTuple_GET_SIZE(items.get()); ++j)
                if (is_node(PyTuple_GET_ITEM(items.get(), j)))
                    for_each_node(PyTuple_GET_ITEM(items.get(), j), visit);
        } else if (is_node(field.get())) {
            for_each_node(field.get(), visit);
        }
    }
}

// True if the function calls one of numba-dpex's methods of work-items on the name.
bool is_used_as_item(PyObject *function, const std::string &name) {
    bool found = false;
    for_each_node(function, [&](PyObject *each) {
        if (kind_of(each) != "Attribute")
            return;
        const Reference value = child(each, value_name);
        found |= kind_of(value.get()) == "Name" &&
                 text_of_name(child(value.get(), id_name).get()) == name &&
                 DpexObjects::is_item_method(text_of_name(child(each, attr_name).get()));
    });
    return found;
}

// True for entrepot.kernel.Item and the classes derived from it.
bool is_item_class(PyObject *object) {
    return object && PyType_Check(object) &&
           PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(object),
                            reinterpret_cast<PyTypeObject *>(language().item));
}

// The parameter's entry in the function's __annotations__, if there is one. Python 3.14 evaluates
// them here, and their names may not exist.
Reference annotation_of(PyObject *function, const std::string &name) {
    const Reference annotations(PyObject_GetAttr(function, annotations_name));
    if (!annotations && !PyErr_ExceptionMatches(PyExc_NameError) &&
        !PyErr_ExceptionMatches(PyExc_AttributeError))
        throw PythonError{};
    PyErr_Clear();
    if (!annotations || !PyDict_Check(annotations.get()))
        return {};
    const Reference key = checked(PyUnicode_FromString(name.c_str()));
    PyObject *const found = PyDict_GetItemWithError(annotations.get(), key.get());
    if (!found && PyErr_Occurred())
        throw PythonError{};
    return found ? Reference::borrow(found) : Reference();
}

const char *description(DpexObjects::Class what) {
    return what == DpexObjects::Class::item ? "a work-item" : "a work-group";
}

std::int32_t number_at(PyObject *node, PyObject *name) {
    const Reference number(PyObject_GetAttr(node, name));
    const long value = number && PyLong_Check(number.get()) ? PyLong_AsLong(number.get()) : 0;
    PyErr_Clear();
    return static_cast<std::int32_t>(value);
}

Position position_of(PyObject *node) {
    return {number_at(node, lineno_name), number_at(node, col_offset_name),
            number_at(node, end_lineno_name), number_at(node, end_col_offset_name)};
}

// Description of an object for messages: "entrepot.kernel.atomic", "module math", "a Settings
// object".
std::string name_of(PyObject *object) {
    const Reference name(PyObject_GetAttr(object, own_name));
    PyErr_Clear();
    const std::string type = Py_TYPE(object)->tp_name;
    if (!name || !PyUnicode_Check(name.get()))
        return "a " + type + " object";
    return (PyModule_Check(object) ? "module "
            : type == "Namespace"  ? "entrepot.kernel."
                                   : "") +
           text_of_name(name.get());
}

bool is_device_function(PyObject *object) {
    const int answer = PyObject_IsInstance(object, language().device_function);
    if (answer < 0)
        throw PythonError{};
    return answer != 0;
}

// True for functions of Python's module random, which are methods of a generator.
bool is_of_random(PyObject *function) {
    const Reference generator(PyObject_GetAttr(function, self_name));
    PyErr_Clear();
    return generator && Py_TYPE(generator.get())->tp_name == std::string_view("Random");
}

void add_names(PyObject *names, std::vector<std::string> &known) {
    const Reference items = names ? checked(PySequence_Tuple(names)) : Reference();
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i)
        if (PyUnicode_Check(PyTuple_GET_ITEM(items.get(), i)))
            known.push_back(text_of_name(PyTuple_GET_ITEM(items.get(), i)));
}

std::vector<std::string> attributes_of(PyObject *object) {
    const Reference names(PyObject_Dir(object));
    PyErr_Clear();
    std::vector<std::string> known;
    add_names(names.get(), known);
    return known;
}

struct OperatorRow {
    std::string_view of_ast, text;
};
constexpr OperatorRow operators[] = {
    {"Add", "+"},    {"Sub", "-"},        {"Mult", "*"},    {"Div", "/"},     {"FloorDiv", "//"},
    {"Mod", "%"},    {"Pow", "**"},       {"LShift", "<<"}, {"RShift", ">>"}, {"BitAnd", "&"},
    {"BitOr", "|"},  {"BitXor", "^"},     {"MatMult", "@"}, {"USub", "-"},    {"UAdd", "+"},
    {"Invert", "~"}, {"Not", "not"},      {"Lt", "<"},      {"LtE", "<="},    {"Gt", ">"},
    {"GtE", ">="},   {"Eq", "=="},        {"NotEq", "!="},  {"Is", "is"},     {"IsNot", "is not"},
    {"In", "in"},    {"NotIn", "not in"}, {"And", "and"},   {"Or", "or"},
};

std::string operator_of(PyObject *op) {
    for (const OperatorRow &row : operators)
        if (row.of_ast == kind_of(op))
            return std::string(row.text);
    return std::string(kind_of(op));
}

// A work-item or work-group that a call passes to a device function, which has no parameter for it
// at run time.
struct PassedObject {
    std::size_t position;  // among the positional arguments
    std::string keyword;   // empty: by position
    DpexObjects::Class what;

    bool operator==(const PassedObject &) const = default;
};
using PassedObjects = std::vector<PassedObject>;

// A translated device function.
struct DoneFunction {
    Reference function;
    PassedObjects passed;
    std::shared_ptr<const Function> made;
};

// State shared by a kernel and the device functions that it calls.
struct Translation {
    Translated made;
    std::vector<PyObject *> path;  // call stack of the functions being translated
    std::vector<DoneFunction> done;
    std::vector<std::pair<Reference, Constant>> arrays;  // captured arrays, each converted once
};

std::shared_ptr<const Function> translate_into(Translation &translation, PyObject *function,
                                               const PassedObjects &passed = {});

class Walker {
public:
    Walker(Translation &translation, PyObject *function, const Function &described, PyObject *node)
        : translation_(translation), free_variables_(function, translation.made.guards),
          function_(described) {
        for (const Parameter &parameter : parameters_of(node))
            local_names_.insert(parameter.name);
        find_local_names(node);
    }

    std::vector<Parameter> parameters_of(PyObject *node) const;
    void add_defaults(PyObject *node, PyObject *function, std::vector<Parameter> &parameters);
    std::vector<NodePtr> body_of(PyObject *node);
    void drop_item(PyObject *node, PyObject *function, std::vector<Parameter> &parameters);
    void drop_passed(PyObject *node, const PassedObjects &passed,
                     std::vector<Parameter> &parameters);

private:
    using Method = NodePtr (Walker::*)(PyObject *);
    static const std::unordered_map<std::string_view, Method> &methods();

    [[noreturn]] void refuse(PyObject *node, const std::string &message) const {
        throw CompileError(function_, position_of(node), message);
    }
    void find_local_names(PyObject *node);
    bool is_local_name(PyObject *name) const { return local_names_.contains(text_of_name(name)); }

    Reference object_of(PyObject *expression);
    std::optional<Constant> constant_of(PyObject *object);
    NodePtr captured(PyObject *node, PyObject *object, const std::string &text);
    NodePtr captured_function(PyObject *node, PyObject *object, const std::string &text,
                              const PassedObjects &passed = {});
    PassedObjects objects_passed_by(PyObject *call);
    NodePtr expanded(PyObject *node, PyObject *macro);
    NodePtr function_of(PyObject *node, PyObject *object);
    std::string cycle_to(PyObject *function) const;
    std::string suggestion_for(const std::string &text) const;

    NodePtr walk(PyObject *node);
    NodePtr walk_if_any(PyObject *node) { return node == Py_None ? nullptr : walk(node); }
    std::vector<NodePtr> walk_all(const std::vector<Reference> &nodes);

    static std::shared_ptr<Node> make(Kind kind, PyObject *at, std::string text = {}) {
        auto node = std::make_shared<Node>();
        node->kind = kind;
        node->at = position_of(at);
        node->text = std::move(text);
        return node;
    }
    NodePtr unsupported(PyObject *node) {
        return make(Kind::unsupported, node, std::string(kind_of(node)));
    }
    NodePtr number(PyObject *at, std::int64_t value);
    std::shared_ptr<Node> builtin_call(PyObject *at, const char *name,
                                       std::vector<NodePtr> arguments);

    NodePtr constant(PyObject *node);
    NodePtr name(PyObject *node);
    NodePtr attribute(PyObject *node);
    NodePtr subscript(PyObject *node);
    NodePtr slice(PyObject *node);
    NodePtr tuple(PyObject *node);
    NodePtr list(PyObject *node);
    NodePtr starred(PyObject *node);
    NodePtr unary(PyObject *node);
    NodePtr binary(PyObject *node);
    NodePtr compare(PyObject *node);
    NodePtr boolean(PyObject *node);
    NodePtr conditional(PyObject *node);
    NodePtr call(PyObject *node);
    NodePtr joined_text(PyObject *node);
    NodePtr formatted_value(PyObject *node);
    NodePtr assign(PyObject *node);
    NodePtr assign_dpex_object(PyObject *node, PyObject *target, PyObject *call);
    NodePtr assign_atomic(PyObject *node, PyObject *target, PyObject *call);
    NodePtr augment(PyObject *node);
    NodePtr annotate(PyObject *node);
    NodePtr evaluate(PyObject *node);
    NodePtr branch(PyObject *node) { return conditional_block(node, Kind::if_); }
    NodePtr loop_while(PyObject *node) { return conditional_block(node, Kind::while_); }
    NodePtr conditional_block(PyObject *node, Kind kind);
    NodePtr loop_for(PyObject *node);
    NodePtr returned(PyObject *node);
    NodePtr asserted(PyObject *node);
    template <Kind kind> NodePtr word(PyObject *node) { return make(kind, node); }

    NodePtr call_of_dpex_object(PyObject *node, PyObject *callee);
    NodePtr attribute_of_dpex_object(PyObject *node, const std::string &attribute);
    Reference without_getattr(PyObject *expression);
    std::vector<NodePtr> arguments_by_place(PyObject *call);
    DpexObjects::Atomic atomic_of(PyObject *call);
    NodePtr call_of_atomic(PyObject *node, const DpexObjects::Atomic &atomic,
                           const std::string &method);
    bool makes_atomic(PyObject *expression);
    NodePtr linear(PyObject *node, const DpexObjects::Method &method);
    bool is_dpex_object(PyObject *expression) const;
    bool is_group(PyObject *expression) const;
    bool is_item(PyObject *expression) const;

    Translation &translation_;
    FreeVariables free_variables_;
    const Function &function_;
    std::unordered_set<std::string> local_names_;  // parameters and variables
    DpexObjects dpex_objects_;  // names of numba-dpex's objects, which do not exist at run time
};

const std::unordered_map<std::string_view, Walker::Method> &Walker::methods() {
    static const std::unordered_map<std::string_view, Method> table{
        {"Constant", &Walker::constant},
        {"Name", &Walker::name},
        {"Attribute", &Walker::attribute},
        {"Subscript", &Walker::subscript},
        {"Slice", &Walker::slice},
        {"Tuple", &Walker::tuple},
        {"List", &Walker::list},
        {"Starred", &Walker::starred},
        {"UnaryOp", &Walker::unary},
        {"BinOp", &Walker::binary},
        {"Compare", &Walker::compare},
        {"BoolOp", &Walker::boolean},
        {"IfExp", &Walker::conditional},
        {"Call", &Walker::call},
        {"JoinedStr", &Walker::joined_text},
        {"FormattedValue", &Walker::formatted_value},
        {"Assign", &Walker::assign},
        {"AugAssign", &Walker::augment},
        {"AnnAssign", &Walker::annotate},
        {"Expr", &Walker::evaluate},
        {"If", &Walker::branch},
        {"While", &Walker::loop_while},
        {"For", &Walker::loop_for},
        {"Return", &Walker::returned},
        {"Break", &Walker::word<Kind::break_>},
        {"Continue", &Walker::word<Kind::continue_>},
        {"Pass", &Walker::word<Kind::pass>},
        {"Assert", &Walker::asserted},
    };
    return table;
}

NodePtr Walker::walk(PyObject *node) {
    const auto found = methods().find(kind_of(node));
    return found == methods().end() ? unsupported(node) : (this->*found->second)(node);
}

std::vector<NodePtr> Walker::walk_all(const std::vector<Reference> &nodes) {
    std::vector<NodePtr> walked;
    for (const Reference &node : nodes)
        walked.push_back(walk(node.get()));
    return walked;
}

// ----------------------------------------------------------------- functions

std::vector<Parameter> Walker::parameters_of(PyObject *node) const {
    const Reference arguments = child(node, args_name);
    const auto refuse_if_any = [&](PyObject *name, const char *what) {
        const Reference found = child(arguments.get(), name);
        if (found.get() == Py_None ||
            (PyList_Check(found.get()) && PyList_GET_SIZE(found.get()) == 0))
            return;
        const Reference at = PyList_Check(found.get())
                                 ? Reference(PySequence_GetItem(found.get(), 0))
                                 : Reference::borrow(found.get());
        refuse(at.get(),
               translation_.path.size() == 1
                   ? sentence_of("a kernel has no ", what,
                                 ": name each argument, and give all of them at the launch")
                   : sentence_of("a function that kernels call has no ", what,
                                 ": name each argument, and give all of them in every call"));
    };
    refuse_if_any(vararg_name, "*args");
    refuse_if_any(kwarg_name, "**kwargs");
    refuse_if_any(kwonlyargs_name, "parameters that are given by name only");
    std::vector<Parameter> parameters;
    for (PyObject *list :
         {static_cast<PyObject *>(posonlyargs_name), static_cast<PyObject *>(args_name)})
        for (const Reference &argument : children(arguments.get(), list))
            parameters.push_back(
                {text_of_name(child(argument.get(), arg_name).get()), position_of(argument.get())});
    return parameters;
}

// Default values are those that the def statement calculated, as in Python.
void Walker::add_defaults(PyObject *node, PyObject *function, std::vector<Parameter> &parameters) {
    const Reference values = checked(PyObject_GetAttr(function, function_defaults_name));
    if (values.get() == Py_None)
        return;
    translation_.made.guards.attribute(function, function_defaults_name, values.get());
    const std::vector<Reference> written = children(child(node, args_name).get(), defaults_name);
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(values.get()));
    if (count != written.size() || count > parameters.size())
        refuse(node, sentence_of("the default values of ", function_.name,
                                 " have been replaced; define the function with them"));
    for (std::size_t i = 0; i < count; ++i) {
        Parameter &parameter = parameters[parameters.size() - count + i];
        parameter.default_value =
            captured(written[i].get(), PyTuple_GET_ITEM(values.get(), i), parameter.name);
    }
}

std::vector<NodePtr> Walker::body_of(PyObject *node) {
    if (kind_of(node) == "Lambda") {
        const Reference value = child(node, body_name);
        auto returned = make(Kind::return_, value.get());
        returned->operands.push_back(walk(value.get()));
        return {returned};
    }
    std::vector<Reference> body = children(node, body_name);
    const auto is_docstring = [](PyObject *statement) {
        if (kind_of(statement) != "Expr")
            return false;
        const Reference value = child(statement, value_name);
        return kind_of(value.get()) == "Constant" &&
               PyUnicode_Check(child(value.get(), value_name).get());
    };
    if (!body.empty() && is_docstring(body.front().get()))
        body.erase(body.begin());
    return walk_all(body);
}

// A first parameter is no argument if it is annotated with Item or NdItem, or if a work-item's
// methods are called on it.
void Walker::drop_item(PyObject *node, PyObject *function, std::vector<Parameter> &parameters) {
    const std::vector<Reference> arguments = children(child(node, args_name).get(), args_name);
    if (arguments.empty() || parameters.empty())
        return;
    const std::string name = parameters.front().name;
    const Reference annotation = child(arguments.front().get(), annotation_name);
    const Reference object =
        annotation.get() == Py_None ? annotation_of(function, name) : object_of(annotation.get());
    if (!is_item_class(object.get()) && !is_used_as_item(node, name))
        return;
    dpex_objects_.add_item(name);
    local_names_.erase(name);
    parameters.erase(parameters.begin());
}

// The parameters to which a call passes work-items and work-groups exist in the source only.
void Walker::drop_passed(PyObject *node, const PassedObjects &passed,
                         std::vector<Parameter> &parameters) {
    std::vector<std::string> dropped;
    for (const PassedObject &each : passed) {
        const auto place = each.keyword.empty()
                               ? each.position
                               : static_cast<std::size_t>(
                                     std::ranges::find(parameters, each.keyword, &Parameter::name) -
                                     parameters.begin());
        if (place >= parameters.size())
            refuse(node, sentence_of("`", function_.name, "` is given ", description(each.what),
                                     each.keyword.empty()
                                         ? " beside its arguments"
                                         : " as `" + each.keyword + "`, which it does not have"));
        const std::string &name = parameters[place].name;
        each.what == DpexObjects::Class::item ? dpex_objects_.add_item(name)
                                              : dpex_objects_.add_group(name);
        local_names_.erase(name);
        dropped.push_back(name);
    }
    std::erase_if(parameters, [&](const Parameter &each) {
        return std::ranges::find(dropped, each.name) != dropped.end();
    });
}

// Names that are assigned anywhere in the function are local, as in Python.
void Walker::find_local_names(PyObject *node) {
    for_each_node(node, [&](PyObject *each) {
        const std::string_view kind = kind_of(each);
        if (kind == "Name" && kind_of(child(each, ctx_name).get()) != "Load")
            local_names_.insert(text_of_name(child(each, id_name).get()));
        // refused at their own place
        if ((kind == "FunctionDef" || kind == "ClassDef" || kind == "alias") && each != node)
            local_names_.insert(text_of_name(child(each, name_name).get()));
    });
}

// --------------------------------------------------------- captured names

// Python object denoted by a name or a chain of attributes; empty for local names.
Reference Walker::object_of(PyObject *expression) {
    const std::string_view kind = kind_of(expression);
    if (kind == "Name") {
        const Reference id = child(expression, id_name);
        return is_local_name(id.get()) || dpex_objects_.has(text_of_name(id.get()))
                   ? Reference()
                   : free_variables_.find(id.get());
    }
    if (kind != "Attribute")
        return {};
    const Reference value = child(expression, value_name), attribute = child(expression, attr_name);
    const Reference object = object_of(value.get());
    if (!object)
        return {};
    Reference found = free_variables_.attribute_of(object.get(), attribute.get());
    if (!found)
        refuse(
            expression,
            sentence_of(name_of(object.get()), " has no '", text_of_name(attribute.get()), "'",
                        did_you_mean(text_of_name(attribute.get()), attributes_of(object.get()))));
    return found;
}

std::optional<Constant> Walker::constant_of(PyObject *object) {
    for (const auto &[known, value] : translation_.arrays)
        if (known.get() == object)
            return value;
    std::optional<Constant> value = constant_from(object);
    if (value && std::holds_alternative<std::shared_ptr<const ConstantArray>>(value->value))
        translation_.arrays.emplace_back(Reference::borrow(object), *value);
    return value;
}

NodePtr Walker::captured(PyObject *node, PyObject *object, const std::string &text) {
    if (NodePtr function = captured_function(node, object, text))
        return function;
    std::optional<Constant> value;
    try {
        value = constant_of(object);
    } catch (const Error &error) {
        refuse(node, sentence_of("'", text, "' cannot be captured: ", error.what()));
    }
    if (!value && PyCallable_Check(object) && !PyType_Check(object))
        refuse(node,
               sentence_of("'", text, "' is a function that no kernel can call: kernels call ",
                           is_of_random(object)
                               ? named("random.uniform(seed, i, draw)") + " and others of " +
                                     named("entrepot.kernel.random")
                               : "those of math and numpy for numbers, and functions with " +
                                     named("@entrepot.kernel.func")));
    if (!value)
        refuse(node, sentence_of("'", text, "' is a ", Py_TYPE(object)->tp_name,
                                 ", which a kernel cannot capture: it takes numbers, strings, "
                                 "tuples, dtypes and NumPy arrays as "
                                 "constants; give anything else as an argument"));
    auto made = make(Kind::constant, node, text);
    made->value = *std::move(value);
    translation_.made.captured += sentence_of("\n", text, "=", text_of(made->value));
    return made;
}

// Describes a cycle of calls: "`ping` calls `pong` calls `ping`". Requires: the function is being
// translated.
std::string Walker::cycle_to(PyObject *function) const {
    std::string cycle;
    const auto add = [&](PyObject *each) {
        const Reference name = checked(PyObject_GetAttr(each, own_name));
        cycle += (cycle.empty() ? "`" : " calls `") + text_of_name(name.get()) + "`";
    };
    for (auto each = std::ranges::find(translation_.path, function);
         each != translation_.path.end(); ++each)
        add(*each);
    add(function);
    return cycle;
}

bool is_macro(PyObject *object) {
    const int found = PyObject_IsInstance(object, language().macro);
    if (found < 0)
        throw PythonError{};
    return found != 0;
}

// Walks the expression that stands for a use of the macro: a call, or the macro's name alone. The
// macro is given the Python objects that the arguments of a call denote, by place and by name.
NodePtr Walker::expanded(PyObject *node, PyObject *macro) {
    const Reference values = checked(PyDict_New());
    const auto add = [&](PyObject *key, PyObject *expression) {
        if (const Reference object = object_of(expression);
            object && PyDict_SetItem(values.get(), key, object.get()) != 0)
            throw PythonError{};
    };
    if (kind_of(node) == "Call") {
        std::size_t place = 0;
        for (const Reference &argument : children(node, args_name))
            add(checked(PyLong_FromSize_t(place++)).get(), argument.get());
        for (const Reference &keyword : children(node, keywords_name))
            add(child(keyword.get(), arg_name).get(), child(keyword.get(), value_name).get());
    }
    const Reference made =
        checked(PyObject_CallMethodObjArgs(macro, expand_name, node, values.get(), nullptr));
    if (PyUnicode_Check(made.get()))
        refuse(node, text_of_name(made.get()));
    translation_.made.captured +=
        sentence_of("\nmacro=", text_of_name(child(macro, name_name).get()));
    return walk(made.get());
}

// A function of the language, one that a kernel may call, or a macro; nullptr: the object is
// another one. Expanded macros and changed sources contain such objects.
NodePtr Walker::function_of(PyObject *node, PyObject *object) {
    if (builtin_name_of(object) || is_device_function(object) || is_macro(object))
        return captured_function(node, object, "function");
    return nullptr;
}

// nullptr: the object is not a function.
NodePtr Walker::captured_function(PyObject *node, PyObject *object, const std::string &text,
                                  const PassedObjects &passed) {
    if (is_macro(object))
        return expanded(node, object);
    if (is_device_function(object)) {
        const Reference inner = checked(PyObject_GetAttr(object, function_name));
        if (std::ranges::find(translation_.path, inner.get()) != translation_.path.end())
            refuse(node, cycle_to(inner.get()) +
                             ": recursion needs a stack, which devices have not; write a loop");
        auto made = make(Kind::function, node, text);
        made->callee = translate_into(translation_, inner.get(), passed);
        return made;
    }
    if (const std::optional<std::string> name = builtin_name_of(object)) {
        translation_.made.captured += sentence_of("\n", text, "=", *name);
        return make(Kind::builtin, node, *name);
    }
    if (PyObject_TypeCheck(object, python_kernel_type))
        refuse(node, sentence_of("'", text,
                                 "' is a kernel, which Python launches and no kernel calls: put "
                                 "what both do into a function with ",
                                 named("@func"), ", and call that"));
    if (object == nb::type<LocalAccessor>().ptr() || object == nb::type<LocalMemory>().ptr())
        refuse(node,
               sentence_of("'", text, "' makes an argument, and is called at the launch, where ",
                           named("LocalAccessor(shape, dtype)"),
                           " gives memory of a size that is known then; in a kernel write ",
                           named("local.array(shape, dtype)"), ", whose shape is literal"));
    if (PyFunction_Check(object))
        refuse(node,
               sentence_of("'", text, "' is a Python function: put ",
                           named("@entrepot.kernel.func"), " before its def, and kernels call it"));
    return nullptr;
}

// ----------------------------------------------------------------- expressions

NodePtr Walker::constant(PyObject *node) {
    const Reference value = child(node, value_name);
    if (value.get() == Py_Ellipsis)
        return make(Kind::ellipsis, node);
    if (NodePtr function = function_of(node, value.get()))
        return function;
    auto made = make(Kind::constant, node);
    std::optional<Constant> known;
    try {
        known = constant_from(value.get());
    } catch (const Error &error) {
        refuse(node, sentence_of("this is ", error.what(), ": a kernel's integers have up to 64"));
    }
    if (!known)
        return unsupported(node);
    made->value = *std::move(known);
    return made;
}

NodePtr Walker::name(PyObject *node) {
    const Reference id = child(node, id_name);
    const std::string text = text_of_name(id.get());
    if (dpex_objects_.has(text))
        refuse(node, sentence_of("'", text, "' stands for ", dpex_objects_.description(text),
                                 ": only its methods can be used, and functions with @func take "
                                 "work-items and work-groups"));
    if (is_local_name(id.get()))
        return make(Kind::name, node, text);
    const Reference object = free_variables_.find(id.get());
    if (!object)
        refuse(node, sentence_of("the name '", text,
                                 "' is not defined: it is no variable or parameter of ",
                                 function_.name, ", and no global", suggestion_for(text)));
    return captured(node, object.get(), text);
}

// Suggestion for an undefined name.
std::string Walker::suggestion_for(const std::string &text) const {
    for (const std::string module : {"math.", "numpy."})
        if (kernel::find_function(module + text))
            return "; did you mean `" + module + text + "`?";
    const bool is_own_language = function_.wording == nullptr;
    if (is_own_language && kernel::find_function(text))
        return "; import it, as in `from entrepot.kernel import " + text + "`";
    std::vector<std::string> known(local_names_.begin(), local_names_.end());
    // Sorted, so that the choice between equally close names is deterministic.
    std::ranges::sort(known);
    add_names(free_variables_.globals(), known);
    for (const kernel::FunctionRow &row : kernel::functions())
        if (is_own_language && row.name.find('.') == row.name.npos)
            known.emplace_back(row.name);
    return did_you_mean(text, known);
}

NodePtr Walker::attribute(PyObject *node) {
    const Reference value = child(node, value_name), attribute = child(node, attr_name);
    const std::string text = text_of_name(attribute.get());
    if (is_dpex_object(node))
        return attribute_of_dpex_object(node, text);
    if (const Reference object = object_of(node))
        return captured(node, object.get(), text);
    auto made = make(Kind::attribute, node, text);
    made->operands.push_back(walk(value.get()));
    return made;
}

NodePtr Walker::subscript(PyObject *node) {
    auto made = make(Kind::subscript, node);
    made->operands = {walk(child(node, value_name).get()), walk(child(node, slice_name).get())};
    return made;
}

NodePtr Walker::slice(PyObject *node) {
    auto made = make(Kind::slice, node);
    for (PyObject *part : {static_cast<PyObject *>(lower_name), static_cast<PyObject *>(upper_name),
                           static_cast<PyObject *>(step_name)})
        made->operands.push_back(walk_if_any(child(node, part).get()));
    return made;
}

NodePtr Walker::tuple(PyObject *node) {
    auto made = make(Kind::tuple, node);
    made->operands = walk_all(children(node, elts_name));
    return made;
}

// Callers that accept a list as a shape or as values handle it themselves.
NodePtr Walker::list(PyObject *node) {
    refuse(node, "a kernel has no lists: write a tuple, whose length is fixed, or " +
                     named("private.array()") + " for what is written to");
}

NodePtr Walker::starred(PyObject *node) {
    refuse(node, "a kernel has no starred names and values: write each of them");
}

NodePtr Walker::unary(PyObject *node) {
    auto made = make(Kind::unary, node, operator_of(child(node, op_name).get()));
    made->operands = {walk(child(node, operand_name).get())};
    return made;
}

NodePtr Walker::binary(PyObject *node) {
    auto made = make(Kind::binary, node, operator_of(child(node, op_name).get()));
    made->operands = {walk(child(node, left_name).get()), walk(child(node, right_name).get())};
    return made;
}

NodePtr Walker::compare(PyObject *node) {
    auto made = make(Kind::compare, node);
    made->operands.push_back(walk(child(node, left_name).get()));
    for (const Reference &op : children(node, ops_name))
        made->names.push_back(operator_of(op.get()));
    for (const Reference &operand : children(node, comparators_name))
        made->operands.push_back(walk(operand.get()));
    return made;
}

NodePtr Walker::boolean(PyObject *node) {
    auto made = make(Kind::boolean, node, operator_of(child(node, op_name).get()));
    made->operands = walk_all(children(node, values_name));
    return made;
}

NodePtr Walker::conditional(PyObject *node) {
    auto made = make(Kind::conditional, node);
    made->operands = {walk(child(node, test_name).get()), walk(child(node, body_name).get()),
                      walk(child(node, orelse_name).get())};
    return made;
}

NodePtr Walker::call(PyObject *node) {
    if (const Reference attribute = without_getattr(node))
        return this->attribute(attribute.get());
    Reference callee = child(node, func_name);
    if (Reference attribute = without_getattr(callee.get()))
        callee = std::move(attribute);
    if (is_dpex_object(callee.get()))
        return call_of_dpex_object(node, callee.get());
    if (const Reference object =
            kind_of(callee.get()) == "Attribute" ? child(callee.get(), value_name) : Reference();
        object && makes_atomic(object.get())) {
        const DpexObjects::Atomic atomic = atomic_of(object.get());
        return call_of_atomic(node, atomic, text_of_name(child(callee.get(), attr_name).get()));
    }
    if (const Reference object = object_of(callee.get()); object && is_macro(object.get()))
        return expanded(node, object.get());
    auto made = make(Kind::call, node);
    const PassedObjects passed = objects_passed_by(node);
    const Reference function = passed.empty() ? Reference() : object_of(callee.get());
    if (function && is_device_function(function.get()))
        made->operands.push_back(
            captured_function(callee.get(), function.get(), name_of(function.get()), passed));
    else
        made->operands.push_back(walk(callee.get()));
    const bool takes_items = made->operands[0]->kind == Kind::function;
    const auto is_dropped = [&](PyObject *each) {
        return is_group(each) || (takes_items && is_item(each));
    };
    const bool makes_array =
        made->operands[0]->kind == Kind::builtin && made->operands[0]->text.ends_with(".array");
    const auto argument_of = [&](PyObject *each) {
        return makes_array && kind_of(each) == "List" ? tuple(each) : walk(each);
    };
    for (const Reference &argument : children(node, args_name)) {
        if (kind_of(argument.get()) == "Starred")
            refuse(argument.get(), "a call in a kernel has no *arguments: write each of them");
        if (is_dropped(argument.get()))
            continue;
        made->operands.push_back(argument_of(argument.get()));
        made->names.emplace_back();
    }
    for (const Reference &keyword : children(node, keywords_name)) {
        const Reference name = child(keyword.get(), arg_name);
        if (name.get() == Py_None)
            refuse(keyword.get(), "a call in a kernel has no **arguments: write each of them");
        if (is_dropped(child(keyword.get(), value_name).get()))
            continue;
        made->operands.push_back(argument_of(child(keyword.get(), value_name).get()));
        made->names.push_back(text_of_name(name.get()));
    }
    return made;
}

PassedObjects Walker::objects_passed_by(PyObject *call) {
    PassedObjects passed;
    const auto add = [&](PyObject *argument, std::size_t position, std::string keyword) {
        if (is_group(argument))
            passed.push_back({position, std::move(keyword), DpexObjects::Class::group});
        else if (is_item(argument))
            passed.push_back({position, std::move(keyword), DpexObjects::Class::item});
    };
    std::size_t position = 0;
    for (const Reference &argument : children(call, args_name))
        add(argument.get(), position++, {});
    for (const Reference &keyword : children(call, keywords_name)) {
        const Reference name = child(keyword.get(), arg_name);
        if (name.get() != Py_None)
            add(child(keyword.get(), value_name).get(), 0, text_of_name(name.get()));
    }
    return passed;
}

// `getattr(x, "name")` as the attribute `x.name`; empty for any other expression.
Reference Walker::without_getattr(PyObject *expression) {
    if (kind_of(expression) != "Call")
        return {};
    const Reference callee = child(expression, func_name);
    const std::vector<Reference> arguments = children(expression, args_name);
    const Reference function =
        kind_of(callee.get()) == "Name" ? object_of(callee.get()) : Reference();
    if (!function || !PyCFunction_Check(function.get()) || arguments.size() != 2 ||
        builtin_name_of(function.get()) != "getattr" ||
        !children(expression, keywords_name).empty())
        return {};
    const Reference name = kind_of(arguments[1].get()) == "Constant"
                               ? child(arguments[1].get(), value_name)
                               : object_of(arguments[1].get());
    if (!name || !PyUnicode_Check(name.get()))
        refuse(arguments[1].get(), "getattr() takes the name of an attribute that is known when "
                                   "the kernel is compiled: a string that is captured");
    translation_.made.captured += "\ngetattr=" + text_of_name(name.get());
    const Reference ast = checked(PyImport_ImportModule("ast"));
    const Reference load = checked(PyObject_CallMethod(ast.get(), "Load", nullptr));
    const Reference made = checked(PyObject_CallMethod(ast.get(), "Attribute", "OOO",
                                                       arguments[0].get(), name.get(), load.get()));
    return checked(PyObject_CallMethod(ast.get(), "copy_location", "OO", made.get(), expression));
}

// f"…": becomes a call of `format` with the pieces in order.
NodePtr Walker::joined_text(PyObject *node) {
    auto made = make(Kind::call, node);
    made->operands.push_back(make(Kind::builtin, node, "format"));
    for (const Reference &piece : children(node, values_name)) {
        made->operands.push_back(walk(piece.get()));
        made->names.emplace_back();
    }
    return made;
}

NodePtr Walker::formatted_value(PyObject *node) {
    if (child(node, format_spec_name).get() != Py_None || number_at(node, conversion_name) > 0)
        refuse(node,
               "text in kernels has no format specifications or conversions: write {value} alone");
    return walk(child(node, value_name).get());
}

// ------------------------------------------------------------------ statements

NodePtr Walker::assign(PyObject *node) {
    const Reference value = child(node, value_name);
    const std::vector<Reference> targets = children(node, targets_name);
    if (kind_of(value.get()) == "Call" && targets.size() == 1 &&
        kind_of(targets.front().get()) == "Name")
        if (NodePtr made = assign_dpex_object(node, targets.front().get(), value.get()))
            return made;
    auto made = make(Kind::assign, node);
    made->operands.push_back(walk(value.get()));
    for (const Reference &target : targets)
        made->operands.push_back(walk(target.get()));
    return made;
}

// Registers a name for an object of numba-dpex's; nullptr if the call creates no such object.
NodePtr Walker::assign_dpex_object(PyObject *node, PyObject *target, PyObject *call) {
    const std::string name = text_of_name(child(target, id_name).get());
    if (is_group(call)) {
        dpex_objects_.add_group(name);
        return make(Kind::pass, node);
    }
    return makes_atomic(call) ? assign_atomic(node, target, call) : nullptr;
}

// True for a call of AtomicRef.
bool Walker::makes_atomic(PyObject *expression) {
    if (kind_of(expression) != "Call")
        return false;
    const Reference object = object_of(child(expression, func_name).get());
    return object && builtin_name_of(object.get()) == "AtomicRef";
}

DpexObjects::Atomic Walker::atomic_of(PyObject *call) {
    constexpr std::string_view known[] = {"ref", "index", "memory_order", "memory_scope",
                                          "address_space"};
    const NodePtr walked = walk(call);
    for (std::size_t i = 0; i < walked->names.size(); ++i) {
        const std::string &name = walked->names[i];
        if (name.empty() ? i >= std::size(known)
                         : std::ranges::find(known, name) == std::end(known))
            refuse(call, "AtomicRef(ref, index=0, memory_order=, memory_scope=, address_space=) "
                         "has no argument " +
                             (name.empty() ? std::to_string(i) : "`" + name + "`"));
    }
    const auto given = [&](std::string_view keyword, std::size_t position) -> NodePtr {
        for (std::size_t i = 0; i < walked->names.size(); ++i)
            if (walked->names[i] == keyword || (walked->names[i].empty() && i == position))
                return walked->operands[i + 1];
        return nullptr;
    };
    const NodePtr array = given("ref", 0), index = given("index", 1);
    if (!array)
        refuse(call, "AtomicRef(ref, index=0) needs its array");
    return {array, index ? index : number(call, 0), given("memory_order", 2),
            given("memory_scope", 3), given("address_space", 4)};
}

// The index is evaluated once, here, and stored in a variable.
NodePtr Walker::assign_atomic(PyObject *node, PyObject *target, PyObject *call) {
    const std::string name = text_of_name(child(target, id_name).get()), variable = name + "_index";
    DpexObjects::Atomic atomic = atomic_of(call);
    local_names_.insert(variable);
    auto made = make(Kind::assign, node);
    made->operands = {std::exchange(atomic.index, make(Kind::name, target, variable)),
                      make(Kind::name, target, variable)};
    dpex_objects_.add_atomic(name, std::move(atomic));
    return made;
}

NodePtr Walker::augment(PyObject *node) {
    auto made = make(Kind::augment, node, operator_of(child(node, op_name).get()));
    made->operands = {walk(child(node, target_name).get()), walk(child(node, value_name).get())};
    return made;
}

NodePtr Walker::annotate(PyObject *node) {
    const Reference value = child(node, value_name), target = child(node, target_name);
    if (kind_of(value.get()) == "Call" && kind_of(target.get()) == "Name")
        if (NodePtr made = assign_dpex_object(node, target.get(), value.get()))
            return made;
    auto made = make(Kind::annotate, node);
    made->operands = {walk(child(node, target_name).get()),
                      walk(child(node, annotation_name).get()),
                      walk_if_any(child(node, value_name).get())};
    return made;
}

NodePtr Walker::evaluate(PyObject *node) {
    auto made = make(Kind::evaluate, node);
    made->operands = {walk(child(node, value_name).get())};
    return made;
}

NodePtr Walker::conditional_block(PyObject *node, Kind kind) {
    auto made = make(kind, node);
    made->operands = {walk(child(node, test_name).get())};
    made->body = walk_all(children(node, body_name));
    made->otherwise = walk_all(children(node, orelse_name));
    return made;
}

NodePtr Walker::loop_for(PyObject *node) {
    auto made = make(Kind::for_, node);
    made->operands = {walk(child(node, target_name).get()), walk(child(node, iter_name).get())};
    made->body = walk_all(children(node, body_name));
    made->otherwise = walk_all(children(node, orelse_name));
    return made;
}

NodePtr Walker::returned(PyObject *node) {
    auto made = make(Kind::return_, node);
    made->operands = {walk_if_any(child(node, value_name).get())};
    return made;
}

NodePtr Walker::asserted(PyObject *node) {
    auto made = make(Kind::assert_, node);
    made->operands = {walk(child(node, test_name).get()), walk_if_any(child(node, msg_name).get())};
    return made;
}

// --------------------------------------------- objects of numba-dpex's kernel API

NodePtr Walker::number(PyObject *at, std::int64_t value) {
    auto made = make(Kind::constant, at);
    made->value.value = value;
    return made;
}

std::shared_ptr<Node> Walker::builtin_call(PyObject *at, const char *name,
                                           std::vector<NodePtr> arguments) {
    auto made = make(Kind::call, at);
    made->operands.push_back(make(Kind::builtin, at, name));
    for (NodePtr &argument : arguments) {
        made->operands.push_back(std::move(argument));
        made->names.emplace_back();
    }
    return made;
}

// True for a work-group passed to a function. It can be ignored: barriers and group functions apply
// to the work-group anyway.
bool Walker::is_group(PyObject *expression) const {
    if (kind_of(expression) == "Name")
        return dpex_objects_.class_of(text_of_name(child(expression, id_name).get())) ==
               DpexObjects::Class::group;
    if (kind_of(expression) != "Call")
        return false;
    const Reference callee = child(expression, func_name);
    return is_dpex_object(callee.get()) &&
           DpexObjects::returns_group(text_of_name(child(callee.get(), attr_name).get()));
}

bool Walker::is_item(PyObject *expression) const {
    return kind_of(expression) == "Name" &&
           dpex_objects_.class_of(text_of_name(child(expression, id_name).get())) ==
               DpexObjects::Class::item;
}

// True for `item.method`, where item is a name in dpex_objects_ or a call that returns a
// work-group.
bool Walker::is_dpex_object(PyObject *expression) const {
    if (kind_of(expression) != "Attribute")
        return false;
    const Reference value = child(expression, value_name);
    return is_group(value.get()) ||
           (kind_of(value.get()) == "Name" &&
            dpex_objects_.has(text_of_name(child(value.get(), id_name).get())));
}

// `dimensions` and a group's `leader`.
NodePtr Walker::attribute_of_dpex_object(PyObject *node, const std::string &attribute) {
    const Reference value = child(node, value_name);
    const bool is_of_group = is_group(value.get());
    if (attribute == "dimensions" && (is_of_group || is_item(value.get())))
        return builtin_call(node, "get_work_dim", {});
    if (attribute == "leader" && is_of_group) {
        auto made = make(Kind::compare, node);
        made->names = {"=="};
        made->operands = {linear(node, *DpexObjects::local_linear_id()), number(node, 0)};
        return made;
    }
    refuse(node, sentence_of(is_of_group            ? "a work-group has dimensions and leader"
                             : is_item(value.get()) ? "a work-item has dimensions"
                                                    : "an atomic reference has methods only",
                             ", and no '", attribute, "'"));
}

// Arguments of a method, which must be positional.
std::vector<NodePtr> Walker::arguments_by_place(PyObject *call) {
    for (const Reference &keyword : children(call, keywords_name)) {
        const Reference name = child(keyword.get(), arg_name);
        refuse(keyword.get(),
               name.get() == Py_None
                   ? std::string("a call in a kernel has no **arguments: write each of them")
                   : "the methods of work-items and groups take their arguments by their places: "
                     "leave `" +
                         text_of_name(name.get()) + "=` out");
    }
    return walk_all(children(call, args_name));
}

NodePtr Walker::call_of_dpex_object(PyObject *node, PyObject *callee) {
    const Reference value = child(callee, value_name);
    const std::string method = text_of_name(child(callee, attr_name).get());
    const bool is_group_call = kind_of(value.get()) == "Call";
    const std::string object = is_group_call ? "" : text_of_name(child(value.get(), id_name).get());
    if (const DpexObjects::Atomic *atomic = dpex_objects_.atomic(object))
        return call_of_atomic(node, *atomic, method);
    std::vector<NodePtr> arguments = arguments_by_place(node);
    const DpexObjects::Method *const found =
        is_group_call ? DpexObjects::group_method(method) : dpex_objects_.method(object, method);
    if (!found)
        refuse(callee,
               sentence_of(is_group_call ? "a work-group" : dpex_objects_.description(object),
                           " has no method '", method, "'",
                           did_you_mean(method, is_group_call || dpex_objects_.class_of(object) ==
                                                                     DpexObjects::Class::group
                                                    ? DpexObjects::group_methods()
                                                    : DpexObjects::item_methods())));
    if (found->linear_sizes && !arguments.empty())
        refuse(callee,
               sentence_of("'", method, "' takes no arguments: it is of all dimensions together"));
    return found->linear_sizes ? linear(node, *found)
                               : builtin_call(node, found->builtin, std::move(arguments));
}

NodePtr Walker::call_of_atomic(PyObject *node, const DpexObjects::Atomic &atomic,
                               const std::string &method) {
    const char *const name = DpexObjects::atomic_function(method);
    if (!name)
        refuse(node, sentence_of("an AtomicRef has no method '", method, "'",
                                 did_you_mean(method, DpexObjects::atomic_methods())));
    const std::shared_ptr<Node> made = builtin_call(node, name, {atomic.array, atomic.index});
    const auto add_named = [&](std::string keyword, const NodePtr &given) {
        if (!given)
            return;
        made->operands.push_back(given);
        made->names.push_back(std::move(keyword));
    };
    for (const Reference &argument : children(node, args_name))
        add_named({}, walk(argument.get()));
    for (const Reference &keyword : children(node, keywords_name)) {
        const Reference given = child(keyword.get(), arg_name);
        if (given.get() == Py_None)
            refuse(keyword.get(), "a call in a kernel has no **arguments: write each of them");
        add_named(DpexObjects::argument_name(text_of_name(given.get())),
                  walk(child(keyword.get(), value_name).get()));
    }
    add_named("order", atomic.order);
    add_named("scope", atomic.scope);
    add_named("space", atomic.space);
    return made;
}

// (id(0) * size(1) + id(1)) * size(2) + id(2). If the method returns the product of the sizes, that
// product.
NodePtr Walker::linear(PyObject *node, const DpexObjects::Method &method) {
    const auto at = [&](const char *name, std::int64_t dimension) {
        auto made = builtin_call(node, name, {number(node, dimension)});
        made->text = "linear";
        return made;
    };
    const auto combine = [&](const char *op, NodePtr left, NodePtr right) {
        auto made = make(Kind::binary, node, op);
        made->operands = {std::move(left), std::move(right)};
        return made;
    };
    NodePtr made = at(method.builtin, 0);
    for (const std::int64_t dimension : {1, 2}) {
        made = combine("*", made, at(method.linear_sizes, dimension));
        if (std::string_view(method.builtin) != method.linear_sizes)
            made = combine("+", made, at(method.builtin, dimension));
    }
    return made;
}

// -------------------------------------------------------------------- the whole

struct Source {
    Reference node;
    std::string file, text;
    std::int32_t first_line;
};

Source source_of(PyObject *function) {
    const Reference found = checked(PyObject_CallOneArg(language().find_source, function));
    PyObject *node, *file, *text;
    int first_line;
    if (!PyArg_ParseTuple(found.get(), "OUUi", &node, &file, &text, &first_line))
        throw PythonError{};
    return {Reference::borrow(node), text_of_name(file), text_of_name(text), first_line};
}

// Sets the rules and the names of the kernel language in which the function is written.
void set_language(PyObject *function, Function &made) {
    const Reference found = checked(PyObject_CallOneArg(language().language_of, function));
    if (text_of_name(child(found.get(), typing_name).get()) == "numba")
        made.typing = kernel::Typing::numba;
    const auto dict_of = [&](const auto &name) {
        return nb::borrow<nb::dict>(child(found.get(), name).get());
    };
    kernel::Wording wording;
    for (const auto [key, value] : dict_of(spellings_name))
        wording.names.emplace(nb::cast<std::string>(key), nb::cast<std::string>(value));
    for (const auto [key, value] : dict_of(terms_name))
        wording.terms.emplace_back(nb::cast<std::string>(key), nb::cast<std::string>(value));
    wording.x_first = nb::cast<bool>(nb::handle(child(found.get(), x_first_name).get()));
    if (!wording.names.empty() || !wording.terms.empty())
        made.wording = std::make_shared<const kernel::Wording>(std::move(wording));
}

std::shared_ptr<const Function> translate_into(Translation &translation, PyObject *function,
                                               const PassedObjects &passed) {
    for (const DoneFunction &known : translation.done)
        if (known.function.get() == function && known.passed == passed)
            return known.made;
    const Source source = source_of(function);
    auto made = std::make_shared<Function>();
    made->name = kind_of(source.node.get()) == "Lambda"
                     ? "lambda"
                     : text_of_name(child(source.node.get(), name_name).get());
    made->file = source.file;
    made->source = source.text;
    made->first_line = source.first_line;
    set_language(function, *made);
    if (made->typing == kernel::Typing::numba)
        translation.made.captured += "\ntyping=numba";
    if (const Reference tile = find_attribute(function, tile_operation_name))
        made->tile = text_of_name(tile.get());
    translation.made.captured +=
        sentence_of("\n", source.file, ":", source.first_line, "\n", source.text);
    translation.path.push_back(function);
    Walker walker(translation, function, *made, source.node.get());
    made->parameters = walker.parameters_of(source.node.get());
    if (translation.path.size() > 1)  // those of a kernel are given at the launch
        walker.add_defaults(source.node.get(), function, made->parameters);
    if (passed.empty())
        walker.drop_item(source.node.get(), function, made->parameters);
    else
        walker.drop_passed(source.node.get(), passed, made->parameters);
    made->body = walker.body_of(source.node.get());
    translation.path.pop_back();
    translation.done.push_back({Reference::borrow(function), passed, made});
    return made;
}

}  // namespace

Translated translate(PyObject *function) {
    Translation translation;
    translation.made.function = translate_into(translation, function);
    return std::move(translation.made);
}

}  // namespace entrepot::python
