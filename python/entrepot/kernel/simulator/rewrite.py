"""Turns a kernel's Python function into the one that is simulated.

Its operators become those of ``arithmetic``, its builtins those of ``operations``. It yields to
wait for other work-items, and so becomes a generator, as does each device function that waits.
Lines stay those of the file, for messages and debuggers. Names are resolved as the compiler does:
variables of the function, then its closure, its module, Python.
"""

from __future__ import annotations

import ast
import builtins
import cmath
import copy
import math
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._core import Dtype
from .. import source
from ..language import Builtin, Item
from ..macros import Macro
from . import arithmetic, mathematics, numba_rules, operations, structs
from .errors import MARK, refusal, refuse
from .held import Place, Types

_UNKNOWN = object()
_LITERALS = (bool, int, float, complex, str, bytes, type(...))

#: Prefix of names in rewritten functions, to avoid conflicts.
_PREFIX = "__ep_"
#: Names of numba's classes of number types.
_NUMBERS_OF_NUMBA = ("Integer", "Float", "Complex", "Boolean")
_KEPT, _CHOSEN = _PREFIX + "kept", _PREFIX + "chosen"
_REPLACED, _VECTOR, _ITEMS = _PREFIX + "replaced", _PREFIX + "vector", _PREFIX + "items"

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo", ast.Pow: "power", ast.LShift: "shift_left", ast.RShift: "shift_right",
    ast.BitAnd: "bit_and",
    ast.BitOr: "bit_or", ast.BitXor: "bit_xor",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
    ast.Eq: "equal", ast.NotEq: "not_equal",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "negate", ast.UAdd: "plus", ast.Invert: "invert"}

#: NumPy's functions whose names differ from those of ``math``.
_NUMPY_NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh", "deg2rad": "radians", "rad2deg": "degrees",
}  # fmt: skip
_NUMPY_OWN: dict[str, Callable[..., Any]] = {
    "minimum": arithmetic.numpys_minimum,
    "maximum": arithmetic.numpys_maximum,
    "abs": arithmetic.absolute,
    "absolute": arithmetic.absolute,
    "floor": arithmetic.mathematical(np.floor),
    "ceil": arithmetic.mathematical(np.ceil),
    "trunc": arithmetic.mathematical(np.trunc),
    "bitwise_count": arithmetic.bit_count,
    "fmod": arithmetic.numpys_fmod,
    "power": arithmetic.power,
    "square": lambda value: arithmetic.multiply(value, value),
    "where": arithmetic.chosen,
    "clip": lambda value, least, most: arithmetic.numpys_minimum(
        arithmetic.numpys_maximum(value, least), most
    ),
}


def _by_kind(real: Callable[..., Any], analytic: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's functions also accept complex numbers."""
    return lambda x, *others: (analytic if isinstance(x, (complex, np.complexfloating)) else real)(
        x, *others
    )


@dataclass
class Rewritten:
    """Code with the names that it uses: captured ones, helpers, and the device functions that it
    calls.
    """

    code: types.CodeType
    name: str
    surroundings: dict[str, Any]
    operations: dict[str, str]  # helper name → canonical name of a builtin
    callees: dict[str, Rewritten]
    waits: bool
    makes_local: bool  # local memory, one for each call site
    parameters: tuple[str, ...]
    takes_item: bool  # as in numba-dpex: the first parameter is the work-item, not an argument
    defaults: dict[str, Any]  # of the parameters that have one
    place: Place
    language: source.SourceLanguage

    def bound(
        self,
        implementations: dict[str, Callable[..., Any]],
        wrap: Callable[[str, Any], Any],
        known: dict[Place, Types],
    ) -> Callable[..., Any]:
        """The function for one launch, with these builtins and with captured values passed through
        ``wrap``.

        Variables are converted to their known types.
        """
        known_types = known.get(self.place, Types())
        names = {name: wrap(name, value) for name, value in self.surroundings.items()}
        names |= {MARK: self.language, "__builtins__": builtins}
        names |= {own: implementations[canonical] for own, canonical in self.operations.items()}
        names |= {_KEPT: known_types.kept, _CHOSEN: known_types.chosen}
        names |= {
            _REPLACED: structs.replaced,
            _VECTOR: structs.vector,
            _ITEMS: structs.items_of,
        }
        names |= {
            own: callee.bound(implementations, wrap, known) for own, callee in self.callees.items()
        }
        exec(self.code, names)
        function: types.FunctionType = names[self.name]
        function.__defaults__ = tuple(wrap(name, value) for name, value in self.defaults.items())
        return function


def rewritten(
    function: types.FunctionType,
    callers: tuple[types.FunctionType, ...] = (),
    path: tuple[int, ...] = (),
) -> Rewritten:
    """The function to simulate; ``path`` is the positions of the calls that lead to it.

    Raises KernelError if its source is not available, or if it is recursive.
    """
    if function in callers:
        cycle = " → ".join(
            each.__name__ for each in (*callers[callers.index(function) :], function)
        )
        raise refusal(
            *_place(function),
            f"recursion: {cycle}; a kernel's functions may not call themselves, write a loop",
        )
    definition = _definition(function)
    takes_item = _takes_item(function, definition)
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    body = _Rewriter(function, definition, callers, path)
    definition = body.visit(definition)
    definition.decorator_list, definition.returns = [], None
    definition.args.defaults = []  # bound() sets them
    parameters = tuple(argument.arg for argument in _parameters(definition))
    values = function.__defaults__ or ()
    module = ast.fix_missing_locations(ast.Module([definition], type_ignores=[]))
    code = compile(module, function.__code__.co_filename, "exec")
    return Rewritten(
        code,
        definition.name,
        body.surroundings,
        body.operations,
        body.callees,
        body.waits,
        body.makes_local,
        parameters,
        takes_item,
        dict(zip(parameters[len(parameters) - len(values) :], values, strict=True)),
        _known_by(function),
        source.language_of(function),
    )


def _takes_item(function: types.FunctionType, definition: ast.FunctionDef) -> bool:
    """The compiler's rule: the first parameter is annotated as Item or NdItem, or methods of items
    are called on it.
    """
    parameters = _parameters(definition)
    if not parameters:
        return False
    first = parameters[0]
    annotation = (
        _set_annotation(function, first.arg)
        if first.annotation is None
        else _Names(function, set()).value(first.annotation)
    )
    if isinstance(annotation, type) and issubclass(annotation, Item):
        return True
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == first.arg
        and node.attr in operations.METHODS_OF_ITEMS
        for node in ast.walk(definition)
    )


def _set_annotation(function: types.FunctionType, name: str) -> Any:
    """The parameter's entry in ``__annotations__``, if there is one."""
    try:
        return function.__annotations__.get(name)
    except NameError:  # from Python 3.14 on, annotations are evaluated here
        return None


def _parameters(definition: ast.FunctionDef) -> list[ast.arg]:
    return [*definition.args.posonlyargs, *definition.args.args]


def _place(function: types.FunctionType) -> tuple[str, int]:
    return function.__code__.co_filename, function.__code__.co_firstlineno


def _known_by(function: types.FunctionType) -> Place:
    node, file, _, first = source.find(function)
    return file, first, getattr(node, "name", "lambda")


def _definition(function: types.FunctionType) -> ast.FunctionDef:
    """The function as a definition with the lines of the file; a lambda becomes a function with a
    return.
    """
    node = copy.deepcopy(source.find(function)[0])
    if isinstance(node, ast.FunctionDef):
        return node
    result = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.parse("def lambda_(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = node.args, [result]
    return ast.copy_location(made, node)


@dataclass
class _Names:
    """Resolves names in a function."""

    function: types.FunctionType
    variables: set[str]
    closure: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = self.function.__closure__ or ()
        for name, cell in zip(self.function.__code__.co_freevars, cells, strict=True):
            try:
                self.closure[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue

    def of(self, name: str) -> Any:
        if name in self.variables:
            return _UNKNOWN
        for known in (self.closure, self.function.__globals__, vars(builtins)):
            if name in known:
                return known[name]
        return _UNKNOWN

    def value(self, node: ast.expr) -> Any:
        """The object that a name or a chain of attributes denotes."""
        if isinstance(node, ast.Name):
            return self.of(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            return _UNKNOWN if owner is _UNKNOWN else getattr(owner, node.attr, _UNKNOWN)
        if isinstance(node, ast.Constant):  # an expanded macro has functions and types
            return node.value
        return _UNKNOWN


def _first_component(value: Any) -> Any:
    """``v.x``: a number is a vector of one component."""
    return value if isinstance(value, (np.number, int, float)) else value.x


def _bits_as(value: Any, spelling: Any) -> Any:
    """``x.view(dtype)``: the bits of a number as another type of the same size."""
    dtype = arithmetic.dtype_of(spelling)
    if not isinstance(value, np.generic):
        value = np.int64(value) if isinstance(value, int) else np.float64(value)
    if value.dtype.itemsize != dtype.itemsize:
        raise refuse(
            f"view() takes the bits of a number as a type of the same size, and {value.dtype} is "
            f"not as large as {dtype}"
        )
    return value.view(dtype)


def _index_of(index: ast.expr) -> ast.expr:
    """A subscript as a value: a slice becomes a call of Python's ``slice``."""
    if isinstance(index, ast.Slice):
        bounds = [each or ast.Constant(None) for each in (index.lower, index.upper, index.step)]
        return ast.Call(ast.Name("slice", ast.Load()), bounds, [])
    if isinstance(index, ast.Tuple):
        return ast.Tuple(list(map(_index_of, index.elts)), ast.Load())
    return index


def _names_in(target: ast.expr) -> Any:
    """Names of the variables assigned: a name or a tuple of these; None for elements of arrays."""
    if isinstance(target, (ast.Tuple, ast.List)):
        names = tuple(map(_names_in, target.elts))
        return names if any(name is not None for name in names) else None
    return target.id if isinstance(target, ast.Name) else None


def _variables(definition: source.Definition) -> set[str]:
    parameters = {
        argument.arg for argument in ast.walk(definition.args) if isinstance(argument, ast.arg)
    }
    stored = {
        node.id
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return parameters | stored


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self,
        function: types.FunctionType,
        definition: ast.FunctionDef,
        callers: tuple[types.FunctionType, ...],
        path: tuple[int, ...],
    ) -> None:
        self._function, self._callers, self._path = function, (*callers, function), path
        self._is_numba = source.language_of(function).typing == "numba"
        self._names = _Names(function, _variables(definition))
        self._temporaries = 0
        self._assigned = ""  # the target of the current statement
        self.surroundings: dict[str, Any] = {}
        self.operations: dict[str, str] = {}
        self.callees: dict[str, Rewritten] = {}
        self.waits = self.makes_local = False

    # Values ---------------------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> Any:
        value: Any = node.value  # an expanded macro has functions and types
        if isinstance(value, Macro):
            return self.visit(self._expanded(node, value))
        if value is None or isinstance(value, _LITERALS):
            return node
        return self._named(f"{_PREFIX}constant_{id(value)}", value, node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self._names.value(node)
        if isinstance(value, Macro):
            return self.visit(self._expanded(node, value))
        self.generic_visit(node)
        if node.attr == "x" and value is _UNKNOWN and isinstance(node.ctx, ast.Load):
            function = self._named(f"{_PREFIX}first_component", _first_component, node)
            return ast.copy_location(ast.Call(function, [node.value], []), node)
        return node

    def _expanded(self, node: ast.expr, macro: Macro) -> ast.expr:
        """The expression that stands for the macro's use, as the compiler expands it."""
        values: dict[Any, Any] = {}
        if isinstance(node, ast.Call):
            given = [*enumerate(node.args), *((each.arg, each.value) for each in node.keywords)]
            found = ((key, self._names.value(argument)) for key, argument in given)
            values = {key: value for key, value in found if value is not _UNKNOWN}
        made = macro.expand(node, values)
        if isinstance(made, str):
            raise refusal(self._file, node.lineno, made)
        return made

    def visit_Name(self, node: ast.Name) -> Any:
        value = self._names.of(node.id)
        if isinstance(value, Macro):
            return self.visit(self._expanded(node, value))
        if value is not _UNKNOWN and node.id not in vars(builtins):
            self.surroundings[node.id] = value
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return self._call(self._operation(node), [node.left, node.right], node)

    def _operation(self, node: ast.BinOp | ast.AugAssign) -> str:
        if isinstance(node.op, ast.MatMult):
            raise refusal(
                self._file,
                node.lineno,
                "@ multiplies matrices; a kernel computes with numbers, write the loops",
            )
        return _BINARY[type(node.op)]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return self._call("denied", [node.operand], node)
        if isinstance(node.operand, ast.Constant):
            return node
        return self._call(_UNARY[type(node.op)], [node.operand], node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Evaluates the comparisons of a chain lazily, and the middle terms once."""
        self.generic_visit(node)
        if any(type(operator) not in _COMPARISONS for operator in node.ops):
            return node
        pairs: list[ast.expr] = []
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            following = right
            if right is not node.comparators[-1]:
                name = self._temporary()
                right, following = (
                    ast.NamedExpr(ast.Name(name, ast.Store()), right),
                    ast.Name(name, ast.Load()),
                )
            pairs.append(self._call(_COMPARISONS[type(operator)], [left, right], node))
            left = following
        return (
            pairs[0] if len(pairs) == 1 else ast.copy_location(ast.BoolOp(ast.And(), pairs), node)
        )

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self._choice(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return self._choice(node)

    def _choice(self, node: ast.expr) -> ast.expr:
        self.generic_visit(node)
        return self._in_type(
            _CHOSEN, (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), node
        )

    # Variables ------------------------------------------------------------------------------------

    def _in_type(self, function: str, of: Any, value: ast.expr) -> ast.expr:
        """The value in the known type of a variable or choice."""
        call = ast.Call(ast.Name(function, ast.Load()), [ast.Constant(of), value], [])
        return ast.fix_missing_locations(ast.copy_location(call, value))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        stored = {
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        assigned = [argument.arg for argument in _parameters(node) if argument.arg in stored]
        self.generic_visit(node)
        for name in assigned:
            value = ast.copy_location(ast.Name(name, ast.Load()), node.body[0])
            node.body.insert(0, self._assignment(ast.Name(name, ast.Store()), value, value))
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._in_type(_KEPT, "", node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        own = _PREFIX + "assertion"
        self.operations[own] = "assertion"
        check = ast.Call(
            ast.Name(own, ast.Load()),
            [self.visit(node.test), node.msg or ast.Constant("")],
            [],
        )
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(check), node))

    def _owner(self, target: ast.expr) -> ast.Name | None:
        """The variable of which a component may be assigned: ``v`` of ``v.x`` and ``v[0]``."""
        if not isinstance(target, (ast.Attribute, ast.Subscript)):
            return None
        owner = target.value
        is_variable = isinstance(owner, ast.Name) and owner.id in self._names.variables
        return owner if is_variable and isinstance(owner, ast.Name) else None

    def _component_assignment(
        self, owner: ast.Name, target: ast.expr, value: ast.expr, at: ast.AST
    ) -> ast.Assign:
        """``v = replaced(value, v, "x")``: a vector is a value, and an array is changed."""
        if isinstance(target, ast.Attribute):
            key: ast.expr = ast.Constant(target.attr)
        else:
            assert isinstance(target, ast.Subscript)
            key = _index_of(target.slice)
        function = ast.Name(_REPLACED, ast.Load())
        call = ast.Call(function, [value, ast.Name(owner.id, ast.Load()), key], [])
        made = ast.Assign([ast.Name(owner.id, ast.Store())], ast.copy_location(call, value))
        return ast.fix_missing_locations(ast.copy_location(made, at))

    def _assignment(self, target: ast.expr, value: ast.expr, at: ast.AST) -> ast.Assign:
        owner = self._owner(target)
        if owner is not None:
            return self._component_assignment(owner, target, value, at)
        names = _names_in(target)
        held = value if names is None else self._in_type(_KEPT, names, value)
        return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], held), at))

    def _assignments(self, target: ast.expr, value: ast.expr, at: ast.AST) -> list[ast.stmt]:
        """The assignment, item by item if a target is a component of a variable."""
        if not isinstance(target, ast.Tuple) or not any(map(self._owner, target.elts)):
            return [self._assignment(target, value, at)]
        held = self._temporary()
        items = ast.Call(ast.Name(_ITEMS, ast.Load()), [value, ast.Constant(len(target.elts))], [])
        first = ast.Assign([ast.Name(held, ast.Store())], ast.copy_location(items, value))
        made: list[ast.stmt] = [ast.fix_missing_locations(ast.copy_location(first, at))]
        for place, each in enumerate(target.elts):
            item = ast.Subscript(ast.Name(held, ast.Load()), ast.Constant(place), ast.Load())
            made += self._assignments(each, ast.copy_location(item, value), at)
        return made

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt] | ast.stmt:
        """``a[i] += x`` with ``a`` and ``i`` evaluated once."""
        operation, value = self._operation(node), self.visit(node.value)
        if isinstance(node.target, ast.Name):
            now: ast.expr = self._call(
                operation, [ast.Name(node.target.id, ast.Load()), value], node
            )
            return self._assignment(node.target, ast.copy_location(now, node), node)
        if isinstance(node.target, ast.Attribute):
            return self._augmented_field(node, node.target, operation, value)
        if not isinstance(node.target, ast.Subscript):
            raise refusal(
                self._file, node.lineno, "what is added to is a variable or an element of an array"
            )
        array, index = self._temporary(), self._temporary()
        element = ast.Subscript(
            ast.Name(array, ast.Load()), ast.Name(index, ast.Load()), ast.Load()
        )
        stored = ast.Subscript(
            ast.Name(array, ast.Load()), ast.Name(index, ast.Load()), ast.Store()
        )
        statements = [
            ast.Assign([ast.Name(array, ast.Store())], self.visit(node.target.value)),
            ast.Assign([ast.Name(index, ast.Store())], self.visit(node.target.slice)),
        ]
        changed = self._call(operation, [element, value], node)
        owner = self._owner(node.target)
        if owner is None:
            statements.append(ast.Assign([stored], changed))
        else:
            target = ast.Subscript(owner, ast.Name(index, ast.Load()), ast.Store())
            statements.append(self._component_assignment(owner, target, changed, node))
        return [
            ast.fix_missing_locations(ast.copy_location(statement, node))
            for statement in statements
        ]

    def _augmented_field(
        self, node: ast.AugAssign, target: ast.Attribute, operation: str, value: ast.expr
    ) -> list[ast.stmt]:
        """``p[i].x += y`` with ``p[i]`` evaluated once."""
        owner, held = self._owner(target), self._temporary()
        first = ast.Assign([ast.Name(held, ast.Store())], self.visit(target.value))
        field = ast.Attribute(ast.Name(held, ast.Load()), target.attr, ast.Load())
        changed = self._call(operation, [field, value], node)
        if owner is None:
            stored = ast.Attribute(ast.Name(held, ast.Load()), target.attr, ast.Store())
            second = ast.Assign([stored], changed)
        else:
            second = self._component_assignment(owner, target, changed, node)
        return [
            ast.fix_missing_locations(ast.copy_location(statement, node))
            for statement in (first, second)
        ]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """A variable whose type is stated."""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        value = self.visit(node.value)
        annotation = self._names.value(node.annotation)
        if getattr(annotation, "lanes", 1) == 1 and self._is_type(annotation):
            value = self._call("cast", [self.visit(node.annotation), value], node)
        return self._assignment(self.visit(node.target), value, node)

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt] | ast.stmt:
        target = node.targets[0]
        self._assigned = target.id if isinstance(target, ast.Name) else ""
        self.generic_visit(node)
        self._assigned = ""
        if len(node.targets) == 1:
            return self._assignments(target, node.value, node)
        value = ast.copy_location(ast.Name(self._temporary(), ast.Load()), node.value)
        first = ast.Assign([ast.Name(value.id, ast.Store())], node.value)
        return [
            ast.fix_missing_locations(ast.copy_location(first, node)),
            *[
                statement
                for each in node.targets
                for statement in self._assignments(each, value, node)
            ],
        ]

    # Calls ----------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        callee = self._names.value(node.func)
        if callee is getattr and len(node.args) == 2:
            attribute: ast.expr = self.visit(self._without_getattr(node))
            return attribute
        if isinstance(callee, Macro):
            return self.visit(self._expanded(node, callee))  # type: ignore[no-any-return]
        node.args = [self.visit(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        if callee is _UNKNOWN:
            if isinstance(node.func, ast.Attribute) and node.func.attr == "dtype":
                return self._call("cast", [self.visit(node.func), *node.args], node)
            if isinstance(node.func, ast.Attribute) and node.func.attr == "view":
                own = self._named(f"{_PREFIX}bits_as", _bits_as, node)
                return ast.copy_location(
                    ast.Call(own, [self.visit(node.func.value), *node.args], []), node
                )
            node.func = self.visit(node.func)
            return node
        return self._known_call(node, callee)

    def _without_getattr(self, node: ast.Call) -> ast.expr:
        """``getattr(x, "name")`` as the attribute ``x.name``."""
        given = node.args[1]
        name = given.value if isinstance(given, ast.Constant) else self._names.value(given)
        if not isinstance(name, str):
            raise refusal(
                self._file,
                node.lineno,
                "getattr() takes the name of an attribute that is known when the kernel is "
                "compiled: a string that is captured",
            )
        return ast.copy_location(ast.Attribute(node.args[0], name, ast.Load()), node)

    def _known_call(self, node: ast.Call, callee: Any) -> ast.expr:
        if isinstance(callee, Builtin):
            return self._builtin(node, callee.name)
        if isinstance(device := getattr(callee, "function", None), types.FunctionType):
            return self._device_function(node, device)
        if getattr(callee, "lanes", 1) > 1:
            return ast.copy_location(
                ast.Call(ast.Name(_VECTOR, ast.Load()), [self.visit(node.func), *node.args], []),
                node,
            )
        if self._is_type(callee):
            return self._call("cast", [self.visit(node.func), *node.args], node)
        implementation = self._implementation(callee)
        if implementation is None:
            node.func = self.visit(node.func)
            return node
        if len(node.args) > 0 and callee is not range and callee is not len:
            ruled = implementation
            if self._is_numba and len(node.args) > 1:
                ruled = numba_rules.function_of(callee, implementation)
            implementation = structs.by_component(ruled, implementation)
        node.func = self._named(
            f"{_PREFIX}python_{callee.__name__}_{id(callee)}", implementation, node
        )
        return node

    def _builtin(self, node: ast.Call, canonical: str) -> ast.expr:
        own = _PREFIX + canonical.replace(".", "_")
        self.operations[own] = canonical
        node.func = ast.copy_location(ast.Name(own, ast.Load()), node.func)
        if canonical in operations.MAKE_ARRAYS:
            self.makes_local = self.makes_local or canonical == "local.array"
            site: tuple[str | int, ...] = (
                self._assigned or canonical,
                node.lineno,
                node.col_offset,
                *self._path,
            )
            parts: list[ast.expr] = [ast.copy_location(ast.Constant(each), node) for each in site]
            node.keywords.append(
                ast.keyword("site", ast.copy_location(ast.Tuple(parts, ast.Load()), node))
            )
        return self._waiting(ast.Yield(node), node) if canonical in operations.COLLECTIVE else node

    def _device_function(self, node: ast.Call, function: types.FunctionType) -> ast.expr:
        own = f"{_PREFIX}call_{function.__name__}_{id(function)}"
        if own not in self.callees:
            callee = rewritten(function, self._callers, (*self._path, node.lineno, node.col_offset))
            if callee.makes_local:
                own += f"_{node.lineno}_{node.col_offset}"
                self.makes_local = True
            self.callees[own] = callee
        node.func = ast.copy_location(ast.Name(own, ast.Load()), node.func)
        return self._waiting(ast.YieldFrom(node), node) if self.callees[own].waits else node

    def _waiting(self, expression: ast.expr, node: ast.AST) -> ast.expr:
        self.waits = True
        return ast.copy_location(expression, node)

    @staticmethod
    def _is_type(value: Any) -> bool:
        if isinstance(value, type):
            return value in operations.CASTS or issubclass(value, np.generic)
        of_numba = (
            type(value).__module__.startswith("numba.")
            and type(value).__name__ in _NUMBERS_OF_NUMBA
        )
        return of_numba or isinstance(value, (Dtype, np.dtype))

    @staticmethod
    def _implementation(callee: Any) -> Callable[..., Any] | None:
        """Implementation of a function of Python, ``math``, ``cmath`` or NumPy in the language."""
        name = getattr(callee, "__name__", "")
        own = _NUMPY_NAMES.get(name, name)
        real = mathematics.OF_NUMBERS.get(own) or arithmetic.MATHEMATICAL.get(own)
        if isinstance(callee, np.ufunc) or getattr(np, name, None) is callee:
            analytic = mathematics.OF_COMPLEX.get(own)
            return _NUMPY_OWN.get(name) or (_by_kind(real, analytic) if real and analytic else real)
        if getattr(math, name, None) is callee:
            return real
        if getattr(cmath, name, None) is callee:
            return mathematics.OF_COMPLEX.get(name)
        return operations.PYTHON.get(callee) if callee.__hash__ is not None else None

    # Pieces ---------------------------------------------------------------------------------------

    @property
    def _file(self) -> str:
        return self._function.__code__.co_filename

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"{_PREFIX}{self._temporaries}"

    def _named(self, name: str, value: Any, node: ast.AST) -> ast.expr:
        self.surroundings[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _call(self, operation: str, operands: list[ast.expr], node: ast.AST) -> ast.expr:
        own: Callable[..., Any] = getattr(arithmetic, operation)
        ruled = numba_rules.OPERATIONS.get(operation, own) if self._is_numba else own
        function = self._named(_PREFIX + operation, structs.by_component(ruled, own), node)
        return ast.copy_location(ast.Call(function, operands, []), node)


def names_of(
    function: types.FunctionType, definition: source.Definition
) -> Callable[[ast.expr], Any]:
    """Finds the object that an expression of the function denotes: a name that is no variable, its
    attribute, or a literal; others denote None.
    """
    names = _Names(function, _variables(definition))

    def value(node: ast.expr) -> Any:
        found = names.value(node)
        return None if found is _UNKNOWN else found

    return value
