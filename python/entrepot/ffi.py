"""Foreign functions: C libraries declared in Python, as the modules that tools/bindgen writes are.

A declaration reads like the header. Its annotations are resolved, and the library is opened, on
first use::

    from __future__ import annotations
    from entrepot.ffi import In, Library, Pointer, c_uint, c_ulong

    _library = Library("zlib", sonames=["libz.so.1"])

    @_library.function
    def crc32(crc: c_ulong, buf: In[Pointer], len: c_uint) -> c_ulong: ...

    __getattr__, __dir__, __all__ = _library.declared(globals())

Annotations of parameters:

- a C type: passed by value
- ``In[…]``, ``Out[…]``, ``InOut[…]``: a pointer to an adapter type, or to a record
- ``Freed[…]``: memory that the function frees
- ``Returned[…]``: an out-parameter that the call returns
"""

from __future__ import annotations

import os
import sys
from _thread import RLock  # avoids importing threading

from ._core import (
    CStr,
    DeviceArray,
    Field,
    ForeignFunction,
    ForeignLibrary,
    Form,
    FunctionPointer,
    Handle,
    HipModuleLaunchKernel_extra,
    LibraryError,
    ListOfBytes,
    ListOfInt,
    ListOfInt64,
    ListOfLong,
    ListOfPointer,
    ListOfUInt64,
    ListOfUnsigned,
    ListOfUnsignedLong,
    Pointer,
    Record,
    make_callback,
    make_handle,
    make_record,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = [
    "At",
    "CStr",
    "CType",
    "DeviceArray",
    "Field",
    "Freed",
    "FunctionPointer",
    "Handle",
    "HipModuleLaunchKernel_extra",
    "In",
    "InOut",
    "Library",
    "LibraryError",
    "ListOfBytes",
    "ListOfInt",
    "ListOfInt64",
    "ListOfLong",
    "ListOfPointer",
    "ListOfUInt64",
    "ListOfUnsigned",
    "ListOfUnsignedLong",
    "Out",
    "Pointer",
    "Record",
    "Returned",
    "Sync",
    "anonymous",
    "bits",
    "c_bool",
    "c_byte",
    "c_char",
    "c_double",
    "c_float",
    "c_int",
    "c_int8",
    "c_int16",
    "c_int32",
    "c_int64",
    "c_long",
    "c_longlong",
    "c_raw",
    "c_short",
    "c_size_t",
    "c_ssize_t",
    "c_ubyte",
    "c_uint",
    "c_uint8",
    "c_uint16",
    "c_uint32",
    "c_uint64",
    "c_ulong",
    "c_ulonglong",
    "c_ushort",
]


# ---------------------------------------------------------------- types in declarations


class CType:
    """A type of C. ``c_int * 3`` is an array, ``c_int @ 8`` a field at byte 8 of its record.

    Declarations use the types of this module, such as ``c_int``.

    Parameters
    ----------
    form : Form
        The conversion to Python.
    kind : str, optional
        The dtype of a number or character, such as ``"int32"``. The default, ``"none"``, is for
        types without a dtype.

    Examples
    --------
    >>> from entrepot import hip
    >>> from entrepot.ffi import Library, c_raw
    >>> library = Library("hip", sonames=["libamdhip64.so.7"])
    >>> @library.struct(size=16, alignment=1)
    ... class hipUUID_t:
    ...     bytes: c_raw * 16 @ 0
    >>> hip.hipUUID_t.bytes.size  # the same declaration in entrepot.hip
    16
    """

    __slots__ = ("form", "kind")

    def __init__(self, form: Form, kind: str = "none") -> None:
        self.form = form
        self.kind = kind

    def __mul__(self, count: int) -> CType:
        return CType(Form("array", "none", None, self.form, count))

    def __matmul__(self, offset: int) -> _Placed:
        return _Placed(self.form, offset)


def _number(kind: str) -> CType:
    return CType(Form("number", kind), kind)


c_bool = _number("bool")
c_char = CType(Form("character", "int8"), "int8")
# A byte whose arrays are bytes, not NUL-terminated text.
c_raw = CType(Form("raw", "uint8"), "uint8")
c_byte = c_int8 = _number("int8")
c_ubyte = c_uint8 = _number("uint8")
c_short = c_int16 = _number("int16")
c_ushort = c_uint16 = _number("uint16")
c_int = c_int32 = _number("int32")
c_uint = c_uint32 = _number("uint32")
c_long = c_longlong = c_int64 = c_ssize_t = _number("int64")
c_ulong = c_ulonglong = c_uint64 = c_size_t = _number("uint64")
c_float = _number("float32")
c_double = _number("float64")

_nothing = CType(Form("none", "none"))


class _Placed:
    """A field with its position in the record."""

    __slots__ = ("bits", "first_bit", "form", "is_anonymous", "offset")

    def __init__(
        self, form: Form, offset: int, first_bit: int = 0, bits: int = 0, is_anonymous: bool = False
    ) -> None:
        self.form = form
        self.offset = offset
        self.first_bit = first_bit
        self.bits = bits
        self.is_anonymous = is_anonymous


class bits:
    """A bit-field: its type, its first bit and its width.

    Parameters
    ----------
    type : CType
        The integer type of the unit that contains the bit-field.
    first : int
        The position of the lowest bit in that unit.
    width : int
        The number of bits.

    Examples
    --------
    >>> from entrepot import hip
    >>> from entrepot.ffi import Library, bits, c_uint
    >>> library = Library("hip", sonames=["libamdhip64.so.7"])
    >>> @library.struct(size=4, alignment=4)
    ... class hipDeviceArch_t:
    ...     hasGlobalInt32Atomics: bits(c_uint, 0, 1) @ 0
    ...     hasGlobalFloatAtomicExch: bits(c_uint, 1, 1) @ 0
    >>> arch = hip.hipDeviceArch_t  # the same declaration in entrepot.hip
    >>> arch.hasGlobalFloatAtomicExch.first_bit
    1
    """

    __slots__ = ("first", "type", "width")

    def __init__(self, type: CType, first: int, width: int) -> None:
        self.type = type
        self.first = first
        self.width = width

    def __matmul__(self, offset: int) -> _Placed:
        return _Placed(self.type.form, offset, self.first, self.width)


class anonymous:
    """An unnamed struct or union, whose fields are also fields of the record.

    Parameters
    ----------
    type : CType
        The struct or union, as a library declares it.

    Examples
    --------
    A declaration in a module, and the class that results:

    >>> @library.struct(size=72, alignment=8)  # doctest: +SKIP
    ... class hipLaunchAttribute_st:
    ...     id: hipLaunchAttributeID @ 0
    ...     union_0: anonymous(hipLaunchAttribute_st_union_0) @ 8
    >>> from entrepot import hip
    >>> hip.hipLaunchAttribute_st.val.offset  # val is a field of the union
    8
    """

    __slots__ = ("type",)

    def __init__(self, type: CType) -> None:
        self.type = type

    def __matmul__(self, offset: int) -> _Placed:
        return _Placed(self.type.form, offset, is_anonymous=True)


class _Passed:
    """A parameter with the way in which it is passed."""

    __slots__ = ("measure", "passed", "refusal", "type", "unit")

    def __init__(
        self, passed: str, type: CType, measure: str = "", unit: int = 1, refusal: str = ""
    ) -> None:
        self.passed = passed
        self.type = type
        self.measure = measure
        self.unit = unit
        self.refusal = refusal

    def __call__(self, *, bytes: str = "", count: str = "", refusal: str = "") -> _Passed:
        """Names the parameter with the size, in bytes (``bytes="n"``, ``bytes="4 * n"``) or
        elements (``count="n"``).

        A returned DeviceArray, or text, gets this size. An argument that is known to be smaller is
        refused. ``refusal`` names a function, as ``"package.module.function"``. It gets an adapter
        of the data that C will read, or None for NULL. It returns the reason why the library would
        abort the process, or None.
        """
        if self.measure or self.refusal:
            raise TypeError(
                'a parameter has one pair of parentheses, as In[ListOfInt](count="n", '
                'refusal="module.function")'
            )
        return _Passed(self.passed, self.type, *_measure_of(bytes, count), refusal)


def _measure_of(bytes: str, count: str) -> tuple[str, int]:
    """The parameter with the size, and its unit in bytes; 0: elements."""
    if bytes and count:
        raise TypeError(f"bytes={bytes!r} and count={count!r} say the same thing; give one of them")
    if not bytes:
        if count and not count.isidentifier():
            raise TypeError(
                f'count={count!r}: a parameter\'s name was expected, as count="n"; factors are of '
                "bytes="
            )
        return count, 0 if count else 1
    *factors, name = sorted(
        map(str.strip, bytes.split("*")), key=str.isidentifier
    )  # the number first
    factor = int(factors[0]) if factors and factors[0].isdecimal() else 0 if factors else 1
    if not name.isidentifier() or len(factors) > 1 or not 0 < factor <= sys.maxsize:
        raise TypeError(
            f"bytes={bytes!r}: a parameter's name was expected, or so many bytes for each: "
            'bytes="n", bytes="4 * n"'
        )
    return name, factor


class _Passing:
    """``In``, ``Out`` and similar names that take a type in brackets."""

    __slots__ = ("passed",)

    def __init__(self, passed: str) -> None:
        self.passed = passed

    def __getitem__(self, what: CType | type) -> _Passed:
        passed: CType = _type_of(what)
        if self.passed in ("in", "out", "inout", "freed"):
            passed = _address_of(passed)
        return _Passed(self.passed, passed)


class _At:
    """``At[record]``: the address of a record, which Python sees as the record."""

    __slots__ = ()

    def __getitem__(self, record: Any) -> CType:
        if not isinstance(record, _Unfinished):
            return CType(Form("pointed", "pointer", _record_of(record)))
        form = Form("pointed", "pointer")
        record.declaration.waiting.append(form)
        return CType(form)


In = _Passing("in")
Out = _Passing("out")
InOut = _Passing("inout")
Freed = _Passing("freed")
Returned = _Passing("returned")
Sync = _Passing("sync")
At = _At()

_records: dict[Form, type] = {}


def _record_of(type: CType) -> Any:
    return _records[type.form]


def _address_of(type: CType) -> CType:
    """The address type of a record; adapters are addresses already."""
    record = _records.get(type.form)
    return type if record is None else CType(Form("address", "pointer", record))


# ---------------------------------------------------------------- names in declarations

_enum_kinds: dict[Any, str] = {}
_types: dict[Any, CType] = {}

# Held while a declaration is made or an annotation resolved, so that other threads never see
# partial ones.
# One lock for all libraries, because their declarations refer to each other.
_making = RLock()
_being_made: list[_Declaration] = []
_libraries: dict[str, list[Library]] = {}  # by the name of the declaring module


def _begin_anew_in_a_child() -> None:
    """Resets the lock after fork: another thread that held it does not exist in the child."""
    _making._at_fork_reinit()  # type: ignore[attr-defined]
    _being_made.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew_in_a_child)


def _type_of(named: Any) -> Any:
    """The C type of a name in an annotation; classes stand for their values."""
    if not isinstance(named, type):
        return _nothing if named is None else named
    if named in (bits, anonymous):
        return named
    known = _types.get(named)
    if known is None:
        with _making:  # one type per class, because forms are compared by identity
            known = _types.get(named)
            if known is None:
                known = _types[named] = _type_of_class(named)
    return known


def _type_of_class(named: type) -> CType:
    if issubclass(named, Record):
        made = CType(Form("record", "record", named))
        _records[made.form] = named
        return made
    if issubclass(named, Pointer):
        return CType(Form("address", "pointer", named))
    if named not in _enum_kinds:
        raise TypeError(
            f"{named.__name__} is no type of C: c_int, c_double … are, and the records, enums and "
            "callbacks of a library; "
            f"pointers are In[…], Out[…], Pointer, At[…]"
        )
    return CType(Form("enum", _enum_kinds[named], named))


class _Scope:
    """Names for annotations: those of this module, of the declared module and of its imports."""

    __slots__ = ("modules",)

    def __init__(self) -> None:
        self.modules: list[Any] = []

    def __getitem__(self, name: str) -> Any:
        for module in self.modules:
            try:
                return _type_of(getattr(module, name))
            except AttributeError:
                pass
        raise KeyError(name)


# ---------------------------------------------------------------- declarations


class _Declaration:
    """A class that is made on first use, because making a large enum takes longer than a call."""

    __slots__ = ("_made", "_maker", "waiting")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._maker = make
        self._made: Any = None
        self.waiting: list[Form] = []

    def made(self) -> Any:
        with _making:
            if self in _being_made:
                return _Unfinished(self)
            if self._made is None:
                _being_made.append(self)
                try:
                    self._made = self._maker()
                finally:
                    _being_made.pop()
                for form in self.waiting:
                    form.complete(self._made)
            return self._made


class _Unfinished:
    """A record inside its own declaration, where only its address may be used."""

    __slots__ = ("declaration",)

    def __init__(self, declaration: _Declaration) -> None:
        self.declaration = declaration


class _Choice:
    """A name for one of two declarations or numbers, depending on the installed library."""

    __slots__ = ("absent", "present", "symbol")

    def __init__(self, symbol: str, present: Any, absent: Any) -> None:
        self.symbol = symbol
        self.present = present
        self.absent = absent


def _made(meant: Any) -> Any:
    return meant.made() if isinstance(meant, _Declaration) else meant


class Library:
    """A C library with the decorators that declare its contents.

    The library is opened on first use. It may be loaded in the process, or be in ``directories``
    or in the system's path.

    Parameters
    ----------
    name : str
        The name of the library in errors.
    sonames : sequence of str
        The file names that are searched for, newest first.
    directories : sequence of str, optional
        Directories with the library. A directory may start with an environment variable, as
        ``$NAME/…``.
    variable : str, optional
        An environment variable that gives a path, which is used instead.
    advice : str, optional
        The end of the error for a library that was not found.
    imports : sequence of str, optional
        The names of modules whose declarations these declarations use.
    status : tuple of str, optional
        If functions return a status, the names of its enum and of the member for success. Every
        call then returns a tuple with the status first.

    Examples
    --------
    >>> from entrepot.ffi import Library, Returned, c_double, c_int
    >>> libm = Library("libm", sonames=["libm.so.6"])
    >>> @libm.function
    ... def frexp(x: c_double, exponent: Returned[c_int]) -> c_double: ...
    >>> frexp(10.0)
    (0.625, 4)
    """

    def __init__(
        self,
        name: str,
        *,
        sonames: Sequence[str],
        directories: Sequence[str] = (),
        variable: str = "",
        advice: str = "",
        imports: Sequence[str] = (),
        status: tuple[str, str] | None = None,
    ) -> None:
        self._foreign = ForeignLibrary(name, sonames, directories, variable, advice)
        self._imports = imports
        self._status = status
        self._scope = _Scope()
        self.module: Any = None  # which declares its contents; set by declared()
        self._evaluated: dict[str, Any] = {}

    # The library.

    @property
    def path(self) -> str:
        """The file that was opened. Raises LibraryError, which lists the files tried, if it was not
        found.
        """
        return self._foreign.path

    def is_there(self) -> bool:
        """Check that the library is found and can be loaded.

        Returns
        -------
        bool
            True if the library is found and can be loaded.

        Examples
        --------
        >>> from entrepot.ffi import Library
        >>> Library("libm", sonames=["libm.so.6"]).is_there()
        True
        """
        return self._foreign.is_there()

    def has(self, symbol: str) -> bool:
        """Check that the library has a function.

        Parameters
        ----------
        symbol : str
            The name of the function.

        Returns
        -------
        bool
            True if the library has a function of that name.

        Raises
        ------
        LibraryError
            If the library was not found.

        Examples
        --------
        >>> from entrepot.ffi import Library
        >>> libm = Library("libm", sonames=["libm.so.6"])
        >>> libm.has("cbrt"), libm.has("cuberoot")
        (True, False)
        """
        return self._foreign.find(symbol) is not None

    # Declarations.

    def function(self, declaration: Any) -> Any:
        """Decorator that declares a function of the library.

        Parameters
        ----------
        declaration : function
            A function of the same name, with annotated parameters and result and an empty body.

        Returns
        -------
        callable
            The function of the library, which is searched for at its first call.

        Raises
        ------
        TypeError
            If a parameter has no annotation, is variadic, or is keyword-only.

        Examples
        --------
        >>> from entrepot.ffi import Library, c_double
        >>> libm = Library("libm", sonames=["libm.so.6"])
        >>> @libm.function
        ... def hypot(x: c_double, y: c_double) -> c_double: ...
        >>> hypot(3.0, 4.0)
        5.0
        """
        _check_annotated(declaration)
        return ForeignFunction(self, declaration)

    def function_or(self, symbol: str) -> Any:
        """Declare a function that has another name in other versions of the library.

        Parameters
        ----------
        symbol : str
            The other name, which is used if the library does not have the declared one.

        Returns
        -------
        callable
            A decorator for the declaration, as :meth:`function` is.

        Examples
        --------
        >>> from entrepot.ffi import Library, c_double
        >>> libm = Library("libm", sonames=["libm.so.6"])
        >>> @libm.function_or("drem")  # the older name
        ... def remainder(x: c_double, y: c_double) -> c_double: ...
        >>> remainder(5.0, 3.0)
        -1.0
        """

        def declared(declaration: Any) -> Any:
            _check_annotated(declaration)
            return ForeignFunction(self, declaration, symbol)

        return declared

    def enum(self, type: CType) -> Any:
        """Declare an enum of C: a class of members with their values.

        Parameters
        ----------
        type : CType
            The integer type of the enum.

        Returns
        -------
        callable
            A decorator for the class. The module has an IntEnum in its place.

        Examples
        --------
        >>> from entrepot import hip
        >>> from entrepot.ffi import Library, c_uint
        >>> library = Library("hip", sonames=["libamdhip64.so.7"])
        >>> @library.enum(c_uint)
        ... class hipMemcpyKind:
        ...     hipMemcpyHostToHost = 0
        ...     hipMemcpyHostToDevice = 1
        >>> hip.hipMemcpyKind(1).name  # the same declaration in entrepot.hip
        'hipMemcpyHostToDevice'
        """
        return lambda declaration: _Declaration(lambda: _make_enum(declaration, type.kind))

    def opaque(self, declaration: Any) -> Any:
        """Decorator that declares an opaque struct.

        Its pointers are handles, which are not interchangeable with those of other structs.

        Parameters
        ----------
        declaration : type
            A class with the struct's name, without fields.

        Returns
        -------
        object
            The declaration. The module has a subclass of Handle in its place.

        Examples
        --------
        >>> from entrepot import hip
        >>> from entrepot.ffi import Handle, Library
        >>> library = Library("hip", sonames=["libamdhip64.so.7"])
        >>> @library.opaque
        ... class ihipStream_t: ...
        >>> issubclass(hip.ihipStream_t, Handle)  # the same declaration in entrepot.hip
        True
        """
        return _Declaration(lambda: make_handle(declaration.__name__, _attributes(declaration)))

    def struct(self, *, size: int, alignment: int) -> Any:
        """Declare a struct: a class whose annotations give the type and offset of each field.

        Parameters
        ----------
        size : int
            The size of the struct in bytes.
        alignment : int
            The alignment of the struct in bytes.

        Returns
        -------
        callable
            A decorator for the class. The module has a subclass of Record in its place.

        Examples
        --------
        >>> from entrepot import hip
        >>> from entrepot.ffi import Library, c_uint32
        >>> library = Library("hip", sonames=["libamdhip64.so.7"])
        >>> @library.struct(size=12, alignment=4)
        ... class dim3:
        ...     x: c_uint32 @ 0 = 1
        ...     y: c_uint32 @ 4 = 1
        ...     z: c_uint32 @ 8 = 1
        >>> [*hip.dim3(x=32)]  # the same declaration in entrepot.hip
        [32, 1, 1]
        """
        return lambda declaration: _Declaration(
            lambda: self._make_record(declaration, size, alignment, False)
        )

    def union(self, *, size: int, alignment: int) -> Any:
        """Declare a union, as :meth:`struct` declares a struct.

        Parameters
        ----------
        size : int
            The size of the union in bytes.
        alignment : int
            The alignment of the union in bytes.

        Returns
        -------
        callable
            A decorator for the class. The module has a subclass of Record in its place.

        Examples
        --------
        >>> from entrepot import hip
        >>> from entrepot.ffi import Library, c_char, c_int
        >>> library = Library("hip", sonames=["libamdhip64.so.7"])
        >>> @library.union(size=64, alignment=8)
        ... class hipLaunchAttributeValue:
        ...     pad: c_char * 64 @ 0
        ...     cooperative: c_int @ 0
        >>> value = hip.hipLaunchAttributeValue  # the same declaration in entrepot.hip
        >>> value.pad.offset, value.cooperative.offset
        (0, 0)
        """
        return lambda declaration: _Declaration(
            lambda: self._make_record(declaration, size, alignment, True)
        )

    def callback(self, declaration: Any) -> Any:
        """Decorator that declares a function pointer, as :meth:`function` declares a function.

        Parameters
        ----------
        declaration : function
            A function with the type's name, annotated parameters and result, and an empty body.

        Returns
        -------
        object
            The declaration. The module has a subclass of FunctionPointer in its place.

        Raises
        ------
        TypeError
            If a parameter has no annotation, is variadic, or is keyword-only.

        Examples
        --------
        >>> from entrepot import hip
        >>> from entrepot.ffi import Library, Pointer
        >>> library = Library("hip", sonames=["libamdhip64.so.7"])
        >>> @library.callback
        ... def hipHostFn_t(userData: Pointer) -> None: ...
        >>> function_type = hip.hipHostFn_t  # the same declaration in entrepot.hip
        >>> function_type(lambda data: print("done"))(None)
        done
        """
        _check_annotated(declaration)
        return _Declaration(lambda: self._make_callback(declaration))

    def choice(self, symbol: str, *, present: Any, absent: Any) -> Any:
        """Declare a name that depends on the installed library.

        The values are declarations, numbers or further choices.

        Parameters
        ----------
        symbol : str
            The function that the library is searched for.
        present : object
            The value if the library has the symbol, or if there is no library.
        absent : object
            The value if the library does not have the symbol.

        Returns
        -------
        object
            The choice. The module has the value in its place.

        Examples
        --------
        >>> from entrepot.ffi import Library
        >>> library = Library("hip", sonames=["libamdhip64.so.7"])
        >>> flag = library.choice("hipGetDevicePropertiesR0600", present=1, absent=0)
        """
        return _Choice(symbol, present, absent)

    def declared(
        self, names: dict[str, Any]
    ) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
        """Finish a module: remove the declared classes from its names until their first use.

        Parameters
        ----------
        names : dict
            The globals of the module, which are changed.

        Returns
        -------
        tuple
            The module's ``__getattr__``, ``__dir__`` and ``__all__``.

        Examples
        --------
        The last line of a module with declarations:

        >>> __getattr__, __dir__, __all__ = library.declared(globals())  # doctest: +SKIP
        """
        own = sys.modules[__name__]
        pending = {
            name: value
            for name, value in names.items()
            if isinstance(value, (_Declaration, _Choice))
        }
        public = [
            name
            for name, value in names.items()
            if name in pending
            or isinstance(value, ForeignFunction)
            or (name[0] != "_" and isinstance(value, (int, float, str)))
        ]
        for name in pending:
            del names[name]

        def get(name: str) -> Any:
            declaration = pending.get(name)
            if declaration is None:
                raise _NoSuchName(f"module {names['__name__']!r}", name, public)
            if isinstance(declaration, _Choice) and not self._foreign.is_there():
                return _made(declaration.present)  # there is no library to ask yet
            self._import()
            with _making:
                made = _made(self._chosen(declaration))
                if not _being_made:  # else it may be part of an unfinished declaration
                    names[name] = made
            return made

        # Own declarations hide imported ones.
        self.module = sys.modules[names["__name__"]]
        self._scope.modules += [self.module, own]
        _libraries.setdefault(names["__name__"], []).append(self)
        return get, lambda: sorted({*names, *pending}), public

    # Resolution of declarations.

    def _chosen(self, declaration: Any) -> Any:
        while isinstance(declaration, _Choice):
            declaration = (
                declaration.present if self.has(declaration.symbol) else declaration.absent
            )
        return declaration

    def _import(self, on_the_way: tuple[Library, ...] = ()) -> None:
        """Imports the modules that the declarations use, recursively.

        Must not be called with `_making` held. A module may use declarations during its import,
        when its thread holds the import lock: the opposite lock order would deadlock.
        """
        imports = self._imports
        if not imports:
            return
        from importlib import import_module

        modules = [import_module(name) for name in imports]
        on_the_way += (self,)
        for name in imports:
            for library in _libraries.get(name, ()):
                if library not in on_the_way:
                    library._import(on_the_way)
        with _making:
            if self._imports:  # else another thread was faster
                self._scope.modules += modules
                self._imports = ()

    def _evaluate(self, annotation: Any) -> Any:
        if not isinstance(annotation, str):
            return _type_of(annotation)
        self._import()
        with _making:
            found = self._evaluated.get(annotation)
            if found is None:
                found = self._evaluated[annotation] = self._meaning(annotation)
            return found

    def _meaning(self, annotation: str) -> Any:
        try:
            return _type_of(eval(annotation, {"__builtins__": {}}, self._scope))  # type: ignore[arg-type]
        except NameError as error:
            raise TypeError(
                f"{annotation!r}: {error.name} is no type of C that is declared or imported; "
                "Python's own types are none"
            ) from None

    def _parameters(self, declaration: Any) -> tuple[dict[str, Any], CType]:
        meant = {
            name: self._evaluate(annotation)
            for name, annotation in declaration.__annotations__.items()
        }
        result = meant.pop("return", _nothing)
        for name, passed in meant.items():
            if isinstance(passed, _Passed) and passed.measure and passed.measure not in meant:
                raise TypeError(
                    f"{declaration.__name__}(), {name}: there is no parameter {passed.measure!r} "
                    "that says how much memory there "
                    f"is; there are {', '.join(meant)}"
                )
        return meant, result

    def _make_record(self, declaration: Any, size: int, alignment: int, is_union: bool) -> Any:
        fields: list[tuple[str, Form, int, int, int, Any, bool]] = []
        # Python's mangling of names that begin with two underscores.
        mangled = f"_{declaration.__name__.lstrip('_')}__"
        for written, annotation in declaration.__annotations__.items():
            placed = self._evaluate(annotation)
            default = declaration.__dict__.get(written)
            name = written[len(mangled) - 2 :] if written.startswith(mangled) else written
            if not isinstance(placed, _Placed):
                raise TypeError(
                    f"{declaration.__name__}.{name}: a field is a type @ the byte where it "
                    "begins, as c_int @ 4"
                )
            fields.append(
                (name, placed.form, placed.offset, placed.first_bit, placed.bits, default, False)
            )
            if placed.is_anonymous:
                inside = _fields[_records[placed.form]]
                fields += [
                    (each[0], each[1], placed.offset + each[2], *each[3:6], True) for each in inside
                ]
        made = make_record(
            declaration.__name__, size, alignment, is_union, tuple(fields), _attributes(declaration)
        )
        _fields[made] = fields
        return made

    def _make_callback(self, declaration: Any) -> Any:
        parameters, result = self._parameters(declaration)
        for name, type in (*parameters.items(), ("return", result)):
            if not isinstance(type, CType):
                raise TypeError(
                    f"{declaration.__name__}, {name}: C calls it, so nothing is taken by In[…], "
                    "Out[…] and their like; "
                    f"declare a type by value: Pointer, CStr, At[record]"
                )
        forms = tuple((name, type.form) for name, type in parameters.items())
        return make_callback(declaration.__name__, result.form, forms, _attributes(declaration))

    def _plan(self, function: Any) -> tuple[Any, ...]:
        """All data for calls; computed at the first call."""
        declaration = function.declaration
        parameters, result = self._parameters(declaration)
        names = list(parameters)
        told = []
        for name, meant in parameters.items():
            passed = meant if isinstance(meant, _Passed) else _Passed("value", meant)
            measure = names.index(passed.measure) if passed.measure else -1
            refusal = (
                _refusal_named(passed.refusal, f"{declaration.__name__}() argument {name!r}")
                if passed.refusal
                else None
            )
            told.append((name, passed.passed, passed.type.form, measure, passed.unit, refusal))
        success = status = None
        if self._status:
            status = self._scope[self._status[0]].form
            success = getattr(self._enum_of(self._status[0]), self._status[1])
        name = declaration.__name__
        address = self._foreign.find(name) or (
            function.symbol and self._foreign.find(function.symbol)
        )
        if not address:
            address = self._foreign.require(name)
        return address, name, tuple(told), result.form, success, result.form is status

    def _enum_of(self, name: str) -> Any:
        for module in self._scope.modules:
            try:
                return getattr(module, name)
            except AttributeError:
                pass
        raise LookupError(name)

    def _signature(self, function: Any) -> inspect.Signature:
        """The signature for callers; out-parameters may be passed by name."""
        from inspect import Parameter, Signature

        parameters, _ = self._parameters(function.declaration)
        given, brought = [], []
        for name, meant in parameters.items():
            if isinstance(meant, _Passed) and meant.passed == "returned":
                brought.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None))
            else:
                given.append(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD))
        return Signature(given + brought)


def _refusal_named(path: str, subject: str) -> Callable[[Any], str | None]:
    """Imports a refusal function on first use; errors name the parameter that it belongs to."""
    from importlib import import_module

    module, _, name = path.rpartition(".")
    try:
        function = getattr(import_module(module), name)
    except Exception as error:
        raise TypeError(
            f'{subject}: refusal={path!r} names no "package.module.function": {error}'
        ) from error

    def asked(found: Any) -> str | None:
        try:
            why = function(found)
        except Exception as error:
            raise RuntimeError(
                f"{subject}: {path}, asked whether the library bears it, failed: {error!r}"
            ) from error
        if why is None or isinstance(why, str):
            return why
        raise TypeError(f"{subject}: {path} gave {why!r}, where words or None were expected")

    return asked


_fields: dict[Any, list[tuple[str, Form, int, int, int, Any, bool]]] = {}


_VARIADIC = 0x04 | 0x08  # inspect.CO_VARARGS, CO_VARKEYWORDS, without importing inspect


def _check_annotated(declaration: Any) -> None:
    """Refuses parameters without a type: they would be dropped from the call, which would shift the
    others.
    """
    code, annotations = declaration.__code__, declaration.__annotations__
    is_plain = not code.co_kwonlyargcount and not code.co_flags & _VARIADIC
    if is_plain and len(annotations) - ("return" in annotations) == code.co_argcount:
        return
    names = code.co_varnames[: code.co_argcount]
    bare = [name for name in names if name not in annotations]
    if bare:
        raise TypeError(
            f"{declaration.__name__}, {', '.join(bare)}: no type is said; annotate it, as "
            f"{bare[0]}: c_int"
        )
    raise TypeError(
        f"{declaration.__name__}: C has neither *args nor keyword-only parameters; declare each "
        "by name: a: c_int"
    )


class _NoSuchName(AttributeError):
    """AttributeError of a large module or enum. Similar names are searched for only when the
    message is read.
    """

    def __init__(self, owner: str, name: str, names: list[str]) -> None:
        super().__init__(f"{owner} has no attribute {name!r}")
        self._wanted = name
        self._names = names

    def __str__(self) -> str:
        from difflib import get_close_matches

        close = get_close_matches(self._wanted, self._names, 1)
        return f"{self.args[0]}; did you mean {close[0]!r}?" if close else str(self.args[0])


def _attributes(declaration: Any) -> dict[str, Any]:
    return {"__slots__": (), "__doc__": declaration.__doc__, "__module__": declaration.__module__}


_base_of_enums: Any = None


def _make_base_of_enums() -> Any:
    """IntEnum with members for numbers that the header does not define, which C may return.

    Up to Python 3.11, IntEnum's message for an unknown name is that name alone; this class gives a
    better one.
    """
    from enum import EnumMeta, IntEnum
    from types import new_class

    def _unknown(cls: Any, number: int) -> Any:  # pickle looks for it by this name
        member = int.__new__(cls, number)
        member._name_, member._value_ = f"UNKNOWN_{number}", number
        return member

    def reduce(self: Any, protocol: int) -> Any:
        known = self._name_ in type(self)._member_map_
        return type(self) if known else type(self)._unknown, (int(self),)

    def fill(namespace: dict[str, Any]) -> None:
        namespace["_unknown"] = classmethod(_unknown)
        namespace["__reduce_ex__"] = reduce

    if not hasattr(EnumMeta, "__getattr__"):
        return new_class("Base", (IntEnum,), {}, fill)

    def missing(cls: Any, name: str) -> Any:
        members = cls._member_map_
        if name in members:
            return members[name]
        raise _NoSuchName(f"enum {cls.__name__!r}", name, list(members))

    members = type("Members", (EnumMeta,), {"__getattr__": missing})
    return new_class("Base", (IntEnum,), {"metaclass": members}, fill)


def _make_enum(declaration: Any, kind: str) -> Any:
    global _base_of_enums
    _base_of_enums = _base_of_enums or _make_base_of_enums()
    members = {
        name: value
        for name, value in vars(declaration).items()
        if type(value) is int and name[:2] != "__"
    }
    made: Any = _base_of_enums(declaration.__name__, members, module=declaration.__module__)
    made.__doc__ = declaration.__doc__
    _enum_kinds[made] = kind
    return made
