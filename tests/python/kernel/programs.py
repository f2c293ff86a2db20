"""Random kernels for hypothesis: text of Python functions that use every operator on integers of all widths, floats, conditions,
loops, device functions, elements of elements, barriers, local memory, atomics and group functions, and have one meaning only.

So that two correct compilers agree, what is assigned to a variable states its type, or is an integer of literals, which is int64
where it meets one of a type, or takes the type of what the variable is assigned later; and floats are exact: a variable is a
number of quarters, 1000 at most, and no expression needs more than 53 bits. So nothing is rounded, and neither one rounding for
``a * b + c`` nor another order of additions, which compilers may choose, shows in a result. Each cell that atomics
change knows one of them that may come in any order, and nobody looks at what it was before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

Choice = TypeVar("Choice")

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ARRAYS = {"int8": "a", "uint8": "b", "int32": "c", "uint32": "d", "int64": "e", "uint64": "f"}
GROUP = 4
ITEMS = 8
#: What an expression may be divided by before it becomes a number of quarters: none of its quotients is as near to a quarter,
#: without being one, as rounding reaches.
INEXACT_DIVISORS = ["3.0", "-1.25", "7.0"]
#: What atomics do to each of the cells, in global and in local memory.
ATOMICS = ["add", "sub", "min", "max", "and_", "or_", "xor", "add"]
CELLS = len(ATOMICS)

_HEAD = """\
import entrepot.kernel as dppy

{functions}
@dppy.kernel
def program(out, floats, cells, sums, a, b, c, d, e, f, x, y, n):
    i = dppy.get_global_id(0)
    lid = dppy.get_local_id(0)
    shared = dppy.local.array({group}, dppy.int64)
    counts = dppy.local.array({cells}, dppy.{counted})
"""


@dataclass
class _Writer:
    """A program that is being drawn: its lines, and what may be named at this point."""

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
    in_function: bool = False
    neighbour: str = "lid"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def one_of(self, *choices: Choice) -> Choice:
        return self.draw(st.sampled_from(choices))

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(1, of)) == 1

    # Expressions -----------------------------------------------------------------------------------------------------

    def typed_integer(self) -> str:
        """A leaf that has a type."""
        kind = self.one_of(*INTEGERS)
        constant = f"({self.one_of('-', '~')}dppy.{kind}({self.one_of(0, 1, 5, 100, np.iinfo(kind).max)}))"
        if self.in_function:
            return self.one_of(*self.integers, *self.untyped, constant)
        array = self.one_of(*ARRAYS.values())
        leaves = [constant, f"{array}[i]", f"{array}[{self.place()}]", "i", self.neighbour, "n", *self.integers, *self.untyped]
        if self.shared_is_readable:
            leaves.append(f"shared[(lid + {self.draw(st.integers(0, 5))}) % {GROUP}]")
        if self.counts_are == "readable":
            leaves.append(f"counts[{self.place()}]")
        return self.one_of(*leaves)

    def place(self) -> str:
        """An index that is an element itself, from the front or from the end."""
        at = f"{self.one_of(*ARRAYS.values())}[{self.one_of('i', self.neighbour, f'-1 - {self.neighbour}')}]"
        if self.chance(3):
            at = f"{self.one_of(*ARRAYS.values())}[{at} % {ITEMS}]"
        return self.one_of(f"{at} % {ITEMS}", f"dppy.int64({at}) % {ITEMS} - {ITEMS}")

    def integer(self, depth: int) -> str:
        if depth == 0 or self.chance(4):
            return self.typed_integer()
        left = self.integer(depth - 1)
        forms = ["binary", "binary", "binary", "literal", "square", "shift", "unary", "call", "select", "cast", "power", "real"]
        form = self.one_of(*forms, *(["function", "function"] if self.functions else []))
        if form == "binary":
            return f"({left} {self.one_of('+', '-', '*', '//', '%', '&', '|', '^')} {self.integer(depth - 1)})"
        if form == "literal":
            return f"({left} {self.one_of('+', '-', '*', '//', '%', '&', '|', '^')} {self.draw(st.integers(0, 100))})"
        if form == "square":  # 0 of what is not, and less than 0, where it wraps
            root = self.typed_integer()
            return f"({left} {self.one_of('+', '//', '%')} ({root} * {root}))"
        if form == "shift":
            return f"({left} {self.one_of('<<', '>>')} {self.draw(st.integers(0, 70))})"
        if form == "unary":
            return f"{self.one_of('-', '~', '+')}({left})"
        if form == "call":
            return f"{self.one_of('min', 'max')}({left}, {self.integer(depth - 1)})"
        if form == "select" and not self.in_function and self.chance(2):  # whose types there are those of each call
            right = self.one_of(self.integer(depth - 1), str(self.draw(st.integers(0, 100))))
            if self.chance(3):
                return f"({left} {self.one_of('and', 'or')} {right})"
            return f"({left} if {self.condition(depth - 1)} else {right})"
        if form == "select":
            kind = self.one_of(*INTEGERS)
            return f"(dppy.{kind}({left}) if {self.condition(depth - 1)} else dppy.{kind}({self.integer(depth - 1)}))"
        if form == "power":
            return f"({left} ** {self.draw(st.integers(0, 3))})"
        if form == "real":
            return f"dppy.int64({self.real(depth - 1)})"
        if form == "function":
            return f"{self.one_of(*self.functions)}({left}, {self.integer(depth - 1)}, {self.real(depth - 1)})"
        return f"dppy.{self.one_of(*INTEGERS)}({left})"

    def condition(self, depth: int) -> str:
        form = self.one_of("compare", "compare", "chain", "logic", "not", "real") if depth else "compare"
        operators = ("<", "<=", ">", ">=", "==", "!=")
        if form == "compare":
            return f"{self.integer(depth and depth - 1)} {self.one_of(*operators)} {self.integer(depth and depth - 1)}"
        if form == "chain":
            middle, last = self.integer(depth - 1), self.integer(depth - 1)
            return f"{self.typed_integer()} {self.one_of(*operators)} {middle} {self.one_of(*operators)} {last}"
        if form == "real":
            return f"{self.real(depth - 1)} {self.one_of(*operators)} {self.real(depth - 1)}"
        if form == "not":
            return f"not ({self.condition(depth - 1)})"
        return f"({self.condition(depth - 1)} {self.one_of('and', 'or')} {self.condition(depth - 1)})"

    def real(self, depth: int) -> str:
        if depth == 0 or self.chance(4):
            if self.in_function:
                return self.one_of(*self.floats)
            return self.one_of("dppy.float64(x[i])", "y[i]", f"y[{self.place()}]", *self.floats)
        left = self.real(depth - 1)
        form = self.one_of("binary", "binary", "literal", "call", "select", "integer")
        if form == "binary":
            return f"({left} {self.one_of('+', '-', '*')} {self.real(depth - 1)})"
        if form == "literal":
            if self.chance(4):
                return f"({left} / {self.one_of('2', '0.5', '-0.25')})"
            return f"({left} {self.one_of('+', '-', '*')} {self.one_of('2', '0.5', '-1.25', '3.0')})"
        if form == "call":
            return f"{self.one_of('min', 'max')}({left}, {self.real(depth - 1)})"
        if form == "select":
            return f"({left} if {self.condition(depth - 1)} else {self.real(depth - 1)})"
        return f"({left} + dppy.int8({self.integer(depth - 1)}))"

    # Statements ------------------------------------------------------------------------------------------------------

    def assign_integer(self) -> None:
        value = self.integer(2)
        if self.types and self.chance(3) and (mine := [each for each in self.integers if each in self.types]):
            name = self.one_of(*mine)
            self.line(f"{name} = dppy.{self.types[name]}({value})")
            return
        name, kind = f"v{self.made}", self.one_of(*INTEGERS)
        self.made += 1
        self.line(f"{name} = dppy.{kind}({value})")
        self.integers.append(name)
        self.types[name] = kind

    def assign_untyped(self) -> None:
        """A variable of literals, or of what is calculated of such."""
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
        """A variable that begins with a literal, or with an integer that is none any more, and meets elements then."""
        name, kind = f"l{self.made}", self.one_of(*INTEGERS)
        self.made += 1
        if self.untyped and self.chance(2):
            self.line(f"{name} = {self.one_of(*self.untyped)}")
            self.types[name] = "int64"
        else:
            some, other = (self.draw(st.integers(0, 100)) for _ in range(2))
            self.line(f"{name} = {some}" if self.chance(2) else f"{name} = {some} if {self.condition(1)} else {other}")
            self.types[name] = kind
        self.line(f"out[i] += {name} - 1")
        self.line(f"{name} {self.one_of('+', '-', '*')}= dppy.{kind}({self.integer(1)})")
        self.integers.append(name)

    def assign_real(self) -> None:
        """Kept small and whole in quarters, so that the products of the next one are exact."""
        name = self.one_of(*self.floats) if self.floats and self.chance(3) else f"r{self.made}"
        self.made += 1
        self.line(f"{name} = {self.quarters()}")
        if name not in self.floats:
            self.floats.append(name)

    def quarters(self) -> str:
        value = self.real(2)
        if self.chance(4):
            value = f"({value} / {self.one_of(*INEXACT_DIVISORS)})"
        return f"dppy.float64(dppy.int64(max(min(dppy.float64({value}), 1000.0), -1000.0) * 4.0)) / 4.0"

    def function(self) -> None:
        """One of two integers of any type and a float; those that are already there may be called in it."""
        writer = _Writer(self.draw, integers=["p", "q"], floats=["z"], functions=dict(self.functions), in_function=True)
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
        self.functions[name] = "\n".join(["", "@dppy.func", f"def {name}(p, q, z):", *writer.lines, ""])

    def atomic(self) -> None:
        cell = self.draw(st.integers(0, CELLS - 1))
        if self.chance(4):
            return self.line(f"dppy.atomic.add(sums, {self.place()}, {self.quarters()})")
        local = self.counts_are == "changed" and self.chance(2)
        cells, kind = ("counts", self.counted) if local else ("cells", "int64")
        self.line(f"dppy.atomic.{ATOMICS[cell]}({cells}, {cell}, dppy.{kind}({self.integer(2)}))")

    def block(self, statements: int, depth: int) -> None:
        """In a scope of its own: what it assigns first is not to be read behind it."""
        integers, floats, untyped = list(self.integers), list(self.floats), list(self.untyped)
        self.indent += 1
        for _ in range(statements):
            self.statement(depth)
        self.indent -= 1
        self.integers, self.floats, self.untyped = integers, floats, untyped

    def statement(self, depth: int) -> None:
        kinds = ["integer", "integer", "untyped", "typed later", "real", "store", "atomic"]
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
            target = self.one_of("out[i] += dppy.int64({})", "out[i] ^= dppy.int64({})", "out[i] = dppy.int64({})")
            self.line(target.format(self.integer(2)))
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
        """A range's, which is never 0."""
        up = f"dppy.int64({self.one_of('b[i]', 'a[i]', 'n')} % 3) + 1"
        return self.one_of("1", "1", "2", "-1", "n - 3", up, f"-({up})")

    def phase(self) -> None:
        """What all write to local memory, they read behind a barrier; now and then in a loop or a condition that is all's."""
        form = self.one_of("plain", "plain", "for", "while", "if")
        integers, floats, untyped = list(self.integers), list(self.floats), list(self.untyped)
        if form != "plain":
            self.all_enter(form)
        counts = self.chance(2)
        if counts:
            for half in range(CELLS // GROUP):
                self.line(f"counts[lid + {half * GROUP}] = dppy.{self.counted}({self.typed_integer()})")
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
            self.integers, self.floats, self.untyped = integers, floats, untyped

    def together(self) -> None:
        """What the work-items of a group find out about all their values."""
        form = self.one_of("reduce", "inclusive_scan", "exclusive_scan", "broadcast", "any", "all")
        name, kind = f"g{self.made}", self.one_of(*INTEGERS)
        self.made += 1
        if form in ("any", "all"):
            self.line(f"{name} = dppy.{kind}(dppy.group.{form}({self.condition(1)}))")
        elif form != "exclusive_scan" and self.chance(3):
            self.line(f"{name}_all = dppy.group.{form}({self.quarters()}, {self.taken(form, 'add', 'min', 'max')})")
            self.line(f"{name} = dppy.{kind}(dppy.int64({name}_all * 4.0))")
        else:
            taken = self.taken(form, "add", "mul", "min", "max", "and", "or", "xor")
            self.line(f"{name} = dppy.group.{form}(dppy.{kind}({self.integer(2)}), {taken})")
        self.integers.append(name)
        self.types[name] = kind

    def taken(self, form: str, *operations: str) -> str:
        return str(self.draw(st.integers(0, GROUP - 1))) if form == "broadcast" else f'"{self.one_of(*operations)}"'

    def all_enter(self, form: str) -> None:
        """The head of a block with barriers: every work-item takes the same way."""
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
    writer = _Writer(draw, counted=draw(st.sampled_from(["int32", "uint32", "int64", "uint64"])))
    for _ in range(draw(st.integers(0, 2))):
        writer.function()
    for _ in range(draw(st.integers(1, 3))):
        writer.statement(2)
        if draw(st.booleans()):
            writer.phase()
    writer.line(f"out[i] += dppy.int64({writer.integer(2)})")
    writer.line(f"floats[i] = {writer.real(2)}")
    functions = "\n".join(writer.functions.values())
    head = _HEAD.format(group=GROUP, cells=CELLS, counted=writer.counted, functions=functions)
    return head + "\n".join(writer.lines) + "\n"


_HEAD_OF_SUMS = """\
import entrepot.kernel as dppy

@dppy.kernel
def program(out, floats, cells, sums, a, b, c, d, e, f, x, y, n):
    i = dppy.get_global_id(0)
"""


@st.composite
def sums(draw: st.DrawFn) -> str:
    """A module with a kernel ``program`` without groups: one loop that changes floats, about as long in each work-item."""
    writer = _Writer(draw, neighbour="i")
    for _ in range(draw(st.integers(0, 3))):
        writer.one_of(writer.assign_integer, writer.assign_real)()
    totals = [f"total{j}" for j in range(draw(st.integers(1, 3)))]
    for total in totals:
        writer.line(f"{total} = {writer.quarters()}")
        writer.floats.append(total)
    start, rounds, step = writer.one_of("0", "i", "i * 3"), draw(st.integers(0, 60)), writer.step()
    stop = f"{start} + {rounds * draw(st.integers(1, 3))}" + writer.one_of("", " + i", " + dppy.int64(b[i] % 7)")
    writer.line(f"for k in range({f'{stop}, {start}' if step.startswith('-') else f'{start}, {stop}'}, {step}):")
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
    return _HEAD_OF_SUMS + "\n".join(writer.lines) + "\n"
