"""Describes the records of the bindings, for tests that compare them with a header."""

from __future__ import annotations

from collections.abc import Iterator

from entrepot.ffi import Field, Record


def fields_of(
    record: type[Record], reach: str = "", base: int = 0
) -> Iterator[tuple[str, int, int]]:
    """(name in C, offset, size) of each field, those of nested records included; bit-fields
    separately."""
    for name in record.PROPERTIES():
        field = vars(record)[name]
        assert isinstance(field, Field)
        inside = type(getattr(record.allocate(), name)) if field.bits == 0 else None
        is_anonymous = name.rstrip("0123456789") in ("union_", "struct_")
        if not is_anonymous and not field.bits:
            yield f"{reach}{name}", base + field.offset, field.size
        if inside is not None and issubclass(inside, Record) and field.size == inside.c_sizeof():
            yield from fields_of(
                inside, reach if is_anonymous else f"{reach}{name}.", base + field.offset
            )
