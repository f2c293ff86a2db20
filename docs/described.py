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
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from entrepot.kernel.language import Builtin, Namespace


def with_members(name: str, described: object) -> list[str]:
    """The name; for a group of functions of the kernel language, the names of these as well."""
    members = vars(described).items() if isinstance(described, Namespace) else ()
    return [name, *(f"{name}.{each}" for each, value in members if isinstance(value, Builtin))]


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
    if inspect.isroutine(described) or type(described).__name__ == "nb_func":
        return [f".. autofunction:: {name}", ""]
    return [f".. auto{'attribute' if '.' in name else 'data'}:: {name}", "   :no-value:", ""]


class Described(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        module = import_module(self.env.ref_context["py:module"])
        listed = (line.strip() for line in self.content if line.strip())
        objects = {
            name: operator.attrgetter(name)(module)
            for each in listed
            for name in with_members(each, getattr(module, each))
        }
        lines = [".. autosummary::", "", *(f"   {name}" for name in objects), ""]
        for name, described in objects.items():
            lines += directive(name, described)
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("described", Described)
    return {"parallel_read_safe": True}
