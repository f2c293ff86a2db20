"""TypeErrors of functions that nanobind binds: one line with the signature and the types passed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import entrepot as ep
from entrepot import _core

pytestmark = pytest.mark.host


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda queue: queue.wait(1), "wait() cannot be called with (int)"),
        (lambda queue: queue.record(1, 2), "record() cannot be called with (int, int)"),
        (lambda queue: ep.Device(), "Device(device: object) cannot be called with ()"),  # type: ignore[call-arg]
    ],
)
def test_wrong_arguments_message_names_signature_and_types(
    call: Callable[[ep.Queue], object], message: str
) -> None:
    with pytest.raises(TypeError) as raised:
        call(ep.Queue("host"))
    assert str(raised.value) == message


def test_call_after_wrong_arguments_works() -> None:
    queue = ep.Queue("host")
    with pytest.raises(TypeError):
        queue.wait(1)  # type: ignore[call-arg]
    queue.wait()


def bound_by_nanobind() -> Iterator[tuple[str, Any]]:
    """Functions of the module, and methods of its classes as functions with a ``self``."""
    for name, value in vars(_core).items():
        functions = vars(value).items() if inspect.isclass(value) else [(name, value)]
        for function_name, function in functions:
            if type(function).__name__ in ("nb_func", "nb_method"):
                yield f"{name}.{function_name}", function


def test_nanobind_message_never_reaches_user() -> None:
    tried = 0
    for name, function in bound_by_nanobind():
        for count in range(4, 7):
            try:
                function(*[object()] * count)
            except TypeError as error:
                assert "incompatible function arguments" not in str(error), name
                assert "\n" not in str(error), name
                tried += 1
            except ep.EntrepotError:
                pass
    assert tried > 50
