"""Random kernels: Hypothesis strategies of the text of modules, and the arguments that the kernels
in them are launched with.

The kernels use every operator on integers of all widths and float16 to float64. They use
conditions, loops, device functions, tuples, elements and parts of strided views. They use private
and local arrays, barriers, atomics and group functions. Each program has one meaning only.

``tests/python/kernel/test_random_programs.py`` and ``tools/fuzz_kernels.py`` run them.

Two correct compilers must agree. So the value assigned to a variable states its type, or is an
integer of literals. The latter is int64 where it meets an integer of a type, or takes the type that
the variable is assigned later. Floats are exact: a variable is a number of quarters, 1000 at most,
and no expression needs more than 53 bits. Nothing is rounded, so compilers may contract
``a * b + c`` or reorder additions without a change of results. Each cell for atomics has one
operation, for which any order is right, and its previous value is never used. A variable of type
float16 is only kept within ±8, for it rounds after every operation.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

Choice = TypeVar("Choice")

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
#: One-dimensional arrays with an element for each work-item: their names, by dtype.
ARRAYS = {
    "int8": "a",
    "uint8": "b",
    "int32": "c",
    "uint32": "d",
    "int64": "e",
    "uint64": "f",
    "int16": "g",
    "uint16": "h",
}
#: Work-items of a launch and of a group, and shapes of both that number the work-items of a group
#: without gaps.
SIZES = {
    (8, 4): ["8, 4", "(4, 2), (2, 2)", "(2, 2, 2), (1, 2, 2)"],
    (16, 8): ["16, 8", "(8, 2), (4, 2)", "(2, 2, 4), (1, 2, 4)"],
    (32, 8): ["32, 8", "(4, 8), (1, 8)"],
}
#: An index of 8 bits is within the table, with either sign.
TABLE = 256
COLUMNS = 4
WIDE = 6
CUBE = (3, 4, 5)
PRIVATE = 4
#: Divisors of an expression that is converted to quarters afterwards. A quotient that is not a
#: quarter is farther from one than rounding reaches.
INEXACT_DIVISORS = ["3.0", "-1.25", "7.0"]
#: Operation of atomics on each of the cells, in global and in local memory.
ATOMICS = ["add", "sub", "min", "max", "and_", "or_", "xor", "add"]
CELLS = len(ATOMICS)

#: Parameters of every program.
PARAMETERS = (
    "out, floats, cells, sums, grid, small, rounded, a, b, c, d, e, f, g, h, x, y, halves, flags, "
    "table, wide, cube, n"
)
#: Binary operators of integers.
OPERATORS = ("+", "-", "*", "//", "%", "&", "|", "^")

_HEAD = """\
import math

import entrepot.kernel as dppy

ITEMS = {items}
GLOBAL, LOCAL = {ranges}

{functions}

@dppy.kernel
def program({parameters}):
    i = {item}
    lid = {own}
    shared = dppy.local.array({group}, dppy.int64)
    counts = dppy.local.array({cells}, dppy.{counted})
    own = dppy.private.array({private}, dppy.{private_kind})
    for z in range({private}):
        own[z] = dppy.{private_kind}({start})
"""


@dataclass
class _Writer:
    """A program under construction: its lines, and the names in scope."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    floats: list[str] = field(default_factory=list)
    untyped: list[str] = field(default_factory=list)  # integers of literals alone
    types: dict[str, str] = field(default_factory=dict)
    made: int = 0
    indent: int = 1
    shared_is_readable: bool = False
    counts_are: str = ""  # "changed" between two barriers, "readable" between two others
    counted: str = "int64"
    functions: dict[str, str] = field(default_factory=dict)  # text by name
    functions_of_pairs: list[str] = field(default_factory=list)
    readers: dict[str, str] = field(default_factory=dict)  # functions of an array
    pairs: dict[str, tuple[str, str]] = field(
        default_factory=dict
    )  # functions that return two integers: types by name
    in_function: bool = False
    has_private: bool = False
    neighbor: str = "lid"
    items: int = 8
    group: int = 4
    halves: list[str] = field(default_factory=list)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def one_of(self, *choices: Choice) -> Choice:
        return self.draw(st.sampled_from(choices))

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(1, of)) == 1

    # Expressions ----------------------------------------------------------------------------------

    def typed_integer(self) -> str:
        """A typed leaf of an expression."""
        kind = self.one_of(*INTEGERS)
        constant = (
            f"({self.one_of('-', '~')}dppy.{kind}({self.one_of(0, 1, 5, 100, np.iinfo(kind).max)}))"
        )
        if self.in_function:
            return self.one_of(*self.integers, *self.untyped, constant)
        if self.chance(4):
            return self.of_a_view()
        array = self.one_of(*ARRAYS.values())
        leaves = [
            constant,
            f"{array}[i]",
            f"{array}[{self.place()}]",
            "i",
            self.neighbor,
            "n",
            *self.integers,
            *self.untyped,
        ]
        leaves.append(f"grid[i, {self.place(COLUMNS)}]")
        leaves.append("small[i]")
        if self.has_private:
            leaves.append(f"own[{self.place(PRIVATE)}]")
        if self.shared_is_readable:
            leaves.append(f"shared[(lid + {self.draw(st.integers(0, 5))}) % {self.group}]")
        if self.counts_are == "readable":
            leaves.append(f"counts[{self.place(CELLS)}]")
        return self.one_of(*leaves)

    def of_a_view(self) -> str:
        """An element of an array of several dimensions, or of a part of one; or the length of a
        part.
        """
        form = self.one_of(
            "table", "table", "wide", "cube", "part", "row", "length", "flag", "single"
        )
        if form == "table":
            return f"table[{self.narrow(self.one_of('int8', 'uint8'), 2)}]"
        if form == "wide":
            return f"wide[{self.place()}, {self.place(WIDE)}]"
        if form == "cube":
            return f"cube[{', '.join(self.place(extent) for extent in CUBE)}]"
        if form == "part":
            start, step = self.draw(st.integers(0, 5)), self.one_of(1, 2, 3)
            return f"table[{start}:{start + 40 * step}:{step}][{self.place(40)}]"
        if form == "row":
            return self.one_of(
                f"wide[{self.place()}][{self.place(WIDE)}]",
                f"wide.T[{self.place(WIDE)}, {self.place()}]",
                f"cube[{self.place(CUBE[0])}, 1:][{self.place(CUBE[1] - 1)}, "
                f"{self.place(CUBE[2])}]",
            )
        if form == "length":
            first, last = (self.narrow(self.one_of("int8", "uint8", "int16"), 1) for _ in range(2))
            part = self.one_of(f"{first}:", f":{last}", f"{first}:{last}", f"{first}:{last}:2")
            return f"len(table[{part}])"
        if form == "flag":
            return f"dppy.{self.one_of(*INTEGERS)}(flags[{self.place()}])"
        return f"dppy.int64(x[{self.place()}] * x[i] {self.one_of('+', '-')} x[{self.place()}])"

    def place(self, extent: int = 0) -> str:
        """An index that is itself an element, from the front or the end; by default of an array
        with one element for each work-item."""
        extent = extent or self.items
        at = (
            f"{self.one_of(*ARRAYS.values())}"
            f"[{self.one_of('i', self.neighbor, f'-1 - {self.neighbor}')}]"
        )
        if self.chance(3):
            at = f"{self.one_of(*ARRAYS.values())}[{at} % {self.items}]"
        return self.one_of(f"{at} % {extent}", f"dppy.int64({at}) % {extent} - {extent}")

    def narrow(self, kind: str, depth: int) -> str:
        """An integer expression of exactly that type, which wraps in it."""
        largest = int(np.iinfo(kind).max)
        leaves = [name for name in self.integers if self.types.get(name) == kind]
        leaves.append(f"dppy.{kind}({self.one_of(0, 1, 2, 77, largest)})")
        if self.in_function:
            leaves.append(f"dppy.{kind}({self.one_of('p', 'q')})")
        else:
            leaves += [
                f"{ARRAYS[kind]}[i]",
                f"{ARRAYS[kind]}[{self.neighbor}]",
                f"{ARRAYS[kind]}[-1 - i]",
            ]
        if depth == 0:
            return self.one_of(*leaves)
        left = self.narrow(kind, depth - 1)
        form = self.one_of("binary", "binary", "literal", "twice", "shift", "unary", "call", "cast")
        if form == "binary":
            return f"({left} {self.one_of(*OPERATORS)} {self.narrow(kind, depth - 1)})"
        if form == "literal":
            return f"({left} {self.one_of(*OPERATORS)} {self.draw(st.integers(0, 100))})"
        if form == "twice":
            leaf = self.one_of(*leaves)
            return f"({leaf} {self.one_of('+', '*', '-')} {leaf})"
        if form == "shift":
            return f"({left} {self.one_of('<<', '>>')} {self.draw(st.integers(0, 9))})"
        if form == "unary":
            return self.one_of(f"(-{left})", f"(~{left})", f"abs({left})")
        if form == "call":
            return f"{self.one_of('min', 'max')}({left}, {self.narrow(kind, depth - 1)})"
        return f"dppy.{kind}({self.one_of('p' if self.in_function else 'i', *self.integers)})"

    def integer(self, depth: int) -> str:
        if depth == 0 or self.chance(4):
            return self.typed_integer()
        left = self.integer(depth - 1)
        forms = [
            "binary",
            "binary",
            "binary",
            "literal",
            "square",
            "shift",
            "unary",
            "call",
            "select",
            "cast",
            "power",
            "real",
        ]
        if not self.in_function:
            forms += (
                ["narrow", "floor"] + ["half"] * bool(self.halves) + ["reader"] * bool(self.readers)
            )
        form = self.one_of(*forms, *(["function", "function"] if self.functions else []))
        if form == "narrow":
            return self.narrow(self.one_of(*INTEGERS), 2)
        if form == "floor":
            return f"math.{self.one_of('floor', 'ceil', 'trunc')}({self.real(depth - 1)})"
        if form == "half":
            return f"dppy.int64({self.half(1)})"
        if form == "reader":
            part = self.one_of(
                "table",
                "a",
                "h",
                f"wide[{self.place()}]",
                "table[3:40:2]",
                f"cube[1, {self.place(CUBE[1])}]",
            )
            return f"{self.one_of(*self.readers)}({part}, {left})"
        if form == "binary":
            return f"({left} {self.one_of(*OPERATORS)} {self.integer(depth - 1)})"
        if form == "literal":
            return f"({left} {self.one_of(*OPERATORS)} {self.draw(st.integers(0, 100))})"
        if form == "square":  # 0 of what is not, and less than 0, where it wraps
            root = self.typed_integer()
            return f"({left} {self.one_of('+', '//', '%')} ({root} * {root}))"
        if form == "shift":
            return f"({left} {self.one_of('<<', '>>')} {self.draw(st.integers(0, 70))})"
        if form == "unary":
            return f"{self.one_of('-', '~', '+')}({left})"
        if form == "call":
            return f"{self.one_of('min', 'max')}({left}, {self.integer(depth - 1)})"
        if (
            form == "select" and not self.in_function and self.chance(2)
        ):  # whose types there are those of each call
            right = self.one_of(self.integer(depth - 1), str(self.draw(st.integers(0, 100))))
            if self.chance(3):
                return f"({left} {self.one_of('and', 'or')} {right})"
            return f"({left} if {self.condition(depth - 1)} else {right})"
        if form == "select":
            kind = self.one_of(*INTEGERS)
            return (
                f"(dppy.{kind}({left}) if {self.condition(depth - 1)} "
                f"else dppy.{kind}({self.integer(depth - 1)}))"
            )
        if form == "power":
            return f"({left} ** {self.draw(st.integers(0, 3))})"
        if form == "real":
            return f"dppy.int64({self.real(depth - 1)})"
        if form == "function":
            return (
                f"{self.one_of(*self.functions)}"
                f"({left}, {self.integer(depth - 1)}, {self.real(depth - 1)})"
            )
        return f"dppy.{self.one_of(*INTEGERS)}({left})"

    def condition(self, depth: int) -> str:
        forms = ["compare", "compare", "chain", "logic", "not", "real"]
        form = (
            self.one_of(*forms, *([] if self.in_function else ["flag", "half"]))
            if depth
            else "compare"
        )
        if form == "flag":
            return f"flags[{self.place()}]"
        if form == "half":
            return f"{self.half(1)} {self.one_of('<', '<=', '==', '!=')} {self.half(1)}"
        operators = ("<", "<=", ">", ">=", "==", "!=")
        if form == "compare":
            return (
                f"{self.integer(depth and depth - 1)} {self.one_of(*operators)} "
                f"{self.integer(depth and depth - 1)}"
            )
        if form == "chain":
            middle, last = self.integer(depth - 1), self.integer(depth - 1)
            return (
                f"{self.typed_integer()} {self.one_of(*operators)} {middle} "
                f"{self.one_of(*operators)} {last}"
            )
        if form == "real":
            return f"{self.real(depth - 1)} {self.one_of(*operators)} {self.real(depth - 1)}"
        if form == "not":
            return f"not ({self.condition(depth - 1)})"
        return (
            f"({self.condition(depth - 1)} {self.one_of('and', 'or')} {self.condition(depth - 1)})"
        )

    def real(self, depth: int) -> str:
        if depth == 0 or self.chance(4):
            if self.in_function:
                return self.one_of(*self.floats)
            halves = [f"dppy.float64(dppy.int64({each}))" for each in self.halves]
            return self.one_of(
                "dppy.float64(x[i])", "y[i]", f"y[{self.place()}]", *self.floats, *halves
            )
        left = self.real(depth - 1)
        form = self.one_of("binary", "binary", "literal", "call", "select", "integer")
        if form == "binary":
            return f"({left} {self.one_of('+', '-', '*')} {self.real(depth - 1)})"
        if form == "literal":
            if self.chance(4):
                return f"({left} / {self.one_of('2', '0.5', '-0.25')})"
            if self.chance(4):
                return f"({left} {self.one_of('//', '%')} {self.one_of('2.0', '3.0', '-1.25')})"
            return (
                f"({left} {self.one_of('+', '-', '*')} {self.one_of('2', '0.5', '-1.25', '3.0')})"
            )
        if form == "call":
            return f"{self.one_of('min', 'max')}({left}, {self.real(depth - 1)})"
        if form == "select":
            return f"({left} if {self.condition(depth - 1)} else {self.real(depth - 1)})"
        return f"({left} + dppy.int8({self.integer(depth - 1)}))"

    def half(self, depth: int) -> str:
        """An expression of float16, which rounds after each operation."""
        leaves = [
            "halves[i]",
            f"halves[{self.place()}]",
            *self.halves,
            f"dppy.float16({self.one_of(0.1, 2.25, -7.5)})",
        ]
        if depth == 0 or self.chance(4):
            return self.one_of(*leaves)
        left = self.half(depth - 1)
        form = self.one_of("binary", "binary", "literal", "unary", "call", "select")
        if form == "binary":
            return f"({left} {self.one_of('+', '-', '*')} {self.half(depth - 1)})"
        if form == "literal":
            return f"({left} {self.one_of('+', '-', '*')} {self.one_of('0.3', '2.0', '-1.25')})"
        if form == "unary":
            return self.one_of(f"(-{left})", f"abs({left})")
        if form == "call":
            return f"{self.one_of('min', 'max')}({left}, {self.half(depth - 1)})"
        return f"({left} if {self.condition(0)} else {self.half(depth - 1)})"

    # Statements -----------------------------------------------------------------------------------

    def assign_integer(self) -> None:
        value = self.integer(2)
        if (
            self.types
            and self.chance(3)
            and (mine := [each for each in self.integers if each in self.types])
        ):
            name = self.one_of(*mine)
            self.line(f"{name} = dppy.{self.types[name]}({value})")
            return
        name, kind = f"v{self.made}", self.one_of(*INTEGERS)
        self.made += 1
        self.line(f"{name} = dppy.{kind}({value})")
        self.integers.append(name)
        self.types[name] = kind

    def assign_untyped(self) -> None:
        """A variable of literals, or of an expression of such variables."""
        name = self.one_of(*self.untyped) if self.untyped and self.chance(3) else f"w{self.made}"
        self.made += 1
        self.line(f"{name} = {self.of_literals()}")
        if name not in self.untyped:
            self.untyped.append(name)

    def of_literals(self) -> str:
        literal = str(self.draw(st.sampled_from([0, 1, -1, 7, 100, 300, 70000, 2**40])))
        form = (
            self.one_of("literal", "choice", "binary", "unary", "call", "select")
            if self.untyped
            else self.one_of("literal", "choice")
        )
        if form == "literal":
            return literal
        if form == "choice":
            return f"({literal} if {self.condition(1)} else {self.draw(st.integers(-300, 300))})"
        left, right = self.one_of(*self.untyped), self.one_of(*self.untyped, literal)
        if form == "unary":
            return f"{self.one_of('-', '~', '+', 'abs')}({left})"
        if form == "call":
            return f"{self.one_of('min', 'max')}({right}, {left})"
        if form == "select":
            return f"({right} if {self.condition(1)} else {left})"
        return f"({left} {self.one_of('+', '-', '*', '//', '%', '&', '|', '^')} {right})"

    def assign_typed_later(self) -> None:
        """A variable that begins as a literal or an untyped integer, and meets elements later."""
        name, kind = f"l{self.made}", self.one_of(*INTEGERS)
        self.made += 1
        if self.untyped and self.chance(2):
            self.line(f"{name} = {self.one_of(*self.untyped)}")
            self.types[name] = "int64"
        else:
            some, other = (self.draw(st.integers(0, 100)) for _ in range(2))
            self.line(
                f"{name} = {some}"
                if self.chance(2)
                else f"{name} = {some} if {self.condition(1)} else {other}"
            )
            self.types[name] = kind
        self.line(f"out[i] += {name} - 1")
        self.line(f"{name} {self.one_of('+', '-', '*')}= dppy.{kind}({self.integer(1)})")
        self.integers.append(name)

    def assign_real(self) -> None:
        """Kept small and a whole number of quarters, so that later products are exact."""
        name = self.one_of(*self.floats) if self.floats and self.chance(3) else f"r{self.made}"
        self.made += 1
        self.line(f"{name} = {self.quarters()}")
        if name not in self.floats:
            self.floats.append(name)

    def quarters(self) -> str:
        value = self.real(2)
        if self.chance(4):
            value = f"({value} / {self.one_of(*INEXACT_DIVISORS)})"
        return (
            f"dppy.float64(dppy.int64(max(min(dppy.float64({value}), 1000.0), -1000.0) * 4.0)) "
            f"/ 4.0"
        )

    def function(self) -> None:
        """A function of two integers of any type and a float; it may call existing ones."""
        writer = _Writer(
            self.draw,
            integers=["p", "q"],
            floats=["z"],
            functions=dict(self.functions),
            in_function=True,
        )
        writer.types = {}
        kind = self.one_of(*INTEGERS)
        name = f"function{len(self.functions)}"
        for _ in range(self.draw(st.integers(0, 2))):
            form = self.one_of("integer", "untyped", "real", "return", "loop")
            if form == "integer":
                writer.assign_integer()
            elif form == "untyped":
                writer.assign_untyped()
            elif form == "real":
                writer.assign_real()
            elif form == "return":
                writer.line(f"if {writer.condition(1)}:")
                writer.line(f"    return dppy.{kind}({writer.integer(1)})")
            else:
                total = f"s{writer.made}"
                writer.made += 1
                writer.line(f"{total} = dppy.int64({writer.integer(1)})")
                writer.line(f"for k in range({self.draw(st.integers(0, 4))}):")
                writer.line(f"    {total} += k * {writer.typed_integer()}")
                writer.integers.append(total)
                writer.types[total] = "int64"
        writer.line(f"return dppy.{kind}({writer.integer(2)})")
        self.functions[name] = "\n".join(
            ["", "@dppy.func", f"def {name}(p, q, z):", *writer.lines, ""]
        )

    def reader(self) -> None:
        """A function of an array and an integer."""
        kind, name = self.one_of(*INTEGERS), f"reader{len(self.readers)}"
        place = self.one_of(
            "p % len(t)", "dppy.int64(p) % len(t) - len(t)", "-1 - p % len(t)", "(p * p) % len(t)"
        )
        value = (
            f"t[{place}] {self.one_of('+', '-', '*', '//', '%')} "
            f"{self.one_of('t[0]', 'p', 'len(t)', '3')}"
        )
        text = f"\n@dppy.func\ndef {name}(t, p):\n    return dppy.{kind}({value})\n"
        self.readers[name] = text

    def pair(self) -> None:
        """A function that returns two integers."""
        name, kinds = f"pair{len(self.pairs)}", (self.one_of(*INTEGERS), self.one_of(*INTEGERS))
        writer = _Writer(
            self.draw,
            integers=["p", "q"],
            floats=["z"],
            functions=dict(self.functions),
            in_function=True,
        )
        values = ", ".join(f"dppy.{kind}({writer.integer(1)})" for kind in kinds)
        self.pairs[name] = kinds
        self.functions_of_pairs.append(f"\n@dppy.func\ndef {name}(p, q, z):\n    return {values}\n")

    def variable(self) -> str:
        """A variable of known type; makes one if there are too few."""
        known = [name for name in self.integers if name in self.types]
        if len(known) < 2 or self.chance(4):
            name, kind = f"v{self.made}", self.one_of(*INTEGERS)
            self.made += 1
            self.line(f"{name} = {self.narrow(kind, 1)}")
            self.types[name] = kind
            self.integers.append(name)
            return name
        return self.one_of(*known)

    def assign_tuple(self) -> None:
        """Assigns to several variables and elements simultaneously."""
        if self.pairs and self.chance(4):
            name = self.one_of(*self.pairs)
            targets = [f"v{self.made}", f"v{self.made + 1}"]
            self.made += 2
            self.line(
                f"{', '.join(targets)} = {name}({self.integer(1)}, {self.integer(0)}, "
                f"{self.real(0)})"
            )
            self.types.update(zip(targets, self.pairs[name], strict=True))
            self.integers += targets
            return
        names = list(dict.fromkeys(self.variable() for _ in range(self.draw(st.integers(2, 4)))))
        elements = [f"grid[i, {k}]" for k in range(COLUMNS)]
        targets = [*names, self.one_of(*elements)] if self.chance(2) or len(names) == 1 else names
        sources = [*names, *elements]

        def item(target: str) -> str:
            kind = self.types.get(target, "int64")
            source = self.one_of(*sources, self.narrow(kind, 1))
            return (
                source
                if self.types.get(source) == kind and self.chance(2)
                else f"dppy.{kind}({source})"
            )

        items = [item(target) for target in targets]
        form = self.one_of("flat", "nested", "nested", "several", "variable")
        if form == "nested" and len(targets) > 2:
            at = self.draw(st.integers(0, len(targets) - 2))
            nested = [
                ", ".join([*each[:at], f"({each[at]}, {each[at + 1]})", *each[at + 2 :]])
                for each in (targets, items)
            ]
            self.line(f"{nested[0]} = {nested[1]}")
            return
        left, right = ", ".join(targets), ", ".join(items)
        if form == "several":
            name = f"t{self.made}"
            self.made += 1
            self.line(f"{self.one_of(f'{left} = {name}', f'{name} = {left}')} = ({right})")
            self.integers += [f"{name}[{k}]" for k in range(len(targets))]
        elif form == "variable":
            name = f"t{self.made}"
            self.made += 1
            self.line(f"{name} = ({right})")
            self.line(f"{left} = {name}")
            self.integers += [f"{name}[{k}]" for k in range(len(targets))]
        else:
            self.line(f"{left} = {right}")

    def learn(self) -> None:
        """A condition from which a compiler derives a variable's range, and uses of that range."""
        name = self.variable()
        kind = self.types[name]
        bound = self.one_of("0", "1", "0", self.narrow(kind, 1), self.typed_integer())
        operator = self.one_of(">", ">=", "<", "<=", "!=", "==")
        self.line(self.one_of(f"if {name} {operator} {bound}:", f"if {bound} {operator} {name}:"))
        self.indent += 1
        for _ in range(self.draw(st.integers(1, 3))):
            other = self.one_of(name, *self.integers)
            value = self.one_of(
                name,
                f"({name} {self.one_of('+', '-', '*')} {other})",
                f"abs({name})",
                f"({name} << 1)",
            )
            if kind in ("int8", "uint8") and self.chance(2):
                index = self.one_of(
                    name, f"{name} + {name}", f"{name} * 2", f"abs({name})", f"-{name}"
                )
                self.line(f"out[i] ^= table[{index}]")
                continue
            use = self.one_of("quotient", "quotient", "index", "length", "loop", "halved")
            if use == "quotient":
                self.line(
                    f"out[i] += dppy.int64({value} {self.one_of('//', '%')} "
                    f"{self.one_of('2', '4', '7', '13', other)})"
                )
            elif use == "index":
                index = self.one_of(f"{value} % 13", f"{value} % 16", f"{value} & 15")
                self.line(f"out[i] ^= table[{index}]")
            elif use == "length":
                part = self.one_of(f"{value} % 100:", f":{value} % 100", f"{value} & 63:")
                self.line(f"out[i] += len(table[{part}])")
            elif use == "loop":
                ends = self.one_of(
                    f"{name} % 5", f"min({name}, 5)", f"max({name}, 3), 6", f"-1, {value} % 4"
                )
                self.line(f"for k in range({ends}):")
                self.line("    out[i] += k + 1")
                self.line("    if not -2 < k < 9:")
                self.line("        break")
            else:
                self.line(f"while {name} > 0:")
                self.line(
                    f"    {name} = dppy.{kind}({self.one_of(f'{name} // 2', f'{name} >> 1')})"
                )
                self.line("    out[i] += 1")
        self.indent -= 1

    def assign_hash(self) -> None:
        """A wrapping sum of all elements of an array."""
        kind, array, name = self.one_of(*INTEGERS), self.one_of(*ARRAYS.values()), f"v{self.made}"
        self.made += 1
        self.line(f"{name} = dppy.{kind}({self.one_of('0', '77', 'i')})")
        self.line(f"for k in range(len({array})):")
        self.line(f"    {name} = dppy.{kind}({name} * 33 {self.one_of('+', '^')} {array}[k])")
        self.types[name] = kind
        self.integers.append(name)

    def assign_half(self) -> None:
        name = self.one_of(*self.halves) if self.halves and self.chance(3) else f"h{self.made}"
        self.made += 1
        self.line(f"{name} = min(max({self.half(2)}, dppy.float16(-8.0)), dppy.float16(8.0))")
        if name not in self.halves:
            self.halves.append(name)

    def store(self) -> None:
        """Writes an element that belongs to the work-item."""
        form = self.one_of("out", "out", "grid", "small", "rounded", "own")
        if form == "out":
            target = self.one_of(
                "out[i] += dppy.int64({})", "out[i] ^= dppy.int64({})", "out[i] = dppy.int64({})"
            )
            self.line(target.format(self.integer(2)))
        elif form == "rounded":
            self.line(f"rounded[i] = {self.half(2)}")
        elif form == "small":
            self.line(f"small[i] = {self.integer(2)}")
        else:
            array, extent = (
                ("own[", PRIVATE) if form == "own" and self.has_private else ("grid[i, ", COLUMNS)
            )
            operator = self.one_of("=", "+=", "-=", "*=", "|=", "^=", "//=", "%=")
            self.line(
                f"{array}{self.place(extent)}] {operator} {self.narrow(self.one_of(*INTEGERS), 2)}"
            )

    def atomic(self) -> None:
        cell = self.draw(st.integers(0, CELLS - 1))
        if self.chance(4):
            return self.line(f"dppy.atomic.add(sums, {self.place()}, {self.quarters()})")
        local = self.counts_are == "changed" and self.chance(2)
        cells, kind = ("counts", self.counted) if local else ("cells", "int64")
        self.line(f"dppy.atomic.{ATOMICS[cell]}({cells}, {cell}, dppy.{kind}({self.integer(2)}))")

    def block(self, statements: int, depth: int) -> None:
        """A scope of its own: variables that it introduces are not read after it."""
        names = self.names()
        self.indent += 1
        for _ in range(statements):
            self.statement(depth)
        self.indent -= 1
        self.forget(names)

    def names(self) -> list[list[str]]:
        return [list(self.integers), list(self.floats), list(self.untyped), list(self.halves)]

    def forget(self, names: list[list[str]]) -> None:
        """Removes variables assigned since ``names()`` was called."""
        self.integers, self.floats, self.untyped, self.halves = names

    def statement(self, depth: int) -> None:
        kinds = ["integer", "integer", "untyped", "typed later", "real", "store", "store", "atomic"]
        kinds += ["half", "tuple", "tuple", "learn", "learn", "hash"]
        form = self.one_of(*kinds, *(["if", "for", "while"] if depth else []))
        if form == "untyped":
            self.assign_untyped()
        elif form == "typed later":
            self.assign_typed_later()
        elif form == "integer":
            self.assign_integer()
        elif form == "real":
            self.assign_real()
        elif form == "store":
            self.store()
        elif form == "half":
            self.assign_half()
        elif form == "tuple":
            self.assign_tuple()
        elif form == "learn":
            self.learn()
        elif form == "hash":
            self.assign_hash()
        elif form == "atomic":
            self.atomic()
        elif form == "if":
            self.line(f"if {self.condition(2)}:")
            self.block(2, depth - 1)
            if self.chance(2):
                self.line("else:")
                self.block(2, depth - 1)
        else:
            self.loop(form, depth)

    def loop(self, form: str, depth: int) -> None:
        name = f"k{self.made}"
        self.made += 1
        if form == "for":
            first = self.one_of(0, 0, 0, 2**31 - 3, -(2**31))
            start, stop = (first + self.draw(st.integers(-3, 5)) for _ in range(2))
            self.line(f"for {name} in range({start}, {stop}, {self.step()}):")
        else:
            first = self.one_of(0, 0, 0, 2**31 - 3)
            self.line(f"{name} = {self.one_of('dppy.int64({})', '{}').format(first)}")
            self.line(f"while {name} < {first + self.draw(st.integers(0, 4))}:")
            self.indent += 1
            self.line(f"{name} += 1")
            self.indent -= 1
        self.indent += 1
        self.line(f"out[i] += {name}")
        if self.chance(2):
            self.line(f"if {self.condition(1)}:")
            self.line(f"    {self.one_of('break', 'continue')}")
        self.indent -= 1
        integers = list(self.integers)
        if form == "for":
            self.integers.append(name)
        self.block(2, depth - 1)
        self.integers = integers

    def step(self) -> str:
        """A step of a range, never 0."""
        up = f"dppy.int64({self.one_of('b[i]', 'a[i]', 'n')} % 3) + 1"
        return self.one_of("1", "1", "2", "-1", "n - 3", up, f"-({up})")

    def phase(self) -> None:
        """All write local memory and read it after a barrier; at times in a uniform loop or if."""
        form = self.one_of("plain", "plain", "for", "while", "if")
        names = self.names()
        if form != "plain":
            self.all_enter(form)
        counts = self.chance(2)
        if counts:
            for part in range(CELLS // self.group):
                self.line(
                    f"counts[lid + {part * self.group}] = "
                    f"dppy.{self.counted}({self.typed_integer()})"
                )
            self.line("dppy.barrier()")
            self.counts_are = "changed"
            self.atomic()
        for _ in range(self.draw(st.integers(0, 2))):
            self.statement(1)
        if self.chance(2):
            self.together()
        self.line(f"shared[lid] = dppy.int64({self.integer(2)})")
        self.line("dppy.barrier()")
        self.shared_is_readable = True
        self.counts_are = "readable" if counts else ""
        for _ in range(2):
            self.statement(1)
        self.shared_is_readable = False
        self.counts_are = ""
        self.line("dppy.barrier()")
        if form != "plain":
            self.indent -= 1
            self.forget(names)

    def together(self) -> None:
        """A group function over the values of all work-items of a group."""
        form = self.one_of("reduce", "inclusive_scan", "exclusive_scan", "broadcast", "any", "all")
        name, kind = f"g{self.made}", self.one_of(*INTEGERS)
        self.made += 1
        if form in ("any", "all"):
            self.line(f"{name} = dppy.{kind}(dppy.group.{form}({self.condition(1)}))")
        elif form != "exclusive_scan" and self.chance(3):
            self.line(
                f"{name}_all = dppy.group.{form}({self.quarters()}, "
                f"{self.taken(form, 'add', 'min', 'max')})"
            )
            self.line(f"{name} = dppy.{kind}(dppy.int64({name}_all * 4.0))")
        else:
            taken = self.taken(form, "add", "mul", "min", "max", "and", "or", "xor")
            self.line(f"{name} = dppy.group.{form}(dppy.{kind}({self.integer(2)}), {taken})")
        self.integers.append(name)
        self.types[name] = kind

    def taken(self, form: str, *operations: str) -> str:
        return (
            str(self.draw(st.integers(0, self.group - 1)))
            if form == "broadcast"
            else f'"{self.one_of(*operations)}"'
        )

    def all_enter(self, form: str) -> None:
        """The head of a block with barriers: every work-item takes the same branch."""
        name, count = f"t{self.made}", self.draw(st.integers(1, 3))
        self.made += 1
        if form == "if":
            self.line(f"if n {self.one_of('>', '<', '!=')} {self.draw(st.integers(3, 6))}:")
        elif form == "for":
            self.line(f"for {name} in range({count}):")
        else:
            self.line(f"{name} = dppy.int32(0)")
            self.line(f"while {name} < {count}:")
        self.indent += 1
        if form == "while":
            self.line(f"{name} += 1")
            if self.chance(3):
                self.line(f"if {name} == 2:")
                self.line(f"    {self.one_of('break', 'continue')}")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A module with a kernel ``program``."""
    items, group = draw(st.sampled_from(list(SIZES)))
    counted, private_kind = draw(st.sampled_from(INTEGERS[4:])), draw(st.sampled_from(INTEGERS))
    writer = _Writer(draw, counted=counted, items=items, group=group)
    for _ in range(draw(st.integers(0, 2))):
        writer.function()
    for _ in range(draw(st.integers(0, 1))):
        writer.reader()
        writer.pair()
    start = writer.narrow(private_kind, 1)
    writer.has_private = True
    for _ in range(draw(st.integers(1, 3))):
        writer.statement(2)
        if draw(st.booleans()):
            writer.phase()
    if writer.chance(4):
        writer.line(f"if {writer.condition(1)}:")
        writer.line("    return")
    writer.line(f"out[i] += dppy.int64({writer.integer(2)})")
    writer.line(f"floats[i] = {writer.real(2)}")
    functions = "\n".join(
        [*writer.functions.values(), *writer.readers.values(), *writer.functions_of_pairs]
    )
    ranges = draw(st.sampled_from(SIZES[items, group]))
    head = _HEAD.format(
        functions=functions,
        items=items,
        ranges=ranges,
        parameters=PARAMETERS,
        item=_number("global", ranges),
        own=_number("local", ranges),
        group=group,
        cells=CELLS,
        counted=counted,
        private=PRIVATE,
        private_kind=private_kind,
        start=start,
    )
    return head + "\n".join(writer.lines) + "\n"


def _number(which: str, ranges: str) -> str:
    """Number of a work-item in the range or in its group, in the order of the dimensions."""
    sizes = ast.literal_eval(ranges)[which == "local"]
    number = f"dppy.get_{which}_id(0)"
    for dimension, size in list(enumerate(sizes))[1:] if isinstance(sizes, tuple) else []:
        number = f"({number}) * {size} + dppy.get_{which}_id({dimension})"
    return number


_HEAD_OF_SUMS = """\
import math

import entrepot.kernel as dppy

ITEMS = 8
GLOBAL, LOCAL = 8, None


@dppy.kernel
def program({parameters}):
    i = dppy.get_global_id(0)
"""


@st.composite
def sums(draw: st.DrawFn) -> str:
    """A module with a kernel ``program`` without groups: one loop that changes floats, about as
    long in each work-item.
    """
    writer = _Writer(draw, neighbor="i")
    for _ in range(draw(st.integers(0, 3))):
        writer.one_of(writer.assign_integer, writer.assign_real)()
    totals = [f"total{j}" for j in range(draw(st.integers(1, 3)))]
    for total in totals:
        writer.line(f"{total} = {writer.quarters()}")
        writer.floats.append(total)
    start, rounds, step = writer.one_of("0", "i", "i * 3"), draw(st.integers(0, 60)), writer.step()
    stop = f"{start} + {rounds * draw(st.integers(1, 3))}" + writer.one_of(
        "", " + i", " + dppy.int64(b[i] % 7)"
    )
    writer.line(
        f"for k in range({f'{stop}, {start}' if step.startswith('-') else f'{start}, {stop}'}, "
        f"{step}):"
    )
    integers, floats = list(writer.integers), list(writer.floats)
    writer.integers.append("k")
    writer.indent += 1
    if draw(st.booleans()):
        writer.one_of(writer.assign_integer, writer.assign_real)()
    for total in totals:
        form = writer.one_of("add", "max", "if")
        if form == "add":
            writer.line(f"{total} = max(min({total} + {writer.quarters()}, 1000.0), -1000.0)")
        elif form == "max":
            writer.line(f"{total} = max({total}, {writer.quarters()})")
        else:
            writer.line(f"if {writer.condition(1)}:")
            writer.line(f"    {total} = -{total}")
    writer.indent -= 1
    writer.integers, writer.floats = integers, floats
    writer.assign_real()
    writer.line(f"out[i] += dppy.int64({writer.integer(2)})")
    writer.line(f"floats[i] = {totals[0]} + {writer.one_of(*writer.floats)}")
    return _HEAD_OF_SUMS.format(parameters=PARAMETERS) + "\n".join(writer.lines) + "\n"


@dataclass(frozen=True)
class View:
    """An array that is part of a larger one, whose other elements no program accesses."""

    whole: np.ndarray
    slices: tuple[slice, ...]
    transposed: bool

    def of(self, whole: Any) -> Any:
        """The part of ``whole``, a copy of the larger array in another place."""
        return (whole.T if self.transposed else whole)[self.slices]


def arguments(items: int, seed: int = 7) -> dict[str, View | np.generic]:
    """Arguments of a program by name; the arrays are views of any strides, with elements around
    them.
    """
    random = np.random.default_rng(seed)
    values: dict[str, np.ndarray] = {
        "out": np.zeros(items, "i8"),
        "floats": np.zeros(items),
        "cells": np.arange(CELLS),
        "sums": np.zeros(items),
        "grid": _integers(random, "int64", (items, COLUMNS)),
        "small": np.zeros(items, INTEGERS[random.integers(len(INTEGERS))]),
        "rounded": np.zeros(items, "f2"),
    }
    values |= {name: _integers(random, dtype, (items,)) for dtype, name in ARRAYS.items()}
    quarters = random.integers(-32, 32, items) / 4
    values |= {
        "x": quarters.astype("f4"),
        "y": quarters[::-1].copy(),
        "halves": random.permutation(quarters).astype("f2"),
    }
    values["flags"] = random.choice(np.array([0, 1], "u1"), items).view("?")
    values["table"] = _integers(random, "int32", (TABLE,))
    values["wide"] = _integers(random, "int16", (items, WIDE))
    values["cube"] = _integers(random, "int64", CUBE)
    laid_out: dict[str, View | np.generic] = {
        name: _laid_out(random, each) for name, each in values.items()
    }
    return laid_out | {"n": np.dtype(INTEGERS[random.integers(len(INTEGERS))]).type(5)}


def _integers(random: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Integers of the whole range: its ends, small numbers and numbers near the ends among them."""
    limits = np.iinfo(dtype)
    values = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    flat = values.reshape(-1)
    small = random.random(flat.size) < 0.4
    flat[small] = random.integers(max(limits.min, -9), 9, flat.size)[small].astype(dtype)
    flat[:4] = [0, 1, limits.min, limits.max]
    return random.permutation(flat).reshape(shape)


def _laid_out(random: np.random.Generator, values: np.ndarray) -> View:
    plain, transposed = random.random() < 0.4, values.ndim > 1 and random.random() < 0.4
    extents, slices = [], []
    for dimension, extent in enumerate(values.shape):
        step = 1 if plain else int(random.choice([1, 1, 2, -1, -2]))
        before, behind = (0, 0) if plain and dimension else random.integers(1, 4, 2).tolist()
        last = before + (extent - 1) * abs(step)
        slices.append(
            slice(before, last + 1, step)
            if step > 0
            else slice(last, before - 1 if before else None, step)
        )
        extents.append(last + 1 + behind)
    shape = tuple(reversed(extents)) if transposed else tuple(extents)
    view = View(np.resize(random.permutation(values.reshape(-1)), shape), tuple(slices), transposed)
    view.of(view.whole)[...] = values
    return view
