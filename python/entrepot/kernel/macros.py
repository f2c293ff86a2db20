"""Macros: names of another kernel language, written out in terms of this one."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .._core import KernelError

#: The Python objects that the arguments of a call denote, by place and by keyword. A local name has
#: none.
Values = dict[Any, Any]
Expansion = Callable[[ast.expr, Values], "ast.expr | str"]


class Macro:
    """A name that a kernel's front end replaces by another expression.

    ``expansion`` is given the node and the Python objects that the arguments denote: a call, or the
    name alone. It returns the expression, or a text that says why the use is refused. A Constant in
    the expression may hold a function of the language or a device function.
    """

    def __init__(self, name: str, expansion: Expansion, doc: str = "") -> None:
        self.name, self._expansion, self.__doc__ = name, expansion, doc

    def __repr__(self) -> str:
        return f"<macro {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise KernelError(
            f"{self.name}() was called in plain Python, and has a meaning only inside a kernel: "
            "call it in a function that jit() decorates, and launch that"
        )

    def expand(self, node: ast.expr, values: Values) -> ast.expr | str:
        """The expression, whose nodes have the place of ``node`` where they have none."""
        made = self._expansion(node, values)
        if isinstance(made, str):
            return made
        return ast.fix_missing_locations(ast.copy_location(made, node))
