"""Clauses for importers of described memory, for all protocols: correct elements, and the object's
lifetime.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

from .clauses import Table, require, skip
from .subjects import (
    BROADCAST,
    EMPTY,
    PLAIN,
    REVERSED,
    SCALAR,
    STEPPED,
    TRANSPOSED,
    Importer,
    Layout,
    attempt,
    leaks_nothing,
    refuses,
    settles,
)

# Makes a well-formed object of one protocol for the importer's ground; the flag makes it read-only.
Fabricate = Callable[[Importer, Layout, bool], Any]


def takes(fabricate: Fabricate, layout: Layout) -> Callable[[Importer], None]:
    """Requires the elements of the layout, unless the importer refuses it: not every library
    supports every layout.
    """

    def check(importer: Importer) -> None:
        difference = importer.shows(attempt(importer, fabricate(importer, layout, False)), layout)
        require(
            not difference,
            f"the elements of shape {layout.shape}, strides {layout.strides}",
            difference,
        )

    return check


def must_take(fabricate: Fabricate, layout: Layout) -> Callable[[Importer], None]:
    """Requires the elements of a layout that every consumer must support."""

    def check(importer: Importer) -> None:
        difference = importer.shows(importer.take(fabricate(importer, layout, False)), layout)
        require(not difference, f"the elements of shape {layout.shape}", difference)

    return check


def must_refuse(
    make: Callable[[Importer], Any], what: str, *, typed: bool = False
) -> Callable[[Importer], None]:
    """``typed``: only the type is wrong, which importers that return raw bytes may ignore."""

    def check(importer: Importer) -> None:
        refuses(importer, make(importer), what, typed=typed)

    return check


def add_views(
    table: Table,
    source: str,
    fabricate: Fabricate,
    *,
    witness: Callable[[Any], Any] = lambda given: given,
    on_host: bool = True,
) -> None:
    """Adds the clauses for protocols that describe memory and leave its lifetime to the consumer.

    ``witness`` returns an object that lives exactly as long as the fabricated memory.
    ``on_host``: the protocol supports host memory only.
    """
    table.add("plain", "contiguous float32 is taken", source, must_take(fabricate, PLAIN))

    @table.clause("zero copy", "what was taken is the exporter's memory, not a copy of it", source)
    def zero_copy(importer: Importer) -> None:
        importer.shares(attempt(importer, fabricate(importer, PLAIN, False)), on_host=on_host)

    @table.clause(
        "keeps the object",
        "the object is kept while the result is in use: a description owns nothing",
        source,
    )
    def keeps_the_object(importer: Importer) -> None:
        given = fabricate(importer, PLAIN, False)
        lives = weakref.ref(witness(given))
        result = attempt(importer, given)
        if importer.look(result).data_ptr != importer.ground.address:
            skip("the importer copies")
        del given
        gc.collect()
        require(
            lives() is not None,
            "an object that is kept",
            "one that is gone while its memory is in use",
        )
        del result

    @table.clause(
        "releases the object", "the object is released with the last use of the result", source
    )
    def releases_the_object(importer: Importer) -> None:
        given = fabricate(importer, PLAIN, False)
        lives = weakref.ref(witness(given))
        result = attempt(importer, given)
        del given, result
        settles(lambda: lives() is None, lambda: importer.take(fabricate(importer, PLAIN, False)))
        require(lives() is None, "an object that is gone with the result", "one that is held still")

    table.add(
        "transposed",
        "strides that are not C-contiguous are followed",
        source,
        takes(fabricate, TRANSPOSED),
    )
    table.add(
        "steps", "strides that leave elements out are followed", source, takes(fabricate, STEPPED)
    )
    table.add(
        "negative strides", "negative strides are followed", source, takes(fabricate, REVERSED)
    )
    table.add("broadcast", "strides of 0 are followed", source, takes(fabricate, BROADCAST))
    table.add("0-d", "an empty shape is one element", source, takes(fabricate, SCALAR))
    table.add("zero size", "memory without elements is taken", source, takes(fabricate, EMPTY))

    @table.clause("read-only", "what is said to be read-only cannot be written afterwards", source)
    def read_only(importer: Importer) -> None:
        view = importer.look(attempt(importer, fabricate(importer, PLAIN, True)))
        if view.data_ptr != importer.ground.address:
            skip("the importer copies")
        require(view.read_only, "a read-only result, or a refusal", "a writable view")

    @table.clause("leak", "imports that are over leave no memory behind", source)
    def leak(importer: Importer) -> None:
        given = fabricate(importer, PLAIN, False)
        attempt(importer, given)
        leaks_nothing(lambda: importer.take(given))
