"""The driver's errors and classes, at the places where numba.cuda has them."""

from ..errors import refusing
from . import devicearray as devicearray
from . import driver as driver
from . import enums as enums
from . import error as error

#: Modules of numba.cuda that are not served, and what to use.
INSTEAD = {
    "nvrtc": "entrepot.Program builds CUDA C++ for a device",
    "nvvm": "dispatcher.kernel.source() is the text that the device's compiler is given",
    "runtime": "entrepot.backends() lists the drivers that were loaded",
}
__getattr__ = refusing("cudadrv", INSTEAD)
