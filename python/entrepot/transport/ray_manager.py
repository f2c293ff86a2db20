"""Ray's interface for a tensor transport. ``entrepot.transport.ray`` imports it with Ray."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from .. import pickles
from .._core import Array, ExchangeError

# Ray's annotations are not used, because Ray may not be installed where types are checked.
_ray: Any = import_module("ray.experimental")
_interface: Any = import_module("ray.experimental.rdt.tensor_transport_manager")

#: The name of ``entrepot.transport.ray.TRANSPORT``, which has to be known without Ray.
NAME = "ENTREPOT"

_OTHERWISE = "or return it without tensor_transport, by the object store"

#: Ray's names of devices, by backend.
_DEVICES = {"host": "cpu", "cuda": "cuda", "hip": "cuda"}


@dataclass
class Handles(_interface.TensorTransportMetadata):  # type: ignore[misc]
    """The handles of the arrays of one object."""

    shared: list[pickles.Shared] = field(default_factory=list)


class Transport(_interface.TensorTransportManager):  # type: ignore[misc]
    """Ray's interface for a tensor transport. Receivers open the memory, so no call sends."""

    @property
    def tensor_transport_backend(self) -> str:
        return NAME

    @staticmethod
    def is_one_sided() -> bool:
        return True

    @staticmethod
    def can_abort_transport() -> bool:
        return True

    def actor_has_tensor_transport(self, actor: object) -> bool:
        return True

    def extract_tensor_transport_metadata(self, obj_id: str, rdt_object: list[Array]) -> Handles:
        devices = {_DEVICES.get(array.device.backend, "other") for array in rdt_object}
        if len(devices) > 1:
            raise ExchangeError(
                f"Ray takes arrays of one kind of device in one object, not of {sorted(devices)}: "
                "return them as separate objects (num_returns)"
            )
        return Handles(
            [(array.shape, str(array.dtype)) for array in rdt_object],
            next(iter(devices), None),
            [pickles.shared(array, _OTHERWISE) for array in rdt_object],
        )

    def get_communicator_metadata(
        self, src_actor: object, dst_actor: object, backend: str | None = None
    ) -> Any:
        return _interface.CommunicatorMetadata()

    def recv_multiple_tensors(
        self,
        obj_id: str,
        tensor_transport_metadata: Handles,
        communicator_metadata: Any,
        target_buffers: list[Any] | None = None,
    ) -> list[Array]:
        if target_buffers:
            raise ExchangeError(
                "Ray: the transport copies nothing, so it does not receive into buffers; copy the "
                "received array with entrepot.copy"
            )
        return [pickles.open_shared(*each) for each in tensor_transport_metadata.shared]

    def send_multiple_tensors(
        self,
        tensors: list[Array],
        tensor_transport_metadata: Handles,
        communicator_metadata: Any,
    ) -> None:
        raise NotImplementedError("a one-sided transport does not send")

    def garbage_collect(
        self, obj_id: str, tensor_transport_meta: Handles, tensors: list[Array]
    ) -> None:
        """Ray drops its references to the arrays, and nothing else holds them here."""

    def abort_transport(self, obj_id: str, communicator_metadata: Any) -> None:
        """Opening memory blocks for some seconds at most, so there is nothing to interrupt."""


def register(name: str) -> None:
    """Register the transport in this process. Raises ValueError if Ray has another of the name."""
    assert name == NAME
    devices = [*dict.fromkeys(_DEVICES.values()), "other"]
    _ray.register_tensor_transport(name, devices, Transport, Array)
