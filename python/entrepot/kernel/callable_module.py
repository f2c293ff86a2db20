"""The class of the module ``entrepot.kernel``, whose call is the decorator ``kernel``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

from .functions import Dialect, KernelFunction, func, kernel

if TYPE_CHECKING:
    from .elementwise import vectorize
    from .reduction import reduce


class CallableModule(ModuleType):
    """The class of the module ``entrepot.kernel``, which makes ``@entrepot.kernel`` the decorator.

    A type checker takes ``entrepot.kernel`` for an instance of this class, not for a module. The
    decorators are declared here, so that ``@entrepot.kernel.func`` has a type. The other names are
    Any in that form; ``import entrepot.kernel as dppy`` has the types of all names.
    """

    if TYPE_CHECKING:

        def __init__(self, name: str, doc: str | None = None) -> None:
            self.kernel = kernel
            self.func = func
            self.reduce = reduce
            self.vectorize = vectorize

    @overload
    def __call__(self, function: Callable[..., None], /) -> KernelFunction: ...
    @overload
    def __call__(
        self,
        signature: str | Sequence[str] | None = None,
        /,
        *,
        debug: bool | None = None,
        fast_math: bool = False,
        dialect: Dialect | None = None,
        access_types: Mapping[str, Sequence[str]] | None = None,
        max_registers: int = 0,
    ) -> Callable[[Callable[..., None]], KernelFunction]: ...
    def __call__(self, function: Any = None, /, **options: Any) -> Any:
        """``kernel(function, **options)``."""
        return kernel(function, **options)
