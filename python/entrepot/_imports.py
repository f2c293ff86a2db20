"""Errors for names and modules that a package does not have, with a reason that imports show.

``from module import name`` turns an AttributeError of the module into "cannot import name" and
drops its text. It shows an ImportError.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable
from typing import Any

_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]


def is_imported(depth: int = 1) -> bool:
    """True if ``from module import name`` asks for an attribute of a module.

    ``depth`` is the number of calls from the module's ``__getattr__`` to this function: 1 if it is
    called there.
    """
    frame = sys._getframe(depth + 1)
    # Before such a statement asks a package for a name, importlib calls hasattr(), and imports a
    # module of that name if it is False. So that call must get an AttributeError.
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


class Refuser:
    """The last finder of imports, which refuses modules below a package that no other one finds.

    ``refusal`` makes the error from the module's name, without that of the package.
    """

    def __init__(self, package: str, refusal: Callable[[str], ImportError]) -> None:
        self._prefix, self._refusal = package + ".", refusal

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raises the error if the module is one of the package's. No module is found otherwise."""
        if name.startswith(self._prefix) and not name.endswith("__"):
            raise self._refusal(name.removeprefix(self._prefix))


def refuse_modules(package: str, refusal: Callable[[str], ImportError]) -> None:
    """Makes imports of modules that the package does not have raise this error."""
    finder: Any = Refuser(package, refusal)
    sys.meta_path.append(finder)
