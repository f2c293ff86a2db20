"""PyTorch's own tests of DLPack, run with Entrepot as the producer, and as the consumer, and those
with numba-cuda, run with
Entrepot between the two.

    python tests/peers/torch_suite.py PYTORCH/test [--side producer|consumer] [arguments of pytest]

The tests come from a checkout of PyTorch at the tag of the installed version; its packages have
none. Only version.txt and the files below are read. No file of it is copied here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.utils.dlpack
from exchanged import Judge, Replaced, main, pytest_run

import entrepot as ep

NUMBA = "test_numba_integration"
FILES = {"producer": ("test_dlpack.py", f"{NUMBA}.py"), "consumer": ("test_dlpack.py",)}

WORDS = "asks for the words of PyTorch's own refusals"
SPECIAL = "the tensors are of sorts that only PyTorch has"
OWN_DICT = "asks for what PyTorch's own dict has: version 2, and no stream"
LEFT_OUT = {
    "producer": {
        "test_dlpack_cuda_per_thread_stream": "PyTorch refuses the per-thread stream, and "
        "Entrepot takes it",
        "test_dlpack_invalid_cuda_streams": WORDS,
        "test_dlpack_invalid_cpu_stream": WORDS,
        "test_unsupported_device_error": WORDS,
        "test_needs_copy_error": WORDS,
        "test_dlpack_tensor_invalid_stream": "PyTorch raises TypeError, and Entrepot BufferError",
        "test_dlpack_tensor_on_different_device": "PyTorch refuses a device that is not the "
        "current one, and Entrepot takes it",
        "test_dlpack_export_": SPECIAL,
        "test_dlpack_unsupported_dtype_error": SPECIAL,
        f"{NUMBA}.py::TestNumbaIntegration::test_cuda_array_interface": OWN_DICT,
        f"{NUMBA}.py::TestNumbaIntegration::test_conversion_errors": SPECIAL,
        "float4": "four bits to an element: Entrepot has whole bytes only",
    },
    "consumer": {
        "test_dlpack_cuda_per_thread_stream": WORDS,
        "test_dlpack_invalid_cuda_streams": WORDS,
        "test_dlpack_invalid_cpu_stream": WORDS,
        "test_unsupported_device_error": WORDS,
        "test_needs_copy_error": WORDS,
        "test_dlpack_tensor_invalid_stream": WORDS,
        "test_dlpack_tensor_on_different_device": WORDS,
        "test_dlpack_export_": WORDS,
        "test_dlpack_unsupported_dtype_error": WORDS,
        "test_dlpack_default_stream": "Entrepot asks for the stream of its own queue, not of "
        "PyTorch's",
        "test_automatically_select_in_creation": "the consumer is inside of torch.tensor",
        "float4": "four bits to an element: Entrepot has whole bytes only",
        "test_copy": "from_dlpack of Entrepot names devices in other words, and copies by .to()",
    },
}


class Produced(torch.Tensor):
    """PyTorch's tensor, exported by Entrepot."""

    def _array(self) -> ep.Array:
        judge.exchanged += 1
        return ep.asarray(self.as_subclass(torch.Tensor))

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._array().__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array().__dlpack_device__()


def producing(make: Any) -> Any:
    return lambda *arguments, **keywords: make(*arguments, **keywords).as_subclass(Produced)


def through(take: Any) -> Any:
    """Wraps ``take``, which imports CUDA memory by CAI, to pass it an Array of the object."""

    def taken(obj: Any, *arguments: Any, **keywords: Any) -> Any:
        if not hasattr(obj, "__cuda_array_interface__"):
            return take(obj, *arguments, **keywords)
        judge.exchanged += 1
        return take(ep.asarray(obj), *arguments, **keywords)

    return taken


def replace_between(module: ModuleType) -> None:
    """A tensor becomes numba-cuda's array, and its array a tensor."""
    module.torch = Replaced(torch, as_tensor=through(torch.as_tensor), tensor=through(torch.tensor))  # type: ignore[attr-defined]
    if hasattr(module, "numba"):  # where PyTorch's tests have found numba-cuda
        numba = module.numba
        cuda = Replaced(numba.cuda, as_cuda_array=through(numba.cuda.as_cuda_array))
        module.numba = Replaced(numba, cuda=cuda)  # type: ignore[attr-defined]


def replace_producer(module: ModuleType) -> None:
    if module.__name__.rpartition(".")[2] == NUMBA:
        replace_between(module)
        return
    makers = {name: producing(getattr(torch, name)) for name in ("rand", "zeros")}
    module.torch = Replaced(torch, **makers)  # type: ignore[attr-defined]
    module.make_tensor = producing(module.make_tensor)  # type: ignore[attr-defined]
    module.to_dlpack = lambda tensor: tensor.__dlpack__()  # type: ignore[attr-defined]


def replace_consumer(module: ModuleType) -> None:
    def from_dlpack(obj: Any, *, device: Any = None, **keywords: Any) -> torch.Tensor:
        array = (
            ep.asarray(obj)
            if type(obj).__name__ == "PyCapsule"
            else ep.from_dlpack(obj, **keywords)
        )
        return torch.from_dlpack(array)

    module.torch = Replaced(torch, from_dlpack=judge.counting(from_dlpack))  # type: ignore[attr-defined]
    module.from_dlpack = judge.counting(from_dlpack)  # type: ignore[attr-defined]


judge: Judge


def require_tag(folder: Path) -> None:
    """PyTorch's tests belong to one version, as they match its error messages."""
    tagged = (folder.parent / "version.txt").read_text().strip()
    if tagged.split(".")[:2] != torch.__version__.split(".")[:2]:
        raise SystemExit(
            f"{folder}: the tests are of PyTorch {tagged}, and {torch.__version__} is installed"
        )


def run(side: str, arguments: Sequence[str]) -> tuple[int, Judge]:
    global judge
    require_tag(Path(arguments[0]))
    judge = Judge(replace_producer if side == "producer" else replace_consumer, LEFT_OUT[side])
    return pytest_run(judge, arguments[0], FILES[side], arguments[1:]), judge


if __name__ == "__main__":
    sys.exit(main(__file__, sys.argv[1:], run, __doc__.splitlines()[0]))
