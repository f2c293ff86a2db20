"""A Sphinx directive for the reference: a table of objects, and then the description of each.

.. currentmodule:: entrepot
.. described::

   devices
   Device
"""

import inspect
import operator
from importlib import import_module

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.ext.autosummary import Autosummary, mangle_signature

from entrepot.kernel.language import Builtin, Namespace


def with_members(name: str, described: object) -> list[str]:
    """The name; for a group of functions of the kernel language, the names of these as well."""
    members = vars(described).items() if isinstance(described, Namespace) else ()
    return [name, *(f"{name}.{each}" for each, value in members if isinstance(value, Builtin))]


def is_nanobind_function(described: object) -> bool:
    return type(described).__name__ == "nb_func"


def directive(name: str, described: object) -> list[str]:
    """The lines of autodoc's directive for the object."""
    if inspect.isclass(described):
        if issubclass(described, BaseException):
            return [f".. autoexception:: {name}", ""]
        lines = [f".. autoclass:: {name}", "   :members:"]
        if described.__module__.startswith("entrepot.hip"):
            lines.append("   :inherited-members:")
        if hasattr(described, "__dlpack__"):
            lines.append("   :special-members: __dlpack__, __dlpack_device__, __array__")
        return [*lines, ""]
    if inspect.isroutine(described) or is_nanobind_function(described):
        return [f".. autofunction:: {name}", ""]
    return [f".. auto{'attribute' if '.' in name else 'data'}:: {name}", "   :no-value:", ""]


class Described(Autosummary):
    def run(self) -> list[nodes.Node]:
        module = import_module(self.env.ref_context["py:module"])
        listed = (line.strip() for line in self.content if line.strip())
        self.objects = {
            name: operator.attrgetter(name)(module)
            for each in listed
            for name in with_members(each, getattr(module, each))
        }
        self.content = StringList(list(self.objects), source="reference")
        table = super().run()
        lines = [line for item in self.objects.items() for line in directive(*item)]
        return table + self.parse_text_to_nodes("\n".join(lines))

    def get_items(self, names: list[str]) -> list[tuple[str, str | None, str, str]]:
        """The table's rows, with the summaries that autosummary does not find.

        nanobind's functions begin their docstrings with a signature, and a string has that of str.
        """
        rows = []
        for name, signature, summary, full in super().get_items(names):
            described = self.objects[name]
            if is_nanobind_function(described):
                signature, _, text = (inspect.getdoc(described) or "").partition("\n\n")
                signature = mangle_signature(signature.removeprefix(name))
                summary = text.partition("\n\n")[0]
            elif isinstance(described, str):
                summary = ""
            rows.append((name, signature, summary, full))
        return rows


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("described", Described)
    return {"parallel_read_safe": True}
