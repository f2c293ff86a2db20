"""The driver's errors and classes, at the places where numba.cuda has them."""

from . import devicearray as devicearray
from . import driver as driver
from . import enums as enums
from . import error as error
