"""The Mandelbrot set: how many steps each point of the plane takes to escape."""

from __future__ import annotations

import numpy as np
from example import main, values

import entrepot as ep
import entrepot.kernel as dppy

STEPS = 100


@dppy.func
def steps_to_escape(re, im):
    x, y = 0.0, 0.0
    steps = 0
    while steps < STEPS and x * x + y * y < 4.0:
        x, y = x * x - y * y + re, 2.0 * x * y + im
        steps += 1
    return steps


@dppy.kernel
def mandelbrot(image, left, bottom, width, height):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    re = left + width * j / image.shape[1]
    im = bottom + height * i / image.shape[0]
    image[i, j] = steps_to_escape(re, im)


def expected_image(
    shape: tuple[int, int], left: float, bottom: float, width: float, height: float
) -> np.ndarray:
    re = (left + width * np.arange(shape[1]) / shape[1])[None, :] * np.ones((shape[0], 1))
    im = (bottom + height * np.arange(shape[0]) / shape[0])[:, None] * np.ones((1, shape[1]))
    x, y, steps = np.zeros(shape), np.zeros(shape), np.zeros(shape, "i4")
    for _ in range(STEPS):
        inside = x * x + y * y < 4.0
        x, y = np.where(inside, x * x - y * y + re, x), np.where(inside, 2.0 * x * y + im, y)
        steps += inside
    return steps


def check(device: ep.Device, shape: tuple[int, int] = (120, 160)) -> None:
    place = (-2.0, -1.2, 2.8, 2.4)
    image = ep.empty(shape, "int32", device=device)
    mandelbrot[shape, None](image, *place).wait()
    # A point on the border may go either way where a compiler contracts a product and a sum.
    assert (values(image) != expected_image(shape, *place)).mean() < 1e-3


if __name__ == "__main__":
    main(check, str(__doc__))
