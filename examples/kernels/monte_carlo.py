"""Price of a call option by random paths, against the formula of Black and Scholes."""

from __future__ import annotations

import math

import numpy as np
from example import main

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import algorithms, random

SPOT, STRIKE, RATE, VOLATILITY, YEARS, STEPS = 100.0, 105.0, 0.03, 0.2, 1.0, 8


@dppy.kernel
def simulate(payoffs, seed):
    i = dppy.get_global_id(0)
    dt = YEARS / STEPS
    drift = (RATE - VOLATILITY * VOLATILITY / 2) * dt
    deviation = VOLATILITY * math.sqrt(dt)
    logarithm = math.log(SPOT)
    for step in range(STEPS):
        logarithm += drift + deviation * random.normal(seed, i, step)
    payoffs[i] = max(math.exp(logarithm) - STRIKE, 0.0)


@dppy.func
def add(x, y):
    return x + y


def price(device: ep.Device, paths: int) -> float:
    payoffs = ep.empty(paths, "float64", device=device)
    simulate[paths](payoffs, 2026)
    return math.exp(-RATE * YEARS) * algorithms.reduce(payoffs, add, 0).item() / paths


def black_scholes() -> float:
    deviation = VOLATILITY * math.sqrt(YEARS)
    d1 = (math.log(SPOT / STRIKE) + (RATE + VOLATILITY**2 / 2) * YEARS) / deviation

    def below(x: float) -> float:
        return (1 + math.erf(x / math.sqrt(2))) / 2

    return SPOT * below(d1) - STRIKE * math.exp(-RATE * YEARS) * below(d1 - deviation)


def check(device: ep.Device, paths: int = 2**16) -> None:
    deviation = 13  # of one discounted pay-off
    error = 4 * deviation / math.sqrt(paths)
    np.testing.assert_allclose(price(device, paths), black_scholes(), atol=error)


if __name__ == "__main__":
    main(check, str(__doc__))
